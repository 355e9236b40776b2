"""Forked processes that report what they finished, and that are killed or awaited."""

import json
import os
import selectors
import signal
import time
import traceback
from collections.abc import Callable, Sequence
from typing import Any

Report = Callable[[object], None]

PATIENCE = 120
"""Seconds after which a process that reports nothing counts as hanging."""


class Child:
    """A process that runs `work(report)`; what it reports can be read here, also after it was killed.

    Nothing but the pages of this process is shared: this one must have no thread when it forks.
    """

    def __init__(self, work: Callable[[Report], None]) -> None:
        self.pipe, write = os.pipe()
        self.pid = os.fork()
        if self.pid:
            os.close(write)
            self.status: int | None = None
            self._bytes = b""
            return
        status = 1
        try:
            work(lambda value: os.write(write, json.dumps(value).encode() + b"\n") and None)
            status = 0
        except BaseException:
            os.write(write, json.dumps({"uncaught": traceback.format_exc()[-3000:]}).encode() + b"\n")
        finally:
            os._exit(status)

    def read(self) -> bool:
        """Read what is there; False once the process has ended."""
        part = os.read(self.pipe, 1 << 16)
        self._bytes += part
        return bool(part)

    @property
    def reports(self) -> list[Any]:
        """All that was reported in full."""
        return [json.loads(line) for line in self._bytes.split(b"\n")[:-1]]

    def kill(self) -> None:
        """End the process at once, as a power cut would, and read what it still reported."""
        os.kill(self.pid, signal.SIGKILL)
        while self.read():
            pass
        self.wait()

    def wait(self) -> None:
        """Wait for the end; `status` is then negative for a signal."""
        os.close(self.pipe)
        self.status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def kill_after(work: Callable[[Report], None], seconds: float) -> tuple[list[Any], bool]:
    """Run `work`, which first reports that it is ready, and kill it that many seconds later.

    Returns:
        what else it reported, and whether it was killed; it may have ended before.
    """
    child = Child(work)
    listen([child], PATIENCE, once=True)
    listen([child], seconds)
    child.kill()
    reports = child.reports or [{"uncaught": f"no report within {PATIENCE} seconds"}]
    return [report for report in reports if report != "ready"], child.status == -signal.SIGKILL


def listen(children: Sequence[Child], seconds: float, *, once: bool = False) -> bool:
    """Read reports until all processes have ended (or one has reported, if `once`), or the time has passed."""
    ends = time.monotonic() + seconds
    with selectors.DefaultSelector() as selector:
        for child in children:
            selector.register(child.pipe, selectors.EVENT_READ, child)
        while selector.get_map() and (left := ends - time.monotonic()) > 0:
            for key, _ in selector.select(left):
                if not key.data.read():
                    selector.unregister(key.fd)
                elif once:
                    return True
        return not selector.get_map()

"""The pages that are open: one for each user, made when they first come, over a bank of their own.

Nothing is shared between two pages but the models. So nothing that a request names (a persona, a memory, a window, an
event of the queue) can mean anything of somebody else's: on this page there is no such thing.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import anyio
from anyio import CancelScope
from anyio.abc import TaskGroup, TaskStatus
from starlette.types import ASGIApp


class UserPages:
    """Opens pages as they are asked for; `opening` makes one, by its user's id."""

    def __init__(self, opening: Callable[[str], AbstractAsyncContextManager[ASGIApp]]) -> None:
        self._opening = opening
        self._open: dict[str, tuple[ASGIApp, CancelScope]] = {}
        self._turn = anyio.Lock()
        self._tasks: TaskGroup | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """While this lasts, pages can be opened; at its end all are closed."""
        async with anyio.create_task_group() as self._tasks:
            yield
            self._tasks.cancel_scope.cancel()

    async def of(self, user_id: str) -> ASGIApp:
        """The page of a user; nobody whose page is open waits for another's to be made, which takes seconds."""
        assert self._tasks is not None
        if user_id not in self._open:
            async with self._turn:  # one at a time: Gradio keeps what is being built in a global
                if user_id not in self._open:
                    self._open[user_id] = await self._tasks.start(self._keep, user_id)
        return self._open[user_id][0]

    def close_all_but(self, user_ids: Collection[str]) -> None:
        """Close the pages of everybody else; what they have in hand is finished first, and nobody waits for it."""
        for user_id in self._open.keys() - set(user_ids):
            _, scope = self._open.pop(user_id)
            scope.cancel()

    async def _keep(self, user_id: str, *, task_status: TaskStatus[Any]) -> None:
        with CancelScope() as scope:
            async with self._opening(user_id) as page:
                task_status.started((page, scope))
                await anyio.sleep_forever()

"""Keep one page open for each user, opened at their first visit over a bank of their own.

Pages share nothing but the models. So whatever a request names (a persona, a memory, a window, an event of the queue)
can only be one of its own user's.
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
    """The open pages by user id; `open_page` opens one, for as long as its context lasts."""

    def __init__(self, open_page: Callable[[str], AbstractAsyncContextManager[ASGIApp]]) -> None:
        self._open_page = open_page
        self._pages: dict[str, tuple[ASGIApp, CancelScope]] = {}
        self._opening = anyio.Lock()
        self._tasks: TaskGroup | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Allow pages to be opened; at the end of the block, close all of them."""
        async with anyio.create_task_group() as self._tasks:
            yield
            self._tasks.cancel_scope.cancel()

    async def of(self, user_id: str) -> ASGIApp:
        """Return a user's page, opened first if necessary, which takes seconds; open pages are returned at once."""
        assert self._tasks is not None
        if user_id not in self._pages:
            async with self._opening:  # one at a time, so that two requests do not open the same page
                if user_id not in self._pages:
                    self._pages[user_id] = await self._tasks.start(self._keep_open, user_id)
        return self._pages[user_id][0]

    def close_all_but(self, user_ids: Collection[str]) -> None:
        """Close the pages of all other users, in the background; what they are doing is finished first."""
        for user_id in self._pages.keys() - set(user_ids):
            _, scope = self._pages.pop(user_id)
            scope.cancel()

    async def _keep_open(self, user_id: str, *, task_status: TaskStatus[Any]) -> None:
        with CancelScope() as scope:
            async with self._open_page(user_id) as page:
                task_status.started((page, scope))
                await anyio.sleep_forever()

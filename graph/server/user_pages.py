"""Keep one page open for each user, or visitor of the demo, opened at their first visit over a bank of their own.

Pages share nothing but the models. So whatever a request names (a persona, a memory, a window, an event of the queue)
can only be one of its own user's.
"""

import ctypes
import gc
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import gradio as gr
from anyio import CancelScope, to_thread
from anyio.abc import TaskGroup, TaskStatus
from fastapi import FastAPI
from starlette.types import ASGIApp, Message, Send

from graph.learning.learner import Learner, learn_from_sessions
from graph.server.page import close_page, isolated, mount_page
from graph.server.request_limits import MAX_UPLOAD_BYTES, MAX_UPLOADS, FileLimits
from graph.server.services import build_services, load_chat_model
from graph.settings import Settings
from graph.state import Services
from graph.tab.personas import import_sample
from memory.bank.backup import backup
from memory.bank.bank import Bank
from memory.embedding.embedder import shared
from memory.errors import BankUnavailable, MemoirError
from memory.exporting.downloads import VISITORS
from memory.search.indexer import embed_all
from memory.tab.parts import PICTURES
from memory.types import NO_QUOTA, Quota
from memory.users import UnknownUser, Users

VISITOR_QUOTA = Quota(memories=2_000, megabytes=64)
"""What a visitor of the demo may store, the 550 memories of the sample among it."""

VISITOR_UPLOAD_BYTES, VISITOR_UPLOADS = 5 * 2**20, 10
"""Most bytes of an upload of a visitor, and the uploads that may wait."""

ARENAS = 2
"""Heaps that all threads share. Each keeps what was freed in it, and glibc makes sixteen on two cores."""

BuildPage = Callable[[Services, Learner, str], gr.Blocks]
"""Builds the page over a bank; the name is that of the user who logged in, or empty."""


def share_heaps() -> None:
    """Let all threads of this process share `ARENAS` heaps, where the C library is glibc."""
    with suppress(AttributeError, TypeError):
        ctypes.CDLL(None).mallopt(-8, ARENAS)  # M_ARENA_MAX of glibc's malloc.h


class PageOpener:
    """Opens pages over the banks below one home folder; they share the models.

    In a demo, a page's bank is deleted when the page is closed.
    """

    def __init__(self, settings: Settings, users: Users, build_page: BuildPage) -> None:
        self._settings = settings
        self._users = users
        self._build_page = build_page
        self._model = load_chat_model(settings)
        share_heaps()
        gr.set_static_paths(list(PICTURES))  # else a page copies its pictures into its uploads
        self._pages: dict[Path, gr.Blocks] = {}
        self._closed = 0
        self.most_upload = VISITOR_UPLOAD_BYTES if settings.demo else MAX_UPLOAD_BYTES
        self._most_uploads = VISITOR_UPLOADS if settings.demo else MAX_UPLOADS
        self._sample: Bank | None = None

    def make_sample(self, stopped: Callable[[], bool]) -> None:
        """Make what visitors begin with once: the bank of the sample, with its vectors and all that it teaches."""
        folder = self._settings.home / "cache" / "sample"
        shutil.rmtree(folder, ignore_errors=True)  # of another version, perhaps
        bank = Bank(folder / "bank.db")
        with suppress(MemoirError):  # visitors make their own, and are told what is wrong
            import_sample(bank)
            learn_from_sessions(bank, "rules", stopped=stopped)
            embed_all(bank, shared(self._settings.embedding_model), stopped=stopped)
            if not stopped():
                self._sample = bank

    @asynccontextmanager
    async def open(self, user_id: str) -> AsyncIterator[ASGIApp]:
        """Serve a user's or visitor's page, or with an empty id the one page of an app, until the block ends.

        Raises:
            UnknownUser: the account was removed.
            MemoirError: the bank cannot be used.
        """
        folder, name, quota = await to_thread.run_sync(self._bank_of, user_id)
        uploads = self._settings.home / "uploads" / (user_id or "all")
        try:
            async with self._serve(folder / "bank.db", quota, name, uploads) as app:
                yield app
        finally:
            if self._settings.demo:
                with CancelScope(shield=True):
                    await to_thread.run_sync(delete_folder, folder)

    @asynccontextmanager
    async def _serve(self, path: Path, quota: Quota, name: str, uploads: Path) -> AsyncIterator[ASGIApp]:
        app, page, learner = await to_thread.run_sync(self._build, path, quota, name, uploads)
        learner.indexer.start()
        learner.start()
        try:
            async with app.router.lifespan_context(app):
                yield FileLimits(isolated(app, page), uploads, PICTURES, self._most_uploads, path, quota.megabytes)
        finally:
            learner.indexer.end()
            close_page(page)
            del self._pages[uploads], app, page
            with CancelScope(shield=True):
                await to_thread.run_sync(_close, learner, uploads)
            self._closed += 1
            gc.unfreeze()

    def _bank_of(self, user_id: str) -> tuple[Path, str, Quota]:
        """The folder of the bank, the name of the user who logged in, or nothing, and the quota."""
        if self._settings.demo:
            return self._settings.home / VISITORS / user_id, "", VISITOR_QUOTA
        if not user_id:
            return self._settings.home, "", NO_QUOTA
        user = self._users.get(user_id)
        if user is None:
            raise UnknownUser("this account was removed")
        return self._users.folder_of(user), user.name, user.quota

    def _build(self, path: Path, quota: Quota, name: str, uploads: Path) -> tuple[FastAPI, gr.Blocks, Learner]:
        if self._sample is not None:
            path.parent.mkdir(parents=True)
            backup(self._sample, path)
        services, learner = build_services(self._settings, self._model, path, quota)
        import_sample(services.bank)
        page = self._build_page(services, learner, name)
        app = mount_page(page, uploads, self.most_upload)
        # Gradio accepts any upload on any page, so each page is told which upload folders are not its user's.
        page.blocked_paths = [str(folder) for folder in self._pages]
        for other in self._pages.values():
            other.blocked_paths.append(str(uploads))
        self._pages[uploads] = page
        self._keep_out_of_collections()
        return app, page, learner

    def _keep_out_of_collections(self) -> None:
        """Spare what is there Python's search for garbage, which stopped all of eight open pages for .4 s every 10 s.

        What building a page left goes first, or it would stay as long as the page. What a closed page leaves is
        searched until the next opens, and then at once if it is a fifth of all pages.
        """
        if 4 * self._closed > len(self._pages):
            self._closed = 0
        if not self._closed:  # else all pages would be searched
            gc.collect()
        gc.freeze()


def _close(learner: Learner, uploads: Path) -> None:
    with suppress(BankUnavailable):  # its user was removed with it
        learner.stop()
    shutil.rmtree(uploads, ignore_errors=True)


def delete_folder(folder: Path) -> None:
    """Delete a folder, renamed first, so that what is still being written to its bank fails and leaves nothing."""
    with suppress(OSError):
        folder = folder.rename(folder.with_name(f"{folder.name}-deleted"))
    shutil.rmtree(folder, ignore_errors=True)


def end_when(is_over: Callable[[], Awaitable[bool]], send: Send) -> Send:
    """Cut a response off once its visit is over, as is asked before each piece; some never end by themselves."""
    over = False

    async def send_until_over(message: Message) -> None:
        nonlocal over
        if not over:
            over = message["type"] == "http.response.body" and await is_over()
            await send({"type": "http.response.body"} if over else message)

    return send_until_over


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

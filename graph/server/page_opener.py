"""Open a user's page: the bank, its threads, the upload folder, and the page itself."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import gradio as gr
from anyio import CancelScope, to_thread
from fastapi import FastAPI
from starlette.types import ASGIApp

from graph.learning.learner import Learner
from graph.server.page_isolation import PageIsolation
from graph.server.page_mount import PICTURES, mount_page
from graph.server.request_limits import FileLimits
from graph.server.sample import import_sample
from graph.server.services import Background, build_services, load_models
from graph.settings import Settings
from graph.state import Services
from memory.errors import BankUnavailable
from memory.users import UnknownUser, Users

BuildPage = Callable[[Services, Background, str], gr.Blocks]
"""Builds the page over a bank; the name is that of the user who logged in, or empty."""


class PageOpener:
    """Opens pages over the banks below one home folder; they share the models."""

    def __init__(self, settings: Settings, users: Users, build_page: BuildPage) -> None:
        self._settings = settings
        self._users = users
        self._build_page = build_page
        self._models = load_models(settings)
        gr.set_static_paths(list(PICTURES))  # else a page copies its pictures into its uploads
        self._pages: dict[Path, gr.Blocks] = {}

    @asynccontextmanager
    async def open(self, user_id: str) -> AsyncIterator[ASGIApp]:
        """Serve a user's page, or with an empty id the one page of an app without logins, until the block ends.

        Raises:
            UnknownUser: the account was removed.
            MemoirError: the bank cannot be used.
        """
        uploads = self._settings.home / "uploads" / (user_id or "all")
        app, page, background = await to_thread.run_sync(self._build, user_id, uploads)
        background.indexer.start()
        background.learner.start()
        try:
            async with app.router.lifespan_context(app):
                yield FileLimits(PageIsolation(app, page), uploads, PICTURES)
        finally:
            background.indexer.end()
            del self._pages[uploads]
            with CancelScope(shield=True):
                await to_thread.run_sync(_close, background.learner, uploads)

    def _build(self, user_id: str, uploads: Path) -> tuple[FastAPI, gr.Blocks, Background]:
        user = self._users.get(user_id) if user_id else None
        if user_id and user is None:
            raise UnknownUser("this account was removed")
        path = self._users.folder_of(user) / "bank.db" if user else self._settings.bank_path
        services, background = build_services(self._settings, self._models, path)
        import_sample(services.bank)
        page = self._build_page(services, background, user.name if user else "")
        app = mount_page(page, uploads)
        # Gradio accepts any upload on any page, so each page is told which upload folders are not its user's.
        page.blocked_paths = [str(folder) for folder in self._pages]
        for other in self._pages.values():
            other.blocked_paths.append(str(uploads))
        self._pages[uploads] = page
        return app, page, background


def _close(learner: Learner, uploads: Path) -> None:
    with suppress(BankUnavailable):  # its user was removed with it
        learner.stop()
    shutil.rmtree(uploads, ignore_errors=True)

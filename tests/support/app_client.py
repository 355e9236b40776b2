"""An app with users, and what a program can ask of it as one of them."""

from __future__ import annotations

import json
import re
import secrets
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import gradio as gr
import httpx
from gradio.routes import App as GradioApp

from memory.users import Users
from support.browser_app import App

PASSWORDS = {"ann": "a long walk by the sea", "ben": "correct horse battery"}
PATIENCE = 30
"""Seconds that a stream is listened to; whatever a call has to tell comes within a few."""

HELD = {"_type": "gradio.FileData"}


def two_users(home: Path) -> App:
    """The app with Ann and Ben, not started yet."""
    users = Users(home)
    for name, password in PASSWORDS.items():
        users.add(name, password)
    return App(home, "--auth")


def gradio_paths() -> list[str]:
    """The paths of all of Gradio's routes, with "x" in place of each parameter."""
    gradio = GradioApp.create_app(gr.Blocks(), mcp_server=True)
    inner = [route for held in gradio.routes for route in getattr(getattr(held, "original_router", None), "routes", ())]
    paths = {re.sub(r"\{[^}]*\}", "x", getattr(route, "path", "/")) for route in [*gradio.routes, *inner]}
    return sorted(
        paths | {f"/gradio_api/{asked}" for asked in ("mcp/", "mcp/sse", "mcp/schema", "mcp/messages/", "run/ask")}
    )


class Program:
    """A program that talks with the app as a window would; as a user, or as nobody."""

    def __init__(self, app: App, name: str = "", address: str | None = None) -> None:
        # An idle connection is given up before the server does so, after 5 s: what is sent meanwhile would be lost.
        limits = httpx.Limits(keepalive_expiry=2)
        transport = httpx.HTTPTransport(local_address=address, limits=limits)
        self.http = httpx.Client(base_url=app.url, timeout=60, transport=transport)
        if name:
            assert self.log_in(name, PASSWORDS[name]).status_code == 200

    def log_in(self, name: str, password: str) -> httpx.Response:
        """Send what the login page sends."""
        return self.http.post("/login", data={"username": name, "password": password})

    def call(self, name: str, *data: Any) -> httpx.Response:
        """One of the five calls."""
        return self.http.post(f"/gradio_api/run/{name}", json={"data": list(data)})

    def events(self) -> list[dict[str, Any]]:
        """The page's events, private ones too."""
        return self.http.get("/config").json()["dependencies"]

    def join(self, number: int, data: list[Any], session: str, detail: Mapping[str, Any] | None = None) -> str:
        """Put one of the page's events into the queue, with what the page says of it; its id."""
        body = {"fn_index": number, "data": data, "session_hash": session, "event_data": detail}
        joined = self.http.post("/gradio_api/queue/join", json=body)
        return joined.json()["event_id"] if joined.status_code == 200 else ""

    def hear(self, session: str, event: str = "") -> str:
        """All that the queue tells a window, until `event` is done; the stream is closed some seconds later."""
        return self.read(f"/gradio_api/queue/data?session_hash={session}", event)

    def read(self, path: str, event: str = "") -> str:
        """A stream until `event` is done, else as far as it goes; for an unknown window or event it breaks off."""
        heard: list[str] = []
        ends = time.monotonic() + PATIENCE
        with suppress(httpx.RemoteProtocolError), self.http.stream("GET", path) as told:
            for piece in told.iter_text():
                heard.append(piece)
                if event and event in piece and "process_completed" in piece:
                    break
                if time.monotonic() > ends:  # signs of life go on for ever where nothing comes of an event
                    break
        return "".join(heard)

    def put(self, name: str, content: bytes) -> httpx.Response:
        """Upload a file."""
        return self.http.post("/gradio_api/upload", files={"files": (name, content)})

    def look_into(self, path: str, session: str = "", **held: Any) -> str:
        """What the upload box of a window, a new one unless named, tells of a file that is at `path`."""
        number = next(e["id"] for e in self.events() if any(t[1] == "upload" for t in e["targets"]))
        session = session or secrets.token_hex(8)
        return self.hear(session, self.join(number, [{"path": path, "meta": HELD, **held}], session))


def told(answer: httpx.Response) -> Any:
    """What one of the five calls answers."""
    assert answer.status_code == 200, answer.text
    return json.loads(answer.text)["data"][0]

"""While one user's page is built, nothing that another user does gets into it."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import gradio as gr
import pytest
from gradio.state_holder import SessionState
from starlette.requests import Request

from graph.server.page import Page, isolate_pages, isolated
from memory.errors import MemoirError
from memory.formatting import without_folders
from memory.tab.parts import PRIVATE
from memory.users import Users
from support.app_client import Program, two_users

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from support.browser_app import App

pytestmark = pytest.mark.slow

MARK = "only-anns-words"
VISITORS = [f"visitor{n}" for n in range(2)]


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    running = two_users(tmp_path_factory.mktemp("pages"))
    running.start()
    yield running
    running.stop()


def component_part(kind: str, value: object) -> list[dict[str, object]]:
    """A chat whose message is a component that the chat box would build."""
    part = {"type": "component", "component": kind, "value": value, "constructor_args": {}, "props": {}}
    return [{"role": "user", "content": [part]}]


def sending_event(program: Program) -> dict:
    """The event that sends a message."""
    config = program.http.get("/config").json()
    (place,) = (c["id"] for c in config["components"] if c["props"].get("elem_id") == "place")
    return next(e for e in config["dependencies"] if [place, "submit"] in e["targets"])


def send_parts(program: Program, stop: threading.Event) -> None:
    event = sending_event(program)
    parts = component_part("html", f"<b>{MARK}</b>")
    for n in range(10_000):
        if stop.is_set():
            return
        session = f"parts-{threading.get_ident()}-{n}"  # two that share a session keep each other waiting
        if joined := program.join(event["id"], [parts] * len(event["inputs"]), session):
            program.hear(session, joined)


def run_tasks(program: Program, stop: threading.Event) -> None:
    lines = "".join(f"{MARK} says: hello {n}\n" for n in range(50))
    (path,) = program.put("history.txt", f"[2024-01-01]\n{lines}".encode()).json()
    while not stop.is_set():
        program.look_into(path)


def test_parts_and_tasks_of_one_user_do_not_reach_a_page_under_construction(app: App) -> None:
    users = Users(app.home)
    ann = Program(app, "ann")
    ann.events()  # her own page is there
    stop = threading.Event()
    attacks = [send_parts, send_parts, run_tasks]
    own = {c["type"] for c in ann.http.get("/config").json()["components"]}
    with ThreadPoolExecutor(len(attacks)) as pool:
        running = [pool.submit(attack, ann, stop) for attack in attacks]
        try:
            for name in VISITORS:
                users.add(name, "a long password")
                bearer = {"Authorization": f"Bearer {users.new_token(name)}"}
                config = Program(app).http.get("/config", headers=bearer, timeout=120).json()
                assert MARK not in json.dumps(config)
                assert {c["type"] for c in config["components"]} == own
        finally:
            stop.set()
    for attack in running:
        attack.result()


def test_a_client_can_send_no_message_for_the_chat_box_to_build(app: App) -> None:
    ben = Program(app, "ben")
    config = ben.http.get("/config").json()
    boxes = {c["id"] for c in config["components"] if c["type"] == "chatbot"}
    assert boxes
    assert not [e["id"] for e in config["dependencies"] if boxes & set(e["inputs"])]


def test_the_pictures_of_a_page_are_served(app: App) -> None:
    ben = Program(app, "ben")
    config = ben.http.get("/config").json()
    (box,) = (c for c in config["components"] if c["type"] == "chatbot")
    for avatar in box["props"]["avatar_images"]:
        assert ben.http.get(f"/gradio_api/file={avatar['path']}").status_code == 200


def test_a_component_made_in_another_thread_is_no_part_of_the_page_under_construction() -> None:
    isolate_pages()

    def handle() -> None:
        gr.HTML(MARK)
        with gr.Blocks():
            gr.HTML(MARK)

    with gr.Blocks() as page, gr.Row():
        gr.Textbox(label="before")
        other = threading.Thread(target=handle)
        other.start()
        other.join()
        gr.Textbox(label="after")
    held = json.dumps(page.get_config_file(), default=str)
    assert "before" in held
    assert "after" in held
    assert MARK not in held


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (MemoirError("no <flour>"), "no &lt;flour&gt;"),
        (MemoirError("/srv/my home/users/ab/bank.db is gone: it was moved"), "bank.db is gone: it was moved"),
        (KeyError("/home/ann"), "Memoir ran into a bug (KeyError). See the terminal for details."),
    ],
)
def test_an_error_of_a_handler_is_shown_escaped_and_a_bug_without_its_text(error: Exception, message: str) -> None:
    def fail() -> None:
        raise error

    with Page() as page:
        gr.Button().click(fail, **PRIVATE)
    with pytest.raises(gr.Error) as shown:
        asyncio.run(page.process_api(0, []))
    assert shown.value.message == message
    assert shown.value.print_exception is isinstance(error, KeyError)  # a traceback in the terminal, of bugs alone


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        (
            "no persona 'Bo' in /home/ann/.local/share/memoir/bank.db; known: Iris",
            "no persona 'Bo' in bank.db; known: Iris",
        ),
        ("gguf:/models/small.Q4.gguf has no chat template", "gguf:small.Q4.gguf has no chat template"),
        (r"C:\Users\Ann\memoir\bank.db: the disk is full", "bank.db: the disk is full"),
        ("http://localhost:8000/v1#gemma/small did not reply", "http://localhost:8000/v1#gemma/small did not reply"),
        ("Tea and/or coffee, 1/2 cup on 5/8/2023.", "Tea and/or coffee, 1/2 cup on 5/8/2023."),
    ],
)
def test_a_message_names_files_without_the_folders_of_the_server(said: str, shown: str) -> None:
    assert without_folders(said) == shown


@pytest.mark.parametrize("query", ["upload_id=of-ann", "a=1&%75pload_id=of-ann", "upload%5Fid=of-ann&upload_id=of-ann"])
def test_the_id_of_an_upload_is_the_pages_own_however_it_is_spelled(query: str) -> None:
    seen: list[Scope] = []

    async def page(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(scope)

    for _ in range(2):
        shown = isolated(page, gr.Blocks())
        asyncio.run(shown({"type": "http", "query_string": query.encode()}, None, None))
    one, other = (Request(scope).query_params for scope in seen)
    assert [name for name, _ in one.multi_items()] == [name for name, _ in other.multi_items()]
    assert not set(one.getlist("upload_id")) & {"of-ann", *other.getlist("upload_id")}
    assert one.get("a") == ("1" if "a=" in query else None)


def test_what_an_event_leaves_out_stays_and_is_not_built_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    with Page() as page:
        left, right = gr.HTML("left"), gr.HTML("right")
        gr.Button().click(lambda: {right: gr.HTML("changed", visible=False)}, None, [left, right], **PRIVATE)
    (event,) = (each for each in page.fns.values() if each.outputs)
    built: list[int] = []
    configure, state = gr.HTML.get_config, SessionState(page)
    monkeypatch.setattr(gr.HTML, "get_config", lambda html: built.append(html._id) or configure(html))
    data = asyncio.run(page.process_api(event, [], state=state))["data"]
    assert (data[0], data[1]["value"], data[1]["visible"]) == (gr.skip(), "changed", False)
    assert built
    assert left._id not in built

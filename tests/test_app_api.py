"""What other programs may call: by gradio_client, by plain HTTP, and by an MCP client."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from anyio import CapacityLimiter
from gradio_client import Client
from gradio_client.exceptions import AppError

from graph.server.api import MAX_RUNNING, check_arguments
from memory.bank import journal
from memory.bank.bank import Bank
from support.browser_app import App
from support.mcp_client import Tools

pytestmark = pytest.mark.slow

CALLS = ["ask", "forget", "list_personas", "remember", "search_memory"]


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    running = App(tmp_path_factory.mktemp("api"))
    running.start()
    yield running
    running.stop()


@pytest.fixture(scope="module")
def client(app: App) -> Client:
    return Client(app.url, verbose=False, httpx_kwargs={"timeout": 120})


@pytest.fixture(scope="module")
def tools(app: App) -> Tools:
    return Tools(app.url)


def turns(app: App) -> int:
    bank = Bank(app.home / "bank.db")
    return sum(bank.counts(persona.id)["turns"] for persona in bank.personas())


def test_five_calls_are_public_and_each_is_a_tool_with_its_description(client: Client, tools: Tools) -> None:
    offered = client.view_api(return_format="dict")
    assert sorted(offered["named_endpoints"]) == [f"/{name}" for name in CALLS]
    assert offered["unnamed_endpoints"] == {}
    listed = tools.listed()
    assert sorted(listed) == CALLS
    for tool in listed.values():
        assert "Returns:" in tool.description
        assert all(field.get("description") for field in tool.inputSchema["properties"].values())


def test_an_answer_comes_with_the_lines_it_relies_on(client: Client, tools: Tools) -> None:
    question = {"persona": "Ida", "question": "What is Noor's cat called?"}
    for answer in (client.predict(**question, api_name="/ask"), tools.call("ask", **question)):
        assert "Comma" in answer["answer"]
        assert not answer["abstained"]
        first = answer["citations"][0]
        assert first["number"] == 1
        assert first["memory"] > 0
        assert first["date"].startswith("2026-")
        assert "Comma" in first["quote"]


def test_what_is_not_known_is_an_abstention_with_its_reason(tools: Tools) -> None:
    answer = tools.call("ask", persona="Ida", question="How much does my new job pay?")
    assert answer["abstained"]
    assert answer["reason"]
    assert len(answer["citations"]) <= 3  # the closest lines


def test_asking_is_not_remembered_unless_told_to(app: App, tools: Tools) -> None:
    before = turns(app)
    tools.call("ask", persona="Ida", question="How old is Comma?")
    assert turns(app) == before
    tools.call("ask", persona="Ida", question="How old is Comma?", remember=True)
    assert turns(app) == before + 2


def test_what_is_remembered_is_found_cited_and_forgotten(app: App, client: Client, tools: Tools) -> None:
    told = tools.call("remember", persona="Ida", text="My kayak is called Sturmvogel.", said_at="2026-11-02")
    assert told["memories"] >= 1
    found = client.predict("Ida", "kayak Sturmvogel", limit=3, api_name="/search_memory")
    assert len(found) <= 3
    assert "Sturmvogel" in found[0]["text"]
    assert found[0]["date"].startswith("2026-11-02")
    answer = client.predict("Ida", "What is my kayak called?", api_name="/ask")
    assert "Sturmvogel" in answer["answer"]
    numbers = [m["memory"] for m in tools.call("search_memory", persona="Ida", query="Sturmvogel", limit=50)]
    ours = [n for n in numbers if n >= min(m["memory"] for m in found if "Sturmvogel" in m["text"])]
    kept = app.home / "bank.db.before-restore"
    kept.write_bytes(b"My kayak is called Sturmvogel.")
    gone = tools.call("forget", persona="Ida", memories=ours)
    assert gone["memories"] >= 1
    assert (gone["residue"], gone["copies"]) == (0, [kept.name])
    kept.unlink()
    left = tools.call("search_memory", persona="Ida", query="Sturmvogel", limit=50)
    assert not [m for m in left if "Sturmvogel" in m["text"]]
    asked = {entry.request for entry in journal.read(Bank(app.home / "bank.db"))}
    assert "another program (forget)" in asked


def test_of_one_store_only_that_is_found(tools: Tools) -> None:
    found = tools.call("search_memory", persona="Ida", query="cat", store="dialogue", limit=50)
    assert {m["store"] for m in found} == {"dialogue"}


def test_nothing_later_than_the_date_asked_about_is_known(tools: Tools) -> None:
    assert tools.call("ask", persona="Ida", question="What is Noor's cat called?", as_of="2020-01-01")["abstained"]
    assert tools.call("search_memory", persona="Ida", query="Comma", as_of="2020-01-01") == []


def test_personas_are_listed_with_what_they_know(client: Client) -> None:
    (ida,) = [p for p in client.predict(api_name="/list_personas") if p["name"] == "Ida"]
    assert ida["memories"] > 100
    assert ida["sessions"] > 10


@pytest.mark.parametrize(
    ("call", "arguments", "said"),
    [
        ("ask", {"persona": "Nobody", "question": "Who?"}, "no persona 'Nobody'"),
        ("ask", {"persona": "", "question": "Who?"}, "persona: String should have at least 1 character"),
        ("ask", {"persona": "Ida", "question": "  "}, "question: String should match"),
        ("ask", {"persona": "Ida", "question": "x" * 100_001}, "question: String should have at most 100000"),
        ("ask", {"persona": "Ida", "question": "Who?", "as_of": "someday"}, "is not a date"),
        ("ask", {"persona": "Ida", "question": 7}, "question: Input should be a valid string, not 7"),
        ("ask", {"persona": "Ida", "question": "Who?", "remember": "yes"}, "remember: Input should be a valid bool"),
        ("search_memory", {"persona": "Ida", "query": "cat", "limit": 51}, "limit: Input should be less than"),
        ("search_memory", {"persona": "Ida", "query": "cat", "store": "attic"}, "store: Input should be 'profile'"),
        ("forget", {"persona": "Ida", "memories": []}, "memories: List should have at least 1 item"),
        ("forget", {"persona": "Ida", "memories": [1] * 101}, "memories: List should have at most 100"),
        ("forget", {"persona": "Ida", "memories": ["1"]}, "memories[0]: Input should be a valid integer"),
        ("forget", {"persona": "Ida", "memories": [1, 10**9]}, "Ida has no memory 1000000000; nothing was forgotten"),
    ],
)
def test_wrong_arguments_are_refused_with_what_was_expected_and_change_nothing(
    app: App, client: Client, call: str, arguments: dict, said: str
) -> None:
    before = turns(app)
    with pytest.raises(AppError) as refused:
        client.predict(**arguments, api_name=f"/{call}")
    assert said in str(refused.value)
    assert str(app.home) not in str(refused.value)
    assert turns(app) == before


def test_a_tool_refuses_in_words(tools: Tools) -> None:
    assert "no persona 'Nobody' in bank.db" in tools.refused("ask", persona="Nobody", question="Who?")
    assert "is a required property" in tools.refused("ask", persona="Ida")


def test_of_many_calls_of_one_user_some_run_and_the_others_wait() -> None:
    running, most, lock = 0, 0, threading.Lock()

    def endpoint() -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.05)
        with lock:
            running -= 1

    async def call() -> None:
        checked = check_arguments(endpoint, CapacityLimiter(MAX_RUNNING))
        await asyncio.gather(*(checked() for _ in range(6)))

    asyncio.run(call())
    assert most == MAX_RUNNING


def test_a_form_of_another_site_is_no_call(app: App) -> None:
    body = '{"data": ["Ida", "My kayak is called Gull.", null]}'
    form = {"Content-Type": "text/plain", "Origin": "http://elsewhere.invalid"}
    before = turns(app)
    refused = httpx.post(f"{app.url}gradio_api/run/remember", content=body, headers=form)
    assert refused.status_code in (403, 422)
    assert turns(app) == before


def test_the_bank_is_the_servers_own(app: App, tmp_path: Path, client: Client) -> None:
    with pytest.raises(TypeError):
        client.predict("Ida", "Who?", bank=str(tmp_path), api_name="/ask")

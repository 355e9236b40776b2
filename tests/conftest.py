"""Fixtures that several test files share."""

import os
import shutil
import signal
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from graph.assistant import Answer, Assistant
from graph.state import Ask, Services
from graph.understanding.classifier import Classifier
from memory.bank.bank import Bank
from memory.embedding import minilm
from memory.embedding.embedder import Embedder
from memory.search import indexer
from memory.search.searcher import Searcher
from memory.types import MemoryDraft, Persona, PersonaDraft, SessionDraft, TimeSpan, TurnDraft

# Run in the background, a suite is told by the shell to ignore Ctrl-C, and would hand that on to what it starts.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Two workers on two cores, and what they start: threads that spin while they wait take the other worker's core.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

# The smaller of the embedding models that come in packages takes half the time.
os.environ["MEMOIR_EMBEDDING_MODEL"] = minilm.NAME

# An example that takes long says that the machine is busy, not that the code is wrong; `timeout` ends what hangs.
settings.register_profile("memoir", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("memoir")

SHARED_DATA = Path(__file__).resolve().parents[1] / ".." / "shared" / "data"


@pytest.fixture(scope="session", autouse=True)
def _own_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A home of this run's own, so that no test meets the bank of whoever runs it, nor another worker's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MEMOIR_HOME", str(tmp_path_factory.mktemp("home")))
        yield


@pytest.fixture(scope="session")
def benchmark_data() -> Path:
    """The folder of the benchmarks' own files; tests that need them are skipped where it is absent."""
    folder = Path(os.environ.get("MEMOIR_DATA") or SHARED_DATA).resolve()
    if not folder.is_dir():
        pytest.skip(f"no benchmark files in {folder}; set MEMOIR_DATA to their folder")
    return folder


@pytest.fixture(scope="session")
def embedder() -> Embedder:
    """The real small model, loaded once for all tests."""
    return Embedder(minilm.NAME)


@pytest.fixture(scope="session")
def classifier() -> Classifier:
    """The real weights."""
    return Classifier.load(minilm.NAME)


@pytest.fixture
def services(tmp_path: Path, embedder: Embedder, classifier: Classifier) -> Services:
    """What a turn needs, over an empty bank in a file."""
    bank = Bank(tmp_path / "bank.db")
    return Services(bank, Searcher(bank, embedder), classifier)


@dataclass
class Chat:
    """One chat with a persona: what is said is remembered as the dialogue before what is said next."""

    services: Services
    persona: Persona
    now: datetime
    chat_id: str = "chat-1"
    dialogue: list[TurnDraft] = field(default_factory=list)

    def say(self, text: str, *, remember: bool = True) -> Answer:
        """Say something and wait for the answer; a minute passes."""
        indexer.embed_all(self.services.bank, self.services.searcher.embedder)
        answer = Assistant(self.services).ask(self.asks(text, remember=remember))
        self.dialogue += [
            TurnDraft("You", "user", text, self.now),
            TurnDraft(self.persona.name, "assistant", answer.reading.answer, self.now),
        ]
        self.now += timedelta(minutes=1)
        return answer

    def asks(self, text: str, *, remember: bool = True) -> Ask:
        """What saying it now would ask."""
        return Ask(self.persona, text, self.now, self.chat_id, tuple(self.dialogue), remember)

    def again(self, **changes: object) -> "Chat":
        """Another chat like this one, with nothing said yet."""
        return replace(self, **{"dialogue": [], "chat_id": "chat-2", **changes})


def moment(month: int, day: int, hour: int = 10) -> datetime:
    """A moment of 2024."""
    return datetime(2024, month, day, hour, tzinfo=UTC)


@pytest.fixture(name="at")
def at_fixture() -> Callable[..., datetime]:
    """Moments of 2024, by month, day and hour."""
    return moment


LONG = (
    "It has been one of those days. The bus was late again and the driver would not say why. Then the printer at work "
    "broke and everybody stood around it as if it were a campfire. I had soup for lunch, which was too salty, and "
    "the rain came in through the roof of the shed. On the way home I met the postman, who talked about his knees "
    "for a quarter of an hour. Oh, and the locksmith told me that the spare key of the boathouse hangs behind the "
    "barometer in the hallway. After that I watered the tomatoes, cleaned the gutters, called the plumber twice, and "
    "fell asleep on the sofa with the radio on. It was the kind of day that you want to fold up and put in a drawer."
)

HISTORY = (
    (
        moment(3, 4),
        "I adopted a greyhound called Biscuit yesterday.",
        "How exciting! Where did you find Biscuit?",
        "At the shelter behind the harbour.",
    ),
    (
        moment(4, 18),
        "My brother Olaf visited me last weekend and we repaired the canoe.",
        "Did the canoe leak?",
        "Yes, badly. We sealed it with pine tar.",
        "Good work.",
        "I have also started to play the accordion.",
    ),
    (
        moment(5, 20),
        "I used to play the cello at school, and at the fair I tried to play the bagpipes.",
        "What a band!",
        "My neighbour Petra wants me to play the drums next.",
    ),
    (moment(6, 10), LONG),
)
"""What Tilde told Marlow in the first half of 2024; every other turn is Marlow's."""


@pytest.fixture(scope="session")
def marlows_bank(tmp_path_factory: pytest.TempPathFactory, embedder: Embedder) -> Bank:
    """A bank in which Marlow knows `HISTORY`, a dated event and an undated profile line; tests work on copies of it."""
    bank = Bank(tmp_path_factory.mktemp("marlow") / "bank.db")
    persona = bank.create_persona(PersonaDraft("Marlow"))
    sessions = [
        SessionDraft(
            tuple(
                TurnDraft(*(("Marlow", "assistant") if n % 2 else ("Tilde", "user")), text)
                for n, text in enumerate(said)
            ),
            started,
            started.isoformat(),
            external_id=f"s{number}",
        )
        for number, (started, *said) in enumerate(HISTORY)
    ]
    bank.remember(persona.id, sessions)
    race = MemoryDraft(
        "event",
        "Tilde won the rowing regatta at Lake Hallen.",
        event=TimeSpan(moment(2, 10, 0), moment(2, 11, 0)),
        said_at=moment(3, 1),
    )
    bank.add_memories(persona.id, [race, MemoryDraft("profile", "Occupation: lock keeper", speaker="Tilde")])
    indexer.embed_all(bank, embedder)
    return bank


@pytest.fixture
def marlow(services: Services, marlows_bank: Bank) -> Chat:
    """A chat on 1 July 2024 with Marlow."""
    with marlows_bank.reading() as ours, closing(sqlite3.connect(services.bank.path)) as copy:
        ours.conn.backup(copy)
    return Chat(services, services.bank.persona("Marlow"), moment(7, 1))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A Chromium without a window; skipped where there is none, unless MEMOIR_REQUIRE_BROWSER=1 says there must be.

    One for each file: while Playwright runs, its event loop counts as this thread's, and no test could run another.
    """
    found = os.environ.get("MEMOIR_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    required = os.environ.get("MEMOIR_REQUIRE_BROWSER") == "1"
    if found is None and not required:
        pytest.skip("no Chromium: install it (apt-get install chromium), or name one in MEMOIR_CHROMIUM")
    from playwright.sync_api import sync_playwright

    flags = (
        "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
        "--disable-component-update --disable-sync"
    )
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=found, args=flags.split())
        yield running
        running.close()


@pytest.fixture(scope="module")
def window(app: Any, browser: Any) -> Iterator[Any]:
    """The window in which the tests of a module look at the app that the module starts."""
    from support.browser_app import Screen

    opened = Screen(browser, app.url, address=None)
    yield opened
    opened.close()


@pytest.fixture
def screen(window: Any) -> Iterator[Any]:
    """That window with a page that no test has used; it meets no fault, and nothing outside the machine."""
    window.visit_anew()
    yield window
    assert window.outside == []
    assert window.faults == []

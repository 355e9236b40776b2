"""Users who wait for one chat model take turns, and waiting for it holds up nothing else."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import TYPE_CHECKING

import pytest

from graph import assistant
from graph.assistant import Assistant
from graph.models.calls import complete
from graph.models.fair_lock import USER, FairLock
from graph.models.local_model import LocalModel, LocalWeights
from memory.bank.bank import Bank

if TYPE_CHECKING:
    from conftest import Chat
    from graph.models.local_model import Generation


class Weights(LocalWeights):
    """Weights that write nothing until `go_on` is set, and keep for whom they wrote."""

    context, precision = 10_000, "fp32"  # type: ignore[assignment]

    def __init__(self) -> None:
        super().__init__()
        self.go_on, self.written = threading.Event(), list[str]()

    def memory_need(self) -> None:  # type: ignore[override]
        raise AssertionError

    def _load(self) -> Weights:
        return self

    def _encode(self, chat: list[dict[str, str]]) -> list[int]:
        self.written.append(chat[-1]["content"])
        return [0]

    def write(self, reply: Generation) -> tuple[int, bool] | None:
        self.go_on.wait(60)
        reply.deliver("So it is.")
        return 1, True


@pytest.fixture
def weights() -> Weights:
    return Weights()


@pytest.fixture
def model(weights: Weights) -> LocalModel:
    return LocalModel(weights=weights)


async def ask(model: LocalModel, user: str, text: str) -> None:
    USER.set(user)
    async for _ in model.astream(text):
        pass


def asked(lock: FairLock, count: int) -> bool:
    return len(lock._waiting) == count


def locked(lock: FairLock) -> bool:
    return lock._free == 0


async def until(happened: object) -> None:
    while not happened():  # type: ignore[operator]
        await asyncio.sleep(0.001)


def test_who_asks_once_waits_for_one_reply_of_who_asks_often(model: LocalModel, weights: Weights) -> None:
    async def crowd() -> None:
        asks = []
        for n, (user, text) in enumerate(zip("aaaabbc", ("a1", "a2", "a3", "a4", "b1", "b2", "c1"), strict=True)):
            asks.append(asyncio.create_task(ask(model, user, text)))
            await until(lambda n=n: locked(weights.generating) and asked(weights.generating, n))  # type: ignore[misc]
        weights.go_on.set()
        await asyncio.gather(*asks)

    asyncio.run(asyncio.wait_for(crowd(), 60))
    assert weights.written == ["a1", "b1", "c1", "a2", "b2", "a3", "a4"]
    assert not locked(weights.generating)


def test_those_who_wait_for_a_model_hold_no_thread(model: LocalModel, weights: Weights) -> None:
    async def crowd() -> None:
        asks = [asyncio.create_task(ask(model, str(n), "?")) for n in range(50)]
        await until(lambda: locked(weights.generating))
        await asyncio.to_thread(weights.go_on.set)
        await asyncio.gather(*asks)

    asyncio.run(asyncio.wait_for(crowd(), 60))
    assert len(weights.written) == 50


def test_one_who_goes_while_waiting_is_passed_over(model: LocalModel, weights: Weights) -> None:
    async def crowd() -> None:
        asks = [asyncio.create_task(ask(model, user, user)) for user in "abc"]
        await until(lambda: asked(weights.generating, 2))
        asks[1].cancel()
        await asyncio.wait([asks[1]])
        assert not weights.generating.acquire(timeout=0.01)
        weights.go_on.set()
        await asyncio.gather(asks[0], asks[2])

    asyncio.run(asyncio.wait_for(crowd(), 60))
    assert weights.written == ["a", "c"]
    assert not locked(weights.generating)


def test_a_lock_that_comes_as_its_waiter_is_cancelled_goes_to_the_next() -> None:
    lock = FairLock()

    async def cancel_late() -> None:
        lock.acquire()
        waiting = asyncio.create_task(lock.acquire_async())
        await until(lambda: asked(lock, 1))
        lock.release()
        waiting.cancel()
        await asyncio.wait([waiting])
        if not waiting.cancelled():
            lock.release()

    asyncio.run(cancel_late())
    assert not locked(lock)


def test_a_lock_of_two_places_goes_to_who_had_it_longest_ago() -> None:
    lock, held = FairLock(places=2), list[str]()

    async def hold(user: str) -> None:
        USER.set(user)
        await lock.acquire_async()
        held.append(user)

    async def crowd() -> None:
        asks = []
        for n, user in enumerate("abbac"):
            asks.append(asyncio.create_task(hold(user)))
            await until(lambda n=n: len(held) + len(lock._waiting) == n + 1)  # type: ignore[misc]
        assert held == ["a", "b"]
        for _ in range(5):
            lock.release()
        await asyncio.gather(*asks)

    asyncio.run(asyncio.wait_for(crowd(), 60))
    assert held == ["a", "b", "c", "a", "b"]
    assert not locked(lock)


def test_an_answer_waits_for_the_processor_unless_a_chat_model_gives_it(
    marlow: Chat, model: LocalModel, weights: Weights, monkeypatch: pytest.MonkeyPatch
) -> None:
    computing = FairLock()
    monkeypatch.setattr(assistant, "_COMPUTING", computing)
    weights.go_on.set()
    without, ask = Assistant(marlow.services), marlow.asks("Where is Biscuit from?", remember=False)
    computing.acquire()
    assert without.reading_with(model, "fake", "auto").ask(ask).reading.answer
    waiting = threading.Thread(target=without.ask, args=(ask,))
    waiting.start()
    while not asked(computing, 1):
        time.sleep(0.001)
    computing.release()
    waiting.join(60)
    assert not waiting.is_alive()
    assert not locked(computing)


def test_threads_and_event_loops_wait_for_the_same_lock(model: LocalModel, weights: Weights) -> None:
    weights.go_on.set()
    threads = [threading.Thread(target=complete, args=(model, str(n))) for n in range(8)]
    threads += [threading.Thread(target=model.invoke, args=(str(n),)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(weights.written) == 16
    assert not locked(weights.generating)


def test_an_assistant_asks_for_the_user_whose_bank_it_has(
    marlow: Chat, model: LocalModel, weights: Weights, monkeypatch: pytest.MonkeyPatch
) -> None:
    users: list[str] = []
    ask = FairLock._ask
    monkeypatch.setattr(FairLock, "_ask", lambda lock: (users.append(USER.get()), ask(lock))[1])
    weights.go_on.set()
    with_model = Assistant(marlow.services).reading_with(model, "fake", "auto")
    with_model.ask(marlow.asks("Where is Biscuit from?", remember=False))
    bank: Bank = marlow.services.bank
    assert users
    assert set(users) == {str(bank.path)}

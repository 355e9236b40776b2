"""Check that a question is answered by all of its evidence and by no part of it.

In place of the authors' editing (LongMemEval, section 3.2 and appendix A.1). The model answers from sessions and
compares answers; it is not told which sessions are missing.
"""

from __future__ import annotations

from collections.abc import Iterable

from eval.benchmarks.longmemeval.generation.check_prompts import Agreement, Reading
from eval.benchmarks.longmemeval.generation.draft import Draft, LeftOut, need
from eval.benchmarks.longmemeval.generation.sessions import chat_lines
from eval.making.writer import Writer


def check_answer(draft: Draft, writer: Writer) -> None:
    """Refuse a question whose answer does not follow from its sessions, or follows without one of them.

    Of an update, the newer session is enough, and the older one has to give another answer.

    Raises:
        LeftOut: the question is refused.
        Unreachable: the model does not reply.
    """
    everything = range(len(draft.sessions))
    if not _is_right(draft, read(draft, everything, writer), writer):
        raise LeftOut("the answer does not follow from its sessions")
    for missing in everything[-1:] if draft.kind.is_update else everything:
        answer = read(draft, (number for number in everything if number != missing), writer)
        if _is_right(draft, answer, writer):
            raise LeftOut("answered by a part of its evidence")
        if draft.kind.is_update and answer is None:
            raise LeftOut("its first session does not say what is updated")


def read(draft: Draft, numbers: Iterable[int], writer: Writer) -> str | None:
    """The model's answer from some of the sessions, in the order of time; None if they do not say it."""
    chosen = sorted(numbers, key=lambda number: draft.statements[number].said_at)
    chats = [
        {"date": f"{draft.statements[number].said_at:%A, %Y-%m-%d}", "chat": chat_lines(draft.sessions[number])}
        for number in chosen
    ]
    today = f"{draft.asked_at:%A, %Y-%m-%d}"
    reading = need(writer.ask(Reading, chats=chats, today=today, question=draft.question))
    return reading.answer if reading.known else None


def _is_right(draft: Draft, answer: str | None, writer: Writer) -> bool:
    told = {"question": draft.question, "right_answer": draft.answer, "reply": answer}
    return answer is not None and need(writer.ask(Agreement, **told)).right

"""Who somebody is, and whom one has, is answered from what was told of people."""

import json
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memory.types import PersonaDraft

CASES = [json.loads(line) for line in (Path(__file__).parent / "data" / "people_asked.jsonl").open(encoding="utf-8")]
TODAY = datetime(2026, 11, 22, 12, tzinfo=UTC)
KNOWN_FAILURES = {"who's tilly"}
"""“Wen's daughter Tilly broke her arm” is taken for a question: “wen” is how people type “when”, too."""


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_who_somebody_is_and_whom_one_has_is_answered_from_relations(services, marlow):
    wrong = []
    for number, case in enumerate(CASES):
        persona = services.bank.create_persona(PersonaDraft(f"Quill {number}"))
        chat = replace(marlow, persona=persona, now=TODAY, dialogue=[])
        for told in case["tell"]:
            chat.say(told)
        answer = chat.again(now=TODAY + timedelta(hours=2)).say(case["ask"]).reading.answer
        if not re.search(case["expect"], answer) and case["ask"] not in KNOWN_FAILURES:
            wrong.append(f"{case['tell']} | {case['ask']} | {answer}")
    assert "\n".join(wrong) == ""


def test_a_line_about_such_a_person_is_shown_where_no_fact_tells(services, marlow):
    chat = replace(marlow, persona=services.bank.create_persona(PersonaDraft("Quill")), now=TODAY, dialogue=[])
    chat.say("a sister of somebody at work sells hats")
    answer = chat.again(now=TODAY + timedelta(hours=2)).say("do i have a sister").reading.answer
    assert "sells hats" in answer


@pytest.mark.parametrize(("ask", "who"), [("what's my doctor called?", "doctor"), ("whats my boss's name", "boss")])
def test_the_users_own_name_is_not_given_for_another_persons(services, marlow, ask, who):
    chat = replace(marlow, persona=services.bank.create_persona(PersonaDraft("Quill")), now=TODAY, dialogue=[])
    for told in ("I'm Delyth, just retired from the post office", "had the dr's this morning, my boss moaned"):
        chat.say(told)
    answer = chat.again(now=TODAY + timedelta(hours=2)).say(ask).reading.answer
    assert "Delyth" not in answer


def test_a_person_nobody_told_of_is_no_answer(services, marlow):
    asking = replace(marlow, persona=services.bank.create_persona(PersonaDraft("Quill")), now=TODAY)
    for ask in ("who is tim", "do i have a brother"):
        reading = asking.say(ask).reading
        assert reading.abstained
        assert reading.citations == ()

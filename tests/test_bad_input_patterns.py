"""No text of any length is slow to read: a message, what somebody said, a reply, a date or a line of a file."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from graph.learning import facts, from_rules
from graph.readers.chain_of_note import reply_formats
from graph.readers.counting import intervals, several
from graph.readers.talk import known, reply
from graph.replies import card, second_person
from graph.tab import messages
from graph.understanding import acts, markup, question, requests, sentences, times
from memory.bank.queries.listing import stands_alone
from memory.importers.benchmarks import dialsim, longmemeval
from memory.importers.chats.whatsapp import read_message_time, text_and_skip_reason
from memory.importers.generic import transcript
from memory.importers.reading.dialogue import split_utterance
from memory.search import names, tokens
from support.cpu_time import at_most_cpu_seconds

NOW = datetime(2024, 5, 5, tzinfo=UTC)
LENGTH = 20_000
CPU_SECONDS = 8.0
"""For all of these texts together; the linear patterns take under a second, a quadratic one 20 on one text."""

REPEATED = (
    *(" ", "\n", " \n", "1", "1,", "1 ", "A ", "Aa ", "a-", "a'", "(", "[", "[1,", "“", '"', "é", "年", "1年", "<b "),
    *(
        "```\n",
        "` ",
        "<|im_end|>",
        "Mr. ",
        "my ",
        "i am ",
        "i was ",
        "not ",
        "last ",
        "monday ",
        "how many ",
        "who is ",
        "no, ",
        "Anna, ",
        "x: ",
    ),
)
AROUND = (("", ""), ("I a ", "\0"))
TEXTS = [f"{first}{part * (LENGTH // len(part))}{last}" for part in REPEATED for first, last in AROUND]

READERS: dict[str, Callable[[str], object]] = {
    "act": acts.said,
    "follow-up": question.stands_alone,
    "question": lambda text: question.parse(text, 10, {}),
    "times": lambda text: times.times_in(text, NOW),
    "sentences": sentences.split,
    "retraction": requests.parse_retraction,
    "facts": lambda text: facts.facts_and_ends(text, "Ann", NOW),
    "feelings": lambda text: (from_rules.emotion(text), from_rules.scene(text)),
    "recap": requests.parse_recap,
    "people": requests.parse_person,
    "second person": second_person.second_person,
    "comparison": intervals.parse,
    "sum": lambda text: (several.asks_total(text), several.without_total(text), several.amount_in(text)),
    "names": lambda text: (list(names.possible_names(text)), names.to_first_person(text, ["Ann"])),
    "terms": tokens.terms,
    "listed memory": stands_alone,
    "chat model's reply": lambda text: reply.StreamedReply(9, "Ann", lambda *_: None).end(text),
    "code": lambda text: list(markup.parts(text)),
    "passages": known.split_passages,
    "reply as Markdown": lambda text: messages.answer_bubble(text, messages.PastAnswer("", ((1, 1, ""),)), ["I a"]),
    "card": lambda text: card._SENTENCE_START.search(text),
    "citation": lambda text: (reply_formats._MARK.sub("", text), reply_formats._QUOTED.findall(text)),
    "scene": dialsim.SCENE.fullmatch,
    "date with a weekday": longmemeval.without_weekday,
    "WhatsApp": lambda text: (read_message_time(text), text_and_skip_reason("Ann", text)),
    "transcript": lambda text: (transcript.read_line_time(text), transcript.read_heading(text)),
    "speaker": split_utterance,
}


@pytest.mark.parametrize("reader", READERS)
def test_no_text_is_slow_to_read(reader: str) -> None:
    with at_most_cpu_seconds(CPU_SECONDS):
        for text in TEXTS:
            READERS[reader](text)

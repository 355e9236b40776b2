from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from graph.models.local_model import LocalModel
from graph.models.registry import chat_model
from graph.readers.talk.checking import cite, sentences_of
from graph.readers.talk.prompt import turns_of
from graph.tab.answering import status_after
from graph.tab.chats import build_ask
from graph.tab.messages import (
    CUT,
    LOADING_MODEL,
    SHOWN,
    STATUS,
    Bubble,
    Chat,
    PastAnswer,
    answer_bubble,
    draft_bubble,
    latest,
    notice,
    shown,
    user_bubble,
)
from memory.bank.bank import Bank
from memory.errors import MemoirError
from memory.types import PersonaDraft
from support.tiny_models import made_up

UNCITED = PastAnswer("", ())


def cites_first(number: int) -> PastAnswer:
    return PastAnswer("", ((1, 9, ""),), number)


def chat(exchanges: range) -> list[Bubble]:
    return [make(f"message {n}") for n in exchanges for make in (user_bubble, draft_bubble)]


def test_a_short_chat_is_shown_whole() -> None:
    bubbles = chat(range(SHOWN // 2))
    assert latest(bubbles) == bubbles


def test_of_a_long_chat_the_end_is_shown_and_a_notice_says_so() -> None:
    bubbles = chat(range(5000))
    kept = latest(bubbles)
    assert len(kept) <= SHOWN
    assert kept[1].role == "user"
    assert kept[1:] == bubbles[-len(kept) + 1 :]
    assert kept[:1] == notice(*CUT)
    assert kept[0].title  # nobody in the chat said it


def test_a_chat_that_goes_on_is_cut_again_under_one_notice() -> None:
    kept = latest(chat(range(5000)))
    for n in range(5000, 5010):
        kept = latest([*kept, *chat(range(n, n + 1))])
    assert [bool(bubble.title) for bubble in kept] == [True] + [False] * (len(kept) - 1)
    assert kept[-1].text == "message 5009"


def test_a_text_is_shown_as_it_was_written_and_kept_as_it_is() -> None:
    bubble = user_bubble("I like *stars* and <b>bold</b>.")
    assert bubble.text == "I like *stars* and <b>bold</b>."
    assert shown([bubble])[0]["content"] == r"I like \*stars\* and \<b\>bold\<\/b\>\."


CODE = "```python\ndef first(items):\n    return items[0]\n```"


@pytest.mark.parametrize(
    "reply", [CODE, f"So:\n\n{CODE}\n\n- **one**\n- two", "| a | b |\n|---|---|\n| 1 | 2 |", "a < b"]
)
def test_the_markdown_of_a_reply_is_kept(reply: str) -> None:
    assert draft_bubble(reply).markdown == reply == answer_bubble(reply, UNCITED).markdown


@pytest.mark.parametrize(
    ("reply", "markdown"),
    [
        ("<img src=x onerror=alert(1)>", r"\<img src=x onerror=alert(1)>"),
        ("![a](http://outside.invalid/p.png)", r"\![a\](http://outside.invalid/p.png)"),
        ("[harmless](http://outside.invalid)", r"[harmless\](http://outside.invalid)"),
        ("[a][b]\n\n[b]: http://outside.invalid", "[a][b]\n\n[b\\]: http://outside.invalid"),
        (r"\`<b>`", r"\`\<b>`"),
        ("``<b>``", r"``\<b>``"),
        ("5528. You told me today.", r"5528\. You told me today."),
        ("1. Tea\n2. Bread", "1. Tea\n2. Bread"),
    ],
)
def test_html_pictures_hidden_addresses_and_lists_of_one_number_are_escaped(reply: str, markdown: str) -> None:
    assert draft_bubble(reply).markdown == answer_bubble(reply, UNCITED).markdown == markdown


def test_citations_lead_to_their_sources_and_not_in_code() -> None:
    text = f"In May [1]. Or [2]?\n\n{CODE.replace('0', '1')}"
    assert answer_bubble(text, cites_first(3)).markdown == text.replace("May [1]", "May [1](#source-3-1)")


def test_before_a_colon_a_citation_leads_to_its_source_and_nothing_else_is_an_address() -> None:
    shown_as = answer_bubble("Think of Bas [1]: no kiwi.\n[2]: http://elsewhere.invalid", cites_first(3)).markdown
    assert shown_as == "Think of Bas [1](#source-3-1): no kiwi.\n[2\\]: http://elsewhere.invalid"


def test_sentences_that_nothing_supports_are_marked_beside_their_citations() -> None:
    shown_as = answer_bubble("Hello. You own a boat [1]. Bye.", cites_first(2), ["You own a boat [1]."]).markdown
    mark = '(#unsupported "Not in my memory")'
    assert shown_as == f"Hello. [You own a boat]{mark} [1](#source-2-1)[.]{mark} Bye."


def test_marks_stay_within_their_item_and_their_cells() -> None:
    mark = '(#unsupported "Not in my memory")'
    text = "Hi.\n\n- You own a boat.\n- [x] Bye now.\n\n| Day | What |\n|---|---|\n| Tue | the `dentist` |\n"
    sentences = list(sentences_of(text))
    assert sentences == ["You own a boat.", "Bye now.", "Tue | the `dentist`"]
    shown_as = answer_bubble(text, UNCITED, [sentences[0], sentences[2]]).markdown
    expected = text.replace("You own a boat.", f"[You own a boat.]{mark}").strip()
    assert shown_as == expected.replace("Tue | the `dentist`", f"[Tue]{mark} | [the `dentist`]{mark}")
    assert cite(text, [("Tue | the `dentist`", 7)], []) == text.replace("dentist` |", "dentist` [1] |")


def test_a_sentence_is_cited_once_where_its_number_stands_after_an_emoji():
    assert cite("They rob kitchens. 😂 [1] Right: tea.", [("They rob kitchens.", 6)], [6]) == (
        "They rob kitchens. 😂 [1] Right: tea."
    )


def test_the_day_of_a_month_ends_no_sentence_but_the_last() -> None:
    text = "Termin am 8. September. So gut. See you at 9."
    assert list(sentences_of(text)) == ["Termin am 8. September.", "So gut.", "See you at 9."]


def test_a_chat_gives_what_was_said_in_it_and_no_notices(tmp_path: Path) -> None:
    bank = Bank(tmp_path / "bank.db")
    persona = bank.create_persona(PersonaDraft("Marlow"))
    reply = answer_bubble("So do I. You own a boat.", UNCITED, ["You own a boat."])
    said = (user_bubble("I like *stars*."), *notice("Stopped", "The reply was stopped."), reply)
    ask = build_ask(bank, "Why?", Chat("chat-1", persona.id, said), None, remember=True)
    assert [(turn.role, turn.text) for turn in ask.dialogue] == [("user", "I like *stars*."), ("assistant", reply.text)]
    assert turns_of(ask) == (("human", "I like *stars*."), ("ai", reply.text))


def test_a_chip_under_a_message_says_what_was_remembered_of_it() -> None:
    bubble = user_bubble("I live in *Porto*.", "turn-1")
    one = shown([replace(bubble, remembered=("I live in *Porto*.",)), draft_bubble("Lovely.")])
    assert [message["role"] for message in one] == ["user", "user", "assistant"]
    assert one[1]["content"] == r'[Remembered](#remembered-turn-1 "I live in \*Porto\*\.")'
    two = shown([replace(bubble, remembered=('My "Comma"', "word " * 100))])[1]["content"]
    assert two.startswith('[Remembered · 2 memories](#remembered-turn-1 "My \\"Comma\\"\n')
    assert len(two) < 300


def test_a_model_that_runs_here_is_said_to_load_before_it_reads(tmp_path: Path) -> None:
    model = chat_model(made_up(tmp_path / "tiny"))
    assert isinstance(model, LocalModel)
    assert [status_after(node, model) for node in ("classify", "time_filter")] == [STATUS["classify"], LOADING_MODEL]
    model.weights.model()
    assert status_after("time_filter", model) == STATUS["time_filter"]


def test_a_chat_that_the_server_lost_asks_to_reload_the_page(tmp_path: Path) -> None:
    with pytest.raises(MemoirError, match="Reload it"):
        build_ask(Bank(tmp_path / "bank.db"), "Why?", Chat(), None, remember=True)

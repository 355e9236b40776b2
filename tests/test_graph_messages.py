from __future__ import annotations

from graph.tab.messages import CUT, SHOWN, aside, is_aside, latest, message


def chat(exchanges: int) -> list[dict[str, object]]:
    return [message(role, f"{role} {n}") for n in range(exchanges) for role in ("user", "assistant")]


def test_a_short_chat_stays_whole() -> None:
    assert latest(chat(SHOWN // 2)) == chat(SHOWN // 2)


def test_of_a_long_chat_the_page_keeps_the_end_and_says_so() -> None:
    shown = chat(5000)
    kept = latest(shown)
    assert len(kept) <= SHOWN
    assert kept[1]["role"] == "user"
    assert kept[1:] == shown[-len(kept) + 1 :]
    assert kept[:1] == aside(*CUT)
    assert is_aside(kept[0])  # nobody in the chat said it


def test_a_chat_that_goes_on_is_cut_again_under_one_line() -> None:
    kept = latest(chat(5000))
    for n in range(5000, 5010):
        kept = latest([*kept, message("user", f"user {n}"), message("assistant", f"assistant {n}")])
    assert [is_aside(each) for each in kept] == [True] + [False] * (len(kept) - 1)
    assert kept[-1]["content"] == "assistant 5009"

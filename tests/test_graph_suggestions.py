from __future__ import annotations

from pathlib import Path

from graph.replies.suggestions import ALWAYS, MOST, suggest_questions
from graph.tab.personas import introduce
from memory.bank.bank import Bank
from memory.types import PersonaDraft, SessionDraft, TurnDraft


def told(bank: Bank, name: str, *lines: tuple[str, str]) -> list[str]:
    persona = bank.create_persona(PersonaDraft(name))
    bank.remember(persona.id, [SessionDraft(tuple(TurnDraft(who, "user", text) for who, text in lines))])
    return suggest_questions(bank, persona)


def test_names_in_a_history_are_asked_about_the_most_frequent_first(tmp_path: Path) -> None:
    questions = told(
        Bank(tmp_path / "bank.db"),
        "Ana & Bo",
        ("Ana", "We sailed to Lisbon and back."),
        ("Bo", "Did you see Olaf in Lisbon?"),
        ("Ana", "No, in Lisbon it rained."),
        ("Bo", "Ana, you should see Olaf on Friday, or in March."),
        ("Ana", "Next year we sail with Petra. The boat likes the Sun. A sun is a sun."),
    )
    assert questions == [
        "What did Ana say about Lisbon?",
        "What did Bo say about Olaf?",
        "What did Ana say about Petra?",
    ]


def test_what_the_user_said_is_asked_in_the_first_person(tmp_path: Path) -> None:
    assert told(Bank(tmp_path / "bank.db"), "Iris", ("You", "I went to Porto."))[0] == "What did I say about Porto?"


def test_what_is_shouted_an_abbreviation_or_a_password_is_no_topic(tmp_path: Path) -> None:
    lines = ("You", "no sorry its half THREE"), ("You", "we got it, on Lowfield Rd, in York")
    lines = *lines, ("You", "the wifi is called Biscuit2019")
    assert [q for q in told(Bank(tmp_path / "bank.db"), "Iris", *lines) if q not in ALWAYS] == [
        "What did I say about Lowfield Rd?",
        "What did I say about York?",
    ]


def test_a_known_name_is_asked_for_and_a_new_persona_is_asked_about_itself(tmp_path: Path) -> None:
    bank = Bank(tmp_path / "bank.db")
    assert suggest_questions(bank, bank.create_persona(PersonaDraft("Iris"))) == list(ALWAYS)
    assert suggest_questions(bank, introduce(bank, "Anna")[0]) == ["What's my name?", *ALWAYS]


def test_what_only_has_a_capital_letter_in_another_language_is_not_taken_for_a_name(tmp_path: Path) -> None:
    lines = ("Meine Schwester zieht nach Köln.", "Sie sucht eine neue Wohnung.", "We talked about it in Porto.")
    questions = told(Bank(tmp_path / "bank.db"), "Iris", *(("You", line) for line in lines))
    assert questions[0] == "What did I say about Porto?"
    assert not any(word in question for word in ("Schwester", "Wohnung", "Köln") for question in questions)


def test_a_long_history_suggests_no_more_than_fit(tmp_path: Path) -> None:
    towns = ("Aveiro", "Braga", "Coimbra", "Evora", "Faro", "Guarda", "Leiria", "Porto", "Setubal")
    lines = [("You", f"I went to {town}.") for town in towns]
    assert len(told(Bank(tmp_path / "bank.db"), "Iris", *lines)) == MOST

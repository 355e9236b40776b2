"""LoCoMo: questions about a conversation, and evidence that is not always an id."""

import json
import random
from collections import Counter
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.benchmarks.locomo.adapter import DIA_ID, load
from eval.benchmarks.locomo.metrics import f1, official_scores, split_f1
from eval.types import Gold, Prediction, Probe, Sample
from memory.errors import UnreadableFile
from memory.types import Skip

CONVERSATION = {
    "speaker_a": "Pia",
    "speaker_b": "Mo",
    "session_1_date_time": "1:56 pm on 8 May, 2024",
    "session_1": [
        {"speaker": "Pia", "dia_id": "D1:1", "text": "I row on the lake."},
        {"speaker": "Mo", "dia_id": "D1:2", "text": ""},
        {"speaker": "Mo", "dia_id": "D1:3", "text": "I moved in 2021."},
    ],
    "session_2_date_time": "9:05 am on 3 June, 2024",
    "session_2": [{"speaker": "Pia", "dia_id": "D2:1", "text": "Back again!"}],
}
WHERE = {"question": "Where does Pia row?", "answer": "On the lake", "evidence": ["D1:1"], "category": 4}
WHEN = {"question": "When did Mo move?", "answer": 2021, "evidence": ["D1:3", "D2:1"], "category": 2}
NEVER = {"question": "Where does Mo row?", "adversarial_answer": "On the lake", "evidence": ["D1:1"], "category": 5}


def loaded(tmp_path, *questions, conversation=CONVERSATION):
    sample = {"qa": list(questions), "conversation": conversation, "sample_id": "conv-1"}
    path = tmp_path / "locomo.json"
    path.write_text(json.dumps([sample]), encoding="utf-8")
    (history,) = load(path)
    return history


def gold_of(tmp_path, evidence):
    history = loaded(tmp_path, WHERE | {"evidence": evidence})
    return history.probes[0].gold, [skip.reason for skip in history.skips if ".qa" in skip.place]


def test_a_question_is_asked_at_the_end_of_the_last_day(tmp_path):
    history = loaded(tmp_path, WHERE)
    assert (history.id, history.persona.name) == ("conv-1", "Pia & Mo")
    assert history.probes[0].asked_at == datetime(2024, 6, 3, 23, 59, 59, 999_999, tzinfo=UTC)


def test_a_conversation_without_dates_is_asked_at_a_fixed_moment(tmp_path):
    undated = {name: value for name, value in CONVERSATION.items() if not name.endswith("date_time")}
    assert loaded(tmp_path, WHERE, conversation=undated).probes[0].asked_at.tzinfo is UTC


def test_evidence_is_turns_and_the_sessions_they_are_in(tmp_path):
    (found,) = loaded(tmp_path, WHEN).probes
    assert (found.gold.turns, found.gold.sessions) == (("D1:3", "D2:1"), ("session_1", "session_2"))
    assert (found.gold.answers, found.ability) == (("2021",), "temporal")
    assert found.populations == ("all", "answerable")


def test_what_must_not_be_said_is_no_answer(tmp_path):
    (found,) = loaded(tmp_path, NEVER).probes
    assert (found.gold.answers, found.gold.answerable, found.ability) == ((), False, "adversarial")
    assert (found.gold.turns, found.populations) == (("D1:1",), ("all",))
    assert "On the lake" not in repr(found)


def test_an_answer_to_what_was_never_so_is_not_used_and_noted(tmp_path):
    history = loaded(tmp_path, NEVER | {"answer": "No"})
    assert history.probes[0].gold.answers == ()
    assert [skip.place for skip in history.skips if ".qa" in skip.place] == ["[0].qa[0].answer"]


@pytest.mark.parametrize(
    ("evidence", "turns"),
    [
        (["D1:1; D2:1"], ("D1:1", "D2:1")),
        (["D1:1, D2:1 D1:3"], ("D1:1", "D2:1", "D1:3")),
        (["D:1:3"], ("D1:3",)),
        (["D01:03"], ("D1:3",)),
        (["D1:1", "D1:1"], ("D1:1",)),
    ],
)
def test_evidence_is_repaired_where_nothing_is_guessed(tmp_path, evidence, turns):
    gold, reasons = gold_of(tmp_path, evidence)
    assert gold.turns == turns
    assert all(" read as " in reason for reason in reasons)


@pytest.mark.parametrize(
    ("evidence", "reason"),
    [
        (["D"], "evidence 'D' is not the id of a turn; left out"),
        (["D1:9"], "evidence 'D1:9' is not in the conversation; left out"),
        (["D1:2"], "evidence 'D1:2' is not in the conversation; left out"),
        ([7], "expected the id of a turn, found a number; left out"),
        ([], "no evidence is named; only the answer is scored"),
    ],
)
def test_evidence_that_cannot_be_used_is_noted_and_the_question_stays(tmp_path, evidence, reason):
    gold, reasons = gold_of(tmp_path, evidence)
    assert (gold.turns, gold.sessions, reasons) == ((), (), [reason])


@pytest.mark.parametrize("change", [{"question": " "}, {"category": 6}, {"answer": None}, {"category": None}])
def test_a_question_that_cannot_be_asked_costs_only_itself(tmp_path, change):
    history = loaded(tmp_path, WHERE | change, WHEN, 5)
    assert [p.ability for p in history.probes] == ["temporal"]
    assert {"[0].qa[0]", "[0].qa[2]"} <= {skip.place for skip in history.skips}


def test_equal_questions_are_told_apart(tmp_path):
    history = loaded(tmp_path, WHERE, WHERE, WHERE | {"answer": "At sea"})
    first, second, third = (p.id for p in history.probes)
    assert (second, third == first) == (f"{first}-2", False)


def test_ids_do_not_depend_on_the_order_of_questions(tmp_path):
    there, back = loaded(tmp_path, WHERE, WHEN, NEVER), loaded(tmp_path, NEVER, WHEN, WHERE)
    assert {p.id: p for p in there.probes} == {p.id: p for p in back.probes}


def test_a_folder_is_searched_for_the_one_file(tmp_path):
    loaded(tmp_path, WHERE)
    assert len(list(load(tmp_path))) == 1
    (tmp_path / "locomo10.json").write_text("[]", encoding="utf-8")
    with pytest.raises(UnreadableFile, match=r"several files of LoCoMo: locomo\.json, locomo10\.json"):
        list(load(tmp_path))


def test_another_file_is_refused(tmp_path):
    path = tmp_path / "other.json"
    path.write_text('{"a": 1}', encoding="utf-8")
    with pytest.raises(UnreadableFile, match="does not look like LoCoMo"):
        list(load(path))


@given(st.integers(0, 999_999), st.integers(0, 999_999), st.sampled_from(["", ":"]), st.sampled_from(["", "0"]))
def test_a_repaired_id_keeps_its_two_numbers(session, turn, colon, zero):
    match = DIA_ID.fullmatch(f"D{colon}{session}:{zero if turn < 100_000 else ''}{turn}")
    assert (int(match[1]), int(match[2])) == (session, turn)


@pytest.mark.data
def test_the_development_file_has_999_questions(benchmark_data):
    histories = list(load(benchmark_data / "locomo"))
    probes = [p for history in histories for p in history.probes]
    assert (len(histories), len(probes), len({p.id for p in probes})) == (5, 999, 999)
    assert Counter(p.ability for p in probes) == {
        "multi-hop": 142,
        "temporal": 156,
        "open-domain": 46,
        "single-hop": 418,
        "adversarial": 237,
    }
    skips = [skip for history in histories for skip in history.skips]
    assert skips == [
        Skip("[0].qa[30].evidence", "no evidence is named; only the answer is scored"),
        Skip("[0].qa[37].evidence[0]", "evidence 'D8:6; D9:17' read as D8:6, D9:17"),
        Skip("[0].qa[46].evidence", "no evidence is named; only the answer is scored"),
        Skip("[0].qa[167].answer", "category 5 is scored as an abstention; the answer is not used"),
        Skip("[0].qa[178].answer", "category 5 is scored as an abstention; the answer is not used"),
        Skip("[3].qa[58].evidence[6]", "evidence 'D10:19' is not in the conversation; left out"),
        Skip("[3].qa[88].evidence[1]", "evidence 'D' is not the id of a turn; left out"),
        Skip("[4].qa[18].evidence[4]", "evidence 'D:11:26' read as D11:26"),
    ]
    assert sum(not p.gold.turns for p in probes) == 2


@pytest.mark.data
def test_a_shuffled_file_holds_the_same_probes(benchmark_data, tmp_path):
    source = benchmark_data / "locomo" / "locomo_dev.json"
    samples = json.loads(source.read_text(encoding="utf-8"))
    for sample in samples:
        random.Random(7).shuffle(sample["qa"])
    random.Random(9).shuffle(samples)
    shuffled = tmp_path / "locomo.json"
    shuffled.write_text(json.dumps(samples), encoding="utf-8")
    assert {p.id: p for h in load(shuffled) for p in h.probes} == {p.id: p for h in load(source) for p in h.probes}


# --- asked as by the authors


def as_authors(tmp_path, *questions):
    loaded(tmp_path, *questions)
    (history,) = load(tmp_path / "locomo.json", as_authors=True)
    return history.probes


def test_the_authors_hint_at_the_date_of_what_is_asked_about_time(tmp_path):
    when, where = as_authors(tmp_path, WHEN, WHERE)
    assert when.shown == "When did Mo move? Use DATE of CONVERSATION to answer with an approximate date."
    assert (when.question, where.shown, where.choices) == ("When did Mo move?", "", ())


def test_the_authors_give_what_was_never_so_as_a_choice_in_an_order_that_varies(tmp_path):
    asked = as_authors(tmp_path, *(NEVER | {"question": f"Where does Mo row on day {n}?"} for n in range(12)))
    for probe in asked:
        first, second = probe.choices
        assert {first, second} == {"Not mentioned in the conversation", "On the lake"}
        assert probe.choices[probe.gold.choice] == "Not mentioned in the conversation"
        assert probe.shown == f"{probe.question} Select the correct answer: (a) {first} (b) {second}. "
    assert {probe.gold.choice for probe in asked} == {0, 1}
    again = as_authors(tmp_path, *(NEVER | {"question": f"Where does Mo row on day {n}?"} for n in range(12)))
    assert again == asked


def test_without_what_was_never_so_there_is_no_choice(tmp_path):
    (probe,) = as_authors(tmp_path, {"question": "Where does Mo row?", "category": 5, "evidence": ["D1:1"]})
    assert (probe.choices, probe.shown) == ((), "")


# --- its own F1, with refusals in any words and without marks


def scored(answer, gold, category, *, abstained=False):
    golds = (gold,) if category != "adversarial" else ()
    probe = Probe("p", "?", datetime(2024, 6, 3, tzinfo=UTC), Gold(golds), category)
    return official_scores(Sample(probe, Prediction("p", "h", {}, (), answer, abstained)))["f1_mapped"]


@pytest.mark.parametrize(
    ("answer", "gold", "value"),
    [
        ("She rows boats", "rowing a boat", 2 * 2 / (3 + 2)),
        ("The Cat, and the dog!", "cat dog", 1),
        ("boat boat", "boat", 2 / 3),
        ("1,200 euros", "1200 euro", 1),
        ("", "boat", 0),
        ("the", "a", 0),
    ],
)
def test_words_are_stemmed_and_counted_as_often_as_both_have_them(answer, gold, value):
    assert f1(answer, gold) == pytest.approx(value)


@given(st.text(st.sampled_from("ab ,.the")), st.text(st.sampled_from("ab ,.the")))
def test_f1_is_a_fraction_and_the_same_both_ways(answer, gold):
    assert 0 <= f1(answer, gold) == f1(gold, answer) <= 1
    assert 0 <= split_f1(answer, gold) <= 1


def test_each_part_of_a_multi_hop_answer_counts_as_its_best_match():
    assert scored("pottery, red boats", "boat, pottery, painting", "multi-hop") == pytest.approx((2 / 3 + 1 + 0) / 3)
    assert scored("pottery, red boats", "boat, pottery, painting", "single-hop") == pytest.approx(2 * 2 / (3 + 3))


def test_an_open_domain_answer_ends_at_its_first_semicolon():
    assert scored("likely yes", "Likely yes; she loves boats", "open-domain") == 1
    assert scored("likely yes", "Likely yes; she loves boats", "single-hop") < 1


def test_a_refusal_is_right_in_the_adversarial_category_alone():
    assert scored("I don't know.", "", "adversarial", abstained=True) == 1
    assert scored("It is not mentioned.", "", "adversarial") == 1
    assert scored("On the lake. [1]", "", "adversarial") == 0
    assert scored("On the lake.", "On the lake", "single-hop", abstained=True) == 0


def test_the_mark_of_a_citation_is_no_word():
    assert scored("On the lake. [1]", "on the lake", "temporal") == 1

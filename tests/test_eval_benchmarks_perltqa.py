"""PerLTQA: a bank and its questions, in the shapes of its three releases."""

import json
import random
from collections import Counter
from datetime import UTC, datetime

import pytest

from eval.benchmarks.perltqa.adapter import load
from memory.errors import UnreadableFile
from memory.importers.benchmarks import perltqa as importer
from memory.types import MemoryDraft, SessionDraft, Skip

CHARACTER = {
    "profile": {
        "Protagonist": "Pia Lund",
        "Occupation": "boat builder",
        "Awards and Role Models": "The oar",
        "Title": "",
    },
    "profile_description": "Pia builds boats.",
    "social_relationship": {
        "9_1": {"Supporting Characters": "Mo", "Description": "Pia's cousin", "Relationship": "cousin"}
    },
    "events": {"9_1_0": {"content": "They built a raft.", "summary": "The raft", "Creation Time": "March 2019"}},
    "dialogues": {"9_1_0#3": {"events": "9_1_0", "contents": {"2018-07-15 10:00": ["Mo: Will it float?"]}}},
}


def item(reference, answer="Yes.", question="Does it?", anchors=("it",)):
    return {
        "Question": question,
        "Answer": answer,
        "Reference Memory": reference,
        "Memory Anchors": [{phrase: [-1, -1]} for phrase in anchors],
    }


QUESTIONS = {
    "profile": [item("Occupation", "She builds boats.", "What does Pia do?", ["builds boats", "boats"])],
    "social_relationship": [{"9_1": [item("['9_1']")]}],
    "events": [{"9_1_0": [item("['9_1_0']"), item("['9_1_0']", "No.")]}],
    "dialogues": [{"9_1_0#3": [item("['9_1_0#3']")]}],
}


def write(folder, bank, questions, names=("perltmem_en_v2.json", "perltqa_en_v2.json")):
    for name, value in zip(names, (bank, questions), strict=True):
        (folder / name).write_text(json.dumps(value), encoding="utf-8")
    return folder


def loaded(tmp_path, questions=QUESTIONS, character=CHARACTER):
    (history,) = load(write(tmp_path, {"Pia Lund": character}, [{"Pia Lund": questions}]))
    return history


def only(tmp_path, section, *items):
    history = loaded(tmp_path, {section: list(items)})
    return history.probes, [skip for skip in history.skips if skip.place.startswith("perltqa")]


def test_a_history_is_what_a_user_imports_without_the_description(tmp_path):
    history = loaded(tmp_path)
    records = list(importer.read(tmp_path / "perltmem_en_v2.json"))
    assert (history.id, history.persona) == ("Pia Lund", records[0])
    assert list(history.sessions) == [record for record in records if isinstance(record, SessionDraft)]
    imported = [record for record in records if isinstance(record, MemoryDraft)]
    assert list(history.memories) == [memory for memory in imported if memory.external_id != "profile_description"]
    why = "restates the profile, and no question refers to it; not remembered"
    assert Skip("Pia Lund.profile_description", why) in history.skips


def test_each_section_is_a_store_and_a_kind_of_memory(tmp_path):
    found = [(p.ability, p.store, p.gold.kind, p.gold.items) for p in loaded(tmp_path).probes]
    assert found == [
        ("profile", "profile", "semantic", ("Occupation",)),
        ("social_relationship", "relationship", "semantic", ("9_1",)),
        ("events", "event", "episodic", ("9_1_0",)),
        ("events", "event", "episodic", ("9_1_0",)),
        ("dialogues", "dialogue", "episodic", ("9_1_0#3",)),
    ]


def test_a_question_is_asked_at_the_end_of_the_latest_day(tmp_path):
    assert loaded(tmp_path).probes[0].asked_at == datetime(2019, 3, 31, 23, 59, 59, 999_999, tzinfo=UTC)


def test_anchors_are_phrases_without_entities(tmp_path):
    (found,), _ = only(
        tmp_path, "profile", item("Occupation", "Pia&#39;s own.", anchors=["&quot;Kestrel&quot;", "b", "b"])
    )
    assert found.gold.anchors == ('"Kestrel"', "b")
    assert found.gold.answers == ("Pia's own.",)


def test_the_ceiling_of_the_anchors_is_what_the_referenced_memory_holds(tmp_path):
    (found,), _ = only(tmp_path, "profile", item("Occupation", anchors=["Occupation", "zeppelin"]))
    assert found.gold.anchor_ceiling == 0.5


def test_an_item_without_anchors_is_asked_and_noted(tmp_path):
    (found,), skips = only(tmp_path, "profile", item("Occupation", anchors=[]))
    assert (found.gold.anchors, found.gold.anchor_ceiling) == ((), None)
    place = "perltqa_en_v2.json, [0].Pia Lund.profile[0].Memory Anchors"
    assert skips == [Skip(place, "no anchors; not scored by them")]


def test_a_field_by_a_part_of_its_name_is_the_only_one_that_has_it(tmp_path):
    (found,), skips = only(tmp_path, "profile", item("Role Models"))
    assert found.gold.items == ("Awards and Role Models",)
    assert [skip.reason for skip in skips] == ["'Role Models' is not in the bank; read as 'Awards and Role Models'"]


@pytest.mark.parametrize("reference", ["Title", "Shoe size", "and", "['9_1']", ""])
def test_a_question_about_what_the_bank_does_not_hold_is_not_asked(tmp_path, reference):
    found, skips = only(tmp_path, "profile", item(reference))
    assert found == ()
    assert skips[-1].reason == "refers to nothing in the bank; not asked"


@pytest.mark.parametrize("reference", [None, "[9_1_0", "['9_1_0'", "[]", {}])
def test_a_reference_that_cannot_be_read_is_the_memory_it_is_grouped_under(tmp_path, reference):
    (found,), skips = only(tmp_path, "events", {"9_1_0": [item(reference)]})
    assert found.gold.items == ("9_1_0",)
    assert "not readable; taken to be 9_1_0, under which it stands" in {skip.reason for skip in skips}


def test_a_list_of_references_may_be_a_list(tmp_path):
    (found,), _ = only(tmp_path, "events", {"9_1_0": [item(["9_1_0", "9_9_9"])]})
    assert found.gold.items == ("9_1_0",)


@pytest.mark.parametrize("change", [{"Question": ""}, {"Answer": None}])
def test_an_item_without_question_or_answer_costs_only_itself(tmp_path, change):
    found, skips = only(tmp_path, "profile", item("Occupation") | change, item("Occupation"))
    assert (len(found), len(skips)) == (1, 1)


def test_the_chinese_release_is_a_list_with_questions_in_objects(tmp_path):
    character = CHARACTER | {"profile": {"Protagonist": "林青", "Occupation": "建筑师"}}
    questions = {
        "profile": [item("Occupation", "建筑师", "林青的职业是什么？", ["建筑师"])],
        "events": {"9_1_0": [item("['9_1_0']")]},
        "dialogues": {"9_1_0#3": item("['9_1_0#3']")},
    }
    write(tmp_path, [5, {}, character], [{"林青": questions}], ("perltmem.json", "perltqa.json"))
    (history,) = load(tmp_path)
    assert (history.id, len(history.memories), len(history.sessions)) == ("林青", 4, 1)
    assert [p.gold.items for p in history.probes] == [("Occupation",), ("9_1_0",), ("9_1_0#3",)]


def test_a_section_written_as_python_is_read_all_the_same(tmp_path):
    written = CHARACTER | {"social_relationship": repr(CHARACTER["social_relationship"])}
    assert loaded(tmp_path, character=written).memories == loaded(tmp_path).memories


@pytest.mark.parametrize("text", ["{1, 2}", "{(1,): 2}", "{b'a': 1}", "{" * 500, "{'a'"])
def test_a_section_that_is_no_object_costs_only_itself(tmp_path, text):
    history = loaded(tmp_path, character=CHARACTER | {"social_relationship": text})
    assert Counter(p.store for p in history.probes) == {"profile": 1, "event": 2, "dialogue": 1}
    assert any("refers to nothing in the bank" in skip.reason for skip in history.skips)


def test_whoever_is_not_in_the_bank_is_noted_once_and_whoever_is_not_asked_about_left_out(tmp_path):
    bank = {"Nobody asks": CHARACTER, "Pia Lund": CHARACTER, "Broken": 3}
    questions = [{"Broken": QUESTIONS, "Pia Lund": QUESTIONS}, {"Lost": QUESTIONS}]
    (history,) = load(write(tmp_path, bank, questions))
    assert history.id == "Pia Lund"
    assert [skip.reason for skip in history.skips][-2:] == [
        "Broken is not in the bank; none of their questions is asked",
        "Lost is not in the bank; none of their questions is asked",
    ]


@pytest.mark.parametrize("name", ["perltmem_en_v2.json", "perltqa_en_v2.json"])
def test_either_file_names_both(tmp_path, name):
    history = loaded(tmp_path)
    assert list(load(tmp_path / name)) == [history]


def test_a_release_in_a_folder_of_its_own_is_found(tmp_path):
    (tmp_path / "en_v2").mkdir()
    write(tmp_path / "en_v2", {"Pia Lund": CHARACTER}, [{"Pia Lund": QUESTIONS}])
    assert len(list(load(tmp_path))) == 1
    (tmp_path / "zh").mkdir()
    write(tmp_path / "zh", [CHARACTER], [{"Pia Lund": QUESTIONS}], ("perltmem.json", "perltqa.json"))
    with pytest.raises(UnreadableFile, match=r"en_v2/perltqa_en_v2\.json, zh/perltqa\.json"):
        list(load(tmp_path))


def test_half_of_a_release_is_refused(tmp_path):
    loaded(tmp_path)
    (tmp_path / "perltmem_en_v2.json").unlink()
    with pytest.raises(UnreadableFile, match=r"needs perltmem_en_v2\.json in the same folder"):
        list(load(tmp_path))


def test_questions_about_nobody_in_the_bank_are_refused(tmp_path):
    write(tmp_path, {"Mo": CHARACTER}, [{"Pia Lund": QUESTIONS}])
    with pytest.raises(UnreadableFile, match="has none of the characters"):
        list(load(tmp_path))


@pytest.mark.data
def test_the_sample_has_202_questions(benchmark_data):
    (history,) = load(benchmark_data / "perltqa")
    assert (len(history.sessions), len(history.memories), len(history.sessions) + len(history.memories)) == (21, 46, 67)
    assert Counter(m.store for m in history.memories) == {"profile": 14, "relationship": 9, "event": 23}
    assert (len(history.probes), len({p.id for p in history.probes})) == (202, 202)
    assert Counter(p.ability for p in history.probes) == {
        "dialogues": 95,
        "events": 77,
        "social_relationship": 17,
        "profile": 13,
    }
    assert all(len(p.gold.items) == 1 for p in history.probes)
    assert not any("&" in phrase and ";" in phrase for p in history.probes for phrase in p.gold.anchors)
    assert Counter(skip.reason.split(";")[0] for skip in history.skips) == {
        "no readable date": 1,
        "restates the profile, and no question refers to it": 1,
        "no anchors": 1,
    }


@pytest.mark.data
def test_a_shuffled_file_holds_the_same_probes(benchmark_data, tmp_path):
    folder = benchmark_data / "perltqa"
    bank = json.loads((folder / "perltmem_en_v2.sample.json").read_text(encoding="utf-8"))
    ((name, sections),) = json.loads((folder / "perltqa_en_v2.sample.json").read_text(encoding="utf-8"))[0].items()
    for groups in sections.values():
        random.Random(5).shuffle(groups)
    for section in ("events", "dialogues", "social_relationship"):
        bank[name][section] = dict(reversed(bank[name][section].items()))
    write(tmp_path, bank, [{name: dict(reversed(sections.items()))}])
    (there,), (back,) = load(folder), load(tmp_path)
    assert {p.id: p for p in there.probes} == {p.id: p for p in back.probes}

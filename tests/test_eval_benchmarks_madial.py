"""MADial-Bench: dialogues with untidy entries, and the memories of whoever speaks."""

import json
import random
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.benchmarks.madial.adapter import load, unquote
from eval.benchmarks.reading import gather
from memory.errors import UnreadableFile
from memory.importers.benchmarks import madial as importer
from memory.types import Skip

DIALOGUE = {
    "dialogue": [
        "<BOD>\n",
        '<Bart>: "I row on Sunday."\n',
        '<Assistant>: "Alone?"\n',
        '<Bart>: "With Sam. I am nervous."\n',
        '<Assistant>: "As in May, when you won?"\n',
        '<Bart>: "Yes!"\n',
        "<EOD>\n",
    ],
    "test-turn": [4],
    "relevant-id": [1, 3],
    "user-id": 1,
}
LISA = {
    "dialogue": ["<BOD>\n", '<Lisa>: "Tea?"\n', '<Assistant>: "As at Gran\'s."\n', "<EOD>\n"],
    "test-turn": [2],
    "relevant-id": [2],
    "user-id": 2,
}
BANK = {
    "1": {"time": "2023-05-07", "scene": "Activity", "emotion": "Anxious", "event": "Bart won the race."},
    "2": {"time": "2024-02-01", "scene": "Preferences", "emotion": "Happy", "event": "Lisa had tea with Gran."},
    "3": {"time": "2023-08-01", "scene": "Others", "emotion": "Happy", "event": "Sam met Bart."},
}


def write(folder, dialogues, bank=BANK, language="en", suffix=""):
    for part, lines in (("dialogue" + suffix, dialogues), ("memory", [{k: v} for k, v in bank.items()])):
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        (folder / f"MADial-Bench-{language}-{part}.json").write_text(text, encoding="utf-8")
    return folder


def loaded(tmp_path, **changes):
    (history,) = load(write(tmp_path, [DIALOGUE | changes]))
    return history


def entries(tmp_path, *lines, test_turn):
    history = loaded(tmp_path, dialogue=list(lines), **{"test-turn": [test_turn]})
    return history.probes[0]


def test_a_dialogue_is_asked_at_its_first_test_turn(tmp_path):
    (found,) = loaded(tmp_path, **{"test-turn": [4, 6]}).probes
    assert found.question == "With Sam. I am nervous."
    assert [(t.speaker, t.role, t.text) for t in found.dialogue] == [
        ("Bart", "user", "I row on Sunday."),
        ("Assistant", "assistant", "Alone?"),
    ]
    assert found.gold.answers == ("As in May, when you won?",)
    assert (found.gold.items, found.ability, found.populations) == (("1", "3"), "proactive: Activity", ("all",))


def test_the_authors_search_for_the_dialogue_up_to_the_test_turn_as_it_stands(tmp_path):
    assert loaded(tmp_path).probes[0].query == ""
    (history,) = load(tmp_path, as_authors=True)
    (found,) = history.probes
    assert found.query == "".join(DIALOGUE["dialogue"][:4])
    assert replace(found, query="") == loaded(tmp_path).probes[0]
    (own, *_), (theirs, *_) = loaded(tmp_path).memories, history.memories
    assert theirs.key == f"{{'scene': '{own.scene}', 'emotion': '{own.emotion}', 'event': '{own.text}'}}"
    assert replace(theirs, key=own.key) == own


def test_a_history_is_a_user_with_their_own_memories(tmp_path):
    bart, lisa = load(write(tmp_path, [DIALOGUE, LISA]))
    assert [[m.external_id for m in history.memories] for history in (bart, lisa)] == [["1", "3"], ["2"]]
    assert (bart.id, lisa.id, lisa.persona.external_id) == ("madial-1", "madial-2", "madial-2")
    assert {h.probes[0].asked_at for h in (bart, lisa)} == {datetime(2024, 6, 15, 23, 59, 59, 999_999, tzinfo=UTC)}
    assert (bart.sessions, bart.skips, lisa.skips) == ((), (), ())


def test_a_dialogue_is_asked_after_every_memory_of_its_user(tmp_path):
    late = BANK | {"4": {"time": "2024-10-23", "scene": "Others", "emotion": "Sad", "event": "Bart got lost."}}
    bart, lisa = load(write(tmp_path, [DIALOGUE, LISA], late))
    assert (f"{bart.probes[0].asked_at:%F}", f"{lisa.probes[0].asked_at:%F}") == ("2024-10-23", "2024-06-15")


def test_the_assistant_of_the_authors_prompts_talks_with_the_user(tmp_path):
    persona = loaded(tmp_path).persona
    assert (persona.name, persona.scenario) == ("Assistant", "You are talking with Bart.")
    assert persona.traits[-1] == "a virtual character, not capable of physical activities"


def test_memories_with_a_user_id_are_what_a_user_imports(tmp_path):
    bank = {key: value | {"user-id": 2 if key == "2" else 1} for key, value in BANK.items()}
    (history,) = load(write(tmp_path, [DIALOGUE], bank, "zh"))
    imported = gather(importer.read(tmp_path / "MADial-Bench-zh-memory.json"))
    assert history.persona.external_id == imported[0].persona.external_id
    assert list(history.memories) == imported[0].memories


def test_a_memory_that_names_nobody_or_both_goes_to_both(tmp_path):
    bank = BANK | {
        "4": {"time": "2023-01-01", "scene": "Others", "emotion": "Sad", "event": "It rained on Bartholomew."},
        "5": {"time": "2023-01-01", "scene": "Others", "emotion": "Sad", "event": "Bart和Lisa在一起。"},
    }
    bart, lisa = load(write(tmp_path, [DIALOGUE, LISA], bank))
    assert {m.external_id for m in bart.memories} & {m.external_id for m in lisa.memories} == {"4", "5"}
    assert bart.skips == (
        Skip("memory 4", "names no user; given to each of them"),
        Skip("memory 5", "names several users; given to each of them"),
    )


def test_whose_dialogue_it_is_can_be_told_by_who_speaks(tmp_path):
    nameless = {key: value for key, value in LISA.items() if key != "user-id"}
    (history,) = load(write(tmp_path, [nameless]))
    assert (history.id, history.probes[0].gold.items) == ("madial-2", ("2",))


def test_whose_dialogue_it_is_can_be_told_by_who_speaks_later(tmp_path):
    said = ['"Tea?"', '<Assistant>: "Alone?"', '<Lisa>: "Yes."', '<Assistant>: "As at Gran\'s."']
    (history,) = load(write(tmp_path, [{"dialogue": said, "test-turn": [3], "relevant-id": [2]}]))
    (found,) = history.probes
    assert (history.id, found.question) == ("madial-2", "Yes.")
    assert [(t.speaker, t.role) for t in found.dialogue] == [("Lisa", "user"), ("Assistant", "assistant")]


def test_a_dialogue_of_nobody_known_is_noted(tmp_path):
    stranger = {"dialogue": ['<Zoe>: "Hi"', '<Assistant>: "Hi"'], "test-turn": [1], "relevant-id": []}
    (history,) = load(write(tmp_path, [DIALOGUE, stranger]))
    reason = "neither a user-id nor a known user; not asked"
    assert history.skips == (Skip("MADial-Bench-en-dialogue.json, line 2", reason),)


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        ('"Well rowed!"\n', "Well rowed!"),
        ("<Well rowed!>\n", "Well rowed!"),
        ('"<Assistant>: Well rowed!\n', "Well rowed!"),
        ('<Assistant>: Well rowed!"\n', "Well rowed!"),
        ('<Assistant>: "Well rowed!"<eod\n', "Well rowed!"),
        (' <Assistant>："Well rowed!"', "Well rowed!"),
        ('<Assistant>: "You saw "Cats" there."\n', 'You saw "Cats" there.'),
        ('<Assistant>: Was it "Cats"\n', 'Was it "Cats"'),
        ("<Assistant>: “Well rowed!”\n", "Well rowed!"),
    ],
)
def test_untidy_entries_are_the_assistants_reply(tmp_path, entry, text):
    found = entries(tmp_path, " <BOD>\n", '<Bart>: "Did you see?"\n', entry, "\n", "<EOD>\n", test_turn=2)
    assert (found.question, found.gold.answers) == ("Did you see?", (text,))


def test_an_entry_without_a_speaker_after_the_assistant_is_the_users(tmp_path):
    found = entries(tmp_path, "<BOD>", '<Bart>: "A"', '<Assistant>: "B"', '"C"', '<Assistant>: "D"', test_turn=4)
    assert (found.question, found.gold.answers) == ("C", ("D",))


def test_a_test_turn_without_a_reply_is_scored_by_its_memories_only(tmp_path):
    history = loaded(tmp_path, **{"test-turn": [5]})
    (found,) = history.probes
    assert (found.question, found.gold.answers, found.gold.items) == ("With Sam. I am nervous.", (), ("1", "3"))
    assert [skip.place for skip in history.skips] == ["MADial-Bench-en-dialogue.json, line 1, test-turn"]


@pytest.mark.parametrize("test_turn", [[], [1], ["x"], None])
def test_a_dialogue_that_cannot_be_asked_costs_only_itself(tmp_path, test_turn):
    (history,) = load(write(tmp_path, [DIALOGUE | {"test-turn": test_turn}, DIALOGUE]))
    assert (len(history.probes), len(history.skips)) == (1, 1)


def test_a_relevant_memory_of_somebody_else_is_left_out_and_noted(tmp_path):
    history = loaded(tmp_path, **{"relevant-id": [2, 3, 99]})
    assert (history.probes[0].gold.items, history.probes[0].ability) == (("3",), "proactive: Others")
    assert [skip.reason for skip in history.skips] == [
        "memory '2' is not in the bank of this user; left out",
        "memory '99' is not in the bank of this user; left out",
    ]


def test_equal_dialogues_are_told_apart(tmp_path):
    (history,) = load(write(tmp_path, [DIALOGUE, DIALOGUE]))
    first, second = (p.id for p in history.probes)
    assert second == f"{first}-2"


MANY = {str(n): BANK["1"] | {"event": f"Bart won race {n}."} for n in range(1, 9)}


def candidates(folder):
    (history,) = load(folder)
    (probe,) = history.probes
    return {setting: [int(name) for name in names] for setting, names in probe.candidates.items()}


def test_the_settings_give_the_relevant_memory_it_among_others_and_what_was_retrieved(tmp_path):
    found = {"top-20-ids": [4, 3, 5, 6, 7, 8, 1], "bottom-10-ids": [2]}
    line = {key: DIALOGUE[key] for key in ("test-turn", "relevant-id", "user-id")} | found
    write(tmp_path, [DIALOGUE], MANY)
    assert candidates(tmp_path) == {"setting-1": [1]}
    other = line | {"relevant-id": [2], "top-20-ids": [2]}
    (tmp_path / "en_openai_top_20_bottom.json").write_text(f"{json.dumps(other)}\n{json.dumps(line)}\n")
    assert candidates(tmp_path) == {"setting-1": [1], "setting-2": [1, 4, 5, 6, 7], "setting-3": [4, 3, 5, 6, 7]}


@pytest.mark.parametrize(("mixed", "retrieved"), [("-setting2", "-setting3"), ("-setting3", "-setting2")])
def test_a_file_of_candidates_is_known_by_its_content_and_not_by_its_name(tmp_path, mixed, retrieved):
    write(tmp_path, [DIALOGUE], MANY, "zh")
    write(tmp_path, [DIALOGUE | {"memory_ids": [5, 6, 1, 7, 8]}], MANY, "zh", suffix=mixed)
    write(tmp_path, [DIALOGUE | {"memory_ids": [4, 3, 5, 6, 1]}], MANY, "zh", suffix=retrieved)
    expected = {"setting-1": [1], "setting-2": [5, 6, 1, 7, 8], "setting-3": [4, 3, 5, 6, 1]}
    assert candidates(tmp_path) == candidates(tmp_path / f"MADial-Bench-zh-dialogue{mixed}.json") == expected


def test_a_candidate_that_is_not_in_the_bank_of_the_user_is_left_out(tmp_path):
    write(tmp_path, [DIALOGUE])
    write(tmp_path, [DIALOGUE | {"memory_ids": [3, 2, 99]}], suffix="-setting3")
    assert candidates(tmp_path)["setting-3"] == [3]


def test_files_of_the_other_settings_are_taken_by_name_only(tmp_path):
    write(tmp_path, [DIALOGUE | {"memory": [], "memory_ids": []}], suffix="-setting2")
    write(tmp_path, [LISA])
    assert [history.id for history in load(tmp_path)] == ["madial-2"]
    assert [history.id for history in load(tmp_path / "MADial-Bench-en-dialogue-setting2.json")] == ["madial-1"]
    assert [history.id for history in load(tmp_path / "MADial-Bench-en-memory.json")] == ["madial-2"]


def test_both_languages_in_one_folder_are_ambiguous(tmp_path):
    for folder in ("en", "ch"):
        (tmp_path / folder).mkdir()
        write(tmp_path / folder, [DIALOGUE], language="zh" if folder == "ch" else "en")
    with pytest.raises(UnreadableFile, match=r"ch/MADial-Bench-zh-dialogue\.json, en/MADial-Bench-en-dialogue\.json"):
        list(load(tmp_path))


def test_dialogues_without_their_bank_are_refused(tmp_path):
    write(tmp_path, [DIALOGUE])
    (tmp_path / "MADial-Bench-en-memory.json").unlink()
    with pytest.raises(UnreadableFile, match=r"expected MADial-Bench-en-memory\.json in the same folder, found none"):
        list(load(tmp_path))


@given(st.text(st.characters(blacklist_characters='"“”<>', blacklist_categories=["Cs"])))
def test_quotation_marks_come_off_whatever_is_said(text):
    assert unquote(f'"{text}"\n') == unquote(f'{text}"') == unquote(f"<{text}>") == text.strip()


@given(st.text())
def test_taking_marks_off_never_adds(text):
    assert unquote(text) in text


@pytest.mark.data
@pytest.mark.parametrize(
    ("language", "memories", "scene", "missed"), [("en", (76, 84), "Activity", 7), ("ch", (83, 88), "活动类", 8)]
)
def test_the_development_files_have_80_dialogues(benchmark_data, language, memories, scene, missed):
    bart, lisa = load(benchmark_data / "madial_bench" / language)
    probes = (*bart.probes, *lisa.probes)
    assert (len(bart.memories), len(lisa.memories)) == memories
    assert (len(bart.probes), len(lisa.probes), len({p.id for p in probes})) == (36, 44, 80)
    assert sum(len(p.gold.items) for p in probes) == 193
    assert Counter(p.ability for p in probes)[f"proactive: {scene}"] == 31
    assert (bart.skips, lisa.skips) == ((), ())
    assert sum(not set(p.candidates["setting-3"]) & set(p.gold.items) for p in probes) == missed
    for p in probes:
        assert p.gold.answers
        assert {turn.role for turn in p.dialogue} == {"user", "assistant"}
        assert [len(p.candidates[f"setting-{n}"]) for n in (1, 2, 3)] == [1, 5, 5]
        assert set(p.candidates["setting-2"]) & set(p.gold.items) == {p.gold.items[0]} == set(p.candidates["setting-1"])
        assert not any(mark in turn for turn in (p.question, *p.gold.answers) for mark in ("<", ">", "BOD"))


@pytest.mark.data
@pytest.mark.parametrize("setting", ["setting2", "setting3"])
def test_the_other_settings_hold_the_same_probes(benchmark_data, setting):
    folder = benchmark_data / "madial_bench" / "ch"
    assert list(load(folder / f"MADial-Bench-zh-dialogue-{setting}.json")) == list(load(folder))


@pytest.mark.data
def test_a_shuffled_file_holds_the_same_probes(benchmark_data, tmp_path):
    folder = benchmark_data / "madial_bench" / "en"
    for name in ("MADial-Bench-en-dialogue.json", "MADial-Bench-en-memory.json", "en_openai_top_20_bottom.json"):
        lines = (folder / name).read_text(encoding="utf-8").splitlines()
        random.Random(5).shuffle(lines)
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert {p.id: p for h in load(folder) for p in h.probes} == {p.id: p for h in load(tmp_path) for p in h.probes}

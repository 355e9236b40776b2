"""What LongMemEval's own judge script reads, and what is read back from it."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.benchmarks.longmemeval.metrics import hypothesis, read_labels
from eval.types import Gold, Prediction, Probe, Sample, Verdict
from memory.errors import MemoirError


def sample(question, answer, *, abstained=False):
    """A question that was answered so."""
    probe = Probe(question, "Where?", datetime(2026, 5, 2, tzinfo=UTC), Gold(("secret gold",)))
    return Sample(probe, Prediction(question, "h", {}, (), answer=answer, abstained=abstained))


def test_each_answer_is_an_object_of_two_fields_and_no_gold():
    assert hypothesis(sample("q2", "In Porto.")) == {"question_id": "q2", "hypothesis": "In Porto."}


def test_a_wordless_abstention_is_put_in_words_and_a_missing_answer_is_not():
    samples = sample("q1", "", abstained=True), sample("q2", " "), sample("q3", "No.", abstained=True)
    assert [hypothesis(each)["hypothesis"] for each in samples] == ["I don't know.", "", "No."]


@given(st.dictionaries(st.text(), st.booleans(), max_size=5))
def test_labels_are_read_back_as_verdicts(tmp_path_factory, labels):
    path = tmp_path_factory.mktemp("labels") / "h.jsonl.eval-results-gpt-4o"
    lines = [
        json.dumps({"question_id": q, "hypothesis": "x", "autoeval_label": {"model": "gpt-4o-2024-08-06", "label": v}})
        for q, v in labels.items()
    ]
    path.write_text("\n".join(lines) + "\n")
    expected = {q: Verdict("right" if v else "wrong", "gpt-4o-2024-08-06") for q, v in labels.items()}
    assert read_labels(path) == expected


GOOD = '{"question_id": "q1", "autoeval_label": {"model": "m", "label": true}}'


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "line 2: the line: Invalid JSON"),
        ("[]", "line 2: the line: "),
        ('{"question_id": "q2", "hypothesis": "no label"}', "line 2: autoeval_label: Field required"),
        ('{"question_id": "q2", "autoeval_label": {"model": "m", "label": "yes"}}', r"line 2: autoeval_label\.label: "),
        (GOOD, "line 2: 'q1' was labelled before"),
    ],
)
def test_a_line_that_is_no_label_is_named(tmp_path, line, said):
    (tmp_path / "labels").write_text(f"{GOOD}\n{line}\n")
    with pytest.raises(MemoirError, match=f"labels, {said}.*None was kept"):
        read_labels(tmp_path / "labels")


def test_a_missing_result_says_how_it_is_made(tmp_path):
    with pytest.raises(MemoirError, match=r"Run LongMemEval's evaluate_qa\.py"):
        read_labels(tmp_path / "labels")

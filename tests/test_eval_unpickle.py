"""Pickles from strangers are data or nothing."""

import pickle
import pickletools
import tracemalloc
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.benchmarks.dialsim import unpickle
from eval.benchmarks.dialsim.unpickle import read_pickle
from memory.errors import UnreadableFile
from support.cpu_time import at_most_cpu_seconds

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text() | st.integers(), inner, max_size=4)
        | st.tuples(inner, inner)
    ),
    max_leaves=12,
)


def written(folder, data):
    path = folder / "show.pickle"
    path.write_bytes(data)
    return path


class Runs:
    """What pickles into "call os.system"."""

    def __init__(self, command):
        self.command = command

    def __reduce__(self):
        import os

        return os.system, (self.command,)


@given(value=PLAIN, protocol=st.integers(0, pickle.HIGHEST_PROTOCOL))
def test_plain_values_come_back_whatever_the_protocol(tmp_path_factory, value, protocol):
    path = written(tmp_path_factory.mktemp("plain"), pickle.dumps(value, protocol))
    assert read_pickle(path) == value


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickle_that_would_run_a_program_is_refused_by_name_before_anything_runs(tmp_path, protocol):
    touched = tmp_path / "touched"
    path = written(tmp_path, pickle.dumps({"script": "x", "date": Runs(f"touch {touched}")}, protocol))
    with pytest.raises(UnreadableFile, match=r"show\.pickle asks to use (posix|nt|os)\.system.*nothing of it was run"):
        read_pickle(path)
    assert not touched.exists()


def test_a_class_that_is_asked_for_late_is_refused_and_nothing_runs(tmp_path):
    touched = tmp_path / "touched"
    path = written(tmp_path, pickle.dumps([*range(10_000), ("x",), Runs(f"touch {touched}")]))
    with pytest.raises(UnreadableFile, match="nothing of it was run or kept"):
        read_pickle(path)
    assert not touched.exists()


def test_no_instruction_is_run_but_those_for_plain_values_and_those_whose_wish_is_refused():
    """Whatever Python adds to its unpickler is refused until it is named here."""
    own = {code: run for code, run in unpickle._Plain.dispatch.items() if run.__module__ != "pickle"}
    run_by_python = {op.name for op in pickletools.opcodes} - {
        op.name for op in pickletools.opcodes if ord(op.code) in own
    }
    plain = {name for name in unpickle.PLAIN if not name.startswith("TUPLE")}
    assert run_by_python == plain | {"GLOBAL", "STACK_GLOBAL", "INST", "PERSID", "BINPERSID"}


@pytest.mark.parametrize("value", [b"bytes", bytearray(b"x"), {1, 2}, frozenset({1}), 1j, range(3)])
def test_what_is_not_plain_is_refused(tmp_path, value):
    with pytest.raises(UnreadableFile, match=r"asks (for|to use) .*only dict, list"):
        read_pickle(written(tmp_path, pickle.dumps(value)))


def test_a_reference_to_something_outside_is_refused(tmp_path):
    with pytest.raises(UnreadableFile, match="for something outside itself"):
        read_pickle(written(tmp_path, b"Poutside\n."))


def test_an_extension_code_is_refused(tmp_path):
    with pytest.raises(UnreadableFile, match="EXT1"):
        read_pickle(written(tmp_path, b"\x80\x02\x82\x01."))


@given(cut=st.integers(1, 200))
def test_a_truncated_file_is_an_error_that_names_it(tmp_path_factory, cut):
    whole = pickle.dumps({"S01E01": {1: {"script": "Pia: Hello.\n" * 20, "date": "March 3, 2001"}}})
    path = written(tmp_path_factory.mktemp("cut"), whole[: max(len(whole) - cut, 1)])
    with pytest.raises(UnreadableFile, match=r"show\.pickle"):
        read_pickle(path)


@given(data=st.binary(min_size=1, max_size=60))
def test_any_bytes_are_a_plain_value_or_an_error_of_ours(tmp_path_factory, data):
    path = written(tmp_path_factory.mktemp("noise"), data)
    with suppress(UnreadableFile):
        read_pickle(path)


def test_a_file_over_the_limit_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(unpickle, "MOST_BYTES", 500)
    path = written(tmp_path, pickle.dumps("a" * 1000))
    with pytest.raises(UnreadableFile, match="at most 500 are read"):
        read_pickle(path)


@pytest.mark.parametrize(
    "data",
    [
        b"\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\x00.",  # a frame longer than any disk
        b"\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\x00.",  # a string longer than any disk
    ],
    ids=["frame", "string"],
)
def test_a_few_bytes_cannot_claim_a_lot_of_memory(tmp_path, data):
    with pytest.raises(UnreadableFile, match="not a complete pickle"):
        read_pickle(written(tmp_path, data))


def test_a_reference_with_a_large_number_takes_no_memory(tmp_path):
    path = written(tmp_path, b"\x80\x02]r\xff\xff\xff\x7f.")
    tracemalloc.start()
    try:
        assert read_pickle(path) == []
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def nested(depth, step):
    """A dict whose only key is a tuple nested so deep; each level is made by `step`."""
    return b"\x80\x02}K\x01" + step * depth + b"K\x01s."


@pytest.mark.parametrize("step", [b"\x85", b"2\x86"], ids=["in a tuple", "twice in a tuple"])
def test_a_tuple_nested_so_deep_that_its_hash_would_end_the_process_is_refused(tmp_path, step):
    with at_most_cpu_seconds(5), pytest.raises(UnreadableFile, match="a tuple of over 2,000 values"):
        read_pickle(written(tmp_path, nested(200_000, step)))
    (key,) = read_pickle(written(tmp_path, nested(8, step)))
    assert isinstance(key, tuple)


def test_long_lists_of_tuples_are_plain_values(tmp_path):
    value = [((1, "a"), {"b": (2, [(3,)] * 50)}) for _ in range(3000)]
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert read_pickle(written(tmp_path, pickle.dumps(value, protocol))) == value


def test_an_empty_file_and_a_missing_one_say_so(tmp_path):
    with pytest.raises(UnreadableFile, match="is empty"):
        read_pickle(written(tmp_path, b""))
    with pytest.raises(UnreadableFile, match="cannot be opened"):
        read_pickle(tmp_path / "none.pickle")


def test_strings_of_python_2_are_text(tmp_path):
    data = b"\x80\x02U\x04caf\xc3."
    assert [op.name for op, *_ in pickletools.genops(data)][1] == "SHORT_BINSTRING"
    with pytest.raises(UnreadableFile, match="utf-8"):
        read_pickle(written(tmp_path, data))
    assert read_pickle(written(tmp_path, b"\x80\x02U\x05caf\xc3\xa9.")) == "café"

"""Read untrusted pickles as data: a pickle is a program, and only instructions that build plain values are run."""

import mmap
import pickle
import pickletools
from collections import deque
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from memory.errors import UnreadableFile

MOST_BYTES = 1 << 30
"""Larger files are refused: loading one takes three to four times its size in memory."""

PLAIN = frozenset(
    "PROTO FRAME STOP MARK POP POP_MARK DUP NONE NEWTRUE NEWFALSE INT BININT BININT1 BININT2 LONG LONG1 LONG4 FLOAT "
    "BINFLOAT STRING BINSTRING SHORT_BINSTRING UNICODE BINUNICODE SHORT_BINUNICODE BINUNICODE8 EMPTY_LIST LIST APPEND "
    "APPENDS EMPTY_TUPLE TUPLE TUPLE1 TUPLE2 TUPLE3 EMPTY_DICT DICT SETITEM SETITEMS PUT BINPUT LONG_BINPUT MEMOIZE "
    "GET BINGET LONG_BINGET".split()
)
"""The instructions that build dict, list, tuple, str, int, float, bool and None, or move them on the stack."""

MOST_IN_TUPLE = 2000
"""Values in a tuple, with those of the tuples in it. Python computes the hash of a dict's key to any depth: a tuple
in a tuple in a tuple ... ends the process, and one that holds the next twice at each level takes for ever."""

_PUTS = frozenset("PUT BINPUT LONG_BINPUT".split())
_GETS = frozenset("GET BINGET LONG_BINGET".split())
_POPS = {"APPEND": 1, "SETITEM": 2, "POP": 1, "TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_POPS_TO_MARK = frozenset("APPENDS SETITEMS POP_MARK TUPLE LIST DICT".split())
_WORDS = frozenset("UNICODE BINUNICODE SHORT_BINUNICODE BINUNICODE8".split())
_FAULTS = (
    pickle.UnpicklingError,
    AttributeError,
    EOFError,
    ImportError,
    IndexError,
    KeyError,
    MemoryError,
    OverflowError,
    TypeError,
    ValueError,
)
"""What `pickle` raises for a damaged file; its documentation names the first five and says there are more."""


def read_pickle(path: Path, most_bytes: int = MOST_BYTES) -> Any:  # noqa: ANN401  # whatever plain value it holds
    """Load a pickle made of dict, list, tuple, str, int, float, bool and None only.

    The whole file is checked before any of it is run, so that a file that asks for anything else (a class, a function)
    is refused before it built anything. Strings of Python 2 are read as UTF-8.

    Raises `UnreadableFile` if it is too large or damaged, or asks for something else; the message names what.
    """
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            if size == 0:
                raise UnreadableFile(f"{path.name} is empty; expected a pickle. Download it again.")
            if size > most_bytes:
                limit = f"{size:,} bytes long; at most {most_bytes:,} are read"
                raise UnreadableFile(f"{path.name} is {limit}. Nothing of it was kept.")
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                _check(path, data, size)
            return _Plain(path, file).load()
    except OSError as fault:
        raise UnreadableFile(f"{path.name} cannot be opened: {fault.strerror or fault}.") from fault
    except _FAULTS as fault:
        why = str(fault) or type(fault).__name__
        raise UnreadableFile(
            f"{path.name} is not a complete pickle ({why}). Nothing of it was kept. Download it again."
        ) from fault


class _Plain(pickle.Unpickler):
    """Builds plain values only: a second barrier, in case something passes the check."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        super().__init__(file, encoding="utf-8")
        self._path = path

    def find_class(self, module: str, name: str) -> NoReturn:
        _refuse(self._path, f"to use {module}.{name}")

    def persistent_load(self, pid: object) -> NoReturn:
        _refuse(self._path, f"for something outside itself ({str(pid)[:80]})")


def _check(path: Path, data: mmap.mmap, size: int) -> None:
    """Check the instructions without running any."""
    words: deque[str] = deque(("?", "?"), maxlen=2)
    tuples = _TupleSizes()
    for instruction, argument, _ in pickletools.genops(data):  # type: ignore[arg-type]  # it has read and readline
        name = instruction.name
        if name in _WORDS:
            words.append(str(argument))
        elif name not in PLAIN:
            _refuse(path, _wish(name, argument, words))
        elif name == "FRAME" and int(argument or 0) > size:
            raise ValueError(f"a frame of {argument:,} bytes in a file of {size:,}")
        tuples.follow(name, argument)


class _TupleSizes:
    """The unpickler's stack and memo with, for each value, the number of values in it if it is a tuple, else 0.

    For `(1, (2, [3]))`: 2 for the inner tuple, whose list counts as one value, and 4 for the outer one.
    """

    def __init__(self) -> None:
        self._stack: list[int] = []
        self._marks: list[int] = []
        self._memo: dict[int, int] = {}

    def follow(self, name: str, argument: object) -> None:
        """Do what an instruction does; raises `ValueError` for a tuple or a reference that is too large."""
        if name == "MARK":
            self._marks.append(len(self._stack))
        elif name in _PUTS or name == "MEMOIZE":
            number = len(self._memo) if name == "MEMOIZE" else int(str(argument))
            # The unpickler allocates twice the number: ten bytes could claim 64 GB.
            if not 0 <= number <= len(self._memo):
                raise ValueError(f"a reference numbered {number} after {len(self._memo)}")
            self._memo[number] = self._stack[-1]
        elif name in _GETS:
            self._stack.append(self._memo[int(str(argument))])
        elif name == "POP" and self._marks and self._marks[-1] == len(self._stack):
            self._marks.pop()
        elif name in _POPS or name in _POPS_TO_MARK:
            self._pop(name)
        elif name == "DUP":
            self._stack.append(self._stack[-1])
        elif name not in ("PROTO", "FRAME", "STOP"):
            self._stack.append(0)

    def _pop(self, name: str) -> None:
        """Take values from the stack, and put what is made of them there."""
        first = self._marks.pop() if name in _POPS_TO_MARK else len(self._stack) - _POPS[name]
        if not 0 <= first <= len(self._stack):
            raise ValueError("a value that is not there")
        values = self._stack[first:]
        del self._stack[first:]
        if name.startswith("TUPLE"):
            size = len(values) + sum(values)
            if size > MOST_IN_TUPLE:
                raise ValueError(f"a tuple of over {MOST_IN_TUPLE:,} values")
            self._stack.append(size)
        elif name in ("LIST", "DICT"):
            self._stack.append(0)


def _wish(name: str, argument: object, words: deque[str]) -> str:
    if name in ("GLOBAL", "INST"):
        return f"to use {str(argument).replace(' ', '.')[:120]}"
    if name == "STACK_GLOBAL":
        return f"to use {'.'.join(words)[:120]}"
    if name in ("PERSID", "BINPERSID"):
        return "for something outside itself"
    return f"for {name}"


def _refuse(path: Path, wish: str) -> NoReturn:
    raise UnreadableFile(
        f"{path.name} asks {wish}; only dict, list, tuple, str, int, float, bool and None are built. A file that asks "
        "for more may run a program: nothing of it was run or kept. Download it from the benchmark's own page."
    )

"""Read untrusted pickles as data: a pickle is a program, and only instructions that build plain values are run."""

import mmap
import pickle
import pickletools
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

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

REFUSED_BY_NAME = frozenset({"GLOBAL", "STACK_GLOBAL", "INST", "PERSID", "BINPERSID"})
"""The instructions that read the name of what they want and ask the unpickler for it, which refuses."""

MOST_IN_TUPLE = 2000
"""Values in a tuple, with those of the tuples in it: `(1, (2, [3]))` has 4, since the list counts as one. Python
computes the hash of a dict's key to any depth: a tuple in a tuple in a tuple ... ends the process, and one that holds
the next twice at each level takes for ever."""

_OF_PICKLE = (pickle.UnpicklingError, struct.error, EOFError)
_OF_VALUES = (AttributeError, LookupError, MemoryError, OverflowError, TypeError, ValueError)
"""What `pickle` raises for a damaged file; its documentation names some, and says that there are more."""


def read_pickle(path: Path) -> Any:  # noqa: ANN401  # whatever plain value it holds
    """Load a pickle made of dict, list, tuple, str, int, float, bool and None only.

    A file that asks for anything else (a class, a function) is refused at that instruction, and what was built of plain
    values until then is dropped. Strings of Python 2 are read as UTF-8.

    Raises `UnreadableFile` if it is too large or damaged, or asks for something else; the message names what.
    """
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            if size == 0:
                raise UnreadableFile(f"{path.name} is empty; expected a pickle. Download it again.")
            if size > MOST_BYTES:
                limit = f"{size:,} bytes long; at most {MOST_BYTES:,} are read"
                raise UnreadableFile(f"{path.name} is {limit}. Nothing of it was kept.")
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                return _Plain(path, data).load()
    except OSError as fault:
        raise UnreadableFile(f"{path.name} cannot be opened: {fault.strerror or fault}.") from fault
    except (*_OF_PICKLE, *_OF_VALUES) as fault:
        why = str(fault) or type(fault).__name__
        raise UnreadableFile(
            f"{path.name} is not a complete pickle ({why}). Nothing of it was kept. Download it again."
        ) from fault


class _Plain(pickle._Unpickler):
    """Runs the instructions in `PLAIN`, one after another in Python, and refuses all others."""

    def __init__(self, path: Path, file: mmap.mmap) -> None:
        super().__init__(file, encoding="utf-8")
        self.path = path

    def find_class(self, module: str, name: str) -> NoReturn:
        """Refuse a class or function."""
        self.refuse(f"to use {module}.{name}"[:120])

    def persistent_load(self, pid: object) -> NoReturn:
        """Refuse a reference."""
        self.refuse("for something outside itself")

    def refuse(self, wish: str) -> NoReturn:
        """Raise `UnreadableFile` for what the file asks."""
        raise UnreadableFile(
            f"{self.path.name} asks {wish}; only dict, list, tuple, str, int, float, bool and None are built. A file "
            "that asks for more may run a program: nothing of it was run or kept. Download it from the benchmark's own "
            "page."
        )


def _method(instruction: pickletools.OpcodeInfo) -> Callable[[Any], None]:
    """What the unpickler does at an instruction."""
    run = pickle._Unpickler.dispatch[ord(instruction.code)]

    def run_and_check(unpickler: Any) -> None:  # noqa: ANN401  # of a class that Python does not document
        run(unpickler)
        size, left = 0, [unpickler.stack[-1]]
        while left:
            each = left.pop()
            size += len(each)
            if size > MOST_IN_TUPLE:
                raise ValueError(f"a tuple of over {MOST_IN_TUPLE:,} values")
            left += [inner for inner in each if isinstance(inner, tuple)]

    if instruction.name not in PLAIN | REFUSED_BY_NAME:
        return lambda unpickler: unpickler.refuse(f"for {instruction.name}")
    return run_and_check if instruction.name.startswith("TUPLE") else run


_Plain.dispatch = {ord(instruction.code): _method(instruction) for instruction in pickletools.opcodes}

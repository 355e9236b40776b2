"""Stream the values of a JSON file, each with its place, so that only one value is in memory at a time."""

import re
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from itertools import chain
from typing import Any

import ijson

from memory.errors import UnreadableFile
from memory.importers.reading.source import Source, head_text, read_chunks

Place = tuple[str | int, ...]
Event = tuple[str, Any]
Parser = Generator[None, bytes, None]

# One session or one conversation; the largest in the benchmarks is under 1 MB.
MAX_VALUE_BYTES = 1 << 27
# For each chunk the parser reads a long text again from its start: 32 MB take a second, 128 MB ten.
MAX_TEXT_BYTES = 1 << 25
# The parser knows only the chunk of a fault. Its byte is found in three steps of at most some hundred pieces each, not
# byte by byte: in a long text, the parser reads the text again from its beginning for every piece.
PIECE_SIZES = (1 << 12, 1 << 6, 1)
OUTLINE_DEPTH = 5
# Deeper than any export but a tree of messages. A value nested ten thousand deep cannot even be turned into text.
MAX_DEPTH = 200

STARTS = frozenset({"start_map", "start_array"})
ENDS = frozenset({"end_map", "end_array"})

HALF_PAIR = re.compile(rb"\\u[dD][89a-fA-F]")
ESCAPE = re.compile(
    rb"(?P<valid>\\(?:[^u]|u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}))|\\u[dD][89a-fA-F][0-9a-fA-F]{2}"
)
LONGEST_ESCAPE = len(rb"\ud83c\udf0a")
UNFINISHED_ESCAPE = re.compile(
    rb"(?<!\\)(?:\\\\)*(\\(?:u[dD][89abAB][0-9a-fA-F]{2}(?:\\(?:u[0-9a-fA-F]{0,3})?)?|u[0-9a-fA-F]{0,3})?)\Z"
)


def stream_values(
    path: Source, is_entered: Callable[[Place], bool] = lambda place: not place, max_depth: int = MAX_DEPTH
) -> Iterator[tuple[Place, Any]]:
    """Each value of a JSON file with its place; `is_entered` says which containers to enter instead of building.

    By default only the outermost is entered, so that its elements are the values.
    For `{"a": [{"b": 1}, {"b": 2}]}` and containers entered at () and ("a",), this yields (("a", 0), {"b": 1}) and
    (("a", 1), {"b": 2}).

    Raises:
        UnreadableFile: the JSON breaks off, or a value is nested over `max_depth` levels deep; names the file and the
            place. Complete values were handed over.
    """
    place: list[str | int] = []
    try:
        yield from _values(_read_events(path, place), place, is_entered, max_depth)
    except RecursionError as fault:
        where = format_place(place)
        raise UnreadableFile(f"{path.name}: the value at {where} is nested over {max_depth:,} levels deep.") from fault


@lru_cache(maxsize=1)  # every importer asks about the same head
def outline(head: bytes) -> frozenset[tuple[str, ...]]:
    """The places in the start of a JSON or JSON Lines file, down to five levels, with `[]` for any index."""
    places: set[tuple[str, ...]] = set()

    def note(place: Place) -> bool:
        places.add(tuple("[]" if isinstance(step, int) else step for step in place))
        return len(place) < OUTLINE_DEPTH

    events = ijson.sendable_list()
    parser = ijson.basic_parse_coro(events, use_float=True, multiple_values=True)
    for chunk in _mend_escapes([head_text(head).encode()]):
        _push(parser, chunk)
    with suppress(RecursionError):
        for leaf, _ in _values(events, [], note):
            note(leaf)
    return frozenset(places - {()})


def has_any(*places: tuple[str, ...]) -> Callable[[bytes], bool]:
    """The `sniff` of a format whose files have one of these places in their outline."""
    return lambda head: not outline(head).isdisjoint(places)


def format_place(place: Iterable[str | int]) -> str:
    """A place as text: `[3].haystack_sessions[12]`."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in place)
    return text.removeprefix(".") or "the start"


def _values(
    events: Iterable[Event], place: list[str | int], is_entered: Callable[[Place], bool], max_depth: int = MAX_DEPTH
) -> Iterator[tuple[Place, Any]]:
    builder, depth = None, 0
    for event, value in events:
        if builder is not None:
            builder.event(event, value)
            depth += (event in STARTS) - (event in ENDS)
            if depth > max_depth:
                raise RecursionError
            if depth == 0:
                yield tuple(place), builder.value
                builder = None
                _step(place)
        elif event == "map_key":
            place[-1] = value
        elif event in ENDS:
            place.pop()
            _step(place)
        elif event in STARTS and is_entered(tuple(place)):
            place.append(0 if event == "start_array" else "")
        elif event in STARTS:
            builder, depth = ijson.ObjectBuilder(), 1
            builder.event(event, value)
        else:
            yield tuple(place), value
            _step(place)


def _step(place: list[str | int]) -> None:
    """Move to the next index, if the innermost open container is a list."""
    if place and isinstance(place[-1], int):
        place[-1] += 1


def _read_events(path: Source, place: list[str | int]) -> Iterator[Event]:
    """The parser events of a file. Pushed chunk by chunk, because ijson's iterators lose the events before an error."""
    events = ijson.sendable_list()
    parser = ijson.basic_parse_coro(events, use_float=True)
    offset = moved_at = quiet = 0
    last_place = None
    for chunk in _mend_escapes(read_chunks(path)):
        fault = _push(parser, chunk)
        quiet = 0 if events else quiet + len(chunk)
        yield from events
        events.clear()
        if fault:
            line = 1
            for size in PIECE_SIZES:
                offset, line = _find_failing_piece(path, offset, size)
            where = f"at byte {offset:,} (line {line}), in {format_place(place)}"
            raise UnreadableFile(f"{path.name} contains invalid JSON {where}: {fault}.")
        offset += len(chunk)
        if last_place != (last_place := tuple(place)):
            moved_at = offset
        for length, limit in ((offset - moved_at, MAX_VALUE_BYTES), (quiet, MAX_TEXT_BYTES)):
            if length > limit:
                raise UnreadableFile(f"{path.name}: one value at {format_place(place)} is over {limit:,} bytes long.")
    if fault := _push(parser, None):
        where = f"at byte {offset:,}, in {format_place(place)}"
        raise UnreadableFile(f"{path.name} ends unexpectedly {where}: expected the rest of the value.")


def _push(parser: Parser, chunk: bytes | None) -> str:
    """Push bytes, or the end of the file for None; returns the error message, or an empty string."""
    try:
        if chunk is None:
            parser.close()
        else:
            parser.send(chunk)
    except ijson.JSONError as fault:
        return str(fault.args[0] if fault.args else fault).split("\n")[0].partition(": ")[2] or "invalid JSON"
    return ""


def _find_failing_piece(path: Source, start: int, size: int) -> tuple[int, int]:
    """The byte and line at which the first piece of `size` bytes after byte `start` begins that the parser rejects."""
    parser = ijson.basic_parse_coro(ijson.sendable_list(), use_float=True)
    offset, line = 0, 1
    for chunk in _mend_escapes(read_chunks(path)):
        known = min(max(start - offset, 0), len(chunk))
        pieces = chain([chunk[:known]], (chunk[at : at + size] for at in range(known, len(chunk), size)))
        for piece in filter(None, pieces):
            if _push(parser, piece):
                return offset, line
            offset, line = offset + len(piece), line + piece.count(b"\n")
    return start, line  # the file was changed meanwhile


def _mend_escapes(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Replace escaped unpaired surrogates by U+FFFD of the same length: the parser fails or writes `?` for them."""
    rest = b""
    for chunk in chunks:
        data = rest + chunk
        rest = b""
        if b"\\" in data[-LONGEST_ESCAPE:] and (tail := UNFINISHED_ESCAPE.search(data)):
            data, rest = data[: tail.start(1)], tail[1]
        if data:
            yield ESCAPE.sub(lambda escape: escape["valid"] or rb"\ufffd", data) if HALF_PAIR.search(data) else data
    if rest:
        yield rest

"""Describe a file that no importer recognises, for the error message."""

from memory.importers.reading.json_stream import outline
from memory.importers.reading.source import HEAD_BYTES, find_encoding, head_text

SIGNATURES = (
    (b"PK\x03\x04", "a zip archive within another; unpack it and import the files in it"),
    (b"\x1f\x8b", "a gzip archive; unpack it and import the file in it"),
    (b"%PDF", "a PDF document; save its text and import that"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"\x89PNG", "a picture"),
    (b"\xff\xd8\xff", "a picture"),
    (b"\x80\x02", "a Python pickle, which could run code and is never opened; export its dialogues as text"),
    (b"\x80\x03", "a Python pickle, which could run code and is never opened; export its dialogues as text"),
    (b"\x80\x04", "a Python pickle, which could run code and is never opened; export its dialogues as text"),
    (b"\x80\x05", "a Python pickle, which could run code and is never opened; export its dialogues as text"),
)
CONTROLS = bytes(code for code in range(32) if code not in b"\t\n\r\f\x1b")
# Text may contain a stray control character; with a tenth of them it is not text.
MAX_CONTROL_SHARE = 0.1


def why_unreadable(head: bytes) -> str:
    """Why a file that starts with these bytes cannot be text of any format; empty if it can."""
    if not head:
        return "it is empty (0 bytes)"
    for signature, meaning in SIGNATURES:
        if head.startswith(signature):
            return f"it looks like {meaning}"
    encoding, mark = find_encoding(head)
    if not mark and _share(head, CONTROLS) > MAX_CONTROL_SHARE:
        utf16 = (head[1:4:2] == b"\x00\x00") != (head[0:3:2] == b"\x00\x00")
        return "it looks like UTF-16 text without a byte-order mark; save it as UTF-8" if utf16 else "it is binary"
    return _find_undecodable(head, encoding, mark)


def describe(head: bytes) -> str:
    """What text of an unknown format looks like."""
    text = head_text(head).lstrip()
    if not text:
        return "it contains only white space"
    if text[0] in "{[":
        keys = sorted({place[-1] for place in outline(head) if place[-1] != "[]" and len(place) < 3})[:8]
        return f"it looks like JSON with the keys {', '.join(keys)}" if keys else "it looks like JSON, but broken"
    return "it is text without lines of the form 'Speaker: what was said'"


def _find_undecodable(head: bytes, encoding: str, mark: int) -> str:
    try:
        head[mark:].decode(encoding)
    except UnicodeDecodeError as fault:
        if len(head) >= HEAD_BYTES and fault.end >= len(fault.object):
            return ""
        found = f"byte 0x{fault.object[fault.start]:02x} at offset {fault.start + mark:,}"
        if not mark and _share(head, CONTROLS) > 0:
            return f"it is binary ({found} is not text)"
        return f"it is not {encoding.upper()} text ({found}); save it as UTF-8"
    return ""


def _share(head: bytes, wanted: bytes) -> float:
    return 1 - len(head.translate(None, wanted)) / len(head)

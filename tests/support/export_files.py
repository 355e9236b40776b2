"""What the tests of exports share: the hand-made files, and files made of them."""

import base64
import json
import struct
import zipfile
import zlib
from pathlib import Path

from memory.importers.detect import unpack
from memory.types import MemoryDraft, PersonaDraft, SessionDraft, Skip

EXPORTS = Path(__file__).parents[1] / "data" / "exports"


def read_all(path):
    """All that the file's own importer makes of it, as `HistoryFile` would meet it."""
    found = unpack(path)
    return [record for source in found.sources for record in found.importer.read(source)] + list(found.skips)


def personas(records):
    return list(dict.fromkeys(r for r in records if isinstance(r, PersonaDraft)))


def sessions(records):
    return [r for r in records if isinstance(r, SessionDraft)]


def memories(records):
    return [r for r in records if isinstance(r, MemoryDraft)]


def turns(records):
    return [turn for session in sessions(records) for turn in session.turns]


def said(records):
    return [(turn.speaker, turn.role, turn.text) for turn in turns(records)]


def skips(records):
    return [(r.place, r.reason) for r in records if isinstance(r, Skip)]


def write_json(path, value):
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
    return path


def write_zip(path, members, **options):
    """A zip of texts or bytes by name."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, **options) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def chunk(kind, data):
    return struct.pack(">L", len(data)) + kind + data + struct.pack(">L", zlib.crc32(kind + data))


def picture(**cards):
    """A whole PNG of one dot, with these texts in base64 after the image, where SillyTavern puts them."""
    head = chunk(b"IHDR", struct.pack(">LLBBBBB", 1, 1, 8, 0, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(b"\x00\x00"))
    texts = [chunk(b"tEXt", k.encode() + b"\x00" + base64.b64encode(text.encode())) for k, text in cards.items()]
    return b"\x89PNG\r\n\x1a\n" + head + b"".join(texts) + chunk(b"IEND", b"")

"""The Memory tab, and what the other tabs take from it: the box that brings a history in, and how handlers speak."""

from memory.tab.handling import PRIVATE, UNCHANGED, WATCHED, Update, shown_fault, told
from memory.tab.memories import memory_tab, persona_choices
from memory.tab.upload import UploadBox, upload_box

__all__ = [
    "PRIVATE",
    "UNCHANGED",
    "WATCHED",
    "Update",
    "UploadBox",
    "memory_tab",
    "persona_choices",
    "shown_fault",
    "told",
    "upload_box",
]

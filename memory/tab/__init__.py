"""The Memory tab, the box that brings a history in, and what the handlers of all tabs share."""

from memory.tab.browse import memory_tab, persona_choices
from memory.tab.handlers import PRIVATE, WATCHED, Update, shown_fault, told
from memory.tab.upload import UploadBox, upload_box

__all__ = [
    "PRIVATE",
    "WATCHED",
    "Update",
    "UploadBox",
    "memory_tab",
    "persona_choices",
    "shown_fault",
    "told",
    "upload_box",
]

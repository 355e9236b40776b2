"""The Memory tab, and what the other tabs take from it: a box that brings a history in, a bar, how handlers speak."""

from memory.tab.errors import PRIVATE, UNCHANGED, Update, shown_fault, told
from memory.tab.import_panel import UploadBox, upload_box
from memory.tab.memory_tab import memory_tab, persona_choices
from memory.tab.task_panel import TaskBar, task_bar

__all__ = [
    "PRIVATE",
    "UNCHANGED",
    "TaskBar",
    "Update",
    "UploadBox",
    "memory_tab",
    "persona_choices",
    "shown_fault",
    "task_bar",
    "told",
    "upload_box",
]

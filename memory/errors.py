"""What can go wrong with a memory, each with a message fit to show: what happened, where, and what to do."""

from __future__ import annotations


class MemoirError(Exception):
    """Any fault that a user can be told about; only the edges (screen, command line) catch it."""


class UnknownPersona(MemoirError):
    """No persona of that name, source id or number is in the bank."""


class UnknownMemory(MemoirError):
    """No memory, session or turn of that number is in the bank."""


class BankUnavailable(MemoirError):
    """The bank's file cannot be opened, read or written: read-only, full, locked for too long or not a database."""


class BankTooNew(MemoirError):
    """The bank was written by a later version of Memoir than this one."""


class WrongModel(MemoirError):
    """Weights were made for another embedding model than the one that is set."""


class Stopped(MemoirError):
    """Whoever waited for a piece of work had it stopped; the message says what is kept."""


class UnreadableFile(MemoirError):
    """A file that was to be imported cannot be read as any known format; the message names the file and the place."""

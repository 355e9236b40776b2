"""The errors that users see; each message says what happened, where, and what to do."""


class MemoirError(Exception):
    """The base of all errors with a message for the user; only the screen and the command line catch it."""


class UnknownMemory(MemoirError):
    """The bank has no memory, session or turn of that number."""


class BankUnavailable(MemoirError):
    """The bank's file cannot be opened, read or written: read-only, disk full, locked for too long or no database."""


class Cancelled(MemoirError):
    """The user cancelled the operation; the message says what was kept."""


class UnreadableFile(MemoirError):
    """A file cannot be imported: no known format, or broken; the message names the file and the place."""

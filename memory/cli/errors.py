"""Turn the errors of a command into a message on standard error and an exit status."""

import io
import os
import sqlite3
import sys
from collections.abc import Callable

from pydantic import ValidationError

from memory.errors import Cancelled, MemoirError

INTERRUPTED = 130
"""The exit status after Ctrl-C, as shells define it."""

OWN_FILES_ONLY = 0o077
"""The `umask` of Memoir: other accounts of the machine read neither banks nor backups and exports."""


def run_command(command: Callable[[], int | None], interrupted: str = "Interrupted.") -> int:
    """Run a command and return its exit status: 1 if it failed, 130 after Ctrl-C, else what the command returns, or 0.

    Files that the command makes can be read by this account only.
    `interrupted` is the message after Ctrl-C; it says what is kept.
    """
    for stream in (sys.stdout, sys.stderr):
        # A terminal or pipe that cannot show a character shows its code instead of failing.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    os.umask(OWN_FILES_ONLY)
    try:
        return command() or 0
    except ValidationError as fault:
        for error in fault.errors():
            print_error(f"MEMOIR_{str(error['loc'][0]).upper()}: {error['msg']}")
    except KeyboardInterrupt:
        print_error(interrupted)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of a pipe ("| head") has read enough; Python would complain again when it closes the stream.
        sys.stdout = open(os.devnull, "w")  # noqa: PTH123, SIM115
    except (MemoirError, OSError, sqlite3.Error) as fault:  # a full disk or a locked folder is not a bug
        print_error(str(fault))
        return INTERRUPTED if isinstance(fault, Cancelled) else 1
    return 1


def print_error(message: str) -> None:
    """Print a message on standard error, marked as Memoir's."""
    print(f"memoir: {message}", file=sys.stderr)

"""The command line of the bank: `python -m memory import|list|show|search|forget|export|backup|restore|user|...`."""

import sys

from memory.bank import journal
from memory.bank.bank import Bank
from memory.cli import user_commands  # noqa: F401  # adds its commands
from memory.cli.bank_commands import COMMANDS
from memory.cli.errors import run_command
from memory.cli.program import Run
from memory.settings import BankSettings


def main(argv: list[str] | None = None) -> int:
    """Run one command and return its exit status: 0, 1 if it failed, 2 for wrong arguments, 130 after Ctrl-C."""
    arguments = COMMANDS.parser.parse_args(argv)

    command: Run = arguments.command

    def run() -> int | None:
        settings = BankSettings()
        with journal.requested_by("command line"):
            return command(arguments, Bank(settings.bank_path), settings)

    return run_command(run, "Interrupted. What was stored before is kept; run the same command again to continue.")


if __name__ == "__main__":
    sys.exit(main())

"""The command line of the bank: parse the arguments, open the bank that the settings name, and run one command."""

import argparse

from memory.bank import journal
from memory.bank.bank import Bank
from memory.cli import browse_commands, forget_command, maintenance_commands, transfer_commands, user_command
from memory.cli.command import Command
from memory.cli.errors import run_command
from memory.settings import BankSettings


def main(argv: list[str] | None = None) -> int:
    """Run one command and return its exit status: 0, 1 if it failed, 2 for wrong arguments, 130 after Ctrl-C."""
    arguments = _build_parser().parse_args(argv)

    def run() -> int:
        settings = BankSettings()
        command: Command = arguments.command
        with journal.requested_by("command line"):
            return command(arguments, Bank(settings.bank_path), settings)

    return run_command(run, "Interrupted. What was stored before is kept; run the same command again to continue.")


def _build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m memory", description="Manage Memoir's memory.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def add(name: str, command: Command, text: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=text, description=text)
        added.add_argument("--json", action="store_true", help="print JSON")
        added.set_defaults(command=command)
        return added

    for module in (transfer_commands, browse_commands, forget_command, maintenance_commands):
        module.add_commands(add)
    text = "Add, list and remove the users who can log in to the app with --auth."
    user_command.add_arguments(commands.add_parser("user", help=text, description=text))
    return parser

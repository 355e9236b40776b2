"""`python -m memory user add|list|password|token|remove [NAME]`: the users who can log in to the app."""

import argparse
import getpass
import sys
from collections.abc import Callable

from memory.bank.bank import Bank
from memory.cli.command import Arguments
from memory.errors import MemoirError
from memory.settings import BankSettings
from memory.users import Users


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands; a password is never an argument, where other users of the machine could see it."""
    parser.set_defaults(command=_run)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def add(name: str, run: Callable[[Arguments, Users], None], text: str) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=text, description=text)
        command.set_defaults(run=run)
        if run is not _list:
            command.add_argument("name")
        return command

    add("add", _add, "Add a user; asks for the password, or reads it from standard input.")
    add("list", _list, "List the users and where their banks are.")
    add("password", _change_password, "Change a user's password.")
    add("token", _create_token, "Create a token for a user's programs; it is shown only once.")
    remove = add("remove", _remove, "Remove a user; the bank is kept unless you say otherwise.")
    remove.add_argument("--with-memory", action="store_true", help="delete the user's bank too")


def _run(arguments: Arguments, bank: Bank, settings: BankSettings) -> int:
    arguments.run(arguments, Users(settings.home))
    return 0


def _add(arguments: Arguments, users: Users) -> None:
    user = users.add(arguments.name, _ask_password())
    print(f"{user.name} can now log in; their bank is {users.folder_of(user) / 'bank.db'}")


def _list(arguments: Arguments, users: Users) -> None:
    for user in users.all():
        print("\t".join([user.name, str(users.folder_of(user) / "bank.db"), *(["token"] if user.token else [])]))


def _change_password(arguments: Arguments, users: Users) -> None:
    users.set_password(arguments.name, _ask_password())
    print(f"The password of {arguments.name} was changed; {arguments.name} has to log in again")


def _create_token(arguments: Arguments, users: Users) -> None:
    print(users.new_token(arguments.name))


def _remove(arguments: Arguments, users: Users) -> None:
    folder = users.remove(arguments.name, with_memory=arguments.with_memory)
    bank = "and their bank were removed" if arguments.with_memory else f"was removed; their bank is kept in {folder}"
    print(f"{arguments.name} {bank}")


def _ask_password() -> str:
    """A password from the terminal, typed twice and not shown; or the first line of standard input."""
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\r\n")
    password = getpass.getpass("Password: ")
    if getpass.getpass("Again: ") != password:
        raise MemoirError("The two passwords differ. Nothing was changed.")
    return password

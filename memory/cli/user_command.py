"""The command by which users are made: python -m memory user add|list|password|token|remove [NAME]."""

from __future__ import annotations

import argparse
import getpass
import sys
from collections.abc import Callable

from memory.errors import MemoirError
from memory.users import Users


def describe(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes; a password is never among the arguments, where others could see it."""
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    add = commands.add_parser("add", help="Make a user; the password is asked for, or read from the standard input.")
    add.set_defaults(account=_add)
    listing = commands.add_parser("list", help="Tell who may log in, and where the bank of each is.")
    listing.set_defaults(account=_list)
    password = commands.add_parser("password", help="Give a user another password.")
    password.set_defaults(account=_password)
    token = commands.add_parser("token", help="Make a token that a user's programs log in with, and show it once.")
    token.set_defaults(account=_token)
    remove = commands.add_parser("remove", help="Let a user in no more.")
    remove.set_defaults(account=_remove)
    remove.add_argument("--with-memory", action="store_true", help="delete the user's bank, too")
    for command in (add, password, token, remove):
        command.add_argument("name")


def run(arguments: argparse.Namespace, users: Users) -> None:
    """Run one of the commands.

    Raises:
        MemoirError: it cannot be done.
    """
    command: Callable[[argparse.Namespace, Users], None] = arguments.account
    command(arguments, users)


def _add(arguments: argparse.Namespace, users: Users) -> None:
    user = users.add(arguments.name, _asked())
    print(f"{user.name} may log in; their bank will be {users.folder_of(user) / 'bank.db'}")


def _list(arguments: argparse.Namespace, users: Users) -> None:
    for user in users.all():
        print("\t".join([user.name, str(users.folder_of(user) / "bank.db"), *(["token"] if user.token else [])]))


def _password(arguments: argparse.Namespace, users: Users) -> None:
    users.set_password(arguments.name, _asked())
    print(f"{arguments.name} has another password; whoever was logged in no longer is")


def _token(arguments: argparse.Namespace, users: Users) -> None:
    print(users.new_token(arguments.name))


def _remove(arguments: argparse.Namespace, users: Users) -> None:
    folder = users.remove(arguments.name, with_memory=arguments.with_memory)
    kept = "and so is their bank" if arguments.with_memory else f"their bank is kept in {folder}"
    print(f"{arguments.name} is gone; {kept}")


def _asked() -> str:
    """A password from the terminal, typed twice and not shown; or the first line of a pipe."""
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\r\n")
    password = getpass.getpass("Password: ")
    if getpass.getpass("Again: ") != password:
        raise MemoirError("the two differ; nothing was changed")
    return password

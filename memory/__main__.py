"""The command line of the bank: `python -m memory import|list|show|search|forget|export|backup|restore|user|...`.

`user add|list|password|token|limit|remove [NAME]` manages the users who can log in to the app. A password is never an
argument, where other users of the machine could see it.
"""

import getpass
import sys

from memory.bank import journal
from memory.bank.bank import Bank
from memory.cli.bank_commands import COMMANDS
from memory.cli.errors import run_command
from memory.cli.program import Arguments, argument, flag, number
from memory.errors import MemoirError
from memory.settings import BankSettings
from memory.users import Users

ABOUT_USERS = "Add, list and remove the users who can log in to the app with --auth."
USERS = COMMANDS.add_group("user", ABOUT_USERS, ABOUT_USERS)
NAME = argument("name")


@USERS.add("add", NAME)
def add(arguments: Arguments, bank: Bank, settings: BankSettings) -> None:
    """Add a user; asks for the password, or reads it from standard input."""
    users = Users(settings.home)
    user = users.add(arguments.name, _ask_password())
    print(f"{user.name} can now log in; their bank is {users.folder_of(user) / 'bank.db'}")


@USERS.add("list")
def list_users(arguments: Arguments, bank: Bank, settings: BankSettings) -> None:
    """List the users and where their banks are."""
    users = Users(settings.home)
    for user in users.all():
        limit = f"at most {user.most_memories:,} memories" if user.most_memories else ""
        cells = (user.name, str(users.folder_of(user) / "bank.db"), "token" if user.token else "", limit)
        print("\t".join(filter(None, cells)))


@USERS.add("password", NAME)
def change_password(arguments: Arguments, bank: Bank, settings: BankSettings) -> None:
    """Change a user's password."""
    Users(settings.home).set_password(arguments.name, _ask_password())
    print(f"The password of {arguments.name} was changed; {arguments.name} has to log in again")


@USERS.add("token", NAME)
def create_token(arguments: Arguments, bank: Bank, settings: BankSettings) -> None:
    """Create a token for a user's programs; it is shown only once."""
    print(Users(settings.home).new_token(arguments.name))


@USERS.add("limit", NAME, number("--memories", "how many; any number without it"))
def limit(arguments: Arguments, bank: Bank, settings: BankSettings) -> None:
    """Limit the memories of a user's bank; an open page keeps its limit until it is let go."""
    Users(settings.home).limit(arguments.name, arguments.memories)
    limited = f"at most {arguments.memories:,}" if arguments.memories else "any number of"
    print(f"The bank of {arguments.name} may hold {limited} memories")


@USERS.add("remove", NAME, flag("--with-memory", "delete the user's bank too"))
def remove(arguments: Arguments, bank: Bank, settings: BankSettings) -> None:
    """Remove a user; the bank is kept unless you say otherwise."""
    folder = Users(settings.home).remove(arguments.name, with_memory=arguments.with_memory)
    outcome = "and their bank were removed" if arguments.with_memory else f"was removed; their bank is kept in {folder}"
    print(f"{arguments.name} {outcome}")


def _ask_password() -> str:
    """A password from the terminal, typed twice and not shown; or the first line of standard input."""
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\r\n")
    password = getpass.getpass("Password: ")
    if getpass.getpass("Again: ") != password:
        raise MemoirError("The two passwords differ. Nothing was changed.")
    return password


def main(argv: list[str] | None = None) -> int:
    """Run one command and return its exit status: 0, 1 if it failed, 2 for wrong arguments, 130 after Ctrl-C."""
    arguments = COMMANDS.parser.parse_args(argv)

    def run() -> int | None:
        settings = BankSettings()
        with journal.requested_by("command line"):
            status: int | None = arguments.command(arguments, Bank(settings.bank_path), settings)
        return status

    return run_command(run, "Interrupted. What was stored before is kept; run the same command again to continue.")


if __name__ == "__main__":
    sys.exit(main())

"""The command line of the bank: `python -m memory import|list|show|search|forget|export|backup|restore|user|...`.

`user add|list|logins|password|token|limit|remove [NAME]` manages the users who can log in to the app. A password is
never an argument, where other users of the machine could see it.
"""

import getpass
import math
import sys
from pathlib import Path

from memory.bank import journal
from memory.bank.bank import Bank
from memory.cli.bank_commands import COMMANDS
from memory.cli.program import Arguments, argument, flag, number, run_command
from memory.errors import MemoirError
from memory.settings import BankSettings
from memory.types import Quota
from memory.users import Users, find_user

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
    """List the users, where their banks are, what these hold, and when each logged in last."""
    users = Users(settings.home)
    for user in users.all():
        path, last = users.folder_of(user) / "bank.db", users.logins(user)[-1:]
        login = f"last login {last[0][0]}" if last else "no login yet"
        print("\t".join((user.name, str(path), _describe_use(path, user.quota), *["token"] * bool(user.token), login)))


def _describe_use(path: Path, quota: Quota) -> str:
    """What a bank holds, of how much: "550 memories of at most 5,000, 3 MB"."""
    if not path.exists():
        return "no bank yet"
    try:
        with Bank(path).reading() as db:
            memories = db.table("memories").count
    except MemoirError as fault:
        return str(fault)
    held = (memories, "memories", quota.memories), (math.ceil(path.stat().st_size / 2**20), "MB", quota.megabytes)
    return ", ".join(f"{n:,} {unit}" + (f" of at most {most:,}" if most else "") for n, unit, most in held)


@USERS.add("logins", argument("name", "the user; all users by default", nargs="?"))
def list_logins(arguments: Arguments, bank: Bank, settings: BankSettings) -> None:
    """List when users logged in and from which address, the last hundred of each."""
    users = Users(settings.home)
    asked = (find_user(users.all(), arguments.name),) if arguments.name else users.all()
    logins = [(at, user.name, address) for user in asked for at, address in users.logins(user)]
    print("\n".join("\t".join(login) for login in sorted(logins)) or "no login yet")


@USERS.add("password", NAME)
def change_password(arguments: Arguments, bank: Bank, settings: BankSettings) -> None:
    """Change a user's password."""
    Users(settings.home).set_password(arguments.name, _ask_password())
    print(f"The password of {arguments.name} was changed; {arguments.name} has to log in again")


@USERS.add("token", NAME)
def create_token(arguments: Arguments, bank: Bank, settings: BankSettings) -> None:
    """Create a token for a user's programs; it is shown only once."""
    print(Users(settings.home).new_token(arguments.name))


@USERS.add(
    "limit",
    NAME,
    number("--memories", "how many the bank may hold; any number without it"),
    number("--megabytes", "how many the bank and the uploads may take; any number without it"),
)
def limit(arguments: Arguments, bank: Bank, settings: BankSettings) -> None:
    """Limit what a user may store; an open page keeps its limits until it is let go."""
    quota = Quota(arguments.memories, arguments.megabytes)
    Users(settings.home).limit(arguments.name, quota)
    limits = [f"at most {n:,} {unit}" for n, unit in ((quota.memories, "memories"), (quota.megabytes, "MB")) if n]
    print(f"{arguments.name} may store {' and '.join(limits) or 'any amount'}")


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

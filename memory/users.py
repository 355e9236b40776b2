"""The users who can log in, in MEMOIR_HOME/users.json, which only its owner can read.

Passwords are stored as argon2 hashes, the tokens of users' programs as SHA-256 digests: neither can be read back.
"""

import hashlib
import hmac
import json
import re
import secrets
import shutil
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from filelock import FileLock

from memory.bank.unfinished import publish, unfinished_file
from memory.errors import MemoirError
from memory.types import Quota

NAME_PATTERN = re.compile(r"(?=.*\w)[\w.@-]{1,64}")
MIN_PASSWORD, MAX_PASSWORD = 8, 1000
"""Characters of a password; a longer one would only take time to hash."""

MAX_LOGINS = 100
"""Logins of a user that are kept."""


class UnknownUser(MemoirError):
    """No user has that name."""


@dataclass(frozen=True, slots=True)
class User:
    """A user who can log in. `id` is random and names the user's folder; `password` and `token` are hashes.

    `most_memories` and `most_megabytes` are the user's quota.
    """

    id: str
    name: str
    password: str
    token: str = ""
    most_memories: int | None = None
    most_megabytes: int | None = None

    @property
    def quota(self) -> Quota:
        """What the user's bank may hold."""
        return Quota(self.most_memories, self.most_megabytes)


class Users:
    """The users of one MEMOIR_HOME; every call reads the file again, because a command may have changed it."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self.path = home / "users.json"
        self._hasher = PasswordHasher()

    def all(self) -> tuple[User, ...]:
        """All users, the oldest first.

        Raises:
            MemoirError: the file is damaged.
        """
        try:
            return tuple(User(**fields) for fields in json.loads(self.path.read_text("utf-8")))
        except FileNotFoundError:
            return ()
        except (ValueError, TypeError) as fault:
            raise MemoirError(f"{self.path} is damaged ({fault}). Restore a copy, or move the file away.") from fault

    def folder_of(self, user: User) -> Path:
        """The folder of a user's bank."""
        return self._home / "users" / user.id

    def get(self, user_id: str) -> User | None:
        """The user with that id; None if there is none."""
        return next((u for u in self.all() if u.id == user_id), None)

    def named(self, name: str) -> User | None:
        """The user of that name; None if there is none."""
        return next((u for u in self.all() if _same_name(u.name, name)), None)

    # --- login

    def authenticate(self, name: str, password: str) -> User | None:
        """The user with that name and password; None if there is none, which takes as long for an unknown name."""
        user = self.named(name)
        dummy = self._dummy_hash  # made for known names, too, or the first unknown one would take twice as long
        try:
            # Verify a dummy password, too, so that unknown names take as long as known ones.
            self._hasher.verify(user.password if user else dummy, password[:MAX_PASSWORD])
        except (VerificationError, InvalidHashError, UnicodeEncodeError):
            return None
        return user

    def authenticate_token(self, token: str) -> User | None:
        """The user with that token; None if there is none."""
        kept = digest(token)
        return next((u for u in self.all() if u.token and hmac.compare_digest(u.token, kept)), None)

    def note_login(self, user: User, address: str) -> None:
        """Note when and from where a user logged in; of the last ones only, and not on a full disk."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        with suppress(OSError), FileLock(self.path.with_suffix(".lock"), mode=0o600):
            lines = [f"{at}\t{place}\n" for at, place in self.logins(user)][1 - MAX_LOGINS :]
            new = self._logins_of(user).with_suffix(".new")
            new.write_text("".join([*lines, f"{now}\t{address}\n"]), "utf-8")
            new.replace(self._logins_of(user))

    def logins(self, user: User) -> list[tuple[str, str]]:
        """When and from where a user logged in, the oldest first."""
        try:
            lines = self._logins_of(user).read_text("utf-8", errors="replace").splitlines()
        except FileNotFoundError:
            return []
        return [(at, place) for at, _, place in (line.partition("\t") for line in lines)]

    def _logins_of(self, user: User) -> Path:
        return self.folder_of(user) / "logins.txt"

    @cached_property
    def _dummy_hash(self) -> str:
        return self._hasher.hash(secrets.token_hex())

    # --- changes

    def add(self, name: str, password: str) -> User:
        """Add a user.

        Raises:
            MemoirError: the name or the password is not allowed.
        """
        name = name.strip()
        if not NAME_PATTERN.fullmatch(name):
            raise MemoirError(
                f"{name!r} cannot be a user name. Use at most 64 letters, digits and . @ _ -, not dots alone."
            )
        if len(scripts := _scripts(name)) > 1:
            mixed = " and ".join(scripts)
            raise MemoirError(f"{name!r} mixes {mixed} letters, which can look alike. Use those of one alphabet.")
        user = User(secrets.token_hex(16), name, self._hash(password))
        with self._editing() as users:
            if any(_same_name(u.name, name) for u in users):
                raise MemoirError(f"There is already a user {name!r}.")
            users.append(user)
        self.folder_of(user).mkdir(parents=True, mode=0o700)
        (self._home / "users").chmod(0o700)
        return user

    def set_password(self, name: str, password: str) -> None:
        """Change a user's password, which ends the logins made with the old one."""
        self._update(name, password=self._hash(password))

    def new_token(self, name: str) -> str:
        """Create a token for a user's programs and return it; it replaces the previous one and cannot be read again."""
        token = secrets.token_urlsafe(32)
        self._update(name, token=digest(token))
        return token

    def limit(self, name: str, quota: Quota) -> None:
        """Give a user another quota, which counts from the next time that their page is opened."""
        self._update(name, most_memories=quota.memories, most_megabytes=quota.megabytes)

    def remove(self, name: str, *, with_memory: bool = False) -> Path:
        """Remove a user and return the folder of their bank, which is deleted only `with_memory`.

        Raises:
            UnknownUser: there is no such user.
            MemoirError: the user is gone, but not all of the bank could be deleted.
        """
        with self._editing() as users:
            user = find_user(users, name)
            users.remove(user)
        folder = self.folder_of(user)
        if with_memory and folder.exists():
            # Renamed first: an app whose page of theirs is still open could add a file to a folder being emptied.
            removed = folder.with_name(f"{folder.name}.removed")
            try:
                folder.rename(removed)
                shutil.rmtree(removed)
            except OSError as fault:
                raise MemoirError(
                    f"{user.name} was removed, but not all of their bank: {fault}. Delete {folder}* by hand."
                ) from fault
        return folder

    def _hash(self, password: str) -> str:
        if not MIN_PASSWORD <= len(password) <= MAX_PASSWORD:
            raise MemoirError(f"A password must have {MIN_PASSWORD} to {MAX_PASSWORD:,} characters.")
        try:
            return self._hasher.hash(password)
        except UnicodeEncodeError as fault:
            raise MemoirError(
                "The password contains bytes that are not UTF-8. Check the encoding of your terminal."
            ) from fault

    def _update(self, name: str, **fields: str | int | None) -> None:
        with self._editing() as users:
            old = find_user(users, name)
            users[users.index(old)] = User(**(asdict(old) | fields))

    @contextmanager
    def _editing(self) -> Iterator[list[User]]:
        """The users as a list to change in place; written completely or not at all, by one process at a time."""
        self._home.mkdir(parents=True, exist_ok=True)
        with FileLock(self.path.with_suffix(".lock"), mode=0o600):
            users = list(self.all())
            yield users
            with unfinished_file(self.path) as new:
                new.write_text(json.dumps([asdict(u) for u in users], indent=1), "utf-8")
                publish(new, self.path)


def find_user(users: Sequence[User], name: str) -> User:
    """The user of that name.

    Raises:
        UnknownUser: there is none.
    """
    user = next((u for u in users if _same_name(u.name, name)), None)
    if user is None:
        raise UnknownUser(f"There is no user {name!r}. `python -m memory user list` lists the users.")
    return user


def _scripts(name: str) -> list[str]:
    """The alphabets of a name's letters. Chinese, Japanese and Korean letters go with any (Unicode's UTS 39, 5.2)."""
    letters = (c for c in unicodedata.normalize("NFKC", name) if c.isalpha())
    words = {re.split("[ -]", unicodedata.name(c, "?"))[0].capitalize() for c in letters}
    return sorted(words - {"Cjk", "Hiragana", "Katakana", "Hangul", "Bopomofo"})


def _same_name(one: str, other: str) -> bool:
    """Whether two names would be taken for one: case does not matter, nor another form of a letter ("ａｎａ")."""
    one, other = (unicodedata.normalize("NFKC", name.strip()).casefold() for name in (one, other))
    return one == other


def digest(token: str) -> str:
    """What is kept of a token, from which it cannot be found."""
    return hashlib.sha256(token.encode()).hexdigest()

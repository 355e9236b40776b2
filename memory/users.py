"""Who may log in, and where the bank of each lies; kept in MEMOIR_HOME/users.json, which its owner alone may read.

A password is kept as its argon2 hash, the token that programs log in with as a digest: neither can be read back.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from filelock import FileLock

from memory.errors import MemoirError

NAME_PATTERN = re.compile(r"[\w.@-]{1,64}")
MIN_PASSWORD, MAX_PASSWORD = 8, 1000
"""Characters of a password; a longer one would only cost time to hash."""


class UnknownUser(MemoirError):
    """Nobody of that name may log in."""


class InvalidAccount(MemoirError):
    """A name is taken or none, or a password is too short or too long."""


@dataclass(frozen=True, slots=True)
class User:
    """Somebody who may log in. `id` is random and names the folder; `token` is empty where there is none."""

    id: str
    name: str
    password: str
    token: str = ""


class Users:
    """The accounts of one home; each question reads the file anew, for a command may have changed it."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self.path = home / "users.json"
        self._hasher = PasswordHasher()

    def all(self) -> tuple[User, ...]:
        """Everybody who may log in, the oldest account first.

        Raises:
            MemoirError: the file holds something else.
        """
        try:
            return tuple(User(**held) for held in json.loads(self.path.read_text("utf-8")))
        except FileNotFoundError:
            return ()
        except (ValueError, TypeError) as fault:
            raise MemoirError(f"{self.path} does not hold accounts ({fault}); restore it, or move it away") from fault

    def folder_of(self, user: User) -> Path:
        """The folder of a user's bank."""
        return self._home / "users" / user.id

    def get(self, user_id: str) -> User | None:
        """The user of that id."""
        return next((u for u in self.all() if u.id == user_id), None)

    # --- logging in

    def authenticate(self, name: str, password: str) -> User | None:
        """Who has that name and password, if anybody; it takes as long where there is nobody of that name."""
        user = next((u for u in self.all() if _same_name(u.name, name)), None)
        nobodys = self._dummy_hash  # made for everybody's first try, not for nobody's alone
        try:
            # Verifying fails for most passwords by raising; it is made for nobody, too, so that time tells no names.
            self._hasher.verify(user.password if user else nobodys, password[:MAX_PASSWORD])
        except (VerificationError, InvalidHashError, UnicodeEncodeError):
            return None
        return user

    def authenticate_token(self, token: str) -> User | None:
        """Who has that token, if anybody."""
        digest = _digest(token)
        return next((u for u in self.all() if u.token and hmac.compare_digest(u.token, digest)), None)

    @cached_property
    def _dummy_hash(self) -> str:
        return self._hasher.hash(secrets.token_hex())

    # --- accounts

    def add(self, name: str, password: str) -> User:
        """Make an account.

        Raises:
            InvalidAccount: the name or the password will not do.
        """
        name = name.strip()
        if not NAME_PATTERN.fullmatch(name):
            raise InvalidAccount(f"{name!r} is no name for a user: letters, digits and . @ _ -, at most 64 of them")
        user = User(secrets.token_hex(16), name, self._hash(password))
        with self._editing() as users:
            if any(_same_name(u.name, name) for u in users):
                raise InvalidAccount(f"there is a user {name!r} already")
            users.append(user)
        self.folder_of(user).mkdir(parents=True, mode=0o700)
        (self._home / "users").chmod(0o700)
        return user

    def set_password(self, name: str, password: str) -> None:
        """Give a user another password; whoever is logged in by the old one no longer is."""
        self._update(name, password=self._hash(password))

    def new_token(self, name: str) -> str:
        """A token for a user's programs, told this once; the one before it no longer counts."""
        token = secrets.token_urlsafe(32)
        self._update(name, token=_digest(token))
        return token

    def remove(self, name: str, *, with_memory: bool = False) -> Path:
        """End an account; the folder of its bank, which is deleted only if asked for."""
        with self._editing() as users:
            gone = _find(users, name)
            users.remove(gone)
        if with_memory:
            shutil.rmtree(self.folder_of(gone), ignore_errors=True)
        return self.folder_of(gone)

    def _hash(self, password: str) -> str:
        if not MIN_PASSWORD <= len(password) <= MAX_PASSWORD:
            raise InvalidAccount(f"a password has {MIN_PASSWORD} to {MAX_PASSWORD:,} characters")
        try:
            return self._hasher.hash(password)
        except UnicodeEncodeError as fault:
            raise InvalidAccount("the password has bytes that are no characters; is the terminal UTF-8?") from fault

    def _update(self, name: str, **fields: str) -> None:
        with self._editing() as users:
            old = _find(users, name)
            users[users.index(old)] = replace(old, **fields)

    @contextmanager
    def _editing(self) -> Iterator[list[User]]:
        """The accounts, to change in place; written whole or not at all, one command at a time."""
        self._home.mkdir(parents=True, exist_ok=True)
        with FileLock(self.path.with_suffix(".lock"), mode=0o600):
            users = list(self.all())
            yield users
            new = self.path.with_suffix(".new")
            new.unlink(missing_ok=True)
            with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
                json.dump([asdict(u) for u in users], file, indent=1)
                file.flush()
                os.fsync(file.fileno())
            new.replace(self.path)


def _find(users: list[User], name: str) -> User:
    found = next((u for u in users if _same_name(u.name, name)), None)
    if found is None:
        raise UnknownUser(f"there is no user {name!r}; `python -m memory user list` tells who there is")
    return found


def _same_name(one: str, other: str) -> bool:
    return one.casefold() == other.strip().casefold()


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()

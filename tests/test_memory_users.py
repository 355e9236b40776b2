"""Accounts: who may log in, what the file of them holds, and the command that makes them."""

from __future__ import annotations

import io
import json
import os
import shutil
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from argon2 import PasswordHasher

from memory.__main__ import main
from memory.bank.bank import Bank
from memory.errors import MemoirError
from memory.types import MemoryDraft, PersonaDraft, Quota
from memory.users import MAX_LOGINS, UnknownUser, Users

PASSWORD = "a long walk by the sea"


@pytest.fixture
def users(tmp_path: Path) -> Users:
    return Users(tmp_path)


def command(users: Users, monkeypatch: pytest.MonkeyPatch, *words: str, typed: str = "") -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    monkeypatch.setenv("MEMOIR_HOME", str(users.path.parent))
    assert main(["user", *words]) == 0


def test_a_user_is_known_by_name_and_password_whatever_the_case_of_the_name(users: Users) -> None:
    ann = users.add("Ann", PASSWORD)
    assert users.authenticate("ann ", PASSWORD) == ann
    assert users.authenticate("ann", PASSWORD.upper()) is None
    assert users.authenticate("ben", PASSWORD) is None


def test_a_quota_is_set_listed_and_taken_away(
    users: Users, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    users.add("ann", PASSWORD)
    command(users, monkeypatch, "limit", "ann", "--memories", "5000", "--megabytes", "64")
    assert users.all()[0].quota == Quota(5000, 64)
    assert "may store at most 5,000 memories and at most 64 MB" in capsys.readouterr().out
    command(users, monkeypatch, "list")
    assert "no bank yet\tno login yet" in capsys.readouterr().out
    bank = Bank(users.folder_of(users.all()[0]) / "bank.db")
    bank.create_persona(PersonaDraft("Ida"))
    bank.add_memories(1, [MemoryDraft("event", "A gull sat on the roof.")])
    command(users, monkeypatch, "list")
    assert "1 memories of at most 5,000, 1 MB of at most 64" in capsys.readouterr().out
    command(users, monkeypatch, "limit", "ann")
    assert users.all()[0].quota == Quota()


def test_the_last_logins_are_listed_by_time(
    users: Users, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ann, ben = users.add("ann", PASSWORD), users.add("ben", PASSWORD)
    command(users, monkeypatch, "logins", "ann")
    assert capsys.readouterr().out == "no login yet\n"
    for number in range(MAX_LOGINS + 1):
        users.note_login(ann, f"192.0.2.{number}")
    users.note_login(ben, "198.51.100.1")
    assert [place for _, place in users.logins(ann)] == [f"192.0.2.{number}" for number in range(1, MAX_LOGINS + 1)]
    command(users, monkeypatch, "logins")
    listed = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert len(listed) == MAX_LOGINS + 1
    assert listed == sorted(listed)
    assert {"ann", "ben"} == {name for _, name, _ in listed}
    command(users, monkeypatch, "logins", "ben")
    assert capsys.readouterr().out.endswith("\tben\t198.51.100.1\n")
    command(users, monkeypatch, "list")
    assert f"last login {users.logins(ben)[0][0]}" in capsys.readouterr().out
    monkeypatch.setattr("sys.stdin", io.StringIO())
    assert main(["user", "logins", "nobody"]) == 1


def test_a_login_of_a_user_who_was_just_removed_is_not_noted(users: Users) -> None:
    ann = users.add("ann", PASSWORD)
    users.remove("ann", with_memory=True)
    users.note_login(ann, "192.0.2.1")
    assert not users.folder_of(ann).exists()


def test_a_token_is_known_until_there_is_another(users: Users) -> None:
    users.add("ann", PASSWORD)
    assert users.authenticate_token("") is None
    first = users.new_token("ann")
    second = users.new_token("ann")
    assert users.authenticate_token(first) is None
    assert users.authenticate_token(second) == users.all()[0]


def test_the_file_is_the_owners_alone_and_holds_no_secret(users: Users, tmp_path: Path) -> None:
    ann = users.add("ann", PASSWORD)
    token = users.new_token("ann")
    assert stat.S_IMODE((tmp_path / "users.json").stat().st_mode) == 0o600
    assert stat.S_IMODE(users.folder_of(ann).stat().st_mode) == 0o700
    held = (tmp_path / "users.json").read_text()
    assert PASSWORD not in held
    assert token not in held
    assert json.loads(held)[0]["password"].startswith("$argon2id$")
    assert "ann" not in users.folder_of(ann).name


@pytest.mark.parametrize("name", ["", "a b", "../ann", "a/b", "x" * 65, "a\nb", "..", "-@."])
def test_a_name_that_is_none_is_refused(users: Users, name: str) -> None:
    with pytest.raises(MemoirError, match="cannot be a user name"):
        users.add(name, PASSWORD)


def test_a_name_of_two_alphabets_is_refused(users: Users) -> None:
    users.add("ann", PASSWORD)
    with pytest.raises(MemoirError, match="mixes Cyrillic and Latin letters"):
        users.add("\N{CYRILLIC SMALL LETTER A}nn", PASSWORD)
    for name in ("\N{CYRILLIC SMALL LETTER A}\N{CYRILLIC SMALL LETTER EN}", "zoë.2", "王小明-wang", "ゆかりカナ漢"):
        users.add(name, PASSWORD)


@pytest.mark.parametrize("password", ["", "short", "x" * 1001, "no characters \ud800"])
def test_a_password_too_short_or_too_long_or_of_no_characters_is_refused(users: Users, password: str) -> None:
    with pytest.raises(MemoirError, match=r"characters|not UTF-8"):
        users.add("ann", password)
    assert users.all() == ()
    assert users.authenticate("ann", password) is None


@pytest.mark.parametrize("name", ["ann", "nobody"])
def test_the_first_try_hashes_as_often_for_a_name_that_is_nobodys(
    users: Users, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    users.add("ann", PASSWORD)
    done: list[str] = []
    for step in ("hash", "verify"):
        monkeypatch.setattr(PasswordHasher, step, _counted(getattr(PasswordHasher, step), done))
    assert Users(tmp_path).authenticate(name, "not the password") is None
    assert done == ["hash", "verify"]


def _counted(step: Callable[..., Any], done: list[str]) -> Callable[..., Any]:
    def counted(*given: Any) -> Any:
        done.append(step.__name__)
        return step(*given)

    return counted


def test_a_name_is_given_once(users: Users) -> None:
    users.add("ann", PASSWORD)
    with pytest.raises(MemoirError, match="already"):
        users.add("ANN", PASSWORD)
    with pytest.raises(MemoirError, match="already"):
        users.add("ａnn", PASSWORD)
    with pytest.raises(UnknownUser, match="ben"):
        users.remove("ben")


def test_accounts_made_at_once_are_all_kept(users: Users) -> None:
    makers = [threading.Thread(target=users.add, args=(f"user{n}", PASSWORD)) for n in range(6)]
    for maker in makers:
        maker.start()
    for maker in makers:
        maker.join()
    assert {u.name for u in users.all()} == {f"user{n}" for n in range(6)}


def test_a_broken_file_lets_nobody_in_and_is_left_alone(users: Users, tmp_path: Path) -> None:
    (tmp_path / "users.json").write_text("[{")
    with pytest.raises(MemoirError, match="is damaged"):
        users.authenticate("ann", PASSWORD)
    with pytest.raises(MemoirError):
        users.add("ann", PASSWORD)
    assert (tmp_path / "users.json").read_text() == "[{"


def test_a_removed_users_bank_is_kept_unless_it_is_to_go(users: Users) -> None:
    for with_memory in (False, True):
        ann = users.add("ann", PASSWORD)
        (users.folder_of(ann) / "bank.db").write_text("held")
        users.remove("ann", with_memory=with_memory)
        assert users.folder_of(ann).exists() is not with_memory


def test_a_bank_that_an_app_still_writes_goes_with_its_user(users: Users) -> None:
    ann = users.add("ann", PASSWORD)
    folder = users.folder_of(ann)
    written, ended = threading.Event(), threading.Event()

    def write() -> None:
        number = 0
        while not ended.is_set():
            number += 1
            with suppress(FileNotFoundError):
                (folder / f"{number}").touch()
            written.set()

    writer = threading.Thread(target=write)
    writer.start()
    written.wait()
    users.remove("ann", with_memory=True)
    ended.set()
    writer.join()
    assert list(folder.parent.iterdir()) == []


def test_a_bank_that_cannot_be_deleted_is_named(users: Users, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = users.folder_of(users.add("ann", PASSWORD))

    def fail(path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(shutil, "rmtree", fail)
    with pytest.raises(MemoirError, match=f"not all of their bank.*{folder.name}"):
        users.remove("ann", with_memory=True)
    assert users.all() == ()


def test_the_command_makes_lists_and_removes_users(
    users: Users, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command(users, monkeypatch, "add", "ann", typed=f"{PASSWORD}\n")
    command(users, monkeypatch, "token", "ann")
    token = capsys.readouterr().out.splitlines()[-1]
    assert users.authenticate_token(token) is not None
    command(users, monkeypatch, "password", "ann", typed="quite another one\n")
    assert users.authenticate("ann", "quite another one") is not None
    command(users, monkeypatch, "list")
    assert capsys.readouterr().out.splitlines()[-1].split("\t")[0] == "ann"
    command(users, monkeypatch, "remove", "ann")
    assert users.all() == ()


def test_a_password_is_no_argument(users: Users, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SystemExit):
        command(users, monkeypatch, "add", "ann", PASSWORD)


def test_the_command_loads_no_weights_and_no_web_server(users: Users, tmp_path: Path) -> None:
    """Who makes a user should not wait for what only the app needs."""
    heavy = ["torch", "transformers", "sentence_transformers", "gradio", "langchain_core"]
    code = f"""
import sys
from memory.__main__ import main
assert main(["user", "add", "ann"]) == 0
assert main(["user", "list"]) == 0
print([name for name in {heavy} if name in sys.modules])
"""
    environment = {**os.environ, "MEMOIR_HOME": str(tmp_path)}
    root = Path(__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, env=environment, input=PASSWORD, capture_output=True, text=True
    )
    assert done.stdout.splitlines()[-1] == "[]", done.stderr
    assert [user.name for user in users.all()] == ["ann"]

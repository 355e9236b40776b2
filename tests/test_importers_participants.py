"""Who of a chat's speakers the user is: asked where the file does not say, and the persona is called like the other."""

import json

import pytest

from memory.bank.bank import Bank
from memory.errors import MemoirError
from memory.ingest import ingest, summarize
from memory.types import PersonaDraft
from support.export_files import EXPORTS

CHAT = """\
[01/05/24, 08:00:05] Ana: Where is my kayak?
[01/05/24, 08:01:00] Bo Lund: It is in my garage.
[01/05/24, 08:02:00] Ana: Since when?
"""


def written(tmp_path, name="WhatsApp Chat with Bo Lund.txt", text=CHAT):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def roles(bank, persona):
    (session,) = bank.sessions(persona.id)
    return [(turn.speaker, turn.role) for turn in bank.turns(persona.id, session.id)]


@pytest.mark.parametrize(
    ("name", "likely"),
    [("WhatsApp Chat with Bo Lund.txt", "Ana"), ("WhatsApp Chat - Ana.txt", "Bo Lund"), ("_chat.txt", "")],
)
def test_a_chat_of_two_is_not_the_users_whom_it_is_named_after(tmp_path, name, likely):
    summary = summarize(written(tmp_path, name))
    assert summary.speakers == ("Ana", "Bo Lund")
    assert summary.user == likely


@pytest.mark.parametrize(("user", "other"), [("Ana", "Bo Lund"), ("Bo Lund", "Ana")])
def test_the_persona_is_called_like_the_other_and_the_user_has_their_role(tmp_path, user, other):
    bank = Bank(tmp_path / "bank.db")
    report = ingest(bank, written(tmp_path), user=user)
    persona = report.histories[0].persona
    assert persona.name == other
    assert dict(roles(bank, persona)) == {user: "user", other: "other"}
    assert ingest(bank, written(tmp_path), user=user).histories[0].stored.turns == 0
    assert len(bank.personas()) == 1


def test_without_an_answer_the_history_is_stored_as_it_was(tmp_path):
    bank = Bank(tmp_path / "bank.db")
    persona = ingest(bank, written(tmp_path)).histories[0].persona
    assert persona.name == "WhatsApp Chat with Bo Lund"
    assert roles(bank, persona)[0] == ("Ana", "user")


def test_an_import_into_a_persona_without_a_name_is_refused(tmp_path):
    bank = Bank(tmp_path / "bank.db")
    bank.create_persona(PersonaDraft("Iris"))
    with pytest.raises(MemoirError, match=r"a persona needs a name\. Nothing from .* was stored"):
        ingest(bank, written(tmp_path), persona="")
    assert bank.counts(bank.persona("Iris").id)["turns"] == 0


def test_a_group_keeps_its_own_name(tmp_path):
    text = CHAT + "[01/05/24, 08:03:00] Cy: Since March.\n"
    path = written(tmp_path, "WhatsApp Chat with The rowers.txt", text)
    bank = Bank(tmp_path / "bank.db")
    persona = ingest(bank, path, user="Cy").histories[0].persona
    assert persona.name == "The rowers"
    assert [role for _, role in roles(bank, persona)] == ["other", "other", "other", "user"]


def test_a_transcript_is_asked_about_unless_it_names_an_assistant(tmp_path):
    talk = written(tmp_path, "talk.txt", "Anna: Are you there?\nBen: Yes.\nAnna: Good.\n")
    assert summarize(talk).speakers == ("Anna", "Ben")
    assert ingest(Bank(tmp_path / "bank.db"), talk, user="Anna").histories[0].persona.name == "Ben"
    chat = written(tmp_path, "chat.txt", "User: Are you there?\nAssistant: Yes.\nUser: Good.\n")
    assert summarize(chat).speakers == ()


def test_an_export_that_says_who_the_user_is_is_not_asked_about(tmp_path):
    assert summarize(EXPORTS / "chatgpt.json").speakers == ()
    harbour = {"speaker_a": "Ana", "speaker_b": "Bo", "session_1_date_time": "9:10 am on 4 March, 2024"}
    harbour["session_1"] = [{"speaker": "Ana", "dia_id": "D1:1", "text": "Good morning!"}]
    path = tmp_path / "locomo.json"
    path.write_text(json.dumps([{"sample_id": "talk-1", "conversation": harbour, "qa": []}]), encoding="utf-8")
    assert summarize(path).speakers == ()


def test_each_chat_of_an_account_is_called_like_its_other_person(tmp_path):
    def message(number, speaker):
        return {"id": number, "type": "message", "date": "2024-05-01T08:00:05", "from": speaker, "text": "Hello there"}

    chats = [
        {"name": other, "type": "personal_chat", "id": number, "messages": [message(1, "Ana"), message(2, other)]}
        for number, other in enumerate(("Bo", "Cy"), 21)
    ]
    path = tmp_path / "result.json"
    path.write_text(json.dumps({"chats": {"list": chats}}), encoding="utf-8")
    assert summarize(path).user == "Ana"
    reports = ingest(Bank(tmp_path / "bank.db"), path, user="Ana").histories
    assert [report.persona.name for report in reports] == ["Bo", "Cy"]

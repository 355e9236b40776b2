"""Whatever an export holds: each message is stored, or has a reason at its place; and none is stored twice."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory.bank.bank import Bank
from memory.ingest import ingest
from support.export_files import EXPORTS, read_all, skips, turns, write_json

LATER = "2024-05-01T08:00:00.000Z"
examples = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
"""The folder is the same for all examples; each writes its file anew."""


def chatgpt_message(kind, text):
    content = {"content_type": "text", "parts": [text]}
    message = {"author": {"role": "user"}, "content": content, "create_time": 1714550400.0, "recipient": "all"}
    changes = {
        "said": {},
        "answered": {"author": {"role": "assistant"}},
        "system": {"author": {"role": "system"}},
        "tool": {"author": {"role": "tool", "name": "web"}},
        "hidden": {"metadata": {"is_visually_hidden_from_conversation": True}},
        "call": {"author": {"role": "assistant"}, "recipient": "python"},
        "thoughts": {"content": {"content_type": "thoughts"}},
        "analysis": {"author": {"role": "assistant"}, "channel": "analysis"},
        "picture": {"content": {"content_type": "multimodal_text", "parts": [{"content_type": "image_asset_pointer"}]}},
        "empty": {"content": {"content_type": "text", "parts": [" "]}},
        "odd": {"content": 7, "author": []},
    }
    return message | changes[kind]


def claude_message(kind, text):
    message = {"sender": "human", "text": text, "created_at": LATER, "content": [{"type": "text", "text": text}]}
    changes = {
        "said": {},
        "answered": {"sender": "assistant"},
        "thoughts": {"content": [{"type": "thinking", "thinking": "hm"}], "text": ""},
        "empty": {"content": [], "text": ""},
        "odd": {"sender": 7},
    }
    return message | changes[kind]


def openwebui_message(kind, text):
    message = {"role": "user", "content": text, "timestamp": 1714550400}
    changes = {
        "said": {},
        "answered": {"role": "assistant", "model": "m"},
        "system": {"role": "system"},
        "picture": {"content": [{"type": "image_url"}]},
        "empty": {"content": ""},
        "odd": {"content": {"a": 1}},
    }
    return message | changes[kind]


def librechat_message(kind, text):
    message = {"isCreatedByUser": True, "text": text, "createdAt": LATER}
    changes = {
        "said": {},
        "answered": {"isCreatedByUser": False, "sender": "GPT"},
        "error": {"error": True},
        "thoughts": {"text": "", "content": [{"type": "think", "think": "hm"}]},
        "empty": {"text": ""},
        "odd": {"text": [1]},
    }
    return message | changes[kind]


def as_chatgpt(messages, parents, leaf):
    nodes = {f"n{n}": {"parent": f"n{p}" if p >= 0 else None, "message": messages[n]} for n, p in enumerate(parents)}
    return [{"id": "c", "create_time": 1714550400.0, "mapping": nodes, "current_node": f"n{leaf}"}]


def as_claude(messages, parents, leaf):
    linked = [messages[n] | {"uuid": f"n{n}", "parent_message_uuid": f"n{p}"} for n, p in enumerate(parents)]
    return [{"uuid": "c", "created_at": LATER, "chat_messages": linked, "current_leaf_message_uuid": f"n{leaf}"}]


def as_openwebui(messages, parents, leaf):
    linked = {f"n{n}": messages[n] | {"parentId": f"n{p}"} for n, p in enumerate(parents)}
    return [{"id": "c", "created_at": 1714550400, "chat": {"history": {"messages": linked, "currentId": f"n{leaf}"}}}]


def as_librechat(messages, parents, leaf):
    linked = [messages[n] | {"messageId": f"n{n}", "parentMessageId": f"n{p}"} for n, p in enumerate(parents)]
    return {"conversationId": "c", "messages": linked, "branches": True}


TREES = {
    "chatgpt": (as_chatgpt, chatgpt_message, "[0].mapping.n{}.message"),
    "claude": (as_claude, claude_message, "[0].chat_messages[{}]"),
    "openwebui": (as_openwebui, openwebui_message, "[0].chat.history.messages.n{}"),
    "librechat": (as_librechat, librechat_message, "conversation.messages[{}]"),
}
KINDS = {
    "chatgpt": "said answered system tool hidden call thoughts analysis picture empty odd".split(),
    "claude": "said answered thoughts empty odd".split(),
    "openwebui": "said answered system picture empty odd".split(),
    "librechat": "said answered error thoughts empty odd".split(),
}


def path_to(parents, leaf):
    path = []
    while leaf >= 0:
        path.append(leaf)
        leaf = parents[leaf]
    return path[::-1]


def latest(parents):
    """The leaf that LibreChat shows: from the last message without a parent on, always the last child."""
    here = -1
    while here in parents:
        here = len(parents) - 1 - parents[::-1].index(here)
    return here


@pytest.mark.parametrize("name", TREES)
@examples
@given(data=st.data())
def test_each_message_of_a_tree_is_kept_if_it_was_shown_and_said_or_else_noted(tmp_path, name, data):
    assemble, make, where = TREES[name]
    kinds = data.draw(st.lists(st.sampled_from(KINDS[name]), min_size=1, max_size=10))
    parents = [data.draw(st.integers(-1, n - 1)) for n in range(len(kinds))]
    leaf = latest(parents) if name == "librechat" else data.draw(st.integers(0, len(kinds) - 1))
    messages = [make(kind, f"text {n}.") for n, kind in enumerate(kinds)]
    records = read_all(write_json(tmp_path / "export.json", assemble(messages, parents, leaf)))
    expected = [n for n in path_to(parents, leaf) if kinds[n] in ("said", "answered")]
    assert [turn.text for turn in turns(records)] == [f"text {n}." for n in expected]
    assert [turn.external_id for turn in turns(records)] == [f"n{n}" for n in expected]
    noted = [place for place, _ in skips(records)]
    for n in set(range(len(kinds))) - set(expected):
        place = where.format(n)
        assert any(p == place or p.startswith((f"{place}.", f"{place}[")) for p in noted), (place, noted)


WHATSAPP = {
    "said": "{stamp}Ana: text {n}.",
    "answered": "{stamp}Bo: text {n}.\nand more",
    "captioned": "{stamp}Bo: IMG-{n}.jpg (file attached)\ntext {n}.",
    "system": "{stamp}Ana left",
    "media": "{stamp}Ana: <Media omitted>",
    "iphone": "{stamp}Ana: \u200eimage omitted",
    "deleted": "{stamp}Bo: This message was deleted",
    "empty": "{stamp}Bo:",
}


@examples
@given(kinds=st.lists(st.sampled_from(list(WHATSAPP)), max_size=12), iphone=st.booleans())
def test_each_line_of_whatsapp_is_kept_or_noted(tmp_path, kinds, iphone):
    lines, places, expected = ["13/05/24, 09:00 - Ana: first"], {}, ["first"]
    for n, kind in enumerate(kinds):
        stamp = f"[13/05/24, 09:{n:02}:00] " if iphone else f"13/05/24, 09:{n:02} - "
        places[n] = f"line {len(lines) + 1}"
        lines += WHATSAPP[kind].format(stamp=stamp, n=n).split("\n")
        if kind in ("said", "answered", "captioned"):
            expected.append(f"text {n}." + ("\nand more" if kind == "answered" else ""))
    (tmp_path / "chat.txt").write_text("\n".join(lines), encoding="utf-8")
    records = read_all(tmp_path / "chat.txt")
    assert [turn.text for turn in turns(records)] == expected
    noted = {place for place, _ in skips(records)}
    assert noted >= {places[n] for n, kind in enumerate(kinds) if kind not in ("said", "answered")}


TELEGRAM = {
    "said": {},
    "pieces": {"from": "Bo", "from_id": "user22"},
    "service": {"type": "service", "action": "phone_call"},
    "media": {"media_type": "sticker", "text": ""},
    "poll": {"poll": {"question": "?"}, "text": ""},
    "empty": {"text": ""},
    "unsupported": {"type": "unsupported"},
}


@examples
@given(kinds=st.lists(st.lists(st.sampled_from(list(TELEGRAM)), min_size=1, max_size=8), min_size=1, max_size=3))
def test_each_message_of_telegram_is_kept_or_noted(tmp_path, kinds):
    chats, expected, places = [], [], []
    for c, of_chat in enumerate(kinds):
        messages = []
        for n, kind in enumerate(of_chat):
            text = ["text ", {"type": "bold", "text": f"{c}-{n}."}] if kind == "pieces" else f"text {c}-{n}."
            message = {"id": n, "type": "message", "date_unixtime": "1714550405", "from": "Ana", "from_id": "user11"}
            messages.append({**message, "text": text, **TELEGRAM[kind]})
            if kind in ("said", "pieces"):
                expected.append(f"text {c}-{n}.")
            else:
                places.append(f"chats.list[{c}].messages[{n}]")
        chats.append({"name": f"chat {c}", "type": "private_group", "id": c + 1, "messages": messages})
    account = {"personal_information": {"user_id": 11}, "chats": {"list": chats}}
    records = read_all(write_json(tmp_path / "result.json", account))
    assert [turn.text for turn in turns(records)] == expected
    assert [place for place, _ in skips(records)] == places


SILLYTAVERN = {"said": {"is_user": True}, "answered": {}, "system": {"is_system": True}, "empty": {"mes": ""}}


@examples
@given(kinds=st.lists(st.sampled_from(list(SILLYTAVERN)), max_size=10))
def test_each_line_of_sillytavern_is_kept_or_noted(tmp_path, kinds):
    path = tmp_path / "chat.jsonl"
    message = {"name": "Iris", "is_user": False, "send_date": LATER}
    lines = [message | {"mes": f"text {n}."} | SILLYTAVERN[kind] for n, kind in enumerate(kinds)]
    head = {"user_name": "Ana", "character_name": "Iris", "is_user": False, "mes": "first", "send_date": LATER}
    path.write_text("\n".join(json.dumps(line) for line in [head, *lines]))
    records = read_all(path)
    expected = [f"text {n}." for n, kind in enumerate(kinds) if kind in ("said", "answered")]
    assert [turn.text for turn in turns(records)] == ["first", *expected]
    left_out = [f"line {n + 2}" for n, kind in enumerate(kinds) if kind not in ("said", "answered")]
    assert [place.partition(",")[0] for place, _ in skips(records)] == left_out


@pytest.mark.parametrize("path", sorted(EXPORTS.iterdir()), ids=lambda path: path.name)
def test_importing_an_export_twice_adds_nothing(tmp_path, path):
    bank = Bank(tmp_path / "bank.db")
    first = ingest(bank, path)
    before = [(p.id, bank.counts(p.id)) for p in bank.personas()]
    again = ingest(bank, path)
    assert [(p.id, bank.counts(p.id)) for p in bank.personas()] == before
    for once, twice in zip(first.histories, again.histories, strict=True):
        assert once.stored.turns == once.found_turns == twice.stored.known_turns
        assert (twice.stored.sessions, twice.stored.turns, twice.stored.memories) == (0, 0, 0)
        assert once.skips == twice.skips
    assert [s for s in first.histories if not s.persona.name] == []

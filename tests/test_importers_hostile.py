"""Text that would be markup on a page, or an order to a model, is text after it was brought in."""

import json

import pytest
from jinja2 import UndefinedError

from memory.bank.bank import Bank
from memory.importers import IMPORTERS, history_file
from memory.ingest import ingest, summarize
from memory.progress import Task
from memory.tab.memory_card import render_card, render_sources
from memory.tab.parts import empty_state, error_box, hint, render
from support.export_files import EXPORTS, write_json

BAD = '<script>alert(1)</script><svg onload="alert(2)"><img src=x onerror=alert(3)>'


def chatgpt(tmp_path):
    (conversation, _) = json.loads((EXPORTS / "chatgpt.json").read_text())
    conversation["title"] = BAD
    conversation["mapping"]["n-answer-2"]["message"]["content"]["parts"] = [BAD]
    conversation["mapping"]["n-found"]["message"]["author"]["name"] = BAD
    return write_json(tmp_path / "conversations.json", [conversation])


def telegram(tmp_path):
    chat = json.loads((EXPORTS / "telegram.json").read_text()) | {"name": BAD}
    chat["messages"][1] |= {"from": BAD, "text": BAD}
    chat["messages"][0] |= {"action": BAD}
    return write_json(tmp_path / "result.json", chat)


def whatsapp(tmp_path):
    path = tmp_path / "chat.txt"
    path.write_text(f"13/05/24, 10:00 - <b onclick=alert(4)>: {BAD}\n13/05/24, 10:01 - Bo: {BAD}.jpg (file attached)\n")
    return path


def card(tmp_path):
    whole = json.loads((EXPORTS / "card.json").read_text())
    whole["data"] |= {"name": BAD, "description": BAD, "personality": BAD, "tags": [BAD], "first_mes": BAD}
    whole["data"]["character_book"]["entries"][0] |= {"content": BAD, "keys": [BAD]}
    return write_json(tmp_path / "card.json", whole)


@pytest.mark.parametrize("make", [chatgpt, telegram, whatsapp, card])
def test_markup_is_kept_as_text_and_escaped_wherever_it_is_shown(tmp_path, make):
    path = make(tmp_path)
    bank = Bank(tmp_path / "bank.db")
    shown = [render("import_preview.html", name=path.name, file=summarize(path))]
    report = ingest(bank, path)
    shown.append(render("import_report.html", name=path.name, report=report))
    persona = report.histories[0].persona
    sessions = bank.sessions(persona.id)
    said = [(s, bank.turns(persona.id, s.id)) for s in sessions]
    shown += [render("transcript.html", session=s, turns=turns, cited=(), quotes={}) for s, turns in said]
    found = bank.memories(persona.id)
    shown += [render_card(bank, m) + render_sources(bank, m) for m in found]
    kept = [t.text for s in sessions for t in bank.turns(persona.id, s.id)] + [m.text for m in found]
    assert BAD in kept
    assert "&lt;script&gt;" in "".join(shown)
    for page in shown:
        assert not any(tag in page for tag in ("<script", "<svg", "<img", "<b onclick"))


def test_what_will_be_left_out_is_told_before_anything_is_stored():
    path = EXPORTS / "chatgpt.json"
    page = render("import_preview.html", name=path.name, file=summarize(path))
    assert "8 items skipped, or worth checking" in page
    assert "<li>[0].mapping.n-found.message: said by a tool (web)</li>" in page


def test_a_report_does_not_quote_a_file_at_length(tmp_path):
    chat = json.loads((EXPORTS / "telegram.json").read_text())
    chat["messages"][0] |= {"action": "xx " * 100_000}
    held = summarize(write_json(tmp_path / "result.json", chat))
    longest = max(len(skip.reason) for skip in held.skips)
    assert history_file.MAX_SKIP_CHARACTERS - 3 <= longest <= history_file.MAX_SKIP_CHARACTERS


LONG = {
    "footnotes": "\ue200" * 100_000,
    "open footnote": "\ue200" + "a" * 100_000,
    "folded": '<details type="' * 10_000,
    "names": "{{char" * 20_000,
    "tags": "<" * 100_000,
    "digits": "1" * 100_000,
    "blank": " " * 100_000 + "x",
}


@pytest.mark.parametrize("kind", LONG)
@pytest.mark.parametrize("file", sorted(path.name for path in EXPORTS.iterdir()))
def test_a_text_of_a_hundred_thousand_characters_ends_in_every_format(tmp_path, file, kind):
    """Wherever it stands: as what is said, as a name, or as a date."""

    def swollen(value):
        if isinstance(value, dict):
            return {name: swollen(inner) for name, inner in value.items()}
        if isinstance(value, list):
            return [swollen(inner) for inner in value]
        is_prose_or_date = isinstance(value, str) and (" " in value or ":" in value)
        return LONG[kind] if is_prose_or_date else value

    content = (EXPORTS / file).read_text()
    if file.endswith(".json"):
        content = json.dumps(swollen(json.loads(content)))
    elif file.endswith(".jsonl"):
        content = "\n".join(json.dumps(swollen(json.loads(line))) for line in content.splitlines())
    else:
        content = "\n".join(f"{line}{LONG[kind]}" for line in content.splitlines())
    path = tmp_path / file
    path.write_text(content)
    for importer in IMPORTERS.values():
        if importer.sniff(content[:200_000].encode()):
            list(importer.read(path))


def test_a_template_that_lacks_a_value_fails_instead_of_leaving_a_gap():
    with pytest.raises(UndefinedError):
        render("hint.html")


def test_rendered_parts_are_escaped_once():
    assert hint("<b>") == '<p class="memoir-meta" role="status">&lt;b&gt;</p>'
    assert empty_state(BAD, BAD).count("&lt;script&gt;") == 2
    assert render("task_progress.html", title=BAD, task=Task()).count("&lt;script&gt;") == 2
    assert "<script>" not in error_box(BAD)

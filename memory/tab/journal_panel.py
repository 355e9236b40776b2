"""The part of the Memory tab that shows what was done to the bank."""

from __future__ import annotations

import gradio as gr

from memory.bank import journal
from memory.bank.bank import Bank
from memory.exporting import downloads
from memory.tab.events import PRIVATE, Update, show_errors
from memory.tab.pager import pager
from memory.tab.templates import hint

PAGE = 20


def journal_panel(bank: Bank) -> None:
    """Build the panel, which reads the journal when it is opened."""
    with gr.Accordion("Journal", open=False, elem_id="journal") as panel:
        gr.HTML(
            hint("What was written, recalled and forgotten, and at whose request; it holds no word of it."),
            padding=False,
        )
        table = gr.Dataframe(
            headers=list(journal.HEADINGS),
            datatype="str",
            type="array",
            interactive=False,
            wrap=True,
            max_height=480,
            show_label=False,
            buttons=[],
            elem_classes="memoir-table",
            elem_id="journal-table",
        )
        pages = pager("journal", "Newer", "Older")
        whole = gr.Button("All of it as CSV", size="sm", elem_id="journal-csv")
        file = gr.File(label="Ready to download", visible=False, interactive=False, elem_id="journal-file")

    @show_errors
    def show(page: int) -> Update:
        total = journal.count(bank)
        page = min(page, max(0, total - 1) // PAGE)
        lines = journal.entries(bank, PAGE, page * PAGE)
        said = f"{total:,}" if lines else "Nothing yet."
        return {table: [list(entry.cells) for entry in lines], **pages.at(page, PAGE, len(lines), total, said)}

    @show_errors
    def as_csv() -> Update:
        text = journal.as_csv(journal.entries(bank))
        path = downloads.create(
            bank.path, "journal", "csv", lambda path: path.write_text(text, encoding="utf-8", newline="")
        )
        return {file: gr.File(str(path), visible=True)}

    parts = [table, *pages.parts]
    panel.expand(lambda: 0, None, pages.shown, **PRIVATE).then(show, pages.shown, parts, **PRIVATE)
    pages.turn(show, [pages.shown], parts)
    whole.click(as_csv, None, [file], **PRIVATE)

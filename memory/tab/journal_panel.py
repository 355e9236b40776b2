"""The part of the Memory tab that shows what was done to the bank."""

from __future__ import annotations

import gradio as gr

from memory import downloads, journal, panels
from memory.bank import Bank
from memory.tab.handling import PRIVATE, Update, told

PAGE = 20


def journal_panel(bank: Bank) -> None:
    """Build the panel, which reads the journal when it is opened."""
    shown: gr.State = gr.State(0)
    with gr.Accordion("Journal", open=False, elem_id="journal") as panel:
        gr.HTML(
            panels.line("What was written, recalled and forgotten, and at whose request; it holds no word of it."),
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
        with gr.Row(elem_classes="memoir-pages"):
            back = gr.Button("Newer", size="sm", min_width=90, scale=0)
            where = gr.HTML(padding=False, elem_id="journal-where")
            further = gr.Button("Older", size="sm", min_width=90, scale=0)
        whole = gr.Button("All of it as CSV", size="sm", elem_id="journal-csv")
        file = gr.File(label="Ready to download", visible=False, interactive=False, elem_id="journal-file")

    @told
    def show(page: int) -> Update:
        total = journal.count(bank)
        page = min(max(page, 0), max(0, total - 1) // PAGE)
        lines = journal.entries(bank, PAGE, page * PAGE)
        start = page * PAGE
        return {
            table: [list(entry.cells) for entry in lines],
            where: panels.line(f"{start + 1:,}–{start + len(lines):,} of {total:,}" if lines else "Nothing yet."),
            shown: page,
            back: gr.Button(interactive=page > 0),
            further: gr.Button(interactive=start + len(lines) < total),
        }

    @told
    def as_csv() -> Update:
        text = journal.as_csv(journal.entries(bank))
        path = downloads.make(
            bank.path, "journal", "csv", lambda path: path.write_text(text, encoding="utf-8", newline="")
        )
        return {file: gr.File(str(path), visible=True)}

    parts = [table, where, shown, back, further]
    panel.expand(lambda: 0, None, shown, **PRIVATE).then(show, shown, parts, **PRIVATE)
    for button, step in ((back, -1), (further, 1)):
        button.click(lambda page, by=step: page + by, shown, shown, **PRIVATE).then(show, shown, parts, **PRIVATE)
    whole.click(as_csv, None, [file], **PRIVATE)

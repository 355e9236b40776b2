"""The part of the Memory tab that shows what was done to the bank."""

import gradio as gr

from memory.bank import journal
from memory.bank.bank import Bank
from memory.exporting import downloads
from memory.tab.events import PRIVATE, Update
from memory.tab.tables import Pager, build_table
from memory.tab.templates import hint

PAGE = 20
"""Entries of a page."""

ABOUT = "What was stored, recalled and forgotten, when, and by whom. The text itself is never logged."


class JournalPanel:
    """The panel's components; it reads the journal when it is opened."""

    def __init__(self, bank: Bank) -> None:
        self.bank = bank
        with gr.Accordion("Journal", open=False, elem_id="journal") as fold:
            gr.HTML(hint(ABOUT), padding=False)
            self.table = build_table("journal-table", "Journal", journal.HEADINGS, show_label=False, max_height=480)
            self.pages = Pager("journal", PAGE, "Newer", "Older")
            download = gr.Button("Download as CSV", size="sm", elem_id="journal-csv")
            self.file = gr.File(label="Ready to download", visible=False, interactive=False, elem_id="journal-file")
        page, outputs = self.pages.page, [self.table, *self.pages.outputs]
        fold.expand(lambda: 0, None, page, **PRIVATE).then(self.show, page, outputs, **PRIVATE)
        self.pages.connect(self.show, [page], outputs)
        download.click(self.export, None, [self.file], **PRIVATE)

    def show(self, page: int) -> Update:
        """Show a page of the journal, from 0."""
        total = journal.count(self.bank)
        page = self.pages.last(page, total)
        entries = journal.read(self.bank, PAGE, page * PAGE)
        text = f"{total:,}" if total else "No entries yet."
        return {self.table: [list(entry.cells) for entry in entries], **self.pages.show(page, total, text)}

    def export(self) -> Update:
        """Write the whole journal to a file."""
        text = journal.to_csv(journal.read(self.bank))
        path = downloads.create(
            self.bank.path, "journal", "csv", lambda path: path.write_text(text, encoding="utf-8", newline="")
        )
        return {self.file: gr.File(str(path), visible=True)}

"""Rating by people: a sheet to download for the selected run, and what the filled ones say."""

from collections.abc import Sequence
from pathlib import Path

import gradio as gr

from eval.rating import sheet
from eval.rating.sheet import Reply
from eval.rating.summary import summarise, to_markdown
from eval.runs.folder import Runs
from eval.tab.downloads import Download, connect_download
from memory.tab.events import PRIVATE

HOW = "\n".join(
    [
        "Each rater gets a copy of the sheet, fills its last columns in with a spreadsheet, and saves it as CSV. The "
        "sheet does not say whose reply a line is.",
        "",
        *(f"- {column}: {meaning}" for column, meaning in sheet.COLUMNS_TO_FILL.items()),
    ]
)


class RatingPanel:
    """A part of the list of runs; `selected` and `other` hold the names of the runs whose replies are rated."""

    def __init__(self, runs: Runs, selected: gr.State, other: gr.Dropdown) -> None:
        self.runs = runs
        with gr.Accordion("Rate the replies", open=False, elem_id="eval-rate"):
            gr.Markdown(HOW)
            with gr.Row(elem_classes="memoir-filters"):
                both = gr.Checkbox(label="With the run that is chosen to compare", scale=2, min_width=240)
                reference = gr.Checkbox(label="With the benchmark's own replies", scale=2, min_width=240)
                button = gr.Button("Download the sheet", size="sm", scale=1, min_width=180, elem_id="eval-rate-sheet")
            files = gr.File(
                label="Sheets that were filled in",
                file_count="multiple",
                file_types=[".csv"],
                height=120,
                elem_classes="memoir-drop",
                elem_id="eval-rate-files",
            )
            found = gr.Markdown(elem_id="eval-rate-found")
        chosen = [selected, other, both, reference]
        connect_download(button, self.export, chosen)
        gr.on([files.upload, files.delete], self.read, [files, *chosen], found, **PRIVATE)
        files.clear(lambda: "", None, found, **PRIVATE)

    def export(self, name: str, other: str | None, both: bool, reference: bool) -> Download:
        """Make an empty sheet."""
        lines = sheet.empty(self._replies(name, other, both, reference))
        return {"name": f"{name}-ratings.csv", "type": "text/csv", "text": sheet.to_csv(lines)}

    def read(self, files: Sequence[str] | None, name: str, other: str | None, both: bool, reference: bool) -> str:
        """Say what the raters found."""
        if not files:
            return ""
        replies = self._replies(name, other, both, reference)
        return to_markdown(summarise([sheet.read(Path(file), replies) for file in files], replies))

    def _replies(self, name: str, other: str | None, both: bool, reference: bool) -> list[Reply]:
        names = [name, other] if both and other else [name]
        return sheet.replies_of([self.runs.get(each) for each in names], reference=reference)

"""The settings of evaluation, added to those of the whole program."""

from pathlib import Path

from pydantic import Field

from graph.settings import Settings


class EvalSettings(Settings):
    """All settings of the program, read from the environment (`MEMOIR_...`) or a `.env` file."""

    data: Path | None = Field(None, description="folder with benchmark files, one folder for each benchmark")
    judge: str = Field("", description="chat model that judges answers in evaluation, named like MEMOIR_MODEL")

    @property
    def cache_path(self) -> Path:
        """The file of embeddings that runs share."""
        return self.home / "cache" / "embeddings.db"

    @property
    def judgements_path(self) -> Path:
        """The file of a judge's cached replies."""
        return self.home / "cache" / "judgements.db"

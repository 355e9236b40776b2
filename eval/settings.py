"""What the environment may say of evaluation, beside what it says of the rest."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from graph.settings import Settings


class EvalSettings(Settings):
    """Settings of the test evaluator."""

    data: Path | None = Field(None, description="folder with benchmark files, one folder a benchmark")
    judge: str = Field("", description="chat model that judges answers; empty: none does")

    @property
    def cache_path(self) -> Path:
        """Where embeddings are kept between runs."""
        return self.home / "cache" / "embeddings.db"

    @property
    def judgements_path(self) -> Path:
        """Where a judge's replies are kept."""
        return self.home / "cache" / "judgements.db"

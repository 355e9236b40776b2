"""Where the bank is and what embeds it, from the environment (`MEMOIR_...`) or a `.env` file."""

from __future__ import annotations

from pathlib import Path

import platformdirs
from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from memory.embedding.embedder import DEFAULT_MODEL


class BankSettings(BaseSettings):
    """What the environment may say of the bank; a value that does not fit is refused with the field's name."""

    model_config = SettingsConfigDict(env_prefix="MEMOIR_", env_file=".env", extra="ignore")

    home: Path = Field(
        default_factory=lambda: Path(platformdirs.user_data_dir("memoir")), description="folder that holds the bank"
    )
    embedding_model: str = Field(DEFAULT_MODEL, description="a sentence-transformers name or folder")

    @property
    def bank_path(self) -> Path:
        """Where the bank is."""
        return self.home / "bank.db"

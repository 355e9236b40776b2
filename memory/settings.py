"""The settings of the bank, from the environment (`MEMOIR_...`) or a `.env` file."""

from pathlib import Path

import platformdirs
from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from memory.embedding.embedder import DEFAULT_MODEL


class BankSettings(BaseSettings):
    """The bank's folder and its embedding model; an invalid value raises an error with the name of the field."""

    model_config = SettingsConfigDict(env_prefix="MEMOIR_", env_file=".env", extra="ignore")

    home: Path = Field(
        default_factory=lambda: Path(platformdirs.user_data_dir("memoir")), description="folder of the bank"
    )
    embedding_model: str = Field(
        DEFAULT_MODEL, description="all-MiniLM-L6-v2, multilingual-e5-small, or a sentence-transformers name or folder"
    )

    @property
    def bank_path(self) -> Path:
        """The bank's file."""
        return self.home / "bank.db"

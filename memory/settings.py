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
        default_factory=lambda: DEFAULT_MODEL,
        description="multilingual-e5-small (the default where it has wheels), all-MiniLM-L6-v2, or a name or folder of "
        "sentence-transformers",
    )

    @property
    def bank_path(self) -> Path:
        """The bank's file."""
        return self.home / "bank.db"

"""Fixtures that several test files share."""

import os
from pathlib import Path

import pytest

from memory.embedder import Embedder

SHARED_DATA = Path(__file__).resolve().parents[1] / ".." / "shared" / "data"


@pytest.fixture(scope="session")
def benchmark_data() -> Path:
    """The folder of the benchmarks' own files; tests that need them are skipped where it is absent."""
    folder = Path(os.environ.get("MEMOIR_DATA") or SHARED_DATA).resolve()
    if not folder.is_dir():
        pytest.skip(f"no benchmark files in {folder}; set MEMOIR_DATA to their folder")
    return folder


@pytest.fixture(scope="session")
def embedder() -> Embedder:
    """The real small model, loaded once for all tests."""
    return Embedder()

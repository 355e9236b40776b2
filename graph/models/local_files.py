"""The files of chat models that lie on this computer, and which one it has the memory for."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import psutil  # type: ignore[import-untyped]

FOLDERS = ("models", "Downloads", ".lmstudio/models", ".cache/lm-studio/models", ".cache/huggingface/hub")
"""Where such files usually lie, in the user's folder."""
DEPTH, MOST = 4, 30
"""So many folders deep is looked, and so many files are offered."""

FITTING = ((22, "Qwen3-8B", 5.0), (14, "Qwen2.5-7B-Instruct", 4.6), (7, "Qwen2.5-3B-Instruct", 1.9))
"""GiB of memory a computer needs, the largest model then, and GB to download; README.md estimates them."""


def find_files(home: Path | None = None) -> list[str]:
    """The GGUF files in the usual folders of the user."""
    folders = [(home or Path.home()) / folder for folder in FOLDERS]
    patterns = ("*/" * depth + "*.gguf" for depth in range(DEPTH + 1))
    found = (path for pattern in patterns for folder in folders for path in sorted(folder.glob(pattern)))
    return list(map(str, islice((path for path in found if path.is_file()), MOST)))


def say_what_fits(total: int | None = None) -> str:
    """Say which model to download for a computer with so many bytes of memory, or for this one."""
    size = (psutil.virtual_memory().total if total is None else total) / 2**30
    for least, model, download in FITTING:
        if size >= least:
            return f"With {size:.0f} GiB of memory, this computer can run {model} (Q4_K_M, a download of {download} GB)"
    return f"With {size:.0f} GiB of memory, this computer is too small for a model that is good to talk with"

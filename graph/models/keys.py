"""Keys of model servers: from the environment, or from a file that only the user can read; shown and kept nowhere.

The file holds a line a key, `OPENAI_API_KEY=...`; it is the one that MEMOIR_KEYS names, or `keys` in the user's
configuration folder.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

import platformdirs

from memory.errors import MemoirError

VARIABLES = ("OPENAI_API_KEY", "MEMOIR_API_KEY")
"""OpenAI's own, and that of any other server."""

NO_KEY = "none"
"""What a server that wants no key is sent; without it the library would send it OpenAI's."""


class KeysExposed(MemoirError):
    """The file of keys can be read by others, or is no file that can be read."""


def keys_path() -> Path:
    """Where the file of keys is looked for."""
    return Path(os.environ.get("MEMOIR_KEYS") or Path(platformdirs.user_config_dir("memoir")) / "keys")


def key(variable: str) -> str:
    """The key of that name, from the environment before the file; empty where neither has it.

    Raises:
        KeysExposed: the file can be read by others, so that it must not be used.
    """
    return os.environ.get(variable, "").strip() or _filed().get(variable, "")


def without_keys(text: str) -> str:
    """The text with every key blanked out."""
    try:
        filed = _filed()
    except KeysExposed:
        filed = {}
    for secret in [os.environ.get(name, "").strip() for name in VARIABLES] + list(filed.values()):
        text = text.replace(secret, "[key]") if len(secret) > len(NO_KEY) else text
    return text


def _filed() -> dict[str, str]:
    path = keys_path()
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
        if os.name == "posix" and mode & 0o077:
            raise KeysExposed(
                f"{path} holds keys and others can read it (mode {mode:03o}). It was not used; run: chmod 600 {path}"
            )
        lines = path.read_text("utf-8").splitlines()
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as fault:
        why = fault.strerror if isinstance(fault, OSError) else "it is no text"
        raise KeysExposed(f"{path}, the file of keys, cannot be read ({why})") from None
    pairs = (line.partition("=") for line in lines if not line.lstrip().startswith("#"))
    return {name.strip(): value.strip().strip("\"'") for name, _, value in pairs if name.strip() in VARIABLES}

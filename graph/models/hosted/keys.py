"""Read the keys of model servers: as typed, from the environment, or from a file that only the user can read.

The key file has lines such as `OPENAI_API_KEY=...`. Its path is MEMOIR_KEYS, or `keys` in the user's configuration
folder. Keys are never shown or stored; one that is typed is kept by this process for its server alone.
"""

import os
import stat
from pathlib import Path

import platformdirs

from memory.errors import MemoirError

VARIABLES = ("OPENAI_API_KEY", "MEMOIR_API_KEY")
"""The key of OpenAI, and that of any other server."""

NO_KEY = "none"
"""Sent to a server that needs no key; without it the library would send OpenAI's."""


_typed: dict[str, str] = {}
"""The keys that were typed, by the address of their server; OpenAI's has none."""


def keep_key(address: str, key: str) -> None:
    """Keep a key until the process ends."""
    _typed[address] = key.strip()


def read_key(variable: str, address: str = "") -> str:
    """The key that was typed for an address, or that of the name, if any, from the environment or the key file; or "".

    Raises:
        MemoirError: the file can be read by others, so that it must not be used.
    """
    return _typed.get(address) or os.environ.get(variable, "").strip() or _read_file().get(variable, "")


def redact_keys(text: str) -> str:
    """The text with every key replaced by [key]."""
    try:
        in_file = _read_file()
    except MemoirError:
        in_file = {}
    for secret in [os.environ.get(name, "").strip() for name in VARIABLES] + [*in_file.values(), *_typed.values()]:
        text = text.replace(secret, "[key]") if len(secret) > len(NO_KEY) else text
    return text


def _read_file() -> dict[str, str]:
    path = Path(os.environ.get("MEMOIR_KEYS") or Path(platformdirs.user_config_dir("memoir")) / "keys")
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
        if os.name == "posix" and mode & 0o077:
            raise MemoirError(
                f"Others can read the key file {path} (mode {mode:03o}), so it was not used. Run: chmod 600 {path}"
            )
        lines = path.read_text("utf-8").splitlines()
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as fault:
        why = fault.strerror if isinstance(fault, OSError) else "it is not a text file"
        raise MemoirError(f"The key file {path} cannot be read: {why}") from None
    pairs = (line.partition("=") for line in lines if not line.lstrip().startswith("#"))
    return {name.strip(): value.strip().strip("\"'") for name, _, value in pairs if name.strip() in VARIABLES}

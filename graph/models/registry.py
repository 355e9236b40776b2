"""Parse the name of a chat model, and get the model.

The name says everything, so that a run can be recorded and repeated:

    none                                      no model: the extractive reader and the learned classifier do all
    openai:gpt-4o-mini                        OpenAI's own service; key from OPENAI_API_KEY
    http://127.0.0.1:8000/v1#qwen2.5-7b       address, then the model there; key from MEMOIR_API_KEY, if it wants one
    gguf:~/qwen2.5-3b-instruct-q4_k_m.gguf    a GGUF file, run by this process on the CPU
    hf:Qwen/Qwen2.5-7B-Instruct               a repository of Hugging Face, or a folder, run by this process

Keys come from the environment or the key file (`hosted.keys`) and never go into a name, an error or a reply.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast
from urllib.parse import urlsplit

from graph.models.faults import UnknownModel
from graph.models.hosted.keys import redact_keys

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

FORMS = (
    "none, openai:MODEL (as openai:gpt-4o-mini), gguf:FILE (as gguf:~/qwen2.5-3b-instruct-q4_k_m.gguf), "
    "hf:REPO_OR_FOLDER (as hf:Qwen/Qwen2.5-7B-Instruct) or ADDRESS#MODEL (as http://127.0.0.1:8000/v1#qwen2.5-7b)"
)
NONE = "none"

Quantization = Literal["auto", "nf4", "int8", "bf16", "fp32"]
"""4-bit NormalFloat (Dettmers et al. 2023), 8-bit (Dettmers et al. 2022), 16 or 32 bits; "auto" chooses by machine."""

Kind = Literal["none", "openai", "server", "hf", "gguf"]


@dataclass(frozen=True, slots=True)
class ModelName:
    """A parsed name: `model` is the name at its server or hub, or a file, `address` that of the server."""

    kind: Kind
    model: str = ""
    address: str = ""

    @property
    def place(self) -> str:
        """Where it runs, as the screen names it: "file" is this process."""
        return "file" if self.kind in ("hf", "gguf") else self.kind


def is_named(name: str) -> bool:
    """Whether a name is other than "none"."""
    return name.strip() not in ("", NONE)


def is_local(name: str) -> bool:
    """Whether the model of that name runs in this process."""
    return name.startswith(("hf:", "gguf:"))


def parse_name(name: str) -> ModelName:
    """Parse a name.

    Raises:
        UnknownModel: it has none of the forms, or contains a key.
    """
    if name.strip() == NONE:
        return ModelName("none")
    kind, _, rest = name.partition(":")
    if kind in ("openai", "hf", "gguf") and rest.strip():
        return ModelName(cast("Kind", kind), rest.strip())
    try:
        parts = urlsplit(name)
        is_usable = parts.scheme in ("http", "https") and parts.hostname and parts.fragment.strip() and parts.port != 0
    except ValueError:  # a port that is not a number, an unclosed bracket
        is_usable = False
    if not is_usable:
        raise UnknownModel(f"{redact_keys(name)!r} is not the name of a chat model; write {FORMS}")
    if parts.username is not None or parts.query:
        raise UnknownModel(
            f"the address of {parts.hostname} contains a user name, a password or a query, and names are recorded with "
            "every run; put the key into MEMOIR_API_KEY and give the address alone"
        )
    return ModelName("server", parts.fragment.strip(), name.partition("#")[0].rstrip("/"))


def chat_model(name: str, *, quantization: Quantization = "auto") -> "BaseChatModel":
    """The chat model of that name; it is not contacted yet, and a local one is not loaded yet.

    Raises:
        UnknownModel: the name has none of the forms, contains a key, or needs a key that is not set.
    """
    parsed = parse_name(name)
    if parsed.kind == "none":
        raise UnknownModel(f"“none” is not a chat model; write {FORMS}")
    if parsed.kind not in ("gguf", "hf"):
        from graph.models.hosted.model import hosted_model

        return hosted_model(parsed.model, parsed.address)
    from graph.models.local_model import LocalModel

    if parsed.kind == "gguf":
        from graph.models.gguf.weights import weights_of_file

        return LocalModel(weights=weights_of_file(Path(parsed.model).expanduser().absolute()))
    from graph.models.hf import shared_weights

    return LocalModel(weights=shared_weights(parsed.model, resolve_quantization(quantization)))


def resolve_quantization(quantization: Quantization) -> Quantization:
    """What "auto" means on this machine: nf4 where a GPU is found, bf16 where there is none."""
    if quantization != "auto":
        return quantization
    import torch

    # The kernels for 4 bits are written for GPUs; on a CPU they cost time, and loading takes more memory than bf16.
    return "nf4" if torch.cuda.is_available() else "bf16"


def chat_model_or_none(name: str, quantization: Quantization = "auto") -> "BaseChatModel | None":
    """The chat model of that name; None for "none"."""
    return chat_model(name, quantization=quantization) if is_named(name) else None

"""Load a GGUF file once a process, and keep the model that OpenVINO makes of it for the next start."""

import hashlib
import re
import shutil
import tempfile
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from typing_extensions import override

from graph.models.faults import ModelFailed, UnknownModel
from graph.models.gguf.grammar import grammar
from graph.models.gguf.header import USE_ANOTHER, read_header
from graph.models.local_model import Generation, LocalWeights, MemoryNeed
from memory.settings import BankSettings

COPIES = 1.25
"""OpenVINO puts the weights in the order that its kernels read (measured: 0.8 GiB for 0.6 GiB in Q4_K); the converted
file itself is mapped, and its pages can be dropped."""

COPIES_AT_FIRST = 1.9
"""While a file is converted (measured: 1.2 GiB)."""

RUNTIME_BYTES = 300 * 2**20
"""What OpenVINO takes besides weights and cache, measured with SmolLM2."""

CONVERTED = "openvino_model.xml"

CHUNK = 256
"""Tokens of a prompt that are read at once; OpenVINO cannot be stopped within them."""


class GgufWeights(LocalWeights):
    """The weights of one file; the model is an `openvino_genai.LLMPipeline`, which has its tokenizer, too."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.last_prompt: list[int] = []
        """Its key-value cache is kept, so that a prompt with the same beginning is read from there on."""

    @property
    @override
    def context(self) -> int:
        return read_header(self.path).context

    @property
    @override
    def precision(self) -> str:
        return read_header(self.path).precision

    @override
    def memory_need(self) -> MemoryNeed:
        """The memory that the model takes; more where the file was not converted yet."""
        header = read_header(self.path)
        weights = int(COPIES * header.weight_bytes) + RUNTIME_BYTES
        is_converted = (self.converted_folder() / CONVERTED).exists()
        loading = weights if is_converted else int(COPIES_AT_FIRST * header.weight_bytes) + RUNTIME_BYTES
        return MemoryNeed(header.parameters, weights, header.cache_bytes, loading)

    @override
    def _load(self) -> Any:
        need, free = self.memory_need().total, self.free_bytes
        if need > free:
            raise UnknownModel(
                f"gguf:{self.path} needs {need / 2**30:.1f} GiB of memory, and {free / 2**30:.1f} GiB are free. Close "
                "other programs, unload other models, or use a smaller file"
            )
        self.last_prompt = []
        try:
            return self._pipeline()
        except (RuntimeError, MemoryError) as fault:
            why = (str(fault).strip() or type(fault).__name__).splitlines()[-1][:300]
            raise UnknownModel(f"OpenVINO cannot load gguf:{self.path} ({why}). {USE_ANOTHER}") from fault

    def _pipeline(self) -> Any:  # noqa: ANN401
        from openvino_genai import LLMPipeline

        folder = self.converted_folder()
        if (folder / CONVERTED).exists():
            try:
                return LLMPipeline(folder, "CPU")
            except RuntimeError:  # the converted model is damaged; it is made anew
                shutil.rmtree(folder, ignore_errors=True)
        # The pipeline that converts holds the weights twice; one from the converted file maps them.
        return LLMPipeline(folder if self._convert(folder) else self.path, "CPU")

    def _convert(self, folder: Path) -> bool:
        """Save the converted model; False where there is no room for it, or no link to the file can be made."""
        from openvino_genai import LLMPipeline

        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            if shutil.disk_usage(folder.parent).free < 1.5 * self.path.stat().st_size:
                return False
            with tempfile.TemporaryDirectory(prefix=f"{folder.name}.", dir=folder.parent) as part:
                file = Path(part, "new", "model.gguf")
                file.parent.mkdir(mode=0o700)
                file.symlink_to(self.path)
                LLMPipeline(file, "CPU", enable_save_ov_model=True)  # OpenVINO saves beside the file that it reads
                file.unlink()
                for older in folder.parent.glob(f"{folder.name.rpartition('-')[0]}-*"):
                    if not older.name.startswith(folder.name):  # nor what another process is converting
                        shutil.rmtree(older, ignore_errors=True)
                with suppress(OSError):  # another process was faster
                    file.parent.rename(folder)
        except OSError:
            return False
        return True

    def converted_folder(self) -> Path:
        """The folder of the converted model: of this file at this size and date, by this version of OpenVINO."""
        stat = self.path.stat()
        texts = str(self.path), f"{stat.st_size} {stat.st_mtime_ns} {version('openvino-genai')}"
        path, state = (hashlib.sha256(text.encode()).hexdigest()[:8] for text in texts)
        return BankSettings().home / "cache" / "gguf" / f"{self.path.stem}-{path}-{state}"

    @override
    def _encode(self, chat: list[dict[str, str]]) -> list[int]:
        tokenizer = self.model().get_tokenizer()
        chat = [{**message, "content": self._without_marks(message["content"])} for message in chat]
        try:
            prompt = tokenizer.apply_chat_template(chat, True, extra_context={"enable_thinking": False})
        except RuntimeError as fault:
            raise ModelFailed(f"The chat template of {self.path} refused the messages: {str(fault)[:200]}") from fault
        ids: list[int] = tokenizer.encode(prompt, add_special_tokens=False).input_ids.data[0].tolist()
        return ids

    def _without_marks(self, text: str) -> str:
        """The text with a space in each mark of the template, such as <|im_end|>: no message can end its turn."""
        marks = read_header(self.path).control_tokens
        if not any(mark in text for mark in marks):
            return text
        return re.sub("|".join(map(re.escape, marks)), lambda mark: f"{mark[0][0]} {mark[0][1:]}", text)

    @override
    def write(self, reply: Generation) -> tuple[int, bool] | None:
        from openvino_genai import GenerationFinishReason, StreamingStatus

        def hear(piece: str) -> StreamingStatus:
            if reply.stopped.is_set():
                return StreamingStatus.CANCEL
            reply.deliver(piece)
            return StreamingStatus.RUNNING

        pipeline = self.model()
        config = _config(pipeline, reply)
        if not self._read_prompt(pipeline, reply):
            return None
        written = pipeline.generate(_inputs(reply.prompt), config, hear)
        return len(written.tokens[0]), written.finish_reasons[0] != GenerationFinishReason.LENGTH

    def _read_prompt(self, pipeline: Any, reply: Generation) -> bool:  # noqa: ANN401
        """Read the prompt chunk by chunk into the key-value cache, which the generation then starts from.

        What the last prompt began with, too, is there already. False if it was stopped.
        """
        ids, last, self.last_prompt = reply.prompt, self.last_prompt, reply.prompt
        known = next((n for n, (a, b) in enumerate(zip(ids, last, strict=False)) if a != b), min(len(ids), len(last)))
        config = pipeline.get_generation_config()
        config.max_new_tokens = 1
        for end in range(known + CHUNK, len(ids), CHUNK):
            pipeline.generate(_inputs(ids[:end]), config)
            if reply.stopped.is_set():
                self.last_prompt = ids[:end]
                return False
        return True


weights_of_file = cache(GgufWeights)
"""The one `GgufWeights` of a file in this process; nothing is loaded yet."""


def _config(pipeline: Any, reply: Generation) -> Any:  # noqa: ANN401
    from openvino_genai import StructuredOutputConfig

    config = pipeline.get_generation_config()
    config.max_new_tokens = reply.max_tokens
    config.do_sample = False
    if reply.schema is not None:
        config.structured_output_config = StructuredOutputConfig(grammar=grammar(reply.schema))
    return config


def _inputs(ids: list[int]) -> Any:  # noqa: ANN401
    import numpy as np
    from openvino import Tensor

    return Tensor(np.array([ids], np.int64))

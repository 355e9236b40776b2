"""Imports go one way, memory <- graph <- eval <- app, and importing loads neither weights nor a web server."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LAYERS = ("memory", "graph", "eval", "app")
SCREENS = ("tab", "server")
SOURCES = [path for layer in LAYERS[:3] for path in sorted((ROOT / layer).rglob("*.py"))] + [ROOT / "app.py"]


def imported(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
        yield from (
            name.split(".")[0] for name in [*names, *([node.module] if isinstance(node, ast.ImportFrom) else [])]
        )


def is_screen(path):
    return path.name == "app.py" or path.parent.name in SCREENS


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_layer_imports_only_those_below_it(path):
    layer = LAYERS.index(path.relative_to(ROOT).parts[0].removesuffix(".py"))
    assert not set(imported(path)) & set(LAYERS[layer + 1 :])
    assert is_screen(path) or "gradio" not in imported(path)


def test_importing_loads_no_weights_and_no_web_server():
    modules = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for path in SOURCES
        if not is_screen(path) and path.name not in ("__init__.py", "__main__.py")
    ]
    heavy = "torch transformers sentence_transformers gradio".split()
    code = (
        f"import sys\n{chr(10).join(f'import {m}' for m in modules)}\nprint([m for m in {heavy} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

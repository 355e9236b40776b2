"""Hold the architecture: imports go one way, memory <- graph <- eval <- app, in no circle, and importing is light."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import networkx as nx
import pytest

ROOT = Path(__file__).parents[1]
LAYERS = ("memory", "graph", "eval", "app")
PATHS = [path for layer in LAYERS[:3] for path in sorted((ROOT / layer).rglob("*.py"))] + [ROOT / "app.py"]

MAX_ENTRIES = 14
"""Modules and subpackages directly in one package."""

LARGER_PACKAGES = {"memory": 16}
"""Packages that may exceed `MAX_ENTRIES`, with their limit. Lower these numbers; never raise or add one."""


MODULES_WITH_SQL = ("memory.bank", "memory.search.engine")
"""The bank's rows, and the index segments kept beside them."""

OWN_DATABASES = {"eval.judging.judge", "eval.play.models", "eval.speed.references"}
"""Modules with SQL of a database of their own, which is no bank."""

POSIX_ONLY = {"fcntl", "grp", "pty", "pwd", "resource", "syslog", "termios", "tty"}
"""Modules of the standard library that Windows lacks."""

SQL = re.compile(r"\s*(SELECT|INSERT|UPDATE|DELETE)\s")


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in PATHS}


def imports(path: Path) -> set[str]:
    """The modules that a file imports anywhere, in functions and under TYPE_CHECKING too."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide the layer; name the whole module"
            members = {f"{node.module}.{alias.name}" for alias in node.names}
            names |= members & MODULES.keys() or {node.module}
    return names


IMPORTS = {module: imports(path) for module, path in MODULES.items()}


def is_in(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


def serves_the_web(module: str) -> bool:
    """Whether a module may import Gradio: app.py, the `tab` packages and the server."""
    return module == "app" or "tab" in module.split(".") or is_in(module, "graph.server")


def entries(package: Path) -> list[str]:
    modules = [path.stem for path in package.glob("*.py") if not path.stem.startswith("__")]
    return modules + [path.parent.name for path in package.glob("*/__init__.py")]


def test_no_modules_import_each_other_in_a_circle():
    graph = nx.DiGraph((module, name) for module in MODULES for name in IMPORTS[module] if name in MODULES)
    graph.remove_edges_from([(module, module) for module in MODULES])
    assert [sorted(circle) for circle in nx.strongly_connected_components(graph) if len(circle) > 1] == []


def test_no_packages_of_graph_import_each_other_in_a_circle():
    def package(module: str) -> str:
        return ".".join(module.split(".")[:2])

    inside = {m: path for m, path in MODULES.items() if (ROOT / package(m).replace(".", "/")).is_dir()}
    edges = {(package(m), package(name)) for m in inside for name in IMPORTS[m] if name in inside}
    graph = nx.DiGraph((own, other) for own, other in edges if own != other and own.startswith("graph."))
    assert [sorted(circle) for circle in nx.strongly_connected_components(graph) if len(circle) > 1] == []


@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_imports_only_those_below_it(layer):
    above = LAYERS[LAYERS.index(layer) + 1 :]
    own = [module for module in MODULES if is_in(module, layer)]
    assert [(m, name) for m in own for name in IMPORTS[m] if name.split(".")[0] in above] == []


def test_only_the_page_and_the_server_import_gradio():
    others = [module for module in MODULES if not serves_the_web(module)]
    assert [m for m in others for name in IMPORTS[m] if is_in(name, "gradio")] == []


def test_every_module_can_be_imported_on_windows():
    """What stands under `if sys.platform != "win32":` may import what Windows lacks."""
    names = [
        (m, name)
        for m, path in MODULES.items()
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for name in [getattr(node, "module", None), *(alias.name for alias in node.names)]
    ]
    assert [(m, name) for m, name in names if name in POSIX_ONLY] == []


def test_only_search_imports_its_engine():
    others = [m for m in MODULES if not is_in(m, "memory.search")]
    assert [(m, name) for m in others for name in IMPORTS[m] if is_in(name, "memory.search.engine")] == []


def sql_statements(path: Path) -> list[str]:
    """The strings of a file, or first parts of them, that begin as a statement on rows does."""
    strings = [
        node.value for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Constant)
    ]
    return [string for string in strings if isinstance(string, str) and SQL.match(string)]


def test_sql_stands_only_in_the_bank_and_the_engine_of_search():
    others = {m: path for m, path in MODULES.items() if not any(is_in(m, package) for package in MODULES_WITH_SQL)}
    assert {m for m, path in others.items() if sql_statements(path)} == OWN_DATABASES


@pytest.mark.parametrize("package", sorted({path.parent for path in PATHS} - {ROOT}), ids=lambda p: p.name)
def test_a_package_stays_small_enough_to_read_its_listing(package):
    inside = entries(package)
    limit = LARGER_PACKAGES.get(str(package.relative_to(ROOT)), MAX_ENTRIES)
    assert len(inside) <= limit, sorted(inside)


def test_importing_loads_no_weights_and_no_web_server():
    modules = [module for module in MODULES if not serves_the_web(module) and "training" not in module]
    heavy = ["torch", "transformers", "sentence_transformers", "openvino", "openvino_genai", "gradio"]
    code = f"import sys, {', '.join(modules)}\nprint([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=os.environ | {"PYTHONPATH": "."}, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr

"""The picture of the architecture: which folder may import which.  Imports point one way."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import tailrace

ROOT = Path(tailrace.__file__).parent

# Each folder with the folders it may see, beside itself.  `testing.crash` may be seen by all: crash points are lines
# of the program.
BASE = {"errors", "secret", "types", "verifier"}
SEES: dict[str, set[str]] = {
    "errors": set(),
    "secret": set(),
    "verifier": set(),
    "java": {"errors"},
    "jars": {"errors", "java"},
    "jvm": {"errors"},
    "guest_jars": {"errors", "jars"},
    "shipping": set(),
    "spark": {"errors", "guest_jars", "jars", "java", "jvm", "shipping"},
    "types": {"errors"},
    "sql": BASE,
    "plan": BASE,
    "ivm": BASE | {"plan", "state", "spark", "jvm"},
    "state": BASE | {"ivm"},
    "kafka": BASE,
    "formats": BASE,
    "sources": BASE | {"ivm", "kafka", "formats"},
    "sinks": BASE | {"ivm", "kafka", "formats"},
    "catalog": BASE | {"plan"},
    "ticks": BASE | {"plan", "ivm", "state", "sources", "sinks", "catalog"},
    "statements": BASE | {"sql", "engine", "catalog"},
    "server": BASE | {"statements"},
}
# Composition: these may see everything.
ABOVE = {"engine", "cli", "demo", "testing", "console", "reference", "class_archive", "python_daemon"}
ABOVE |= {"__main__", "__init__"}


def imports(path: Path) -> set[str]:
    """Folders of ours that a module imports when it runs; imports for the type checker only do not count."""
    tree = ast.parse(path.read_text())
    hidden = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and "TYPE_CHECKING" in ast.dump(block.test)
        for node in ast.walk(block)
    }
    found = set()
    for node in ast.walk(tree):
        if id(node) in hidden:
            continue
        names = []
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            names = [node.module] if node.module != "tailrace" else [f"tailrace.{a.name}" for a in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        found |= {name for name in names if name.startswith("tailrace.")}
    return {name.split(".")[1] for name in found if name != "tailrace.testing.crash"}


MODULES = sorted(ROOT.rglob("*.py"))


@pytest.mark.parametrize("path", MODULES, ids=[str(path.relative_to(ROOT)) for path in MODULES])
def test_imports_point_one_way(path: Path) -> None:
    folder = path.relative_to(ROOT).parts[0].removesuffix(".py")
    if folder in ABOVE:
        return
    wrong = imports(path) - SEES[folder] - {folder}
    assert not wrong, f"{path.relative_to(ROOT)} imports {', '.join(sorted(wrong))}"

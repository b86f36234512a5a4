"""What is imported before privileges are dropped."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import whimbrel

PACKAGE = Path(whimbrel.__file__).parent


# privileges ---------------------------------------------------------------------------------------
def imports_in_functions(files: list[str]) -> dict[str, str]:
    """What the code in *files* imports inside functions: module -> file."""
    found: dict[str, str] = {}
    for file in files:
        for function in ast.walk(ast.parse(Path(file).read_text())):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                for node in ast.walk(function):
                    if isinstance(node, ast.Import):
                        found.update({alias.name: file for alias in node.names})
                    elif isinstance(node, ast.ImportFrom) and node.module:
                        found[node.module] = file
    return found


@pytest.mark.parametrize("name", ["whimbrel.modules.core", *(f"whimbrel.modules.{f.stem}" for f in sorted((PACKAGE / "modules").glob("mod_*")))])
def test_everything_is_imported_before_privileges_are_dropped(name: str) -> None:
    """A worker that runs as another user may not be able to read the package, or Python itself, any more."""
    code = (
        f"import sys, {name}\n"
        "from whimbrel.server import master, privileges\n"
        "privileges.import_everything()\n"
        "print(*sys.modules)\n"
        "print(*(m.__file__ for n, m in sys.modules.items() if n.startswith('whimbrel.') and m.__file__))")
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE.parent)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    loaded, files = (line.split() for line in done.stdout.splitlines())
    missing = {name: file for name, file in imports_in_functions(files).items() if name not in loaded}
    assert not missing

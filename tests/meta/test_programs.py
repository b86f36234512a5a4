"""Every place that starts a program asks for permission, and every write of a command goes through one
function.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from tests.meta.tree import PACKAGE, Source, functions, sources, walk

GATES = {"require_programs", "may_start_programs", "permitted"}
STARTS = {
    "subprocess": {"Popen", "run", "call", "check_call", "check_output", "getoutput", "getstatusoutput"},
    "os": {
        "system",
        "popen",
        "posix_spawn",
        "posix_spawnp",
        *(f"exec{end}" for end in ("l", "le", "lp", "lpe", "v", "ve", "vp", "vpe")),
        *(f"spawn{end}" for end in ("l", "le", "lp", "lpe", "v", "ve", "vp", "vpe")),
    },
    "pty": {"spawn", "fork"},
    "asyncio": {"create_subprocess_exec", "create_subprocess_shell"},
}
ANYWHERE = {
    "subprocess_exec",
    "subprocess_shell",
    "create_subprocess_exec",
    "create_subprocess_shell",
    "find_library",
}
WRITES = {
    "os": {"replace", "rename", "link", "symlink", "truncate"},
    "shutil": {"copy", "copy2", "copyfile", "move", "copymode"},
    "tempfile": {"mkstemp"},
}
METHODS = {"write_text", "write_bytes", "symlink_to"}
WRITERS = {
    "base/file_writing.py": "the one writer",
    "server/master/pidfile.py": "the server's own file, with O_EXCL and O_NOFOLLOW, renamed",
    "utilities/rotation.py": "rotatelogs appends to the logs that its command line names",
    "cli/run_directories.py": "the directories of a server that is about to start",
}
"""Files outside of modules/ that name a primitive of writing, with the reason."""


def starts(tree: ast.AST) -> Iterator[tuple[ast.Call, str]]:
    """Yield the calls that start a program, with their names."""
    imported = {
        alias.asname or alias.name: (node.module, alias.name)
        for node in walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module in STARTS
        for alias in node.names
    }
    for node in walk(tree):
        if not isinstance(node, ast.Call):
            continue
        called = node.func
        if isinstance(called, ast.Attribute):
            owner = called.value.id if isinstance(called.value, ast.Name) else ""
            if called.attr in STARTS.get(owner, ()) or called.attr in ANYWHERE:
                yield node, f"{owner}.{called.attr}"
        elif isinstance(called, ast.Name):
            module, name = imported.get(called.id, ("", called.id))
            if (module and name in STARTS[module]) or called.id in ANYWHERE:
                yield node, called.id


def ungated(tree: ast.Module) -> list[str]:
    """Return the functions of *tree* that start a program without a gate in the same function."""
    found = []
    for call, name in starts(tree):
        around = [f for f in functions(tree) if f.lineno <= call.lineno <= (f.end_lineno or 0)]
        gated = any(
            isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in GATES
            for function in around
            for node in ast.walk(function)
        )
        if not gated:
            found.append(f"{name} in line {call.lineno}")
    return found


def suspects(words: frozenset[str]) -> Iterator[Source]:
    """Yield the files that contain one of *words*."""
    pattern = re.compile("|".join(sorted(words)))
    return (source for source in sources("src") if pattern.search(source.text))


STARTING = frozenset(
    ("subprocess", "system", "popen", "posix_spawn", r"\bexec[lv]", r"\bspawn", r"\bpty\b", *ANYWHERE)
)


def test_every_start_of_a_program_is_gated() -> None:
    found = {source.name: lines for source in suspects(STARTING) if (lines := ungated(source.tree))}
    assert not found


def test_the_gates_are_in_use() -> None:
    """The search finds the places that are known to start programs."""
    found = {source.path.name for source in suspects(STARTING) if list(starts(source.tree))}
    assert {
        "keeper.py",
        "program.py",
        "piped_logs.py",
        "program_map.py",
        "service_settings.py",
        "pass_phrases.py",
    } <= found


@pytest.mark.parametrize(
    "line",
    [
        "subprocess.run([x])",
        "os.system(x)",
        "os.execv(x, [])",
        "os.posix_spawn(x, [], {})",
        "pty.spawn(x)",
        "asyncio.create_subprocess_exec(x)",
        "loop.subprocess_shell(x)",
        "ctypes.util.find_library(x)",
    ],
)
def test_an_ungated_start_is_found(line: str) -> None:
    assert ungated(ast.parse(f"def f(x):\n    {line}\n"))
    assert not ungated(ast.parse(f"def f(x):\n    require_programs()\n    {line}\n"))


def test_a_name_that_was_imported_is_found() -> None:
    assert ungated(ast.parse("from subprocess import Popen as P\ndef f(x):\n    P(x)\n"))


def test_commands_write_through_one_function() -> None:
    """Modules of the server write the files of the server; nothing else writes by itself."""
    found = set()
    words = {name for names in WRITES.values() for name in names} | METHODS
    for source in suspects(frozenset(words)):
        name = str(source.path.relative_to(PACKAGE))
        if not name.startswith("modules/") and name not in WRITERS and _writes(source.tree):
            found.add(name)
    assert not found


def _writes(tree: ast.Module) -> bool:
    for node in walk(tree):
        if isinstance(node, ast.Attribute):
            owner = node.value.id if isinstance(node.value, ast.Name) else ""
            if node.attr in WRITES.get(owner, ()) or node.attr in METHODS:
                return True
    return False

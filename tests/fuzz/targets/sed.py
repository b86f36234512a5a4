"""Sed programs: ScriptError and RunError alone; any split of the document gives the same output.

The first line feed that follows another one separates the program from the document.
"""

from __future__ import annotations

from collections.abc import Sequence

from tests.fuzz.push import same_for_all_splits
from tests.support.sed_scripts import DOCUMENTS, sed_scripts
from whimbrel.modules.filters.mod_sed.executor import Executor, RunError
from whimbrel.modules.filters.mod_sed.parser import Parser, ScriptError

COVERED = (
    "modules/filters/mod_sed/parser.py",
    "modules/filters/mod_sed/executor.py",
    "modules/filters/mod_sed/regexp.py",
    "modules/filters/mod_sed/substitution.py",
    "modules/filters/mod_sed/listing.py",
)
TOKENS = (
    b"s/a/b/g\n",
    b"\\(",
    b"\\)",
    b"\\{1,3\\}",
    b"[^a]",
    b"y/ab/cd/",
    b"1,$",
    b"/a/,/b/",
    b"!",
    b"N\n",
    b"D\n",
    b"h\n",
    b"G\n",
    b"x\n",
    b":a\n",
    b"ba\n",
    b"t\n",
    b"{",
    b"}",
    b"&",
    b"\\1",
    b"l\n",
    b"a\\\n",
    b"\n\n",
)
PROGRAM = 400  # bytes of the longest program
DOCUMENT = 1000
STEPS = "sed: too many commands for one line"  # the bound of a program without end


def seeds() -> Sequence[bytes]:
    programs = ["\n".join(script.lines).replace("${NL}", "\n") for script in sed_scripts()]
    documents = [*DOCUMENTS.values()]
    return [
        f"{program}\n\n{documents[number % len(documents)]}".encode("latin-1", "replace")
        for number, program in enumerate(programs[:: max(len(programs) // 120, 1)])
        if len(program) <= PROGRAM
    ]


def run(data: bytes) -> None:
    program, _, document = data.decode("latin-1").partition("\n\n")
    parser = Parser()
    try:
        parser.add(program[:PROGRAM])
    except ScriptError:
        return
    script = parser.script()
    if script.reads_files or _may_loop(program):
        return

    def outcome(pieces: list[bytes]) -> tuple[str, object]:
        out: list[str] = []
        log: list[str] = []
        executor = Executor(script, out.append, log.append, lambda: None)
        fault: object = None
        try:
            for piece in pieces:
                executor.feed(piece.decode("latin-1"))
            executor.end()
        except RunError as problem:
            fault = problem.args
        return "".join(out), fault

    same_for_all_splits(outcome, document[:DOCUMENT].encode("latin-1"))


def _may_loop(program: str) -> bool:
    """Return True for a program with a branch: one without end runs for MAX_STEPS commands."""
    return any(letter in program for letter in "btD")

"""whimbrel rotatelogs: what is piped to it goes into a file, and into another one when it is time or the file is large enough.

Manual: programs/rotatelogs.html.  Exit statuses: 1 wrong use, 2 a file can't be opened, 3 standard input can't be read, 4 standard output can't be
written, 5 waiting for input failed; at the end of input 0, and 3 with 2.2.
"""

from __future__ import annotations

import os
import re
import select
from typing import Final

from whimbrel.records import dataclass
from whimbrel.utilities import usage
from whimbrel.utilities.options import Exit, Program, Wrong, parse, say, start
from whimbrel.utilities.rotation import Plan, Rotation

_UNITS: Final = {"B": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_BUFFER: Final = 65536


def main() -> None:
    """The console script."""
    start(run, "rotatelogs")


def run(program: Program) -> int:
    """Write standard input away until it ends; the exit status.  Raises Exit."""
    plan = _plan(program)
    if plan.verbose:
        _describe(plan)
    rotation = Rotation(plan)
    if plan.force:
        rotation.open()
    try:
        while (data := _read(plan, rotation)) is not None:
            rotation.take(data)
            if plan.echo and data:
                _echo(data)
    except OSError:
        return 3
    return 3 if program.old else 0


def _read(plan: Plan, rotation: Rotation) -> bytes | None:
    """The next bytes: empty when the wait for them was over, None at the end of input.  Raises OSError."""
    if plan.empty and plan.seconds:
        wait = rotation.left()
        if wait <= 0 or not select.select([0], [], [], wait)[0]:
            return b""
    return os.read(0, _BUFFER) or None


def _echo(data: bytes) -> None:
    try:
        while data:
            data = data[os.write(1, data):]
    except OSError:
        raise Exit(4, "Unable to write to stdout\n") from None


@dataclass(slots=True)
class _Given:
    seconds: int = 0
    size: int = 0
    offset: int = 0


def _plan(program: Program) -> Plan:
    try:
        options, operands = parse(program.words, "lf" if program.old else "lL:p:fDtTvecn:")
    except Wrong as problem:
        raise Exit(1, f"{program.name}: {problem.message}\n{_usage(program)}") from None
    letters, values = {letter for letter, _ in options}, dict(options)
    files = _files(values["n"]) if "n" in values else 0
    if not 2 <= len(operands) <= 4 - program.old:
        raise Exit(1, "Incorrect number of arguments\n" + _usage(program))
    given, name = _Given(), operands[0]
    for at, word in enumerate(operands[1:], 2):
        problem_text = _operand(given, word, at == len(operands), "l" in letters)
        if problem_text:
            raise Exit(1, f"{problem_text}\n{_usage(program)}")
    pattern = "%" in name
    if files and pattern:
        raise Exit(1, "Cannot use -n with % in filename\n")
    return Plan(name=name, seconds=given.seconds, size=given.size, offset=given.offset, local="l" in letters, pattern=pattern, force="f" in letters,
                parents="D" in letters, verbose="v" in letters, empty="c" in letters, echo="e" in letters, truncate="t" in letters,
                truncate_next="T" in letters, files=files, link=values.get("L"), program=values.get("p", ""))


def _files(value: str) -> int:
    count = _number(value)
    if count < 1:
        raise Exit(1, "Invalid -n argument\n")
    return count


def _usage(program: Program) -> str:
    return (usage.ROTATELOGS_OLD if program.old else usage.ROTATELOGS).replace("@PATH@", program.path)


def _operand(given: _Given, word: str, last: bool, local: bool) -> str:
    """Take up a time, a size or an offset; what is wrong with it, or nothing."""
    unit = next((letter for letter in _UNITS if letter in word), "")
    if unit:
        if given.size:
            return "Rotation size parameter allowed only once"
        given.size = _int(_number(word) * _UNITS[unit]) if word.index(unit) == len(word) - 1 else 0
        return "" if given.size else "Invalid rotation size parameter"
    if (given.size or given.seconds) and last:
        given.offset = _number(word) * 60
        return "UTC offset parameter is not valid with -l" if local else ""
    if given.seconds:
        return "Rotation time parameter allowed only once"
    given.seconds = _number(word)
    return "" if given.seconds > 0 else "Invalid rotation time parameter"


def _number(word: str) -> int:
    """atoi(3): what stands at the start, in 32 bits."""
    found = re.match(r"[ \t\n\v\f\r]*([+-]?[0-9]+)", word)
    return _int(int(found.group(1))) if found else 0


def _int(value: int) -> int:
    """What 32 bits keep of a number: 2G is a negative size, at which nothing is ever rotated."""
    return (value + (1 << 31)) % (1 << 32) - (1 << 31)


def _describe(plan: Plan) -> None:
    rows: list[tuple[str, str]] = [
        ("Rotation time interval:      ", f"{plan.seconds:12}"), ("Rotation size interval:      ", f"{plan.size:12}"),
        ("Rotation time UTC offset:    ", f"{plan.offset:12}"), ("Rotation based on localtime: ", _yes(plan.local)),
        ("Rotation file date pattern:  ", _yes(plan.pattern)), ("Rotation file forced open:   ", _yes(plan.force)),
        ("Create parent directories:   ", _yes(plan.parents)), ("Rotation verbose:            ", _yes(plan.verbose)),
        ("Rotation create empty logs:  ", _yes(plan.empty)), ("Rotation file name: ", f"{plan.name:>21}"),
        ("Post-rotation prog: ", f"{plan.program or 'not used':>21}"),
    ]
    say("".join(f"{label}{value}\n" for label, value in rows))


def _yes(value: bool) -> str:
    return f"{'yes' if value else 'no':>12}"

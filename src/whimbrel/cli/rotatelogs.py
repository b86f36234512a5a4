"""whimbrel rotatelogs: write standard input to a file, and to a new one by time or size.

Manual: programs/rotatelogs.html. Exit statuses: 1 wrong usage, 2 a file cannot be opened, 3 standard input
cannot be read, 4 standard output cannot be written, 5 waiting for input failed. At the end of input: 0, and 3
with 2.2.
"""

from __future__ import annotations

import os
import re
import select
from typing import Final

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.programs import permit_programs
from whimbrel.utilities import usage
from whimbrel.utilities.options import Exit, UtilityProgram, parse, start, write_stderr
from whimbrel.utilities.rotation import Rotation, RotationSchedule
from whimbrel.utilities.usage_error import UsageError

_UNITS: Final = {"B": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_BUFFER: Final = 65536


def main() -> None:
    """Entry point of whimbrel-rotatelogs."""
    start(run, "rotatelogs")


def run(program: UtilityProgram) -> int:
    """Write standard input until it ends; return the exit status. Raises Exit."""
    permit_programs()  # -p
    schedule = _schedule(program)
    if schedule.verbose:
        _describe(schedule)
    rotation = Rotation(schedule)
    if schedule.force:
        rotation.open()
    try:
        while (data := _read(schedule, rotation)) is not None:
            rotation.write(data)
            if schedule.echo and data:
                _echo(data)
    except OSError:
        return 3
    return 3 if program.is_22 else 0


def _read(schedule: RotationSchedule, rotation: Rotation) -> bytes | None:
    """Return the next bytes: b"" after a timeout, None at the end of input. Raises OSError."""
    if schedule.empty and schedule.seconds:
        wait = rotation.seconds_left()
        if wait <= 0 or not select.select([0], [], [], wait)[0]:
            return b""
    return os.read(0, _BUFFER) or None


def _echo(data: bytes) -> None:
    try:
        while data:
            data = data[os.write(1, data) :]
    except OSError:
        raise Exit(4, "Unable to write to stdout\n") from None


@dataclass(slots=True)
class _Operands:
    seconds: int = 0
    size: int = 0
    offset: int = 0


def _schedule(program: UtilityProgram) -> RotationSchedule:
    try:
        options, operands = parse(program.words, "lf" if program.is_22 else "lL:p:fDtTvecn:")
    except UsageError as problem:
        raise Exit(1, f"{program.name}: {problem.message}\n{_usage(program)}") from None
    letters = {letter for letter, _ in options}
    values = dict(options)
    if not 2 <= len(operands) <= 4 - program.is_22:
        raise Exit(1, "Incorrect number of arguments\n" + _usage(program))
    operand_values = _Operands()
    name = operands[0]
    for at, word in enumerate(operands[1:], 2):
        problem_text = _operand(operand_values, word, at == len(operands), "l" in letters)
        if problem_text:
            raise Exit(1, f"{problem_text}\n{_usage(program)}")
    files = _files(values["n"]) if "n" in values else 0
    pattern = "%" in name
    if files and pattern:
        raise Exit(1, "Cannot use -n with % in filename\n")
    return RotationSchedule(
        name=name,
        seconds=operand_values.seconds,
        size=operand_values.size,
        offset=operand_values.offset,
        local="l" in letters,
        pattern=pattern,
        force="f" in letters,
        parents="D" in letters,
        verbose="v" in letters,
        empty="c" in letters,
        echo="e" in letters,
        truncate="t" in letters,
        truncate_next="T" in letters,
        files=files,
        link=values.get("L"),
        program=values.get("p", ""),
    )


def _files(value: str) -> int:
    count = _number(value)
    if count < 1:
        raise Exit(1, "Invalid -n argument\n")
    return count


def _usage(program: UtilityProgram) -> str:
    return (usage.ROTATELOGS_22 if program.is_22 else usage.ROTATELOGS).replace("@PATH@", program.path)


def _operand(operand_values: _Operands, word: str, last: bool, local: bool) -> str:
    """Store a time, a size or an offset; return an error message, or nothing."""
    unit = next((letter for letter in _UNITS if letter in word), "")
    if unit:
        if operand_values.size:
            return "Rotation size parameter allowed only once"
        operand_values.size = _int(_number(word) * _UNITS[unit]) if word.index(unit) == len(word) - 1 else 0
        return "" if operand_values.size else "Invalid rotation size parameter"
    if (operand_values.size or operand_values.seconds) and last:
        operand_values.offset = _number(word) * 60
        return "UTC offset parameter is not valid with -l" if local else ""
    if operand_values.seconds:
        return "Rotation time parameter allowed only once"
    operand_values.seconds = _number(word)
    return "" if operand_values.seconds > 0 else "Invalid rotation time parameter"


def _number(word: str) -> int:
    """Return atoi(3) of the text in 32 bits."""
    match = re.match(r"[ \t\n\v\f\r]*([+-]?[0-9]+)", word)
    return _int(int(match.group(1))) if match else 0


def _int(value: int) -> int:
    """Return a number truncated to 32 bits: 2G becomes a negative size, at which nothing is rotated."""
    return (value + (1 << 31)) % (1 << 32) - (1 << 31)


def _describe(schedule: RotationSchedule) -> None:
    rows: list[tuple[str, str]] = [
        ("Rotation time interval:      ", f"{schedule.seconds:12}"),
        ("Rotation size interval:      ", f"{schedule.size:12}"),
        ("Rotation time UTC offset:    ", f"{schedule.offset:12}"),
        ("Rotation based on localtime: ", _yes(schedule.local)),
        ("Rotation file date pattern:  ", _yes(schedule.pattern)),
        ("Rotation file forced open:   ", _yes(schedule.force)),
        ("Create parent directories:   ", _yes(schedule.parents)),
        ("Rotation verbose:            ", _yes(schedule.verbose)),
        ("Rotation create empty logs:  ", _yes(schedule.empty)),
        ("Rotation file name: ", f"{schedule.name:>21}"),
        ("Post-rotation prog: ", f"{schedule.program or 'not used':>21}"),
    ]
    write_stderr("".join(f"{label}{value}\n" for label, value in rows))


def _yes(value: bool) -> str:
    return f"{'yes' if value else 'no':>12}"

"""Fuzz one target: with atheris, which looks for inputs that run new lines, or without it by random changes.

    python -m tests.fuzz.fuzzer NAME SECONDS DIRECTORY

Inputs that run new lines are added to DIRECTORY/corpus, which a later run starts with. An exception of the
target is written to DIRECTORY/findings: the input, and its traceback. The run goes on, so one fault does not
hide another; of faults at the same line the shortest input stays. Findings of an earlier run are tried first:
those that fail no more are gone.
"""

from __future__ import annotations

import hashlib
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, Final

from tests.fuzz import target as targets
from tests.fuzz.target import Target, check_input, mutations
from whimbrel import __file__ as package

try:
    import atheris
except ImportError:
    atheris: Any = None  # type: ignore[no-redef]

MAX_INPUT: Final = 16_384  # bytes
HANG: Final = 60  # seconds after which libFuzzer ends the run
MAX_TOKEN: Final = 64  # bytes of an entry of libFuzzer's dictionary
EXECUTED: Final = "stat::number_of_executed_units:"
PACKAGE: Final = str(Path(package).parent)


class Findings:
    """The exceptions of one run; *directory* is created with the first one."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._sizes: dict[str, int] = {}

    def take_earlier(self) -> list[bytes]:
        """Remove the findings of an earlier run; return their inputs, which are seeds of this one."""
        inputs = []
        for text in sorted(self.directory.glob("*.txt")):
            inputs.append(text.with_suffix("").read_bytes())
            text.with_suffix("").unlink()
            text.unlink()
        return inputs

    def add(self, data: bytes, problem: BaseException) -> None:
        """Write *data* and its traceback, unless a shorter input fails at the same line."""
        frames = traceback.extract_tb(problem.__traceback__)
        ours = [frame for frame in frames if frame.filename.startswith(PACKAGE)] or frames
        place = f"{type(problem).__name__} {ours[-1].filename}:{ours[-1].lineno}"
        if self._sizes.get(place, sys.maxsize) <= len(data):
            return
        self._sizes[place] = len(data)
        self.directory.mkdir(parents=True, exist_ok=True)
        name = self.directory / hashlib.sha256(place.encode()).hexdigest()[:12]
        name.write_bytes(data)
        text = "".join(traceback.format_exception(problem))
        name.with_suffix(".txt").write_text(f"{place}\n{data!r}\n{text}", "utf-8", "backslashreplace")


def fuzz(name: str, seconds: float, directory: Path) -> None:
    """Fuzz the target *name*."""
    findings = Findings(directory / "findings")
    with _instrumented():
        target = targets.load(name)
        seeds = [*target.seeds(), *findings.take_earlier()]
        for seed in seeds:  # imports what the package imports late
            _try(target, seed, findings)
    if atheris is None:
        _change_seeds(target, seeds, seconds, findings)
    else:
        _search(target, seeds, seconds, findings, directory)


def _instrumented() -> AbstractContextManager[object]:
    if atheris is None:
        return nullcontext()
    imports: Callable[..., AbstractContextManager[object]] = atheris.instrument_imports
    return imports(include=["whimbrel"], enable_loader_override=False)


def _try(target: Target, data: bytes, findings: Findings) -> None:
    try:
        check_input(target, data)
    except Exception as problem:
        findings.add(data, problem)


def _change_seeds(target: Target, seeds: list[bytes], seconds: float, findings: Findings) -> None:
    begin = time.monotonic()
    count = 0
    for data in mutations(target, seeds, int(time.time())):
        if time.monotonic() - begin > seconds:
            break
        _try(target, data[:MAX_INPUT], findings)
        count += 1
    print(EXECUTED, count, file=sys.stderr)


def _search(target: Target, seeds: list[bytes], seconds: float, findings: Findings, directory: Path) -> None:
    """Run libFuzzer, which ends the process."""
    corpus = directory / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    for seed in seeds:
        (corpus / hashlib.sha1(seed, usedforsecurity=False).hexdigest()).write_bytes(seed)
    dictionary = directory / "tokens"
    dictionary.write_text(
        "".join(f'"{_escaped(token)}"\n' for token in target.TOKENS if len(token) <= MAX_TOKEN)
    )
    options = [
        sys.argv[0],
        f"-max_total_time={max(int(seconds), 1)}",
        f"-max_len={MAX_INPUT}",
        f"-timeout={HANG}",
        f"-dict={dictionary}",
        f"-artifact_prefix={directory}/",
        "-rss_limit_mb=2048",
        "-print_final_stats=1",
        "-verbosity=0",
        str(corpus),
    ]
    atheris.Setup(options, lambda data: _try(target, data, findings))
    atheris.Fuzz()


def _escaped(token: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in token)


if __name__ == "__main__":
    fuzz(sys.argv[1], float(sys.argv[2]), Path(sys.argv[3]))

"""Mistakes in texts of 2.4, judged by apache2 and found by verify.

python -m tests.verify.live_run --count 200 --seed 7 [--details FILE] [--keep DIRECTORY]

apache2 answers about 1,800 requests with the text and with its mutant. A mutant with another answer is
visible; verify is asked about visible mutants and about those of the kinds without effect.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TextIO

from tests.verify.live_kinds import VISIBLE, WITHOUT_EFFECT, Kind, mutate
from tests.verify.live_site import Question, questions, site_text, write_files
from whimbrel.config.options import LoadOptions
from whimbrel.testing.ports import free_port
from whimbrel.verify.answer import Answer
from whimbrel.verify.probe import Probe
from whimbrel.verify.probe_engine import AccessCheck
from whimbrel.verify.side import Side
from whimbrel.verify.verification import Verdict, VerifyResult
from whimbrel.verify.verify import verify

APACHE = Path("/usr/sbin/apache2")
_TOGETHER = 100
_COLLECTED = 5
"""Trials after which garbage is collected."""
_VARIABLE = re.compile(rb"(?im)^(date|keep-alive|connection|expires):.*\r\n")
_ALLOW = re.compile(rb"(?im)^allow: (.*)\r$")
"""A field whose order differs between two processes of apache2."""


def _sorted(match: re.Match[bytes]) -> bytes:
    return b"Allow: " + b",".join(sorted(match[1].split(b","))) + b"\r"


class NotStarted(Exception):
    """apache2 refuses the text."""


class AnsweredSide(Side):
    """A side that is compared with many mutants, and keeps its answers.

    Key: the probe, the time and the number of assumed directories. Validity, bound: the mutants of a site.
    """

    def checked(self, probe: Probe) -> tuple[Answer, tuple[AccessCheck, ...]]:
        """Return the answer and the access checks that led to it."""
        key = (probe, self.runtime.time, self.probing.assumed_names)
        known = self._answers.get(key)
        if known is None:
            known = self._answers[key] = super().checked(probe)
        return known

    @cached_property
    def _answers(self) -> dict[object, tuple[Answer, tuple[AccessCheck, ...]]]:
        return {}


@dataclass
class Site:
    """A root with one text, and the answers of apache2 to it."""

    root: Path
    port: int
    text: str
    asked: Sequence[Question]
    answers: list[bytes] = field(default_factory=list)
    _side: Side | None = None

    def side(self) -> Side:
        """Return the text as a side of which nothing is assumed yet."""
        if self._side is None or self._side.probing.assumed_names:
            self._side = loaded(self.root, "old", self.text, AnsweredSide)
        return self._side

    def answers_to(self, text: str) -> list[bytes]:
        """Return apache2's answers with *text*; raises NotStarted."""
        path = self.root / "conf/served.conf"
        path.write_text(text)
        (self.root / "logs/pid").unlink(missing_ok=True)
        command = [str(APACHE), "-d", str(self.root), "-f", str(path), "-DFOREGROUND"]
        with (self.root / "logs/output").open("wb") as sink:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=sink, stderr=sink, start_new_session=True
            )
        try:
            self._wait(process)
            return self._all()
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
            try:
                process.wait(8)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def _wait(self, process: subprocess.Popen[bytes]) -> None:
        end = time.monotonic() + 20
        while process.poll() is None and time.monotonic() < end:
            with socket.socket() as probe:
                if (self.root / "logs/pid").exists() and probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.02)
        raise NotStarted((self.root / "logs/output").read_text("latin-1"))

    def _all(self) -> list[bytes]:
        """Return the answer to each question; empty where the server closed the connection before."""
        found: dict[int, bytes] = {}
        waiting = self._parts(range(len(self.asked)))
        while waiting:
            connections = [(part, self._sent(part)) for part in waiting]
            lost: list[int] = []
            for part, connection in connections:
                answers = _received(connection)
                found.update(zip(part, answers, strict=False))
                # at least the first of them counts as asked, so that the loop ends
                lost += part[max(len(answers), 1) :]
            waiting = self._parts(lost)
        return [found.get(number, b"") for number in range(len(self.asked))]

    def _parts(self, numbers: Iterable[int]) -> list[list[int]]:
        """Return the questions by connection: of one client, and alone if they have a body.

        A body that httpd refuses ends the connection, and may take answers with it.
        """
        by_client: dict[object, list[int]] = {}
        for number in numbers:
            question = self.asked[number]
            has_body = question.method == "POST"
            by_client.setdefault(number if has_body else question.client, []).append(number)
        return [
            part[at : at + _TOGETHER] for part in by_client.values() for at in range(0, len(part), _TOGETHER)
        ]

    def _sent(self, part: list[int]) -> socket.socket:
        """Return a connection over which the questions of *part* were sent at once."""
        data = b"".join(self.asked[number].head(is_last=number == part[-1]) for number in part)
        client = self.asked[part[0]].client
        connection = socket.create_connection(("127.0.0.1", self.port), 20, (client, 0))
        connection.sendall(data)
        return connection


def _received(connection: socket.socket) -> list[bytes]:
    received = b""
    with connection, contextlib.suppress(ConnectionResetError):
        while piece := connection.recv(1 << 16):
            received += piece
    # a head begins with what no body of the site has
    parts = re.split(rb"(?=HTTP/1\.1 \d{3} [A-Z])", received)[1:]
    return [_ALLOW.sub(_sorted, _VARIABLE.sub(b"", part)) for part in parts]


@dataclass
class Trial:
    """One mutant: what apache2 and verify found."""

    kind: Kind
    line: int
    old: str
    new: str
    effect: Question | None
    result: VerifyResult
    texts: tuple[str, str]

    @property
    def verdict(self) -> Verdict:
        """What verify says."""
        return self.result.verdict

    @property
    def is_named(self) -> bool:
        """Return True if verify names the line."""
        return is_line_named(self.result, self.line)

    @property
    def is_good(self) -> bool:
        """Return True if verify finds a visible mutant with its line, or says that nothing differs."""
        if self.effect is None:
            return self.verdict is Verdict.SAME
        return self.verdict is Verdict.DIFFERENT and self.is_named

    @property
    def record(self) -> dict[str, object]:
        """Return the trial as JSON."""
        effect = self.effect and f"{self.effect.method} {self.effect.target} {self.effect.fields}"
        return {
            "kind": self.kind.name,
            "line": self.line,
            "old": self.old,
            "new": self.new,
            "effect": effect,
            "verdict": self.verdict.name,
            "named": self.is_named,
            "groups": len(self.result.groups),
            "without a line": sum(not (one.cause.old or one.cause.new) for one in self.result.groups),
            "not decided": [one.reason for one in self.result.not_decided],
        }

    def keep(self, directory: Path, root: Path, number: int) -> None:
        """Write both texts, with ``@ROOT@`` for the root."""
        kind = re.sub("[^a-z]+", "-", self.kind.name.lower())
        for name, text in zip(("old", "new"), self.texts, strict=True):
            kept = text.replace(str(root), "@ROOT@")
            (directory / f"{number:04}-{kind}.{name}").write_text(kept)


@contextlib.contextmanager
def live_root() -> Iterator[Path]:
    """The files of the site, in a directory that the user of apache2 may enter."""
    with tempfile.TemporaryDirectory(prefix="live-") as name:
        root = Path(name).resolve()
        root.chmod(0o755)
        write_files(root)
        yield root


def live_site(root: Path, choose: random.Random) -> Site:
    """Return a site with a random text, and apache2's answers to it."""
    port = free_port()
    site = Site(root, port, site_text(root, port, choose), questions())
    first, again = site.answers_to(site.text), site.answers_to(site.text)
    # an answer that varies by itself decides nothing
    site.answers = [a if a == b else b"" for a, b in zip(first, again, strict=True)]
    return site


def trial(site: Site, kind: Kind, choose: random.Random) -> Trial | None:
    """Return the trial of a mutant of *kind*.

    None if there is none, if apache2 refuses it, or if it may be visible and no answer shows it.
    """
    mutant = mutate(site.text, kind, choose)
    if mutant is None:
        return None
    text, number = mutant
    try:
        seen = site.answers_to(text)
    except NotStarted:
        return None
    pairs = zip(site.asked, site.answers, seen, strict=True)
    effect = next((question for question, a, b in pairs if a and a != b), None)
    if effect is None and kind not in WITHOUT_EFFECT:
        return None
    result = verify(site.side(), loaded(site.root, "new", text, Side))
    old, new = site.text.split("\n")[number - 1], text.split("\n")[number - 1]
    return Trial(kind, number, old, new, effect, result, (site.text, text))


def loaded(root: Path, name: str, text: str, kind: type[Side]) -> Side:
    """Return a text of 2.4 as a side."""
    path = root / f"conf/{name}.conf"
    path.write_text(text)
    options = LoadOptions(server_root=str(root), file=str(path))
    return kind.load(options, "2.4", name=name, now=1_600_000_000.0)


def is_line_named(result: VerifyResult, number: int) -> bool:
    """Return True if a cause, or what is not decided, names the line *number* of a text or its section."""
    lines = [
        line.line
        for group in result.groups
        for line in (*group.cause.old, *group.cause.new, *group.lines[0], *group.lines[1])
    ]
    texts = [one.reason for one in result.not_decided]
    return number in lines or any(f".conf:{number}:" in text for text in texts)


def main() -> int:
    """Run the command line; 1 if a visible mutant is called the same, or one without effect different."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200, help="visible mutants to try")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=1e9, help="end after this time")
    parser.add_argument("--details", type=Path, help="write each trial to this file, one JSON object a line")
    parser.add_argument("--keep", type=Path, help="write texts that fell short to this directory")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # apache2 and the files go, too
    details = given.details.open("w") if given.details else None
    with live_root() as root:
        trials = run(root, given, details)
    print(report(trials))
    return int(any(is_wrong(one) for one in trials))


def run(root: Path, given: argparse.Namespace, details: TextIO | None) -> list[Trial]:
    """Try mutants until there are enough, each kind as often as the others."""
    choose, begun = random.Random(given.seed), time.monotonic()
    trials: list[Trial] = []
    waiting: list[Kind] = []
    gc.disable()  # a quarter of the time of a trial: each leaves a configuration as garbage
    while True:
        site = live_site(root, choose)
        for _ in range(30):
            if not waiting:
                waiting = [*VISIBLE, *WITHOUT_EFFECT]
                choose.shuffle(waiting)
            kind = next((one for one in waiting if mutate(site.text, one, random.Random(0))), None)
            if kind is None:
                break
            if time.monotonic() - begun > given.seconds:
                break
            waiting.remove(kind)
            done = trial(site, kind, choose)
            if len(trials) % _COLLECTED == 0:
                gc.collect()
            if done is not None:
                trials.append(done)
                if details is not None:
                    print(json.dumps(done.record), file=details, flush=True)
                if given.keep is not None and not done.is_good:
                    done.keep(given.keep, root, len(trials))
        visible = sum(one.effect is not None for one in trials)
        if visible >= given.count or time.monotonic() - begun > given.seconds:
            return trials


def is_wrong(one: Trial) -> bool:
    """Return True if verify says what is not so."""
    if one.effect is not None:
        return one.verdict is Verdict.SAME
    return one.kind in WITHOUT_EFFECT and one.verdict is Verdict.DIFFERENT


def report(trials: Sequence[Trial]) -> str:
    """Return the figures, and those of each kind that was not found every time."""
    visible = [one for one in trials if one.effect is not None]
    found = [one for one in visible if one.verdict is Verdict.DIFFERENT]
    open_ones = [one for one in visible if one.verdict is Verdict.NOT_DECIDED]
    without = [one for one in trials if one.kind in WITHOUT_EFFECT]
    alarms = [one for one in without if one.verdict is Verdict.DIFFERENT]
    kinds = Counter(one.kind.name for one in visible)
    lines = [
        f"{len(visible)} visible mutants of {len(kinds)} kinds: {len(found)} found, "
        f"{sum(one.is_named for one in found)} with their line; {len(open_ones)} not decided, "
        f"{sum(one.is_named for one in open_ones)} with their line; "
        f"{len(visible) - len(found) - len(open_ones)} called the same",
        f"{len(without)} mutants without effect: {len(alarms)} called different, "
        f"{sum(one.verdict is Verdict.NOT_DECIDED for one in without)} not decided",
    ]
    if len(visible) >= 4 * len(VISIBLE):
        lines += [f"  {kind.name}: never visible" for kind in VISIBLE if kind.name not in kinds]
    for name in sorted(kinds):
        mine = [one for one in visible if one.kind.name == name]
        good = [one for one in mine if one.verdict is Verdict.DIFFERENT and one.is_named]
        if len(good) < len(mine):
            lines.append(f"  {name}: {len(good)} of {len(mine)}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())

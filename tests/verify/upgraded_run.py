"""Mistakes in the files of a server that was upgraded from 2.2, judged by apache2 and found by verify.

python -m tests.verify.upgraded_run --count 200 --seed 7 [--details FILE] [--keep DIRECTORY] [--between]

A site of 2.2 is upgraded into a copy by `whimbrel upgrade --out`. apache2 serves the copy, and serves it with
a mistake in one of its files. A mistake is visible if an answer, a TLS session or a line of the log differs.
verify compares the copy with and without the mistake; with --between it compares the text of 2.2 with the
copy that has the mistake.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import gc
import hashlib
import http.server
import json
import random
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from tests.verify.live_run import AnsweredSide, NotStarted, Site
from tests.verify.live_site import PASSWORD, Question
from tests.verify.upgraded_kinds import VISIBLE, WITHOUT_EFFECT, FileKind, Touched
from tests.verify.upgraded_site import (
    DEEP_HTACCESS,
    HOSTS,
    HTACCESS,
    MAIN,
    REALM,
    TEXTS,
    Ports,
    site_texts,
    write_files,
)
from whimbrel.base.dialect import V22, V24
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.config.options import LoadOptions
from whimbrel.testing.ports import free_port
from whimbrel.verify.loading import as_copy
from whimbrel.verify.side import Side
from whimbrel.verify.verification import Verdict, VerifyResult
from whimbrel.verify.verify import verify

FILES = (MAIN, HOSTS, *TEXTS)
_CASES_OF_A_SITE = 100
_VARYING = re.compile(
    rb'nonce="[^"]*"|rspauth="[^"]*"|expires=[^;\r]*'
    rb"|(?im:^(?:transfer-encoding|content-length|expires): .*\r\n|^[0-9a-f]+\r\n)"
)
"""What differs between two answers to one request: also whether the output of a program comes in chunks."""
_OF_PROGRAM = re.compile(rb"(?s)^(HTTP/1.1 \d+).*(\brole=[^\r\n]*).*")
"""The answer of the program of the site, of which fields come and go with the time that it takes."""
_TLS_1_2, _TLS_1_3 = ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3


class _BackEnd(http.server.BaseHTTPRequestHandler):
    """Answers with the path and the fields of a request; /v1/redirect leads elsewhere."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        fields = sorted(f"{name}: {value}" for name, value in self.headers.items())
        body = "\n".join([self.path, *fields]).encode()
        self.send_response(302 if self.path.endswith("/redirect") else 200)
        if self.path.endswith("/redirect"):
            self.send_header("Location", f"http://127.0.0.1:{self.server.server_port}/v1/there")  # type: ignore[attr-defined]
        self.send_header("Set-Cookie", "a=b; path=/v1/")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_HEAD = do_POST = do_GET

    def log_message(self, *_words: object) -> None:
        """Log nothing."""


@contextlib.contextmanager
def back_end() -> Iterator[int]:
    """Yield the port of a back end."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _BackEnd)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server.server_port
    server.shutdown()
    server.server_close()
    thread.join()


@dataclass
class ServedSite(Site):
    """The site that apache2 serves, with more ways to see a change than answers."""

    tls_port: int = 0
    has_digest: bool = True
    has_tls: bool = True

    def answers_to(self, text: str) -> list[bytes]:
        """Return the answers with *text*, then those of further ways, then the log; raises NotStarted."""
        log = self.root / "logs/access_log"
        log.unlink(missing_ok=True)
        answers = super().answers_to(text)
        lines = log.read_bytes().splitlines() if log.exists() else []
        return [*answers, b"\n".join(sorted(lines))]

    def _all(self) -> list[bytes]:
        further = [self._two_requests()]
        further += [self._digest("/vault/a.txt") if self.has_digest else b""]
        if self.has_tls:
            further += [self._plain_on_tls(), self._tls(_TLS_1_2), self._tls(_TLS_1_3)]
        return [_OF_PROGRAM.sub(rb"\1 \2", _VARYING.sub(b"", one)) for one in (*super()._all(), *further)]

    def _exchange(self, port: int, data: bytes) -> bytes:
        received = b""
        with (
            contextlib.suppress(ConnectionError, TimeoutError),
            socket.create_connection(("127.0.0.1", port), 5) as client,
        ):
            client.sendall(data)
            while piece := client.recv(1 << 16):
                received += piece
        return re.sub(rb"(?m)^Date: .*\r\n", b"", received)

    def _digest(self, target: str) -> bytes:
        """Return the answer to a Digest login."""
        head = f"GET {target} HTTP/1.1\r\nHost: main.example\r\nConnection: close\r\n"
        first = self._exchange(self.port, f"{head}\r\n".encode())
        found = re.search(rb'Digest realm="([^"]*)", nonce="([^"]*)"', first)
        if found is None:
            return first
        realm, nonce = found[1].decode(), found[2].decode()
        # the secret that the file has belongs to one realm
        user = _md5(f"ann:{REALM}:{PASSWORD}")
        response = _md5(f"{user}:{nonce}:00000001:abc:auth:{_md5(f'GET:{target}')}")
        value = (
            f'Digest username="ann", realm="{realm}", nonce="{nonce}", uri="{target}", qop=auth, '
            f'nc=00000001, cnonce="abc", response="{response}", algorithm=MD5'
        )
        return self._exchange(self.port, f"{head}Authorization: {value}\r\n\r\n".encode())

    def _two_requests(self) -> bytes:
        """Return what a connection brings for two requests: fields about the connection show in it alone."""
        head = "GET /a.txt HTTP/1.1\r\nHost: main.example\r\n"
        return self._exchange(self.port, f"{head}\r\n{head}Connection: close\r\n\r\n".encode())

    def _plain_on_tls(self) -> bytes:
        head = b"GET / HTTP/1.1\r\nHost: safe.example\r\nConnection: close\r\n\r\n"
        return self._exchange(self.tls_port, head)

    def _tls(self, version: ssl.TLSVersion) -> bytes:
        """Return the facts of a TLS session and an answer over it; the reason if there is none."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        context.minimum_version = context.maximum_version = version
        received = b""
        try:
            with (
                socket.create_connection(("127.0.0.1", self.tls_port), 5) as plain,
                context.wrap_socket(plain, server_hostname="safe.example") as client,
            ):
                certificate = hashlib.sha256(client.getpeercert(binary_form=True) or b"").hexdigest()
                facts = f"{client.version()} {client.cipher()} {certificate}\n".encode()
                client.sendall(b"GET /a.txt HTTP/1.1\r\nHost: safe.example\r\nConnection: close\r\n\r\n")
                while piece := client.recv(1 << 16):
                    received += piece
        except (ssl.SSLError, OSError) as problem:
            return f"{type(problem).__name__} {getattr(problem, 'reason', '')}".encode()
        return facts + re.sub(rb"(?m)^Date: .*\r\n", b"", received)


def _md5(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


@dataclass
class UpgradedSite:
    """A site of 2.2, its upgraded copy, and the copy that apache2 serves.

    Attributes:
        texts: of the files of the copy, by their names below its root.
        origins: of each file of the copy, the lines of 2.2 that a line comes from.
    """

    base: Path
    served: ServedSite
    texts: dict[str, str]
    origins: dict[str, dict[int, frozenset[int]]]
    _sides: dict[str, Side] = field(default_factory=dict)

    @property
    def old(self) -> Path:
        return self.base / "old"

    @property
    def new(self) -> Path:
        return self.base / "new"

    @property
    def kept(self) -> Path:
        """The copy without a mistake, at another place: both sides read their own users and maps."""
        return self.base / "kept"

    def side(self, root: Path, dialect: str) -> Side:
        """Return a side that is compared with many, of which nothing is assumed yet."""
        known = self._sides.get(root.name)
        if known is None or known.probing.assumed_names:
            known = self._sides[root.name] = self.loaded(root, dialect, "old", AnsweredSide)
        return known

    def loaded(self, root: Path, dialect: str, name: str, kind: type[Side]) -> Side:
        """Return the server below *root*, compared with the one of 2.2 or with the copy."""
        one = LoadOptions(server_root=str(root), file=str(root / MAIN))
        old = LoadOptions(server_root=str(self.old), file=str(self.old / MAIN))
        options = replace(as_copy(old, one), origins=True)
        return kind.load(options, dialect, name=name, now=1_600_000_000.0)

    def serve(self, name: str, text: str) -> list[bytes]:
        """Return what apache2 answers with *text* in the file *name*; raises NotStarted."""
        root = self.served.root
        (root / name).write_text(self._served(text))
        try:
            return self.served.answers_to((root / MAIN).read_text())
        finally:
            (root / name).write_text(self._served(self.texts[name]))

    def _served(self, text: str) -> str:
        for root in (self.old, self.new):
            text = text.replace(str(root), str(self.served.root))
        return text


def upgraded_copy(
    base: Path, ports: Ports, choose: random.Random, *, is_between: bool
) -> tuple[dict[str, str], dict[str, str], list[Question]]:
    """Write a site of 2.2 with random blocks below ``old``, and its upgraded copy below ``new`` and ``kept``.

    Return the texts of the copy, those of 2.2, and the requests.
    """
    old, new, kept = base / "old", base / "new", base / "kept"
    texts, asked = site_texts(old, ports, choose, is_between=is_between)
    for top in (old, base / "served"):
        shutil.rmtree(top, ignore_errors=True)
        write_files(top)
        if f'"{old}/htdocs/ht"' not in texts[MAIN]:  # no .htaccess file is read
            for name in (HTACCESS, DEEP_HTACCESS):
                (top / name).unlink()
    for name, text in texts.items():
        (old / name).write_text(text)
    for copy in (new, kept):
        shutil.rmtree(copy, ignore_errors=True)
    _upgrade(old, new)
    shutil.copy(old / "conf/other.pem", new / "conf/other.pem")  # only a mistake names it
    shutil.copytree(new, kept)
    main = kept / MAIN
    main.write_text(main.read_text().replace(str(new), str(kept)))
    originals = {**texts, **{name: (old / name).read_text() for name in TEXTS if (old / name).exists()}}
    written = {name: (new / name).read_text() for name in FILES if (new / name).exists()}
    return written, originals, asked


def upgraded_site(
    base: Path, port_of_back_end: int, choose: random.Random, *, is_between: bool
) -> UpgradedSite:
    """Return a site with random blocks below *base*, and apache2's answers to it."""
    ports = Ports(free_port(), free_port(), port_of_back_end)
    written, originals, asked = upgraded_copy(base, ports, choose, is_between=is_between)
    root = base / "served"
    served = ServedSite(
        root,
        ports.plain,
        "",
        asked,
        tls_port=ports.tls,
        has_digest="AuthType Digest" in originals[MAIN],
        has_tls="SSLEngine" in originals[HOSTS],
    )
    site = UpgradedSite(base, served, written, {})
    shutil.copytree(base / "old/conf", root / "conf", dirs_exist_ok=True)
    for name, text in written.items():
        site.origins[name] = origins(originals[name].split("\n"), text.split("\n"))
        (root / name).write_text(site._served(text))
    again = [site.serve(MAIN, written[MAIN]) for _ in range(2)]
    served.answers = [a if a == b else b"" for a, b in zip(*again, strict=True)]
    return site


@contextlib.contextmanager
def live_directory() -> Iterator[Path]:
    """Yield a temporary directory that the user of apache2 may enter."""
    with tempfile.TemporaryDirectory(prefix="live-") as name:
        base = Path(name).resolve()
        base.chmod(0o755)
        yield base


def _upgrade(old: Path, new: Path) -> None:
    """Write the upgraded copy of the server below *old*."""
    command = [sys.executable, "-m", "whimbrel", "upgrade", str(old), "--out", str(new), "--unsafe-flags"]
    done = subprocess.run([*command, "--no-verify"], capture_output=True, check=False, timeout=120)
    if done.returncode not in (0, 3):
        raise RuntimeError(done.stderr.decode())


def origins(old: Sequence[str], new: Sequence[str]) -> dict[int, frozenset[int]]:
    """Return the lines of *old* that each line of *new* comes from: an equal one, or those in its place."""
    found: dict[int, frozenset[int]] = {}
    for kind, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        for number in range(c, d):
            lines = range(a + number - c, a + number - c + 1) if kind == "equal" else range(a, b)
            found[number + 1] = frozenset(one + 1 for one in lines)
    return found


@dataclass
class Trial:
    """One mistake: what apache2 and verify found."""

    kind: FileKind
    file: str
    touched: Touched
    texts: tuple[str, str]
    effect: str
    result: VerifyResult
    old_lines: frozenset[int]
    seconds: float

    @property
    def verdict(self) -> Verdict:
        """What verify says."""
        return self.result.verdict

    @property
    def is_named(self) -> bool:
        """Return True if verify names a line of the mistake, or the file of users, groups, types or a map."""
        texts = [one.reason for one in self.result.not_decided]
        lines = [
            (number, line)
            for group in self.result.groups
            for number, side in enumerate(
                (
                    (*group.cause.old, *group.lines[0], *group.further.old),
                    (*group.cause.new, *group.lines[1], *group.further.new),
                )
            )
            for line in side
        ]
        if self.file in TEXTS and not self.file.endswith(".htaccess"):
            texts += [f"{line.path} {line.text}" for _, line in lines]
            return any(self.file in text for text in texts)
        wanted = (self.old_lines, self.touched.new)
        if any(line.path.endswith(self.file) and line.line in wanted[at] for at, line in lines):
            return True
        places = {f"{self.file}:{number}:" for number in self.old_lines | self.touched.new}
        return any(place in text for place in places for text in texts)

    @property
    def record(self) -> dict[str, object]:
        """Return the trial as JSON."""
        changed = difflib.unified_diff(*(text.split("\n") for text in self.texts), n=0, lineterm="")
        return {
            "kind": self.kind.name,
            "file": self.file,
            "change": [line for line in changed if line[:2] not in ("--", "++", "@@")],
            "effect": self.effect,
            "verdict": self.verdict.name,
            "named": self.is_named,
            "groups": [
                [
                    group.kind,
                    [str(x) for x in group.cause.old],
                    [str(x) for x in group.cause.new],
                    [str(x) for x in group.lines[0]],
                    [str(x) for x in group.lines[1]],
                    str(group.examples[0].probe) if group.examples else "",
                    str(group.examples[0].difference) if group.examples else "",
                ]
                for group in self.result.groups[:4]
            ],
            "not decided": [one.reason for one in self.result.not_decided],
            "errors": [error.text for errors in self.result.errors for error in errors],
            "seconds": round(self.seconds, 2),
        }


def trial(site: UpgradedSite, kind: FileKind, choose: random.Random, *, is_between: bool) -> Trial | None:
    """Return the trial of a mistake of *kind*.

    None if it does not apply, if apache2 refuses it, or if it may be visible and nothing shows it.
    """
    name = choose.choice([file for file in kind.files if file in site.texts] or [""])
    lines = site.texts.get(name, "").split("\n")
    touched = kind.change(lines, choose) if name else None
    text = "\n".join(lines)
    if touched is None or text == site.texts[name]:
        return None
    try:
        seen = site.serve(name, text)
    except NotStarted:
        return None
    effect = _effect(site.served, seen)
    if effect and _effect(site.served, site.serve(name, text)) != effect:
        return None  # the machine has shown it, not the text
    is_quiet = kind in WITHOUT_EFFECT
    if not effect and not is_quiet:
        return None
    begun = time.process_time()
    (site.new / name).write_text(text)
    try:
        old = site.side(site.old, V22.name) if is_between else site.side(site.kept, V24.name)
        result = verify(old, site.loaded(site.new, V24.name, "new", Side))
    finally:
        (site.new / name).write_text(site.texts[name])
    seconds = time.process_time() - begun
    sources = site.origins[name]
    places = touched.old if not is_between else frozenset().union(*(sources[n] for n in touched.old))
    return Trial(kind, name, touched, (site.texts[name], text), effect, result, places, seconds)


def _effect(served: ServedSite, seen: list[bytes]) -> str:
    """Return what shows the mistake first, "" if nothing does."""
    for number, (before, after) in enumerate(zip(served.answers, seen, strict=True)):
        if before and before != after:
            if number < len(served.asked):
                asked = served.asked[number]
                return f"{asked.method} {asked.host}{asked.target} {asked.fields} from {asked.client}"
            names = ("connection", "digest", "plain on TLS", "TLS 1.2", "TLS 1.3")
            is_log = number == len(seen) - 1
            return "log" if is_log else names[number - len(served.asked)]
    return ""


def run(given: argparse.Namespace, details: TextIO | None) -> list[Trial]:
    """Try mistakes until enough are visible, each kind as often as the others."""
    choose, begun = random.Random(given.seed), time.monotonic()
    trials: list[Trial] = []
    waiting: list[FileKind] = []
    kinds = [*VISIBLE, *WITHOUT_EFFECT]
    if given.only:
        kinds = [kind for kind in kinds if re.search(given.only, kind.name)]
    gc.disable()  # a quarter of the time of a trial: each leaves a configuration as garbage
    with back_end() as port, live_directory() as base:
        while True:
            site = upgraded_site(base, port, choose, is_between=given.between)
            if given.between and differs_without_mistake(site):
                continue
            for _ in range(_CASES_OF_A_SITE):
                if not waiting:
                    waiting = choose.sample(kinds, len(kinds))
                done = trial(site, waiting.pop(), choose, is_between=given.between)
                if done is None:
                    continue
                trials.append(done)
                if len(trials) % 5 == 0:
                    gc.collect()
                if details is not None:
                    print(json.dumps(done.record), file=details, flush=True)
                visible = sum(bool(one.effect) for one in trials)
                if visible >= given.count or time.monotonic() - begun > given.seconds:
                    return trials


def differs_without_mistake(site: UpgradedSite) -> bool:
    """Return True if the versions alone answer otherwise: no trial of the site shows what a mistake does."""
    new = site.loaded(site.kept, V24.name, "new", Side)
    return verify(site.side(site.old, V22.name), new).verdict is Verdict.DIFFERENT


def is_wrong(one: Trial) -> bool:
    """Return True if verify says what is not so."""
    if one.kind in WITHOUT_EFFECT:
        return not one.effect and one.verdict is Verdict.DIFFERENT
    return one.verdict is Verdict.SAME


def report(trials: Sequence[Trial]) -> str:
    """Return the figures, and those of each kind that was not found every time."""
    visible = [one for one in trials if one.effect and one.kind not in WITHOUT_EFFECT]
    by_verdict = Counter(one.verdict for one in visible)
    named = Counter(one.verdict for one in visible if one.is_named)
    without = [one for one in trials if one.kind in WITHOUT_EFFECT]
    of_without = Counter(one.verdict for one in without)
    kinds = Counter(one.kind.name for one in visible)
    lines = [
        f"{len(visible)} visible mistakes of {len(kinds)} kinds: "
        + ", ".join(
            f"{by_verdict[one]} {one.name} ({named[one]} with their line)"
            for one in Verdict
            if by_verdict[one]
        ),
        f"{len(without)} changes without effect, apache2 shows {sum(bool(one.effect) for one in without)}: "
        + ", ".join(f"{count} {one.name}" for one, count in of_without.items()),
    ]
    for name in sorted(kinds):
        mine = [one for one in visible if one.kind.name == name]
        good = [one for one in mine if one.verdict is Verdict.DIFFERENT and one.is_named]
        if len(good) < len(mine):
            lines.append(f"  {name}: {len(good)} of {len(mine)}")
    return "\n".join(lines)


def main() -> int:
    """Run the command line; 1 if verify says what is not so."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=200, help="visible mistakes to try")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=1e9, help="end after this time")
    parser.add_argument("--only", default="", help="kinds whose names this regular expression is found in")
    parser.add_argument("--between", action="store_true", help="compare the text of 2.2 with the copy")
    parser.add_argument("--details", type=Path, help="write each trial to this file, one JSON object a line")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # apache2 and the files go, too
    with given.details.open("w") if given.details else contextlib.nullcontext() as details:
        trials = run(given, details)
    print(report(trials))
    return int(any(is_wrong(one) for one in trials))


if __name__ == "__main__":
    sys.exit(main())

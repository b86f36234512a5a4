"""CONTRIBUTING.md, "Adding things": each example is applied to a copy of the package and run there."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.meta.tree import ROOT

FENCE = re.compile(r"^(`{3,})(\w+)?[ ]?(.*)$")
KINDS = ("A directive", "A module with a handler", "An upgrade rule", "An output filter")
# Answers requests, written as "METHOD path", with one engine; prints status and body of each.
ANSWER = """
import json, sys
from whimbrel.base.dialect import DIALECTS
from whimbrel.config.load import load
from whimbrel.config.options import LoadOptions
from whimbrel.engine.engine import Engine
from whimbrel.engine.request import Connection
from whimbrel.modules import ALL
from whimbrel.testing.client import TestClient
from whimbrel.testing.fake_runtime import FakeRuntime
root, *requests = sys.argv[1:]
options = LoadOptions(server_root=root, file=root + "/httpd.conf")
engine = Engine(load(options, ALL, DIALECTS["2.4"]), FakeRuntime())
replies = []
for request in requests:
    client = TestClient(engine, Connection("127.0.0.1", 50000, "127.0.0.1", 80))
    head = request + " HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n"
    fields, _, body = client.send(head.encode()).decode("latin-1").partition("\\r\\n\\r\\n")
    replies.append((int(fields.split()[1]), body))
print(json.dumps(replies))
"""
COMMAND = "from whimbrel.cli.entry import main; main()"
CONFIGURATION = """ServerRoot "{root}"
ServerName localhost
Listen 127.0.0.1:80
DocumentRoot "{root}/htdocs"
LoadModule mpm_event_module modules/mod_mpm_event.so
LoadModule authz_core_module modules/mod_authz_core.so
LoadModule env_module modules/mod_env.so
<Directory "{root}/htdocs">
    Require all granted
</Directory>
"""


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, the words behind that, and its text."""

    language: str
    target: str
    text: str


def blocks(title: str) -> list[Block]:
    """Return the fenced blocks below one heading of CONTRIBUTING.md."""
    found: list[Block] = []
    lines = iter((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").splitlines())
    inside = False
    for line in lines:
        fence = FENCE.match(line)
        if fence:
            body = []
            for text in lines:
                if text == fence[1]:
                    break
                body.append(text)
            if inside:
                found.append(Block(fence[2] or "", fence[3], "".join(f"{text}\n" for text in body)))
        elif line.startswith("#"):
            inside = line == f"### {title}"
    assert found, f"no examples below {title}"
    return found


def changed(text: str, diff: str) -> str:
    """Apply the hunks of *diff*, which `@@` lines separate; each must fit in exactly one place."""
    for hunk in re.split(r"^@@\n", diff, flags=re.M):
        lines = hunk.splitlines(keepends=True)
        old = "".join(line[1:] for line in lines if line[0] in " -")
        new = "".join(line[1:] for line in lines if line[0] in " +")
        assert text.count(old) == 1, f"{text.count(old)} places for\n{hunk}"
        text = text.replace(old, new)
    return text


def apply(block: Block, copy: Path) -> None:
    """Write or change the file that a block names, in a copy of src/."""
    path = copy / block.target.removeprefix("src/")
    if block.language == "diff":
        path.write_text(changed(path.read_text(encoding="utf-8"), block.text), encoding="utf-8")
    else:
        assert not path.exists(), f"{block.target} exists"
        path.write_text(block.text, encoding="utf-8")


@dataclass(frozen=True)
class Copy:
    """A copy of the package with one example in it, and a server root."""

    package: Path
    root: Path
    conf: str

    def run(self, code: str, *args: str) -> subprocess.CompletedProcess[str]:
        """Run Python code with the copy; the status is the caller's to judge."""
        environment = {**os.environ, "PYTHONPATH": str(self.package), "PYTHONDONTWRITEBYTECODE": "1"}
        argv = [sys.executable, "-c", code, *args]
        return subprocess.run(argv, env=environment, capture_output=True, text=True, check=False, timeout=60)

    def answers(self, *requests: str) -> list[tuple[int, str]]:
        """Answer requests with the example's configuration."""
        text = CONFIGURATION.format(root=self.root) + self.conf
        (self.root / "httpd.conf").write_text(text, encoding="ascii")
        for directory in ("htdocs", "logs"):
            (self.root / directory).mkdir(exist_ok=True)
        (self.root / "htdocs/a.txt").write_text("a page\n", encoding="ascii")
        done = self.run(ANSWER, str(self.root), *requests)
        assert done.returncode == 0, done.stderr
        return [(status, body) for status, body in json.loads(done.stdout)]


def copy_with(title: str, tmp_path: Path) -> Copy:
    """Copy the package and apply the examples below *title*."""
    package, root = tmp_path / "src", tmp_path / "site"
    shutil.copytree(ROOT / "src", package, ignore=shutil.ignore_patterns("__pycache__"))
    root.mkdir()
    conf = ""
    for block in blocks(title):
        if block.language == "apache":
            conf += block.text
        else:
            apply(block, package)
    found = Copy(package, root, conf)
    where = found.run("import whimbrel; print(whimbrel.__file__)").stdout
    assert where.startswith(str(package)), where
    return found


def test_every_kind_has_examples() -> None:
    assert [len(blocks(kind)) >= 2 for kind in KINDS] == [True] * len(KINDS)


def test_a_directive_has_its_effect(tmp_path: Path) -> None:
    copy = copy_with("A directive", tmp_path)
    assert [status for status, _ in copy.answers("GET /a.txt", "DELETE /a.txt")] == [200, 404]


def test_a_wrong_value_stops_the_start(tmp_path: Path) -> None:
    copy = copy_with("A directive", tmp_path)
    copy.answers("GET /")
    conf = copy.root / "httpd.conf"
    conf.write_text(conf.read_text(encoding="ascii").replace("Status 404", "Status 200"), encoding="ascii")
    code = "import sys; from whimbrel.cli.httpd import run; sys.exit(run(['httpd', *sys.argv[1:]]))"
    done = copy.run(code, "--builtin", "debian", "-t", "-d", str(copy.root), "-f", str(conf))
    assert done.returncode == 1
    assert "AllowMethodsStatus: the status must be 403, 404 or 405" in done.stderr


def test_a_handler_answers(tmp_path: Path) -> None:
    copy = copy_with("A module with a handler", tmp_path)
    assert copy.answers("GET /greeting", "GET /a.txt") == [(200, "Good morning\n"), (200, "a page\n")]


def test_a_rule_finds_and_fixes(tmp_path: Path) -> None:
    copy = copy_with("An upgrade rule", tmp_path)
    conf, out = copy.root / "httpd.conf", tmp_path / "out"
    conf.write_text("Listen 80\nTimeout 60\n", encoding="ascii")
    select = ("--select", "R90", "--whole", str(conf))
    done = copy.run(COMMAND, "check", "--format", "json", *select)
    assert [(f["rule"], f["line"]) for f in json.loads(done.stdout)["findings"]] == [("R90", 2)], done.stderr
    assert copy.run(COMMAND, "upgrade", "--no-verify", "--out", str(out), *select).returncode == 0
    assert (out / "httpd.conf").read_text(encoding="ascii") == "Listen 80\nTimeOut 60\n"
    assert "TimeOut is spelled in one way" in copy.run(COMMAND, "explain", "R90").stdout


def test_a_filter_changes_a_page(tmp_path: Path) -> None:
    copy = copy_with("An output filter", tmp_path)
    assert copy.answers("GET /a.txt", "GET /a.txt") == [(200, "a page\n-- the end\n")] * 2


def test_a_hunk_must_fit_in_one_place() -> None:
    assert changed("a\nb\n", " a\n+c\n") == "a\nc\nb\n"
    assert changed("a\nb\n", "-b\n+c\n@@\n a\n+d\n") == "a\nd\nc\n"
    with pytest.raises(AssertionError, match="2 places"):
        changed("a\na\n", " a\n+c\n")

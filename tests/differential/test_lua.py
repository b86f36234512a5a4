"""Scripts of mod_lua on apache2 and on Whimbrel: responses and error-log lines must be the same."""

from __future__ import annotations

import http.client
import os
import re
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.differential.lua_site import DOCUMENTS, SCRIPTS, SECTIONS, configuration, requests
from tests.differential.servers import APACHE, WHIMBREL, Program
from tests.differential.site import GeneratedSite, ServerProcess, documents, htaccess

VARIABLE = frozenset(("date", "server", "etag", "last-modified", "connection", "keep-alive"))


class Answers(NamedTuple):
    """Responses by request, and the lines of mod_lua in the error log, without places and numbers."""

    responses: dict[tuple[str, str, int], Any]
    lines: list[str]


def answers(program: Program, root: Path) -> Answers:
    """Ask one server every request."""
    site = GeneratedSite(configuration().replace("%MODULES%", program.module_dir))
    found = {}
    with ServerProcess(program, site, root) as server:
        assert server.started, server.output
        for method, path, fields, body in requests():
            client = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
            client.request(method, path, body or None, fields)
            response = client.getresponse()
            try:
                content = response.read()
            except http.client.IncompleteRead as cut:
                content = b"cut after " + cut.partial
            pairs = [
                (name, value.replace(f":{server.port}", ":PORT")) for name, value in response.getheaders()
            ]
            heads = sorted(pair for pair in pairs if pair[0].lower() not in VARIABLE)
            content = content.replace(str(server.port).encode(), b"PORT")
            found[method, path, len(found)] = response.status, heads, content
            client.close()
        log = (server.logs / "error_log").read_text()
        lines = re.findall(r"^\[lua:.*", log, re.MULTILINE)
        # an inline section without a name: the type in httpd's message is that of what its stack has
        lines = [re.sub("attempt to call a \\w+ value$", "attempt to call a value", line) for line in lines]
        return Answers(found, sorted(line.replace(str(server.conf), "CONF") for line in lines))


@pytest.fixture(scope="module")
def both() -> Iterator[tuple[Answers, Answers]]:
    """The answers of apache2 and of Whimbrel."""
    if not APACHE.present or not os.path.exists(f"{APACHE.module_dir}/mod_lua.so"):
        pytest.skip("no apache2 with mod_lua on this machine: nothing to compare with")
    if find_spec("lupa") is None:
        pytest.skip("lupa is not installed")
    with tempfile.TemporaryDirectory(prefix="whimbrel-lua-") as folder:
        os.chmod(folder, 0o755)
        root = Path(folder, "site")
        documents(root)
        (root / "scripts").mkdir()
        for name, text in SCRIPTS.items():
            (root / "scripts" / name).write_text(text)
        names = [name.replace("/", "-") for name in SECTIONS]
        for name, text in (DOCUMENTS | {name: f"content of {name}\n" for name in names}).items():
            if name != "both":
                (root / "htdocs" / name).write_text(text)
        (root / "htdocs/both").mkdir()
        for name in ("inner", "last", "none"):
            (root / "htdocs/both" / name).write_text("x\n")
        for name in ("inline-named", "inline-late", "inline-text"):
            (root / "htdocs" / name).write_text("x\n")
        htaccess(root, {})
        yield answers(APACHE, root), answers(WHIMBREL, root)


def test_the_same_responses(both: tuple[Answers, Answers]) -> None:
    apache, ours = (each.responses for each in both)
    different = {key: (apache[key], ours[key]) for key in apache if apache[key] != ours[key]}
    assert len(apache) > 60 and not different


def test_the_same_lines_in_the_error_log(both: tuple[Answers, Answers]) -> None:
    apache, ours = both
    assert len(apache.lines) > 300
    assert [line for line in ours.lines if line not in set(apache.lines)] == []
    assert [line for line in apache.lines if line not in set(ours.lines)] == []

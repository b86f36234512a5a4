"""Malformed and ambiguous requests: both servers send the same bytes, the same number of responses, and end
the connection alike.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.differential.raw_exchange import exchange
from tests.differential.raw_requests import FRAMING, HEADS, LINES
from tests.differential.servers import APACHE, WHIMBREL, Program
from tests.differential.site import GeneratedSite, ServerProcess, documents, htaccess

CONF = """HttpProtocolOptions {mode}
LoadModule cgi_module %MODULES%/mod_cgi.so
LoadModule rewrite_module %MODULES%/mod_rewrite.so
RedirectMatch ^/r/(.*) http://localhost/x$1
RewriteEngine On
RewriteRule ^/rw/(.*) http://localhost/y$1 [R]
SetEnvIf X-Echo (.*) X-Echo=$1
KeepAliveTimeout 400ms
Timeout 3
<Directory "%ROOT%">
    Require all granted
    Options +ExecCGI
    AddHandler cgi-script .cgi
</Directory>
<Location /den>
    Require all denied
</Location>
<Location /h>
    Header set X-Back "%{{X-Echo}}e"
</Location>
"""
COUNT = """#!/bin/sh
printf 'Content-Type: text/plain\\r\\n\\r\\n%d|' "$(wc -c)"
"""
MODES = ("Strict", "Unsafe")
Answers = dict[str, str]


def comparable(data: bytes, port: int) -> str:
    """Return a response without the parts that may differ: identity, time, order of a hash, framing of a
    program's output.
    """
    shown = data.decode("latin-1").replace(str(port), "PORT")
    shown = re.sub(r"(Date|Last-Modified|ETag|Server): .*?\r\n", "", shown)
    shown = re.sub(
        r"Allow: (.*?)\r", lambda found: "Allow: " + ",".join(sorted(found[1].split(","))) + "\r", shown
    )
    shown = re.sub(
        r"Transfer-Encoding: chunked\r\n((?:[^\r]+\r\n)*)\r\n2\r\n(\d\|)\r\n0\r\n\r\n", r"\1\r\n\2", shown
    )
    return re.sub(r"Content-Length: 2\r\n((?:[^\r]+\r\n)*)\r\n(\d\|)", r"\1\r\n\2", shown)


def asked(program: Program, mode: str, root: Path) -> Answers:
    """Return the responses of *program* to all requests."""
    conf = CONF.format(mode=mode).replace("%MODULES%", program.module_dir)
    with ServerProcess(program, GeneratedSite(conf), root) as running, ThreadPoolExecutor(8) as pool:
        assert running.started, running.output
        found = {
            name: pool.submit(exchange, running.port, text.encode("latin-1"))
            for name, text in {**FRAMING, **HEADS, **LINES}.items()
        }
        return {name: comparable(one.result(), running.port) for name, one in found.items()}


@pytest.fixture(scope="module")
def answers() -> Iterator[dict[str, tuple[Answers, Answers]]]:
    """By mode, what both servers answered; both run at the same time on one document root."""
    if not APACHE.present:
        pytest.skip("no apache2 on this machine: nothing to compare with")
    with tempfile.TemporaryDirectory(prefix="whimbrel-raw-") as folder:
        os.chmod(folder, 0o755)
        root = Path(folder, "site")
        documents(root)
        (root / "htdocs/h").write_text("h\n")
        (root / "htdocs/d").mkdir()
        htaccess(root, {})
        (root / "htdocs/e.cgi").write_text(COUNT)
        (root / "htdocs/e.cgi").chmod(0o755)
        with ThreadPoolExecutor() as pool:  # most of the time is waiting for the ends of connections
            found = {
                mode: (pool.submit(asked, APACHE, mode, root), pool.submit(asked, WHIMBREL, mode, root))
                for mode in MODES
            }
        yield {mode: (want.result(), got.result()) for mode, (want, got) in found.items()}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", [*FRAMING, *HEADS, *LINES])
def test_the_same_answers(answers: dict[str, tuple[Answers, Answers]], mode: str, name: str) -> None:
    want, got = (found[name] for found in answers[mode])
    assert got == want

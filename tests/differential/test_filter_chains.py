"""Random chains of output filters: Whimbrel responds as apache2, and its response cache as Whimbrel.

WHIMBREL_FILTER_ROUNDS: the number of pairs of servers; WHIMBREL_FILTER_SEED: the seed of the first.
"""

from __future__ import annotations

import http.client
import os
import random
import re
import tempfile
import zlib
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from tests.differential import exchange as wire
from tests.differential.exchange import Answer, Request
from tests.differential.filter_sites import MODULES, FilterSites, write_documents
from tests.differential.servers import APACHE, WHIMBREL, Program
from tests.differential.site import GeneratedSite, ServerProcess, documents, htaccess

ROUNDS: Final = int(os.environ.get("WHIMBREL_FILTER_ROUNDS", "1"))
SEED: Final = int(os.environ.get("WHIMBREL_FILTER_SEED", "1"))
HOSTS: Final = 12
REQUESTS: Final = 40
BASE: Final = """ServerSignature Off
ScriptSock %BASE%/cgisock
AddHandler cgi-script .cgi
AddType text/html .shtml
AddType image/png .png
ExtFilterDefine UPPER cmd="/usr/bin/tr a-z A-Z"
<Directory "%BASE%">
Require all granted
Options Includes ExecCGI Indexes FollowSymLinks
AllowOverride All
Substitute s/foo/baz/
OutputSed "s/line/LINE/"
</Directory>
DirectoryIndex index.html
"""
Exchanges = list[tuple[Request, Answer]]


class GeneratedHosts:
    """The virtual hosts of one round, with their .htaccess files and requests."""

    def __init__(self, seed: int, root: Path) -> None:
        chance = random.Random(seed)
        sites = FilterSites(chance)
        text = "".join(f"LoadModule {m}_module %MODULES%/mod_{m}.so\n" for m in MODULES.split()) + BASE
        self.hosts: dict[str, str] = {}
        self.requests: list[Request] = []
        for number in range(HOSTS):
            name, folder = f"h{number}.test", root / "htdocs" / f"h{number}"
            write_documents(folder)
            own = sites.host()
            for where in ("", "d/", "e/"):
                if local := sites.htaccess():
                    (folder / where / ".htaccess").write_text(local)
                    own += f"\n# {where}.htaccess:\n# " + local.replace("\n", "\n# ")
            self.hosts[name] = own
            own = own.replace("%SITE%", str(folder))
            text += f"<VirtualHost 127.0.0.1:%PORT%>\nServerName {name}\nDocumentRoot {folder}\n"
            text += f"{own}\n</VirtualHost>\n"
            self.requests += [sites.request(name) for _ in range(REQUESTS)]
        self.text = text

    def drop(self, line: int) -> None:
        """Remove the virtual host at *line* of the text behind the preamble."""
        lines = self.text.splitlines()
        first = max(n for n in range(line) if lines[n].startswith("<VirtualHost"))
        last = min(n for n in range(line - 1, len(lines)) if lines[n].startswith("</VirtualHost"))
        name = lines[first + 1].split()[1]
        self.text = "\n".join(lines[:first] + lines[last + 1 :]) + "\n"
        self.requests = [r for r in self.requests if r.headers["Host"] != name]

    def site(self, program: Program) -> GeneratedSite:
        """Return the site as *program* loads it."""
        return GeneratedSite(self.text.replace("%MODULES%", program.module_dir))


def start_apache(hosts: GeneratedHosts, root: Path, stack: ExitStack) -> ServerProcess:
    """Return apache2 with those of *hosts* that it accepts."""
    while True:
        server = ServerProcess(APACHE, hosts.site(APACHE), root)
        stack.enter_context(server)
        if server.started:
            return server
        found = re.search(r"on line (\d+) of %CONF%", server.output)
        assert found, server.output
        hosts.drop(int(found[1]) - server.conf.read_text().count("\n") + hosts.text.count("\n"))


def exchange(port: int, request: Request) -> Answer:
    """Return the response; status 0 if a filter of the type PROTOCOL has changed the head itself."""
    try:
        return wire.exchange(port, request)
    except http.client.HTTPException:
        return Answer(0, "", (), "")


def masked(answer: Answer) -> Answer:
    """Return *answer* with decoded body, and without what depends on the time or on the compressor."""
    fields = dict(answer.headers)
    body = answer.body.encode("latin-1")
    coded = "gzip" in fields.get("content-encoding", "") or body[:2] == b"\x1f\x8b"
    if coded and answer.status == 200:
        try:
            body = b"(gzip)" + zlib.decompressobj(31).decompress(body)
        except zlib.error:
            coded = False
    drop = {"content-length", "content-md5"} if coded else set()
    if "x-cgi" in fields:  # the framing depends on the time at which the program ends
        drop |= {"content-length", "transfer-encoding"}
    headers = tuple(
        (n, re.sub(r"\d\d:\d\d:\d\d", "", v) if n == "expires" else v)
        for n, v in answer.headers
        if n not in drop
    )
    return replace(answer, headers=headers, body=body.decode("latin-1"))


def compared(answer: Answer, *, exact: bool) -> Answer:
    return answer if exact else masked(answer)


def ask_first(port: int, requests: list[Request]) -> Exchanges:
    """Return the requests, with entity tags of earlier responses filled in, and their responses."""
    tags: dict[tuple[str, str], str] = {}
    out: Exchanges = []
    for request in requests:
        place = (request.headers["Host"], request.path)
        tag = tags.get(place, '"none"')
        filled = replace(request, headers={n: v.replace("%ETAG%", tag) for n, v in request.headers.items()})
        answer = exchange(port, filled)
        out.append((filled, answer))
        tags[place] = dict(answer.headers).get("etag", tag)
    return out


def differences(seed: int) -> list[str]:
    """Return the differences of one round."""
    with tempfile.TemporaryDirectory(prefix="whimbrel-filters-") as folder:
        os.chmod(folder, 0o755)
        root = Path(folder, "site")
        documents(root)
        hosts = GeneratedHosts(seed, root)
        htaccess(root, {})
        for script in (*root.glob("htdocs/*/c.cgi"), *root.glob("htdocs/*/ssi.shtml")):
            script.chmod(0o755)
        with ExitStack() as stack:
            apache = start_apache(hosts, root, stack)
            expected = ask_first(apache.port, hosts.requests)
        with ServerProcess(WHIMBREL, hosts.site(WHIMBREL), root) as server:
            assert server.started, f"{seed}: {server.output}"
            once = [(exchange(server.port, r), exchange(server.port, r)) for r, _ in expected]
            again = [exchange(server.port, r) for r, _ in expected]
    out = []
    for (request, want), (got, second), third in zip(expected, once, again, strict=True):
        for label, left, right in (("apache2", want, got), ("second", got, second), ("third", got, third)):
            exact = label != "apache2"
            a, b = masked(left), masked(right)
            if "x-cgi" in dict(a.headers) and (request.method == "HEAD" or "Range" in request.headers):
                continue
            if a != b or (exact and left.body != right.body):
                out.append(describe(seed, label, request, a, b, hosts.hosts[request.headers["Host"]]))
    return out


def describe(seed: int, label: str, request: Request, want: Answer, got: Answer, text: str) -> str:
    lost, added = set(want.headers) - set(got.headers), set(got.headers) - set(want.headers)
    parts = [f"=== seed {seed} {label} {request.method} {request.path} {request.version} {request.headers}"]
    if want.status != got.status:
        parts.append(f"status {want.status} / {got.status}")
    if lost or added:
        parts.append(f"fields {sorted(lost)} / {sorted(added)}")
    if want.body != got.body:
        parts.append(f"body {len(want.body)} {want.body[:80]!r} / {len(got.body)} {got.body[:80]!r}")
    parts.append(f"status {want.status}\n{text}\n")
    return "\n".join(parts)


@pytest.fixture(scope="module", autouse=True)
def _apache() -> None:
    if not APACHE.present:
        pytest.skip("no apache2 on this machine: nothing to compare with")


@pytest.mark.parametrize("seed", range(SEED, SEED + ROUNDS))
def test_whimbrel_filters_as_apache(seed: int) -> None:
    found = differences(seed)
    assert not found, f"{len(found)} differences\n" + "\n".join(found)

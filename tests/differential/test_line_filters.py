"""Sed scripts and Substitute patterns on apache2 and on Whimbrel: bodies and framing must be the same."""

from __future__ import annotations

import http.client
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.differential.servers import APACHE, WHIMBREL, Program
from tests.differential.site import GeneratedSite, ServerProcess, documents, htaccess
from tests.support.samples import amount
from tests.support.sed_scripts import DOCUMENTS, INSERTED, sed_scripts

SLOW: Final = ("s/x*/-/",)
"""httpd takes a second to fail: it replaces the empty match at one place until memory ends."""
SLOW_NAMES: Final = amount(1, 2)
SUBSTITUTIONS: Final = (
    ("s/o/0/",),
    ("s/^a/X/",),
    SLOW,
    ("s/\\n$/N/",),
    ("s/[^x]+/R/",),
    ("s/foo|bar/[$0]/i",),
    ("s/foo/bar/n", "s/bar (.)/$1$1/", "s/a$/Z/"),
    ("s/foo/bar/q", "s/bar/baz/", "s/z /Z_/"),
    ("s/foo line/x/", "s/\\w+/<$0>/"),
    ("s/short/a longer line/n", "s/line/LINE/"),
)
SIZES: Final = (1, 100, 7_999, 8_000, 8_001, 65_535, 65_536, 70_000, 262_144, amount(300_000, 1_000_000))
SED_SIZES: Final = ("s/short/longer/", "p", "2q")
Response = tuple[int, str | None, str | None, bytes]


def sized_documents() -> dict[str, bytes]:
    """Return documents of lines, and of one line without an end, by size."""
    out = {f"lines{size}.txt": (b"short line\n" * (size // 11 + 1))[:size] for size in SIZES}
    return out | {f"one{size}.txt": b"x" * (size - 1) + b"s" for size in SIZES}


def configuration() -> str:
    lines = ["LoadModule sed_module %MODULES%/mod_sed.so", "LoadModule filter_module %MODULES%/mod_filter.so"]
    lines += ["LoadModule substitute_module %MODULES%/mod_substitute.so"]
    lines += ['<Directory "%ROOT%">', "Require all granted", "</Directory>"]

    def add(name: str, filter_: str, text: str) -> None:
        lines.extend((f'Alias "/{name}/" "%ROOT%/"', f'<Location "/{name}/">', f"SetOutputFilter {filter_}"))
        lines.extend((text.strip(), "</Location>"))

    for number, script in enumerate(sed_scripts()):
        add(f"sed{number}", "Sed", script.directives.replace("@/", "%BASE%/"))
    for number, text in enumerate(SED_SIZES):
        add(f"sized{number}", "Sed", f'OutputSed "{text}"')
    for number, patterns in enumerate(SUBSTITUTIONS):
        quoted = (pattern.replace("\\", "\\\\") for pattern in patterns)
        add(f"sub{number}", "SUBSTITUTE", "\n".join(f'Substitute "{pattern}"' for pattern in quoted))
    return "\n".join(lines) + "\n"


def requests() -> list[tuple[str, str]]:
    """Return methods and paths."""
    paths = [f"/sed{n}/{name}" for n in range(len(sed_scripts())) for name in DOCUMENTS]
    names = [*DOCUMENTS, *sized_documents()]
    paths += [
        f"/sub{n}/{name}"
        for n, patterns in enumerate(SUBSTITUTIONS)
        for name in (names[:SLOW_NAMES] if patterns == SLOW else names)
    ]
    paths += [f"/sized{n}/{name}" for n in range(len(SED_SIZES)) for name in sized_documents()]
    heads = [("HEAD", f"/{kind}/a.txt") for kind in ("sed0", "sub0")]
    return [("GET", path) for path in paths] + heads


def answers(program: Program, root: Path) -> dict[tuple[str, str], Response]:
    site = GeneratedSite(configuration().replace("%MODULES%", program.module_dir))
    with ServerProcess(program, site, root) as server:
        assert server.started, server.output
        client = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
        out = {}
        for method, path in requests():
            client.request(method, path)
            response = client.getresponse()
            body = response.read() if response.status == 200 else response.read()[:0]
            framing = response.getheader("Transfer-Encoding")
            length = response.getheader("Content-Length") if response.status == 200 else None
            out[method, path] = (response.status, length, framing, body)
        client.close()
        return out


@pytest.fixture(scope="module")
def both() -> Iterator[tuple[dict[tuple[str, str], Response], dict[tuple[str, str], Response]]]:
    """The answers of apache2 and of Whimbrel."""
    if not APACHE.present:
        pytest.skip("no apache2 on this machine: nothing to compare with")
    with (
        tempfile.TemporaryDirectory(prefix="whimbrel-lines-") as folder,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("NL", "\n")
        os.chmod(folder, 0o755)
        root = Path(folder, "site")
        documents(root)
        for name, text in DOCUMENTS.items():
            (root / "htdocs" / name).write_bytes(text.encode("latin-1"))
        for name, data in sized_documents().items():
            (root / "htdocs" / name).write_bytes(data)
        (root / "ins.txt").write_text(INSERTED)
        htaccess(root, {})
        yield answers(APACHE, root), answers(WHIMBREL, root)


@pytest.mark.parametrize("kind", ["sed", "sub", "sized"])
def test_the_same_answers(
    both: tuple[dict[tuple[str, str], Response], dict[tuple[str, str], Response]], kind: str
) -> None:
    apache, ours = both
    asked = [key for key in apache if key[1].startswith(f"/{kind}")]
    assert len(asked) > 50
    different = [
        f"{key}: {apache[key][:3]} {apache[key][3][:60]!r} / {ours[key][:3]} {ours[key][3][:60]!r}"
        for key in asked
        if apache[key] != ours[key]
    ]
    assert not different, "\n".join(different[:40])

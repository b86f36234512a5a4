"""Documents read in pieces and pages sent as a stream: the bytes of one piece, in bounded memory."""

from __future__ import annotations

import random
import tracemalloc
from pathlib import Path

import pytest
from tests.support.client import decoded_body, error_log, fetch
from tests.support.scripts import build_cgi_engine

from whimbrel.modules.filters.mod_include import MAX_IN_MEMORY
from whimbrel.modules.filters.mod_include.document import beginning, pieces
from whimbrel.modules.filters.mod_include.page import MAX_GATHERED

CONF = """LoadModule include_module modules/mod_include.so
<Directory "@/htdocs">
Options +Includes +ExecCGI
AddHandler cgi-script .cgi
AddType text/html .shtml
AddOutputFilter INCLUDES .shtml
</Directory>
<Files parsed.cgi>
SetOutputFilter INCLUDES
</Files>
"""
FLOOD = "#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\n'\nhead -c {size} /dev/zero | tr '\\0' x\n"
LARGE = 3 * MAX_GATHERED


def test_a_document_in_pieces_is_the_same() -> None:
    """Text and elements are those of the whole document, wherever it is cut."""
    choice = random.Random(5)
    for _ in range(300):
        text = "".join(
            choice.choice(("<!--#", "-->", "echo ", "var=", '"', "a", "<!-", "-", "\n", "<"))
            for _ in range(30)
        ).encode()
        rest, found = b"", []
        for start in range(0, len(text), 7):
            more, rest = beginning(rest + text[start : start + 7], "<!--#", "-->", last=False)
            found += more
        found += beginning(rest, "<!--#", "-->", last=True)[0]
        assert _joined(found) == _joined(list(pieces(text, "<!--#", "-->")))


def _joined(found: list[object]) -> list[object]:
    """Join neighbouring texts."""
    out: list[object] = []
    for piece in found:
        if isinstance(piece, bytes) and out and isinstance(out[-1], bytes):
            out[-1] += piece
        else:
            out.append(piece)
    return out


@pytest.mark.parametrize(
    "element",
    [
        '<!--#include virtual="/flood.cgi" -->',
        '<!--#include virtual="/outer.shtml" -->',
        '<!--#exec cmd="./flood.cgi | tail -n +3" -->',
        '<!--#exec cgi="/flood.cgi" -->',
        '<!--#include virtual="/flood.cgi" virtual="/a.txt" --><!--#echo var="none" -->',
    ],
)
def test_long_output_keeps_its_place(element: str, tmp_path: Path) -> None:
    files = {
        "flood.cgi": FLOOD.format(size=LARGE),
        "page.shtml": f'a<!--#set var="v" value="1" -->{element}b<!--#echo var="v" -->',
        "a.txt": "A",
        "outer.shtml": '<!--#include virtual="/flood.cgi" --><!--#set var="v" value="2" -->',
    }
    reply = fetch(build_cgi_engine(tmp_path, files, CONF), "/page.shtml")
    tail = {"/outer": "b2", 'virtual="/a.txt"': "A(none)b1"}
    expected = "a" + "x" * LARGE + next((value for key, value in tail.items() if key in element), "b1")
    assert decoded_body(reply) == expected


def test_memory_of_an_endless_part(tmp_path: Path) -> None:
    """HEAD: all programs of the page run to their end; their output is discarded."""
    files = {
        "flood.cgi": FLOOD.format(size=200_000_000),
        "page.shtml": 'a<!--#include virtual="/flood.cgi" --><!--#include virtual="/last.cgi" -->b',
        "last.cgi": "#!/bin/sh\necho ran >&2\nprintf 'Content-Type: text/plain\\n\\n'\n",
    }
    serving = build_cgi_engine(tmp_path, files, CONF + "TimeOut 20\n")
    tracemalloc.start()
    try:
        assert fetch(serving, "/page.shtml", method="HEAD").status == 200
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 << 20
    assert "AH01215" in error_log(serving) or "ran" not in error_log(serving)


@pytest.mark.parametrize("size", [MAX_IN_MEMORY - 100, MAX_IN_MEMORY * 2, MAX_GATHERED * 2])
def test_a_long_document_is_parsed_as_it_comes(size: int, tmp_path: Path) -> None:
    line = '<!--#set var="n" value="y" -->' + "t" * 1000 + '<!--#echo var="n" -->\n'
    count = size // len(line)
    text = f"#!/bin/sh\nprintf 'Content-Type: text/html\\n\\n'\ncat {tmp_path}/htdocs/data\n"
    files = {"parsed.cgi": text, "data": line * count, "page.shtml": line * count}
    serving = build_cgi_engine(tmp_path, files, CONF)
    expected = ("t" * 1000 + "y\n") * count
    assert decoded_body(fetch(serving, "/page.shtml")) == expected
    assert decoded_body(fetch(serving, "/parsed.cgi")) == expected


def test_cached_documents_are_bounded(tmp_path: Path) -> None:
    """Every document differs: at most 4 MB of them stay in memory."""
    text = (
        "#!/bin/sh\nprintf 'Content-Type: text/html\\n\\n'\necho $QUERY_STRING\n"
        f"head -c {MAX_IN_MEMORY - 4096} /dev/zero\n"
    )
    serving = build_cgi_engine(tmp_path, {"parsed.cgi": text}, CONF)
    for number in range(20):
        fetch(serving, f"/parsed.cgi?{number}=")
    cache = serving.plans.root(serving.main).notes["include documents"]
    assert 0 < sum(map(len, cache)) <= 4 << 20

"""Debian's stock configuration answers under Whimbrel as under apache2: all default modules, and filters by
type and smart filters in place of mod_deflate.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.differential.servers import APACHE, WHIMBREL
from tests.differential.stock_site import STOCK, StockServer, write_documents
from whimbrel.modules import ALL

CLOSE = "Host: localhost\nConnection: close"
GZIP = f"{CLOSE}\nAccept-Encoding: gzip"
NAMES = ("index.html", "style.css", "code.js", "pixel.png", "words.txt", "tiny.txt", "feed.xml")
DATE = "Sun, 13 Sep 2020 12:26:40 GMT"
REQUESTS = (
    f"GET / HTTP/1.1\n{CLOSE}",
    *(f"GET /{name} HTTP/1.1\n{CLOSE}" for name in NAMES),
    *(f"GET /{name} HTTP/1.1\n{GZIP}" for name in NAMES),
    f"HEAD / HTTP/1.1\n{CLOSE}",
    f"HEAD /words.txt HTTP/1.1\n{GZIP}",
    f"HEAD /pixel.png HTTP/1.1\n{GZIP}",
    f"GET /list/ HTTP/1.1\n{CLOSE}",
    f"GET /list/?C=M;O=D HTTP/1.1\n{GZIP}",
    f"GET /list HTTP/1.1\n{CLOSE}",
    f"GET /icons/ HTTP/1.1\n{CLOSE}",
    f"GET /icons/text.gif HTTP/1.1\n{GZIP}",
    f"GET /manual/ HTTP/1.1\n{CLOSE}",
    f"GET /cgi-bin/x HTTP/1.1\n{CLOSE}",
    f"GET /none HTTP/1.1\n{CLOSE}",
    f"GET /none HTTP/1.1\n{GZIP}",
    f"GET /.htpasswd HTTP/1.1\n{CLOSE}",
    f"GET /words.txt HTTP/1.1\n{CLOSE}\nRange: bytes=3-9",
    f"GET /words.txt HTTP/1.1\n{GZIP}\nRange: bytes=3-9",
    f"GET /pixel.png HTTP/1.1\n{CLOSE}\nRange: bytes=0-1,5-6,99999-",
    f"GET /words.txt HTTP/1.1\n{CLOSE}\nRange: bytes=99999-",
    f"GET /words.txt HTTP/1.1\n{CLOSE}\nIf-Modified-Since: {DATE}",
    f"GET /words.txt HTTP/1.1\n{GZIP}\nIf-Modified-Since: {DATE}",
    f"GET /words.txt HTTP/1.1\n{CLOSE}\nIf-None-Match: *",
    f'GET /words.txt HTTP/1.1\n{GZIP}\nIf-Match: "x"',
    f"OPTIONS / HTTP/1.1\n{CLOSE}",
    f"OPTIONS * HTTP/1.1\n{CLOSE}",
    f"TRACE / HTTP/1.1\n{CLOSE}",
    f"POST /words.txt HTTP/1.1\n{CLOSE}\nContent-Length: 0",
    f"DELETE /words.txt HTTP/1.1\n{CLOSE}",
    f"BREW /words.txt HTTP/1.1\n{CLOSE}",
    "GET / HTTP/1.0",
    "GET / HTTP/1.0\nAccept-Encoding: gzip",
    "GET / HTTP/1.1\nConnection: close",
    f"GET /%00 HTTP/1.1\n{CLOSE}",
    f"GET /../../etc/passwd HTTP/1.1\n{CLOSE}",
    f"GET / HTTP/1.1\n{CLOSE}\nbad field: x",
    "GET /x y z",
)
STATUS = f"GET /server-status HTTP/1.1\n{CLOSE}"
SMART = """
LoadModule case_filter_module /usr/lib/apache2/modules/mod_case_filter.so
AddOutputFilterByType CASEFILTER text/html text/plain
<Location /list>
    FilterDeclare shout CONTENT_SET
    FilterProvider shout CASEFILTER "%{HTTP:X-Shout} == 'yes' || %{REQUEST_URI} =~ /one/"
    FilterProtocol shout CASEFILTER change=yes,cache=no
    FilterChain =shout
</Location>
<Location /style.css>
    SetOutputFilter CASEFILTER
</Location>
<Location /code.js>
    FilterProvider calm CASEFILTER true
    FilterProtocol calm byteranges=no
    FilterProtocol calm CASEFILTER change=no,byteranges=no
    FilterChain calm
</Location>
"""
SMART_REQUESTS = (
    *REQUESTS,
    f"GET /list/two.html HTTP/1.1\n{CLOSE}\nX-Shout: yes",
    f"GET /list/two.html HTTP/1.1\n{CLOSE}\nX-Shout: no",
    f"GET /list/one.txt HTTP/1.1\n{CLOSE}\nRange: bytes=0-0",
    f"GET /code.js HTTP/1.1\n{CLOSE}\nRange: bytes=0-5",
    f"GET /style.css HTTP/1.1\n{CLOSE}\nRange: bytes=0-5",
)
pytestmark = [
    pytest.mark.skipif(not APACHE.present, reason="apache2 is not installed"),
    pytest.mark.skipif(
        not (STOCK / "mods-enabled").is_dir(), reason="there is no Debian tree in /etc/apache2"
    ),
]
Pair = tuple[StockServer, StockServer]


def _pair(extra: str = "", without: tuple[str, ...] = ()) -> Iterator[Pair]:
    """Yield both servers on the same documents."""
    with tempfile.TemporaryDirectory() as name:
        base = Path(name)
        write_documents(base)
        with (
            StockServer(APACHE, base, extra, without) as apache,
            StockServer(WHIMBREL, base, extra, without) as whimbrel,
        ):
            assert (apache.started, apache.output) == (True, "")
            assert (whimbrel.started, whimbrel.output) == (True, "")
            yield apache, whimbrel


@pytest.fixture(scope="module")
def stock() -> Iterator[Pair]:
    """The stock configuration."""
    if "mod_deflate" not in ALL:
        pytest.skip("mod_deflate has no behaviour here")
    yield from _pair()


@pytest.fixture(scope="module")
def smart() -> Iterator[Pair]:
    """The stock configuration with mod_case_filter in place of mod_deflate."""
    if not Path("/usr/lib/apache2/modules/mod_case_filter.so").exists():
        pytest.skip("apache2 has no mod_case_filter")
    yield from _pair(SMART, without=("deflate",))


@pytest.mark.parametrize("request_text", REQUESTS, ids=lambda text: repr(text.replace(CLOSE, "").strip()))
def test_the_stock_site_answers_alike(stock: Pair, request_text: str) -> None:
    apache, whimbrel = stock
    assert whimbrel.ask(request_text) == apache.ask(request_text)


@pytest.mark.parametrize(
    "request_text", SMART_REQUESTS, ids=lambda text: repr(text.replace(CLOSE, "").strip())
)
def test_smart_filters_answer_alike(smart: Pair, request_text: str) -> None:
    apache, whimbrel = smart
    for _ in range(3):  # the third response of Whimbrel comes from its cache
        assert whimbrel.ask(request_text) == apache.ask(request_text)


def test_server_status_is_served_to_the_host_itself(smart: Pair) -> None:
    replies = [server.ask(STATUS) for server in smart]
    assert [reply[0] for reply in replies] == ["HTTP/1.1 200 OK"] * 2
    assert [b"Server Status for localhost" in reply[2] for reply in replies] == [False] * 2  # upper case
    assert [b"SERVER STATUS FOR LOCALHOST" in reply[2].upper() for reply in replies] == [True] * 2

"""Raw requests that servers have read differently, and that other servers have been smuggled through: by
name, one character per byte.

Most send a second request behind the first, so that it shows where the first is thought to end.
"""

from __future__ import annotations

from typing import Final

NEXT: Final = "GET /a.txt HTTP/1.1\r\nHost: localhost\r\n\r\n"


# The end of a body.
FRAMING: Final[dict[str, str]] = {
    "cl+te": (
        "POST /e.cgi HTTP/1.1\r\nHost: localhost\r\nContent-Length: 6\r\n"
        "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    )
    + NEXT,
    "te-x-chunked": (
        "POST /e.cgi HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: x, chunked\r\n\r\n0\r\n\r\n"
    )
    + NEXT,
    "te-chunked-x": (
        "POST /e.cgi HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n"
    ),
    "te-vtab": "POST /e.cgi HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n",
    "te-2": (
        "POST /e.cgi HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n"
        "Transfer-Encoding: identity\r\n\r\n0\r\n\r\n"
    ),
    "te-2b": (
        "POST /e.cgi HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: identity\r\n"
        "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    )
    + NEXT,
    "te-10": (
        "POST /a.txt HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\n"
        "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    )
    + NEXT,
    "dup-cl": "POST /e.cgi HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc"
    + NEXT,
    "dup-cl2": (
        "POST /e.cgi HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nContent-Length: 5\r\n\r\nabcde"
    ),
    "cl-list": "POST /e.cgi HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3, 3\r\n\r\nabc",
    "cl-neg": "POST /e.cgi HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\nabc",
    "cl-plus": "POST /e.cgi HTTP/1.1\r\nHost: localhost\r\nContent-Length: +3\r\n\r\nabc",
    "cl-hex": "POST /e.cgi HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0x3\r\n\r\nabc",
    "cl-sp": "POST /e.cgi HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3 \r\n\r\nabc" + NEXT,
    "cl-big": "POST /e.cgi HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999\r\n\r\nabc",
    "cl-empty": "POST /e.cgi HTTP/1.1\r\nHost: localhost\r\nContent-Length:\r\n\r\nabc",
    "chunk-hex": (
        "POST /e.cgi HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0x3\r\nabc\r\n0\r\n\r\n"
    ),
    "chunk-sp": (
        "POST /e.cgi HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n3 \r\nabc\r\n0\r\n\r\n"
    )
    + NEXT,
    "chunk-lsp": (
        "POST /e.cgi HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n 3\r\nabc\r\n0\r\n\r\n"
    ),
    "chunk-ext": (
        'POST /e.cgi HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n3;a="b;"\r\n'
        "abc\r\n0;z\r\nT: u\r\n\r\n"
    )
    + NEXT,
    "chunk-ext-lf": (
        "POST /e.cgi HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n3;\nabc\r\n0\r\n\r\n"
    ),
    "chunk-lf": "POST /e.cgi HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n3\nabc\n0\n\n"
    + NEXT,
    "chunk-neg": (
        "POST /e.cgi HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n-3\r\nabc\r\n0\r\n\r\n"
    ),
    "chunk-huge": (
        "POST /e.cgi HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
        "ffffffffffffffff1\r\nabc\r\n0\r\n\r\n"
    ),
    "chunk-long": (
        "POST /e.cgi HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc\r\n0\r\n\r\n"
    ),
    "chunk-short": (
        "POST /e.cgi HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n0\r\n\r\n"
    )
    + NEXT,
    "chunk-zeros": (
        "POST /e.cgi HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
        "0000003\r\nabc\r\n000\r\n\r\n"
    )
    + NEXT,
    "chunk-empty": (
        "POST /e.cgi HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n\r\nabc\r\n0\r\n\r\n"
    ),
    "chunk-static": (
        "POST /a.txt HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n0\r\n\r\n"
    )
    + NEXT,
    "chunk-get": "GET /a.txt HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n" + NEXT,
    "chunk-404": (
        "POST /nope HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
    )
    + NEXT,
    "chunk-404bad": "POST /nope HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nq\r\n"
    + NEXT,
    "trailer-bad": (
        "POST /e.cgi HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n"
        "abc\r\n0\r\nbad\r\n\r\n"
    )
    + NEXT,
    "trailer-cl": (
        "POST /e.cgi HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n"
        "abc\r\n0\r\nContent-Length: 5\r\n\r\n"
    )
    + NEXT,
    "expect-bad": "POST /e.cgi HTTP/1.1\r\nHost: localhost\r\nExpect: wat\r\nContent-Length: 3\r\n\r\nabc",
    "expect-pipe": (
        "POST /nope HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc"
    )
    + NEXT,
    "conn-cl": (
        "POST /e.cgi HTTP/1.1\r\nHost: localhost\r\nConnection: Content-Length\r\n"
        "Content-Length: 3\r\n\r\nabc"
    )
    + NEXT,
    "head-body": "HEAD /a.txt HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc" + NEXT,
    "get-body": "GET /a.txt HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc" + NEXT,
    "trace-body": "TRACE / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc" + NEXT,
    "chunk-403bad": "POST /den HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nq\r\n" + NEXT,
    "chunk-redir": "POST /r/x HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nq\r\n" + NEXT,
    "chunk-403": (
        "POST /den HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
    )
    + NEXT,
    "cl+te-static": (
        "POST /a.txt HTTP/1.1\r\nHost: localhost\r\nContent-Length: 6\r\n"
        "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    )
    + NEXT,
    "cl+te-403": (
        "POST /den HTTP/1.1\r\nHost: localhost\r\nContent-Length: 6\r\n"
        "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    )
    + NEXT,
    "chunk-late": (
        "POST /a.txt HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcXX5\r\n"
    )
    + NEXT,
}


# Header fields.
HEADS: Final[dict[str, str]] = {
    "fold": "GET /a.txt HTTP/1.1\r\nHost: localhost\r\nX-A: b\r\n c\r\nX-B: d\r\n\r\n",
    "fold-te": "POST /e.cgi HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n",
    "fold-first": "GET /a.txt HTTP/1.1\r\n X: y\r\nHost: localhost\r\n\r\n",
    "bare-lf": "GET /a.txt HTTP/1.1\nHost: localhost\n\n",
    "bare-lf-hdr": "GET /a.txt HTTP/1.1\r\nHost: localhost\nX: y\r\n\r\n",
    "bare-cr": "GET /a.txt HTTP/1.1\r\nHost: localhost\rX: y\r\n\r\n",
    "cr-end": "GET /a.txt HTTP/1.1\r\r\nHost: localhost\r\n\r\n",
    "nul-path": "GET /a\x00.txt HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "nul-pct": "GET /a%00.txt HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "nul-hdr": "GET /a.txt HTTP/1.1\r\nHost: localhost\r\nX: a\x00b\r\n\r\n",
    "nul-name": "GET /a.txt HTTP/1.1\r\nHost: localhost\r\nX\x00Y: ab\r\n\r\n",
    "sp-colon": "GET /a.txt HTTP/1.1\r\nHost : localhost\r\n\r\n",
    "sp-colon2": "GET /a.txt HTTP/1.1\r\nHost: localhost\r\nContent-Length : 3\r\n\r\nabc",
    "tab-colon": "GET /a.txt HTTP/1.1\r\nHost: localhost\r\nX\t: 3\r\n\r\n",
    "empty-name": "GET /a.txt HTTP/1.1\r\nHost: localhost\r\n: 3\r\n\r\n",
    "no-colon": "GET /a.txt HTTP/1.1\r\nHost: localhost\r\nabc\r\n\r\n",
    "underscore": "GET /a.txt HTTP/1.1\r\nHost: localhost\r\nContent_Length: 3\r\n\r\nabc",
    "2host": "GET /a.txt HTTP/1.1\r\nHost: localhost\r\nHost: other\r\n\r\n",
    "host-list": "GET /a.txt HTTP/1.1\r\nHost: a, b\r\n\r\n",
    "host-bad": "GET /a.txt HTTP/1.1\r\nHost: a/b\r\n\r\n",
    "host-none": "GET /a.txt HTTP/1.1\r\n\r\n",
    "host-empty": "GET /a.txt HTTP/1.1\r\nHost:\r\n\r\n",
    "host-at": "GET /a.txt HTTP/1.1\r\nHost: a@b\r\n\r\n",
    "host-pct": "GET /a.txt HTTP/1.1\r\nHost: a%20b\r\n\r\n",
    "hdr-inj": "GET /r/%0d%0aSet-Cookie:x=1 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "hdr-inj2": "GET /rw/%0d%0aSet-Cookie:x=1 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "hdr-inj3": "GET /h HTTP/1.1\r\nHost: localhost\r\nX-Echo: a%0d%0ab\r\n\r\n",
    "hdr-inj4": "GET /d%0d%0a HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "hi": "GET /é HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "hi-hdr": "GET /a.txt HTTP/1.1\r\nHost: localhost\r\nX-é: y\r\n\r\n",
    "ctl-hdr": "GET /a.txt HTTP/1.1\r\nHost: localhost\r\nX: a\x01b\r\n\r\n",
    "ctl-path": "GET /a\x01.txt HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "upg": "GET /a.txt HTTP/1.1\r\nHost: localhost\r\nUpgrade: foo\r\nConnection: Upgrade\r\n\r\n",
    "many": "GET /a.txt HTTP/1.1\r\nHost: localhost\r\n"
    + "".join(f"X{n}: y\r\n" for n in range(101))
    + "\r\n",
    "long-hdr": "GET /a.txt HTTP/1.1\r\nHost: localhost\r\nX: " + "y" * 8300 + "\r\n\r\n" + NEXT,
}


# Request lines and targets.
LINES: Final[dict[str, str]] = {
    "plain": "GET /a.txt HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "abs": "GET http://localhost/a.txt HTTP/1.1\r\nHost: x\r\n\r\n",
    "abs-user": "GET http://u:p@localhost/a.txt HTTP/1.1\r\nHost: x\r\n\r\n",
    "trav1": "GET /../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "trav2": "GET /d/..%2f..%2f..%2fetc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "trav3": "GET /d/%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "trav4": "GET /d/.%2e/a.txt HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "trav5": "GET /d/%252e%252e/a.txt HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "trav6": "GET /d/..\\a.txt HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "trav7": "GET /d/%c0%ae%c0%ae/a.txt HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "trav8": "GET /d/%%32%65%%32%65/a.txt HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "trav9": "GET /cgi-bin/.%%32%65/.%%32%65/a.txt HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "trav10": "GET /d/../../htdocs/a.txt HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "trav11": "GET /d/..;/a.txt HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "trav12": "GET //../a.txt HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "pipe-err": "GET /nope HTTP/1.1\r\nHost: localhost\r\n\r\n" + NEXT,
    "pipe-400": "GET /%zz HTTP/1.1\r\nHost: localhost\r\n\r\n" + NEXT,
    "pipe-414": "GET /" + "a" * 9000 + " HTTP/1.1\r\nHost: localhost\r\n\r\n" + NEXT,
    "pipe-crlf": "\r\n\r\nGET /a.txt HTTP/1.1\r\nHost: localhost\r\n\r\n\r\n\r\n" + NEXT,
    "lf-many": "\n\n\n" + NEXT,
    "sp-line": "GET  /a.txt HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "sp-line2": "GET /a.txt  HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "sp-line3": " " + NEXT,
    "sp-line4": "GET /a.txt HTTP/1.1 \r\nHost: localhost\r\n\r\n",
    "tab-line": "GET\t/a.txt\tHTTP/1.1\r\nHost: localhost\r\n\r\n",
    "sp-path": "GET /a .txt HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "ver-low": "GET /a.txt http/1.1\r\nHost: localhost\r\n\r\n",
    "ver-2": "GET /a.txt HTTP/2.0\r\nHost: localhost\r\n\r\n",
    "ver-12": "GET /a.txt HTTP/1.2\r\nHost: localhost\r\n\r\n",
    "ver-111": "GET /a.txt HTTP/1.11\r\nHost: localhost\r\n\r\n",
    "ver-0": "GET /a.txt HTTP/0.9\r\nHost: localhost\r\n\r\n",
    "http09": "GET /a.txt\r\n",
    "http09b": "GET /a.txt\r\nHost: localhost\r\n\r\n",
    "method-bad": "G@T /a.txt HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "method-low": "get /a.txt HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "method-long": "" + "A" * 300 + " /a.txt HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "frag": "GET /a.txt#x HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "pct-bad": "GET /a%2 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "del-path": "GET /a\x7f.txt HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "trace": "TRACE / HTTP/1.1\r\nHost: localhost\r\nX: y\r\n\r\n" + NEXT,
    "options": "OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n" + NEXT,
    "connect": "CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\n\r\n",
}

"""CGI scripts: both servers frame and answer the same outputs alike, and go on with the next request alike.

A part of the requests is sent, with outputs and forms of all kinds; all with WHIMBREL_DIFF_SECONDS set to 60
or more.
"""

from __future__ import annotations

import os
import re

import pytest

from tests.differential.raw_exchange import both, differences
from tests.differential.script_outputs import documents, requests
from tests.support.samples import amount

CONF = """LoadModule {module}_module %MODULES%/mod_{module}.so
<Directory "%ROOT%">
    Options +ExecCGI
    Require all granted
    AddHandler cgi-script .cgi
</Directory>
KeepAliveTimeout 400ms
Timeout 5
"""
EVERY = 1 if int(os.environ.get("WHIMBREL_DIFF_SECONDS", "0")) >= 60 else amount(13, 3)
"""No divisor of it divides the number of forms: they take turns."""
_CHUNKS = re.compile(r"\r\n\r\n((?:[0-9a-f]+\r\n[^\r]*\r\n)+)0\r\n\r\n")
_CHUNK = re.compile(r"[0-9a-f]+\r\n([^\r]*)\r\n")
# The length of this page is that of the page and of the output that it replaces: httpd counts both.
_MISCOUNTED = re.compile(r"(500 Internal Server Error\r\n)Content-Length: (?:5|5\d\d)\r\n")


def mask(reply: str) -> str:
    """Return *reply* with chunked bodies in one piece, and without the length of the page for a bad field."""
    joined = _CHUNKS.sub(lambda found: "\r\n\r\n" + _CHUNK.sub(r"\1", found[1]) + "<END>", reply)
    return _MISCOUNTED.sub(r"\1", joined)


@pytest.mark.parametrize("module", ["cgid", "cgi"])
def test_outputs(module: str) -> None:
    with both(CONF.format(module=module), documents()) as servers:
        sent = dict(list(requests().items())[module == "cgi" :: EVERY])
        assert differences(servers, sent, mask) == {}

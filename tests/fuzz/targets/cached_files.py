"""Files of the disk cache, and magic files: FormatError alone, and fields as they were written.

A cache directory of another server, or a damaged one, may hold any bytes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from whimbrel.http.semantics.headers import Headers
from whimbrel.modules.cache.cache_control import CacheControl
from whimbrel.modules.cache.disk_format import (
    DISK_FORMAT,
    FACTS_SIZE,
    DiskInfo,
    FormatError,
    body_start,
    expiry_of_list,
    format_of,
    key_of,
    pack_header,
    pack_vary,
    unpack_facts,
    unpack_fields,
    unpack_vary,
    variant_key,
)
from whimbrel.modules.support.magic_file import Matcher, parse_rules

COVERED = ("modules/cache/disk_format.py", "modules/support/magic_file.py")
TOKENS = (
    b"\r\n",
    b": ",
    b"0\tbelong\t&0xff00\t>5\ttext/x\n",
    b">1\tstring\t\\x41b\n",
    b"0 leshort x text/%d\n",
    b"!:mime a/b\n",
    b"\n\n",
    b"date",
    b"=",
    b"&",
)


def seeds() -> Sequence[bytes]:
    info = DiskInfo(200, 1, 0, 1 << 50, 0, 0, 1, 2, True, False, CacheControl())
    fields = Headers([("Content-Type", "text/html"), ("X", "y")])
    return [
        pack_header(info, "http://a:80/x?", fields, Headers([("Host", "a")])),
        pack_vary(1 << 50, ["Accept", "Cookie"]),
        b"0\tstring\tGIF8\timage/gif\n0\tbelong\t0xffd8\timage/jpeg\n>4\tbyte\t&1\t\\b; x=%d\n",
        b"0 leshort >0x10 text/%hd\n0 string =\\x00a text\n0 ledate <5 text/%s\n0 string !a text/y\n",
        b"# comment\n\n0\tlong\tx\n>(4\tbyte\t1 x\nbad\n",
    ]


def run(data: bytes) -> None:
    if format_of(data) == DISK_FORMAT or len(data) % 2:
        with contextlib.suppress(FormatError):
            _check_header(data)
    with contextlib.suppress(FormatError):
        _expire, names = unpack_vary(data)
        variant_key(Headers([("Accept", "a")]), names, "k")
        expiry_of_list(data)
    complaints: list[tuple[str, str]] = []
    rules = parse_rules(data[:600].decode("latin-1"), lambda code, text: complaints.append((code, text)))
    for subject in (b"GIF89a", data[:64], b""):
        Matcher(subject, lambda code, text: None).says(rules)


def _check_header(data: bytes) -> None:
    _info, size = unpack_facts(data)
    key_of(data, size)
    response, request, complete = unpack_fields(data, FACTS_SIZE + size)
    assert 0 <= complete <= 2
    assert body_start(data, FACTS_SIZE + size) <= len(data)
    assert response.items() is not None and request.items() is not None

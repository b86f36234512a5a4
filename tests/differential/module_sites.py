"""Random configurations of all built modules, the documents that they serve, and requests for them."""

from __future__ import annotations

import gzip
import os
import random
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from tests.differential import module_blocks, module_pools
from tests.differential.exchange import Request
from tests.differential.module_blocks import AREAS, BLOCKS, BODIES, COOKIES, HOSTS, MORE
from tests.differential.module_pools import DIRECTORY, SECTIONS, SERVER
from tests.differential.pools import ACCESS, CONTAINERS, FILEINFO, INDEXES, OPTIONS, OVERRIDE
from tests.differential.pools import REQUIRE as COMMON_REQUIRE
from tests.differential.pools import SERVER as COMMON_SERVER
from tests.differential.site import DIGESTS, GROUPS, MTIME, PASSWORDS, SECOND, GeneratedSite
from tests.support.dbm_samples import write_sdbm

SSI: Final = (
    '<html><!--#set var="v" value="x$HTTP_X_KEY" --><!--#echo var="v" -->\n<!--#echo var="set" -->\n'
    '<!--#include virtual="a.txt" -->\n<!--#include virtual="/cgi/env.cgi?in" -->\n'
    '<!--#include file="a.html" -->\n'
    "<!--#if expr=\"v('HTTP_X_KEY') == 'k1'\" -->one<!--#elif expr=\"true\" -->two<!--#else -->no"
    "<!--#endif -->\n"
    '<!--#fsize file="a.txt" --> <!--#flastmod virtual="/a.txt" -->\n<!--#echo var="QUERY_STRING" -->\n'
    '<!--#include virtual="/none" -->\n<!--#config errmsg="[bad]" --><!--#include file="/etc/passwd" -->\n'
)
ENVIRONMENT: Final = (
    "#!/bin/sh\nprintf 'Content-Type: text/plain\\nX-Cgi: yes\\n\\n'\n"
    "for n in REQUEST_METHOD REQUEST_URI SCRIPT_NAME PATH_INFO PATH_TRANSLATED QUERY_STRING REMOTE_USER "
    "AUTH_TYPE REDIRECT_STATUS REDIRECT_URL REDIRECT_set set good first two rw HTTP_X_KEY HTTP_RANGE "
    "HTTP_ACCEPT_ENCODING CONTENT_LENGTH CONTENT_TYPE HTTP_SESSION REMOTE_ADDR SERVER_NAME "
    "CONTEXT_PREFIX SCRIPT_FILENAME; do\n"
    'eval "echo $n=\\"\\$$n\\""\ndone\ncat\n'
)
# A program that ends before it has read its input may lose its output: all of them read it.
READ: Final = b"#!/bin/sh\ncat >/dev/null\n"
DOCUMENTS: Final[Mapping[str, bytes]] = {
    "index.html": b"front a\n",
    "a.txt": b"plain a\n",
    "a.html": b"<html><head></head><body><p>a</p><a href='/x'>x</a></body></html>\n",
    "page.shtml": SSI.encode(),
    "inner.shtml": b'<!--#printenv --><!--#exec cmd="echo ran" -->\n<!--#exec cgi="/cgi/env.cgi" -->\n',
    "dir/index.html": b"dir a\n",
    "dir/b.txt": b"b a\n" * 40,
    "dir/sub/c.txt": b"c\n",
    "dir/.web/b.txt.meta": b"X-Meta: yes\nContent-Type: text/x-meta\n",
    "list/one.txt": b"1\n",
    "list/two.html": b"<title>second</title>\n",
    "list/README.html": b"<p>read me</p>\n",
    "list/HEADER.html": b"<p>header</p>\n",
    "list/deep/three.txt": b"3\n",
    "list/v10.txt": b"10",
    "list/v9.txt": b"9" * 3000,
    "cgi/env.cgi": ENVIRONMENT.encode(),
    "cgi/status.cgi": READ + b"printf 'Status: 404 Not Here\\nContent-Type: text/plain\\n\\nnone\\n'\n",
    "cgi/redirect.cgi": READ + b"printf 'Location: /a.txt\\n\\n'\n",
    "cgi/broken.cgi": READ + b"echo no header\n",
    "cgi/long.cgi": READ + b"printf 'Content-Type: text/html\\n\\n'\nseq 1 4000\n",
    "cgi/nph-x.cgi": READ + b"printf 'HTTP/1.0 203 Raw\\r\\nX-N: 1\\r\\n\\r\\nraw'\n",
    "neg/doc.html.de": b"deutsch\n",
    "neg/doc.html.en": b"english\n",
    "neg/doc.html.en.gz": gzip.compress(b"english\n", mtime=1),
    "neg/map.var": b"URI: doc.html.de\nContent-Type: text/html\nContent-Language: de\n\n"
    b"URI: doc.html.en\nContent-Type: text/html; qs=0.5\nContent-Language: en\n",
    "neg/pic.gif": b"GIF89a",
    "neg/pic.png": b"\x89PNG",
    "mix/as.asis": b"Status: 201 Made\nContent-Type: text/plain\nX-As: is\n\nas is\n",
    "mix/m.map": b"base referer\ndefault /a.txt\nrect /dir/ 0,0 10,10\n"
    b'circle nocontent 50,50 60,60 "c"\npoint /list/ 90,90\n',
    "mix/z.txt.gz": gzip.compress(b"zipped a\n" * 20, mtime=1),
    "mix/x.act": b"act\n",
    "mix/latin": b"na\xefve caf\xe9 a\n",
    "mix/utf.html.utf8": "na\u00efve a\n".encode(),
    "mix/noext": b"#!/bin/sh\necho\n",
    "users/user/x.txt": b"home\n",
    "hosts/localhost/a.txt": b"host\n",
    "e/404.shtml": b'<!--#echo var="REDIRECT_URL" --> <!--#echo var="REDIRECT_STATUS" --> a\n',
    "e/err.cgi": READ + b"printf 'Content-Type: text/plain\\n\\n'\n"
    b"echo $REDIRECT_STATUS $REDIRECT_ERROR_NOTES\n",
}
UNSIGNED: Final = tuple(line for line in FILEINFO if "ServerSignature" not in line)  # its length is logged
EXECUTABLE: Final = (".cgi", "a.html")
REQUIRE: Final = COMMON_REQUIRE + module_blocks.REQUIRE
PATHS: Final = module_pools.PATHS + module_blocks.PATHS
PLACES: Final = (".htaccess", "dir/.htaccess", "list/.htaccess", "cgi/.htaccess", "neg/.htaccess")
MAGIC: Final = "0 string GIF image/gif\n0 string \\x89PNG image/png\n0 string # text/x-script\n"


def write_documents(root: Path, htaccess: Mapping[str, str]) -> None:
    """Write the document root that both programs serve, every time stamp the same."""
    files = {f"htdocs/{name}": data for name, data in DOCUMENTS.items()}
    files |= {f"htdocs/{name}": text.encode("latin-1") for name, text in htaccess.items()}
    files["magic"] = MAGIC.encode()
    files["mime.types"] = b"text/html html htm shtml\ntext/plain txt\nimage/gif gif\nimage/png png\n"
    texts = {"passwd": PASSWORDS, "passwd2": SECOND, "digests": DIGESTS, "groups": GROUPS, **MORE}
    files |= {name: text.encode() for name, text in texts.items()}
    for name, data in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    hashes = dict(line.encode().split(b":") for line in PASSWORDS.split())
    write_sdbm(root / "users", *((name, value + b":wardens,both") for name, value in hashes.items()))
    for path in (root, *root.rglob("*")):
        path.chmod(0o755 if path.is_dir() or path.name.endswith(EXECUTABLE) else 0o644)
        os.utime(path, (MTIME, MTIME))


def _body(dice: random.Random, most: int) -> str:
    lines = [
        dice.choice(
            dice.choice((DIRECTORY, DIRECTORY, DIRECTORY, UNSIGNED, INDEXES, OPTIONS, REQUIRE, ACCESS))
        )
        for _ in range(dice.randint(1, most))
    ]
    if dice.random() < 0.1:
        name = dice.choice(CONTAINERS)
        lines.append(f"<{name}>\n" + "\n".join(dice.sample(REQUIRE, 2)) + f"\n</{name}>")
    text = "\n".join(lines)
    if "AuthType" not in text and ("user" in text or "group" in text):
        text = f"{dice.choice(AREAS)}\n{text}"
    return text + "\n"


def random_site(seed: int) -> tuple[GeneratedSite, list[Request]]:
    """Return the site of a seed and the requests for it: all modules, with a few directives of them."""
    dice = random.Random(seed)
    conf = '<Directory "%ROOT%">\n' + dice.choice(("AllowOverride All\n", "", *(f"{o}\n" for o in OVERRIDE)))
    conf += (
        "Require all granted\nOptions Indexes FollowSymLinks ExecCGI Includes\nAddHandler cgi-script .cgi\n"
    )
    conf += "AddOutputFilter INCLUDES .shtml\nAddHandler type-map .var\n</Directory>\n"
    conf += "<Location /status>\nSetHandler server-status\n</Location>\n" if dice.random() < 0.2 else ""
    lines = dice.sample(SERVER, dice.randint(0, 6)) + dice.sample(COMMON_SERVER, dice.randint(0, 2))
    conf += "".join(f"{line}\n" for line in lines)
    conf += "".join(dice.sample(BLOCKS, dice.choice((0, 1, 1, 2))))
    for _ in range(dice.randint(1, 4)):
        opening = dice.choice(SECTIONS)
        conf += f"<{opening}>\n{_body(dice, 4)}</{opening.split()[0]}>\n"
    if dice.random() < 0.2:
        conf += "<VirtualHost *:%PORT%>\nServerName other.example\nDocumentRoot %ROOT%/dir\n"
        conf += f"{_body(dice, 3)}</VirtualHost>\n"
    files = {name: _body(dice, 4) for name in dice.sample(PLACES, dice.choice((0, 0, 1, 2)))}
    return GeneratedSite(conf, files), [_requests(dice) for _ in range(dice.randint(40, 60))]


def _requests(dice: random.Random) -> Request:
    """Return one request, or two or three that share a connection."""
    first, *behind = (_request(dice) for _ in range(dice.choice((1, 1, 1, 1, 1, 2, 3))))
    return replace(first, then=tuple(replace(request, digest=False) for request in behind))


def _request(dice: random.Random) -> Request:
    path = dice.choice(PATHS)
    if dice.random() < 0.3:
        return Request(path)
    if dice.random() < 0.2:
        return _with_body(dice, path)
    fields = {
        "User-Agent": ("Good", "Other"),
        "Referer": ("http://Example.org/",),
        "X-Key": ("k1", "", "a\tb"),
        "Range": ("bytes=0-3", "bytes=-5", "bytes=2-3,5-6", "bytes=900-", "bytes=0-0,2-2,1-1", "lines=1-2"),
        "If-Modified-Since": ("Sun, 13 Sep 2020 12:26:40 GMT", "Sat, 12 Sep 2020 12:26:40 GMT", "junk"),
        "If-Unmodified-Since": ("Sat, 12 Sep 2020 12:26:40 GMT", "Sun, 13 Sep 2020 12:26:40 GMT"),
        "If-None-Match": ("*", '"8-5af3106da4000"', 'W/"8-5af3106da4000"', '"8-5af3106da4000-gzip"'),
        "If-Match": ("*", '"8-5af3106da4000"', '"x"'),
        "If-Range": ('"8-5af3106da4000"', "Sun, 13 Sep 2020 12:26:40 GMT"),
        "Accept-Encoding": ("gzip", "br, gzip", "identity", "gzip;q=0, *"),
        "Accept-Language": ("de", "en;q=0.5, de;q=0.2", "fr", "*;q=0.1"),
        "Accept": ("text/html", "image/png, image/*;q=0.5", "*/*"),
        "Accept-Charset": ("utf-8", "iso-8859-1;q=0.3"),
        "X-Forwarded-For": ("10.1.2.3", "10.1.2.3, 127.0.0.1", "junk"),
        "Cookie": ("s=expiry=9999999999999999&k=v", "Apache=1.2", "tracked=x", *COOKIES),
        "Host": (*HOSTS, "other.example", "LOCALHOST", "www.localhost:1", ""),
        "Expect": ("100-continue",),
        "TE": ("trailers",),
    }
    names = dice.sample(sorted(fields), dice.randint(1, 4))
    method = dice.choice(("GET", "GET", "GET", "HEAD", "POST", "OPTIONS", "DELETE", "TRACE", "FROB", "PUT"))
    return Request(
        path,
        method,
        {name: dice.choice(fields[name]) for name in names},
        dice.choice(("", "", "alice:curlew", "bob:dunlin", "alice:wrong", "eve:x")),
        dice.choice(("127.0.0.1", "127.0.0.2")),
        dice.choice(("HTTP/1.1", "HTTP/1.1", "HTTP/1.1", "HTTP/1.0")),
        digest=dice.random() < 0.1,
    )


def _with_body(dice: random.Random, path: str) -> Request:
    """Return a request with a body: a form, text or bytes."""
    kind, body = dice.choice(BODIES)
    fields = {"Content-Type": kind, "X-Key": "k1"}
    if dice.random() < 0.3:
        at = dice.randint(0, len(body))
        fields["Transfer-Encoding"] = "chunked"
        body = "".join(f"{len(p):x}\r\n{p}\r\n" for p in (body[:at], body[at:]) if p) + "0\r\n\r\n"
    else:
        fields["Content-Length"] = str(len(body))
    if dice.random() < 0.3:
        fields["Cookie"] = dice.choice(COOKIES)
    return Request(path, dice.choice(("POST", "POST", "PUT", "GET")), fields, body=body)

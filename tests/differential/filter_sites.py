"""Random configurations of output filters, the documents that they filter, and requests for them."""

from __future__ import annotations

import gzip
import random
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tests.differential.exchange import Request

MODULES: Final = (
    "deflate filter substitute sed buffer ratelimit expires cgid brotli case_filter data ext_filter"
)
LINES: Final = "".join(f"<p>line {n} of the page, foo and bar</p>\n" for n in range(60))
SSI: Final = (
    "<html>\n<!--#set var='v' value='x'--><!--#echo var='v'-->\n<!--#echo var='HTTP_X_A'-->\n"
    '<!--#include virtual="a.txt"-->\n<!--#include virtual="small.txt"-->\n<!--#fsize file="a.txt"-->\nfoo\n'
)
CGI: Final = (
    "#!/bin/sh\nprintf 'Content-Type: text/html\\nETag: \"cgi\"\\nX-Cgi: foo\\n\\n'\n"
    'echo "<p>foo $QUERY_STRING $HTTP_X_A</p>"\ncat a.txt\n'
)
DOCUMENTS: Final[Mapping[str, bytes]] = {
    "index.html": b"<p>front foo</p>\n",
    "a.txt": LINES.encode(),
    "small.txt": b"foo\n",
    "empty.txt": b"",
    "page.html": LINES.encode() * 3,
    "big.html": LINES.encode() * 60,
    "zip.txt.gz": gzip.compress(LINES.encode(), mtime=1),
    "bad.txt.gz": gzip.compress(LINES.encode(), mtime=1)[:-20],
    "pic.png": bytes(range(256)) * 4,
    "ssi.shtml": SSI.encode(),
    "c.cgi": CGI.encode(),
    "err.html": b"<p>foo error page</p>\n" * 5,
    "err.shtml": b"<p>foo <!--#echo var='REDIRECT_STATUS'--></p>\n<!--#include virtual='small.txt'-->",
    "d/index.html": b"<p>d foo</p>\n" * 40,
    "d/a.txt": b"foo d\n" * 100,
    "e/a.txt": b"foo e\n" * 10,
}
PLACE: Final = re.compile(r"#([a-z]+)#")
GRAMMAR: Final[Mapping[str, tuple[str, ...]]] = {
    "filter": (
        *("DEFLATE", "DEFLATE", "DEFLATE", "INFLATE", "INFLATE", "SUBSTITUTE", "SUBSTITUTE", "Sed", "BUFFER"),
        *(
            "INCLUDES",
            "CaseFilter",
            "BROTLI_COMPRESS",
            "RATE_LIMIT",
            "UPPER",
            "f1",
            "f2",
            "BYTERANGE",
        ),
    ),
    "filters": ("#filter#", "#filter#", "#filter#;#filter#", "#filter#;#filter#;#filter#"),
    "plain": (
        "DEFLATE",
        "INFLATE",
        "SUBSTITUTE",
        "Sed",
        "BUFFER",
        "INCLUDES",
        "CaseFilter",
        "BROTLI_COMPRESS",
    ),
    "plains": ("#plain#", "#plain#", "#plain#;#plain#"),
    "ext": ("txt", "html", "shtml", "gz", "cgi", "png", "txt html", "txt gz"),
    "type": ("text/html", "text/plain", "text/html text/plain", "image/png", "application/x-gzip"),
    "env": ("e1", "no-gzip", "gzip-only-text/html", "force-gzip", "no-brotli", "force-no-vary", "no-etag"),
    "declared": ("f1", "f2", "f3"),
    "declare": ("", "", "FilterDeclare #declared#\n", "FilterDeclare #declared# CONTENT_SET\n"),
    "changes": (
        *(
            '"change=yes"',
            '"change=no"',
            '"byteranges=no"',
            '"cache=no"',
            '"change=1:1"',
            '"proxy=transform"',
        ),
        '"change=yes;byteranges=no"',
    ),
    "test": (
        *("%{CONTENT_TYPE} =~ m!^text/html!", "%{CONTENT_TYPE} =~ m!^text/!", "req('X-A') == 'one'"),
        *("true", "-n reqenv('e1')", "resp('X-O') == 'one'", "%{REQUEST_METHOD} == 'GET'", "-n req('Range')"),
        *("%{REQUEST_STATUS} == 200", "%{HTTP:Accept-Encoding} =~ /gzip/", "%{REQUEST_URI} =~ /txt/"),
        *("resp('Content-Encoding') == 'gzip'", "%{QUERY_STRING} =~ /q=1/", "-f %{REQUEST_FILENAME}"),
        *("%{HTTP_USER_AGENT} =~ /Old/", "! -n %{QUERY_STRING}", "%{REQUEST_STATUS} -ge 400"),
    ),
    "chain": ("#name#", "#name#", "+#name#", "@#name#", "-#name#", "=#name#", "!", "#name# #name#"),
    "name": ("f1", "f1", "f2", "f3"),
    "smart": (
        '#declare#FilterProvider #declared# #plain# "#test#"\nFilterChain #chain#',
        'FilterDeclare f1\nFilterProvider f1 #plain# "#test#"\nFilterProtocol f1 #changes#\nFilterChain f1',
        'FilterDeclare f2 #settype#\nFilterProvider f2 #plain# "#test#"\nFilterProvider f2 #plain# "#test#"\n'
        "FilterChain f2",
        'FilterDeclare f3\nFilterProvider f3 DEFLATE "#test#"\nFilterProtocol f3 DEFLATE #changes#\n'
        "FilterChain #chain#",
        "FilterChain #chain#",
        "FilterChain #chain#",
    ),
    "settype": ("", "RESOURCE", "CONTENT_SET", "PROTOCOL"),
    "cond": ("", "", "", " env=e1", " env=!e1", ' "expr=#test#"'),
    "header": (
        *(
            "set X-O one",
            "append Vary X-A",
            "unset ETag",
            "set Cache-Control no-transform",
            "merge Vary Accept",
        ),
        *("set X-S expr=%{REQUEST_STATUS}", "edit ETag gzip GZ", "unset Content-Encoding", "set X-L %{e1}e"),
        *("unset Vary", "set ETag '\"own\"'", "set Content-Type text/plain", "append Cache-Control public"),
        *("set X-E expr=%{resp:Content-Encoding}", "unset Last-Modified", "unset Accept-Ranges"),
        *("set Content-Encoding gzip", "set Warning 214", "set X-T expr=%{resp:Content-Length}"),
    ),
    "always": ("", "", "always "),
    "line": (
        *("SetOutputFilter #filters#",) * 4,
        *("AddOutputFilter #filters# #ext#",) * 3,
        "RemoveOutputFilter #ext#",
        *("AddOutputFilterByType #plains# #type#",) * 3,
        *("#smart#",) * 5,
        *("Header #always##header##cond#",) * 4,
        "RequestHeader unset Accept-Encoding#cond#",
        "RequestHeader edit Accept-Encoding gzip zip#cond#",
        "ExpiresActive On\nExpiresDefault 'access plus 1 hour'",
        "ExpiresActive On\nExpiresByType text/html 'access plus 2 hours'",
        "SetEnvIf X-A one #env#",
        "SetEnvIf Request_URI txt #env#",
        "SetEnvIf Request_URI . #env#",
        'SetEnvIfExpr "#test#" #env#',
        "SetEnv #env# 1",
        "BrowserMatch Old #env#",
        "AddEncoding x-gzip gz",
        "AddEncoding gzip gz",
        "RemoveEncoding gz",
        "AddType text/html gz",
        "ErrorDocument 404 /err.html",
        "ErrorDocument 404 /err.shtml",
        "ErrorDocument 404 /c.cgi?q=1",
        'ErrorDocument 404 "foo text"',
        "ErrorDocument 403 /small.txt",
        "ErrorDocument 500 /small.txt",
        "ErrorDocument 416 /err.html",
        "DirectoryIndex a.txt",
        "DirectoryIndex ssi.shtml a.txt",
        "DirectoryIndex c.cgi nofile",
        "DirectoryIndex disabled",
        "FileETag None",
        "FileETag Size",
        "ForceType text/html",
        "AddDefaultCharset utf-8",
        "XBitHack full",
        "SSILastModified on",
        "SSIETag on",
        "Options +Includes +ExecCGI +Indexes",
        "Options -Includes",
        "Substitute s/foo/longer_word/",
        "Substitute s/line/x/q",
        'OutputSed "s/bar/BAR/"',
        'OutputSed "2,4d"',
        "BufferSize 100",
        "MaxRanges 1",
        "MaxRanges none",
        "EnableSendfile Off",
        "ContentDigest On",
        "SetHandler default-handler",
        "Redirect 404 /d/a.txt",
        "Require all denied",
        "RewriteEngine On\nRewriteRule txt$ - [E=#env#:1]",
        "RewriteEngine On\nRewriteRule small.txt$ /a.txt [L]",
    ),
    "own": (
        *("DeflateAlterETag AddSuffix", "DeflateAlterETag NoChange", "DeflateAlterETag Remove"),
        *(
            "DeflateBufferSize 100",
            "DeflateCompressionLevel 9",
            "DeflateFilterNote Ratio r",
            "DeflateWindowSize 9",
        ),
        *("BrotliAlterETag NoChange", "BrotliFilterNote r", "BrotliCompressionQuality 1"),
    ),
    "files": ('Files "*.txt"', "Files a.txt", 'FilesMatch "\\.(s?html|gz)$"', 'Files "c.cgi"', 'Files "*"'),
    "section": (
        *('Directory "%SITE%"', 'Directory "%SITE%"', 'Directory "%SITE%/d"', "Location /", "Location /d"),
        *("#files#", 'LocationMatch "txt|gz"', 'If "#test#"', "Location /err.html", "Location /c.cgi"),
    ),
    "inner": ("#files#", 'If "#test#"', 'If "#test#"'),
    "path": (
        *(
            "/a.txt",
            "/a.txt",
            "/small.txt",
            "/empty.txt",
            "/page.html",
            "/big.html",
            "/zip.txt.gz",
            "/zip.txt.gz",
        ),
        *(
            "/bad.txt.gz",
            "/pic.png",
            "/ssi.shtml",
            "/ssi.shtml",
            "/c.cgi",
            "/",
            "/d/",
            "/d",
            "/e/",
            "/nope.txt",
        ),
        *("/nope", "/d/a.txt", "/a.txt?q=1", "/c.cgi?q=1", "/e/a.txt", "/ssi.shtml?q=1", "/nope.shtml"),
    ),
    "method": (*("GET",) * 7, "HEAD", "HEAD", "POST", "OPTIONS"),
    "accept": (
        *("gzip",) * 5,
        "gzip, br",
        "br",
        "*",
        "identity",
        "gzip;q=0",
        "GZIP",
        "x-gzip",
        "deflate, gzip;q=0.5",
        "gzip;q=0, *",
        "identity;q=0, gzip",
        "gzip ; q=1",
        "",
        "gzipx",
        "gzip;q=0.000",
        "br;q=0, gzip",
        ",gzip",
        "*;q=0",
        "gzip;level=1",
        "BR",
    ),
    "range": (
        "bytes=0-3",
        "bytes=-5",
        "bytes=2-",
        "bytes=2-3,5-6",
        "bytes=99999999-",
        "bytes=0-0,-1",
        "bytes=5-2",
        "bytes=0-",
        "bytes=1-2,99999999-",
        "lines=1-2",
        "bytes=0-1,1-2,3-4",
    ),
    "since": (
        "Sun, 13 Sep 2020 12:26:40 GMT",
        "Sat, 12 Sep 2020 12:26:40 GMT",
        "Mon, 14 Sep 2020 12:26:40 GMT",
    ),
    "tag": ("%ETAG%", "%ETAG%", "%ETAG%", "*", "W/%ETAG%", '"x", %ETAG%', '"own"', '"cgi"', '"x"'),
}


def write_documents(folder: Path) -> None:
    """Write the documents of one site."""
    for name, data in DOCUMENTS.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


class FilterSites:
    """Random texts of one seed."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance

    def make(self, text: str) -> str:
        """Return *text* with each place in it filled."""
        while found := PLACE.search(text):
            text = text[: found.start()] + self.chance.choice(GRAMMAR[found[1]]) + text[found.end() :]
        return text

    def lines(self, most: int) -> str:
        """Return up to *most* directives, and at least one."""
        return "\n".join(self.make("#line#") for _ in range(self.chance.randrange(most) + 1))

    def section(self) -> str:
        """Return one section, which may hold another one."""
        opening = self.make("#section#")
        text = self.lines(4)
        if not opening.startswith(("Files", "If")) and self.chance.random() < 0.4:
            inner = self.make("#inner#" if opening.startswith("Directory") else 'If "#test#"')
            text += f"\n<{inner}>\n{self.lines(2)}\n</{inner.split()[0]}>"
        return f"<{opening}>\n{text}\n</{opening.split()[0]}>"

    def host(self) -> str:
        """Return the directives of one virtual host; %SITE% is its document root."""
        chance = self.chance
        out = [self.make("#own#") for _ in range(chance.choice((0, 0, 0, 1)))]
        if chance.random() < 0.4:
            out.append(self.lines(2).replace("Require all denied", ""))
        out += [self.section() for _ in range(chance.randrange(4) + 1)]
        return "\n".join(out)

    def htaccess(self) -> str:
        """Return the text of a .htaccess file, often none."""
        return self.lines(3) + "\n" if self.chance.random() < 0.3 else ""

    def request(self, host: str) -> Request:
        """Return a request; %ETAG% in a field is the entity tag of an earlier response."""
        chance, fields = self.chance, {"Host": host}

        def maybe(name: str, text: str, likely: float) -> None:
            if chance.random() < likely:
                fields[name] = self.make(text)

        maybe("Accept-Encoding", "#accept#", 0.65)
        maybe("accept-encoding", "#accept#", 0.08)
        maybe("Range", "#range#", 0.18)
        maybe("If-Range", "#tag#" if chance.random() < 0.7 else "#since#", 0.08)
        maybe("If-None-Match", "#tag#", 0.18)
        maybe("If-Match", "#tag#", 0.04)
        maybe("If-Modified-Since", "#since#", 0.1)
        maybe("X-A", "one", 0.25)
        maybe("User-Agent", "Old", 0.1)
        maybe("TE", "trailers", 0.02)
        method = self.make("#method#")
        if method == "POST":
            fields["Content-Length"] = "0"
        version = "HTTP/1.0" if chance.random() < 0.12 else "HTTP/1.1"
        return Request(self.make("#path#"), method, fields, version=version)

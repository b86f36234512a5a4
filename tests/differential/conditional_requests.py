"""A site of negotiated, parsed, compressed and refused resources, and requests with conditions and ranges."""

from __future__ import annotations

from typing import Final

from tests.differential.raw_exchange import Documents

MODULES: Final = ("negotiation", "expires", "deflate", "filter", "status")
CONF: Final = (
    "".join(f"LoadModule {name}_module %MODULES%/mod_{name}.so\n" for name in MODULES)
    + """<Directory "%ROOT%">
    Options +MultiViews +Includes
    AllowOverride None
    Require all granted
    AddType text/html .shtml
    AddOutputFilter INCLUDES .shtml
    AddLanguage en .en
    AddLanguage fr .fr
    AddHandler type-map var
    DirectoryIndex index.html index.shtml
</Directory>
XBitHack full
AddOutputFilterByType DEFLATE text/html
ExpiresActive On
ExpiresDefault "modification plus 1 hour"
Header set X-Set s
Header always set X-Always a
Header onsuccess set Set-Cookie "a=b"
Header always set Set-Cookie "c=d"
Header merge Cache-Control private
Header merge Vary X-Merge
DefaultLanguage nl
<Location /den>
    Require all denied
</Location>
<Location /auth>
    AuthType Basic
    AuthName x
    AuthUserFile %BASE%/passwd
    Require valid-user
</Location>
<Location /noar>
    Header unset Accept-Ranges
</Location>
<Location /arnone>
    Header set Accept-Ranges none
</Location>
<Location /mrnone>
    MaxRanges none
</Location>
<Location /lm>
    SSILastModified On
    SSIETag On
</Location>
<Location /nodef>
    SetEnv no-gzip 1
    Header unset Last-Modified
</Location>
<Location /ah>
    Header always set ETag "x"
    Header always set Expires 0
    Header always set Content-Language xx
    Header always set Accept-Ranges none
    Header always set Content-Location /q
    Header always set Vary "Z, z, y"
</Location>
<Location /hs>
    Header set Content-Language xx
    Header set Content-Location /q
    Header set Cache-Control max-age=3
    Header set Last-Modified "Sun, 13 Sep 2015 12:26:40 GMT"
</Location>
<Location /bad>
    Header set X-Bad "expr=%{unescape:a%01b}"
</Location>
ErrorDocument 405 /index.html
ErrorDocument 412 "short text"
"""
)
PAGE: Final = '<html><body>\n<!--#echo var="DOCUMENT_NAME" --> words\n</body></html>\n'
PLACES: Final = ("", "noar/", "arnone/", "mrnone/", "lm/", "nodef/", "ah/", "hs/", "auth/", "den/", "bad/")
NAMES: Final = (
    "v",
    "v.html.en",
    "w.txt",
    "w",
    "p.shtml",
    "p",
    "x.html",
    "s",
    "d/",
    "e/",
    "m.var",
    "b.var",
    "dir",
)
_VARIANT = "URI: v.html.{0}\nContent-Type: text/html\nContent-Language: {0}\n\n"


def documents() -> Documents:
    """Return the same documents for each of `PLACES`; executable pages have their own Last-Modified."""
    plain: dict[str, str] = {}
    parsed: dict[str, str] = {}
    for place in PLACES:
        plain[f"{place}v.html.en"], plain[f"{place}v.html.fr"] = "english text " * 30, "francais " * 30
        plain[f"{place}w.txt"], plain[f"{place}dir/index.html"] = "words " * 50, "q"
        plain[f"{place}e/index.html.en"], plain[f"{place}e/index.html.fr"] = "e en", "e fr"
        plain[f"{place}m.var"] = _VARIANT.format("en") + _VARIANT.format("fr")
        plain[f"{place}b.var"] = "Content-Type: text/html\nContent-Language: en\nBody:---\nbody of map---\n"
        for name in ("p.shtml", "x.html", "s.shtml.en", "s.shtml.fr", "d/index.shtml"):
            parsed[place + name] = PAGE
    return Documents(plain, parsed)


PATHS: Final = [place + name for place in PLACES for name in (*NAMES, "none")] + ["%zz", "a%2fb"]
_TIME = "Sun, 13 Sep 2020 12:26:40 GMT"
# TAG stands for the ETag of the resource.
FIELDS: Final = {
    "plain": "",
    "none-match *": "If-None-Match: *",
    "none-match": "If-None-Match: TAG",
    "none-match second": 'If-None-Match: "a", TAG',
    "none-match first": 'If-None-Match: TAG, "a"',
    "none-match closed": 'If-None-Match: TAG"',
    "none-match after a word": "If-None-Match: a, TAG",
    "none-match weak": "If-None-Match: W/TAG",
    "match": "If-Match: TAG",
    "match closed": 'If-Match: TAG"',
    "match second": 'If-Match: "a",TAG',
    "match after weak": 'If-Match: W/"a",TAG',
    "match other": 'If-Match: "x"',
    "match *": "If-Match: *",
    "modified": f"If-Modified-Since: {_TIME}",
    "modified older": "If-Modified-Since: Sun, 13 Sep 2009 12:26:40 GMT",
    "unmodified": "If-Unmodified-Since: Sun, 13 Sep 2009 12:26:40 GMT",
    "range": "Range: bytes=0-3",
    "ranges": "Range: bytes=0-1,4-5",
    "range behind": "Range: bytes=99999-",
    "if-range": "Range: bytes=0-3\r\nIf-Range: TAG",
    "if-range closed": 'Range: bytes=0-3\r\nIf-Range: TAG"',
    "if-range time": f"Range: bytes=0-3\r\nIf-Range: {_TIME}",
    "range none-match": "Range: bytes=0-3\r\nIf-None-Match: TAG",
    "gzip": "Accept-Encoding: gzip",
    "gzip none-match": "Accept-Encoding: gzip\r\nIf-None-Match: TAG",
    "gzip range": "Accept-Encoding: gzip\r\nRange: bytes=0-3",
    "french": "Accept-Language: fr",
    "french modified": f"Accept-Language: fr\r\nIf-Modified-Since: {_TIME}",
    "no language": "Accept-Language: xx",
    "expectation": "Expect: foo",
    "transparent": "Negotiate: trans",
    "no coding": "Accept-Encoding: identity;q=0",
}
METHODS: Final = ("GET", "HEAD", "POST", "OPTIONS", "PUT", "TRACE", "FOO")
SHORT: Final = ("plain", "none-match *", "match other", "range", "gzip", "modified", "unmodified", "french")


def requests(tags: dict[str, str]) -> dict[str, str]:
    """Return all requests; *tags* has the ETag of each path."""
    return {
        f"{method} /{path}: {name}": f"{method} /{path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        + (fields.replace("TAG", tags[path]) + "\r\n" if fields else "")
        + "\r\n"
        for path in PATHS
        for name, fields in FIELDS.items()
        for method in METHODS
        if method in ("GET", "HEAD") or name in SHORT
    }

"""One line changes what few requests see: the derived probes must contain such a request."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.verify.sites import make_root, side

from whimbrel.verify.verification import Verdict
from whimbrel.verify.verify import verify

FILES = {
    "htdocs/page.html.en": "page\n",
    "htdocs/page.html.de": "Seite\n",
    "htdocs/private/note.txt": "note\n",
    "other/index.html": "other\n",
    "mass/%/x.txt": "percent\n",
    "mass/127.0.0.1/x.txt": "address\n",
    "mass/birds/x.txt": "birds\n",
}
NAMED = '<VirtualHost 127.0.0.1:8080>\nServerName one.example\nDocumentRoot "@ROOT@/htdocs"\n</VirtualHost>\n'
ANY = (
    "<VirtualHost *:8080>\nServerName two.example\nServerAlias x?.example\n"
    'DocumentRoot "@ROOT@/other"\n%s\n</VirtualHost>\n'
)
VIEWS = (
    '<Directory "@ROOT@/htdocs">\nOptions +MultiViews\n</Directory>\nAddLanguage de .de\nAddLanguage en .en\n'
)
CONDITIONS = "RewriteEngine On\n%s\nRewriteCond %%{QUERY_STRING} secret=1\nRewriteRule ^/private/ - [F]"
NEIGHBOURS = ("RewriteRule ^/a /one.html [R,L]", "RewriteRule b$ /two.html [R,L]")


@pytest.mark.parametrize(
    ("common", "old", "new"),
    [
        pytest.param(
            "Header set X-Seen yes env=seen\n%s",
            "SetEnvIf ^X-Ca.* . seen",
            "",
            id="a field by a name's pattern",
        ),
        pytest.param(
            "RewriteEngine On\nRewriteRule ^/away/(.*)$ http://other.example/$1?from=here %s",
            "[R=301,QSA,L]",
            "[R=301,L]",
            id="the query of a request",
        ),
        pytest.param(
            "RewriteEngine On\nRewriteCond %%{HTTP_USER_AGENT} robot\nRewriteRule ^/away/ http://o.example/%s",
            "? [R]",
            " [R]",
            id="a query that is dropped for some",
        ),
        pytest.param(VIEWS + "%s", "LanguagePriority en de", "LanguagePriority de en", id="languages"),
        pytest.param(
            '<Files "index.html">\n%s\n</Files>',
            "AcceptPathInfo On",
            "AcceptPathInfo Off",
            id="path info of a file",
        ),
        pytest.param("%s", "DirectorySlash On", "DirectorySlash Off", id="a directory without its slash"),
        pytest.param(
            "RewriteEngine On\n%s",
            "\n".join(NEIGHBOURS),
            "\n".join(reversed(NEIGHBOURS)),
            id="order of neighbouring rules",
        ),
        pytest.param(
            CONDITIONS,
            "RewriteCond %{HTTP_USER_AGENT} ^Robot [NC,OR]",
            "RewriteCond %{HTTP_USER_AGENT} ^Robot [NC]",
            id="one of two conditions",
        ),
        pytest.param(
            CONDITIONS,
            "RewriteCond %{HTTP:X-Kind} !^plain$ [OR]",
            "RewriteCond %{HTTP:X-Kind} !^plain$",
            id="one of two conditions, negated",
        ),
        pytest.param(
            "%s", "HttpProtocolOptions Unsafe", "HttpProtocolOptions Strict", id="a wrong Host field"
        ),
        pytest.param(
            "Listen 127.0.0.2:8080\n" + NAMED + ANY,
            "Header set X-Two 1",
            "",
            id="an address of no other host",
        ),
        pytest.param(
            'VirtualDocumentRoot "@ROOT@/mass/%%1"\n%s',
            "FileETag None",
            "FileETag MTime",
            id="directories that are no names",
        ),
        pytest.param(
            'VirtualDocumentRoot "@ROOT@/mass/%%2+"\n%s',
            "FileETag None",
            "FileETag MTime",
            id="all parts behind the first",
        ),
    ],
)
def test_the_difference_is_found(tmp_path: Path, common: str, old: str, new: str) -> None:
    make_root(tmp_path, FILES)
    more = ("vhost_alias", "negotiation")
    sides = [
        side(tmp_path, name, common % lines, "2.4", *more) for name, lines in (("old", old), ("new", new))
    ]
    result = verify(sides[0], sides[1])
    assert result.verdict is Verdict.DIFFERENT, (result.errors, result.probes)

"""The query of a negotiated request: its variants have it, as in apache2 2.4.71."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.access_site import AccessSite

MODULES = "mpm_event authz_core mime negotiation headers"
CONF = """TypesConfig /dev/null
AddType text/plain .txt
AddHandler type-map .var
<Directory "@DOCROOT@">
Options +MultiViews
Require expr %{QUERY_STRING} == 'x'
</Directory>
<Location /doc>
Header set X-Location yes
</Location>
Header always set X-Query expr=[%{QUERY_STRING}]
"""


@pytest.mark.parametrize("path", ["/doc", "/map.var"])
def test_variants_have_the_query_of_the_request(tmp_path: Path, path: str) -> None:
    site = AccessSite(tmp_path, CONF, modules=MODULES)
    (tmp_path / "htdocs/doc.txt").write_text("text\n")
    (tmp_path / "htdocs/map.var").write_text("URI: doc.txt\nContent-Type: text/plain\n\n")
    answer = site.fetch(f"{path}?x")
    assert answer.startswith("HTTP/1.1 200")
    assert "\r\nX-Query: [x]\r\n" in answer
    assert site.status(path) == 403

"""mod_allowmethods.  Expected responses are those of httpd 2.4.71."""

from __future__ import annotations

from pathlib import Path

from tests.support.client import fetch
from tests.support.engine import build_engine

CONF = """
LoadModule allowmethods_module modules/mod_allowmethods.so
<Location /a>
AllowMethods GET POST
</Location>
<Location /a/r>
AllowMethods reset
</Location>
"""


def test_methods(tmp_path: Path) -> None:
    serving = build_engine(tmp_path, CONF, {"htdocs/a/x.txt": "x", "htdocs/a/r/x.txt": "x"})
    assert [
        fetch(serving, "/a/x.txt", method=m).status for m in ("GET", "HEAD", "POST", "OPTIONS", "PUT")
    ] == [
        200,
        200,
        200,
        405,
        405,
    ]
    assert fetch(serving, "/a/x.txt", method="PUT").get("Allow") == "TRACE"
    assert fetch(serving, "/a/r/x.txt", method="OPTIONS").status == 200

"""mod_allowmethods.  Expected answers are those of httpd 2.4.71."""

from __future__ import annotations

from pathlib import Path

from tests.unit.modules.asked import ask, engine

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
    serving = engine(tmp_path, CONF, {"htdocs/a/x.txt": "x", "htdocs/a/r/x.txt": "x"})
    assert [ask(serving, "/a/x.txt", method=m).status for m in ("GET", "HEAD", "POST", "OPTIONS", "PUT")] == [
        200,
        200,
        200,
        405,
        405,
    ]
    assert ask(serving, "/a/x.txt", method="PUT").get("Allow") == "TRACE"
    assert ask(serving, "/a/r/x.txt", method="OPTIONS").status == 200

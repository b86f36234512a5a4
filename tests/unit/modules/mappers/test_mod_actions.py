"""mod_actions. Expected responses are those of httpd 2.4.71."""

from __future__ import annotations

from pathlib import Path

from tests.unit.modules.asked import ask
from tests.unit.modules.scripts import body, site

SHOW = (
    '#!/bin/sh\nprintf "Content-Type: text/plain\\n\\n%s %s %s %s" "$REQUEST_METHOD" "$PATH_INFO" '
    '"$QUERY_STRING" "$REDIRECT_HANDLER"\n'
)
CONF = """
LoadModule actions_module modules/mod_actions.so
AddHandler my-act .act
Action my-act /h.cgi
AddType app/x-mt .mt
Action app/x-mt /h.cgi?fixed=1
Script PUT /h.cgi
<Location /virt>
SetHandler virt
</Location>
Action virt /h.cgi virtual
"""


def test_actions(tmp_path: Path) -> None:
    serving = site(tmp_path, {"h.cgi": SHOW, "a.act": "", "b.txt": "B", "x.mt": ""}, CONF)
    assert body(ask(serving, "/a.act/pi?q=1")) == "GET /a.act/pi q=1 my-act"
    assert body(ask(serving, "/x.mt")) == "GET  fixed=1/x.mt app/x-mt"
    assert body(ask(serving, "/virt/x")) == "GET /virt/x  virt"
    assert body(ask(serving, "/b.txt", method="PUT", body="x")) == "PUT /b.txt  "
    assert ask(serving, "/b.txt").body == "B"
    assert ask(serving, "/nope.act").status == 404

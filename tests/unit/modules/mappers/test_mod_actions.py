"""mod_actions. Expected responses are those of httpd 2.4.71."""

from __future__ import annotations

from pathlib import Path

from tests.support.client import decoded_body, fetch
from tests.support.scripts import build_cgi_engine

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
    serving = build_cgi_engine(tmp_path, {"h.cgi": SHOW, "a.act": "", "b.txt": "B", "x.mt": ""}, CONF)
    assert decoded_body(fetch(serving, "/a.act/pi?q=1")) == "GET /a.act/pi q=1 my-act"
    assert decoded_body(fetch(serving, "/x.mt")) == "GET  fixed=1/x.mt app/x-mt"
    assert decoded_body(fetch(serving, "/virt/x")) == "GET /virt/x  virt"
    assert decoded_body(fetch(serving, "/b.txt", method="PUT", body="x")) == "PUT /b.txt  "
    assert fetch(serving, "/b.txt").body == "B"
    assert fetch(serving, "/nope.act").status == 404


def test_script_for_get_needs_a_question_mark_only(tmp_path: Path) -> None:
    serving = build_cgi_engine(tmp_path, {"h.cgi": SHOW, "b.txt": "B"}, f"{CONF}Script GET /h.cgi\n")
    assert fetch(serving, "/b.txt").body == "B"
    assert decoded_body(fetch(serving, "/b.txt?")) == "GET /b.txt  "
    assert decoded_body(fetch(serving, "/b.txt?q")) == "GET /b.txt q "


def test_query_of_the_redirected_request_is_empty_not_missing(tmp_path: Path) -> None:
    show = SHOW.replace("$REDIRECT_HANDLER", "${REDIRECT_QUERY_STRING-unset}")
    serving = build_cgi_engine(tmp_path, {"h.cgi": show, "a.act": ""}, CONF)
    assert decoded_body(fetch(serving, "/a.act?")) == "GET /a.act  "
    assert decoded_body(fetch(serving, "/a.act")) == "GET /a.act  unset"


def test_allow_does_not_name_methods_of_scripts(tmp_path: Path) -> None:
    serving = build_cgi_engine(tmp_path, {"h.cgi": SHOW, "b.txt": "B"}, CONF)
    for method in ("OPTIONS", "DELETE"):
        allowed = fetch(serving, "/b.txt", method=method).get("Allow")
        assert allowed is not None
        assert set(allowed.split(",")) == {"GET", "HEAD", "OPTIONS", "POST", "TRACE"}

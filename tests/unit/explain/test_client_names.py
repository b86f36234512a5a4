"""Lines about the name of a client. apache2 looks the name up; an explanation says that it does not."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.explain.explained_site import CONF, old_side, side_of

from whimbrel.explain.client_names import unknown_names
from whimbrel.explain.explanation import explain_probe
from whimbrel.verify.probe import Probe

MAIN = CONF.split("<VirtualHost")[0]


@pytest.mark.parametrize(
    ("lines", "status", "is_open"),
    [
        ("Require host example.com", 403, True),
        ("<RequireAll>\nRequire all granted\nRequire not host example.com\n</RequireAll>", 404, True),
        ("<RequireAny>\nRequire host example.com\nRequire all granted\n</RequireAny>", 404, False),
        ("Require ip 10.0.0.0/8", 403, False),
    ],
)
def test_a_line_of_24_that_could_change_the_answer(
    tmp_path: Path, lines: str, status: int, is_open: bool
) -> None:
    side = side_of(tmp_path, f"{MAIN}<Location /x>\n{lines}\n</Location>\n")
    probe = Probe("/x", host="q")
    found = explain_probe(side, probe)
    assert found.status == status
    assert [item.place is not None for item in unknown_names(probe, found)] == [True] * is_open
    named = Probe("/x", host="q", client_host="pc.example.com")
    assert list(unknown_names(named, explain_probe(side, named))) == []


@pytest.mark.parametrize(
    ("lines", "status", "is_open"),
    [
        ("Order allow,deny\nAllow from example.com", 403, True),
        ("Order allow,deny\nAllow from all\nDeny from example.com", 404, True),
        ("Order allow,deny\nAllow from 10.0.0.0/8 10.1 fe80::1 env=x", 403, False),
        ("Order deny,allow\nDeny from all", 403, False),
    ],
)
def test_a_line_of_22_that_could_change_the_answer(
    tmp_path: Path, lines: str, status: int, is_open: bool
) -> None:
    base = "Listen 80\nServerName q\nDocumentRoot @ROOT@/htdocs\nTypesConfig @ROOT@/mime.types\n"
    probe = Probe("/x", host="q")
    found = explain_probe(old_side(tmp_path, f"{base}<Location /x>\n{lines}\n</Location>\n"), probe)
    assert found.status == status
    assert len(list(unknown_names(probe, found))) == is_open

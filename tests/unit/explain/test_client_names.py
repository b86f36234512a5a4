"""Lines about the name of a client. apache2 looks the name up; an explanation says that it does not."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.explain.explained_site import CONF, old_side, side_of

from whimbrel.base.errors import SourceLocation
from whimbrel.config.origins import Origin
from whimbrel.explain.client_names import unknown_names, with_local_name
from whimbrel.explain.explanation import explain_probe
from whimbrel.explain.step import ExplanationStep, RequestExplanation
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


@pytest.mark.parametrize(
    ("client", "rule", "name", "status"),
    [
        ("127.0.0.1", "host localhost", "localhost", 404),
        ("::1", "host localhost", "localhost", 404),
        ("127.0.0.1", "host example.com", "localhost", 403),
        ("127.0.0.1", "local", "", 404),
        ("192.0.2.1", "host localhost", "", 403),
    ],
)
def test_a_loopback_client_has_its_name(
    tmp_path: Path, client: str, rule: str, name: str, status: int
) -> None:
    """apache2 answers 200 to 127.0.0.1 for `Require host localhost`: the hosts file has the name."""
    side = side_of(tmp_path, f"{MAIN}<Location /x>\nRequire {rule}\n</Location>\n")
    named = with_local_name(Probe("/x", host="q", client=client), lambda probe: explain_probe(side, probe))
    found = explain_probe(side, named)
    assert (named.client_host, found.status) == (name, status)
    assert list(unknown_names(named, found)) == [] or client == "192.0.2.1"


@pytest.mark.parametrize(
    ("kind", "result", "has_line", "count"),
    [
        ("access", "denied", True, 1),
        ("access", "not asked", True, 0),
        ("access", "denied", False, 0),
        ("sections", "denied", True, 0),
    ],
)
def test_a_line_that_was_not_asked_changes_nothing(
    kind: str, result: str, has_line: bool, count: int
) -> None:
    lines = (Origin(SourceLocation("f", 1), "Require host a.example"),) * has_line
    step = ExplanationStep(kind, "Require host a.example", result, lines)
    explanation = RequestExplanation("GET /", "2.4", 403, steps=(step,))
    assert len(list(unknown_names(Probe("/"), explanation))) == count
    assert not list(unknown_names(Probe("/", client_host="b.example"), explanation))

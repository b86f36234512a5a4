"""Sections that ask for certificates: 2.4 answers 403 to browsers over TLS 1.3 (apache2: AH10158)."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.verify.sites import make_root, side

from whimbrel.base.errors import SourceLocation
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.upgrade.knowledge.scope import KnowledgeScope
from whimbrel.upgrade.model import DIFFERENCE, Finding
from whimbrel.verify.config_lines import SideLines
from whimbrel.verify.late_certificates import late_certificates
from whimbrel.verify.loading import load_side
from whimbrel.verify.recorded_decisions import mark_decided
from whimbrel.verify.verification import VerifyResult
from whimbrel.verify.verify import verify

HOST = "<VirtualHost *:443>\nSSLEngine {engine}\n{host}\n{section}\n</VirtualHost>\n"
REQUIRE = "<Location /private>\nSSLVerifyClient require\n</Location>"


def loaded(root: Path, conf: str, version: str) -> SideLines:
    """Return the lines of a server whose certificates are not here."""
    options = side(root, version, conf, version, "ssl").options
    found = load_side(options, version)
    assert found.is_loaded, found.errors
    return SideLines(found)


def items(root: Path, conf: str, versions: tuple[str, str] = ("2.2", "2.4")) -> list[tuple[str, bool]]:
    make_root(root)
    old, new = (loaded(root, conf, version) for version in versions)
    return [(item.subject, item.matters) for item in late_certificates((old, new))]


@pytest.mark.parametrize(
    ("engine", "host", "section", "count"),
    [
        ("on", "", REQUIRE, 1),
        ("on", "SSLVerifyClient optional", REQUIRE, 1),
        ("on", "SSLVerifyClient require", REQUIRE, 0),
        ("on", "SSLProtocol TLSv1.2", REQUIRE, 0),
        ("off", "", REQUIRE, 0),
        ("on", "", REQUIRE.replace("require", "none"), 0),
        ("on", "SSLVerifyClient require", "", 0),
    ],
)
def test_a_section_that_asks_after_the_handshake(
    tmp_path: Path, engine: str, host: str, section: str, count: int
) -> None:
    found = items(tmp_path, HOST.format(engine=engine, host=host, section=section))
    what = "`SSLVerifyClient require` of <Location /private> asks for a certificate after the handshake"
    assert found == [(what, True)] * count


def test_versions_that_do_the_same(tmp_path: Path) -> None:
    conf = HOST.format(engine="on", host="", section=REQUIRE)
    assert items(tmp_path, conf, ("2.4", "2.4")) == items(tmp_path, conf, ("2.2", "2.2")) == []


def test_a_comment_decides(tmp_path: Path) -> None:
    """The comment of its line alone, and only DIFF: no rule reports this."""
    make_root(tmp_path)
    conf = HOST.format(engine="on", host="", section=REQUIRE)
    (item,) = late_certificates((loaded(tmp_path, conf, "2.2"), loaded(tmp_path, conf, "2.4")))
    assert item.place is not None
    for rule, line, matters in ((DIFFERENCE, 0, False), (DIFFERENCE, 1, True), ("C17", 0, True)):
        place = SourceLocation(item.place.path, item.place.line + line)
        result = VerifyResult(("old", "new"), ((), ()))
        result.scope = KnowledgeScope(items=(replace(item),))
        mark_decided(result, [Finding(rule, place, "m", "a")])
        assert [one.matters for one in result.scope.items] == [matters]


def test_what_stops_the_start_is_named_before_what_is_only_not_here(tmp_path: Path) -> None:
    """httpd ends its start at a missing certificate file, and starts without the directory of an Alias."""
    make_root(tmp_path)
    conf = "Alias /far /nowhere/far\n<Directory /nowhere/far>\nAllowOverride All\n</Directory>\n"
    conf += "SSLCertificateChainFile conf/none.pem\n"
    sides = [load_side(side(tmp_path, one, conf, one, "ssl").options, one) for one in ("2.2", "2.4")]
    subjects = [item.subject for item in verify(sides[0], sides[1]).scope.items]
    assert "none.pem' does not exist or is empty" in subjects[0]
    assert any("/nowhere/far/ is not here" in subject for subject in subjects[1:])

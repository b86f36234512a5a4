"""Decision trees: their contents; explaining leaves the response unchanged."""

from __future__ import annotations

import cProfile
import os
import pstats
from pathlib import Path
from typing import Any

import pytest
from tests.support.access_site import BASIC, AccessSite
from tests.unit.engine.explain.explaining import explain, shown, steps

from whimbrel.engine.explain.decisions import NOT_EVALUATED

ROOMS = f"""<Directory "@DOCROOT@">
AllowOverride All
{BASIC}<RequireAll>
Require ip 127.0.0.0/8
<RequireAny>
Require user bob
Require group admin
</RequireAny>
Require not method POST
</RequireAll>
</Directory>
"""


def line_of(site: AccessSite, text: str) -> int:
    """Return the number of the configuration's line that is *text*."""
    return (site.root / "conf/httpd.conf").read_text().split("\n").index(text) + 1


def test_each_provider_has_its_line_and_its_verdict(tmp_path: Path) -> None:
    site = AccessSite(tmp_path, ROOMS)
    explanation = explain(site, user="alice:wonder").requests[0]
    assert (
        explanation.status == 0
        and explanation.decision is not None
        and explanation.decision.verdict == "granted"
    )
    tree = shown(explanation.decision)
    for what, verdict in (
        ("Require ip 127.0.0.0/8", "granted"),
        ("Require user bob", "denied"),
        ("Require group admin", "granted"),
    ):
        assert any(text.strip() == f"{what}: {verdict} @{line_of(site, what)}" for text in tree), (what, tree)
    assert "Require not method POST: neutral" in "\n".join(tree)


def test_a_rule_after_the_decision_is_not_evaluated(tmp_path: Path) -> None:
    explanation = explain(AccessSite(tmp_path, ROOMS), source="10.0.0.1").requests[0]
    assert explanation.status == 403
    verdicts = {step.what: step.verdict for step in steps(explanation.decision)}
    assert (
        verdicts["Require ip 127.0.0.0/8"] == "denied"
        and verdicts["Require not method POST"] == NOT_EVALUATED
    )


def test_passwords_are_reported_by_provider(tmp_path: Path) -> None:
    site = AccessSite(
        tmp_path,
        "<AuthnProviderAlias file other>\nAuthUserFile conf/none\n</AuthnProviderAlias>\n"
        f"<Location />\n{BASIC}"
        "AuthBasicProvider file other\nRequire valid-user\n</Location>\n",
    )
    (site.root / "conf/none").write_text("")
    for user, wanted in (
        ("alice:wonder", ["granted"]),
        ("alice:wrong", ["denied"]),
        ("eve:x", ["user not found", "user not found"]),
    ):
        explanation = explain(site, user=user).requests[0]
        assert [
            step.verdict for step in steps(explanation.decision) if step.what.startswith("provider ")
        ] == wanted


@pytest.mark.parametrize("version", ["2.2", "2.4"])
def test_the_entry_of_allow_or_deny_that_matched(tmp_path: Path, version: str) -> None:
    lists = (
        "Order deny,allow\nDeny from 10.0.0.1\nDeny from 127.0.0.0/8\nDeny from all\nAllow from 127.0.0.1\n"
    )
    site = AccessSite(tmp_path, f"<Location />\n{lists}</Location>\n", version)
    explanation = explain(site, source="127.0.0.2").requests[0]
    assert explanation.status == 403
    matched = [
        (step.what, step.place.line)
        for step in steps(explanation.decision)
        if step.verdict == "matches" and step.place is not None
    ]
    assert matched == [("Deny from 127.0.0.0/8", line_of(site, "Deny from 127.0.0.0/8"))]
    order = next(step for step in steps(explanation.decision) if step.what == "Order deny,allow")
    assert order.place is not None and order.place.line == line_of(site, "Order deny,allow")
    assert explain(site, source="127.0.0.1").answer.request.status == 200


def test_the_chain_of_2_2_module_by_module(tmp_path: Path) -> None:
    site = AccessSite(
        tmp_path, f"<Location />\n{BASIC}Require group admin\nRequire user bob\n</Location>\n", "2.2"
    )
    explanation = explain(site, user="alice:wonder").requests[0]
    assert explanation.decision is not None and explanation.status == site.status(user="alice:wonder") == 401
    tree = shown(explanation.decision)
    assert f" Require group admin: applies @{line_of(site, 'Require group admin')}" in tree
    assert " mod_authz_user (auth_checker): denied (401)" in tree  # it is first and decides


def test_sections_in_the_order_of_merging(tmp_path: Path) -> None:
    site = AccessSite(
        tmp_path,
        "<Location /in>\nSetEnvIf X a b\n</Location>\n"
        '<Directory "@DOCROOT@/in">\nAllowOverride All\n</Directory>\n'
        '<If "true">\nSetEnvIf X c d\n</If>\n'
        '<FilesMatch "^f">\nSetEnvIf X e f\n</FilesMatch>\n'
        "<Location /no>\nSetEnvIf X g h\n</Location>\n",
    )
    (site.root / "htdocs/in/.htaccess").write_text("SetEnvIf X i j\n")
    explanation = explain(site, "/in/f.html").requests[-1]
    assert [s.kind for s in explanation.sections] == [
        "<Directory",
        ".htaccess",
        "<FilesMatch",
        "<Location",
        "<If",
    ]
    assert [s.written for s in explanation.sections][1:] == [
        f"{tmp_path}/htdocs/in/.htaccess",
        "<FilesMatch ^f>",
        "<Location /in>",
        "<If true>",
    ]
    assert [s.place.line for s in explanation.sections if s.place][0] == line_of(
        site, f'<Directory "{tmp_path}/htdocs/in">'
    )


def test_an_include_chain_is_part_of_the_place(tmp_path: Path) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf/more.conf").write_text("<Location />\n\nRequire all denied\n</Location>\n")
    site = AccessSite(tmp_path, "Include conf/more.conf\n")
    step = next(s for s in steps(explain(site).requests[0].decision) if s.what == "Require all denied")
    assert step.place is not None and step.place.path.endswith("more.conf") and step.place.line == 3
    assert step.place.included_from is not None and step.place.included_from.line == line_of(
        site, "Include conf/more.conf"
    )


def test_explaining_writes_no_log_and_returns_its_lines(tmp_path: Path) -> None:
    site = AccessSite(tmp_path, "<Location />\nRequire all denied\n</Location>\n")
    assert [line.code for line in explain(site).log] == ["AH01630"]
    assert not site.runtime.logs


def calls(site: AccessSite) -> int:
    """Return the function calls of one request with built plans and without a cached response."""
    profile = cProfile.Profile()
    site.fetch()
    site.engine.response_cache.clear()
    profile.enable()
    site.fetch()
    profile.disable()
    stats: Any = pstats.Stats(profile)
    return int(stats.total_calls)


def test_a_request_without_explanation_makes_no_further_calls(tmp_path: Path) -> None:
    site = AccessSite(tmp_path, "<Location />\nRequire ip 127.0.0.1\nAllow from all\n</Location>\n")
    os.utime(
        tmp_path / "htdocs/f.html", (1e9, 1e9)
    )  # what is known of one that has just been written is not kept
    site.engine.turns.length = float("inf")  # a profiler makes all work long
    before = min([calls(site) for _ in range(9)])  # the first one in a second makes what the later find
    explain(site)
    assert min([calls(site) for _ in range(9)]) <= before
    names = {code[0].rpartition("/")[2] for code in _profiled(site)}
    assert not names & {"decisions.py", "explain.py"}


def _profiled(site: AccessSite) -> list[tuple[str, int, str]]:
    profile = cProfile.Profile()
    site.engine.response_cache.clear()
    profile.enable()
    site.fetch()
    profile.disable()
    stats: Any = pstats.Stats(profile)
    return list(stats.stats)

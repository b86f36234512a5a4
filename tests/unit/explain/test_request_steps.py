"""Lines that explain a refusal: of .htaccess files that cannot be read, Options, conditions, Satisfy."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.explain.explained_site import CONF, explained, old_side, side_of, step, texts
from typer.testing import CliRunner

from whimbrel.cli import explain
from whimbrel.verify.deciding_lines import deciding_lines
from whimbrel.verify.probe import Probe

COMPAT = "LoadModule access_compat_module modules/mod_access_compat.so\n"
SATISFY = """<Location /any>
    AuthType Basic
    AuthName x
    AuthUserFile users
    Require valid-user
    Order allow,deny
    Allow from 10.0.0.1
    Satisfy Any
</Location>
"""


def test_the_line_of_a_htaccess_file_that_cannot_be_read(tmp_path: Path) -> None:
    side = side_of(tmp_path)
    path = tmp_path / "htdocs/private/.htaccess"
    path.write_text("AddType text/x-foo .html\nRewriteEngin on\n")
    explanation = explained(side, "/private/x.html")
    assert explanation.status == 500
    refused = step(explanation, ".htaccess")
    assert refused.result == "refused" and refused.detail.startswith("Invalid command 'RewriteEngin'")
    assert [(line.place.path, line.place.line) for line in refused.lines] == [(str(path), 2)]
    cause = deciding_lines(side, Probe(target="/private/x.html", host="q.example"))
    assert (str(path), 2) in [(line.path, line.line) for line in cause]


def test_the_options_that_forbid_rules(tmp_path: Path) -> None:
    side = side_of(tmp_path, CONF.replace("AllowOverride All\n", "AllowOverride All\n    Options None\n", 1))
    (tmp_path / "htdocs/.htaccess").write_text("RewriteEngine on\nRewriteRule a b\n")
    explanation = explained(side, "/index.html")
    refusal = step(explanation, "fix-ups", "mod_rewrite")
    assert explanation.status == 403 and "AH00670" in refusal.detail
    assert texts(refusal) == ["Options None"]


def test_a_condition_has_its_test_string_and_its_line(tmp_path: Path) -> None:
    explanation = explained(side_of(tmp_path), "/x.html", host="www.a.example", user="alice")
    condition = step(explanation, "mapping", "mod_rewrite").children[1].children[0]
    assert (condition.what, condition.result, condition.detail) == (
        "RewriteCond %{HTTP_HOST} ^www",
        "holds",
        "on 'www.a.example'",
    )
    assert texts(condition) == [condition.what]


@pytest.mark.parametrize(("client", "is_void"), [("10.0.0.1", True), ("192.0.2.1", False)])
def test_satisfy_any_and_the_requirements_that_it_makes_void(
    tmp_path: Path, client: str, is_void: bool
) -> None:
    side = side_of(tmp_path, COMPAT + CONF + SATISFY)
    explanation = explained(side, "/any", client=client)
    access = step(explanation, "access")
    assert "Satisfy Any" in texts(access)
    void = [child for child in access.children if child.result == "void"]
    assert [texts(child) for child in void] == ([["Require valid-user"]] if is_void else [])
    assert (explanation.status == 401) is not is_void


def test_a_code_has_its_message() -> None:
    found = CliRunner().invoke(explain.app, ["AH01797"]).stdout
    assert "`client denied by server configuration: %s%s`" in found


def test_22_has_no_codes_in_its_log(tmp_path: Path) -> None:
    """None of the 12,204 recorded answers of 2.2 has a code (tests/conformance)."""
    base = "Listen 80\nServerName q\nDocumentRoot @ROOT@/htdocs\nTypesConfig @ROOT@/mime.types\n"
    old = explained(old_side(tmp_path, base), "/none")
    new = explained(side_of(tmp_path, f"{CONF}LogLevel info\n"), "/none")
    logged = [[step.what for step in found.all() if step.kind == "log"] for found in (old, new)]
    assert logged[0] == [f"File does not exist: {tmp_path}/htdocs/none"]
    assert f"AH00128: {logged[0][0]}" in logged[1]


def test_a_proxy_section_is_named_as_it_is_written(tmp_path: Path) -> None:
    side = side_of(tmp_path, f"{CONF}<Proxy *>\nRequire all denied\n</Proxy>\n")
    explanation = explained(side, "/app/x")
    assert step(explanation, "sections", "<Proxy *>").lines
    assert not any("httpd.conf" in one.what for one in explanation.all() if one.kind == "sections")

"""SSLRequireSSL and SSLRequire beside Satisfy Any: the new text joins them as 2.2 did."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.upgrade.access_texts import MODULES, USER, marks, text_after
from tests.unit.upgrade.config_trees import config_tree, fragments

from whimbrel.upgrade.access_control.analysis import analyze_access
from whimbrel.upgrade.check.fixpoint import upgrade
from whimbrel.upgrade.model import UpgradeOptions
from whimbrel.upgrade.rules import rules_of

LISTS = "Order deny,allow\nDeny from all\nAllow from 10.20\nSatisfy Any\n"
SSL = "LoadModule ssl_module modules/mod_ssl.so\n"


def section(condition: str, lines: str) -> str:
    return f"{SSL}DocumentRoot ROOT/htdocs\n<Directory ROOT/htdocs>\n{condition}{USER}{lines}</Directory>\n"


@pytest.mark.parametrize("condition", ["SSLRequireSSL\n", 'SSLRequire %{SSL_CIPHER} eq "x"\n'])
def test_satisfy_stays_beside_a_condition(tmp_path: Path, condition: str) -> None:
    # apache2: with Require ip and Require valid-user in the place of these lines, every user is 403 where the
    # condition refuses; with these lines in mod_access_compat, a user is admitted as in 2.2
    text = section(condition, f"Require valid-user\n{LISTS}")
    assert "Satisfy Any" in text_after(tmp_path, text)
    assert marks(tmp_path / "b", text)[1] == []


def test_require_lines_are_written_where_all_conditions_hold_together(tmp_path: Path) -> None:
    text = section("SSLRequireSSL\n", "Require valid-user\nOrder allow,deny\nAllow from 10.20\n")
    after = text_after(tmp_path, text)
    assert "Order" not in after and "Require ip 10.20" in after and "SSLRequireSSL" in after
    assert marks(tmp_path / "b", text)[1] == []


@pytest.mark.parametrize(
    ("outer", "is_strict"), [("SSLOptions +StrictRequire\n", True), ("SSLOptions +StdEnvVars\n", False)]
)
def test_an_option_of_the_server_is_part_of_the_decision(
    tmp_path: Path, outer: str, *, is_strict: bool
) -> None:
    text = section("SSLRequireSSL\n", f"Require valid-user\n{LISTS}")
    tree = config_tree(tmp_path, {"conf/httpd.conf": MODULES + text + outer})
    decisions = analyze_access(tree).decisions
    found = [decisions.before_22(chain) for chain in decisions.chains]
    atoms = [str(atom) for decision in found if decision is not None for atom in decision.atoms()]
    assert any("OverTls" in atom for atom in atoms)
    assert any("StrictRequire" in atom for atom in atoms) is is_strict


def test_a_login_beside_strict_conditions_stays(tmp_path: Path) -> None:
    # 2.2: mod_authz_host refuses first, so that mod_ssl notes nothing and Satisfy Any admits users; apache2
    # 2.4.71 answers 200 to them with mod_access_compat loaded before mod_ssl, 403 behind it or without Order
    outer = section("SSLRequireSSL\nSSLOptions +StrictRequire\n", "Require valid-user\nSatisfy any\n")
    inner = "<Directory ROOT/htdocs/keys>\nOrder deny,allow\nDeny from all\nAllow from 10.1\n</Directory>\n"
    main = f"{tmp_path}/conf/httpd.conf"
    after = upgrade(config_tree(tmp_path, {"conf/httpd.conf": MODULES + outer + inner})).files[main].decode()
    kept = after.partition("/keys>")[2]
    assert "Deny from all" in kept and "Satisfy Any" in kept and "Require valid-user" in kept
    assert after.index("access_compat_module") < after.index("ssl_module")
    assert marks(tmp_path / "b", outer + inner)[1] == []


def test_an_option_alone_is_left_as_it_is(tmp_path: Path) -> None:
    text = section("SSLOptions +StrictRequire\n", "Require valid-user\n")
    assert text_after(tmp_path, text).replace(str(tmp_path), "ROOT") == text


@pytest.mark.parametrize("no_outer_password", [False, True])
def test_a_file_alone_keeps_satisfy_beside_a_condition(tmp_path: Path, *, no_outer_password: bool) -> None:
    text = f"{USER}SSLRequireSSL\nRequire valid-user\nSatisfy any\n"
    options = UpgradeOptions(no_outer_password=no_outer_password)
    result = upgrade(fragments(tmp_path, {".htaccess": text}, options), rules_of("access"))
    assert not result.files
    (finding,) = (one for one in result.findings if one.needs_review)
    assert "SSLRequireSSL" in finding.message and "all granted" not in finding.advice

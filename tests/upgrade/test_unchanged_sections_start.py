"""Sections are called "breaks start-up" where apache2 refuses the text as it stands, and nowhere else."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.corpus.httpd_check import APACHE, MODULES, needs_apache
from whimbrel.base.latin1 import from_system
from whimbrel.config.options import LoadOptions
from whimbrel.upgrade.check.fixpoint import upgrade
from whimbrel.upgrade.model import Risk, UpgradeOptions
from whimbrel.upgrade.source.reading import Sources, read_config_tree

COMPAT = "access_compat"
NAMES = ("mpm_prefork", "authn_core", "authz_core", "authn_file", "authz_host", "authz_user", "auth_basic")
PASSWORD = "AuthType Basic\nAuthName x\nAuthUserFile conf/users\n"
SECTIONS = {
    "order": "Order deny,allow\nDeny from all\n",
    "satisfy": f"{PASSWORD}Require valid-user\nSatisfy Any\n",
    "authoritative": f"{PASSWORD}AuthzUserAuthoritative On\nRequire valid-user\n",
    "require": f"{PASSWORD}Require user joe\nRequire user jane\n",
    "unknown-word": f"{PASSWORD}Require nobody-knows-this\n",
    "tested": "<IfModule mod_access_compat.c>\nOrder deny,allow\nDeny from all\n</IfModule>\n",
}


@needs_apache
@pytest.mark.parametrize("modules", [NAMES, (*NAMES, COMPAT)], ids=["without", "with"])
@pytest.mark.parametrize("name", SECTIONS)
def test_as_apache2_starts(tmp_path: Path, name: str, modules: tuple[str, ...]) -> None:
    for directory in ("conf", "htdocs", "logs"):
        (tmp_path / directory).mkdir()
    load = "".join(f"LoadModule {one}_module {MODULES}/mod_{one}.so\n" for one in modules)
    conf = tmp_path / "conf/httpd.conf"
    conf.write_text(
        f'ServerRoot "{tmp_path}"\nServerName a.example\n{load}DocumentRoot "{tmp_path}/htdocs"\n'
        f'<Directory "{tmp_path}/htdocs">\n{SECTIONS[name]}</Directory>\n'
    )
    checked = subprocess.run(
        [APACHE, "-t", "-f", conf], capture_output=True, text=True, check=False, timeout=30
    )
    options = LoadOptions(server_root=from_system(str(tmp_path)), file="conf/httpd.conf")
    tree = read_config_tree(Sources(options=options), UpgradeOptions())
    access = [one for one in upgrade(tree).findings if one.rule[0] in "CX" and one.rule != "C45"]
    breaking = [one for one in access if one.risk is Risk.BREAKS and "is not loaded" not in one.message]
    assert bool(breaking) is (checked.returncode != 0), (checked.stderr, access)

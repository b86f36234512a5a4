"""Modules of a file that a start script writes: the setting that it is written from is named."""

from __future__ import annotations

from pathlib import Path

from tests.unit.upgrade.config_trees import config_tree

from whimbrel.upgrade.check.fixpoint import upgrade
from whimbrel.upgrade.model import Finding

ACCESS = "<Directory />\nOrder allow,deny\nDeny from all\n</Directory>\n"
MAIN = f"Listen 80\nInclude sysconfig.d/loadmodule.conf\n{ACCESS}"
# what start_apache2 of SUSE writes for APACHE_MODULES="authz_host authz_default dir /srv/mod_own.so"
GENERATED = (
    "LoadModule authz_host_module /usr/lib64/apache2/mod_authz_host.so\n"
    "LoadModule authz_default_module /usr/lib64/apache2/mod_authz_default.so\n"
    "LoadModule dir_module /usr/lib64/apache2/mod_dir.so\n"
    "LoadModule own_module /srv/mod_own.so\n"
)


def findings(root: Path, name: str) -> list[Finding]:
    files: dict[str, str | bytes] = {"conf/httpd.conf": MAIN.replace("sysconfig.d/loadmodule.conf", name)}
    found = upgrade(config_tree(root, {**files, name: GENERATED})).findings
    return [finding for finding in found if "APACHE_MODULES" in finding.advice]


def test_the_setting_has_the_modules_of_24(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, "sysconfig.d/loadmodule.conf")
    value = finding.advice.partition('"')[2].partition('"')[0].split()
    assert {"authz_host", "dir", "authz_core", "unixd", "/srv/mod_own.so"} <= set(value)
    assert "authz_default" not in value
    assert "+authz_core" in finding.message
    assert "-authz_default" in finding.message
    assert finding.needs_review
    assert finding.place.line == 1


def test_a_file_that_is_not_generated_is_edited_alone(tmp_path: Path) -> None:
    assert not findings(tmp_path, "conf.d/loadmodule.conf")

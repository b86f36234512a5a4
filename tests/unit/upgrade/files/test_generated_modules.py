"""Modules of a file that a start script writes: the setting that it is written from is named."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.upgrade.config_trees import config_tree

from whimbrel.upgrade.apply.server_copy import copy_tree, write_in_place
from whimbrel.upgrade.check.fixpoint import UpgradeResult, upgrade
from whimbrel.upgrade.model import Finding, UpgradeOptions
from whimbrel.upgrade.source.named_sources import ConfigArguments, sources
from whimbrel.upgrade.source.reading import read_config_tree

ACCESS = "<Directory />\nOrder allow,deny\nDeny from all\n</Directory>\n"
MAIN = f"Listen 80\nInclude sysconfig.d/loadmodule.conf\n{ACCESS}"
# what start_apache2 of SUSE writes for APACHE_MODULES="authz_host authz_default dir /srv/mod_own.so"
GENERATED = (
    "LoadModule authz_host_module /usr/lib64/apache2/mod_authz_host.so\n"
    "LoadModule authz_default_module /usr/lib64/apache2/mod_authz_default.so\n"
    "LoadModule dir_module /usr/lib64/apache2/mod_dir.so\n"
    "LoadModule own_module /srv/mod_own.so\n"
)


# /etc/sysconfig/apache2 of SLES 12: neither the MPM nor mod_unixd is in it, httpd has both (README.SuSE)
OF_BINARY = {"unixd", "mpm_prefork", "mpm_worker", "mpm_event"}


def findings(root: Path, name: str, main: str = MAIN) -> list[Finding]:
    files: dict[str, str | bytes] = {"conf/httpd.conf": main.replace("sysconfig.d/loadmodule.conf", name)}
    found = upgrade(config_tree(root, {**files, name: GENERATED})).findings
    return [finding for finding in found if "APACHE_MODULES" in finding.advice]


def value_of(finding: Finding) -> list[str]:
    return finding.advice.partition('"')[2].partition('"')[0].split()


def test_the_setting_has_the_modules_of_24(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, "sysconfig.d/loadmodule.conf")
    value = value_of(finding)
    assert {"authz_host", "dir", "authz_core", "/srv/mod_own.so"} <= set(value)
    assert not OF_BINARY & set(value)
    assert "authz_default" not in value
    assert "+authz_core" in finding.message
    assert "-authz_default" in finding.message
    assert finding.needs_review
    assert (finding.place.path.rpartition("/")[2], finding.place.line) == ("httpd.conf", 2)


def test_a_comment_at_the_include_records_that_the_setting_is_made(tmp_path: Path) -> None:
    main = MAIN.replace("Include", "# whimbrel: ignore[C05]\nInclude")
    assert not findings(tmp_path, "sysconfig.d/loadmodule.conf", main)
    (finding,) = findings(tmp_path, "sysconfig.d/loadmodule.conf")
    assert any("ignore[C05]" in answer for answer in finding.answers)


def test_a_file_that_is_not_generated_is_edited_alone(tmp_path: Path) -> None:
    assert not findings(tmp_path, "conf.d/loadmodule.conf")


def machine(image: Path, modules: str, *, generated: bool) -> Path:
    """Write the files of a machine with SUSE's packages; return the image."""
    files = {
        "etc/apache2/httpd.conf": f"{MAIN}DocumentRoot /srv/www/htdocs\n".replace("sys", "/etc/apache2/sys"),
        "etc/sysconfig/apache2": f'# Path: Network\nAPACHE_MODULES="{modules}"\nAPACHE_SERVER_FLAGS="SSL"\n',
        "srv/www/htdocs/index.html": "x",
        **({"etc/apache2/sysconfig.d/loadmodule.conf": GENERATED} if generated else {}),
    }
    for name, text in files.items():
        place = image / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return image


OLD = "authz_host authz_default dir /srv/mod_own.so"


def of_machine(image: Path) -> tuple[UpgradeResult, list[Finding]]:
    what, _ = sources(ConfigArguments(paths=[image]))
    result = upgrade(read_config_tree(what, UpgradeOptions()))
    return result, [one for one in result.findings if "APACHE_MODULES" in one.advice]


@pytest.mark.parametrize("generated", [True, False])
def test_the_setting_that_is_here_decides(tmp_path: Path, generated: bool) -> None:
    image = machine(tmp_path / "old", OLD, generated=generated)
    result, (finding,) = of_machine(image)
    assert (finding.place.path, finding.place.line) == (f"{image}/etc/sysconfig/apache2", 2)
    assert value_of(finding)[:3] == ["authz_host", "dir", "/srv/mod_own.so"]
    assert "authz_core" in value_of(finding)
    # the start script writes the file again: once the setting is made, both have the same modules
    copy = tmp_path / "new"
    copy_tree(result, result.tree.root, copy)
    settings = copy / "etc/sysconfig/apache2"
    assert settings.read_text() == (image / "etc/sysconfig/apache2").read_text()
    assert [one.place.path for one in of_machine(copy)[1]] == [str(settings)]
    settings.write_text(f'APACHE_MODULES="{" ".join(value_of(finding))}"\n')
    assert not of_machine(copy)[1]


@pytest.mark.parametrize(
    ("text", "is_decided"),
    [
        ('APACHE_MODULES="authz_host"\n', True),
        ("A=1; APACHE_MODULES='authz_host mod_dir dir'\n", True),
        # bash appends, and the start script of SUSE is one of bash; other shells do not
        ('APACHE_MODULES="authz_host"\nAPACHE_MODULES+=" dir"\n', False),
        ('export APACHE_MODULES="authz_host"\nexport APACHE_MODULES+=" dir"\n', False),
        ('APACHE_MODULES="authz_host"\nif grep -q x /etc/y; then APACHE_MODULES="dir"; fi\n', False),
        ('APACHE_MODULES="$(list_modules)"\n', False),
    ],
)
def test_a_value_that_only_a_shell_decides(text: str, is_decided: bool, tmp_path: Path) -> None:
    image = machine(tmp_path / "old", OLD, generated=True)
    (image / "etc/sysconfig/apache2").write_text(text)
    (finding,) = of_machine(image)[1]
    assert ("which lacks modules" in finding.message) is is_decided
    assert ("whose value is not decided here" in finding.message) is not is_decided
    assert "which is not here" not in finding.message


def test_no_file_is_written_that_the_start_script_writes(tmp_path: Path) -> None:
    image = machine(tmp_path / "old", OLD, generated=False)
    result, _ = of_machine(image)
    write_in_place(result, str(image), [image])
    assert not (image / "etc/apache2/sysconfig.d").exists()
    assert "Require all denied" in (image / "etc/apache2/httpd.conf").read_text()

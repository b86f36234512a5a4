"""Names that modules of third parties register: a line with one is in order where the module is loaded.

What each module registers, and what it decides in 2.2, is documented by it: Subversion's book ("DAV svn"),
mod_authnz_external ("AuthBasicProvider external"), mod_authz_unixgroup ("Require group" in 2.2),
mod_auth_sspi ("Require group" with groups of Windows), Shibboleth ("Require shib-session"), mpm_itk.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.upgrade.config_trees import laid

from whimbrel.config.options import LoadOptions
from whimbrel.upgrade.check.check import CheckResult, check, parse_selection
from whimbrel.upgrade.model import LOAD_ERROR
from whimbrel.upgrade.source.reading import Sources
from whimbrel.verify.loading import load_side

MAIN = "conf/httpd.conf"
MODULES_22 = "".join(
    f"LoadModule {name}_module modules/mod_{name}.so\n"
    for name in ("authz_host", "auth_basic", "authn_file", "authz_user", "dir", "mime", "dav", "dav_fs")
)
SITE = f"{MODULES_22}%s\nListen 8080\nServerName a\n%s\n"
PASSWORDS = "AuthType Basic\nAuthName a\n"


def checked(root: Path, text: str) -> CheckResult:
    laid(root, {MAIN: text})
    return check(Sources(options=LoadOptions(server_root=str(root), file=MAIN)), parse_selection("", ""))


def refused(result: CheckResult) -> list[str]:
    """Return the messages about lines that 2.4 refuses."""
    messages = [one.message for one in result.findings if one.rule == LOAD_ERROR]
    return [message.partition("this line: ")[2] for message in messages]


def checked_site(root: Path, module: str, lines: str) -> CheckResult:
    identifier, _, file = module.partition(" ")
    load = f"LoadModule {identifier} modules/{file}.so" if file else ""
    return checked(root, SITE % (load, lines))


def left_out_by_22(root: Path) -> str:
    """Return what 2.2 reads the text without, which it does not refuse."""
    side = load_side(LoadOptions(server_root=str(root), file=MAIN), "2.2")
    assert side.errors == ()
    return "; ".join(problem.reason for problem in side.missing)


@pytest.mark.parametrize(
    ("module", "lines", "names"),
    [
        (
            "dav_svn_module mod_dav_svn",
            "<Location /svn>\nDAV svn\nSVNPath /srv/svn\n</Location>",
            "DAV svn: of Subversion",
        ),
        (
            "authnz_external_module mod_authnz_external",
            f"DefineExternalAuth p pipe /x\n<Location /a>\n{PASSWORDS}AuthBasicProvider external\n"
            "AuthExternal p\nRequire valid-user\n</Location>",
            "AuthBasicProvider external: of mod_authnz_external",
        ),
        (
            "mod_shib mod_shib_22",
            "<Location /a>\nAuthType shibboleth\nRequire shib-session\n</Location>",
            "",
        ),
        ("pagespeed_module mod_pagespeed", "ModPagespeed on\n", ""),
        ("nss_module libmodnss", "<VirtualHost *:8080>\nNSSEngine on\n</VirtualHost>", "NSSEngine"),
        (
            "own_module mod_own",
            "<Location /a>\nDAV own\n</Location>",
            "DAV own: of a module that is in no table",
        ),
    ],
)
def test_no_version_refuses_the_line_beside_its_module(
    tmp_path: Path, module: str, lines: str, names: str
) -> None:
    result = checked_site(tmp_path, module, lines)
    assert refused(result) == []
    assert names in left_out_by_22(tmp_path)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("<Location /svn>\nDAV svn\n</Location>", "Unknown DAV provider: svn"),
        (
            f"<Location /a>\n{PASSWORDS}AuthBasicProvider external\nRequire valid-user\n</Location>",
            "Unknown Authn provider: external",
        ),
    ],
)
@pytest.mark.parametrize("module", ["", "jk_module mod_jk"])
def test_without_a_module_that_registers_the_name_the_line_is_refused(
    tmp_path: Path, module: str, lines: str, message: str
) -> None:
    assert refused(checked_site(tmp_path, module, lines)) == [message]


@pytest.mark.parametrize(
    ("module", "lines"),
    [
        ("sspi_auth_module mod_auth_sspi", "AuthType SSPI\nAuthName a\nSSPIAuth On\n"),
        ("auth_sys_group_module mod_auth_sys_group", PASSWORDS),
        (
            "authz_unixgroup_module mod_authz_unixgroup",
            "AuthType Basic\nAuthName a\nAuthUserFile /u\nAuthzUnixgroup on\n",
        ),
    ],
)
def test_users_whom_a_module_admits_by_their_group_are_not_refused_in_silence(
    tmp_path: Path, module: str, lines: str
) -> None:
    """2.2 asks the module about `Require group`; 2.4 asks mod_authz_groupfile, which knows no groups."""
    result = checked_site(tmp_path, module, f"<Location /a>\n{lines}Require group staff\n</Location>")
    found = [finding for finding in result.findings if finding.rule == "C23"]
    assert [finding.risk.name for finding in found] == ["CLOSES"]
    assert "group staff: yes: 2.2 lets it in, 2.4 answers 401" in found[0].decision
    assert not any("internal-server-error" in edit for one in result.findings for edit in map(str, one.edits))


def test_a_module_without_groups_leaves_them_to_the_files(tmp_path: Path) -> None:
    """mod_auth_kerb names the user; `Require group` reads the group file in both versions."""
    lines = "AuthType Kerberos\nAuthName a\nAuthGroupFile /g\nRequire group staff\n"
    modules = "LoadModule authz_groupfile_module modules/mod_authz_groupfile.so\n"
    text = SITE % (
        "LoadModule auth_kerb_module modules/mod_auth_kerb.so",
        f"<Location /a>\n{lines}</Location>",
    )
    result = checked(tmp_path, modules + text)
    assert not [one for one in result.findings if one.rule == "C23"]


def test_mpm_itk_is_compiled_into_a_server_of_22(tmp_path: Path) -> None:
    """In 2.2 it is the MPM; in 2.4 a module beside mpm_prefork, without which the line is refused."""
    result = checked_site(tmp_path, "", "AssignUserID a b\n")
    message = "Invalid command 'AssignUserID', perhaps misspelled or defined by a module"
    assert refused(result)[0].startswith(message)
    advice = next(finding.advice for finding in result.findings if finding.rule == "LOAD")
    assert "load mpm_itk_module" in advice
    assert "AssignUserID" in left_out_by_22(tmp_path)


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("fcgid_module mod_fcgid", "FCGIWrapper /not/here .php"),
        ("fastcgi_module mod_fastcgi", "FastCgiServer /not/here.fcgi"),
    ],
)
def test_a_program_that_is_not_here_is_no_fault_of_the_text(tmp_path: Path, module: str, line: str) -> None:
    result = checked_site(tmp_path, module, f"{line}\n")
    assert refused(result) == []
    assert "/not/here" in left_out_by_22(tmp_path)

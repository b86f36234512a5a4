"""Which modules a text needs.

What needs what was asked of apache2: `Invalid command`, `Unknown ... provider`, AH01177.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.upgrade.config_trees import config_tree, fragments

from whimbrel.report.entries import entry_of
from whimbrel.upgrade.check.fixpoint import upgrade
from whimbrel.upgrade.files.needed_modules import needed_modules
from whimbrel.upgrade.model import Risk

BASE = (
    "LoadModule mpm_prefork_module modules/mod_mpm_prefork.so\n"
    "LoadModule authz_core_module modules/mod_authz_core.so\n"
    "LoadModule unixd_module modules/mod_unixd.so\n"
)


def missing(root: Path, text: str, **files: str) -> list[str]:
    more = {name.replace("__", "/").replace("dot_", "."): content for name, content in files.items()}
    found = needed_modules(
        config_tree(
            root, {"htdocs/x": "", "conf/httpd.conf": "DocumentRoot ROOT/htdocs\n" + BASE + text, **more}
        )
    )
    return [need.identifier.removesuffix("_module") for need in found]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", []),
        ("AddOutputFilterByType DEFLATE text/html\n", ["filter"]),
        ("<Directory />\nOrder allow,deny\n</Directory>\n", ["access_compat"]),
        ("<Directory />\nRequire all granted\n</Directory>\n", []),
        ("<Directory />\nRequire ip 10\n</Directory>\n", ["authz_host"]),
        ("<Directory />\nRequire ip 10\nRequire host a.example\n</Directory>\n", ["authz_host"]),
        ("<Directory />\nRequire not local\n</Directory>\n", ["authz_host"]),
        ("<Directory />\nAuthName x\n</Directory>\n", ["authn_core"]),
        ("SSLSessionCache shmcb:logs/s\n", ["ssl", "socache_shmcb"]),
        ("LoadModule proxy_balancer_module modules/mod_proxy_balancer.so\n", ["slotmem_shm"]),
        ("LoadModule cache_module modules/mod_cache.so\nCacheRoot x\n", ["cache_disk"]),
        ("LoadModule proxy_module modules/mod_proxy.so\nAllowCONNECT 443\n", ["proxy_connect"]),
        ("<IfModule mod_status.c>\nExtendedStatus On\n</IfModule>\n", []),
        ("<IfModule mod_headers.c>\nHeader set A b\n</IfModule>\n", []),
        ("<IfDefine X>\nHeader set A b\n</IfDefine>\n", ["headers"]),
        ("<IfVersion < 2.3>\nHeader set A b\n</IfVersion>\n", ["version"]),
    ],
)
def test_modules_of_a_text(tmp_path: Path, text: str, wanted: list[str]) -> None:
    assert missing(tmp_path, text) == wanted


def test_a_file_of_a_folder_keeps_its_errors(tmp_path: Path) -> None:
    assert (
        missing(tmp_path, "", htdocs__dot_htaccess="Header set A b\nAuthBasicProvider file\nLuaRoot x\n")
        == []
    )


def test_a_file_of_a_folder_needs_what_was_in_the_core(tmp_path: Path) -> None:
    assert missing(
        tmp_path, "", htdocs__dot_htaccess="AuthName x\nAddOutputFilterByType DEFLATE text/html\n"
    ) == ["authn_core", "filter"]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", "prefork"),
        ("ThreadsPerChild 25\n", "worker"),
        ("LoadModule cgid_module modules/mod_cgid.so\n", "worker"),
        ("<IfModule event.c>\nThreadsPerChild 25\n</IfModule>\n", "event"),
        (
            (
                "<IfModule prefork.c>\nStartServers 1\n</IfModule>\n<IfModule worker.c>\n"
                "ThreadsPerChild 25\n</IfModule>\n"
            ),
            "prefork",
        ),
    ],
)
def test_the_mpm(tmp_path: Path, text: str, wanted: str) -> None:
    found = needed_modules(config_tree(tmp_path, {"conf/httpd.conf": text}))
    assert found[0].identifier == f"mpm_{wanted}_module"


def test_fragments_need_nothing(tmp_path: Path) -> None:
    assert needed_modules(fragments(tmp_path, {"conf/a.conf": "Header set A b\n"})) == []


@pytest.mark.parametrize(
    ("text", "module", "risk", "fails_requests"),
    [
        # each of them asked of apache2: -t, then a request
        ("", "authz_core", Risk.BREAKS, True),
        ("<Directory />\nOrder allow,deny\nAllow from all\n</Directory>\n", "authz_core", Risk.BREAKS, True),
        ("<Directory />\nRequire valid-user\n</Directory>\n", "authz_core", Risk.BREAKS, False),
        ("<Directory />\nOrder allow,deny\n</Directory>\n", "access_compat", Risk.BREAKS, False),
        ("<Directory />\nAuthType Basic\n</Directory>\n", "auth_basic", Risk.BREAKS, True),
        ("<Directory />\nAuthType Basic\n</Directory>\n", "authn_core", Risk.BREAKS, False),
        ("SetOutputFilter INCLUDES\n", "include", Risk.CHANGES, False),
        ("SetOutputFilter INCLUDES\nSSITimeFormat %D\n", "include", Risk.BREAKS, False),
        ("<Location /s>\nSetHandler server-status\n</Location>\n", "status", Risk.CHANGES, False),
        ("", "dir", Risk.CHANGES, False),
        ("DirectoryIndex a\n", "dir", Risk.BREAKS, False),
    ],
)
def test_what_a_missing_module_does(
    text: str, module: str, risk: Risk, fails_requests: bool, tmp_path: Path
) -> None:
    found = {
        need.identifier: need for need in needed_modules(config_tree(tmp_path, {"conf/httpd.conf": text}))
    }
    need = found[f"{module}_module"]
    assert (need.risk, need.fails_requests) == (risk, fails_requests)


def test_the_first_line_shows_what_its_module_needs(tmp_path: Path) -> None:
    """mod_authnz_ldap of 2.4 needs mod_ldap."""
    sections = "".join(f"<Location /{name}>\nAuthBasicProvider ldap\n</Location>\n" for name in ("a", "b"))
    found = needed_modules(config_tree(tmp_path, {"conf/httpd.conf": BASE + sections}))
    lines = {need.identifier: need.line for need in found}
    first = BASE.count("\n") + 2
    for name in ("authnz_ldap_module", "ldap_module"):
        line = lines[name]
        assert line is not None and line.place.line == first


@pytest.mark.parametrize(
    ("lines", "effect"),
    [
        ("", "500 per request"),
        # the Require lines that upgrade writes are not part of the text that is judged
        ("Order allow,deny\nAllow from all\n", "500 per request"),
        ("Require valid-user\n", "breaks start-up"),
    ],
)
def test_the_effect_of_a_missing_access_module_in_the_report(lines: str, effect: str, tmp_path: Path) -> None:
    text = f"Listen 80\n<Directory />\n{lines}</Directory>\n"
    result = upgrade(config_tree(tmp_path, {"conf/httpd.conf": text}))
    effects = {entry.message.split()[0]: entry.effect for entry in map(entry_of, result.findings)}
    assert effects["mod_authz_core"] == effect
    assert effects["mod_mpm_prefork"] == "breaks start-up"


def test_directories_that_were_not_read_change_no_access_that_is_known(tmp_path: Path) -> None:
    """Nothing shows that a .htaccess file there has Order lines: it is the directory that is not known."""
    tree = config_tree(tmp_path, {"conf/httpd.conf": f"DocumentRoot {tmp_path}/gone\n{BASE}"})
    (need,) = [one for one in needed_modules(tree) if one.identifier == "access_compat_module"]
    assert need.risk is Risk.CHANGES
    found = [one for one in upgrade(tree).findings if "mod_access_compat" in one.message]
    assert [one.risk for one in found] == [Risk.CHANGES]
    assert "is not known" in found[0].message

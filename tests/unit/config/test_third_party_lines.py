"""Lines of modules that httpd does not distribute: listed together, refused or left out."""

from __future__ import annotations

from pathlib import Path

import pytest

from whimbrel.base.dialect import V24
from whimbrel.base.errors import ConfigError, ForeignModule, ThirdPartyError
from whimbrel.config.check import check
from whimbrel.config.configuration import Configuration
from whimbrel.config.core_config import CoreDirConfig
from whimbrel.config.htaccess import ALL as EVERYTHING
from whimbrel.config.htaccess import Override, parse
from whimbrel.config.load import load
from whimbrel.config.options import LoadOptions
from whimbrel.modules import ALL
from whimbrel.verify.loading import load_side

BASE = """ServerName localhost
Listen 127.0.0.1:9
LoadModule mpm_event_module modules/mod_mpm_event.so
LoadModule authz_core_module modules/mod_authz_core.so
LoadModule authz_host_module modules/mod_authz_host.so
LoadModule authn_core_module modules/mod_authn_core.so
LoadModule setenvif_module modules/mod_setenvif.so
LoadModule access_compat_module modules/mod_access_compat.so
LoadModule headers_module modules/mod_headers.so
LoadModule log_config_module modules/mod_log_config.so
LoadModule env_module modules/mod_env.so
"""
FIRST = BASE.count("\n") + 1
SECURITY = "LoadModule security2_module modules/mod_security2.so\n"
LISTED = "whimbrel: {} ({}) has no behaviour in Whimbrel:"


def options(root: Path, text: str) -> LoadOptions:
    """Write the configuration *text* after the base."""
    (root / "logs").mkdir(exist_ok=True)
    (root / "httpd.conf").write_text(BASE.replace("LoadModule log_config", "#") + text)
    return LoadOptions(server_root=str(root), file=str(root / "httpd.conf"), check_only=True)


def read(root: Path, text: str) -> Configuration:
    return load(options(root, text), ALL, V24)


def refusal(root: Path, text: str) -> list[str]:
    """Return the lines of -t for a configuration that is refused."""
    status, output = check(options(root, text), ALL, V24)
    assert status == 1
    return output.replace(str(root), "").split("\n")


def test_every_line_is_listed_with_effect_place_and_substitute(tmp_path: Path) -> None:
    lines = refusal(
        tmp_path,
        f"{SECURITY}LoadModule perl_module modules/mod_perl.so\nSecRuleEngine On\n"
        "<Location /p>\nPerlResponseHandler A\nSecRuleEngine Off\n</Location>\nPerlModule B\n",
    )
    assert lines[0] == (
        f"apache2: Syntax error on line {FIRST} of /httpd.conf: Cannot load modules/mod_security2.so into "
        "server: /modules/mod_security2.so: cannot open shared object file: No such file or directory"
    )
    assert lines[1:5] == [
        LISTED.format("ModSecurity", "protection"),
        f"  /httpd.conf:{FIRST} LoadModule security2_module",
        f"  /httpd.conf:{FIRST + 2},{FIRST + 5} SecRuleEngine",
        "  instead: mod_security2 2.7 and later builds for 2.4; it needs mod_unique_id; a filtering proxy in "
        "front does the same",
    ]
    assert lines[5] == "  to serve without it: WhimbrelIgnoreModule security2"
    assert lines[6:10] == [
        LISTED.format("mod_perl", "application"),
        f"  /httpd.conf:{FIRST + 1} LoadModule perl_module",
        f"  /httpd.conf:{FIRST + 4} PerlResponseHandler",
        f"  /httpd.conf:{FIRST + 7} PerlModule",
    ]
    assert not [line for line in lines if "WhimbrelIgnoreModule perl" in line]


def test_a_directive_is_recognised_without_its_module(tmp_path: Path) -> None:
    lines = refusal(tmp_path, "SecRuleEngine On\nJkMount /a w\n")
    assert lines[:2] == [
        f"AH00526: Syntax error on line {FIRST} of /httpd.conf:",
        "Invalid command 'SecRuleEngine', perhaps misspelled or defined by a module not included in the "
        "server configuration",
    ]
    assert LISTED.format("mod_jk", "application") in lines


def test_an_unknown_module_has_httpds_message_alone(tmp_path: Path) -> None:
    lines = refusal(tmp_path, "LoadModule own_module modules/mod_own.so\n")
    assert len(lines) == 1
    assert lines[0].startswith(f"apache2: Syntax error on line {FIRST} of /httpd.conf: Cannot load")


def test_lines_of_an_unknown_module_are_listed(tmp_path: Path) -> None:
    lines = refusal(tmp_path, "LoadModule own_module modules/mod_own.so\nOwnDoor open\n")
    assert lines[1:] == [
        "whimbrel: lines of modules that are not known here, or that need them:",
        f"  /httpd.conf:{FIRST} LoadModule own_module",
        f"  /httpd.conf:{FIRST + 1} OwnDoor",
    ]


def test_a_misspelled_directive_stops_as_in_httpd(tmp_path: Path) -> None:
    lines = refusal(tmp_path, "Misspelled a\nSecRuleEngine On\n")
    assert len(lines) == 2 and "'Misspelled'" in lines[1]


def test_a_section_of_a_refused_module_does_not_vanish(tmp_path: Path) -> None:
    """Its contents are read, as with the module: an error in it is found."""
    for test in ("security2_module", "mod_security2.c"):
        lines = refusal(tmp_path, f"{SECURITY}<IfModule {test}>\nMisspelled a\n</IfModule>\n")
        assert lines[-1].endswith(
            "Invalid command 'Misspelled', perhaps misspelled or defined by a module not included in the "
            "server configuration"
        )


def test_an_error_of_reading_follows_the_list(tmp_path: Path) -> None:
    lines = refusal(tmp_path, f"{SECURITY}<Location /a>\n</Directory>\n")
    assert lines[1] == LISTED.format("ModSecurity", "protection")
    assert lines[-1].startswith("whimbrel: reading ended at /httpd.conf:")


@pytest.mark.parametrize(
    ("text", "warnings"),
    [("SecRuleEngine On\nNameVirtualHost *\n", 0), ("NameVirtualHost *\nSecRuleEngine On\n", 1)],
)
def test_warnings_end_where_httpd_stops(text: str, warnings: int, tmp_path: Path) -> None:
    found = refusal(tmp_path, text)
    assert sum("NameVirtualHost" in line for line in found) == warnings


def test_many_lines_of_one_directive_are_one_entry(tmp_path: Path) -> None:
    lines = refusal(tmp_path, SECURITY + "SecRule a b\n" * 5000)
    assert len(lines) < 10
    assert [line for line in lines if line.endswith("... (5000 lines) SecRule")]


def test_consequences_are_bounded(tmp_path: Path) -> None:
    text = (
        "LoadModule shib_module modules/mod_shib.so\n"
        + "<Location /a>\nRequire shibboleth\n</Location>\n" * 500
    )
    lines = refusal(tmp_path, text)
    assert len([line for line in lines if line.startswith("  then ")]) == 50


def test_access_rules_of_an_unknown_module_are_never_skipped(tmp_path: Path) -> None:
    text = "<Location /a>\nAuthType shibboleth\nShibRequireSession On\nRequire valid-user\n</Location>\n"
    assert LISTED.format("Shibboleth", "access") in refusal(tmp_path, text)


# WhimbrelIgnoreModule -----------------------------------------------------------------------------
def test_an_ignored_module_warns_at_each_start(tmp_path: Path) -> None:
    text = (
        f"{SECURITY}WhimbrelIgnoreModule security2 geoip\n<IfModule mod_security2.c>\nSecRuleEngine On\n"
        "Header set X-Inside yes\n</IfModule>\n"
    )
    status, output = check(options(tmp_path, text), ALL, V24)
    assert status == 0
    assert output.replace(str(tmp_path), "").split("\n") == [
        f"[so:warn] WhimbrelIgnoreModule: ModSecurity (protection) is left out: 2 lines have no effect, the "
        f"first at /httpd.conf:{FIRST}",
        "Syntax OK",
    ]


def test_the_directive_may_follow_and_httpd_may_be_kept_from_it(tmp_path: Path) -> None:
    hidden = "<IfModule whimbrel.c>\nWhimbrelIgnoreModule mod_security2.so\n</IfModule>\n"
    text = f"{hidden}SecRuleEngine On\n{SECURITY}"
    assert check(options(tmp_path, text), ALL, V24)[0] == 0


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("perl", "mod_perl can't be ignored: without it, the text of programs could be sent"),
        ("auth_kerb", "mod_auth_kerb can't be ignored: without it, clients could enter that it refuses"),
        ("own", "own is in no table of modules, so it may decide who may enter; it can't be ignored"),
        ("ssl", "ssl is in no table of modules"),
    ],
)
def test_modules_that_cannot_be_ignored(tmp_path: Path, name: str, reason: str) -> None:
    with pytest.raises(ConfigError) as problem:
        read(tmp_path, f"WhimbrelIgnoreModule {name}\n")
    assert problem.value.reason.startswith(f"WhimbrelIgnoreModule: {reason}")


def test_a_module_that_is_built_in_is_not_ignored(tmp_path: Path) -> None:
    configuration = read(tmp_path, "WhimbrelIgnoreModule fcgid\n")
    assert [message.text for message in configuration.messages] == [
        "WhimbrelIgnoreModule fcgid has no effect: mod_fcgid is built in"
    ]


GEO = "WhimbrelIgnoreModule geoip security2 cloudflare maxminddb\nGeoIPEnable On\n"
RULES = [
    "SetEnvIf GEOIP_COUNTRY_CODE CN Block",
    "Deny from env=GEOIP_BLOCK",
    "Require expr \"reqenv('GEOIP_COUNTRY_CODE') == 'DE'\"",
    "<If \"-n env('GEOIP_CITY')\">\nHeader set a b\n</If>",
    "CloudFlareRemoteIPHeader CF-Connecting-IP\nDeny from 192.0.2.1",
    "CloudFlareRemoteIPHeader CF-Connecting-IP\nSetEnvIf Remote_Addr ^192 Block",
    "CloudFlareRemoteIPHeader CF-Connecting-IP\nRequire not ip 192.0.2.1",
    "DenyAllButCloudFlare",
    "MaxMindDBEnv LAND db/country\nSetEnvIf LAND CN Block",
    "SecRule ARGS x \"id:1,setenv:'attack=1'\"\nDeny from env=attack",
    "SecRule ARGS x id:1,setenv:attack\nSetEnvIf attack 1 Block",
]


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_that_reads_what_an_ignored_module_sets_is_refused(tmp_path: Path, rule: str) -> None:
    """The variable would be missing, and a client could enter that the rule should refuse."""
    with pytest.raises(ThirdPartyError):
        read(tmp_path, f"{GEO}<Location /a>\n{rule}\n</Location>\n")


@pytest.mark.parametrize(
    "line",
    [
        "Header set X-Country %{GEOIP_COUNTRY_CODE}e",
        "SetEnvIf Host GEO Block",
        "Require all granted",
        "Deny from env=other",
        "SecRule ARGS x id:1\nDeny from env=attack",
    ],
)
def test_other_lines_beside_an_ignored_module_stay(tmp_path: Path, line: str) -> None:
    configuration = read(tmp_path, f"{GEO}<Location /a>\n{line}\n</Location>\n")
    assert configuration.third_party is not None and configuration.third_party.refused == []


@pytest.mark.parametrize(
    ("line", "is_accepted"),
    [
        ("GeoIPEnable On", True),
        ("SecRuleEngine Off", True),
        ("Header set a b", True),
        ("SetEnvIf GEOIP_COUNTRY_CODE CN Block", False),
        ("DenyAllButCloudFlare", False),
        ("ShibRequireSession On", False),
        ("PerlResponseHandler A", False),
        ("Misspelled", False),
    ],
)
def test_htaccess_files_beside_ignored_modules(tmp_path: Path, line: str, is_accepted: bool) -> None:
    configuration = read(tmp_path, GEO)
    override = Override(EVERYTHING, CoreDirConfig().override_options)
    parsed = parse(configuration, configuration.main, "/a/.htaccess", f"{line}\n".encode(), override)
    assert (parsed.error is None) == is_accepted


def test_htaccess_files_without_the_directive_are_as_in_httpd(tmp_path: Path) -> None:
    configuration = read(tmp_path, "")
    override = Override(EVERYTHING, CoreDirConfig().override_options)
    parsed = parse(configuration, configuration.main, "/a/.htaccess", b"SecRuleEngine Off\n", override)
    assert parsed.error is not None and parsed.error.status == 500


def test_elsewhere_lines_are_missing_resources(tmp_path: Path) -> None:
    """Comparisons read the text of another machine: nothing is decided by what is not here."""
    from dataclasses import replace

    text = f"{SECURITY}SecRuleEngine On\n"
    configuration = load(replace(options(tmp_path, text), is_elsewhere=True), ALL, V24)
    assert [problem.reason for problem in configuration.missing][1:] == [
        "SecRuleEngine: a directive of ModSecurity (protection), which is not here"
    ]


def test_a_remark_names_the_module_that_a_line_loads(tmp_path: Path) -> None:
    """mod_bw stands for modules that limit bandwidth; the line loads another one of them."""
    (tmp_path / "httpd.conf").write_text(
        "Listen 80\nServerName a\nLoadModule cband_module modules/mod_cband.so\n"
    )
    side = load_side(LoadOptions(server_root=str(tmp_path), file="httpd.conf"), "2.2")
    (problem,) = [one for one in side.missing if isinstance(one, ForeignModule)]
    assert problem.product.startswith("mod_cband")

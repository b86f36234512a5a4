"""Containers and directives of names, places and access.

Every expected text is recorded from 2.4.71 or 2.2.34 (@ is the server root).
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.config.site import Site

from whimbrel.base.dialect import V22
from whimbrel.config.core_config import (
    OPT_ALL,
    OPT_INC_WITH_EXEC,
    OPT_INCLUDES,
    OPT_INDEXES,
    OPT_MULTI,
    OPT_SYM_LINKS,
    OPT_SYM_OWNER,
    CoreDirConfig,
)
from whimbrel.directives.spec import Context

LINE = "AH00526: Syntax error on line {} of @/conf/httpd.conf:\n{}"
ON_READ = "apache2: Syntax error on line 1 of @/conf/httpd.conf: "

REFUSED: list[tuple[str, int, str]] = [
    ('<Directory "a" b>\n</Directory>\n', 1, "Multiple <Directory> arguments not (yet) supported."),
    ("<Location /a /b>\n</Location>\n", 1, "Multiple <Location> arguments not (yet) supported."),
    ("<Directory /\n</Directory>\n", 1, "<Directory> directive missing closing '>'"),
    ("<Limit GET>\n</Limit>\n", 1, "<Limit not allowed here"),
    (
        "<Directory />\n<Limit GET POST>\n<Limit PUT>\n</Limit>\n</Limit>\n</Directory>\n",
        3,
        "<Limit> directive excludes all methods",
    ),
    (
        "<Directory />\n<Limit TRACE>\n</Limit>\n</Directory>\n",
        2,
        "TRACE cannot be controlled by <Limit>, see TraceEnable",
    ),
    ('<If "true">\n</If>\n<Else x>\n</Else>\n', 3, "<Else> does not take an argument"),
    (
        "<Else>\n</Else>\n",
        1,
        "<Else> or <ElseIf> section without previous <If> or <ElseIf> section in same scope",
    ),
    ("<If>\n</If>\n", 1, "<If> directive requires additional arguments"),
    ("<VirtualHost>\n</VirtualHost>\n", 1, "<VirtualHost> directive requires additional arguments"),
    ("<VirtualHost 80>\n</VirtualHost>\n", 1, "Missing address for VirtualHost"),
    ("<VirtualHost 1.2.3.4:0>\n</VirtualHost>\n", 1, "The address or port is invalid"),
    ("<Directory />\nAllowOverride Options=Foo\n</Directory>\n", 2, "Illegal option Foo"),
    (
        "<Directory />\nAllowOverride Nonfatal\n</Directory>\n",
        2,
        "=Override, =Unknown or =All expected after Nonfatal",
    ),
    (
        "<Directory />\nAllowOverrideList None Foo\n</Directory>\n",
        2,
        "'None' not allowed with other directives in AllowOverrideList",
    ),
    ("Options +None\n", 1, "You may not use 'Options +None' or 'Options -None'."),
    ("Options Indexes None\n", 1, "'Options None' must be the first Option given."),
    ("Options Indexes All\n", 1, "'Options All' must be the first option given."),
    ("Options Indexes +MultiViews\n", 1, "Either all Options must start with + or -, or no Option may."),
    ("ServerName a*\n", 1, 'Invalid ServerName "a*" use ServerAlias to set multiple server names.'),
    ("ServerName a:b\n", 1, 'The port number "a:b" is outside the appropriate range (i.e., 1..65535).'),
    ("ServerAlias a\n", 1, "ServerAlias only used in <VirtualHost>"),
    ("Listen 0\n", 1, "Invalid address or port"),
    ("Listen localhost\n", 1, "Port must be specified"),
    ("Listen 80 http x\n", 1, "Listen requires 1 or 2 arguments."),
    ("Listen 81\nListen 81\n", 2, "Cannot define multiple Listeners on the same IP:port"),
    ("<VirtualHost *>\nListen 443\n</VirtualHost>\n", 2, "Listen cannot occur within <VirtualHost> section"),
    ("Error 'a b'\n", 1, "a b"),
    (
        "DocumentRoot /nosuch/folder\n",
        1,
        "DocumentRoot '/nosuch/folder' is not a directory, or is not readable",
    ),
]


@pytest.mark.parametrize(("conf", "line", "reason"), REFUSED)
def test_refused(tmp_path: Path, conf: str, line: int, reason: str) -> None:
    assert Site(tmp_path, conf).check() == LINE.format(line, reason)


FINE = [
    "<Directory ~>\n</Directory>\n",
    "Options All Indexes\n",
    "ServerPath a\n",
    "Listen 81\nListen 127.0.0.1:81\n",
    "Listen [::]:81\n",
    "<Directory />\nAllowOverride Nonfatal=Foo\n</Directory>\n",
    '<If "true">\n</If>\n<ElseIf "true">\n</ElseIf>\n<Else>\n</Else>\n',
]


@pytest.mark.parametrize("conf", FINE)
def test_fine(tmp_path: Path, conf: str) -> None:
    assert Site(tmp_path, conf).check() == "Syntax OK"


VERSIONS: list[tuple[str, str, str]] = [
    ("2.4", "= 2.4", "skipped"),
    ("2.4", "2.4.71", "read"),
    ("2.2", "2.2.34", "read"),
    ("2.4", ">= 2.4", "read"),
    ("2.2", "< 2.4", "read"),
    ("2.4", "!< 2.4", "read"),
    ("2.2", "~ ^2\\.2", "read"),
    ("2.4", "= /^2\\.2/", "skipped"),
    ("2.4", "!~ 2.4.71", "skipped"),
]


@pytest.mark.parametrize(("version", "test", "outcome"), VERSIONS)
def test_if_version(tmp_path: Path, version: str, test: str, outcome: str) -> None:
    text = Site(tmp_path, f"<IfVersion {test}>\nKeepAlive\n</IfVersion>\n").check(version)
    assert ("Syntax OK" if outcome == "skipped" else "KeepAlive") in text


@pytest.mark.parametrize(
    ("test", "reason"),
    [
        ("eq 2.2", "unrecognized operator 'eq'"),
        ("! 2.2", "unrecognized operator '!'"),
        (
            "a",
            "Version appears to be invalid. It must have the format major[.minor[.patch]] where major, "
            "minor and patch are numbers.",
        ),
    ],
)
def test_bad_version_tests(tmp_path: Path, test: str, reason: str) -> None:
    assert Site(tmp_path, f"<IfVersion {test}>\n</IfVersion>\n").check() == ON_READ + reason


def test_old_options_may_be_mixed(tmp_path: Path) -> None:
    """`+Indexes FollowSymLinks` loses Indexes, `FollowSymLinks +Indexes` has both (2.2.34)."""
    conf = (
        "<Directory /a>\nOptions +Indexes FollowSymLinks\n</Directory>\n<Directory /b>\nOptions "
        "FollowSymLinks +Indexes\n</Directory>\n"
    )
    first, second = (
        s.layer.record(CoreDirConfig).options.value for s in Site(tmp_path, conf).load(V22).main.directories
    )
    assert (first, second) == (OPT_SYM_LINKS, OPT_SYM_LINKS | OPT_INDEXES)


def test_allow_override(tmp_path: Path) -> None:
    conf = "<Directory />\nAllowOverride FileInfo Options=MultiViews,Indexes Nonfatal=Unknown\n</Directory>\n"
    core = Site(tmp_path, conf).load().main.directories[0].layer.record(CoreDirConfig)
    assert core.override == int(Context.OR_FILEINFO | Context.OR_OPTIONS)
    assert core.override_options == OPT_MULTI | OPT_INDEXES
    assert core.nonfatal == int(Context.NONFATAL_UNKNOWN)


@pytest.mark.parametrize("words", ["Options=", "Options=,"])
def test_an_empty_list_of_options_admits_all(tmp_path: Path, words: str) -> None:
    """As 2.4.71: Options MultiViews and SymLinksIfOwnerMatch are allowed too."""
    core = (
        Site(tmp_path, f"<Directory />\nAllowOverride {words}\n</Directory>\n")
        .load()
        .main.directories[0]
        .layer.record(CoreDirConfig)
    )
    assert core.override_options == OPT_ALL | OPT_MULTI | OPT_SYM_OWNER


def test_useless_override_warns(tmp_path: Path) -> None:
    conf = "<Location />\nAllowOverride None\nAllowOverrideList None\n</Location>\n"
    assert Site(tmp_path, conf).check() == (
        "[core:warn] AH00114: Useless use of AllowOverride in line 2 of @/conf/httpd.conf.\n"
        "[core:warn] AH00115: Useless use of AllowOverrideList at @/conf/httpd.conf:3\nSyntax OK"
    )


def test_name_virtual_host_warns_once(tmp_path: Path) -> None:
    assert Site(tmp_path, "NameVirtualHost *:80\nNameVirtualHost *:81\n").check() == (
        "AH00548: NameVirtualHost has no effect and will be removed in the next release "
        "@/conf/httpd.conf:1\nSyntax OK"
    )


def test_missing_document_root_of_a_virtual_host_only_warns(tmp_path: Path) -> None:
    conf = "<VirtualHost *:80>\nDocumentRoot /nosuch\n</VirtualHost>\n"
    assert (
        Site(tmp_path, conf).check() == "AH00112: Warning: DocumentRoot [/nosuch] does not exist\nSyntax OK"
    )
    assert Site(tmp_path, conf).check("2.2") == "Warning: DocumentRoot [/nosuch] does not exist\nSyntax OK"


def test_unknown_host_is_left_out(tmp_path: Path) -> None:
    text = Site(tmp_path, "<VirtualHost nosuch.invalid:80>\n</VirtualHost>\n").check()
    assert text.startswith("[core:error] (EAI ")
    assert text.endswith("AH00547: Could not resolve host name nosuch.invalid -- ignoring!\nSyntax OK")


def test_server_root_is_read_inside_sections_too(tmp_path: Path) -> None:
    conf = f"<Directory />\nServerRoot {tmp_path}/conf\n</Directory>\nInclude nosuch\n"
    assert (
        Site(tmp_path, conf)
        .check()
        .endswith("Could not open configuration file @/conf/nosuch: No such file or directory")
    )


def test_includes_without_exec_takes_exec_away(tmp_path: Path) -> None:
    """An inner +IncludesNOEXEC in an outer Includes disables exec (server/core.c's merge; CVE-2009-1195)."""
    conf = (
        "<Directory />\nOptions Includes\n</Directory>\n<Directory /a>\nOptions "
        "+IncludesNOEXEC\n</Directory>\n"
    )
    outer, inner = (
        s.layer.record(CoreDirConfig).options for s in Site(tmp_path, conf).load().main.directories
    )
    assert outer.value == OPT_INCLUDES | OPT_INC_WITH_EXEC
    assert inner.over(outer).value == OPT_INCLUDES

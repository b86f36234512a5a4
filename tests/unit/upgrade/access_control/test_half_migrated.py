"""Old and new words in one request: found, never edited."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.upgrade.access_texts import MODULES, USER
from tests.unit.upgrade.config_trees import config_tree

from whimbrel.upgrade.access_control.analysis import analyze_access
from whimbrel.upgrade.access_control.half_migrated import has_branches
from whimbrel.upgrade.check.fixpoint import upgrade
from whimbrel.upgrade.model import UpgradeOptions
from whimbrel.upgrade.rules import rules_of
from whimbrel.upgrade.source.reading import Sources, read_config_tree

OLD = "Order allow,deny\nAllow from all\n"


@pytest.mark.parametrize(
    ("outer", "inner", "code"),
    [
        ("Require all denied\n", OLD, "AH01630"),
        ("Order deny,allow\nDeny from all\n", "Require all granted\n", "AH01797"),
    ],
)
def test_a_site_that_the_main_file_closes_is_found(tmp_path: Path, outer: str, inner: str, code: str) -> None:
    # apache2 2.4 answers 403 with these codes
    conf = f"<Directory />\n{outer}</Directory>\n<Directory /srv/site>\n{inner}</Directory>\n" + "".join(
        f"<Directory /srv/other{n}>\n{OLD}</Directory>\n" for n in range(3) if inner != OLD
    )
    result = upgrade(config_tree(tmp_path, {"conf/httpd.conf": MODULES + conf}), rules_of("access"))
    assert not result.files
    assert [code in finding.message for finding in result.needs_review] == [True]


@pytest.mark.parametrize("more", ["", f"<Location /a>\n{OLD}</Location>\n<Location /b>\n{OLD}</Location>\n"])
def test_lines_of_require_that_only_2_4_knows_are_never_changed(tmp_path: Path, more: str) -> None:
    conf = f"<Location /mixed>\n{USER}Require all granted\n{OLD}</Location>\n" + more
    result = upgrade(config_tree(tmp_path, {"conf/httpd.conf": MODULES + conf}), rules_of("access"))
    text = next(iter(result.files.values()), (MODULES + conf).encode()).decode()
    assert f"<Location /mixed>\n{USER}Require all granted\n{OLD}</Location>\n" in text
    assert ["beside a Require" in finding.message for finding in result.needs_review] == [True]


BOTH = (
    "<IfModule mod_authz_core.c>\nRequire ip {}\n</IfModule>\n"
    "<IfModule !mod_authz_core.c>\nOrder deny,allow\nDeny from all\nAllow from 10.0.0.1\n</IfModule>\n"
)
INNER = "<Directory /srv/a>\n{}</Directory>\n<Directory /srv/a/b>\n{}</Directory>\n"


@pytest.mark.parametrize(
    ("inner", "example"),
    [
        ("Order deny,allow\nDeny from all\nAllow from 10.0.0.3\n", "2.2 lets it in, 2.4 answers 403"),
        (f"{USER}Require valid-user\n", "2.2 answers 403, 2.4 lets it in"),
        ("Require all granted\n", ""),
        ("Options None\n", ""),
    ],
)
def test_lines_below_branches_that_differ_are_found(tmp_path: Path, inner: str, example: str) -> None:
    conf = INNER.format(BOTH.format("10.0.0.2"), inner)
    result = upgrade(config_tree(tmp_path, {"conf/httpd.conf": MODULES + conf}), rules_of("access"))
    assert not result.files
    found = [finding.message for finding in result.needs_review]
    assert [example in message for message in found] == ([True] if example else [])
    assert all("has a branch for each version" in message for message in found)


@pytest.mark.parametrize(
    ("container", "is_branch"),
    [
        ("IfModule mod_authz_core.c", True),
        ("IfVersion >= 2.4", True),
        ("If \"%{REQUEST_URI} == '/x'\"", False),
    ],
)
def test_an_if_is_no_branch_for_a_version(tmp_path: Path, container: str, *, is_branch: bool) -> None:
    name = container.partition(" ")[0]
    conf = (
        f"<Directory /srv/a>\nOrder deny,allow\n<{container}>\nRequire ip 10.0.0.1\n</{name}>\n</Directory>\n"
    )
    loads = f"{MODULES}LoadModule version_module modules/mod_version.so\n"
    analysis = analyze_access(config_tree(tmp_path, {"conf/httpd.conf": loads + conf}))
    (unit,) = analysis.left
    assert has_branches(unit) is is_branch


@pytest.mark.parametrize(
    ("inner", "expected"),
    [
        ("Order deny,allow\nDeny from all\nAllow from 10.0.0.3\n", "Require ip 10.0.0.3\n"),
        (
            f"{USER}Require valid-user\n",
            f"{USER}<RequireAll>\n    Require ip 10.0.0.1\n    Require valid-user\n</RequireAll>\n",
        ),
    ],
)
def test_lines_below_branches_that_agree_are_changed(tmp_path: Path, inner: str, expected: str) -> None:
    """The branch for 2.4 is the text that 2.4 reads there already."""
    both = BOTH.format("10.0.0.1")
    conf = INNER.format(both, inner)
    result = upgrade(config_tree(tmp_path, {"conf/httpd.conf": MODULES + conf}), rules_of("access"))
    assert result.files[f"{tmp_path}/conf/httpd.conf"].decode().endswith(INNER.format(both, expected))
    assert not result.needs_review


@pytest.mark.parametrize("word", ["granted", "denied"])
def test_a_file_for_both_versions_lets_sections_of_the_server_change(tmp_path: Path, word: str) -> None:
    """Applications ship .htaccess files for both versions; <Location /server-status> applies there too."""
    old = "Allow" if word == "granted" else "Deny"
    text = (
        f"<IfModule mod_authz_core.c>\nRequire all {word}\n</IfModule>\n"
        f"<IfModule !mod_authz_core.c>\nOrder allow,deny\n{old} from all\n</IfModule>\n"
    )
    root = tmp_path / "htdocs"
    site = f"DocumentRoot {root}\n<Directory {root}>\nAllowOverride All\n{OLD}</Directory>\n"
    status = "<Location /server-status>\n{}</Location>\n"
    conf = MODULES + site + status.format("Order deny,allow\nDeny from all\nAllow from 127.0.0.1\n")
    files = {"conf/httpd.conf": conf, "htdocs/.htaccess": text}
    result = upgrade(config_tree(tmp_path, files), rules_of("access"))
    assert list(result.files) == [f"{tmp_path}/conf/httpd.conf"]
    new = result.files[f"{tmp_path}/conf/httpd.conf"].decode()
    assert new.endswith(status.format("Require ip 127.0.0.1\n")) and OLD not in new
    assert not result.needs_review


def test_a_file_for_2_4_alone_does_not_hold_the_server_back(tmp_path: Path) -> None:
    """An application came with a .htaccess file that 2.2 does not understand; other sections are changed."""
    site = "<Directory {}>\nAllowOverride All\n{}</Directory>\n"
    status = "<Location /server-status>\n{}</Location>\n"
    local = "Order deny,allow\nDeny from all\nAllow from 127.0.0.1\n"
    hosts = [f"<VirtualHost *:80>\nServerName {name}\nDocumentRoot {tmp_path}/{name}\n" for name in "ab"]

    def text(access: str, server: str) -> str:
        sections = [site.format(tmp_path / name, access) for name in "ab"]
        lines = [f"{host}{part}</VirtualHost>\n" for host, part in zip(hosts, sections, strict=True)]
        return MODULES + status.format(server) + "".join(lines)

    files = {"conf/httpd.conf": text(OLD, local), "a/app/.htaccess": "Require all denied\n", "b/.keep": ""}
    result = upgrade(config_tree(tmp_path, files), rules_of("access"))
    assert list(result.files) == [f"{tmp_path}/conf/httpd.conf"]
    new = result.files[f"{tmp_path}/conf/httpd.conf"].decode()
    assert new == text("Require all granted\n", "Require ip 127.0.0.1\n")


def test_advice_about_long_lists_is_short(tmp_path: Path) -> None:
    """A fragment with thousands of addresses: the advice quotes the beginning of the lines."""
    text = "Order allow,deny\nAllow from all\n" + "".join(f"Deny from 10.0.{n}.7\n" for n in range(200))
    (tmp_path / ".htaccess").write_text(text)
    sources = Sources(fragments=(f"{tmp_path}/.htaccess",))
    found = [f for f in upgrade(read_config_tree(sources, UpgradeOptions())).findings if f.rule == "C17"]
    assert found and all(len(finding.advice) < 600 for finding in found)
    assert any("Require not ip 10.0.0.7" in finding.advice for finding in found)


def test_long_lists_are_split(tmp_path: Path) -> None:
    """httpd answers 500 to lines of more than 8 kB in .htaccess files (Line too long)."""
    denied = "".join(f"Deny from 10.{n // 200}.{n % 200}.7\n" for n in range(1000))
    site = tmp_path / "htdocs"
    conf = f"DocumentRoot {site}\n<Directory {site}>\nAllowOverride All\n{OLD}</Directory>\n"
    files = {"conf/httpd.conf": MODULES + conf, "htdocs/.htaccess": OLD + denied}
    result = upgrade(config_tree(tmp_path, files), rules_of("access"))
    lines = result.files[f"{tmp_path}/htdocs/.htaccess"].decode().splitlines()
    assert max(map(len, lines)) < 4100
    listed = [word for line in lines if "Require not ip" in line for word in line.split()[3:]]
    assert len(lines) > 4 and listed == [f"10.{n // 200}.{n % 200}.7" for n in range(1000)]


CORE_24 = "LoadModule authz_core_module modules/mod_authz_core.so\n"
COMPAT = "LoadModule access_compat_module modules/mod_access_compat.so\n"
LOCAL = "Order deny,allow\nDeny from all\nAllow from 127.0.0.1\n"
FILES = '<Files ~ "^\\.ht">\nRequire all denied\n</Files>\n'


@pytest.mark.parametrize(
    ("outer", "section", "named"),
    [
        # apache2 answers by the lines of the section alone: the outer Require is about other names
        (FILES, "<Location /server-status>", ""),
        (FILES.replace("Files ~", "FilesMatch").replace("/Files", "/FilesMatch"), "<Directory /srv/a>", ""),
        (
            "<Directory /srv>\n<Limit PUT>\nRequire all denied\n</Limit>\n</Directory>\n",
            "<Directory /srv/a>",
            "",
        ),
        ("<Directory /srv>\nRequire all denied\n</Directory>\n", "<Directory /srv/a>", "<Directory /srv>"),
        (FILES, '<Files ".htpublic">', '<Files ~ "^\\.ht">'),
        (
            "<Directory />\nRequire all granted\n</Directory>\n"
            f"{FILES}<Directory /srv>\nRequire all denied\n</Directory>\n",
            "<Directory /srv/a>",
            "<Directory /srv>",
        ),
    ],
)
def test_a_require_for_other_names_or_methods_is_not_over_a_section(
    outer: str, section: str, named: str, tmp_path: Path
) -> None:
    text = (
        f"{CORE_24}{COMPAT}DocumentRoot /srv\n{outer}{section}\n{LOCAL}</{section[1:].partition(' ')[0]}>\n"
    )
    result = upgrade(config_tree(tmp_path, {"conf/httpd.conf": MODULES + text}), rules_of("access"))
    found = [finding.message for finding in result.findings if "half-migrated" in finding.message]
    assert [f"a Require of `{named}` of {tmp_path}" in message for message in found] == [True] * bool(named)

"""Each result is loaded under 2.4: the messages are those of httpd 2.4.71 (apache2 -t, and its error log)."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from tests.corpus.httpd_check import APACHE, needs_apache
from tests.corpus.httpd_check import MODULES as MODULE_FILES
from tests.unit.upgrade.config_trees import fragments, laid

from whimbrel.config.options import LoadOptions
from whimbrel.upgrade.check.check import CheckResult, check, parse_selection
from whimbrel.upgrade.check.fixpoint import upgrade
from whimbrel.upgrade.check.load_errors import add_load_errors, load_new_texts
from whimbrel.upgrade.knowledge.scope import UnknownKind
from whimbrel.upgrade.model import LOAD_ERROR, Risk, UpgradeOptions
from whimbrel.upgrade.source.reading import Sources, read_config_tree

MAIN = "conf/httpd.conf"
MODULES = "".join(
    f"LoadModule {name}_module modules/mod_{name}.so\n"
    for name in ("mpm_event", "authz_core", "authz_host", "authn_core", "unixd", "dir", "mime")
)
START = f"{MODULES}Listen 8080\nServerName a\n"


def checked(root: Path, files: dict[str, str | bytes], *, alone: bool = False) -> CheckResult:
    laid(root, files)
    (root / "htdocs").mkdir(exist_ok=True)
    sources = Sources(options=LoadOptions(server_root=str(root), file=MAIN))
    if alone:
        sources = Sources(fragments=tuple(str(root / name) for name in files))
    return check(sources, parse_selection("", ""))


def refused(result: CheckResult) -> list[tuple[int, str]]:
    """Return line and message of the lines that 2.4 refuses."""
    return [
        (one.place.line, one.message.partition("this line: ")[2])
        for one in result.findings
        if one.rule == LOAD_ERROR
    ]


REFUSED = [
    (
        "<VirtualHost *:80>\n<RequireAny>\nRequire all granted\n</RequireAny>\n</VirtualHost>\n",
        2,
        "<RequireAny not allowed in <VirtualHost> context",
    ),
    (
        "<Location />\n<RequireNone>\nRequire all granted\n</RequireNone>\n</Location>\n",
        2,
        "<RequireNone> directive has no effect in <RequireAny> directive",
    ),
    ("Require all granted\n", 1, "Require not allowed here"),
    (
        "<Location />\nRequire ip 10.0.0.1,10.0.0.2\n</Location>\n",
        2,
        "ip address '10.0.0.1,10.0.0.2' appears to be invalid",
    ),
    (
        "<Location />\nRequire not ip 10.0.0.1\n</Location>\n",
        2,
        "negative Require directive has no effect in <RequireAny> directive",
    ),
    ("DocumentRooot /x\n", 1, "Invalid command 'DocumentRooot'"),
    ("server {\n", 1, "Invalid command 'server'"),
]


@pytest.mark.parametrize(("lines", "line", "message"), REFUSED)
def test_what_24_refuses_is_a_finding_with_its_line(
    tmp_path: Path, lines: str, line: int, message: str
) -> None:
    found = refused(checked(tmp_path, {MAIN: START + lines}))
    first = START.count("\n")
    assert [(at - first, text[: len(message)]) for at, text in found] == [(line, message)]


def test_a_line_that_a_rule_has_found_is_one_finding(tmp_path: Path) -> None:
    result = checked(tmp_path, {".htaccess": "Require not ip 10.0.0.1\n"}, alone=True)
    assert [(one.rule, one.risk) for one in result.findings] == [("X14", Risk.BREAKS)]


def test_several_lines_are_found_and_a_good_text_has_none(tmp_path: Path) -> None:
    bad = "<Location {}>\nRequire not all granted\n</Location>\n"
    text = f"{START}{bad.format('/a')}DocumentRooot x\n{bad.format('/b')}"
    assert len(refused(checked(tmp_path, {MAIN: text}))) == 3
    good = f"{START}<Location />\nRequire all denied\n</Location>\n"
    assert refused(checked(tmp_path, {MAIN: good})) == []


def test_htaccess_files_of_a_server(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        MAIN: f"{START}DocumentRoot htdocs\n<Directory ROOT/htdocs>\nAllowOverride All\n</Directory>\n",
        "htdocs/.htaccess": "AddType text/x x\nRequire ip 10.0.0.1,10.0.0.2\nAddTipe text/x x\n",
    }
    found = [one for one in checked(tmp_path, files).findings if one.rule == LOAD_ERROR]
    assert [(one.place.path, one.place.line) for one in found] == [
        (str(tmp_path / "htdocs/.htaccess"), 2),
        (str(tmp_path / "htdocs/.htaccess"), 3),
    ]
    assert "2.4 answers 500 in this directory" in found[0].message and "AddType" in found[1].advice


def test_a_file_that_24_refuses_opens_nothing(tmp_path: Path) -> None:
    # apache2 without PHP: 500, "Invalid command 'php_value'", for each request below the directory
    files: dict[str, str | bytes] = {
        MAIN: f"{START}DocumentRoot htdocs\n<Directory ROOT/htdocs>\nAllowOverride All\n</Directory>\n",
        "htdocs/.htaccess": "php_value upload_max_filesize 20M\n",
    }
    found = [one for one in checked(tmp_path, files).findings if one.place.path.endswith(".htaccess")]
    assert [(one.rule, one.risk) for one in found] == [(LOAD_ERROR, Risk.BREAKS)]
    assert "PHP-FPM" in found[0].advice


def test_a_new_line_beside_one_that_24_refuses_opens_nothing(tmp_path: Path) -> None:
    # apache2: 500, "Invalid command 'AddTipe'"; 2.2 stops at the flag END, which only 2.4 has
    new = "RewriteRule a b [L,END]\n"
    for name, text, risks in (("a", new, {Risk.OPENS}), ("b", f"{new}AddTipe text/x x\n", {Risk.BREAKS})):
        found = checked(tmp_path / name, {".htaccess": text}, alone=True).findings
        assert {one.risk for one in found if one.rule in ("X22", LOAD_ERROR)} == risks


@pytest.mark.parametrize("name", [".htaccess", "site.conf"])
def test_files_alone(tmp_path: Path, name: str) -> None:
    good = "<IfModule mod_rewrite.c>\nRewriteEngine On\n</IfModule>\nAddType text/x .x\nphp_flag a on\n"
    assert refused(checked(tmp_path / "a", {name: good}, alone=True)) == []
    found = checked(tmp_path / "b", {name: f"{good}AddTipe text/x x\nlisten 80;\nserver {{\n"}, alone=True)
    assert 6 in [line for line, _ in refused(found)]
    # continuation lines and sections go with their first line
    foreign = "PassengerAppRoot \\\n  lower \\\n  /srv/x\n<PassengerSet a>\nlower\n</PassengerSet>\n"
    other = checked(tmp_path / "c", {name: good + 12 * foreign}, alone=True)
    assert refused(other) == []
    items = [item for item in other.scope.deciding if item.kind is UnknownKind.LEFT_OUT]
    assert {item.subject for item in items} == {
        f"{one} is no directive of httpd's own modules" for one in ("PassengerAppRoot", "<PassengerSet")
    }


def test_a_fragment_may_stand_where_its_lines_are_allowed(tmp_path: Path) -> None:
    text = "Require all granted\nAllowOverride None\n"
    assert refused(checked(tmp_path, {"inner.conf": text}, alone=True)) == []


@pytest.mark.parametrize("line", ["MinSpareServers 2", "Listen ${ADDRESS}:${PORT}"])
def test_what_another_server_may_accept_is_no_finding(tmp_path: Path, line: str) -> None:
    assert refused(checked(tmp_path, {"a.conf": f"{line}\n"}, alone=True)) == []


def test_an_include_of_the_own_file_names_the_first_and_the_last_line(tmp_path: Path) -> None:
    include = "Include conf/b.conf\n"
    result = checked(tmp_path, {MAIN: START + include, "conf/b.conf": "\n" + include})
    ((line, text),) = refused(result)
    first = f"on line {START.count(chr(10)) + 1} of {tmp_path}/{MAIN}"
    assert (line, text) == (
        2,
        f"apache2: Syntax error {first}: (through 127 more lines) Syntax error on line 2 of "
        f"{tmp_path}/conf/b.conf: Exceeded maximum include depth of 128, There appears to be a recursion.",
    )


@needs_apache
@pytest.mark.parametrize(("name", "size"), [("i.conf", 129), ("i" * 99, 0)])
def test_apache_names_each_include_of_the_own_file_and_cuts_long_lines(name: str, size: int) -> None:
    with tempfile.TemporaryDirectory() as root:  # a path that is short enough for all places in one line
        Path(root, "main").write_text(
            f"LoadModule mpm_event_module {MODULE_FILES}/mod_mpm_event.so\nInclude {root}/{name}\n"
        )
        Path(root, name).write_text(f"Include {root}/{name}\n")
        theirs, ours = (
            subprocess.run([program, "-t", "-d", root, "-f", "main"], capture_output=True, check=False).stderr
            for program in (str(APACHE), str(Path(sys.executable).with_name("whimbrel-httpd")))
        )
    called = ours.replace(b"whimbrel-httpd: ", b"apache2: ", 1).rstrip(b"\n")
    if size:
        assert theirs.count(b"Syntax error ") == size
        assert called == theirs.rstrip(b"\n")
    else:
        message, _, hint = called.partition(b"\nhint: ")
        assert len(theirs) == 8191
        assert len(ours) == 8191 + len(b"hint: " + hint + b"\n")
        assert theirs.startswith(message[:8180])
        assert hint.endswith(b"There appears to be a recursion.")


@needs_apache
@pytest.mark.parametrize(("lines", "line", "message"), REFUSED)
def test_apache_refuses_the_same_line(tmp_path: Path, lines: str, line: int, message: str) -> None:
    # Debian's binary has unixd built in
    names = ("mpm_event", "authz_core", "authz_host", "authn_core", "dir", "mime")
    start = "".join(f"LoadModule {name}_module {MODULE_FILES}/mod_{name}.so\n" for name in names)
    start += f"ServerName a\nPidFile {tmp_path}/pid\n"
    (tmp_path / "conf").mkdir()
    (tmp_path / MAIN).write_text(start + lines)
    command = [str(APACHE), "-t", "-d", str(tmp_path), "-f", MAIN]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    number = start.count("\n") + line
    assert f"Syntax error on line {number} of {tmp_path}/{MAIN}:\n{message}" in done.stderr


# files without their server ---------------------------------------------------------------------
def refused_alone(root: Path, name: str, text: str) -> list[tuple[int, str]]:
    """Return the lines that 2.4 refuses after the upgrade, and the end of what is said about each."""
    result = upgrade(fragments(root, {name: text}))
    before = len(result.findings)
    add_load_errors(result, None)
    found = result.findings[before:]
    assert all(finding.risk is Risk.BREAKS and finding.needs_review for finding in found)
    return [(finding.place.line, finding.message.rpartition(": ")[2]) for finding in found]


def test_lines_of_a_server_in_a_htaccess_file(tmp_path: Path) -> None:
    text = "Options None\nListen 80\nErrorDocument 404 /a\nServerName a\n"
    assert refused_alone(tmp_path, ".htaccess", text) == [
        (2, "Listen not allowed here"),
        (4, "ServerName not allowed here"),
    ]


def test_a_line_that_a_rule_edited_is_reported_too(tmp_path: Path) -> None:
    found = refused_alone(tmp_path, ".htaccess", "ServerTokens Maximal\n")
    assert found == [(1, "ServerTokens not allowed here")]


def test_a_section_in_the_wrong_place(tmp_path: Path) -> None:
    text = "<Location /a>\n<Files b>\nOptions None\n</Files>\n</Location>\n"
    assert refused_alone(tmp_path, "a.conf", text) == [(2, "<Files> cannot occur within <Location> section")]


@pytest.mark.parametrize(
    "text",
    [
        "<Location />\nPassengerEnabled on\nRequire passenger\n</Location>\n",
        "MinSpareServers 3\n",
        "LoadModule dav_svn_module modules/mod_dav_svn.so\n<Location /svn>\nDAV svn\n</Location>\n",
        "Include conf.d/*.conf\nOptions None\n",
        "SSLCertificateFile /nowhere/a.pem\n",
        "ServerAdmin ${ADMIN}\nListen ${PORT}\n",
        "Order allow,deny\n",
    ],
)
def test_what_another_machine_may_have_is_not_refused_alone(text: str, tmp_path: Path) -> None:
    assert refused_alone(tmp_path, "a.conf", text) == []


BRANCHES = [
    ("<IfModule !mod_access_compat.c>\nExpiresActive maybe\n</IfModule>\n", 2),
    ("<IfDefine SECRET>\nExpiresActive maybe\n</IfDefine>\n", 2),
    ("<IfDefine !SECRET>\nExpiresActive maybe\n</IfDefine>\n", 2),
    ("AuthType Basic\nExpiresActive maybe\n", 2),
]


@pytest.mark.parametrize("name", [".htaccess", "part.conf"])
@pytest.mark.parametrize(("text", "line"), BRANCHES)
def test_every_branch_of_a_file_alone_is_loaded(tmp_path: Path, name: str, text: str, line: int) -> None:
    assert [at for at, _ in refused(checked(tmp_path, {name: text}, alone=True))] == [line]


def test_lines_for_directories_and_for_servers_in_one_fragment(tmp_path: Path) -> None:
    """apache2: "AllowOverride not allowed here", and in a <Directory> "ServerTokens not allowed in
    <Directory> context"."""
    for_directories = "AllowOverride None\nAuthType Basic\n"
    for_servers = "ServerTokens Prod\nListen 8081\n"
    assert refused(checked(tmp_path / "a", {"part.conf": for_directories}, alone=True)) == []
    assert refused(checked(tmp_path / "b", {"part.conf": for_servers}, alone=True)) == []
    found = refused(checked(tmp_path / "c", {"part.conf": for_directories + for_servers}, alone=True))
    assert [line for line, _ in found] == [1, 2]


def test_a_section_that_keeps_access_lines_may_be_wrong_for_another_reason(tmp_path: Path) -> None:
    text = "<Location /a>\n<FilesMatch a>\nOrder deny,allow\n</FilesMatch>\n</Location>\n"
    found = refused(checked(tmp_path, {"part.conf": text}, alone=True))
    assert found == [(2, "<FilesMatch> cannot occur within <Location> section")]


WINDOWS_USER = "<IfModule !mpm_winnt_module>\nUser daemon\n</IfModule>\n"


@pytest.mark.parametrize(
    ("text", "root", "lines"),
    [
        ("User daemon\n", "htdocs", [(5, "mod_unixd")]),
        # httpd for Windows has its MPM compiled in and skips the branch
        (WINDOWS_USER, "C:/htdocs", []),
        (WINDOWS_USER, "htdocs", [(6, "mod_unixd")]),
        ("<IfModule prefork.c>\nUser daemon\n</IfModule>\n", "htdocs", []),
        ("<IfModule !prefork.c>\nMaxClents 1\n</IfModule>\n", "htdocs", [(6, "MaxClients")]),
    ],
)
def test_branches_for_another_mpm_are_not_loaded(
    text: str, root: str, lines: list[tuple[int, str]], tmp_path: Path
) -> None:
    modules = "".join(line for line in MODULES.splitlines(keepends=True)[:3])
    laid(tmp_path, {MAIN: f'{modules}DocumentRoot "{root}"\n{text}', "htdocs/x": ""})
    options = LoadOptions(server_root=str(tmp_path), file=MAIN, build="shared")
    result = upgrade(read_config_tree(Sources(options=options), UpgradeOptions()), ())
    add_load_errors(result, options)
    found = [(one.place.line, one.advice) for one in result.findings if one.rule == LOAD_ERROR]
    assert [line for line, _ in found] == [line for line, _ in lines]
    assert all(words in advice for (_, advice), (_, words) in zip(found, lines, strict=True))


def test_equal_htaccess_files_are_refused_each(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {MAIN: f"{START}DocumentRoot {tmp_path}/htdocs\n"}
    files |= {f"htdocs/{name}/.htaccess": "DirectoryIndex a\nRequire no-such x\n" for name in "abc"}
    files |= {f"htdocs/{name}/.htaccess": "DirectoryIndex a\n" for name in "de"}
    result = checked(tmp_path, files)
    found = [one.place.path for one in result.findings if one.rule == LOAD_ERROR]
    assert sorted(found) == [f"{tmp_path}/htdocs/{name}/.htaccess" for name in "abc"]


@pytest.mark.parametrize("wrong", ["", "MaxClents 1\n"])
def test_a_refused_server_is_not_taken_for_one_that_loads(wrong: str, tmp_path: Path) -> None:
    """The line that is refused is left out to find the next one; the rest is not the new text."""
    laid(tmp_path, {MAIN: f"{START}DocumentRoot {tmp_path}/htdocs\n{wrong}", "htdocs/x": ""})
    options = LoadOptions(server_root=str(tmp_path), file=MAIN, build="shared")
    result = upgrade(read_config_tree(Sources(options=options), UpgradeOptions()), ())
    add_load_errors(result, options)
    assert [one.place.line for one in result.findings if one.rule == LOAD_ERROR] == [11] * bool(wrong)
    assert (load_new_texts(result, options) is None) is bool(wrong)


@pytest.mark.parametrize(
    ("line", "meant"),
    [("Odrer deny,allow", "order"), ("Dney from all", "deny"), ("AlowOverride All", "AllowOverride")],
)
def test_a_misspelled_line_about_access_is_not_to_be_removed(tmp_path: Path, line: str, meant: str) -> None:
    """apache2: Invalid command 'Odrer', perhaps misspelled ...; without the line the directory is open."""
    section = f"<Directory />\n{line}\n</Directory>\n"
    found = checked(tmp_path, {MAIN: START + section})
    (one,) = [finding for finding in found.findings if finding.rule == LOAD_ERROR]
    assert one.advice == f"write {meant}"

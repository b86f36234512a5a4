"""Reading configuration trees: files, includes, and what cannot be read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.samples import amount
from tests.unit.upgrade.config_trees import config_tree, fragments, laid, reasons

from whimbrel.config.options import LoadOptions
from whimbrel.upgrade.check.fixpoint import upgrade
from whimbrel.upgrade.model import InputContext, UpgradeOptions
from whimbrel.upgrade.source.config_tree import Role
from whimbrel.upgrade.source.reading import Sources, read_config_tree

MAIN = "conf/httpd.conf"


def test_an_include_holds_what_it_reads(tmp_path: Path) -> None:
    found = config_tree(
        tmp_path,
        {
            MAIN: "Include conf.d\nInclude extra/*.conf\n",
            "conf.d/b": "B 1\n",
            "conf.d/a": "A 1\n",
            "extra/x.conf": "X 1\n",
            "extra/y.txt": "Y 1\n",
        },
    )
    assert [s.name for s in found.all_statements()] == ["include", "a", "b", "include", "x"]
    line = next(found.named("x"))
    assert str(line.place) == f"{tmp_path}/extra/x.conf:1 (included from {tmp_path}/{MAIN}:2)"
    assert line.parent is not None and line.parent.included == (f"{tmp_path}/extra/x.conf",)


def test_a_file_included_twice_is_one_file_with_statements_for_each(tmp_path: Path) -> None:
    text = (
        "<VirtualHost a>\nInclude x.conf\n</VirtualHost>\n<VirtualHost b>\nInclude x.conf\n</VirtualHost>\n"
    )
    found = config_tree(tmp_path, {MAIN: text, "x.conf": "X 1\n</Lost>\n"})
    both = list(found.named("x"))
    assert [next(s.enclosing("<virtualhost")).args for s in both] == ["a", "b"]
    assert both[0].file is both[1].file and both[0].file.statements == both
    assert len(found.malformed) == 1 and len(found.unread) == 1


def test_a_file_behind_a_link_is_read_once(tmp_path: Path) -> None:
    laid(tmp_path, {"sites-available/x": "X 1\n"})
    (tmp_path / "sites-enabled").mkdir()
    (tmp_path / "sites-enabled/x").symlink_to("../sites-available/x")
    found = config_tree(tmp_path, {MAIN: "Include sites-enabled/\nInclude sites-available/x\n"})
    assert list(found.files) == [f"{tmp_path}/{MAIN}", f"{tmp_path}/sites-enabled/x"]
    assert len(list(found.named("x"))) == 2


def test_server_root_changes_where_includes_begin(tmp_path: Path) -> None:
    found = config_tree(
        tmp_path,
        {
            MAIN: "Include x.conf\nServerRoot ROOT/other\nInclude x.conf\n",
            "x.conf": "A 1\n",
            "other/x.conf": "B 1\n",
        },
    )
    assert [s.name for s in found.all_statements()] == ["include", "a", "serverroot", "include", "b"]


def test_document_roots_of_a_copy_are_not_those_of_this_machine(tmp_path: Path) -> None:
    laid(
        tmp_path,
        {
            "site/.htaccess": "X 1\n",
            "etc/httpd.conf": f"ServerRoot /etc/nowhere\nDocumentRoot {tmp_path}/site\n",
        },
    )
    options = LoadOptions(server_root=f"{tmp_path}/etc", file="httpd.conf")
    assert not read_config_tree(Sources(options=options, is_relocated=True), UpgradeOptions()).has("x")
    assert read_config_tree(Sources(options=options), UpgradeOptions()).has("x")


def test_a_moved_folder_stands_for_the_server_root_of_the_text(tmp_path: Path) -> None:
    laid(
        tmp_path,
        {
            "apache2.conf": 'ServerRoot "/etc/nowhere"\nInclude /etc/nowhere/x.conf\n',
            "x.conf": "X 1\nInclude /etc/passwd\n",
        },
    )
    options = LoadOptions(server_root=str(tmp_path), file="apache2.conf")
    moved = read_config_tree(Sources(options=options, is_relocated=True), UpgradeOptions())
    assert moved.has("x")
    outside = f"/etc/passwd is outside of {tmp_path}, which was read in place of /etc/nowhere"
    assert reasons(moved) == [outside]
    stayed = read_config_tree(Sources(options=options), UpgradeOptions())
    assert not stayed.has("x")
    assert reasons(stayed) == [
        f"ServerRoot /etc/nowhere is no directory here: relative paths are resolved against {tmp_path}",
        "/etc/nowhere/x.conf cannot be read: No such file or directory",
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Include nope.conf\n", "{root}/nope.conf cannot be read: No such file or directory"),
        ("Include nope/*.conf\n", "Include directory '{root}/nope' not found"),
        ("Include conf/httpd.conf\n", "{root}/conf/httpd.conf includes itself: not followed"),
        ("</Directory>\n", "a closing tag without its section"),
        ("<Directory />\n", "<Directory> is not closed"),
        ("<Files x>\n</Fils>\n", "</Fils> does not close <Files>, which line 1 opens"),
        ("<Directory /\n</Directory>\n", "<Directory without its closing '>'"),
        ("A on \\\n", "the file ends after a backslash that joins the next line"),
        ("A o\0n\n", "a NUL byte (1 in this file): httpd ignores the rest of its line"),
        (
            "\xef\xbb\xbfA on\n",
            "the file begins with a byte order mark, which httpd reads as part of the first name",
        ),
        ("<Perl>\n$x = 1;\n</Perl>\n", "a <Perl> section: its contents are not checked"),
        (
            "# fine\nListen {{ port }}\nUser @USER@\n",
            "template marks in 2 lines, of which this is the first: their values are unknown",
        ),
    ],
)
def test_what_cannot_be_read_is_told(text: str, reason: str, tmp_path: Path) -> None:
    assert reasons(config_tree(tmp_path, {MAIN: text})) == [reason.format(root=tmp_path)]


@pytest.mark.parametrize(
    "text",
    [
        'LogFormat "%h %>s %{Referer}i %{%Y}t" x\n',
        "ServerAdmin a@example.com\n",
        "Include none/\\\n*.conf\n# {{ x }}\n",
        "RewriteRule ^a{2}$ /\n",
        "Include empty/*.conf\n",
        "RewriteCond %{HTTP_HOST} ^x@y$\n",
    ],
)
def test_what_is_fine_is_not_told(text: str, tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    (tmp_path / "empty").mkdir()
    assert reasons(config_tree(tmp_path, {MAIN: text})) == []


def test_an_unreadable_file_is_told(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    found = config_tree(tmp_path, {MAIN: "Include pipe\nA 1\n"})
    assert reasons(found) == [f"{tmp_path}/pipe cannot be read: Bad file descriptor"]
    assert found.has("a")


def test_marks_of_a_template_hide_nothing_around_them(tmp_path: Path) -> None:
    text = "<VirtualHost *>\n<% if x %>\nA 1\n<% end %>\nB 1\n{% if y %}\nC 1\n</VirtualHost>\nD 1\n"
    found = config_tree(tmp_path, {MAIN: text})
    assert [(s.name, s.parent is not None) for s in found.all_statements()] == [
        ("<virtualhost", False),
        ("a", True),
        ("b", True),
        ("c", True),
        ("d", False),
    ]


def test_what_stands_in_perl_is_no_directive(tmp_path: Path) -> None:
    assert not config_tree(tmp_path, {MAIN: "<Perl>\nOrder = 1\n</Perl>\n"}).has("order")


def test_variables_are_those_of_the_environment(tmp_path: Path) -> None:
    found = config_tree(
        tmp_path, {MAIN: "Define D d\nA ${X}/${D}\n<Directory ${X}>\n</Directory>\n"}, environment={"X": "/x"}
    )
    assert next(found.named("a")).args == "/x/${D}"
    assert next(found.named("<directory")).args == "/x"


def test_names_in_any_case_and_arguments_as_words(tmp_path: Path) -> None:
    line = next(config_tree(tmp_path, {MAIN: 'AuthNAME  "a \\"b\\"" c\r\n'}).named("authname"))
    assert line.words() == ['a "b"', "c"]
    assert line.file.newline == b"\r\n"


def test_dead_statements_only_on_request(tmp_path: Path) -> None:
    text = "<IfVersion >= 2.4>\nA new\n</IfVersion>\n<IfVersion < 2.4>\nA old\n</IfVersion>\nA both\n"
    found = config_tree(tmp_path, {MAIN: text})
    assert [s.args for s in found.named("a")] == ["both"]
    assert [s.args for s in found.named("a", include_inactive=True)] == ["new", "old", "both"]


def test_files_alone(tmp_path: Path) -> None:
    found = fragments(tmp_path, {"a.conf": "Include x.conf\nA 1\n", "w/.htaccess": "B 1\n"})
    assert [(f.role, f.directory) for f in found.files.values()] == [
        (Role.FRAGMENT, ""),
        (Role.HTACCESS, f"{tmp_path}/w"),
    ]
    assert reasons(found) == ["Include x.conf: without a server root its files cannot be found"]


def test_lines_of_the_command_line(tmp_path: Path) -> None:
    laid(tmp_path, {MAIN: "<IfModule mod_ssl.c>\nA 1\n</IfModule>\n"})
    options = LoadOptions(
        server_root=str(tmp_path), before=("LoadModule ssl_module m/mod_ssl.so",), after=("B 1",)
    )
    found = read_config_tree(options, UpgradeOptions())
    assert [(s.name, s.in_22) for s in found.all_statements() if s.name in ("a", "b")] == [
        ("a", True),
        ("b", True),
    ]
    assert list(found.files) == [f"{tmp_path}/{MAIN}"]


PIECES = st.lists(
    st.sampled_from(
        [
            b"<Directory /x>\n",
            b"</Directory>\n",
            b"<IfModule mod_ssl.c>\n",
            b"</IfModule>",
            b"<IfVersion >= 2.4>\r\n",
            b"</IfVersion>\n",
            b"<",
            b">",
            b"\\\n",
            b"\0",
            b"Include conf/httpd.conf\n",
            b"Include [\n",
            b"Include *\n",
            b"IncludeOptional\n",
            b'ServerRoot "\n',
            b"LoadModule x\n",
            b"Define\n",
            b"${",
            b"<% x %>\n",
            b"AllowOverride None\n",
            b"DocumentRoot conf\n",
            b"<DirectoryMatch (>\n",
            b'"',
            b"\xff\xfe",
            b"\n",
            b"A b\n",
            b"# c\n",
            b"<Perl>\n",
            b"</Perl>\n",
        ]
    ),
    max_size=25,
).map(b"".join)


@settings(
    max_examples=amount(66, 200), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(PIECES | st.binary(max_size=60))
def test_nothing_that_a_file_holds_raises(tmp_path: Path, data: bytes) -> None:
    """And all statements come from the bytes of their file, inside one another."""
    found = config_tree(tmp_path, {MAIN: data})
    for statement in found.all_statements():
        outer = next(statement.enclosing(), None)
        assert 0 <= statement.node.start < statement.node.end <= len(statement.file.document.bytes)
        assert outer is None or outer.file is not statement.file or outer.node.start < statement.node.start


def test_sections_a_thousand_levels_deep(tmp_path: Path) -> None:
    found = config_tree(tmp_path, {MAIN: "<IfDefine A>\n" * 1000 + "A 1\n" + "</IfDefine>\n" * 1000})
    assert len(list(next(found.named("a")).enclosing())) == 1000
    assert not found.unread


def test_a_file_ends_where_sections_are_too_deep(tmp_path: Path) -> None:
    found = config_tree(tmp_path, {MAIN: "<IfDefine A>\n" * 5000 + "A 1\n" + "</IfDefine>\n" * 5000})
    nested = [item for item in found.unread if "nested" in item.subject]
    assert [(item.place and item.place.line, item.subject) for item in nested] == [
        (1001, "Sections are nested more than 1000 levels deep")
    ]


def test_the_context_says_what_the_input_is(tmp_path: Path) -> None:
    assert config_tree(tmp_path, {MAIN: "Listen 80\n"}).context is InputContext.SERVER
    assert (
        fragments(tmp_path, {"a.conf": "Listen 80\n", "x/.htaccess": "Order allow,deny\n"}).context
        is InputContext.FRAGMENT
    )
    assert fragments(tmp_path, {"x/.htaccess": "Order allow,deny\n"}).context is InputContext.HTACCESS


def test_a_fragment_does_not_lead_to_other_files(tmp_path: Path) -> None:
    laid(tmp_path, {"own/x.conf": "X 1\n"})
    found = fragments(tmp_path, {"a.conf": "Include ROOT/own/x.conf\n"})
    assert list(found.files) == [f"{tmp_path}/a.conf"]
    assert reasons(found) == [
        f"Include {tmp_path}/own/x.conf: the input is a fragment, so the files that it includes were not read"
    ]


def test_a_copy_of_a_windows_server(tmp_path: Path) -> None:
    laid(
        tmp_path,
        {
            "conf/x.conf": "X 1\n",
            MAIN: 'ServerRoot "C:/Apache2"\nInclude "c:\\Apache2\\conf\\x.conf"\nInclude D:/y.conf\n',
        },
    )
    found = read_config_tree(
        Sources(options=LoadOptions(server_root=str(tmp_path)), is_relocated=True), UpgradeOptions()
    )
    assert found.has("x")
    assert len(found.unread) == 1 and found.has_unread_files


def test_a_copy_of_a_debian_server(tmp_path: Path) -> None:
    laid(
        tmp_path,
        {"mods-enabled/x.load": "X 1\n", "apache2.conf": "Include /etc/apache2/mods-enabled/*.load\n"},
    )
    found = read_config_tree(
        Sources(
            options=LoadOptions(
                server_root=str(tmp_path), file="apache2.conf", copied=(("/etc/apache2", str(tmp_path)),)
            ),
            is_relocated=True,
        ),
        UpgradeOptions(),
    )
    assert list(found.files) == [f"{tmp_path}/apache2.conf", f"{tmp_path}/mods-enabled/x.load"]


@pytest.mark.parametrize(
    "mark",
    [
        "{{ port }}",
        "{% if tls %}",
        "<%= @port %>",
        "@PORT@",
        "%port%",
        "__PORT__",
        "{PORT}",
        "%(port)s",
        "#{port}",
        "[% port %]",
        "${facts::port}",
    ],
)
def test_marks_of_templates(mark: str, tmp_path: Path) -> None:
    found = fragments(tmp_path, {"a.conf": f"Listen {mark}\nServerName a\n"})
    assert "template marks" in reasons(found)[0]


@pytest.mark.parametrize(
    "line",
    [
        'LogFormat "%h %l %u %t %{Host}i"',
        "RewriteRule a b%20c%20d",
        "CustomLog |/x/%Y%m%d common",
        "Listen ${PORT}",
        "RewriteCond %{HTTP_HOST} a{2}",
    ],
)
def test_what_only_looks_like_a_template(line: str, tmp_path: Path) -> None:
    assert not reasons(fragments(tmp_path, {"a.conf": f"{line}\n"}))


def test_a_path_is_read_once_though_a_link_comes_to_stand_there(tmp_path: Path) -> None:
    """Between two Includes of one path another person replaces it."""
    main = "Include x.conf\nInclude y.conf\nInclude x.conf\n"
    laid(tmp_path, {MAIN: main, "x.conf": "X 1\n", "z": "", "y.conf": "Y"})

    def replaced(path: str) -> None:
        if path.endswith("/y.conf"):
            (tmp_path / "x.conf").unlink()
            (tmp_path / "x.conf").symlink_to("z")

    options = LoadOptions(server_root=str(tmp_path), file=MAIN)
    tree = read_config_tree(options, UpgradeOptions(), progress=replaced)
    lines = list(tree.named("x"))
    assert len(lines) == 2 and lines[0].file is lines[1].file is tree.files[f"{tmp_path}/x.conf"]
    again = tree.reparse({}, tree)
    assert again.files[f"{tmp_path}/x.conf"].document is lines[0].file.document


def test_text_of_other_programs_is_charged_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A link in an included directory may lead to all programs of the machine."""
    monkeypatch.setattr("whimbrel.upgrade.source.reading.MAX_STATEMENTS", 100_000)
    program = "\n".join(f"if test {number}; then echo {number}; fi" for number in range(800))
    files = {f"conf.d/{number:02}": program for number in range(20)}
    found = config_tree(tmp_path, {MAIN: "Include conf.d/\nKeepAlive On\n", **files})
    assert len(found.files) < 8
    assert len([reason for reason in reasons(found) if "the rest is not read" in reason]) == 1


DEBIAN = "Include mods-enabled/*.load\n<IfModule mod_headers.c>\nHeader set A b\n</IfModule>\n"


def test_the_text_of_a_link_stands_for_its_target(tmp_path: Path) -> None:
    found = config_tree(
        tmp_path,
        {
            MAIN: DEBIAN,
            "mods-available/mime.load": "LoadModule mime_module modules/mod_mime.so\n",
            "mods-enabled/mime.load": "../mods-available/mime.load",
        },
    )
    assert "mime_module" in found.modules_24
    assert found.modules_unread is None
    assert next(found.named("header"), None) is None, "the module is not loaded"
    [item] = found.unread
    assert item.place is not None and item.place.path == f"{tmp_path}/mods-enabled/mime.load"
    assert (item.consequence, item.matters) == ("mods-available/mime.load was read in its place", False)


@pytest.mark.parametrize(
    "target", ["../mods-available/mime.load", "../../outside.load", "../mods-enabled/mime.load"]
)
def test_a_module_whose_file_was_not_read_is_not_known(target: str, tmp_path: Path) -> None:
    (tmp_path / "outside.load").write_text("LoadModule mime_module modules/mod_mime.so\n")
    found = config_tree(tmp_path / "root", {MAIN: DEBIAN, "mods-enabled/mime.load": target})
    assert "mime_module" not in found.modules_24
    assert found.modules_unread is not None
    assert next(found.named("header")).in_24 is None
    assert all(item.matters for item in found.unread[1:])


def test_a_copy_without_its_links_does_not_show_its_modules(tmp_path: Path) -> None:
    found = config_tree(tmp_path, {MAIN: f"{DEBIAN}AddCharset utf-8 .u\nLoadModule a_module a.so\n"})
    assert found.modules_unread is not None and found.modules_unread.line == 1
    [reason] = reasons(found)
    assert reason.endswith("which modules are loaded is not known")
    assert not [finding for finding in upgrade(found).findings if "not loaded" in finding.message]


def test_files_that_no_include_reads_are_a_tree_of_their_own(tmp_path: Path) -> None:
    text = "Order deny,allow\nDeny from all\nAllow from 127.0.0.1\nSatisfy all\n"
    main = (
        "LoadModule authz_host_module modules/mod_authz_host.so\n<VirtualHost *>\n"
        f"<Location /status>\n{text}</Location>\n<Files ~ ^x>\nOrder allow,deny\nDeny from all\n</Files>\n"
        "<Directory /srv>\nAllowOverride None\nOrder allow,deny\nAllow from all\n</Directory>\n"
        "</VirtualHost>\n"
    )
    laid(tmp_path, {MAIN: main, "lone.conf": f"<Location /lone>\n{text}</Location>\n"})
    server = LoadOptions(server_root=str(tmp_path))
    lone = str(tmp_path / "lone.conf")
    with_lone = read_config_tree(
        Sources(options=server, fragments=(lone, f"{tmp_path}/{MAIN}")), UpgradeOptions()
    )
    assert with_lone.lone is not None and list(with_lone.lone.files) == [lone]
    alone = upgrade(read_config_tree(Sources(options=server), UpgradeOptions()))
    both = upgrade(with_lone)
    assert [f for f in both.findings if f.place.path != lone] == alone.findings
    assert both.files[f"{tmp_path}/{MAIN}"] == alone.files[f"{tmp_path}/{MAIN}"]
    assert "C17" in [f.rule for f in both.findings if f.place.path == lone]
    assert set(both.tree.files) == {f"{tmp_path}/{MAIN}", lone}


def test_an_include_out_of_the_copy_is_not_called_one_without_match(tmp_path: Path) -> None:
    laid(
        tmp_path,
        {"elsewhere/a.conf": "", f"copy/{MAIN}": f"ServerRoot /srv/a\nInclude {tmp_path}/elsewhere/*.conf\n"},
    )
    options = LoadOptions(server_root=str(tmp_path / "copy"))
    found = read_config_tree(Sources(options=options, is_relocated=True), UpgradeOptions())
    rules = [finding.rule for finding in upgrade(found).findings]
    assert "X03" not in rules and "READ" in rules


def test_the_order_is_kept_until_a_statement_is_added(tmp_path: Path) -> None:
    tree = config_tree(tmp_path, {"conf/httpd.conf": "Old 1\n<Location /a>\nNew 2\n</Location>\n"})
    before = tree.all_statements()
    assert [line.name for line in before] == ["old", "<location", "new"]
    assert tree.all_statements() is before
    line = before[0]
    tree.statements.append(line)
    tree.add(line)
    assert [one.name for one in tree.all_statements()] == ["old", "<location", "new", "old"]
    assert line.words() is line.words()

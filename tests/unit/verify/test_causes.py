"""The lines that a difference comes from."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from tests.unit.verify.sites import make_root, side

from whimbrel.verify.answer import DECIDES, Answer, DecidingLine
from whimbrel.verify.causes import Cause, _concerns
from whimbrel.verify.config_lines import ConfigLine, LineScope, SideLines
from whimbrel.verify.difference import Difference, FieldDifference
from whimbrel.verify.located_causes import LocatedCauses
from whimbrel.verify.verification import DifferenceGroup
from whimbrel.verify.verify import verify

HOSTS = """
<VirtualHost *:8080>
ServerName first.example
DocumentRoot "@ROOT@/htdocs"
</VirtualHost>
<VirtualHost *:8080>
ServerName second.example
DocumentRoot "@ROOT@/htdocs/private"
RewriteEngine On
RewriteRule ^/gone - [G]
</VirtualHost>
"""
ALLOWED = "<Directory />\n{}\n</Directory>\n"


def test_lines_that_decided_come_first_and_of_these_the_changed_ones() -> None:
    decided = [DecidingLine("f", number, f"line {number}", DECIDES) for number in range(4)]
    changed = (DecidingLine("f", 5), DecidingLine("f", 3))
    asked = DecidingLine("f", 6, role="section")
    cause = Cause(changed, changed[:1]).with_deciding(((asked, *decided), (decided[0],)))
    assert [line.line for line in cause.old] == [3, 0, 1, 2, 5]
    assert [line.line for line in cause.new] == [0, 5]
    assert cause.old[0].role == DECIDES


@pytest.mark.parametrize(
    ("text", "field", "is_concerned"),
    [
        ("set X-A 1", "x-a", True),
        ("set X-B 1", "x-a", False),
        ("always unset x-a", "x-a", True),
        ("set X-A 1", "status", False),
    ],
)
def test_a_header_line_is_about_its_own_field(text: str, field: str, is_concerned: bool) -> None:
    line = ConfigLine("header", text, "f", 1, LineScope("server", "", "f", 0))
    assert _concerns(Difference((FieldDifference(field, "1", "2"),)), line) is is_concerned


def test_equal_statuses_are_no_difference_of_access(tmp_path: Path) -> None:
    make_root(tmp_path)
    sides = [SideLines(side(tmp_path, name, "", "2.4")) for name in ("old", "new")]
    located = LocatedCauses((sides[0], sides[1]))
    for status in (200, 401, 403):
        assert not located.is_of_access((Answer(status), Answer(status)), ((), ()))


def test_another_virtual_host_is_the_cause_of_all_its_differences(tmp_path: Path) -> None:
    """Without NameVirtualHost the first host of 2.2 answers for all names (row C14)."""
    make_root(tmp_path)
    old = side(tmp_path, "old", ALLOWED.format("Order deny,allow") + HOSTS, "2.2")
    new = side(tmp_path, "new", ALLOWED.format("Require all granted") + HOSTS, "2.4")
    result = verify(old, new, limit=200)
    groups = [
        g for g in result.groups if any(e.old.server[1] != 23 or e.new.server[1] != 27 for e in g.examples)
    ]
    section = "<VirtualHost *:8080>"
    assert [[line.text for line in (*group.cause.old, *group.cause.new)] for group in groups] == [
        [section, "ServerName first.example", section, "ServerName second.example"]
    ]
    assert groups[0].count > 10


FILTERED = "<Directory />\nOptions {}\n{}\n</Directory>\nAddOutputFilterByType DEFLATE text/html\n"
PAGE = 'ErrorDocument 404 /index.html\nAlias /a "@ROOT@/htdocs"\n'


def test_vary_comes_from_filters_by_type_and_not_from_options(tmp_path: Path) -> None:
    make_root(tmp_path)
    old = side(tmp_path, "old", FILTERED.format("None", "Order deny,allow") + PAGE, "2.2", "deflate")
    text = FILTERED.format("Indexes", "Require all granted") + PAGE
    new = side(tmp_path, "new", text, "2.4", "filter", "deflate")
    found = [
        group for group in verify(old, new, limit=200).groups if "vary" in group.examples[0].difference.names
    ]
    assert found
    for group in found:
        names = {line.text.split()[0] for line in (*group.cause.old, *group.cause.new)}
        assert names == {"AddOutputFilterByType"}


def test_lines_with_an_equal_effect_are_no_cause(tmp_path: Path) -> None:
    """A host without an address: 502 of 2.2, 500 of 2.4."""
    make_root(tmp_path)
    proxy = "ProxyPass /p http://nowhere.invalid/\n<Location />\nOptions All\n</Location>\n"
    text = ALLOWED.format("Order deny,allow\nAllow from all") + proxy
    old = side(tmp_path, "old", text, "2.2", "proxy", "proxy_http")
    text = ALLOWED.format("Require all granted\nOptions All") + proxy
    new = side(tmp_path, "new", text, "2.4", "proxy", "proxy_http")
    groups = [group for group in verify(old, new, limit=100).groups if group.examples[0].new.status == 500]
    assert groups
    for group in groups:
        lines = (*group.cause.old, *group.cause.new)
        assert {line.text.split()[0] for line in lines} <= {"ProxyPass", "DocumentRoot"}


def test_a_refused_line_of_an_htaccess_file_is_the_cause(tmp_path: Path) -> None:
    """<IfModule> branches under AllowOverride Limit: 2.4 refuses Require, whatever else differs."""
    make_root(tmp_path)
    branches = "<IfModule {}mod_authz_core.c>\n{}\n</IfModule>\n"
    text = branches.format("!", "Deny from all") + branches.format("", "Require all denied")
    (tmp_path / "htdocs/private/.htaccess").write_text(text)
    overridden = "<Directory />\n{}\nAllowOverride Limit\n</Directory>\n{}\n"
    old_text = overridden.format("Order deny,allow", "AddHandler a .b")
    new_text = overridden.format("Require all granted", "AddHandler c .d")
    old = side(tmp_path, "old", old_text, "2.2")
    new = side(tmp_path, "new", new_text, "2.4")
    groups = [group for group in verify(old, new, limit=100).groups if group.examples[0].new.status == 500]
    assert [[line.text for line in (*group.cause.old, *group.cause.new)] for group in groups] == [
        ["Require all denied"]
    ]


def test_names_of_one_handler_of_php_are_equal(tmp_path: Path) -> None:
    make_root(tmp_path)
    texts = [
        f"AddHandler {name} .html\n" for name in ("php5-script", "application/x-httpd-php", "cgi-script")
    ]
    sides = [side(tmp_path, f"s{n}", ALLOWED.format("") + text, "2.2") for n, text in enumerate(texts)]
    handlers = [
        {part for g in verify(sides[0], other, limit=60).groups for part in g.examples[0].difference.names}
        for other in sides[1:]
    ]
    assert handlers[0] == set()
    assert "handler" in handlers[1] or "status" in handlers[1]


def causes(tmp_path: Path, old: str, new: str) -> set[str]:
    """The texts of all lines that the differences of two texts of 2.4 come from."""
    make_root(tmp_path, {"htdocs/a.txt": "a\n", "htdocs/private/.htaccess": "Header set X-A b\n"})
    texts = (ALLOWED.format("Require all granted") + text for text in (old, new))
    sides = [side(tmp_path, f"side{number}", text, "2.4") for number, text in enumerate(texts)]
    groups = verify(*sides, limit=200).groups
    assert groups
    return {line.text for group in groups for line in (*group.cause.old, *group.cause.new)}


def test_a_section_with_another_name_is_named(tmp_path: Path) -> None:
    section = '<Files "{}">\nHeader set X-A b\n</Files>\n'
    named = causes(tmp_path, section.format("index.html"), section.format("a.txt"))
    assert {"<Files index.html>", "<Files a.txt>"} <= {text.replace('"', "") for text in named}


def test_a_redirect_of_a_virtual_host_is_named(tmp_path: Path) -> None:
    host = "<VirtualHost *:8080>\nServerName b.example\nRedirect {} /only http://c.example/\n</VirtualHost>\n"
    named = causes(tmp_path, host.format(302), host.format(303))
    assert {f"Redirect {status} /only http://c.example/" for status in (302, 303)} <= named


def test_the_override_is_named_that_one_side_alone_reads_a_file_by(tmp_path: Path) -> None:
    section = '<Directory "@ROOT@/htdocs/{}">\nAllowOverride All\n</Directory>\n'
    none = "<Directory />\nAllowOverride None\n</Directory>\n"
    named = causes(tmp_path, none + section.format("private"), none + section.format("privately"))
    assert {"Header set X-A b", "AllowOverride All"} <= named
    assert any(text.startswith("<Directory") for text in named)


def test_the_alias_is_named_that_chooses_another_host(tmp_path: Path) -> None:
    host = "<VirtualHost *:8080>\nServerName {}.example\n{}\nHeader set X-A {}\n</VirtualHost>\n"
    first = host.format("first", "", "one")
    texts = (first + host.format("second", f"ServerAlias {name}.example", "two") for name in ("*.b", "www.b"))
    assert {"ServerAlias *.b.example", "ServerAlias www.b.example"} <= causes(tmp_path, *texts)


def test_the_section_is_named_that_a_line_has_moved_to(tmp_path: Path) -> None:
    section = '<Location "/{}">\nHeader set {}\n</Location>\n'
    other = section.format("a.txt", "X-B c")
    named = causes(tmp_path, *(section.format(name, "X-A b") + other for name in ("private", "a.txt")))
    assert any(text.startswith("<Location") and "a.txt" in text for text in named)


def groups_of(tmp_path: Path, old: str, new: str, *versions: str) -> list[DifferenceGroup]:
    """The differences of two texts, by default under 2.4."""
    dialects = versions or ("2.4", "2.4")
    pairs = zip(("old", "new"), (old, new), dialects, strict=True)
    return verify(*(side(tmp_path, *one) for one in pairs), limit=300).groups


def shown(lines: Iterable[DecidingLine]) -> list[str]:
    return [line.text for line in lines]


RULES = """RewriteEngine On
RewriteCond %{{HTTP:X-Kind}} {}
RewriteRule ^/private/ - [F]
ErrorDocument 403 /index.html
<Directory "@ROOT@/htdocs/private">
Options Indexes
ForceType text/plain
</Directory>
"""


def test_lines_of_sections_are_no_cause_of_what_a_server_answers(tmp_path: Path) -> None:
    """The access check of the ErrorDocument is not that of the request."""
    make_root(tmp_path)
    texts = [ALLOWED.format("Require all granted") + RULES.format(kind) for kind in ("a", "b")]
    (group,) = groups_of(tmp_path, *texts)
    assert shown(group.cause.old) == ["RewriteCond %{HTTP:X-Kind} a"]
    assert shown(group.cause.new) == ["RewriteCond %{HTTP:X-Kind} b"]
    assert {example.statuses for example in group.examples} >= {(403, 200), (200, 403)}


def test_a_section_with_another_name_is_one_difference_of_values(tmp_path: Path) -> None:
    make_root(tmp_path)
    section = '<Location "/{}">\nAcceptPathInfo Off\nLimitRequestBody 100\n</Location>\n'
    (group,) = groups_of(tmp_path, section.format("private"), section.format("privat"))
    assert [shown(group.cause.old)[0], shown(group.cause.new)[0]] == [
        '<Location "/private">',
        '<Location "/privat">',
    ]
    differences = [str(example.difference) for example in group.examples]
    assert "value of acceptpathinfo: Off -> none" in differences


def test_the_branch_of_a_htaccess_file_that_opens_is_the_cause(tmp_path: Path) -> None:
    """The text of the file is the same on both sides, and 2.4 takes its other branch."""
    make_root(tmp_path)
    branches = (
        "<IfModule !mod_authz_core.c>\nDeny from all\n</IfModule>\n"
        "<IfModule mod_authz_core.c>\nRequire all granted\n</IfModule>\n"
    )
    (tmp_path / "htdocs/private/.htaccess").write_text(branches)
    section = "<Directory />\n{}\nAllowOverride All\n</Directory>\n"
    texts = section.format("Order deny,allow"), section.format("Require all granted")
    groups = [group for group in groups_of(tmp_path, *texts, "2.2", "2.4") if group.kind == "access"]
    assert len(groups) == 1 and groups[0].opens
    path = f"{tmp_path}/htdocs/private/.htaccess"
    lines = [(line.path, line.line, line.text) for line in (*groups[0].cause.old, *groups[0].cause.new)]
    assert (path, 2, "Deny from all") in lines
    assert lines[len(groups[0].cause.old)] == (path, 5, "Require all granted")


def test_a_difference_of_versions_names_what_decided(tmp_path: Path) -> None:
    """No line of the text has an influence on it, or the default of 2.2 is the reason."""
    make_root(tmp_path, {"htdocs/private/a.unknown": "text\n"})
    groups = groups_of(tmp_path, "", "", "2.2", "2.4")
    assert any(group.reason for group in groups)
    assert all(group.reason or (group.cause.old and group.cause.new) for group in groups)


MAPPED = """<Directory "@ROOT@/htdocs/private">
<If "%{HTTP:X-Kind} == 'a'">
Require all denied
</If>
Header set X-Private yes
</Directory>
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param('Alias "/a" "@ROOT@/htdocs/private"', 'Alias "/b" "@ROOT@/htdocs/private"', id="alias"),
        pytest.param("ServerName a.example", "ServerName b.example", id="name of a host"),
        pytest.param("AccessFileName .htaccess", "AccessFileName .other", id="name of a file"),
    ],
)
def test_one_line_is_one_difference(tmp_path: Path, old: str, new: str) -> None:
    """Other sections apply to the requests, whose lines are the same on both sides."""
    lines = "Header set X-A b\nDirectoryIndex index.html\n"
    make_root(tmp_path, {"htdocs/private/.htaccess": lines})
    around = "<VirtualHost *:8080>\n{}\nHeader set X-Host yes\n</VirtualHost>\n"
    host = "{}\n" + around.format("ServerName c.example")
    if "ServerName" in old:
        host = host.replace("{}\n", "").replace("Host yes", "Other yes") + around
    common = "<Directory />\nAllowOverride All\nRequire all granted\n</Directory>\n" + MAPPED
    (group,) = groups_of(tmp_path, *(common + host.format(line) for line in (old, new)))
    named = [*shown(group.cause.old), *shown(group.cause.new)]
    assert {line.replace("@ROOT@", str(tmp_path)) for line in (old, new)} <= set(named)


@pytest.mark.parametrize("module", ["autoindex", "negotiation"])
def test_a_module_that_one_side_loads_is_the_cause(tmp_path: Path, module: str) -> None:
    """apache2 answers 404 in the place of a listing, and of a negotiated document, without the line."""
    make_root(tmp_path, {"htdocs/list/page.html.en": "page\n"})
    text = "<Directory />\nOptions +Indexes +MultiViews\nRequire all granted\n</Directory>\n"
    sides = [side(tmp_path, name, text, "2.4", "negotiation") for name in ("old", "new")]
    path = Path(sides[1].options.file)
    line = f"LoadModule {module}_module modules/mod_{module}.so\n"
    assert line in path.read_text()
    path.write_text(path.read_text().replace(line, ""))
    new = type(sides[1]).load(sides[1].options, "2.4", name="new")
    result = verify(sides[0], new, limit=300)
    named = [line.text for group in result.groups for line in group.cause.old if line.text.startswith("Load")]
    assert named and set(named) == {f"LoadModule {module}_module"}
    assert all(group.cause.old[0].text.startswith("LoadModule") for group in result.groups)

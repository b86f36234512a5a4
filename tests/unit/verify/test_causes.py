"""The lines that a difference comes from."""

from __future__ import annotations

from pathlib import Path

from tests.unit.verify.sites import make_root, side

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
        [section, "servername first.example", section, "servername second.example"]
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
        assert names == {"addoutputfilterbytype"}


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
        assert {line.text.split()[0] for line in lines} <= {"proxypass", "documentroot"}


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
        ["require all denied"]
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
    assert {"<files index.html>", "<files a.txt>"} <= {text.replace('"', "") for text in named}


def test_a_redirect_of_a_virtual_host_is_named(tmp_path: Path) -> None:
    host = "<VirtualHost *:8080>\nServerName b.example\nRedirect {} /only http://c.example/\n</VirtualHost>\n"
    named = causes(tmp_path, host.format(302), host.format(303))
    assert {f"redirect {status} /only http://c.example/" for status in (302, 303)} <= named


def test_the_override_is_named_that_one_side_alone_reads_a_file_by(tmp_path: Path) -> None:
    section = '<Directory "@ROOT@/htdocs/{}">\nAllowOverride All\n</Directory>\n'
    none = "<Directory />\nAllowOverride None\n</Directory>\n"
    named = causes(tmp_path, none + section.format("private"), none + section.format("privately"))
    assert {"header set X-A b", "allowoverride All"} <= named
    assert any(text.startswith("<directory") for text in named)


def test_the_alias_is_named_that_chooses_another_host(tmp_path: Path) -> None:
    host = "<VirtualHost *:8080>\nServerName {}.example\n{}\nHeader set X-A {}\n</VirtualHost>\n"
    first = host.format("first", "", "one")
    texts = (first + host.format("second", f"ServerAlias {name}.example", "two") for name in ("*.b", "www.b"))
    assert {"serveralias *.b.example", "serveralias www.b.example"} <= causes(tmp_path, *texts)


def test_the_section_is_named_that_a_line_has_moved_to(tmp_path: Path) -> None:
    section = '<Location "/{}">\nHeader set {}\n</Location>\n'
    other = section.format("a.txt", "X-B c")
    named = causes(tmp_path, *(section.format(name, "X-A b") + other for name in ("private", "a.txt")))
    assert any(text.startswith("<location") and "a.txt" in text for text in named)

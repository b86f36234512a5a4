"""Targets of requests: each directive and section is reached by a URL that it is about."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.unit.verify.sites import make_root, side

from whimbrel.verify.config_lines import SideLines
from whimbrel.verify.derive.probes import ProbeSource
from whimbrel.verify.derive.targets import NEUTRAL
from whimbrel.verify.probe import Probe

FILES = {
    "htdocs/private/a.html": "a",
    "htdocs/private/pic.map": "default /",
    "htdocs/multi/page.html.en": "e",
    "htdocs/multi/page.html.de": "d",
    "pub/one.txt": "1",
    "home/alice/index.html": "i",
}
GUARDED = '<Directory "@ROOT@/htdocs/private">\nRequire all denied\n</Directory>\n'


def probes(root: Path, conf: str) -> list[Probe]:
    """Return the requests that are derived from the text, as of one side of a comparison."""
    make_root(root, FILES)
    one = side(
        root, "old", conf, "2.4", "negotiation", "actions", "userdir", "proxy", "vhost_alias", "filter"
    )
    assert one.is_loaded, one.errors
    lines = SideLines(one)
    return list(ProbeSource((lines, lines), 3000).probes())


@pytest.mark.parametrize("section", ['Files ~ "^\\.ht"', 'FilesMatch "^\\.ht"', 'Files ".ht*"'])
def test_the_usual_files_that_a_section_protects_are_asked_first(tmp_path: Path, section: str) -> None:
    conf = f"{GUARDED}<{section}>\nRequire all denied\n</{section.split()[0]}>\n"
    found = [probe.target for probe in probes(tmp_path, conf)]
    assert {"/private/.htaccess", "/private/.htpasswd"} <= set(found)
    others = [target for target in found if target.startswith("/private/.ht")]
    assert others[0] == "/private/.htaccess"


def test_a_name_that_two_sections_match_is_asked_where_no_file_has_it(tmp_path: Path) -> None:
    sections = ("^\\.ht", "\\.(bak|old)$|~$")
    conf = GUARDED + "".join(f'<FilesMatch "{one}">\nRequire all denied\n</FilesMatch>\n' for one in sections)
    names = [
        probe.target.removeprefix("/private/")
        for probe in probes(tmp_path, conf)
        if probe.target.startswith("/private/")
    ]
    assert any(all(re.search(one, name) for one in sections) for name in names)


@pytest.mark.parametrize(
    ("conf", "target"),
    [
        ("<Location /loc>\nOptions None\n</Location>", "/loc"),
        ("<Location /loc>\nOptions None\n</Location>", f"/loc/{NEUTRAL}"),
        ("<Location /loc>\nOptions None\n</Location>", f"/loc{NEUTRAL}"),
        ('<LocationMatch "^/m(a|b)$">\nOptions None\n</LocationMatch>', "/ma"),
        ('<LocationMatch "^/x/(y|z)$">\nOptions None\n</LocationMatch>', "/x/y"),
        ('<Location ~ "^/t[0-9]$">\nOptions None\n</Location>', "/t0"),
        ('<Directory "@ROOT@/htdocs/private">\nOptions None\n</Directory>', "/private/"),
        ('<Directory "@ROOT@/htdocs/pri*">\nOptions None\n</Directory>', "/private/"),
        ('<DirectoryMatch "/private$">\nOptions None\n</DirectoryMatch>', "/private/"),
        ("<Files secret.html>\nOptions None\n</Files>", "/secret.html"),
        ("<Files secret.html>\nOptions None\n</Files>", f"/secret.html/{NEUTRAL}"),
        ('<FilesMatch "^\\.ht">\nOptions None\n</FilesMatch>', "/.ht"),
        ('Alias /pub "@ROOT@/pub"', "/pub/"),
        ('Alias /pub "@ROOT@/pub"', "/pub"),
        ('Alias /pub "@ROOT@/pub"', f"/pub{NEUTRAL}"),
        ('Alias /pub "@ROOT@/pub"', "/pub/one.txt"),
        ('ScriptAlias /cgi "@ROOT@/pub"', f"/cgi/{NEUTRAL}"),
        ('AliasMatch "^/am/(x|y)$" "@ROOT@/pub/$1"', "/am/x"),
        ('ScriptAliasMatch "^/sm/(x|y)$" "@ROOT@/pub/$1"', "/sm/x"),
        ("Redirect /gone http://a.test/", "/gone"),
        ("Redirect permanent /gone http://a.test/", f"/gone/{NEUTRAL}"),
        ("RedirectTemp /gone http://a.test/", "/gone"),
        ("RedirectPermanent /gone http://a.test/", "/gone"),
        ('RedirectMatch "^/rm/[a-b]" http://a.test/', "/rm/a"),
        ('RedirectMatch 301 "/rn$" http://a.test/', "/rn"),
        ("ProxyPass /app http://127.0.0.1:9/", "/app"),
        ("<Location /pl>\nProxyPass http://127.0.0.1:9/\n</Location>", f"/pl/{NEUTRAL}"),
        ('ProxyPassMatch "^/pm/(a|b)" http://127.0.0.1:9/$1', "/pm/a"),
        ("DirectoryIndex start.html", "/start.html"),
        ("<Location /in>\nDirectoryIndex start.html\n</Location>", "/in/start.html"),
        ("UserDir public_html", "/~root/"),
        ("<VirtualHost *:8080>\nServerName a\nServerPath /sp\n</VirtualHost>", "/sp/index.html"),
        ('UserDir "@ROOT@/home"', "/~alice/"),
        ('UserDir "@ROOT@/home"', f"/~alice/{NEUTRAL}"),
        ('UserDir "@ROOT@/home"', "/~alice/index.html"),
        ('UserDir "@ROOT@/home/*"', "/~alice/index.html"),
        ("UserDir disabled bob", "/~bob/"),
        ('SetEnvIf Request_URI "^/sei/" v', "/sei/"),
        ('SetEnvIfNoCase Request_URI "^/sein/" v', "/sein/"),
        ("AddType text/x-a .a7", f"/{NEUTRAL}.a7"),
        ("AddHandler send-as-is asis", f"/{NEUTRAL}.asis"),
        ("AddEncoding x-gzip .gz", f"/{NEUTRAL}.gz"),
        ("AddLanguage de .html", "/index.html"),
        ("AddCharset utf-8 .utf8", f"/{NEUTRAL}.utf8"),
        ("AddOutputFilter DEFLATE .dd", f"/{NEUTRAL}.dd"),
        ("FallbackResource /front.php", "/front.php"),
        ("ErrorDocument 404 /missing.html", "/missing.html"),
        ("RewriteEngine On\nRewriteRule ^/r(1|2)$ /x", "/r1"),
        ("RewriteEngine On\nRewriteRule ^/r /x", f"/r{NEUTRAL}"),
        ("RewriteEngine On\nRewriteRule ^/old /new\nRewriteRule bak$ - [F]", "/oldbak"),
        ("RewriteEngine On\nRewriteRule ^/q /new?a=1 [QSA]", f"/q?{NEUTRAL}"),
        *(
            (f"RewriteEngine On\nRewriteRule ^/q /new [{flag}]", f"/q?{NEUTRAL}")
            for flag in ("QSA", "qsappend", "QSD", "qsdiscard", "QSL", "qslast", "L,QSD")
        ),
        ("<Location /rl>\nRewriteEngine On\nRewriteRule in$ /x\n</Location>", "/rl/in"),
        ("RewriteEngine On\nRewriteRule ^/alt/(.*)$ /neu/$1", "/alt/x%3fx"),
        ("RewriteEngine On\nRewriteRule ^/(a|b)/([^/]+)$ /$1/n/$2", "/a/x%3fx"),
        ("<Location /rl>\nRewriteEngine On\nRewriteRule ^(.*)$ /x/$1\n</Location>", "/rl/x%3fx"),
        ("", "/"),
        ("", f"/{NEUTRAL}"),
        ("", "/private"),
        ("", "/private/a.html"),
        ("", "/private/pic.map?99,99"),
        ('<Directory "@ROOT@/htdocs">\nOptions +MultiViews\n</Directory>', "/multi/page"),
        ('Alias /al "@ROOT@/htdocs/private"', "/al/a.html"),
        ('Alias /al "@ROOT@/htdocs/private"', "/private/a.html"),
        (
            "<Location /loc>\nRequire all denied\n</Location>\n<Files n.x>\nRequire all granted\n</Files>",
            "/loc/n.x",
        ),
        (f'{GUARDED}<Files ~ "^no[0-9]$">\nRequire all denied\n</Files>', "/private/no0"),
        (f'{GUARDED}<FilesMatch "^no[0-9]$">\nRequire all denied\n</FilesMatch>', "/private/no0"),
    ],
)
def test_a_line_is_reached(conf: str, target: str, tmp_path: Path) -> None:
    assert target in {probe.target for probe in probes(tmp_path, conf)}


@pytest.mark.parametrize(
    "rule", ["^/p/([0-9]+)$ /n/$1", "^/p/(.*)$ /n", "!^/p/(.*)$ /n", "^/p/(.*)/(x)$ /n/$2"]
)
def test_no_question_mark_where_none_enters_the_new_path(rule: str, tmp_path: Path) -> None:
    found = probes(tmp_path, f"RewriteEngine On\nRewriteRule {rule}")
    assert not any("%3f" in probe.target.lower() for probe in found)


RULE = "RewriteEngine On\n{}\nRewriteRule ^/r /x"


@pytest.mark.parametrize(
    ("conf", "target", "field"),
    [
        ("AddLanguage de .de", "/multi/page", ("Accept-Language", "de")),
        ("LanguagePriority de en", "/multi/page", ("Accept-Language", "i-klingon")),
        ("ForceLanguagePriority Fallback", "/multi/page", ("Accept-Language", "i-klingon")),
        ("DefaultLanguage de", "/multi/page", ("Accept-Language", "i-klingon")),
        (RULE.format("RewriteCond %{HTTP:X-Kind} ^new"), "/r", ("X-Kind", "new")),
        (RULE.format("RewriteCond %{HTTP:X-Kind} !^new"), "/r", ("X-Kind", "new")),
        (
            RULE.format("RewriteCond %{HTTP:X-Kind} ^new [OR]\nRewriteCond %{HTTP:X-More} ^m"),
            "/r",
            ("X-More", "m"),
        ),
    ],
)
def test_a_line_is_reached_with_its_field(
    conf: str, target: str, field: tuple[str, str], tmp_path: Path
) -> None:
    options = '\n<Directory "@ROOT@/htdocs">\nOptions +MultiViews\n</Directory>'
    assert any(probe.target == target and field in probe.fields for probe in probes(tmp_path, conf + options))


def test_both_values_of_two_conditions_are_tried(tmp_path: Path) -> None:
    """Each alone, both, and none: as [OR] and its loss differ."""
    conf = RULE.format("RewriteCond %{HTTP:X-A} ^a\nRewriteCond %{HTTP:X-B} ^b")
    found = {probe.fields for probe in probes(tmp_path, conf) if probe.target == "/r"}
    assert found >= {(("X-A", "a"),), (("X-B", "b"),), (("X-A", "a"), ("X-B", "b")), ()}


def test_a_directory_without_its_slash_is_asked_without_a_port(tmp_path: Path) -> None:
    """apache2 redirects to the port of ServerName, or to that of the address of the virtual host."""
    host = "<VirtualHost *:8080>\nServerName a.test\nServerAlias b.test\n</VirtualHost>"
    found = {(one.host, one.target) for one in probes(tmp_path, host)}
    assert ("a.test", "/multi") in found

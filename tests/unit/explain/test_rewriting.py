"""Rules of rewriting and negotiation as causes."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.explain.explained_site import CONF, explained, side_of

from whimbrel.explain.cause import AnswerCause, cause_of
from whimbrel.explain.step import RequestExplanation
from whimbrel.explain.text import OutputStyle, short_lines
from whimbrel.upgrade.knowledge.scope import KnowledgeScope

RULES = """
<Directory "@ROOT@/htdocs/loops">
    RewriteEngine On
    RewriteRule ^was(.*)$ /private/y$1
    RewriteRule ^t(.*)$ tx$1
    RewriteRule ^([0-9]+)$ /index.html?id=$1 [QSA]
</Directory>
"""
VIEWS = """LoadModule negotiation_module modules/mod_negotiation.so
<Directory "@ROOT@/htdocs">
    Options +MultiViews
</Directory>
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "htdocs/loops").mkdir(parents=True)
    return tmp_path


def lines_and_sentence(found: RequestExplanation) -> tuple[list[str], str]:
    cause: AnswerCause = cause_of(found)
    return [line.text for line in cause.lines], cause.sentence


def shown(found: RequestExplanation, root: Path) -> str:
    return "\n".join(short_lines(found, KnowledgeScope(), OutputStyle(str(root))))


def test_rules_that_led_to_another_file_are_named_with_the_query(root: Path) -> None:
    found = explained(side_of(root, CONF + RULES), "/loops/12?x=1")
    lines, sentence = lines_and_sentence(found)
    assert lines[0] == "RewriteRule ^([0-9]+)$ /index.html?id=$1 [QSA]"
    assert sentence.endswith("/htdocs/index.html is sent")
    assert "redirected to  GET /index.html?id=12&x=1\n" in shown(found, root)


def test_a_rule_in_front_of_a_missing_file_is_named(root: Path) -> None:
    lines, sentence = lines_and_sentence(
        explained(side_of(root, CONF + RULES), "/loops/was", client="10.0.0.1")
    )
    assert lines == ["RewriteRule ^was(.*)$ /private/y$1"]
    assert sentence.endswith("/htdocs/private/y does not exist")


def test_a_loop_names_the_rule_that_loops(root: Path) -> None:
    found = explained(side_of(root, CONF + RULES), "/loops/t")
    lines, sentence = lines_and_sentence(found)
    assert found.status == 500
    assert lines == ["RewriteRule ^t(.*)$ tx$1"]
    assert sentence.startswith("applied to its own result again and again: AH00124: ")


def test_a_rule_is_listed_once_for_each_request_that_tried_it(root: Path) -> None:
    """The handler of the redirect runs the redirected request, whose rules are not its own."""
    found = explained(side_of(root, CONF + RULES), "/loops/12")
    handlers = [step for step in found.steps if step.kind == "handler" and step.what == "mod_rewrite"]
    assert handlers and not any(step.children for step in handlers)


def test_the_variant_that_multiviews_chose_is_sent(root: Path) -> None:
    found = explained(side_of(root, CONF + VIEWS), "/index")
    lines, sentence = lines_and_sentence(found)
    assert lines[-1] == "Options +MultiViews"
    assert sentence.endswith("/htdocs/index.html is sent")
    assert "negotiated     htdocs/index.html" in shown(found, root)


def test_rules_that_feed_each_other_are_all_named(root: Path) -> None:
    rules = "RewriteRule ^a$ /loops/b [L]\nRewriteRule ^b$ /loops/c [L]\nRewriteRule ^c$ /loops/a [L]\n"
    (root / "htdocs/loops/.htaccess").write_text(f"RewriteEngine On\n{rules}")
    found = explained(side_of(root), "/loops/b")
    lines, sentence = lines_and_sentence(found)
    assert lines == [rules.split("\n")[1], rules.split("\n")[2], rules.split("\n")[0]]
    assert sentence.startswith("each applied to the result of another again and again: AH00124: ")
    assert "and so on: 10 internal redirects in all\n" in shown(found, root)


def test_a_redirect_names_the_path_before_a_rule_of_the_server(root: Path) -> None:
    """apache2 logs `internal redirect with /index.html`; the rule is applied to that path again."""
    rules = "RewriteEngine On\nRewriteRule ^/(.*)$ /shop/$1 [PT]\n"
    (root / "htdocs/shop").mkdir()
    (root / "htdocs/shop/.htaccess").write_text("RewriteEngine On\nRewriteRule ^cat$ /index.html?c=1\n")
    found = explained(side_of(root, CONF.split("<VirtualHost")[0] + rules), "/cat")
    text = shown(found, root)
    assert "redirected to  GET /index.html?c=1\n" in text
    assert text.index("redirected to") < text.index("rewritten to   /shop/index.html  by RewriteRule ^/(.*)$")


def test_redirects_without_end_are_named(root: Path) -> None:
    """`curl -L` follows such a redirect until it gives up."""
    rules = (
        "RewriteRule ^z.*$ /loops/a [R,L]\nRewriteRule ^a$ /loops/b [R,L]\nRewriteRule ^b$ /loops/a [R,L]\n"
    )
    (root / "htdocs/loops/.htaccess").write_text(
        f"RewriteEngine On\n{rules}RewriteRule ^once$ /index.html [R]\n"
    )
    side = side_of(root)
    lines, sentence = lines_and_sentence(explained(side, "/loops/zz"))
    assert lines == [rules.split("\n")[0]]
    assert sentence.endswith(
        "redirects without end (browsers: too many redirects): /loops/a -> /loops/b -> /loops/a"
    )
    assert lines_and_sentence(explained(side, "/loops/once"))[1] == ""


def test_a_redirect_to_another_host_is_not_followed(root: Path) -> None:
    rule = "RewriteEngine On\nRewriteRule ^(.*)$ http://other.example/loops/$1 [R,L]\n"
    (root / "htdocs/loops/.htaccess").write_text(rule)
    assert lines_and_sentence(explained(side_of(root), "/loops/a"))[1] == ""


@pytest.mark.parametrize(
    ("inner", "is_replaced"),
    [
        ("RewriteEngine On\nRewriteRule ^b$ /index.html\n", True),
        ("RewriteEngine On\n", True),
        ("RewriteEngine On\nRewriteOptions Inherit\nRewriteRule ^b$ /index.html\n", False),
        ("Options -Indexes\n", False),
    ],
)
def test_rules_of_an_outer_file_that_an_inner_one_replaces(root: Path, inner: str, is_replaced: bool) -> None:
    """The answer of httpd decides: /a is rewritten by the outer file unless its rules are replaced."""
    (root / "htdocs/loops/in").mkdir()
    (root / "htdocs/loops/.htaccess").write_text("RewriteEngine On\nRewriteRule a$ /private/y\n")
    (root / "htdocs/loops/in/.htaccess").write_text(inner)
    conf = CONF + '<Directory "@ROOT@/htdocs/loops">\nAllowOverride All\n</Directory>\n'
    found = explained(side_of(root, conf), "/loops/in/a", client="10.0.0.1")
    was_tried = any(step.kind == "rule" and step.result.startswith("->") for step in found.all())
    assert was_tried is not is_replaced
    text = shown(found, root)
    assert ("not tried      1 rule of htdocs/loops/.htaccess: " in text) is is_replaced, text
    if is_replaced:
        assert "the rewriting of htdocs/loops/in/ replaces them" in " ".join(text.split())


def test_the_query_stands_behind_the_rule_that_makes_it(root: Path) -> None:
    """apache2 sends the client to /lab/?id=7&z=1: the query of the redirect is that of the rule before it."""
    rules = "RewriteRule ^item-(.*)$ index.html?id=$1 [QSA]\nRewriteRule ^index - [E=seen:1]\n"
    last = "RewriteRule ^index\\.html$ /lab/ [R,L]\n"
    (root / "htdocs/loops/.htaccess").write_text(f"RewriteEngine On\n{rules}{last}")
    found = explained(side_of(root), "/loops/item-7?z=1")
    assert found.location.endswith("/lab/?id=7&z=1")
    assert "rewritten to   htdocs/loops/index.html?id=7&z=1  by RewriteRule ^item" in shown(found, root)
    assert "/lab/  by" not in shown(found, root)


@pytest.mark.parametrize("flags", ["", " [R=302,L]", " [PT]"])
def test_a_refused_rule_gives_what_its_text_says_and_rewrites_nothing(root: Path, flags: str) -> None:
    """2.4.60 refuses a question mark that a rule copies from %3f (rewrite/flags.html, UnsafeAllow3F)."""
    rule = f"RewriteRule ^/old/(.*)\\.html$ /new/$1.php{flags}"
    text = f"{CONF}<VirtualHost *:80>\nServerName r\nRewriteEngine On\n{rule}\n</VirtualHost>\n"
    found = explained(side_of(root, text), "/old/q%3fx.html", host="r")
    assert found.status == 403 and lines_and_sentence(found)[0] == [rule]
    [rewriting] = [step for step in found.all() if step.kind == "rule" and step.what == rule]
    assert rewriting.result == "refused: -> /new/q?x.php"
    assert f"not rewritten  to /new/q?x.php  by {rule}" in shown(found, root)
    assert "rewritten to" not in shown(found, root)


def test_the_redirect_of_a_directory_has_the_url_that_is_sent(root: Path) -> None:
    """mod_rewrite replaces the directory by RewriteBase after the rules; no path of a file is sent."""
    rules = """
<Directory "@ROOT@/htdocs/loops">
    RewriteEngine On
    RewriteBase /loops/
    RewriteRule ^suche$ {target} [R=301,L]
</Directory>
"""
    for target, sent in (("jahr/1987/?", "/loops/jahr/1987/"), ("jahr/1987/?a=1", "/loops/jahr/1987/?a=1")):
        found = explained(side_of(root, CONF + rules.format(target=target)), "/loops/suche?x=1")
        assert (found.status, found.location) == (301, f"http://q.example{sent}")
        lines = list(short_lines(found, KnowledgeScope(), OutputStyle(str(root))))
        assert not any(f"{root}/htdocs/loops/jahr" in line for line in lines), lines
        (row,) = [line for line in lines if line.startswith("rewritten to")]
        assert row.split()[2] == f"http://q.example{sent}"
        results = [step.result for step in found.all() if step.kind == "rule" and "suche" in step.what]
        assert results == [f"-> http://q.example{sent}"]


@pytest.mark.parametrize(
    ("rule", "status", "label"),
    [
        ("RewriteRule ^/(a.*)$ http://b.example/$1 [R=301,L]", 301, "rewritten to"),
        ("RewriteRule ^/a - [F]", 403, "mapping"),
        ("RewriteRule ^/a - [G]", 410, "mapping"),
    ],
)
def test_the_conditions_of_the_rule_that_decided_are_named(
    root: Path, rule: str, status: int, label: str
) -> None:
    """A pattern of RewriteCond is compared with its test string; of conditions with OR one is enough, and a
    rule whose conditions fail does nothing (mod_rewrite, RewriteCond)."""
    more = f"""
RewriteCond %{{REMOTE_ADDR}} ^10
RewriteRule ^/a /never
RewriteCond %{{HTTP_HOST}} ^nowhere [OR]
RewriteCond %{{HTTP_HOST}} ^A\\. [NC]
RewriteCond %{{REQUEST_METHOD}} !^POST$
{rule}
"""
    found = explained(side_of(root, CONF.replace("RewriteRule ^/nope - [F]", more)), "/ab", "a.example")
    assert found.status == status
    lines = list(short_lines(found, KnowledgeScope(), OutputStyle(str(root), 200)))
    at = next(n for n, line in enumerate(lines) if line.startswith(label))
    assert f"RewriteRule {rule.split()[1]}" in lines[at]
    rows = [line.split(None, 1)[-1] if n == 1 else line.strip() for n, line in enumerate(lines[at : at + 4])][
        1:
    ]
    texts = [
        "RewriteCond %{HTTP_HOST} ^nowhere [OR]: fails on 'a.example'",
        "RewriteCond %{HTTP_HOST} ^A\\. [NC]: holds on 'a.example'",
        "RewriteCond %{REQUEST_METHOD} !^POST$: holds on 'GET'",
    ]
    assert [row.startswith(text) for row, text in zip(rows, texts, strict=True)] == [True] * 3, rows
    assert not any("never" in line or "REMOTE_ADDR" in line for line in lines)


def test_rules_of_a_sub_request_are_not_those_of_the_request(root: Path) -> None:
    """A %{LA-U:...} makes a sub-request, which tries the rules too: apache2 logs it with /subreq, and the
    condition of the rule that refuses once with /initial."""
    rules = (
        "RewriteEngine On\nRewriteCond %{LA-U:REQUEST_FILENAME} ^GET$\nRewriteRule ^/g /f.html\n"
        "RewriteCond %{REQUEST_URI} .\nRewriteRule .* - [F]\n"
    )
    found = explained(side_of(root, CONF.split("<VirtualHost")[0] + rules), "/g.html")
    assert found.status == 403
    assert shown(found, root).count("RewriteCond %{REQUEST_URI} .: holds on '/g.html'") == 1

"""Lines that stand on the way of a request and are not reached. Which rules apache2 tries (LogLevel
rewrite:trace3), and which files it reads (strace), is the expected result.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.explain.explained_site import CONF, explained, side_of

from whimbrel.explain.step import ExplanationStep
from whimbrel.explain.void_lines import UNREAD, VOID

MAIN = CONF.split("<VirtualHost")[0]
OUTER = "RewriteEngine On\nRewriteRule ^a$ /index.html\nRewriteRule ^in/a$ /index.html\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "htdocs/rw/in").mkdir(parents=True)
    (tmp_path / "htdocs/rw/.htaccess").write_text(OUTER)
    return tmp_path


def void(root: Path, conf: str, target: str, host: str = "q") -> list[tuple[str, str, list[int]]]:
    steps: list[ExplanationStep] = list(explained(side_of(root, conf), target, host).all())
    return [
        (
            step.what.replace(f"{root}/", ""),
            step.detail.replace(f"{root}/", ""),
            [x.place.line for x in step.lines],
        )
        for step in steps
        if step.result in (VOID, UNREAD)
    ]


def test_inner_rewriting_replaces_the_rules_of_outer_directories(root: Path) -> None:
    inner = root / "htdocs/rw/in/.htaccess"
    inner.write_text("RewriteEngine On\n")
    ((what, reason, lines),) = void(root, MAIN, "/rw/in/a")
    assert (what, lines) == ("2 rules of htdocs/rw/.htaccess", [2, 3])
    assert reason.startswith("the rewriting of htdocs/rw/in/ replaces them")
    inner.write_text("RewriteEngine On\nRewriteOptions Inherit\n")
    assert void(root, MAIN, "/rw/in/none") == []
    inner.unlink()
    assert void(root, MAIN, "/rw/none") == []


def test_rules_without_the_engine(root: Path) -> None:
    (root / "htdocs/rw/.htaccess").write_text("RewriteRule ^a$ /index.html\n")
    ((what, reason, lines),) = void(root, MAIN, "/rw/a")
    assert (what, reason, lines) == ("1 rule of htdocs/rw/.htaccess", "RewriteEngine is off there", [1])
    ((what, reason, _lines),) = void(root, f"RewriteRule ^/x /index.html\n{MAIN}", "/x")
    assert (what, reason) == ("1 rule of httpd.conf", "RewriteEngine is off there")


def test_a_virtual_host_has_no_rules_of_the_main_server(root: Path) -> None:
    rules = "RewriteEngine On\nRewriteRule ^/x /index.html\n"
    ((what, reason, _lines),) = void(root, rules + CONF, "/x", "a.example")
    assert what == "1 rule of httpd.conf"
    assert reason == "a virtual host has no rules of the main server without RewriteOptions Inherit"
    host = "RewriteEngine On\n    RewriteOptions Inherit\n    RewriteRule ^/nope"
    inheriting = (rules + CONF).replace("RewriteEngine On\n    RewriteRule ^/nope", host)
    assert void(root, inheriting, "/x", "a.example") == []


def test_a_htaccess_file_that_is_not_read(root: Path) -> None:
    closed = MAIN.replace("AllowOverride All", "AllowOverride None")
    ((what, reason, lines),) = void(root, closed, "/rw/a")
    assert (what, reason, len(lines)) == ("htdocs/rw/.htaccess", "AllowOverride None", 1)
    assert void(root, closed, "/none") == []


def test_rules_that_led_to_the_request_were_tried(root: Path) -> None:
    """apache2 tries both rules of the outer file for the first request, and none of them for the second."""
    (root / "htdocs/rw/.htaccess").write_text(
        "RewriteEngine On\nRewriteRule ^a$ b\nRewriteRule ^b$ in/c [L]\nRewriteRule ^never$ /index.html\n"
    )
    (root / "htdocs/rw/in/.htaccess").write_text("RewriteEngine On\n")
    (root / "htdocs/rw/in/c").write_text("c\n")
    ((what, reason, lines),) = void(root, MAIN, "/rw/a")
    assert (what, lines) == ("1 rule of htdocs/rw/.htaccess", [4])
    ((what, reason, lines),) = void(root, MAIN, "/rw/in/c")
    assert (what, lines) == ("3 rules of htdocs/rw/.htaccess", [2, 3, 4])

"""Pages that a server makes at each request, of its state."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.verify.sites import make_root, side

from whimbrel.verify.verification import Verdict, VerifyResult
from whimbrel.verify.verify import verify

PAGES = "".join(
    f"<Location /{name}>\nSetHandler {name}\n@MORE@</Location>\n"
    for name in ("server-status", "server-info", "balancer-manager")
)
BALANCER = (
    "<Proxy balancer://c>\nBalancerMember http://127.0.0.1:9001\n</Proxy>\nProxyPass /app balancer://c/\n"
)
MODULES = ("status", "info", "proxy", "proxy_http", "proxy_balancer")
OF_24 = ("lbmethod_byrequests", "slotmem_shm", "unixd")


def compared(root: Path, dialects: tuple[str, str], more: tuple[str, str] = ("", "")) -> VerifyResult:
    make_root(root)
    sides = []
    for name, dialect, line in zip(("old", "new"), dialects, more, strict=True):
        modules = MODULES if dialect == "2.2" else (*MODULES, *OF_24)
        sides.append(side(root, name, f"{BALANCER}{PAGES.replace('@MORE@', line)}", dialect, *modules))
        assert sides[-1].is_loaded, sides[-1].errors
    return verify(*sides, limit=2000)


@pytest.mark.parametrize(
    ("dialects", "pages"),
    [
        (("2.2", "2.4"), ("balancer-manager", "server-info", "server-status")),
        (("2.4", "2.4"), ("balancer-manager", "server-info")),
    ],
)
def test_their_bodies_are_no_difference_and_are_named(
    tmp_path: Path, dialects: tuple[str, str], pages: tuple[str, ...]
) -> None:
    """The forms of balancer-manager have a nonce of the process (balancer_handler of mod_proxy_balancer), so
    that two pages of one server differ; server-info names the files, server-status the version."""
    result = compared(tmp_path, dialects)
    parts = {name for group in result.groups for one in group.examples for name in one.difference.names}
    assert "body" not in parts
    assert all(page in result.not_compared for page in pages)
    assert result.not_compared.count("-") == len(pages)
    assert f"bodies of {', '.join(pages)} not compared" in result.limits
    assert result.verdict is not Verdict.SAME or result.not_compared in result.excepted_note


@pytest.mark.parametrize(
    ("line", "part"),
    [("Require all denied\n", "status"), ("Header set X-A 1\n", "x-a")],
)
def test_what_does_not_depend_on_the_state_is_compared(tmp_path: Path, line: str, part: str) -> None:
    result = compared(tmp_path, ("2.4", "2.4"), ("", line))
    parts = {
        name
        for group in result.groups
        for one in group.examples
        for name in one.difference.names
        if "/balancer-manager" in one.probe.target
    }
    assert part in parts


def test_another_type_of_the_page_is_a_difference(tmp_path: Path) -> None:
    result = compared(tmp_path, ("2.2", "2.4"), ("", "Header set Content-Type text/x-state\n"))
    types = [
        part.new
        for group in result.groups
        for one in group.examples
        for part in one.difference.parts
        if part.name == "content-type"
    ]
    assert types and set(types) == {"text/x-state"}


def test_a_site_without_such_pages_says_nothing_of_them(tmp_path: Path) -> None:
    make_root(tmp_path)
    result = verify(side(tmp_path, "old", "", "2.4"), side(tmp_path, "new", "", "2.4"), limit=200)
    assert result.not_compared == "" and not any("bodies" in one for one in result.limits)


@pytest.mark.parametrize("dialects", [("2.2", "2.4"), ("2.4", "2.4")])
def test_a_file_that_is_sent_without_the_module_is_compared(
    tmp_path: Path, dialects: tuple[str, str]
) -> None:
    """apache2 2.4.71 without mod_status, `AddHandler server-status .st`: it sends the file, with an ETag."""
    make_root(tmp_path)
    sides = []
    for name, dialect in zip(("old", "new"), dialects, strict=True):
        documents = tmp_path / f"htdocs-{name}"
        documents.mkdir()
        (documents / "x.st").write_text(name)
        text = f'DocumentRoot "{documents}"\nAddHandler server-status .st\nAddHandler balancer-manager .st\n'
        sides.append(side(tmp_path, name, text, dialect))
    result = verify(*sides, limit=2000)
    parts = {name for group in result.groups for one in group.examples for name in one.difference.names}
    assert "body" in parts
    assert not result.not_compared

"""Repetitions of a <Location> among virtual hosts that map its path to several directories."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.upgrade.access_texts import USER, marks, text_after
from tests.unit.upgrade.config_trees import config_tree, laid

from whimbrel.access.chains import Bounds, ServedRequests
from whimbrel.upgrade.access_control.sections import find_sections

CLOSED = f"<Location /a>\n{USER}Deny from all\nSatisfy any\n</Location>\n"
FREE = f"<Directory ROOT/h/a/b>\n{USER}Require valid-user\nSatisfy any\n</Directory>\n"
HOST = "<VirtualHost *:80>\nServerName %s\nDocumentRoot ROOT/%s\n%s</VirtualHost>\n"
REPEATED = '<Location "/a/b">'


@pytest.fixture
def root(tmp_path: Path) -> Path:
    files: dict[str, str | bytes] = dict.fromkeys(("h/a/b/x", "h/a/a/b/x", "other/x"), "")
    return laid(tmp_path, files)


def test_a_location_is_repeated_where_all_hosts_serve_the_directory(root: Path) -> None:
    text = "DocumentRoot ROOT/h\n" + CLOSED + FREE + HOST % ("one", "h", "")
    after = text_after(root, text)
    assert after.partition("<Directory")[0].count(REPEATED) == 1
    assert not marks(root, text)[1]


def test_a_location_is_not_repeated_for_another_directory_of_the_same_path(root: Path) -> None:
    """2.2 answers 403 to /a/b in the host one, another directory there; a repetition opens it.

    A condition on the path of the file tells the directories apart.
    """
    text = "DocumentRoot ROOT/h\n" + CLOSED + FREE + HOST % ("one", "h/a", "") + HOST % ("two", "h", "")
    after = text_after(root, text)
    assert REPEATED not in after
    assert f'<If "%{{REQUEST_FILENAME}} =~ m#^{root}/h/a/b(?:/|$)#">' in after
    assert not marks(root, text)[1]


def test_a_location_is_repeated_in_the_hosts_that_serve_the_directory(root: Path) -> None:
    text = "DocumentRoot ROOT/other\n" + CLOSED + FREE + HOST % ("one", "h/a", "") + HOST % ("two", "h", "")
    after = text_after(root, text)
    main, one, two = after.split("<VirtualHost *:80>\n")
    assert REPEATED not in main
    assert '<Location "/a/b">' not in one
    assert two.lstrip().startswith(REPEATED)
    assert not marks(root, text)[1]


def test_each_host_has_the_repetition_for_its_own_directory(root: Path) -> None:
    text = (
        "DocumentRoot ROOT/other\n"
        + CLOSED
        + FREE
        + FREE.replace("valid-user", "user bob").replace("h/a/b", "h/a/a/b").replace("Satisfy any\n", "")
        + HOST % ("one", "h/a", "")
        + HOST % ("two", "h", "")
    )
    main, one, two = text_after(root, text).split("<VirtualHost *:80>\n")
    assert [part.count(REPEATED) for part in (main, one, two)] == [0, 1, 1]
    assert not marks(root, text)[1]


def test_a_repetition_in_a_host_does_not_pass_a_later_section_of_the_main_server(root: Path) -> None:
    later = "<Location /a/b>\nOrder deny,allow\nDeny from 192.0.2\n</Location>\n"
    text = "DocumentRoot ROOT/other\n" + CLOSED + later + FREE + HOST % ("two", "h", "")
    host = text_after(root, text).partition("<VirtualHost")[2]
    assert host.count(REPEATED) == 1
    assert "Require not ip 192.0.2" in host.partition(REPEATED)[2].partition("</Location>")[0]


def test_requests_below_a_directory_name_the_sections_of_each_server(root: Path) -> None:
    text = "DocumentRoot ROOT/h\n" + CLOSED + FREE + HOST % ("one", "h/a", "") + HOST % ("two", "other", "")
    tree = config_tree(root, {"conf/httpd.conf": text})
    inventory = find_sections(tree)
    served = ServedRequests(tree.root, inventory, Bounds())
    one, two = inventory.servers
    by_server: dict[object, set[tuple[str, int]]] = {}
    for server, chain in served.below(f"{root}/h/a/b/", ["/a/b"]):
        by_server.setdefault(server, set()).add((chain.url, len(chain.sections)))
    assert ("/a/b/other", 2) in by_server[None]
    assert {("/b/other", 1), ("/a/b/other", 1)} <= by_server[one]
    assert {url for url, _ in by_server[two]} <= {"/a/b", "/a/b/", "/a/b/other", "/a/b/a"}

"""Files below the root of a side count with what httpd reads in them.

apache2 2.4 answers with a map, users, groups and types whatever the order of their lines, and its comments.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.verify.sites import make_root, side

from whimbrel.verify.named_files import with_keys
from whimbrel.verify.verification import Verdict, VerifyResult
from whimbrel.verify.verify import verify

CONF = """RewriteEngine On
RewriteMap names txt:conf/map.txt
RewriteRule ^/m/([a-z]+)$ /${names:$1|index.html} [PT]
<Directory "@DOCUMENTS@/htdocs/private">
AuthType Basic
AuthName "private"
AuthUserFile conf/users
AuthGroupFile conf/groups
Require group admin
</Directory>
"""
ALICE = "alice:$apr1$x$FGRNCkW6AWvkVBmVAIBGq.\n"
BOB = ALICE.replace("alice", "bob")
FILES = {
    "conf/map.txt": "# names\none private/index.html\ntwo index.html\n",
    "conf/groups": "admin: alice bob\n",
}


def compared(tmp_path: Path, name: str, text: str, version: str = "2.4") -> VerifyResult:
    """Return the comparison of two equal texts in two roots, of which the second has *text* in the file; the
    first is read as *version*."""
    sides = []
    for root, files in (("old", FILES), ("new", {**FILES, name: text})):
        make_root(tmp_path / root, files)
        documents = str(tmp_path / "old")
        dialect = version if root == "old" else "2.4"
        one = side(tmp_path / root, root, CONF.replace("@DOCUMENTS@", documents), dialect)
        path = Path(one.options.file)
        # both serve the same documents, as a copy by `upgrade --out` does
        path.write_text(path.read_text().replace(f'"{tmp_path}/new/htdocs', f'"{documents}/htdocs'))
        sides.append(type(one).load(one.options, dialect, name=root))
    return verify(*sides, limit=2000)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("conf/map.txt", "two index.html\n# other words\none private/index.html\none index.html\n"),
        ("conf/users", f"# people\n{BOB}{ALICE}"),
        ("conf/groups", "# people\nadmin: bob alice\n"),
        ("conf/mime.types", "# types\ntext/plain txt\ntext/html html\n"),
    ],
)
def test_order_and_comments_are_no_difference(tmp_path: Path, name: str, text: str) -> None:
    result = compared(tmp_path, name, text)
    assert result.verdict is Verdict.SAME, [one.reason for one in result.not_decided]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("conf/map.txt", "one index.html\ntwo index.html\n"),
        ("conf/map.txt", "one private/index.html\ntwo index.html\nthree private/index.html\n"),
        ("conf/users", ALICE),
        ("conf/groups", "admin: alice\n"),
        ("conf/mime.types", "text/x-other html\ntext/plain txt\n"),
    ],
)
def test_another_entry_is_found_with_the_line_that_names_the_file(
    tmp_path: Path, name: str, text: str
) -> None:
    result = compared(tmp_path, name, text)
    assert result.verdict is Verdict.DIFFERENT
    lines = [str(line) for group in result.groups for line in (*group.cause.old, *group.cause.new)]
    assert any(name in line for line in lines)


def test_a_longer_map_is_asked_for_its_changed_keys(tmp_path: Path) -> None:
    many = "".join(f"k{chr(97 + n % 26)}{chr(97 + n // 26)} index.html\n" for n in range(300))
    text = FILES["conf/map.txt"] + many + "last private/index.html\n"
    assert compared(tmp_path, "conf/map.txt", text).verdict is Verdict.DIFFERENT


def test_keys_take_the_place_of_the_group_that_is_looked_up() -> None:
    keys = {"names": ["one", "2"]}
    assert [*with_keys("/${names:$1}", "^/m/([a-z]+)$", "/m/a", keys)] == ["/m/one"]
    assert [*with_keys("/${names:$2|x}", "^/(a)/(.*)$", "/a/b", keys)] == ["/a/one", "/a/2"]
    assert not [*with_keys("/${other:$1}", "^/m/(.*)$", "/m/a", keys)]
    assert not [*with_keys("/${names:$3}", "^/m/(.*)$", "/m/a", keys)]


def test_a_changed_password_is_not_decided_with_its_line(tmp_path: Path) -> None:
    """apache2 answers alice with 401; whether the hashes are of one password nobody knows."""
    result = compared(tmp_path, "conf/users", ALICE.replace("FGRN", "FGRM") + BOB)
    assert result.verdict is Verdict.NOT_DECIDED
    assert any("AuthUserFile conf/users has other entries" in one.reason for one in result.not_decided)


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("conf/users", ALICE, "AuthUserFile conf/users"),
        ("conf/groups", "admin: bob\n", "AuthGroupFile conf/groups"),
        ("conf/mime.types", "text/x-other html\ntext/plain txt\n", "TypesConfig conf/mime.types"),
        ("conf/map.txt", "one index.html\ntwo index.html\n", "RewriteMap names txt:conf/map.txt"),
    ],
)
def test_between_versions_the_line_with_the_file_is_named(
    tmp_path: Path, name: str, text: str, line: str
) -> None:
    result = compared(tmp_path, name, text, "2.2")
    lines = {one.text for group in result.groups for one in (*group.cause.old, *group.cause.new)}
    assert line in lines

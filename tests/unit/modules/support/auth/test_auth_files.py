"""Password and group files: httpd's lines, changes on disk, unreadable files."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from whimbrel.base.dialect import V24
from whimbrel.engine.deps.files import Dependencies
from whimbrel.modules.support.auth import passwords
from whimbrel.modules.support.auth.auth_files import (
    Groups,
    Unreadable,
    config_lines,
    group_file,
    parse_groups,
    password_file,
)
from whimbrel.testing.fake_runtime import FakeRuntime

WONDER = "{SHA}w3QkzGJswDXW5OKZHAJw0FELjfM="
APR1 = "$apr1$v7yTVYsW$n/cXnzZa2Md2s1WCns1A./"


def request() -> Any:
    lines: list[str] = []
    error_log = SimpleNamespace(about_server=lambda server, line: lines.append(line.code))
    return SimpleNamespace(
        deps=Dependencies(),
        engine=SimpleNamespace(runtime=FakeRuntime(), error_log=error_log),
        lines=lines,
        plan=SimpleNamespace(dialect=V24),
        server=None,
        set_uncacheable=lambda: None,
    )


def test_lines_are_trimmed_joined_and_without_comments() -> None:
    text = "# c\n\n  a:1 \r\nb:\\\n2\n\tc:3"
    assert list(config_lines(text, longest=0, continued=True)) == ["a:1", "b:2", "c:3"]


def test_a_long_line_ends_the_file_in_24_and_is_cut_in_22() -> None:
    text = "a:1\n" + "x" * 12 + "\nb:2\n"
    assert list(config_lines(text, longest=10, continued=True)) == ["a:1"]
    assert list(config_lines(text, longest=10, continued=False)) == ["a:1", "x" * 10, "xx", "b:2"]


def test_groups_have_no_regard_to_case_users_have() -> None:
    groups = parse_groups('Admin : alice "b c"\nstaff:alice Bob\nempty:\n', continued=True)
    assert groups == {"alice": {"admin", "staff"}, "b c": {"admin"}, "Bob": {"staff"}}


def test_the_first_entry_of_a_user_counts(tmp_path: Path) -> None:
    path = tmp_path / "users"
    path.write_text(f"alice:{WONDER}\nalice:x\nbob\n")
    entries = password_file(str(path), V24).content(request())
    assert entries.stored == {"alice": WONDER, "bob": ""}


def test_a_right_password_is_hashed_once_until_the_file_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "users"
    path.write_text(f"alice:{APR1}\n")
    file, r = password_file(str(path), V24), request()
    asked: list[str] = []
    real = passwords.verify
    monkeypatch.setattr(
        passwords, "verify", lambda password, stored: asked.append(password) or real(password, stored)
    )

    def right(password: str) -> bool:
        return asyncio.run(file.content(r).right(r, "alice", password))

    assert [right("wonder"), right("wonder"), right("wrong"), right("wrong")] == [True, True, False, False]
    assert asked == ["wonder", "wrong", "wrong"]
    path.write_text("alice:$apr1$v7yTVYsW$0000000000000000000000\n")
    os.utime(path, ns=(1, 1))
    assert not right("wonder")


def test_a_change_of_the_file_counts_at_once(tmp_path: Path) -> None:
    path = tmp_path / "groups"
    path.write_text("a: alice\n")
    file, r = group_file(str(path), V24), request()
    assert file.content(r).get("alice") == {"a"}
    path.write_text("b: alice\n")
    os.utime(path, ns=(5, 5))
    assert file.content(r).get("alice") == {"b"}
    assert r.deps.stats[os.fsencode(path), True] is not None


def test_what_cannot_be_read(tmp_path: Path) -> None:
    r = request()
    with pytest.raises(Unreadable) as missing:
        password_file(str(tmp_path / "none"), V24).content(r)
    assert missing.value.cause == "(2)No such file or directory"
    with pytest.raises(Unreadable) as folder:
        password_file(str(tmp_path), V24).content(r)
    assert folder.value.errno == 9
    assert r.lines == ["AH00554"]


def test_binary_content_has_no_users_of_that_name(tmp_path: Path) -> None:
    path = tmp_path / "users"
    path.write_bytes(bytes(range(256)) * 40)
    assert "alice" not in password_file(str(path), V24).content(request()).stored


NAMES = st.text("ab", min_size=1, max_size=3)
LINES = st.lists(
    st.tuples(NAMES, st.text('ab :#\\"\0\r\t', max_size=8)).map(lambda pair: f"{pair[0]}: {pair[1]}"),
    max_size=6,
).map("\n".join)


# examples take long to generate on a busy machine, which is no fault of the code
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(LINES, NAMES | st.just(""), st.booleans())
def test_groups_of_one_user_are_those_of_the_whole_file(content: str, user: str, continued: bool) -> None:
    assert Groups(content, continued=continued).get(user) == parse_groups(content, continued=continued).get(
        user, frozenset()
    )


def test_a_million_lines_of_groups_are_not_read_one_by_one() -> None:
    groups = Groups("g: nobody\n" * 1_000_000 + "wardens: alice\n", continued=True)
    start = time.process_time()
    assert groups.get("alice") == {"wardens"} and groups.get("eve") == set()
    assert time.process_time() - start < 1

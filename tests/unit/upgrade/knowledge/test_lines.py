"""Files of users and groups that are not here: what both versions answer without them, as recorded."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conformance.cases import load_cases

from whimbrel.base.errors import SourceLocation
from whimbrel.upgrade.knowledge.lines import (
    USER_FILES,
    NamedLine,
    is_of_unknown,
    missing_user_files,
    undefined_variables,
)

CASE = "authz-pw-0003"


def recorded(line: str, required: str) -> tuple[int, int]:
    """Return the statuses under 2.2 and 2.4 of a user that the section with *line* last must decide about."""
    found = []
    for version in ("2.2", "2.4"):
        (case,) = [one for one in load_cases("authz-passwords", version) if one.id == CASE]
        section = re.search(rf"/(m\d\d)\">(?:(?!</D)[^*])*{line}\n    Require {required}\n", case.conf)
        assert section is not None
        asked = [
            number
            for number, request in enumerate(case.requests)
            if request.path.startswith(f"/{section[1]}/") and request.auth == ("u", "pw")
        ]
        found.append(case.answer["responses"][asked[0]]["status"])
    return found[0], found[1]


@pytest.mark.parametrize(
    ("name", "required", "text"),
    [
        ("AuthUserFile", "valid-user", "both versions answer {0} to a user where the server lacks it, too"),
        (
            "AuthGroupFile",
            "group staff",
            "where the server lacks it, too, 2.2 answers {0} to a user, and 2.4 {1}",
        ),
    ],
)
def test_the_answers_without_the_file_are_named(tmp_path: Path, name: str, required: str, text: str) -> None:
    old, new = recorded(f"{name} conf/nosuch", required)
    line = NamedLine(name.lower(), "conf/nosuch", SourceLocation("httpd.conf", 3))
    (item,) = missing_user_files([line], str(tmp_path), matters=True)
    assert item.consequence.endswith(text.format(old, new))
    assert ("both" in text) is (old == new)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(("define", "require", "customlog", *sorted(USER_FILES))),
            st.sampled_from(("A b", "B", "${A}", "x/${B}/${A}", "conf/nosuch", "/nosuch/users")),
        )
    )
)
def test_lines_that_are_left_out_name_nothing_unknown(texts: list[tuple[str, str]]) -> None:
    lines = [NamedLine(name, args, SourceLocation("a", n)) for n, (name, args) in enumerate(texts)]
    few = [line for line in lines if is_of_unknown(line.name, line.args)]
    assert list(undefined_variables(few)) == list(undefined_variables(lines))
    assert list(missing_user_files(few, "/nosuch", matters=True)) == list(
        missing_user_files(lines, "/nosuch", matters=True)
    )

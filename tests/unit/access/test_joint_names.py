"""Names for each set of patterns: all short names of an alphabet, matched with Python's `re`."""

from __future__ import annotations

import itertools
import re

import pytest

from whimbrel.access.joint_names import MAX_JOINED, JointNames, NamePattern
from whimbrel.base.fnmatch import compile_fnmatch
from whimbrel.base.regex import compile_regex

HIDDEN = r"^\.ht"
BACKUPS = r"\.(inc|bak)$|~$"


def joint(*patterns: str) -> JointNames:
    return JointNames(NamePattern(compile_regex(pattern)) for pattern in patterns)


def sets_of(names: tuple[str, ...], patterns: tuple[str, ...]) -> set[tuple[bool, ...]]:
    return {tuple(re.search(pattern, name) is not None for pattern in patterns) for name in names}


@pytest.mark.parametrize(
    "patterns",
    [
        (HIDDEN, r"~$"),
        (HIDDEN, r"^\.h.*t$", r"t~"),
        (r"^[ht]+$", r"h", r"~"),
        (r"^\.", r"^..?$"),
        (r"^(?!h)", r"t$"),
        (r"(?i)^H", r"^\.?h"),
    ],
)
def test_each_set_that_a_short_name_has_is_found(patterns: tuple[str, ...]) -> None:
    found = joint(*patterns)
    names = found.of({})
    short = ("".join(one) for size in range(1, 6) for one in itertools.product(".ht~x", repeat=size))
    expected = sets_of(tuple(name for name in short if name not in (".", "..")), patterns)
    assert found.is_complete
    assert expected <= sets_of(names, patterns)
    assert len(sets_of(names, patterns)) == len(names)  # one name for each set
    assert not {"", ".", ".."} & set(names)


@pytest.mark.parametrize("name", [" .bak", "\xe9.bak", "\t.bak"])
def test_names_have_spaces_and_other_bytes(name: str) -> None:
    patterns = (rf"^[{name[0]}]", r"\.bak$")
    found = joint(*patterns).of({}, ["x", name[0], ".bak"])
    assert sets_of(found, patterns) == {(True, True)}


def test_names_that_are_known_are_not_given_again() -> None:
    names = joint(HIDDEN, BACKUPS).of({}, ["index.html", ".htaccess", "a.inc"])
    assert len(names) == 1
    assert re.search(HIDDEN, names[0])
    assert re.search(BACKUPS, names[0])


def test_shell_patterns_match_whole_names() -> None:
    patterns = [NamePattern(compile_fnmatch(".ht*")), NamePattern(compile_fnmatch("*.bak"))]
    names = JointNames(patterns).of({}, ["x", ".ht", ".bak"])
    assert len(names) == 1
    assert names[0].startswith(".ht")
    assert names[0].endswith(".bak")


def test_a_pattern_of_urls_sees_the_path_before_the_name() -> None:
    patterns = [
        NamePattern(compile_regex(r"^/staff/.*\.bak$"), "url"),
        NamePattern(compile_regex(r"^a")),
    ]
    found = JointNames(patterns)
    inside = found.of({"url": "/staff/"}, ["x"])
    assert any(name.startswith("a") and name.endswith(".bak") for name in inside)
    assert found.of({"url": "/other/"}, ["x"]) == ("a",)


def test_a_pattern_without_automaton_is_joined_by_samples_and_said() -> None:
    found = joint(r"h++$", r"^\.t")
    assert any(name.startswith(".t") and name.endswith("h") for name in found.of({}))
    assert not found.is_complete


def test_too_many_sets_are_said() -> None:
    found = joint(*"abcdefghijk")
    assert found.of({})
    assert not found.is_complete


def test_names_made_of_samples_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each pattern has its own name before names of two are tried."""
    tried = []
    matches = NamePattern.matches

    def counted(self: NamePattern, name: str, before: dict[str, str]) -> bool:
        tried.append(name)
        return matches(self, name, before)

    monkeypatch.setattr(NamePattern, "matches", counted)
    patterns = ("(?>zz)a$", *(rf"^x{number}\.e{number}$" for number in range(100)))
    found = joint(*patterns)
    names = found.of({})
    assert not found.is_complete
    assert {f"x{number}.e{number}" for number in range(100)} <= set(names)
    assert len(set(tried)) <= MAX_JOINED

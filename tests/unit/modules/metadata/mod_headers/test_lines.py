"""Header and RequestHeader, parsed.  Every message is that of httpd 2.4.71 for the same line."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.engine import build_engine

from whimbrel.base.errors import ConfigError

ACTIONS = (
    "first argument must be 'add', 'set', 'setifempty', 'append', 'merge', 'unset', 'echo', 'note', "
    "'edit', or 'edit*'."
)
OLD_ACTIONS = "first argument must be 'add', 'set', 'append', 'merge', 'unset', 'echo', 'edit', or 'edit*'."


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("Header", ACTIONS),
        ("Header always", ACTIONS),
        ("Header bogus X-A b", ACTIONS),
        ("Header set", "Header requires three arguments"),
        ("Header note X-A", "Header requires three arguments"),
        ("Header unset X-A b", "Unknown parameter: b"),
        ("Header echo X-A b", "Unknown parameter: b"),
        ("Header set X-A b env=A c", "Too many arguments to directive"),
        ("Header set X-A b # trailing comment", "Header has too many arguments"),
        ('Header set X-A "%q"', "Unrecognized header format %q"),
        ('Header set X-A "%{FOO}z"', "Unrecognized header format %z"),
        ("RequestHeader echo X", "Header echo only valid on Header directives"),
        ("RequestHeader always set X-A b", ACTIONS),
        ("RequestHeader edit X-A ( b", "Header edit regex could not be compiled"),
        ("RequestHeader edit X-A a", "Header edit requires a match and a substitution"),
    ],
)
def test_refused(tmp_path: Path, line: str, reason: str) -> None:
    with pytest.raises(ConfigError) as caught:
        build_engine(tmp_path, line)
    assert caught.value.reason == reason


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("Header setifempty X-A b", OLD_ACTIONS),
        ("Header set X-A b zzz", "error: envclause should be in the form env=envar"),
        ("Header set X-A expr=%{REQUEST_URI}", "Unrecognized header format %"),
    ],
)
def test_refused_by_the_old(tmp_path: Path, line: str, reason: str) -> None:
    """The messages of 2.2.34."""
    with pytest.raises(ConfigError) as caught:
        build_engine(tmp_path, line, version="2.2")
    assert caught.value.reason == reason


@pytest.mark.parametrize(
    "line",
    [
        "Header SET X-A b",
        "Header onsuccess set X-A b early",
        "Header unset X-A env=F",
        'Header set X-A "50%%"',
        "Header set X %",
        'Header set X-A "%{FOO}s %t %D %l %i %b"',
        'Header set "X A" b',
        "RequestHeader edit* X-A a b env=!F",
    ],
)
def test_accepted(tmp_path: Path, line: str) -> None:
    assert build_engine(tmp_path, line).configuration.messages == []

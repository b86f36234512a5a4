"""Forms of settings: equal where the behaviour is equal, unequal where nothing is known."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from threading import Lock

from whimbrel.base.errors import SourceLocation
from whimbrel.base.regex import compile as regex
from whimbrel.config.model import LogSink, Server
from whimbrel.verify.coverage.values import ValueForms

FORMS = ValueForms("/a")


def closing(value: object) -> object:
    return lambda: value


def test_containers_patterns_and_functions_count_by_content() -> None:
    assert FORMS.form({"b": [1], "a": {2, 3}}) == FORMS.form({"a": {3, 2}, "b": [1]})
    assert FORMS.form([1, 2]) != FORMS.form([2, 1])
    assert FORMS.form(True) != FORMS.form(1)
    assert FORMS.form(regex("^a$")) == FORMS.form(regex("^a$")) != FORMS.form(regex("^a"))
    assert FORMS.form(closing("a")) == FORMS.form(closing("a")) != FORMS.form(closing("b"))
    assert FORMS.form(partial(int, base=8)) != FORMS.form(partial(int, base=10))


def test_places_and_logs_have_no_meaning() -> None:
    assert FORMS.form(SourceLocation("a", 1)) == FORMS.form(SourceLocation("b", 2))
    assert FORMS.form(LogSink("/a/x")) == FORMS.form(LogSink("/a/y", piped=True))


def test_servers_count_by_their_names() -> None:
    first, second, third = (
        Server(SourceLocation(path, 1), True, [], name, True, names)
        for path, name, names in (("/a", "a", ("b",)), ("/b", "a", ("b",)), ("/a", "a", ("c",)))
    )
    second.path = "/other"  # what a server sets is compared by its plans
    assert FORMS.form(first) == FORMS.form(second) != FORMS.form(third)


def test_what_cannot_be_compared_is_equal_to_nothing() -> None:
    lock = Lock()
    assert FORMS.form(lock) != FORMS.form(lock)


def test_a_list_that_contains_itself_has_a_form() -> None:
    value: list[object] = [1]
    value.append(value)
    assert FORMS.form(value) == FORMS.form(value)


def test_files_of_copies_count_by_content(tmp_path: Path) -> None:
    for name, text in (("old", "x"), ("new", "x"), ("other", "y")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "ca.pem").write_text(text)
    old, new, other = (ValueForms(str(tmp_path / name)) for name in ("old", "new", "other"))
    paths = [str(tmp_path / name / "ca.pem") for name in ("old", "new", "other")]
    assert old.form(paths[0]) == new.form(paths[1]) != other.form(paths[2])

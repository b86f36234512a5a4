"""Every directive of an implemented module has an effect, or without_effect.tsv says why it has none."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.meta.effects import assigned, is_without_effect
from tests.meta.tree import ROOT
from whimbrel.modules import ALL

TABLE = Path(__file__).with_name("without_effect.tsv")


def rows() -> dict[tuple[str, str], str]:
    """Return the reason by module and directive."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        return {
            (row["module"], row["directive"]): row["reason"] for row in csv.DictReader(file, delimiter="\t")
        }


def test_directives_without_effect_are_listed() -> None:
    found = {
        (module.source, name)
        for module in (ALL[name] for name in ALL)
        for name, setter in {**module.dir_setters, **module.server_setters, **module.setters}.items()
        if is_without_effect(setter)
    }
    assert found == rows().keys()


def test_every_row_has_a_reason() -> None:
    assert all(len(reason) > 10 for reason in rows().values())
    assert list(rows()) == sorted(rows())
    assert TABLE.is_relative_to(ROOT)


@dataclass
class Settings:
    """Record of the setters below."""

    unread_by_anything_at_all: int = 0
    children: int = 0


def store_unread(_cmd: Any, conf: Settings, words: list[str]) -> None:
    conf.unread_by_anything_at_all = len(words)


def store_read(_cmd: Any, conf: Settings, words: list[str]) -> None:
    conf.children = len(words)


def store_nothing(cmd: Any, _conf: Settings, words: list[str]) -> None:
    if not words:
        cmd.warn("no words")


def act(cmd: Any, _conf: Settings, words: list[str]) -> None:
    cmd.register_provider("a", "b", words)


def test_how_setters_are_judged() -> None:
    assert [is_without_effect(setter) for setter in (store_unread, store_read, store_nothing, act)] == [
        True,
        False,
        True,
        False,
    ]
    assert assigned(store_unread, store_unread.__code__) == {"unread_by_anything_at_all"}

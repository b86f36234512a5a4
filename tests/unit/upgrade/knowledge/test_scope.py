"""The scope of knowledge of trees and of loaded configurations."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.upgrade.config_trees import config_tree

from whimbrel.base.errors import SourceLocation, UndecidedVariables
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.config.options import LoadOptions
from whimbrel.report.knowledge import place_of
from whimbrel.upgrade.knowledge.scope import KnowledgeScope, UnknownItem, UnknownKind
from whimbrel.upgrade.model import UpgradeOptions
from whimbrel.upgrade.source.reading import Sources, read_config_tree
from whimbrel.verify.loading import load_side

MAIN = "conf/httpd.conf"
READ = UnknownItem(UnknownKind.NOT_READ, None, "x")
LOG = UnknownItem(UnknownKind.LEFT_OUT, None, "the directory of a log", matters=False)


@pytest.mark.parametrize(
    ("items", "code", "exit_code"),
    [((), 0, 0), ((LOG,), 0, 0), ((READ,), 0, 3), ((READ,), 1, 1), ((READ, LOG), 2, 2)],
)
def test_only_what_matters_changes_the_exit_code_of_success(
    items: tuple[UnknownItem, ...], code: int, exit_code: int
) -> None:
    assert KnowledgeScope(items=items).exit_code(code) == exit_code


def test_a_fact_of_two_versions_is_one_whatever_the_number_of_its_line() -> None:
    def at(path: str, *lines: int) -> KnowledgeScope:
        places = (SourceLocation(path, line) for line in lines)
        return KnowledgeScope((path,), tuple(replace(READ, place=place) for place in places))

    both = at("old", 256).merge_version(at("new", 257))
    assert both == KnowledgeScope(("old", "new"), at("old", 256).items)
    # a second line of one version is a second fact
    both = at("old", 256).merge_version(at("new", 257, 300))
    assert [item.place for item in both.items] == [SourceLocation("old", 256), SourceLocation("new", 300)]
    # where the old text is a backup, a reader finds the lines of the new one
    both = at("a", 256, 300).merge_version(at("a", 257), {"a"})
    assert [(item.place, item.is_old) for item in both.items] == [
        (SourceLocation("a", 257), False),
        (SourceLocation("a", 300), True),
    ]
    assert place_of(both.items[1], "") == "a:300 (2.2 text)"
    light = KnowledgeScope(items=(replace(READ, matters=False, place=SourceLocation("a", 1)),))
    assert not light.merge_version(at("b", 2)).is_complete


def test_a_message_is_one_fact_with_and_without_its_code() -> None:
    """2.4 logs a code that 2.2 has not (AH01597: could not open mime types config file)."""
    messages = ("(2)No such file: could not open x.", "(2)No such file: AH01597: could not open x.")
    old, new = (KnowledgeScope((), (replace(LOG, subject=text),)) for text in messages)
    assert old.merge_version(new).items == old.merge(new).items == old.items
    other = KnowledgeScope((), (replace(LOG, subject="(2)No such file: AH01597: could not open y."),))
    assert len(old.merge_version(other).items) == len(old.merge(other).items) == 2


def test_merged_scopes_have_each_item_once() -> None:
    both = KnowledgeScope(("a",), (READ,)).merge(KnowledgeScope(("b", "a"), (READ, LOG)))
    assert both == KnowledgeScope(("a", "b"), (READ, LOG)) and both.deciding == (READ,)
    light = replace(READ, matters=False)
    assert KnowledgeScope(items=(light,)).with_items((READ,)).items == (READ,)
    assert KnowledgeScope(items=(READ,)).with_items((light,)).items == (READ,)


def found(tmp_path: Path, text: str) -> set[tuple[UnknownKind, int, bool]]:
    """Return kind, line and weight of the items of *text*, for a tree and for a side of 2.4 alike."""
    (tmp_path / "htdocs").mkdir()
    tree = config_tree(tmp_path, {MAIN: text})
    side = load_side(LoadOptions(server_root=str(tmp_path), file=MAIN), "2.4")
    assert side.is_loaded, side.errors
    kinds = {
        (item.kind, item.place.line, item.matters)
        for item in tree.scope().items
        if item.place is not None and item.kind is UnknownKind.UNDEFINED_VARIABLE
    }
    assert kinds == {
        (item.kind, item.place.line, item.matters)
        for item in side.scope.items
        if item.place is not None and item.kind is UnknownKind.UNDEFINED_VARIABLE
    }
    return kinds


LINES = "LoadModule mpm_event_module m/mod_mpm_event.so\nLoadModule log_config_module m/mod_log_config.so\n"


def test_variables_without_a_value(tmp_path: Path) -> None:
    text = f"{LINES}CustomLog ${{LOGS}}/a common\nServerAdmin ${{LOGS}}\nServerName ${{NAME}}\nDefine X 1\n"
    text += "ServerSignature Off\nServerAlias ${X}\n".replace("ServerAlias", "ServerName")
    assert found(tmp_path, text) == {
        (UnknownKind.UNDEFINED_VARIABLE, 3, False),
        (UnknownKind.UNDEFINED_VARIABLE, 5, True),
    }


def test_what_envvars_leaves_open_is_an_item(tmp_path: Path) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / MAIN).write_text("ServerName a\n")
    part = UndecidedVariables("not carried out", SourceLocation("envvars", 3), matters=True)
    options = LoadOptions(server_root=str(tmp_path), undecided=(part,))
    tree = read_config_tree(Sources(options=options), UpgradeOptions())
    for scope in (tree.scope(), load_side(options, "2.2").scope):
        item = next(item for item in scope.items if item.kind is UnknownKind.UNDEFINED_VARIABLE)
        assert (item.place, item.matters) == (SourceLocation("envvars", 3), True)

"""The passes over a configuration tree, with rules made for the purpose."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.unit.upgrade.config_trees import config_tree

from whimbrel.base.errors import SourceLocation
from whimbrel.upgrade.check.fixpoint import RuleError, upgrade
from whimbrel.upgrade.model import NO_FIXPOINT, READ_ERROR, FileEdit, Finding, Risk, Safety
from whimbrel.upgrade.rule import LOAD_MODULE, Rule
from whimbrel.upgrade.source.config_tree import ConfigTree, Statement

MAIN = "conf/httpd.conf"


def rule(number: str, name: str, edit: Callable[[Statement], FileEdit | None], order: int = 0) -> Rule:
    """A rule about every line called *name*; without an edit it only says so."""

    def check(found: ConfigTree) -> Iterator[Finding]:
        for line in found.named(name):
            made = edit(line)
            safety, edits = (Safety.SAFE, (made,)) if made else (Safety.MANUAL, ())
            yield Finding(number, line.place, f"{name} {line.args}", "", Risk.CHANGES, safety, edits)

    return Rule(number, "test", "test", check, order)


def rename(to: str) -> Callable[[Statement], FileEdit]:
    return lambda line: line.rename(to)


def places(findings: list[Finding]) -> list[tuple[str, int, bool]]:
    """Rule, line, and whether it was applied."""
    return [(finding.rule, finding.place.line, bool(finding.edits)) for finding in findings]


def test_edits_of_both_are_made_and_bytes_around_them_stay(tmp_path: Path) -> None:
    found = config_tree(tmp_path, {MAIN: b"# \xe9\r\n\tOld  1 \\\r\n  2\r\n\r\nOld 3"})
    result = upgrade(found, [rule("C01", "old", rename("New"))])
    assert result.files == {f"{tmp_path}/{MAIN}": b"# \xe9\r\n\tNew  1 \\\r\n  2\r\n\r\nNew 3"}
    assert places(result.findings) == [("C01", 3, True), ("C01", 5, True)]
    assert (tmp_path / MAIN).read_bytes().startswith(b"# \xe9\r\n\tOld")


def test_what_clashes_waits_for_the_next_look(tmp_path: Path) -> None:
    found = config_tree(tmp_path, {MAIN: "Old 1\n"})
    rules = [
        rule("C01", "old", lambda line: line.replace(["Middle 1", "Other 2"])),
        rule("C02", "old", rename("Never")),
        rule("C03", "middle", rename("New")),
    ]
    result = upgrade(found, rules)
    assert result.files[f"{tmp_path}/{MAIN}"] == b"New 1\nOther 2\n"
    assert places(result.findings) == [("C01", 1, True), ("C03", 1, True)]
    assert result.passes == 2


def test_findings_have_the_places_of_the_original(tmp_path: Path) -> None:
    found = config_tree(tmp_path, {MAIN: "A 1\nB 2\nC 3\nInclude x\n", "x": "C 4\n"})
    rules = [
        rule("C01", "a", lambda line: line.remove()),
        rule("C02", "b", lambda line: line.replace(["D 1", "D 2"])),
        rule("C03", "c", lambda _line: None),
    ]
    result = upgrade(found, rules)
    assert [str(f.place)[len(str(tmp_path)) :] for f in result.findings] == [
        "/conf/httpd.conf:1",
        "/conf/httpd.conf:2",
        "/conf/httpd.conf:3",
        f"/x:1 (included from {tmp_path}/conf/httpd.conf:4)",
    ]


def test_higher_orders_look_at_what_lower_ones_made(tmp_path: Path) -> None:
    seen: list[str] = []

    def late(found: ConfigTree) -> Iterator[Finding]:
        seen.extend(line.name for line in found.all_statements())
        return iter(())

    upgrade(
        config_tree(tmp_path, {MAIN: "Old 1\n"}),
        [Rule("C01", "late", "late", late, 10), rule("C02", "old", rename("New"))],
    )
    assert set(seen) == {"new"}


def test_a_lower_order_gets_to_see_what_a_higher_one_made(tmp_path: Path) -> None:
    result = upgrade(
        config_tree(tmp_path, {MAIN: "Old 1\n"}),
        [rule("C01", "old", rename("Middle"), 5), rule("C02", "middle", rename("New"))],
    )
    assert result.files[f"{tmp_path}/{MAIN}"] == b"New 1\n"


def test_what_waits_for_modules_lets_the_rules_before_run_once_more(tmp_path: Path) -> None:
    readings: list[list[str]] = []

    def first(found: ConfigTree) -> Iterator[Finding]:
        readings.append([line.name for line in found.all_statements()])
        yield from rule("C01", "old", rename("New")).check(found)

    def loaded(found: ConfigTree) -> Iterator[Finding]:
        return rule("C01", "late", rename("Gone")).check(found) if found.has("done") else iter(())

    rules = [
        Rule("C01", "first", "first", first, check_loaded=loaded),
        rule("C02", "module", rename("Done"), LOAD_MODULE),
    ]
    result = upgrade(config_tree(tmp_path, {MAIN: "Old 1\nLate 2\nModule 3\n"}), rules)
    assert result.files[f"{tmp_path}/{MAIN}"] == b"New 1\nGone 2\nDone 3\n"
    assert places(result.findings) == [("C01", 1, True), ("C01", 2, True), ("C02", 3, True)]
    assert readings == [["old", "late", "module"], ["new", "late", "module"], ["new", "gone", "done"]]


def test_what_another_rule_mends_is_not_told(tmp_path: Path) -> None:
    result = upgrade(
        config_tree(tmp_path, {MAIN: "Old 1\n"}),
        [rule("C01", "old", lambda _line: None), rule("C02", "old", rename("New"))],
    )
    assert places(result.findings) == [("C02", 1, True)]


def test_a_file_included_twice_is_edited_once(tmp_path: Path) -> None:
    found = config_tree(tmp_path, {MAIN: "Include x\nInclude x\n", "x": "Old 1\n"})
    result = upgrade(
        found,
        [
            rule(
                "C01",
                "old",
                lambda line: (
                    line.insert_before(["New 1"]) if not line.file.document.bytes.startswith(b"New") else None
                ),
            )
        ],
    )
    assert result.files == {f"{tmp_path}/x": b"New 1\nOld 1\n"}


def test_inclusions_that_want_different_edits_are_left_to_people(tmp_path: Path) -> None:
    text = "<VirtualHost a>\nInclude x\n</VirtualHost>\n<VirtualHost b>\nInclude x\n</VirtualHost>\n"
    result = upgrade(
        config_tree(tmp_path, {MAIN: text, "x": "Old 1\n"}),
        [rule("C01", "old", lambda line: line.replace_args(next(line.enclosing()).args))],
    )
    assert result.files == {}
    assert [(f.rule, f.place.line, f.safety, f.needs_review) for f in result.findings] == [
        ("C01", 1, Safety.MANUAL, True)
    ]


def test_rules_without_end_are_stopped_and_told(tmp_path: Path) -> None:
    result = upgrade(
        config_tree(tmp_path, {MAIN: "A 1\n"}), [rule("C01", "a", rename("B")), rule("C02", "b", rename("A"))]
    )
    assert [f.message for f in result.findings if f.rule == NO_FIXPOINT] == [
        "the edits of C01, C02 undo each other: stopped after 8 rounds"
    ]


def test_a_comment_exempts_the_line_below(tmp_path: Path) -> None:
    text = (
        "# whimbrel: ignore[C01] as agreed\nOld 1\nOld 2\n# whimbrel: ignore\nOld 3\n"
        "# whimbrel: ignore[C02, C03]\nOld 4\n"
    )
    result = upgrade(config_tree(tmp_path, {MAIN: text}), [rule("C01", "old", rename("New"))])
    assert places(result.findings) == [("C01", 3, True), ("C01", 7, True)]


def test_what_could_not_be_read_needs_review(tmp_path: Path) -> None:
    result = upgrade(config_tree(tmp_path, {MAIN: "Include nope\n</Broken>\n"}), [])
    assert [(f.rule, f.place.line, f.needs_review) for f in result.findings] == [
        (READ_ERROR, 1, True),
        (READ_ERROR, 2, True),
    ]


def test_what_an_edit_breaks_is_told(tmp_path: Path) -> None:
    result = upgrade(
        config_tree(tmp_path, {MAIN: "A 1\nOld 1\n"}),
        [rule("C01", "old", lambda line: line.replace(["<Open>"]))],
    )
    assert [(f.message, f.place.line, f.risk) for f in result.findings if f.rule == READ_ERROR] == [
        ("after the upgrade: <Open> is not closed", 2, Risk.BREAKS)
    ]


def test_a_declined_change_is_not_made_and_asked_once(tmp_path: Path) -> None:
    asked: list[str] = []

    def decide(finding: Finding, _estate: ConfigTree, _place: SourceLocation) -> Finding | None:
        asked.append(finding.message)
        return None if finding.message.endswith("1") else finding

    result = upgrade(
        config_tree(tmp_path, {MAIN: "Old 1\nOld 2\n"}), [rule("C01", "old", rename("New"))], decide
    )
    assert result.files[f"{tmp_path}/{MAIN}"] == b"Old 1\nNew 2\n"
    assert asked == ["old 1", "old 2"]
    assert [(f.place.line, f.needs_review) for f in result.findings] == [(1, True), (2, False)]


def test_a_rule_that_fails_stops_it_all(tmp_path: Path) -> None:
    def broken(_estate: ConfigTree) -> Iterator[Finding]:
        yield from ()
        raise KeyError("x")

    with pytest.raises(RuleError, match="rule C01 failed .*--ignore C01"):
        upgrade(
            config_tree(tmp_path, {MAIN: "Old 1\n"}),
            [Rule("C01", "broken", "broken", broken), rule("C02", "old", rename("New"))],
        )


def test_memory_that_ends_is_no_fault_of_a_rule(tmp_path: Path) -> None:
    """A fleet calls its server "not decided": more memory may decide it."""

    def hungry(_estate: ConfigTree) -> Iterator[Finding]:
        yield from ()
        raise MemoryError

    with pytest.raises(MemoryError):
        upgrade(config_tree(tmp_path, {MAIN: "Old 1\n"}), [Rule("C01", "hungry", "hungry", hungry)])


def test_files_that_are_read_after_an_edit_are_edited_too(tmp_path: Path) -> None:
    conf = '<Directory "ROOT/in">\nAllowOverride None\n</Directory>\nDocumentRoot "ROOT/in"\n'
    found = config_tree(tmp_path, {MAIN: conf, "in/.htaccess": "Old 1\n"})
    added = f"{tmp_path}/in/.htaccess"
    assert added not in found.files

    def check(tree: ConfigTree) -> Iterator[Finding]:
        for line in tree.all_statements():
            if line.name == "old":
                yield Finding("C02", line.place, "old", "", Risk.CHANGES, Safety.SAFE, (line.rename("New"),))

    def admit(line: Statement) -> FileEdit | None:
        return line.replace(["AllowOverride All"]) if line.args == "None" else None

    result = upgrade(found, [rule("C01", "allowoverride", admit), Rule("C02", "test", "test", check, 0)])
    assert result.files[added] == b"New 1\n"
    assert ("C02", 1, True) in places(result.findings) and added in result.tree.files


SERVER = """ServerRoot /srv
LoadModule mime_module modules/mod_mime.so
LoadModule authz_host_module modules/mod_authz_host.so
Listen 80
DefaultType text/plain
"""


def test_a_module_that_an_edit_needs_is_a_part_of_that_edit(tmp_path: Path) -> None:
    result = upgrade(config_tree(tmp_path, {MAIN: SERVER}))
    path = f"{tmp_path}/{MAIN}"
    assert b"LoadModule headers_module modules/mod_headers.so\n" in result.files[path]
    assert not [finding for finding in result.findings if finding.message.startswith("mod_headers")]
    [row] = [finding for finding in result.findings if finding.rule == "C13" and finding.edits]
    assert row.new[-1] == "LoadModule headers_module modules/mod_headers.so"
    assert {fix.path for fix in row.fixes} == {path}
    assert [fix.text for fix in row.fixes if "LoadModule" in fix.text]
    assert row.advice.endswith("`LoadModule headers_module modules/mod_headers.so` goes with it")


def test_a_module_that_the_text_needs_by_itself_is_a_fault_of_its_line(tmp_path: Path) -> None:
    result = upgrade(config_tree(tmp_path, {MAIN: f"{SERVER}Header set X-Name value\n"}))
    [finding] = [finding for finding in result.findings if finding.message.startswith("mod_headers")]
    assert (finding.rule, finding.place.line) == ("C04", 6)

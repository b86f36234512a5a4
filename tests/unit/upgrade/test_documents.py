"""Every rule has its document, and every example in it holds.

The format stands in upgrade/documents/README.md.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.upgrade.examples import (
    HEADINGS,
    Example,
    laid_out,
    options,
    read_document,
    sources,
    texts,
    told,
    upgraded,
)

import whimbrel.upgrade
from whimbrel.report.decisions import open_questions
from whimbrel.report.entries import entry_of
from whimbrel.upgrade.check.fixpoint import upgrade
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.rules import all_rules
from whimbrel.upgrade.source.reading import read_config_tree

FOLDER = Path(whimbrel.upgrade.__file__).parent / "documents"
RULES = {f"{rule.number}-{rule.name}.md": rule for rule in all_rules()}
FILES = sorted(path.name for path in FOLDER.glob("*.md") if path.name != "README.md")
EXAMPLES = [
    (RULES[name], example)
    for name in FILES
    if name in RULES
    for example in read_document(FOLDER / name).examples
]


def test_each_rule_has_one_document_and_each_document_one_rule() -> None:
    assert len(all_rules()) == len(RULES)
    assert sorted(RULES) == FILES
    numbers = [name.partition("-")[0] for name in FILES]
    assert len(set(numbers)) == len(numbers), "two documents of one number"


def test_the_file_of_a_rule_has_its_number_and_name() -> None:
    files = sorted(
        path.stem for path in FOLDER.parent.glob("rules/*/*.py") if re.match(r"[crx]\d\d", path.stem)
    )
    assert files == sorted(f"{rule.number.lower()}_{rule.name.replace('-', '_')}" for rule in all_rules())


@pytest.mark.parametrize("name", FILES)
def test_a_document_is_complete(name: str) -> None:
    document = read_document(FOLDER / name)
    assert document.title.split()[0] == name.partition("-")[0]
    assert tuple(document.prose) == HEADINGS
    silent = [example.silent for example in document.examples]
    assert True in silent, "no example in which the rule must not fire"
    assert False in silent, "no example in which the rule fires"
    assert silent == sorted(silent, reverse=True), "examples in which the rule must not fire come first"


@pytest.mark.parametrize("name", FILES)
def test_each_file_of_an_example_has_its_end(name: str) -> None:
    for example in read_document(FOLDER / name).examples:
        assert set(example.before) == set(example.after) | example.unchanged, example.title
        assert not set(example.after) & example.unchanged, example.title


@pytest.mark.parametrize(
    ("rule", "example"), EXAMPLES, ids=[f"{rule.number}: {example.title}" for rule, example in EXAMPLES]
)
def test_an_example_holds(rule: Rule, example: Example, tmp_path: Path) -> None:
    result = upgraded(example, rule, tmp_path)
    assert texts(result, tmp_path) == example.after
    if example.findings is not None or example.silent:
        assert told(result, tmp_path) == (example.findings or [])
    asked, defines = options(example)
    laid_out({**example.before, **texts(result, tmp_path)}, tmp_path)
    assert not upgrade(read_config_tree(sources(example.before, tmp_path, defines), asked), [rule]).files, (
        "a second time changes something"
    )


@pytest.mark.parametrize(
    ("rule", "example"),
    [one for one in EXAMPLES if not one[1].silent],
    ids=[f"{rule.number}: {example.title}" for rule, example in EXAMPLES if not example.silent],
)
def test_what_is_to_decide_is_a_question_whose_comment_answers_it(
    rule: Rule, example: Example, tmp_path: Path
) -> None:
    result = upgraded(example, rule, tmp_path)
    found = open_questions(entry_of(finding, str(tmp_path)) for finding in result.findings)
    recorded = set()
    for one in found:
        is_task = [answer.partition(": ")[0] for answer in one.answers] == ["do"]
        assert ("?" in one.text) is not is_task, one
        assert is_task or len(one.answers) in (2, 3), one
        if f"# whimbrel: ignore[{one.rule}] above the line" in "; ".join(one.answers):
            recorded.update((one.rule, *place.rsplit(":", 1)) for place in one.places)
    files = {path: text.splitlines() for path, text in example.before.items()}
    for number, path, line in sorted(recorded, key=lambda place: -int(place[2])):
        files[path].insert(int(line) - 1, f"# whimbrel: ignore[{number}]")
    answered = replace(example, before={path: "\n".join([*lines, ""]) for path, lines in files.items()})
    again = upgraded(answered, rule, tmp_path)
    left = open_questions(entry_of(finding, str(tmp_path)) for finding in again.findings)
    assert {(one.rule, one.text) for one in left} == {
        (one.rule, one.text)
        for one in found
        if not any((one.rule, *p.rsplit(":", 1)) in recorded for p in one.places)
    }


@pytest.mark.parametrize("name", FILES)
def test_one_sentence_stands_on_top(name: str) -> None:
    text = (FOLDER / name).read_text(encoding="utf-8")
    _heading, summary, *_rest = text.split("\n\n")
    sentence = " ".join(summary.split())
    assert not sentence.startswith("#")
    assert 20 < len(sentence) <= 150 and sentence.endswith(".")
    assert len(re.findall(r"\.(?= [A-Z])", sentence)) == 0, "one sentence"

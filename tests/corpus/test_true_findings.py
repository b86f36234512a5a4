"""What a finding says is true of the text as it was read, not of the text that the upgrade makes of it.

A finding stands at a line of the source; a module that is not loaded has no LoadModule line there, one that
is loaded has one, and a directive that needs a module, or that 2.4 does not know, stands at the line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.corpus.configurations import files, roots
from whimbrel.base.latin1 import from_system
from whimbrel.catalogue import catalogue
from whimbrel.config.options import LoadOptions
from whimbrel.upgrade.check.check import Selection, check
from whimbrel.upgrade.model import Finding, UpgradeOptions
from whimbrel.upgrade.source.config_tree import ConfigTree
from whimbrel.upgrade.source.reading import Sources, read_config_tree

MISSING = re.compile(r"(mod_\w+)(?:,? which)? is not loaded")
LOADED = re.compile(r"(mod_\w+)(?:,? which)? is loaded")
NAMED = (
    re.compile(r"<?(\w+)>? is (?:its|a) directive"),
    re.compile(r"Invalid command '<?(\w+)"),
    re.compile(r"`(\w+ [^`]*)` needs it"),
    re.compile(r"has the handler (\S+?),?(?: |$)"),
)
IDENTIFIERS = {row.file: row.identifier for row in catalogue("2.4").modules}
MANY = 4
"""One in so many files alone is checked."""


def untrue(tree: ConfigTree, finding: Finding) -> Iterator[str]:
    """Yield what *finding* says that the text, *tree*, does not show."""
    file = tree.files.get(finding.place.path)
    lines = file.document.bytes.decode("latin-1").lower().split("\n") if file is not None else []
    number = finding.place.line
    if not 0 <= number <= len(lines):
        yield f"no line {number}"
        return
    text = " ".join(lines[number - 1].split()) if number else ""
    for name in MISSING.findall(finding.message):
        if IDENTIFIERS.get(name) in tree.modules_24:
            yield f"{name} is loaded"
    for name in LOADED.findall(finding.message):
        if IDENTIFIERS.get(name) not in tree.modules_24:
            yield f"{name} is not loaded"
    for pattern in NAMED:
        for words in pattern.findall(finding.message):
            if not all(word in text for word in words.lower().split()):
                yield f"{words} is not at this line: {text}"


def judged(sources: Sources) -> list[str]:
    """Return the findings about *sources* that are not true."""
    tree = read_config_tree(sources, UpgradeOptions())
    return [
        f"{finding.place.path}:{finding.place.line}: {finding.rule}: {finding.message}: {fault}"
        for finding in check(sources, Selection()).findings
        for fault in untrue(tree, finding)
    ]


@pytest.mark.parametrize(("name", "root", "main"), roots(), ids=[name for name, _, _ in roots()])
def test_findings_of_a_tree_are_true_of_its_text(name: str, root: object, main: str) -> None:
    assert judged(Sources(options=LoadOptions(server_root=from_system(str(root)), file=main))) == []


def test_findings_of_main_files_are_true_of_their_text() -> None:
    mains = [path for path in files() if b"\nLoadModule " in path.read_bytes()][::MANY]
    assert mains
    for path in mains:
        options = LoadOptions(server_root=from_system(str(path.parent)), file=from_system(path.name))
        assert judged(Sources(options=options)) == []

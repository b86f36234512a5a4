"""R06: a $ in the pattern of directories matches the end of a path.

Document: documents/R06-ends-of-paths.md
"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.access.samples import regex_samples
from whimbrel.base.regex import without_end
from whimbrel.syntax import spans
from whimbrel.syntax.edits import Edit
from whimbrel.syntax.words import getword
from whimbrel.upgrade.access_control.sections import never_matches_end
from whimbrel.upgrade.model import FileEdit, Finding, Risk, Safety
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree, Statement


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield <DirectoryMatch> and <Directory ~> sections whose pattern contains a $."""
    for line in tree.named("<directorymatch", "<directory"):
        start = _start(line)
        if start is None or not never_matches_end(tree, line):
            continue
        pattern = getword(line.args[start:])[0]
        if without_end(pattern) != pattern:
            yield _finding(line, pattern)


def _start(line: Statement) -> int | None:
    """Return the offset of the expression in the arguments, None if there is none."""
    word, at = getword(line.args)
    if word == "~":
        return at
    return 0 if line.name == "<directorymatch" else None


def _finding(line: Statement, pattern: str) -> Finding:
    edits = tuple(_edits(line))
    if regex_samples(without_end(pattern)):
        return Finding(
            "R06",
            line.place,
            (
                "in 2.2 no $ in the pattern of a directory section matches; in 2.4 it matches the end "
                "of a path"
            ),
            "write (?!), which never matches either; keep the $ if the path itself is meant too",
            Risk.CHANGES,
            Safety.SAFE if edits else Safety.MANUAL,
            edits,
        )
    return Finding(
        "R06",
        line.place,
        (
            "2.2 never applied this section, because no $ in the pattern of a directory section "
            f"matches; 2.4 applies it to {pattern}"
        ),
        ("write (?!), so that it stays without effect; keep the $ if it is meant, or remove the section"),
        Risk.CHANGES,
        Safety.REVIEW if edits else Safety.MANUAL,
        edits,
        decision="May this section stay without effect, as in 2.2?" if edits else "",
    )


def _edits(line: Statement) -> Iterator[FileEdit]:
    """Yield the edits that restore the meaning of 2.2; none if variables or quotes hide the text of the
    expression."""
    args = line.node.args
    first = getword(args)[1] if getword(args)[0] == "~" else 0
    end = first + getword(args[first:])[1]
    text = args[first:end].rstrip().removesuffix(">")
    wanted = without_end(text)
    if "${" not in text and getword(wanted)[0] == without_end(getword(text)[0]):
        start, stop = spans.args_range(line.file.document, line.node, first, first + len(text))
        yield FileEdit(line.file.path, Edit(start, stop, wanted.encode("latin-1")))


RULE = Rule(
    "R06", "ends-of-paths", "A $ in the pattern of directories matches the end of a path", check, order=-1
)

"""R13: tests for the module of PHP 5, which are false with PHP 7 and 8.

Document: documents/R13-php-branches.md
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from whimbrel.base.latin1 import to_text
from whimbrel.upgrade.edits.helpers import source_lines
from whimbrel.upgrade.knowledge.scope import UnknownKind
from whimbrel.upgrade.model import FileEdit, Finding, Risk, Safety
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.rules.modules.php import OLD_TESTS, SETTINGS, TESTS, runs_scripts, tested_module
from whimbrel.upgrade.source.config_tree import ConfigTree, Statement
from whimbrel.upgrade.source.queries import has_same_scope, lines_for_24
from whimbrel.upgrade.source.walk import walk

_PROTECTS: Final = frozenset(
    {"engine", "open_basedir", "disable_functions", "disable_classes", "allow_url_fopen", "allow_url_include"}
)
"""Settings that keep a script from running, or from doing harm."""
_ENGINE_ON: Final = [["engine", word] for word in ("on", "1", "true", "yes")]
_GIVING: Final = ("addhandler", "addtype", "sethandler", "forcetype")
_SENT: Final = "2.4 sends the source of scripts, unless another line gives them to PHP"
_COMMENT: Final = "# whimbrel: ignore[R13] above the line"
_DECIDING: Final = frozenset(
    {"require", "deny", "order", "allow", "removehandler", "removetype", "sethandler"}
)


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield the <IfModule> sections for PHP 4 and 5 that have no counterpart for PHP 7 or 8.

    Of a server that loads modules, but none of PHP, both versions skip them.
    """
    loading = list(tree.named("loadmodule", include_inactive=True))
    # what is missing are directories that are served: no line stands there
    is_complete = all(item.kind is UnknownKind.MISSING for item in tree.unread)
    if loading and is_complete and not any("php" in "".join(line.words()[:1]) for line in loading):
        return
    sections = list(tree.named("<ifmodule"))
    for section in sections:
        if tested_module(section) not in OLD_TESTS or any(map(_is_old, section.enclosing("<ifmodule"))):
            continue
        lines = list(walk(section.children))
        if not lines:
            continue
        running = next((line for line in lines if _has_no_other(tree, line, section)), None)
        branches = {name: _branches(sections, section, tests) for name, tests in TESTS.items()}
        missing = [name for name, found in branches.items() if not found]
        if missing:
            yield _finding(section, lines, missing, running)
        if running is not None:
            without = [name for name, found in branches.items() if found and not _runs_in(found, running)]
            if without:
                yield _unrun(section, running, without)


def _has_no_other(tree: ConfigTree, line: Statement, section: Statement) -> bool:
    """Return True if *line* of *section* gives files to PHP, and no other line of its scope surely does."""
    if not runs_scripts(line):
        return False
    endings = _endings(line)
    others = lines_for_24(tree, *_GIVING)
    return not endings or not any(
        runs_scripts(other)
        and endings <= _endings(other)
        and has_same_scope(other, section)
        and not any(other.enclosing("<ifmodule"))
        for other in others
    )


def _endings(line: Statement) -> set[str]:
    """Return the extensions that *line* gives a handler or type, without dots."""
    if line.name not in ("addhandler", "addtype"):
        return set()
    return {word.lstrip(".").lower() for word in line.words()[1:]}


def _is_old(line: Statement) -> bool:
    return line.name == "<ifmodule" and tested_module(line) in OLD_TESTS


def _branches(sections: list[Statement], section: Statement, tests: tuple[str, ...]) -> list[Statement]:
    """Return the sections in the place of *section* for a newer PHP, which *tests* name."""
    return [other for other in sections if tested_module(other) in tests and has_same_scope(other, section)]


def _runs_in(branches: list[Statement], running: Statement) -> bool:
    """Return True if a line of *branches* gives PHP the files of *running*."""
    endings = _endings(running)
    lines = (line for branch in branches for line in walk(branch.children))
    return any(runs_scripts(line) and endings <= _endings(line) for line in lines)


def _unrun(section: Statement, running: Statement, names: list[str]) -> Finding:
    """Return the finding about *section*, whose counterparts for *names* lack its line *running*.

    Both may have values of their own for the same settings: only the line is missing there.
    """
    runs = _text(running)
    conditions = " and ".join(f"<IfModule {name}>" for name in names)
    return Finding(
        "R13",
        section.place,
        f"PHP 7 and 8 skip `{runs}` in this section, and {conditions} beside it has no such line; without it "
        f"{_SENT}",
        f"write `{runs}` into {conditions} too",
        Risk.OPENS,
        accepted=_accepted(runs),
        shown_by=f"write `{runs}` into {conditions} too",
    )


def _accepted(runs: str) -> str:
    return f"another line than `{runs}` gives PHP these scripts, else 2.4 sends their source"


def _finding(
    section: Statement, lines: list[Statement], missing: list[str], running: Statement | None
) -> Finding:
    """Return the finding about *section*; *running* is its line without which scripts are sent as text."""
    protecting = next(filter(_is_protecting, lines), None)
    text = _text(protecting or running or lines[0])
    conditions = " and ".join(f"<IfModule {name}>" for name in missing)
    runs = _text(running) if running is not None else ""
    is_written = not any(map(_is_old, lines))
    return Finding(
        "R13",
        section.place,
        f"PHP 7 and 8 skip this section, and `{text}` in it"
        + (f"; without `{runs}` {_SENT}" if runs else ""),
        f"repeat it in {conditions}; PHP-FPM reads no such line: its pool needs the settings",
        Risk.OPENS if protecting is not None or runs else Risk.CHANGES,
        Safety.SAFE if protecting is None else Safety.REVIEW,
        (_copies(section, missing),) if is_written else (),  # a copy in an old section would not be read
        decision="" if protecting is None else f"Does `{text}` hold for PHP 7 and 8 too?",
        answers=() if protecting is None else _answers(text, missing, runs, is_written=is_written),
        accepted=_accepted(runs) if runs else "",
        shown_by=f"remove the comment: upgrade repeats the section in {conditions}" if runs else "",
    )


def _text(line: Statement) -> str:
    return f"{line.node.name} {line.args.strip()}".removesuffix(">")


def _answers(text: str, missing: list[str], runs: str, *, is_written: bool) -> tuple[str, ...]:
    """Return what both answers lead to; the comment would leave out *runs* too, by which scripts run."""
    written = " and ".join(f"`<IfModule {name}>`" for name in missing)
    yes = f"upgrade writes {written}" if is_written else f"write {written}"
    if not runs:
        no = f"{_COMMENT} keeps the text as it is: PHP 7 and 8 run without `{text}`"
        return f"yes: {yes}", f"no: {no}"
    if text == runs:  # one line runs some scripts and keeps others from it
        return f"yes: {yes}", f"no: {_COMMENT} keeps the text as it is: {_SENT}"
    copies = f"take `{text}` out of {written}" if is_written else f"write {written} without `{text}`"
    return (
        f"yes: {yes}",
        f"no: {copies}, and keep `{runs}` there; {_COMMENT} keeps the text as it is: {_SENT}",
    )


def _is_protecting(line: Statement) -> bool:
    if line.name in SETTINGS and [word.lower() for word in line.words()] in _ENGINE_ON:
        return False  # as it is without the line
    if line.name in SETTINGS:
        return line.name.startswith("php_admin_") or line.words()[:1] in [[name] for name in _PROTECTS]
    return line.name in _DECIDING


def _copies(section: Statement, names: list[str]) -> FileEdit:
    """Return the edit that repeats the section for each of the modules *names*."""
    indent = to_text(section.indent)
    inner = [text.removeprefix(indent) for text in source_lines(section)[1:]]
    return section.insert_after([text for name in names for text in (f"<IfModule {name}>", *inner)])


RULE = Rule("R13", "php-branches", "Sections for PHP 5 that PHP 7 and 8 skip", check)

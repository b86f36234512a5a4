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
from whimbrel.upgrade.rules.modules.php import OLD_TESTS, SETTINGS, TESTS, tested_module
from whimbrel.upgrade.source.config_tree import ConfigTree, Statement
from whimbrel.upgrade.source.queries import has_same_scope
from whimbrel.upgrade.source.walk import walk

_PROTECTS: Final = frozenset(
    {"engine", "open_basedir", "disable_functions", "disable_classes", "allow_url_fopen", "allow_url_include"}
)
"""Settings that keep a script from running, or from doing harm."""
_ENGINE_ON: Final = [["engine", word] for word in ("on", "1", "true", "yes")]
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
        missing = [name for name, tests in TESTS.items() if not _has_branch(sections, section, tests)]
        if missing:
            yield _finding(section, lines, missing)


def _is_old(line: Statement) -> bool:
    return line.name == "<ifmodule" and tested_module(line) in OLD_TESTS


def _has_branch(sections: list[Statement], section: Statement, tests: tuple[str, ...]) -> bool:
    return any(tested_module(other) in tests and has_same_scope(other, section) for other in sections)


def _finding(section: Statement, lines: list[Statement], missing: list[str]) -> Finding:
    protecting = next(filter(_is_protecting, lines), None)
    first = lines[0] if protecting is None else protecting
    text = f"{first.node.name} {first.args.strip()}".removesuffix(">")
    conditions = " and ".join(f"<IfModule {name}>" for name in missing)
    return Finding(
        "R13",
        section.place,
        f"PHP 7 and 8 skip this section, and `{text}` in it",
        f"repeat it in {conditions}; PHP-FPM reads no such line: its pool needs the settings",
        Risk.CHANGES if protecting is None else Risk.OPENS,
        Safety.SAFE if protecting is None else Safety.REVIEW,
        () if any(map(_is_old, lines)) else (_copies(section, missing),),  # a copy would not be read either
        decision="" if protecting is None else f"Does `{text}` hold for PHP 7 and 8 too?",
        answers=() if protecting is None else _answers(missing, is_written=not any(map(_is_old, lines))),
    )


def _answers(missing: list[str], *, is_written: bool) -> tuple[str, ...]:
    written = " and ".join(f"`<IfModule {name}>`" for name in missing)
    yes = f"upgrade writes {written}" if is_written else f"write {written}"
    return f"yes: {yes}", "no: # whimbrel: ignore[R13] above the line keeps it as it is"


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

"""C34: AddOutputFilterByType is mod_filter's.  Document: documents/C34-output-filter-by-type.md"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from whimbrel.syntax.words import quoted
from whimbrel.upgrade.edits.helpers import change_args, remove_line, source_lines
from whimbrel.upgrade.model import FileEdit, Finding, InputContext, Risk, Safety
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree, Statement
from whimbrel.upgrade.source.htaccess import accepts_directive
from whimbrel.upgrade.source.queries import is_loaded_under_condition, is_module_missing

FILTERS: Final = {
    "deflate": (
        "deflate_module",
        (
            "deflatecompressionlevel",
            "deflatefilternote",
            "deflatebuffersize",
            "deflatememlevel",
            "deflatewindowsize",
        ),
    ),
    "inflate": (
        "deflate_module",
        (
            "deflatecompressionlevel",
            "deflatefilternote",
            "deflatebuffersize",
            "deflatememlevel",
            "deflatewindowsize",
        ),
    ),
    "substitute": ("substitute_module", ("substitute",)),
}
"""Filters of modules that 2.2 does not compile in by default, with directives that show the module all the
same."""


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield the lines if mod_filter is missing, else the first one, whose error pages change."""
    yield from _unloaded_filters(tree)
    yield from _possible(tree)
    for line in tree.named("addoutputfilterbytype"):
        if is_module_missing(tree, "filter_module", line):
            yield Finding(
                "C34",
                line.place,
                (
                    "AddOutputFilterByType is a directive of mod_filter, which is not loaded: 2.4 does "
                    "not start"
                ),
                "load mod_filter",
                Risk.BREAKS,
            )
            continue
        yield Finding(
            "C34",
            line.place,
            "2.4 does not filter error pages; 2.2 also filtered error pages of such a type",
            "do nothing, unless error pages must be filtered: then use SetOutputFilter",
            Risk.COSMETIC,
        )
        break


def _possible(tree: ConfigTree) -> Iterator[Finding]:
    """Yield the first line of a file without its server: mod_filter may be missing there."""
    seen: set[str] = set()
    for line in tree.named("addoutputfilterbytype"):
        guarded = any(
            section.args.strip() in ("mod_filter.c", "filter_module")
            for section in line.enclosing("<ifmodule")
        )
        if tree.context is not InputContext.SERVER and not guarded and line.file.path not in seen:
            seen.add(line.file.path)
            yield Finding(
                "C34",
                line.place,
                (
                    f"possible: AddOutputFilterByType is a directive of mod_filter; 2.4 "
                    f"{line.file.refusal} where no line loads it"
                ),
                "check that mod_filter is loaded (on Debian `a2enmod filter`)",
                Risk.BREAKS,
            )


def _unloaded_filters(tree: ConfigTree) -> Iterator[Finding]:
    """Yield filters of modules that are not loaded where their line is read.

    2.2 ignored them; 2.4 does not start, or answers 500 for a .htaccess file.
    """
    for line in tree.named("addoutputfilterbytype"):
        words = line.words()
        names = words[0].split(";") if words else []
        missing = {name: _lost_module(tree, line, name) for name in names}
        module = next(filter(None, missing.values()), "")
        if not module or not accepts_directive(tree, line, "fileinfo"):
            continue
        # filters of another module are those of the next pass
        lost = [name for name in names if missing[name] == module]
        left = [name for name in names if name not in lost]
        rest = " ".join([";".join(left), *map(quoted, words[1:])]) if left else ""
        filters = ", ".join(lost)
        if is_loaded_under_condition(tree, module):
            reason = "where nothing loads its module"
            advice = f"use {filters} only with its module"
            edits = _guarded(line, module, rest)
        else:
            reason = "whose module is not loaded"
            advice = f"remove {filters}, or load the module"
            edits = change_args(tree, line, rest) if rest else remove_line(tree, line)
        message = f"2.4 refuses {filters} here (Unknown filter provider), {reason}; 2.2 ignored it"
        yield Finding("C34", line.place, message, advice, Risk.BREAKS, Safety.SAFE, edits)


def _lost_module(tree: ConfigTree, line: Statement, name: str) -> str:
    """Return the module of the filter *name* if 2.4 does not load it where it reads the line, else ""."""
    module, settings = FILTERS.get(name.lower(), ("", ()))
    return module if module and is_module_missing(tree, module, line) and not tree.has(*settings) else ""


def _guarded(line: Statement, module: str, rest: str) -> tuple[FileEdit, ...]:
    """Put the line into a branch for *module*, and its other filters *rest* into one for the other case."""
    source = f"mod_{module.removesuffix('_module')}.c"
    lines = [f"<IfModule {source}>", *(f"    {text}" for text in source_lines(line)), "</IfModule>"]
    if rest:
        lines += [f"<IfModule !{source}>", f"    {line.node.name} {rest}", "</IfModule>"]
    return (line.replace(lines),)


RULE = Rule("C34", "output-filter-by-type", "AddOutputFilterByType is mod_filter's", check)

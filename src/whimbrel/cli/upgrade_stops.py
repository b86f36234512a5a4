"""Lines of `whimbrel upgrade` about what ends the start of 2.4 after it: what is to correct before the next
command."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from whimbrel.base.counts import and_more, count_noun, word_for
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.base.terminal_text import shown

if TYPE_CHECKING:
    from whimbrel.upgrade.apply.server_copy import ServerCopy
    from whimbrel.upgrade.check.fixpoint import UpgradeResult
    from whimbrel.upgrade.model import Finding

MAX_EXTERNAL: Final = 3
"""Files outside of the tree that the line before the command names."""


def before_writing(
    result: UpgradeResult,
    directory: str,
    external: list[str],
    copy: ServerCopy | None,
    *,
    is_written: bool,
) -> list[str]:
    """Return the lines before the command that comes next: what is to correct before it, and what --outside
    is for. *is_written*: the new text is there, in *copy* if there is one.
    """
    from whimbrel.upgrade.edits.diff import display_path
    from whimbrel.upgrade.model import READ_ERROR
    from whimbrel.upgrade.source.text_faults import COPY_LINKS, LINK_TEXT

    stop = first_stop(result)
    lines = []
    links = [one for one in result.needs_review if LINK_TEXT in one.message]
    if links:
        place = shown(display_path(links[0].place.path, directory))
        others = and_more(len(links) - 1)
        lines.append(f"First: {COPY_LINKS}: text in the place of a link: {place}{others}")
    elif stop is not None and (is_written or stop.rule == READ_ERROR or not result.files):
        place = copy.place_of(stop.place.path, result, directory) if copy is not None else ""
        lines.append(f"First: correct {_correction(stop, result, directory, is_new=is_written, place=place)}")
    if external:
        named = [*map(shown, external[:MAX_EXTERNAL]), *["..."] * (len(external) > MAX_EXTERNAL)]
        lines.append(
            f"--outside: {count_noun(len(external), 'file')} to change "
            f"{word_for(len(external), 'is', 'are')} outside of the tree: {', '.join(named)}"
        )
    return lines


def after_writing(result: UpgradeResult, directory: str) -> list[str]:
    """Return what is to correct in the new text: a correction of the old one changes what 2.2 does."""
    from whimbrel.upgrade.model import READ_ERROR

    stop = first_stop(result)
    if stop is None or stop.rule == READ_ERROR:
        return []
    return [f"Then correct, in the new text, {_correction(stop, result, directory, is_new=True)}"]


def _correction(
    stop: Finding, result: UpgradeResult, directory: str, *, is_new: bool, place: str = ""
) -> str:
    """Return the place of *stop*, of the new text if *is_new*, and what 2.4 does until it is corrected;
    *place* is where a copy has its file.
    """
    from whimbrel.report.entries import entry_of
    from whimbrel.report.questions import named_rule
    from whimbrel.report.written_lines import WrittenLines

    entry = entry_of(stop, directory)
    entry = WrittenLines(result).entry(entry, stop, directory) if is_new else entry
    place = shown((replace(entry, path=place) if place else entry).place)
    rule = named_rule(stop.rule)
    is_assumed = bool(stop.accepted) and not stop.is_proven
    if is_assumed:
        return f"{rule} {place}: whether 2.4 starts is not known until then"
    unless = f" unless {stop.unless}" if stop.unless else ""
    what = "2.4 does not start"
    if stop.is_per_request:
        what = f"2.4 answers requests{' below its directory' * stop.in_htaccess} with 500"
    return f"{rule} {place}: {what}{unless}, until then"


def first_stop(result: UpgradeResult) -> Finding | None:
    """Return the first finding with which 2.4 does not start, or answers 500, after the upgrade."""
    from whimbrel.upgrade.model import Risk

    lone = result.tree.lone_paths
    breaking = (one for one in result.needs_review if one.risk is Risk.BREAKS and not one.edits)
    return next((one for one in breaking if one.place.path not in lone), None)

"""mod_speling: corrects misspelled file names in URLs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.numbers import lower
from whimbrel.engine.time_slices import Slices, names_in
from whimbrel.http.syntax.url import escape_html, escape_uri
from whimbrel.modules.support.setters import set_flag
from whimbrel.registry.module import CompiledHook, Hook, Module, Order, Reads, Scope
from whimbrel.registry.phases import DECLINED, FIXUPS, OK, HookStatus
from whimbrel.registry.settings import ReplacedRecord, setting

if TYPE_CHECKING:
    from whimbrel.engine.request import Request

REASONS = (
    "identical",
    "miscapitalized",
    "transposed characters",
    "character missing",
    "extra character",
    "mistyped character",
    "common basename",
)
MISCAPITALIZED, TRANSPOSED, MISSING, EXTRA, MISTYPED, BASENAME = range(1, 7)


@dataclass(slots=True)
class SpelingDirConfig(ReplacedRecord):
    """Per-directory settings."""

    active: bool = setting(False)
    case_only: bool = setting(False)
    basename: bool = setting(True)


def distance(requested: str, there: str) -> int:
    """Return the one error from *requested* to *there* (MISCAPITALIZED ...), else BASENAME."""
    a = lower(requested)
    b = lower(there)
    at = 0
    while at < len(a) and at < len(b) and a[at] == b[at]:
        at += 1
    a, b = a[at:], b[at:]
    if not a and not b:
        return MISCAPITALIZED
    if a and b:
        if len(a) > 1 and len(b) > 1 and a[0] == b[1] and a[1] == b[0] and a[2:] == b[2:]:
            return TRANSPOSED
        if a[1:] == b[1:]:
            return MISTYPED
    if a and a[1:] == b:
        return EXTRA
    return MISSING if b and a == b[1:] else BASENAME


async def candidates(
    conf: SpelingDirConfig, requested: str, names: list[str], slices: Slices
) -> list[tuple[int, str]] | None:
    """Return (reason, name) of the similar names; None if *requested* itself is among the names."""
    out = []
    base = lower(requested.partition(".")[0])
    for name in names:
        if name == requested:
            return None
        if lower(name) == lower(requested):
            out.append((MISCAPITALIZED, name))
        else:
            reason = BASENAME if conf.case_only else distance(requested, name)
            await slices.pause()
            if reason != BASENAME or (conf.basename and lower(name.partition(".")[0]) == base):
                out.append((reason, name))
    return sorted(out, key=lambda candidate: candidate[0])


def make_fixup(scope: Scope) -> CompiledHook | None:
    """Make the fixup: 301 to the only good candidate, 300 with a list of several."""
    conf = scope.dir_config(SpelingDirConfig)
    if not conf.active:
        return None

    async def fixup(r: Request) -> HookStatus:
        if r.method_number != 0 or r.finfo is not None or r.proxy or not r.filename or r.main is not None:
            return DECLINED
        directory, slash, requested = r.filename.rpartition("/")
        after = requested + (r.path_info or "")
        if not slash or r.uri == "/" or not r.uri.endswith(after):
            return DECLINED
        slices = Slices(r.engine.turns)
        similar = await candidates(conf, requested, await _names(r, directory or "/", slices), slices)
        if not similar:
            return DECLINED if similar is None else OK
        before = r.uri[: len(r.uri) - len(after)]
        if similar[0][0] != BASENAME and (len(similar) == 1 or similar[0][0] != similar[1][0]):
            return _redirect(r, before + similar[0][1] + (r.path_info or ""))
        return _choices(r, before, similar)

    return CompiledHook(fixup, Reads.HEAD | Reads.FILES, is_async=True)


async def _names(r: Request, directory: str, slices: Slices) -> list[str]:
    """Return the entries of the directory and record it as a dependency of the response."""
    r.deps.stat_directory(directory)
    try:
        return [
            to_text(name)
            for name in [b".", b"..", *await names_in(to_bytes(r.deps.on_disk(directory)), slices)]
        ]
    except OSError:
        return []


def _redirect(r: Request, path: str) -> HookStatus:
    target = escape_uri(path) + (f"?{r.args}" if r.args is not None else "")
    r.headers_out.set("Location", r.engine.construct_url(r, target))
    _log(r, f"Fixed spelling: {r.uri} to {target}", "AH03224", "AH03225")
    return 301


def _log(r: Request, text: str, code_from: str, code: str) -> None:
    """Log a correction, with the page that has the link."""
    referer = r.headers_in.get("Referer")
    if referer is not None:
        text += f" from {referer}"
    r.log("info", text, code=code if referer is None else code_from, module="speling")


def _choices(r: Request, before: str, similar: list[tuple[int, str]]) -> HookStatus:
    query = f"?{r.args}" if r.args is not None else ""
    paths = [before + name + (r.path_info or "") + query for _reason, name in similar]
    page = [
        f"The document name you requested (<code>{escape_html(r.uri)}</code>) could not be found on this "
        "server.\n"
        "However, we found documents with names similar to the one you requested.<p>Available "
        "documents:\n<ul>\n"
    ]
    for at, ((reason, _name), path) in enumerate(zip(similar, paths, strict=True)):
        page.append(f'<li><a href="{escape_uri(path)}">{escape_html(path)}</a> ({REASONS[reason]})\n')
        if 0 < at < len(similar) - 1 and reason != BASENAME and similar[at + 1][0] == BASENAME:
            page.append("</ul>\nFurthermore, the following related documents were found:\n<ul>\n")
    page.append("</ul>\n")
    referer = r.headers_in.get("Referer")
    if referer is not None:
        there = f"referring page <tt>{escape_html(referer)}</tt>"
        if r.plan.dialect.wire_22:
            there = f'<a href="{escape_uri(referer)}">referring page</a>'
        page.append(f"Please consider informing the owner of the {there} about the broken link.\n")
    r.notes["variant-list"] = "".join(page)
    variants = ",".join(
        f'"{escape_uri(path)}";"{REASONS[reason]}"'
        for (reason, _name), path in zip(similar, paths, strict=True)
    )
    r.env["VARIANTS"] = f"{r.env['VARIANTS']}, {variants}" if "VARIANTS" in r.env else variants
    _log(r, f"Spelling fix: {r.uri}: {len(similar)} candidates", "AH03226", "AH03227")
    return 300


MODULE = Module(
    name="speling_module",
    source="mod_speling.c",
    dir_config=SpelingDirConfig,
    dir_setters={
        "CheckSpelling": set_flag("active"),
        "CheckCaseOnly": set_flag("case_only"),
        "CheckBasenameMatch": set_flag("basename"),
    },
    hooks=(Hook(FIXUPS, make_fixup, Order.LAST),),
)

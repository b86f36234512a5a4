"""#echo, #set, #config, #fsize, #flastmod, #printenv and #comment.  Manual: mod/mod_include.html#elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from whimbrel.http.syntax.url import escape_html
from whimbrel.modules.filters.mod_include import conditions, include_exec
from whimbrel.modules.filters.mod_include.document import Element
from whimbrel.modules.filters.mod_include.formatting import (
    DECODINGS,
    ENCODINGS,
    ENCODINGS_22,
    changed,
    decode_entities,
    entities_22,
    formatted_size,
    formatted_time,
)
from whimbrel.modules.filters.mod_include.page import Page
from whimbrel.modules.filters.mod_include.variables import LAZY
from whimbrel.modules.support.cgi.environment import overlap

Handler = Callable[[Page, Element], Any]


def echo(page: Page, element: Element) -> None:
    """Execute #echo: append a variable; encodings apply to the variables after them."""
    if page.should_skip(element, "AH01343"):
        return
    decoding = "none"
    encoding = "entity"
    for name, value in element.arguments:
        if value is None:
            return
        if name == "var":
            text = page.variable(page.substituted(decode_entities(value)))
            if text is None:
                page.write(page.undefined)
            elif not _recode(page, "echo", text, decoding, encoding):
                return
        elif name == "decoding" and not page.old:
            decoding = value
        elif name == "encoding":
            if page.old and value.lower() not in ENCODINGS_22:
                page.refuse(_unknown("encoding", value, "echo", page), "AH01345")
                return
            encoding = value
        else:
            page.refuse(f'unknown parameter "{name}" in tag echo of {page.r.filename}', "AH01346")
            return


def _unknown(parameter: str, value: str, tag: str, page: Page) -> str:
    return f'unknown value "{value}" to parameter "{parameter}" of tag {tag} in {page.r.filename}'


def _recode(page: Page, tag: str, value: str, decoding: str, encoding: str) -> bool:
    """Append a value decoded and encoded; return False, with a message, for an unknown encoding."""
    recoded = _recoded(page, tag, value, decoding, encoding)
    if recoded is not None:
        page.write(recoded)
    return recoded is not None


def _recoded(page: Page, tag: str, value: str, decoding: str, encoding: str) -> str | None:
    codes = {"echo": ("AH01344", "AH01345"), "set": ("AH01364", "AH01365")}[tag]
    try:
        value = changed(value, decoding, DECODINGS)
    except KeyError as problem:
        page.refuse(_unknown("decoding", problem.args[0], tag, page), codes[0])
        return None
    try:
        return changed(value, encoding, ENCODINGS_22 if page.old else ENCODINGS)
    except KeyError as problem:
        page.refuse(_unknown("encoding", problem.args[0], tag, page), codes[1])
        return None


def assign(page: Page, element: Element) -> None:
    """Execute #set: assign a variable, recoded in 2.4."""
    if len(element.arguments) < 2:
        page.log(
            f"missing argument for set element in {page.r.filename}",
            "AH01362",
            "error" if page.printing else "warn",
        )
    if not page.printing:
        return
    if len(element.arguments) < 2:
        page.fail()
        return
    variable = None
    decoding = "none"
    encoding = "none"
    for name, value in element.arguments:
        if value is None:
            return
        if name == "var":
            variable = page.substituted(decode_entities(value))
        elif name == "decoding" and not page.old:
            decoding = value
        elif name == "encoding" and not page.old:
            encoding = value
        elif name != "value":
            page.refuse(f"Invalid tag for set directive in {page.r.filename}", "AH01366")
            return
        elif variable is None:
            page.refuse(f"variable must precede value in set directive in {page.r.filename}", "AH01363")
            return
        else:
            recoded = _recoded(page, "set", page.substituted(_decoded_22(page, value)), decoding, encoding)
            if recoded is None:
                return
            overlap(page.r.env, {variable: recoded})


def _decoded_22(page: Page, value: str) -> str:
    return decode_entities(value) if page.old else value


def configure(page: Page, element: Element) -> None:
    """Execute #config: messages, format of times and sizes."""
    if page.should_skip(element, "AH01347"):
        return
    for name, value in element.arguments:
        if value is None:
            return
        if name == "errmsg":
            page.error = page.substituted(value)
        elif name == "echomsg":
            page.undefined = page.substituted(value)
        elif name == "timefmt":
            _set_times(page, page.substituted(value))
        elif name == "sizefmt":
            wanted = page.substituted(value)
            if wanted not in ("bytes", "abbrev"):
                page.refuse(_unknown("sizefmt", wanted, "config", page), "AH01348")
                return
            page.in_bytes = wanted == "bytes"
        else:
            page.refuse(f'unknown parameter "{name}" to tag config in {page.r.filename}', "AH01349")
            return


def _set_times(page: Page, form: str) -> None:
    page.time_format = form
    for name in ("DATE_LOCAL", "DATE_GMT", "LAST_MODIFIED"):
        page.r.env[name] = page.lazy(name)


async def file_size(page: Page, element: Element) -> None:
    """Execute #fsize."""
    await _about(page, element, "AH01350", lambda info: formatted_size(info.st_size, page.in_bytes))


async def file_time(page: Page, element: Element) -> None:
    """Execute #flastmod."""
    await _about(page, element, "AH01351", lambda info: formatted_time(info.st_mtime, page.time_format))


async def _about(page: Page, element: Element, code: str, shown: Callable[[Any], str]) -> None:
    if page.should_skip(element, code):
        return
    for name, value in element.arguments:
        if value is None:
            return
        info = await include_exec.stat_target(
            page, element.name, name, page.substituted(decode_entities(value))
        )
        if info is None:
            page.fail()
            return
        page.write(shown(info))


def print_environment(page: Page, element: Element) -> None:
    """Execute #printenv: append every variable, one per line."""
    if element.arguments:
        text = f"printenv directive does not take tags in {page.r.filename}"
        page.log(text, "AH01367", "error" if page.printing else "warn")
    if not page.printing:
        return
    if element.arguments:
        page.fail()
        return
    escape = entities_22 if page.old else escape_html
    for name, value in list(page.r.env.items()):
        shown = page.compute(name) if value is LAZY else value
        page.write(f"{escape(name)}={escape(shown)}\n")
    page.r.set_uncacheable()


def comment(_page: Page, _element: Element) -> None:
    """Execute #comment: do nothing."""


_HANDLERS: Final[dict[str, Handler]] = {
    "echo": echo,
    "set": assign,
    "config": configure,
    "fsize": file_size,
    "flastmod": file_time,
    "printenv": print_environment,
    "include": include_exec.include,
    "comment": comment,
    **conditions.HANDLERS,
}


def handler_of(page: Page, name: str) -> Handler | None:
    """Return the handler of the element *name*, or None; #exec needs a module that runs programs."""
    if name == "exec":
        return include_exec.execute if include_exec.runner(page) else None
    if name == "comment" and page.old:
        return None
    return _HANDLERS.get(name)

"""Flow control: #if, #elif, #else and #endif. Manual: mod/mod_include.html#flowctrl."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

from whimbrel.engine.expressions import RequestView
from whimbrel.expr import api as compiled
from whimbrel.expr.errors import EvalError, ExprError
from whimbrel.expr.evaluation import EMPTY_MATCH, Evaluation
from whimbrel.expr.library import ENVIRONMENT, UNCACHEABLE, ExprFunction
from whimbrel.expr.ssi import SsiCondition, SsiError
from whimbrel.modules.filters.mod_include.document import Element
from whimbrel.modules.filters.mod_include.page import Page

legacy = lru_cache(maxsize=1024)(SsiCondition)


class PageView(RequestView):
    """A document's request as expressions read it."""

    __slots__ = ("page",)

    def __init__(self, page: Page) -> None:
        super().__init__(page.r, "include")
        self.page = page


def _variable(e: Evaluation, name: str) -> str | None:
    """Return a variable of the document: ``v(name)``."""
    view = e.view
    return view.page.variable(name) if isinstance(view, PageView) else None


_OWN: Final[dict[tuple[str, str], Any]] = {
    ("expr_function", "v"): ExprFunction(_variable, frozenset({ENVIRONMENT}))
}


async def start(page: Page, element: Element) -> None:
    """Execute #if."""
    arguments = element.arguments
    if len(arguments) != 1:
        words, code = ("too many arguments", "AH01352") if arguments else ("missing expr argument", "AH01353")
        page.log(f"{words} for if element in {page.r.filename}", code, "error" if page.printing else "warn")
    if not page.printing:
        page.depth += 1
        return
    page.depth = 0
    if len(arguments) != 1:
        failed(page)
    else:
        await _decide(page, element, "AH01354", "AH01355")


async def otherwise_if(page: Page, element: Element) -> None:
    """Execute #elif."""
    arguments = element.arguments
    if len(arguments) != 1:
        words, code = ("too many arguments", "AH01356") if arguments else ("missing expr argument", "AH01357")
        page.log(f"{words} for if element in {page.r.filename}", code, "warn" if page.depth else "error")
    if page.depth:
        return
    if len(arguments) != 1:
        failed(page)
    else:
        await _decide(page, element, "AH01358", "AH01359")


async def _decide(page: Page, element: Element, unknown: str, empty: str) -> None:
    (name, text) = element.arguments[0]
    tag = element.name
    if name != "expr":
        page.log(f'unknown parameter "{name}" to tag if in {page.r.filename}', unknown)
        failed(page)
    elif text is None:
        words = "missing expr value for if element in" if tag == "if" else "missing expr in elif statement:"
        page.log(f"{words} {name if tag == 'elif' and page.old else page.r.filename}", empty)
        failed(page)
    elif tag == "elif" and page.decided:
        page.printing = False
    else:
        result = await _evaluated(page, text)
        if result is None:
            failed(page)
        else:
            page.printing = result
            page.decided = result


def failed(page: Page) -> None:
    """Append the error message for an invalid condition.

    2.2 continues as before; in 2.4 only an #elif can become active then, and an #else does nothing.
    """
    page.fail()
    if not page.old:
        page.printing = False
        page.decided = False
        page.broken = True


async def _evaluated(page: Page, text: str) -> bool | None:
    """Return the value of the condition, None if it is invalid (logged)."""
    return await _legacy(page, text) if page.legacy else _modern(page, text)


async def _legacy(page: Page, text: str) -> bool | None:
    try:
        return await legacy(text).evaluate(page)
    except SsiError as problem:
        name = page.r.filename
        tail = (
            f" in file {name}: Token '-A' must be followed by a URI string."
            if problem.code == "AH01335"
            else f" in file {name}"
        )
        page.log(problem.reason + tail, problem.code)
        return None


def _modern(page: Page, text: str) -> bool | None:
    name = page.r.filename
    try:
        condition = _compiled(page, text)
    except ExprError as problem:
        page.log(f'Could not parse expr "{text}" in {name}: {problem.reason}', "AH01337")
        return None
    before = page.found if page.found is not None else EMPTY_MATCH
    if UNCACHEABLE in condition.reads:
        page.r.set_uncacheable()
    evaluation = Evaluation(PageView(page), before)
    try:
        result = condition.test(evaluation)
    except EvalError as problem:
        page.log(f'Could not evaluate expr "{text}" in {name}: {problem.reason}', "AH01338")
        return None
    if evaluation.match is not before and evaluation.match is not None:
        page.found = evaluation.match
    return result


def _compiled(page: Page, text: str) -> compiled.CompiledCondition:
    cache: dict[str, compiled.CompiledCondition] = page.r.plan.notes.setdefault("include expressions", {})
    condition = cache.get(text)
    if condition is None:
        if len(cache) > 1000:
            cache.clear()
        provided = page.r.plan.provider
        condition = compiled.compile_condition(
            text,
            in_document=True,
            lookup=lambda group, name: _OWN.get((group, name)) or provided(group, name),
        )
        cache[text] = condition
    return condition


def otherwise(page: Page, element: Element) -> None:
    """Execute #else."""
    if element.arguments:
        page.log(
            f"else directive does not take tags in {page.r.filename}",
            "AH01360",
            "warn" if page.depth else "error",
        )
    if page.depth:
        return
    if element.arguments:
        if page.printing:
            page.fail()
    elif page.broken:
        return
    elif page.decided:
        page.printing = False
    else:
        page.printing = True
        page.decided = True


def end(page: Page, element: Element) -> None:
    """Execute #endif."""
    if element.arguments:
        page.log(
            f"endif directive does not take tags in {page.r.filename}",
            "AH01361",
            "warn" if page.depth else "error",
        )
    if page.depth:
        page.depth -= 1
    elif element.arguments:
        page.fail()
    else:
        page.printing = True
        page.decided = True
        page.broken = False


HANDLERS: dict[str, Any] = {"if": start, "elif": otherwise_if, "else": otherwise, "endif": end}

"""Walk over the pieces of a document: copies text and executes elements.

Manual: mod/mod_include.html#elements.
"""

from __future__ import annotations

from typing import Final

from whimbrel.engine.body import is_complete
from whimbrel.engine.time_slices import Slices
from whimbrel.modules.filters.mod_include.document import Element, ElementFault
from whimbrel.modules.filters.mod_include.elements import handler_of
from whimbrel.modules.filters.mod_include.page import MAX_GATHERED, Page

FILE_COST: Final = 16 * 1024  # bytes that an open file counts in the size of a page
_FAULTS: Final = {
    ElementFault.NO_NAME: "missing directive name in parsed document {file}",
    ElementFault.QUOTE: "missing argument name for value to tag {name} in {file}",
    ElementFault.EQUALS: "missing argument name for value to tag {name} in {file}",
    ElementFault.UNFINISHED: "SSI directive was not properly finished at the end of parsed document {file}",
}


async def render(page: Page) -> bool:
    """Execute the page until a source, a pause, or enough bytes are gathered; return True at its end."""
    size = 0
    slices = Slices(page.r.engine.turns)
    while True:
        for piece in page.pieces:
            if isinstance(piece, bytes):
                if page.printing:
                    page.out.append(piece)
                    size += len(piece)
                continue
            before = len(page.out)
            await _execute(page, piece)
            await slices.pause()
            for part in page.out[before:]:
                size += len(part) if isinstance(part, bytes) else FILE_COST
            if size > MAX_GATHERED or not is_complete(page.out[before:]):
                return False
        if page.document is not None and page.document.has_pause:
            return False
        more = None if page.document is None else await page.document.more()
        if more is None:
            break
        page.pieces = iter(more)
        if size > MAX_GATHERED:
            return False
    if not page.printing:
        page.log(f"missing closing endif directive in parsed document {page.r.filename}", "AH01373", "warn")
    return True


async def _execute(page: Page, element: Element) -> None:
    if element.faults:
        _report_faults(page, element)
        return
    handler = handler_of(page, element.name)
    if handler is None:
        page.log(f'unknown directive "{element.name}" in parsed doc {page.r.filename}', "AH01371")
        if page.printing:
            page.fail()
    else:
        waiting = handler(page, element)
        if waiting is not None:
            await waiting


def _report_faults(page: Page, element: Element) -> None:
    for fault in element.faults:
        page.log(_FAULTS[fault].format(name=element.name, file=page.r.filename), fault.value)
    if page.printing:
        page.fail()

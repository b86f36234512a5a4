"""Lines of modules that are not here and that a request does not meet.

A line that was left out has no effect on a request to which its section does not apply. A module that works
only where its own lines, handlers or providers say so has none where the request meets none of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from whimbrel.catalogue.third_party import ThirdPartyProduct, product_of, product_of_directive, products
from whimbrel.explain.step import RequestExplanation
from whimbrel.upgrade.knowledge.scope import UnknownItem, UnknownKind
from whimbrel.verify.config_lines import ConfigLine, LineScope, SideLines

_SECTIONS: Final = frozenset(("directory", "directorymatch", "location", "locationmatch"))
"""Sections whose effect on a request an explanation shows."""
_BY_ITS_LINES: Final = frozenset(("application", "access"))
"""Effects of products that do nothing where no line asks for them."""


class UnmetLines:
    """The lines of one side."""

    def __init__(self, lines: SideLines) -> None:
        self._lines: dict[tuple[str, int], ConfigLine] = {}
        for scope in lines.scopes:
            for line in scope.lines:
                self._lines.setdefault((line.path, line.line), line)

    def of(
        self, items: Sequence[UnknownItem], explanation: RequestExplanation, *, has_user: bool
    ) -> frozenset[UnknownItem]:
        """Return the *items* on which the answer does not depend; *has_user*: a user was named or is asked
        for.
        """
        applied = {
            (line.place.path, line.place.line)
            for step in explanation.all()
            if step.kind in ("sections", "virtual host", ".htaccess")
            for line in step.lines
        }
        left_out = [item for item in items if item.kind is UnknownKind.LEFT_OUT and item.matters]
        unmet = {item for item in left_out if not _applies(self._line_of(item), applied)}
        met = list(self._met_products(item for item in left_out if item not in unmet))
        met += self._products_of_htaccess({path for path, line in applied if line == 0})
        texts = {text for step in explanation.all() for text in (step.what, step.result, step.detail)}
        for item in left_out:
            product = _loaded_product(item)
            if product is None or product.effect not in _BY_ITS_LINES or product in met:
                continue
            is_handler = any(handler.rstrip("*") in text for handler in product.handlers for text in texts)
            if not is_handler and not (product.effect == "access" and has_user):
                unmet.add(item)
        return frozenset(unmet)

    def _line_of(self, item: UnknownItem) -> ConfigLine | None:
        return None if item.place is None else self._lines.get((item.place.path, item.place.line))

    def _met_products(self, items: Iterator[UnknownItem]) -> Iterator[ThirdPartyProduct]:
        for item in items:
            line = self._line_of(item)
            if line is None:
                continue
            product = product_of_directive(line.spelled or line.name)
            if product is not None:
                yield product
            yield from (one for one in products() if f": of {one.name}," in item.subject)

    def _products_of_htaccess(self, files: set[str]) -> Iterator[ThirdPartyProduct]:
        for line in self._lines.values():
            if line.path in files:
                product = product_of_directive(line.spelled or line.name)
                if product is not None:
                    yield product


def _loaded_product(item: UnknownItem) -> ThirdPartyProduct | None:
    """Return the product of the LoadModule line that *item* is about, None for another line."""
    _, is_module, owner = item.subject.partition(": a module of ")
    if not is_module:
        return None
    name = owner.partition(" (")[0]
    return next((one for one in products() if one.name == name), None) or product_of(name)


def _applies(line: ConfigLine | None, applied: set[tuple[str, int]]) -> bool:
    """Return False if a section around *line*, or its virtual host, does not apply to the request."""
    scope: LineScope | None = None if line is None else line.scope
    while scope is not None:
        is_host = scope.kind == "server" and scope.host != ("", 0)
        if (is_host or scope.kind in _SECTIONS) and (scope.path, scope.line) not in applied:
            return False
        scope = scope.outer
    return True

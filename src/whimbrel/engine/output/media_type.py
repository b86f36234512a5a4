"""The Content-Type field of a response."""

from __future__ import annotations

from whimbrel.base.numbers import BLANKS, lower, strip
from whimbrel.engine.request import Request


def content_type(r: Request) -> str | None:
    """Return the media type, with AddDefaultCharset's parameter if it has no charset."""
    kind = r.content_type
    if kind is None:
        kind = r.plan.core.default_type if r.plan.dialect.default_type else None
        if kind is None and r.plan.dialect.default_type:
            kind = "text/plain"
        if kind is None or kind == "none":
            return None
    charset = r.plan.core.add_default_charset
    if charset and "suppress-error-charset" not in r.env:
        media, semicolon, parameters = kind.partition(";")
        if lower(strip(media)) in ("text/plain", "text/html") and "charset=" not in parameters.lower():
            kind = (
                f"{media.rstrip(BLANKS)}{semicolon}{parameters}; charset={charset}"
                if semicolon
                else f"{media}; charset={charset}"
            )
    return kind

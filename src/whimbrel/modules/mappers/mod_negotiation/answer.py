"""Response fields of a negotiation: Alternates, Vary, TCN, and the list of variants in pages.

RFC 2295, sections 8.2 to 8.6.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whimbrel.http.syntax.url import escape_html, escape_segment
from whimbrel.modules.mappers.mod_negotiation.choose import Negotiation, Variant

if TYPE_CHECKING:
    from whimbrel.engine.request import Request


def set_fields(r: Request, n: Negotiation, *, chosen: bool) -> None:
    """Add the fields; error responses have them, too."""
    out = r.err_headers_out
    if n.client.alternates and n.variants:
        out.merge("Alternates", ", ".join(_alternate(n, v) for v in n.variants))
    differing = (
        ("accept", {v.kind for v in n.variants}),
        ("accept-language", {",".join(v.languages) for v in n.variants}),
        ("accept-charset", {v.charset for v in n.variants}),
        ("accept-encoding", {v.encoding for v in n.variants}),
    )
    names = [name for name, values in differing if len(values) > 1]
    if n.transparent:
        names.insert(0, "negotiate")
    if names:
        out.merge("Vary", ", ".join(names))
    if n.transparent:
        out.set("TCN", "choice" if chosen else "list")


def _alternate(n: Negotiation, variant: Variant) -> str:
    """Return one member of Alternates."""
    grade = f"{variant.source_quality:.3f}"
    out = f'{{"{escape_segment(variant.name)}" {grade.rstrip("0").rstrip(".")}'
    languages = ",".join(variant.languages)
    for name, value in (
        ("type", variant.kind),
        ("charset", variant.charset),
        ("language", languages),
        ("encoding", variant.encoding),
    ):
        if value:
            out += f" {{{name} {value}}}"
    if variant.sub is None or variant.sub.handler is None:
        size = n.size_of(variant)
        if size >= 0:
            out += f" {{length {size}}}"
    return out + "}"


def variant_list(variants: list[Variant]) -> str:
    """Return the HTML list of all variants."""
    out = ["Available variants:\n<ul>\n"]
    for v in variants:
        out.append(f'<li><a href="{escape_segment(v.name)}">{escape_html(v.name)}</a> {v.description}')
        for name, value in (
            ("type", v.kind),
            ("language", ",".join(v.languages)),
            ("charset", v.charset),
            ("encoding", v.encoding),
        ):
            if value:
                out.append(f", {name} {value}")
        out.append("</li>\n")
    return "".join(out) + "</ul>\n"

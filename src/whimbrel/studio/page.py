"""The files of the page, and the fields that each answer of the studio has."""

from __future__ import annotations

from importlib.resources import files
from typing import Final, NamedTuple

STATIC: Final = {
    "/": ("studio/static/page.html", "text/html; charset=utf-8"),
    "/base.css": ("report/page/base.css", "text/css; charset=utf-8"),
    "/studio.css": ("studio/static/studio.css", "text/css; charset=utf-8"),
    **{
        f"/{name}.js": (f"studio/static/{name}.js", "text/javascript; charset=utf-8")
        for name in ("studio", "api", "dom", "tree", "editor", "answer", "findings", "changes", "keys")
    },
}
"""Paths of the page, with the files of the package and their types."""
FIELDS: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
    "trusted-types 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Embedder-Policy": "require-corp",
    "Cache-Control": "no-store",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


class StaticFile(NamedTuple):
    """A file of the page with its type."""

    data: bytes
    media_type: str


def load_page() -> dict[str, StaticFile]:
    """Return the files of the page by path: they are read once, and no other file is ever sent."""
    top = files("whimbrel")
    return {path: StaticFile(top.joinpath(name).read_bytes(), kind) for path, (name, kind) in STATIC.items()}

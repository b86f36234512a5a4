"""The command whimbrel.explainUrl: the explanation of a request, as `whimbrel explain URL` prints it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from whimbrel.base.dialect import DIALECTS
from whimbrel.base.programs import without_programs
from whimbrel.explain.explanation import explain_probe
from whimbrel.explain.knowledge import RequestKnowledge
from whimbrel.explain.request_description import BadRequest, RequestDescription, probe_of
from whimbrel.explain.text import OutputStyle, short_lines
from whimbrel.lsp.main_files import Unit, sources_of
from whimbrel.lsp.positions import encoded
from whimbrel.utilities.usage_error import UsageError
from whimbrel.verify.loading import load_side

COMMAND: Final = "whimbrel.explainUrl"
WIDTH: Final = 100
DIALECT: Final = "2.4"


def texts_of(values: Sequence[object]) -> tuple[str, str, str]:
    """Return the arguments of the command: a URL, the URI of a file of the server or "", a dialect."""
    texts = [value if isinstance(value, str) else "" for value in (*values, "", "", "")[:3]]
    return texts[0], texts[1], texts[2] or DIALECT


def explained(url: str, unit: Unit, texts: dict[str, bytes], dialect: str) -> str:
    """Return the explanation of a GET of *url* by the server *unit*, or why there is none."""
    if not url:
        return f"usage: {COMMAND} URL [URI of a file] [2.2 or 2.4]\n"
    if not unit.is_server:
        return (
            f"{unit.path} belongs to no server that is known here: set whimbrel.mainFile to its main file\n"
        )
    if dialect not in DIALECTS:
        return f"{dialect}: not one of {', '.join(DIALECTS)}\n"
    try:
        with without_programs():
            options = sources_of(unit, texts).options
            assert options is not None
            side = load_side(options, dialect)
            described = RequestDescription(encoded(url).decode("latin-1"))
            probe = probe_of(described, side.configuration, has_file_users=True)
            known = RequestKnowledge(side)
            explanation = explain_probe(side, probe)
            style = OutputStyle(options.server_root, WIDTH)
            lines = list(short_lines(explanation, known.of(probe, explanation), style))
    except (UsageError, BadRequest, OSError) as problem:
        return f"{problem}\n"
    return "".join(f"{line}\n" for line in lines)

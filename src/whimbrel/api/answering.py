"""Answers and explanations of a loaded site, as values of the public API."""

from __future__ import annotations

import os
import re
from ipaddress import ip_address
from typing import Final

from whimbrel.api.answers import Answer, Explanation, Step
from whimbrel.api.conversion import lines_of, path_of, place_of, shown_of, text_of, unknown_of
from whimbrel.api.errors import ConfigurationError, RequestError
from whimbrel.api.loaded_site import LoadedSite
from whimbrel.api.named_files import NamedInput, why_no_answers
from whimbrel.api.requests import Request
from whimbrel.base.latin1 import from_system
from whimbrel.config.options import LoadOptions
from whimbrel.explain.cause import cause_of
from whimbrel.explain.request_description import BadRequest, RequestDescription, probe_of
from whimbrel.explain.step import ExplanationStep
from whimbrel.explain.text import OutputStyle, short_lines
from whimbrel.verify.dry_engine import DryAnswer
from whimbrel.verify.loading import load_side
from whimbrel.verify.probe import Probe
from whimbrel.verify.side import LoadError

TEXT_WIDTH: Final = 100
"""Columns of the text of an explanation."""
_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CONTROL: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


def load_site(named: NamedInput, dialect: str) -> LoadedSite:
    """Return the loaded configuration; raises ConfigurationError."""
    side = load_side(options_of(named), dialect)
    if not side.is_loaded:
        raise load_error(side.options, side.errors[0])
    return LoadedSite(side)


def options_of(named: NamedInput) -> LoadOptions:
    """Return the options of the server that answers; raises ConfigurationError if there is none."""
    if named.options is None:
        raise why_no_answers(named.path)
    return named.options


def load_error(options: LoadOptions, error: LoadError) -> ConfigurationError:
    """Return the exception for a configuration that does not load."""
    main = os.path.join(options.server_root, options.file)
    file, line = place_of(error.place)
    return ConfigurationError(file or path_of(main), line, text_of(error.text))


def answer_request(loaded: LoadedSite, request: Request) -> Answer:
    """Return the answer to *request*; raises RequestError."""
    return _answer(loaded.answer(_probe(loaded, request)))


def explain_request(loaded: LoadedSite, request: Request, directory: str) -> Explanation:
    """Return the explanation; its text shows paths relative to *directory*. Raises RequestError."""
    probe = _probe(loaded, request)
    explanation, scope = loaded.explain(probe)
    cause = cause_of(explanation)
    style = OutputStyle(directory, TEXT_WIDTH)
    lines = list(short_lines(explanation, scope, style))[:-1]  # the last one names options of the command
    return Explanation(
        text_of(explanation.request),
        explanation.dialect,
        _answer(loaded.answer(probe)),
        lines_of(cause.all_lines),
        text_of(cause.sentence),
        tuple(map(_step, explanation.steps)),
        tuple(item for item in unknown_of(scope) if item.matters),
        "\n".join(map(shown_of, lines)),
    )


def _probe(loaded: LoadedSite, request: Request) -> Probe:
    described = _described(request)
    try:
        return probe_of(described, loaded.side.configuration)
    except BadRequest as problem:
        raise RequestError(text_of(str(problem))) from None


def _described(request: Request) -> RequestDescription:
    """Return *request* in text of one character per byte; raises RequestError for what no head can have."""
    if not _TOKEN.fullmatch(request.method):
        raise RequestError(f"method {request.method!r}: not a token of HTTP")
    for name, value in request.headers.items():
        if not _TOKEN.fullmatch(name) or _CONTROL.search(value):
            raise RequestError(f"header field {name!r}: {value!r}: not of the form of HTTP")
    for value in (request.host, request.user):
        if _CONTROL.search(value):
            raise RequestError(f"{value!r}: control characters")
    for address in filter(None, (request.client, request.address)):
        try:
            ip_address(address)
        except ValueError:
            raise RequestError(f"{address!r}: not an IP address") from None
    if request.user and ":" in request.user:
        raise RequestError(f"user {request.user!r}: a name for Basic has no colon")
    credentials = request.user if request.password is None else f"{request.user}:{request.password}"
    fields = tuple((name, from_system(value)) for name, value in request.headers.items())
    return RequestDescription(
        from_system(request.url),
        from_system(request.host),
        request.client,
        request.address,
        from_system(credentials),
        request.method,
        fields,
        request.tls,
    )


def _answer(found: DryAnswer) -> Answer:
    answer = found.answer
    if answer is None:
        return Answer(None, not_run=found.not_run)
    return Answer(
        answer.status,
        tuple((text_of(name), text_of(value)) for name, value in answer.fields),
        found.body,
        text_of(", ".join(answer.field("location"))),
        path_of(answer.file),
        text_of(answer.user),
        tuple(map(text_of, answer.log)),
        is_cut=found.is_cut,
    )


def _step(step: ExplanationStep) -> Step:
    return Step(
        step.kind,
        text_of(step.what),
        text_of(step.result),
        text_of(step.detail),
        lines_of(step.lines),
        tuple(map(_step, step.children)),
    )

"""Content codings of responses: negotiation, fields and settings, shared by mod_deflate and mod_brotli."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from whimbrel.base.errors import ConfigError
from whimbrel.base.numbers import lower
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Setter
from whimbrel.engine.log.error_log_line import enabled
from whimbrel.modules.support.tokens import get_token

if TYPE_CHECKING:
    from whimbrel.engine.request import Request

UNCODED: Final = frozenset(("identity", "7bit", "8bit", "binary"))
ADD_SUFFIX = "addsuffix"
NO_CHANGE = "nochange"
REMOVE = "remove"
ETAG_MODES: Final = {mode: mode for mode in (ADD_SUFFIX, NO_CHANGE, REMOVE)}
MIN_CODED_TAG: Final = 3  # characters of an ETag that gets a suffix


class AcceptsCoding:
    """Set of the values of Accept-Encoding that admit *coding*, as httpd parses them.

    It is a predicate of the response cache: clients that spell the same choice differently share responses.
    *quality*: a quality of zero refuses the coding.
    """

    __slots__ = ("_coding", "_quality")

    def __init__(self, coding: str, *, quality: bool) -> None:
        self._coding = coding
        self._quality = quality

    def __contains__(self, value: object) -> bool:
        assert isinstance(value, str)
        token, quality = self.choice(value)
        return bool(token) and not (
            self._quality
            and quality is not None
            and len(quality) >= MIN_CODED_TAG
            and "q=0.000".startswith(quality)
        )

    def choice(self, value: str) -> tuple[str, str | None]:
        """Return the token that names the coding, or "", and the parameter behind it, or None."""
        token, rest = get_token(value)
        while token and lower(token) != self._coding:
            while rest.startswith(";"):
                rest = get_token(rest[1:], with_blanks=True)[1]
            rest = rest.removeprefix(",")
            token, rest = get_token(rest) if rest else ("", "")
        return token, get_token(rest.lstrip(";"), with_blanks=True)[0] if rest else None


def is_accepted(r: Request, predicates: tuple[AcceptsCoding], module: str) -> bool:
    """Return True if the client accepts the coding of *predicates*; False without Accept-Encoding.

    At level trace1 the parsed value is logged in the name of *module*.
    """
    value = r.headers_in.get_classified("Accept-Encoding", predicates)
    if value is None:
        return False
    (accepted,) = predicates
    if enabled(r.plan.levels, module, "trace1") and not r.plan.dialect.wire_22:
        r.headers_in.get_list("Accept-Encoding")  # the line shows the value, so the cache key needs it
        token, quality = accepted.choice(value)
        if quality is not None:
            r.log("trace1", f"token: '{token or 'NULL'}' - q: '{quality}'", module=module)
    return value in accepted


def current_coding(r: Request) -> str:
    """Return the content codings that the response has so far, separated by commas; "" for none."""
    fields = (r.headers_out.get_list("Content-Encoding"), r.err_headers_out.get_list("Content-Encoding"))
    return ",".join([value for value in (*fields, ", ".join(r.content_encodings)) if value])


def first_coding(codings: str) -> str:
    """Return the first of *codings* that changes the content; "" if none does."""
    token, rest = get_token(codings)
    while token:
        if token not in UNCODED:
            return token
        token, rest = get_token(rest[1:]) if rest[1:] else ("", "")
    return ""


def add_coding(r: Request, coding: str, present: str) -> None:
    """Add *coding* to the fields of a response that has the codings *present*; its length is unknown now."""
    out = r.headers_out
    if not present or lower(present) == "identity":
        out.set("Content-Encoding", coding)
    else:
        out.merge("Content-Encoding", coding)
    if r.content_encodings:
        r.content_encodings = [out.get_list("Content-Encoding") or ""]
    out.unset("Content-Length")
    out.unset("Content-MD5")


def alter_etag(r: Request, mode: str, suffix: str) -> None:
    """Append *suffix* to the ETag, remove it, or leave it, by *mode*, one of `ETAG_MODES`."""
    if mode == REMOVE:
        r.headers_out.unset("ETag")
    if mode != ADD_SUFFIX:
        return
    tag = r.headers_out.get("ETag")
    if tag is not None and len(tag) >= MIN_CODED_TAG and tag.endswith('"'):
        r.headers_out.set("ETag", f'{tag[:-1]}-{suffix}"')


def set_note(unknown: str) -> Setter:
    """Return the setter of ``[Input|Output|Ratio] NAME``; *unknown* formats a refusal."""

    def apply(_cmd: Command, record: object, words: list[str]) -> None:
        kind = words[0].lower() if len(words) > 1 else "ratio"
        if kind not in ("input", "output", "ratio"):
            raise ConfigError(unknown.format(words[0]))
        setattr(record, f"{kind}_note", words[-1])

    return apply

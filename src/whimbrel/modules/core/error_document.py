"""ErrorDocument: replaces a canned error page.

The stored form is a text that begins with a double quote, a URL, or an object whose ``text(r)`` returns one
of these. Manual: mod/core.html#errordocument.
"""

from __future__ import annotations

from whimbrel.base.errors import ConfigError
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.lazy_re import compile
from whimbrel.base.numbers import atoi
from whimbrel.base.static_typing import TYPE_CHECKING, Final
from whimbrel.config.core_config import CoreDirConfig
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Setter
from whimbrel.engine.expressions import StringExpression, read_string
from whimbrel.expr.errors import EvalError
from whimbrel.modules.support.setters import own

if TYPE_CHECKING:
    from whimbrel.engine.request import Request

_SCHEME = compile(r"[A-Za-z0-9+.-]+:")
# Placeholders in 2.2's table of status lines.
_UNUSED_22 = frozenset({306, 418, 419, 420, 421, 425, 508, 509})


@dataclass(frozen=True, slots=True)
class DocumentTemplate:
    """An ErrorDocument that depends on the request: a *mark* (a double quote, "" for a URL), text."""

    mark: str
    template: StringExpression

    def text(self, r: Request) -> str | None:
        """Return the document for this request; None, for the canned page, if its evaluation fails."""
        try:
            return self.mark + self.template.text(r)
        except EvalError as problem:
            r.log(
                "error",
                f"core: ErrorDocument: can't evaluate require expression: {problem.reason}",
                code="AH02841",
            )
            return None


def set_error_document(cmd: Command, conf: CoreDirConfig, words: list[str]) -> None:
    """Set a status, and a URL, a path or a text; ``default`` restores the canned page."""
    from whimbrel.http.semantics.status import known  # few configurations have the directive

    old = cmd.dialect.wire_22
    status = atoi(words[0])
    document = words[1]
    if not (known(status, version22=old) or (old and status in _UNUSED_22)):
        raise ConfigError(f"Unsupported HTTP response code {words[0]}")
    remote = _SCHEME.match(document) is not None
    if status == 401 and remote:
        where = f"{cmd.place.path}:{cmd.place.line} " if cmd.dialect.messages_24 else ""
        cmd.warn(
            f"{where}cannot use a full URL in a 401 ErrorDocument directive --- ignoring!",
            code="AH00113",
            level="notice",
        )
        return
    mark = "" if remote or document.startswith("/") else '"'
    documents = own(conf, "error_documents", dict)
    conf.error_documents = {**documents, status: _document(cmd, document, mark)}


def _document(cmd: Command, document: str, mark: str) -> str | DocumentTemplate | None:
    if mark and document.lower() == "default":
        return None
    if not cmd.dialect.expressions:
        return mark + document
    template = read_string(cmd, document, "Cannot parse expression in ErrorDocument")
    return DocumentTemplate(mark, template) if template.fixed is None else mark + template.fixed


DIR_SETTERS: Final[dict[str, Setter]] = {
    "ErrorDocument": set_error_document,
}

"""State of one document during its output: variables, flow control, gathered parts.

Manual: mod/mod_include.html#includevars.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from whimbrel.base.accounts import user_numbered
from whimbrel.base.latin1 import to_bytes
from whimbrel.base.numbers import is_digits, upper
from whimbrel.base.regex import Match, Regex
from whimbrel.config.core_config import OPT_INC_WITH_EXEC, CoreDirConfig
from whimbrel.engine.body import Part
from whimbrel.engine.coroutines import run_until_suspended
from whimbrel.engine.env import uncover
from whimbrel.engine.request import Request
from whimbrel.expr.functions import entry
from whimbrel.http.syntax.url import escape_shell, unescape_loose
from whimbrel.modules.filters.mod_include.document import Element, Piece
from whimbrel.modules.filters.mod_include.formatting import formatted_time
from whimbrel.modules.filters.mod_include.settings import IncludeDirConfig
from whimbrel.modules.filters.mod_include.variables import LATER, LAZY, Clock, Variables
from whimbrel.modules.support.cgi.environment import add_cgi_vars, add_common_vars, overlap

MAX_GATHERED: Final = 1 << 20  # bytes of a page that are gathered before it becomes a source
NESTED: Final = "include-document"  # note of a sub-request whose document is included in its parent's
_VARIABLE = re.compile(r"\\\$|\$(?:\{([^}]*)(\}|\Z)|([A-Za-z0-9_]+))", re.S)


class Page:
    """The document of *r*.

    Attributes:
        printing: text and elements are in an active branch
        decided: a branch of the current #if was taken
        depth: number of open #if in an inactive branch
        broken: a condition since the last #endif was invalid
    """

    def __init__(self, r: Request, conf: IncludeDirConfig) -> None:
        self.r = r
        self.old = r.plan.dialect.wire_22
        self.legacy = r.plan.dialect.ssi_old_parser or conf.legacy
        self.error = conf.error
        self.undefined = conf.undefined
        self.time_format = conf.time_format
        self.in_bytes = False
        self.no_exec = not r.dir_config(CoreDirConfig).options.value & OPT_INC_WITH_EXEC
        self.printing = True
        self.decided = True
        self.broken = False
        self.depth = 0
        self.out: list[Part] = []
        self.has_elements = False
        self.pieces: Iterator[Piece] = iter(())
        self.document: Any = None
        self.found: Match | None = None  # the last match, its pattern and number of groups
        self.pattern = "(null)"
        self.groups = 0

    # output -------------------------------------------------------------------------------------
    def write(self, text: str) -> None:
        """Append text to the document."""
        self.out.append(to_bytes(text))

    def fail(self) -> None:
        """Append the error message to the document."""
        self.write(self.error)

    def log(
        self, text: str, code: str = "", level: str = "error", module: str = "include", *, cause: str = ""
    ) -> None:
        """Write a line about this document to the error log."""
        self.r.log(level, text, code=code, module=module, cause=cause)

    def refuse(self, text: str, code: str) -> None:
        """Call `log` and `fail`."""
        self.log(text, code)
        self.fail()

    def should_skip(self, element: Element, code: str, module: str = "include") -> bool:
        """Return True if the element is inactive, or has no arguments, which is logged."""
        if not element.arguments:
            level = "error" if self.printing else "warn"
            self.log(f"missing argument for {element.name} element in {self.r.filename}", code, level, module)
        if self.printing and not element.arguments:
            self.fail()
        return not self.printing or not element.arguments

    # the walk ---------------------------------------------------------------------------------
    def take(self, pieces: tuple[Piece, ...], document: object = None) -> None:
        """Begin with *pieces*; *document* has further ones."""
        self.pieces = iter(pieces)
        self.document = document
        self.has_elements = document is not None or Element in map(type, pieces)

    def ready(self) -> list[Any]:
        """Return the gathered parts and forget them."""
        parts, self.out = self.out, []
        return parts

    # variables --------------------------------------------------------------------------------
    async def set_up(self) -> None:
        """Create the document's variables, or share those of the including document.

        In 2.4 the including document then has the query of this one.
        """
        r = self.r
        if NESTED in r.notes and r.main is not None:
            r.env, r.finfo, r.hidden_env = r.main.env, r.main.finfo, None
            if r.args is not None and not self.old:
                overlap(
                    r.env,
                    {"QUERY_STRING": r.args, "QUERY_STRING_UNESCAPED": escape_shell(unescape_loose(r.args))},
                )
            return
        if r.path_info and r.path_info.startswith("/"):
            await self._with_path(r)
        else:
            uncover(r)
            r.env = Variables(r, r.env, self._provided)

    async def _with_path(self, r: Request) -> None:
        """Add the variables of a document with PATH_INFO, which needs a sub-request."""
        add_common_vars(r)
        await add_cgi_vars(r)
        overlap(r.env, self._own())
        r.set_uncacheable()

    def _provided(self, table: dict[str, str]) -> None:
        """Add the variables of CGI programs, and the document's own."""
        r = self.r
        outer, r.env = r.env, table
        try:
            add_common_vars(r)
            run_until_suspended(add_cgi_vars(r))
        finally:
            r.env = outer
        overlap(table, self._own())

    def _own(self) -> dict[str, str]:
        r = self.r
        variables: dict[str, str] = {**dict.fromkeys(LATER[:3], LAZY), "DOCUMENT_URI": r.uri}
        if not self.old:
            variables["DOCUMENT_ARGS"] = r.args or ""
        if r.path_info:
            variables["DOCUMENT_PATH_INFO"] = r.path_info
        variables["USER_NAME"] = LAZY
        variables["DOCUMENT_NAME"] = (
            r.filename.rpartition("/")[2] if r.filename and "/" in r.filename else r.uri
        )
        if r.args is not None:
            variables["QUERY_STRING_UNESCAPED"] = escape_shell(unescape_loose(r.args))
        return variables

    def variable(self, name: str) -> str | None:
        """Return a variable, with ``0`` to ``9`` as groups of the last match; None if unset."""
        if len(name) == 1 and is_digits(name):
            return self._group(int(name))
        value = entry(self.r.env, name)
        if value is LAZY:
            value = self.compute(name)
            if type(value) is Clock:
                self.r.set_uncacheable()
        return value

    def compute(self, name: str) -> str:
        """Return the value of a variable that is computed on access, and keep it for programs."""
        value = self.lazy(name)
        table = self.r.env
        if isinstance(table, Variables):
            table.keep(name, value)
        else:
            table[name] = value
        return value

    def lazy(self, name: str) -> str:
        """Return the value of a variable that is computed on access."""
        r = self.r
        key = upper(name)
        if key == "LAST_MODIFIED":
            return "" if r.finfo is None else formatted_time(r.finfo.st_mtime, self.time_format)
        if key == "USER_NAME":
            r.set_uncacheable()  # the account database has no dependency that could be checked
            try:
                return user_numbered(r.finfo.st_uid if r.finfo is not None else 0).pw_name
            except KeyError:
                return "<unknown>"
        return Clock(formatted_time(r.time, self.time_format, gmt=key == "DATE_GMT"))

    def _group(self, number: int) -> str | None:
        name = self.r.filename
        if self.found is None:
            self.log(f"regex capture ${number} refers to no regex in {name}", "AH01329", "warn")
            return None
        if number > self.groups:
            self.log(
                f"regex capture ${number} is out of range (last regex was: '{self.pattern}') in {name}",
                "AH01330",
                "warn",
            )
            return None
        value: str | None = self.found.group(number)
        return value

    def substituted(self, text: str, *, leave: bool = False) -> str:
        r"""Replace ``$NAME`` and ``${NAME}`` in *text*, and ``\$`` by ``$``.

        Unset variables become empty; *leave* keeps them as written.
        """
        if "$" not in text:
            return text
        out = []
        at = 0
        for match in _VARIABLE.finditer(text):
            out.append(text[at : match.start()])
            at = match.end()
            name = match[1] if match[1] is not None else match[3]
            if name is None:
                out.append("$")
            elif match[1] is not None and not match[2]:
                self.log(f"Missing '}}' on variable \"{name}\" in {self.r.filename}", "AH01331")
            elif not name:
                out.append(match[0])
            else:
                value = self.variable(name)
                if value is None:
                    value = match[0].removesuffix("}") if leave else ""
                out.append(value)
        return "".join(out) + text[at:]

    # callbacks of conditions (whimbrel.expr.ssi) ---------------------------------------------
    def matched(self, match: Match | None, regex: Regex) -> None:
        """Store the result of a regular expression."""
        self.found = match
        self.pattern = regex.pattern
        self.groups = regex.groups

    def complain(self, text: str, code: str) -> None:
        """Log a message of a condition."""
        self.log(text, code)

    async def admitted(self, url: str) -> bool:
        """Return True if a sub-request for *url* is authorized (``-A``)."""
        sub = await self.r.engine.lookup_uri(self.r, url)
        return bool(sub.status == 200)

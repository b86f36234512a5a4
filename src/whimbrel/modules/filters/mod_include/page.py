"""One document being made: its variables, what is printed, and the walk over its pieces.

Manual: mod/mod_include.html#includevars.
"""

from __future__ import annotations

import pwd
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from whimbrel.base.latin1 import to_bytes
from whimbrel.base.numbers import is_digits, upper
from whimbrel.config.core_config import OPT_INC_WITH_EXEC, CoreDirConfig
from whimbrel.engine.coroutines import run_until_suspended
from whimbrel.engine.input.body import Joined
from whimbrel.expr.functions import entry
from whimbrel.http.syntax.url import unescape_loose
from whimbrel.modules.filters.mod_include.document import Element, Piece
from whimbrel.modules.filters.mod_include.formatting import escape_shell, formatted_time
from whimbrel.modules.filters.mod_include.settings import IncludeDirConfig
from whimbrel.modules.filters.mod_include.variables import LATER, LAZY, Clock, Variables
from whimbrel.modules.support.cgi.environment import add_cgi_vars, add_common_vars, overlap

if TYPE_CHECKING:
    from whimbrel.base.regex import Match, Regex
    from whimbrel.engine.input.body import Stream

MAX_GATHERED: Final = 1 << 20  # bytes of a page that wait for its end
NESTED: Final = "include-document"  # the note of a sub-request whose document is a part of its parent's
_VARIABLE = re.compile(r"\\\$|\$(?:\{([^}]*)(\}|\Z)|([A-Za-z0-9_]+))", re.S)


class Page:
    """The document of *r*; *printing* and *decided* are what #if and its kin leave, *depth* counts the #if inside what is not printed,
    *broken* says that a condition since the last #endif was none."""

    def __init__(self, r: Any, conf: IncludeDirConfig) -> None:
        self.r, self.old = r, r.plan.dialect.wire_22
        self.legacy = r.plan.dialect.ssi_old_parser or conf.legacy
        self.error, self.undefined, self.time_format = conf.error, conf.undefined, conf.time_format
        self.in_bytes = False
        self.no_exec = not r.dir_config(CoreDirConfig).options.value & OPT_INC_WITH_EXEC
        self.printing = self.decided = True
        self.broken = False
        self.depth = 0
        self.out: list[Any] = []
        self.stream: Stream | None = None  # what is written before `out`
        self.has_elements = False
        self.pieces: Iterator[Piece] = iter(())
        self.document: Any = None
        self.found: Match | None = None  # the last match, its pattern and number of groups
        self.pattern, self.groups = "(null)", 0

    # what is written --------------------------------------------------------------------------
    def write(self, text: str) -> None:
        """Add text to the document."""
        self.out.append(to_bytes(text))

    def append_stream(self, stream: Stream) -> None:
        """Add what *stream* gives to the document."""
        self.stream, self.out = Joined([*self.ready(), stream]), []

    def fail(self) -> None:
        """Add the error message to the document."""
        self.write(self.error)

    def log(
        self, text: str, code: str = "", level: str = "error", module: str = "include", *, cause: str = ""
    ) -> None:
        """A line about this document in the error log."""
        self.r.log(level, text, code=code, module=module, cause=cause)

    def refuse(self, text: str, code: str) -> None:
        """`log` and `fail`."""
        self.log(text, code)
        self.fail()

    def should_skip(self, element: Element, code: str, module: str = "include") -> bool:
        """Whether the element is not to be executed: nothing is printed, or it has no arguments, which is logged."""
        if not element.arguments:
            level = "error" if self.printing else "warn"
            self.log(f"missing argument for {element.name} element in {self.r.filename}", code, level, module)
        if self.printing and not element.arguments:
            self.fail()
        return not self.printing or not element.arguments

    # the walk ---------------------------------------------------------------------------------
    def take(self, pieces: tuple[Piece, ...], document: Any = None) -> None:
        """Begin with *pieces*; *document* has further ones."""
        self.pieces, self.document = iter(pieces), document
        self.has_elements = document is not None or Element in map(type, pieces)

    def ready(self) -> list[Any]:
        """Everything that was written so far; it is forgotten here."""
        stream, parts = self.stream, self.out
        self.stream, self.out = None, []
        return parts if stream is None else [stream, *parts]

    # variables --------------------------------------------------------------------------------
    async def set_up(self) -> None:
        """Make the document's variables, or take over those of the document that includes this one, which (2.4) then has this one's query."""
        r = self.r
        if NESTED in r.notes and r.main is not None:
            r.env, r.finfo = r.main.env, r.main.finfo
            if r.args is not None and not self.old:
                overlap(
                    r.env,
                    {"QUERY_STRING": r.args, "QUERY_STRING_UNESCAPED": escape_shell(unescape_loose(r.args))},
                )
            return
        if r.path_info and r.path_info.startswith("/"):
            await self._with_path(r)
        else:
            r.env = Variables(r, r.env, self._provided)

    async def _with_path(self, r: Any) -> None:
        """A path behind the document's: what it stands for is asked of a sub-request, at once."""
        add_common_vars(r)
        await add_cgi_vars(r)
        overlap(r.env, self._own())
        r.set_uncacheable()

    def _provided(self, table: dict[str, str]) -> None:
        """Add what programs see, and the document's own variables."""
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
        own: dict[str, str] = {**dict.fromkeys(LATER[:3], LAZY), "DOCUMENT_URI": r.uri}
        if not self.old:
            own["DOCUMENT_ARGS"] = r.args or ""
        if r.path_info:
            own["DOCUMENT_PATH_INFO"] = r.path_info
        own["USER_NAME"] = LAZY
        own["DOCUMENT_NAME"] = r.filename.rpartition("/")[2] if r.filename and "/" in r.filename else r.uri
        if r.args is not None:
            own["QUERY_STRING_UNESCAPED"] = escape_shell(unescape_loose(r.args))
        return own

    def variable(self, name: str) -> str | None:
        """The value of a variable, ``0`` to ``9`` being groups of the last match; None for none."""
        if len(name) == 1 and is_digits(name):
            return self._group(int(name))
        value = entry(self.r.env, name)
        if value is LAZY:
            value = self.lazy(name)
            if type(value) is Clock:
                self.r.set_uncacheable()
        return value

    def lazy(self, name: str) -> str:
        """The value of a variable that is worked out when it is asked for."""
        r, key = self.r, upper(name)
        if key == "LAST_MODIFIED":
            return "" if r.finfo is None else formatted_time(r.finfo.st_mtime, self.time_format)
        if key == "USER_NAME":
            r.set_uncacheable()  # the database of accounts can change unseen
            try:
                return pwd.getpwuid(r.finfo.st_uid if r.finfo is not None else 0).pw_name
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
        r"""*text* with ``$NAME`` and ``${NAME}`` replaced and ``\$`` made ``$``; unknown ones vanish, or with *leave* stay."""
        if "$" not in text:
            return text
        out, at = [], 0
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
                out.append(value if value is not None else match[0].removesuffix("}") if leave else "")
        return "".join(out) + text[at:]

    # what conditions ask (whimbrel.expr.ssi.Asked) ----------------------------------------------
    def matched(self, found: Match | None, regex: Regex) -> None:
        """A regular expression was tried."""
        self.found, self.pattern, self.groups = found, regex.pattern, regex.groups

    def complain(self, text: str, code: str) -> None:
        """A line of the condition's own."""
        self.log(text, code)

    async def admitted(self, url: str) -> bool:
        """``-A``: whether a sub-request for *url* is let in."""
        sub = await self.r.engine.lookup_uri(self.r, url)
        return bool(sub.status == 200)

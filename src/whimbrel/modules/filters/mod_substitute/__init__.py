"""mod_substitute: the filter SUBSTITUTE replaces text in response bodies.

Public: MODULE; files: patterns (one pattern), lines (httpd's rules, line by line), pages (many lines at
once). Must not import: server, cli.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from whimbrel.base.errors import ConfigError
from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.numbers import lower
from whimbrel.catalogue.checks.numbers import LONG_MAX, strtol
from whimbrel.directives.command import Command
from whimbrel.engine.body import FileSegment
from whimbrel.engine.output.filter import FilterError, OutputFilter, Transform
from whimbrel.engine.time_slices import MAX_SHORT, Slices
from whimbrel.modules.filters.mod_substitute.lines import Cut, Rules, substitute_lines
from whimbrel.modules.filters.mod_substitute.pages import compile_stages, is_slow, substitute_page
from whimbrel.modules.filters.mod_substitute.patterns import NO_LIMIT, Pattern, parse
from whimbrel.modules.support.setters import own, set_flag
from whimbrel.registry.module import Module, Provider
from whimbrel.registry.settings import UNSET, setting

if TYPE_CHECKING:
    from whimbrel.engine.request import Request

DEFAULT_LIMIT: Final = 1 << 20
# bytes of whole lines that are searched without a pause; with an expression that is tried at each byte
MAX_PAGE: Final = 16 * 1024
SLOW_PAGE: Final = 1024
MAX_MAPPED: Final = 4 << 20  # bytes of a file that httpd maps as one bucket
_UNITS: Final = {"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


@dataclass(slots=True)
class SubstituteDirConfig:
    """Per-directory settings: Substitute, SubstituteInheritBefore, SubstituteMaxLineLength."""

    patterns: tuple[Pattern, ...] = setting(())
    inherit_before: bool = setting(False)
    limit: int = setting(DEFAULT_LIMIT)

    def merge_onto(self, base: SubstituteDirConfig) -> SubstituteDirConfig:
        """Return the merge: the inner patterns come first, unless SubstituteInheritBefore is on."""
        out = SubstituteDirConfig()
        out.inherit_before = base.inherit_before if self.inherit_before is UNSET else self.inherit_before
        out.limit = base.limit if self.limit is UNSET else self.limit
        inner = own(self, "patterns", tuple)
        outer = own(base, "patterns", tuple)
        is_before = out.inherit_before is not UNSET and out.inherit_before
        out.patterns = outer + inner if is_before else inner + outer
        return out


class Substituted(Transform):
    """Lines after substitution; a line that is not complete waits for its rest."""

    is_sliced = True
    __slots__ = (
        "_fresh",
        "_held",
        "_is_one_bucket",
        "_limit",
        "_page_size",
        "_r",
        "_rules",
        "_size",
        "_slices",
        "_stages",
        "early",
    )

    def __init__(self, r: Request, rules: Rules, *, is_one_bucket: bool) -> None:
        self._stages = compile_stages(rules)
        is_searched = is_slow(rules)
        self._page_size = SLOW_PAGE if is_searched else MAX_PAGE
        self._r = r
        self._rules = rules
        self._slices = Slices(r.engine.turns, short=0 if is_searched else MAX_SHORT)
        self._is_one_bucket = is_one_bucket
        self._held: list[bytes] = []
        self._size = 0
        self._fresh = True
        self.early = False

    def feed(self, data: bytes) -> bytes:
        """Return the complete lines."""
        cut = data.rfind(b"\n") + 1
        if not cut:
            self._hold(data)
            return b""
        self.early = True
        if not self._held:
            block = data[:cut]
        else:
            held, self._held = self._held, []
            if not self._is_one_bucket and self._size + data.find(b"\n") + 1 > self._rules.limit:
                raise self._failure("")
            block = b"".join([*held, data[:cut]])
        self._size = 0
        self._hold(data[cut:])
        return self._run(block)

    def flush(self) -> bytes:
        """Hold the line that is not complete, as httpd does: complete ones have gone on."""
        return b""

    def end(self, data: bytes) -> bytes:
        if not self._held and 0 < len(data) < self._rules.limit:
            self.early = self.early or b"\n" in data
            return self._run(data)
        out = self.feed(data) if data else b""
        if not self._held:
            return out
        if self._size > self._rules.limit:
            raise self._failure(to_text(out))
        last, self._held = b"".join(self._held), []
        try:
            return out + self._run(last)
        except FilterError as failure:
            failure.passed = out + failure.passed
            raise

    def _hold(self, data: bytes) -> None:
        if data:
            self._held.append(data)
            self._size += len(data)
            if self._size > self._rules.limit and not self._is_one_bucket:
                raise self._failure("")

    def _run(self, block: bytes) -> bytes:
        text = to_text(block)
        edited = self._substituted_pages(text)
        if edited is None:
            try:
                edited = substitute_lines(self._rules, text, self._slices.pause_sync)
            except Cut as cut:
                raise self._failure(cut.passed) from None
        return block if edited == text else to_bytes(edited)

    def _substituted_pages(self, text: str) -> str | None:
        """Return *text* after substitution in pages; None if the rules of lines must decide."""
        stages = self._stages
        most = self._page_size
        out = list[str]()
        at = 0
        if stages is None:
            return None
        while at < len(text):
            end = text.rfind("\n", at, at + most) + 1 or text.find("\n", at) + 1 or len(text)
            page = text[at:end]
            edited = substitute_page(self._rules, stages, page)
            if edited is None:
                return None
            out.append(edited)
            at = end
            self._slices.pause_sync()
        return "".join(out)

    def _failure(self, passed: str) -> FilterError:
        reason = f"Line too long, URI {self._r.uri}"
        self._r.log("error", reason, code="AH01328", module="substitute")
        return FilterError(passed=to_bytes(passed))


class Substitute(OutputFilter):
    """Output filter SUBSTITUTE."""

    is_computed = True
    name = "SUBSTITUTE"

    def begin(self, r: Request) -> Transform:
        """Return the transform; the length of the content is no longer known."""
        r.headers_out.unset("Content-Length")
        conf = r.dir_config(SubstituteDirConfig)
        is_22 = r.plan.dialect.substitute_22
        rules = Rules(conf.patterns, NO_LIMIT if is_22 else conf.limit, is_22)
        only = r.body[0] if len(r.body) == 1 else None
        is_one_bucket = isinstance(only, FileSegment) and only.length <= MAX_MAPPED
        return Substituted(r, rules, is_one_bucket=is_one_bucket)


def add_pattern(cmd: Command, conf: SubstituteDirConfig, words: list[str]) -> None:
    """Add a pattern."""
    conf.patterns = (*own(conf, "patterns", tuple), parse(cmd, words[0]))


def set_limit(_cmd: Command, conf: SubstituteDirConfig, words: list[str]) -> None:
    """Set the maximum length of a line, in bytes or with a unit."""
    value, unit, is_cut = strtol(words[0])
    if is_cut or value < 0 or lower(unit) not in _UNITS or unit == words[0]:
        raise ConfigError(
            "SubstituteMaxLineLength must be a non-negative integer optionally suffixed with 'b', 'k', 'm' "
            "or 'g'."
        )
    value *= _UNITS[lower(unit)]
    if value > LONG_MAX:
        raise ConfigError("SubstituteMaxLineLength value too large")
    conf.limit = value


MODULE = Module(
    name="substitute_module",
    source="mod_substitute.c",
    dir_config=SubstituteDirConfig,
    dir_setters={
        "Substitute": add_pattern,
        "SubstituteMaxLineLength": set_limit,
        "SubstituteInheritBefore": set_flag("inherit_before"),
    },
    providers=(Provider("output_filter", "substitute", Substitute()),),
)

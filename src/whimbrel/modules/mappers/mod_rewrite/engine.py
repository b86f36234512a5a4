"""Execution of a list of rules: httpd's apply_rewrite_list and apply_rewrite_rule.

The code is a coroutine; a list without waiting parts runs synchronously to its end.
"""

from __future__ import annotations

from collections.abc import Coroutine
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, TypeVar

from whimbrel.http.syntax.url import escape_uri
from whimbrel.modules.mappers.mod_rewrite.compiled import CompiledRule, RuleList
from whimbrel.modules.mappers.mod_rewrite.context import Context
from whimbrel.modules.mappers.mod_rewrite.cookies import cookie, main_request, send
from whimbrel.modules.mappers.mod_rewrite.query import split_query, unsafe_question_mark
from whimbrel.modules.mappers.mod_rewrite.self_referential import fully_qualified, reduced
from whimbrel.modules.mappers.mod_rewrite.settings import Flag
from whimbrel.modules.mappers.mod_rewrite.trace import Step, steps_of
from whimbrel.modules.mappers.mod_rewrite.urls import absolute

if TYPE_CHECKING:
    from whimbrel.base.regex import Match
    from whimbrel.engine.request import Request

T = TypeVar("T")

TYPE_NOTE: Final = "rewrite-forced-mimetype"
HANDLER_NOTE: Final = "rewrite-forced-handler"
PROXY: Final = "proxy:"
PASS_THROUGH: Final = "passthrough:"
_ENDS: Final = Flag.PROXY | Flag.LAST
_SKIPPED_ON_SUB: Final = Flag.NOT_ON_SUB | Flag.FORCE_REDIRECT


class Outcome(Enum):
    """Result of a list of rules; for STATUS the request's *status* is the response's."""

    NOTHING = 0
    CHANGED = 1
    CHANGED_NO_ESCAPE = 2
    STATUS = 3


class RewriteRun:
    """One run through a list.

    Attributes:
        last: the last rule with a substitution
        end: set by the END flag
        refused: a substitution was invalid
        original: the file before the run
        args: the query before the run
    """

    __slots__ = ("args", "c", "end", "last", "original", "refused", "rules", "steps")

    def __init__(self, rules: RuleList, r: Request) -> None:
        self.rules = rules
        self.c = Context(r, rules.directory, rules.log)
        self.original = r.filename
        self.args = r.untracked_args
        self.last: CompiledRule | None = None
        self.end = False
        self.refused = False
        self.steps = steps_of(r)

    # finding the next rule ----------------------------------------------------------------------
    def _subject(self) -> str:
        """Return the text that patterns match: in a directory the file relative to it."""
        c = self.c
        r = self.c.r
        text = r.filename or ""
        if not c.directory:
            return text
        if r.path_info:
            c.log_step(3, f"add path info postfix: {text} -> {text}{r.path_info}")
            text += r.path_info
        if text.startswith(c.directory) and not (r.proxy and text.startswith(PROXY)):
            c.log_step(3, f"strip per-dir prefix: {text} -> {text[len(c.directory) :]}")
            return text[len(c.directory) :]
        return text

    def _next(self, start: int) -> tuple[int, Match | None]:
        """Return the next rule from *start* on whose pattern matches, and the match; -1 without one."""
        rules = self.rules
        if rules.every is not None or self.steps is not None:
            return self._next_logged(start)
        subject = self._subject()
        self.c.subject = subject
        sub = self.c.r.main is not None
        ready = rules.rules
        for i in rules.prefilter.candidates(subject):
            if i < start:
                continue
            rule = ready[i]
            if sub and rule.flags & _SKIPPED_ON_SUB:
                continue
            match = rule.search(subject)
            if (match is None) is rule.negated:
                return i, match
            if rule.flags & Flag.CHAIN:
                start = rules.after_chain[i]
        return -1, None

    def _next_logged(self, start: int) -> tuple[int, Match | None]:
        """Do the same as `_next` and log each tried pattern."""
        rules = self.rules
        c = self.c
        i = start
        while i < len(rules.rules):
            rule = rules.rules[i]
            if c.r.main is not None and rule.flags & _SKIPPED_ON_SUB:
                i += 1
                continue
            subject = self._subject()
            c.subject = subject
            c.log_step(3, f"applying pattern '{rule.rule.pattern}' to uri '{subject}'")
            match = rule.search(subject)
            if (match is None) is rule.negated:
                return i, match
            if self.steps is not None:
                tried = rule.rule
                self.steps.append(
                    Step(tried.place, tried.pattern, subject, c.directory, matches=False, request=c.r)
                )
            i = rules.after_chain[i]
        return -1, None

    # the list -----------------------------------------------------------------------------------
    async def all(self) -> Outcome:
        """Apply all rules in order."""
        changed = Outcome.NOTHING
        i = 0
        rounds = 1
        r = self.c.r
        while True:
            i, match = self._next(i)
            if i < 0:
                return changed
            rule = self.rules.rules[i]
            if self.steps is not None:
                self._begin_step(i)
            query = r.untracked_args
            if not await self._apply(rule, match):
                i = self.rules.after_chain[i]
                continue
            if self.c.step is not None:
                self.c.step.applied = True
                is_replaced = rule.output is not None and not self.refused
                self.c.step.result = (r.filename or "") if is_replaced else ""
                if "://" in self.c.step.result or r.untracked_args != query:
                    self.c.step.query = r.untracked_args or ""
            outcome = self._matched(rule)
            if outcome is Outcome.STATUS:
                return outcome
            changed = changed if outcome is Outcome.NOTHING else outcome
            flags = rule.flags
            if flags & Flag.PASS_THROUGH:
                self.c.log_step(
                    2, f"forcing '{r.filename}' to get passed through to next API URI-to-filename handler"
                )
                r.filename = PASS_THROUGH + (r.filename or "")
                return Outcome.CHANGED
            if flags & Flag.END:
                self.c.log_step(8, "Rule has END flag, no further rewriting for this request")
                self.end = True
                return changed
            if flags & _ENDS:
                return changed
            if flags & Flag.NEXT:
                rounds += 1
                if rounds >= rule.rule.rounds:
                    return self._too_many(rule)
                i = 0
            else:
                i += 1 + max(0, rule.rule.skip)

    def _begin_step(self, i: int) -> None:
        """Trace rule *i*, whose pattern matches."""
        rule = self.rules.rules[i].rule
        subject = self.c.subject
        also = tuple(
            later.rule.place
            for later in self.rules.rules[i + 1 :]
            if not later.negated and later.search(subject) is not None
        )
        self.c.step = Step(rule.place, rule.pattern, subject, self.c.directory, also=also, request=self.c.r)
        if self.steps is not None:
            self.steps.append(self.c.step)

    def _matched(self, rule: CompiledRule) -> Outcome:
        """Return the result of an applied rule; NOTHING without a substitution."""
        c = self.c
        r = self.c.r
        flags = rule.flags
        if rule.output is not None:
            if not self.rules.version22:
                c.log_step(2, f"setting lastsub to rule with output {rule.rule.output}")
            self.last = rule
            if r.filename is not None and len(r.filename) > 2 * r.plan.server_core.limit_line:
                r.status = 500
                return Outcome.STATUS
        for name in c.vary:
            r.headers_out.merge("Vary", name)
        if flags & Flag.STATUS or self.refused:
            return Outcome.STATUS
        if rule.output is None:
            return Outcome.NOTHING
        return Outcome.CHANGED_NO_ESCAPE if flags & Flag.NO_ESCAPE else Outcome.CHANGED

    def _too_many(self, rule: CompiledRule) -> Outcome:
        r = self.c.r
        text = (
            f"RewriteRule '{rule.rule.pattern}' and URI '{r.uri}' exceeded maximum number of rounds "
            f"({rule.rule.rounds}) via the [N] flag"
        )
        r.log("error", text, code="AH02596", module="rewrite")
        r.status = 500
        return Outcome.STATUS

    # one rule -----------------------------------------------------------------------------------
    async def _apply(self, rule: CompiledRule, match: Match | None) -> bool:
        """Apply a rule whose pattern matches; return False if a condition fails."""
        c = self.c
        r = self.c.r
        c.rule = None if rule.negated else match
        c.cond = None
        c.vary = []
        c.condition_traces = []
        if rule.conds and not await self._conditions(rule):
            return False
        values = None
        if rule.output is not None:
            values = await rule.output.values_later(c) if rule.output.waits else rule.output.values(c)
            if c.log is not None:
                c.log_step(2, f"rewrite '{c.subject}' -> '{''.join(values)}'")
        if (
            values is not None
            and rule.output is not None
            and not self.rules.version22
            and unsafe_question_mark(rule.flags, rule.output, values)
        ):
            r.log(
                "error",
                "Unsafe URL with %3f URL rewritten without UnsafeAllow3F",
                code="AH10508",
                module="rewrite",
            )
            r.status = 403
            self.refused = True
            if c.step is not None:
                c.step.refused = "".join(values)
            return True
        if rule.env or rule.cookies:
            await self._side_effects(rule)
        if values is None:
            await self._force(rule)
            if rule.flags & Flag.STATUS:
                c.log_step(2, f"forcing responsecode {rule.rule.status} for {r.filename}")
                r.status = rule.rule.status
            return True
        await self._substitute(rule, "".join(values))
        return True

    async def _conditions(self, rule: CompiledRule) -> bool:
        c = self.c
        conds = rule.conds
        i = 0
        while i < len(conds):
            cond = conds[i]
            holds = await cond.holds_later(c) if cond.waits else cond.holds(c)
            i += 1
            if cond.or_next:
                if not holds:
                    c.condition_traces.clear()
                    continue
                while cond.or_next and i < len(conds):
                    cond = conds[i]
                    i += 1
            elif not holds:
                return False
            c.vary += c.condition_traces
            c.condition_traces = []
        return True

    async def _side_effects(self, rule: CompiledRule) -> None:
        """Set variables (E) and cookies (CO)."""
        c = self.c
        r = self.c.r
        for template in rule.env:
            _set_variable(c, await template.text_later(c))
        for template in rule.cookies:
            cookie_field = cookie(await template.text_later(c), r.time, version22=self.rules.version22)
            if cookie_field is not None:
                r.set_uncacheable()
                sent = send(r, *cookie_field)
                if c.log is not None:
                    c.log(
                        main_request(r),
                        5,
                        "",
                        f"setting cookie '{cookie_field[1]}'"
                        if sent
                        else f"skipping already set cookie '{cookie_field[0]}'",
                    )

    async def _force(self, rule: CompiledRule) -> None:
        """Store the type and the handler of the flags T and H."""
        c = self.c
        r = self.c.r
        for template, note, what in (
            (rule.forced_type, TYPE_NOTE, "MIME-type"),
            (rule.forced_handler, HANDLER_NOTE, "Content-handler"),
        ):
            if template is not None:
                value = (await template.text_later(c)).lower()
                if value:
                    c.log_step(2, f"remember {r.filename} to have {what} '{value}'")
                    r.notes[note] = value

    async def _substitute(self, rule: CompiledRule, uri: str) -> None:
        """Replace the URL or file by *uri*."""
        c = self.c
        r = self.c.r
        flags = rule.flags
        old = self.rules.version22
        by_proxy = r.proxy and isinstance(r.filename, str) and r.filename.startswith(PROXY)
        if c.directory and flags & Flag.DISCARD_PATH_INFO:
            r.path_info = None
        r.filename = uri
        if old:
            split_query(c, flags, version22=True)
        self._qualify(flags, bool(by_proxy and c.directory))
        if not old:
            split_query(c, flags, version22=False)
        if flags & Flag.PROXY:
            self._to_proxy(flags)
            return
        if flags & Flag.FORCE_REDIRECT:
            r.filename = fully_qualified(r, r.filename, version22=old)
            c.log_step(2, f"explicitly forcing redirect with {r.filename}")
            r.status = rule.rule.status
            return
        shorter = reduced(r, r.filename)
        if shorter is not None:
            c.log_step(3, f"reduce {r.filename} -> {shorter}", in_directory=False)
            r.filename = shorter
        if absolute(r.filename, version22=old)[0]:
            c.log_step(
                2, f"implicitly forcing redirect (rc={rule.rule.status}{')' if old else ''} with {r.filename}"
            )
            r.status = rule.rule.status
            return
        if rule.forced_type is not None or rule.forced_handler is not None:
            await self._force(rule)

    def _qualify(self, flags: int, by_proxy: bool) -> None:
        """Make a relative result absolute: below the directory, or (2.4) below the root."""
        c = self.c
        r = self.c.r
        text = r.filename or ""
        if text.startswith("/") or by_proxy or absolute(text, version22=self.rules.version22)[0]:
            return
        if c.directory:
            c.log_step(3, f"add per-dir prefix: {text} -> {c.directory}{text}")
            r.filename = c.directory + text
        elif not self.rules.version22 and not flags & (Flag.PROXY | Flag.FORCE_REDIRECT):
            c.log_step(3, f"add root prefix: {text} -> /{text}")
            r.filename = "/" + text

    def _to_proxy(self, flags: int) -> None:
        c = self.c
        r = self.c.r
        name = r.filename or ""
        # 2.2 has put the URLs of mod_proxy in canonical form before; 2.4 does so later
        if self.rules.version22 and c.directory and not flags & Flag.NO_ESCAPE:
            before, name = name, escape_uri(name)
            c.log_step(2, f"escaped URI in per-dir context for proxy, {before} -> {name}")
        name = fully_qualified(r, name, version22=self.rules.version22)
        c.log_step(2, f"forcing proxy-throughput with {name}")
        r.filename = PROXY + name
        r.notes["rewrite-proxy"] = "1"


def _set_variable(c: Context, text: str) -> None:
    env = c.r.env
    if text.startswith("!"):
        c.log_step(5, f"unsetting env variable '{text[1:]}'", in_directory=False)
        env.pop(text[1:], None)
        return
    name, _, value = text.partition(":")
    c.log_step(5, f"setting env variable '{name}' to '{value}'", in_directory=False)
    env[name] = value


def run_now(work: Coroutine[Any, Any, T]) -> T:
    """Return the result of *work*, a coroutine that never waits."""
    try:
        work.send(None)
    except StopIteration as done:
        value: T = done.value
        return value
    raise RuntimeError("a rule waits that was said not to")

"""Requests for the texts that separate two patterns."""

from __future__ import annotations

import ipaddress
import re
import time
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from whimbrel.base.latin1 import to_bytes
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.http.syntax.url import escape_uri
from whimbrel.verify.config_lines import ConfigLine, LineScope, ServedPaths, SideLines, lines_of
from whimbrel.verify.derive.conditions import condition_facts
from whimbrel.verify.derive.facts import Facts
from whimbrel.verify.derive.targets import NEUTRAL, Targets, rule_texts
from whimbrel.verify.patterns.pairs import PatternPair
from whimbrel.verify.patterns.uses import DIRECTORY, FILE, RELATIVE, URL, rewriting_of

MAX_REQUESTS: Final = 60
"""Requests of one pair of patterns for one server."""
_MAX_BASES: Final = 3
_REQUEST_LINE: Final = re.compile(r"([A-Z]+) (\S+) (HTTP/1\.[01])")
_FIELD_NAME: Final = re.compile(r"[A-Za-z0-9-]+")
_SETTERS: Final = {"setenvif": 2, "setenvifnocase": 2, "browsermatch": 1, "browsermatchnocase": 1}
_TIME: Final = {"time_year": 0, "time_mon": 1, "time_day": 2, "time_hour": 3, "time_min": 4, "time_sec": 5}


@dataclass(frozen=True, slots=True)
class PatternRequest:
    """A request as changes of a probe; *now* is the time that it needs, None for any.

    *directory* must exist for it, "" for none.
    """

    target: str
    facts: Facts = Facts()
    now: float | None = None
    directory: str = ""


def requests_of(
    pair: PatternPair, lines: SideLines, served: ServedPaths, now: float
) -> Iterator[PatternRequest]:
    """Yield requests whose text at the place of *pair* separates its patterns; *now* is any time."""
    builder = _Builder(pair, lines, served, now)
    found = dict.fromkeys(islice(builder.requests(), 4 * MAX_REQUESTS))
    yield from islice(found, MAX_REQUESTS)


class _Builder:
    def __init__(self, pair: PatternPair, lines: SideLines, served: ServedPaths, now: float) -> None:
        self.pair = pair
        self.lines = lines
        self.served = served
        self.now = now
        self.targets = Targets(lines, served)
        self.scope = pair.scopes[1]
        self.subject = pair.uses[1].subject
        around = self.scope if pair.lines is not None else self.scope.outer
        self.bases = list(islice(dict.fromkeys(self.targets.bases(around)), _MAX_BASES)) or ["/"]

    def requests(self) -> Iterator[PatternRequest]:
        """Yield the requests of all separating texts, those of both directions in turn."""
        texts = self.pair.texts
        line = self.pair.lines[1] if self.pair.lines is not None else None
        if line is not None and line.name in ("rewriterule", "rewritecond"):
            for text in texts:
                yield from self._of_rewriting(line, text)
            return
        for text in texts:
            for request in self._of_text(text):
                yield from self._placed(request)

    def _of_text(self, text: str) -> Iterator[PatternRequest]:
        """Yield requests that have *text* as the subject; an empty target stands for any."""
        low = self.subject.lower()
        if low in (URL, "request_uri"):
            if text.startswith("/"):
                yield PatternRequest(escape_uri(text))
        elif low in (RELATIVE, FILE):
            for base in self.bases:
                yield PatternRequest(base.rstrip("/") + "/" + escape_uri(text))
        elif low in (DIRECTORY, "request_filename", "script_filename"):
            directory = text.rstrip("/") + "/"
            for url in self.served.urls_of(text)[:_MAX_BASES]:
                yield PatternRequest(escape_uri(url))
                if low == DIRECTORY:
                    yield PatternRequest(escape_uri(url.rstrip("/") + "/"), directory=directory)
                    yield PatternRequest(escape_uri(url.rstrip("/") + "/" + NEUTRAL), directory=directory)
        elif low.startswith("time"):
            moment = _moment(low, text, self.now)
            if moment is not None:
                yield PatternRequest("", Facts(), moment)
        elif low == "the_request":
            found = _REQUEST_LINE.fullmatch(text)
            if found is not None:
                yield PatternRequest(found[2], Facts(method=found[1], protocol=found[3]))
        else:
            facts = _facts(self.subject, text)
            if facts is not None:
                yield PatternRequest("", facts)

    def _placed(self, request: PatternRequest) -> Iterator[PatternRequest]:
        """Yield *request* with targets where the line matters, if any target serves it."""
        if request.target:
            yield request
            return
        for target in self._places():
            yield PatternRequest(target, request.facts, request.now)

    def _places(self) -> list[str]:
        """Return targets in the scope of the line, and where the variables that it sets are named."""
        found = dict.fromkeys(self.bases)
        line = self.pair.lines[1] if self.pair.lines is not None else None
        for scope in _readers(self.lines.scopes, line) if line is not None else ():
            found.update(dict.fromkeys(islice(self.targets.bases(scope), _MAX_BASES)))
            for one in islice(self.targets.of_scopes([scope]), 40):
                if one.facts.is_empty or one.is_exact:
                    found.setdefault(one.target)
        return list(islice(found, 20))

    def _of_rewriting(self, line: ConfigLine, text: str) -> Iterator[PatternRequest]:
        """Yield requests that meet the rule and the other conditions of *line*, and have *text* there."""
        lines = rewriting_of(line)
        rule = lines[-1]
        facts = [Facts()]
        for one in lines[:-1]:
            words = one.words()
            if one is not line and len(words) > 1:
                choices = condition_facts(words[0], words[1])
                facts = [before.joined(choice) for before in facts[:2] for choice in choices[:2]]
        requests = list(self._of_text(text))
        if line is not rule:
            targets = list(self._targets_of_rule(rule))
            requests = [
                PatternRequest(request.target or target, request.facts, request.now, request.directory)
                for request in requests
                for target in targets
            ]
        for request in requests:
            for one_facts in facts:
                joined = one_facts.joined(request.facts)
                yield PatternRequest(request.target, joined, request.now, request.directory)
            yield request

    def _targets_of_rule(self, rule: ConfigLine) -> Iterator[str]:
        words = rule.words()
        texts = rule_texts(words[0].lstrip("!"), _MAX_BASES) if words else []
        for base in self.bases:
            for text in texts or [""]:
                if to_bytes(text).isascii():
                    yield base.rstrip("/") + escape_uri("/" + text.lstrip("/"))
            yield base


def _readers(scopes: Iterable[LineScope], line: ConfigLine) -> Iterator[LineScope]:
    """Yield the scopes with lines that name a variable that *line* sets."""
    words = line.words()[_SETTERS.get(line.name, len(line.words())) :]
    names = {word.lstrip("!").partition("=")[0].lower() for word in words} - {""}
    if not names:
        return
    pattern = re.compile("|".join(rf"(?<![\w-]){re.escape(name)}(?![\w-])" for name in sorted(names)))
    for scope in scopes:
        if any(one is not line and pattern.search(one.args.lower()) for one in lines_of([scope])):
            yield scope


def _facts(subject: str, text: str) -> Facts | None:
    """Return the facts under which a variable or field has *text*; None if no request can give it."""
    low = subject.lower()
    if low == "http_host" or low == "host":
        return Facts(host=text) if text else None
    if low in ("query_string", "args"):
        return Facts(query=text)
    if low == "request_method":
        return Facts(method=text) if text else None
    if low in ("request_protocol", "server_protocol"):
        return Facts(protocol=text)
    if low == "remote_host":
        return Facts(client_host=text)
    if low == "remote_addr":
        try:
            return Facts(client=str(ipaddress.ip_address(text)))
        except ValueError:
            return None
    return Facts(((subject, text),)) if _FIELD_NAME.fullmatch(subject) else None


def _moment(name: str, text: str, now: float) -> float | None:
    """Return a time whose variable *name* is *text*, None if there is none."""
    values = list(time.localtime(now)[:6])
    if name == "time_wday":
        return next(
            (day for number in range(7) if _wday(day := now + 86400 * number) == text),
            None,
        )
    if name in _TIME and re.fullmatch("[0-9]{1,4}", text):
        values[_TIME[name]] = int(text)
    elif name == "time" and re.fullmatch("[0-9]{14}", text):
        values = [int(text[:4]), *(int(text[at : at + 2]) for at in range(4, 14, 2))]
    else:
        return None
    try:
        moment = time.mktime((values[0], values[1], values[2], values[3], values[4], values[5], 0, 0, -1))
    except (OverflowError, ValueError):
        return None
    return moment if list(time.localtime(moment)[:6]) == values else None


def _wday(moment: float) -> str:
    return time.strftime("%w", time.localtime(moment))

"""What a process needs to know to replay pieces of a log; and the replay of one piece."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from itertools import count
from operator import itemgetter
from typing import Any, Final, NamedTuple

from whimbrel.base.bounded_dict import BoundedDict
from whimbrel.base.latin1 import from_system, to_text
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.numbers import lower
from whimbrel.config.options import LoadOptions
from whimbrel.engine.specialized.split_path import LineParts, logged_parts
from whimbrel.explain.request_description import CLIENT, host_table, place_of
from whimbrel.replay.answers import EVERY_CLIENT, MAX_TAILS, FastAnswer, SideAnswers, Tail
from whimbrel.replay.causes import UNEXPLAINED, ChangeCauses, status_reason
from whimbrel.replay.configured_formats import HOSTS
from whimbrel.replay.host_logs import HostLogs, LogOwners
from whimbrel.replay.log_files import MAX_LINE, LogPiece
from whimbrel.replay.log_format import LineFormat, LoggedRequest, best_format
from whimbrel.replay.tally import MAX_EXAMPLES, NOT_RUN, UNAUTHORIZED, ChangeKey, HostlessLines, Tally
from whimbrel.verify.digest_user import by_digest
from whimbrel.verify.loading import load_side
from whimbrel.verify.named_requests import MAX_REQUESTS, request_of
from whimbrel.verify.probe import Probe, ProbeUser, TlsFacts
from whimbrel.verify.request_words import request_words
from whimbrel.verify.side import Side

MAX_KNOWN: Final = 200_000  # distinct requests whose answers are remembered, each some 500 bytes
MAX_HOSTS: Final = 6  # virtual hosts that a sentence names
MAX_PAIRS: Final = 1024  # pairs of responses that many requests get
MAX_PAIR_BYTES: Final = 32 * 1024  # of a pair that is remembered
MAX_REASONS: Final = 40  # reasons of statuses that were not logged, each an explanation
MAX_TAIL_BYTES: Final = 2048  # of a tail that is remembered
PLAIN_LINE: Final = re.compile(rb"(?:GET|HEAD) [!-\[\]-~]+ HTTP/1\.[01]").fullmatch
_BYTE: Final = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
IPV4: Final = re.compile(rf"{_BYTE}(?:\.{_BYTE}){{3}}").fullmatch
CLIENT_BYTES: Final = CLIENT.encode("ascii")
SAMPLE: Final = 200  # lines by which the format of a piece is found


class LoadFailure(Exception):
    """A configuration does not load; *errors* are the messages that httpd prints."""

    def __init__(self, errors: tuple[str, ...]) -> None:
        super().__init__("; ".join(errors))
        self.errors = errors


@dataclass(frozen=True, slots=True)
class SideOptions:
    """One configuration: options of reading, dialect, name in reports."""

    options: LoadOptions
    dialect: str
    name: str


@dataclass(frozen=True, slots=True)
class ReplayWork:
    """The work on any piece; it can be pickled.

    Attributes:
        formats: texts of LogFormat, tried in this order.
        now: the time of all answers, seconds since the epoch.
        host: of lines whose format has none. `with_fields`: send User-Agent and Referer of the lines.
        with_hours: count the requests of each hour.
    """

    old: SideOptions
    new: SideOptions
    formats: tuple[str, ...]
    now: float
    host: str = ""
    with_fields: bool = False
    with_hours: bool = False


class ReplayOutcome(NamedTuple):
    """Both sides' answer to one distinct request.

    *change* is None if they agree; *lists*: see `FastAnswer`, those of both sides.
    """

    old: int
    new: int
    change: ChangeKey | None
    lists: tuple[Any, ...] | None
    is_missing: bool


class Replayer:
    """One process's sides, and the answers that it remembers.

    Key: the values of a line that a request is made of, and for answers that depend on the client its
    membership in the lists concerned, or its address. Value: `ReplayOutcome`; changes are remembered for one
    piece only, since their causes are found for each piece. Bound: MAX_KNOWN. Eviction: all at once.
    """

    def __init__(self, work: ReplayWork, loaded: tuple[Side, Side] | None = None) -> None:
        """*loaded* is the result of `load`, if that was called before; raises LoadFailure."""
        self.work = work
        self.old, self.new = loaded if loaded is not None else self.load(work)
        self.answers = SideAnswers(self.old), SideAnswers(self.new)
        self._formats = [
            LineFormat.compile(text, with_fields=work.with_fields, with_hours=work.with_hours)
            for text in work.formats
        ]
        self._known: BoundedDict[Any, ReplayOutcome] = BoundedDict(MAX_KNOWN)
        self._of_piece: dict[Any, ReplayOutcome] = {}
        self._tails: BoundedDict[Any, Tail] = BoundedDict(MAX_TAILS)
        self._count_of_tails = count()
        self._pairs: BoundedDict[tuple[object, object], ReplayOutcome] = BoundedDict(MAX_PAIRS)
        self._others_of: Callable[[Any], Any] = _no_others
        self._hosts = host_table(self.new.loaded)
        self._owners = LogOwners()
        self._logs: HostLogs | None = None
        self._causes = ChangeCauses(self.old, self.new)

    @staticmethod
    def load(work: ReplayWork) -> tuple[Side, Side]:
        """Return both sides; raises LoadFailure if one does not load."""
        sides = [
            load_side(side.options, side.dialect, name=side.name, now=work.now)
            for side in (work.old, work.new)
        ]
        errors = [f"{side.name}: {error.text}" for side in sides for error in side.errors]
        if errors:
            raise LoadFailure(tuple(dict.fromkeys(errors)))
        return sides[0], sides[1]

    def run(self, piece: LogPiece) -> Tally:
        """Return the tally of one piece; raises OSError if it cannot be read."""
        data = piece.read()
        for answers in self.answers:
            answers.next_piece()
        self._causes.next_piece()
        self._of_piece.clear()
        tally = Tally(lines=data.count(b"\n") + (not data.endswith(b"\n") and bool(data)))
        sample = data[: SAMPLE * 256].split(b"\n", SAMPLE)[:SAMPLE]
        form = best_format(self._formats, [line.rstrip(b"\r") for line in sample])
        if form is None:
            form = best_format(self._formats, data.split(b"\n")) or self._formats[0]
        self._take_host(form, piece.path)
        # the end of the last line is no line of its own
        found: Any = form.pattern.findall(data, 0, len(data) - data.endswith(b"\n")) if data else []
        if len(form.names) == 1:
            found = [(value,) for value in found]
        counts: Counter[tuple[bytes, ...]] = Counter(found)
        if len(found) != tally.lines:
            _count_bad(tally, form, data, tally.lines - len(found))
        self._count(tally, form, counts, data)
        self._count_hostless(tally, form, counts)
        return tally

    def _take_host(self, form: LineFormat, path: str) -> None:
        """Find whose requests the lines of a piece of the log at *path* are that name no host."""
        found = LogOwners()
        if not self.work.host and HOSTS.isdisjoint(form.names):
            if self._logs is None:
                self._logs = HostLogs(self.new)
            found = self._logs.owners(form, from_system(path))
        if found.host != self._owners.host:
            self._known.clear()  # the keys of both do not have the host
            self._tails.clear()
        self._owners = found

    def _count(self, tally: Tally, form: LineFormat, counts: Counter[tuple[bytes, ...]], data: bytes) -> None:
        """Add the requests of distinct lines of *data*, with their numbers."""
        client_at = form.position("client")
        status_at = form.position("status")
        self._others_of = itemgetter(*form.others) if form.others else _no_others
        hour_at = form.position("hour")
        own = [at for at in range(len(form.names)) if at not in (client_at, status_at, hour_at)]
        key_of = itemgetter(*own)
        has_user = form.position("user") is not None
        find = self._of_piece.get
        statuses = tally.statuses
        is_against_log = self.work.old == self.work.new
        for values, number in counts.items():
            client = values[client_at] if client_at is not None else CLIENT_BYTES
            logged = values[status_at] if status_at is not None else b""
            key: tuple[Any, ...] = (key_of(values), has_user and logged == b"401")
            outcome = find(key)
            if outcome is not None and outcome.lists != EVERY_CLIENT:
                key = (*key, _class(outcome.lists, to_text(client)))
                outcome = find(key)
            if outcome is None:
                outcome = self._outcome(tally, form, values, key, to_text(client))
                if outcome is None:
                    tally.without_request += number
                    if len(tally.malformed_examples) < MAX_EXAMPLES:
                        tally.note_bad(_line_with(form, data, values))
                    continue
            status = int(logged) if logged.isdigit() else 0
            tally.requests += number
            statuses[status, outcome.old, outcome.new] += number
            if hour_at is not None:
                is_changed = outcome.change is not None and not outcome.change.rule  # else cosmetic
                if is_against_log:
                    is_changed = outcome.new != NOT_RUN and status not in (0, outcome.new)
                tally.count_hour(values[hour_at], number, is_changed=is_changed)
            if outcome.is_missing and 200 <= status < 400:
                tally.missing += number
            if outcome.change is not None or (
                status != outcome.new and (status, outcome.new) not in tally.status_examples
            ):
                self._note(tally, outcome, form.request(values), number)

    def _count_hostless(self, tally: Tally, form: LineFormat, counts: Counter[tuple[bytes, ...]]) -> None:
        """Count the requests whose host the log does not have, and whose host was found for it, or where it
        may be one of several.
        """
        of_host = self._owners.host
        names = self._owners.names
        if of_host is None and len(names) < 2:
            return
        at = form.position("request")
        named = 0
        if at is not None:  # a request of a proxy's client names the host itself
            named = sum(count for values, count in counts.items() if b" http" in values[at])
        left = tally.requests - named
        if left > 0 and of_host is not None:
            tally.taken_for[of_host.sentence(self.new.options.server_root)] += left
        elif left > 0:
            lines = HostlessLines(self._default_host, len(names), names[:MAX_HOSTS], self._owners.what)
            tally.hostless[lines] += left

    @property
    def _default_host(self) -> str:
        """The host of lines that name none."""
        return self.work.host or self.new.loaded.main.name or "localhost"

    def _outcome(
        self, tally: Tally, form: LineFormat, values: tuple[bytes, ...], key: tuple[Any, ...], client: str
    ) -> ReplayOutcome | None:
        """Return the outcome of a request that is new in its piece; None for a line without a request."""
        outcome = self._known.get(key[:2])
        if outcome is not None and outcome.lists != EVERY_CLIENT:
            outcome = self._known.get((*key[:2], _class(outcome.lists, client)))
        if outcome is None:
            outcome = self._answer(form, values, key)
            if outcome is None:
                return None
        tally.distinct += 1
        if outcome.change is not None:
            tally.change(outcome.change).distinct += 1
        stores: tuple[dict[Any, ReplayOutcome], ...] = (self._of_piece, self._known)
        for store in stores[: 1 if outcome.change is not None else 2]:
            if outcome.lists == EVERY_CLIENT:
                store[key] = outcome
                continue
            # The first entry says on which lists answers to the request depend: those of all its answers, so
            # that an address class of n elements is always about the first n of them.
            first = store.get(key[:2], outcome)
            lists = _union(first.lists, outcome.lists)
            store[key[:2]] = outcome._replace(lists=lists)
            store[(*key[:2], _class(lists, client))] = outcome
        return outcome

    def _note(self, tally: Tally, outcome: ReplayOutcome, request: LoggedRequest | None, number: int) -> None:
        """Count for whom an answer changes, and store examples."""
        assert request is not None
        if request.status != outcome.new:
            example = (request.status, outcome.new)
            if example not in tally.status_examples:
                probe = self._probe(request)
                tally.status_examples[example] = str(probe)
                if outcome.new != NOT_RUN and len(tally.status_reasons) < MAX_REASONS:
                    reason = status_reason(self.new, probe, outcome.new)
                    if reason is not None:
                        tally.status_reasons[example] = reason
        if outcome.change is None:
            return
        change = tally.change(outcome.change)
        change.requests += number
        change.clients[request.client] += number
        change.hosts[request.host or "-"] += number
        change.paths[request.target.partition("?")[0]] += number
        if request.user:
            change.users[request.user] += number
        if not outcome.change.new and len(change.named_requests) <= MAX_REQUESTS:
            what = outcome.change.what.removesuffix(UNEXPLAINED)
            change.named_requests[request_of(self._probe(request).request_text, what)] = None
        if len(change.examples) < MAX_EXAMPLES:
            probe = self._probe(request)
            change.words = change.words or request_words(probe)
            shown = str(probe)
            if shown not in change.examples:
                change.examples.append(shown)

    def _answer(
        self, form: LineFormat, values: tuple[bytes, ...], key: tuple[Any, ...]
    ) -> ReplayOutcome | None:
        """Ask both sides; return None for a line without a request."""
        at = form.position("request")
        client_at = form.position("client")
        line = values[at] if at is not None else b""
        client = to_text(values[client_at]) if client_at is not None else CLIENT
        tail = None
        request = None
        name = ""
        if at is not None and _is_address(client):
            parts = logged_parts(line)
            if parts is not None or PLAIN_LINE(line) is not None:
                tail_key = (form.text, self._others_of(values), key[1])
                tail = self._tails.get(tail_key)
                if tail is None:
                    request = form.request(values)
                    if request is not None:
                        tail = self._tail(self._probe(request))
                        if len(tail.data) <= MAX_TAIL_BYTES:
                            self._tails[tail_key] = tail
                elif parts is not None:
                    outcome = self._named(line, parts, tail, client)
                    if outcome is not None:
                        return outcome
        if tail is None:
            request = form.request(values)
            if request is None:
                return None
            probe = self._probe(request)
            tail = self._tail(probe)
            line = _line(probe)
            client = probe.client
            name = probe.client_host
        raw = line + tail.data
        old, new = (answers.reply(raw, client, tail, name) for answers in self.answers)
        is_digest = tail.user is not None and old.asks_for_digest and new.asks_for_digest
        if not is_digest and old.agrees_with(new):
            return _outcome(old, new, None)
        request = form.request(values)
        if request is None:
            return _outcome(old, new, None)
        probe = self._probe(request)
        if is_digest:
            probe = by_digest(probe)
            old, new = (answers.reply_to_challenge(probe) for answers in self.answers)
        change = None if old.agrees_with(new) else self._causes.change(probe, old, new)
        return _outcome(old, new, change)

    def _named(self, line: bytes, parts: LineParts, tail: Tail, client: str) -> ReplayOutcome | None:
        """Return the outcome of a request that stored answers and specialized functions answer alike, else
        None.
        """
        of_old, of_new = self.answers
        old = of_old.named(line, parts, tail, client)
        new = of_new.named(line, parts, tail, client) if old is not None else None
        if old is None or new is None:
            return None
        (old_response, old_shared) = old
        (new_response, new_shared) = new
        # if the responses of two answers to one path agree, those to all paths do
        pair = old_shared, new_shared
        outcome = self._pairs.get(pair)
        if outcome is None:
            answers = of_old.fast(old_response), of_new.fast(new_response)
            if not answers[0].agrees_with(answers[1]):
                return None
            outcome = _outcome(*answers, None)
            if None not in pair and old_response.weight + new_response.weight <= MAX_PAIR_BYTES:
                self._pairs[pair] = outcome
        return outcome

    def _tail(self, probe: Probe) -> Tail:
        data = probe.head()[len(_line(probe)) :]
        return Tail(data, probe.address, probe.port, probe.user, probe.tls, next(self._count_of_tails))

    def _probe(self, request: LoggedRequest) -> Probe:
        of_host = self._owners.host if not request.host else None
        if of_host is None:
            host = request.host or self._default_host
            address, port = place_of(self.new.loaded, host, request.port == 443, self._hosts)
            place = address, request.port or port
        else:
            host = of_host.name
            place = of_host.address, of_host.port
        port_text = f":{place[1]}" if place[1] not in (80, 443) else ""
        user = None
        if request.user:
            is_valid = request.status != UNAUTHORIZED
            user = ProbeUser(request.user, is_password_valid=is_valid, is_assumed=True, has_file_groups=True)
        return Probe(
            request.target,
            request.method,
            request.host_field or host + port_text,
            place[0],
            place[1],
            request.client if _is_address(request.client) else CLIENT,
            client_host="" if _is_address(request.client) else request.client,
            user=user,
            fields=request.fields,
            tls=TlsFacts(lower(host)) if self.new.probing.takes_tls(*place) else None,
            protocol=request.protocol if request.protocol in ("HTTP/1.0", "HTTP/1.1") else "HTTP/1.1",
        )


def _no_others(_values: object) -> tuple[bytes, ...]:
    return ()


def _line(probe: Probe) -> bytes:
    return probe.head().partition(b"\r\n")[0]


def _class(lists: tuple[Any, ...] | None, client: str) -> tuple[bool | str, ...]:
    """Return the address class of *client*: a key's last element for answers that depend on the client."""
    if lists is None:
        return (client,)
    address = client if _is_address(client) else CLIENT
    return tuple([address in addresses for addresses in lists])


def _union(first: tuple[Any, ...] | None, other: tuple[Any, ...] | None) -> tuple[Any, ...] | None:
    """Return the lists of both in a stable order; None if the client itself matters."""
    if first is None or other is None:
        return None
    return (*first, *(each for each in other if all(each is not known for known in first)))


def _outcome(old: FastAnswer, new: FastAnswer, change: ChangeKey | None) -> ReplayOutcome:
    is_missing = old.is_missing and new.is_missing
    return ReplayOutcome(old.status, new.status, change, _both(old, new), is_missing)


def _both(old: FastAnswer, new: FastAnswer) -> tuple[Any, ...] | None:
    if old.lists is None or new.lists is None:
        return None
    return (*old.lists, *new.lists)


def _is_address(text: str) -> bool:
    return IPV4(text) is not None or _is_other_address(text)


@lru_cache(maxsize=65536)
def _is_other_address(text: str) -> bool:
    import ipaddress

    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _line_with(form: LineFormat, data: bytes, values: tuple[bytes, ...]) -> bytes:
    """Return the first line of *data* that has *values*, as it stands in the log."""
    lines = form.pattern.finditer(data, 0, len(data) - data.endswith(b"\n"))
    return next((found[0].rstrip(b"\r") for found in lines if found.groups(b"") == values), b"")


def _count_bad(tally: Tally, form: LineFormat, data: bytes, left: int) -> None:
    """Count the lines that have another form, *left* in number, and show the first."""
    for line in data.split(b"\n"):
        if left <= 0:
            break
        if form.pattern.fullmatch(line) is not None or (not line and not data):
            continue
        left -= 1
        if len(line) > MAX_LINE:
            tally.huge += 1
        else:
            tally.malformed += 1
        tally.note_bad(line)

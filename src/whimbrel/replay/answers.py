"""Fast answers of one configuration to logged requests: the response cache and the specialized functions of
an ordinary engine, and the general path behind them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Container
from typing import Any, Final, NamedTuple

from whimbrel.config.core_config import CoreServerConfig
from whimbrel.engine.body import release
from whimbrel.engine.connection import Connection
from whimbrel.engine.input.body import RequestBody
from whimbrel.engine.output.headers import final_request
from whimbrel.engine.parser_limits import head_limits, head_rules
from whimbrel.engine.programs import without_programs
from whimbrel.engine.response import Response
from whimbrel.http.syntax.head import InputState, read_head
from whimbrel.replay.tally import NOT_RUN
from whimbrel.verify.assumptions import USER_KEY
from whimbrel.verify.probe import ProbeUser
from whimbrel.verify.side import Side

EXTERNAL_HANDLERS: Final = frozenset(("cgi-script", "fcgid-script", "fastcgi-script", "proxy-server"))
TICK: Final = 1 << 40
"""First number of the ticks of replays: in one tick files are checked once."""
EVERY_CLIENT: Final[tuple[Container[str], ...]] = ()


class FastAnswer(NamedTuple):
    """A response as far as replays compare it at first.

    Attributes:
        status: NOT_RUN for a program or back end.
        head: what identifies the response: its status line and fields, or the handler and its target.
        lists: the answer depends on which of these contain the client; None: on the client itself.
        is_missing: the file does not exist.
    """

    status: int
    head: tuple[bytes, bytes]
    lists: tuple[Container[str], ...] | None
    is_missing: bool = False


class SideAnswers:
    """The answers of one side; *tick* changes when files may have changed."""

    def __init__(self, side: Side) -> None:
        self.side, self.engine = side, side.engine
        server = self.engine.main.config(CoreServerConfig)
        self._limits = head_limits(server)
        self._rules = head_rules(server, self.engine.configuration)
        self._connections: dict[tuple[str, int], tuple[Connection, Any]] = {}
        self._statuses: dict[bytes, int] = {}
        self.tick = TICK

    def next_piece(self) -> None:
        """Check files anew from here on."""
        self.tick += 1
        stats = self.engine.stat_cache
        stats.known.clear()
        stats.in_tick, stats.tick = True, self.tick

    def reply(self, raw: bytes, client: str, address: str, port: int, user: ProbeUser | None) -> FastAnswer:
        """Return the reply to the head *raw*."""
        found = self._connections.get((address, port))
        if found is None:
            if len(self._connections) >= MAX_ADDRESSES:
                self._connections.clear()
            index = self.engine.response_cache.index(address, port)
            found = self._connections[address, port] = Connection(client, 50000, address, port), index
        connection, index = found
        connection.client_ip = client
        entry, _head = index.lookup(connection, raw, self._limits, self.tick)
        if entry is None:
            return self._general(raw, client, address, port, user)
        lists = None if entry.client is not None else entry.address_lists
        status = self._status(entry.head_prefix)
        return FastAnswer(status, (entry.head_prefix, entry.head_suffix), lists, status == 404)

    def _status(self, line: bytes) -> int:
        status = self._statuses.get(line)
        if status is None:
            words = line.split(b" ", 2)
            status = self._statuses[line] = int(words[1]) if len(words) > 1 and words[1].isdigit() else 200
        return status

    def _general(
        self, raw: bytes, client: str, address: str, port: int, user: ProbeUser | None
    ) -> FastAnswer:
        engine = self.engine
        head = read_head(raw, self._limits, self._rules, ending=InputState.EOF)
        if head is None:
            return FastAnswer(400, (b"", b""), EVERY_CLIENT)
        engine.worker_state[USER_KEY] = user
        connection = Connection(client, 50000, address, port)
        with without_programs():
            result: Any = engine.respond(connection, head, RequestBody(0))
            response: Response = result if isinstance(result, Response) else asyncio.run(_wait(result))
            response.on_sent(0)
        for part in response.parts:
            release(part)
        r = final_request(response.request)
        handler = r.handler or ""
        deps = r.deps
        lists = None if deps.is_uncacheable or deps.on_client else deps.address_lists
        if r.proxy or handler in EXTERNAL_HANDLERS or handler.startswith("proxy:"):
            if r.handled_by is not None:
                target = (handler.encode("latin-1"), (r.filename or "").encode("latin-1"))
                return FastAnswer(NOT_RUN, target, lists)
        status = self._status(response.head_prefix)
        return FastAnswer(status, (response.head_prefix, response.head_suffix), lists, status == 404)


async def _wait(result: Any) -> Any:
    return await result


MAX_ADDRESSES: Final = 256

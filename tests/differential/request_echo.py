"""A handler that answers with all that it sees of its request: what a prepared request must reproduce."""

from __future__ import annotations

import dataclasses
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

from whimbrel.engine.deps.files import stat_signature
from whimbrel.engine.request import Request
from whimbrel.modules import ALL
from whimbrel.registry.module import CompiledHook, Hook, Module, Order, Scope
from whimbrel.registry.phases import DECLINED, HANDLER, OK, HookStatus

SKIPPED = frozenset(("engine", "head", "log_id", "preparation", "body_factory", "head_bytes", "bytes_sent"))


def _plan(plan: Any) -> object:
    return [str(layer.place) for layer in plan.layers], plan.server_rec.name


def _merges(merges: Any) -> object:
    if merges is None:
        return None
    walks = (merges.early, merges.directory, merges.files, merges.location, *merges.ifs)
    return merges.by_file, [None if walk is None else (len(walk.layers), walk.key) for walk in walks]


def _deps(deps: Any) -> object:
    return deps.on_client, deps.on_query, deps.clock_fields, deps.nested, deps.lookups


def _headers(headers: Any) -> object:
    names = sorted(getattr(headers, "accessed", ())), sorted(getattr(headers, "tests", ()))
    return [*headers.entries().values()], names, getattr(headers, "all_fields_used", None)


VIEWS: dict[str, Any] = {
    "plan": _plan,
    "merges": _merges,
    "deps": _deps,
    "headers_in": _headers,
    "headers_out": lambda headers: headers.items(),
    "err_headers_out": lambda headers: headers.items(),
    # the directory of a missing file is another in a walk that is cached
    "directory_walk": lambda walk: None if walk is None else _plan(walk.after),
    "handled_by": lambda phase: None if phase is None else len(phase.hooks),
    "finfo": lambda info: None if info is None else stat_signature(info),
    "env": lambda env: (type(env).__name__, list(env.items())),
    "output_filters": lambda chain: [each.name for each in chain],
    "input_filters": lambda chain: [each.name for each in chain],
    "server": lambda server: server.name,
    "body_in": lambda body: (type(body).__name__, body.length, body.length == 0 or body.limit, body.count),
    "connection": lambda c: (c.client_ip, c.useragent_ip, c.user_port, c.notes, c.served, c.local_port),
    # a note of the first request that reads a .htaccess file is the walk's own
    "notes": lambda notes: {name: note for name, note in notes.items() if not name.startswith("htaccess ")},
    "log_lines": lambda lines: [(line.level, line.text, line.code, line.module) for line in lines],
}


def seen(r: Request) -> str:
    """Return every attribute of a request as text."""
    out = []
    for name in sorted(set(Request.__slots__) - SKIPPED):
        value = getattr(r, name)
        out.append(f"{name}: {VIEWS.get(name, repr)(value)!r}")
    return "\n".join(out).encode("ascii", "backslashreplace").decode() + "\n"


def is_echoed(uri: str) -> bool:
    """Return True if the echo answers for a path; all other handlers answer for the rest."""
    return zlib.crc32(uri.encode("latin-1", "replace")) % 4 != 0


async def echo(r: Request) -> HookStatus:
    """Answer with the request itself."""
    if r.main is not None or r.prev is not None or not is_echoed(r.uri):
        return DECLINED
    r.set_uncacheable()
    text = seen(r)
    body = await r.body_in.read_all()
    r.content_type = "text/plain"
    r.write(text + f"body: {body!r}\n")
    return OK


def _make(_scope: Scope) -> CompiledHook:
    return CompiledHook(echo, is_async=True)


class EchoModules(Mapping[str, Module]):
    """All modules, with the echo before the handlers of the core."""

    def __getitem__(self, name: str) -> Module:
        module = ALL[name]
        if name != "core":
            return module
        return dataclasses.replace(module, hooks=(*module.hooks, Hook(HANDLER, _make, Order.REALLY_FIRST)))

    def __iter__(self) -> Iterator[str]:
        return iter(ALL)

    def __len__(self) -> int:
        return len(ALL)


ECHOING = EchoModules()

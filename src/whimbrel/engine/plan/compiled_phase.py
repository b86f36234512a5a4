"""Compiled hooks of one phase under one plan, and the order of hooks (APR's ap_hook_sort)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from whimbrel.base.bounded_dict import BoundedDict
from whimbrel.base.numbers import strip
from whimbrel.registry.module import CompiledHook, Hook, Module, Reads
from whimbrel.registry.phases import DECLINED, OK, HookFn, HookStatus, RunMode

Hooks = tuple[tuple[HookFn, bool], ...]  # each with whether it may have to be waited for


MAX_HANDLERS: Final = 64  # names of which the hooks are cached: media types among them


class CompiledPhase:
    """The compiled hooks of one phase under one plan.

    Attributes:
        constant: the result of the phase for every request; None if its hooks have to run.
        hooks: all hooks, each with True if it may return an awaitable.
        get_hooks: the hooks that act on GET and HEAD.
        continue_on: results after which the next hook runs; None for all.
        is_async: True if a hook may return an awaitable.
        is_cacheable, client: False if the result cannot be cached; True if it depends on the client.
        needs_file: True if no hook acts without a file (see `CompiledHook.needs_file`).
    """

    __slots__ = (
        "_hooks",
        "_named",
        "_types",
        "constant",
        "client",
        "hooks",
        "needs_file",
        "continue_on",
        "is_cacheable",
        "get_hooks",
        "is_async",
    )

    def __init__(self, hooks: Iterable[CompiledHook], run: RunMode) -> None:
        self._hooks = tuple(hooks)
        self._named: BoundedDict[str | None, Hooks] = BoundedDict(MAX_HANDLERS)
        self._types: BoundedDict[str | None, tuple[str, Hooks]] = BoundedDict(MAX_HANDLERS)
        reads = Reads.NOTHING
        for hook in self._hooks:
            reads |= hook.reads
        self.hooks = _callable(self._hooks)
        self.get_hooks = _callable(hook for hook in self._hooks if hook.methods & 1)
        self.is_async = any(hook.is_async for hook in self._hooks)
        self.is_cacheable = not reads & (Reads.UNCACHEABLE | Reads.TIME)
        self.client = bool(reads & Reads.CLIENT)
        self.needs_file = (
            all(hook.needs_file for hook in self._hooks) and self.is_cacheable and not self.client
        )
        self.continue_on = (
            None if run is RunMode.VOID else (DECLINED,) if run is RunMode.RUN_FIRST else (OK, DECLINED)
        )
        self.constant = (
            self._always(DECLINED if run is RunMode.RUN_FIRST else OK)
            if self.is_cacheable and not self.client
            else None
        )

    def _always(self, otherwise: HookStatus) -> HookStatus | None:
        """Return the result of hooks that are all constant, *otherwise* if none of them ends the phase; None
        if one is not constant.
        """
        for hook in self._hooks:
            if hook.constant is None:
                return None
            if self.continue_on is not None and hook.constant not in self.continue_on:
                return hook.constant
        return otherwise

    def for_type(self, kind: str | None) -> tuple[str, Hooks]:
        """Return the handler that a media type stands for where none is set, and the hooks that
        may take it.
        """
        entry = self._types.get(kind)
        if entry is None:
            handler = strip(kind.split(";", 1)[0]) if kind else "default-handler"
            entry = self._types[kind] = (handler, self.named(handler))
        return entry

    def named(self, handler: str | None) -> Hooks:
        """Return the hooks that may take a request for *handler*."""
        named_hooks = self._named.get(handler)
        if named_hooks is None:
            named_hooks = self._named[handler] = _callable(
                hook for hook in self._hooks if hook.handlers is None or handler in hook.handlers
            )
        return named_hooks


def _callable(hooks: Iterable[CompiledHook]) -> Hooks:
    return tuple((hook.fn, hook.is_async) for hook in hooks)


def ordered(entries: list[tuple[Module, Hook]]) -> tuple[Hook, ...]:
    """Return hooks in httpd's order: by number, then load order, then moved to satisfy `before`
    and `after`.
    """
    todo = sorted(entries, key=lambda e: e[1].order)
    sources = {module.source for module, _ in todo}
    waits: list[tuple[Module, Hook, set[str]]] = []
    for module, hook in todo:
        needed = {s for s in hook.after if s in sources}
        needed |= {m.source for m, h in todo if module.source in h.before}
        waits.append((module, hook, needed - {module.source}))
    out: list[Hook] = []
    while waits:
        out.append(waits.pop(_first_free(waits))[1])
    return tuple(out)


def _first_free(waits: list[tuple[Module, Hook, set[str]]]) -> int:
    """Return the index of the first hook, or of what it waits for, and so on (APR's tsort)."""
    index = 0
    for _ in waits:
        needed = waits[index][2]
        before = next((i for i, (module, _, _) in enumerate(waits) if module.source in needed), None)
        if before is None:
            break
        index = before
    return index

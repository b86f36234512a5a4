"""Compiled hooks of one phase under one plan, and the order of hooks (APR's ap_hook_sort)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Final

from whimbrel.base.bounded_dict import BoundedDict
from whimbrel.base.numbers import strip
from whimbrel.engine.request import Request
from whimbrel.registry.module import CompiledHook, Hook, Module, Reads
from whimbrel.registry.phases import DECLINED, OK, HookFn, HookStatus, RunMode

Hooks = tuple[tuple[HookFn, bool], ...]  # each with whether it may have to be waited for


MAX_HANDLERS: Final = 64  # names of which the hooks are cached: media types among them


class CompiledPhase:
    """The hooks of one phase under one plan, compiled when they run first.

    Attributes:
        run: runs the hooks for a request until one ends the phase; returns OK, DECLINED, DONE or an HTTP
            status, or an awaitable of it. It is bound once: to a constant, a loop or a coroutine function.
        constant: the result of the phase for every request; None if its hooks have to run.
        hooks: all hooks, each with True if it may return an awaitable.
        get_hooks: the hooks that act on GET and HEAD.
        continue_on: results after which the next hook runs; None for all.
        is_recorded: True if running the hooks makes the response depend on more than they record.
        is_cacheable, client: False if the result cannot be cached; True if it depends on the client.
        needs_file: True if no hook acts without a file (see `CompiledHook.needs_file`).
    """

    __slots__ = (
        "_hooks",
        "_make",
        "_mode",
        "_named",
        "_types",
        "client",
        "constant",
        "continue_on",
        "get_hooks",
        "hooks",
        "is_cacheable",
        "is_recorded",
        "needs_file",
        "run",
    )
    run: Callable[[Any], Any]  # HookStatus or Awaitable[HookStatus]

    def __init__(self, make: Callable[[], Iterable[CompiledHook]], mode: RunMode) -> None:
        self._make: Callable[[], Iterable[CompiledHook]] | None = make
        self._mode = mode
        self.run = self._compile_and_run
        self._named: BoundedDict[str | None, CompiledPhase] | None = None
        self._types: BoundedDict[str | None, tuple[str, CompiledPhase]] | None = None

    def _compile_and_run(self, r: Request) -> Any:
        return self.compiled().run(r)

    def compiled(self) -> CompiledPhase:
        """Return this phase with its attributes set."""
        make, self._make = self._make, None
        if make is not None:
            self._compile(tuple(make()))
        return self

    def compiled_hooks(self) -> tuple[CompiledHook, ...]:
        """Return the hooks in their order."""
        return self.compiled()._hooks

    def _compile(self, hooks: tuple[CompiledHook, ...]) -> None:
        mode, reads, self._hooks = self._mode, Reads.NOTHING, hooks
        for hook in hooks:
            reads |= hook.reads
        self.hooks = _callable(hooks)
        self.get_hooks = _callable(hook for hook in hooks if hook.methods & 1)
        self.is_cacheable = not reads & (Reads.UNCACHEABLE | Reads.TIME)
        self.client = bool(reads & Reads.CLIENT)
        self.is_recorded = self.client or not self.is_cacheable
        self.needs_file = (
            bool(hooks) and all(hook.needs_file for hook in hooks) and self.is_cacheable and not self.client
        )
        self.continue_on: tuple[HookStatus, ...] | None
        if mode is RunMode.VOID:
            self.continue_on = None
        elif mode is RunMode.RUN_FIRST:
            self.continue_on = (DECLINED,)
        else:
            self.continue_on = (OK, DECLINED)
        self.constant = (
            self._always(DECLINED if mode is RunMode.RUN_FIRST else OK)
            if self.is_cacheable and not self.client
            else None
        )
        if self.constant is not None:
            self.run = partial(_constant, self.constant)
        else:
            self.run = self._run_async if any(hook.is_async for hook in hooks) else self._run_sync

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

    def _record(self, r: Request) -> None:
        """Record what the results of the hooks depend on."""
        if not self.is_cacheable:
            r.deps.is_uncacheable = True
        if self.client:
            r.deps.on_client = True

    def _acting(self, r: Request) -> Hooks:
        """Return the hooks of a phase that needs a file: none without one."""
        idle = r.finfo is None and r.handler is None and not r.content_encodings and not r.connection.notes
        return () if idle else self.hooks

    def _run_sync(self, r: Request) -> HookStatus:
        if self.is_recorded:
            self._record(r)
        passes = self.continue_on
        hooks = self.hooks if r.method_number else self.get_hooks
        if self.needs_file:
            hooks = self._acting(r)
        for hook, _waits in hooks:
            result: Any = hook(r)
            if passes is not None and result not in passes:
                status: HookStatus = result
                return status
        return DECLINED if passes is not None and OK not in passes else OK

    async def _run_async(self, r: Request) -> HookStatus:
        if self.is_recorded:
            self._record(r)
        passes = self.continue_on
        hooks = self.hooks if r.method_number else self.get_hooks
        if self.needs_file:
            hooks = self._acting(r)
        for hook, waits in hooks:
            result: Any = hook(r)
            if waits and result.__class__ is not int and not isinstance(result, int):
                result = await result
            if passes is not None and result not in passes:
                status: HookStatus = result
                return status
        return DECLINED if passes is not None and OK not in passes else OK

    def for_type(self, kind: str | None) -> tuple[str, CompiledPhase]:
        """Return the handler that a media type stands for, and the phase of the hooks that may take it."""
        if self._types is None:
            self._types = BoundedDict(MAX_HANDLERS)
        entry = self._types.get(kind)
        if entry is None:
            handler = strip(kind.split(";", 1)[0]) if kind else "default-handler"
            entry = (handler, self.named(handler))
            self._types[kind] = entry
        return entry

    def named(self, handler: str | None) -> CompiledPhase:
        """Return the phase of the hooks that may take a request for *handler*."""
        if self._named is None:
            self._named = BoundedDict(MAX_HANDLERS)
        phase = self._named.get(handler)
        if phase is None:
            own = self.compiled()._hooks
            hooks = [hook for hook in own if hook.handlers is None or handler in hook.handlers]
            phase = CompiledPhase(lambda: hooks, self._mode).compiled()
            self._named[handler] = phase
        return phase


def _constant(status: HookStatus, _r: Request) -> HookStatus:
    return status


def _callable(hooks: Iterable[CompiledHook]) -> Hooks:
    return tuple((hook.fn, hook.is_async) for hook in hooks)


def ordered(entries: list[tuple[Module, Hook]]) -> tuple[Hook, ...]:
    """Return hooks in httpd's order: by number, by load, then moved for `before` and `after`."""
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

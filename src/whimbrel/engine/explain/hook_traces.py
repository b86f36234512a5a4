"""Traces of hooks: the state of a request before a hook of any phase ran, and what the hook changed."""

from __future__ import annotations

from collections.abc import Callable
from stat import S_ISDIR
from typing import Any, Final

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.engine.log.error_log_line import LogLine
from whimbrel.engine.plan.plan import Plan
from whimbrel.engine.request import Request
from whimbrel.registry.module import CompiledHook
from whimbrel.registry.phases import HookStatus, Phase

ATTRIBUTES: Final = (
    *("uri", "untracked_args", "filename", "path_info", "handler", "content_type", "user", "auth_type"),
    *("status", "proxy", "document_root"),
)
Changes = dict[str, tuple[Any, Any]]


@dataclass(frozen=True, slots=True)
class HookTrace:
    """One hook that ran.

    Attributes:
        phase: the name of the phase. `module`: the source of the module, without ``.c``.
        status: the hook's result; None if it raised.
        before: values of ATTRIBUTES, of ``kind`` (of the file) and of ``query`` before it ran.
        changes: what it changed: attributes, ``env NAME``, ``field NAME`` (of the response), ``encodings``,
            ``languages``, ``filters``, ``body`` (its size in parts), each with the values before and after.
        plan: the settings under which it ran.
        rewriting: the rules that it tried (mod_rewrite's Step). log: the error-log lines that it wrote.
    """

    phase: str
    module: str
    status: HookStatus | None
    before: dict[str, Any]
    changes: Changes
    plan: Plan
    rewriting: tuple[Any, ...]
    log: tuple[LogLine, ...]


class HookRecorder:
    """Wraps compiled hooks so that each run appends a `HookTrace` to its request's trace."""

    __slots__ = ("_sources",)

    def __init__(self, modules: Any) -> None:
        self._sources: dict[int, str] = {
            id(hook): module.source.removesuffix(".c") for module in modules for hook in module.hooks
        }

    def source(self, hook: object) -> str:
        """Return the source of the module that declares *hook*, without ``.c``."""
        return self._sources[id(hook)]

    def wrap(self, compiled: CompiledHook, phase: Phase, module: str, find: Callable[[Any], Any]) -> Any:
        """Return the function of *compiled*, recorded; *find* returns the list of traces of a request."""
        fn: Any = compiled.fn

        def begin(r: Request) -> tuple[dict[str, Any], dict[str, Any], int, int]:
            steps = _steps(r)
            return _state(r), _further(r), len(steps), len(r.log_lines)

        def end(r: Request, status: HookStatus | None, begun: Any) -> None:
            before, further, first_step, first_line = begun
            traces = find(r)
            steps = _steps(r)
            traces.append(
                HookTrace(
                    phase.name,
                    module,
                    status,
                    before,
                    _changes({**before, **further}, {**_state(r), **_further(r)}),
                    r.plan,
                    # a condition with %{LA-U:...} makes a sub-request, whose rules are those of its own trace
                    tuple(step for step in steps[first_step:] if step.request is r),
                    tuple(r.log_lines[first_line:]),
                )
            )

        def call_sync(r: Request) -> HookStatus:
            begun = begin(r)
            status: Any = None
            try:
                status = fn(r)
            finally:
                end(r, status, begun)
            result: HookStatus = status
            return result

        async def call_async(r: Request) -> HookStatus:
            begun = begin(r)
            status: Any = None
            try:
                outcome = fn(r)
                status = outcome if isinstance(outcome, int) else await outcome
            finally:
                end(r, status, begun)
            result: HookStatus = status
            return result

        return call_async if compiled.is_async else call_sync


def _steps(r: Request) -> list[Any]:
    """Return the steps of rewriting, which mod_rewrite records for the runtime of an explaining engine."""
    runtime: Any = r.engine.runtime
    steps: list[Any] = runtime.rewriting
    return steps


def _state(r: Request) -> dict[str, Any]:
    state = {name: getattr(r, name) for name in ATTRIBUTES}
    info = r.finfo
    if info is None:
        state["kind"] = None
    elif S_ISDIR(info.st_mode):
        state["kind"] = "directory"
    else:
        state["kind"] = "file"
    return state


def _further(r: Request) -> dict[str, Any]:
    """Return what may be long: it is compared, and only its changes are recorded."""
    fields = [*r.headers_out, *r.err_headers_out]
    return {
        **{f"env {name}": value for name, value in r.env.items()},
        **{f"field {name}": ", ".join(v for n, v in fields if n == name) for name, _value in fields},
        "encodings": tuple(r.content_encodings),
        "languages": tuple(r.content_languages),
        "filters": tuple(each.name for each in r.output_filters),
        "body": len(r.body),
    }


def _changes(before: dict[str, Any], after: dict[str, Any]) -> Changes:
    changes = {name: (before.get(name), value) for name, value in after.items() if before.get(name) != value}
    changes |= {name: (value, None) for name, value in before.items() if name not in after}
    return changes

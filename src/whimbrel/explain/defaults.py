"""Steps of the defaults of Options and AllowOverride that decide; 2.2 and 2.4 differ in them (X02, C09)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from whimbrel.config.core_config import CoreDirConfig
from whimbrel.config.default_values import (
    ALLOW_OVERRIDE,
    OPTIONS,
    default_of,
    default_sentence,
    default_value,
)
from whimbrel.engine.explain.decisions import RequestTrace
from whimbrel.engine.explain.hook_traces import HookTrace
from whimbrel.engine.plan.plan import Plan
from whimbrel.explain.reasons import option_lines
from whimbrel.explain.step import ExplanationStep

DEFAULT: Final = "default"
"""The kind of the steps of defaults."""
_NOT_ALLOWED: Final = "not allowed here"
"""The end of the message about a directive that AllowOverride does not admit."""
_EXEC_OFF: Final = "Options ExecCGI is off"
"""A part of the message about a program in a directory without ExecCGI, which has a code in 2.4 alone."""
_KEYWORDS: Final = {"mod_autoindex": "Indexes", "mod_cgi": "ExecCGI", "mod_cgid": "ExecCGI"}
"""Handlers that a keyword of Options permits."""


def options_default(hook: HookTrace) -> tuple[ExplanationStep, ...]:
    """Return the step of the default of Options that permits or forbids what *hook* does, () without one.

    A program may have its permission from ScriptAlias: of programs only a refusal shows that Options decides.
    """
    keyword = _KEYWORDS.get(hook.module, "") if hook.phase == "handler" else ""
    if not keyword or (keyword == "ExecCGI" and not any(_EXEC_OFF in line.text for line in hook.log)):
        return ()
    plan: Plan = hook.plan
    if option_lines(plan, (keyword.lower(),)):
        return ()
    is_any = bool(plan.origin(CoreDirConfig, "options"))
    return (_default(plan, OPTIONS, f"no Options line {f'sets {keyword}' if is_any else 'applies'}"),)


def override_default(trace: RequestTrace) -> tuple[ExplanationStep, ...]:
    """Return the step of the default of AllowOverride that admits or refuses the lines of a .htaccess file,
    () without one.
    """
    plan: Plan = trace.plan
    if trace.refused is None:
        is_default = plan.core.override == -1 and plan.dialect.override_default_all
    else:
        is_default = trace.has_no_override and trace.refused.reason.endswith(_NOT_ALLOWED)
    return (_default(plan, ALLOW_OVERRIDE, "no AllowOverride line applies"),) if is_default else ()


def _default(plan: Plan, directive: str, reason: str) -> ExplanationStep:
    value = default_value(directive, plan.dialect)
    return ExplanationStep(DEFAULT, directive, value, (), default_of(plan.dialect, reason))


def deciding_defaults(steps: Iterable[ExplanationStep], paths: Iterable[str]) -> Iterator[str]:
    """Yield the sentences of the defaults behind an answer: those of its handler, and of the .htaccess files
    with *paths*, whose lines decided it.
    """
    wanted = frozenset(paths)
    found = (
        child
        for step in steps
        if step.kind == "handler" or step.what in wanted
        for child in step.children
        if child.kind == DEFAULT
    )
    sentences = (default_sentence(child.what, child.result, child.detail) for child in found)
    yield from dict.fromkeys(sentences)

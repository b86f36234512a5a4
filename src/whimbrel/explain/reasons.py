"""The lines that made a hook do what it did: from the settings that its module reads to their origins.

Where a module chooses one of many lines (an Alias, an extension), its own function finds the line again from
the state of the request before the hook ran.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from whimbrel.config.core_config import CoreDirConfig, CoreServerConfig
from whimbrel.config.origins import ENTIRE, Origin, item_key
from whimbrel.engine.explain.hook_traces import HookTrace
from whimbrel.modules.http.mod_mime import MimeDirConfig, MimeServerConfig
from whimbrel.modules.mappers.mod_actions import ActionsDirConfig
from whimbrel.modules.mappers.mod_alias import AliasDirConfig, AliasServerConfig, first_match
from whimbrel.modules.mappers.mod_dir import DirDirConfig
from whimbrel.modules.mappers.mod_rewrite.settings import RewriteDirConfig, RewriteServerConfig
from whimbrel.modules.metadata.mod_env import EnvDirConfig
from whimbrel.modules.metadata.mod_expires import ExpiresDirConfig
from whimbrel.modules.metadata.mod_setenvif import SetEnvIfDirConfig, SetEnvIfServerConfig
from whimbrel.modules.proxy.mod_proxy.proxy_pass import map_path
from whimbrel.modules.proxy.mod_proxy.settings import ProxyDirConfig, ProxyServerConfig
from whimbrel.modules.ssl.mod_ssl.settings import SslDirConfig, SslServerConfig
from whimbrel.verify.ssl_refusals import condition_lines

if TYPE_CHECKING:
    from whimbrel.engine.plan.plan import Plan

_LINKS_OFF: Final = "FollowSymLinks"
"""A part of the message of mod_rewrite about Options, which has a code in 2.4 alone."""

_HANDSHAKE: Final = (
    "e-negotiation handshake failed",
    "post-handshake authentication",
    "Non-default virtual host with SSLVerify",
    "SSL renegotiation",
)
"""Parts of the messages about a further handshake, which have codes in 2.4 alone."""
_BODY: Final = "could not buffer message body"

_EXEC_OFF: Final = "Options ExecCGI is off"
"""A part of the message about a program in a directory without ExecCGI, which has a code in 2.4 alone."""

Lines = Sequence[Origin]
Reason = Callable[[HookTrace], Iterable[Origin]]


def lines_of(trace: HookTrace) -> tuple[Origin, ...]:
    """Return the lines that decided what the hook did, the most specific first; () for a default."""
    reason = REASONS.get(trace.module)
    found = tuple(dict.fromkeys(reason(trace))) if reason is not None else ()
    return found if reason is not None else settings_of(trace)


def settings_of(trace: HookTrace, name: str = "") -> tuple[Origin, ...]:
    """Return all lines that set something of a module for this request (default: the hook's): what is known
    of a module without an entry in REASONS.
    """
    source = f"{name or trace.module}.c"
    modules = trace.plan.cache.configuration.modules.modules
    module = next((module for module in modules if module.source == source), None)
    if module is None:
        return ()
    found: dict[Origin, None] = {}
    for record in (module.dir_config, module.server_config):
        if record is not None and record not in (CoreDirConfig, CoreServerConfig):
            found |= dict.fromkeys(trace.plan.origins(record))
    return tuple(found)


def _last(trace: HookTrace, record: type[Any], field: str, item: Hashable = ENTIRE) -> Lines:
    """Return the innermost line that sets a field with one value: it replaces those of outer sections."""
    return trace.plan.origin(record, field, item)[-1:]


def _core(trace: HookTrace) -> Iterator[Origin]:
    plan = trace.plan
    changes = trace.changes
    if trace.phase == "translate_name":
        yield from _last(trace, CoreServerConfig, "document_root")
    if "content_type" in changes:
        yield from _last(trace, CoreDirConfig, "forced_type")
    if "handler" in changes:
        yield from _last(trace, CoreDirConfig, "handler_expr") or _last(trace, CoreDirConfig, "handler")
    if "filters" in changes:
        yield from plan.origin(CoreDirConfig, "output_filters")
        yield from plan.origin(CoreDirConfig, "filters_by_type")


def _http_core(trace: HookTrace) -> Iterator[Origin]:
    """TRACE is answered before the walks."""
    if trace.status == 405:
        yield from _last(trace, CoreServerConfig, "trace_enable")


def _alias(trace: HookTrace) -> Iterator[Origin]:
    plan = trace.plan
    uri = trace.before["uri"]
    server = plan.server_config(AliasServerConfig)
    section = plan.dir_config(AliasDirConfig)
    if section.redirect is not None:
        yield from _last(trace, AliasDirConfig, "redirect")
        return
    if trace.phase == "fixups":
        yield from _first(trace, AliasDirConfig, "redirects", first_match(section.redirects, uri, True))
        return
    redirect = first_match(server.redirects, uri, True)
    if redirect is not None:
        yield from _first(trace, AliasServerConfig, "redirects", redirect)
    elif section.alias is not None:
        yield from _last(trace, AliasDirConfig, "alias")
    else:
        yield from _first(trace, AliasServerConfig, "aliases", first_match(server.aliases, uri, False))


def _first(trace: HookTrace, record: type[Any], field: str, found: tuple[Any, str] | None) -> Lines:
    return _last(trace, record, field, item_key(found[0])) if found is not None else ()


def _proxy(trace: HookTrace) -> Iterator[Origin]:
    plan = trace.plan
    uri = trace.before["uri"]
    if trace.phase not in ("translate_name", "pre_translate_name"):
        yield from _last(trace, ProxyServerConfig, "requests") if trace.before["proxy"] == 1 else ()
        return
    if plan.dir_config(ProxyDirConfig).alias is not None:
        yield from _last(trace, ProxyDirConfig, "alias")
        return
    for line in plan.server_config(ProxyServerConfig).aliases:
        if map_path(line, uri, "", ampersand=plan.dialect.proxy_22) is not None:
            yield from _last(trace, ProxyServerConfig, "aliases", item_key(line))
            return


def _mime(trace: HookTrace) -> Iterator[Origin]:
    name = (trace.before["filename"] or "").rpartition("/")[2].lower()
    is_found = False
    for extension in reversed(name.split(".")[1:]):
        for line in reversed(trace.plan.origin(MimeDirConfig, "extensions", extension)):
            is_found = True
            yield line
    if "content_type" in trace.changes and not is_found:
        yield from _last(trace, MimeServerConfig, "types_config")
    if "languages" in trace.changes:
        yield from _last(trace, MimeDirConfig, "default_language")


def _dir(trace: HookTrace) -> Iterator[Origin]:
    changes = trace.changes
    if trace.before["kind"] is None:
        yield from _last(trace, DirDirConfig, "fallback")
    elif not trace.before["uri"].endswith("/"):
        yield from _last(trace, DirDirConfig, "add_slash")
    else:
        name = (changes.get("filename", ("", ""))[1] or "").rpartition("/")[2]
        yield from _last(trace, DirDirConfig, "names", name) or _last(trace, DirDirConfig, "names")
        if trace.status is not None and 300 <= trace.status < 400:
            yield from _last(trace, DirDirConfig, "redirect")


def _env(trace: HookTrace) -> Iterator[Origin]:
    for name in _variables(trace):
        yield from _last(trace, EnvDirConfig, "values", name)


def _setenvif(trace: HookTrace) -> Iterator[Origin]:
    names = set(_variables(trace))
    for record in (SetEnvIfServerConfig, SetEnvIfDirConfig):
        config: Any = (
            trace.plan.server_config(record)
            if record is SetEnvIfServerConfig
            else trace.plan.dir_config(record)
        )
        for condition in config.conditions:
            if names & {name for name, _value in condition.variables}:
                yield from trace.plan.origin(record, "conditions", item_key(condition))


def _variables(trace: HookTrace) -> list[str]:
    return [name[4:] for name in trace.changes if name.startswith("env ")]


def _actions(trace: HookTrace) -> Iterator[Origin]:
    handler = (trace.before["handler"] or "").lower()
    found = _last(trace, ActionsDirConfig, "types", handler)
    yield from found or _last(trace, ActionsDirConfig, "methods")


def _expires(trace: HookTrace) -> Iterator[Origin]:
    kind = (trace.before["content_type"] or "").partition(";")[0]
    found = _last(trace, ExpiresDirConfig, "types", kind)
    yield from found or _last(trace, ExpiresDirConfig, "default")
    yield from _last(trace, ExpiresDirConfig, "active")


def _cgi(trace: HookTrace) -> Iterator[Origin]:
    """ExecCGI permits a program; of a refusal it is the reason only where it is off."""
    is_refused = trace.status is not None and trace.status >= 400
    if not is_refused or any(_EXEC_OFF in line.text for line in trace.log):
        yield from option_lines(trace.plan, ("execcgi",))


def _option(*keywords: str) -> Reason:
    """Return the function for a module that one of *keywords* of Options switches on."""
    return lambda trace: option_lines(trace.plan, keywords)


def option_lines(plan: Plan, keywords: Iterable[str]) -> tuple[Origin, ...]:
    """Return the innermost Options line that decides about *keywords*: it names one of them, or it replaces
    the lines of outer sections because a word of it has no sign.
    """
    wanted = {*keywords, "all", "none"}
    for line in reversed(plan.origin(CoreDirConfig, "options", ENTIRE)):
        words = line.text.lower().split()[1:]
        if any(word[:1] not in "+-" or word[1:] in wanted for word in words):
            return (line,)
    return ()


def _rewrite(trace: HookTrace) -> Iterator[Origin]:
    if any(_LINKS_OFF in line.text for line in trace.log):
        yield from option_lines(trace.plan, ("followsymlinks", "symlinksifownermatch"))
    for step in trace.rewriting:
        if step.applied and step.place is not None:
            yield rule_origin(trace, step)


def rule_origin(trace: HookTrace, step: Any) -> Origin:
    """Return the line of a rule of rewriting."""
    for record in (RewriteDirConfig, RewriteServerConfig):
        for line in trace.plan.origins(record):
            if line.place == step.place:
                return line
    return Origin(step.place, f"RewriteRule {step.pattern}")


def _ssl(trace: HookTrace) -> Iterator[Origin]:
    """A refusal of access is that of SSLRequireSSL without TLS, else of the SSLRequire line whose condition
    the log has; a condition that cannot be evaluated is not logged, so that all lines are named. A further
    handshake that fails has the line that asks for it."""
    texts = [line.text for line in trace.log]
    conditions = list(condition_lines(trace))
    if conditions:
        yield from conditions
    elif any(part in text for text in texts for part in _HANDSHAKE):
        yield from _handshake_lines(trace)
    else:
        yield from trace.plan.origins(SslDirConfig)


def _handshake_lines(trace: HookTrace) -> Iterator[Origin]:
    """Return the lines that ask for more than the handshake has checked; the buffer is that of a body."""
    if any(_BODY in line.text for line in trace.log):
        yield from _last(trace, SslDirConfig, "request_buffer")
    of_section = [
        line for field in ("verify", "depth", "ciphers") for line in _last(trace, SslDirConfig, field)
    ]
    yield from of_section
    if not of_section:  # those of the server of the request, after a handshake with another one
        yield from (line for field in ("verify", "depth") for line in _last(trace, SslServerConfig, field))


REASONS: Final[dict[str, Reason]] = {
    "core": _core,
    "http_core": _http_core,
    "mod_alias": _alias,
    "mod_proxy": _proxy,
    "mod_mime": _mime,
    "mod_dir": _dir,
    "mod_env": _env,
    "mod_setenvif": _setenvif,
    "mod_actions": _actions,
    "mod_expires": _expires,
    "mod_negotiation": _option("multiviews"),
    "mod_autoindex": _option("indexes"),
    "mod_cgi": _cgi,
    "mod_cgid": _cgi,
    "mod_rewrite": _rewrite,
    "mod_ssl": _ssl,
}

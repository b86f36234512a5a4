"""WSGIScriptAlias and WSGIScriptAliasMatch at URL translation (wsgi_hook_intercept)."""

from __future__ import annotations

from functools import partial
from typing import Final

from whimbrel.engine.request import Request
from whimbrel.modules.mappers.mod_alias import alias_length
from whimbrel.modules.wsgi.mod_wsgi.settings import ScriptAlias, WsgiServerConfig
from whimbrel.registry.module import CompiledHook, PathRules, Reads, Scope
from whimbrel.registry.phases import DECLINED, OK, HookStatus

HANDLER: Final = "wsgi-script"
ASGI_HANDLER: Final = "asgi-script"
ASGI_MOUNT: Final = "whimbrel.asgi_mount"  # note: the number of the alias
FORCED_TYPE: Final = "alias-forced-type"
# notes of a request that an alias maps, as in mod_wsgi
PROCESS_GROUP: Final = "mod_wsgi.process_group"
APPLICATION_GROUP: Final = "mod_wsgi.application_group"
CALLABLE: Final = "mod_wsgi.callable_object"
PASS_AUTHORIZATION: Final = "mod_wsgi.pass_authorization"


def _notes(alias: ScriptAlias) -> dict[str, str]:
    """Return the notes that *alias* leaves."""
    notes = {FORCED_TYPE: HANDLER}
    for name, value in (
        (PROCESS_GROUP, alias.process_group),
        (APPLICATION_GROUP, alias.application_group),
        (CALLABLE, alias.callable_object),
    ):
        if value is not None:
            notes[name] = value
    if alias.pass_authorization is not None:
        notes[PASS_AUTHORIZATION] = "1" if alias.pass_authorization else "0"
    return notes


def mapped_path(alias: ScriptAlias, uri: str) -> str | None:
    """Return the file path that *alias* gives *uri*; None if it does not cover it."""
    if alias.regex is None or alias.target is None:
        size = alias_length(uri, alias.location)
        if not size:
            return None
        return alias.script + (uri if alias.location == "/" else uri[size:])
    match = alias.regex.search(uri)
    if match is None or not match.end():
        return None
    script = alias.target.apply(match)
    return script + (uri if uri[: match.end()] == "/" else uri[match.end() :])


def make_translate(scope: Scope) -> CompiledHook | None:
    """Make the hook; None without aliases."""
    conf = scope.server_config(WsgiServerConfig)
    aliases = [(alias, _notes(alias)) for alias in conf.aliases]
    asgi = conf.asgi_aliases
    if not aliases and not asgi:
        return None

    def translate(r: Request) -> HookStatus:
        if r.uri and not r.uri.startswith("/"):
            return DECLINED
        for mount in asgi:
            size = alias_length(r.uri, mount.location)
            if size:
                r.filename = mount.script
                r.handler = ASGI_HANDLER
                r.notes[ASGI_MOUNT] = str(mount.number)
                return OK
        for alias, notes in aliases:
            path = mapped_path(alias, r.uri)
            if path is not None:
                r.filename = path
                r.handler = HANDLER
                r.notes.update(notes)
                return OK
        return DECLINED

    rules = PathRules(
        tuple([each.location for each in asgi])
        + tuple([alias.location for alias, _ in aliases if alias.regex is None]),
        tuple([partial(_covers, alias) for alias, _ in aliases if alias.regex is not None]),
    )
    return CompiledHook(translate, Reads.FIELDS, path_rules=rules)


def _covers(alias: ScriptAlias, path: str) -> bool:
    return mapped_path(alias, path) is not None

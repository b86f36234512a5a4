"""mod_access_compat: Order, Allow, Deny and Satisfy in 2.4.

Manual: mod/mod_access_compat.html.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whimbrel.directives.command import Command
from whimbrel.directives.spec import Args, Directive, Versions, Where
from whimbrel.errors import ConfigError
from whimbrel.modules.allow_deny import AllowDenySettings, by_method, compile_denied, directives, told_check
from whimbrel.modules.auth_api import denied_path
from whimbrel.modules.mod_authz_core.settings import AuthzCoreSettings
from whimbrel.registry.module import Hook, Made, Module, Provider, Reads, Scope
from whimbrel.registry.phases import ACCESS_CHECKER, OK, Answer
from whimbrel.request.decisions import watching

if TYPE_CHECKING:
    from whimbrel.request.record import Request


def set_satisfy(cmd: Command, record: AllowDenySettings, words: list[str]) -> None:
    """Satisfy, per method."""
    word = words[0].lower()
    if word not in ("all", "any"):
        raise ConfigError("Satisfy either 'any' or 'all'.")
    record.satisfy = by_method(cmd, record.satisfy, word)


def opens(cmd: Command, _record: AllowDenySettings) -> None:
    """In the wording of the upgrade guide a section's own Order, Allow, Deny replace an outer Require."""
    if cmd.dialect.location_order_opens:
        cmd.folder(AuthzCoreSettings).opened = True


def satisfies(r: Request) -> str:
    """What Satisfy says for the request's method: "any", "all" or "" (nothing)."""
    return r.conf(AllowDenySettings).satisfy.get(r.method_number, "")


def make_access(scope: Scope) -> Made:
    """Refuse clients that Order, Allow and Deny keep out; said in the log even where Satisfy Any lets them in by a password."""
    record = scope.folder(AllowDenySettings)
    if not record.order and not record.denies and not any(e.kind == "host" for e in record.allows):
        return Made(lambda r: OK, Reads.NOTHING, answer=OK)
    denied, reads, waits = compile_denied(record)

    def answer(r: Request, refused: bool) -> Answer:
        if not refused:
            return OK
        r.log("error", f"client denied by server configuration: {denied_path(r)}", code="AH01797", module="access_compat")
        return 403

    async def check_waiting(r: Request) -> Answer:
        return answer(r, await denied(r))

    check = check_waiting if waits else lambda r: answer(r, denied(r))
    fn, pausing = told_check(record, check, watching(scope), waits)
    return Made(fn, reads, pausing)


MODULE = Module(
    name="access_compat_module", source="mod_access_compat.c", versions=Versions.V24, folder_settings=AllowDenySettings,
    directives=(
        *directives(Versions.V24, opens),
        Directive(name="Satisfy", args=Args.TAKE1, where=Where.OR_AUTHCFG, apply=set_satisfy,
                  help="access policy if both allow and require used ('all' or 'any')"),
    ),
    hooks=(Hook(ACCESS_CHECKER, make_access),),
    providers=(Provider("access", "satisfies", satisfies),),
)

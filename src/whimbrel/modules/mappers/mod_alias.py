"""mod_alias: aliases and redirects.

Server-level redirects and aliases apply at URL translation, redirects first; those of sections and .htaccess
files in the fix-up phase. A Redirect or Alias without URL path (2.4) takes an expression string.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from whimbrel.base.errors import ConfigError
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.numbers import atoi, is_digits
from whimbrel.config.execute import check_context, root_relative
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Context
from whimbrel.engine.expressions import StringExpression, read_string
from whimbrel.expr.errors import EvalError
from whimbrel.http.syntax.target import read_url, unsplit
from whimbrel.http.syntax.url import escape_uri
from whimbrel.modules.support.setters import Forbidden, set_flag
from whimbrel.modules.support.substitution import Substitution, compiled, is_url
from whimbrel.registry.module import CompiledHook, Hook, Module, Order, PathRules, Reads, Scope
from whimbrel.registry.phases import DECLINED, FIXUPS, OK, TRANSLATE_NAME, HookStatus
from whimbrel.registry.settings import prepended, setting

if TYPE_CHECKING:
    from collections.abc import Callable

    from whimbrel.base.regex import Regex
    from whimbrel.directives.spec import Setter
    from whimbrel.engine.request import Request

REGEX_REASON = "Regular expression could not be compiled."


@dataclass(frozen=True, slots=True)
class Mapping:
    """One Alias or Redirect line.

    *fake* is the URL path, or *regex* matches the whole URL path. *real* is the directory or URL, None for a
    status without one.
    """

    fake: str
    real: str | None
    regex: Regex | None = None
    target: Substitution | None = None
    status: int = 0
    handler: str | None = None
    name: str = "Alias"


@dataclass(slots=True)
class AliasServerConfig:
    """Per-server settings; a virtual host's own lines precede the main server's."""

    aliases: list[Mapping] = setting(make=list, merge=prepended)
    redirects: list[Mapping] = setting(make=list, merge=prepended)


@dataclass(slots=True)
class AliasDirConfig:
    """Per-directory settings of the forms without URL path.

    *alias* is (file path, URL path of the section, handler), *redirect* (status, URL or None).
    """

    redirects: list[Mapping] = setting(make=list, merge=prepended)
    alias: tuple[StringExpression, str, str | None] | None = setting(None)
    redirect: tuple[int, StringExpression | None] | None = setting(None)
    relative: bool = setting(False)
    preserve: bool = setting(False)


# Setters ----------------------------------------------------------------------------------------
def _added(known: object, mapping: Mapping) -> list[Mapping]:
    return [*(known if isinstance(known, list) else []), mapping]


def _absolute(cmd: Command, path: str) -> str:
    """Return *path* relative to the server root; a final slash stays."""
    full = cmd.document_path(path)
    if path.startswith("/"):
        return path
    return full + "/" if path.endswith("/") and not full.endswith("/") else full


def _alias_setter(handler: str | None) -> Setter:
    def alias(cmd: Command, conf: AliasDirConfig, args: list[str]) -> None:
        if len(args) == 1 and not cmd.path:
            raise ConfigError("Alias must have two arguments when used globally")
        if len(args) == 1:
            check_context(cmd, Forbidden.DIRECTORY | Forbidden.FILES)
            cmd.dir_config(AliasDirConfig).alias = (
                read_string(cmd, args[0], f"Cannot parse alias expression '{args[0]}'"),
                cmd.path,
                handler,
            )
            return
        if not cmd.dialect.contexts_22:
            check_context(cmd, Forbidden.DIR_CONTEXT)
        server = cmd.server_config(AliasServerConfig)
        fake = args[0]
        real = _absolute(cmd, args[1])
        _warn_of_overlap(cmd, server, fake)
        server.aliases = _added(server.aliases, Mapping(fake, real, handler=handler, name=cmd.name))

    return alias


def _warn_of_overlap(cmd: Command, server: AliasServerConfig, fake: str) -> None:
    for earlier in server.aliases if isinstance(server.aliases, list) else []:
        hit = (
            earlier.regex.search(fake) is not None if earlier.regex else alias_length(fake, earlier.fake) > 0
        )
        if hit:
            cmd.warn(
                f"The {cmd.name} directive in {cmd.place.path} at line {cmd.place.line} will probably never "
                "match because it overlaps an "
                f"earlier {earlier.name}.",
                code="AH00671",
            )
            return


def _match_setter(handler: str | None) -> Setter:
    def match(cmd: Command, server: AliasServerConfig, args: list[str]) -> None:
        regex = compiled(cmd, args[0], REGEX_REASON)
        target = Substitution(_absolute(cmd, args[1]), ampersand=cmd.dialect.ampersand_is_match)
        server.aliases = _added(
            server.aliases, Mapping(args[0], args[1], regex, target, handler=handler, name=cmd.name)
        )

    return match


_STATUS = {"permanent": 301, "temp": 302, "seeother": 303, "gone": 410}


def _status_word(word: str) -> int | None:
    """Return the status that the first word of Redirect names; None if it names none."""
    if word.lower() in _STATUS:
        return _STATUS[word.lower()]
    return atoi(word) if is_digits(word[:1]) else None


def _redirect_setter(default: int) -> Setter:
    def redirect(cmd: Command, _conf: object, args: list[str]) -> None:
        """Set [status] [path] [URL]; RedirectTemp and -Permanent accept a status for the path."""
        status = _status_word(args[0])
        if len(args) == 3 and status is None:
            raise ConfigError("Redirect: invalid first argument (of three)")
        if status is None:
            status = default
            rest = args
        else:
            rest = args[1:]
        moves = 300 <= status < 400
        if (
            (not rest or (moves and len(rest) == 1))
            and (cmd.path or not moves)
            and cmd.dialect.sections_give_paths
        ):
            _redirect_section(cmd, status, rest)
            return
        _add_redirect(
            cmd,
            status,
            rest[0] if rest else "",
            rest[1] if len(rest) > 1 else None,
            cmd.name.lower() == "redirectmatch",
        )

    return redirect


def _redirect_section(cmd: Command, status: int, rest: list[str]) -> None:
    """Set the form without URL path, which redirects the whole section."""
    if not rest and 300 <= status < 400:
        raise ConfigError("URL to redirect to is missing")
    url = read_string(cmd, rest[0], f"Cannot parse redirect expression '{rest[0]}'") if rest else None
    cmd.dir_config(AliasDirConfig).redirect = (status, url)


def _add_redirect(cmd: Command, status: int, fake: str, url: str | None, by_regex: bool) -> None:
    regex = compiled(cmd, fake, REGEX_REASON) if by_regex else None
    if 300 <= status < 400:
        if url is None:
            raise ConfigError("URL to redirect to is missing")
        if not by_regex and not is_url(url) and not url.startswith("/"):
            raise ConfigError("Redirect to non-URL")
    elif url is not None:
        raise ConfigError("Redirect URL not valid for this status")
    target = Substitution(url or "", ampersand=cmd.dialect.ampersand_is_match) if by_regex else None
    record: AliasDirConfig | AliasServerConfig = (
        cmd.dir_config(AliasDirConfig) if cmd.path else cmd.server_config(AliasServerConfig)
    )
    record.redirects = _added(
        record.redirects, Mapping(fake, url, regex, target, status=status, name=cmd.name)
    )


# Matching ---------------------------------------------------------------------------------------
def alias_length(uri: str, fake: str) -> int:
    """Return how much of *uri* the path *fake* covers, 0 for none; repeated slashes are one."""
    if "//" not in uri and "//" not in fake:
        if not uri.startswith(fake):
            return 0
        size = len(fake)
        return size if fake.endswith("/") or len(uri) == size or uri[size] == "/" else 0
    u = 0
    f = 0
    while f < len(fake):
        if fake[f] == "/":
            if uri[u : u + 1] != "/":
                return 0
            f, u = _past_slashes(fake, f), _past_slashes(uri, u)
        elif uri[u : u + 1] == fake[f]:
            u, f = u + 1, f + 1
        else:
            return 0
    return u if fake.endswith("/") or u >= len(uri) or uri[u] == "/" else 0


def _past_slashes(text: str, at: int) -> int:
    while text[at : at + 1] == "/":
        at += 1
    return at


def first_match(mappings: list[Mapping], uri: str, for_url: bool) -> tuple[Mapping, str] | None:
    """Return the first line that covers *uri* and the new URL; *for_url*: with the added part escaped."""
    for mapping in mappings:
        if mapping.regex is not None:
            match = mapping.regex.search(uri)
            if match is None or mapping.target is None:
                continue
            path = mapping.target.apply(match)
            return mapping, _escaped_url(path) if for_url else path
        size = alias_length(uri, mapping.fake)
        if size > 0:
            rest = uri[size:]
            return mapping, (mapping.real or "") + (escape_uri(rest) if for_url else rest)
    return None


def _escaped_url(url: str) -> str:
    """Return the URL escaped but for query and fragment, as apr_uri_parse and apr_uri_unparse write it.

    It has no default port, a hidden password, and nothing behind a fault.
    """
    parts, _ = read_url(url)
    query = "" if parts.query is None else f"?{parts.query}"
    fragment = "" if parts.fragment is None else f"#{parts.fragment}"
    return escape_uri(unsplit(parts, without_query=True)) + query + fragment


def redirect_response(r: Request, status: int, url: str, relative: bool) -> HookStatus:
    """Respond with *status*; a redirect has the absolute *url*, with the request's query for none."""
    if not 300 <= status < 400:
        return status
    if url.startswith("/") and not relative:
        path, url = url, r.engine.construct_url(r, url)
        r.log(
            "debug",
            f"incomplete redirection target of '{path}' for URI '{r.uri}' modified to '{url}'",
            code="AH00673",
            module="alias",
        )
    elif not is_url(url) and not url.startswith("/"):
        r.log(
            "error",
            f"cannot redirect '{r.uri}' to '{url}'; target is not a valid absoluteURI or abs_path",
            code="AH00674",
            module="alias",
        )
        return 500
    if r.args is not None and "?" not in url:
        url = f"{url}?{r.args}"
    r.headers_out.set("Location", url)
    return status


# Hooks ------------------------------------------------------------------------------------------
def _send_all(r: Request, redirect: tuple[int, StringExpression | None], relative: bool) -> HookStatus:
    """Redirect by the form without URL path; its URL is escaped after evaluation."""
    status, template = redirect
    if template is None:
        return redirect_response(r, status, "", relative)
    try:
        return redirect_response(r, status, _escaped_url(template.text(r, "alias")), relative)
    except EvalError as problem:
        r.log(
            "error", f"Can't evaluate redirect expression: {problem.reason}", code="AH02826", module="alias"
        )
        return 500


def _make_redirects(conf: AliasDirConfig, redirects: list[Mapping]) -> Callable[[Request], HookStatus]:
    def go(r: Request) -> HookStatus:
        if conf.redirect is not None:
            return _send_all(r, conf.redirect, conf.relative)
        hit = first_match(redirects, r.uri, True) if redirects else None
        return DECLINED if hit is None else redirect_response(r, hit[0].status, hit[1], conf.relative)

    return go


def make_translate(scope: Scope) -> CompiledHook | None:
    """Make the hook of server-level redirects, the section's alias and the server's aliases."""
    server = scope.server_config(AliasServerConfig)
    conf = scope.dir_config(AliasDirConfig)
    if not (server.aliases or server.redirects or conf.alias or conf.redirect):
        return None
    away = _make_redirects(conf, server.redirects)

    def translate(r: Request) -> HookStatus:
        if r.uri and not r.uri.startswith("/"):
            return DECLINED
        status = away(r)
        if status != DECLINED:
            return status
        if conf.alias is not None:
            return _map_all(r, conf.alias, conf.preserve)
        hit = first_match(server.aliases, r.uri, False)
        return DECLINED if hit is None else _map(r, hit[1], hit[0].handler, _context(hit[0]))

    if conf.alias is not None or conf.redirect is not None:
        return CompiledHook(translate)
    rules = _path_rules([*server.redirects, *server.aliases])
    return CompiledHook(translate, Reads.FIELDS, path_rules=rules)


def _path_rules(mappings: list[Mapping]) -> PathRules:
    """Return what *mappings* read of a path: prefixes and expressions."""
    return PathRules(
        tuple([mapping.fake for mapping in mappings if mapping.regex is None]),
        tuple([partial(_is_match, mapping.regex) for mapping in mappings if mapping.regex is not None]),
    )


def _is_match(regex: Regex, path: str) -> bool:
    return regex.search(path) is not None


def _map_all(r: Request, alias: tuple[StringExpression, str, str | None], preserve: bool) -> HookStatus:
    """Map by the one-argument form: one file for all URLs.

    With *preserve* (AliasPreservePath) the part of the URL behind the section's path is appended. The
    path is relative to the server root, which also replaces an expression whose evaluation fails.
    """
    template, section, handler = alias
    try:
        path = template.text(r, "alias")
    except EvalError as problem:
        r.log("error", f"Can't evaluate alias expression: {problem.reason}", code="AH02825", module="alias")
        path = ""
        preserve = False
    size = alias_length(r.uri, section) if preserve else 0
    full = path + r.uri[size:] if size > 0 else path
    return _map(
        r, root_relative(r.engine.configuration.root, full), handler, (section, path) if size > 0 else None
    )


def _context(mapping: Mapping) -> tuple[str, str] | None:
    """Return URL path and directory of the line (CONTEXT_PREFIX); None for a regex."""
    return (mapping.fake, mapping.real or "") if mapping.regex is None else None


def _map(r: Request, path: str, handler: str | None, context: tuple[str, str] | None) -> HookStatus:
    """Map the request to the file *path*."""
    r.filename = path
    r.context = context
    if handler is not None:
        r.handler = handler
        r.notes["alias-forced-type"] = handler
    return OK


def make_fixup(scope: Scope) -> CompiledHook | None:
    """Make the fixup of redirects in sections and .htaccess files."""
    conf = scope.dir_config(AliasDirConfig)
    if not conf.redirects and conf.redirect is None:
        return None
    redirect = _make_redirects(conf, conf.redirects)
    if conf.redirect is not None:
        return CompiledHook(redirect)
    return CompiledHook(redirect, Reads.FIELDS, path_rules=_path_rules(conf.redirects))


ANYWHERE = Context.OR_FILEINFO
PLAIN = "a document to be redirected, then the destination URL"
CGI = "cgi-script"
LOCATIONS = Context.RSRC_CONF | Context.ACCESS_CONF

MODULE = Module(
    name="alias_module",
    source="mod_alias.c",
    dir_config=AliasDirConfig,
    server_config=AliasServerConfig,
    own_context_checks=frozenset(("Alias", "ScriptAlias")),
    dir_setters={
        "Alias": _alias_setter(None),
        "ScriptAlias": _alias_setter(CGI),
        "Redirect": _redirect_setter(302),
        "RedirectMatch": _redirect_setter(302),
        "RedirectTemp": _redirect_setter(302),
        "RedirectPermanent": _redirect_setter(301),
        "RedirectRelative": set_flag("relative"),
        "AliasPreservePath": set_flag("preserve"),
    },
    server_setters={
        "AliasMatch": _match_setter(None),
        "ScriptAliasMatch": _match_setter(CGI),
    },
    hooks=(
        Hook(TRANSLATE_NAME, make_translate, Order.MIDDLE, before=("mod_userdir.c", "mod_vhost_alias.c")),
        Hook(FIXUPS, make_fixup, Order.MIDDLE),
    ),
)

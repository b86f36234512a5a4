"""Requests: answers to http-01, status of certificates, redirects to https, 503 without a certificate."""

from __future__ import annotations

from typing import Any, Final

from whimbrel.engine.identity import server_name
from whimbrel.engine.request import Request
from whimbrel.modules.md.mod_md import status
from whimbrel.modules.md.mod_md.challenges import HTTP_FILE
from whimbrel.modules.md.mod_md.domains import by_host, by_name
from whimbrel.modules.md.mod_md.manager import Manager, manager_of
from whimbrel.modules.md.mod_md.result import cause_of
from whimbrel.modules.md.mod_md.settings import REQUIRE_OFF, REQUIRE_PERMANENT
from whimbrel.modules.md.mod_md.status_page import page, plain
from whimbrel.modules.md.mod_md.store import CHALLENGES, is_safe, json_bytes
from whimbrel.registry.module import CompiledHook, PathRules, Reads, Scope
from whimbrel.registry.phases import DECLINED, DONE, HookStatus

WELL_KNOWN: Final = "/.well-known/"
CHALLENGE: Final = "/.well-known/acme-challenge/"
STATUS: Final = "/.httpd/certificate-status"
MAX_ANSWER: Final = 8192
HSTS: Final = "max-age=15768000"
CHALLENGE_NOTE: Final = "md-challenge"  # note of a connection that answers tls-alpn-01
HANDLER_NAME: Final = "md-status"
_GET: Final = 0


def _manager(scope: Scope) -> Manager | None:
    found: Manager | None = scope.provider("md", "manager")
    return found


def make_challenge(scope: Scope) -> CompiledHook | None:
    """Return the hook that answers http-01; None without managed domains."""
    manager = _manager(scope)
    if manager is None:
        return None

    def challenge(r: Request) -> HookStatus:
        return answer(manager, r) if r.uri.startswith(CHALLENGE) else DECLINED

    rules = PathRules(prefixes=(CHALLENGE,))
    return CompiledHook(challenge, Reads.NOTHING, path_rules=rules)


def answer(manager: Manager, r: Request) -> HookStatus:
    """Answer a challenge for the host of the request from the store."""
    name = r.uri[len(CHALLENGE) :]
    host = (r.hostname or "").lower()
    if not name or "/" in name:
        return DECLINED
    r.set_uncacheable()
    domain = by_host(manager.domains, host)
    try:
        if not is_safe(host):
            raise FileNotFoundError
        data = manager.store.load(CHALLENGES, host, HTTP_FILE)[:MAX_ANSWER]
    except (OSError, ValueError) as problem:
        if domain is None or not domain.renews:
            return DECLINED
        if isinstance(problem, FileNotFoundError):
            return 404
        cause = cause_of(problem.errno or 5) if isinstance(problem, OSError) else ""
        r.log("error", f"loading challenge {name} from store", code="AH10081", module="md", cause=cause)
        return 500
    if r.method_number != _GET:
        return 501
    r.headers_out.set("Content-Length", str(len(data)))
    r.write(data)
    return DONE


def make_certificate_status(scope: Scope) -> CompiledHook | None:
    """Return the hook of /.httpd/certificate-status; None without managed domains, and if it is off."""
    manager = _manager(scope)
    if manager is None or not manager.conf.certificate_status:
        return None

    def certificate_status(r: Request) -> HookStatus:
        if r.uri != STATUS:
            return DECLINED
        r.set_uncacheable()
        domain = manager.of_host(r.hostname)
        if domain is None:
            return DECLINED
        if r.method_number != _GET:
            return 501
        record = status.domain_json(manager, domain, r.engine.runtime.now())
        _send_json(r, status.public_json(domain, record))
        return DONE

    return CompiledHook(certificate_status, Reads.NOTHING, path_rules=PathRules(prefixes=(STATUS,)))


def _send_json(r: Request, record: dict[str, Any]) -> None:
    r.headers_out.set("Content-Type", "application/json")
    r.chunked = True
    r.write(json_bytes(record))


def make_unavailable(scope: Scope) -> CompiledHook | None:
    """Return the hook that refuses requests to servers without a certificate; None without such."""
    manager = _manager(scope)
    if manager is None:
        return None

    def unavailable(r: Request) -> HookStatus:
        tls = r.connection.tls
        if tls is None:
            return DECLINED
        has_name = bool(tls.server_name)  # without SNI the first host answers with its fallback certificate
        is_unavailable = has_name and id(tls.server) in manager.unavailable
        if r.connection.notes.get(CHALLENGE_NOTE) or is_unavailable:
            r.set_uncacheable()
            return 503
        return DECLINED

    return CompiledHook(unavailable, Reads.NOTHING)


def make_require_https(scope: Scope) -> CompiledHook | None:
    """Return the hook of MDRequireHttps; None if no domain has it."""
    manager = _manager(scope)
    if manager is None or all(d.settings.require_https == REQUIRE_OFF for d in manager.domains):
        return None

    def require_https(r: Request) -> HookStatus:
        if r.uri.startswith(WELL_KNOWN):
            return DECLINED
        assigned = manager.of_server(r.server)
        domain = by_host(assigned, server_name(r).lower()) if assigned else None
        if domain is None:
            return DECLINED
        mode = domain.settings.require_https
        if r.connection.tls is not None:
            if mode == REQUIRE_PERMANENT and r.headers_out.get("Strict-Transport-Security") is None:
                r.headers_out.set("Strict-Transport-Security", HSTS)
            return DECLINED
        if mode == REQUIRE_OFF:
            return DECLINED
        query = f"?{r.args}" if r.args is not None else ""
        r.headers_out.set("Location", f"https://{server_name(r)}{escaped(r.uri)}{query}")
        if r.method_number == _GET:
            return 301 if mode == REQUIRE_PERMANENT else 302
        return 308 if mode == REQUIRE_PERMANENT else 307

    return CompiledHook(require_https, Reads.HEAD)


def escaped(uri: str) -> str:
    """Return a path for a Location field: bytes that begin no new line stay as they are."""
    return "".join(char if char > " " and char != "\x7f" else f"%{ord(char):02x}" for char in uri)


def make_handler(scope: Scope) -> CompiledHook | None:
    """Return the handler md-status; None without managed domains."""
    manager = _manager(scope)
    if manager is None:
        return None

    def handle(r: Request) -> HookStatus:
        if r.handler != HANDLER_NAME:
            return DECLINED
        r.set_uncacheable()
        if r.method_number != _GET:
            return 501
        now = r.engine.runtime.now()
        domain = None
        if r.path_info and r.path_info.startswith("/") and len(r.path_info) > 1:
            name = r.path_info.rpartition("/")[2].lower()
            domain = by_name(manager.domains, name) or by_host(manager.domains, name)
        if domain is not None:
            _send_json(r, status.domain_json(manager, domain, now))
        else:
            _send_json(r, status.all_json(manager, now))
        return DONE

    return CompiledHook(handle, Reads.UNCACHEABLE, handlers=frozenset((HANDLER_NAME,)))


def section(r: Request, is_plain: bool) -> str:
    """Return the part of server-status about managed domains."""
    manager = manager_of(r.engine.configuration)
    if manager is None or not manager.conf.server_status:
        return ""
    r.set_uncacheable()
    now = r.engine.runtime.now()
    return plain(manager, now) if is_plain else page(manager, now)

"""The start of mod_md: before mod_ssl domains, store and staged certificates, behind it states and watches.

httpd: md_post_config_before_ssl, md_post_config_after_ssl.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, Final

from whimbrel.base.errors import MissingPackage, PostConfigError
from whimbrel.config.configuration import Configuration
from whimbrel.config.model import Server, Stage
from whimbrel.config.mpm_config import MpmConfig, group_id, user_id
from whimbrel.modules.md.mod_md import activation, keys, matching
from whimbrel.modules.md.mod_md.challenges import NoChallenge, Reach, possible
from whimbrel.modules.md.mod_md.domains import (
    ERROR,
    MISSING_INFORMATION,
    UNKNOWN,
    ManagedDomain,
    make,
)
from whimbrel.modules.md.mod_md.job import load as load_job
from whimbrel.modules.md.mod_md.manager import MANAGER, VERSION, Manager, manager_of
from whimbrel.modules.md.mod_md.matching import Conflict
from whimbrel.modules.md.mod_md.renewal import staged_pair
from whimbrel.modules.md.mod_md.result import GENERAL, cause_of
from whimbrel.modules.md.mod_md.settings import RENEW_AUTO, MdGlobalConfig, MdServerConfig
from whimbrel.modules.md.mod_md.store import CHALLENGES, DOMAINS, STAGING, FileStore, MdStoreError
from whimbrel.modules.md.mod_md.values import slice_text
from whimbrel.registry.settings import UNSET

_NO_STAPLING: Final = "whimbrel: MDStapling has no effect: handshakes have no OCSP response"
_FALLBACK: Final = "fallback-"
Pairs = list[tuple[str, str]]


class _Lines:
    """Lines of a start; errors are repeated by the failure that ends it."""

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration
        self.errors: list[tuple[str, str]] = []

    def log(self, level: str, code: str, text: str, cause: str = "") -> None:
        """Record a line."""
        if level == "error":
            before = f"{cause}: " if cause else ""
            self.errors.append((level, f"{before}{code}: {text}" if code else f"{before}{text}"))
        if self._configuration.logs(self._configuration.main, level, "md"):
            self._configuration.warn(
                text, code=code, level=level, module="md", cause=cause, stage=Stage.EVERY_RUN
            )

    def failure(self, *more: tuple[str, str]) -> PostConfigError:
        """Return the error that ends the start."""
        return PostConfigError("md", *self.errors[-1:], *more)


def begin(configuration: Configuration) -> Manager | None:
    """Set up store and domains, once; mod_ssl may need them before this module's own step.

    Returns None without managed domains.  Raises PostConfigError or StartError.
    """
    found = manager_of(configuration)
    record = configuration.main.records.get(MdGlobalConfig)
    if found is not None or record is None or record.definitions is UNSET or not record.definitions:
        return found
    if find_spec("cryptography") is None or find_spec("acme") is None:
        raise MissingPackage("mod_md", "acme")
    lines = _Lines(configuration)
    lines.log("info", "AH10071", f"mod_md (v{VERSION}), initializing...")
    conf = configuration.main.config(MdGlobalConfig)
    base = configuration.main.records.get(MdServerConfig) or MdServerConfig()
    domains = [make(each, base, configuration.main.admin) for each in conf.definitions]
    store = FileStore(_directory(configuration, conf), owner=_owner(configuration))
    manager = Manager(conf, domains, store, _reach(configuration, conf, lines.log), lines.log)
    for domain in domains:
        _log_completed(domain, lines.log)
    try:
        store.open()
        matching.check_overlaps(domains, lines.log, has_wildcards=not conf.match_servernames)
        matching.link(manager, configuration)
        _load(manager)
    except MdStoreError as problem:
        cause = cause_of(problem.cause.errno or errno.EIO) if problem.cause else cause_of(errno.EINVAL)
        lines.log("error", "AH10046", problem.text, cause)
        raise lines.failure(("error", f"{cause}: AH10072: setup md registry")) from None
    except Conflict:
        raise lines.failure() from None
    except OSError as problem:
        text = f"syncing {len(domains)} mds to registry"
        cause = cause_of(problem.errno or errno.EIO)
        lines.log("error", "AH10073", text, cause)
        raise lines.failure() from None
    configuration.modules.register_provider("md", MANAGER, manager)
    return manager


def _log_completed(domain: ManagedDomain, log: Callable[..., None]) -> None:
    settings = domain.settings
    agreement = settings.agreement or "(null)"
    windows = (
        f"renew_window={slice_text(settings.renew_window)}, warn_window={slice_text(settings.warn_window)}"
    )
    text = f"Completed MD[{domain.name}, CA=(null), Proto={settings.protocol}, Agreement={agreement},"
    log("debug", "AH10039", f"{text} renew-mode={settings.renew_mode} {windows}")


def _load(manager: Manager) -> None:
    store = manager.store
    conf = manager.conf
    if not conf.lock_wait:
        activation.find_renamed(store, manager.domains)
        activation.activate_all(manager, time.time())
        return
    with store.locked(conf.lock_wait) as is_locked:
        if not is_locked:
            text = "unable to obtain global registry lock, renewed certificates may remain inactive on this"
            manager.log("error", "AH10398", f"{text} httpd instance!")
            return
        activation.find_renamed(store, manager.domains)
        activation.activate_all(manager, time.time())


def _directory(configuration: Configuration, conf: MdGlobalConfig) -> str:
    """Return MDStoreDir; it is relative to the server root, its default to the state directory."""
    return os.path.normpath(os.path.join(configuration.root, conf.store_dir or "md"))


def _owner(configuration: Configuration) -> tuple[int, int] | None:
    """Return the IDs of the user and the group of workers, None if they stay who they are."""
    process = configuration.main.config(MpmConfig)
    if os.geteuid() != 0 or not process.user:
        return None
    user = user_id(process.user)
    group = group_id(process.group) if process.group else None
    return None if user is None else (user, -1 if group is None else group)


def _reach(configuration: Configuration, conf: MdGlobalConfig, log: Callable[..., None]) -> Reach:
    listeners = configuration.spec.listeners

    def listens(port: int) -> bool:
        return any(each.port == port and each.protocol[:4] in ("", "http") for each in listeners)

    http = listens(conf.local_80)
    https = listens(conf.local_443)
    text = f"server seems{'' if http else ' not'} reachable via http: and{'' if https else ' not'}"
    log("debug", "AH10037", f"{text} reachable via https:")
    return Reach(http, https, conf.dns01, conf.dns01_version)


# certificates for mod_ssl ------------------------------------------------------------------------
def certificates(configuration: Configuration, server: Server, *, fallback: bool) -> Pairs:
    """Return the files with certificate and key for a server with TLS, [] without any.

    With *fallback* they are self-signed, and the server answers 503.  Raises StartError.
    """
    manager = begin(configuration)
    assigned = [] if manager is None else manager.of_server(server)
    if manager is None or not assigned:
        return []
    if server not in assigned[0].tls_servers:
        for domain in assigned:
            domain.tls_servers.append(server)
    if len(assigned) > 1:
        if not fallback:
            text = f"conflict: {len(assigned)} MDs match Virtualhost {server.name} which uses SSL, however"
            manager.log("error", "AH10238", f"{text} there can be at most 1.")
        return []
    domain = assigned[0]
    if domain.certificate_files:
        return [] if fallback else list(zip(domain.certificate_files, domain.key_files, strict=True))
    if fallback:
        return _fallback(manager, domain, server)
    found = _pairs(manager, domain)
    if found:
        text = f"{domain.name}[state={domain.state}]: providing certificates for server {server.name}"
        manager.log("debug", "AH10077", text)
    return found


def _pairs(manager: Manager, domain: ManagedDomain) -> Pairs:
    """Return the certificates and keys in the store; those that do not belong together are none."""
    store = manager.store
    name = domain.name
    return [
        (store.path(DOMAINS, name, keys.chain_file(spec)), store.path(DOMAINS, name, keys.key_file(spec)))
        for spec in domain.keys
        if staged_pair(store, name, spec, DOMAINS) is not None
    ]


def _fallback(manager: Manager, domain: ManagedDomain, server: Server) -> Pairs:
    store = manager.store
    name = domain.name
    found = Pairs()
    for spec in domain.keys:
        chain = keys.chain_file(spec, _FALLBACK)
        key_name = keys.key_file(spec, _FALLBACK)
        try:
            if not store.exists(DOMAINS, name, chain) or not store.exists(DOMAINS, name, key_name):
                key: Any = keys.generate(spec)
                keys.save_key(store, DOMAINS, name, key_name, key)
                certificate = keys.fallback_certificate(key, domain.names, time.time())
                store.save(DOMAINS, name, chain, keys.chain_pem([certificate]))
        except (OSError, MdStoreError, ValueError) as problem:
            number = problem.errno if isinstance(problem, OSError) else errno.EINVAL
            text = f"{name}: make fallback {spec.name} certificate"
            manager.log("error", "AH10174", text, cause_of(number or errno.EIO))
            return []
        text = f"{name}: providing {spec.name} fallback certificate for server {server.name}"
        manager.log("debug", "AH10116", text)
        found.append((store.path(DOMAINS, name, chain), store.path(DOMAINS, name, key_name)))
    manager.unavailable.add(id(server))
    return found


# after mod_ssl -----------------------------------------------------------------------------------
def finish(configuration: Configuration) -> None:
    """Find the states of all domains and which of them are watched; raises PostConfigError."""
    manager = begin(configuration)
    if manager is None:
        return
    lines = _Lines(configuration)
    manager.log = lines.log
    try:
        matching.check_conflicts(manager, configuration)
        for domain in manager.domains:
            matching.add_names(domain, manager)
            matching.find_acme_tls(domain, manager, configuration)
            is_used = matching.check_usage(domain, manager)
            activation.synchronize(manager, domain)
            _watch(manager, domain, is_used=is_used)
        properties = {"http": manager.reach.http, "https": manager.reach.https}
        if properties != {"http": True, "https": True}:
            manager.store.save_properties({"proto": properties})
    except Conflict:
        raise lines.failure() from None
    except OSError as problem:
        text = f"md[{domain.name}]: error syncing to store"
        lines.log("error", "AH10172", text, cause_of(problem.errno or errno.EIO))
        raise lines.failure() from None
    activation.clean_challenges(manager)
    _begin_watch(configuration, manager, lines)


def _watch(manager: Manager, domain: ManagedDomain, *, is_used: bool) -> None:
    """Decide if a domain is watched (init_cert_watch_status)."""
    if domain.state in (ERROR, MISSING_INFORMATION, UNKNOWN):
        return
    if domain.settings.renew_mode == RENEW_AUTO and not is_used:
        return
    if domain.renews:
        try:
            if domain.settings.protocol != "ACME":
                raise NoChallenge(f"Unknown CA protocol '{domain.settings.protocol}'")
            possible(domain, manager.reach)
        except NoChallenge as problem:
            manager.initial_errors[domain.name] = str(problem)
            if domain.settings.protocol == "ACME":
                manager.log("warn", "", f"md[{domain.name}]: {problem}", cause_of(GENERAL))
            manager.log("error", "AH10173", f"md[{domain.name}]: {problem}")
    domain.is_watched = True


def _begin_watch(configuration: Configuration, manager: Manager, lines: _Lines) -> None:
    if any(domain.settings.stapling for domain in manager.domains):
        lines.log("warn", "", _NO_STAPLING)
    watched = [domain for domain in manager.domains if domain.is_watched]
    if not watched:
        lines.log("debug", "AH10075", "no mds to supervise")
        return
    text = f"{len(watched)} out of {len(manager.domains)} mds need watching"
    lines.log("debug", "AH10074", text)
    if not configuration.loaded("watchdog_module"):
        lines.log("crit", "AH10061", "mod_watchdog is required")
        raise PostConfigError("md", ("crit", "AH10061: mod_watchdog is required"))
    for domain in watched:
        work = load_job(manager.store, domain.name)
        if not work.errors:
            continue
        text = f"md({domain.name}): previous drive job showed {work.errors} errors, purging STAGING area"
        lines.log("notice", "AH10064", f"{text} to reset.")
        try:
            manager.store.purge(STAGING, domain.name)
            for name in domain.names:
                manager.store.purge(CHALLENGES, name)
        except OSError:
            continue

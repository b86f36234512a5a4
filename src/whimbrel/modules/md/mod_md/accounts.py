"""Accounts at authorities: those of the store, a staged one, a new one."""

from __future__ import annotations

import errno
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final
from urllib.parse import urlsplit

from whimbrel.modules.md.mod_md import keys
from whimbrel.modules.md.mod_md.authority import AuthorityError, CertificateAuthority
from whimbrel.modules.md.mod_md.domains import ManagedDomain, text_in
from whimbrel.modules.md.mod_md.settings import KeyKind
from whimbrel.modules.md.mod_md.store import ACCOUNTS, STAGING, FileStore, MdStoreError

ACCOUNT_FILE = "account.json"
ACCOUNT_KEY = "account.pem"
MAX_ACCOUNTS: Final = 10_000
_UNKNOWN: Final = ":accountDoesNotExist"
_SPEC: Final = KeyKind("RSA", bits=keys.ACCOUNT_BITS)


def select(
    store: FileStore,
    ca: CertificateAuthority,
    domain: ManagedDomain,
    url: str,
    log: Callable[[AuthorityError], None],
) -> bool:
    """Let *ca* use an account that exists: the staged one, the domain's, or any of this authority.

    Accounts that other domains have staged come last: one account serves all domains of an authority.
    Returns False without one.  Raises AuthorityError unless the authority does not know the account.
    """
    candidates = [(STAGING, domain.name)]
    if domain.account:
        candidates.append((ACCOUNTS, domain.account))
    candidates += [(ACCOUNTS, name) for name in store.names(ACCOUNTS) if name != domain.account]
    candidates += [(STAGING, name) for name in store.names(STAGING) if name != domain.name]
    for group, name in candidates:
        record = _load(store, group, name)
        if record is None or not _fits(record, domain, url):
            continue
        try:
            key = keys.load_key(store, group, name, ACCOUNT_KEY)
            ca.use(keys.key_pem(key), text_in(record, "url"))
            ca.check_account()
        except (OSError, MdStoreError):
            continue
        except AuthorityError as problem:
            if problem.status != errno.EACCES and not problem.problem.endswith(_UNKNOWN):
                raise  # the network or a limit, not the account
            log(problem)
            if (group, name) == (STAGING, domain.name):
                store.purge_file(STAGING, name, ACCOUNT_FILE)
            continue
        domain.account = "" if group == STAGING else name
        return True
    domain.account = ""
    return False


def find(store: FileStore, domain: ManagedDomain, url: str) -> str:
    """Return the id of the installed account that *domain* shares with others, "" without one."""
    for name in store.names(ACCOUNTS):
        record = _load(store, ACCOUNTS, name)
        if record is not None and _fits(record, domain, url):
            return name
    return ""


def _load(store: FileStore, group: str, name: str) -> dict[str, Any] | None:
    with suppress(OSError, ValueError, MdStoreError):
        return store.load_json(group, name, ACCOUNT_FILE)
    return None


def _fits(record: dict[str, Any], domain: ManagedDomain, url: str) -> bool:
    """Return True if an account is valid, of this authority, and bound as the domain wants it.

    Contacts do not matter: a domain with another contact uses the account that is there.
    """
    binding = domain.settings.binding
    eab = record.get("eab")
    bound = text_in(record, "eab", "kid") if isinstance(eab, dict) else ""
    return (
        text_in(record, "ca-url") == url
        and record.get("status", "valid") == "valid"
        and bool(text_in(record, "url"))
        and record.get("disabled") is not True
        and bound == (binding[0] if binding else "")
    )


def create(store: FileStore, ca: CertificateAuthority, domain: ManagedDomain, url: str) -> str:
    """Register an account and stage it; return its URL."""
    key = keys.generate(_SPEC)
    ca.use(keys.key_pem(key), "")
    settings = domain.settings
    account = ca.register(domain.contacts, agrees=bool(settings.agreement), binding=settings.binding)
    record: dict[str, Any] = {
        "status": "valid",
        "url": account.url,
        "ca-url": url,
        "contact": list(domain.contacts),
        "registration": account.record,
    }
    if isinstance(account.record.get("orders"), str):
        record["orders"] = account.record["orders"]
    if settings.binding:
        record["eab"] = dict(zip(("kid", "hmac"), settings.binding, strict=True))
    keys.save_key(store, STAGING, domain.name, ACCOUNT_KEY, key)
    store.save_json(STAGING, domain.name, ACCOUNT_FILE, record, secret="eab" in record)
    return account.url


def install(store: FileStore, name: str) -> str:
    """Move the staged account of a domain to the accounts; return its id, "" without one."""
    record = _load(store, STAGING, name)
    if record is None:
        return ""
    key = keys.load_key(store, STAGING, name, ACCOUNT_KEY)
    for known in store.names(ACCOUNTS):
        other = _load(store, ACCOUNTS, known)
        if other is not None and text_in(other, "url") == text_in(record, "url"):
            account = known
            break
    else:
        account = _new_id(store, text_in(record, "ca-url"))
    keys.save_key(store, ACCOUNTS, account, ACCOUNT_KEY, key)
    record.pop("registration", None)
    is_secret = "eab" in record  # the MAC key of the external account
    store.save_json(ACCOUNTS, account, ACCOUNT_FILE, record, secret=is_secret)
    if is_secret:
        store.publish_to_workers(ACCOUNTS, account, ACCOUNT_FILE)
    return account


def _new_id(store: FileStore, url: str) -> str:
    host = urlsplit(url).hostname or "unknown"
    for number in range(MAX_ACCOUNTS):
        name = f"ACME-{host}-{number:04}"
        if not store.exists(ACCOUNTS, name):
            return name
    raise MdStoreError("too many accounts")

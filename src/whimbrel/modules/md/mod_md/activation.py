"""The store and the configuration: renamed domains, staged certificates that become active, states."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from whimbrel.base.file_reading import read_regular
from whimbrel.modules.md.mod_md import accounts, commands, job, keys
from whimbrel.modules.md.mod_md.domains import (
    COMPLETE,
    ERROR,
    INCOMPLETE,
    MD_FILE,
    ManagedDomain,
    names_in,
    text_in,
    to_json,
)
from whimbrel.modules.md.mod_md.job import JOB_FILE, Job
from whimbrel.modules.md.mod_md.manager import Manager
from whimbrel.modules.md.mod_md.renewal import staged_pair
from whimbrel.modules.md.mod_md.result import AH10109, JobResult, cause_of, cause_of_error
from whimbrel.modules.md.mod_md.store import (
    ACCOUNTS,
    CHALLENGES,
    DOMAINS,
    STAGING,
    TMP,
    FileStore,
    MdStoreError,
)


def load_record(store: FileStore, group: str, name: str) -> dict[str, Any] | None:
    """Return md.json, None without one or if it is malformed."""
    with suppress(OSError, ValueError, MdStoreError):
        return store.load_json(group, name, MD_FILE)
    return None


def find_renamed(store: FileStore, domains: list[ManagedDomain]) -> None:
    """Rename domains of the store whose first name has changed (md_reg_sync_start).  Raises OSError."""
    present = store.names(DOMAINS)
    fresh = [domain for domain in domains if domain.name not in present]
    taken = {domain.name for domain in domains}
    records = {
        name: set(names_in(load_record(store, DOMAINS, name) or {})) for name in present if name not in taken
    }
    for domain in fresh:
        names = set(domain.names)
        best = max(records, key=lambda name: (names <= records[name], len(names & records[name])), default="")
        if not best or not names & records[best]:
            continue
        store.rename(DOMAINS, best, domain.name)
        with suppress(OSError):
            store.rename(STAGING, best, domain.name)
        del records[best]


def activate_all(manager: Manager, now: float) -> None:
    """Install what is staged and may be used; failures are logged, the server starts with what it has."""
    for domain in manager.domains:
        try:
            if activate(manager, domain, now):
                manager.log("info", "AH10068", f"{domain.name}: staged set activated")
        except (OSError, ValueError, MdStoreError) as problem:
            text = f"{domain.name}: error loading staged set, purging it"
            manager.log("error", "AH10069", text, cause_of_error(problem))
            with suppress(OSError):
                manager.store.purge(STAGING, domain.name)


def activate(manager: Manager, domain: ManagedDomain, now: float) -> bool:
    """Move the staged certificates of a domain to `domains`; return False if there are none to be used yet.

    Raises OSError or MdStoreError if they are incomplete or malformed.
    """
    store = manager.store
    name = domain.name
    work = job.load(store, name)
    if not work.is_finished or work.valid_from > now or not store.exists(STAGING, name, MD_FILE):
        return False
    record = store.load_json(STAGING, name, MD_FILE)
    domain.authority = text_in(record, "ca", "url")
    domain.account = (
        accounts.install(store, name)
        or text_in(record, "ca", "account")
        or accounts.find(store, domain, domain.authority)
    )
    store.purge(TMP, name)
    for spec in domain.keys:
        pair = staged_pair(store, name, spec)
        if pair is None:
            raise MdStoreError(f"staged credentials {spec.name} are incomplete")
        keys.save_key(store, TMP, name, keys.key_file(spec), pair[0])
        store.save(TMP, name, keys.chain_file(spec), keys.chain_pem(pair[1]))
    store.save_json(TMP, name, MD_FILE, to_json(domain))
    store.install(name)
    store.purge(STAGING, name)
    for setup in domain.names:
        store.purge(CHALLENGES, setup)
    work.last = JobResult(valid_from=work.valid_from)
    notify_installed(manager, work, now)
    store.save_json(DOMAINS, name, JOB_FILE, work.to_json())
    return True


def notify_installed(manager: Manager, work: Job, now: float) -> None:
    """Call MDMessageCmd, which has the right of root here."""
    if not manager.conf.message_command or not work.may_notify("installed", now):
        return
    code = commands.run(manager.conf.message_command, "installed", work.name)
    if code == 0:
        work.log(now, "message-installed")
        return
    text = f"MDMessageCmd {manager.conf.message_command} failed with exit code {code}."
    result = JobResult(commands.status_of(code), AH10109, text)
    manager.log("error", "", result.line(work.name), cause_of(result.status))
    work.log(now, "message-error", "installed", text)


def load_certificates(manager: Manager, domain: ManagedDomain) -> None:
    """Read the certificates in use, and find the state of a domain (state_init)."""
    domain.certificates = []
    domain.state = COMPLETE
    domain.state_text = ""
    files = domain.certificate_files
    for index, name in enumerate(domain.key_names):
        try:
            if files:
                data = read_regular(files[index].encode("latin-1"))
            else:
                data = manager.store.load(DOMAINS, domain.name, keys.chain_file(domain.keys[index]))
            certificate = keys.chain(data)[0]
        except FileNotFoundError:
            domain.certificates.append(None)
            _is_incomplete(domain, f"certificate({name}) is missing")
            continue
        except (OSError, ValueError):
            domain.certificates.append(None)
            domain.state = ERROR
            domain.state_text = f"error initializing certificate({name})"
            continue
        domain.certificates.append(certificate)
        wanted = domain.settings.must_staple
        if not set(domain.names) <= set(keys.alternative_names(certificate)):
            _is_incomplete(domain, f"certificate({name}) does not cover all domains.")
        elif wanted != keys.has_must_staple(certificate):
            text = f"'must-staple' is{'' if wanted else ' not'} requested, but certificate({name}) has it"
            _is_incomplete(domain, f"{text}{' not' if wanted else ''} enabled.")


def _is_incomplete(domain: ManagedDomain, text: str) -> None:
    if domain.state == COMPLETE:
        domain.state = INCOMPLETE
        domain.state_text = text


def synchronize(manager: Manager, domain: ManagedDomain) -> None:
    """Load the state of a domain and write what has changed (md_reg_sync_finish).  Raises OSError."""
    store = manager.store
    old = load_record(store, DOMAINS, domain.name)
    if old is not None:
        domain.account = domain.account or text_in(old, "ca", "account")
        domain.authority = domain.authority or text_in(old, "ca", "url")
    if domain.account and not store.exists(ACCOUNTS, domain.account):
        domain.account = ""
    load_certificates(manager, domain)
    if old != to_json(domain):
        store.save_json(DOMAINS, domain.name, MD_FILE, to_json(domain))


def clean_challenges(manager: Manager) -> None:
    """Remove challenges of names that no domain has."""
    known = {name for domain in manager.domains for name in domain.names}
    for name in manager.store.names(CHALLENGES):
        if name not in known:
            with suppress(OSError):
                manager.store.purge(CHALLENGES, name)

"""The status of managed domains as JSON: md-status, /.httpd/certificate-status (httpd: md_status.c)."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from whimbrel.modules.md.mod_md import keys, timing
from whimbrel.modules.md.mod_md.domains import COMPLETE, INCOMPLETE, ManagedDomain, to_json
from whimbrel.modules.md.mod_md.job import JOB_FILE
from whimbrel.modules.md.mod_md.manager import VERSION, Manager
from whimbrel.modules.md.mod_md.store import STAGING, MdStoreError
from whimbrel.modules.md.mod_md.timing import date_text

SERIAL = "serial"
FINGERPRINT = "sha256-fingerprint"


def period(begin: float, end: float) -> dict[str, str]:
    """Return a time span."""
    return {"from": date_text(begin), "until": date_text(end)}


def certificate_json(certificate: Any) -> dict[str, Any]:
    """Return the facts about a certificate."""
    record: dict[str, Any] = {
        "issuer-name": keys.issuer(certificate),
        "valid": period(*keys.validity(certificate)),
        SERIAL: keys.serial(certificate),
        FINGERPRINT: keys.fingerprint(certificate),
    }
    if identifier := keys.ari_id(certificate):
        record["ari-cert-id"] = identifier
    return record


def _all_certificates(names: list[str], certificates: list[Any]) -> dict[str, Any]:
    """Return the facts about all certificates, and the time in which all are valid."""
    present = [(name, one) for name, one in zip(names, certificates, strict=False) if one is not None]
    record: dict[str, Any] = {name: certificate_json(one) for name, one in present}
    if present:
        times = [keys.validity(one) for _name, one in present]
        record["valid"] = period(max(begin for begin, _ in times), min(end for _, end in times))
    return record


def renew_at(manager: Manager, domain: ManagedDomain, now: float) -> float:
    """Return when a domain is to be renewed."""
    if domain.state == INCOMPLETE:
        return now
    return timing.renew_at(domain.lifetimes(), domain.settings.renew_window, now)


def job_json(manager: Manager, domain: ManagedDomain) -> dict[str, Any] | None:
    """Return job.json of a renewal, None without one."""
    with suppress(OSError, ValueError, MdStoreError):
        return manager.store.load_json(STAGING, domain.name, JOB_FILE)
    return None


def domain_json(
    manager: Manager, domain: ManagedDomain, now: float, *, has_log: bool = True
) -> dict[str, Any]:
    """Return the status of one domain, with or without the log of its job."""
    record = to_json(domain)
    if "eab" in record:
        record["eab"]["hmac"] = "***"
    at = renew_at(manager, domain, now)
    record |= {
        "cert": _all_certificates(domain.key_names, domain.certificates),
        "renew-at": date_text(at),
        "watched": domain.is_watched,
    }
    if at > now:
        return record
    record["renew"] = True
    renewal = job_json(manager, domain)
    if renewal is not None:
        if not has_log:
            renewal.pop("log", None)
        names = [spec.name for spec in domain.keys]
        renewal["cert"] = _all_certificates(names, _staged(manager, domain))
        record["renewal"] = renewal
    return record


def _staged(manager: Manager, domain: ManagedDomain) -> list[Any]:
    found: list[Any] = []
    for spec in domain.keys:
        try:
            found.append(keys.chain(manager.store.load(STAGING, domain.name, keys.chain_file(spec)))[0])
        except (OSError, ValueError):
            found.append(None)
    return found


def all_json(manager: Manager, now: float) -> dict[str, Any]:
    """Return the status of all domains, by name."""
    listed = sorted(manager.domains, key=lambda domain: domain.name)
    records = [domain_json(manager, each, now, has_log=False) for each in listed]
    return {"version": VERSION, "managed-domains": records}


def public_json(domain: ManagedDomain, record: dict[str, Any]) -> dict[str, Any]:
    """Return what anybody may know of the status *record* of a domain."""
    found: dict[str, Any] = record.get("cert", {})
    out: dict[str, Any] = {"valid": found["valid"]} if "valid" in found else {}
    for name in domain.key_names:
        own = found.get(name, {})
        out[name] = {key: own[key] for key in ("valid", SERIAL, FINGERPRINT) if key in own}
    if "renewal" in record:
        out["renewal"] = {"cert": record["renewal"].get("cert", {})}
    return out


def stock(manager: Manager, now: float) -> dict[str, int]:
    """Return the number of domains: in all, complete, renewing, with errors, with staged certificates."""
    counts = dict.fromkeys(("Total", "OK", "Renew", "Errored", "Ready"), 0)
    for domain in manager.domains:
        counts["Total"] += 1
        counts["OK"] += domain.state == COMPLETE
        if domain.state not in (COMPLETE, INCOMPLETE):
            counts["Errored"] += 1
        elif renew_at(manager, domain, now) <= now:
            counts["Renew"] += 1
            work = job_json(manager, domain) or {}
            last = work.get("last")
            if work.get("errors") or (isinstance(last, dict) and last.get("status")):
                counts["Errored"] += 1
            elif work.get("finished") is True:
                counts["Ready"] += 1
    return counts

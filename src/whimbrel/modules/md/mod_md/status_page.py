"""The part of server-status about managed domains (httpd: mod_md_status.c)."""

from __future__ import annotations

import time
from typing import Any, Final
from urllib.parse import urlsplit

from whimbrel.http.syntax.url import escape_html
from whimbrel.modules.md.mod_md.domains import COMPLETE, ERROR, EXPIRED, INCOMPLETE, MISSING_INFORMATION
from whimbrel.modules.md.mod_md.manager import Manager
from whimbrel.modules.md.mod_md.result import status_text
from whimbrel.modules.md.mod_md.settings import AUTHORITIES, DAY, RENEW_MANUAL
from whimbrel.modules.md.mod_md.status import FINGERPRINT, domain_json, stock
from whimbrel.modules.md.mod_md.timing import date_from, date_text

_COLUMNS: Final = ("Domain", "Names", "Status", "Valid", "CA", "Stapling", "CheckAt", "Activity")
_NAMES: Final = dict(
    zip(AUTHORITIES.values(), ("LetsEncrypt", "LetsEncrypt-Test", "Buypass", "Buypass-Test"), strict=True)
)
_NO_STAPLINGS: Final = (
    "ManagedStaplingsTotal: 0\nManagedStaplingsOK: 0\nManagedStaplingsRenew: 0\nManagedStaplingsErrored: 0\n"
)


def _records(manager: Manager, now: float) -> list[dict[str, Any]]:
    listed = sorted(manager.domains, key=lambda domain: domain.name)
    return [domain_json(manager, domain, now) for domain in listed]


def page(manager: Manager, now: float) -> str:
    """Return the table."""
    if not manager.domains:
        return ""
    head = "".join(f'<th class="{name}">{name}</th>' for name in _COLUMNS)
    rows = "".join(
        f'<tr class="{"odd" if number % 2 else "even"}">{_cells(manager, record, now)}</tr>'
        for number, record in enumerate(_records(manager, now))
    )
    return (
        "<hr>\n<h3>Managed Certificates</h3>\n<table class='md_status'><thead><tr>\n"
        f"{head}</tr>\n</thead><tbody>{rows}</td></tr>\n</tbody>\n</table>\n"
    )


def _cells(manager: Manager, record: dict[str, Any], now: float) -> str:
    cells = (
        escape_html(record["name"]),
        f'<div style="max-width:400px;">{escape_html(" ".join(record["domains"]))}</div>',
        escape_html(_state(record, now)),
        _valid(record, now),
        " ".join(f"<a href='{escape_html(url)}'>{escape_html(_ca_name(url))}</a>" for url in _urls(record)),
        "on" if record["stapling"] else "",
        "".join(_checks(manager, record)),
        _activity(record, now),
    )
    return "".join(f"<td>{cell}</td>" for cell in cells)


def _state(record: dict[str, Any], now: float) -> str:
    state = record["state"]
    if state == INCOMPLETE:
        text = record.get("state-descr")
        return f"incomplete: {text}" if text else "incomplete"
    if state in (EXPIRED, COMPLETE):
        until = date_from(_span(record).get("until"))
        return "good" if not until or until > now else "expired"
    return {ERROR: "error", MISSING_INFORMATION: "missing information"}.get(state, "unknown")


def _span(record: dict[str, Any]) -> dict[str, str]:
    found: dict[str, str] = record.get("cert", {}).get("valid", {})
    return found


def _valid(record: dict[str, Any], now: float) -> str:
    span = _span(record)
    if not span:
        return ""
    begin = date_from(span["from"])
    end = date_from(span["until"])
    title = f"{span['from']} - {span['until']}"
    parts = [f"from {_date(begin, span['from'])}"] if begin > now else []
    return " ".join([*parts, f"until {_date(end, title)}"])


def _day(moment: float) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(moment))


def _date(moment: float, title: str) -> str:
    return f"<span title='{escape_html(title)}' style='white-space: nowrap;'>{_day(moment)}</span>"


def _urls(record: dict[str, Any]) -> list[str]:
    ca = record["ca"]
    return [ca["url"]] if "url" in ca else list(ca["urls"])


def _ca_name(url: str) -> str:
    return _NAMES.get(url) or urlsplit(url).hostname or url


def _checks(manager: Manager, record: dict[str, Any]) -> list[str]:
    conf = manager.conf
    return [
        f'<a href="{escape_html(conf.check_url)}{one[FINGERPRINT]}">{escape_html(conf.check_name)}[{name}]'
        "</a><br>"
        for name, one in record.get("cert", {}).items()
        if FINGERPRINT in one
    ]


def _moment(label: str, moment: float, now: float) -> str:
    delta = abs(moment - now)
    if delta >= 4 * DAY:
        title = f"<span title='{date_text(moment)}' style='white-space: nowrap;'>"
        return f"{label} {title}{_day(moment)}</span>"
    words = f"in {_roughly(delta)}" if moment > now else f"{_roughly(delta)} ago"
    return f"{label} <span title='{date_text(moment)}'>{words}</span>"


def _roughly(seconds: float) -> str:
    """Return a time in its largest unit (md_duration_roughly)."""
    total = int(seconds)
    for word, size in (("day", DAY), ("hour", 3600), ("minute", 60), ("second", 1)):
        if total >= size:
            count = total // size
            return f"{'~' if total % size else ''}{count} {word}{'s' if count > 1 else ''}"
    return f"{round(seconds * 1000)} ms"


def _activity(record: dict[str, Any], now: float) -> str:
    renewal = record.get("renewal")
    if renewal is not None:
        return _progress(renewal, now)
    at = date_from(record.get("renew-at"))
    if at > now:
        return _moment("Renew", at, now)
    return "Manual renew" if record["renew-mode"] == RENEW_MANUAL else "Pending"


def _progress(renewal: dict[str, Any], now: float) -> str:
    found = renewal.get("last")
    last: dict[str, Any] = found if isinstance(found, dict) else {}
    status = last.get("status")
    is_finished = renewal.get("finished") is True
    line = ""
    if isinstance(status, int) and status:
        line = f" Error[{status_text(status)}]: {last.get('problem', '')}"
    if is_finished:
        count = sum(name != "valid" for name in renewal.get("cert", {}))
        plural = "s" if count > 1 else ""
        line += (
            f"  finished, {count} new certificate{plural} staged." if count else "  finished successfully."
        )
    elif last.get("detail"):
        line += f" {last['detail']}"
    next_run = date_from(renewal.get("next-run"))
    if next_run > now and not is_finished:
        return escape_html(line) + _moment("\nNext run", next_run, now)
    return escape_html(line) + "\nOngoing..." * bool(line)


def plain(manager: Manager, now: float) -> str:
    """Return the lines of ``?auto``."""
    lines = [f"ManagedCertificates{name}: {count}\n" for name, count in stock(manager, now).items()]
    for number, record in enumerate(_records(manager, now)):
        lines += [f"ManagedDomain[{number}]{line}\n" for line in _lines(manager, record, now)]
    return "".join(lines) + _NO_STAPLINGS


def _lines(manager: Manager, record: dict[str, Any], now: float) -> list[str]:
    span = _span(record)
    conf = manager.conf
    lines = [f"Domain: {record['name']}"]
    lines += [f"Names[{index}]: {name}" for index, name in enumerate(record["domains"])]
    lines.append(f"Status: {_state(record, now)}")
    if span:
        lines.append(f"ValidUntil: {_day(date_from(span['until']))}")
    for index, url in enumerate(_urls(record)):
        suffix = str(index) if index else ""
        lines += [f"CAName{suffix}: {_ca_name(url)}", f"CAURL{suffix}: {url}"]
    if record["stapling"]:
        lines.append(": on")
    for name, one in record.get("cert", {}).items():
        if FINGERPRINT in one:
            lines += [
                f"CheckAtType: {name}",
                f"CheckAtName: {conf.check_name}",
                f"CheckAtURL: {conf.check_url}{one[FINGERPRINT]}",
                f"CheckAtFingerprint: {one[FINGERPRINT]}",
            ]
    return lines + _plain_activity(record, now)


def _plain_activity(record: dict[str, Any], now: float) -> list[str]:
    renewal = record.get("renewal")
    if renewal is None:
        at = date_from(record.get("renew-at"))
        if at > now:
            return [f"ActivityRenew: {int(at) - int(now)}"]
        return ["Activity: " + ("Manual renew" if record["renew-mode"] == RENEW_MANUAL else "Pending")]
    found = renewal.get("last")
    last: dict[str, Any] = found if isinstance(found, dict) else {}
    status = last.get("status")
    is_finished = renewal.get("finished") is True
    lines = []
    if isinstance(status, int) and status:
        lines += [f"LastStatus: {status_text(status)}", f"LastProblem: {last.get('problem', '(null)')}"]
    lines.append(f"Finished: {'yes' if is_finished else 'no'}")
    if is_finished:
        lines.append(f"NewStaged: {sum(name != 'valid' for name in renewal.get('cert', {}))}")
    elif last.get("detail"):
        lines.append(f"LastDetail: {last['detail']}")
    next_run = date_from(renewal.get("next-run"))
    if next_run > now and not is_finished:
        lines.append(f"NextRun: {int(next_run) - int(now)}")
    return [f"Activity{line}" for line in lines]

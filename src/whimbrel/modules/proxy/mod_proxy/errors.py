"""The error responses of proxies, and the log lines about them."""

from __future__ import annotations

from whimbrel.engine.request import Request
from whimbrel.http.syntax.url import escape_html, escape_uri
from whimbrel.modules.proxy.mod_proxy.excluded_hosts import blocking
from whimbrel.modules.proxy.mod_proxy.settings import ProxyServerConfig
from whimbrel.registry.phases import OK, HookStatus


def proxy_error(r: Request, status: HookStatus, message: str, *, cause: str = "") -> HookStatus:
    """Return *status*, whose page gives *message* as the reason (ap_proxyerror); *cause* is only logged."""
    reason = f"Reason: <strong>{escape_html(message)}</strong>"
    if not r.plan.dialect.proxy_22:
        r.notes["error-notes"] = f"The proxy server could not handle the request<p>{reason}</p>"
    else:
        text = f"{escape_html(r.method)}&nbsp;{escape_html(r.uri)}"
        link = f'<em><a href="{escape_uri(r.uri)}">{text}</a></em>'
        r.notes["error-notes"] = f"The proxy server could not handle the request {link}.<p>\n{reason}</p>"
    r.notes["verbose-error-to"] = "*"
    r.status_line = f"{status:03d} Proxy Error"
    prefix = "" if not r.plan.dialect.proxy_22 else "proxy: "
    r.log("error", f"{prefix}{message} returned by {r.uri}", code="AH00898", module="proxy", cause=cause)
    return status


def refuse_blocked(r: Request, conf: ProxyServerConfig, host: str, addresses: tuple[str, ...]) -> HookStatus:
    """Return 403 if ProxyBlock forbids a connection to *host*, else OK.

    *addresses*: those of *host*, () if another proxy looks them up. Scheme handlers call this once they know
    the addresses (ap_proxy_checkproxyblock2).
    """
    for entry in conf.blocked:
        why = blocking(entry, host, addresses)
        if why is not None:
            text = f"connect to remote machine {host} blocked: {why}"
            r.log("warn", text, code="AH00917" if why.startswith("IP") else "AH00916", module="proxy")
            return proxy_error(r, 403, "Connect to remote machine blocked")
    return OK

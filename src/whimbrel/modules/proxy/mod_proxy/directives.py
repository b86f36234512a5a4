"""The directive table of mod_proxy."""

from __future__ import annotations

from whimbrel.base.static_typing import Any, Final
from whimbrel.directives.spec import Setter
from whimbrel.modules.proxy.mod_proxy import server_setters, setters
from whimbrel.modules.proxy.mod_proxy.sections import set_section
from whimbrel.modules.support.setters import (
    by_version,
    ignored,
    set_choice,
    set_flag,
    set_in_range,
    set_number,
)


def _choice(name: str, directive: str, choices: str) -> Setter:
    words = choices.split(" | ")
    table: dict[str, Any] = {word.lower(): word.lower() for word in words}
    return set_choice(name, table, f"{directive} must be one of: {choices}")


DIR_SETTERS: Final[dict[str, Setter]] = {
    "ProxyPassInterpolateEnv": set_flag("interpolate_env"),
    "ProxyPass": setters.set_pass(False),
    "ProxyPassMatch": setters.set_pass(True),
    "ProxyPassReverse": setters.set_pass_reverse,
    "ProxyPassReverseCookiePath": setters.set_cookie_map("cookie_paths"),
    "ProxyPassReverseCookieDomain": setters.set_cookie_map("cookie_domains"),
    "ProxyErrorOverride": by_version(set_flag("error_override"), server_setters.set_error_override),
    "ProxyPreserveHost": set_flag("preserve_host"),
    "BalancerMember": setters.add_member,
    "ProxySet": setters.set_proxy_set,
    "ProxyAddHeaders": set_flag("add_headers"),
    "Proxy100Continue": set_flag("forwards_continue"),
    "ProxyFtpDirCharset": ignored,
}
SERVER_SETTERS: Final[dict[str, Setter]] = {
    "<Proxy": set_section(False),
    "<ProxyMatch": set_section(True),
    "ProxyRequests": set_flag("requests"),
    "ProxyRemote": server_setters.set_remote(False),
    "ProxyRemoteMatch": server_setters.set_remote(True),
    "ProxyBlock": server_setters.add_blocked,
    "ProxyReceiveBufferSize": server_setters.set_receive_buffer,
    "ProxyIOBufferSize": server_setters.set_io_buffer,
    "ProxyMaxForwards": set_number("max_forwards"),
    "NoProxy": server_setters.add_direct,
    "ProxyDomain": server_setters.set_domain,
    "AllowCONNECT": server_setters.add_connect_port,
    "ProxyVia": _choice("via", "ProxyVia", "off | on | full | block"),
    "ProxyTimeout": set_in_range("timeout", 1, None, "Proxy Timeout must be at least 1 second."),
    "ProxyBadHeader": _choice("bad_header", "ProxyBadHeader", "IsError | Ignore | StartBody"),
    "BalancerGrowth": set_in_range("balancer_growth", 0, 1000, "BalancerGrowth must be between 0 and 1000"),
    "BalancerPersist": set_flag("balancer_persist"),
    "BalancerInherit": set_flag("inherit"),
    "ProxyPassInherit": set_flag("pass_inherit"),
    "ProxyStatus": _choice("proxy_status", "ProxyStatus", "off | on | full"),
    "ProxySourceAddress": server_setters.set_source_address,
}

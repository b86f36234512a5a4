"""The directive table of mod_proxy."""

from __future__ import annotations

from whimbrel.base.static_typing import Any, Final
from whimbrel.directives.spec import AnyDirective, Args, ConfigScope, Context, Directive, Versions
from whimbrel.modules.proxy.mod_proxy import server_setters, setters
from whimbrel.modules.proxy.mod_proxy.sections import set_section
from whimbrel.modules.support.setters import Setter, ignored, set_choice, set_flag, set_number

_SERVER: Final = Context.RSRC_CONF
_ANYWHERE: Final = Context.RSRC_CONF | Context.ACCESS_CONF


def _row(
    name: str,
    args: Args,
    apply: Setter,
    text: str,
    *,
    versions: Versions = Versions.BOTH,
    where: Context = _SERVER,
    record: ConfigScope = ConfigScope.SERVER,
) -> AnyDirective:
    return Directive(
        name=name, args=args, where=where, apply=apply, help=text, record=record, versions=versions
    )


def _in_sections(
    name: str, args: Args, apply: Setter, text: str, versions: Versions = Versions.BOTH
) -> AnyDirective:
    return _row(name, args, apply, text, versions=versions, where=_ANYWHERE, record=ConfigScope.DIRECTORY)


def _choice(name: str, directive: str, choices: str) -> Setter:
    words = choices.split(" | ")
    table: dict[str, Any] = {word.lower(): word.lower() for word in words}
    return set_choice(name, table, f"{directive} must be one of: {choices}")


_OVERRIDE = "use our error handling pages instead of the servers' we are proxying"
_HOST = "on if we should preserve host header while proxying"
_REMOTE = "a scheme, partial URL or '*' and a proxy server"
_REMOTE_MATCH = "a regex pattern and a proxy server"
_MAP = "a virtual path and a URL"
_INHERIT = (
    "on if this server should inherit {} defined in the main server "
    "(Setting to off recommended if using the Balancer Manager)"
)
_CONTAINER = "Container for directives affecting resources located in the proxied location"

DIRECTIVES: Final[tuple[AnyDirective, ...]] = (
    _row("<Proxy", Args.RAW_ARGS, set_section(False), _CONTAINER),
    _row("<ProxyMatch", Args.RAW_ARGS, set_section(True), f"{_CONTAINER}, in regular expression syntax"),
    _row(
        "ProxyRequests",
        Args.FLAG,
        set_flag("requests"),
        "on if the true proxy requests should be accepted",
    ),
    _row("ProxyRemote", Args.TAKE23, server_setters.set_remote(False), _REMOTE, versions=Versions.V24),
    _row(
        "ProxyRemoteMatch",
        Args.TAKE23,
        server_setters.set_remote(True),
        _REMOTE_MATCH,
        versions=Versions.V24,
    ),
    _row("ProxyRemote", Args.TAKE2, server_setters.set_remote(False), _REMOTE, versions=Versions.V22),
    _row(
        "ProxyRemoteMatch",
        Args.TAKE2,
        server_setters.set_remote(True),
        _REMOTE_MATCH,
        versions=Versions.V22,
    ),
    _in_sections(
        "ProxyPassInterpolateEnv",
        Args.FLAG,
        set_flag("interpolate_env"),
        "Interpolate Env Vars in reverse Proxy",
    ),
    _in_sections("ProxyPass", Args.RAW_ARGS, setters.set_pass(False), _MAP),
    _in_sections("ProxyPassMatch", Args.RAW_ARGS, setters.set_pass(True), _MAP),
    _in_sections(
        "ProxyPassReverse",
        Args.TAKE123,
        setters.set_pass_reverse,
        "a virtual path and a URL for reverse proxy behaviour",
    ),
    _in_sections(
        "ProxyPassReverseCookiePath",
        Args.TAKE23,
        setters.set_cookie_map("cookie_paths"),
        "Path rewrite rule for proxying cookies",
    ),
    _in_sections(
        "ProxyPassReverseCookieDomain",
        Args.TAKE23,
        setters.set_cookie_map("cookie_domains"),
        "Domain rewrite rule for proxying cookies",
    ),
    _row(
        "ProxyBlock",
        Args.ITERATE,
        server_setters.add_blocked,
        "A list of names, hosts or domains to which the proxy will not connect",
    ),
    _row(
        "ProxyReceiveBufferSize",
        Args.TAKE1,
        server_setters.set_receive_buffer,
        "Receive buffer size for outgoing HTTP and FTP connections in bytes",
    ),
    _row(
        "ProxyIOBufferSize",
        Args.TAKE1,
        server_setters.set_io_buffer,
        "IO buffer size for outgoing HTTP and FTP connections in bytes",
    ),
    _row(
        "ProxyMaxForwards",
        Args.TAKE1,
        set_number("max_forwards"),
        "The maximum number of proxies a request may be forwarded through.",
    ),
    _row(
        "NoProxy",
        Args.ITERATE,
        server_setters.add_direct,
        "A list of domains, hosts, or subnets to which the proxy will connect directly",
    ),
    _row(
        "ProxyDomain",
        Args.TAKE1,
        server_setters.set_domain,
        "The default intranet domain name (in absence of a domain in the URL)",
    ),
    _row(
        "AllowCONNECT",
        Args.ITERATE,
        server_setters.add_connect_port,
        "A list of ports which CONNECT may connect to",
        versions=Versions.V22,
    ),
    _row(
        "ProxyVia",
        Args.TAKE1,
        _choice("via", "ProxyVia", "off | on | full | block"),
        "Configure Via: proxy header header to one of: on | off | block | full",
    ),
    _in_sections(
        "ProxyErrorOverride", Args.ITERATE, server_setters.set_error_override, _OVERRIDE, Versions.V24
    ),
    _row(
        "ProxyErrorOverride",
        Args.FLAG,
        set_flag("error_override"),
        _OVERRIDE,
        versions=Versions.V22,
        record=ConfigScope.DIRECTORY,
    ),
    _in_sections("ProxyPreserveHost", Args.FLAG, set_flag("preserve_host"), _HOST, Versions.V24),
    _row(
        "ProxyPreserveHost",
        Args.FLAG,
        set_flag("preserve_host"),
        _HOST,
        versions=Versions.V22,
        record=ConfigScope.DIRECTORY,
    ),
    _row(
        "ProxyTimeout",
        Args.TAKE1,
        server_setters.set_timeout,
        "Set the timeout (in seconds) for a proxied connection. This overrides the server timeout",
    ),
    _row(
        "ProxyBadHeader",
        Args.TAKE1,
        _choice("bad_header", "ProxyBadHeader", "IsError | Ignore | StartBody"),
        "How to handle bad header line in response: IsError | Ignore | StartBody",
    ),
    _in_sections(
        "BalancerMember",
        Args.RAW_ARGS,
        setters.add_member,
        "A balancer name and scheme with list of params",
    ),
    _row(
        "BalancerGrowth",
        Args.TAKE1,
        server_setters.set_growth,
        "Number of additional Balancers that can be added post-config",
        versions=Versions.V24,
    ),
    _row(
        "BalancerPersist",
        Args.FLAG,
        set_flag("balancer_persist"),
        "on if the balancer should persist changes on reboot/restart made via the Balancer Manager",
        versions=Versions.V24,
    ),
    _row(
        "BalancerInherit",
        Args.FLAG,
        set_flag("inherit"),
        _INHERIT.format("Balancers and Workers"),
        versions=Versions.V24,
    ),
    _row(
        "ProxyPassInherit",
        Args.FLAG,
        set_flag("pass_inherit"),
        _INHERIT.format("all ProxyPass directives"),
        versions=Versions.V24,
    ),
    _row(
        "ProxyStatus",
        Args.TAKE1,
        _choice("proxy_status", "ProxyStatus", "off | on | full"),
        "Configure Status: proxy status to one of: on | off | full",
    ),
    _in_sections(
        "ProxySet", Args.RAW_ARGS, setters.set_proxy_set, "A balancer or worker name with list of params"
    ),
    _row(
        "ProxySourceAddress",
        Args.TAKE1,
        server_setters.set_source_address,
        "Configure local source IP used for request forward",
        versions=Versions.V24,
    ),
    _in_sections(
        "ProxyAddHeaders",
        Args.FLAG,
        set_flag("add_headers"),
        "on if X-Forwarded-* headers should be added or completed",
        Versions.V24,
    ),
    _in_sections(
        "Proxy100Continue",
        Args.FLAG,
        set_flag("forwards_continue"),
        "on if 100-Continue should be forwarded to the origin server, off if the proxy should handle it "
        "by itself",
        Versions.V24,
    ),
    _in_sections(
        "ProxyFtpDirCharset",
        Args.TAKE1,
        ignored,
        "Define the character set for proxied FTP listings",
        Versions.V22,
    ),
)

"""The variables of a request for an application (wsgi_build_environment), and fields of proxies in front."""

from __future__ import annotations

import re
from typing import Any, Final

from whimbrel.base.net import Networks, numeric_address
from whimbrel.base.numbers import lower
from whimbrel.engine.output.filter import FilterType
from whimbrel.engine.request import Request
from whimbrel.modules.support.cgi.environment import add_cgi_vars, add_common_vars
from whimbrel.modules.wsgi.mod_wsgi.settings import WsgiDirConfig

MODULE: Final = "wsgi"
BLANKS: Final = " \t\n\v\f\r"
_SLASHES: Final = re.compile("//+")
_CLIENT: Final = ("HTTP_X_FORWARDED_FOR", "HTTP_X_CLIENT_IP", "HTTP_X_REAL_IP")
_HOST: Final = ("HTTP_X_FORWARDED_HOST", "HTTP_X_HOST")
_SCRIPT_NAME: Final = ("HTTP_X_SCRIPT_NAME", "HTTP_X_FORWARDED_SCRIPT_NAME")
_SCHEME_NAME: Final = ("HTTP_X_FORWARDED_PROTO", "HTTP_X_FORWARDED_SCHEME", "HTTP_X_SCHEME")
_SCHEME_FLAG: Final = ("HTTP_X_FORWARDED_HTTPS", "HTTP_X_FORWARDED_SSL", "HTTP_X_HTTPS")
_FAMILIES: Final = (_CLIENT, (*_SCHEME_NAME, *_SCHEME_FLAG), _HOST, _SCRIPT_NAME)
_PLAIN: Final = {"HTTP_X_FORWARDED_SERVER": "SERVER_NAME", "HTTP_X_FORWARDED_PORT": "SERVER_PORT"}


class VariableBuilder:
    """What one merged configuration makes of the variables."""

    def __init__(self, conf: WsgiDirConfig) -> None:
        self.conf = conf
        self._proxies = None if conf.proxies is None else Networks(conf.proxies)
        self._constant = {
            "mod_wsgi.script_reloading": _digit(conf.script_reloading),
            "mod_wsgi.enable_sendfile": _digit(conf.has_sendfile),
            "mod_wsgi.ignore_activity": _digit(conf.ignore_activity),
        }

    async def build(self, r: Request, *, pass_authorization: bool) -> None:
        """Set the variables in `Request.env`."""
        await add_cgi_vars(r, is_first=True)
        fields: Any = r.headers_in
        all_fields_used = getattr(fields, "all_fields_used", True)
        add_common_vars(r)
        if self.conf.proxy_headers is None and not all_fields_used:
            # the application gets the values, and nothing else depends on them: `variable_pattern`
            fields.all_fields_used = False
        env = r.env
        if r.method == "HEAD" and self._is_mapped(r):
            env["REQUEST_METHOD"] = "GET"
        if pass_authorization:
            value = r.headers_in.get("Authorization")
            if value is not None:
                env["HTTP_AUTHORIZATION"] = value
        for name in ("SCRIPT_NAME", "PATH_INFO"):
            value = env.get(name, "")
            env[name] = _SLASHES.sub("/", value) if "//" in value and value.startswith("/") else value
        env["mod_wsgi.script_name"] = env["SCRIPT_NAME"]
        env["mod_wsgi.path_info"] = env["PATH_INFO"]
        if self.conf.proxy_headers is not None:
            self._take_proxy_headers(r, self.conf.proxy_headers)
        if r.connection.tls is not None:
            env["HTTPS"] = "1"
        env.update(self._constant)
        env["mod_wsgi.request_handler"] = r.handler or ""
        env["mod_wsgi.listener_host"] = r.connection.local_ip
        env["mod_wsgi.listener_port"] = str(r.connection.local_port)

    def _is_mapped(self, r: Request) -> bool:
        """Return True if HEAD is shown as GET: `auto` does so if a filter may change the body."""
        if self.conf.map_head != "auto":
            return self.conf.map_head == "on"
        return any(each.type < FilterType.PROTOCOL for each in r.output_filters)

    # proxies in front -------------------------------------------------------------------------------
    def _take_proxy_headers(self, r: Request, names: list[str]) -> None:
        """Set variables from trusted fields; remove those of the same families that are not trusted."""
        env = r.env
        used: set[str] = set()
        if self._proxies is None or self._is_proxy(env.get("REMOTE_ADDR", "")):
            for name in names:
                value = env.get(name)
                if value is not None:
                    used.add(name)
                    self._take(r, name, value)
        wanted = set(names)
        for family in _FAMILIES:
            if not wanted.isdisjoint(family):
                # the last of the fields that were used stays
                remaining = next((name for name in reversed(names) if name in used and name in family), "")
                for name in family:
                    if name != remaining:
                        env.pop(name, None)

    def _is_proxy(self, address: str) -> bool:
        return self._proxies is not None and address in self._proxies

    def _take(self, r: Request, name: str, value: str) -> None:
        env = r.env
        if name == "HTTP_X_FORWARDED_FOR":
            self._take_forwarded_for(r, value)
        elif name in _CLIENT:
            env["REMOTE_ADDR"] = value
        elif name in _HOST:
            env["HTTP_HOST"] = value
        elif name in _PLAIN:
            env[_PLAIN[name]] = value
        elif name in _SCRIPT_NAME:
            env["mod_wsgi.mount_point"] = value
            env["SCRIPT_NAME"] = value
        elif name in _SCHEME_NAME:
            _set_https(env, {"https": True, "http": False}.get(lower(value)))
        elif name in _SCHEME_FLAG:
            _set_https(env, _FLAGS.get(lower(value)))

    def _take_forwarded_for(self, r: Request, value: str) -> None:
        """Set REMOTE_ADDR: the first address, or the one in front of the first trusted proxy of the last."""
        env = r.env
        if self._proxies is None:
            first = value.lstrip(BLANKS).partition(",")[0].rstrip(BLANKS)
            if value.strip(BLANKS):
                env["REMOTE_ADDR"] = first
            return
        items = [item.strip(BLANKS) for item in value.split(",")]
        while items and not items[-1]:
            items.pop()
        if not items:
            return
        at = len(items)
        while at and self._is_trusted(r, items[at - 1]):
            at -= 1
        start = max(0, at - 1) if at < len(items) else len(items) - 1
        env["REMOTE_ADDR"] = items[start]
        env["HTTP_X_FORWARDED_FOR"] = ", ".join(items[start:])

    def _is_trusted(self, r: Request, item: str) -> bool:
        if numeric_address(item)[1] < 0:
            text = (
                f'mod_wsgi (pid={r.engine.runtime.pid}): Forwarded IP of "{item}" is not a valid IP address.'
            )
            r.log("debug", text, module=MODULE)
            return False
        return self._is_proxy(item)


_FLAGS: Final = {"on": True, "true": True, "1": True, "off": False, "false": False, "0": False}


def _set_https(env: dict[str, str], value: bool | None) -> None:
    if value:
        env["HTTPS"] = "1"
    elif value is not None:
        env.pop("HTTPS", None)


def _digit(value: bool) -> str:
    return "1" if value else "0"

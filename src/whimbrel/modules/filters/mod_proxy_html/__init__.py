"""mod_proxy_html: maps URLs in proxied documents of HTML and XHTML.

The parser is that of the `lxml` package (extra "html"), whose events are libxml2's, as in httpd. Manual:
mod/mod_proxy_html.html.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from whimbrel.base.errors import MissingPackage
from whimbrel.base.numbers import lower
from whimbrel.directives.spec import Versions
from whimbrel.engine.output.filter import FilterProtocol, OutputFilter, add_output_filter
from whimbrel.modules.filters.mod_proxy_html.elements import elements
from whimbrel.modules.filters.mod_proxy_html.settings import DIR_SETTERS, ProxyHtmlDirConfig
from whimbrel.modules.filters.mod_proxy_html.url_map import Rewriter, active_maps
from whimbrel.modules.support.first_bytes import cut, first_bytes
from whimbrel.registry.module import CompiledHook, Hook, Module, Order, Provider, Reads, Scope
from whimbrel.registry.phases import INSERT_FILTER, OK, HookStatus

if TYPE_CHECKING:
    from whimbrel.config.configuration import Configuration
    from whimbrel.engine.request import Request

_MODULE: Final = "proxy_html"
MIN_LENGTH: Final = 4  # bytes that the parser needs to begin; shorter documents pass unchanged


class ProxyHtml(OutputFilter):
    """Output filter proxy-html."""

    is_computed = True
    name = "proxy-html"
    protocol = FilterProtocol.CHANGE | FilterProtocol.CHANGE_LENGTH

    async def begin(self, r: Request) -> None:
        """Replace the body of *r* by the document with mapped URLs."""
        from whimbrel.modules.filters.mod_proxy_html.html_filter import replace_body

        conf = r.dir_config(ProxyHtmlDirConfig)
        if reason := _not_for(r, conf):
            r.log("trace1", reason, module=_MODULE)
            return
        r.headers_out.unset("Content-Length")
        start = await first_bytes(r)
        if len(start) < MIN_LENGTH:
            return
        interpolated = "interp" in conf.switches and conf.maps
        rewriter = Rewriter(active_maps(r, conf.maps) if interpolated else conf.maps)
        charset, encoding = _charsets(r, conf)
        if "meta" in conf.switches:
            from whimbrel.modules.filters.mod_proxy_html.meta import copy_fields

            first_bucket = r.engine.configuration.provider("xml2enc", "first_bucket")
            if where := copy_fields(r, start[: first_bucket(r)] if first_bucket is not None else start):
                r.body = cut(r.body, *where)
        await replace_body(r, conf, rewriter, charset, encoding)


def _not_for(r: Request, conf: ProxyHtmlDirConfig) -> str:
    """Return the reason why the filter leaves the response alone, "" if it does not."""
    if conf.links is None:
        return "No links configured: nothing for proxy-html filter to do"
    if "PROXY_HTML_FORCE" in r.env:
        return ""
    if not (r.proxy or r.handler == "proxy-server"):
        return "Non-proxy request; not inserting proxy-html filter"
    if r.content_type is None:
        return "No content-type; bailing out of proxy-html filter"
    if not lower(r.content_type).startswith(("text/html", "application/xhtml+xml")):
        return "Non-HTML content; not inserting proxy-html filter"
    return ""


def _charsets(r: Request, conf: ProxyHtmlDirConfig) -> tuple[str, Any]:
    """Return iconv's name of the input charset ("" if it is unknown) and the conversion of the output, or
    None; set the Content-Type.
    """
    charset_of = r.engine.configuration.provider("xml2enc", "charset")
    found = charset_of(r) if charset_of is not None else None
    if charset_of is None:
        text = "No i18n support found.  Install mod_xml2enc if required"
        r.log("warn", text, code="AH01422", module=_MODULE)
    charset = "utf-8"
    encoding = None
    if found is not None and conf.charset_out:
        charset = found[1] if conf.charset_out.startswith("*") else conf.charset_out
        encoding = r.engine.configuration.provider("xml2enc", "encoding")(r, charset)
    r.content_type = f"text/html;charset={charset}"
    return found[0] if found is not None else "", encoding


PROXY_HTML: Final = ProxyHtml()


def make_insert(scope: Scope) -> CompiledHook | None:
    """Make the hook of ProxyHTMLEnable, which adds xml2enc and proxy-html; None if it is Off."""
    if "enabled" not in scope.dir_config(ProxyHtmlDirConfig).switches:
        return None
    decoder = scope.provider("xml2enc", "input")

    def insert(r: Request) -> HookStatus:
        if decoder is not None:
            add_output_filter(r, decoder)
        add_output_filter(r, PROXY_HTML)
        return OK

    return CompiledHook(insert, Reads.HEAD)


def check_library(_configuration: Configuration) -> None:
    """Refuse to start without the parser."""
    if find_spec("lxml") is None:
        raise MissingPackage("mod_proxy_html", "html")


def libraries(_configuration: Configuration) -> tuple[str, ...]:
    """Return what workers import; read the document type, as workers may lack the right to."""
    elements()
    return (
        "lxml.etree",
        "whimbrel.modules.filters.mod_proxy_html.html_filter",
        "whimbrel.modules.filters.mod_proxy_html.meta",
    )


MODULE = Module(
    name="proxy_html_module",
    source="mod_proxy_html.c",
    versions=Versions.V24,
    dir_config=ProxyHtmlDirConfig,
    dir_setters=DIR_SETTERS,
    hooks=(Hook(INSERT_FILTER, make_insert, Order.MIDDLE, after=("mod_filter.c",)),),
    providers=(
        Provider("output_filter", "proxy-html", PROXY_HTML),
        Provider("libraries", _MODULE, libraries),
    ),
    post_config=(check_library,),
)

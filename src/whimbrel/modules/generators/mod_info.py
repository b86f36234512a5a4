"""mod_info: the configuration of the server as a page, handler server-info.

The page names modules, their directives and the configuration. It omits hooks and providers, which are
internals of httpd. Manual: mod/mod_info.html.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.config.core_config import CoreServerConfig
from whimbrel.directives.command import Command
from whimbrel.directives.node import Node
from whimbrel.directives.spec import Args, ConfigScope, Context, Directive
from whimbrel.engine import identity
from whimbrel.http.syntax.url import escape_html
from whimbrel.modules.support.setters import own
from whimbrel.registry.module import CompiledHook, Hook, Module, Order, Scope
from whimbrel.registry.phases import DECLINED, HANDLER, OK, HookStatus
from whimbrel.registry.settings import appended, setting

HEAD = (
    '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN"\n'
    '"http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd">\n'
    '<html xmlns="http://www.w3.org/1999/xhtml">\n<head>\n  <title>Server Information</title>\n</head>\n'
    '<body><h1 style="text-align: center">Apache Server Information</h1>\n'
)
SUBPAGES = (
    '<dl><dt><tt>Subpages:<br /><a href="?config">Configuration Files</a>, <a href="?server">Server '
    "Settings</a>, "
    '<a href="?list">Module List</a></tt></dt></dl><hr /><dl><dt><tt>Sections:<br /><a href="#modules">'
    'Loaded Modules</a>, <a href="#server">Server Settings</a></tt></dt></dl><hr />'
)
_GET = 0
BUFFER = 8192  # a longer page is sent before its length is known


@dataclass(slots=True)
class InfoServerConfig:
    """AddModuleInfo: (source file of a module, HTML)."""

    more: list[tuple[str, str]] = setting(make=list, merge=appended)


def add_info(_cmd: Command, conf: InfoServerConfig, words: list[str]) -> None:
    """Add a text for a module, named by its source file."""
    conf.more = [*own(conf, "more", list), (words[0], words[1])]


# Pieces of the page -----------------------------------------------------------------------------
class PageWriter:
    """Writer of directives in HTML.

    *names* (lower case) selects directives with their containers; None selects all.
    """

    def __init__(self, names: frozenset[str] | None) -> None:
        self.names, self.file = names, ""

    def of(self, nodes: Sequence[Node], depth: int = 0) -> Iterator[str]:
        """Iterate over the lines of *nodes* and their content."""
        for node in nodes:
            inner = list(PageWriter.of(self._inside(), node.children, depth + 1)) if node.children else []
            if self.names is not None and node.name.lower() not in self.names and not inner:
                continue
            if node.place.path != self.file:
                self.file = node.place.path
                yield f"<dd><tt><strong>In file: {escape_html(self.file)}</strong></tt></dd>\n"
            number = f"{node.place.line:4}".replace(" ", "&nbsp;")
            indent = "&nbsp;" * (1 + 2 * depth)
            if not node.name.startswith("<"):
                yield (
                    f"<dd><tt>{number}:{indent}{escape_html(node.name)} "
                    f"<i>{escape_html(node.args)}</i></tt></dd>\n"
                )
                continue
            yield f"<dd><tt>{number}:{indent}{escape_html(f'{node.name} {node.args}')}</tt></dd>\n"
            yield from self.of(node.children, depth + 1)
            yield f"<dd><tt>&nbsp;&nbsp;&nbsp;&nbsp;:{indent}&lt;/{escape_html(node.name[1:])}&gt;</tt></dd>"

    def _inside(self) -> PageWriter:
        writer = PageWriter(self.names)
        writer.file = self.file
        return writer


def _rows(module: Module, version: Any) -> list[Any]:
    return [d for d in module.directives if d.versions & version]


def module_block(configuration: Any, module: Module, more: list[tuple[str, str]]) -> str:
    """Return the block of one module: its directives, its lines of the configuration, its AddModuleInfo."""
    source = module.source
    out = [
        f'<dl><dt><a name="{source}"><strong>Module Name:</strong></a> <font size="+1"><tt><a '
        f'href="?{source}">{source}</a></tt></font></dt>\n'
    ]
    rows = _rows(module, configuration.version)
    out.append("<dt><strong>Module Directives:</strong></dt>" + ("" if rows else " <tt>none</tt>"))
    for row in rows:
        kind = f"{escape_html(row.name)}{'&gt;' if row.name.startswith('<') else ''}"
        out.append(f"<dd><tt>{kind} - <i>{escape_html(row.help)}</i></tt></dd>\n")
    if rows:
        out.append("<dt><strong>Current Configuration:</strong></dt>\n")
        out += PageWriter(frozenset(row.name.lower() for row in rows)).of(configuration.tree)
    texts = [text for name, text in more if name == source]
    if texts:
        out.append(
            "<dt><strong>Additional Information:</strong>\n</dt>"
            + "".join(f"<dd>{text}</dd>" for text in texts)
        )
    return "".join(out) + "</dl><hr />\n"


def server_block(r: Any) -> str:
    """Return the block of the server: its name, paths and timeouts."""
    configuration, core = r.engine.configuration, r.server_conf(CoreServerConfig)
    return (
        '<h2><a name="server">Server Settings</a></h2><dl><dt><strong>Server Version:</strong> '
        f'<font size="+1"><tt>{identity.server_tokens(r)}</tt></font></dt>\n'
        "<dt><strong>Hostname/port:</strong> <tt>"
        f"{escape_html(identity.server_name(r))}:{identity.server_port(r)}</tt></dt>\n"
        f"<dt><strong>Timeouts:</strong> <tt>connection: {int(core.timeout)} &nbsp;&nbsp; keep-alive: "
        f"{int(core.keep_alive_timeout)}</tt></dt>"
        f"<dt><strong>Server Root:</strong> <tt>{escape_html(configuration.root)}</tt></dt>\n"
        f"<dt><strong>Config File:</strong> <tt>{escape_html(configuration.options.file)}</tt></dt>\n</dl>"
        "<hr />"
    )


def page(r: Any, more: list[tuple[str, str]]) -> str:
    """Return the page for the request's query: config, server, list, a module's source file, or all."""
    configuration, query = r.engine.configuration, (r.args or "").lower()
    modules = sorted(configuration.modules.modules, key=lambda m: m.source)
    body = ""
    if query == "config":
        body = (
            "<dl><dt><strong>Configuration:</strong>\n"
            + "".join(PageWriter(None).of(configuration.tree))
            + "</dl><hr />"
        )
    elif query == "server":
        body = server_block(r)
    elif query == "list":
        names = "".join(f"<dd>{m.source}</dd>" for m in modules)
        body = f"<dl><dt>Server Module List</dt>{names}</dl><hr />"
    elif query:
        body = "".join(module_block(configuration, m, more) for m in modules if m.source.lower() == query)
    else:
        links = "".join(f'<a href="#{m.source}">{m.source}</a>, ' for m in modules)
        body = (
            f'{SUBPAGES}<h2><a name="modules">Loaded Modules</a></h2><dl><dt><tt>{links}</tt></dt></dl><hr '
            f"/>{server_block(r)}"
        )
        body += "".join(module_block(configuration, m, more) for m in modules)
    signature = identity.signature(r).removeprefix("<hr>\n")
    return f"{HEAD}{body}{signature}</body></html>\n"


def keep_lines(configuration: Any) -> None:
    """Keep the tree of directives, which the page shows, while the server runs."""
    configuration.keeps_tree = True


def make_handler(scope: Scope) -> CompiledHook:
    """Make the handler server-info."""
    more = scope.server_config(InfoServerConfig).more

    def handler(r: Any) -> HookStatus:
        if r.handler != "server-info":
            return DECLINED
        r.allowed |= 1 << _GET
        if r.method_number != _GET:
            return DECLINED
        r.content_type = "text/html; charset=ISO-8859-1"
        text = page(r, more)
        r.chunked = len(text) > BUFFER
        r.write(text)
        return OK

    return CompiledHook(handler, handlers=frozenset(("server-info",)))


MODULE = Module(
    name="info_module",
    source="mod_info.c",
    server_config=InfoServerConfig,
    directives=(
        Directive(
            name="AddModuleInfo",
            args=Args.TAKE2,
            where=Context.RSRC_CONF,
            apply=add_info,
            record=ConfigScope.SERVER,
            help="a module name and additional information on that module",
        ),
    ),
    hooks=(Hook(HANDLER, make_handler, Order.MIDDLE),),
    post_config=(keep_lines,),
)

"""The page of server-info: settings of the server, hooks, providers, modules and their directives.

httpd lists its own hooks, so the page shows those of its modules (catalogue/server_info.tsv). 2.2 has no list
of providers and of other hooks, and its modules are in the reverse order of loading.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Iterable, Iterator
from typing import Any, Final

import whimbrel
from whimbrel.catalogue.load import catalogue
from whimbrel.catalogue.server_info import REQUEST, SECTIONS, ServerInfoEntry, hooked, providers, table
from whimbrel.config.core_config import CoreServerConfig
from whimbrel.config.handlers import version_text
from whimbrel.engine import identity
from whimbrel.engine.request import Request
from whimbrel.http.syntax.url import escape_html
from whimbrel.modules.generators.mod_info.config_lines import ConfigLines
from whimbrel.modules.support.cgi.suexec import wrapper_of

_HEAD: Final = (
    '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN"\n'
    '"http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd">\n'
    '<html xmlns="http://www.w3.org/1999/xhtml">\n<head>\n  <title>Server Information</title>\n</head>\n'
    '<body><h1 style="text-align: center">Apache Server Information</h1>\n'
)
_PAGES_22: Final = (
    ("config", "Configuration Files"),
    ("server", "Server Settings"),
    ("list", "Module List"),
    ("hooks", "Active Hooks"),
)
_PAGES_24: Final = (*_PAGES_22, ("providers", "Available Providers"))
_NONE: Final = "<tt> <em>none</em></tt>"


class InfoPage:
    """The page for one request; *more* are the texts of AddModuleInfo, (source file, HTML)."""

    def __init__(self, r: Request, more: list[tuple[str, str]]) -> None:
        self.r = r
        self.more = more
        self.configuration = r.engine.configuration
        self.is_22: bool = r.plan.dialect.wire_22
        self.loaded = [module.source for module in self.configuration.modules.modules]
        self.sources = self.loaded[::-1] if self.is_22 else sorted(self.loaded)

    def text(self) -> str:
        """Return the page for the query: config, server, list, hooks, providers, a source file, or all."""
        signature = identity.signature(self.r, "")
        return f"{_HEAD}{''.join(self._content())}{signature}</body></html>\n"

    def _content(self) -> Iterator[str]:
        query = None if self.r.args is None else self.r.args.lower()
        if query == "list":
            names = "".join(f"<dd>{source}</dd>" for source in self.sources)
            yield f"<dl><dt>Server Module List</dt>{names}</dl><hr />"
            return
        if query is None:
            yield self._contents()
        if query in (None, "server"):
            yield self._server()
        if query in (None, "hooks"):
            yield self._hooks("?" if query else "#")
        if query in (None, "providers") and not self.is_22:
            yield self._providers()
        if query == "config":
            lines = ConfigLines(None).text(self.configuration.tree)
            yield f"<dl><dt><strong>Configuration:</strong>\n{lines}</dl><hr />"
            return
        shown = [source for source in self.sources if query in (None, source.lower())]
        yield from map(self._module, shown if query is None else shown[:1])
        if self.is_22 and not shown and query != "server":
            yield "<p><b>No such module</b></p>\n"

    def _contents(self) -> str:
        """Return the links to pages, sections and modules."""
        pages = _PAGES_22 if self.is_22 else _PAGES_24
        links = ", ".join(f'<a href="?{query}">{title}</a>' for query, title in pages)
        sections = [("server", "Server Settings"), *((name, title) for name, title, _ in SECTIONS)]
        if self.is_22:
            links = links.replace("Module List</a>, ", "Module List</a>,  ")
            del sections[3:]
        else:
            sections = [("modules", "Loaded Modules"), *sections, ("providers", "Providers")]
        names = ", ".join(f'<a href="#{name}">{title}</a>' for name, title in sections)
        modules = "".join(f'<a href="#{source}">{source}</a>, ' for source in self.sources)
        head = '<h2><a name="modules">Loaded Modules</a></h2><dl><dt><tt>'
        if self.is_22:
            head = "<dl><dt><tt>Loaded Modules: <br />"
            modules = modules.removesuffix(", ")
        return (
            f"<dl><dt><tt>Subpages:<br />{links}</tt></dt></dl><hr />"
            f"<dl><dt><tt>Sections:<br />{names}</tt></dt></dl><hr />"
            f"{head}{modules}</tt></dt></dl><hr />"
        )

    def _server(self) -> str:
        """Return the block of the server: its name, versions, paths and timeouts."""
        core = self.r.server_conf(CoreServerConfig)
        spec = self.configuration.spec
        options = self.configuration.options
        address = f"{identity.server_name(self.r)}:{identity.server_port(self.r)}"
        mpm = "prefork" if self.is_22 or spec.threads == 1 else "event"
        if self.configuration.loaded("mpm_worker_module"):
            mpm = "worker"
        is_threaded = "yes" if mpm != "prefork" else "no"
        return (
            '<h2><a name="server">Server Settings</a></h2><dl><dt><strong>Server Version:</strong> '
            f'<font size="+1"><tt>{identity.server_tokens(self.r)}</tt></font></dt>\n'
            f'<dt><strong>Server Built:</strong> <font size="+1"><tt>{_built()}</tt></font></dt>\n'
            f"{self._libraries()}"
            f"<dt><strong>Module Magic Number:</strong> <tt>{_magic(self.is_22)}</tt></dt>\n"
            f"<dt><strong>Hostname/port:</strong> <tt>{escape_html(address)}</tt></dt>\n"
            f"<dt><strong>Timeouts:</strong> <tt>connection: {int(core.timeout)} &nbsp;&nbsp; keep-alive: "
            f"{int(core.keep_alive_timeout)}</tt></dt><dt><strong>MPM Name:</strong> <tt>{mpm}</tt></dt>\n"
            f"<dt><strong>MPM Information:</strong> <tt>Max Daemons: {spec.processes or os.cpu_count()} "
            f"Threaded: {is_threaded} Forked: yes</tt></dt>\n"
            "<dt><strong>Server Architecture:</strong> <tt>64-bit</tt></dt>\n"
            f"<dt><strong>Server Root:</strong> <tt>{escape_html(self.configuration.root)}</tt></dt>\n"
            f"<dt><strong>Config File:</strong> <tt>{escape_html(options.file)}</tt></dt>\n"
            '<dt><strong>Server Built With:</strong>\n<tt style="white-space: pre;">\n'
            f"{self._build_settings()}</tt></dt>\n</dl><hr />"
        )

    def _libraries(self) -> str:
        """Return the versions of the libraries that stand for APR and PCRE."""
        python = f"none (Python {platform.python_version()})"
        names = [("APR", python), ("APU", python)]
        if not self.is_22:
            names.append(("PCRE", _pcre_version()))
        return "".join(
            f"<dt><strong>{how} {name} Version:</strong> <tt>{version}</tt></dt>\n"
            for name, version in names
            for how in ("Server loaded", "Compiled with")
        )

    def _build_settings(self) -> str:
        """Return the settings that httpd has from its build."""
        root = escape_html(self.configuration.root)
        file = escape_html(self.configuration.options.file)
        return f"""\
 -D APR_HAS_SENDFILE
 -D APR_HAS_MMAP
 -D APR_HAVE_IPV6 (IPv4-mapped addresses enabled)
 -D APR_USE_PROC_PTHREAD_SERIALIZE
 -D SINGLE_LISTEN_UNSERIALIZED_ACCEPT
 -D APR_HAS_OTHER_CHILD
 -D AP_HAVE_RELIABLE_PIPED_LOGS
 -D HTTPD_ROOT="{root}"
 -D SUEXEC_BIN="{wrapper_of(self.r.plan.dialect)}"
 -D DEFAULT_PIDLOG="logs/httpd.pid"
 -D DEFAULT_SCOREBOARD="logs/apache_runtime_status"
 -D DEFAULT_ERRORLOG="logs/error_log"
 -D AP_TYPES_CONFIG_FILE="conf/mime.types"
 -D SERVER_CONFIG_FILE="{file}"
"""

    def _hooks(self, mark: str) -> str:
        """Return the hooks with their functions; *mark* begins links to modules."""
        sections = SECTIONS[:2] if self.is_22 else SECTIONS
        return "".join(
            f'<h2><a name="{name}">{title}</a></h2>\n<dl>'
            + "".join(self._hook(hook_title, hook, mark) for hook_title, hook in hooks)
            + "</dl>\n<hr />\n"
            for name, title, hooks in sections
        )

    def _hook(self, title: str, hook: str, mark: str) -> str:
        functions = "".join(
            f'&nbsp;&nbsp; {each.order:02d} <a href="{mark}{each.module}">{each.module}</a> <br/>'
            for each in hooked(hook, self.loaded)
        )
        return f"<dt><strong>{title}:</strong>\n <br /><tt>\n{functions}\n  </tt>\n</dt>\n"

    def _providers(self) -> str:
        blocks = []
        for (group, version), names in sorted(providers(self.loaded).items()):
            aliases = self.configuration.provider("aliases", group)
            if aliases is not None:
                names |= aliases(self.configuration.main).keys()
            listed = "".join(f"<tt>&nbsp;&nbsp;{name}</tt><br/>" for name in sorted(names))
            blocks.append(
                f"<dt><strong>{group}</strong> (version <tt>{version}</tt>):\n <br />\n{listed}\n</dt>\n"
            )
        return f'<h2><a name="providers">Providers</a></h2>\n<dl>{"".join(blocks)}</dl>\n<hr />\n'

    def _module(self, source: str) -> str:
        """Return the block of one module: its hooks, its directives, its lines of the configuration."""
        entry = table().get(source) or ServerInfoEntry(has_directives=True)
        hooks = {each.hook for each in entry.hooks}
        records = ", ".join(f"<tt>{name}</tt>" for name in entry.records)
        phases = ", ".join(f"<tt>{title}</tt>" for title, hook in REQUEST if hook in hooks)
        handlers = "<tt> <em>yes</em></tt>" if "handler" in hooks else _NONE
        return (
            f'<dl><dt><a name="{source}"><strong>Module Name:</strong></a> <font size="+1"><tt><a '
            f'href="?{source}">{source}</a></tt></font></dt>\n'
            f"<dt><strong>Content handlers:</strong> {handlers}</dt>"
            f"<dt><strong>Configuration Phase Participation:</strong>\n{records or _NONE}</dt>"
            f"<dt><strong>Request Phase Participation:</strong>\n{phases or _NONE}</dt>\n"
            f"{self._directives(source, entry)}{self._added(source)}</dl><hr />\n"
        )

    def _directives(self, source: str, entry: ServerInfoEntry) -> str:
        if not entry.has_directives:
            return "<dt><strong>Module Directives:</strong> <tt>none</tt></dt>"
        rows = catalogue(version_text(self.r.plan.dialect)).module_rows(source)
        listed = "".join(
            f"<dd><tt>{escape_html(row.name)}{'&gt;' if row.name.startswith('<') else ''} - "
            f"<i>{escape_html(row.help)}</i></tt></dd>\n"
            for row in rows
        )
        lines = ConfigLines(_names(rows)).text(self.configuration.tree)
        return (
            f"<dt><strong>Module Directives:</strong></dt>{listed}"
            f"<dt><strong>Current Configuration:</strong></dt>\n{lines}"
        )

    def _added(self, source: str) -> str:
        """Return the first text that AddModuleInfo gives for the module."""
        text = next((text for name, text in self.more if name == source), None)
        if text is None:
            return ""
        return f"<dt><strong>Additional Information:</strong>\n</dt><dd>{text}</dd>"


def _names(rows: Iterable[Any]) -> frozenset[str]:
    return frozenset(row.name.lower() for row in rows)


def _magic(is_22: bool) -> str:
    return "20051115:43" if is_22 else "20120211:142"


def _built() -> str:
    """Return the time of this installation, in the form of httpd's build time."""
    seconds = os.stat(whimbrel.__file__ or "").st_mtime
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))


def _pcre_version() -> str:
    try:
        import pcre2
    except ImportError:
        return "none"
    return str(getattr(pcre2, "__libpcre2_version__", "10"))

"""server-info is the same page under Whimbrel as under apache2, apart from versions, addresses and paths."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.differential.servers import APACHE, WHIMBREL, Program
from tests.differential.stock_site import STOCK, StockServer, write_documents
from whimbrel.modules import ALL

QUERIES = (
    *("", "?", "?config", "?server", "?list", "?hooks", "?HOOKS", "?providers", "?mod_dir.c", "?MOD_SO.C"),
    *("?core.c", "?event.c", "?mod_rewrite.c", "?nope", "?x=y"),
)
INFO = """LoadModule info_module /usr/lib/apache2/modules/mod_info.so
<Location /server-info>
SetHandler server-info
Require all granted
</Location>
AddModuleInfo core.c "about <b>core</b>"
AddModuleInfo mod_dir.c one
AddModuleInfo mod_dir.c two
<Directory />
  <Files "*.x">
    DirectoryIndex a
  </Files>
  <If "%{REQUEST_URI} =~ /x/">
    DirectoryIndex "b" \\
      c
  </If>
</Directory>
<Location /empty>
</Location>
<AuthnProviderAlias file others>
AuthUserFile /nowhere
</AuthnProviderAlias>
"""
_MASKS = (
    (r'(Server (?:Version|Built):</strong> <font size="\+1"><tt>)[^<]*', r"\1@"),
    (r"((?:Server loaded|Compiled with) \w+ Version:</strong> <tt>)[^<]*", r"\1@"),
    (r"Max Daemons: \d+", "Max Daemons: @"),
    (r' -D (\w+)="[^"]*"', r" -D \1=@"),
    (r"<address>.*?</address>", "<address>@</address>"),
)
# Modules beside those of the stock site: all of httpd's that both programs have, without the other MPMs and
# mod_cgid. The order of hooks is known of httpd's modules only (catalogue/server_info.tsv).
_CHOSEN = "mpm_ info cgid bucketeer evasive rpaf wsgi xsendfile".split()


def further_modules() -> str:
    """Return LoadModule lines for the built modules that the stock site does not load."""
    stock = {path.name.removesuffix(".load") for path in (STOCK / "mods-enabled").glob("*.load")}
    lines = []
    for path in sorted(Path(APACHE.module_dir).glob("mod_*.so")):
        name = path.stem.removeprefix("mod_")
        if path.stem in ALL and name not in stock and not name.startswith(tuple(_CHOSEN)):
            lines.append(f"LoadModule {name}_module {path}\n")
    return "".join(lines)


def pages(program: Program, base: Path, extra: str) -> dict[str, str]:
    """Return the pages by query, with what may differ masked."""
    with StockServer(program, base, extra) as server:
        assert server.started, server.output
        found = {}
        for query in QUERIES:
            head = f"GET /server-info{query} HTTP/1.1\nHost: localhost\nConnection: close"
            status, fields, body = server.ask(head)
            text = body.decode("latin-1").replace(str(server.root), "ROOT").replace(str(server.port), "PORT")
            for pattern, mask in _MASKS:
                text = re.sub(pattern, mask, text)
            lengths = {"content-length"}
            found[query] = f"{status}\n{[f for f in fields if f[0] not in lengths]}\n{text}"
        return found


@pytest.mark.skipif(not (APACHE.present and STOCK.is_dir()), reason="Debian's apache2 is not installed")
@pytest.mark.parametrize("more", [False, True], ids=["stock", "all modules"])
def test_pages(tmp_path: Path, more: bool) -> None:
    write_documents(tmp_path)
    extra = (further_modules() if more else "") + INFO
    expected = pages(APACHE, tmp_path, extra)
    found = pages(WHIMBREL, tmp_path, extra)
    for query in QUERIES:
        assert found[query].splitlines() == expected[query].splitlines(), query

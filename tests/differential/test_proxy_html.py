"""Documents behind the filters xml2enc and proxy-html: bytes and fields are those of apache2."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.differential.exchange import Request, exchange
from tests.differential.html_documents import DOCUMENTS
from tests.differential.servers import APACHE, WHIMBREL
from tests.differential.site import GeneratedSite, ServerProcess, documents
from tests.support.samples import amount

if find_spec("lxml") is not None:
    from lxml import etree

    HTML5 = etree.LIBXML_VERSION >= (2, 14)
else:
    HTML5 = False

pytestmark = [
    pytest.mark.skipif(not APACHE.present, reason="apache2 is not installed"),
    pytest.mark.skipif(find_spec("lxml") is None, reason="lxml is not installed"),
    pytest.mark.skipif(HTML5, reason="lxml has libxml2 2.14 or later, whose parser is that of HTML 5"),
]
LINKS = "".join(
    f"ProxyHTMLLinks {line}\n"
    for line in ("a href", "img src longdesc", "link href", "script src for", "form action", "base href")
)
SETTINGS = {
    "plain": "ProxyHTMLEnable On\n",
    "extended": "ProxyHTMLEnable On\nProxyHTMLExtended On\nProxyHTMLEvents onclick\n",
    "strict": "ProxyHTMLEnable On\nProxyHTMLDocType HTML\nProxyHTMLMeta On\n",
    "legacy": "ProxyHTMLEnable On\nProxyHTMLDocType XHTML Legacy\nProxyHTMLStripComments On\n"
    "ProxyHTMLFixups lowercase dospath\n",
    "no-xml2enc": "SetOutputFilter proxy-html\n",
    "utf-8": "ProxyHTMLEnable On\nAddType text/html;charset=utf-8 .html\n",
    "windows": "ProxyHTMLEnable On\nAddType text/html;charset=windows-1252 .html\n",
    "latin2": "ProxyHTMLEnable On\nxml2EncDefault iso-8859-2\nProxyHTMLCharsetOut *\n",
    "start": "SetOutputFilter xml2enc;proxy-html\nxml2StartParse p html\n",
    "only-xml2enc": "SetOutputFilter xml2enc\n",
}
MAPS = {
    "longer": ("/app/ /longer/",),
    "regex": ("/([a-z]*)/ /R$1/ R",),
    "goes-on": ("/([a-z]*)/ /R$1/ Rl", "/Rapp/ /S/ R"),
    "last": ("/app/ /b/ L", "/b/ /c/"),
    "start": ("go( run( ^",),
    "end": ("') ') $",),
    "condition": ("/app/ /N/ h V=one", "/app/ /M/ ec !V=one"),
    "variables": ("/${X|app}/ /${V}/ vV",),
    "without-links": ("/app/ /N/ h",),
}
ALL = [*SETTINGS, *(f"map-{name}" for name in MAPS)]
EVERY = amount(4, 1)
"""This part of the documents is read with each setting, others with the next one."""
# apache2's conversion to the output charset ends the connection at characters that the charset lacks
SPARED = {("latin2", "entities"), ("latin2", "meta_charset_sjis")}


def configuration() -> str:
    """Return a section for each of `SETTINGS` and `MAPS`; all serve the same files."""
    names = ("xml2enc", "proxy_html")
    text = "".join(f"LoadModule {name}_module {APACHE.module_dir}/mod_{name}.so\n" for name in names)
    text += f"SetEnv PROXY_HTML_FORCE 1\nSetEnv V one\n{LINKS}"
    text += '<Directory "%ROOT%">\nRequire all granted\n</Directory>\n'
    for name, lines in SETTINGS.items():
        lines += "ProxyHTMLURLMap http://back.example /pub\nProxyHTMLURLMap /app/ /new/\n"
        text += f'Alias /{name}/ "%ROOT%/html/"\n<Location /{name}/>\n{lines}</Location>\n'
    for name, maps in MAPS.items():
        lines = SETTINGS["extended"] + "ProxyHTMLInterp On\n"
        lines += "".join(f"ProxyHTMLURLMap {each}\n" for each in maps)
        text += f'Alias /map-{name}/ "%ROOT%/html/"\n<Location /map-{name}/>\n{lines}</Location>\n'
    return text


@pytest.fixture(scope="module")
def ports() -> Iterator[tuple[int, int]]:
    """The ports of apache2 and of Whimbrel."""
    with tempfile.TemporaryDirectory() as base, ExitStack() as stack:
        os.chmod(base, 0o755)
        root = Path(base) / "site"
        documents(root)
        (root / "htdocs/html").mkdir()
        for name, data in DOCUMENTS.items():
            (root / f"htdocs/html/{name}.html").write_bytes(data)
        for path in (root, *root.rglob("*")):
            os.chmod(path, 0o755 if path.is_dir() else 0o644)
            os.utime(path, (1_600_000_000, 1_600_000_000))
        site = GeneratedSite(configuration())
        servers = [stack.enter_context(ServerProcess(p, site, root)) for p in (APACHE, WHIMBREL)]
        assert all(server.started for server in servers), [server.output for server in servers]
        yield servers[0].port, servers[1].port


@pytest.mark.parametrize("settings", ALL)
def test_documents_are_those_of_apache(ports: tuple[int, int], settings: str) -> None:
    different = []
    for name in [*DOCUMENTS][ALL.index(settings) % EVERY :: EVERY]:
        if (settings, name) not in SPARED:
            request = Request(f"/{settings}/{name}.html")
            wanted, given = (exchange(port, request) for port in ports)
            if wanted != given:
                different.append((name, wanted, given))
    assert different == []

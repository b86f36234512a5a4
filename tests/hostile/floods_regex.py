"""Requests that make patterns search for long: another client waits little longer than beside apache2.

The patterns are those of a configuration, with subjects from the client, and those of filters over bodies.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from tests.hostile.floods_work import Flood, FloodedSite, compare
from tests.hostile.measure import Budget, Measure, Result

NESTED = "(a+)+$"  # tries each division of a run of "a" that another character follows
LINE = 400_000  # bytes of a line of the documents
MODULES = "brotli expires proxy proxy_html proxy_http sed substitute xml2enc".split()
_LOADS = "".join(f"LoadModule {m}_module /usr/lib/apache2/modules/mod_{m}.so\n" for m in MODULES)
CONF = f"""
{_LOADS}
Timeout 60
AddType text/html .shtml
AddOutputFilter INCLUDES .shtml
RewriteEngine on
RewriteCond %{{HTTP:X-Rewrite}} {NESTED}
RewriteRule ^ /b.txt
SetEnvIf X-Env {NESTED} hit
RequestHeader edit X-Edit {NESTED} b
<LocationMatch "/m/{NESTED}">
    Header set X-Matched yes
</LocationMatch>
<If "%{{HTTP:X-If}} =~ /{NESTED}/">
    Header set X-If yes
</If>
Header set X-Expr yes "expr=%{{HTTP:X-Header}} =~ /{NESTED}/"
<Location /many>
    SetOutputFilter SUBSTITUTE
    Substitute "s/a/bc/"
    Substitute "s/\\b(d+)e/$1/"
</Location>
<Location /nested>
    SetOutputFilter SUBSTITUTE
    Substitute "s/(x+)+y$/z/"
</Location>
<Location /sed>
    SetOutputFilter Sed
    OutputSed "s/ab*/X/g"
</Location>
<Location /deflate>
    SetOutputFilter DEFLATE
</Location>
<Location /meta>
    SetOutputFilter xml2enc;proxy-html
    ProxyHTMLEnable On
    ProxyHTMLMeta On
    ProxyHTMLDocType "<!DOCTYPE html>"
</Location>
"""


def documents() -> dict[str, bytes]:
    """Return the documents by name."""
    line = b"a" * LINE + b"\n"
    return {
        "a.txt": b"plain a\n",
        "b.txt": b"plain b\n",
        "expr.shtml": b"<!--#if expr=\"v('HTTP_X_SSI') =~ /(a+)+$/\" -->yes<!--#else -->no<!--#endif -->\n",
        "many/a.txt": line,
        "nested/x.txt": b"x" * 60 + b"\n" + line,
        "sed/a.txt": b"abc" * (LINE // 3) + b"\n",
        "deflate/a.txt": random.Random(1).randbytes(LINE),
        "meta/a.html": b"<html><head>" + b"<meta " * (LINE // 6),
        "meta/b.html": b"<html><head>" + b"<meta http-equiv=" * (LINE // 18),
    }


def _field(name: str) -> Callable[[random.Random], str]:
    return lambda chance: f"/a.txt?{chance.random()} HTTP/1.1\r\n{name}: {'a' * chance.randint(40, 60)}!"


def _target(path: str) -> Callable[[random.Random], str]:
    return lambda chance: f"{path}?{chance.random()} HTTP/1.1"


FLOODS = (
    Flood("RewriteCond", _field("X-Rewrite")),
    Flood("SetEnvIf", _field("X-Env")),
    Flood("RequestHeader edit", _field("X-Edit")),
    Flood("If", _field("X-If")),
    Flood("Header expr", _field("X-Header")),
    Flood("LocationMatch", lambda chance: f"/m/{'a' * chance.randint(40, 60)}! HTTP/1.1"),
    Flood("SSI expr", lambda chance: f"/expr.shtml HTTP/1.1\r\nX-SSI: {'a' * chance.randint(40, 60)}!"),
    Flood("Substitute: many", _target("/many/a.txt")),
    Flood("Substitute: nested", _target("/nested/x.txt")),
    Flood("Sed", _target("/sed/a.txt")),
    Flood("Deflate", _target("/deflate/a.txt")),
    Flood("proxy-html: META", _target("/meta/a.html")),
    Flood("proxy-html: http-equiv", _target("/meta/b.html")),
)


def run(budget: Budget) -> Result:
    """Run up to five seconds of each flood."""
    seconds = min(5.0, budget.seconds / len(FLOODS) / 2.5)
    return compare(FloodedSite(CONF, documents()), FLOODS, seconds, budget.seed)


MEASURES = (
    Measure(
        "regex-load",
        "Searches and filters that take long delay others at most ten times as much as with apache2.",
        run,
        1,
        150,
    ),
)

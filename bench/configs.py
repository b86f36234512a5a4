"""The configurations under test: additions to the common one, for the httpd servers and for nginx."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

MANY = 10_000
THOUSAND = 1_000


@dataclass(frozen=True)
class Site:
    """Configuration of a case.

    Attributes:
        modules: loaded besides the common ones
        httpd: function from the root directory to the text
        nginx: text of the server block
        big: True if the configuration determines the memory
        connections: for how many nginx allocates memory at start
    """

    modules: tuple[str, ...] = ()
    httpd: Callable[[Path], str] = lambda root: ""
    nginx: Callable[[Path], str] = lambda root: ""
    big: bool = False
    connections: int = 1024


def networks(_root: Path) -> list[str]:
    """Return ten thousand networks; the last contains the load generator."""
    return [*(f"10.{n // 250}.{n % 250}.0/24" for n in range(MANY - 1)), "127.0.0.0/8"]


def _networks(root: Path) -> str:
    lines = "".join(f"    Require ip {network}\n" for network in networks(root))
    return f'<Directory "{root}/htdocs">\n{lines}</Directory>\n'


def _hosts(root: Path) -> str:
    host = '<VirtualHost *>\nServerName h{0}.example.org\nDocumentRoot "{1}/htdocs"\n</VirtualHost>\n'
    return "".join(host.format(n, root) for n in range(MANY))


def _redirects(_root: Path) -> str:
    """Return a thousand rules, all of which a request for the last page passes."""
    return "RewriteEngine On\n" + "".join(
        f"RewriteRule ^/gone{n}\\.html$ /1k.html [R=301,L]\n" for n in range(THOUSAND)
    )


def _rules(_root: Path) -> str:
    """Return the same with files in place of redirects."""
    return "RewriteEngine On\n" + "".join(
        f"RewriteRule ^/old{n}\\.html$ /1k.html [L]\n" for n in range(THOUSAND)
    )


BROWSERS = """BrowserMatch "Mozilla/2" nokeepalive
BrowserMatch "MSIE 4\\.0b2;" nokeepalive downgrade-1.0 force-response-1.0
BrowserMatch "RealPlayer 4\\.0" force-response-1.0
BrowserMatch "Java/1\\.0" force-response-1.0
BrowserMatch "JDK/1\\.0" force-response-1.0
BrowserMatch "Microsoft Data Access Internet Publishing Provider" redirect-carefully
BrowserMatch "^WebDrive" redirect-carefully
BrowserMatch "^gnome-vfs/1.0" redirect-carefully
LogFormat "%h %l %u %t \\"%r\\" %>s %O \\"%{Referer}i\\" \\"%{User-Agent}i\\"" combined
"""
DEFLATE = """AddOutputFilterByType DEFLATE text/html text/plain text/xml text/css text/x-component
AddOutputFilterByType DEFLATE text/javascript application/javascript application/x-javascript
AddOutputFilterByType DEFLATE application/rss+xml application/xml application/json
"""
SITES = {
    "plain": Site(
        ("autoindex", "include", "status"),
        lambda root: (
            f"""<Directory "{root}/htdocs">
    Options +Indexes +Includes +FollowSymLinks
    IndexOptions FancyIndexing
    AddType text/html .shtml
    AddOutputFilter INCLUDES .shtml
</Directory>
<Directory "{root}/htdocs/sealed">
    AuthType Basic
    AuthName "Bench"
    AuthUserFile "{root}/passwd-bcrypt"
    Require valid-user
</Directory>
<Location /server-status>
    SetHandler server-status
</Location>
"""
        ),
    ),
    "htaccess": Site(
        ("env",), lambda root: f'<Directory "{root}/htdocs">\n    AllowOverride All\n</Directory>\n'
    ),
    "networks": Site(
        ("authz_host",),
        _networks,
        lambda root: "".join(f"        allow {n};\n" for n in networks(root)) + "        deny all;\n",
        big=True,
    ),
    "hosts": Site(
        (),
        _hosts,
        lambda root: "        server_name " + "\n".join(f"h{n}.example.org" for n in range(MANY)) + ";\n",
        big=True,
    ),
    "sections": Site(
        (),
        lambda root: "".join(
            f"<Location /part{n}>\n    AddType text/plain .x{n}\n</Location>\n" for n in range(THOUSAND)
        ),
        big=True,
    ),
    "rules": Site(("rewrite",), _rules, big=True),
    "redirects": Site(("rewrite",), _redirects, big=True),
    # mod_cgi for both: the CPU time of scripts that mod_cgid starts is in no account
    "cgi": Site(
        ("alias", "cgi"),
        lambda root: (
            f'''ScriptAlias /cgi/ "{root}/cgi/"
<Directory "{root}/cgi">
    Require all granted
</Directory>
'''
        ),
    ),
    # Defaults of distributions: MaxKeepAliveRequests, patterns for old browsers, sizes in the log.
    "defaults": Site(
        ("setenvif",),
        lambda root: "MaxKeepAliveRequests 100\n" + BROWSERS,
        lambda root: "        keepalive_requests 100;\n",
    ),
    "idle": Site(
        (),
        lambda root: "KeepAliveTimeout 600\nAsyncRequestWorkerFactor 200\n",
        lambda root: "        keepalive_timeout 600;\n",
        connections=16_384,
    ),
    # Compression as Debian's deflate.conf sets it.
    "gzip": Site(
        ("setenvif", "filter", "deflate"),
        lambda root: DEFLATE,
        lambda root: "        gzip on;\n        gzip_comp_level 6;\n        gzip_vary on;\n",
    ),
    "substitute": Site(
        ("filter", "substitute"),
        lambda root: (
            "AddOutputFilterByType SUBSTITUTE text/html\n"
            """Substitute 's|<p class="text">|<p class="body">|n'\n"""
            """Substitute 's|http://back.example.org/|/|ni'\n"""
            """Substitute 's/<h([1-6])>/<h$1 id="top">/'\n"""
        ),
    ),
    "http2": Site(("http2",), lambda root: "Protocols h2c http/1.1\n"),
}

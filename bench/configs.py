"""The configurations under test: additions to the common one, for the httpd servers and for nginx."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench import stock, wsgi

MANY = 10_000
THOUSAND = 1_000
PORT = "backend-port"  # below the root: the port of the back end of proxies


@dataclass(frozen=True)
class Site:
    """Configuration of a case.

    Attributes:
        modules: loaded besides the common ones
        httpd: function from the root directory to the text
        nginx: text of the server block
        documents: directory of the documents below the root
        big: True if the configuration determines the memory
        php: True if php-fpm runs beside the servers
        connections: for how many nginx allocates memory at start
        tls: True if clients speak TLS
        proxied: True if the servers pass requests on to one nginx, whose port is in the file `PORT`
    """

    modules: tuple[str, ...] = ()
    httpd: Callable[[Path], str] = lambda root: ""
    nginx: Callable[[Path], str] = lambda root: ""
    documents: str = "htdocs"
    big: bool = False
    php: bool = False
    connections: int = 1024
    proxied: bool = False
    tls: bool = False


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


def _tls_files(root: Path) -> tuple[Path, Path]:
    """Return a certificate of an elliptic curve and its key, made once."""
    key, certificate = root / "tls.key", root / "tls.crt"
    if not certificate.exists():
        curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
        files = ["-keyout", str(key), "-out", str(certificate)]
        words = ["openssl", "req", "-x509", "-nodes", "-subj", "/CN=localhost", "-days", "30"]
        subprocess.run([*words, *curve, *files], check=True, capture_output=True)
    return certificate, key


def _tls(root: Path) -> str:
    """Return TLS for httpd."""
    certificate, key = _tls_files(root)
    files_of = f'SSLCertificateFile "{certificate}"\nSSLCertificateKeyFile "{key}"\n'
    return f"Protocols h2 http/1.1\nSSLEngine On\nSSLSessionCache none\n{files_of}"


def _tls_nginx(root: Path) -> str:
    """Return TLS for nginx."""
    certificate, key = _tls_files(root)
    protocols = "        ssl_protocols TLSv1.2 TLSv1.3;\n"  # as httpd; without the line 1.22 has no TLS 1.3
    return f"{protocols}        ssl_certificate {certificate};\n        ssl_certificate_key {key};\n"


def _port(root: Path) -> str:
    return (root / PORT).read_text()


def _writable(root: Path, name: str) -> Path:
    """Return a directory in which the servers' user writes."""
    directory = root / name
    directory.mkdir(exist_ok=True)
    directory.chmod(0o777)
    return directory


def _cache(root: Path) -> str:
    """Return a disk cache in the quick handler, and in the normal one for another host."""
    host = "<VirtualHost *>\nServerName {0}.example.org\nCacheQuickHandler {1}\n</VirtualHost>\n"
    return (
        f'''CacheRoot "{_writable(root, "cache")}"
CacheEnable disk /cgi/
ScriptAlias /cgi/ "{root}/cgi/"
<Directory "{root}/cgi">
    Require all granted
</Directory>
'''
        + host.format("quick", "On")
        + host.format("handler", "Off")
    )


def _dav(root: Path) -> str:
    """Return a collection with a lock database for each server."""
    return f'''DavLockDB "{_writable(root, "locks")}/${{SERVER}}"
<Directory "{root}/htdocs/dav">
    Dav On
    DirectoryIndex disabled
</Directory>
'''


SITES = {
    "backend": Site(),
    "proxy": Site(
        ("proxy", "proxy_http"),
        lambda root: f"ProxyPass / http://127.0.0.1:{_port(root)}/\n",
        lambda root: (
            f"""        location / {{
            proxy_pass http://backend;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
        }}
    }}
    upstream backend {{
        server 127.0.0.1:{_port(root)};
        keepalive 64;
"""
        ),
        proxied=True,
    ),
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
    # Entries of responses of a script; the key of an entry has the port, so each server has its own.
    "cache": Site(("alias", "cgi", "cache", "cache_disk"), _cache),
    "dav": Site(("dav", "dav_fs"), _dav),
    "php-fpm": Site(
        ("proxy", "proxy_fcgi"),
        lambda root: (
            f"""<FilesMatch "\\.php$">
    SetHandler "proxy:unix:{root}/fpm.sock|fcgi://localhost"
</FilesMatch>
"""
        ),
        php=True,
    ),
    # WordPress by its own .htaccess, with compression.
    "wordpress": Site(
        (*stock.MODULES, "deflate", "proxy", "proxy_fcgi", "rewrite"),
        lambda root: (
            stock.httpd(f"{root}/wordpress")
            + stock.DEFLATE
            + f"""<Directory "{root}/wordpress">
    AllowOverride All
</Directory>
<FilesMatch "\\.php$">
    SetHandler "proxy:unix:{root}/fpm.sock|fcgi://localhost"
</FilesMatch>
"""
        ),
        documents="wordpress",
        php=True,
    ),
    "wsgi": Site(("wsgi",), wsgi.httpd),
    # Defaults of distributions: MaxKeepAliveRequests, patterns for old browsers, sizes in the log.
    "defaults": Site(
        ("setenvif",),
        lambda root: "MaxKeepAliveRequests 100\n" + stock.BROWSERS,
        lambda root: "        keepalive_requests 100;\n",
    ),
    "idle": Site(
        (),
        lambda root: "KeepAliveTimeout 600\nAsyncRequestWorkerFactor 200\n",
        lambda root: "        keepalive_timeout 600;\n",
        connections=16_384,
    ),
    # Debian's stock configuration with compression, as its deflate.conf sets it.
    "gzip": Site(
        (*stock.MODULES, "deflate"),
        lambda root: stock.httpd(f"{root}/htdocs") + stock.DEFLATE,
        lambda root: stock.NGINX + "        gzip on;\n        gzip_comp_level 6;\n        gzip_vary on;\n",
    ),
    # Debian's stock configuration without compression, for the documents of an access log.
    "replay": Site(
        stock.MODULES,
        lambda root: stock.httpd(f"{root}/replay"),
        lambda root: stock.NGINX + stock.NGINX_TYPES,
        documents="replay",
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
    "tls": Site(("ssl", "http2"), _tls, _tls_nginx, tls=True),
    "http2": Site(("http2",), lambda root: "Protocols h2c http/1.1\n"),
}

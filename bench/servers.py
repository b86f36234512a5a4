"""Configuration text and command line of each server. Apache and Whimbrel read the same text."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from bench import wsgi
from bench.configs import SITES, Site

APACHE_MODULES = Path("/usr/lib/apache2/modules")
MODULES = ("mpm_event", "authn_core", "authn_file", "authz_core", "authz_user", "auth_basic", "mime", "dir")
NOTHING_ELSE = """async def app(scope, receive, send):
    await send({'type': 'http.response.start', 'status': 404, 'headers': []})
    await send({'type': 'http.response.body', 'body': b''})
"""
COMBINED = '%h %l %u %t \\"%r\\" %>s %b \\"%{Referer}i\\" \\"%{User-Agent}i\\"'


@dataclass(frozen=True)
class Server:
    """Server under test:

    *argv* runs it in the foreground with its configuration; its URLs begin with *prefix*. *root* has the
    documents.
    """

    name: str
    argv: list[str]
    port: int
    version: list[str]
    prefix: str = ""
    root: Path = Path()
    tls: bool = False

    def url(self, path: str) -> str:
        return f"http{'s' if self.tls else ''}://127.0.0.1:{self.port}{self.prefix}{path}"


def httpd_text(root: Path, logs: Path, port: int, site: Site) -> str:
    """Return the configuration: one process, limits above the load, sendfile as in nginx."""
    user = "User www-data\nGroup www-data\n" if os.getuid() == 0 else ""
    loads = "".join(f"LoadModule {m}_module {APACHE_MODULES}/mod_{m}.so\n" for m in (*MODULES, *site.modules))
    return f"""{loads}{user}Define SERVER {logs.name}
ServerRoot "{root}"
ServerName localhost
Listen 127.0.0.1:{port}
PidFile {logs}/pid
DefaultRuntimeDir {logs}
ErrorLog {logs}/error_log
LogFormat "{COMBINED}" combined
CustomLog {logs}/access_log combined
StartServers 1
ServerLimit 1
ThreadsPerChild 64
MaxRequestWorkers 64
KeepAlive On
MaxKeepAliveRequests 0
EnableSendfile On
TypesConfig "{root}/mime.types"
DocumentRoot "{root}/{site.documents}"
<Directory />
    AllowOverride None
    Require all denied
</Directory>
<Directory "{root}/{site.documents}">
    Require all granted
</Directory>
<Directory "{root}/htdocs/private">
    AuthType Basic
    AuthName "Bench"
    AuthUserFile "{root}/passwd"
    Require valid-user
</Directory>
{site.httpd(root)}"""


def nginx_text(root: Path, logs: Path, port: int, site: Site) -> str:
    """Return the same for nginx: documents, log format combined, password area, one worker."""
    user = "user www-data;\n" if os.getuid() == 0 else ""
    folders = "".join(
        f"    {kind}_temp_path {logs}/{kind};\n"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    return f"""{user}worker_processes 1;
daemon off;
pid {logs}/pid;
error_log {logs}/error_log crit;
events {{ worker_connections {site.connections}; }}
http {{
{folders}    types {{ text/html html; application/octet-stream bin; }}
    access_log {logs}/access_log combined;
    sendfile on;
    server_names_hash_max_size 65536;
    keepalive_requests 1000000000;
    server {{
        listen 127.0.0.1:{port}{" ssl" if site.tls else ""};
        root {root}/{site.documents};
        location /private/ {{ auth_basic "Bench"; auth_basic_user_file {root}/passwd; }}
{site.nginx(root)}    }}
}}
"""


def program(name: str) -> str | None:
    """Return the path of a server's program, or None."""
    if name == "whimbrel":
        return shutil.which(Path(sys.executable).with_name("whimbrel-httpd"))
    if name == "granian":
        return shutil.which(Path(sys.executable).with_name("granian"))
    if name in wsgi.NAMES:
        return wsgi.program(name) and program("nginx")
    known = {"apache": "apache2", "nginx": "nginx"}[name]
    return shutil.which(known, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")


def prepare(name: str, root: Path, port: int, site: str = "plain") -> Server:
    """Write the configuration of one server; return the server."""
    logs, conf, found = root / f"{name}-{site}", root / f"{name}-{site}.conf", program(name)
    assert found is not None
    logs.mkdir()
    os.chmod(logs, 0o755)
    (root / "mime.types").write_text("text/html html\napplication/octet-stream bin\n")
    if name == "granian":
        (logs / "nothing_else.py").write_text(NOTHING_ELSE)
        argv = [
            found,
            "--interface",
            "asgi",
            "--host",
            "127.0.0.1",
            "--port",
            str(port),
            "--workers",
            "1",
            "--working-dir",
            str(logs),
            "--no-ws",
            "--http",
            "1",
            "--backpressure",
            str(SITES[site].connections),
            "--static-path-route",
            "/s",
            "--static-path-mount",
            f"{root}/htdocs",
            "nothing_else:app",
        ]
        return Server(name, argv, port, [found, "--version"], "/s", root)
    if name in wsgi.NAMES:
        behind = Site(nginx=lambda root: wsgi.nginx(root, name))
        conf.write_text(nginx_text(root, logs, port, behind))
    else:
        conf.write_text((nginx_text if name == "nginx" else httpd_text)(root, logs, port, SITES[site]))
    if name == "nginx" or name in wsgi.NAMES:
        argv = [found, "-p", str(logs), "-c", str(conf), "-e", f"{logs}/error_log"]
        if name in wsgi.NAMES:
            argv = wsgi.argv(root, name, argv)
    else:
        argv = [found, "-d", str(root), "-f", str(conf), "-DFOREGROUND"]
    return Server(name, argv, port, [found, "-v"], root=root, tls=SITES[site].tls)

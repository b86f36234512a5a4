"""nginx and HAProxy beside a server under attack: as proxies in front of it, or as origins behind it."""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType

from whimbrel.testing.ports import free_port

NGINX_FRAME = """\
daemon off;
worker_processes 1;
pid {root}/pid;
error_log {root}/error_log;
user root;
events {{ worker_connections 256; }}
http {{
    log_format lines '"$request" $status';
    access_log {root}/access_log lines;
    client_body_temp_path {root}/body;
    proxy_temp_path {root}/proxy;
    fastcgi_temp_path {root}/fastcgi;
    uwsgi_temp_path {root}/uwsgi;
    scgi_temp_path {root}/scgi;
    client_header_timeout 1s;
    client_body_timeout 1s;
    keepalive_timeout 1s;
    upstream behind {{ server 127.0.0.1:{behind}; keepalive 8; }}
    server {{
        listen 127.0.0.1:{port};
        {rules}
    }}
}}
"""
NGINX_PROXY = (
    "location / { proxy_pass http://behind; proxy_http_version 1.1; "
    'proxy_set_header Connection ""; proxy_request_buffering off; }'
)
NGINX_ORIGIN = "location ~ ^/victim-(\\d+) { return 302 /went-$1; } location / { return 200 ok; }"
HAPROXY_FRAME = """\
global
    log stdout format raw local0
    maxconn 256
defaults
    mode http
    log global
    log-format "%{{+Q}}r %ST"
    timeout client 1s
    timeout http-request 1s
    timeout http-keep-alive 1s
    timeout connect 5s
    timeout server 5s
frontend front
    bind 127.0.0.1:{port}
    {rules}
backend behind
    http-reuse always
    server one 127.0.0.1:{behind}
"""
HAPROXY_PROXY = "default_backend behind"
HAPROXY_ORIGIN = (
    "http-request redirect code 302 location %[path,regsub(^/victim-,/went-)] if { path_beg /victim- }\n"
    "    http-request return status 200 content-type text/plain string ok"
)


def program(name: str) -> str | None:
    """Return the path of nginx or haproxy; None where it is not installed."""
    return shutil.which(name, path="/usr/bin:/usr/sbin:/usr/local/bin:/usr/local/sbin")


class OtherServer:
    """nginx or HAProxy; a context manager.

    It passes requests to the port *behind*, or answers ``/victim-N`` with a redirect to ``/went-N``.
    """

    def __init__(self, name: str, behind: int | None = None) -> None:
        self.name = name
        self.port = free_port()
        self._behind = behind

    def __enter__(self) -> OtherServer:
        self.root = Path(tempfile.mkdtemp(prefix="whimbrel-proxies-"))
        path = program(self.name)
        assert path is not None
        conf = self.root / "conf"
        if self.name == "nginx":
            frame = NGINX_FRAME
            rules = NGINX_ORIGIN if self._behind is None else NGINX_PROXY
            argv = [path, "-p", str(self.root), "-c", str(conf)]
        else:
            frame = HAPROXY_FRAME
            rules = HAPROXY_ORIGIN if self._behind is None else HAPROXY_PROXY
            argv = [path, "-db", "-f", str(conf)]
        conf.write_text(frame.format(root=self.root, port=self.port, behind=self._behind or 9, rules=rules))
        with (self.root / "output").open("wb") as sink:
            self._process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=sink, stderr=sink)
        end = time.monotonic() + 10
        while time.monotonic() < end and self._process.poll() is None:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return self
            time.sleep(0.02)
        output = (self.root / "output").read_text()
        self.__exit__(None, None, None)
        raise RuntimeError(f"{self.name} did not start: {output}")

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.terminate()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(5)
        shutil.rmtree(self.root, ignore_errors=True)

    def lines(self) -> list[str]:
        """Return the lines of its access log."""
        path = self.root / ("access_log" if self.name == "nginx" else "output")
        return path.read_text("latin-1").splitlines() if path.exists() else []

"""Python applications: one script for all servers, gunicorn and uWSGI behind nginx.

Their CPU time is that of nginx and of the application's processes together. Each has one process with 15
threads, as mod_wsgi by default; gunicorn's sync workers have one thread.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

APPLICATION = """
BLOCK = b"x" * 8192
def application(environ, start_response):
    if environ["PATH_INFO"] == "/stream":
        start_response("200 OK", [("Content-Type", "text/plain")])
        return (BLOCK for _ in range(128))
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", "12")])
    return [b"Hello World!"]
"""
LENGTH = 12  # of hello world
STREAM_LENGTH = 128 * 8192
THREADS = 15
_GUNICORN = "--workers 1 --umask 0 --log-level error --bind unix:{socket} --chdir {root}/app"
# name -> program, arguments
COMMANDS = {
    "gunicorn-sync": ("gunicorn", f"{_GUNICORN} bench:application"),
    "gunicorn-gthread": (
        "gunicorn",
        f"{_GUNICORN} --worker-class gthread --threads {THREADS} bench:application",
    ),
    "uwsgi": (
        "uwsgi",
        "--plugin python3 --master --processes 1 --enable-threads --disable-logging --chmod-socket=666 "
        f"--threads {THREADS} --socket {{socket}} --chdir {{root}}/app --wsgi-file bench.py",
    ),
}
NAMES = tuple(COMMANDS)
_PARAMS = (
    "QUERY_STRING $query_string REQUEST_METHOD $request_method REQUEST_URI $request_uri "
    "SERVER_PROTOCOL $server_protocol REMOTE_ADDR $remote_addr REMOTE_PORT $remote_port "
    "SERVER_PORT $server_port SERVER_NAME $server_name PATH_INFO $uri"
).split()


def program(name: str) -> str | None:
    """Return the path of the program of one of `NAMES`, None if it is not installed."""
    command = COMMANDS[name][0]
    return shutil.which(Path(sys.executable).with_name(command)) or shutil.which(command)


def httpd(root: Path) -> str:
    """Return the configuration of mod_wsgi."""
    return f"""WSGIDaemonProcess bench processes=1 threads={THREADS}
WSGIScriptAlias / {root}/app/bench.py process-group=bench application-group=%{{GLOBAL}}
<Directory "{root}/app">
    Require all granted
</Directory>
"""


def nginx(root: Path, name: str) -> str:
    """Return the server block of nginx in front of one of `NAMES`."""
    socket = _socket(root, name)
    if COMMANDS[name][0] == "uwsgi":
        pairs = zip(_PARAMS[::2], _PARAMS[1::2], strict=True)
        lines = "".join(f"            uwsgi_param {key} {value};\n" for key, value in pairs)
        return f"        location / {{\n            uwsgi_pass unix:{socket};\n{lines}        }}\n"
    return f"""        location / {{
            proxy_pass http://application;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_set_header Host $host;
        }}
    }}
    upstream application {{
        server unix:{socket};
        keepalive 64;
"""


def argv(root: Path, name: str, front: list[str]) -> list[str]:
    """Return the command line that starts one of `NAMES`, and *front*, whose child it is."""
    found = program(name)
    assert found is not None
    socket = _socket(root, name)
    socket.parent.mkdir(exist_ok=True)
    socket.parent.chmod(0o777)  # uWSGI makes it as the servers' user
    arguments = COMMANDS[name][1].format(root=root, socket=socket).split()
    user = ["--uid", "www-data", "--gid", "www-data"] if os.getuid() == 0 and name == "uwsgi" else []
    words = 'sock="$1"; shift; count="$1"; shift; "${@:1:$count}" >"$sock.log" 2>&1 & shift "$count"\n'
    wait = 'for _ in {1..500}; do [ -S "$sock" ] && break; sleep 0.02; done; exec "$@"'
    command = [found, *arguments, *user]
    return ["bash", "-c", words + wait, "bench", str(socket), str(len(command)), *command, *front]


def _socket(root: Path, name: str) -> Path:
    return root / "sockets" / f"{name}.sock"


def write_application(root: Path) -> None:
    """Write the script."""
    (root / "app").mkdir(exist_ok=True)
    (root / "app" / "bench.py").write_text(APPLICATION)

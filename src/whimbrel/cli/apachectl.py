"""`whimbrel ctl`: the actions of apachectl.

start, stop, restart, graceful, graceful-stop and configtest run whimbrel-httpd, with the options beside them
(-d, -f, -C, --dialect ...). restart and graceful check the configuration first. status and fullstatus fetch
the page that STATUSURL names (APACHE_STATUSURL on Debian; by default http://localhost:80/server-status) and
print it as text. Other command lines are passed to whimbrel-httpd unchanged. For a server root with Debian's
layout the file envvars is read before, its directories are made (`run_directories`), and APACHE_ARGUMENTS are
the first options. Manual: programs/apachectl.html.
"""

from __future__ import annotations

import http.client
import os
import re
import signal
import sys
from html import unescape
from urllib.parse import urlsplit

from whimbrel.base.latin1 import to_system
from whimbrel.base.programs import permit_programs
from whimbrel.cli import httpd
from whimbrel.cli.arguments import parse
from whimbrel.cli.run_directories import make_directories, remove_session_caches
from whimbrel.config.servers import server_of
from whimbrel.config.service_settings import envvars_of, sourced_envvars
from whimbrel.utilities.options import UtilityProgram
from whimbrel.utilities.usage_error import UsageError

SIGNALS = ("start", "stop", "restart", "graceful", "graceful-stop")
GONE = ("startssl", "sslstart", "start-SSL")
TESTS = ("configtest", "status", "fullstatus")
ACTIONS = (*SIGNALS, *GONE, *TESTS, "usage", "help", "--help")
NO_SSL = (
    "The startssl option is no longer supported.\n"
    "Please edit httpd.conf to include the SSL configuration settings\n"
    "and then use apachectl start.\n"
)
STATUSURL = "http://localhost:80/server-status"
HTTPD = "whimbrel-httpd"
WAIT = 10  # seconds until the status page is given up


def run(program: UtilityProgram) -> int:
    """Run one action and return the exit status."""
    permit_programs()
    given = ["--dialect", "2.2"] * program.is_22 + [to_system(word) for word in program.words]
    action, options = _split_action(given)
    if action in ("", "usage", "help", "--help"):
        sys.stderr.write(usage("whimbrel ctl"))
        return 1
    if action not in ("-", "status", "fullstatus"):
        options = _with_server_below(options)
    added = _prepare(action, options)
    status = _run_action(action, [*added, *options], [*added, *given])
    if status and action not in ("status", "fullstatus"):
        more = "The Apache error log may have more information.\n" if action != "configtest" else ""
        sys.stdout.write(f"Action '{' '.join(given)}' failed.\n{more}")
    if action == "configtest":
        sys.stdout.flush()
        os.write(2, _following([*added, *options], is_valid=not status).encode("latin-1"))
    return status


def _prepare(action: str, options: list[str]) -> list[str]:
    """Read envvars, make the directories that it names, and return the options that it adds.

    Without Debian's layout there are none. Raises Exit.
    """
    try:
        arguments = parse(HTTPD, options if action != "-" else [])
    except UsageError:
        return []
    given = os.environ.get("APACHE_CONFDIR", "")
    server = server_of(arguments.root or given, arguments.file, arguments.named_build)
    envvars = arguments.envvars or os.environ.get("APACHE_ENVVARS", "") or envvars_of(server)
    if not envvars or not os.path.isfile(envvars):
        return []
    os.environ.update(sourced_envvars(envvars, server.root))
    make_directories(os.environ)
    if action == "start":
        remove_session_caches(os.environ)
    added = ["-d", given] if given and not arguments.root else []
    return [*added, *os.environ.get("APACHE_ARGUMENTS", "").split()]


def _with_server_below(options: list[str]) -> list[str]:
    """Return *options* with the server in a directory below -d, if that has none and no -f is given."""
    from whimbrel.config.server_paths import server_in

    try:
        arguments = parse(HTTPD, options)
    except UsageError:
        return options
    is_named = bool(arguments.root) and not arguments.file
    if not is_named or os.path.lexists(server_of(arguments.root, "", arguments.named_build).path):
        return options
    found = server_in(arguments.root, as_server=True)
    return options if found is None else [*options, "-d", found.root, "-f", found.path]


def _split_action(words: list[str]) -> tuple[str, list[str]]:
    """Return the action, which is the first or the last argument, and the options."""
    if not words or words[0] in ACTIONS:
        return (words[0], words[1:]) if words else ("", [])
    option = r"-[a-zA-Z]*[DCcdfeEk]|--dialect|--envvars|--builtin"
    takes = len(words) > 1 and re.fullmatch(option, words[-2]) is not None
    return (words[-1], words[:-1]) if not takes else ("-", words)


def usage(called: str) -> str:
    """Return the text of help."""
    return (
        f"Usage: {called} [<httpd options>] "
        "start|stop|restart|graceful|graceful-stop|configtest|status|fullstatus|help\n"
        f"       {called} <httpd args>\n       {called} -h            (for help on <httpd args>)\n"
    )


def _run_action(action: str, options: list[str], words: list[str]) -> int:
    if action in ("restart", "graceful"):
        return _check_config(options) or _httpd([*options, "-k", action])
    if action in SIGNALS:
        return _httpd([*options, "-k", action])
    if action == "configtest":
        return _httpd(["-t", *options])
    if action in ("status", "fullstatus"):
        return _show_status(full=action == "fullstatus")
    if action in GONE:
        sys.stdout.write(NO_SSL)
        return 2
    return _httpd(words)


def _following(options: list[str], *, is_valid: bool) -> str:
    """Return the line with the command behind a test; "" for options that are no command line of httpd."""
    from whimbrel.cli.next_commands import after_configtest

    try:
        return after_configtest(parse(HTTPD, options), is_valid=is_valid)
    except UsageError:
        return ""


def _httpd(words: list[str]) -> int:
    """Run whimbrel-httpd in this process; a start runs in a process of its own."""
    signal.signal(
        signal.SIGPIPE, signal.SIG_IGN
    )  # a log program or client that closes its end is an error code, not a signal
    signal.signal(signal.SIGINT, signal.default_int_handler)
    return httpd.run([HTTPD, *words])


def _check_config(options: list[str]) -> int:
    """Run -t; print its output only if the check fails."""
    saved_stderr = os.dup(2)
    reading, writing = os.pipe()
    os.dup2(writing, 2)
    os.close(writing)
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        status = 1
        try:
            status = _httpd(["-t", *options])
        finally:
            os._exit(status)
    os.dup2(saved_stderr, 2)
    os.close(saved_stderr)
    with os.fdopen(reading, "rb") as file:
        output = file.read()
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if status:
        os.write(2, output)
    return status


# status -------------------------------------------------------------------------------------------
def _show_status(*, full: bool) -> int:
    url = os.environ.get("STATUSURL") or os.environ.get("APACHE_STATUSURL") or STATUSURL
    try:
        text = as_text(fetch(url))
    except (OSError, http.client.HTTPException, ValueError) as problem:
        sys.stderr.write(f"'{url}' failed: {problem}\n")
        return 1
    sys.stdout.write(text if full else brief(text))
    return 0


def fetch(url: str) -> str:
    """Fetch the page at an http URL; raises OSError, HTTPException, or ValueError for an error status."""
    parts = urlsplit(url)
    if parts.scheme != "http" or parts.hostname is None:
        raise ValueError("not an http:// URL")
    connection = http.client.HTTPConnection(parts.hostname, parts.port or 80, timeout=WAIT)
    try:
        connection.request("GET", (parts.path or "/") + (f"?{parts.query}" if parts.query else ""))
        response = connection.getresponse()
        data = response.read()
    finally:
        connection.close()
    if response.status != 200:
        raise ValueError(f"{response.status} {response.reason}")
    return data.decode("latin-1")


def brief(text: str) -> str:
    """Return the page up to the scoreboard, where apachectl cuts it; all of a page without one."""
    lines = text.splitlines(keepends=True)
    end = next(
        (
            at
            for at, line in enumerate(lines)
            if line.rstrip().endswith("process") or line.startswith("Scoreboard Key:")
        ),
        len(lines),
    )
    return "".join(lines[:end]).rstrip("\n") + "\n"


def as_text(page: str) -> str:
    """Return a status page without markup: one line for each table row, two spaces between cells."""
    before, _, head = page.partition("<head>")
    body = before + head.partition("</head>")[2]
    if "<" not in body:
        return page
    body = re.sub(r"(?i)</t[dh]>\s*<t[dh][^<>]*>", "  ", body)
    ends = r"(?i)<br ?/?>|</(?:h\d|dt|tr|p|pre|address)>|<hr ?/?>|<(?:table|dl|pre)[^<>]*>"
    body = re.sub(ends, "\n", body)
    lines = [line.strip() for line in unescape(re.sub(r"<[^<>]*>", "", body)).split("\n")]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n") + "\n"

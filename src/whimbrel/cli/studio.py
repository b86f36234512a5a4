"""`whimbrel studio`: a page on this machine that shows a configuration, its findings, and what it answers.

Exit codes: 0 stopped; 1 the page cannot be served; 2 wrong usage or unreadable input.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from whimbrel.base.builds import AUTO
from whimbrel.base.latin1 import from_system, to_system
from whimbrel.base.loopback import free_port
from whimbrel.cli.help import HelpCommand, epilog
from whimbrel.cli.next_commands import command_line
from whimbrel.cli.options import (
    EXIT_USAGE,
    After,
    Before,
    BuiltIn,
    ConfigArguments,
    Defines,
    Envvars,
    File,
    Root,
    encoded,
    sources,
)
from whimbrel.config.servers import why_no_server
from whimbrel.utilities.usage_error import UsageError

if TYPE_CHECKING:
    from whimbrel.studio.nursery import Serve

MAX_MEMORY: Final = 512 << 20
"""Bytes of data of the server of the page; the processes of analysis have their own bound."""
MAX_FAULT: Final = 8192
"""Characters of the reason why there is no page."""
app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
EPILOG: Final = epilog(
    {0: "stopped", 1: "the page cannot be served", 2: "wrong usage or unreadable input"},
    ("whimbrel studio /etc/httpd", "whimbrel studio copy/conf/httpd.conf --port 8765"),
    "The page is for this user on this machine: its address has a key. Edits stay in memory until you write.",
)
Main = Annotated[
    Path | None,
    typer.Argument(metavar="CONF", help="Main file or server root. Default: this machine's server."),
]
Port = Annotated[
    int,
    typer.Option(
        min=0,
        max=65535,
        metavar="PORT",
        show_default=False,
        help="Serve the page at this port of 127.0.0.1. Default: a free one. Example: --port 8765",
    ),
]


@app.command(cls=HelpCommand, epilog=EPILOG)
def studio(
    conf: Main = None,
    root: Root = None,
    file: File = None,
    before: Before = None,
    after: After = None,
    defines: Defines = None,
    envvars: Envvars = None,
    builtin: BuiltIn = AUTO,
    port: Port = 0,
) -> None:
    """Show a configuration in the browser: findings, and why a request gets its answer. Ctrl-C ends it."""
    try:
        paths = [conf] if conf is not None else []
        lines = before or (), after or (), defines or ()
        is_file = conf is not None and conf.is_file()
        named = ConfigArguments(paths, root, file, *lines, envvars, is_file, builtin=builtin)
        raise typer.Exit(run(named, port))
    except UsageError as problem:
        os.write(2, encoded(f"{problem}\n"))
        raise typer.Exit(EXIT_USAGE) from None


def run(named: ConfigArguments, port: int) -> int:
    """Serve the page of a configuration until a signal; return the exit status. Raises UsageError.

    The server itself reads no file of the configuration: a confined process does.
    """
    from whimbrel.studio.nursery import start_nursery

    control, hello = start_nursery(lambda: _analysis(named))
    place = json.loads(hello or b'{"fault": "the process of analysis has ended"}')
    if "fault" in place:
        raise UsageError(place["fault"])
    directory = tempfile.mkdtemp(prefix="whimbrel-studio-")
    owner = os.getpid()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _stop)
    try:
        if os.getuid() == 0:
            os.chmod(directory, 0o711)
        return _serve(place, control, port or free_port(), from_system(directory))
    finally:
        if os.getpid() == owner:
            shutil.rmtree(directory, ignore_errors=True)


def _stop(_number: int, _frame: object) -> None:
    """End before the server handles signals itself."""
    raise SystemExit(0)


def _analysis(named: ConfigArguments) -> tuple[Serve | None, bytes]:
    """Confine the nursery; return what its processes do, and the server root and the main file as JSON, or
    why there is none.
    """
    from whimbrel.base.confinement import confine
    from whimbrel.base.process_limits import limit_process
    from whimbrel.studio.analysis import Analysis
    from whimbrel.studio.process import serve
    from whimbrel.studio.warming import warm

    confine()
    limit_process()
    try:
        found, _directory = sources(named)
        if found.options is None:
            raise UsageError(why_no_server(str(named.paths[0]) if named.paths else ""))
    except UsageError as problem:
        return None, json.dumps({"fault": str(problem)[:MAX_FAULT]}).encode()
    warm()
    place = {"root": found.options.server_root, "file": found.options.file}
    return lambda connection: serve(connection, Analysis(found)), json.dumps(place).encode()


def _serve(place: dict[str, str], control: socket.socket, port: int, directory: str) -> int:
    """Serve the page of the main file at *place* until a signal; return the exit status."""
    from whimbrel.base.errors import ConfigError, NotBound, StartError
    from whimbrel.base.process_limits import limit_process
    from whimbrel.cli.version_text import built
    from whimbrel.server.master.master import Master, StartOptions
    from whimbrel.studio.api import StudioApi
    from whimbrel.studio.module import load_server
    from whimbrel.studio.page import load_page
    from whimbrel.studio.session import StudioSession

    undo = command_line("upgrade", "--undo", "-d", place["root"])
    title = os.path.join(place["root"], place["file"])
    session = StudioSession(control, title, undo=undo)
    api = StudioApi(session, port, load_page())
    url = f"http://127.0.0.1:{port}/#key={session.token}"

    def print_address() -> None:
        print(f"Whimbrel studio of {to_system(title)}\n  {url}\nCtrl-C ends it.", flush=True)

    try:
        configuration = load_server(api, port, directory)
        master = Master(
            StartOptions(
                lambda: load_server(api, port, directory), "studio", built=built(), ready=print_address
            )
        )
        master.prepare(configuration)
    except NotBound as problem:
        os.write(2, encoded(f"port {problem.port} of 127.0.0.1 is in use: name another one with --port\n"))
        return 1
    except (ConfigError, StartError) as problem:
        os.write(2, encoded(f"the page cannot be served: {problem}\n"))
        return 1
    limit_process(MAX_MEMORY)
    return master.run()

"""`whimbrel serve`: run any configuration in the foreground, print what changed since the version that it was
written for, and the requests as they come.

Exit codes: 0 stopped; 1 the server cannot start or has failed; 2 wrong usage.
"""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, NoReturn

import typer

from whimbrel.base.builds import AUTO
from whimbrel.base.dialect import V24
from whimbrel.base.product import COMPATIBLE
from whimbrel.base.programs import permit_programs
from whimbrel.cli.arguments import Arguments
from whimbrel.cli.help import HelpCommand, epilog
from whimbrel.cli.options import Build, build_name
from whimbrel.utilities.usage_error import UsageError

if TYPE_CHECKING:
    from whimbrel.base.errors import NotBound
    from whimbrel.cli.serve_places import ServePlaces
    from whimbrel.cli.served_lines import ServedLines
    from whimbrel.cli.served_server import ServedServer
    from whimbrel.config.configuration import Configuration

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)

BOTH: Final = "both"
BOTH_START: Final = (
    "both versions must start: 2.4 does not, with this text; --dialect 2.2 serves it by 2.2 alone, and "
    "`whimbrel upgrade` writes it for 2.4"
)
STOPPING: Final = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
PORTS: Final = range(1, 65536)
EPILOG: Final = epilog(
    {0: "stopped", 1: "the server cannot start or has failed", 2: "wrong usage"},
    (
        "whimbrel serve /etc/apache2 --port 80=8080 --port 443=8443",
        "whimbrel serve copy/etc/httpd --dialect 2.2 --port 80=8080 --watch",
    ),
)

Tree = Annotated[
    Path | None,
    typer.Argument(
        metavar="[TREE]",
        help="A server root, a main file, or a copy of a machine. Default: the file of -f.",
    ),
]
PortPairs = Annotated[
    list[str] | None,
    typer.Option(
        metavar="OLD=NEW",
        help="Listen to port NEW where the text has OLD, in virtual hosts too; repeatable. "
        "Example: --port 80=8080",
    ),
]
Dialect = Annotated[
    str,
    typer.Option(
        help="Answer as 2.4, 2.2 or guide (the upgrade guide), or both: 2.4 on each port plus 1, with "
        "the requests whose answers differ. Example: --dialect 2.2",
    ),
]
TlsPort = Annotated[
    int | None,
    typer.Option(help="Serve HTTPS on 127.0.0.1:PORT with a new certificate for localhost.", metavar="PORT"),
]
Loopback = Annotated[
    bool,
    typer.Option(
        "--loopback",
        help="Listen on 127.0.0.1 alone, whatever address the text has, and write no log of the site.",
    ),
]
Watch = Annotated[
    bool, typer.Option("--watch", help="Reload the server after each valid change of its files.")
]
Wsgi = Annotated[
    str | None,
    typer.Option(
        metavar="MODULE:NAME",
        help="Serve this application of PEP 3333 on 127.0.0.1:8000, in place of a configuration. "
        "Example: --wsgi shop.wsgi:application",
    ),
]
ServedFile = Annotated[Path, typer.Option("-f", help="Read FILE as the main file. Example: -f conf/a.conf")]
ServedRoot = Annotated[
    Path | None,
    typer.Option("-d", help="Use this server root. Default: the parent of conf/. Example: -d ."),
]
EnvvarsFile = Annotated[
    Path | None, typer.Option(help="Read shell variables from FILE first. Default: Debian's envvars.")
]


@app.command(cls=HelpCommand, epilog=EPILOG)
def serve(
    tree: Tree = None,
    file: ServedFile = Path("conf/httpd.conf"),
    root: ServedRoot = None,
    port: PortPairs = None,
    defines: Annotated[list[str] | None, typer.Option("-D", help="Define NAME for <IfDefine>.")] = None,
    before: Annotated[list[str] | None, typer.Option("-C", help="Read DIRECTIVE before the file.")] = None,
    after: Annotated[list[str] | None, typer.Option("-c", help="Read DIRECTIVE after the file.")] = None,
    dialect: Dialect = "2.4",
    envvars: EnvvarsFile = None,
    builtin: Build = AUTO,
    tls: TlsPort = None,
    watch: Watch = False,
    loopback: Loopback = False,
    wsgi: Wsgi = None,
) -> None:
    """Serve any configuration of httpd 2.4 or 2.2 in the foreground. Ctrl-C ends it.

    Paths of a copy are read below the copy. Logs go to a temporary directory where their own cannot be
    written, and with --loopback. Missing users, certificates and document roots are replaced, with a line for
    each. The server that `upgrade --out` writes reads the documents of the old one, with their old .htaccess
    files: the start names these.
    """
    if dialect not in (*COMPATIBLE, BOTH):
        raise typer.BadParameter("the dialect must be 2.2, 2.4, guide or both", param_hint="--dialect")
    if wsgi is not None and tree is not None:
        raise typer.BadParameter("takes the place of TREE", param_hint="--wsgi")
    if tree is not None and (root is not None or file != Path("conf/httpd.conf")):
        raise typer.BadParameter("takes the place of -d and -f", param_hint="TREE")
    arguments = Arguments("whimbrel serve")
    arguments.defines = defines or []
    arguments.before = before or []
    arguments.after = after or []
    arguments.dialect = dialect
    arguments.envvars = os.path.abspath(envvars) if envvars is not None else ""
    if tree is None:
        arguments.root, arguments.file = root_and_file(file, root)
    stack = ExitStack()
    try:
        if wsgi is not None:
            from whimbrel.cli.serve_wsgi import application_tree

            tree = stack.enter_context(application_tree(wsgi))
        arguments.builtin = build_name(builtin)
        ports = ports_of(port or [])
        if dialect != BOTH:
            raise typer.Exit(run(arguments, ports, tree=tree, tls=tls, is_watched=watch, is_local=loopback))
        from whimbrel.cli.serve_both import run_both

        def run_dialect(one: str) -> int:
            arguments.dialect = one
            return run(
                arguments, ports, tree=tree, tls=tls, is_watched=watch, is_compared=True, is_local=loopback
            )

        raise typer.Exit(run_both(run_dialect))
    except UsageError as problem:
        raise typer.BadParameter(problem.message) from None
    finally:
        stack.close()


def ports_of(words: Sequence[str]) -> dict[int, int]:
    """Return the ports of --port; raises UsageError."""
    ports: dict[int, int] = {}
    for word in words:
        old, equals, new = word.partition("=")
        try:
            pair = int(old), int(new)
        except ValueError:
            pair = (0, 0)
        if not equals or pair[0] not in PORTS or pair[1] not in PORTS:
            raise UsageError(f"--port {word}: not OLD=NEW, such as 80=8080")
        if ports.setdefault(pair[0], pair[1]) != pair[1]:
            raise UsageError(f"--port {word}: port {old} has two replacements")
    return ports


def root_and_file(file: Path, root: Path | None) -> tuple[str, str]:
    """Return server root and file, absolute: a relative file is below *root*, else below the working
    directory.
    """
    if root is None:
        absolute = Path(os.path.abspath(file))
        directory = absolute.parent
        return str(directory.parent if directory.name == "conf" else directory), str(absolute)
    above = Path(os.path.abspath(root))
    return str(above), str(above / file)


def run(
    arguments: Arguments,
    ports: dict[int, int],
    *,
    tree: Path | None = None,
    tls: int | None = None,
    is_watched: bool = False,
    is_compared: bool = False,
    is_local: bool = False,
) -> int:
    """Read the configuration, print the notes, serve; return the exit status. Raises UsageError."""
    from whimbrel.cli import serve_watch
    from whimbrel.cli.serve_places import ServePlaces
    from whimbrel.cli.served_server import ServedServer
    from whimbrel.config.server_paths import server_in
    from whimbrel.config.servers import server_of, why_no_server

    permit_programs()
    opened: list[ServePlaces] = []
    for number in STOPPING:
        signal.signal(number, partial(_stop, opened))
    if is_watched:
        serve_watch.require_watchfiles()
    if tree is None:
        make_directories(arguments.root)
        server = server_of(arguments.root, arguments.file)
    else:
        server_found = server_in(str(tree), as_server=tree.is_file())
        if server_found is None:
            raise UsageError(why_no_server(str(tree)))
        server = server_found
        arguments.root = server.root
        arguments.file = server.path
    arguments.log_words += [f"-d {arguments.root}", f"-f {arguments.file}"]
    held = signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)  # until `_stop` knows of the directory
    places = ServePlaces(server, is_in_place=tree is None)
    opened.append(places)
    signal.pthread_sigmask(signal.SIG_SETMASK, held)
    try:
        if tls is not None:
            try:
                from whimbrel.cli.self_signed import include_line
            except ImportError:
                from whimbrel.base.extras import not_installed

                raise UsageError(not_installed("--tls", "tls")) from None
            arguments.after = [*arguments.after, include_line(tls, Path(places.directory))]
        loader = ServedServer(
            arguments, server, ports, places, shows_requests=True, is_compared=is_compared, is_local=is_local
        )
        return _serve(loader, is_watched=is_watched)
    finally:
        signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)  # a second signal must not interrupt this
        places.close()


def _stop(opened: list[ServePlaces], number: int, _frame: object) -> NoReturn:
    """End before the server handles signals itself, and remove the temporary directory.

    An exception would be lost where Python calls a finalizer.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)
    for places in opened:
        places.close()
    os._exit(128 + number if number == signal.SIGINT else 0)


def make_directories(root: str) -> None:
    """Make the directories logs and run of a server root, as far as the user may."""
    for name in ("logs", "run"):
        try:
            os.makedirs(os.path.join(root, name), exist_ok=True)
        except OSError:
            pass  # the logs go to a temporary directory


def port_hint(lines: ServedLines, problem: NotBound) -> str:
    """Return why the port of *problem* cannot be used, and the option that takes another one."""
    reason = "needs root" if problem.number == errno.EACCES else "is in use"
    used = problem.port - lines.offset
    old = next((old for old, new in lines.ports.items() if new == used), used)
    free = used + 8000 if used < 1024 else used + 1
    return f"port {problem.port} {reason}: add --port {old}={free}"


def _serve(loader: ServedServer, *, is_watched: bool) -> int:
    """Start the server of *loader* and wait for its end; return the exit status."""
    from whimbrel.base.errors import ConfigError, NotBound, StartError
    from whimbrel.base.latin1 import from_system
    from whimbrel.base.rich_console import terminal_console
    from whimbrel.cli import serve_banner, serve_watch
    from whimbrel.cli.config_loader import print_error, write_stderr
    from whimbrel.cli.serve_failures import FailureReport
    from whimbrel.cli.served_htaccess import htaccess_notes
    from whimbrel.cli.version_text import built
    from whimbrel.server.master.master import Master, StartOptions

    console = terminal_console(highlight=False, soft_wrap=True)
    report = FailureReport()

    def load() -> Configuration:
        report.require_terminal()
        return loader.load_to_serve()

    try:
        configuration = load()
        of_htaccess = [] if loader.places.image else htaccess_notes(configuration)
        serve_banner.print_banner(console, configuration, loader.notes(), of_htaccess)
        shown = " ".join(map(from_system, loader.arguments.log_words))
        master = Master(
            StartOptions(
                load,
                shown,
                built=built(),
                ready=lambda: serve_banner.print_urls(console, configuration),
                keeps_old=is_watched,  # the text may change again after the watching process has read it
            )
        )
        console.file.flush()
        if is_watched:
            serve_watch.start(loader, configuration)
        report.begin(configuration.spec.error_log)
        master.prepare(configuration)
    except (ConfigError, StartError) as problem:
        report.print()
        loader.is_silent = False
        loader.print_messages()
        status = print_error(problem, loader)
        if loader.is_compared and loader.arguments.dialect == V24.name and not isinstance(problem, NotBound):
            write_stderr(f"hint: {BOTH_START}")
        if isinstance(problem, NotBound) and problem.number in (errno.EACCES, errno.EADDRINUSE):
            write_stderr(f"hint: {port_hint(loader.lines, problem)}")
        return status
    status = master.run()
    if status:
        report.print(master.generation.error_log)
    return status

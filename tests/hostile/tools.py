"""Commands over trees that another person prepared: no program, no write outside, an answer in time.

The commands run as root and as another user, each in a process of its own with a limit on time; the kernel
reports its memory.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.hostile.measure import Budget, Measure, Result
from tests.support.hostile_tree import HostileTree
from whimbrel.syntax.lines import MAX_SECTIONS

SECONDS = 40.0
WAITING = 200.0
BYTES = 2 << 30
NOBODY = 65534
_RUN = "from whimbrel.cli.entry import main; main()"
HOSTS = 20_000


@dataclass(frozen=True)
class Outcome:
    """One command: its exit status (negative: the signal), seconds of processor time, peak of resident
    bytes, and output.
    """

    status: int
    seconds: float
    peak: int
    output: str


def _become(user: int | None) -> list[str]:
    """Return the command that runs another one as *user*.

    The right to read everything stays, since Python may be in the home of root; the right to write does not.
    """
    if user is None:
        return []
    right = "+dac_read_search"
    return [
        "setpriv",
        f"--reuid={user}",
        f"--regid={user}",
        "--clear-groups",
        f"--inh-caps={right}",
        f"--ambient-caps={right}",
    ]


def run(arguments: list[str], state: Path, user: int | None = None) -> Outcome:
    """Run `whimbrel` with *arguments*; a run that waits longer than WAITING is killed (status -9)."""
    environment = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "XDG_STATE_HOME": str(state)}

    with tempfile.TemporaryFile() as output:
        began = time.monotonic()
        process = subprocess.Popen(
            [*_become(user), sys.executable, "-c", _RUN, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=environment,
            cwd="/",
        )
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            if time.monotonic() - began > WAITING:
                process.kill()
            time.sleep(0.01)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read(1 << 20).decode("latin-1")
        return Outcome(process.returncode, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, text)


def faults(outcome: Outcome) -> Iterator[str]:
    """Yield what is wrong with a command by itself."""
    if outcome.status < 0:
        yield f"ended by signal {-outcome.status} after {outcome.seconds:.0f} s"
    if outcome.seconds > SECONDS:
        yield f"{outcome.seconds:.0f} s"
    if outcome.peak > BYTES:
        yield f"{outcome.peak >> 20} MB"
    if "Traceback (most recent call last)" in outcome.output:
        yield f"traceback: {outcome.output.strip().splitlines()[-1]}"
    if "\x1b" in outcome.output:
        yield "it sends an escape sequence of the tree to the terminal"


@contextmanager
def directory() -> Iterator[Path]:
    """Yield a directory that every user may enter."""
    path = Path(tempfile.mkdtemp(prefix="whimbrel-hostile-"))
    path.chmod(0o755)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def users() -> list[int | None]:
    """Return the users to run as: this one, and nobody if that is possible."""
    return [None, NOBODY] if os.geteuid() == 0 and shutil.which("setpriv") else [None]


def check_tree(top: Path, user: int | None, *, links: bool) -> list[str]:
    """Run every command over one tree; return the faults."""
    tree = HostileTree(top)
    if links:
        tree.add_links()
    state = top / "state"
    state.mkdir(mode=0o700)
    if user:
        for path in (state, tree.root, *tree.root.rglob("*")):
            os.chown(path, user, NOBODY, follow_symlinks=False)
    before, found = tree.outside(), list[str]()
    for arguments in tree.commands():
        outcome = run(arguments, state, user)
        named = " ".join(arguments).replace(str(top), "")
        found += [f"{named}: {fault}" for fault in faults(outcome)]
        if marks := tree.left_marks():
            found.append(f"{named}: programs were run: {', '.join(marks)}")
            for mark in marks:
                (tree.marks / mark).unlink()
        if (after := tree.outside()) != before:
            changed = sorted({name for name, _ in before.items() ^ after.items()})
            found.append(f"{named}: changed outside of the tree: {', '.join(changed)}")
            before = after
    return found


def _fifo(root: Path) -> None:
    for name in ("htdocs/.htaccess", "conf.d/a.conf", "users", "map.txt", "mime.types"):
        os.mkfifo(root / name)
    os.mkfifo(root / "other.conf")
    (root / "apache2.conf").write_text(_main(root, "Include other.conf\nInclude conf.d/*.conf\n"))


def _devices(root: Path) -> None:
    for name in ("htdocs/.htaccess", "conf.d/a.conf", "users", "map.txt", "mime.types"):
        (root / name).symlink_to("/dev/zero")
    (root / "apache2.conf").write_text(_main(root, "IncludeOptional conf.d/*.conf\n"))


def _sparse(root: Path) -> None:
    for name in ("htdocs/.htaccess", "conf.d/a.conf", "users", "map.txt", "mime.types"):
        with (root / name).open("wb") as file:
            file.truncate(100 << 30)
    (root / "apache2.conf").write_text(_main(root, "IncludeOptional conf.d/*.conf\n"))


def _loops(root: Path) -> None:
    (root / "conf.d/self").symlink_to(".")
    (root / "htdocs/self").symlink_to(".")
    (root / "htdocs/up").symlink_to("..")
    (root / "htdocs/.htaccess").symlink_to(".htaccess")
    (root / "apache2.conf").write_text(_main(root, "Include conf.d\nInclude .\n"))


def _own_include(root: Path) -> None:
    (root / "conf.d/a.conf").write_text(f"Include {root}/conf.d/*.conf\nInclude {root}/conf.d/*.conf\n")
    (root / "apache2.conf").write_text(_main(root, "Include conf.d/*.conf\n"))


def _include_tree(root: Path) -> None:
    for level in range(60):
        (root / f"conf.d/{level}.inc").write_text(f"Include conf.d/{level + 1}.inc\n" * 2)
    (root / "conf.d/60.inc").write_text("KeepAlive On\n")
    (root / "apache2.conf").write_text(_main(root, "Include conf.d/0.inc\n"))


def _macros(root: Path) -> None:
    lines = ["<Macro M0>\nKeepAlive On\n</Macro>"]
    for level in range(1, 40):
        lines.append(f"<Macro M{level}>\n" + f"Use M{level - 1}\n" * 10 + "</Macro>")
    (root / "apache2.conf").write_text(_main(root, "\n".join([*lines, "Use M39", ""])))


def _defines(root: Path) -> None:
    lines = ["Define D0 " + "x" * 100]
    lines += [f"Define D{level} " + f"${{D{level - 1}}}" * 10 for level in range(1, 30)]
    (root / "apache2.conf").write_text(_main(root, "\n".join([*lines, "ServerAdmin ${D29}", ""])))


def _define_in_macros(root: Path) -> None:
    lines = ["<Macro Grow $a>", "Define X $a$a", "Use Grow $a$a", "</Macro>", "Use Grow abc", ""]
    (root / "apache2.conf").write_text(_main(root, "\n".join(lines)))


def _hosts(root: Path) -> None:
    host = "<VirtualHost *:80>\nServerName h{0}.test\nDocumentRoot {1}/htdocs\n</VirtualHost>\n"
    text = "".join(host.format(number, root) for number in range(HOSTS))
    (root / "apache2.conf").write_text(_main(root, text))


def _names(root: Path) -> None:
    for name in ("a\x1b]0;owned\x07.conf", "b\nforged line.conf", "c\x1b[2J.conf"):
        (root / "conf.d" / name).write_text("Order allow,deny\nNoSuch\x1b[31mDirective x\n")
    inner = root / "htdocs" / "d\x1b[31m\nforged"
    inner.mkdir()
    (inner / ".htaccess").write_text("Order allow,deny\nAllow from all\n")
    (root / "apache2.conf").write_text(_main(root, "Include conf.d/*.conf\n"))


def _deep(root: Path) -> None:
    nested(root, "IfDefine !x", 100_000)


def _deep_requirements(root: Path) -> None:
    nested(root, "RequireAll", 100_000)


def _deepest_conditions(root: Path) -> None:
    nested(root, 'If "true"', MAX_SECTIONS - 1)


def nested(root: Path, tag: str, levels: int) -> None:
    """Write a server root with so many sections, each in the one before."""
    name = tag.split(maxsplit=1)[0]
    inner = f"<{tag}>\n" * levels + "Require all granted\n" + f"</{name}>\n" * levels
    (root / "apache2.conf").write_text(_main(root, f"<Location />\n{inner}</Location>\n"))


def _main(root: Path, text: str) -> str:
    modules = (
        "mpm_event unixd authz_core authz_host authz_user authn_core authn_file auth_basic access_compat "
        "mime macro rewrite dir"
    )
    names = modules.split()
    loads = "".join(f"LoadModule {name}_module modules/mod_{name}.so\n" for name in names)
    return f"""{loads}ServerRoot "{root}"
ServerName bounds.test
Listen 8080
DocumentRoot "{root}/htdocs"
TypesConfig mime.types
RewriteEngine On
RewriteMap map "txt:{root}/map.txt"
RewriteRule ^/map/(.*)$ /${{map:$1}}
<Directory "{root}/htdocs">
AllowOverride All
Options All
AuthType Basic
AuthName x
AuthUserFile "{root}/users"
Require valid-user
</Directory>
{text}"""


BOUNDS: dict[str, Callable[[Path], None]] = {
    "FIFOs": _fifo,
    "devices": _devices,
    "sparse files": _sparse,
    "loops of links": _loops,
    "own Include": _own_include,
    "tree of Includes": _include_tree,
    "macros": _macros,
    "Defines": _defines,
    "macros that grow": _define_in_macros,
    "virtual hosts": _hosts,
    "names": _names,
    "deep nesting": _deep,
    "deep requirements": _deep_requirements,
    "deepest conditions": _deepest_conditions,
}
"""Trees of item 3 of the promise by name: each writes its files below a server root."""


def lay_bounds(root: Path, lay: Callable[[Path], None]) -> None:
    """Make the server root that *lay* fills."""
    for name in ("conf.d", "htdocs"):
        (root / name).mkdir(parents=True)
    lay(root)
    if not (root / "envvars").is_symlink() and not (root / "envvars").exists():
        (root / "envvars").write_text("")


def bounds_commands(root: Path) -> Iterator[list[str]]:
    """Yield the commands for a tree that goes to the limits."""
    yield ["check", "-d", str(root)]
    yield ["upgrade", "--write", "-d", str(root)]
    yield ["verify", "--old-dialect", "2.4", "-d", str(root)]
    yield ["explain", "-d", str(root), "http://bounds.test:8080/map/x"]
    yield ["fmt", "--check", str(root)]


def tools(budget: Budget) -> Result:
    """Run all commands over all trees."""
    result, count, slowest, largest = Result(), 0, 0.0, 0
    for user in users():
        for links in (False, True):
            with directory() as top:
                result.failures += check_tree(top, user, links=links)
                count += sum(1 for _ in HostileTree.commands(_Paths(top)))
    for name, lay in BOUNDS.items():
        with directory() as top:
            lay_bounds(top / "tree", lay)
            for arguments in bounds_commands(top / "tree"):
                outcome = run(arguments, top / "state")
                count += 1
                slowest, largest = max(slowest, outcome.seconds), max(largest, outcome.peak)
                result.failures += [f"{name}: {arguments[0]}: {fault}" for fault in faults(outcome)]
    result.figures = {"commands": count, "slowest s": slowest, "largest MB": largest >> 20}
    return result


class _Paths(HostileTree):
    """The paths of a tree that is not laid."""

    def __init__(self, top: Path) -> None:
        self.top, self.root = top, top / "tree"


_PROMISE = (
    "No command changes a file outside of a hostile tree or runs a program that the tree names, as root and "
    f"as a user; each ends within {SECONDS:.0f} s of processor time and {BYTES >> 30} GB."
)
MEASURES = (Measure("tools", _PROMISE, tools, cases=1, seconds=1800.0),)

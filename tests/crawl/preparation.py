"""Contents of applications whose packages have none: a git repository, pages and graphs of munin."""

from __future__ import annotations

import os
import pwd
import shutil
import socketserver
import subprocess
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

GROUP = "www-data"


@dataclass(frozen=True)
class Prepared:
    """What the configuration of an application needs beside its package.

    Attributes:
        changes: texts of its file in conf-available, and what stands in their place.
        conf: a further file of conf-enabled.
    """

    changes: Mapping[str, str] = field(default_factory=dict)
    conf: str = ""


def prepare_nothing(_base: Path) -> Prepared:
    """Return no changes: the package has all that it serves."""
    return Prepared()


def _as_user(name: str) -> dict[str, str]:
    """Return arguments of `subprocess.run` that make root become the user *name*."""
    try:
        pwd.getpwnam(name)
    except KeyError:
        return {}
    return {"user": name} if os.getuid() == 0 else {}


def _give(base: Path, name: str) -> None:
    """Make the user *name* the owner of *base* and all in it, if this process may."""
    if _as_user(name):
        for path in (base, *base.rglob("*")):
            shutil.chown(path, name)


_COMMITS = (
    ("first birds", {"README": "Waders of the coast.\n", "birds/godwit.txt": "Limosa\n" * 40}),
    (
        "whimbrel & curlew <new>",
        {"birds/whimbrel.txt": "Numenius phaeopus\n" * 30, "src/main.c": "int main;\n"},
    ),
    (
        "knot, a picture, odd names",
        {"birds/odd name+%.txt": "Calidris\n", "pixel.png": "\x89PNG\r\n\x1a\n\0\1\2"},
    ),
    ("longer text", {"README": "Waders of the coast.\n\nGodwit, whimbrel, curlew.\n" * 9}),
)


def prepare_cgit(base: Path) -> Prepared:
    """Make the repository `waders` below *base*: four commits of 2020, a branch and a tag."""
    work = base / "repositories/waders"
    work.mkdir(parents=True)
    who = {"NAME": "Ann", "EMAIL": "ann@example.org"}
    for number, (message, files) in enumerate(_COMMITS):
        for name, text in files.items():
            path = work / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode("latin-1"))
        date = f"{1_600_000_000 + number * 86_400} +0200"
        variables = {
            f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in who.items()
        }
        variables |= {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date, "HOME": str(base)}
        commands = [["add", "-A"], ["commit", "-q", "-m", message]]
        if number == 0:
            commands.insert(0, ["init", "-q", "-b", "main"])
        if number == 2:
            commands += [["branch", "shore"], ["tag", "-a", "v1", "-m", "one"]]
        for command in commands:
            subprocess.run(
                ["git", *command],
                cwd=work,
                env={**os.environ, **variables, "GIT_CONFIG_NOSYSTEM": "1"},
                check=True,
            )
    (work / ".git/description").write_text("Birds of the shore\n")
    rc = base / "cgitrc"
    rc.write_text(
        f"include=/etc/cgitrc\nenable-index-links=1\nenable-commit-graph=1\nscan-path={base}/repositories\n"
    )
    _give(work, GROUP)
    return Prepared(conf=f"SetEnv CGIT_CONFIG {rc}\n")


_PLUGINS = {
    "load": ("graph_title Load average\ngraph_category system\nload.label load\n", "load.value 0.5\n"),
    "users": (
        "graph_title Users\ngraph_category system\ntty.label tty\npts.label pts\n",
        "tty.value 1\npts.value 2\n",
    ),
    "df": ("graph_title Disk\ngraph_category disk\nroot.label /\nroot.warning 90\n", "root.value 95\n"),
}


class _NodeHandler(socketserver.StreamRequestHandler):
    """Answers munin-update as munin-node does, with the values of `_PLUGINS`."""

    def handle(self) -> None:
        self.wfile.write(b"# munin node at host\n")
        for line in self.rfile:
            command, *words = line.decode().split() or [""]
            plugin = _PLUGINS.get(words[0]) if words else None
            answers: Mapping[str, Callable[[], str]] = {
                "cap": lambda: "cap multigraph\n",
                "list": lambda: " ".join(_PLUGINS) + "\n",
                "nodes": lambda: "host\n.\n",
                "config": lambda plugin=plugin: (plugin or ("", ""))[0] + ".\n",
                "fetch": lambda plugin=plugin: (plugin or ("", ""))[1] + ".\n",
            }
            if command == "quit":
                return
            self.wfile.write(answers.get(command, lambda: "# Unknown command\n")().encode())


def prepare_munin(base: Path) -> Prepared:
    """Run munin's cron programs once as its user, on one node with three plugins."""
    root = base / "munin"
    for name in ("db", "html", "log", "run", "tmp"):
        (root / name).mkdir(parents=True)
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), _NodeHandler) as node:
        threading.Thread(target=node.serve_forever, daemon=True).start()
        conf = root / "munin.conf"
        conf.write_text(
            f"dbdir {root}/db\nhtmldir {root}/html\nlogdir {root}/log\n"
            f"rundir {root}/run\ncgitmpdir {root}/tmp\n"
            "tmpldir /etc/munin/templates\nstaticdir /etc/munin/static\n"
            f"[example.org;host]\n    address 127.0.0.1\n"
            f"    port {node.server_address[1]}\n    use_node_name no\n"
        )
        _give(root, "munin")
        for program, *words in (
            ("munin-update", "--config_file", str(conf)),
            ("munin-limits", "--config", str(conf)),
            ("munin-html", "--config", str(conf)),
            ("munin-graph", "--cron", "--config", str(conf)),
        ):
            subprocess.run(
                [f"/usr/share/munin/{program}", *words],
                cwd=root,
                check=False,
                capture_output=True,
                **_as_user("munin"),
            )
        node.shutdown()
    for name in ("tmp", "log"):  # munin-cgi-graph runs as the user of the server
        _give(root / name, GROUP)
    return Prepared({"/var/cache/munin/www": f"{root}/html"}, f"SetEnv MUNIN_CONFIG {conf}\n")

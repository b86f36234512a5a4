"""Two configurations and a log of requests to them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from tests.unit.explain.explained_site import CONF, write_site

from whimbrel.config.options import LoadOptions
from whimbrel.replay.log_format import DEFAULT_FORMATS
from whimbrel.replay.summary import Summary
from whimbrel.replay.tally import Tally
from whimbrel.replay.work import Replayer, ReplayWork, SideOptions

NOW = 2_000_000_000.0  # later than the files of the site
NEW = CONF.replace("Require ip 10.0.0.0/8", "Require ip 10.0.0.0/9") + (
    "<Location /closed>\nRequire all denied\n</Location>\nRedirect /gone /there\n"
)


def line(
    target: str, client: str = "192.0.2.1", status: int = 200, user: str = "-", method: str = "GET"
) -> str:
    """Return a line of the combined format (manual: mod/mod_log_config.html)."""
    time = "[10/Oct/2000:13:55:36 -0700]"
    return f'{client} - {user} {time} "{method} {target} HTTP/1.1" {status} 2326 "-" "Mozilla/4.08 [en]"\n'


def work_of(root: Path, old: str = CONF, new: str = NEW, *, host: str = "a.example") -> ReplayWork:
    """Return the work of replaying logs under *old* and *new*."""
    sides = [
        SideOptions(
            LoadOptions(server_root=str(root), file=str(write_site(root, text, f"{name}.conf"))), "2.4", name
        )
        for name, text in (("old", old), ("new", new))
    ]
    return ReplayWork(sides[0], sides[1], DEFAULT_FORMATS, NOW, host)


def replayer_of(root: Path, old: str = CONF, new: str = NEW) -> Replayer:
    """Return a replayer of one process."""
    return Replayer(work_of(root, old, new))


def write_log(root: Path, lines: Iterable[str], name: str = "access_log") -> str:
    """Write a log; return its path."""
    path = root / name
    path.write_bytes("".join(lines).encode("latin-1"))
    return str(path)


def report(tally: Tally) -> str:
    """Return the report as JSON."""
    return json.dumps(Summary("old", "new", ("log",), tally).as_dict())

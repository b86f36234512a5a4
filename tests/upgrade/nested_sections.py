"""Random nestings of sections about access: the upgraded text on apache2 against the answers of 2.2.

    python -m tests.upgrade.nested_sections [--zones 300] [--seed 1] [--folder DIR]

A zone is a directory that two virtual hosts share, with <Directory>, <Files>, <FilesMatch>, <Location> and
<Limit> sections and .htaccess files; `Satisfy Any` is frequent, and most names that a section matches have no
file. An answer that differs must be marked, or named if 2.4 admits nobody more, and `whimbrel verify` must
find the two texts different.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.differential.servers import APACHE
from tests.upgrade.apache_process import Apache
from tests.upgrade.conditional_access import CLIENTS, CREDENTIALS, OLD_MODULES, PASSWORDS
from whimbrel.base.latin1 import from_system
from whimbrel.config.options import LoadOptions
from whimbrel.upgrade.access_control.findings import IF_EVER
from whimbrel.upgrade.check.fixpoint import upgrade
from whimbrel.upgrade.model import Finding, UpgradeOptions
from whimbrel.upgrade.source.reading import Sources, read_config_tree
from whimbrel.verify.loading import load_sides
from whimbrel.verify.probe import Probe
from whimbrel.verify.verification import Verdict
from whimbrel.verify.verify import verify

HOSTS: Final = ("one.example", "two.example")
BASIC: Final = 'AuthType Basic\nAuthName zone\nAuthUserFile "%ROOT%/passwd"\nAuthGroupFile "%ROOT%/groups"\n'
BY_HOST: Final = (
    "Order allow,deny\nDeny from all\n",
    "Order allow,deny\nAllow from all\n",
    "Order deny,allow\nDeny from all\nAllow from 127.0.0.2\n",
    "Order allow,deny\nAllow from 127.0.0.2 127.0.0.3\nDeny from 127.0.0.3\n",
    "Order deny,allow\nDeny from 127.0.0.2\n",
)
BY_USER: Final = ("Require valid-user\n", "Require user alice\n", "Require group wardens\n")
REFUSED: Final = (401, 403)
PER_SERVER: Final = 10
"""Zones of one server."""


@dataclass
class Zone:
    """One directory: the text of the main server and of each host, .htaccess files, and files."""

    number: int
    main: str = ""
    of_hosts: dict[str, str] = field(default_factory=dict)
    htaccess: dict[str, str] = field(default_factory=dict)
    files: tuple[str, ...] = ()

    @property
    def paths(self) -> list[str]:
        """The URL paths that are asked: directories, names of sections with and without a file."""
        names = ("f.html", f"k.x{self.number}", f"n{self.number}.html")
        return [f"/z{self.number}/{below}{name}" for below in ("", "a/", "a/b/") for name in names]


@dataclass
class Outcome:
    """Answers that were compared; those that opened or closed access, unmarked ones; runs that `verify` calls
    the same."""

    asked: int = 0
    statuses: Counter[int] = field(default_factory=Counter)
    marked: int = 0
    different: list[str] = field(default_factory=list)
    unmarked: list[str] = field(default_factory=list)
    unnoticed: list[str] = field(default_factory=list)


class ZoneMaker:
    """Draws the sections of zone *number* from *dice*."""

    def __init__(self, dice: random.Random, number: int) -> None:
        self.dice = dice
        self.number = number

    def chance(self, share: float) -> bool:
        return self.dice.random() < share

    def lines(self) -> str:
        """Return lines about access: by host, by user, or both with Satisfy; some for some methods alone."""
        draw = self.dice.random()
        if draw < 0.4:
            text = self.dice.choice(BY_HOST)
        elif draw < 0.55:
            text = BASIC + self.dice.choice(BY_USER)
        else:
            text = BASIC + self.dice.choice(BY_USER) + self.dice.choice(BY_HOST)
            text += self.dice.choice(("Satisfy Any\n", "Satisfy Any\n", "Satisfy All\n", ""))
        if self.chance(0.1):
            kind = self.dice.choice(("Limit POST", "LimitExcept GET HEAD"))
            text += f"<{kind}>\n{self.dice.choice(BY_HOST)}</{kind.split()[0]}>\n"
        return text

    def by_name(self) -> str:
        """Return a section about names: most of them without a file."""
        number = self.number
        opening = self.dice.choice(
            (f'FilesMatch "\\.(x{number}|y{number})$"', f"Files n{number}.html", f'Files ~ "^k\\.x{number}$"')
        )
        return f"<{opening}>\n{self.lines()}</{opening.split()[0]}>\n"

    def directory(self, below: str) -> str:
        inside = self.lines() + (self.by_name() if self.chance(0.25) else "")
        return f'<Directory "%ROOT%/htdocs/z{self.number}{below}">\n{inside}</Directory>\n'

    def location(self) -> str:
        number = self.number
        opening = self.dice.choice(
            (f"Location /z{number}/a", f"LocationMatch ^/z{number}/.*\\.html$", f"Location /z{number}/f.html")
        )
        return f"<{opening}>\n{self.lines()}</{opening.split()[0]}>\n"

    def zone(self) -> Zone:
        zone = Zone(self.number)
        for below in ("", "/a"):
            zone.main += self.directory(below) if self.chance(0.4) else ""
        zone.main += self.by_name() if self.chance(0.4) else ""
        zone.main += self.location() if self.chance(0.15) else ""
        for host in HOSTS:
            text = self.directory(self.dice.choice(("", "/a", "/a/b"))) if self.chance(0.3) else ""
            text += self.location() if self.chance(0.1) else ""
            zone.of_hosts[host] = text + (self.by_name() if self.chance(0.1) else "")
        for below in ("", "/a", "/a/b"):
            if self.chance(0.35):
                own = self.lines() if self.chance(0.7) else ""
                zone.htaccess[below] = own + (self.by_name() if self.chance(0.5) or not own else "")
        files = [path for path in zone.paths if path.endswith("f.html") or self.chance(0.2)]
        zone.files = tuple(files)
        return zone


def zones(count: int, seed: int) -> Iterator[Zone]:
    """Yield *count* zones."""
    dice = random.Random(seed)
    for number in range(count):
        yield ZoneMaker(dice, number).zone()


def lay_out(root: Path, chosen: list[Zone]) -> None:
    """Write a server of 2.2 with these zones."""
    (root / "conf").mkdir(parents=True)
    root.chmod(0o755)
    (root / "passwd").write_text(PASSWORDS)
    (root / "groups").write_text("wardens: alice\n")
    os.symlink(APACHE.module_dir, root / "modules")
    main = f'ServerRoot "{root}"\n' + "".join(
        f"LoadModule {name}_module modules/mod_{name}.so\n" for name in OLD_MODULES
    )
    main += f'ServerName localhost\nDocumentRoot "{root}/htdocs"\nNameVirtualHost *\n'
    main += f'<Directory "{root}/htdocs">\nAllowOverride All\n</Directory>\n'
    for zone in chosen:
        main += _part(root, f"conf/z{zone.number}.conf", zone.main)
    for host in HOSTS:
        main += f'<VirtualHost *>\nServerName {host}\nDocumentRoot "{root}/htdocs"\n'
        for zone in chosen:
            main += _part(root, f"conf/z{zone.number}-{host}.conf", zone.of_hosts[host])
        main += "</VirtualHost>\n"
    (root / "conf/httpd.conf").write_text(main)
    for zone in chosen:
        (root / f"htdocs/z{zone.number}/a/b").mkdir(parents=True)
        for below, text in zone.htaccess.items():
            path = root / f"htdocs/z{zone.number}{below}/.htaccess"
            path.write_text(text.replace("%ROOT%", str(root)))
        for path_text in zone.files:
            (root / "htdocs" / path_text.lstrip("/")).write_text("page\n")


def _part(root: Path, name: str, text: str) -> str:
    (root / name).write_text(text.replace("%ROOT%", str(root)))
    return f"Include {name}\n" if text else ""


def run(count: int, seed: int, folder: Path) -> Outcome:
    """Upgrade *count* zones, and compare apache2's answers with those of 2.2."""
    found = Outcome()
    every = list(zones(count, seed))
    for at in range(0, count, PER_SERVER):
        compare(found, every[at : at + PER_SERVER], folder / f"server-{seed}-{at}")
    return found


def _zones_of(chosen: list[Zone], findings: list[Finding]) -> set[int]:
    """Return the numbers of the zones in whose files *findings* are."""
    return {
        zone.number
        for zone in chosen
        for finding in findings
        if any(f"/z{zone.number}{end}" in finding.place.path for end in (".", "-", "/"))
    }


def compare(found: Outcome, chosen: list[Zone], root: Path) -> None:
    """Add to *found* what the zones *chosen*, served below *root*, answer before and after an upgrade."""
    lay_out(root, chosen)
    options = LoadOptions(server_root=from_system(str(root)))
    result = upgrade(read_config_tree(Sources(options=options), UpgradeOptions()))
    marked = _zones_of(chosen, [one for one in result.findings if one.needs_review])
    named = _zones_of(chosen, [one for one in result.findings if IF_EVER in one.evidence])
    found.marked += len(marked)
    upgraded = LoadOptions(server_root=from_system(str(root)), overlay=dict(result.files))
    old, new = load_sides((options, upgraded), ("2.2", "2.4"), ("2.2", "2.4"))
    assert old.is_loaded and new.is_loaded, (old.errors, new.errors)
    questions = [
        (zone, f"{host}|{path}", client, user)
        for zone in chosen
        for host in HOSTS
        for path in zone.paths
        for client in CLIENTS
        for user in CREDENTIALS
    ]
    before = []
    for _, target, client, user in questions:
        host, _, path = target.partition("|")
        fields = (("Authorization", f"Basic {user}"),) if user else ()
        before.append(old.answer(Probe(path, "HEAD", host, client=client, fields=fields)).status)
    verdict = verify(old, new).verdict
    for path, data in result.files.items():
        Path(path).write_bytes(data)
    with Apache(root, (), ()) as server:
        after = server.statuses(question[1:] for question in questions)
    is_different = False
    for (zone, target, client, user), first, second in zip(questions, before, after, strict=True):
        found.asked += 1
        found.statuses[first] += 1
        if first != second:
            is_different = True
            text = f"zone {zone.number}: {target} from {client} as {user}: {first} became {second}"
            found.different.append(text)
            is_open = first in REFUSED and second not in REFUSED
            if zone.number not in marked and (is_open or zone.number not in named):
                found.unmarked.append(text)
    if is_different and verdict is Verdict.SAME:
        found.unnoticed.append(str(root))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--zones", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, help="where the files stay, for looking at them")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.folder or Path(scratch)
        folder.chmod(0o755)
        found = run(args.zones, args.seed, folder)
    print(
        f"{args.zones} zones, {found.marked} marked; {found.asked} answers compared: {dict(found.statuses)}"
    )
    print(f"{len(found.different)} different, {len(found.unmarked)} of them unmarked")
    print(f"{len(found.unnoticed)} servers with differences that verify calls the same")
    print("\n".join([*found.unmarked[:20], *found.unnoticed]))
    sys.exit(bool(found.unmarked or found.unnoticed))


if __name__ == "__main__":
    main()

"""Conditional access before and after an upgrade, asked of apache2 for every combination of -D names.

python -m tests.upgrade.conditional_access [--sections 200] [--seed 1] [--show]

The original is served with mod_access_compat, the new text with the modules that its own LoadModule lines
name; fragments, which have no such lines, with all of them. An answer that differs must be marked; an answer
that was refused must not become 200, marked or not.
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from tests.differential.servers import APACHE
from tests.upgrade.apache_process import Apache
from tests.upgrade.split_sections import EXCLUDED, NAMES, Split, split_section
from whimbrel.base.latin1 import from_system
from whimbrel.config.options import LoadOptions
from whimbrel.upgrade.check.fixpoint import UpgradeResult, upgrade
from whimbrel.upgrade.model import UpgradeOptions
from whimbrel.upgrade.source.reading import Sources, read_config_tree

OLD_MODULES = ("authz_host", "auth_basic", "authn_file", "authz_user", "authz_groupfile")
NEW_MODULES = ("mpm_event", "authn_core", "authz_core", "access_compat")
CLIENTS = ("127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4")
CREDENTIALS = (
    None,
    "YWxpY2U6Y3VybGV3",
    "Ym9iOmR1bmxpbg==",
    "YWxpY2U6bm8=",
)  # alice:curlew, bob:dunlin, alice with a wrong password
PASSWORDS = "alice:{SHA}kdy94uMKllPDlkpZtDPLJvfffX8=\nbob:{SHA}6IkURDHYke75RdeV7Cfj27ukRGU=\n"
Question = tuple[str, str, "str | None"]


@dataclass
class Outcome:
    """What a run found.

    Attributes:
        asked: pairs of answers that were compared.
        opened: refused before, 200 after.
        unmarked: other differences at sections without a mark.
        marked: the numbers of sections with a mark.
        statuses: how often each status was answered before.
        changed_again: files that a second upgrade would change.
    """

    sections: list[Split] = field(default_factory=list)
    asked: int = 0
    opened: list[str] = field(default_factory=list)
    unmarked: list[str] = field(default_factory=list)
    different: int = 0
    marked: set[int] = field(default_factory=set)
    statuses: Counter[int] = field(default_factory=Counter)
    changed_again: list[str] = field(default_factory=list)

    @property
    def marked_of_servers(self) -> set[int]:
        """Marked sections of whole servers: each line that stays in a file alone is marked."""
        alone = {one.number for one in self.sections if one.place.startswith("fragment")}
        return self.marked - alone

    def text(self) -> str:
        places = Counter(one.place for one in self.sections)
        lines = [
            (
                f"{len(self.sections)} sections "
                f"({', '.join(f'{count} {place}' for place, count in sorted(places.items()))})"
            ),
            (
                f"{self.asked} answers compared, {self.different} different, {len(self.unmarked)} "
                f"of them unmarked, {len(self.opened)} opened"
            ),
            (
                f"marked: {len(self.marked)} sections "
                f"({100 * len(self.marked) / max(1, len(self.sections)):.1f} %)"
            ),
        ]
        lines.append(
            "answers before: "
            + ", ".join(f"{count} x {status}" for status, count in sorted(self.statuses.items()))
        )
        lines += [f"not made: {what}: {why}" for what, why in EXCLUDED.items()]
        lines += [f"changed by a second upgrade: {path}" for path in self.changed_again[:20]]
        return "\n".join([*lines, *self.opened[:20], *self.unmarked[:20]])


def run(count: int, seed: int, folder: Path) -> Outcome:
    """Make *count* sections, upgrade them, ask both."""
    chance = random.Random(seed)
    sections = [split_section(number, chance) for number in range(count)]
    found = Outcome(sections)
    fragments = [one for one in sections if one.place.startswith("fragment")]
    # A .htaccess file with open AllowOverride stays unchanged, like all that merges with it; it has a server.
    open_override = [one for one in sections if one.place == "htaccess" and one.header]
    whole = [one for one in sections if one not in fragments and one not in open_override]
    parts = (
        ("whole", whole, _whole),
        ("override", open_override, _whole),
        ("fragments", fragments, _fragments),
    )
    for name, part, make in parts:
        if part:
            old, new = folder / name / "old", folder / name / "new"
            for root in (old, new):
                _lay_out(root, part)
            found.marked |= make(old, new, part)
            inputs = (
                [Sources(options=LoadOptions(server_root=from_system(str(new))))]
                if name != "fragments"
                else [Sources(fragments=(from_system(str(new / _name(one))),)) for one in part]
            )
            found.changed_again += [
                path
                for sources in inputs
                for path in upgrade(read_config_tree(sources, UpgradeOptions())).files
            ]
            _compare(found, part, old, new)
    return found


# files ----------------------------------------------------------------------------------------------
def _lay_out(root: Path, sections: Sequence[Split]) -> None:
    root.parent.mkdir(exist_ok=True)
    root.parent.chmod(0o755)
    (root / "conf").mkdir(parents=True)
    (root / "passwd").write_text(PASSWORDS)
    (root / "groups").write_text("wardens: alice\n")
    os.symlink(APACHE.module_dir, root / "modules")
    for one in sections:
        for name in ("f.html", "sub/f.html", one.own_file):
            path = root / "htdocs" / one.directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("page\n")
    for path in (root, *root.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() else 0o644)


def _filled(lines: Sequence[str], root: Path, file: str = "") -> str:
    return "".join(
        line.replace("%DOCS%", str(root / "htdocs")).replace("%BASE%", str(root)).replace("%FILE%", file)
        + "\n"
        for line in lines
    )


def _head(root: Path, modules: Sequence[str]) -> str:
    loads = "".join(f"LoadModule {name}_module modules/mod_{name}.so\n" for name in modules)
    return (
        f'ServerRoot "{root}"\n{loads}DocumentRoot "{root}/htdocs"\nAuthGroupFile "{root}/groups"\n'.replace(
            f'AuthGroupFile "{root}/groups"\n',
            f'<Directory "{root}/htdocs">\nAllowOverride All\nAuthGroupFile "{root}/groups"\n</Directory>\n',
        )
    )


def _name(one: Split) -> str:
    return (
        f"htdocs/{one.directory}/.htaccess" if one.place.endswith("htaccess") else f"conf/s{one.number}.conf"
    )


def _whole(old: Path, new: Path, sections: Sequence[Split]) -> set[int]:
    """Write both roots, upgrade the new one as a whole server; the numbers of marked sections."""
    lines: dict[int, int] = {}
    for root in (old, new):
        main = _head(root, OLD_MODULES)
        if any(one.place == "host" for one in sections):
            main += "NameVirtualHost *\n<VirtualHost *>\nServerName localhost\n</VirtualHost>\n"
        for one in sections:
            text = _filled(one.text, root)
            if one.place in ("main", "host"):
                lines.update(
                    dict.fromkeys(
                        range(main.count("\n") + 1, main.count("\n") + 1 + text.count("\n")), one.number
                    )
                )
                main += text
                continue
            (root / _name(one)).write_text(text)
            if one.place == "included":
                main += f"Include conf/s{one.number}.conf\n"
            else:
                main += _filled(one.header, root, f"conf/s{one.number}.conf")
        (root / "conf" / "httpd.conf").write_text(main)
    result = upgrade(
        read_config_tree(Sources(options=LoadOptions(server_root=from_system(str(new)))), UpgradeOptions())
    )
    _write(result)
    by_file = {str(new / _name(one)): one.number for one in sections if one.place not in ("main", "host")}
    found = set()
    for finding in result.needs_review:
        number = by_file.get(
            finding.place.path,
            lines.get(finding.place.line) if finding.place.path.endswith("/httpd.conf") else None,
        )
        if finding.place.included_from is not None and number is None:
            number = lines.get(finding.place.included_from.line)
        if number is not None:
            found.add(number)
    return found | _marked_headers(result, sections, new)


def _marked_headers(result: UpgradeResult, sections: Sequence[Split], root: Path) -> set[int]:
    """Sections whose opening line stands in the main file, and whose lines stand in a file of their own."""
    path = str(root / "conf" / "httpd.conf")
    source = result.tree.files[path].document.bytes.split(b"\n")
    found = set()
    for finding in result.needs_review:
        line = (
            source[finding.place.line - 1].decode()
            if finding.place.path == path and finding.place.line <= len(source)
            else ""
        )
        found |= {
            one.number
            for one in sections
            if one.place == "inside" and line.rstrip('">').endswith(f"/{one.directory}")
        }
    return found


def _fragments(old: Path, new: Path, sections: Sequence[Split]) -> set[int]:
    """Write both roots and upgrade each file of the new one alone."""
    found = set()
    for root in (old, new):
        area = [
            f'<Directory "{root}/htdocs/pw">',
            *(
                line.replace("%BASE%", str(root))
                for line in (
                    "AuthType Basic",
                    'AuthName "outer"',
                    'AuthUserFile "%BASE%/passwd"',
                    "Require valid-user",
                )
            ),
            "</Directory>",
        ]
        main = _head(root, OLD_MODULES) + "\n".join(area) + "\n"
        for one in sections:
            path = root / _name(one)
            path.write_text(_filled(one.text, root))
            main += f"Include conf/s{one.number}.conf\n" if one.place == "fragment" else ""
            if root is new:
                result = upgrade(
                    read_config_tree(Sources(fragments=(from_system(str(path)),)), UpgradeOptions())
                )
                _write(result)
                found |= {one.number} if result.needs_review else set()
        (root / "conf" / "httpd.conf").write_text(main)
    return found


def _write(result: UpgradeResult) -> None:
    for path, data in result.files.items():
        Path(path).write_bytes(data)


# questions ------------------------------------------------------------------------------------------
def _compare(found: Outcome, sections: Sequence[Split], old: Path, new: Path) -> None:
    whole = old.parent.name != "fragments"
    questions = [
        (one, path, client, user)
        for one in sections
        for path in one.paths
        for client in CLIENTS
        for user in CREDENTIALS
    ]
    for values in itertools.product((False, True), repeat=len(NAMES)):
        names = tuple(name for name, value in zip(NAMES, values, strict=True) if value)
        with (
            Apache(old, names, NEW_MODULES) as before,
            Apache(new, names, () if whole else NEW_MODULES) as after,
            ThreadPoolExecutor(2) as pool,
        ):
            answers = list(
                pool.map(Apache.statuses, (before, after), [[question[1:] for question in questions]] * 2)
            )
        for (one, path, client, user), first, second in zip(questions, *answers, strict=True):
            found.asked += 1
            found.statuses[first] += 1
            if first == second:
                continue
            found.different += 1
            what = (
                f"{one.place} {one.number}: {path} from {client} as {user} with {names}: {first} "
                f"became {second}"
            )
            if second < 400 <= first:
                found.opened.append(what)
            elif one.number not in found.marked:
                found.unmarked.append(what)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sections", type=int, default=160)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, help="where the files stay, for looking at them")
    args = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.folder or Path(scratch)
        folder.chmod(0o755)
        found = run(args.sections, args.seed, folder)
    print(found.text())
    print(f"{time.monotonic() - began:.0f} s")
    sys.exit(
        bool(
            found.opened
            or found.changed_again
            or found.unmarked
            or 10 * len(found.marked_of_servers) > len(found.sections)
        )
    )


if __name__ == "__main__":
    main()

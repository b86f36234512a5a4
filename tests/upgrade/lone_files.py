"""Lone .htaccess files and fragments on apache2 without mod_access_compat: what it refuses after an upgrade.

Lines that apache2 refuses for a reason of this machine (files, users and modules that it does not have) are
taken out one by one.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.corpus.httpd_check import (
    APACHE,
    BUILT_IN,
    LINE,
    MODULES,
    UNKNOWN,
    comment_out_culprit,
    is_of_this_machine,
)
from tests.upgrade.apache_process import Apache
from whimbrel.base.latin1 import from_system
from whimbrel.upgrade.check.fixpoint import UpgradeResult, upgrade
from whimbrel.upgrade.check.load_errors import add_load_errors
from whimbrel.upgrade.check.loading import MAX_LINES
from whimbrel.upgrade.model import LOAD_ERROR, READ_ERROR, Finding, Risk, UpgradeOptions
from whimbrel.upgrade.source.config_tree import ConfigTree, Statement
from whimbrel.upgrade.source.queries import BRANCH_SECTIONS
from whimbrel.upgrade.source.reading import Sources, is_htaccess, read_config_tree

STEPS = 100
ACCESS = {"order", "allow", "deny", "satisfy", "require", "<requireall", "<requireany", "<requirenone"}
NOT_LOADED = re.compile(r"mpm_|access_compat|php|md$|heart|http2")
"""Modules that the target does not load: mod_access_compat, and those that need a server of their own."""
ALERT = re.compile(r"\[core:alert\].*?(?:AH\d+: )?(/\S+/h(\d+)/\.htaccess): (.*)")


@dataclass(frozen=True)
class Lone:
    """A file after its upgrade.

    Attributes:
        name: its file name, which decides whether it is a .htaccess file.
        new: its text.
        is_broken: a finding says that 2.4 refuses a line of it.
        rest: the text without the lines of which a finding says so.
    """

    name: str
    new: bytes
    is_broken: bool
    rest: bytes

    @property
    def is_htaccess(self) -> bool:
        return is_htaccess(self.name)


def upgraded(path: Path, options: UpgradeOptions | None = None) -> Lone:
    """Upgrade the file without its server."""
    name = from_system(str(path))
    tree = read_config_tree(Sources(fragments=(name,)), options or UpgradeOptions())
    result = upgrade(tree)
    add_load_errors(result, None)
    new = result.files.get(name, path.read_bytes())
    if any(finding.rule == READ_ERROR for finding in result.needs_review):
        return Lone(path.name, new, True, b"")  # the text has no structure
    marks = [
        finding
        for finding in result.needs_review
        if finding.risk is Risk.BREAKS and finding.place.path == name
    ]
    if sum(mark.rule == LOAD_ERROR for mark in marks) >= MAX_LINES:
        return Lone(path.name, new, True, b"")  # further lines are not reported
    after = tree.reparse(result.files, tree)
    lines = new.split(b"\n")
    for statement in _marked(result, after, name, marks):
        node = statement.node
        first = new.count(b"\n", 0, node.start)
        for number in range(first, new.count(b"\n", 0, node.end - 1) + 1):
            lines[number] = b""
    return Lone(path.name, new, bool(marks), b"\n".join(lines))


def _marked(result: UpgradeResult, after: ConfigTree, name: str, marks: list[Finding]) -> Iterator[Statement]:
    """Yield the statements of the new text that the findings are about: what stands at their lines; where a
    rule about access marks a section or a file, its lines about access."""
    line_map = result.line_maps.get(name)
    origin = line_map.original_line if line_map is not None else int
    exact = {mark.place.line for mark in marks if mark.rule == LOAD_ERROR}
    others = {mark.place.line for mark in marks if mark.rule != LOAD_ERROR}
    unknown = {mark.place.line for mark in marks if "Invalid command" in mark.message}
    statements = [statement for statement in after.all_statements() if statement.file.path == name]
    names = {statement.name for statement in statements if origin(statement.place.line) in unknown}
    is_file_marked = any(
        _is_of_file(statement) and origin(statement.place.line) in others
        for statement in statements
        if is_htaccess(name) or statement.name in ACCESS
    )
    for statement in statements:
        line = origin(statement.place.line)
        around = {origin(section.place.line) for section in statement.enclosing()}
        if line in exact or around & exact or statement.name in names:  # one finding for each unknown name
            yield statement
        elif statement.name in ACCESS or not statement.is_section:
            of_marked = bool(around & others) or (is_file_marked and _is_of_file(statement))
            if line in others or (of_marked and statement.name in ACCESS):
                yield statement


def _is_of_file(statement: Statement) -> bool:
    """Return True for a line outside of the sections that are about some requests."""
    transparent = ("<limit", "<limitexcept", *BRANCH_SECTIONS)
    return all(section.name in transparent for section in statement.enclosing())


def modules() -> list[str]:
    """Return the names of the modules that the target loads."""
    names = [path.stem.removeprefix("mod_") for path in sorted(MODULES.glob("mod_*.so"))]
    first = [
        name
        for name in ("mpm_prefork", "proxy", "session", "cache", "dav", "ldap", "dbd", "xml2enc")
        if name in names
    ]
    return first + [name for name in names if not NOT_LOADED.search(name) and name not in first]


def refusals(lones: Iterable[Lone], where: Path) -> Iterator[tuple[Lone, str]]:
    """Yield the files of which apache2, with all modules of the target, refuses a line that no finding
    marks, each with apache2's message."""
    names = modules()
    every = list(lones)
    yield from _refused_htaccess([lone for lone in every if lone.is_htaccess], where / "htaccess", names)
    for number, lone in enumerate(lone for lone in every if not lone.is_htaccess):
        message = _refused_fragment(lone, where / f"f{number}", names)
        if message:
            yield lone, message


def _refused_htaccess(lones: list[Lone], where: Path, names: Sequence[str]) -> Iterator[tuple[Lone, str]]:
    """Yield what one server answers with 500; each .htaccess file has a directory of its own."""
    (where / "conf").mkdir(parents=True)
    (where / "htdocs").mkdir()
    (where / "conf" / "mime.types").touch()
    (where / "conf" / "httpd.conf").write_text(
        f'TypesConfig conf/mime.types\nDocumentRoot "{where}/htdocs"\n<Directory "{where}/htdocs">\n'
        "  AllowOverride All\n  Options All\n</Directory>\n"
    )
    for number, lone in enumerate(lones):
        directory = where / "htdocs" / f"h{number}"
        directory.mkdir(parents=True)
        (directory / ".htaccess").write_bytes(lone.rest)
    waiting = list(range(len(lones)))
    with Apache(where, (), names) as server:
        for _ in range(STEPS):
            if not waiting:
                return
            log = server.directory / "error_log"
            before = log.stat().st_size
            server.statuses([(f"/h{number}/", "127.0.0.1", None) for number in waiting])
            messages = {
                int(number): (path, text)
                for path, number, text in ALERT.findall(log.read_bytes()[before:].decode("utf-8", "replace"))
            }
            waiting = []
            for number, (path, text) in messages.items():
                if _without_foreign_line(Path(path), text):
                    waiting.append(number)
                else:
                    yield lones[number], text
    assert not waiting, f"files of which {STEPS} lines were taken out: {waiting}"


def _without_foreign_line(path: Path, text: str) -> bool:
    """Take out the lines of the directive that apache2 does not know; return False if it is httpd's own."""
    unknown = UNKNOWN.search(text)
    if unknown is None or not is_of_this_machine(text, b""):
        return False
    old = path.read_bytes()
    path.write_bytes(re.sub(rb"(?im)^([ \t]*)(?=" + re.escape(unknown[1].encode()) + rb"\b)", rb"\1#", old))
    return path.read_bytes() != old


def _refused_fragment(lone: Lone, where: Path, names: Sequence[str]) -> str:
    """Return apache2's message about the file; "" if it is accepted at the top level of an empty server, or
    in a <Directory>."""
    where.mkdir(parents=True)
    fragment = where / "fragment.conf"
    messages = []
    for opening, closing in (("", ""), ("<Directory /srv/www>\n", "</Directory>\n")):
        fragment.write_bytes(BUILT_IN.sub(b"#", lone.rest))
        message = _refused_include(f"{opening}Include {fragment}\n{closing}", where, names)
        if not message:
            return ""
        messages.append(message)
    return "".join(messages)


def _refused_include(include: str, where: Path, names: Sequence[str]) -> str:
    main = where / "main-of-the-test.conf"
    main.write_text(
        "".join(f"LoadModule {name}_module {MODULES}/mod_{name}.so\n" for name in names)
        + f"ServerName localhost\nListen 127.0.0.1:1\nErrorLog {where}/error_log\nUser daemon\nGroup daemon\n"
        + f"DefaultRuntimeDir {where}\n{include}"
    )
    for _ in range(STEPS):
        done = subprocess.run(
            [str(APACHE), "-d", str(where), "-f", str(main), "-t"],
            capture_output=True,
            cwd=where,
            timeout=60,
            check=False,
        )
        text = (done.stdout + done.stderr).decode("utf-8", "replace")
        found = LINE.findall(text)
        if done.returncode == 0 or not found:
            return ""  # all lines were read; a message without a line is about this machine
        line = Path(found[-1][1]).read_bytes().split(b"\n")[int(found[-1][0]) - 1]
        if not is_of_this_machine(text, line) or not comment_out_culprit(text, where):
            return text
    return ""

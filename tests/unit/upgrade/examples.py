"""The examples of the rules' documents: reading them, and upgrading one."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from whimbrel.base.latin1 import from_system
from whimbrel.config.options import LoadOptions
from whimbrel.upgrade.check.fixpoint import UpgradeResult, upgrade
from whimbrel.upgrade.model import NEWEST, READ_ERROR, Style, UpgradeOptions
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.reading import Sources, read_config_tree

MAIN = "conf/httpd.conf"
ROOT = "/srv/site"
HEADINGS = ("What changes", "How to see it", "How to fix it", "How safe it is")
WORDS = {"before", "after", "unchanged"}
FENCE = re.compile(r"^```(\S*)[ \t]*(.*)$")


@dataclass
class Example:
    """One example: files by path below the server root; *findings* is None where the document does not list
    them."""

    title: str
    before: dict[str, str] = field(default_factory=dict)
    after: dict[str, str] = field(default_factory=dict)
    unchanged: set[str] = field(default_factory=set)
    findings: list[str] | None = None
    options: list[str] = field(default_factory=list)

    @property
    def silent(self) -> bool:
        """Return True if the rule must not fire."""
        return not self.after and not self.findings


@dataclass
class Document:
    """What a document says: the titles of its prose, and its examples."""

    title: str
    prose: list[str]
    examples: list[Example]


def read_document(path: Path) -> Document:
    """Take a document apart; ValueError where it has a block that means nothing."""
    lines = iter(path.read_text(encoding="utf-8").splitlines())
    document = Document("", [], [])
    section = Example("")
    for line in lines:
        fence = FENCE.match(line)
        if fence:
            body = []
            for inside in lines:
                if inside == "```":
                    break
                body.append(inside)
            else:
                raise ValueError(f"{path.name}: a block that never ends")
            take_block(section, fence[1], fence[2].split(), body, path.name)
        elif line.startswith("## "):
            section = Example(line[3:].strip())
            document.examples.append(section)
        elif line.startswith("# "):
            document.title = line[2:].strip()
    document.prose = [one.title for one in document.examples if not one.before]
    document.examples = [one for one in document.examples if one.before]
    return document


def take_block(example: Example, kind: str, words: list[str], body: list[str], name: str) -> None:
    text = "".join(f"{line}\n" for line in body)
    if kind == "findings":
        example.findings = [line.strip() for line in body if line.strip()]
    elif kind == "options":
        example.options = [line.strip() for line in body if line.strip()]
    elif kind in ("apache", "htaccess") and words:
        what, path = words[0], words[1] if len(words) > 1 else MAIN
        if (
            what not in WORDS
            or len(words) > 2
            or (kind == "htaccess") != (os.path.basename(path) == ".htaccess")
        ):
            raise ValueError(f"{name}: a block that means nothing: {kind} {' '.join(words)}")
        if what == "unchanged":
            if text.strip():
                raise ValueError(f"{name}: the block of `unchanged` must be empty")
            example.unchanged.add(path)
        else:
            (example.before if what == "before" else example.after)[path] = text


def options(example: Example) -> tuple[UpgradeOptions, tuple[str, ...]]:
    """What the example asks for, and its -D names."""
    style, flags, defines, target = Style.NATIVE, set(), [], NEWEST
    for line in example.options:
        key, _, value = line.partition(" ")
        if key == "style":
            style = Style(value)
        elif key == "define":
            defines.append(value)
        elif key == "target":
            target = int(value.removeprefix("2.4."))
        elif key in ("also-2.2", "exact", "unsafe-flags"):
            flags.add(key)
        else:
            raise ValueError(f"a wish that means nothing: {line}")
    found = UpgradeOptions(
        style=style,
        also_22="also-2.2" in flags,
        exact="exact" in flags,
        unsafe_flags="unsafe-flags" in flags,
        target=target,
    )
    return found, tuple(defines)


def laid_out(files: dict[str, str], root: Path) -> None:
    """Write *files* below *root*."""
    (root / "htdocs").mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(text.replace(ROOT, str(root)).encode("latin-1"))


def sources(files: dict[str, str], root: Path, defines: tuple[str, ...]) -> Sources:
    if MAIN in files:
        return Sources(options=LoadOptions(server_root=from_system(str(root)), defines=defines))
    return Sources(fragments=tuple(from_system(str(root / name)) for name in files))


def upgraded(example: Example, rule: Rule, root: Path) -> UpgradeResult:
    """The example's files, laid out below *root*, upgraded by *rule* alone; nothing is written."""
    laid_out(example.before, root)
    asked, defines = options(example)
    return upgrade(read_config_tree(sources(example.before, root, defines), asked), [rule])


def told(result: UpgradeResult, root: Path) -> list[str]:
    """The findings as documents list them."""
    out = []
    for finding in result.findings:
        if finding.rule != READ_ERROR:
            path = os.path.relpath(finding.place.path, str(root))
            where = "" if path == MAIN else f"{path} "
            out.append(
                f"{finding.rule} {where}line "
                f"{finding.place.line}{' needs review' if finding.needs_review else ''}"
            )
    return out


def texts(result: UpgradeResult, root: Path) -> dict[str, str]:
    """The changed files by path below *root*, with the root as documents write it."""
    return {
        os.path.relpath(path, str(root)): data.decode("latin-1").replace(str(root), ROOT)
        for path, data in result.files.items()
    }

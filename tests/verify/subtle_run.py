"""Pairs of `subtle_pairs` on apache2 and in verify.

python -m tests.verify.subtle_run [NAME...]
"""

from __future__ import annotations

import base64
import os
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.verify.live_run import Site
from tests.verify.live_site import MODULE_DIRECTORY, PASSWORD, USERS, Question
from tests.verify.subtle_pairs import BASE, PAIRS, Pair
from whimbrel.config.options import LoadOptions
from whimbrel.testing.ports import free_port
from whimbrel.verify.loading import as_copy, load_sides
from whimbrel.verify.verification import Verdict, VerifyResult
from whimbrel.verify.verify import verify

MODULES = (
    *("mpm_event", "authz_core", "authz_host", "authz_user", "authz_groupfile", "authn_core", "authn_file"),
    *("authn_dbm", "auth_basic", "auth_digest", "access_compat", "alias", "dir", "mime", "setenvif", "env"),
    *("headers", "rewrite", "autoindex", "negotiation", "filter", "include", "expires", "userdir"),
    *("vhost_alias", "proxy", "proxy_http"),
)
_HASH = "$apr1$x$n3KC.RJYHZhK50zaCOGff0"
_FILES = {
    "conf/mime.types": "text/html html\ntext/plain txt\ntext/css css\n",
    "conf/users": "".join(f"{user}:{_HASH}\n" for user in USERS),
    "conf/groups": "staff: ann bob\nguests: cat\n",
    "conf/digest": "ann:staff:0\n",
    "mass/one.test/a.txt": "one\n",
    "mass/two.test/a.txt": "two\n",
    "mass/one/a.txt": "one alone\n",
    "home/ann/web/a.txt": "ann\n",
    "home/bob/web/a.txt": "bob\n",
    "pub/a.txt": "public\n",
    "pub/sub/a.txt": "public sub\n",
    "pub/docs/a.txt": "public docs\n",
    "htdocs/api/public/a.txt": "public\n",
    "htdocs/docs/data": "data\n",
    "htdocs/docs/data.txt": "data\n",
    "htdocs/docs/page.txt.en": "page\n",
    "htdocs/docs/page.txt.de": "Seite\n",
    "htdocs/docs/page.inc": "part\n",
    "htdocs/docs/list/page.shtml": '<!--#echo var="DOCUMENT_NAME" -->\n',
    "htdocs/docs/list/b.txt": "b of list\n",
}
_NAMES = ("index.html", "a.txt", "b.txt", "a.inc", "B.INC", "a.c", "x")
_MODIFIED = 1_600_000_000


@dataclass
class Result:
    """What apache2 and verify found for a pair: the requests that it answers otherwise."""

    visible: list[str]
    verified: VerifyResult

    @property
    def is_wrong(self) -> bool:
        """Return True if verify calls the same what apache2 answers otherwise."""
        return bool(self.visible) and self.verified.verdict is Verdict.SAME


def tried(pair: Pair, base: Path) -> Result:
    """Return what apache2 and verify find of *pair*, in directories below *base*."""
    port = free_port()
    asked = [_question(text) for text in pair.requests]
    answers = []
    for number, name in enumerate(("old", "new")):
        root = base / name
        shutil.rmtree(root, ignore_errors=True)
        _write(pair, number, root, port)
        site = Site(root, port, "", asked)
        answers.append(
            [
                one.replace(str(root).encode(), b"")
                for one in site.answers_to((root / "conf/httpd.conf").read_text())
            ]
        )
        (root / "conf/served.conf").unlink()
    visible = [text for text, a, b in zip(pair.requests, *answers, strict=True) if a != b]
    roots = [
        LoadOptions(server_root=str(base / name), file=str(base / name / "conf/httpd.conf"))
        for name in ("old", "new")
    ]
    sides = load_sides((as_copy(roots[0], roots[0]), as_copy(*roots)), ("2.4", "2.4"), ("old", "new"))
    return Result(visible, verify(*sides))


def _write(pair: Pair, number: int, root: Path, port: int) -> None:
    """Write one side of *pair* below *root*."""
    lines = (pair.old, pair.new)[number]
    text = pair.text if "@HERE@" in pair.text else f"{pair.text}\n@HERE@"
    modules = "".join(f"LoadModule {name}_module {MODULE_DIRECTORY}/mod_{name}.so\n" for name in MODULES)
    conf = modules + BASE + text.replace("@HERE@", lines) + "\n"
    files = dict(_FILES)
    for place in ("htdocs", "htdocs/docs", "htdocs/docs/sub"):
        files |= {f"{place}/{name}": f"{place} {name}\n" for name in _NAMES}
    files |= {"htdocs/second/a.txt": "second\n", "htdocs/second/sub/a.txt": "second sub\n"}
    files |= pair.files | {name: texts[number] for name, texts in pair.changed.items()}
    files["conf/httpd.conf"] = conf
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content.replace("@ROOT@", str(root)).replace("@PORT@", str(port)))
    (root / "logs").mkdir()
    for path in [root, *root.rglob("*")]:
        if "conf" not in path.parts:
            os.utime(path, (_MODIFIED, _MODIFIED))  # the ETag of a file is weak for a second


def _question(text: str) -> Question:
    method, target, *options = text.split()
    client = "127.0.0.1"
    host = "localhost"
    fields: list[str] = []
    for option in options:
        name, _, value = option.partition("=")
        if name == "from":
            client = value
        elif name == "host":
            host = "" if value == "-" else value
        elif name == "user":
            token = base64.b64encode(f"{value}:{PASSWORD}".encode()).decode()
            fields.append(f"Authorization: Basic {token}")
        else:
            fields.append(option.replace(":", ": ", 1))
    return Question(client, host, method, target, tuple(fields))


def main() -> int:
    """Try the pairs that are named, by default all; 1 if one is wrong, or shows nothing on apache2."""
    names = sys.argv[1:] or [*PAIRS]
    failed = 0
    with tempfile.TemporaryDirectory(prefix="pairs-") as directory:
        base = Path(directory).resolve()
        base.chmod(0o755)
        for name in names:
            result = tried(PAIRS[name], base)
            failed += result.is_wrong or not result.visible
            asked = len(PAIRS[name].requests)
            verdict = result.verified.verdict.name
            print(f"{verdict:12} {len(result.visible)} of {asked} differ: {name}", flush=True)
            for one in result.verified.not_decided:
                print(f"    {one.reason}")
            for errors in result.verified.errors:
                for one in errors:
                    print(f"    {one.text}")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())

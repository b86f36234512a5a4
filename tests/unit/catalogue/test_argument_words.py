"""Fixed words of arguments: a real apache2 accepts those of 2.4."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from tests.corpus.httpd_check import APACHE, MODULES, needs_apache

from whimbrel.catalogue import catalogue
from whimbrel.catalogue.argument_words import argument_words
from whimbrel.catalogue.load import WHERE

LINES = {
    "addoutputfilterbytype": "{} text/html",
    "authldapdereferencealiases": "{}",
    "cacheenable": "{} /",
    "deflatefilternote": "{} note",
    "header": "{} X-Name {}",
    "indexorderdefault": "{} Name",
    "logformat": "{}",
    "mutex": "{}",
    "requestheader": "{} X-Name {}",
    "require": "{} {}",
}
"""Arguments of directives that take more than the word; the second place depends on the word."""
MORE = {
    "edit": "a b",
    "edit*": "a b",
    "unset": "",
    "echo": "",
    "note": "name",
    "ip": "10.0.0.0/8",
    "host": "example.com",
    "forward-dns": "example.com",
    "env": "name",
    "method": "GET",
    "expr": "true",
    "user": "a",
    "group": "a",
    "all": "granted",
    "not": "all granted",
    "valid-user": "",
    "local": "",
}
SIGNED = frozenset(("options", "indexoptions"))
PARTS = frozenset(("granted", "denied"))
"""Words that stand behind another one."""
OTHER_MODULES = frozenset(("anon", "dbm", "ldap", "dbd", "socache"))
"""Providers, which need a module and not a word."""


def test_every_name_is_that_of_a_directive() -> None:
    assert [
        name for name in argument_words() if not any(catalogue(v).find(name) for v in ("2.2", "2.4"))
    ] == []


def line_of(name: str, word: str) -> str:
    """Return a line with the word, in the place that admits it."""
    more = "value" if name in ("header", "requestheader") else ""
    arguments = LINES.get(name, "{}")
    text = arguments.replace("{}", word, 1).replace("{}", MORE.get(word, more))
    row = catalogue("2.4").find(name)[-1]
    if name == "require" and word == "not":
        inside = "<RequireAll>\nRequire not ip 10.0.0.1\nRequire all granted\n</RequireAll>"
        return f"<Directory /nowhere>\n{inside}\n</Directory>"
    if name == "header" and word in ("always", "onsuccess"):
        text = f"{word} set X-Name value"
    if row.where & WHERE["RSRC_CONF"]:
        return f"{row.name} {text}"
    return f"<Directory /nowhere>\n{row.name} {text}\n</Directory>"


def lines() -> list[str]:
    """Return a text with each word of 2.4."""
    found = []
    for name, words in argument_words().items():
        if not catalogue("2.4").find(name):
            continue
        for word, version in words:
            if version == "2.2" or word in PARTS or word in OTHER_MODULES or "=*" in word:
                continue
            text = line_of(name, word)
            if name in SIGNED and word not in ("All", "None") and "=" not in word:
                text = text.replace(f" {word}", f" +{word}")
            found.append(text.replace("shmcb:run/", "shmcb:"))
    return found


@needs_apache
def test_apache_accepts_every_word_of_24(tmp_path: Path) -> None:
    loaded = [path for path in sorted(MODULES.glob("mod_*.so")) if "mpm_" not in path.name]
    head = [f"LoadModule mpm_event_module {MODULES}/mod_mpm_event.so"]
    head += [
        f"LoadModule {path.stem.removeprefix('mod_')}_module {path}"
        for path in loaded
        if path.stem.removeprefix("mod_") not in ("lua", "perl", "php", "cgi", "suexec", "heartmonitor", "md")
    ]
    text = lines()
    main = tmp_path / "httpd.conf"
    refused = []
    while True:
        main.write_text("\n".join([*head, "ServerName localhost", "Listen 65534", *text]) + "\n")
        done = subprocess.run(
            [APACHE, "-t", "-d", tmp_path, "-f", main],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        wrong = re.search(r"Syntax error on line (\d+) of", done.stderr)
        if wrong is None or len(refused) > 40:
            break
        bad = main.read_text().splitlines()[int(wrong[1]) - 1]
        refused.append(f"{bad}: {done.stderr}")
        before = len(text)
        text = [one for one in text if bad not in one.splitlines()]
        assert len(text) < before, done.stderr
    assert refused == []

"""Random configurations for comparisons of -t, -S, start and stop: valid and invalid lines, sections, files.

Placeholders: @ROOT@, @PORT@, @PORT2@ (free ports), @BUSY@ (a port in use), @MODULES@.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

MODULES = """
authn_core authn_file authz_core authz_host authz_user authz_groupfile auth_basic access_compat alias
autoindex dir
env expires headers include macro mime negotiation rewrite setenvif status userdir vhost_alias actions deflate
filter info log_forensic speling substitute unique_id usertrack cgi cgid reqtimeout allowmethods remoteip
""".split()
Piece = list[str]


@dataclass
class StartCase:
    """A configuration: its main file, and further files by path below the server root."""

    number: int
    text: str
    files: dict[str, str] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()


# Lines and sections, one each a line: one word of {a|b|c} is chosen, the first of which is right.
GLOBAL, SECTIONS = (
    part.strip().splitlines()
    for part in (Path(__file__).parent / "start_grammar.txt").read_text().split("----\n")
)

BASE = """ServerName localhost
PidFile logs/httpd.pid
ErrorLog logs/error_log
User www-data
Group www-data
Listen 127.0.0.1:@PORT@
DocumentRoot @ROOT@/htdocs
StartServers 1
TypesConfig conf/mime.types
"""
FILES = {
    "conf/more.conf": "KeepAlive On\n",
    "conf/broken.conf": "KeepAlive On\n<Directory />\nKeepAlive\n",
    "conf/loop.conf": "Include conf/loop.conf\n",
    "conf/d/1.conf": "Timeout 61\n",
    "conf/d/2.conf": "<Directory />\nOptions None\n</Directory>\n",
    "conf/mime.types": "text/html html\n",
    "conf/users": "a:b\n",
    "file": "a b\n",
    "empty": "",
    "htdocs/index.html": "front\n",
}


def choice(rng: random.Random, template: str, right: float) -> str:
    """Return *template* with one of its words; with probability *right* the first, which is valid."""
    head, brace, rest = template.partition("{")
    if not brace:
        return template
    body, _, tail = rest.rpartition("}")
    words = split_words(body)
    return head + (words[0] if rng.random() < right else rng.choice(words)) + tail


def split_words(body: str) -> list[str]:
    """Return the words between bars; a bar in double quotes belongs to a word."""
    words, quoted = [""], False
    for char in body:
        quoted ^= char == '"' and words[-1].count('"') % 2 in (0, 1) and _is_piped(words[-1], body)
        if char == "|" and not quoted:
            words.append("")
        else:
            words[-1] += char
    return words


def _is_piped(word: str, body: str) -> bool:
    """Return True if quotes matter in *body*: a piped program, or a substitution between bars."""
    return '"|' in body or '"s|' in body


class Grammar:
    """Generator of one configuration; *right* is the probability of valid words."""

    def __init__(self, rng: random.Random) -> None:
        self.rng, self.right = rng, rng.choice((0.97, 0.9, 0.7, 0.4))
        self.places: list[Callable[[int], Piece]] = [self.line, self.line, self.line, self.section]

    def line(self, _depth: int) -> Piece:
        """Return a directive, now and then in another layout."""
        text = choice(self.rng, self.rng.choice(GLOBAL), self.right)
        layout = self.rng.random()
        if layout < 0.02:
            name, _, words = text.partition(" ")
            return [f"{name} \\", f"  {words}"]
        if layout < 0.04:
            return [f"  \t{text.lower() if layout < 0.03 else text}  "]
        return [text] if layout > 0.05 else ["# comment \\", text]

    def section(self, depth: int) -> Piece:
        """Return a section with contents; a wrong one may lack its end, or have another's."""
        begin = choice(self.rng, self.rng.choice(SECTIONS), self.right)
        name = begin[1:].split(">")[0].split(" ")[0]
        inner: Piece = []
        for _ in range(self.rng.randrange(4)):
            inner += self.rng.choice(self.places)(depth + 1) if depth < 3 else self.line(depth)
        end = [f"</{name}>"]
        wrong = self.rng.random() * (1 - self.right + 0.03)
        if wrong > 0.5:
            end = self.rng.choice(
                ([], ["</Nosuch>"], [f"</{name.lower()}>"], [f"</{name}"], [f"</{name} x>"])
            )
        return [begin, *(f"  {line}" for line in inner), *end]

    def text(self) -> str:
        """Return the main file: modules, the settings that a start needs, and pieces between them."""
        rng = self.rng
        names = rng.sample(MODULES, rng.randrange(len(MODULES) // 2, len(MODULES)))
        names = [name for name in names if name not in ("authz_core", "mime")]
        names = [name for name in names if name != "cgi" or "cgid" not in names]
        mpm = rng.choice([["mpm_event"]] * 24 + [["mpm_prefork"], [], ["mpm_event", "mpm_worker"]])
        lines = [f"LoadModule {n}_module @MODULES@/mod_{n}.so" for n in (*mpm, "authz_core", "mime", *names)]
        base = BASE.splitlines()
        if rng.random() < 1 - self.right:
            base.pop(rng.randrange(len(base)))
        lines += base
        for _ in range(rng.choice((1, 1, 2, 3, 5, 8))):
            piece = rng.choice(self.places)(0)
            if rng.random() < 0.1:
                at = rng.randrange(len(lines) + 1)
                lines[at:at] = piece
            else:
                lines += piece
        return "\n".join(lines) + rng.choice(("\n", "\n", "\n", ""))


def generate(number: int, seed: int) -> StartCase:
    """Return configuration *number* of the series *seed*."""
    rng = random.Random(f"{seed}/{number}")
    grammar = Grammar(rng)
    arguments = rng.choice([()] * 8 + [("-D", "X"), ("-C", "KeepAlive Off"), ("-c", "Nosuch"), ("-T",)])
    return StartCase(number, grammar.text(), dict(FILES), tuple(arguments))

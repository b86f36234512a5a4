"""Random sections about access that conditional blocks split, in every place where a section can stand.

Only shapes on which 2.2.34 and mod_access_compat agree are made, because the original is served by apache2
2.4. `EXCLUDED` names the others.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

NAMES = ("A", "B", "C")
PLACES = ("main", "included", "inside", "htaccess", "fragment", "fragment-htaccess", "host")
AREAS = ("open", "password")
"""What is around a fragment: nothing about access, or an area that asks for a password."""
EXCLUDED = {
    "Satisfy Any without a Require line in force": (
        "2.2.34 lets the lists decide, mod_access_compat lets everybody in"
    ),
    "AuthType without a Require line in force": "2.2.34 lets everybody in, 2.4 answers 500 (AH01627)",
    "Satisfy in one section and Order in another of one request": (
        "2.2.34 merges both, mod_access_compat forgets the outer one"
    ),
}
PASSWORD = ["AuthType Basic", 'AuthName "area"', 'AuthUserFile "%BASE%/passwd"']
LISTS = ("all", "127.0.0.2", "127.0.0.3", "127.0.0.2 127.0.0.3", "127.0.0.0/30", "10", "127.0.0.4")
Text = list[str]


@dataclass
class Split:
    """One section, or several that meet in one request; *number* names its directories.

    Attributes:
        place: where the text stands: one of `PLACES`.
        area: what is around it: one of `AREAS`.
        text: what 2.2 reads.
        header: lines of the main file that belong to it.
        paths: targets of the requests; a target after ``host|`` is asked of that virtual host.
    """

    number: int
    place: str
    area: str
    text: Text = field(default_factory=list)
    header: Text = field(default_factory=list)
    paths: tuple[str, ...] = ()

    @property
    def host(self) -> str:
        """The name of its virtual host."""
        return f"h{self.number}.test"

    @property
    def own_file(self) -> str:
        """The name of a file that no other section has."""
        return f"u{self.number}.html"

    @property
    def directory(self) -> str:
        """Its directory below the document root."""
        return f"d{self.number}" if self.area == "open" else f"pw/d{self.number}"


def split_section(number: int, chance: random.Random) -> Split:
    """A random section."""
    place = chance.choice(PLACES)
    area = chance.choice(AREAS) if place.startswith("fragment") else "open"
    found = Split(number, place, area)
    found.paths = (f"/{found.directory}/f.html", f"/{found.directory}/sub/f.html")
    names = chance.sample(NAMES, chance.randint(1, 3))
    body = _body(chance, names, satisfy=chance.random() < 0.3)
    if chance.random() < 0.15:
        body = _contradiction(chance, names, body)
    if place in ("htaccess", "fragment-htaccess"):
        found.text = body
        if place == "htaccess" and chance.random() < 0.4:
            found.header = _override(chance, names, found)
        return found
    if place == "host":
        return _shared_with_host(chance, names, found)
    path = f'"%DOCS%/{found.directory}"'
    kind = f"Location /{found.directory}" if chance.random() < 0.25 else f"Directory {path}"
    if place == "inside":
        found.header = [f"<{kind}>", "Include %FILE%", f"</{kind.split()[0]}>"]
        found.text = body
        return found
    found.text = _in(f"<{kind}>", body)
    more = (
        chance.random()
        if kind.startswith("Directory") and not any("Satisfy" in line for line in body)
        else 1.0
    )
    if more < 0.2:
        found.text = [
            *found.text[:-1],
            *_in('<Files "f.html">', ["    " + line for line in _body(chance, names, satisfy=False)]),
            found.text[-1],
        ]
    if chance.random() < 0.3:
        other = _in(f"<{kind}>", _body(chance, names, satisfy=False))
        found.text = (
            _pair(chance, names, found.text, other)
            if chance.random() < 0.5
            else _block(chance, names, found.text)
        )
    if 0.2 <= more < 0.7:
        opening = (
            f'<Directory "%DOCS%/{found.directory}/sub">'
            if more < 0.5
            else f"<Location /{found.directory}/sub>"
        )
        inner = _in(opening, _body(chance, names, satisfy=False))
        found.text += _block(chance, names, inner) if chance.random() < 0.3 else inner
    if chance.random() < 0.3 and not any("Satisfy" in line for line in found.text):
        _with_own_file(chance, names, found)
    return found


def _override(chance: random.Random, names: list[str], split: Split) -> Text:
    """An AllowOverride for the directory of a .htaccess file, under a condition."""
    allowed = chance.choice(("None", "AuthConfig", "Limit", "AuthConfig Limit"))
    return _block(chance, names, _in(f'<Directory "%DOCS%/{split.directory}">', [f"AllowOverride {allowed}"]))


def _shared_with_host(chance: random.Random, names: list[str], split: Split) -> Split:
    """A directory of the main server, and a section of one virtual host that meets it."""
    directory = _in(f'<Directory "%DOCS%/{split.directory}">', _body(chance, names, satisfy=False))
    opening = chance.choice(
        (
            f'<Files "{split.own_file}">',
            f"<Location /{split.directory}>",
            f'<Directory "%DOCS%/{split.directory}/sub">',
        )
    )
    inner = _in(opening, _body(chance, names, satisfy=False))
    if chance.random() < 0.3:
        inner = _block(chance, names, inner)
    host = _in("<VirtualHost *>", [f"ServerName {split.host}", *inner])
    split.text = [*(_block(chance, names, directory) if chance.random() < 0.3 else directory), *host]
    split.paths += (f"/{split.directory}/{split.own_file}",)
    split.paths += tuple(f"{split.host}|{path}" for path in split.paths)
    return split


def _with_own_file(chance: random.Random, names: list[str], split: Split) -> None:
    """Add a section for one file name before or after the others, maybe under a condition."""
    files = _in(f'<Files "{split.own_file}">', _body(chance, names, satisfy=False))
    files = _block(chance, names, files) if chance.random() < 0.4 else files
    split.text = [*files, *split.text] if chance.random() < 0.5 else [*split.text, *files]
    split.paths += (f"/{split.directory}/{split.own_file}",)


def _contradiction(chance: random.Random, names: list[str], body: Text) -> Text:
    """Add lines in branches that contradict each other (never read) or repeat a condition to the body."""
    name, lines = chance.choice(names), [f"Allow from {chance.choice(LISTS)}"]
    inner = _in(f"<IfDefine {chance.choice(('', '!'))}{name}>", lines)
    return [*body, *_in(f"<IfDefine {chance.choice(('', '!'))}{name}>", inner)]


def _body(chance: random.Random, names: list[str], *, satisfy: bool) -> Text:
    items: list[Text] = []
    if satisfy or chance.random() < 0.85:
        items.append([f"Order {chance.choice(('allow,deny', 'deny,allow'))}"])
        items += [
            [f"{chance.choice(('Allow', 'Deny'))} from {chance.choice(LISTS)}"]
            for _ in range(chance.randint(0, 3))
        ]
    if satisfy:
        items.append([*PASSWORD, _require(chance), "Satisfy Any"])
    elif chance.random() < 0.5:
        required = (
            [_require(chance)]
            if chance.random() < 0.6
            else _pair(chance, names, [_require(chance)], [_require(chance)])
        )
        items.append([*PASSWORD, *required])
    if not items:
        items.append(["Order deny,allow"])
    chance.shuffle(items)
    if chance.random() < 0.15:
        low = chance.randrange(len(items))
        items[low] = (
            _in(f"<{chance.choice(('Limit GET', 'Limit POST', 'LimitExcept POST'))}>", items[low])
            if items[low][0].startswith(("Order", "Allow", "Deny"))
            else items[low]
        )
    for _ in range(chance.randint(1, 3)):
        low = chance.randrange(len(items))
        high = chance.randint(low + 1, len(items))
        chosen = [line for item in items[low:high] for line in item]
        if chance.random() < 0.3:
            other = [
                f"Order {chance.choice(('allow,deny', 'deny,allow'))}",
                f"Allow from {chance.choice(LISTS)}",
            ]
            items[low:high] = [_pair(chance, names, chosen, other)]
        else:
            items[low:high] = [_block(chance, names, chosen)]
    return [line for item in items for line in item]


def _require(chance: random.Random) -> str:
    return f"Require {chance.choice(('valid-user', 'user alice', 'user alice bob', 'group wardens'))}"


def _test(chance: random.Random, names: list[str]) -> str:
    if chance.random() < 0.08:
        return f"IfModule {chance.choice(('mod_ssl.c', '!mod_ssl.c', 'mod_auth_basic.c'))}"
    if chance.random() < 0.05:
        return "IfVersion >= 2.2"
    return f"IfDefine {chance.choice(('', '!'))}{chance.choice(names)}"


def _block(chance: random.Random, names: list[str], lines: Text) -> Text:
    return _in(f"<{_test(chance, names)}>", lines)


def _pair(chance: random.Random, names: list[str], one: Text, other: Text) -> Text:
    name = chance.choice(names)
    return [*_in(f"<IfDefine {name}>", one), *_in(f"<IfDefine !{name}>", other)]


def _in(opening: str, lines: Text) -> Text:
    return [opening, *("    " + line for line in lines), f"</{opening[1:].split()[0].rstrip('>')}>"]

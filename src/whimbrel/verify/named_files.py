"""Files that lines name below the root of a side: their content is a part of the line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from typing import Final

from whimbrel.base.file_reading import read_start
from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.config.execute import root_relative
from whimbrel.modules.http.mod_mime import read_types
from whimbrel.modules.mappers.mod_rewrite.maps import parse_text
from whimbrel.modules.support.auth.auth_files import Passwords, parse_groups
from whimbrel.verify.config_lines import SideLines
from whimbrel.verify.coverage.values import ValueForms

MAX_KEYS: Final = 12
"""Keys of a map that become requests."""
_MAX_FILE: Final = 1 << 22
"""Bytes of a file that are parsed; a longer one counts with its bytes."""
_OF_FILES: Final = re.compile(r"auth\w*(user|group)file|typesconfig|mimemagicfile|rewritemap|ssl\w*file")
"""Directives with the name of a file, relative to the ServerRoot, whose content decides."""
_MAP: Final = re.compile(r"(txt|rnd|prg|dbm(?:=\w+)?):(.+)", re.DOTALL)
"""The source of a RewriteMap that is a file."""
_TEXTS: Final = ("txt", "rnd")


def _groups(text: str) -> Mapping[str, object]:
    return {user: sorted(groups) for user, groups in parse_groups(text, continued=False).items()}


def _users(text: str) -> Mapping[str, object]:
    found = Passwords(text, continued=False)
    return {**found.stored, **{":".join(key): value for key, value in found.realms.items()}}


_PARSERS: Final[Mapping[str, Callable[[str], Mapping[str, object]]]] = {
    "typesconfig": read_types,
    "authgroupfile": _groups,
    "authuserfile": _users,
    **dict.fromkeys(_TEXTS, parse_text),
}
"""Directives, and types of maps, whose files have entries without an order."""


@cache
def names_file(name: str) -> bool:
    """Return True for a directive whose words are paths of files, in lower case."""
    return _OF_FILES.fullmatch(name) is not None


def forms_of_words(name: str, words: Sequence[str], form: ValueForms) -> Iterator[object]:
    """Yield the forms of the *words* of a line; a file below the root counts with its content."""
    is_of_file = names_file(name)
    for word in words:
        parse = _PARSERS.get(name)
        found = _MAP.fullmatch(word) if name == "rewritemap" else None
        if found is not None:
            yield found[1]
            word = found[2]
            parse = _PARSERS.get(found[1])
        may_be_file = is_of_file or "/" in word
        if may_be_file and not word.startswith("/") and form.file(form.root + word):
            word = form.root + word
        yield form.text(word, parse)


def changed_keys(sides: tuple[SideLines, SideLines]) -> dict[str, list[str]]:
    """Return for each RewriteMap whose texts differ the keys with other values, at most `MAX_KEYS`."""
    old, new = (dict(_maps(lines)) for lines in sides)
    found: dict[str, list[str]] = {}
    for name in old.keys() & new.keys():
        every = dict.fromkeys(chain(old[name], new[name]))
        keys = [key for key in every if old[name].get(key) != new[name].get(key)]
        if keys:
            step = -(-len(keys) // MAX_KEYS)
            found[name] = keys[::-step]  # the last ones first: what was added stands at the end
    return found


def _maps(lines: SideLines) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield the name and the pairs of each map in a text file."""
    configuration = lines.side.loaded
    for scope in lines.scopes:
        for line in scope.lines:
            words = line.words() if line.name == "rewritemap" else []
            found = _MAP.fullmatch(words[1]) if len(words) > 1 else None
            if found is not None and found[1] in _TEXTS:
                path = configuration.disk.on_disk(root_relative(configuration.root, found[2]))
                try:
                    yield words[0], parse_text(to_text(read_start(to_bytes(path), _MAX_FILE)))
                except OSError:
                    continue


def with_keys(substitution: str, pattern: str, text: str, keys: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield *text*, which *pattern* matches, with each key in the place of the group that *substitution*
    looks up in a map of *keys*, if the pattern matches that, too."""
    try:
        search = re.compile(pattern).search
        found = search(text)
    except re.error:
        return
    for name, number in re.findall(r"\$\{([^:{}]+):\$(\d)", substitution):
        group = int(number)
        if found is None or group > len(found.groups()) or found[group] is None:
            continue
        for key in keys.get(name, ()):
            other = text[: found.start(group)] + key + text[found.end(group) :]
            match = search(other)
            if match is not None and match[group] == key:
                yield other

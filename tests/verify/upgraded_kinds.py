"""Kinds of mistakes that a person makes in the files of an upgraded server: in any of its texts, and in its
users, groups, maps and types.

A change edits the lines of one file in place. It returns the numbers of the lines that it touched, None if it
does not apply. What clients see decides apache2, but for `WITHOUT_EFFECT`, which never change it.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tests.verify.upgraded_site import DEEP_HTACCESS, HOSTS, HTACCESS, MAIN


@dataclass(frozen=True)
class Touched:
    """Numbers of lines: *old* in the text before the change, *new* in that after it."""

    old: frozenset[int]
    new: frozenset[int]


Change = Callable[[list[str], random.Random], Touched | None]


@dataclass(frozen=True)
class FileKind:
    """One kind of mistake in one of *files*."""

    name: str
    change: Change
    files: tuple[str, ...]


def _touched(old: Iterator[int] | range, new: Iterator[int] | range) -> Touched:
    return Touched(frozenset(n + 1 for n in old), frozenset(n + 1 for n in new))


def _body(lines: list[str]) -> int:
    """Return the index of the first line that may change: the lines before are of the process."""
    return lines.index("# site") if "# site" in lines else 0


def sub(pattern: str, text: str) -> Change:
    """Return the change of a line that *pattern* is found in."""

    def change(lines: list[str], choose: random.Random) -> Touched | None:
        first = _body(lines)
        found = [
            n
            for n, line in enumerate(lines)
            if n >= first and re.search(pattern, line) and re.sub(pattern, text, line, count=1) != line
        ]
        if not found:
            return None
        number = choose.choice(found)
        lines[number] = re.sub(pattern, text, lines[number], count=1)
        return _touched(range(number, number + 1), range(number, number + 1))

    return change


def drop(pattern: str) -> Change:
    """Return the loss of a line; *pattern* matches at its first word."""

    def change(lines: list[str], choose: random.Random) -> Touched | None:
        first = _body(lines)
        found = [n for n, line in enumerate(lines) if n >= first and re.match(rf"\s*(?:{pattern})", line)]
        if not found:
            return None
        number = choose.choice(found)
        del lines[number]
        return _touched(range(number, number + 1), range(0))

    return change


def swap(pattern: str) -> Change:
    """Return the exchange of two neighbours of the same name, one after the other."""

    def change(lines: list[str], choose: random.Random) -> Touched | None:
        first = _body(lines)
        found = [
            n
            for n in range(first, len(lines) - 1)
            if re.match(rf"\s*(?:{pattern})", lines[n])
            and re.match(rf"\s*(?:{pattern})", lines[n + 1])
            and lines[n] != lines[n + 1]
        ]
        if not found:
            return None
        number = choose.choice(found)
        lines[number : number + 2] = lines[number + 1], lines[number]
        return _touched(range(number, number + 2), range(number, number + 2))

    return change


def double_changed(pattern: str, old: str, new: str) -> Change:
    """Return the copy of a line below itself, with *new* in the place of *old*."""

    def change(lines: list[str], choose: random.Random) -> Touched | None:
        first = _body(lines)
        found = [n for n, line in enumerate(lines) if n >= first and re.match(pattern, line) and old in line]
        if not found:
            return None
        number = choose.choice(found)
        lines.insert(number + 1, lines[number].replace(old, new))
        return _touched(range(number, number + 1), range(number, number + 2))

    return change


def add_in(section: str, *texts: str) -> Change:
    """Return the addition of one of *texts* at the end of a section that *section* matches."""

    def change(lines: list[str], choose: random.Random) -> Touched | None:
        found = [end for start, end in _sections(lines) if re.match(section, lines[start])]
        if not found:
            return None
        number = choose.choice(found)
        added = choose.choice(texts).split("\n")
        lines[number:number] = added
        return _touched(range(0), range(number, number + len(added)))

    return change


def add_at_end(*texts: str) -> Change:
    """Return the addition of one of *texts* at the end of the file."""

    def change(lines: list[str], choose: random.Random) -> Touched | None:
        added = choose.choice(texts).split("\n")
        number = len(lines) - 1
        lines[number:number] = added
        return _touched(range(0), range(number, number + len(added)))

    return change


def _sections(lines: list[str]) -> list[tuple[int, int]]:
    """Return the first and last line of each section."""
    found = []
    open_ones: list[int] = []
    for number, line in enumerate(lines):
        if number < _body(lines):
            continue
        text = line.strip()
        if text.startswith("</") and open_ones:
            found.append((open_ones.pop(), number))
        elif text.startswith("<"):
            open_ones.append(number)
    return sorted(found)


def _top(lines: list[str], pattern: str) -> list[tuple[int, int]]:
    """Return the sections outside of others whose first line *pattern* matches."""
    found: list[tuple[int, int]] = []
    for start, end in _sections(lines):
        if not found or start > found[-1][1]:
            found.append((start, end))
    return [(start, end) for start, end in found if re.match(pattern, lines[start])]


def drop_section(pattern: str) -> Change:
    """Return the loss of a section with its lines."""

    def change(lines: list[str], choose: random.Random) -> Touched | None:
        found = [(start, end) for start, end in _sections(lines) if re.match(pattern, lines[start].strip())]
        if not found:
            return None
        start, end = choose.choice(found)
        del lines[start : end + 1]
        return _touched(range(start, end + 1), range(0))

    return change


def unwrap(pattern: str) -> Change:
    """Return the loss of the two lines of a section, whose contents then belong to what is around it."""

    def change(lines: list[str], choose: random.Random) -> Touched | None:
        found = [(start, end) for start, end in _sections(lines) if re.match(pattern, lines[start].strip())]
        if not found:
            return None
        start, end = choose.choice(found)
        del lines[end]
        del lines[start]
        return _touched(range(start, end + 1), range(start, end - 1))

    return change


def move_section(pattern: str) -> Change:
    """Return a section moved before the first section outside of others, or behind the last one."""

    def change(lines: list[str], choose: random.Random) -> Touched | None:
        found = _top(lines, pattern)
        every = _top(lines, "<")
        if not found or len(every) < 2:
            return None
        start, end = choose.choice(found)
        to_start = choose.random() < 0.5
        moved = lines[start : end + 1]
        del lines[start : end + 1]
        at = every[0][0] if to_start else every[-1][1] + 1 - len(moved)
        if at == start or at < 0:
            lines[start:start] = moved
            return None
        lines[at:at] = moved
        low, high = min(start, at), max(end, at + len(moved) - 1)
        return _touched(range(low, high + 1), range(low, high + 1))

    return change


def swap_hosts(lines: list[str], choose: random.Random) -> Touched | None:
    """Exchange two neighbouring virtual hosts: another one is the default."""
    found = _top(lines, "<VirtualHost")
    if len(found) < 2:
        return None
    number = choose.randrange(len(found) - 1)
    (start, end), (after, last) = found[number], found[number + 1]
    lines[start : last + 1] = lines[after : last + 1] + lines[end + 1 : after] + lines[start : end + 1]
    return _touched(range(start, last + 1), range(start, last + 1))


_KEPT = re.compile(
    r"(?i)\s*(#|$|</?|serverroot|listen|user |group |pidfile|errorlog|include|start|loadmodule)"
)


def lose_any(lines: list[str], choose: random.Random) -> Touched | None:
    """Lose any line."""
    found = [n for n, line in enumerate(lines) if n >= _body(lines) and not _KEPT.match(line)]
    if not found:
        return None
    number = choose.choice(found)
    del lines[number]
    return _touched(range(number, number + 1), range(0))


def comment_any(lines: list[str], choose: random.Random) -> Touched | None:
    """Comment out any line."""
    found = [n for n, line in enumerate(lines) if n >= _body(lines) and not _KEPT.match(line)]
    if not found:
        return None
    number = choose.choice(found)
    lines[number] = "#" + lines[number]
    return _touched(range(number, number + 1), range(number, number + 1))


def letter_lost(lines: list[str], choose: random.Random) -> Touched | None:
    """Lose a letter of an argument."""
    return _retyped(lines, choose, lambda word, at: word[:at] + word[at + 1 :])


def letter_doubled(lines: list[str], choose: random.Random) -> Touched | None:
    """Type a letter of an argument twice."""
    return _retyped(lines, choose, lambda word, at: word[: at + 1] + word[at:])


def letter_case(lines: list[str], choose: random.Random) -> Touched | None:
    """Type a letter of an argument in the other case."""
    return _retyped(lines, choose, lambda word, at: word[:at] + word[at].swapcase() + word[at + 1 :])


def letter_other(lines: list[str], choose: random.Random) -> Touched | None:
    """Type another letter in an argument."""
    return _retyped(lines, choose, lambda word, at: word[:at] + "q" + word[at + 1 :])


def _retyped(lines: list[str], choose: random.Random, typed: Callable[[str, int], str]) -> Touched | None:
    found = []
    for number, line in enumerate(lines):
        if number >= _body(lines) and (not _KEPT.match(line) or re.match(r"\s*<[^/]", line)):
            match = re.match(r"\s*\S+\s+", line)
            if match:
                places = [at for at in range(match.end(), len(line)) if line[at].isalnum()]
                if places:
                    found.append((number, places))
    if not found:
        return None
    number, places = choose.choice(found)
    lines[number] = typed(lines[number], choose.choice(places))
    return _touched(range(number, number + 1), range(number, number + 1))


def word_lost(lines: list[str], choose: random.Random) -> Touched | None:
    """Lose one of several words of a line."""
    found = [
        n
        for n, line in enumerate(lines)
        if n >= _body(lines) and not _KEPT.match(line) and len(line.split()) > 2 and '"' not in line
    ]
    if not found:
        return None
    number = choose.choice(found)
    words = lines[number].split()
    del words[choose.randrange(1, len(words))]
    lines[number] = " ".join(words)
    return _touched(range(number, number + 1), range(number, number + 1))


def word_order(lines: list[str], choose: random.Random) -> Touched | None:
    """Exchange two neighbouring words behind the first argument."""
    found = [
        n
        for n, line in enumerate(lines)
        if n >= _body(lines) and not _KEPT.match(line) and len(line.split()) > 2 and '"' not in line
    ]
    if not found:
        return None
    number = choose.choice(found)
    words = lines[number].split()
    at = choose.randrange(1, len(words) - 1)
    words[at : at + 2] = words[at + 1], words[at]
    lines[number] = " ".join(words)
    return _touched(range(number, number + 1), range(number, number + 1))


def section_retyped(lines: list[str], choose: random.Random) -> Touched | None:
    """Give a section another kind."""
    kinds = {
        "Directory": "Location",
        "Files": "Location",
        "Location": "Directory",
        "FilesMatch": "LocationMatch",
    }
    found = [
        (start, end)
        for start, end in _top(lines, "<")
        if re.match(r"<(\w+)", lines[start])[1] in kinds  # type: ignore[index]
    ]
    if not found:
        return None
    start, end = choose.choice(found)
    name = re.match(r"<(\w+)", lines[start])[1]  # type: ignore[index]
    lines[start] = lines[start].replace(name, kinds[name], 1)
    lines[end] = lines[end].replace(name, kinds[name], 1)
    return _touched(range(start, end + 1), range(start, end + 1))


def of_another_kind(old: str, new: str) -> Change:
    """Return a section *old* that becomes one of the kind *new*."""

    def change(lines: list[str], choose: random.Random) -> Touched | None:
        found = [(start, end) for start, end in _sections(lines) if lines[start].strip() == f"<{old}>"]
        if not found:
            return None
        start, end = choose.choice(found)
        for number in (start, end):
            lines[number] = lines[number].replace(old, new)
        return _touched(range(start, end + 1), range(start, end + 1))

    return change


_CONF = (MAIN, HOSTS)
_ACCESS_FILES = (HTACCESS, DEEP_HTACCESS)
_TEXTS = (*_CONF, *_ACCESS_FILES)
_ANY_TEXT: tuple[tuple[str, Change], ...] = (
    ("any line lost", lose_any),
    ("any line commented out", comment_any),
    ("letter lost", letter_lost),
    ("letter doubled", letter_doubled),
    ("letter in the other case", letter_case),
    ("another letter", letter_other),
    ("word lost", word_lost),
    ("words exchanged", word_order),
)
_SECTIONS: tuple[tuple[str, Change, tuple[str, ...]], ...] = (
    ("section of another kind", section_retyped, _CONF),
    ("section lost", drop_section("<(Directory|Files|Location)"), _CONF),
    ("section of a file lost", drop_section("<(Files|Require)"), _ACCESS_FILES),
    ("section unwrapped", unwrap("<(Require|Files|Limit)"), _TEXTS),
    ("section moved", move_section("<(Directory|Files|Location)"), (MAIN,)),
    ("hosts exchanged", swap_hosts, (HOSTS,)),
    ("host lost", drop_section("<VirtualHost"), (HOSTS,)),
    ("RequireAll becomes RequireAny", of_another_kind("RequireAll", "RequireAny"), _TEXTS),
    ("directory becomes its parent", sub(r'^(<Directory ".*/htdocs)/\w+(">)$', r"\1\2"), (MAIN,)),
    ("directory with a wildcard", sub(r'^(<Directory ".*/htdocs)/\w+(">)$', r"\1/*\2"), (MAIN,)),
    ("files: anchor lost", sub(r"\$(\">)$", r"\1"), _TEXTS),
    ("pattern: start lost", sub(r'^((?:Redirect|Alias|Rewrite|<Location)\w* (?:\d+ )?"?)\^', r"\1"), _TEXTS),
    ("pattern: dot", sub(r"\\\.", "."), _TEXTS),
    ("pattern: class", sub(r"\[a-z\]", "[a-y]"), _TEXTS),
    ("pattern: quantifier", sub(r"\(\.\*\)", "(.+)"), _TEXTS),
)
_ACCESS: tuple[tuple[str, Change, tuple[str, ...]], ...] = (
    ("granted becomes denied", sub("^(\\s*)Require all granted", r"\1Require all denied"), _TEXTS),
    ("denied becomes granted", sub("^(\\s*)Require all denied", r"\1Require all granted"), _TEXTS),
    ("not is lost", sub(r"Require not (?=env|ip)", "Require "), _TEXTS),
    ("Require lost", drop(r"Require (?!all)"), _TEXTS),
    ("Require: other way of access", sub(r"Require (user|group) .*", "Require valid-user"), _TEXTS),
    (
        "Require added",
        add_in("<Directory", "Require all granted", "Require user cat", "Require local"),
        (MAIN,),
    ),
    ("old lines left", add_in("<Directory", "Order deny,allow\nDeny from all"), (MAIN,)),
    ("network: wider", sub(r"(Require (?:not )?ip 127)\.\S+", r"\1"), _TEXTS),
    ("network: one more", sub(r"(Require (?:not )?ip .*)$", r"\1 127.9.0.1"), _TEXTS),
    ("network: last part", sub(r"(Require (?:not )?ip \S+\.)(\d+)(?= |$)", r"\g<1>7"), _TEXTS),
    ("methods: one more", sub(r"Require method (\w+)", r"Require method \1 GET"), _TEXTS),
    (
        "merging of access",
        add_in("<Directory", "AuthMerging Or\nRequire user dan", "AuthMerging And"),
        (MAIN,),
    ),
    ("realm", sub(r'(AuthName ".*)"', r'\1s"'), _TEXTS),
    ("AuthUserFile", sub(r"AuthUserFile conf/users", "AuthUserFile conf/groups"), _TEXTS),
    ("AuthType", sub(r"AuthType Digest", "AuthType Basic"), (MAIN,)),
    ("digest domain", sub(r"AuthDigestDomain /vault/", "AuthDigestDomain /"), (MAIN,)),
    ("anonymous user", sub(r"Anonymous guest ann", "Anonymous ann"), (MAIN,)),
    ("AllowOverride: none", sub(r"AllowOverride AuthConfig.*", "AllowOverride None"), (MAIN,)),
    ("AllowOverride: access lost", sub(r"AllowOverride AuthConfig (.*) Limit", r"AllowOverride \1"), (MAIN,)),
    ("SSLRequireSSL lost", drop("SSLRequireSSL"), (HOSTS,)),
)
_OTHERS: tuple[tuple[str, Change, tuple[str, ...]], ...] = (
    ("alias order", swap("Alias(?!M)"), (MAIN,)),
    ("alias: slash", sub(r'^(Alias /\w+) (".*)"$', r'\1/ \2/"'), (MAIN,)),
    ("alias: target", sub(r"^(Alias.*)/htdocs/\w+", r"\1/htdocs/st"), (MAIN,)),
    ("redirect: status", sub(r"^Redirect permanent", "Redirect temp"), (MAIN,)),
    ("redirect: order", swap("Redirect"), (MAIN,)),
    ("redirect: match lost", sub(r"^RedirectMatch 302", "Redirect 302"), (MAIN,)),
    ("script alias", sub(r"^ScriptAlias", "Alias"), (MAIN,)),
    ("ExecCGI", sub(r"Options ExecCGI", "Options None"), (MAIN,)),
    ("environment of programs", sub(r"SetEnv ROLE reader", "SetEnv ROLE writer"), (MAIN,)),
    ("index: order", sub(r"DirectoryIndex (\S+) (\S+)", r"DirectoryIndex \2 \1"), _TEXTS),
    ("options: sign", sub(r"Options \+", "Options -"), _TEXTS),
    ("options: relative", sub(r"^(\s*Options) Indexes", r"\1 +Indexes"), _TEXTS),
    ("options: links", sub(r"Options FollowSymLinks", "Options Indexes"), _TEXTS),
    ("multiviews", sub(r"\+MultiViews ", ""), (MAIN,)),
    ("listing", sub(r"NameWidth=20", "NameWidth=30"), (MAIN,)),
    ("listing order", sub(r"Descending Name", "Ascending Name"), (MAIN,)),
    ("type of an extension", sub(r"AddType text/x", "AddType text/y"), _TEXTS),
    ("type forced everywhere", unwrap(r'<Directory ".*/pub">'), (MAIN,)),
    ("charset", sub(r"AddDefaultCharset utf-8", "AddDefaultCharset On"), (MAIN,)),
    ("language priority", sub(r"LanguagePriority en de", "LanguagePriority de en"), (MAIN,)),
    ("header: add", sub(r"Header set", "Header add"), _TEXTS),
    ("header: onsuccess", sub(r"Header always set", "Header set"), _TEXTS),
    ("header: always", sub(r"Header set", "Header always set"), _TEXTS),
    ("header: order", swap("Header"), _TEXTS),
    ("header: unset", sub(r"Header append (\S+) .*", r"Header unset \1"), _TEXTS),
    ("header: merge", sub(r"Header append", "Header merge"), _TEXTS),
    ("header: expression", sub(r" env=crawler$", ' "expr=%{REQUEST_URI} =~ /a/"'), (MAIN,)),
    ("header: edit all", sub(r"Header edit (.*)$", r"Header edit* \1"), (MAIN,)),
    ("request header", sub(r"RequestHeader set (\S+) (\S+)", r"RequestHeader set \1 no"), _CONF),
    ("expires: base", sub(r"access plus 1 hour", "modification plus 1 hour"), (MAIN,)),
    ("expires: default", sub(r"ExpiresDefault A600", "ExpiresDefault A60"), (MAIN,)),
    ("expires: type", sub(r"ExpiresByType text/css", "ExpiresByType text/plain"), (MAIN,)),
    ("etag", sub(r"FileETag Size", "FileETag None"), (MAIN,)),
    ("error document: text", sub(r"no such page here", "nothing"), (MAIN,)),
    ("error document: path", sub(r"ErrorDocument 403 /a.txt", "ErrorDocument 403 /b.css"), (MAIN,)),
    ("error document: status", sub(r"ErrorDocument 404", "ErrorDocument 403"), _TEXTS),
    ("path info", sub(r"AcceptPathInfo Off", "AcceptPathInfo Default"), (MAIN,)),
    ("trace", sub(r"TraceEnable Off", "TraceEnable extended"), (MAIN,)),
    ("variable: order", swap("SetEnvIf"), (MAIN,)),
    ("variable: case", sub(r"SetEnvIfNoCase", "SetEnvIf"), (MAIN,)),
    ("variable: name", sub(r"env=style$", "env=stile"), (MAIN,)),
    ("variable: negated", sub(r"!style$", "style=2"), (MAIN,)),
    ("compression: types", sub(r"DEFLATE text/plain", "DEFLATE text/css"), (MAIN,)),
    ("compression: variable", sub(r"no-gzip$", "gzip-only-text/html"), (MAIN,)),
    ("filter: extension", sub(r"AddOutputFilter INCLUDES .shtml", "AddOutputFilter INCLUDES .html"), (MAIN,)),
    ("includes: option", sub(r"Options \+Includes", "Options +IncludesNOEXEC"), (MAIN,)),
    ("handler", sub(r"AddHandler send-as-is .asis", "AddHandler send-as-is .as"), (MAIN,)),
    ("spelling off", sub(r"CheckSpelling On", "CheckSpelling Off"), (MAIN,)),
    ("user directories", sub(r"UserDir .*", "UserDir disabled"), (MAIN,)),
    ("user directories: place", sub(r"UserDir (.*)/web", r"UserDir \1/public"), (MAIN,)),
    ("body limit", sub(r"LimitRequestBody 200", "LimitRequestBody 100"), (MAIN,)),
    (
        "condition around a section",
        add_at_end(
            '<If "%{REQUEST_URI} =~ m#^/a#">\nRequire all denied\n</If>',
            '<If "%{HTTP_USER_AGENT} =~ /Robot/">\nHeader set X-If yes\n</If>',
            "<IfModule mod_headers.c>\nHeader set X-Module yes\n</IfModule>",
        ),
        (MAIN,),
    ),
    (
        "Location over all",
        add_at_end(
            '<Location "/">\nRequire all granted\n</Location>', '<Location "/">\nRequire local\n</Location>'
        ),
        (MAIN,),
    ),
    ("server: keep-alive", sub(r"^KeepAlive On", "KeepAlive Off"), (MAIN,)),
    ("log: format", sub(r"%h %u", "%h %l"), (MAIN,)),
    ("log: field", sub(r"%\{Referer\}i", "%{Host}i"), (MAIN,)),
    ("log: condition", sub(r"^(CustomLog .*)$", r"\1 env=logged"), (MAIN,)),
    ("log: status", sub(r"%>s", "%s %b"), (MAIN,)),
)
_REWRITE: tuple[tuple[str, Change, tuple[str, ...]], ...] = (
    ("rewriting off", sub("RewriteEngine On", "RewriteEngine Off"), _TEXTS),
    ("rule: order", swap("RewriteRule"), _TEXTS),
    ("condition: order", swap("RewriteCond"), _TEXTS),
    ("condition lost", drop("RewriteCond"), _TEXTS),
    ("rule lost", drop("RewriteRule"), _TEXTS),
    ("rule: flag NC", sub(r"\[NC,PT", "[PT"), _TEXTS),
    ("rule: flag QSA", sub(r"QSA,", ""), _TEXTS),
    ("rule: flag PT", sub(r"\[PT\b", "[L"), _TEXTS),
    ("rule: flag C", sub(r"\[C\b", "[PT"), _TEXTS),
    ("rule: skipped", sub(r"\[S=1\]", "[S=2]"), _TEXTS),
    ("rule: cookie", sub(r"CO=seen:yes", "CO=seen:no"), _TEXTS),
    ("rule: type", sub(r"T=text/x-st", "T=text/x-stt"), _TEXTS),
    ("rule: status", sub(r"R=30[12]", "R=307"), _TEXTS),
    ("rule: END", sub(r"\[L\]", "[END]"), _TEXTS),
    ("rule: QSD", sub(r"\bQSA\b", "QSD"), _TEXTS),
    ("rule: back reference", sub(r"/\$1", "/$0"), _TEXTS),
    ("condition: negated", sub(r"^(RewriteCond \S+ )!", r"\1"), _TEXTS),
    ("condition: test", sub(r" !-f$", " !-d"), _TEXTS),
    ("condition: OR", sub(r"\[NC,OR\]", "[NC]"), _TEXTS),
    ("base", sub(r"RewriteBase /app/", "RewriteBase /st/"), _TEXTS),
    ("base lost", drop("RewriteBase"), _TEXTS),
    (
        "inherited rules",
        add_at_end("RewriteOptions Inherit", "RewriteOptions InheritBefore"),
        (DEEP_HTACCESS,),
    ),
    ("map: default", sub(r"\|a\.txt", "|b.css"), _TEXTS),
    ("map: function", sub(r"int:tolower", "int:toupper"), _TEXTS),
    ("proxy: exclusion last", swap("ProxyPass "), (HOSTS,)),
    ("proxy: exclusion lost", drop("ProxyPass .* !"), (HOSTS,)),
    ("proxy: path", sub(r"(ProxyPass /api/ .*)/v1/", r"\1/v2/"), (HOSTS,)),
    ("proxy: slash", sub(r"ProxyPass /api/ (.*)/$", r"ProxyPass /api/ \1"), (HOSTS,)),
    ("proxy: reverse lost", drop("ProxyPassReverse "), (HOSTS,)),
    ("proxy: cookie path", sub(r"CookiePath /v1/ /api/", "CookiePath /v1/ /"), (HOSTS,)),
    ("proxy: host", add_in("<Location /api", "ProxyPreserveHost On"), (HOSTS,)),
    ("proxy: fields", sub(r"RequestHeader unset Cookie", "RequestHeader unset Cookies"), (HOSTS,)),
    ("host: name", sub(r"ServerName second", "ServerName third"), (HOSTS,)),
    ("host: alias", sub(r"ServerAlias \*\.second.example", "ServerAlias www.second.example"), (HOSTS,)),
    ("host: alias wider", sub(r"ServerAlias \*\.second.example", "ServerAlias *"), (HOSTS,)),
    ("host: path", sub(r"ServerPath /second", "ServerPath /two"), (HOSTS,)),
    ("host: root", sub(r'DocumentRoot ".*/second"', "# lost"), (HOSTS,)),
    ("host: address", sub(r"<VirtualHost \*:(\d+)>", r"<VirtualHost 127.0.0.9:\1>"), (HOSTS,)),
    ("mass hosts", sub(r"(VirtualDocumentRoot .*)/%0", r"\1/%1"), (HOSTS,)),
    ("tls: protocol", sub(r"SSLProtocol .*", "SSLProtocol TLSv1.2"), (HOSTS,)),
    ("tls: newest", sub(r"SSLProtocol .*", "SSLProtocol TLSv1.3"), (HOSTS,)),
    ("tls: ciphers", sub(r"SSLCipherSuite .*", "SSLCipherSuite ECDHE-ECDSA-CHACHA20-POLY1305"), (HOSTS,)),
    ("tls: certificate", sub(r"server\.pem", "other.pem"), (HOSTS,)),
    ("tls: off", sub(r"SSLEngine on", "SSLEngine off"), (HOSTS,)),
    ("tls: client certificate", add_in("<VirtualHost", "SSLVerifyClient require"), (HOSTS,)),
    ("tls: field", sub(r"%\{SSL_PROTOCOL\}s", "%{SSL_CIPHER}s"), (HOSTS,)),
)
_DATA: tuple[tuple[str, Change, tuple[str, ...]], ...] = (
    ("users: one lost", drop("(ann|bob|cat):"), ("conf/users",)),
    ("users: name", sub("^(ann|bob|cat):", r"\1e:"), ("conf/users",)),
    ("users: password", sub(r"n3KC", "n3KD"), ("conf/users",)),
    ("users: one more", add_at_end("dan:$apr1$x$n3KC.RJYHZhK50zaCOGff0"), ("conf/users",)),
    ("groups: member lost", sub(r"ann bob", "bob"), ("conf/groups",)),
    ("groups: member", sub(r"guests: cat", "guests: cat bob"), ("conf/groups",)),
    ("groups: name", sub(r"^staff:", "stuff:"), ("conf/groups",)),
    ("groups: comma", sub(r"ann bob", "ann,bob"), ("conf/groups",)),
    ("groups: line lost", drop("staff"), ("conf/groups",)),
    ("digest: realm", sub(r":Vault:", ":Valt:"), ("conf/digest",)),
    ("digest: user lost", drop("ann"), ("conf/digest",)),
    ("map: key", sub(r"^one ", "eins "), ("conf/map.txt",)),
    ("map: value", sub(r"pub/one", "list/z"), ("conf/map.txt",)),
    ("map: line lost", drop("(one|two|index) "), ("conf/map.txt",)),
    ("types: name", sub(r"text/css css", "text/plain css"), ("conf/mime.types",)),
    ("types: line lost", drop("(text|image|application)/"), ("conf/mime.types",)),
    ("types: extension", sub(r" png$", " pgn"), ("conf/mime.types",)),
)
_MODULE_LINES = re.compile(r"LoadModule (\w+)_module")


def lose_module(lines: list[str], choose: random.Random) -> Touched | None:
    """Lose a LoadModule line of a module whose directives stand in conditions, or in no line."""
    names = ("asis", "expires", "userdir", "speling", "deflate", "negotiation", "autoindex", "dir", "mime")
    names += ("actions", "cgi", "include", "usertrack", "env")
    found = [n for n, line in enumerate(lines) if re.match(rf"LoadModule ({'|'.join(names)})_module", line)]
    number = choose.choice(found)
    del lines[number]
    return _touched(range(number, number + 1), range(0))


VISIBLE = (
    *(
        FileKind(f"{name}: {what}", change, files)
        for what, files in (("main", (MAIN,)), ("hosts", (HOSTS,)), (".htaccess", _ACCESS_FILES))
        for name, change in _ANY_TEXT
    ),
    *(
        FileKind(name, change, files)
        for name, change, files in (*_SECTIONS, *_ACCESS, *_OTHERS, *_REWRITE, *_DATA)
    ),
    FileKind("module lost", lose_module, (MAIN,)),
)


def _inserted(pattern: str, text: str) -> Change:
    """Return *text*, of one line or more, in the place of a line that *pattern* is found in."""

    def change(lines: list[str], choose: random.Random) -> Touched | None:
        first = _body(lines)
        found = [n for n, line in enumerate(lines) if n >= first and re.search(pattern, line)]
        if not found:
            return None
        number = choose.choice(found)
        match = re.search(pattern, lines[number])
        assert match is not None
        line = lines[number]
        new = (line[: match.start()] + match.expand(text) + line[match.end() :]).split("\n")
        if new == [line]:
            return None
        lines[number : number + 1] = new
        return _touched(range(number, number + 1), range(number, number + len(new)))

    return change


WITHOUT_EFFECT = tuple(
    FileKind(name, change, files)
    for name, change, files in (
        ("comment", _inserted(r"^(?=\w)", "# a note\n"), _TEXTS),
        ("indentation", _inserted(r"^(?=\w)", "\t  "), _TEXTS),
        ("case of a name", _inserted(r"^(H)eader", "HEADER"), _TEXTS),
        ("blank lines", _inserted(r"^(?=\w)", "\n\n"), _TEXTS),
        ("continued line", _inserted(r"^(\w+) (?=\S)", "\\1 \\\\\n  "), _TEXTS),
        (
            "condition that holds",
            _inserted(r"^(Header .*|AddType .*)$", "<IfModule mod_dir.c>\n\\1\n</IfModule>"),
            _TEXTS,
        ),
        (
            "name that nothing defines",
            _inserted(r"^(Header .*)$", "\\1\n<IfDefine NEVER>\n\\1\n</IfDefine>"),
            _TEXTS,
        ),
        ("RequireAny around", _inserted(r"^(Require ip .*)$", "<RequireAny>\n\\1\n</RequireAny>"), _TEXTS),
        ("order of users", _inserted(r"Require user (\w+) (\w+)$", r"Require user \2 \1"), _TEXTS),
        ("mask of a network", _inserted(r"127\.1\.0\.0/16", "127.1.0.0/255.255.0.0"), _TEXTS),
        (
            "variable of the text",
            _inserted(r'^(Header set X-Site) "harbour"$', 'Define port harbour\n\\1 "${port}"'),
            (MAIN,),
        ),
        ("order of users in a file", swap(r"\w+:\$"), ("conf/users",)),
        ("order of the map", swap(r"\w+ \w"), ("conf/map.txt",)),
        (
            "comment of a map",
            add_at_end("# further names"),
            ("conf/map.txt", "conf/groups", "conf/mime.types"),
        ),
        ("order of types", swap(r"\w+/"), ("conf/mime.types",)),
        ("order of members", sub(r"ann bob", "bob ann"), ("conf/groups",)),
        ("users: another file end", add_at_end(""), ("conf/users", "conf/groups")),
        ("slash of a directory", _inserted(r'^(<Directory ".*/\w+)">$', r'\1/">'), (MAIN,)),
        ("quotes", _inserted(r"^(ErrorDocument \d+) (/\S+)$", r'\1 "\2"'), _TEXTS),
        ("order of aliases", _inserted(r"^ServerAlias \*\.test$", "ServerAlias *.test *.test"), (HOSTS,)),
    )
)

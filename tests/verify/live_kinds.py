"""Kinds of mistakes in configurations: each is a pattern of a line, and what is written in its place.

`VISIBLE` may change what clients see, which apache2 decides. `WITHOUT_EFFECT` never does.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """One kind of mistake: *pattern* finds lines, *text* is the template of the new line."""

    name: str
    pattern: str
    text: str

    def places(self, lines: list[str], first: int) -> list[int]:
        """Return the indexes of lines that the kind changes, from *first*."""
        found = []
        for number, line in enumerate(lines):
            if number >= first and self.changed(line) not in (None, line):
                found.append(number)
        return found

    def changed(self, line: str) -> str | None:
        """Return the new line, None if the kind does not apply."""
        match = re.search(self.pattern, line)
        return (
            None if match is None else line[: match.start()] + match.expand(self.text) + line[match.end() :]
        )


VISIBLE = tuple(
    Kind(*row)
    for row in (
        ("address: last number", r"^(Require (?:not )?ip .*\.)(\d+)(?=$)", r"\g<1>9"),
        ("address: wider", r"^(Require (?:not )?ip 127)\..*$", r"\1"),
        ("address: prefix", r"/16$", r"/24"),
        ("address: becomes local", r"^Require ip .*$", r"Require local"),
        ("granted becomes denied", r"^Require all granted$", r"Require all denied"),
        ("denied becomes granted", r"^Require all denied$", r"Require all granted"),
        ("not is lost", r"^Require not (?=env|ip)", r"Require "),
        ("valid-user becomes a user", r"^Require valid-user$", r"Require user bob"),
        ("user: another", r"^Require user (\w+).*$", r"Require user dan"),
        ("user: one more", r"^(Require user .*)$", r"\1 bob"),
        ("group: another", r"^Require group \w+$", r"Require group guests"),
        ("group becomes valid-user", r"^Require group \w+$", r"Require valid-user"),
        ("password file", r"^AuthUserFile conf/users$", r"AuthUserFile conf/others"),
        ("realm", r'^AuthName "(.*)"$', r'AuthName "\1 x"'),
        ("environment: name", r"^(Require (?:not )?env \w+)$", r"\1x"),
        ("methods: more", r"^<LimitExcept GET HEAD>$", r"<LimitExcept GET HEAD POST>"),
        ("Order reversed", r"^Order deny,allow$", r"Order allow,deny"),
        ("Allow: another address", r"^Allow from .*$", r"Allow from 127.0.0.2"),
        ("Deny is lost", r"^Deny from all$", r"# Deny from all"),
        ("directory: misspelled", r'^(<Directory ".*/htdocs/\w+)(">)$', r"\1x\2"),
        ("directory: parent", r'^(<Directory ".*/htdocs)/\w+(">)$', r"\1\2"),
        ("files: another name", r'^<Files "d\.js">$', r'<Files "a.txt">'),
        ("files: anchor lost", r'^(<FilesMatch .*)\$(">)$', r"\1\2"),
        ("files: alternative lost", r"\(old\|bak\)", r"(bak)"),
        ("location: longer", r'^(<Location "/\w+)(">)$', r"\1/\2"),
        ("location: shorter", r'^(<Location "/\w+)\w(">)$', r"\1\2"),
        ("location: quantifier", r"\[a-z\]\+", r"[a-z]"),
        ("location: anchor lost", r'^(<LocationMatch ")\^', r"\1"),
        ("location: end lost", r'^(<LocationMatch ".*)\$(">)$', r"\1\2"),
        ("alias: target", r'^(Alias .*)/htdocs/\w+"$', r'\1/htdocs/old"'),
        ("alias: prefix", r'^(Alias ")(/\w+)', r"\1\2x"),
        ("alias: pattern", r"\^/v\(\[0-9\]\+\)", r"^/v([0-9])"),
        ("alias: group", r"/pub/\$2", r"/pub/$1"),
        ("redirect: status", r"^(Redirect(?:Match)?) 30[12] ", r"\1 303 "),
        ("redirect: target", r"^(Redirect.*other\.example)", r"\1s"),
        ("redirect: prefix", r'^(Redirect \w+ "/\w+)"', r'\1x"'),
        (
            "redirect: gone becomes temporary",
            r'^Redirect gone "/gone"$',
            r'Redirect 302 "/gone" "http://x.example/"',
        ),
        ("redirect: anchor", r'^(RedirectMatch \d+ ")\^', r"\1"),
        ("redirect: quantifier", r"/go/\(\.\+\)", r"/go/(.*)"),
        ("rewrite: off", r"^RewriteEngine On$", r"RewriteEngine Off"),
        ("rewrite: anchor lost", r'^(RewriteRule ")\^', r"\1"),
        ("rewrite: end lost", r'^(RewriteRule "\^/none)\$', r"\1"),
        ("rewrite: NC lost", r"\[NC,PT", r"[PT"),
        ("rewrite: NC of a condition", r"\[NC,OR\]", r"[OR]"),
        ("rewrite: OR lost", r"\[NC,OR\]", r"[NC]"),
        ("rewrite: status", r"R=301", r"R=307"),
        ("rewrite: QSA lost", r"QSA,", r""),
        ("rewrite: forbidden becomes gone", r"\[F\]", r"[G]"),
        ("rewrite: substitution", r'"/pub/\$1"', r'"/list/$1"'),
        ("rewrite: condition negated", r"^(RewriteCond \S+) (?=\^|secret)", r"\1 !"),
        ("rewrite: condition value", r"secret=1", r"secret=2"),
        ("rewrite: file test", r"!-f$", r"!-d"),
        ("rewrite: base", r'^RewriteBase "/app/"$', r'RewriteBase "/pub/"'),
        ("rewrite: per-directory target", r'"front\.html"', r'"index.html"'),
        ("index: order", r"^DirectoryIndex .*$", r"DirectoryIndex main.htm index.html"),
        ("index: name", r"^DirectoryIndex .*$", r"DirectoryIndex home.html"),
        ("options: Indexes lost", r"^Options Indexes ", r"Options "),
        ("options: Indexes back", r" -Indexes", r" +Indexes"),
        ("options: MultiViews lost", r"\+MultiViews ", r""),
        ("overrides: none", r"^AllowOverride All$", r"AllowOverride None"),
        ("overrides: fewer", r"^AllowOverride All$", r"AllowOverride FileInfo"),
        ("access file: name", r"^AccessFileName .*$", r"AccessFileName .other"),
        ("listing: ignored", r"^IndexIgnore .*$", r"IndexIgnore *.txt"),
        ("listing: width", r"NameWidth=20", r"NameWidth=40"),
        ("listing: plain", r"^IndexOptions .*$", r"IndexOptions None"),
        ("type", r"text/x-note", r"text/x-memo"),
        ("type: extension", r"^(AddType \S+) \.txt$", r"\1 .css"),
        ("type: forced", r"^ForceType .*$", r"ForceType text/html"),
        ("charset", r"^AddDefaultCharset .*$", r"AddDefaultCharset Off"),
        ("charset: of a name", r"iso-8859-1", r"iso-8859-2"),
        ("language", r"^AddLanguage en", r"AddLanguage fr"),
        ("language: order", r"^LanguagePriority en de$", r"LanguagePriority de en"),
        ("header: value", r'^(Header (?:always )?(?:set|append) \S+ "\w+)"', r'\1x"'),
        ("header: name", r"^(Header (?:always )?set X-\w+)", r"\1x"),
        ("header: always lost", r"^Header always ", r"Header "),
        ("header: append becomes set", r"^Header append", r"Header set"),
        ("header: edit pattern", r'^(Header edit \S+) "(\w+)"', r'\1 "^x\2"'),
        ("header: condition", r"env=crawler$", r"env=!crawler"),
        ("header: condition lost", r" env=\w+$", r""),
        ("expires: time", r"plus 1 hour", r"plus 2 hours"),
        ("expires: type", r"^(ExpiresByType) text/css", r"\1 text/plain"),
        ("expires: default", r"A600", r"M600"),
        ("expires: off", r"^ExpiresActive On$", r"ExpiresActive Off"),
        ("etag", r"^FileETag .*$", r"FileETag None"),
        ("error page: text", r"no such page here", r"no page"),
        ("error page: status", r"^ErrorDocument 404", r"ErrorDocument 405"),
        ("error page: document", r"^ErrorDocument 403 .*$", r"ErrorDocument 403 default"),
        ("signature", r"^ServerSignature Off$", r"ServerSignature On"),
        ("trace", r"^TraceEnable Off$", r"TraceEnable On"),
        ("variable: pattern", r'"\^Robot/1"', r'"^Robot/2"'),
        ("variable: anchor", r'"\^Robot/1"', r'"Robot/1"'),
        ("variable: field", r"^SetEnvIf User-Agent", r"SetEnvIf Referer"),
        ("variable: browser", r'"Spider"', r'"^Spider"'),
        ("variable: name", r"letmein$", r"letmeout"),
        ("variable: end", r'\.css\$"', r'.css"'),
        ("if: negated", r'^<If "(.*)">$', r'<If "!(\1)">'),
        ("if: operator", r" && ", r" || "),
        ("if: pattern", r"=~ /other/", r"=~ /other/i"),
        ("filter: off", r"^SetOutputFilter DEFLATE$", r"# SetOutputFilter DEFLATE"),
        ("filter: type", r"^(AddOutputFilterByType DEFLATE) text/css", r"\1 text/plain"),
        ("methods allowed", r"^AllowMethods GET HEAD$", r"AllowMethods GET HEAD POST"),
        ("path info", r"^AcceptPathInfo Off$", r"AcceptPathInfo On"),
        ("body limit", r"^LimitRequestBody 100$", r"LimitRequestBody 200"),
        ("field limit", r"^LimitRequestFields 40$", r"LimitRequestFields 100"),
        ("slash", r"^DirectorySlash On$", r"DirectorySlash Off"),
        ("host: name", r"^ServerName second\.example$", r"ServerName other.example"),
        ("host: alias", r"^ServerAlias \*\.second\.example$", r"ServerAlias www.second.example"),
        ("host: root", r'^DocumentRoot ".*/second"$', r"# DocumentRoot"),
        ("line lost: Require", r"^Require (?!all granted).*$", r"# lost"),
        ("line lost: Header", r"^Header .*$", r"# lost"),
        ("line lost: rule", r"^RewriteRule .*$", r"RewriteRule x - [C]"),
        ("line lost: mapping", r"^(Alias|AliasMatch|Redirect|RedirectMatch) .*$", r"# lost"),
        ("line lost: variable", r"^(SetEnvIf\w*|BrowserMatch) .*$", r"# lost"),
        ("line lost: type", r"^(Add|Force)\w+ .*$", r"# lost"),
        ("line lost: authentication", r"^Auth(Type|UserFile|GroupFile) .*$", r"# lost"),
    )
)
WITHOUT_EFFECT = tuple(
    Kind(*row)
    for row in (
        ("comment", r"^(?=\w)", "# a note\n"),
        ("indentation", r"^(?=[\w<])", "   "),
        ("case of a name", r"^(R|H)e(?=quire|ader)", r"\1E"),
        ("blank", r"^(\w+) (?=\S)", r"\1    "),
        ("continued line", r"^(\w+) (?=\S)", "\\1 \\\\\n  "),
        ("quotes", r"^(AddType|ForceType|FileETag) ([\w/.-]+)", r'\1 "\2"'),
        (
            "condition that holds",
            r"^(Header|AddType|ErrorDocument|Redirect)( .*)$",
            "<IfModule mod_dir.c>\n\\1\\2\n</IfModule>",
        ),
        ("name that nothing defines", r"^(Header .*|AddType .*)$", "\\1\n<IfDefine NEVER>\n\\1\n</IfDefine>"),
        (
            "line twice",
            r"^((?:Require (?:ip|user|group|env|valid)|ErrorDocument|DirectoryIndex|ForceType).*)$",
            "\\1\n\\1",
        ),
        ("order of users", r"^Require user (\w+) (\w+)$", r"Require user \2 \1"),
        # the manual of Limit: "If GET is used, it will also restrict HEAD requests"
        ("methods: HEAD is GET", r"^<LimitExcept GET HEAD>$", r"<LimitExcept GET>"),
        ("network in full", r"^Require ip 127\.0\.0$", r"Require ip 127.0.0.0/24"),
    )
)


def mutate(text: str, kind: Kind, choose: random.Random) -> tuple[str, int] | None:
    """Return the changed text and the number of the first changed line; None if *kind* does not apply."""
    lines = text.split("\n")
    places = kind.places(lines, lines.index("# site"))
    if not places:
        return None
    number = choose.choice(places)
    new = kind.changed(lines[number])
    assert new is not None
    lines[number] = new
    return "\n".join(lines), number + 1

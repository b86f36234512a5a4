"""Random configurations and requests whose responses depend on query, client, fields, method, host and files
in as many ways as there are modules.

A grammar: `#name#` in a text stands for one of the texts of that name.  The caller omits blocks that a
dialect refuses.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from typing import Final

from tests.differential.cache_directives import DIRECTIVES

PLACE: Final = re.compile(r"#([a-z]+)#")

MODULES: Final = (
    "mpm_event unixd authn_core authn_file authn_default authz_core authz_host authz_user authz_groupfile "
    "authz_owner authz_default auth_basic "
    "authn_anon access_compat mime dir setenvif headers env rewrite alias log_config logio negotiation "
    "include autoindex actions expires remoteip "
    "unique_id usertrack speling userdir vhost_alias status info imagemap cern_meta asis allowmethods "
    "mime_magic log_debug filter deflate substitute sed buffer data case_filter ext_filter"
).split()

GRAMMAR: Final[Mapping[str, tuple[str, ...]]] = {
    # what the clients say -------------------------------------------------------------------------
    "field": ("X-A", "X-B", "User-Agent", "Cookie", "Referer", "Accept-Language", "Via", "X-C"),
    "value": (
        "one",
        "two",
        "ab1",
        "k=one",
        "k=two; j=1",
        "",
        "de",
        "One",
        "http://two.test/",
        "en;q=0.5, de",
        "127.0.0.2",
    ),
    "query": (
        "a=1",
        "a=2",
        "b",
        "",
        "C=N;O=D",
        "C=M",
        "x=%20y",
        "a=1&a=2",
        "F=0",
        "P=a*",
        "auto",
        "1,2",
        "server",
        "one",
        "q=a+b",
    ),
    "path": (
        "/a.txt",
        "/b.txt",
        "/",
        "/dir",
        "/dir/",
        "/dir/a.txt",
        "/dir/sub/a.txt",
        "/list/",
        "/list",
        "/page",
        "/page.html",
        "/map",
        "/map.var",
        "/ssi.shtml",
        "/ssi2.shtml",
        "/asis.asis",
        "/img.map",
        "/nope",
        "/dir/nope.txt",
        "/A.txt",
        "/dri/a.txt",
        "/~alice/",
        "/~alice/a.txt",
        "/status",
        "/info",
        "/moved/a",
        "/alias/a.txt",
        "/aliased/b",
        "/cern/a.txt",
        "/members/a.txt",
        "/odd.foo",
        "/a.txt/more",
        "/%61.txt",
        "//a.txt",
        "/x.act",
        "/err.shtml",
        "/c.html",
        "/dir/c.html",
        "/nofile/x",
        "/ex.act/one",
    ),
    "method": ("GET", "GET", "GET", "GET", "GET", "GET", "HEAD", "HEAD", "POST", "OPTIONS", "PUT", "TRACE"),
    "host": (
        "localhost",
        "localhost",
        "localhost",
        "two.test",
        "three.test",
        "vh.test",
        "LOCALHOST",
        "two.test:8080",
    ),
    "fixed": (
        "Connection: close",
        "Connection: keep-alive",
        "Range: bytes=0-2",
        "If-None-Match: *",
        "Accept: text/html",
        "Accept: text/plain;q=0.3",
        "If-Modified-Since: Sun, 13 Sep 2020 12:26:40 GMT",
        "Authorization: Basic YWxpY2U6Y3VybGV3",
        "Authorization: Basic YWxpY2U6bm8=",
        "Accept-Encoding: gzip",
        "Accept-Encoding: gzip",
        "Accept-Encoding: GZIP;q=0.5, identity",
        "Accept-Encoding: *",
        "Accept-Encoding: gzip;q=0",
        "Expect: 100-continue",
        "Content-Length: 0",
        "X-Forwarded-For: 127.0.0.2",
        "X-Forwarded-For: 127.0.0.3, 10.0.0.1",
        "TE: trailers",
        "If-Modified-Since: Sun, 13 Sep 2020 12:26:39 GMT",
        "Cookie: k=one; j=2",
        "Accept-Charset: utf-8",
        "Negotiate: trans",
    ),
    # values of a configuration --------------------------------------------------------------------
    "env": ("e1", "e2", "e3"),
    "special": (
        "nokeepalive",
        "force-response-1.0",
        "downgrade-1.0",
        "redirect-carefully",
        "prefer-language",
        "no-gzip",
        "force-no-vary",
        "suppress-error-charset",
        "force-proxy-request-1.0",
    ),
    "word": ("one", "two", "o.e", "^one$", "(o)n", "k=(\\w+)", "1", "^$", ".*", "^t", "a(b)?1", "o", "k="),
    "attr": (
        "#field#",
        "#field#",
        "#field#",
        "Remote_Addr",
        "Request_URI",
        "Request_Method",
        "Request_Protocol",
        "Server_Addr",
        "Remote_Host",
        "e1",
        "^X-",
        "Host",
    ),
    "set": ("#env#", "#env#=#word#", "#env#=$1", "!#env#", "#special#", "#env#=x$0", "#env# #env#=two"),
    "addr": ("127.0.0.1", "127.0.0.2", "127.0.0.0/30", "127.0.0", "10.0.0.0/8", "127.0.0.4/30"),
    "addrre": ("^127\\.0\\.0\\.[12]$", "^127\\.0\\.0\\.(\\d)$", "^10\\.", "2$"),
    "expr": (
        "%{QUERY_STRING} =~ /a=1/",
        "-R '#addr#'",
        "%{HTTP:#field#} == 'one'",
        "req('#field#') =~ /o(.)e/",
        "%{HTTP_USER_AGENT} -strmatch '*o*'",
        "reqenv('#env#') == 'one'",
        "-n env('#env#')",
        "%{REQUEST_METHOD} == 'HEAD'",
        "%{REQUEST_URI} =~ m!^/dir!",
        "%{THE_REQUEST} =~ /a=2/",
        "-n %{QUERY_STRING}",
        "%{REQUEST_FILENAME} -strmatch '*.txt'",
        "-f %{REQUEST_FILENAME}",
        "%{HTTP_HOST} == 'two.test'",
        "-T reqenv('e1')",
        "%{REMOTE_USER} == 'alice'",
        "%{HTTP:Cookie} =~ /k=(\\w+)/ && $1 == 'one'",
        "tolower(%{HTTP:#field#}) == 'one'",
        "%{REMOTE_ADDR} =~ /2$/",
        "%{REQUEST_STATUS} == '404'",
        "resp('X-O') == 'one'",
        "%{REMOTE_HOST} =~ /two/",
        "! (#expr#)",
        "(#expr#) && (#expr#)",
        "(#expr#) || (#expr#)",
        "%{CONN_REMOTE_ADDR} == '127.0.0.1'",
        "%{HTTP_COOKIE} == 'k=one'",
        "%{IS_SUBREQ} == 'true'",
        "%{HTTP:#field#} in {'one', 'two'}",
        "%{SERVER_NAME} == 'localhost'",
        "%{REMOTE_ADDR} -ipmatch '#addr#'",
        "%{HANDLER} == 'server-status'",
        "%{CONTENT_TYPE} == 'text/plain'",
        "%{SERVER_PROTOCOL} == 'HTTP/1.0'",
        "%{HTTP_REFERER} -in {'one'}",
        "%{CONTEXT_PREFIX} == '/alias'",
        "-U '/dir/a.txt'",
        "-A '/members/a.txt'",
        "%{REMOTE_PORT} -gt 100",
        "%{REQUEST_SCHEME} == 'http'",
    ),
    "text": (
        "yes",
        "%{#env#}e",
        "expr=%{QUERY_STRING}",
        "expr=%{HTTP:#field#}",
        "expr=%{REMOTE_ADDR}",
        "expr=%{REMOTE_HOST}",
        "expr=x%{reqenv:#env#}",
        "expr=%{resp:Expires}",
        "a%{e1}eb%{e2}e",
        "expr=%{REQUEST_URI}",
        "expr=%{tolower:%{HTTP:X-A}}",
        "%{REDIRECT_#env#}e",
        "expr=%{THE_REQUEST}",
        "expr=%{SERVER_NAME}",
        "expr=%{REQUEST_FILENAME}",
        "expr=%{sha1:%{HTTP:X-B}}",
        "%l",
    ),
    "hcond": ("", "", "", " env=#env#", " env=!#env#", ' "expr=#expr#"'),
    "subst": (
        "-",
        "-",
        "/b.txt",
        "/b.txt?x=$1",
        "/c.html",
        "/b.txt?%{QUERY_STRING}",
        "http://ex.test/$1",
        "/%{ENV:e1}.txt",
        "/${tm:%{HTTP:X-A}|b}.txt",
        "/${lo:$0}",
        "/dir/",
        "/$1.txt",
        "/b.txt?y=%1",
        "/ssi.shtml?z=1",
        "/dir/a.txt?",
        "/nope",
        "%{REQUEST_URI}.txt",
        "/${tm:%1}.txt",
        "http://localhost/b.txt",
        "/${un:one|two}",
        "/a.txt?c=%{REMOTE_ADDR}",
        "/%{HTTP:X-B}",
        "/${tm:%{QUERY_STRING}|a}.txt",
    ),
    "rpat": (
        "^/?a\\.txt$",
        "^/?dir/(.*)$",
        "^/?(\\w+)\\.txt$",
        ".*",
        "^/?page",
        "nope",
        "^/?c\\.html$",
        "!\\.html$",
        "^/?$",
        "(.*)",
        "^/?ssi",
    ),
    "flag": (
        "L",
        "L",
        "QSA",
        "QSD",
        "R",
        "R=301",
        "R=404",
        "E=#env#:#word#",
        "E=#env#:%1",
        "E=#env#:%{QUERY_STRING}",
        "CO=c:%{HTTP:X-A}:.localhost",
        "T=text/html",
        "H=default-handler",
        "F",
        "G",
        "PT",
        "END",
        "B",
        "S=1",
        "C",
        "NC",
        "E=!#env#",
        "NE",
        "DPI",
        "E=#env#:%{REMOTE_ADDR}",
        "NS",
        "E=#env#:%{HTTP:#field#}",
        "CO=d:1:ex.test:0",
        "QSL",
        "BNP",
        "E=nokeepalive:1",
    ),
    "flags": ("", "", " [#flag#]", " [#flag#,L]", " [#flag#,#flag#]"),
    "cpat": (
        "a=1",
        "^one$",
        "!one",
        "=one",
        ">m",
        "<n",
        "^(one|two)$",
        "k=(\\w+)",
        "^$",
        "!^$",
        "o",
        "t(.)",
        '=""',
        ">=two",
        "^/dir",
    ),
    "test": (
        "%{QUERY_STRING} #cpat#",
        "%{HTTP:#field#} #cpat#",
        "%{HTTP:#field#} #cpat#",
        "%{REMOTE_ADDR} #addrre#",
        "%{REMOTE_ADDR} !#addrre#",
        "%{HTTP_COOKIE} #cpat#",
        "%{HTTP_USER_AGENT} #cpat#",
        "%{THE_REQUEST} a=1",
        "%{REQUEST_URI} #cpat#",
        "%{REQUEST_FILENAME} -f",
        "%{REQUEST_FILENAME} !-d",
        'expr "#expr#"',
        "%{ENV:#env#} #cpat#",
        "%{REQUEST_METHOD} =HEAD",
        "%{HTTP_HOST} two",
        "%1 #cpat#",
        "%{HTTP:X-A}%{HTTP:X-B} #cpat#",
        "%{HTTP_REFERER} #cpat#",
        "%{LA-U:REQUEST_FILENAME} txt$",
        "%{IS_SUBREQ} =false",
        "%{REMOTE_USER} alice",
        "/%{QUERY_STRING} ^/a",
        "%{REMOTE_ADDR} =127.0.0.2",
        "%{LA-U:REMOTE_USER} alice",
        "%{HTTP_ACCEPT} html",
        "%{SERVER_PORT} 80",
        "%{REMOTE_ADDR} >127.0.0.3",
        "${tm:%{HTTP:X-A}} #cpat#",
        "%{TIME_SEC} >30",
        "%{REQUEST_URI} -U",
        "%{DOCUMENT_ROOT}/dir%{REQUEST_URI} -f",
        "%{REMOTE_ADDR}:%{HTTP:X-A} #cpat#",
        "%{SCRIPT_FILENAME} txt",
        "%{HTTP:Host} two",
    ),
    "cflag": ("", "", "", " [NC]", " [OR]", " [NV]", " [NC,OR]"),
    "cond": ("RewriteCond #test##cflag#",),
    "rule": (
        "RewriteRule #rpat# #subst##flags#",
        "#cond#\nRewriteRule #rpat# #subst##flags#",
        "#cond#\nRewriteRule #rpat# #subst##flags#",
        "#cond#\n#cond#\nRewriteRule #rpat# #subst##flags#",
        "#cond#\nRewriteRule #rpat# #subst##flags#\nRewriteRule #rpat# #subst##flags#",
    ),
    **DIRECTIVES,
}


class Texts:
    """Random texts.  One configuration has few names, values and queries, so that clients send what it
    matches.
    """

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        few = {"field": 3, "env": 2, "query": 4, "value": 5, "word": 6, "expr": 9, "addr": 2, "path": 8}
        self.pools = {
            **GRAMMAR,
            **{name: tuple(chance.sample(GRAMMAR[name], count)) for name, count in few.items()},
        }

    def make(self, text: str) -> str:
        """*text* with each place in it filled."""
        while True:
            found = PLACE.search(text)
            if found is None:
                return text
            deep = found[1] == "expr" and len(text) > 400
            choice = "true" if deep else self.chance.choice(self.pools[found[1]])
            text = text[: found.start()] + choice + text[found.end() :]

    def lines(self, name: str, most: int) -> str:
        """Return one to *most* texts of one name, a line each."""
        return "\n".join(self.make(f"#{name}#") for _ in range(self.chance.randrange(most) + 1))

    def blocks(self) -> list[str]:
        """The random parts of a main file, each of which may be left out."""
        chance = self.chance
        out = [self.make("#serverline#") for _ in range(chance.randrange(6))]
        out += [self.make("#log#") for _ in range(chance.randrange(3))]
        out.append(self.make('CustomLog logs/long_log "#longformat#"'))
        out += [self.make("#where#") % self.lines("folderline", 5) for _ in range(chance.randrange(3) + 1)]
        hosts = []
        for name in ("two.test", "three.test"):
            if chance.random() < 0.4:
                log = self.make("#log#\n") if chance.random() < 0.5 else ""
                options = "RewriteOptions Inherit\n" if chance.random() < 0.3 else ""
                hosts.append(
                    f'ServerName {name}\nDocumentRoot "@/htdocs"\n{options}{log}{self.lines("serverline", 2)}'
                )
        if hosts:
            hosts.append('ServerName vh.test\nVirtualDocumentRoot "@/hosts/%0"')
        return out + [f"<VirtualHost *:8080>\n{host}\n</VirtualHost>" for host in hosts]

    def htaccess(self) -> str:
        """A random .htaccess file."""
        return self.lines("folderline", 3) + "\n"


class Clients:
    """Random heads of a few clients, of few enough kinds that many of them come again, whole or nearly so."""

    def __init__(self, texts: Texts) -> None:
        self.texts, self.chance = texts, texts.chance
        self.paths = self.chance.sample(GRAMMAR["path"], 4)
        self.fixed = self.chance.sample(GRAMMAR["fixed"], 2) + ["Accept-Encoding: gzip"]
        self.sent: list[bytes] = []

    def head(self) -> bytes:
        """Return one request head; half of them repeat an earlier one, or change one line of it."""
        chance = self.chance
        if self.sent and chance.random() < 0.5:
            return chance.choice(self.sent[-5:])
        if self.sent and chance.random() < 0.75:
            made = self._changed(chance.choice(self.sent[-5:]))
        else:
            made = self._fresh()
        self.sent.append(made)
        return made

    def _target(self) -> str:
        chance = self.chance
        path = chance.choice(self.paths) if chance.random() < 0.9 else self.texts.make("#path#")
        return path + (self.texts.make("?#query#") if chance.random() < 0.35 else "")

    def _field(self) -> str:
        chance = self.chance
        if chance.random() < 0.2:
            return chance.choice(self.fixed)
        if chance.random() < 0.05:
            return self.texts.make("#fixed#")
        return self.texts.make("#field#: #value#")

    def _fresh(self) -> bytes:
        chance = self.chance
        method = self.texts.make("#method#") if chance.random() < 0.3 else "GET"
        host = self.texts.make("#host#") if chance.random() < 0.3 else "localhost"
        version = "1.0" if chance.random() < 0.08 else "1.1"
        lines = [self._field() for _ in range(chance.choice((0, 0, 1, 1, 2, 3)))]
        lines += ["Content-Length: 0"] if method in ("POST", "PUT") else []
        return "\r\n".join(
            [f"{method} {self._target()} HTTP/{version}", f"Host: {host}", *lines, "", ""]
        ).encode("latin-1")

    def _changed(self, head: bytes) -> bytes:
        lines = head.decode("latin-1").split("\r\n")
        at, chance = self.chance.randrange(len(lines) - 2), self.chance
        method, target, version = lines[0].split(" ")
        if at == 0:
            kind = chance.randrange(4)
            if kind == 0:
                target = self._target()
            elif kind == 1 and method in ("GET", "HEAD"):
                method = "HEAD" if method == "GET" else "GET"
            else:
                target = target.partition("?")[0] + (
                    self.texts.make("?#query#") if chance.random() < 0.8 else ""
                )
            lines[0] = f"{method} {target} {version}"
        elif at == 1:
            lines.insert(2, self._field())
        elif chance.random() < 0.8:
            name = lines[at].partition(":")[0]
            if name != "Content-Length":
                lines[at] = f"{name}: {self.texts.make('#value#')}"
        else:
            lines[at] = self._field()
        return "\r\n".join(lines).encode("latin-1")

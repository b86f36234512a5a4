"""Random configurations whose rules are about names, the document tree that they serve, and changes of it."""

from __future__ import annotations

import os
import random
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from tests.differential.cache_engines import MTIME
from tests.differential.cache_grammar import GRAMMAR, MODULES, Texts
from tests.differential.module_pools import DIRECTORY, SERVER
from tests.differential.pools import FILEINFO

SSI: Final = '<!--#echo var="DOCUMENT_NAME" --> <!--#echo var="REDIRECT_STATUS" -->\n'
FILES: Final[dict[str, bytes]] = {
    "index.html": b"front\n",
    "a.txt": b"plain a\n" * 40,
    "b.html": b"<p>b</p>\n",
    "doc.HTML": b"<p>upper</p>\n",
    "style.css": b"p {}\n",
    "empty.txt": b"",
    "one.txt": b"1",
    "noext": b"no extension\n",
    "page.html.en": b"english\n",
    "page.html.de": b"deutsch\n",
    "old.bak": b"old\n",
    "x1.foo": b"foo\n",
    "pic.gif": b"GIF89a",
    "all.tar.gz": b"\x1f\x8bzip",
    "l64a.txt": b"a" * 65535,
    "l64b.txt": b"b" * 65536,
    "l64c.txt": b"c" * 65537,
    "large.html": b"d" * 600_000,
    "run.cgi": b"#!/bin/sh\n",
    "ssi.shtml": SSI.encode(),
    "err.html": b"error\n",
    "err.shtml": SSI.encode(),
    ".hidden": b"dot\n",
    "secret.txt": b"secret\n",
    "as.asis": b"Status: 201 Made\nContent-Type: text/plain\n\nas is\n",
    "map.var": b"URI: page.html.en\nContent-Type: text/html\nContent-Language: en\n",
    "dir/index.html": b"dir\n",
    "dir/a.txt": b"dir a\n",
    "dir/b.html": b"dir b\n",
    "dir/sub/a.txt": b"sub a\n",
    "list/one.txt": b"1\n",
    "list/two.html": b"2\n",
    "closed/a.txt": b"closed\n",
    "old/a.txt": b"old a\n",
    **{
        f"{place}f{n}{end}": b"f" * n**5
        for place in ("", "dir/")
        for n in range(10)
        for end in (".txt", ".html", "")
    },
}
LINKS: Final = {"link.txt": "a.txt", "dangling": "nowhere", "dirlink": "dir", "dir/up": "..", "loop": "loop"}
EXTRA: Final = {
    "conf/users": b"alice:{SHA}kdy94uMKllPDlkpZtDPLJvfffX8=\n",
    "conf/map.txt": b"one two\ntwo b\nk=one a\n",
    "conf/mime.types": b"text/html html shtml\ntext/plain txt\ntext/foo foo\nimage/gif gif\ntext/css css\n",
    "conf/magic": b"0 string plain text/magic\n",
    "hosts/vh.test/a.txt": b"vh a\n",
    "users/alice/html/a.txt": b"alice a\n",
    "logs/.keep": b"",
}
# names of files that may be changed: no segment is empty, "." or ".."
SAFE: Final = re.compile(r"(?:(?!\.{1,2}(?:/|$))[^/\0]+/)*(?!\.{1,2}$)[^/\0]+").fullmatch
PLACES: Final = ("", "dir/", "dir/sub/", "list/", "none/")  # of .htaccess files
BASE: Final = """ServerName localhost
Listen 127.0.0.1:8080
DocumentRoot "@/htdocs"
TypesConfig conf/mime.types
"""
OPTIONAL: Final = ("LimitInternalRecursion 3", "AddHandler type-map .var", "AddHandler send-as-is .asis")
STABLE: Final = (
    "mpm_event unixd authn_core authn_file authz_core authz_host access_compat mime dir log_config http2"
).split()
LIKELY: Final = (
    "authz_user authz_default auth_basic setenvif headers env rewrite alias negotiation include autoindex "
    "expires status"
).split()
OTHERS: Final = tuple(name for name in MODULES if name not in STABLE and name not in LIKELY)
# lines of other generators that wait for other programs, or depend on the process
UNFIT: Final = ("cgi", "ext", "/bin/", "http2", "orensic", "DumpIO", "RequestReadTimeout", "Throttle", "RATE")

RULES: Final[dict[str, tuple[str, ...]]] = {
    "nm": (
        *("old", "admin", "img", "x1", "wp", "a.txt", "dir", "sub", "noext", "link.txt", "new", "Old"),
        *("empty.txt", "index.html", "n1", "n", "b.html", "list", ".ht", "no"),
    ),
    "ext": (".txt", ".html", ".gif", ".foo", ".gz", ".en", ".de", ".utf8", ".bak", ".php", ".TXT", ".x"),
    "dirs": ("", "", "/dir", "/dir/sub", "/nope", "/list", "/old"),
    "section": (
        '<Directory "@/htdocs#dirs#">\n%s\n</Directory>',
        '<Directory "@/htdocs#dirs#">\n%s\n</Directory>',
        '<Directory "@/htdocs#dirs#/#nm#">\n%s\n</Directory>',
        '<Directory "@/htdocs/*">\n%s\n</Directory>',
        '<Directory "@/htdocs/d?r">\n%s\n</Directory>',
        '<Directory "@/*/dir/#nm#*">\n%s\n</Directory>',
        '<Directory ~ "htdocs/#nm#">\n%s\n</Directory>',
        '<DirectoryMatch "/(dir|#nm#)/?$">\n%s\n</DirectoryMatch>',
        '<Files "#nm#">\n%s\n</Files>',
        '<Files "*#ext#">\n%s\n</Files>',
        '<Files "#nm#*">\n%s\n</Files>',
        '<Files ~ "\\#ext#$">\n%s\n</Files>',
        '<FilesMatch "^#nm#">\n%s\n</FilesMatch>',
        '<FilesMatch "(?<base>.)\\.(?<e>txt|html)$">\n%s\n</FilesMatch>',
        '<Location "#dirs#/#nm#">\n%s\n</Location>',
        '<Location "#dirs#/">\n%s\n</Location>',
        '<Location "/#nm#/">\n%s\n</Location>',
        '<Location "/#nm#/more">\n%s\n</Location>',
        '<Location "/*#ext#">\n%s\n</Location>',
        '<Location "/#nm#?">\n%s\n</Location>',
        '<Location ~ "^/#nm#">\n%s\n</Location>',
        '<LocationMatch "#nm#$">\n%s\n</LocationMatch>',
        '<LocationMatch "^/(?<w>\\w)[^/]*">\n%s\n</LocationMatch>',
        '<If "%%{REQUEST_URI} =~ /#nm#/">\n%s\n</If>',
        '<If "-f %%{REQUEST_FILENAME}">\n%s\n</If>',
        '<Directory "@/htdocs#dirs#">\n<Files "*#ext#">\n%s\n</Files>\n</Directory>',
        '<Location "#dirs#/">\n<If "%%{QUERY_STRING} == \'a=1\'">\n%s\n</If>\n</Location>',
        '<Directory "@/htdocs#dirs#">\n<Limit POST>\n%s\n</Limit>\n</Directory>',
    ),
    "line": (
        *("Header always set X-S s", "Header always set X-S t", 'ErrorDocument 404 "not here"') * 3,
        *("Require all denied", "SetEnv nokeepalive 1", "ServerSignature On", "ForceType text/x-forced") * 2,
        *('Header set X-O "yes"', 'Header set X-U "expr=%{REQUEST_URI}"', 'Header set X-E "%{e1}e"'),
        *('Header always set X-F "expr=%{REQUEST_FILENAME}"', "Header echo ^X-", "Header unset ETag"),
        *('Header set X-O "%D"', 'Header set X-Q "expr=%{QUERY_STRING}"', "Header append Vary X-A"),
        *("Header edit Last-Modified 20 21", "Header set ETag x", "Header unset Last-Modified"),
        *("Require all denied", "Require all granted", "Require ip 127.0.0.2", "Require env e1"),
        *('Require expr "%{REQUEST_URI} =~ /#nm#/"', "Require method GET", "Require not ip 127.0.0.2"),
        *("Order allow,deny\nDeny from all", "Order allow,deny\nAllow from 127.0.0.2", "Satisfy any"),
        *("Order deny,allow\nDeny from env=e1",),
        *('ErrorDocument 404 "gone"', "ErrorDocument 404 /err.html", "ErrorDocument 404 /err.shtml"),
        *("ErrorDocument 404 /none", "ErrorDocument 404 http://ex.test/", 'ErrorDocument 403 "no"'),
        *('ErrorDocument 404 "%{REQUEST_URI}"', "ErrorDocument 403 /none", 'ErrorDocument 404 "nx1n"'),
        *("SetEnv e1 one", 'SetEnvIf Request_URI "#nm#" e1', 'SetEnvIf Request_URI "\\.(gif|txt)$" e1=$1'),
        *("SetEnvIf X-A one e1", 'SetEnvIfExpr "%{REQUEST_URI} =~ /#nm#/" e1', "BrowserMatch two e2"),
        *('SetEnvIf Request_URI "#nm#" nokeepalive', 'SetEnvIf Request_URI "\\#ext#$" no-gzip'),
        *(
            "AddType text/x-#nm# #ext#",
            "ForceType text/x-forced",
            "DefaultType text/x-d",
            "AddType a/b #ext#",
        ),
        *("AddHandler server-status #ext#", "AddHandler send-as-is #ext#", "SetHandler default-handler"),
        *("SetHandler none-such", "SetHandler server-status", "AddHandler cgi-script #ext#"),
        *("AddEncoding x-gzip #ext#", "AddLanguage fr #ext#", "AddCharset utf-8 #ext#", "DefaultLanguage de"),
        *("AddOutputFilter DEFLATE #ext#", "AddOutputFilter INCLUDES #ext#", "SetOutputFilter DEFLATE"),
        *("AddOutputFilterByType DEFLATE text/plain", "AddOutputFilter NOSUCH #ext#", "RemoveType #ext#"),
        *("AddInputFilter DEFLATE #ext#", "RemoveHandler #ext#", "ModMimeUsePathInfo On"),
        *("MultiviewsMatch Any", "Options +MultiViews", "Options -FollowSymLinks", "Options +Indexes"),
        *(
            "Options -FollowSymLinks +SymLinksIfOwnerMatch",
            "Options None",
            "Options +Includes +FollowSymLinks",
        ),
        *("DirectoryIndex #nm#", "DirectoryIndex disabled", "DirectorySlash Off", "FallbackResource /a.txt"),
        *("DirectoryIndex /b.html", "FallbackResource /nope", "DirectoryIndexRedirect on"),
        *("AcceptPathInfo On", "AcceptPathInfo Off", "AcceptPathInfo Default"),
        *(
            'ExpiresActive On\nExpiresDefault "access plus 1 day"',
            "ExpiresActive On\nExpiresByType text/plain M9",
        ),
        *("FileETag None", "FileETag All", "FileETag Size", "EnableSendfile Off", "EnableMMAP Off"),
        *("ContentDigest On", "AddDefaultCharset On", "ServerSignature On", "LimitRequestBody 10"),
        "AuthType Basic\nAuthName Zone\nAuthUserFile conf/users\nRequire valid-user",
        "AuthType Basic\nAuthName Zone\nAuthUserFile conf/users\nRequire user bob",
        *("Redirect /#nm# http://ex.test/", "Redirect 410 /dir/#nm#", "RedirectMatch #nm# http://ex.test/$0"),
        *("Redirect 404 /", "Redirect permanent /#nm# https://ex.test", "Redirect /old http://ex.test/a?b"),
        *(
            "Header always edit Location ex other",
            "Redirect seeother / /b",
            "Redirect http://ex.test/x",
            "RedirectMatch 404 \\#ext#$",
        ),
        *("RewriteEngine On\nRewriteRule ^#nm# - [F]", "RewriteEngine On\nRewriteRule \\#ext#$ - [E=e1:2]"),
        "RewriteEngine On\nRewriteCond %{REQUEST_FILENAME} !-f\nRewriteRule . /a.txt [L]",
        "RewriteEngine On\nRewriteCond %{HTTP:X-A} one\nRewriteRule .* - [G]",
        *("CheckSpelling On", "AllowMethods GET", "TraceEnable Extended", "RequestHeader set X-A one"),
        *(
            "RequestHeader unset X-A",
            "Header set Keep-Alive x",
            "IndexIgnore *",
            "XBitHack On",
            "UnsetEnv e1",
        ),
        *("AddType text/x-path .n1", "AddLanguage en .n2", "AddHandler nosuch .n3", "SetEnv nokeepalive 1"),
        *("#setenvif#", "#header#", "#access#", "#errordoc#", "RewriteEngine On\n#rule#"),
    ),
    "main": (
        'Alias /#nm# "@/htdocs/dir"',
        'Alias /#nm#/ "@/htdocs/dir/"',
        'Alias /dir/#nm# "@/htdocs/a.txt"',
        'Alias /n "@/htdocs/list"',
        'AliasMatch ^/#nm#(.*)$ "@/htdocs/dir$1"',
        'AliasMatch \\#ext#$ "@/htdocs/a.txt"',
        'ScriptAlias /cgi-bin/ "@/htdocs/old/"',
        'ScriptAlias /#nm#/x "@/htdocs/old/"',
        "Redirect /#nm# http://ex.test/",
        "Redirect permanent /dir/#nm# /b",
        "Redirect permanent / https://ex.test/",
        "Redirect /old/ http://ex.test/old?",
        "Redirect 307 /img http://ex.test/img<&",
        "RedirectMatch ^/(.*)\\.bak$ http://ex.test/$1",
        "RedirectMatch 404 \\#ext#$",
        "Redirect gone /#nm#",
        "RewriteEngine On\nRewriteRule ^/#nm# - [F]",
        "RewriteEngine On\nRewriteRule ^/(.*)\\#ext#$ /$1",
        "RewriteEngine On\nRewriteCond %{DOCUMENT_ROOT}%{REQUEST_URI} !-f\nRewriteRule . /index.html [L]",
        *("MaxKeepAliveRequests 3", "MaxKeepAliveRequests 0", "MaxKeepAliveRequests 12", "KeepAlive Off"),
        *("LimitRequestFields 5", "LimitRequestFieldSize 60", "LimitRequestLine 80"),
        *("HttpProtocolOptions Unsafe", "HttpProtocolOptions Strict Require1.0", "MergeSlashes Off"),
        *("AllowEncodedSlashes On", "AllowEncodedSlashes NoDecode", "UseCanonicalName On"),
        *("HostnameLookups On", 'DocumentRoot "@/htdocs/dir"', "LogLevel info", "LogLevel debug"),
        *('ErrorLogFormat "[%l] [%a] %M %{X-A}i %{e1}e %k"', "UserDir @/users/*/html", "ServerTokens Prod"),
        *(
            'VirtualDocumentRoot "@/hosts/%0"',
            "ServerSignature EMail",
            "StrictHostCheck On",
            "ExtendedStatus On",
        ),
        *("AcceptPathInfo On", "AccessFileName .ht1 .htaccess", "RegisterHttpMethod FROB", "#log#", "#log#"),
        *("RemoteIPHeader X-Forwarded-For\nRemoteIPInternalProxy 127.0.0.1", "#line#", "#line#", "#line#"),
        *("MergeTrailers On", "AddDefaultCharset utf-8", "QualifyRedirectURL On", "ServerAdmin me@ex.test"),
        *("LogLevel core:info", "LogMessage at_%{REQUEST_URI}", "CookieTracking On"),
    ),
    "host": (
        "ServerName two.test\nServerPath /#nm#",
        "ServerName two.test",
        "ServerName three.test\nServerAlias two.*",
        "ServerName vh.test",
    ),
}


class Site(NamedTuple):
    """One configuration: a base, blocks that may be refused, modules, and .htaccess files by directory."""

    base: str
    blocks: tuple[str, ...]
    modules: frozenset[str]
    htaccess: dict[str, str]


class SiteMaker:
    """Makes the random parts of one site."""

    def __init__(self, dice: random.Random) -> None:
        self.dice, self.texts = dice, Texts(dice)
        few = {"nm": 9, "ext": 5, "dirs": 3}
        pools = {name: dice.sample(RULES[name], count) for name, count in few.items()}
        self.texts.pools = {**self.texts.pools, **RULES, **pools}

    def site(self) -> Site:
        """Return a site."""
        dice, texts = self.dice, self.texts
        override = dice.choice(("None", "None", "All", "FileInfo Indexes"))
        access = dice.choice(("Require all granted", "Order allow,deny\nAllow from all"))
        options = dice.choice(
            ("FollowSymLinks", "FollowSymLinks Indexes", "None", "All", "SymLinksIfOwnerMatch")
        )
        blocks = [f'<Directory "@">\nAllowOverride {override}\nOptions {options}\n{access}\n</Directory>']
        blocks += ["Protocols h2c http/1.1"] * (dice.random() < 0.45)
        blocks += dice.sample(OPTIONAL, dice.choice((0, 0, 1)))
        if dice.random() < 0.9:
            blocks.append('CustomLog logs/access_log "%h %u %t \\"%r\\" %>s %b %I %O %k"')
        kind = dice.random()
        if kind < 0.12:
            blocks += texts.blocks()
        elif kind < 0.3:
            blocks += self._of_modules()
        blocks += [texts.make("#main#") for _ in range(dice.choice((0, 0, 0, 1, 1, 2)))]
        blocks += [self._section() for _ in range(dice.choice((0, 0, 1, 1, 2)))]
        if dice.random() < 0.3:
            body = "\n".join([texts.make("#main#"), self._section()][: dice.randrange(3)])
            blocks.append(
                texts.make(f'<VirtualHost *:8080>\n#host#\nDocumentRoot "@/htdocs"\n{body}\n</VirtualHost>')
            )
        modules = [*STABLE, *[name for name in LIKELY if dice.random() < (0.6 if "auth" in name else 0.9)]]
        modules += dice.sample(OTHERS, dice.choice((0, 0, 0, 1, 2, len(OTHERS))))
        if dice.random() < 0.9 and "unique_id" in modules:
            modules.remove("unique_id")  # no response is general with it
        places = dice.sample(PLACES[:-1], dice.choice((0, 0, 1, 2))) if override != "None" else ()
        return Site(BASE, tuple(blocks), frozenset(modules), {place: self.htaccess() for place in places})

    def htaccess(self) -> str:
        """Return a random .htaccess file."""
        return "\n".join(self.texts.make("#line#") for _ in range(self.dice.randint(1, 3))) + "\n"

    def _section(self) -> str:
        lines = "\n".join(self.texts.make("#line#") for _ in range(self.dice.choice((1, 1, 2, 3))))
        return self.texts.make("#section#").replace("%s", lines).replace("%%", "%")

    def _of_modules(self) -> Iterator[str]:
        """Yield lines of the generators of all modules."""
        for pool in (SERVER, DIRECTORY, FILEINFO):
            for line in self.dice.sample(pool, self.dice.randrange(3)):
                if not any(word in line for word in UNFIT):
                    line = line.replace("%ROOT%", "@/htdocs")
                    place = f'<Directory "@/htdocs{self.dice.choice(("", "/dir"))}">\n{line}\n</Directory>'
                    yield line if pool is SERVER else place


def loads_of(preamble: str, modules: frozenset[str]) -> str:
    """Return the LoadModule lines of *preamble* for *modules*."""
    lines = preamble.splitlines(keepends=True)
    return "".join(line for line in lines if line.split()[1].removesuffix("_module") in modules)


def write_tree(root: Path, htaccess: dict[str, str]) -> None:
    """Write the document tree; all files are old."""
    (root / "htdocs").mkdir(parents=True, exist_ok=True)
    for directory, names, _files in os.walk(root / "htdocs"):
        for name in names:
            if not os.path.islink(os.path.join(directory, name)):
                os.chmod(os.path.join(directory, name), 0o755)
    shutil.rmtree(root / "htdocs")
    for name, data in {**{f"htdocs/{name}": data for name, data in FILES.items()}, **EXTRA}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    for place, text in htaccess.items():
        (root / "htdocs" / place / ".htaccess").write_text(text.replace("@", str(root)), "latin-1")
    for name, target in LINKS.items():
        (root / "htdocs" / name).symlink_to(target)
    for path in [*(root / "htdocs").rglob("*"), root]:
        os.utime(path, (MTIME, MTIME), follow_symlinks=False)
    (root / "htdocs/secret.txt").chmod(0)
    (root / "htdocs/closed").chmod(0)
    time.sleep(0.006)  # a tick of the clock of files: later changes show


class Change(NamedTuple):
    """One change on disk: what is done to *name*, with *value*."""

    kind: str
    name: str
    value: str

    def apply(self, root: Path) -> None:
        """Make the change; one that is impossible, or may lead out of the tree, is none."""
        top = os.path.realpath(root / "htdocs") + "/"
        if not SAFE(self.name) or "\0" in self.name:
            return
        path = root / "htdocs" / self.name
        place = os.path.join(os.path.realpath(path.parent), path.name)
        if not place.startswith(top) or not os.path.realpath(path).startswith(top):
            return
        try:
            getattr(self, f"_{self.kind}")(path, root)
        except OSError:
            return
        finally:
            time.sleep(0.006)

    def _write(self, path: Path, root: Path) -> None:
        new = path.with_name(path.name + ".new~")
        new.write_text(self.value.replace("@", str(root)), "latin-1")
        os.utime(new, (MTIME + len(self.value),) * 2)
        new.rename(path)

    def _rewrite(self, path: Path, _root: Path) -> None:
        """Change the contents, not the inode nor the time."""
        path.write_text(self.value, "latin-1")
        os.utime(path, (MTIME, MTIME))

    def _recent(self, path: Path, root: Path) -> None:
        path.write_text(self.value)
        os.utime(path, (float(self.value.strip() or 0),) * 2)

    def _delete(self, path: Path, _root: Path) -> None:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()

    def _chmod(self, path: Path, _root: Path) -> None:
        path.chmod(int(self.value, 8))

    def _link(self, path: Path, _root: Path) -> None:
        new = path.with_name(path.name + ".new~")
        new.symlink_to(self.value)
        new.rename(path)

    def _mkdir(self, path: Path, _root: Path) -> None:
        path.mkdir(parents=True)

    def _rename(self, path: Path, root: Path) -> None:
        path.rename(root / "htdocs" / self.value)


def random_change(dice: random.Random, maker: SiteMaker, names: list[str], now: float) -> Change:
    """Return a change of one of *names*, of a known file, or of an .htaccess file."""
    name = (
        dice.choice(names).strip("/")
        if names and dice.random() < 0.6
        else dice.choice([*FILES, *LINKS, "dir"])
    )
    name = name or "index.html"
    kind = dice.choice(
        (
            "write",
            "write",
            "rewrite",
            "delete",
            "delete",
            "chmod",
            "link",
            "mkdir",
            "rename",
            "ht",
            "ht",
            "recent",
        )
    )
    if kind == "ht":
        place = dice.choice(PLACES)
        if dice.random() < 0.4:
            return Change("delete", f"{place}.htaccess", "")
        return Change("write", f"{place}.htaccess", maker.htaccess())
    value = {
        "chmod": dice.choice(("0", "644", "755", "111")),
        "link": dice.choice(("a.txt", "dir", "nowhere", "../a.txt", "one.txt")),
        "rename": dice.choice(("moved", "new.html", "dir/new.txt", "list", "old2")),
        "recent": f"{now - dice.choice((0.2, 0.9, 1.1, -5.0)):.3f}\n",
    }.get(kind, dice.choice(("", "1", "new text\n", "other\n" * 2000, "x" * 65536, "y" * 65537)))
    return Change(kind, name, value)


__all__ = ["GRAMMAR", "Change", "Site", "SiteMaker", "random_change", "write_tree"]

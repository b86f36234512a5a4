"""A site of 2.4 with many directives, its files, and requests from outside that know nothing of its text."""

from __future__ import annotations

import base64
import os
import random
from dataclasses import dataclass
from pathlib import Path

MODULES = (
    *("mpm_event", "authz_core", "authz_host", "authz_user", "authz_groupfile", "authn_core", "authn_file"),
    *("auth_basic", "access_compat", "alias", "dir", "mime", "setenvif", "env", "headers", "rewrite"),
    *("autoindex", "negotiation", "deflate", "filter", "expires", "allowmethods", "actions", "reqtimeout"),
)
MODULE_DIRECTORY = "/usr/lib/apache2/modules"
_MODIFIED = 1_600_000_000
_HASH = "$apr1$x$n3KC.RJYHZhK50zaCOGff0"
USERS = ("ann", "bob", "cat")
PASSWORD = "x"
_TYPES = "text/html html htm\ntext/plain txt\ntext/css css\nimage/png png\napplication/javascript js\n"
_FILES = (
    *("index.html", "main.htm", "a.txt", "b.css", "c.png", "d.js", "page.html.en", "page.html.de", "x.old"),
    *("pub/index.html", "pub/one.txt", "pub/sub/two.txt", "pub/sub/three.css", "list/z.txt", "list/y.png"),
    *("priv/index.html", "priv/key.txt", "priv/deep/note.txt", "team/index.html", "team/plan.txt"),
    *("net/index.html", "net/data.txt", "up/form.html", "gate/index.html", "gate/open.txt", "st/a.html"),
    *("img/one.png", "img/two.png", "ht/index.html", "ht/a.txt", "old/a.txt", "new/a.txt", "app/front.html"),
    # each is beside what a pattern, a test or a priority of the text means
    *("x.older", "b.css.txt", "st/ab.html", "x/st/a.html", "app/other.txt", "pub/page.html.en"),
    "pub/page.html.de",
)
_HTACCESS = "Header set X-Ht here\nRequire all granted\nDirectoryIndex a.txt\n"


def write_files(root: Path) -> None:
    """Write the documents, passwords and types of the site."""
    for name in ("conf", "logs", "htdocs", "second"):
        (root / name).mkdir(parents=True, exist_ok=True)
    for name in _FILES:
        for top in ("htdocs", "second"):
            path = root / top / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{top} {name}\n" * 9)
            os.utime(path, (_MODIFIED, _MODIFIED))  # the ETag of a file is weak for a second
    (root / "htdocs/ht/.htaccess").write_text(_HTACCESS)
    (root / "conf/mime.types").write_text(_TYPES)
    (root / "conf/users").write_text("".join(f"{user}:{_HASH}\n" for user in USERS))
    (root / "conf/others").write_text(f"dan:{_HASH}\n")
    (root / "conf/groups").write_text("staff: ann bob\nguests: cat\n")
    for path in root.rglob("*"):
        if path.is_dir():
            os.utime(path, (_MODIFIED, _MODIFIED))  # negotiated answers have it in their ETag, too


_BLOCKS = (
    """<Directory "@ROOT@/htdocs">
Options Indexes FollowSymLinks
AllowOverride None
Require all granted
</Directory>""",
    """<Directory "@ROOT@/htdocs/priv">
AuthType Basic
AuthName "Private area"
AuthUserFile conf/users
AuthGroupFile conf/groups
Require @ONE@
</Directory>""",
    """<Directory "@ROOT@/htdocs/team">
AuthType Basic
AuthName "Team"
AuthUserFile conf/users
AuthGroupFile conf/groups
<RequireAll>
Require ip 127.0.0
Require group staff
</RequireAll>
</Directory>""",
    """<Directory "@ROOT@/htdocs/net">
<RequireAny>
Require ip 127.1.0.0/16
Require ip 127.0.0.2
Require env letmein
</RequireAny>
</Directory>
SetEnvIf User-Agent "^Robot/1" letmein
BrowserMatch "Spider" crawler""",
    """<Location "/gate">
<RequireAll>
Require all granted
Require not ip 127.0.0.2
Require not env crawler
</RequireAll>
</Location>""",
    """<Directory "@ROOT@/htdocs/up">
<LimitExcept GET HEAD>
Require user ann
</LimitExcept>
AuthType Basic
AuthName "Up"
AuthUserFile conf/users
</Directory>""",
    """<FilesMatch "\\.(old|bak)$">
Require all denied
</FilesMatch>
<Files "d.js">
Header set X-Script "yes"
</Files>""",
    """<LocationMatch "^/st/[a-z]+\\.html$">
Header set X-Static "letters"
AllowMethods GET HEAD
</LocationMatch>""",
    """<Directory "@ROOT@/htdocs/ht">
AllowOverride All
</Directory>""",
    """Alias "/pics" "@ROOT@/htdocs/img"
Alias "/pics2/deep" "@ROOT@/htdocs/pub"
Alias "/pics2" "@ROOT@/htdocs/list"
AliasMatch "^/v([0-9]+)/(.*)$" "@ROOT@/htdocs/pub/$2\"""",
    """Redirect 301 "/moved" "http://other.example/there"
Redirect gone "/gone"
RedirectMatch 302 "^/go/(.+)$" "http://other.example/$1\"""",
    """RewriteEngine On
RewriteCond %{HTTP_USER_AGENT} ^Robot [NC,OR]
RewriteCond %{QUERY_STRING} secret=1
RewriteRule "^/pub/sub/" "-" [F]
RewriteRule "^/short/(.*)$" "/pub/$1" [NC,PT,L]
RewriteRule "^/away/(.*)$" "http://other.example/$1?from=here" [R=301,QSA,L]
RewriteRule "^/none$" "-" [G]""",
    """<Directory "@ROOT@/htdocs/app">
RewriteEngine On
RewriteBase "/app/"
RewriteCond %{REQUEST_FILENAME} !-f
RewriteRule "." "front.html" [L]
</Directory>""",
    """DirectoryIndex index.html main.htm
AccessFileName .htaccess
<Directory "@ROOT@/htdocs/list">
IndexOptions FancyIndexing NameWidth=20
IndexIgnore *.png
</Directory>""",
    """AddType text/x-note .txt
AddDefaultCharset utf-8
AddLanguage en .en
AddLanguage de .de
LanguagePriority en de
AddCharset iso-8859-1 .htm
<Directory "@ROOT@/htdocs/pub">
Options +MultiViews -Indexes
ForceType text/plain
</Directory>""",
    """Header set X-Site "harbour"
Header always set X-Always "on"
Header append X-Site "two"
Header edit X-Site "harbour" "dock"
Header set X-Crawl "seen" env=crawler
Header unset X-None""",
    """ExpiresActive On
ExpiresByType text/css "access plus 1 hour"
ExpiresDefault A600
FileETag MTime Size""",
    """ErrorDocument 404 "no such page here"
ErrorDocument 403 /a.txt
ServerSignature Off
TraceEnable Off""",
    """SetEnv ROLE reader
SetEnvIf Request_URI "\\.css$" style=1
Header set X-Style "sheet" env=style
SetEnvIfNoCase Referer "^http://other\\.example/" linked
<Directory "@ROOT@/htdocs/img">
<If "%{HTTP:Referer} =~ /other/ && -z %{QUERY_STRING}">
Require all denied
</If>
</Directory>""",
    """SetOutputFilter INFLATE
<Directory "@ROOT@/htdocs/old">
SetOutputFilter DEFLATE
</Directory>
AddOutputFilterByType DEFLATE text/css""",
    """<Location "/new">
AcceptPathInfo Off
LimitRequestBody 100
</Location>
LimitRequestFields 40
<Location "/list">
DirectorySlash On
</Location>""",
    """<Directory "@ROOT@/htdocs/st">
Order deny,allow
Deny from all
Allow from 127.0.0.1
</Directory>""",
)
_HOSTS = """<VirtualHost *:@PORT@>
ServerName main.example
ServerAlias www.main.example
@RULES@
</VirtualHost>
<VirtualHost *:@PORT@>
ServerName second.example
ServerAlias *.second.example
DocumentRoot "@ROOT@/second"
<Directory "@ROOT@/second">
Require all granted
</Directory>
Header set X-Host "second"
Redirect 302 "/only" "http://second.example/a.txt"
</VirtualHost>"""
ONE = ("valid-user", "user ann cat", "group staff", "user bob")


def site_text(root: Path, port: int, choose: random.Random) -> str:
    """Return a text with the first block, about two thirds of the others, and two hosts."""
    blocks = [_BLOCKS[0], *choose.sample(_BLOCKS[1:], 2 * len(_BLOCKS) // 3)]
    user = "User www-data\nGroup www-data\n"
    head = [f"LoadModule {name}_module {MODULE_DIRECTORY}/mod_{name}.so" for name in MODULES]
    head += [f"Listen 127.0.0.1:{port}", "ServerName localhost", f'DocumentRoot "{root}/htdocs"']
    head += [
        "PidFile logs/pid",
        f"DefaultRuntimeDir {root}/logs",
        "ErrorLog logs/error_log",
        "StartServers 1",
    ]
    head += ["ThreadsPerChild 100", "ServerLimit 1", "MaxRequestWorkers 100", "MaxKeepAliveRequests 0"]
    head += ["TypesConfig conf/mime.types", user]
    # no host inherits the rewriting of the main server, so that the rules stand in a host
    rules = [block for block in blocks if block.startswith("RewriteEngine")]
    hosts = _HOSTS.replace("@RULES@", "\n".join(rules))
    text = "\n".join([*head, "# site", *(block for block in blocks if block not in rules), hosts]) + "\n"
    text = text.replace("@ONE@", choose.choice(ONE))
    return text.replace("@ROOT@", str(root)).replace("@PORT@", str(port))


@dataclass(frozen=True)
class Question:
    """A request from outside; without a *host* one of HTTP/1.0, which ends its connection."""

    client: str
    host: str
    method: str
    target: str
    fields: tuple[str, ...] = ()

    def head(self, *, is_last: bool) -> bytes:
        """Return the bytes of the request."""
        close = ("Connection: close",) if is_last else ()
        body = b"a" * 150 if self.method == "POST" else b""
        length = (f"Content-Length: {len(body)}",) if body else ()
        begin = [f"{self.method} {self.target} HTTP/1.1", f"Host: {self.host}"]
        if not self.host:
            begin = [f"{self.method} {self.target} HTTP/1.0"]
        lines = [*begin, *self.fields, *length, *close]
        return "\r\n".join([*lines, "", ""]).encode() + body


def basic(user: str, password: str = PASSWORD) -> str:
    """Return the field with the credentials of *user*."""
    return "Authorization: Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


_TARGETS = (
    *(f"/{name}" for name in _FILES),
    *("/", "/pub/", "/list/", "/list", "/priv/", "/pics/one.png", "/pics2/deep/one.txt", "/pics2/z.txt"),
    *(
        "/v12/one.txt",
        "/v/one.txt",
        "/moved",
        "/moved/x?q=1",
        "/gone",
        "/go/x",
        "/go/",
        "/x/go/y",
        "/page.html",
    ),
    *(
        "/short/one.txt",
        "/SHORT/one.txt",
        "/away/x?q=1",
        "/none",
        "/none/x",
        "/no",
        "/no.css",
        "/app/x",
        "/app/",
    ),
    *("/a.txt/info", "/new/a.txt/info", "/index.html/info", "/img/", "/ht/", "/st/a.htmlx", "/st/9.html"),
    *("/x/st/a.html", "/only", "/pub/page", "/pub/one", "/old/", "/%2e%2e/", "/gate", "/gatex", "/old.bak"),
    *("/pub/sub/", "/x/pub/sub/two.txt", "/x/short/one.txt", "/x/away/x", "/x/none"),
)
_OF_METHODS = (
    *("/", "/a.txt", "/no", "/up/form.html", "/st/a.html", "/st/a.htmlx", "/new/a.txt", "/priv/key.txt"),
    *("/moved", "/list/", "/gate/open.txt", "/x.old", "/pub/one.txt", "/none"),
)
_PROFILES: tuple[tuple[str, ...], ...] = (
    (),
    ("User-Agent: Robot/1.0",),
    ("User-Agent: my robot",),
    ("User-Agent: Big Spider 2",),
    ("Referer: http://other.example/x",),
    ("Referer: http://OTHER.example/x",),
    ("Accept-Language: de",),
    ("Accept-Encoding: gzip",),
    (basic("ann"),),
    (basic("bob"),),
    (basic("cat"),),
    (basic("dan"),),
    (basic("ann", "wrong"),),
)
CLIENTS = ("127.0.0.1", "127.0.0.2", "127.1.2.3", "127.9.0.1")
_HOST_NAMES = ("main.example", "www.main.example", "second.example", "a.second.example", "no.example")


def questions() -> list[Question]:
    """Return the requests: each target with each profile, client, method and host in turn, and all alone."""
    main, client = _HOST_NAMES[0], CLIENTS[0]
    asked = [Question(client, main, "GET", target, fields) for target in _TARGETS for fields in _PROFILES]
    asked += [Question(other, main, "GET", target) for target in _TARGETS for other in CLIENTS[1:]]
    asked += [Question(client, host, "GET", target) for target in _TARGETS for host in _HOST_NAMES[1:]]
    for method in ("POST", "HEAD", "OPTIONS", "PUT", "DELETE"):
        asked += [
            Question(client, main, method, target, fields)
            for target in _OF_METHODS
            for fields in ((), (basic("ann"),), (basic("bob"),))
        ]
    for other in CLIENTS:
        asked += [
            Question(other, main, "GET", f"/{place}/{name}", (basic(user),))
            for place, name in (("team", "plan.txt"), ("priv", "key.txt"), ("net", "data.txt"))
            for user in USERS
        ]
    asked += [Question(client, main, "GET", f"{target}?secret=1") for target in _TARGETS]
    for name, target in (("robot/2", "/pub/sub/two.txt"), ("A Robot/1", "/net/data.txt")):
        asked.append(Question(client, main, "GET", target, (f"User-Agent: {name}",)))
    asked += [Question(client, main, "TRACE", "/")]
    for count in (30, 41, 80, 120):
        asked.append(Question(client, main, "GET", "/", tuple(f"X-{n}: 1" for n in range(count))))
    return asked

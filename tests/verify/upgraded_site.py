"""A site of 2.2 with many directives: its text, the files that it reads, and requests from outside."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from tests.support.ocsp import Certificate
from tests.verify.live_site import USERS, Question, basic

MODULE_DIRECTORY = "/usr/lib/apache2/modules"
MODULES = (
    *("authz_host", "authz_user", "authz_groupfile", "authz_owner", "authn_file", "authn_anon", "auth_basic"),
    *("auth_digest", "alias", "dir", "mime", "setenvif", "env", "headers", "rewrite", "autoindex"),
    *("negotiation", "deflate", "filter", "expires", "actions", "asis", "include", "speling", "userdir"),
    *("vhost_alias", "cgi", "proxy", "proxy_http", "ssl", "substitute", "usertrack"),
)
_HASH = "$apr1$x$n3KC.RJYHZhK50zaCOGff0"
REALM = "Vault"
_DIGEST = "ann:Vault:92b0910ab635ff9bb02c70316f23a64e\nbob:Vault:4b7f5398f33a91c8dd05f1b88a6278c5\n"
"""The password of both is `live_site.PASSWORD`."""
MAIN = "conf/httpd.conf"
HOSTS = "conf/hosts.conf"
HTACCESS = "htdocs/ht/.htaccess"
DEEP_HTACCESS = "htdocs/ht/deep/.htaccess"
TEXTS: dict[str, str] = {
    HTACCESS: """Header set X-Ht here
DirectoryIndex a.txt index.html
Options +Indexes
AddType text/x-ht .htx
ErrorDocument 404 "nothing below ht"
<Files "secret*">
Order allow,deny
Deny from all
</Files>
RewriteEngine On
RewriteRule ^old/(.*)$ /ht/$1 [R=302,L]
RewriteCond %{REQUEST_FILENAME} !-f
RewriteRule ^note/([a-z]+)$ a.txt?n=$1 [QSA,L]
SetEnvIf Referer "other" foreign
Order allow,deny
Allow from all
Deny from env=foreign
""",
    DEEP_HTACCESS: """RewriteEngine On
RewriteBase /ht/deep
RewriteRule ^go$ b.txt [L]
Header append X-Ht deep
AuthType Basic
AuthName "Deep"
AuthUserFile conf/users
AuthGroupFile conf/groups
<Limit POST PUT DELETE>
Require group staff
</Limit>
<FilesMatch "\\.cfg$">
Require user bob
</FilesMatch>
""",
    "conf/users": "".join(f"{user}:{_HASH}\n" for user in USERS),
    "conf/others": f"dan:{_HASH}\n",
    "conf/groups": "# teams\nstaff: ann bob\n\nguests: cat\n",
    "conf/digest": _DIGEST,
    "conf/map.txt": "# names\none pub/one.txt\ntwo pub/sub/two.txt\nindex index.html\n",
    "conf/mime.types": "text/html html htm\ntext/plain txt\ntext/css css\nimage/png png\n"
    "application/javascript js\napplication/x-sh sh\n",
}
"""Files that the text names, and that a person changes as well."""
_DOCUMENTS = (
    *("index.html", "main.htm", "a.txt", "b.css", "c.png", "d.js", "page.html.en", "page.html.de", "x.old"),
    *("pub/index.html", "pub/one.txt", "pub/sub/two.txt", "pub/sub/x.css", "list/z.txt", "list/y.png"),
    *("priv/index.html", "priv/key.txt", "team/plan.txt", "net/data.txt", "up/form.html", "gate/open.txt"),
    *("ht/index.html", "ht/a.txt", "ht/x.htx", "ht/secret.txt", "ht/deep/b.txt", "ht/deep/go2", "st/a.html"),
    *("ht/deep/x.cfg", "either/a.txt", "img/one.png", "img/two.png", "app/front.html", "app/real.txt"),
    *("vault/a.txt", "inc/page.shtml", "inc/part.txt", "raw/a.asis", "zip/a.txt", "zip/b.css", "st/ab.html"),
    *("anon/a.txt", "spell/Report.txt", "new/a.txt", "x.older", "pub/page.html.en", "pub/page.html.de"),
)
_MODIFIED = 1_600_000_000


def write_files(root: Path) -> None:
    """Write documents, passwords, maps and certificates of the site."""
    for name in ("conf", "logs", "htdocs", "second", "mass/one.test", "mass/two.test", "cgi", "home/ann/web"):
        (root / name).mkdir(parents=True, exist_ok=True)
    for name in _DOCUMENTS:
        for top in ("htdocs", "second"):
            path = root / top / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{top} {name}\n" * 9)
    for name in ("mass/one.test/a.txt", "mass/two.test/a.txt", "home/ann/web/a.txt"):
        (root / name).write_text(f"{name}\n")
    (root / "htdocs/inc/page.shtml").write_text('<!--#include virtual="/inc/part.txt" -->\n')
    (root / "htdocs/raw/a.asis").write_text("Status: 203 asis\nContent-Type: text/x-raw\n\nraw\n")
    program = root / "cgi/env.sh"
    program.write_text(
        '#!/bin/sh\necho "Content-Type: text/plain"\necho\necho "role=$ROLE q=$QUERY_STRING"\n'
    )
    program.chmod(0o755)
    for name, text in TEXTS.items():
        (root / name).write_text(text.replace("@ROOT@", str(root)))
    for name in ("server", "other"):
        certificate = Certificate(name)
        (root / f"conf/{name}.pem").write_bytes(certificate.pem + certificate.key_pem)
    for path in root.rglob("*"):
        if not path.is_relative_to(root / "conf"):
            os.utime(path, (_MODIFIED, _MODIFIED))  # the ETag of a file is weak for a second


@dataclass(frozen=True)
class Block:
    """Lines of a site with the requests that show what they do."""

    text: str
    questions: tuple[Question, ...]
    file: str = MAIN
    is_in_host: bool = False


CLIENTS = ("127.0.0.1", "127.0.0.2", "127.1.2.3", "127.9.0.1")
_HOST = "main.example"
ROBOT, SPIDER = ("User-Agent: Robot/1.0",), ("User-Agent: a Big Spider 2",)
REFERER, GERMAN, GZIP = (
    ("Referer: http://other.example/",),
    ("Accept-Language: de",),
    ("Accept-Encoding: gzip",),
)
LOGINS = tuple((basic(user),) for user in (*USERS, "dan"))
BAD_LOGIN = (basic("ann", "wrong"),)


def _asked(
    *targets: str,
    fields: Sequence[tuple[str, ...]] = ((),),
    clients: Sequence[str] = CLIENTS[:1],
    hosts: Sequence[str] = (_HOST,),
    methods: Sequence[str] = ("GET",),
) -> tuple[Question, ...]:
    rows = product(clients, hosts, methods, targets, fields)
    return tuple(Question(*row) for row in rows)


_AREA = 'AuthType Basic\nAuthName "{}"\nAuthUserFile conf/users\nAuthGroupFile conf/groups\n'
_PRIVATE = (
    Block(
        f'<Directory "@ROOT@/htdocs/priv">\n{_AREA.format("Private area")}Require @ONE@\n</Directory>',
        _asked("/priv/", "/priv/key.txt", "/priv/none", fields=((), *LOGINS, BAD_LOGIN)),
    ),
    Block(
        f'<Directory "@ROOT@/htdocs/team">\n{_AREA.format("Team")}Order deny,allow\nDeny from all\n'
        "Allow from 127.0.0\nRequire group staff\n</Directory>",
        _asked("/team/plan.txt", fields=((), *LOGINS), clients=CLIENTS),
    ),
    Block(
        f'<Directory "@ROOT@/htdocs/either">\n{_AREA.format("Either")}Order deny,allow\nDeny from all\n'
        "Allow from 127.0.0.2 127.1.0.0/16\nSatisfy any\nRequire user ann bob\n</Directory>",
        _asked("/either/a.txt", fields=((), *LOGINS), clients=CLIENTS),
    ),
    Block(
        f'<Directory "@ROOT@/htdocs/up">\n{_AREA.format("Up")}<LimitExcept GET HEAD>\nRequire user ann\n'
        "</LimitExcept>\nLimitRequestBody 200\n</Directory>",
        _asked("/up/form.html", fields=((), *LOGINS), methods=("GET", "HEAD", "POST", "PUT", "OPTIONS")),
    ),
    Block(
        '<Directory "@ROOT@/htdocs/anon">\nAuthType Basic\nAuthName "Guests"\nAuthBasicProvider anon\n'
        "Anonymous guest ann\nAnonymous_MustGiveEmail Off\nRequire valid-user\n</Directory>",
        _asked("/anon/a.txt", fields=((), *LOGINS, (basic("guest"),))),
    ),
    Block(
        '<Directory "@ROOT@/htdocs/vault">\nAuthType Digest\nAuthName "Vault"\nAuthDigestDomain /vault/\n'
        "AuthUserFile conf/digest\nRequire valid-user\n</Directory>",
        _asked("/vault/a.txt", fields=((), *LOGINS[:1])),
    ),
    Block(
        '<Directory "@ROOT@/htdocs/net">\nOrder deny,allow\nDeny from all\nAllow from 127.1.0.0/255.255.0.0\n'
        'Allow from 127.0.0.2 env=letmein\n</Directory>\nSetEnvIf User-Agent "^Robot/1" letmein=1\n'
        'BrowserMatchNoCase "spider" crawler',
        _asked("/net/data.txt", fields=((), ROBOT, SPIDER, ("User-Agent: A Robot/1",)), clients=CLIENTS)
        + _asked("/net/data.txt", fields=(("User-Agent: Robot/2",),)),
    ),
    Block(
        '<Location "/gate">\nOrder allow,deny\nAllow from all\nDeny from 127.0.0.2\nDeny from 127.9\n'
        "</Location>",
        _asked("/gate/open.txt", "/gate", "/gatex", "/gat", clients=CLIENTS),
    ),
    Block(
        '<FilesMatch "\\.(old|bak)$">\nOrder allow,deny\nDeny from all\n</FilesMatch>\n'
        '<Files "d.js">\nHeader set X-Script "yes"\n</Files>',
        _asked("/x.old", "/x.older", "/x.bak", "/d.js", "/a.txt"),
    ),
)
_ANSWERS = (
    Block(
        '<LocationMatch "^/st/[a-z]+\\.html$">\nHeader set X-Static "letters"\n</LocationMatch>\n'
        '<Location "/st/a.html">\nHeader set X-Static "one"\n</Location>',
        _asked("/st/a.html", "/st/ab.html", "/st/9.html", "/st/a.htmlx", "/x/st/a.html"),
    ),
    Block(
        'Alias /pics2/deep "@ROOT@/htdocs/pub"\nAlias /pics2 "@ROOT@/htdocs/list"\n'
        'Alias /pics "@ROOT@/htdocs/img"\nAliasMatch ^/v([0-9]+)/(.*)$ "@ROOT@/htdocs/pub/$2"\n'
        'ScriptAlias /cgi-bin/ "@ROOT@/cgi/"\nSetEnv ROLE reader\n<Directory "@ROOT@/cgi">\nOptions ExecCGI\n'
        "Order allow,deny\nAllow from all\n</Directory>",
        _asked(
            "/pics2/deep/one.txt", "/pics2/z.txt", "/pics/one.png", "/v12/one.txt", "/v/one.txt", "/pics2x"
        )
        + _asked("/cgi-bin/env.sh", "/cgi-bin/env.sh?x=1", "/cgi-bin/no", "/picsx/one.png", "/v1/one.txt")
        + _asked("/x/v1/one.txt"),
    ),
    Block(
        "Redirect permanent /moved http://other.example/there\nRedirect gone /gone\n"
        "RedirectMatch 302 ^/go/(.+)$ http://other.example/$1\nRedirectMatch seeother \\.php$ /index.html",
        _asked("/moved", "/moved/x?q=1", "/gone", "/go/x", "/go/", "/x/go/y", "/a.php", "/a.phpx", "/movedx"),
    ),
    Block(
        'DirectoryIndex index.html main.htm\n<Directory "@ROOT@/htdocs/list">\nOptions Indexes\n'
        "IndexOptions FancyIndexing NameWidth=20\nIndexIgnore *.png\nDirectoryIndex none.html\n"
        "IndexOrderDefault Descending Name\n</Directory>",
        _asked("/", "/list/", "/list", "/pub/", "/img/", "/list/?C=N;O=A"),
    ),
    Block(
        "AddType text/x-note .txt\nAddDefaultCharset utf-8\nAddLanguage en .en\nAddLanguage de .de\n"
        "LanguagePriority en de\nForceLanguagePriority Prefer\nAddCharset iso-8859-1 .htm\n"
        '<Directory "@ROOT@/htdocs/pub">\nOptions +MultiViews -Indexes\nForceType text/plain\n</Directory>',
        _asked("/a.txt", "/main.htm", "/pub/page", "/pub/one", "/pub/page.html", fields=((), GERMAN))
        + _asked("/page.html.de", "/page.html", "/pub/sub/", "/pub/sub/x.css"),
    ),
    Block(
        'Header set X-Site "harbour"\nHeader always set X-Always "on"\nHeader append X-Site "two"\n'
        'Header edit X-Site "harbour" "dock"\nHeader set X-Crawl "seen" env=crawler\n'
        'RequestHeader set X-From "outside"\nBrowserMatch "Spider" crawler',
        _asked("/", "/a.txt", "/none", fields=((), SPIDER, ("User-Agent: spider",))),
    ),
    Block(
        'ExpiresActive On\nExpiresByType text/css "access plus 1 hour"\nExpiresDefault A600\n'
        '<Directory "@ROOT@/htdocs/img">\nExpiresByType image/png M7200\nFileETag Size\n</Directory>',
        _asked("/b.css", "/a.txt", "/img/one.png", "/index.html"),
    ),
    Block(
        'ErrorDocument 404 "no such page here"\nErrorDocument 403 /a.txt\nErrorDocument 410 http://x.example/\n'
        '<Directory "@ROOT@/htdocs/new">\nErrorDocument 404 /index.html\nAcceptPathInfo Off\n</Directory>\n'
        "TraceEnable Off",
        _asked("/no", "/new/no", "/new/a.txt/info", "/a.txt/info", "/index.html/info", "/%2e%2e/")
        + _asked("/", methods=("TRACE",)),
    ),
    Block(
        'SetEnvIf Request_URI "\\.css$" style=1\nSetEnvIf Request_URI "^/b" !style\nSetEnvIf style 1 both\n'
        'Header set X-Style "sheet" env=style\nHeader set X-Both "both" env=both\n'
        'SetEnvIfNoCase Referer "^http://other\\.example/" linked\nHeader set X-Linked "yes" env=linked',
        _asked("/b.css", "/zip/b.css", "/pub/sub/x.css", "/b.css.x", fields=((), REFERER))
        + _asked(
            "/a.txt", fields=(("Referer: http://OTHER.example/x",), ("Referer: x http://other.example/",))
        ),
    ),
    Block(
        '<Directory "@ROOT@/htdocs/zip">\nAddOutputFilterByType DEFLATE text/plain\n'
        'SetEnvIf User-Agent "^Big" '
        "no-gzip\nHeader append Vary User-Agent\n</Directory>",
        _asked("/zip/a.txt", "/zip/b.css", fields=((), GZIP, (*GZIP, "User-Agent: Big"))),
    ),
    Block(
        '<Directory "@ROOT@/htdocs/inc">\nOptions +Includes\nAddType text/html .shtml\n'
        'AddOutputFilter INCLUDES .shtml\n</Directory>\n<Directory "@ROOT@/htdocs/raw">\n'
        "AddHandler send-as-is .asis\n</Directory>",
        _asked("/inc/page.shtml", "/inc/part.txt", "/raw/a.asis"),
    ),
    Block(
        '<Directory "@ROOT@/htdocs/spell">\nCheckSpelling On\n</Directory>\n'
        'UserDir @ROOT@/home/*/web\n<Directory "@ROOT@/home/*/web">\nOptions None\nOrder allow,deny\n'
        "Allow from all\n</Directory>",
        _asked("/spell/Report.txt", "/spell/report.txt", "/spell/Reprot.txt", "/~ann/a.txt", "/~bob/a.txt"),
    ),
    Block(
        '<Directory "@ROOT@/htdocs/ht">\nAllowOverride AuthConfig FileInfo Indexes Limit Options\n'
        "Options FollowSymLinks\n</Directory>\nAccessFileName .htaccess",
        _asked(
            "/ht/", "/ht/a.txt", "/ht/x.htx", "/ht/secret.txt", "/ht/none", "/ht/old/a.txt", "/ht/note/x?y=1"
        )
        + _asked("/ht/a.txt", "/ht/deep/b.txt", fields=(REFERER,))
        + _asked("/ht/deep/go", "/ht/deep/go2", "/ht/deep/x.cfg", "/ht/deep/", fields=((), *LOGINS))
        + _asked("/ht/deep/b.txt", "/ht/a.txt", methods=("POST", "DELETE"), fields=((), *LOGINS)),
    ),
    Block(
        'LogFormat "%h %u \\"%r\\" %>s %{Referer}i" short\nCustomLog logs/access_log short',
        _asked("/a.txt", fields=(REFERER,)),
    ),
)
_REWRITING = (
    Block(
        "RewriteEngine On\nRewriteCond %{HTTP_USER_AGENT} ^Robot [NC,OR]\n"
        "RewriteCond %{QUERY_STRING} secret=1\n"
        "RewriteRule ^/pub/sub/ - [F]\nRewriteRule ^/short/(.*)$ /pub/$1 [NC,PT,L]\n"
        "RewriteRule ^/away/(.*)$ http://other.example/$1?from=here [R=301,QSA,L]\n"
        "RewriteRule ^/none$ - [G]\n"
        "RewriteMap names txt:conf/map.txt\nRewriteMap low int:tolower\n"
        "RewriteRule ^/m/(.*)$ /${names:$1|a.txt} [PT]\nRewriteRule ^/L/(.*)$ /${low:$1} [PT]\n"
        "RewriteRule ^/chain/(.*) /step/$1 [C]\nRewriteRule ^/step/(.*) /app/$1 [PT]\n"
        "RewriteRule ^/skip - [S=1]\nRewriteRule ^/s(.*)k - [E=skipped:1,CO=seen:yes:.example]\n"
        "RewriteRule ^/s(.)t/typed$ /st/a.html [T=text/x-st]",
        _asked(
            "/pub/sub/two.txt",
            "/x/pub/sub/",
            fields=((), ROBOT, ("User-Agent: my robot",), ("User-Agent: robot",)),
        )
        + _asked("/pub/sub/two.txt?secret=1", "/pub/sub/two.txt?secret=2", "/short/one.txt", "/SHORT/one.txt")
        + _asked(
            "/x/short/one.txt", "/away/x?q=1", "/x/away/x", "/none", "/nonex", "/m/one", "/m/two", "/m/x"
        )
        + _asked(
            "/L/A.TXT", "/chain/real.txt", "/step/real.txt", "/skip/k", "/sunk", "/set/typed", "/m/index"
        ),
        is_in_host=True,
    ),
    Block(
        '<Directory "@ROOT@/htdocs/app">\nRewriteEngine On\nRewriteBase /app/\n'
        "RewriteCond %{REQUEST_FILENAME} !-f\nRewriteCond %{REQUEST_URI} !^/app/keep\n"
        "RewriteRule . front.html [L]\n</Directory>",
        _asked("/app/x", "/app/", "/app/real.txt", "/app/keep", "/app/x/y"),
    ),
    Block(
        "ProxyRequests Off\nProxyPass /api/private !\nProxyPass /api/ http://127.0.0.1:@BACK@/v1/\n"
        "ProxyPassReverse /api/ http://127.0.0.1:@BACK@/v1/\n"
        "ProxyPassReverseCookiePath /v1/ /api/\n<Location /api>\nRequestHeader set X-Origin front\n"
        "RequestHeader unset Cookie\n</Location>",
        _asked("/api/a", "/api/private/x", "/api/redirect", "/apix", fields=((), ("Cookie: a=1",))),
        is_in_host=True,
    ),
)
BLOCKS = (*_PRIVATE, *_ANSWERS, *_REWRITING)
_HEAD = """ServerRoot "@ROOT@"
Listen 127.0.0.1:@PORT@
Listen 127.0.0.1:@TLS@
@MODULES@
User www-data
Group www-data
ServerName localhost
DocumentRoot "@ROOT@/htdocs"
PidFile logs/pid
ErrorLog logs/error_log
LockFile logs/lock
TypesConfig conf/mime.types
DefaultType None
FileETag MTime Size
StartServers 1
MaxClients 100
MaxSpareServers 100
Timeout 20
NameVirtualHost *:@PORT@
<Directory />
Options None
AllowOverride None
Order deny,allow
Deny from all
</Directory>
# site
KeepAlive On
MaxKeepAliveRequests 0
KeepAliveTimeout 5
ServerSignature Off
<Directory "@ROOT@/htdocs">
Options FollowSymLinks
Order allow,deny
Allow from all
</Directory>
"""
_SHARE = 0.1
"""The share of the blocks in a site: verify takes a second for all of its lines."""
_FIRST_HOST = """<VirtualHost *:@PORT@>
ServerName main.example
ServerAlias www.main.example
@RULES@
</VirtualHost>
"""
_HOSTS = (
    """<VirtualHost *:@PORT@>
ServerName second.example
ServerAlias *.second.example
ServerPath /second
DocumentRoot "@ROOT@/second"
<Directory "@ROOT@/second">
Options None
Order allow,deny
Allow from all
</Directory>
Header set X-Host "second"
Redirect /only http://second.example/a.txt
</VirtualHost>
""",
    """<VirtualHost *:@PORT@>
ServerName mass.test
ServerAlias *.test
UseCanonicalName Off
VirtualDocumentRoot @ROOT@/mass/%0
<Directory "@ROOT@/mass">
Options None
Order allow,deny
Allow from all
</Directory>
</VirtualHost>
""",
    """<VirtualHost *:@TLS@>
ServerName safe.example
SSLEngine on
SSLProtocol all -SSLv2 -SSLv3
SSLCipherSuite HIGH:!aNULL
SSLHonorCipherOrder on
SSLCertificateFile conf/server.pem
SSLOptions +StdEnvVars
Header set X-Safe "%{SSL_PROTOCOL}s"
<Location /priv>
SSLRequireSSL
</Location>
</VirtualHost>
""",
)
_HOST_NAMES = ("www.main.example", "second.example", "a.second.example", "no.example", "one.test", "two.test")
HOST_QUESTIONS = (
    *_asked("/", "/a.txt", "/only", "/second/a.txt", "/x.old", "/none", hosts=(_HOST, *_HOST_NAMES)),
    *_asked(
        "/index.html", "/no.css", "/b.css", "/../a.txt", "/pub", methods=("GET", "HEAD", "OPTIONS", "POST")
    ),
    *_asked("/", "/a.txt", clients=CLIENTS[1:]),
)
_ONE = ("valid-user", "user ann cat", "group staff", "user bob", "group staff guests")


@dataclass(frozen=True)
class Ports:
    """Ports of a site: plain, with TLS, of the back end."""

    plain: int
    tls: int
    back_end: int


def site_texts(
    root: Path, ports: Ports, choose: random.Random, *, is_between: bool = False
) -> tuple[dict[str, str], list[Question]]:
    """Return the texts of a main file with a tenth of the blocks and of its hosts, and the requests.

    *is_between*: without what versions answer otherwise in any case, which is Digest (rule C46).
    """
    blocks = [
        block
        for block in BLOCKS
        if choose.random() < _SHARE and not (is_between and "AuthType Digest" in block.text)
    ]
    further = [host for host in _HOSTS if choose.random() < 0.5]
    rules = "\n".join(block.text for block in blocks if block.is_in_host)
    body = "\n".join(block.text for block in blocks if not block.is_in_host)
    modules = "\n".join(f"LoadModule {name}_module {MODULE_DIRECTORY}/mod_{name}.so" for name in MODULES)
    texts = {
        MAIN: f"{_HEAD}{body}\nInclude conf/hosts.conf\n",
        HOSTS: _FIRST_HOST.replace("@RULES@", rules) + "".join(further),
    }
    one = choose.choice(_ONE)
    replaced = {
        "@MODULES@": modules,
        "@ONE@": one,
        "@ROOT@": str(root),
        "@PORT@": str(ports.plain),
        "@TLS@": str(ports.tls),
        "@BACK@": str(ports.back_end),
    }
    for name, text in texts.items():
        for word, value in replaced.items():
            text = text.replace(word, value)
        texts[name] = text
    asked = [*HOST_QUESTIONS]
    for block in blocks:
        asked += block.questions
    return texts, [*dict.fromkeys(asked)]

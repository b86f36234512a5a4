"""A small site whose requests are explained."""

from __future__ import annotations

from pathlib import Path

from whimbrel.config.options import LoadOptions
from whimbrel.explain.explanation import explain_probe
from whimbrel.explain.step import ExplanationStep, RequestExplanation
from whimbrel.verify.loading import load_side
from whimbrel.verify.probe import Probe, ProbeUser
from whimbrel.verify.side import Side

MODULES = (
    *("authz_core", "authz_host", "authz_user", "authn_core", "authn_file", "auth_basic", "alias", "rewrite"),
    *("dir", "mime", "headers", "cgid", "proxy", "proxy_http", "setenvif", "env", "actions"),
)
CONF = """Listen 80
ServerName localhost
DocumentRoot "@ROOT@/htdocs"
TypesConfig "@ROOT@/mime.types"
DirectoryIndex index.html
Header set X-Site main
Redirect /old /new
Alias /files @ROOT@/nothing
ScriptAlias /cgi-bin @ROOT@/cgi
ProxyPass /app http://127.0.0.1:9/
<Directory "@ROOT@/htdocs">
    Require all granted
    AllowOverride All
</Directory>
<Directory "@ROOT@/htdocs/private">
    AuthType Basic
    AuthName staff
    AuthUserFile "@ROOT@/users"
    <RequireAny>
        Require ip 10.0.0.0/8
        Require valid-user
    </RequireAny>
</Directory>
<VirtualHost *:80>
    ServerName a.example
    ServerAlias *.a.example
    RewriteEngine On
    RewriteRule ^/nope - [F]
    RewriteCond %{HTTP_HOST} ^www
    RewriteRule ^/(.*)$ /private/$1
</VirtualHost>
"""


def write_site(root: Path, conf: str = CONF, name: str = "httpd.conf") -> Path:
    """Write the configuration *name* and its documents; return the file."""
    loads = "".join(f"LoadModule {name}_module modules/mod_{name}.so\n" for name in ("mpm_event", *MODULES))
    private = root / "htdocs/private"
    private.mkdir(parents=True, exist_ok=True)
    (root / "htdocs/index.html").write_text("hello\n")
    (private / "x.html").write_text("x\n")
    (private / ".htaccess").write_text("AddType text/x-foo .html\n")
    (root / "mime.types").write_text("text/html html\n")
    (root / "users").touch()
    file = root / name
    file.write_text(loads + conf.replace("@ROOT@", str(root)))
    return file


def side_of(root: Path, conf: str = CONF, dialect: str = "2.4") -> Side:
    """Return the loaded site."""
    file = write_site(root, conf)
    return load_side(LoadOptions(server_root=str(root), file=str(file)), dialect)


def explained(
    side: Side, target: str, host: str = "q.example", user: str = "", client: str = "192.0.2.1"
) -> RequestExplanation:
    """Return the explanation of a request; *user* is assumed."""
    assumed = ProbeUser(user, is_assumed=True) if user else None
    return explain_probe(side, Probe(target, host=host, user=assumed, client=client))


def step(explanation: RequestExplanation, kind: str, what: str = "") -> ExplanationStep:
    """Return the first step of *kind* whose text has *what*."""
    return next(one for one in explanation.all() if one.kind == kind and what in one.what)


def texts(found: ExplanationStep) -> list[str]:
    """Return the lines of a step."""
    return [line.text for line in found.lines]


def old_side(root: Path, conf: str) -> Side:
    """Return a site of 2.2, without LoadModule lines of 2.4."""
    file = write_site(root, conf)
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(line for line in lines if not line.startswith("LoadModule")))
    return load_side(LoadOptions(server_root=str(root), file=str(file)), "2.2")

"""Servers of 2.2 of our own making, as a collection of machines has them: each with other hosts, rules and files.

A tree has a main file, six files of general settings, a file for each virtual host, and below htdocs the documents and
.htaccess files of the hosts.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Final

MODULES: Final = (
    "alias auth_basic auth_digest authn_file authz_groupfile authz_host authz_owner authz_user autoindex deflate dir env "
    "expires headers include log_config mime negotiation proxy proxy_http rewrite setenvif status userdir vhost_alias"
)
WORDS: Final = (
    "amber birch cedar delta ember fjord grove harbor inlet juniper kestrel linden meadow nectar orchid pebble quarry "
    "russet sorrel thistle upland velvet willow yarrow zephyr"
).split()
MAIN: Final = """\
ServerRoot "/etc/httpd"
PidFile run/httpd.pid
Timeout {timeout}
KeepAlive {keep_alive}
Listen 80
{modules}
User apache
Group apache
ServerAdmin webmaster@{domain}
ServerName www.{domain}
UseCanonicalName Off
DocumentRoot "/etc/httpd/htdocs"
DirectoryIndex index.html index.html.var
AccessFileName .htaccess
TypesConfig conf/mime.types
DefaultType {default_type}
HostnameLookups Off
NameVirtualHost *:80
<Directory />
    Options FollowSymLinks
    AllowOverride None
</Directory>
<Directory "/etc/httpd/htdocs">
    Options Indexes FollowSymLinks
    AllowOverride {overrides}
    Order allow,deny
    Allow from all
</Directory>
<Files ~ "^\\.ht">
    Order allow,deny
    Deny from all
    Satisfy All
</Files>
Include conf.d/*.conf
Include sites.d/*.conf
"""
SETTINGS: Final = {
    "charset": "AddDefaultCharset {charset}\n",
    "compression": "<Location />\n    SetOutputFilter DEFLATE\n    SetEnvIfNoCase Request_URI \\.(?:gif|jpe?g|png)$ no-gzip\n</Location>\n",
    "icons": 'Alias /icons/ "/etc/httpd/icons/"\n<Directory "/etc/httpd/icons">\n    Options Indexes MultiViews\n'
    "    AllowOverride None\n    Order allow,deny\n    Allow from all\n</Directory>\n",
    "languages": "AddLanguage en .en\nAddLanguage de .de\nLanguagePriority en de\nForceLanguagePriority Prefer Fallback\n",
    "logs": 'LogFormat "%h %l %u %t \\"%r\\" %>s %b" common\nCustomLog logs/access_log common\nErrorLog logs/error_log\n'
    "LogLevel warn\n",
    "status": "ExtendedStatus On\n<Location /server-status>\n    SetHandler server-status\n    Order deny,allow\n"
    "    Deny from all\n    Allow from 127.0.0.1 {network}\n</Location>\n",
}
SITE: Final = """\
<VirtualHost *:80>
    ServerName {host}
    ServerAlias www.{host}
    DocumentRoot "/etc/httpd/htdocs/{host}"
    ErrorLog logs/{host}-error_log
{parts}</VirtualHost>
"""
PARTS: Final = {
    "redirects": "    Redirect permanent /{old} http://{host}/{new}\n    RedirectMatch gone ^/{old}-archive/\n",
    "rewriting": "    RewriteEngine On\n    RewriteLog logs/{host}-rewrite_log\n    RewriteLogLevel {level}\n"
    "    RewriteCond %{{HTTP_HOST}} !^{pattern}$ [NC]\n    RewriteRule ^/{old}/(.*)$ /{new}/$1 [L]\n",
    "front": "    RewriteEngine On\n    RewriteCond %{{REQUEST_URI}} !^/{new}/\n"
    "    RewriteRule ^/{old}/([0-9]+)/?$ /{new}/index.html?id=$1 [QSA,L]\n",
    "internal": "    <Location /{new}>\n        Order deny,allow\n        Deny from all\n        Allow from {network} .{domain}\n"
    "    </Location>\n",
    "password": '    <Directory "/etc/httpd/htdocs/{host}/{new}">\n        AuthType Basic\n        AuthName "{old}"\n'
    "        AuthUserFile conf/users\n        AuthGroupFile conf/groups\n        Require group {group}\n"
    "        Order deny,allow\n        Deny from all\n        Allow from {network}\n        Satisfy {satisfy}\n    </Directory>\n",
    "banned": '    <Directory "/etc/httpd/htdocs/{host}">\n        Order allow,deny\n        Allow from all\n'
    "        Deny from {network} env=unwanted\n    </Directory>\n    BrowserMatchNoCase {old}bot unwanted\n",
    "proxy": "    ProxyRequests Off\n    ProxyPass /{new}/ http://127.0.0.1:{port}/{old}/\n"
    "    ProxyPassReverse /{new}/ http://127.0.0.1:{port}/{old}/\n    <Proxy *>\n        Order deny,allow\n"
    "        Allow from all\n    </Proxy>\n",
    "caching": '    ExpiresActive On\n    ExpiresDefault "access plus {level} hours"\n    Header set X-Served-By "{old}"\n',
    "types": "    AddType text/x-{old} .{new}\n    DefaultType text/plain\n",
    "alias": '    Alias /{old} "/etc/httpd/htdocs/{host}/{new}"\n    <Directory "/etc/httpd/htdocs/{host}/{new}">\n'
    "        Options {options}\n        Order deny,allow\n        Allow from all\n    </Directory>\n",
    "includes": '    <Directory "/etc/httpd/htdocs/{host}">\n        Options +Includes\n        XBitHack on\n    </Directory>\n',
    "methods": "    <Location /{old}>\n        <LimitExcept GET HEAD>\n            Order deny,allow\n            Deny from all\n"
    "        </LimitExcept>\n    </Location>\n",
}
HTACCESS: Final = (
    "Order deny,allow\nDeny from all\nAllow from {network}\n",
    "RewriteEngine On\nRewriteCond %{{REQUEST_FILENAME}} !-f\nRewriteRule ^{old}/(.*)$ {new}/$1 [L]\n",
    'AuthType Basic\nAuthName "{old}"\nAuthUserFile /etc/httpd/conf/users\nRequire valid-user\n',
    "ErrorDocument 404 /{new}.html\nDirectoryIndex {old}.html index.html\n",
    "Redirect /{old} http://www.{domain}/{new}\nOptions -Indexes\n",
    'ExpiresActive On\nExpiresByType text/html "access plus {level} days"\n',
    "AddType application/x-{old} .{new}\n<Files *.{old}>\n    Order allow,deny\n    Deny from {network}\n</Files>\n",
)
HTACCESS_FILES: Final = 9


def write_varied_server(tree: Path, seed: int, files: int = 50, hosts: int = 12) -> None:
    """Write a server of 2.2 with *files* files; equal seeds give equal trees."""
    numbers = random.Random(seed)
    domain = f"{numbers.choice(WORDS)}-{seed}.example"
    values = _values(numbers, domain)
    modules = "\n".join(f"LoadModule {name}_module modules/mod_{name}.so" for name in MODULES.split())
    texts = {
        "conf/httpd.conf": MAIN.format(modules=modules, **values),
        "conf/mime.types": "text/html html htm\ntext/plain txt asc\ntext/css css\nimage/png png\nimage/jpeg jpeg jpg\n",
        "conf/users": "robin:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=\nwren:$apr1$abcdefgh$iSNVbuYOGfwcm3KGAyNUr/\n",
        "conf/groups": "staff: robin wren\neditors: wren\n",
    }
    texts |= {f"conf.d/{name}.conf": text.format(**values) for name, text in SETTINGS.items()}
    names = [f"{first}{number}.{domain}" for number, first in enumerate(numbers.sample(WORDS, hosts))]
    for host in names:
        own = _values(numbers, domain) | {"host": host, "pattern": host.replace(".", "\\.")}
        parts = numbers.sample(list(PARTS), numbers.randrange(2, 6))
        text = "".join(PARTS[part].format(**own) for part in parts)
        texts[f"sites.d/{host}.conf"] = SITE.format(parts=text, **own)
        texts[f"htdocs/{host}/index.html"] = f"<h1>{host}</h1>\n"
    for host in numbers.sample(names, min(HTACCESS_FILES, hosts)):
        place = numbers.choice(("", f"{numbers.choice(WORDS)}/"))
        text = numbers.choice(HTACCESS).format(**_values(numbers, domain))
        texts[f"htdocs/{host}/{place}.htaccess"] = text
    number = 0
    while len(texts) < files:
        number += 1
        texts[f"htdocs/{numbers.choice(names)}/{numbers.choice(WORDS)}/page{number}.html"] = f"{number}\n"
    for name, text in texts.items():
        path = tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def _values(numbers: random.Random, domain: str) -> dict[str, object]:
    """Return values for the places of a text."""
    old, new = numbers.sample(WORDS, 2)
    return {
        "domain": domain,
        "old": old,
        "new": new,
        "timeout": numbers.randrange(30, 301),
        "keep_alive": numbers.choice(("On", "Off")),
        "default_type": numbers.choice(("text/plain", "text/html", "None")),
        "overrides": numbers.choice(("All", "All", "AuthConfig FileInfo Indexes Limit Options")),
        "charset": numbers.choice(("UTF-8", "ISO-8859-1", "Off")),
        "network": f"10.{numbers.randrange(256)}.{numbers.randrange(256)}.0/24",
        "level": numbers.randrange(1, 9),
        "group": numbers.choice(("staff", "editors")),
        "satisfy": numbers.choice(("Any", "All")),
        "port": numbers.randrange(8000, 9000),
        "options": numbers.choice(("Indexes", "-Indexes", "+MultiViews", "None")),
    }


def write_varied_fleet(base: Path, count: int, files: int = 50) -> None:
    """Write *count* servers; of six, two are equal: a third of the servers in pairs."""
    for number in range(count):
        seed = number - 3 if number % 6 == 5 else number
        write_varied_server(base / f"web{number:04}", seed, files)

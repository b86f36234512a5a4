"""Servers of 2.2 of our own making, as a collection of machines has them: each with other hosts and rules.

A tree has a main file, six files of general settings, a file for each virtual host, and below htdocs the
documents and .htaccess files of the hosts.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Final


def _blocks(text: str) -> dict[str, str]:
    """Return the texts behind the lines ``== NAME``."""
    parts = (part.partition("\n") for part in text.split("== ")[1:])
    return {name: rest for name, _, rest in parts}


MODULES: Final = """
alias auth_basic auth_digest authn_file authz_groupfile authz_host authz_owner authz_user autoindex deflate
dir env expires headers include log_config mime negotiation proxy proxy_http rewrite setenvif status userdir
vhost_alias
""".split()
WORDS: Final = """
amber birch cedar delta ember fjord grove harbor inlet juniper kestrel linden meadow nectar orchid pebble
quarry russet sorrel thistle upland velvet willow yarrow zephyr
""".split()
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
SETTINGS: Final = _blocks("""\
== charset
AddDefaultCharset {charset}
== compression
<Location />
    SetOutputFilter DEFLATE
    SetEnvIfNoCase Request_URI \\.(?:gif|jpe?g|png)$ no-gzip
</Location>
== icons
Alias /icons/ "/etc/httpd/icons/"
<Directory "/etc/httpd/icons">
    Options Indexes MultiViews
    AllowOverride None
    Order allow,deny
    Allow from all
</Directory>
== languages
AddLanguage en .en
AddLanguage de .de
LanguagePriority en de
ForceLanguagePriority Prefer Fallback
== logs
LogFormat "%h %l %u %t \\"%r\\" %>s %b" common
CustomLog logs/access_log common
ErrorLog logs/error_log
LogLevel warn
== status
ExtendedStatus On
<Location /server-status>
    SetHandler server-status
    Order deny,allow
    Deny from all
    Allow from 127.0.0.1 {network}
</Location>
""")
SITE: Final = """\
<VirtualHost *:80>
    ServerName {host}
    ServerAlias www.{host}
    DocumentRoot "/etc/httpd/htdocs/{host}"
    ErrorLog logs/{host}-error_log
{parts}</VirtualHost>
"""
PARTS: Final = _blocks("""\
== redirects
    Redirect permanent /{old} http://{host}/{new}
    RedirectMatch gone ^/{old}-archive/
== rewriting
    RewriteEngine On
    RewriteLog logs/{host}-rewrite_log
    RewriteLogLevel {level}
    RewriteCond %{{HTTP_HOST}} !^{pattern}$ [NC]
    RewriteRule ^/{old}/(.*)$ /{new}/$1 [L]
== front
    RewriteEngine On
    RewriteCond %{{REQUEST_URI}} !^/{new}/
    RewriteRule ^/{old}/([0-9]+)/?$ /{new}/index.html?id=$1 [QSA,L]
== internal
    <Location /{new}>
        Order deny,allow
        Deny from all
        Allow from {network} .{domain}
    </Location>
== password
    <Directory "/etc/httpd/htdocs/{host}/{new}">
        AuthType Basic
        AuthName "{old}"
        AuthUserFile conf/users
        AuthGroupFile conf/groups
        Require group {group}
        Order deny,allow
        Deny from all
        Allow from {network}
        Satisfy {satisfy}
    </Directory>
== banned
    <Directory "/etc/httpd/htdocs/{host}">
        Order allow,deny
        Allow from all
        Deny from {network} env=unwanted
    </Directory>
    BrowserMatchNoCase {old}bot unwanted
== proxy
    ProxyRequests Off
    ProxyPass /{new}/ http://127.0.0.1:{port}/{old}/
    ProxyPassReverse /{new}/ http://127.0.0.1:{port}/{old}/
    <Proxy *>
        Order deny,allow
        Allow from all
    </Proxy>
== caching
    ExpiresActive On
    ExpiresDefault "access plus {level} hours"
    Header set X-Served-By "{old}"
== types
    AddType text/x-{old} .{new}
    DefaultType text/plain
== alias
    Alias /{old} "/etc/httpd/htdocs/{host}/{new}"
    <Directory "/etc/httpd/htdocs/{host}/{new}">
        Options {options}
        Order deny,allow
        Allow from all
    </Directory>
== includes
    <Directory "/etc/httpd/htdocs/{host}">
        Options +Includes
        XBitHack on
    </Directory>
== methods
    <Location /{old}>
        <LimitExcept GET HEAD>
            Order deny,allow
            Deny from all
        </LimitExcept>
    </Location>
""")
HTACCESS: Final = _blocks("""\
== network
Order deny,allow
Deny from all
Allow from {network}
== front
RewriteEngine On
RewriteCond %{{REQUEST_FILENAME}} !-f
RewriteRule ^{old}/(.*)$ {new}/$1 [L]
== users
AuthType Basic
AuthName "{old}"
AuthUserFile /etc/httpd/conf/users
Require valid-user
== documents
ErrorDocument 404 /{new}.html
DirectoryIndex {old}.html index.html
== redirect
Redirect /{old} http://www.{domain}/{new}
Options -Indexes
== expires
ExpiresActive On
ExpiresByType text/html "access plus {level} days"
== types
AddType application/x-{old} .{new}
<Files *.{old}>
    Order allow,deny
    Deny from {network}
</Files>
""")
HTACCESS_FILES: Final = 9


def write_varied_server(tree: Path, seed: int, files: int = 50, hosts: int = 12) -> None:
    """Write a server of 2.2 with *files* files; equal seeds give equal trees."""
    numbers = random.Random(seed)
    domain = f"{numbers.choice(WORDS)}-{seed}.example"
    values = _values(numbers, domain)
    modules = "\n".join(f"LoadModule {name}_module modules/mod_{name}.so" for name in MODULES)
    texts = {
        "conf/httpd.conf": MAIN.format(modules=modules, **values),
        "conf/mime.types": "text/html html htm\ntext/plain txt asc\ntext/css css\nimage/jpeg jpeg jpg\n",
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
        text = numbers.choice(list(HTACCESS.values())).format(**_values(numbers, domain))
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

"""A 2.2 server of many virtual hosts, each of which redirects all requests."""

from __future__ import annotations

from pathlib import Path

from whimbrel.config.options import LoadOptions

MODULES = (
    "authz_host auth_basic authn_file authz_user dir mime alias rewrite log_config setenvif autoindex "
    "proxy proxy_http ssl headers"
)
MAIN = """ServerRoot "{root}"
Listen 80
NameVirtualHost *:80
{modules}
<Directory />
    Options FollowSymLinks
    AllowOverride None
    Order deny,allow
    Deny from all
</Directory>
Include conf/sites/*.conf
"""
HOST = """<VirtualHost *:80>
    ServerName h{number}.example.com
    ServerAlias www.h{number}.example.com
    DocumentRoot {root}/www/h{number}
    CustomLog logs/h{number}.access combined
    <Directory {root}/www/h{number}>
        Options Indexes FollowSymLinks
        AllowOverride All
        Order allow,deny
        Allow from all
    </Directory>
    <Directory {root}/www/h{number}/admin>
        Order deny,allow
        Deny from all
        Allow from 10.0.{octet}.0/24 127.0.0.1
        AuthType Basic
        AuthName "h{number}"
        AuthUserFile conf/users
        Require valid-user
        Satisfy Any
    </Directory>
    <Location /server-status>
        SetHandler server-status
        Order deny,allow
        Deny from all
        Allow from 127.0.0.1
    </Location>
    <FilesMatch "\\.(inc|bak)$">
        Order allow,deny
        Deny from all
    </FilesMatch>
    RewriteEngine On
    RewriteRule ^/(.*)$ http://www.h{number}.example.com/$1 [R=301,L]
</VirtualHost>
"""


def server(root: Path, hosts: int) -> LoadOptions:
    """Write a server with *hosts* virtual hosts, each with a .htaccess file."""
    (root / "conf/sites").mkdir(parents=True)
    lines = "\n".join(f"LoadModule {name}_module modules/mod_{name}.so" for name in MODULES.split())
    (root / "conf/httpd.conf").write_text(MAIN.format(root=root, modules=lines))
    for number in range(hosts):
        (root / f"www/h{number}/admin").mkdir(parents=True)
        (root / f"www/h{number}/.htaccess").write_text(
            "Order allow,deny\nAllow from all\nDeny from 10.0.0.1\n"
        )
        text = HOST.format(root=root, number=number, octet=number % 250)
        (root / f"conf/sites/h{number:03}.conf").write_text(text)
    return LoadOptions(server_root=str(root))

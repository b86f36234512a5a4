"""Generated .htaccess files and fragments: texts of 2.2, of 2.4, of both, and of other modules.

Each text is one that a server of 2.2 may have, or one that somebody half carried to 2.4: a branch of which
one half is old, lists of 2.2 beside Require lines, lines that only one version knows.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Final

_LISTS: Final = (
    "Order allow,deny\nAllow from all",
    "Order deny,allow\nDeny from all",
    "Order deny,allow\nDeny from all\nAllow from 10.0.0.0/8 .example.test",
    "order Allow,Deny\nallow from env=known",
    "ORDER ALLOW,DENY\nALLOW FROM ALL\nDENY FROM 192.0.2.7 2001:db8::/32 198.51.100.0/255.255.255.0",
    "Deny from 192.0.2.7",
    "Allow from 10.1",
    "Order mutual-failure\nAllow from 127.0.0.1",
    "Satisfy Any",
    "Satisfy all",
    "Order deny,allow\nDeny from all\nAllow from \\\n  10.0.0.1 \\\n  10.0.0.2",
    'Order "deny,allow"\n\tDeny from "all"',
)
_BASIC: Final = 'AuthType Basic\nAuthName "area"\nAuthUserFile /etc/users'
_LOGINS: Final = (
    "Require valid-user",
    f"{_BASIC}\nRequire user ann",
    f"{_BASIC}\nAuthGroupFile /etc/groups\nRequire group staff editors",
    f"{_BASIC}\nAuthBasicAuthoritative Off\nAuthzUserAuthoritative Off\nRequire valid-user",
    f"{_BASIC}\nAuthGroupFile /etc/groups\nAuthzGroupFileAuthoritative Off\nAuthzDefaultAuthoritative Off\n"
    "Require group staff\nRequire user ann",
    f"{_BASIC}\nOrder deny,allow\nDeny from all\nAllow from 10.0.0.1\nSatisfy any\nRequire valid-user",
    "AuthType Basic\nAuthName area\nAuthBasicProvider dbm\nAuthDBMUserFile /etc/users.dbm\n"
    "AuthDBMGroupFile /etc/groups.dbm\nAuthzDBMAuthoritative Off\nRequire group staff",
    "AuthType Digest\nAuthName area\nAuthDigestProvider file\nAuthUserFile /etc/digest\nRequire valid-user",
    f"{_BASIC}\nRequire file-owner",
    f"{_BASIC}\nAuthzOwnerAuthoritative Off\nRequire file-group",
    "AuthType Basic\nAuthName area\nAuthBasicProvider ldap\nAuthLDAPURL ldap://127.0.0.1/o=x?uid\n"
    "AuthzLDAPAuthoritative Off\nRequire ldap-group cn=staff,o=x\nRequire valid-user",
    "AuthType Basic\nAuthName area\nAuthBasicProvider anon\nAnonymous guest *\nRequire valid-user",
    f"{_BASIC}\n<Limit POST>\nRequire valid-user\n</Limit>",
    f"{_BASIC}\n<LimitExcept GET>\nRequire user ann bob\n</LimitExcept>",
)
_OTHERS: Final = (
    "Options -Indexes",
    "Options +Indexes FollowSymLinks",
    "Options Indexes -FollowSymLinks +Includes",
    "Options None",
    "Options All -Indexes",
    "Options Multiviews",
    "DirectoryIndex index.html",
    "AddType text/x-log .log",
    "RewriteEngine On\nRewriteRule ^old$ /new [R=301,L]",
    "RewriteEngine On\nRewriteBase /\nRewriteCond %{REQUEST_FILENAME} !-f\nRewriteRule . index.php [L]",
    "RewriteEngine On\nRewriteCond %{HTTP_HOST} ^www\\. [NC]\nRewriteRule (.*) http://a.test/$1 [R,QSA]",
    "RewriteEngine On\nRewriteRule ^a(.*) /b?x=$1 [NE,PT,E=name:value,CO=n:v:example.test]",
    "RewriteOptions inherit",
    "RewriteOptions MaxRedirects=10",
    "ErrorDocument 404 /missing.html",
    'ErrorDocument 403 "no entry',
    "DefaultType text/plain",
    "ForceType None",
    "Header set X-A b",
    "Header always append Vary User-Agent env=known",
    'ExpiresActive On\nExpiresByType text/css A3600\nExpiresDefault "access plus 1 month"',
    "SetEnvIf User-Agent ^known known",
    "BrowserMatchNoCase bot bot",
    "FileETag INode MTime Size",
    "AddOutputFilterByType DEFLATE text/html text/css",
    "SetOutputFilter DEFLATE",
    "AddHandler cgi-script .cgi",
    "AddHandler server-parsed .html\nXBitHack full",
    "SSLRequireSSL",
    "SSLOptions +StdEnvVars\nSSLRequire %{SSL_CIPHER_USEKEYSIZE} >= 128",
    "ContentDigest On",
    "LimitRequestBody 1024",
    "IndexOptions FancyIndexing\nIndexIgnore *~",
    "Redirect permanent /a http://example.test/b",
    "RedirectMatch 301 ^/c(.*) /d$1",
    "CheckSpelling On",
    "CookieTracking On",
    "AddDefaultCharset utf-8",
    "Action pdf /cgi-bin/pdf\nAddHandler pdf .pdf",
    "Substitute s/a/b/n",
    "FilterDeclare unpack\nFilterProvider unpack INFLATE req=Accept $gzip\nFilterChain unpack",
    "CharsetOptions DebugLevel=2",
    "ExtFilterOptions DebugLevel=1 LogStderr",
    'SSIStartTag "<!--#"\nSSIEnableAccess On',
    "MetaFiles On",
    "EnableSendfile Off",
    "UseCanonicalName Off",
    "AcceptPathInfo On",
    "ImapMenu none",
    "CGIMapExtension sys:foo .foo",
    "Foo from nowhere",
)
_NEW: Final = (
    "Require all granted",
    "Require all denied",
    "Require ip 10.0.0.0/8",
    "Require local",
    "Require expr %{REQUEST_METHOD} == 'GET'",
    "<RequireAll>\nRequire all granted\nRequire not ip 192.0.2.7\n</RequireAll>",
    "<RequireAny>\nRequire host example.test\nRequire env known\n</RequireAny>",
    "AuthMerging And\nRequire ip 10",
    "<If \"%{HTTP_HOST} == 'a'\">\nRequire all denied\n</If>\n<Else>\nOptions -Indexes\n</Else>",
    '<If "-z %{QUERY_STRING}">\nOrder allow,deny\nDeny from all\n</If>',
    "<IfFile /etc/passwd>\nOptions -Indexes\n</IfFile>",
    "FallbackResource /index.php",
    "RewriteEngine On\nRewriteRule ^x$ /y [END,QSD]",
    'Header set X-A b "expr=%{REQUEST_STATUS} == 200"',
    'SetEnvIfExpr "%{REQUEST_URI} =~ /x/" x',
    "CGIPassAuth On",
    "AuthzDefaultAuthoritative Off\nRequire all granted",
    "Require all granted\nOrder allow,deny\nAllow from all",
)
_FOREIGN: Final = (
    "php_value memory_limit 64M",
    "php_flag engine off\nphp_flag register_globals off",
    "AddHandler php5-script .php\nAddType application/x-httpd-php .php5",
    "<IfModule mod_php5.c>\nphp_flag magic_quotes_gpc off\n</IfModule>",
    '<FilesMatch "\\.php$">\nSetHandler application/x-httpd-php\n</FilesMatch>',
    "AddHandler fcgid-script .fcgi",
    "<IfModule mod_security.c>\nSecFilterEngine Off\n</IfModule>",
    "ModPagespeed on",
    "SecRuleEngine Off",
    "suPHP_ConfigPath /etc/php",
    "GeoIPEnable On",
    "XSendFile on",
    "AuthMySQLEnable On",
)
_SERVER: Final = (
    "NameVirtualHost *:80",
    "MaxClients 150",
    "MaxRequestsPerChild 1000",
    "LockFile /tmp/accept.lock",
    "AcceptMutex sem",
    "SSLMutex sem",
    "RewriteLock /tmp/rewrite.lock",
    "RewriteLog /tmp/rewrite.log\nRewriteLogLevel 2",
    "KeepAlive 100",
    "CookieLog logs/cookies",
    "CacheEnable mem /\nMCacheSize 100",
    "SSLProtocol all -SSLv2",
    "SSLSessionCache none",
    "LogLevel crit",
    "ServerTokens Full",
    "AuthnProviderAlias",
    "<AuthnProviderAlias file users>\nAuthUserFile /etc/users\n</AuthnProviderAlias>",
    "EnableExceptionHook Off",
    "ProxyRequests Off\nProxyPass /x http://127.0.0.1:1/ nocanon",
    "TypesConfig /etc/mime.types",
    "HostnameLookups On",
    "Alias /icons/ /srv/icons/",
    "DocumentRoot /srv/www",
    "<IfModule mpm_prefork_module>\nStartServers 5\nMaxClients 10\n</IfModule>",
)
_WRAPPERS: Final = (
    ('<Files ~ "\\.inc$">', "</Files>"),
    ("<Files .htpasswd>", "</Files>"),
    ('<FilesMatch "\\.(log|bak)$">', "</FilesMatch>"),
    ("<Limit GET POST>", "</Limit>"),
    ("<LimitExcept GET>", "</LimitExcept>"),
    ("<IfModule mod_authz_host.c>", "</IfModule>"),
    ("<IfModule mod_access_compat.c>", "</IfModule>"),
    ("<IfModule access_compat_module>", "</IfModule>"),
    ("<IfModule !mod_access_compat.c>", "</IfModule>"),
    ("<IfModule !mod_authz_core.c>", "</IfModule>"),
    ("<IfModule mod_authz_core.c>", "</IfModule>"),
    ("<IfModule mod_access.c>", "</IfModule>"),
    ("<IfModule mod_rewrite.c>", "</IfModule>"),
    ("<IfDefine SECRET>", "</IfDefine>"),
    ("<IfDefine !SECRET>", "</IfDefine>"),
    ("<IfVersion < 2.4>", "</IfVersion>"),
    ("<IfVersion >= 2.4>", "</IfVersion>"),
    ("<IfVersion ~ ^2\\.[24]>", "</IfVersion>"),
    ("<ifmodule MOD_NO_SUCH.C>", "</ifmodule>"),
)
_PAIRS: Final = (
    ("<IfVersion < 2.4>", "</IfVersion>", "<IfVersion >= 2.4>", "</IfVersion>"),
    ("<IfVersion < 2.3>", "</IfVersion>", "<IfVersion >= 2.3>", "</IfVersion>"),
    ("<IfModule !mod_authz_core.c>", "</IfModule>", "<IfModule mod_authz_core.c>", "</IfModule>"),
    ("<IfModule mod_access_compat.c>", "</IfModule>", "<IfModule !mod_access_compat.c>", "</IfModule>"),
    (
        "<IfModule mod_version.c>\n<IfVersion < 2.4>",
        "</IfVersion>\n</IfModule>",
        "<IfModule mod_version.c>\n<IfVersion >= 2.4>",
        "</IfVersion>\n</IfModule>",
    ),
    ("<IfModule !mod_version.c>", "</IfModule>", "<IfModule mod_version.c>", "</IfModule>"),
    ("<IfDefine OLD>", "</IfDefine>", "<IfDefine !OLD>", "</IfDefine>"),
)
"""Both halves of a branch."""
_SECTIONS: Final = (
    ("<Directory /srv/www>", "</Directory>"),
    ('<Directory ~ "^/srv/[^/]+">', "</Directory>"),
    ("<Location /a>", "</Location>"),
    ('<LocationMatch "^/(a|b)">', "</LocationMatch>"),
    ("<VirtualHost *:80>\n<Directory />", "</Directory>\n</VirtualHost>"),
    ("<VirtualHost *:80>\nServerName a.test\n<Location />", "</Location>\n</VirtualHost>"),
    ("<Proxy *>", "</Proxy>"),
)
_OF_HOSTS: Final = (
    "ServerAlias www.a.test *.b.test",
    "DocumentRoot /srv/www/a",
    "ServerAdmin me@a.test",
    "ErrorLog logs/a-error.log\nCustomLog logs/a.log combined",
    "LogLevel warn",
    "Alias /doc /usr/share/doc",
    "ScriptAlias /cgi-bin/ /srv/cgi/",
    "Redirect permanent /old http://b.test/",
    "RewriteEngine On\nRewriteCond %{HTTPS} !=on\nRewriteRule ^/(.*) https://%{SERVER_NAME}/$1 [R,L]",
    "RewriteEngine On\nRewriteLog logs/r.log\nRewriteLogLevel 3\nRewriteRule ^/x$ /y [PT]",
    "SSLEngine on\nSSLProtocol all -SSLv2\nSSLCipherSuite HIGH:!ADH\nSSLOptions +StdEnvVars",
    "SSLVerifyClient none\nSSLCARevocationPath /etc/crl",
    "SSLProxyEngine on\nProxyPass /s https://127.0.0.1:1/",
    "ProxyPass /b http://127.0.0.1:1/b retry=0 timeout=5\nProxyPassReverse /b http://127.0.0.1:1/b",
    "ProxyPreserveHost On\nProxyVia Full",
    "<Proxy *>\nOrder deny,allow\nAllow from all\n</Proxy>",
    "<Proxy balancer://pool>\nBalancerMember http://127.0.0.1:1 loadfactor=2\n</Proxy>\n"
    "ProxyPass /p balancer://pool/",
    "<Location /server-status>\nSetHandler server-status\nOrder deny,allow\nDeny from all\n"
    "Allow from 127.0.0.1\n</Location>",
    "<LocationMatch ^/adm>\nSatisfy All\nOrder deny,allow\nDeny from all\nAllow from .a.test\n"
    "</LocationMatch>",
    "UseCanonicalName Off\nVirtualDocumentRoot /srv/%0",
    "UserDir public_html\nUserDir disabled root",
    "RewriteMap low int:tolower",
    "SetEnvIf Remote_Addr ^10\\. inside\nCustomLog logs/in.log common env=inside",
    "php_admin_value open_basedir /srv/www",
    "SuexecUserGroup web web",
    "FastCgiExternalServer /srv/php.fcgi -host 127.0.0.1:9000",
    "WSGIScriptAlias /app /srv/app.wsgi",
    "DefaultType text/html",
    "ServerSignature EMail",
    "HostnameLookups Double",
    "TraceEnable extended",
    "LimitInternalRecursion 5",
    "AllowEncodedSlashes On",
    "<IfModule mod_disk_cache.c>\nCacheEnable disk /\nCacheRoot /var/cache/x\n</IfModule>",
    "ExtFilterDefine gz mode=output cmd=/bin/gzip",
    "DAVLockDB /var/lock/dav\n<Location /dav>\nDAV On\nOrder allow,deny\nAllow from all\n</Location>",
    "AuthType Basic",
    "<Files *.inc>\nDeny from all\n</Files>",
    "MaxClients 10",
    "NameVirtualHost *:80",
)
"""Lines of a virtual host in a file of its own."""
_REFUSED: Final = (
    "RequireAny",
    "Require unknown-word",
    "Require all",
    "<RequireNone>\nRequire ip 10\n</RequireNone>",
    "Require not ip 10",
    "Require ip 10.0.0.1, 10.0.0.2",
    "Require ip",
    "Order allow, deny",
    "Order allow,deny,allow",
    "Allow all",
    "Deny from",
    "ServerTokens Maximal",
    "AllowOverride Everything",
    "ExpiresActive maybe",
    "AuthType",
    "Options Sometimes",
    "RewriteRule ^(",
    "<FilesMatch *.php>\nOptions -Indexes\n</FilesMatch>",
    "Order allow,deny # a comment\nAllow from all",
)
"""Lines that 2.4 refuses although few rules are about them."""
_FAMILIES: Final[tuple[tuple[float, Sequence[str]], ...]] = (
    (0.42, _LISTS),
    (0.6, _LOGINS),
    (0.8, _OTHERS),
    (0.92, _NEW),
    (1.0, _FOREIGN),
)


def generated(count: int, seed: int = 1) -> Iterator[tuple[str, str]]:
    """Yield names and texts of lone files: .htaccess files; fragments for the server; fragments without a
    section, which an Include in a <Directory> reads (`part*.conf`); a virtual host alone (`host*.conf`)."""
    choice = random.Random(seed)
    for number in range(count):
        blocks = [_block(choice) for _ in range(choice.randint(1, 4))]
        if choice.random() < 0.12:
            blocks.insert(choice.randrange(len(blocks) + 1), choice.choice(_REFUSED))
        if number % 4 == 3:
            yield f"part{number}.conf", _written(choice, blocks)
        elif number % 8 == 5:
            yield f"host{number}.conf", _host(choice, blocks)
        elif number % 4 == 1:
            opening, closing = choice.choice(_SECTIONS)
            around = [choice.choice(_SERVER)] if choice.random() < 0.4 else []
            bare = [choice.choice(_LISTS)] if choice.random() < 0.1 else []
            yield f"f{number}.conf", _written(choice, [*around, opening, *blocks, closing, *bare])
        else:
            yield ".htaccess", _written(choice, blocks)


def _host(choice: random.Random, blocks: list[str]) -> str:
    """Return a virtual host with some of its own lines, and *blocks* in a directory."""
    own = choice.sample(_OF_HOSTS, choice.randint(2, 7))
    opening, closing = choice.choice(_SECTIONS[:4])
    address = choice.choice(("*:80", "*", "_default_:443", "10.0.0.1:80", "*:80 *:8080", "a.test:80"))
    inside = [*own, opening, *blocks, closing]
    return _written(choice, [f"<VirtualHost {address}>", "ServerName a.test", *inside, "</VirtualHost>"])


def _written(choice: random.Random, blocks: list[str]) -> str:
    end = choice.choice(("\n",) * 9 + ("\r\n",))
    return "\n".join([*blocks, ""]).replace("\n", end)


def _block(choice: random.Random) -> str:
    """Return a text in up to two sections, or two texts in both halves of a branch."""
    if choice.random() < 0.2:
        return _branches(choice)
    text = _line(choice)
    for _ in range(choice.choice((0, 0, 1, 2))):
        opening, closing = choice.choice(_WRAPPERS)
        text = f"{opening}\n{text}\n{closing}"
    return text


def _branches(choice: random.Random) -> str:
    first, first_end, second, second_end = choice.choice(_PAIRS)
    old = choice.choice(_LISTS if choice.random() < 0.8 else _LOGINS)
    other = choice.choice(_NEW if choice.random() < 0.5 else _LISTS)
    text = f"{first}\n{old}\n{first_end}\n{second}\n{other}\n{second_end}"
    if choice.random() < 0.3:
        text = f'<FilesMatch "\\.(log|bak)$">\n{text}\n</FilesMatch>'
    return text


def _line(choice: random.Random) -> str:
    point = choice.random()
    return next(choice.choice(texts) for bound, texts in _FAMILIES if point < bound)

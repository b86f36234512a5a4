"""Pairs of texts: changes that open a server or change what it does, and changes without any effect.

``@ROOT@`` stands for the directory of the server. The first text is the old one.
"""

from __future__ import annotations

from typing import Final

MODULES: Final = (
    *("ssl", "socache_shmcb", "proxy", "proxy_http", "slotmem_shm", "proxy_balancer", "lbmethod_byrequests"),
    *("remoteip", "allowmethods", "dav", "dav_fs", "log_config", "reqtimeout", "expires", "deflate"),
    *("filter", "unixd", "status", "info", "actions", "cgid", "include", "negotiation", "userdir"),
    "auth_digest",
)
_PRIVATE: Final = '<Directory "@ROOT@/htdocs/private">\n{}\n</Directory>'
_HOST: Final = (
    "<VirtualHost *:8080>\nServerName tls.example\nSSLEngine on\nSSLCertificateFile conf/server.pem\n"
    "SSLCertificateKeyFile conf/server.pem\n{}\n</VirtualHost>"
)
OPENING: Final[dict[str, tuple[str, str]]] = {
    "client certificate": (_HOST.format("SSLVerifyClient require"), _HOST.format("SSLVerifyClient none")),
    "optional certificate": (
        _HOST.format("SSLVerifyClient require"),
        _HOST.format("SSLVerifyClient optional"),
    ),
    "any certificate": (
        _HOST.format("SSLVerifyClient optional"),
        _HOST.format("SSLVerifyClient optional_no_ca"),
    ),
    "authority of clients": (
        _HOST.format("SSLCACertificateFile conf/ca.pem\nSSLVerifyClient require"),
        _HOST.format("SSLCACertificateFile conf/other-ca.pem\nSSLVerifyClient require"),
    ),
    "depth of chains": (_HOST.format("SSLVerifyDepth 1"), _HOST.format("SSLVerifyDepth 10")),
    "certificate in a location": (
        _HOST.format("<Location /private>\nSSLVerifyClient require\n</Location>"),
        _HOST.format("<Location /private>\nSSLVerifyClient none\n</Location>"),
    ),
    "protocols": (_HOST.format("SSLProtocol TLSv1.3"), _HOST.format("SSLProtocol all")),
    "open proxy": ("ProxyRequests Off", "ProxyRequests On"),
    "other back end": (
        "ProxyPass /app http://10.0.0.1:8000/",
        "ProxyPass /app http://10.0.0.2:8000/",
    ),
    "other path at the back end": (
        "ProxyPass /app http://10.0.0.1:8000/app",
        "ProxyPass /app http://10.0.0.1:8000/admin",
    ),
    "member of a balancer": (
        "<Proxy balancer://pool>\nBalancerMember http://10.0.0.1:80\n</Proxy>\nProxyPass /app balancer://pool/",
        "<Proxy balancer://pool>\nBalancerMember http://10.9.0.1:80\n</Proxy>\nProxyPass /app balancer://pool/",
    ),
    "exception of a proxy": (
        "ProxyPass /app/private !\nProxyPass /app http://10.0.0.1:8000/",
        "ProxyPass /app http://10.0.0.1:8000/",
    ),
    "forwarded client": ("", "RemoteIPHeader X-Forwarded-For"),
    "trusted proxies": (
        "RemoteIPHeader X-Forwarded-For\nRemoteIPTrustedProxy 10.0.0.1",
        "RemoteIPHeader X-Forwarded-For\nRemoteIPTrustedProxy 10.0.0.0/8",
    ),
    "forged field": ("RequestHeader unset X-Forwarded-For", ""),
    "user of the back end": ("RequestHeader set X-User none", "RequestHeader setifempty X-User none"),
    "proxied host": ("ProxyPreserveHost Off", "ProxyPreserveHost On"),
    "edited cookie": ('Header edit Set-Cookie ^(.*)$ "$1; Secure"', ""),
    "methods": ("<Location />\nAllowMethods GET\n</Location>", ""),
    "size of bodies": ("LimitRequestBody 1000", "LimitRequestBody 0"),
    "length of lines": ("LimitRequestLine 500", "LimitRequestLine 8000"),
    "number of fields": ("LimitRequestFields 20", "LimitRequestFields 0"),
    "listening": ("", "Listen 127.0.0.1:8099"),
    "keep-alive": ("KeepAlive Off", "KeepAlive On"),
    "patience": ("Timeout 5", "Timeout 3000"),
    "slow clients": ("RequestReadTimeout header=5 body=5", "RequestReadTimeout header=0 body=0"),
    "path info": (
        _PRIVATE.format("AcceptPathInfo Off"),
        _PRIVATE.format("AcceptPathInfo On"),
    ),
    "DAV": (
        "DavLockDB logs/locks",
        "DavLockDB logs/locks\n" + _PRIVATE.format("Dav On"),
    ),
    "canonical name": ("UseCanonicalName On", "UseCanonicalName Off"),
    "error of the server": ("ErrorDocument 500 sorry", "ErrorDocument 500 /private/index.html"),
    "error of a back end": ("ErrorDocument 504 sorry", "ErrorDocument 504 http://other.example/"),
    "listing": (
        _PRIVATE.format("Options +Indexes\nIndexIgnore *.key\nDirectoryIndex disabled"),
        _PRIVATE.format("Options +Indexes\nIndexIgnore *.doc\nDirectoryIndex disabled"),
    ),
    "name of the server": ("ServerTokens Prod", "ServerTokens Full"),
    "format of logs": (
        'LogFormat "%h %u" short\nCustomLog logs/access short',
        'LogFormat "%u" short\nCustomLog logs/access short',
    ),
    "condition of logs": (
        'CustomLog logs/access "%h"',
        'CustomLog logs/access "%h" env=!quiet',
    ),
    "anchor of a file pattern": (
        '<FilesMatch "\\.(inc|bak)$">\nRequire all denied\n</FilesMatch>',
        '<FilesMatch "^x\\.(inc|bak)$">\nRequire all denied\n</FilesMatch>',
    ),
    "repetition in a location": (
        '<LocationMatch "^/[a-z]{1,40}/secret">\nRequire all denied\n</LocationMatch>',
        '<LocationMatch "^/[a-z]{1,39}/secret">\nRequire all denied\n</LocationMatch>',
    ),
    "pattern of a variable": (
        "SetEnvIf User-Agent ^Bad[0-9]{12}$ bad\n"
        + _PRIVATE.format("Order allow,deny\nAllow from all\nDeny from env=bad"),
        "SetEnvIf User-Agent ^Bad[0-9]{12}x?y$ bad\n"
        + _PRIVATE.format("Order allow,deny\nAllow from all\nDeny from env=bad"),
    ),
    "condition of a rule": (
        "RewriteEngine On\nRewriteCond %{REMOTE_ADDR} !^10\\.0\\.0\\.1$\nRewriteRule ^/private - [F]",
        "RewriteEngine On\nRewriteCond %{REMOTE_ADDR} !^10\\.0\\.0\\.\nRewriteRule ^/private - [F]",
    ),
    "time of a rule": (
        "RewriteEngine On\nRewriteCond %{TIME_HOUR} <08\nRewriteRule ^/private - [F]",
        "RewriteEngine On\nRewriteCond %{TIME_HOUR} <03\nRewriteRule ^/private - [F]",
    ),
    "condition of a section": (
        "<If \"%{HTTP:X-Key} == 'a1b2'\">\nSetEnv ok 1\n</If>",
        "<If \"%{HTTP:X-Key} != ''\">\nSetEnv ok 1\n</If>",
    ),
    "field with an expression": (
        "Header set X-Kind internal \"expr=-R '10.0.0.0/8'\"",
        "Header set X-Kind internal \"expr=-R '10.0.0.0/7'\"",
    ),
    "verified back end": (
        "SSLProxyEngine on\nSSLProxyVerify require\nProxyPass /app https://10.0.0.1/",
        "SSLProxyEngine on\nSSLProxyVerify none\nProxyPass /app https://10.0.0.1/",
    ),
    "cookies of a back end": (
        "ProxyPass /app http://10.0.0.1/\nProxyPassReverseCookiePath / /app/",
        "ProxyPass /app http://10.0.0.1/",
    ),
}
"""Changes that no pair may be called *same* for."""
WITHOUT_EFFECT: Final[dict[str, tuple[str, str]]] = {
    "a comment": ("KeepAlive On", "# about connections\nKeepAlive On"),
    "blanks": ("Header set X-A 1", "   Header   set  X-A\t1"),
    "case of a directive": ("KeepAlive Off", "keepalive off"),
    "quotes": ("Header set X-A 1", 'Header set "X-A" "1"'),
    "a continued line": ("Header set X-A 1", "Header set \\\n  X-A 1"),
    "order of modules": ("Header set X-A 1\nSetEnv a b", "SetEnv a b\nHeader set X-A 1"),
    "order of types": (
        "AddType text/x-a .a\nAddType text/x-b .b",
        "AddType text/x-b .b\nAddType text/x-a .a",
    ),
    "types on one line": ("AddType text/x-a .a .b", "AddType text/x-a .a\nAddType text/x-a .b"),
    "extension without dot": ("AddType text/x-a .a", "AddType text/x-a a"),
    "default of KeepAlive": ("", "KeepAlive On"),
    "default of Timeout": ("", "Timeout 60"),
    "default of LimitRequestLine": ("", "LimitRequestLine 8190"),
    "default of ProxyRequests": ("", "ProxyRequests Off"),
    "default of UseCanonicalName": ("", "UseCanonicalName Off"),
    "default of ServerTokens": ("", "ServerTokens Full"),
    "default of DirectorySlash": ("", "DirectorySlash On"),
    "default of SSLVerifyClient": (_HOST.format(""), _HOST.format("SSLVerifyClient none")),
    "path of a log": ('CustomLog logs/a "%h"', 'CustomLog logs/b "%h"'),
    "error log": ("ErrorLog logs/a", "ErrorLog logs/b\nLogLevel info"),
    "processes": ("StartServers 2", "StartServers 3\nMaxRequestWorkers 150"),
    "relative path": ("Alias /x @ROOT@/htdocs/private", 'Alias "/x" "@ROOT@/htdocs/private"'),
    "slash of a directory": (
        _PRIVATE.format("Require all denied"),
        '<Directory "@ROOT@/htdocs/private/">\nRequire all denied\n</Directory>',
    ),
    "order of Allow": (
        _PRIVATE.format("Order allow,deny\nAllow from 10.0.0.0/8\nAllow from 127.0.0.1"),
        _PRIVATE.format("Order allow,deny\nAllow from 127.0.0.1\nAllow from 10.0.0.0/8"),
    ),
    "mask of a network": (
        _PRIVATE.format("Require ip 10.0.0.0/8"),
        _PRIVATE.format("Require ip 10.0.0.0/255.0.0.0"),
    ),
    "Order and Require": (
        _PRIVATE.format("Order deny,allow\nDeny from all"),
        _PRIVATE.format("Require all denied"),
    ),
    "RequireAny": (
        _PRIVATE.format("Require ip 10.0.0.1\nRequire ip 10.0.0.2"),
        _PRIVATE.format("<RequireAny>\nRequire ip 10.0.0.1\nRequire ip 10.0.0.2\n</RequireAny>"),
    ),
    "an inactive module": ("Header set X-A 1", "<IfModule headers_module>\nHeader set X-A 1\n</IfModule>"),
    "a definition": ("Header set X-A 1", "Define value 1\nHeader set X-A ${value}"),
    "pattern of files": (
        '<Files ~ "\\.inc$">\nRequire all denied\n</Files>',
        '<FilesMatch "\\.inc$">\nRequire all denied\n</FilesMatch>',
    ),
    "two sections": (
        _PRIVATE.format("Header set X-A 1\nSetEnv a b"),
        _PRIVATE.format("Header set X-A 1") + "\n" + _PRIVATE.format("SetEnv a b"),
    ),
    "a repeated line": ("KeepAlive Off", "KeepAlive Off\nKeepAlive Off"),
    "an overridden line": ("Timeout 30", "Timeout 40\nTimeout 30"),
    "redirect by name": ("Redirect 301 /old http://x.example/", "RedirectPermanent /old http://x.example/"),
    "redirect by status": ("Redirect /old http://x.example/", "Redirect 302 /old http://x.example/"),
    "seconds": ("Timeout 60", "Timeout 60s"),
    "order of names": (
        "<VirtualHost *:8080>\nServerName a.example\nServerAlias b.example c.example\n</VirtualHost>",
        "<VirtualHost *:8080>\nServerName a.example\nServerAlias c.example b.example\n</VirtualHost>",
    ),
    "a module": ("", "LoadModule speling_module modules/mod_speling.so"),
    "moved into a host": (
        "Header set X-A 1\n<VirtualHost *:8080>\nServerName a.example\n</VirtualHost>",
        "Header set X-A 1\n<VirtualHost *:8080>\nServerName a.example\nHeader set X-A 1\n</VirtualHost>",
    ),
}
"""Changes that no pair may be called different for."""

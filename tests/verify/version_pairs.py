"""Pairs of texts of both versions: changes that open, close or change a server, and changes without effect.

``@ROOT@`` stands for the directory of the server. The first text is one of 2.2, the second one of 2.4. Both
stand below `BASE_22` and `BASE_24`, which say the same.
"""

from __future__ import annotations

from typing import Final

from tests.verify.pairs import MODULES

OLD_ALONE: Final = frozenset(
    ("remoteip", "allowmethods", "socache_shmcb", "slotmem_shm", "lbmethod_byrequests", "unixd")
)
"""Modules that 2.2 does not have."""
MODULES_22: Final = tuple(name for name in MODULES if name not in OLD_ALONE)
BASE_22: Final = """
<Directory />
Options FollowSymLinks
AllowOverride None
Order deny,allow
Deny from all
</Directory>
<Directory "@ROOT@/htdocs">
Order allow,deny
Allow from all
</Directory>
AddDefaultCharset UTF-8
"""
BASE_24: Final = """
<Directory />
Options FollowSymLinks
AllowOverride None
Require all denied
</Directory>
<Directory "@ROOT@/htdocs">
Require all granted
</Directory>
AddDefaultCharset UTF-8
Header set Content-Type "text/plain" "expr=-z %{CONTENT_TYPE}"
RequestReadTimeout header=0 body=0
FileETag INode MTime Size
"""
_OLD: Final = '<Directory "@ROOT@/htdocs/private">\n{}\n</Directory>'
_NEW: Final = _OLD
_CLOSED: Final = (
    "AuthType Basic\nAuthName Private\nAuthUserFile conf/users\nAuthGroupFile conf/groups\n"
    "AuthBasicProvider file\n"
)
_HOST: Final = (
    "<VirtualHost *:8080>\nServerName tls.example\nSSLEngine on\nSSLCertificateFile conf/server.pem\n"
    "SSLCertificateKeyFile conf/server.pem\n{}\n</VirtualHost>"
)
_POOL: Final = (
    "<Proxy balancer://pool>\nBalancerMember http://{}:80{}\n</Proxy>\nProxyPass /app balancer://pool/"
)
_FROM_ONE: Final = "Order deny,allow\nDeny from all\nAllow from 10.0.0.1"
CHANGES: Final[dict[str, tuple[str, str]]] = {
    "another network": (_OLD.format(_FROM_ONE), _NEW.format("Require ip 10.0.0.0/8")),
    "no network": (_OLD.format(_FROM_ONE), _NEW.format("Require all granted")),
    "lost exception": (
        _OLD.format("Order allow,deny\nAllow from all\nDeny from 10.0.0.7"),
        _NEW.format("Require all granted"),
    ),
    "either for both": (
        _OLD.format(_CLOSED + "Require valid-user\n" + _FROM_ONE + "\nSatisfy All"),
        _NEW.format(_CLOSED + "Require valid-user\nRequire ip 10.0.0.1"),
    ),
    "any user for a group": (
        _OLD.format(_CLOSED + "Require group admin"),
        _NEW.format(_CLOSED + "Require valid-user"),
    ),
    "another user": (_OLD.format(_CLOSED + "Require user alice"), _NEW.format(_CLOSED + "Require user bob")),
    "methods of a limit": (
        _OLD.format("<Limit POST PUT>\n" + _FROM_ONE + "\n</Limit>"),
        _NEW.format("<Limit PUT>\nRequire ip 10.0.0.1\n</Limit>"),
    ),
    "client certificate": (_HOST.format("SSLVerifyClient require"), _HOST.format("")),
    "optional certificate": (
        _HOST.format("SSLVerifyClient require"),
        _HOST.format("SSLVerifyClient optional"),
    ),
    "authority of clients": (
        _HOST.format("SSLCACertificateFile conf/ca.pem\nSSLVerifyClient require"),
        _HOST.format("SSLCACertificateFile conf/other-ca.pem\nSSLVerifyClient require"),
    ),
    "depth of chains": (_HOST.format("SSLVerifyDepth 1"), _HOST.format("SSLVerifyDepth 9")),
    "open proxy": ("ProxyRequests Off", "ProxyRequests On"),
    "proxied host": ("ProxyPreserveHost On", ""),
    "other back end": ("ProxyPass /app http://10.0.0.1:8000/", "ProxyPass /app http://10.0.0.2:8000/"),
    "other path at the back end": (
        "ProxyPass /app http://10.0.0.1:8000/app",
        "ProxyPass /app http://10.0.0.1:8000/",
    ),
    "exception of a proxy": (
        "ProxyPass /app/in !\nProxyPass /app http://10.0.0.1:8000/",
        "ProxyPass /app http://10.0.0.1:8000/",
    ),
    "member of a balancer": (_POOL.format("10.0.0.1", ""), _POOL.format("10.0.0.2", "")),
    "weight of a member": (_POOL.format("10.0.0.1", " loadfactor=1"), _POOL.format("10.0.0.1", " status=+H")),
    "redirects of a back end": (
        "ProxyPass /app http://10.0.0.1/\nProxyPassReverse /app http://10.0.0.1/",
        "ProxyPass /app http://10.0.0.1/",
    ),
    "cookies of a back end": (
        "ProxyPass /app http://10.0.0.1/\nProxyPassReverseCookieDomain in.example out.example",
        "ProxyPass /app http://10.0.0.1/\nProxyPassReverseCookieDomain in.example .example",
    ),
    "paths of cookies": (
        "ProxyPass /app http://10.0.0.1/\nProxyPassReverseCookiePath / /app/",
        "ProxyPass /app http://10.0.0.1/",
    ),
    "unverified back end": (
        "SSLProxyEngine on\nSSLProxyVerify require\nProxyPass /app https://10.0.0.1/",
        "SSLProxyEngine on\nSSLProxyVerify none\nProxyPass /app https://10.0.0.1/",
    ),
    "forwarded client": ("", "RemoteIPHeader X-Forwarded-For"),
    "forged field": ("RequestHeader unset X-Forwarded-For", ""),
    "user of the back end": ("RequestHeader set X-User none", "RequestHeader append X-User none"),
    "edited cookie": ('Header edit Set-Cookie ^(.*)$ "$1; Secure"', ""),
    "kind of header": ("Header always set X-A 1", "Header onsuccess set X-A 1"),
    "methods": ("", "<Location /private>\nAllowMethods GET\n</Location>"),
    "size of bodies": ("LimitRequestBody 1000", "LimitRequestBody 0"),
    "default size of bodies": ("LimitRequestBody 1000", ""),
    "length of lines": ("LimitRequestLine 500", ""),
    "number of fields": ("LimitRequestFields 20", "LimitRequestFields 0"),
    "size of fields": ("LimitRequestFieldSize 1000", "LimitRequestFieldSize 8000"),
    "listening": ("", "Listen 127.0.0.1:8099"),
    "keep-alive": ("KeepAlive Off", ""),
    "requests of a connection": ("MaxKeepAliveRequests 10", "MaxKeepAliveRequests 0"),
    "patience": ("Timeout 5", ""),
    "default patience": ("", "Timeout 60"),
    "slow clients": ("RequestReadTimeout header=5 body=5", ""),
    "path info": (_OLD.format("AcceptPathInfo Off"), _NEW.format("AcceptPathInfo On")),
    "DAV": ("DavLockDB logs/locks", "DavLockDB logs/locks\n" + _NEW.format("Dav On")),
    "canonical name": ("UseCanonicalName On", ""),
    "request error": ("ErrorDocument 400 sorry", "ErrorDocument 400 /private/index.html"),
    "error of a size": ("ErrorDocument 413 sorry", ""),
    "error of a length": ("ErrorDocument 414 sorry", "ErrorDocument 414 /private/index.html"),
    "error of the server": ("ErrorDocument 500 sorry", "ErrorDocument 500 http://other.example/"),
    "error of a back end": ("ErrorDocument 504 sorry", ""),
    "hidden files": (
        _OLD.format("Options +Indexes\nIndexIgnore *.key"),
        _NEW.format("Options +Indexes\nIndexIgnore *.doc"),
    ),
    "form of listings": (
        _OLD.format("Options +Indexes\nIndexOptions FancyIndexing"),
        _NEW.format("Options +Indexes\nIndexOptions FancyIndexing ScanHTMLTitles"),
    ),
    "name of the server": ("ServerTokens Prod", ""),
    "format of logs": (
        'LogFormat "%h %u" short\nCustomLog logs/access short',
        'LogFormat "%u" short\nCustomLog logs/access short',
    ),
    "condition of logs": ('CustomLog logs/access "%h"', 'CustomLog logs/access "%h" env=!quiet'),
    "tracing": ("TraceEnable off", ""),
    "encoded slashes": ("AllowEncodedSlashes Off", "AllowEncodedSlashes On"),
    "anchor of a file pattern": (
        '<FilesMatch "\\.(inc|bak)$">\nOrder allow,deny\nDeny from all\n</FilesMatch>',
        '<FilesMatch "^x\\.(inc|bak)$">\nRequire all denied\n</FilesMatch>',
    ),
    "repetition in a location": (
        '<LocationMatch "^/[a-z]{1,40}/secret">\nOrder allow,deny\nDeny from all\n</LocationMatch>',
        '<LocationMatch "^/[a-z]{1,39}/secret">\nRequire all denied\n</LocationMatch>',
    ),
    "pattern of a variable": (
        "SetEnvIf User-Agent ^Bad[0-9]{12}$ bad\n"
        + _OLD.format("Order allow,deny\nAllow from all\nDeny from env=bad"),
        "SetEnvIf User-Agent ^Bad[0-9]{13}$ bad\n"
        + _NEW.format("<RequireAll>\nRequire all granted\nRequire not env bad\n</RequireAll>"),
    ),
    "time of a rule": (
        "RewriteEngine On\nRewriteCond %{TIME_HOUR} <08\nRewriteRule ^/private - [F]",
        "RewriteEngine On\nRewriteCond %{TIME_HOUR} <03\nRewriteRule ^/private - [F]",
    ),
    "order of locations": (
        "<Location /private>\nLimitRequestBody 10\n</Location>\n<Location /private/in>\nLimitRequestBody 0\n"
        "</Location>",
        "<Location /private/in>\nLimitRequestBody 0\n</Location>\n<Location /private>\nLimitRequestBody 10\n"
        "</Location>",
    ),
    "password file": (
        _OLD.format(_CLOSED + "Require valid-user"),
        _NEW.format(_CLOSED.replace("conf/users", "conf/others") + "Require valid-user"),
    ),
    "realm": (
        _OLD.format(_CLOSED + "Require valid-user"),
        _NEW.format(_CLOSED.replace("Private", "Public") + "Require valid-user"),
    ),
}
"""Changes that no pair may be called *same* for."""
_DENIED: Final = ("Order allow,deny\nDeny from all", "Require all denied")
SAME: Final[dict[str, tuple[str, str]]] = {
    "nothing": ("", ""),
    "comment": ("KeepAlive On", "# about connections\nKeepAlive On"),
    "blanks": ("Header set X-A 1", "   Header   set  X-A\t1"),
    "case": ("KeepAlive Off\nheader set X-A 1", "keepalive off\nHEADER set X-A 1"),
    "quotes": ("Header set X-A 1", 'Header set "X-A" "1"'),
    "continued": ("Header set X-A 1", "Header set \\\n  X-A 1"),
    "order of modules": ("Header set X-A 1\nSetEnv a b", "SetEnv a b\nHeader set X-A 1"),
    "order of types": (
        "AddType text/x-a .a\nAddType text/x-b .b",
        "AddType text/x-b .b\nAddType text/x-a .a",
    ),
    "types on one line": ("AddType text/x-a .a .b", "AddType text/x-a .a\nAddType text/x-a .b"),
    "true condition": ("Header set X-A 1", "<IfModule headers_module>\nHeader set X-A 1\n</IfModule>"),
    "false condition": (
        "Header set X-A 1",
        "<IfModule no_module>\nKeepAlive Off\n</IfModule>\nHeader set X-A 1",
    ),
    "version": (
        "<IfVersion < 2.4>\nHeader set X-A 1\n</IfVersion>",
        "<IfVersion >= 2.4>\nHeader set X-A 1\n</IfVersion>",
    ),
    "include": ("Header set X-A 1\nKeepAlive Off", "Include conf/a.inc"),
    "definition": ("Header set X-A 1", "Define value 1\nHeader set X-A ${value}"),
    "workers": ("MaxClients 150", "MaxRequestWorkers 150"),
    "requests of a child": ("MaxRequestsPerChild 0", "MaxConnectionsPerChild 0"),
    "mutexes": ("LockFile logs/lock\nAcceptMutex flock", "Mutex file:logs default"),
    "TLS mutex": ("SSLMutex file:logs/mutex\nSSLRandomSeed startup builtin", "SSLRandomSeed startup builtin"),
    "name-based hosts": (
        "NameVirtualHost *:8080\n"
        "<VirtualHost *:8080>\nServerName a.example\nHeader set X-A 1\n</VirtualHost>",
        "<VirtualHost *:8080>\nServerName a.example\nHeader set X-A 1\n</VirtualHost>",
    ),
    "closed": (_OLD.format(_DENIED[0]), _NEW.format(_DENIED[1])),
    "network": (_OLD.format(_FROM_ONE), _NEW.format("Require ip 10.0.0.1")),
    "two networks": (
        _OLD.format(_FROM_ONE + " 10.0.0.2"),
        _NEW.format("<RequireAny>\nRequire ip 10.0.0.2\nRequire ip 10.0.0.1\n</RequireAny>"),
    ),
    "exception": (
        _OLD.format("Order allow,deny\nAllow from all\nDeny from 10.0.0.7"),
        _NEW.format("<RequireAll>\nRequire all granted\nRequire not ip 10.0.0.7\n</RequireAll>"),
    ),
    "user and network": (
        _OLD.format(_CLOSED + "Require valid-user\n" + _FROM_ONE + "\nSatisfy All"),
        _NEW.format(_CLOSED + "<RequireAll>\nRequire valid-user\nRequire ip 10.0.0.1\n</RequireAll>"),
    ),
    "user or network": (
        _OLD.format(_CLOSED + "Require valid-user\n" + _FROM_ONE + "\nSatisfy Any"),
        _NEW.format(_CLOSED + "Require valid-user\nRequire ip 10.0.0.1"),
    ),
    "files": (
        f'<FilesMatch "^\\.ht">\n{_DENIED[0]}\nSatisfy All\n</FilesMatch>',
        f'<FilesMatch "^\\.ht">\n{_DENIED[1]}\n</FilesMatch>',
    ),
    "files by a tilde": (
        f'<Files ~ "\\.inc$">\n{_DENIED[0]}\n</Files>',
        f'<FilesMatch "\\.inc$">\n{_DENIED[1]}\n</FilesMatch>',
    ),
    "location": (
        f"<Location /server-status>\nSetHandler server-status\n{_FROM_ONE}\n</Location>",
        "<Location /server-status>\nSetHandler server-status\nRequire ip 10.0.0.1\n</Location>",
    ),
    "kept access": (_OLD.format(_DENIED[0]), _NEW.format(_DENIED[0])),
    "environment": (
        "SetEnvIf User-Agent robot bad\n"
        + _OLD.format("Order allow,deny\nAllow from all\nDeny from env=bad"),
        "SetEnvIf User-Agent robot bad\n"
        + _NEW.format("<RequireAll>\nRequire all granted\nRequire not env bad\n</RequireAll>"),
    ),
    "limit": (
        _OLD.format("<Limit POST PUT>\n" + _FROM_ONE + "\n</Limit>"),
        _NEW.format("<Limit PUT POST>\nRequire ip 10.0.0.1\n</Limit>"),
    ),
    "default type": ("DefaultType text/plain", ""),
    "default of Timeout": ("", "Timeout 300"),
    "default of the body": ("", "LimitRequestBody 0"),
    "default of KeepAlive": ("", "KeepAlive On"),
    "default of LimitRequestLine": ("LimitRequestLine 8190", ""),
    "default of UseCanonicalName": ("UseCanonicalName Off", ""),
    "default of ServerTokens": ("", "ServerTokens Full"),
    "default of DirectoryIndex": ("DirectoryIndex index.html", ""),
    "path of a log": ('CustomLog logs/a "%h"', 'CustomLog logs/b "%h"'),
    "error log": ("ErrorLog logs/a", "ErrorLog logs/b\nLogLevel info"),
    "processes": ("StartServers 2\nMinSpareServers 3", "StartServers 3"),
    "relative path": ("Alias /x @ROOT@/htdocs/private", 'Alias "/x" "@ROOT@/htdocs/private"'),
    "slash of a directory": (
        _OLD.format(_DENIED[0]),
        f'<Directory "@ROOT@/htdocs/private/">\n{_DENIED[1]}\n</Directory>',
    ),
    "two sections": (
        _OLD.format("Header set X-A 1\nSetEnv a b"),
        _NEW.format("Header set X-A 1") + "\n" + _NEW.format("SetEnv a b"),
    ),
    "repeated": ("KeepAlive Off", "KeepAlive Off\nKeepAlive Off"),
    "overridden": ("Timeout 30", "Timeout 40\nTimeout 30"),
    "redirect by name": ("Redirect 301 /old http://x.example/", "RedirectPermanent /old http://x.example/"),
    "order of locations": (
        "<Location /a>\nHeader set X-A 1\n</Location>\n<Location /b>\nHeader set X-B 1\n</Location>",
        "<Location /b>\nHeader set X-B 1\n</Location>\n<Location /a>\nHeader set X-A 1\n</Location>",
    ),
    "names": (
        "<VirtualHost *:8080>\nServerName a.example\nServerAlias b.example c.example\n</VirtualHost>",
        "<VirtualHost *:8080>\nServerName a.example\nServerAlias c.example b.example\n</VirtualHost>",
    ),
    "revocation": (
        _HOST.format("SSLCARevocationFile conf/list.pem"),
        _HOST.format("SSLCARevocationFile conf/list.pem\nSSLCARevocationCheck chain no_crl_for_cert_ok"),
    ),
    "unchecked back end": (
        "SSLProxyEngine on\nProxyPass /app https://10.0.0.1/",
        "SSLProxyEngine on\nProxyPass /app https://10.0.0.1/\n"
        "SSLProxyCheckPeerCN off\nSSLProxyCheckPeerName off\nSSLProxyCheckPeerExpire off",
    ),
    "a rule": (
        "RewriteEngine On\nRewriteRule ^/old/([a-z]+)$ /private/$1 [L]",
        "RewriteEngine On\nRewriteRule ^/old/([a-z]+)$ /private/$1 [L]",
    ),
}
"""Changes that no pair may be called different for."""

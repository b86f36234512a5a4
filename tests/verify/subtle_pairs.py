"""Pairs of configurations of 2.4 that differ in one subtle matter, with requests that show it.

A pair is a text with a place for what differs, both contents of that place, and requests; apache2 decides
what the answers are. ``@ROOT@`` stands for the directory of the server.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Pair:
    """Two configurations.

    Attributes:
        text: the common lines; ``@HERE@`` is where *old* or *new* stands, if that is not the end.
        files: files below the root with one content.
        changed: files below the root with the contents of both sides.
        requests: ``METHOD TARGET``, then any of ``host=`` (``-``: none),
            ``from=``, ``user=`` and ``Field:value``.
    """

    old: str
    new: str
    requests: tuple[str, ...]
    text: str = ""
    files: dict[str, str] = field(default_factory=dict)
    changed: dict[str, tuple[str, str]] = field(default_factory=dict)


_BASIC = 'AuthType Basic\nAuthName "staff"\nAuthUserFile conf/users\nAuthGroupFile conf/groups\n'
_DOCS = '<Directory "@ROOT@/htdocs/docs">\n{}\n</Directory>'
_ALL_FILES = '<Directory "@ROOT@/htdocs">\nAllowOverride All\n</Directory>\n'
PAIRS: dict[str, Pair] = {
    "Location after Files": Pair(
        '<Location "/docs">\nRequire all granted\n</Location>\n<Files "*.inc">\nRequire all denied\n</Files>',
        '<Files "*.inc">\nRequire all denied\n</Files>\n<Location "/docs/sub">\nRequire all granted\n'
        "</Location>",
        ("GET /docs/a.inc", "GET /docs/sub/a.inc", "GET /a.inc"),
    ),
    "Files inside or outside of a Directory": Pair(
        _DOCS.format('<Files "*.inc">\nRequire all denied\n</Files>'),
        _DOCS.format("Require all granted") + '\n<Files "*.inc">\nRequire all denied\n</Files>',
        ("GET /a.inc", "GET /docs/a.inc"),
    ),
    "If is merged last": Pair(
        "<If \"%{QUERY_STRING} == 'open'\">\nRequire all granted\n</If>\n"
        '<Location "/docs">\nRequire all denied\n</Location>',
        '<Location "/docs">\nRequire all denied\n<If "%{QUERY_STRING} == \'opened\'">\nRequire all granted\n'
        "</If>\n</Location>",
        ("GET /docs/a.txt?open", "GET /docs/a.txt?opened", "GET /docs/a.txt"),
    ),
    "two If sections": Pair(
        '<If "true">\nHeader set X-Kind first\n</If>\n<If "-n req(\'X-A\')">\nHeader set X-Kind second\n'
        "</If>",
        '<If "-n req(\'X-A\')">\nHeader set X-Kind second\n</If>\n<If "true">\nHeader set X-Kind first\n'
        "</If>",
        ("GET /a.txt X-A:1", "GET /a.txt"),
    ),
    "ElseIf": Pair(
        "<If \"%{REQUEST_METHOD} == 'POST'\">\nHeader set X-M post\n</If>\n"
        "<ElseIf \"-n req('X-A')\">\nHeader set X-M a\n</ElseIf>\n<Else>\nHeader set X-M other\n</Else>",
        "<If \"%{REQUEST_METHOD} == 'POST'\">\nHeader set X-M post\n</If>\n"
        "<If \"-n req('X-A')\">\nHeader set X-M a\n</If>\n<Else>\nHeader set X-M other\n</Else>",
        ("POST /a.txt", "POST /a.txt X-A:1", "GET /a.txt X-A:1"),
    ),
    "AllowOverride list": Pair(
        "AllowOverride FileInfo AuthConfig",
        "AllowOverride None\nAllowOverrideList Header",
        ("GET /docs/a.txt", "GET /docs/b.txt user=ann"),
        text=_DOCS.format("@HERE@\nRequire all granted"),
        files={"htdocs/docs/.htaccess": "Require all denied\nHeader set X-Docs yes\n"},
    ),
    "AllowOverride nonfatal": Pair(
        "AllowOverride FileInfo Nonfatal=Override",
        "AllowOverride FileInfo",
        ("GET /docs/a.txt",),
        text=_DOCS.format("@HERE@\nRequire all granted"),
        files={"htdocs/docs/.htaccess": "Header set X-Docs yes\nDirectoryIndex a.txt\n"},
    ),
    "AuthMerging": Pair(
        "AuthMerging And\nRequire user ann",
        "AuthMerging Or\nRequire user ann",
        ("GET /docs/sub/a.txt user=ann", "GET /docs/sub/a.txt user=bob", "GET /docs/sub/a.txt user=cat"),
        text=_DOCS.format(f"{_BASIC}Require group staff")
        + '\n<Directory "@ROOT@/htdocs/docs/sub">\n@HERE@\n</Directory>',
    ),
    "Require not in RequireAny": Pair(
        "<RequireAll>\nRequire ip 127.0.0\nRequire not ip 127.0.0.2\n</RequireAll>",
        "<RequireAny>\nRequire ip 127.0.0\nRequire ip 127.0.0.2\n</RequireAny>",
        ("GET /docs/a.txt from=127.0.0.2", "GET /docs/a.txt from=127.1.2.3"),
        text=_DOCS.format("@HERE@"),
    ),
    "RequireNone": Pair(
        "<RequireAll>\nRequire valid-user\n<RequireNone>\nRequire user bob\n</RequireNone>\n</RequireAll>",
        "<RequireAll>\nRequire valid-user\n<RequireNone>\nRequire group guests\n</RequireNone>\n"
        "</RequireAll>",
        ("GET /docs/a.txt user=bob", "GET /docs/a.txt user=cat"),
        text=_DOCS.format(f"{_BASIC}@HERE@"),
    ),
    "RewriteOptions inherit": Pair(
        "RewriteEngine On\nRewriteOptions Inherit",
        "RewriteEngine On\nRewriteOptions InheritBefore",
        ("GET /docs/x", "GET /docs/sub/x", "GET /a.txt"),
        text='<Directory "@ROOT@/htdocs">\nRewriteEngine On\nRewriteRule x$ /a.txt [L]\n</Directory>\n'
        + _DOCS.format("@HERE@\nRewriteRule x$ /b.txt [L]"),
    ),
    "RewriteBase in nested .htaccess files": Pair(
        "",
        "",
        ("GET /docs/sub/go", "GET /docs/go", "GET /shown/sub/go"),
        text=_ALL_FILES + 'Alias "/shown" "@ROOT@/htdocs/docs"\n',
        files={"htdocs/docs/.htaccess": "RewriteEngine On\nRewriteRule ^go$ a.txt\n"},
        changed={
            "htdocs/docs/sub/.htaccess": (
                "RewriteEngine On\nRewriteBase /docs\nRewriteRule ^go$ a.txt\n",
                "RewriteEngine On\nRewriteBase /docs/sub\nRewriteRule ^go$ a.txt\n",
            )
        },
    ),
    "rules in a host or in a directory": Pair(
        "RewriteEngine On\nRewriteRule ^/docs/(.*)$ /pub/$1 [PT]",
        '<Directory "@ROOT@/htdocs">\nRewriteEngine On\nRewriteRule ^docs/(.*)$ /pub/$1 [PT]\n</Directory>',
        ("GET /docs/a.txt", "GET /pub/a.txt"),
        text='Alias "/pub" "@ROOT@/pub"\n' + _DOCS.format("Require all denied"),
    ),
    "rewriting of the main server": Pair(
        "RewriteEngine On\nRewriteOptions Inherit",
        "RewriteEngine On",
        ("GET /old host=one.test", "GET /old"),
        text="RewriteEngine On\nRewriteRule ^/old$ /a.txt [PT]\n"
        "<VirtualHost *:@PORT@>\nServerName main.test\nRewriteEngine On\n</VirtualHost>\n"
        "<VirtualHost *:@PORT@>\nServerName one.test\n@HERE@\n</VirtualHost>",
    ),
    "alias order": Pair(
        'Alias "/pub/docs" "@ROOT@/htdocs/docs"\nAlias "/pub" "@ROOT@/pub"',
        'Alias "/pub" "@ROOT@/pub"\nAlias "/pub/docs" "@ROOT@/htdocs/docs"',
        ("GET /pub/docs/a.txt", "GET /pub/a.txt"),
    ),
    "alias in a location": Pair(
        'Alias "/pub/" "@ROOT@/pub/"',
        'Alias "/pub" "@ROOT@/pub/"',
        ("GET /pub", "GET /pub/a.txt", "GET /pub/"),
    ),
    "ProxyPass exclusion behind": Pair(
        'ProxyPass "/api/public" "!"\nProxyPass "/api" "http://127.0.0.1:9/"',
        'ProxyPass "/api" "http://127.0.0.1:9/"\nProxyPass "/api/public" "!"',
        ("GET /api/public/a.txt", "GET /api/x"),
    ),
    "proxied variable": Pair(
        'SetEnvIf Request_URI "^/api/public" no-proxy\nProxyPass "/api" "http://127.0.0.1:9/"',
        'SetEnvIf Request_URI "^/api/pub$" no-proxy\nProxyPass "/api" "http://127.0.0.1:9/"',
        ("GET /api/public/a.txt", "GET /api/pub"),
    ),
    "ErrorDocument of a directory": Pair(
        "ErrorDocument 404 default",
        'ErrorDocument 404 "here"',
        ("GET /docs/none", "GET /none", "GET /docs/sub/none"),
        text="ErrorDocument 404 /a.txt\n" + _DOCS.format("@HERE@"),
    ),
    "ErrorDocument and the status of its document": Pair(
        "ErrorDocument 404 /b.txt",
        "ErrorDocument 404 http://127.0.0.1/b.txt",
        ("GET /none",),
    ),
    "Options with signs": Pair(
        "Options +Indexes",
        "Options Indexes",
        ("GET /docs/list/", "GET /docs/list/page.shtml"),
        text='<Directory "@ROOT@/htdocs">\nOptions +Includes\nAddOutputFilter INCLUDES .shtml\n</Directory>\n'
        '<Directory "@ROOT@/htdocs/docs/list">\n@HERE@\n</Directory>',
    ),
    "Options minus in a .htaccess file": Pair(
        "",
        "",
        ("GET /docs/list/", "GET /docs/list/page.shtml"),
        text='<Directory "@ROOT@/htdocs">\nOptions Indexes Includes\nAllowOverride All\n'
        "AddOutputFilter INCLUDES .shtml\n</Directory>\n",
        changed={"htdocs/docs/list/.htaccess": ("Options -Includes\n", "Options None\n")},
    ),
    "MultiViews": Pair(
        "Options All MultiViews",
        "Options All",
        ("GET /docs/page", "GET /docs/page Accept-Language:de"),
        text="AddLanguage de .de\nAddLanguage en .en\n" + _DOCS.format("@HERE@"),
    ),
    "DirectoryIndex list": Pair(
        "DirectoryIndex none.html b.txt",
        "DirectoryIndex disabled\nDirectoryIndex none.html a.txt b.txt",
        ("GET /docs/", "GET /docs/sub/"),
        text=_DOCS.format("@HERE@"),
    ),
    "DirectoryIndex added below": Pair(
        "DirectoryIndex b.txt page.shtml",
        "DirectoryIndex page.shtml b.txt",
        ("GET /docs/", "GET /docs/sub/", "GET /docs/list/"),
        text=_DOCS.format("DirectoryIndex b.txt")
        + '\n<Directory "@ROOT@/htdocs/docs/list">\nOptions +Indexes\n@HERE@\n</Directory>',
    ),
    "SetEnvIf order": Pair(
        'SetEnvIf Request_URI "\\.txt$" text\nSetEnvIf text 1 open\n'
        'SetEnvIf Remote_Addr "^127\\.0\\.0\\.2" !open',
        'SetEnvIf Remote_Addr "^127\\.0\\.0\\.2" !open\nSetEnvIf Request_URI "\\.txt$" text\n'
        "SetEnvIf text 1 open",
        ("GET /docs/a.txt from=127.0.0.2", "GET /docs/a.txt"),
        text="@HERE@\n" + _DOCS.format("Require env open"),
    ),
    "SetEnv is late": Pair(
        'SetEnvIf Request_URI "^/docs" open',
        "SetEnv open 1",
        ("GET /docs/a.txt",),
        text="@HERE@\n" + _DOCS.format("Require env open"),
    ),
    "Header always": Pair(
        "Header set X-Frame-Options DENY",
        "Header always set X-Frame-Options DENY",
        ("GET /none", "GET /a.txt", "GET /docs"),
    ),
    "Header of both tables": Pair(
        "Header set X-A one\nHeader always unset X-A",
        "Header set X-A one\nHeader onsuccess unset X-A",
        ("GET /a.txt", "GET /none"),
    ),
    "Header edit behind set": Pair(
        'Header edit Cache-Control "public" "private"\nHeader set Cache-Control "public"',
        'Header set Cache-Control "public"\nHeader edit Cache-Control "public" "private"',
        ("GET /a.txt",),
    ),
    "Header early": Pair(
        "RequestHeader set X-In yes early\nSetEnvIf X-In yes known",
        "RequestHeader set X-In yes\nSetEnvIf X-In yes known",
        ("GET /a.txt",),
        text="@HERE@\nHeader set X-Known yes env=known",
    ),
    "ExpiresByType": Pair(
        'ExpiresByType text/* "access plus 1 day"',
        'ExpiresByType text/plain "access plus 1 day"',
        ("GET /index.html", "GET /a.txt"),
        text='ExpiresActive On\nExpiresDefault "access plus 1 minute"\n@HERE@',
    ),
    "FilesMatch class": Pair(
        '<FilesMatch "\\.(inc|bak|sh)$">\nRequire all denied\n</FilesMatch>',
        '<FilesMatch "\\.[inc|bak|sh]$">\nRequire all denied\n</FilesMatch>',
        ("GET /a.inc", "GET /a.c", "GET /a.txt"),
    ),
    "FilesMatch case": Pair(
        '<FilesMatch "(?i)\\.inc$">\nRequire all denied\n</FilesMatch>',
        '<FilesMatch "\\.inc$">\nRequire all denied\n</FilesMatch>',
        ("GET /B.INC", "GET /a.inc"),
    ),
    "host by address before names": Pair(
        "<VirtualHost 127.0.0.1:@PORT@>\nServerName addressed.test\nHeader set X-Host addressed\n"
        "</VirtualHost>",
        "<VirtualHost *:@PORT@>\nServerName addressed.test\nHeader set X-Host addressed\n</VirtualHost>",
        ("GET / host=one.test", "GET / host=addressed.test", "GET / host=none.test"),
        text="<VirtualHost *:@PORT@>\nServerName one.test\nHeader set X-Host one\n</VirtualHost>\n@HERE@",
    ),
    "default host": Pair(
        "<VirtualHost *:@PORT@>\nServerName one.test\nHeader set X-Host one\n</VirtualHost>\n"
        "<VirtualHost *:@PORT@>\nServerName two.test\nHeader set X-Host two\n</VirtualHost>",
        "<VirtualHost *:@PORT@>\nServerName two.test\nHeader set X-Host two\n</VirtualHost>\n"
        "<VirtualHost *:@PORT@>\nServerName one.test\nHeader set X-Host one\n</VirtualHost>",
        ("GET / host=one.test", "GET / host=none.test", "GET / host=127.0.0.1"),
    ),
    "wildcard alias before a name": Pair(
        "ServerAlias *.test",
        "ServerAlias *.one.test",
        ("GET / host=two.test", "GET / host=www.one.test", "GET / host=x.test"),
        text="<VirtualHost *:@PORT@>\nServerName one.test\n@HERE@\nHeader set X-Host one\n</VirtualHost>\n"
        "<VirtualHost *:@PORT@>\nServerName two.test\nHeader set X-Host two\n</VirtualHost>",
    ),
    "ServerPath": Pair(
        "ServerPath /second",
        "ServerPath /second/sub",
        ("GET /second/a.txt host=-", "GET /second/sub/a.txt host=-", "GET /second/a.txt host=one.test"),
        text="<VirtualHost *:@PORT@>\nServerName one.test\n</VirtualHost>\n"
        '<VirtualHost *:@PORT@>\nServerName two.test\n@HERE@\nDocumentRoot "@ROOT@/pub"\n'
        'Alias "/second" "@ROOT@/pub"\n</VirtualHost>',
    ),
    "UserDir": Pair(
        "UserDir @ROOT@/home/*/web\nUserDir disabled bob",
        "UserDir @ROOT@/home/*/web\nUserDir disabled\nUserDir enabled bob",
        ("GET /~ann/a.txt", "GET /~bob/a.txt"),
    ),
    "VirtualDocumentRoot": Pair(
        "VirtualDocumentRoot @ROOT@/mass/%0",
        "VirtualDocumentRoot @ROOT@/mass/%-2",
        ("GET /a.txt host=one.test", "GET /a.txt host=two.test"),
        text="UseCanonicalName Off\n@HERE@",
    ),
    "DirectorySlash": Pair(
        "DirectorySlash Off\nOptions +Indexes",
        "DirectorySlash On\nOptions +Indexes",
        ("GET /docs", "GET /docs/"),
        text=_DOCS.format("@HERE@"),
    ),
    "PATH_INFO": Pair(
        "AcceptPathInfo On",
        "AcceptPathInfo Default",
        ("GET /docs/a.txt/more", "GET /docs/a.txt"),
        text=_DOCS.format("@HERE@"),
    ),
    "Limit and LimitExcept": Pair(
        "<Limit POST PUT DELETE>\nRequire user ann\n</Limit>",
        "<LimitExcept GET OPTIONS>\nRequire user ann\n</LimitExcept>",
        (
            "PROPFIND /docs/a.txt",
            "POST /docs/a.txt",
            "GET /docs/a.txt",
            "OPTIONS /docs/a.txt",
            "PATCH /docs/a.txt",
        ),
        text=_DOCS.format(f"{_BASIC}@HERE@"),
    ),
    "Satisfy": Pair(
        "Satisfy Any",
        "Satisfy All",
        ("GET /docs/a.txt", "GET /docs/a.txt from=127.0.0.2", "GET /docs/a.txt from=127.0.0.2 user=ann"),
        text=_DOCS.format(
            f"{_BASIC}Order deny,allow\nDeny from all\nAllow from 127.0.0.1\n@HERE@\nRequire user ann"
        ),
    ),
    "Order": Pair(
        "Order allow,deny\nAllow from all\nDeny from 127.0.0.2",
        "Order deny,allow\nAllow from all\nDeny from 127.0.0.2",
        ("GET /docs/a.txt from=127.0.0.2", "GET /docs/a.txt"),
        text=_DOCS.format("@HERE@"),
    ),
    "TRACE": Pair("TraceEnable Off", "TraceEnable On", ("TRACE /", "OPTIONS /")),
    "Digest realm": Pair(
        'AuthName "staff"',
        'AuthName "Staff"',
        ("GET /docs/a.txt",),
        text=_DOCS.format("AuthType Digest\n@HERE@\nAuthUserFile conf/digest\nRequire valid-user"),
    ),
    "DBM of users": Pair(
        "AuthBasicProvider dbm file\nAuthDBMUserFile conf/none",
        "AuthBasicProvider file",
        ("GET /docs/a.txt user=ann",),
        text=_DOCS.format(f"{_BASIC}@HERE@\nRequire valid-user"),
    ),
    "group file with odd lines": Pair(
        "",
        "",
        ("GET /docs/a.txt user=ann", "GET /docs/a.txt user=bob", "GET /docs/a.txt user=cat"),
        text=_DOCS.format(f"{_BASIC}Require group staff"),
        changed={
            "conf/groups": (
                "#staff: cat\nstaff : ann\n  staff: bob\n",
                "staff: ann # cat\nstaff: bob\\\n cat\n",
            )
        },
    ),
    "redirect order": Pair(
        "Redirect 302 /docs http://x.test/\nRedirect 301 /docs/sub http://y.test/",
        "Redirect 301 /docs/sub http://y.test/\nRedirect 302 /docs http://x.test/",
        ("GET /docs/sub/a", "GET /docs/b"),
    ),
    "redirect and rule": Pair(
        "Redirect 302 /docs/a.txt http://x.test/",
        "RewriteEngine On\nRewriteRule ^/docs/a\\.txt$ http://x.test/ [R]",
        ("GET /docs/a.txt", "GET /docs/a.txt/more", "GET /docs/a.txt?q=1"),
    ),
    "type by Files": Pair(
        '<Files "a.*">\nForceType text/x-a\n</Files>',
        "AddType text/x-a .txt",
        ("GET /a.txt", "GET /b.txt", "GET /docs/a.inc"),
    ),
    "RemoveHandler": Pair(
        "RemoveType .txt",
        "RemoveHandler .txt",
        ("GET /docs/a.txt", "GET /a.txt"),
        text="AddType text/x-note .txt\n" + _DOCS.format("@HERE@"),
    ),
    "LimitRequestBody": Pair(
        "LimitRequestBody 10",
        "LimitRequestBody 0",
        ("POST /docs/a.txt", "GET /docs/a.txt"),
        text="LimitRequestBody 10\n" + _DOCS.format("@HERE@"),
    ),
    "FallbackResource": Pair(
        "FallbackResource /a.txt",
        "FallbackResource /b.txt",
        ("GET /docs/none", "GET /docs/", "GET /docs/a.txt"),
        text=_DOCS.format("@HERE@"),
    ),
    "encoded slashes": Pair(
        "AllowEncodedSlashes On",
        "AllowEncodedSlashes NoDecode",
        ("GET /docs%2fa.txt", "GET /docs/a.txt"),
    ),
    "merged slashes": Pair(
        "MergeSlashes Off",
        "MergeSlashes On",
        ("GET //docs//a.txt", "GET /docs//sub/a.txt"),
        text='@HERE@\n<LocationMatch "^/docs/sub">\nRequire all denied\n</LocationMatch>',
    ),
    "condition flag": Pair(
        'RewriteCond "%{HTTP_USER_AGENT}" "bad" [NC]\nRewriteCond "%{REQUEST_URI}" "!^/docs"',
        'RewriteCond "%{HTTP_USER_AGENT}" "bad" [NC,OR]\nRewriteCond "%{REQUEST_URI}" "!^/docs"',
        ("GET /docs/a.txt User-Agent:Bad", "GET /a.txt User-Agent:x", "GET /a.txt User-Agent:bad"),
        text="RewriteEngine On\n@HERE@\nRewriteRule ^ - [F]",
    ),
    "last rule": Pair(
        "RewriteRule ^go$ a.txt [L]",
        "RewriteRule ^go$ a.txt [END]",
        ("GET /docs/go", "GET /docs/a.txt"),
        text=_DOCS.format("RewriteEngine On\n@HERE@\nRewriteRule ^a\\.txt$ b.txt"),
    ),
    "escaped substitution": Pair(
        "RewriteRule ^/go/(.*)$ /docs/?n=$1 [R]",
        "RewriteRule ^/go/(.*)$ /docs/?n=$1 [R,NE]",
        ("GET /go/a%25b", "GET /go/a"),
        text="RewriteEngine On\n@HERE@",
    ),
}
BASE = """ServerRoot "@ROOT@"
Listen 127.0.0.1:@PORT@
User www-data
Group www-data
ServerName localhost
PidFile logs/pid
DefaultRuntimeDir logs
ErrorLog logs/error_log
TypesConfig conf/mime.types
DocumentRoot "@ROOT@/htdocs"
KeepAlive On
<Directory />
AllowOverride None
Options None
Require all denied
</Directory>
<Directory "@ROOT@/htdocs">
Options FollowSymLinks
Require all granted
</Directory>
<Directory "@ROOT@/pub">
Require all granted
</Directory>
<Directory "@ROOT@/mass">
Require all granted
</Directory>
<Directory "@ROOT@/home/*/web">
Require all granted
</Directory>
FileETag MTime Size
"""

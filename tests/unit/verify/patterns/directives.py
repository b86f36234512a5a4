"""Pairs of directives with patterns: of different languages, and of equal ones.

``@`` stands for the pattern; it is replaced by the old and the new one.
"""

from __future__ import annotations

from typing import Final

_DENIED: Final = "Require all denied"
_VARIABLES: Final = (
    *("TIME", "TIME_YEAR", "TIME_MON", "TIME_DAY", "TIME_HOUR", "TIME_MIN", "TIME_SEC", "TIME_WDAY"),
    "SERVER_PROTOCOL",
)
FORMS: Final = {
    "setenvif": '<Location />\nSetEnvIf X-Kind "@" met\nHeader set X-Met yes env=met\n</Location>',
    "nocase": 'SetEnvIfNoCase X-Kind "@" met\nHeader set X-Met yes env=met',
    "browser": 'BrowserMatch "@" met\n<Directory "@ROOT@/htdocs">\n<RequireAll>\nRequire all granted\n'
    "Require not env met\n</RequireAll>\n</Directory>",
    "uri": 'SetEnvIf Request_URI "@" met\n<Location />\nHeader always set X-Met yes env=met\n</Location>',
    "address": 'SetEnvIf Remote_Addr "@" met\n<Location />\nHeader always set X-Met yes env=met\n</Location>',
    "files": f'<FilesMatch "@">\n{_DENIED}\n</FilesMatch>',
    "tilde": f'<Files ~ "@">\n{_DENIED}\n</Files>',
    "location": f'<LocationMatch "@">\n{_DENIED}\n</LocationMatch>',
    "directory": f'<DirectoryMatch "@ROOT@/htdocs@">\n{_DENIED}\n</DirectoryMatch>',
    "directory wildcard": f'<Directory "@ROOT@/@/private">\n{_DENIED}\n</Directory>',
    "wildcard": f'<Files "@">\n{_DENIED}\n</Files>',
    "location wildcard": f'<Location "@">\n{_DENIED}\n</Location>',
    "alias": 'AliasMatch "@" "@ROOT@/htdocs/private/index.html"',
    "redirect": 'RedirectMatch 302 "@" /elsewhere',
    "gone": 'RedirectMatch gone "@"',
    "rule": 'RewriteEngine On\nRewriteRule "@" - [F]',
    "rule nocase": 'RewriteEngine On\nRewriteRule "@" /elsewhere [R=302,NC,L]',
    "capture": 'RewriteEngine On\nRewriteRule "@" /elsewhere/$1 [R=302,L]',
    "directory rule": '<Directory "@ROOT@/htdocs">\nRewriteEngine On\nRewriteRule "@" - [F]\n</Directory>',
    "host": 'RewriteEngine On\nRewriteCond %{HTTP_HOST} "@"\nRewriteRule ^ - [F]',
    "field": 'RewriteEngine On\nRewriteCond %{HTTP:X-Kind} "@"\nRewriteRule ^ - [F]',
    "agent": 'RewriteEngine On\nRewriteCond %{HTTP_USER_AGENT} "@" [NC]\nRewriteRule ^/private - [F]',
    "request": 'RewriteEngine On\nRewriteCond %{REQUEST_URI} "@"\nRewriteRule .* - [G]',
    "request line": 'RewriteEngine On\nRewriteCond %{THE_REQUEST} "@"\nRewriteRule .* - [G]',
    "query": 'RewriteEngine On\nRewriteCond %{QUERY_STRING} "@"\nRewriteRule ^/index - [F]',
    **{name: f'RewriteEngine On\nRewriteCond %{{{name}}} "@"\nRewriteRule ^ - [F]' for name in _VARIABLES},
    "client host": "HostnameLookups On\n"
    'RewriteEngine On\nRewriteCond %{REMOTE_HOST} "@"\nRewriteRule ^ - [F]',
    "method": 'RewriteEngine On\nRewriteCond %{REQUEST_METHOD} "@"\nRewriteRule ^ - [F]',
    "expression": f'<If "%{{HTTP:X-Kind}} =~ m#@#">\n{_DENIED}\n</If>',
    "require": '<Directory "@ROOT@/htdocs">\nRequire expr %{HTTP_USER_AGENT} =~ m#@#\n</Directory>',
    "edit": 'Header set X-Kind "aab"\nHeader edit X-Kind "@" z',
}
DIFFERENT: Final[list[tuple[str, str, str]]] = [
    ("setenvif", "^bad", "bad"),
    ("setenvif", "^a\\.b$", "^a.b$"),
    ("setenvif", "^a{2,3}$", "^a{2,4}$"),
    ("setenvif", "^[a-f]+$", "^[a-e]+$"),
    ("setenvif", "^(one|two|three)$", "^(one|two)$"),
    ("setenvif", "^(.)-\\1$", "^(.)-.$"),
    ("nocase", "^old$", "^old"),
    ("browser", "Bot$", "Bot"),
    ("browser", "Evil(Bot|Crawler)", "Evil(Bot|Spider)"),
    ("uri", "\\.php$", "\\.php"),
    ("uri", "^/private/", "/private/"),
    ("address", "^10\\.1\\.", "^10\\.1"),
    ("address", "^192\\.168\\.[0-9]+\\.1$", "^192\\.168\\.[0-9]+\\.1"),
    ("files", "\\.(bak|old|inc)$", "\\.(bak|old)$"),
    ("files", "\\.inc$", ".inc$"),
    ("files", "^\\.ht", "\\.ht"),
    ("files", "(?i)\\.bak$", "\\.bak$"),
    ("files", "^(?!public).*\\.txt$", "^(?!public$).*\\.txt$"),
    ("tilde", "~$", "~"),
    ("location", "^/admin(/|$)", "^/admin"),
    ("location", "^/(admin|manager)/", "^/admin/"),
    ("location", "/[0-9]{2,3}$", "/[0-9]{2,4}$"),
    ("directory", "/private(/|$)", "/private/sub"),
    ("wildcard", "*.inc", "*.in?"),
    ("wildcard", "*.[ab]", "*.[abc]"),
    ("location wildcard", "/*/private", "/?/private"),
    ("alias", "^/a/(.*)$", "^/a(.*)$"),
    ("redirect", "^/old$", "^/old"),
    ("gone", "\\.asp$", "\\.aspx?$"),
    ("rule", "^/secret", "/secret"),
    ("rule", "!^/public", "!^/public/"),
    ("rule", "^/x+$", "^/x*$"),
    ("rule nocase", "^/old/", "^/old"),
    ("capture", "^/a/(.*)$", "^/a/(.+)$"),
    ("directory rule", "^secret", "secret"),
    ("directory rule", "^private/(a|b)$", "^private/(a|b|c)$"),
    ("host", "^www\\.example\\.test$", "^www.example\\.test$"),
    ("host", "^www\\.", "^(www\\.)?"),
    ("host", "!^localhost$", "!^localhost"),
    ("field", "^on$", "on"),
    ("agent", "wget|curl", "wget"),
    ("request", "^/wp-(admin|login)", "^/wp-admin"),
    ("request line", "^GET /old", "^[A-Z]+ /old"),
    ("query", "(^|&)id=[0-9]+(&|$)", "(^|&)id=[0-9]*(&|$)"),
    ("TIME_HOUR", "^0[0-5]$", "^0[0-6]$"),
    ("TIME", "^20300102030405$", "^2030010203040[56]$"),
    ("TIME_YEAR", "^203[0-5]$", "^203[0-4]$"),
    ("TIME_MON", "^0[1-6]$", "^0[1-5]$"),
    ("TIME_DAY", "^2[0-8]$", "^2[0-7]$"),
    ("TIME_MIN", "^[0-4]\\d$", "^[0-3]\\d$"),
    ("TIME_SEC", "^[0-4]\\d$", "^[0-3]\\d$"),
    ("TIME_WDAY", "^[06]$", "^6$"),
    ("SERVER_PROTOCOL", "^HTTP/1\\.0$", "^HTTP/1\\.[01]$"),
    ("client host", "^a\\.example$", "^[ab]\\.example$"),
    ("method", "^(TRACE|TRACK)", "^TRACE"),
    ("expression", "^in$", "^i"),
    ("require", "^Good", "Good"),
    ("edit", "a+", "a"),
]
"""Form, old pattern, new pattern: requests show the difference."""
UNDECIDED: Final[list[tuple[str, str, str]]] = [
    ("capture", "^/(a+)(.*)$", "^/(a+?)(.*)$"),
    ("edit", "^a", "a"),
    ("setenvif", "^(?>a+)b", "^a+b"),
    ("alias", "^/a/(.*)$", "^/(a)/.*$"),
]
"""Pairs that may differ, and for which no request is found that shows it."""
EQUAL: Final[list[tuple[str, str, str]]] = [
    ("setenvif", "^(a|b)$", "^[ab]$"),
    ("setenvif", "bad.*", "bad"),
    ("setenvif", "^[0-9]{2}$", "^\\d\\d$"),
    ("setenvif", "^.*evil", "evil"),
    ("nocase", "^old$", "^OLD$"),
    ("nocase", "[a-z]x", "[A-Z]x"),
    ("browser", "(Bot|Crawler)", "(?:Crawler|Bot)"),
    ("uri", "^/.*\\.php$", "\\.php$"),
    ("address", "^10\\.1\\.", "^10[.]1[.]"),
    ("files", "^.*\\.(bak|old)$", "\\.(old|bak)$"),
    ("files", "\\.tx?t$", "\\.(txt|tt)$"),
    ("tilde", "^\\.ht", "^[.]ht.*"),
    ("location", "^/admin/.*$", "^/admin/"),
    ("location", "^/(admin)", "^/+admin"),
    ("wildcard", "*.[ab]", "*.[ba]"),
    ("directory wildcard", "htdoc[st]", "htdoc[ts]"),
    ("redirect", "^/old/.*$", "^/old/"),
    ("rule", "^/secret.*$", "^/secret"),
    ("rule", "^/a?b", "^/(a|)b"),
    ("capture", "^/a\\.b/(.*)$", "^/a[.]b/(.*)$"),
    ("rule nocase", "^/old", "^/OLD"),
    ("directory rule", "^secret$", "^(?:secret)$"),
    ("host", "^www\\.example\\.test$", "^www[.]example[.]test$"),
    ("field", "^(on|off)$", "^o(n|ff)$"),
    ("query", "(^|&)id=", "(?:^|&)id="),
    ("TIME_HOUR", "^0[0-5]$", "^(00|01|02|03|04|05)$"),
    ("TIME_HOUR", "^(0\\d|1\\d|2[0-3])$", "^[0-2]\\d$"),
    ("expression", "^in.*", "^in"),
    ("request line", "^GET /old", "^GET[ ]/old"),
]
"""Form, old pattern, new pattern: no pair may be called different."""


def text_of(form: str, pattern: str) -> str:
    """Return the directives of a form with its pattern."""
    text = FORMS[form].replace("@ROOT@", "\0").replace("@", pattern)
    return text.replace("\0", "@ROOT@")

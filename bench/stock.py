"""What Debian configures for every site: lines of its apache2.conf, mods-enabled and nginx.conf."""

from __future__ import annotations

MODULES = ("alias", "setenvif", "negotiation", "autoindex", "filter")
BROWSERS = """BrowserMatch "Mozilla/2" nokeepalive
BrowserMatch "MSIE 4\\.0b2;" nokeepalive downgrade-1.0 force-response-1.0
BrowserMatch "RealPlayer 4\\.0" force-response-1.0
BrowserMatch "Java/1\\.0" force-response-1.0
BrowserMatch "JDK/1\\.0" force-response-1.0
BrowserMatch "Microsoft Data Access Internet Publishing Provider" redirect-carefully
BrowserMatch "^WebDrive" redirect-carefully
BrowserMatch "^gnome-vfs/1.0" redirect-carefully
LogFormat "%h %l %u %t \\"%r\\" %>s %O \\"%{Referer}i\\" \\"%{User-Agent}i\\"" combined
"""
TYPES = {
    "text/html": "html htm shtml",
    "text/css": "css",
    "text/plain": "txt asc text pot brf srt c h",
    "text/xml": "xml xsd",
    "text/x-python": "py",
    "application/javascript": "js",
    "application/rss+xml": "rss",
    "application/atom+xml": "atom",
    "application/pdf": "pdf",
    "application/octet-stream": "bin img",
    "application/x-tar": "tar",
    "application/zip": "zip",
    "image/gif": "gif",
    "image/jpeg": "jpeg jpg jpe",
    "image/png": "png",
    "image/svg+xml": "svg svgz",
    "image/vnd.microsoft.icon": "ico",
}
LANGUAGES = "ca cs da de el en eo es et fr he hr it ja ko lt nl no pl pt ru sv tr".split()
CHARSETS = {
    "us-ascii": ".ascii .us-ascii",
    "ISO-8859-1": ".iso8859-1 .latin1",
    "ISO-8859-2": ".iso8859-2 .latin2 .cen",
    "ISO-8859-5": ".iso8859-5 .cyr .iso-ru",
    "Big5": ".Big5 .big5 .b5",
    "UTF-8": ".utf8",
    "UTF-16": ".utf16",
}
DEFLATE = """AddOutputFilterByType DEFLATE text/html text/plain text/xml text/css text/javascript
AddOutputFilterByType DEFLATE application/x-javascript application/javascript application/ecmascript
AddOutputFilterByType DEFLATE application/rss+xml
AddOutputFilterByType DEFLATE application/wasm
AddOutputFilterByType DEFLATE application/xml
"""
NGINX = """        keepalive_requests 100;
        tcp_nopush on;
"""
NGINX_TYPES = (
    "        types {\n"
    + "".join(f"            {kind} {names};\n" for kind, names in TYPES.items())
    + "        }\n"
)


def httpd(documents: str) -> str:
    """Return the configuration of a site whose documents are in that directory."""
    types = "".join(
        f"AddType {kind} {' '.join('.' + name for name in names.split())}\n" for kind, names in TYPES.items()
    )
    languages = "".join(f"AddLanguage {name} .{name}\n" for name in LANGUAGES if name not in ("es", "tr"))
    charsets = "".join(f"AddCharset {name} {endings}\n" for name, endings in CHARSETS.items())
    return f"""MaxKeepAliveRequests 100
KeepAliveTimeout 5
{BROWSERS}{types}AddType application/x-compress .Z
AddType application/x-gzip .gz .tgz
AddType application/x-bzip2 .bz2
{languages}{charsets}AddHandler type-map var
LanguagePriority {" ".join(LANGUAGES)}
ForceLanguagePriority Prefer Fallback
DirectoryIndex index.html index.cgi index.pl index.php index.xhtml index.htm
IndexOptions FancyIndexing VersionSort HTMLTable NameWidth=* DescriptionWidth=* Charset=UTF-8
Alias /icons/ "{documents}/icons/"
<FilesMatch "^\\.ht">
    Require all denied
</FilesMatch>
<Directory "{documents}">
    Options Indexes FollowSymLinks
</Directory>
"""

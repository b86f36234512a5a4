"""Rows of modules that need nothing but themselves: core, mappers, metadata, generators, loggers, filters."""

from __future__ import annotations

from tests.differential.module_row import BOTH, OLD, Row

_CGI = "#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\n'\n"
_GZIP = "Accept-Encoding: gzip\r\n"
_PAGE = "htdocs/page.html"
_LINKED = {_PAGE: '<html><head><meta http-equiv="X-Meta" content="yes"></head><body>caf\xe9 '
           '<a href="http://old.test/x">x</a></body></html>\n'}

CORE = (
    Row("core", 'ErrorDocument 404 "own text"', "/none", "404 Not Found.*own text", versions=BOTH),
    Row("mod_http", "", "/a.txt", "206 Partial Content.*\r\n\r\nplai$", fields="Range: bytes=0-3\r\n",
        versions=BOTH),
    Row("mod_so", "<IfModule mod_dialup.c>\nHeader set X-So yes\n</IfModule>", "/a.txt", "X-So: yes",
        loads="dialup headers"),
    Row("mod_macro", "Use Marked made", "/a.txt", "X-Macro: made", loads="headers",
        main="<Macro Marked $text>\nHeader set X-Macro $text\n</Macro>"),
    Row("mod_version", "<IfVersion >= 2.2>\nHeader set X-Version yes\n</IfVersion>", "/a.txt",
        "X-Version: yes", loads="headers", versions=BOTH),
    Row("mod_unixd", "", "/user.cgi", "www-data\n$", loads="cgid", needs="root", versions=BOTH,
        files={"htdocs/user.cgi": f"{_CGI}id -un\n"}),
    Row("mod_log_config", 'CustomLog @/run/log_config "%>s %U %{X-A}i"', "/a.txt", "^200 /a.txt given$",
        fields="X-A: given\r\n", log="run/log_config", versions=BOTH),
    Row("mod_logio", 'CustomLog @/run/logio "%I"', "/a.txt", "^64$", log="run/logio", versions=BOTH),
    Row("mod_log_debug", 'LogLevel info\nLogMessage "seen %{REQUEST_URI}"\nErrorLog @/run/log_debug', "/a.txt",
        "seen /a.txt", log="run/log_debug"),
    Row("mod_log_forensic", "ForensicLog @/run/forensic", "/a.txt", r"^\+[^|]+\|GET /a.txt HTTP/1.1\|Host:",
        log="run/forensic", versions=BOTH),
)

MAPPERS = (
    Row("mod_alias", "Alias /there @/htdocs/a.txt\nRedirect /away http://x.test", "/away/b",
        "302 Found.*Location: http://x.test/b\r", versions=BOTH),
    Row("mod_dir", "DirectoryIndex second.txt", "/dir/", "second\n$", versions=BOTH,
        files={"htdocs/dir/second.txt": "second\n"}),
    Row("mod_rewrite", "RewriteEngine On\nRewriteRule ^/from/(.*) /$1 [E=x:$1]", "/from/a.txt", "plain a\n$",
        versions=BOTH),
    Row("mod_rewrite", "RewriteEngine On\nRewriteMap m prg:@/map.sh\nRewriteRule ^/map/(.*) /${m:$1}",
        "/map/x", "plain a\n$", name="rewrite-program", versions=BOTH,
        files={"map.sh": "#!/bin/sh\nwhile read line; do echo a.txt; done\n"}),
    Row("mod_userdir", "UserDir @/homes/*/www", "/~someone/h.txt", "home\n$", versions=BOTH,
        files={"homes/someone/www/h.txt": "home\n"}),
    Row("mod_vhost_alias", "VirtualDocumentRoot @/hosts/%0", "/v.txt", "virtual\n$", name="virtual",
        files={"hosts/virtual.test/v.txt": "virtual\n"}, versions=BOTH),
    Row("mod_speling", "CheckSpelling On", "/b.txt", "301 Moved.*Location: http://[^/]*/a.txt\r",
        files={}, versions=BOTH),
    Row("mod_actions", "AddHandler act .act\nAction act /act.cgi", "/x.act", "PATH_INFO=/x.act\n",
        loads="mime cgid", versions=BOTH,
        files={"htdocs/x.act": "-", "htdocs/act.cgi": f"{_CGI}echo PATH_INFO=$PATH_INFO\n"}),
    Row("mod_negotiation", "<Directory @/htdocs/neg>\nOptions +MultiViews\n</Directory>\n"
        "AddLanguage de .de\nAddLanguage en .en", "/neg/doc", "Content-Location: doc.html.de.*deutsch\n$",
        fields="Accept-Language: de\r\n", loads="mime", versions=BOTH,
        files={"htdocs/neg/doc.html.de": "deutsch\n", "htdocs/neg/doc.html.en": "english\n"}),
    Row("mod_imagemap", "AddHandler imap-file .map", "/m.map?5,5", "Location: http://[^/]*/dir/\r",
        loads="mime", versions=BOTH, files={"htdocs/m.map": "base referer\nrect /dir/ 0,0 10,10\n"}),
)

METADATA = (
    Row("mod_env", "SetEnv MADE yes", "/env.cgi", "MADE=yes\n", loads="cgid", versions=BOTH),
    Row("mod_setenvif", "SetEnvIf X-Key (.+) MADE=$1", "/env.cgi", "MADE=given\n", loads="cgid",
        fields="X-Key: given\r\n", versions=BOTH),
    Row("mod_headers", "RequestHeader set X-Key sent\nHeader append X-Made yes", "/env.cgi",
        "X-Made: yes\r.*HTTP_X_KEY=sent\n", loads="cgid", versions=BOTH),
    Row("mod_expires", 'ExpiresActive On\nExpiresDefault "access plus 1 hour"', "/a.txt",
        "Cache-Control: max-age=3600\r", versions=BOTH),
    Row("mod_unique_id", "", "/env.cgi", "UNIQUE_ID=[A-Za-z0-9@_-]{24,}\n", loads="cgid", versions=BOTH),
    Row("mod_usertrack", "CookieTracking on\nCookieName track", "/a.txt", r"Set-Cookie: track=[\w.:]+; path=/",
        versions=BOTH),
    Row("mod_remoteip", "RemoteIPHeader X-Forwarded-For\nRemoteIPInternalProxy 127.0.0.1", "/env.cgi",
        "REMOTE_ADDR=192.0.2.9\n", loads="cgid", fields="X-Forwarded-For: 192.0.2.9\r\n"),
    Row("mod_mime_magic", "MimeMagicFile @/magic", "/picture", "Content-Type: image/gif\r",
        main="MimeMagicFile @/magic", versions=BOTH,
        files={"htdocs/picture": "GIF89a", "magic": "0 string GIF image/gif\n"}),
    Row("mod_cern_meta", "<Location />\nMetaFiles on\n</Location>", "/a.txt", "X-Cern: yes\r", versions=BOTH,
        files={"htdocs/.web/a.txt.meta": "X-Cern: yes\n"}),
    Row("mod_mime", "AddType text/x-made .txt\nAddCharset utf-8 .txt", "/a.txt",
        "Content-Type: text/x-made; ?charset=utf-8\r", versions=BOTH),
)

GENERATORS = (
    Row("mod_status", "<Location /status>\nSetHandler server-status\n</Location>", "/status?auto",
        "Total Accesses|BusyWorkers: 1", versions=BOTH),
    Row("mod_info", "<Location /info>\nSetHandler server-info\n</Location>", "/info?list", "mod_info.c",
        versions=BOTH),
    Row("mod_autoindex", "<Directory @/htdocs/list>\nOptions +Indexes\n</Directory>", "/list/",
        'Index of /list.*href="one.txt"', files={"htdocs/list/one.txt": "1\n"}, versions=BOTH),
    Row("mod_cgid", "", "/env.cgi?q", "GATEWAY_INTERFACE=CGI/1.1\n.*QUERY_STRING=q\n", versions=BOTH),
    Row("mod_asis", "AddHandler send-as-is .asis", "/x.asis", "201 Made.*X-As: is\r.*as is\n$", loads="mime",
        versions=BOTH, files={"htdocs/x.asis": "Status: 201 Made\nX-As: is\n\nas is\n"}),
)

FILTERS = (
    Row("mod_include", "AddOutputFilter INCLUDES .shtml", "/x.shtml", "URI /x.shtml plain a\n",
        loads="mime", versions=BOTH, files={
            "htdocs/x.shtml": 'URI <!--#echo var="DOCUMENT_URI" --> <!--#include virtual="/a.txt" -->'}),
    Row("mod_deflate", "SetOutputFilter DEFLATE", "/long.txt", "Content-Encoding: gzip\r.*\x1f\x8b",
        fields=_GZIP, versions=BOTH),
    Row("mod_brotli", "SetOutputFilter BROTLI_COMPRESS", "/a.txt", "Content-Encoding: br\r",
        fields="Accept-Encoding: br\r\n"),
    Row("mod_filter", "FilterDeclare f\nFilterProvider f DEFLATE \"%{REQUEST_URI} =~ /txt/\"\nFilterChain f",
        "/long.txt", "Content-Encoding: gzip\r", loads="deflate", fields=_GZIP),
    Row("mod_filter", "FilterDeclare f\nFilterProvider f DEFLATE req=X-Key $given\nFilterChain f",
        "/long.txt", "Content-Encoding: gzip\r", name="filter-22", loads="deflate",
        fields=_GZIP + "X-Key: given\r\n", versions=OLD),
    Row("mod_ratelimit", "SetOutputFilter RATE_LIMIT\nSetEnv rate-limit 400", "/a.txt", "plain a\n",
        loads="env"),
    Row("mod_substitute", 'AddOutputFilterByType SUBSTITUTE text/plain\nSubstitute "s/plain/changed/"', "/a.txt",
        "changed a\n", loads="mime filter", versions=("2.4",)),
    Row("mod_substitute", 'SetOutputFilter SUBSTITUTE\nSubstitute "s/plain/changed/"', "/a.txt",
        "changed a\n", name="substitute-22", versions=BOTH),
    Row("mod_sed", '<Location />\nSetOutputFilter Sed\nOutputSed "s/plain/edited/"\n</Location>', "/a.txt", "edited a\n"),
    Row("mod_ext_filter", "SetOutputFilter upper", "/a.txt", "PLAIN A\n",
        main='ExtFilterDefine upper mode=output cmd="/usr/bin/tr a-z A-Z"', versions=BOTH),
    Row("mod_charset_lite", "CharsetSourceEnc ISO-8859-1\nCharsetDefault UTF-8", "/page.html",
        "caf\xc3\xa9", files=_LINKED, loads="mime", versions=BOTH),
    Row("mod_buffer", "SetOutputFilter BUFFER", "/long.cgi", "Content-Length: 20\r.*first\nsecond\nthirds\n$",
        loads="cgid", name="buffer", files={
            "htdocs/long.cgi": f"{_CGI}echo first\necho second\necho thirds\n"}),
    Row("mod_data", "SetOutputFilter DATA", "/a.txt", "data:text/plain;base64,cGxhaW4gYQo=$", loads="mime"),
    Row("mod_reflector", "<Location /back>\nSetHandler reflector\n</Location>", "/back", "sent\n$",
        method="POST", body="sent\n"),
    Row("mod_case_filter", "CaseFilter on", "/a.txt", "PLAIN A\n"),
    Row("mod_case_filter_in", "CaseFilterIn on", "/echo.cgi", "SENT\n", method="POST", body="sent\n",
        loads="cgid", files={"htdocs/echo.cgi": f"{_CGI}cat\n"}),
    Row("mod_request", "<Location /kept>\nKeptBodySize 100\nSetOutputFilter INCLUDES\n</Location>\n"
        "Alias /kept @/htdocs/kept.shtml", "/kept", "got sent\n", method="POST", body="sent\n",
        loads="cgid include alias", files={
            "htdocs/kept.shtml": 'got <!--#include virtual="/echo.cgi" -->',
            "htdocs/echo.cgi": f"{_CGI}cat\n"}),
    Row("mod_xml2enc", "SetOutputFilter xml2enc", "/page.html", "charset=utf-8.*caf\xc3\xa9", files=_LINKED,
        loads="mime"),
    Row("mod_proxy_html", "SetOutputFilter proxy-html\nProxyHTMLEnable On\nProxyHTMLMeta On\n"
        "ProxyHTMLLinks a href\nProxyHTMLURLMap http://old.test/ /new/\nProxyPass /o http://127.0.0.1:%PORT%",
        "/o/page.html", 'href="/new/x"', files=_LINKED, loads="mime xml2enc proxy proxy_http"),
    Row("mod_bucketeer", "SetOutputFilter BUCKETEER", "/marks.txt", "\r\n\r\nonetwo",
        files={"htdocs/marks.txt": "one\x02two"}, versions=BOTH),
    Row("mod_dumpio", "DumpIOInput On\nLogLevel dumpio:trace7\nErrorLog @/run/dumpio", "/a.txt",
        r"mod_dumpio:  dumpio_in \(data-HEAP\): GET /a.txt HTTP/1.1", log="run/error_log",
        main="DumpIOInput On\nLogLevel dumpio:trace7"),
)

ROWS = CORE + MAPPERS + METADATA + GENERATORS + FILTERS

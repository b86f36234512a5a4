"""Random configurations and requests whose answers depend on query, client, fields, method, host and files in
as many ways as there are modules.

A grammar: `#name#` in a text stands for one of the texts of that name.  Blocks that a dialect refuses are
left out by whoever loads them.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from typing import Final

PLACE: Final = re.compile(r"#([a-z]+)#")

MODULES: Final = (
    "mpm_event unixd authn_core authn_file authn_default authz_core authz_host authz_user authz_groupfile authz_owner authz_default auth_basic "
    "authn_anon access_compat mime dir setenvif headers env rewrite alias log_config logio negotiation include autoindex actions expires remoteip "
    "unique_id usertrack speling userdir vhost_alias status info imagemap cern_meta asis allowmethods mime_magic log_debug"
).split()

GRAMMAR: Final[Mapping[str, tuple[str, ...]]] = {
    # what the clients say --------------------------------------------------------------------------------------------------------------------------
    "field": ("X-A", "X-B", "User-Agent", "Cookie", "Referer", "Accept-Language", "Via", "X-C"),
    "value": (
        "one",
        "two",
        "ab1",
        "k=one",
        "k=two; j=1",
        "",
        "de",
        "One",
        "http://two.test/",
        "en;q=0.5, de",
        "127.0.0.2",
    ),
    "query": (
        "a=1",
        "a=2",
        "b",
        "",
        "C=N;O=D",
        "C=M",
        "x=%20y",
        "a=1&a=2",
        "F=0",
        "P=a*",
        "auto",
        "1,2",
        "server",
        "one",
        "q=a+b",
    ),
    "path": (
        "/a.txt",
        "/b.txt",
        "/",
        "/dir",
        "/dir/",
        "/dir/a.txt",
        "/dir/sub/a.txt",
        "/list/",
        "/list",
        "/page",
        "/page.html",
        "/map",
        "/map.var",
        "/ssi.shtml",
        "/ssi2.shtml",
        "/asis.asis",
        "/img.map",
        "/nope",
        "/dir/nope.txt",
        "/A.txt",
        "/dri/a.txt",
        "/~alice/",
        "/~alice/a.txt",
        "/status",
        "/info",
        "/moved/a",
        "/alias/a.txt",
        "/aliased/b",
        "/cern/a.txt",
        "/members/a.txt",
        "/odd.foo",
        "/a.txt/more",
        "/%61.txt",
        "//a.txt",
        "/x.act",
        "/err.shtml",
        "/c.html",
        "/dir/c.html",
        "/nofile/x",
        "/ex.act/one",
    ),
    "method": ("GET", "GET", "GET", "GET", "GET", "GET", "HEAD", "HEAD", "POST", "OPTIONS", "PUT", "TRACE"),
    "host": (
        "localhost",
        "localhost",
        "localhost",
        "two.test",
        "three.test",
        "vh.test",
        "LOCALHOST",
        "two.test:8080",
    ),
    "fixed": (
        "Connection: close",
        "Connection: keep-alive",
        "Range: bytes=0-2",
        "If-None-Match: *",
        "Accept: text/html",
        "Accept: text/plain;q=0.3",
        "If-Modified-Since: Sun, 13 Sep 2020 12:26:40 GMT",
        "Authorization: Basic YWxpY2U6Y3VybGV3",
        "Authorization: Basic YWxpY2U6bm8=",
        "Accept-Encoding: gzip",
        "Expect: 100-continue",
        "Content-Length: 0",
        "X-Forwarded-For: 127.0.0.2",
        "X-Forwarded-For: 127.0.0.3, 10.0.0.1",
        "TE: trailers",
        "If-Modified-Since: Sun, 13 Sep 2020 12:26:39 GMT",
        "Cookie: k=one; j=2",
        "Accept-Charset: utf-8",
        "Negotiate: trans",
    ),
    # values of a configuration ---------------------------------------------------------------------------------------------------------------------
    "env": ("e1", "e2", "e3"),
    "special": (
        "nokeepalive",
        "force-response-1.0",
        "downgrade-1.0",
        "redirect-carefully",
        "prefer-language",
        "no-gzip",
        "force-no-vary",
        "suppress-error-charset",
        "force-proxy-request-1.0",
    ),
    "word": ("one", "two", "o.e", "^one$", "(o)n", "k=(\\w+)", "1", "^$", ".*", "^t", "a(b)?1", "o", "k="),
    "attr": (
        "#field#",
        "#field#",
        "#field#",
        "Remote_Addr",
        "Request_URI",
        "Request_Method",
        "Request_Protocol",
        "Server_Addr",
        "Remote_Host",
        "e1",
        "^X-",
        "Host",
    ),
    "set": ("#env#", "#env#=#word#", "#env#=$1", "!#env#", "#special#", "#env#=x$0", "#env# #env#=two"),
    "addr": ("127.0.0.1", "127.0.0.2", "127.0.0.0/30", "127.0.0", "10.0.0.0/8", "127.0.0.4/30"),
    "addrre": ("^127\\.0\\.0\\.[12]$", "^127\\.0\\.0\\.(\\d)$", "^10\\.", "2$"),
    "expr": (
        "%{QUERY_STRING} =~ /a=1/",
        "-R '#addr#'",
        "%{HTTP:#field#} == 'one'",
        "req('#field#') =~ /o(.)e/",
        "%{HTTP_USER_AGENT} -strmatch '*o*'",
        "reqenv('#env#') == 'one'",
        "-n env('#env#')",
        "%{REQUEST_METHOD} == 'HEAD'",
        "%{REQUEST_URI} =~ m!^/dir!",
        "%{THE_REQUEST} =~ /a=2/",
        "-n %{QUERY_STRING}",
        "%{REQUEST_FILENAME} -strmatch '*.txt'",
        "-f %{REQUEST_FILENAME}",
        "%{HTTP_HOST} == 'two.test'",
        "-T reqenv('e1')",
        "%{REMOTE_USER} == 'alice'",
        "%{HTTP:Cookie} =~ /k=(\\w+)/ && $1 == 'one'",
        "tolower(%{HTTP:#field#}) == 'one'",
        "%{REMOTE_ADDR} =~ /2$/",
        "%{REQUEST_STATUS} == '404'",
        "resp('X-O') == 'one'",
        "%{REMOTE_HOST} =~ /two/",
        "! (#expr#)",
        "(#expr#) && (#expr#)",
        "(#expr#) || (#expr#)",
        "%{CONN_REMOTE_ADDR} == '127.0.0.1'",
        "%{HTTP_COOKIE} == 'k=one'",
        "%{IS_SUBREQ} == 'true'",
        "%{HTTP:#field#} in {'one', 'two'}",
        "%{SERVER_NAME} == 'localhost'",
        "%{REMOTE_ADDR} -ipmatch '#addr#'",
        "%{HANDLER} == 'server-status'",
        "%{CONTENT_TYPE} == 'text/plain'",
        "%{SERVER_PROTOCOL} == 'HTTP/1.0'",
        "%{HTTP_REFERER} -in {'one'}",
        "%{CONTEXT_PREFIX} == '/alias'",
        "-U '/dir/a.txt'",
        "-A '/members/a.txt'",
        "%{REMOTE_PORT} -gt 100",
        "%{REQUEST_SCHEME} == 'http'",
    ),
    "text": (
        "yes",
        "%{#env#}e",
        "expr=%{QUERY_STRING}",
        "expr=%{HTTP:#field#}",
        "expr=%{REMOTE_ADDR}",
        "expr=%{REMOTE_HOST}",
        "expr=x%{reqenv:#env#}",
        "expr=%{resp:Expires}",
        "a%{e1}eb%{e2}e",
        "expr=%{REQUEST_URI}",
        "expr=%{tolower:%{HTTP:X-A}}",
        "%{REDIRECT_#env#}e",
        "expr=%{THE_REQUEST}",
        "expr=%{SERVER_NAME}",
        "expr=%{REQUEST_FILENAME}",
        "expr=%{sha1:%{HTTP:X-B}}",
        "%l",
    ),
    "hcond": ("", "", "", " env=#env#", " env=!#env#", ' "expr=#expr#"'),
    "subst": (
        "-",
        "-",
        "/b.txt",
        "/b.txt?x=$1",
        "/c.html",
        "/b.txt?%{QUERY_STRING}",
        "http://ex.test/$1",
        "/%{ENV:e1}.txt",
        "/${tm:%{HTTP:X-A}|b}.txt",
        "/${lo:$0}",
        "/dir/",
        "/$1.txt",
        "/b.txt?y=%1",
        "/ssi.shtml?z=1",
        "/dir/a.txt?",
        "/nope",
        "%{REQUEST_URI}.txt",
        "/${tm:%1}.txt",
        "http://localhost/b.txt",
        "/${un:one|two}",
        "/a.txt?c=%{REMOTE_ADDR}",
        "/%{HTTP:X-B}",
        "/${tm:%{QUERY_STRING}|a}.txt",
    ),
    "rpat": (
        "^/?a\\.txt$",
        "^/?dir/(.*)$",
        "^/?(\\w+)\\.txt$",
        ".*",
        "^/?page",
        "nope",
        "^/?c\\.html$",
        "!\\.html$",
        "^/?$",
        "(.*)",
        "^/?ssi",
    ),
    "flag": (
        "L",
        "L",
        "QSA",
        "QSD",
        "R",
        "R=301",
        "R=404",
        "E=#env#:#word#",
        "E=#env#:%1",
        "E=#env#:%{QUERY_STRING}",
        "CO=c:%{HTTP:X-A}:.localhost",
        "T=text/html",
        "H=default-handler",
        "F",
        "G",
        "PT",
        "END",
        "B",
        "S=1",
        "C",
        "NC",
        "E=!#env#",
        "NE",
        "DPI",
        "E=#env#:%{REMOTE_ADDR}",
        "NS",
        "E=#env#:%{HTTP:#field#}",
        "CO=d:1:ex.test:0",
        "QSL",
        "BNP",
        "E=nokeepalive:1",
    ),
    "flags": ("", "", " [#flag#]", " [#flag#,L]", " [#flag#,#flag#]"),
    "cpat": (
        "a=1",
        "^one$",
        "!one",
        "=one",
        ">m",
        "<n",
        "^(one|two)$",
        "k=(\\w+)",
        "^$",
        "!^$",
        "o",
        "t(.)",
        '=""',
        ">=two",
        "^/dir",
    ),
    "test": (
        "%{QUERY_STRING} #cpat#",
        "%{HTTP:#field#} #cpat#",
        "%{HTTP:#field#} #cpat#",
        "%{REMOTE_ADDR} #addrre#",
        "%{REMOTE_ADDR} !#addrre#",
        "%{HTTP_COOKIE} #cpat#",
        "%{HTTP_USER_AGENT} #cpat#",
        "%{THE_REQUEST} a=1",
        "%{REQUEST_URI} #cpat#",
        "%{REQUEST_FILENAME} -f",
        "%{REQUEST_FILENAME} !-d",
        'expr "#expr#"',
        "%{ENV:#env#} #cpat#",
        "%{REQUEST_METHOD} =HEAD",
        "%{HTTP_HOST} two",
        "%1 #cpat#",
        "%{HTTP:X-A}%{HTTP:X-B} #cpat#",
        "%{HTTP_REFERER} #cpat#",
        "%{LA-U:REQUEST_FILENAME} txt$",
        "%{IS_SUBREQ} =false",
        "%{REMOTE_USER} alice",
        "/%{QUERY_STRING} ^/a",
        "%{REMOTE_ADDR} =127.0.0.2",
        "%{LA-U:REMOTE_USER} alice",
        "%{HTTP_ACCEPT} html",
        "%{SERVER_PORT} 80",
        "%{REMOTE_ADDR} >127.0.0.3",
        "${tm:%{HTTP:X-A}} #cpat#",
        "%{TIME_SEC} >30",
        "%{REQUEST_URI} -U",
        "%{DOCUMENT_ROOT}/dir%{REQUEST_URI} -f",
        "%{REMOTE_ADDR}:%{HTTP:X-A} #cpat#",
        "%{SCRIPT_FILENAME} txt",
        "%{HTTP:Host} two",
    ),
    "cflag": ("", "", "", " [NC]", " [OR]", " [NV]", " [NC,OR]"),
    "cond": ("RewriteCond #test##cflag#",),
    "rule": (
        "RewriteRule #rpat# #subst##flags#",
        "#cond#\nRewriteRule #rpat# #subst##flags#",
        "#cond#\nRewriteRule #rpat# #subst##flags#",
        "#cond#\n#cond#\nRewriteRule #rpat# #subst##flags#",
        "#cond#\nRewriteRule #rpat# #subst##flags#\nRewriteRule #rpat# #subst##flags#",
    ),
    # lines -----------------------------------------------------------------------------------------------------------------------------------------
    "setenvif": (
        "SetEnvIf #attr# #word# #set#",
        "SetEnvIfNoCase #attr# #word# #set#",
        "BrowserMatch #word# #set#",
        "SetEnvIf Remote_Addr #addrre# #set#",
        'SetEnvIfExpr "#expr#" #set#',
        "SetEnvIf #field# #word# #set#",
        "BrowserMatchNoCase #word# #set#",
    ),
    "header": (
        'Header set X-O "#text#"#hcond#',
        'Header add X-P "#text#"#hcond#',
        'Header always set X-O "#text#"#hcond#',
        "Header echo ^X-",
        "Header append Vary #field#",
        'RequestHeader set #field# "#text#"#hcond#',
        "RequestHeader unset #field##hcond#",
        "Header merge X-O one#hcond#",
        "Header unset ETag",
        'Header edit X-O o "#text#"',
        "RequestHeader edit #field# o 0",
        "Header setifempty X-O two",
        "Header onsuccess unset Last-Modified#hcond#",
        'RequestHeader append X-C "#text#"#hcond#',
        'Header always add Set-Cookie "s=#text#"#hcond#',
        "Header note X-O n1",
        'Header set Keep-Alive "max=7"#hcond#',
    ),
    "require": (
        "Require ip #addr#",
        "Require env #env#",
        'Require expr "#expr#"',
        "Require method GET HEAD",
        "Require all granted",
        "Require local",
        "Require not ip #addr#",
        "Require user alice",
        "Require valid-user",
        "Require all denied",
        "Require host localhost",
    ),
    "requires": (
        "#require#",
        "#require#\n#require#",
        "<RequireAny>\n#require#\n#require#\n</RequireAny>",
        "<RequireAll>\nRequire all granted\n#require#\n</RequireAll>",
        "<RequireNone>\n#require#\n</RequireNone>\nRequire all granted",
        "<RequireAll>\n<RequireAny>\n#require#\n#require#\n</RequireAny>\n<RequireNone>\n#require#\n</RequireNone>\n</RequireAll>",
    ),
    "access": (
        "Order deny,allow\nDeny from #addr#",
        "Order allow,deny\nAllow from #addr#",
        "Order deny,allow\nDeny from env=#env#",
        "Order allow,deny\nAllow from env=!#env#",
        "Order allow,deny\nAllow from all\nDeny from #addr#\nSatisfy any",
        "Order deny,allow\nDeny from all\nAllow from #addr#\nAllow from env=#env#",
        "Order allow,deny\nAllow from all",
    ),
    "auth": (
        "AuthType Basic\nAuthName Zone\nAuthUserFile conf/users\n#requires#",
        'AuthType Basic\nAuthName "#text#"\nAuthUserFile conf/users\nRequire valid-user\n#access#\nSatisfy any',
        "AuthType Basic\nAuthName Zone\nAuthUserFile conf/users\n<Limit POST>\nRequire user alice\n</Limit>",
        'AuthType Basic\nAuthName Z\nAuthBasicFake alice "#text#"\nAuthUserFile conf/users\nRequire valid-user',
    ),
    "errordoc": (
        "ErrorDocument #code# /err.html",
        "ErrorDocument #code# /err.shtml",
        'ErrorDocument #code# "no #code#"',
        "ErrorDocument #code# http://ex.test/e",
        "ErrorDocument #code# /nope?x",
        'ErrorDocument #code# "%{HTTP:X-A} %{QUERY_STRING}"',
        'ErrorDocument #code# "from %{REMOTE_ADDR}"',
        "ErrorDocument #code# /a.txt?e=1",
    ),
    "code": ("404", "403", "401", "404", "405"),
    "folderline": (
        "#setenvif#",
        "#setenvif#",
        "#header#",
        "#header#",
        "#header#",
        "#requires#",
        "#requires#",
        "#access#",
        "#auth#",
        "#errordoc#",
        "RewriteEngine On\n#rule#",
        "RewriteEngine On\n#rule#\n#rule#",
        "RewriteEngine On\nRewriteBase /\n#rule#",
        "DirectoryIndex nope.html index.html",
        "DirectoryIndex /b.txt",
        "DirectoryIndex index.html?x=1 a.txt",
        "DirectoryIndex disabled",
        "DirectorySlash Off",
        "FallbackResource /b.txt",
        "FallbackResource /ssi.shtml",
        "Options +Indexes",
        "IndexOptions FancyIndexing HTMLTable",
        "IndexOptions FancyIndexing VersionSort IgnoreClient",
        "IndexOptions SuppressColumnSorting FancyIndexing",
        "IndexIgnore one.txt",
        "HeaderName /ssi.shtml",
        "ReadmeName README.html",
        "Options +MultiViews",
        "Options +Includes",
        "Options +IncludesNOEXEC",
        "SSILastModified On",
        "SSIUndefinedEcho none",
        "XBitHack Full",
        "Action text/foo /b.txt",
        "Action act /ssi2.shtml virtual\nSetHandler act",
        "AddHandler act .act\nAction act /a.txt virtual",
        'ExpiresActive On\nExpiresDefault "access plus 1 hour"',
        'ExpiresActive On\nExpiresByType text/plain "modification plus 1 day"',
        "CheckSpelling On",
        "CheckSpelling On\nCheckCaseOnly On",
        "MetaFiles On",
        "AllowMethods GET",
        "SetEnv #env# #word#",
        "PassEnv HOME",
        "UnsetEnv #env#",
        "AddType text/html .txt",
        "AddLanguage fr .txt",
        "ForceType text/plain",
        "DefaultType text/html",
        "AddDefaultCharset On",
        "LanguagePriority de en",
        "ForceLanguagePriority Prefer",
        "FileETag None",
        "ServerSignature On",
        "ServerSignature EMail",
        "LimitRequestBody 10",
        "Redirect /dir/a.txt /b.txt",
        "RedirectMatch ^/dir/(.*)\\.html$ http://ex.test/$1",
        "Redirect gone /b.txt",
        "SetHandler server-status",
        "SetHandler default-handler",
        "SetHandler send-as-is",
        "AcceptPathInfo On",
        '<If "#expr#">\n#ifline#\n</If>',
        '<If "#expr#">\n#ifline#\n</If>\n<Else>\n#ifline#\n</Else>',
        "<IfModule headers_module>\n#header#\n</IfModule>",
        "<Files *.txt>\n#ifline#\n</Files>",
        '<FilesMatch "(?<n>.)\\.html$">\n#ifline#\n</FilesMatch>',
        "<Limit GET>\n#access#\n</Limit>",
        "#rare#",
        "UseCanonicalName On",
        "EnableSendfile Off",
        "ContentDigest On",
        "ImapMenu Formatted",
        "ImapDefault map",
        "ImapBase Referer",
        "RedirectTemp /list http://ex.test/%{HTTP:X-A}",
        "Redirect /x",
        'Redirect 302 "http://ex.test/%{HTTP:X-A}"',
        "MultiviewsMatch Any",
        "TraceEnable On",
        "AddOutputFilter INCLUDES .txt",
        "SetOutputFilter INCLUDES",
        "AddEncoding x-gzip .foo",
    ),
    "ifline": (
        "#header#",
        "#setenvif#",
        "#requires#",
        "RewriteEngine On\n#rule#",
        'ErrorDocument 404 "if"',
        "SetEnv #env# #word#",
        "ForceType text/x-if",
        "DirectoryIndex a.txt",
        "#access#",
        "Redirect /a.txt /b.txt",
        "Options -Indexes",
        "SetHandler server-status",
    ),
    "where": (
        '<Directory "@/htdocs#folder#">\n%s\n</Directory>',
        "<Location #prefix#>\n%s\n</Location>",
        '<LocationMatch "^/(?<dn>[a-d])">\n%s\n</LocationMatch>',
        "<Files #file#>\n%s\n</Files>",
        '<DirectoryMatch "htdocs/(?<which>.*)">\n%s\n</DirectoryMatch>',
        '<Location "#prefix#">\n%s\n</Location>',
    ),
    "folder": ("", "", "", "/dir", "/dir", "/list", "/members", "/cern", "/dir/sub"),
    "prefix": ("/", "/", "/dir", "/a.txt", "/status", "/list/", "/moved", "/ssi.shtml"),
    "file": ("a.txt", "*.txt", "index.html", "*.html", "page*"),
    "serverline": (
        "#setenvif#",
        "#setenvif#",
        "#setenvif#",
        "#header#",
        "#header#",
        "RewriteEngine On\n#rule#",
        "RewriteEngine On\n#rule#\n#rule#",
        "#errordoc#",
        "Redirect /moved http://ex.test/m",
        "RedirectMatch permanent ^/moved/(.*) /b.txt?$1",
        "Redirect /a.txt /b.txt",
        'Alias /alias "@/htdocs/dir"',
        'AliasMatch ^/aliased/(.) "@/htdocs/$1.txt"',
        '<Location /alias>\nAlias "@/htdocs/%{HTTP:X-A}"\n</Location>',
        'UserDir "@/users/*/html"',
        '<LocationMatch "^/aliased/(?<n>.)">\nAlias "@/htdocs/%{env:MATCH_N}.txt"\n</LocationMatch>',
        "UserDir http://ex.test/~*/",
        "RemoteIPHeader X-Forwarded-For\nRemoteIPInternalProxy 127.0.0.1",
        "RemoteIPHeader X-A",
        "KeepAlive Off",
        "MaxKeepAliveRequests 3",
        "MaxKeepAliveRequests 0",
        "UseCanonicalName On",
        "UseCanonicalName Off",
        "ServerSignature On",
        "ServerTokens Prod",
        "TraceEnable Extended",
        "ServerAdmin who@localhost",
        "#rare#",
        "SetEnv #env# #word#",
        "AddDefaultCharset utf-8",
        "#folderline#",
        '<If "#expr#">\n#ifline#\n</If>',
        '<If "#expr#">\n#ifline#\n</If>\n<ElseIf "#expr#">\n#ifline#\n</ElseIf>\n<Else>\n#ifline#\n</Else>',
        "RewriteOptions AllowAnyURI",
        "AllowEncodedSlashes On",
        "LogLevel info",
        "QualifyRedirectURL On",
        'ErrorLogFormat "[%l] [%a] %M %{X-A}i %{e1}e %k %{Referer}i"',
        'ErrorLogFormat "%M %F %{X-B}i"',
        "ExtendedStatus On",
        "StrictHostCheck On",
        "MergeSlashes Off",
        "RegisterHttpMethod FROB",
        "Protocols http/1.1 h2c",
    ),
    # what keeps most answers from being kept
    "rare": (
        "CookieTracking On",
        "LogLevel debug",
        "LogLevel rewrite:trace3",
        "HostnameLookups On",
        'LogMessage "m %{#env#}e"',
        'CookieExpires "1 days"',
        'Header set X-I "%{UNIQUE_ID}e"',
        'Header set X-T "%D %t"',
    ),
    "item": (
        "%h",
        "%a",
        "%{c}a",
        "%u",
        "%>s",
        "%s",
        "%b",
        "%r",
        "%q",
        "%U",
        "%<U",
        "%>U",
        "%f",
        "%m",
        "%H",
        "%v",
        "%V",
        "%p",
        "%k",
        "%X",
        "%I",
        "%O",
        "%S",
        "%{#field#}i",
        "%{#field#}i",
        "%{#env#}e",
        "%{#env#}e",
        "%{X-O}o",
        "%{k}C",
        "%{Vary}o",
        "%{n1}n",
        "%{cookie}n",
        "%R",
        "%>q",
        "%<r",
        "%A",
        "%B",
        "%404{#field#}i",
        "%!200{#env#}e",
        "%>{#env#}e",
        "%{REDIRECT_#env#}e",
        "%{Location}o",
        "%{UNIQUE_ID}e",
        "%t",
        "%{sec}t",
        "%{remote}p",
        "%l",
        "%{Host}i",
        "%{Cookie}i",
        "%{Set-Cookie}o",
        "%<f",
        "%>h",
        "%<q",
        "%{QUERY_STRING}e",
        "%{X-Forwarded-For}i",
        "%{remoteip-proxy-ip-list}n",
    ),
    "longformat": (
        "%h %r %{#env#}e %{#env#}e %{#env#}e #item# #item# #item# #item#",
        "%h %r #item# #item# #item# #item# #item# #item# #item# #item#",
        "#item# #item# #item# #item# #item# #item# #item#",
    ),
    "format": (
        '%h %u %t "%r" %>s %b',
        "%r #item# #item#",
        "#item# #item# #item#",
        "%U#item# #item# %>s #item# #item#",
        "%h %>s %b",
        "%{X-A}i %r",
    ),
    "log": (
        'CustomLog logs/#logname# "#format#"',
        'CustomLog logs/#logname# "#format#"',
        'CustomLog logs/#logname# "#format#" env=#env#',
        'CustomLog logs/#logname# "#format#" env=!#env#',
        'CustomLog logs/#logname# "#format#" "expr=#expr#"',
        "TransferLog logs/#logname#",
        'LogFormat "#format#"\nTransferLog logs/transfer',
    ),
    "logname": ("one_log", "two_log", "three_log"),
}


class Texts:
    """Random texts.  Names, values and queries are few within one configuration, so that what it looks for is
    what clients say.
    """

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        few = {"field": 3, "env": 2, "query": 4, "value": 5, "word": 6, "expr": 9, "addr": 2, "path": 8}
        self.pools = {
            **GRAMMAR,
            **{name: tuple(chance.sample(GRAMMAR[name], count)) for name, count in few.items()},
        }

    def make(self, text: str) -> str:
        """*text* with each place in it filled."""
        while True:
            found = PLACE.search(text)
            if found is None:
                return text
            deep = found[1] == "expr" and len(text) > 400
            choice = "true" if deep else self.chance.choice(self.pools[found[1]])
            text = text[: found.start()] + choice + text[found.end() :]

    def lines(self, name: str, most: int) -> str:
        """One to *most* texts of one name, a line each."""
        return "\n".join(self.make(f"#{name}#") for _ in range(self.chance.randrange(most) + 1))

    def blocks(self) -> list[str]:
        """The random parts of a main file, each of which may be left out."""
        chance = self.chance
        out = [self.make("#serverline#") for _ in range(chance.randrange(6))]
        out += [self.make("#log#") for _ in range(chance.randrange(3))]
        out.append(self.make('CustomLog logs/long_log "#longformat#"'))
        out += [self.make("#where#") % self.lines("folderline", 5) for _ in range(chance.randrange(3) + 1)]
        hosts = []
        for name in ("two.test", "three.test"):
            if chance.random() < 0.4:
                log = self.make("#log#\n") if chance.random() < 0.5 else ""
                options = "RewriteOptions Inherit\n" if chance.random() < 0.3 else ""
                hosts.append(
                    f'ServerName {name}\nDocumentRoot "@/htdocs"\n{options}{log}{self.lines("serverline", 2)}'
                )
        if hosts:
            hosts.append('ServerName vh.test\nVirtualDocumentRoot "@/hosts/%0"')
        return out + [f"<VirtualHost *:8080>\n{host}\n</VirtualHost>" for host in hosts]

    def htaccess(self) -> str:
        """A random .htaccess file."""
        return self.lines("folderline", 3) + "\n"


class Clients:
    """Random heads of a few clients, of few enough kinds that many of them come again, whole or nearly so."""

    def __init__(self, texts: Texts) -> None:
        self.texts, self.chance = texts, texts.chance
        self.paths = self.chance.sample(GRAMMAR["path"], 4)
        self.fixed = self.chance.sample(GRAMMAR["fixed"], 2)
        self.sent: list[bytes] = []

    def head(self) -> bytes:
        """One request: half of them one that was sent before, or that with a single line changed."""
        chance = self.chance
        if self.sent and chance.random() < 0.5:
            return chance.choice(self.sent[-5:])
        if self.sent and chance.random() < 0.75:
            made = self._changed(chance.choice(self.sent[-5:]))
        else:
            made = self._fresh()
        self.sent.append(made)
        return made

    def _target(self) -> str:
        chance = self.chance
        path = chance.choice(self.paths) if chance.random() < 0.9 else self.texts.make("#path#")
        return path + (self.texts.make("?#query#") if chance.random() < 0.35 else "")

    def _field(self) -> str:
        chance = self.chance
        if chance.random() < 0.2:
            return chance.choice(self.fixed)
        if chance.random() < 0.05:
            return self.texts.make("#fixed#")
        return self.texts.make("#field#: #value#")

    def _fresh(self) -> bytes:
        chance = self.chance
        method = self.texts.make("#method#") if chance.random() < 0.3 else "GET"
        host = self.texts.make("#host#") if chance.random() < 0.3 else "localhost"
        version = "1.0" if chance.random() < 0.08 else "1.1"
        lines = [self._field() for _ in range(chance.choice((0, 0, 1, 1, 2, 3)))]
        lines += ["Content-Length: 0"] if method in ("POST", "PUT") else []
        return "\r\n".join(
            [f"{method} {self._target()} HTTP/{version}", f"Host: {host}", *lines, "", ""]
        ).encode("latin-1")

    def _changed(self, head: bytes) -> bytes:
        lines = head.decode("latin-1").split("\r\n")
        at, chance = self.chance.randrange(len(lines) - 2), self.chance
        method, target, version = lines[0].split(" ")
        if at == 0:
            kind = chance.randrange(4)
            if kind == 0:
                target = self._target()
            elif kind == 1 and method in ("GET", "HEAD"):
                method = "HEAD" if method == "GET" else "GET"
            else:
                target = target.partition("?")[0] + (
                    self.texts.make("?#query#") if chance.random() < 0.8 else ""
                )
            lines[0] = f"{method} {target} {version}"
        elif at == 1:
            lines.insert(2, self._field())
        elif chance.random() < 0.8:
            name = lines[at].partition(":")[0]
            if name != "Content-Length":
                lines[at] = f"{name}: {self.texts.make('#value#')}"
        else:
            lines[at] = self._field()
        return "\r\n".join(lines).encode("latin-1")

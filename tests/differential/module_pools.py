"""Lines of configuration for every built module, by the place in which httpd accepts them."""

from __future__ import annotations

from typing import Final

from tests.differential.pools import pool

MODULES: Final = tuple(
    """
mpm_event authn_core authn_file authn_anon authn_dbm authz_core authz_host authz_user
authz_groupfile authz_owner authz_dbm auth_basic auth_digest auth_form access_compat alias actions
allowmethods asis autoindex brotli buffer case_filter cern_meta cgid charset_lite data deflate dir
dumpio env expires ext_filter filter headers imagemap include info log_debug log_forensic macro mime
mime_magic negotiation ratelimit reflector remoteip reqtimeout request rewrite sed session
session_cookie dialup case_filter_in setenvif speling status substitute unique_id userdir usertrack
vhost_alias xml2enc proxy_html
""".split()
)

SERVER: Final = pool(r"""
ExpiresActive On
UserDir %ROOT%/users
UserDir disabled
UserDir users
CheckSpelling On
CheckSpelling On
CheckCaseOnly On
MIMEMagicFile magic
RemoteIPHeader X-Forwarded-For
RemoteIPInternalProxy 127.0.0.1
RemoteIPTrustedProxy 127.0.0.1
RemoteIPProxiesHeader X-Proxied-By
RequestReadTimeout header=20-40,MinRate=500 body=20
RequestReadTimeout handshake=0 header=10 body=10,minrate=100
DumpIOInput Off
ForensicLog forensic
VirtualDocumentRoot %ROOT%/hosts/%0
VirtualDocumentRoot %ROOT%/hosts/%1
VirtualScriptAlias %ROOT%/cgi
ExtFilterDefine upper mode=output cmd="/usr/bin/tr a-z A-Z"
ExtFilterDefine typed mode=output intype=text/plain outtype=text/x-typed cmd="/bin/cat"
FilterDeclare smart
FilterDeclare smart CONTENT_SET
FilterProvider smart DEFLATE "%{CONTENT_TYPE} =~ m#^text/#"
FilterProvider smart SUBSTITUTE "%{REQUEST_URI} =~ /a/"
FilterProtocol smart change=yes
AddOutputFilterByType DEFLATE text/html
AddOutputFilterByType SUBSTITUTE;DEFLATE text/plain
DeflateCompressionLevel 1
DeflateBufferSize 1024
SSIEndTag "-->"
SSIUndefinedEcho "(undefined)"
ScriptAlias /cgi-bin/ %ROOT%/cgi/
ScriptAliasMatch ^/run/(.*)$ %ROOT%/cgi/$1
Alias /icons/ %ROOT%/list/
LogMessage "at %{REQUEST_URI}"
AcceptPathInfo On
ErrorDocument 404 /e/404.shtml
ErrorDocument 403 /e/err.cgi
ErrorDocument 500 "broken"
ErrorDocument 401 /a.html
ErrorDocument 406 /list/
RewriteEngine On
RewriteRule ^/rw/(.*)$ /dir/$1 [PT,E=rw:$1]
RewriteRule ^/ext/(.*)$ http://other.example/$1 [R=302,L]
RewriteRule ^/forbidden - [F]
RewriteRule ^/typed/(.*)$ /$1 [T=text/x-rewritten,PT]
RewriteCond %{QUERY_STRING} q=(\d+)
RewriteRule ^/q/(.*) /$1?%1 [QSA,PT]
AddIcon /icons/one.gif .txt
AddDescription "a text" *.txt
IndexStyleSheet /style.css
AddAlt TEXT .txt
DefaultIcon /icons/d.gif
ReadmeName README.html
HeaderName HEADER.html
TransferLog transfer
CookieTracking On
UseCanonicalName On
UseCanonicalName Off
FileETag All
MaxRanges 2
MaxRanges none
MaxRangeOverlaps 1
MaxRangeReversals 0
LimitRequestLine 200
LimitRequestFieldSize 300
LimitRequestFields 6
LimitRequestBody 40
HttpProtocolOptions Unsafe
HttpProtocolOptions Strict LenientMethods Require1.0
MergeSlashes Off
MergeTrailers On
AllowEncodedSlashes NoDecode
RegisterHttpMethod FROB
StrictHostCheck On
QualifyRedirectURL On
RedirectMatch 404 \.bak$
ProxyHTMLEnable On
BufferSize 100
""")

DIRECTORY: Final = pool(r"""
ExpiresActive On
ExpiresDefault "access plus 1 day"
ExpiresByType text/html "modification plus 1 week"
ExpiresByType text/plain A60
ExpiresByType text/plain M3600
SetHandler cgi-script
SetHandler default-handler
SetHandler type-map
SetHandler imap-file
SetHandler reflector
SetHandler none
SetHandler "%{req:X-Key}"
SetHandler expr=%{reqenv:set}
AddHandler send-as-is .asis
AddHandler cgi-script .cgi
AddHandler type-map .var
AddHandler imap-file .map
Action text/plain /cgi/env.cgi
Action act /cgi/env.cgi virtual
AddHandler act .act
Script POST /cgi/env.cgi
AllowMethods GET
AllowMethods GET POST OPTIONS
AllowMethods reset
Options +MultiViews
Options +Includes +ExecCGI
Options +IncludesNOEXEC
Options -FollowSymLinks
Options SymLinksIfOwnerMatch
MultiviewsMatch Any
MultiviewsMatch Handlers Filters
LanguagePriority de en
ForceLanguagePriority Fallback
ForceLanguagePriority Prefer Fallback
AddLanguage de .de
AddLanguage en .en
AddEncoding x-gzip .gz
AddCharset utf-8 .utf8
DefaultLanguage fr
ModMimeUsePathInfo On
AddOutputFilter INCLUDES .shtml
AddOutputFilter SUBSTITUTE .txt
AddOutputFilter DEFLATE;SUBSTITUTE .html
SetOutputFilter DEFLATE
SetOutputFilter BROTLI_COMPRESS;DEFLATE
SetOutputFilter SUBSTITUTE
SetOutputFilter Sed
SetOutputFilter upper
SetOutputFilter RATE_LIMIT
SetOutputFilter DATA
SetOutputFilter BUFFER
SetOutputFilter CaseFilter
SetOutputFilter INFLATE
SetOutputFilter proxy-html
SetOutputFilter None
FilterChain smart
FilterChain +smart
FilterChain !
Substitute s/plain/PLAIN/
Substitute "s|(a+)|<$1>|i"
OutputSed "s/a/A/g"
CharsetSourceEnc utf-8
CharsetDefault iso-8859-1
XBitHack On
XBitHack full
SSILastModified On
SSIETag On
MetaFiles On
MetaDir .web
MetaSuffix .meta
LogMessage "request %{REQUEST_METHOD}" hook=all
LogMessage "log" expr=%{REQUEST_STATUS}=404
SetEnv rate-limit 4000
SetEnv no-gzip 1
SetEnv force-no-vary 1
SetEnv nokeepalive 1
SetEnv downgrade-1.0 1
SetEnv set value
SetEnvIf X-Key ^k set=if
SetEnvIfExpr "%{REQUEST_URI} =~ m#/(.)#" first=$1
BrowserMatch Good good prefer-language=de
PassEnv PATH
Session On
SessionEnv On
SessionHeader X-Session
SessionCookieName s path=/
SessionExclude /dir
SessionMaxAge 100
CookieTracking On
CookieName tracked
CookieExpires "1 week"
CookieStyle Cookie2
CheckSpelling On
ImapMenu formatted
ImapDefault nocontent
ImapBase map
IndexOptions FancyIndexing HTMLTable
IndexOptions FancyIndexing NameWidth=* SuppressIcon
IndexOptions FancyIndexing FoldersFirst VersionSort
IndexOptions FancyIndexing SuppressHTMLPreamble SuppressRules
IndexOptions FancyIndexing XHTML IconsAreLinks TrackModified
IndexOptions FancyIndexing SuppressColumnSorting SuppressDescription
IndexOptions FancyIndexing SuppressLastModified SuppressSize ShowForbidden
IndexOptions +IgnoreClient +DescriptionWidth=8
IndexOrderDefault Descending Size
IndexOrderDefault Ascending Date
IndexIgnoreReset On
AddIconByType (TXT,/i/t.gif) text/plain
AddAltByType "text file" text/plain
DirectorySlash Off
DirectoryIndexRedirect On
DirectoryIndexRedirect permanent
DirectoryCheckHandler On
DirectoryIndex page.shtml index.html
DirectoryIndex /cgi/env.cgi
FallbackResource /a.html
FallbackResource disabled
FallbackResource /cgi/env.cgi
Redirect 307 /dir/old /new
Redirect seeother /list http://x.example/
RedirectMatch permanent ^/(.*)\.old$ /$1.txt
RewriteEngine On
RewriteRule ^b\.txt$ sub/c.txt [L]
RewriteRule ^(.*)\.cgi2$ $1.cgi [E=two:1]
RewriteRule \.gone$ - [G]
RewriteRule ^r/(.*)$ /$1 [R,L,NE]
RewriteRule ^t$ - [T=text/x-t,H=send-as-is]
RewriteBase /dir
RewriteOptions Inherit
RewriteCond %{HTTP_USER_AGENT} Good
RewriteRule . - [CO=name:value:localhost:10]
Header set X-Path "expr=%{REQUEST_URI}"
Header onsuccess append Vary X-Key
Header always merge Vary Accept
Header setifempty X-If "%D" env=none
Header note X-Note noted
Header edit* Content-Type t T
Header unset Content-Type
Header unset Last-Modified
Header set Content-Language nl
Header set ETag "\"fixed\""
Header add Set-Cookie "c=%{set}e; path=/"
Header always echo ^X-
Header set X-Cond yes "expr=%{req:X-Key} == 'k1'"
RequestHeader set X-Key k1
RequestHeader unset Range
RequestHeader edit User-Agent Good Other
RequestHeader set Accept-Encoding gzip
KeptBodySize 100
LimitRequestBody 10
LimitXMLRequestBody 10
ErrorDocument 403 "%{REQUEST_URI} is closed"
ErrorDocument 404 /cgi/env.cgi?from=404
ErrorDocument 405 /a.html
ErrorDocument 416 /dir/b.txt
ContentDigest On
UseCanonicalName Off
EnableSendfile Off
EnableMMAP Off
AuthBasicFake alice curlew
AuthBasicAuthoritative Off
AuthBasicProvider anon file
Anonymous "*"
Anonymous_NoUserID On
AuthMerging And
AuthMerging Or
AuthzSendForbiddenOnFailure On
FileETag INode
FileETag -INode
FileETag +INode -MTime
FileETag Digest
DeflateInflateLimitRequestBody 100
DeflateAlterETag NoChange
BrotliAlterETag Remove
DefaultType text/x-default
ForceType None
RemoveHandler .cgi
RemoveEncoding .gz
RemoveLanguage .de
RemoveOutputFilter .txt
InputSed s/a/b/
SetInputFilter DEFLATE
SetInputFilter Sed
ReflectorHeader X-Key
CGIPassAuth On
CGIVar REQUEST_URI original-uri
CGIDScriptTimeout 20
ScriptInterpreterSource Script
QualifyRedirectURL On
SSILegacyExprParser On
AcceptPathInfo Off
AcceptPathInfo Default
""")

SECTIONS: Final = pool(r"""
Directory "%ROOT%"
Directory "%ROOT%/dir"
Directory "%ROOT%/list"
Directory "%ROOT%/cgi"
Directory "%ROOT%/neg"
Location /
Location /dir
Location /list
Location /cgi
Location /status
LocationMatch "^/(neg|mix)/"
Files *.txt
Files "page.*"
FilesMatch "\.(html|cgi)$"
If "%{REQUEST_URI} =~ m#^/dir#"
If "%{HTTP:X-Key} == 'k1'"
If "-f %{REQUEST_FILENAME} && %{REQUEST_METHOD} == 'GET'"
IfModule mod_alias.c
""")

PATHS: Final = pool(r"""
/
/a.txt
/a.html
/a.TXT
/a.txtt
/dir
/dir/
/dir/b.txt
/dir/sub/c.txt
/dir/old/x
/dir/r/a.txt
/dir/t
/dir/x.gone
/list/
/list/?C=S;O=D
/list/?C=D;O=A&F=2&P=*.txt
/list/?F=1
/list/deep/
/page.shtml
/page.shtml/info
/page.shtml?set=1
/inner.shtml
/cgi/env.cgi
/cgi/env.cgi/path/info?a=b
/cgi/status.cgi
/cgi/redirect.cgi
/cgi/broken.cgi
/cgi/long.cgi
/cgi/nph-x.cgi
/cgi-bin/env.cgi
/run/env.cgi
/neg/doc
/neg/doc.html
/neg/map
/neg/map.var
/neg/pic
/neg/
/mix/as.asis
/mix/m.map
/mix/m.map?5,5
/mix/m.map?50,50
/mix/z.txt.gz
/mix/x.act
/mix/latin
/mix/utf.html.utf8
/mix/noext
/~user/x.txt
/~none/
/status
/status?auto
/rw/b.txt
/ext/a
/forbidden
/typed/a.txt
/q/a.txt?q=7
/none
/none.bak
/x.old
/icons/one.txt
/e/404.shtml
/%00
/a%0db
/a.txt%20
/a.txt/extra
/.meta
/dir/%2e%2e/a.txt
//dir///b.txt
/a%2ftxt
""")

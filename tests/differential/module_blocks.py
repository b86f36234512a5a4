"""Blocks of configuration, areas with users, and bodies of requests for random sites of all modules."""

from __future__ import annotations

from typing import Final

from tests.differential.guards import ALIASES
from tests.differential.pools import pool

BLOCKS: Final = tuple(
    block.strip() + "\n"
    for block in rf"""
<Macro Area $dir $word>
<Location $dir>
Header set X-Macro "$word"
</Location>
</Macro>
Use Area /dir one
Use Area /list "two words"
----
<Macro Tail %x @y>
SetEnv set %x@y
ErrorDocument 404 "@y %x"
</Macro>
<Directory "%ROOT%/dir">
Use Tail a b
</Directory>
UndefMacro Tail
----
Define PLACE dir
<Location /${{PLACE}}>
Header set X-Place "${{PLACE}} ${{UNKNOWN}}"
</Location>
<IfDefine PLACE>
UnDefine PLACE
</IfDefine>
<IfDefine PLACE>
Header set X-Never never
</IfDefine>
<IfDefine !PLACE>
Header set X-Always always
</IfDefine>
----
<IfVersion >= 2.4>
Header set X-Version new
</IfVersion>
<IfVersion 2.2.0>
Header set X-Version old
</IfVersion>
<IfVersion !~ ^2\.2>
Header append X-Version more
</IfVersion>
<IfVersion < 2.4.10>
NoDirective
</IfVersion>
----
<IfModule !mod_none.c>
<IfModule headers_module>
Header set X-Module headers
</IfModule>
</IfModule>
<IfFile "%ROOT%/a.txt">
Header set X-File yes
</IfFile>
<IfFile !nofile>
Header append X-File no
</IfFile>
<IfDirective Session>
Header append X-File session
</IfDirective>
<IfSection Macro>
Header append X-File macro
</IfSection>
----
Include more.conf
IncludeOptional none*.conf
IncludeOptional more.d/*.conf
----
<Directory "%ROOT%/dir">
Include more.conf
</Directory>
----
<If "%{{REQUEST_URI}} =~ m#^/(dir|list)#">
Header set X-If $1
<If "%{{REQUEST_METHOD}} == 'POST'">
Header append X-If post
</If>
</If>
<ElseIf "req('X-Key') -in {{'k1', 'k2'}}">
Header set X-If key
</ElseIf>
<Else>
Header set X-If none
SetEnv set else
</Else>
----
<Directory "%ROOT%">
<If "%{{QUERY_STRING}} -strmatch '*=*'">
Header set X-Query "expr=%{{QUERY_STRING}}"
</If>
<Else>
<Files *.txt>
Header set X-Query no
</Files>
</Else>
</Directory>
----
{ALIASES}<Location /dir>
AuthType Basic
AuthName zone
AuthBasicProvider second file
AuthUserFile passwd
AuthGroupFile groups
<RequireAny>
Require near
Require chosen
<RequireAll>
Require keepers
Require not ip 127.0.0.2
</RequireAll>
</RequireAny>
</Location>
----
<Directory "%ROOT%/list">
AuthType Basic
AuthName zone
AuthUserFile passwd
AuthGroupFile groups
<RequireAll>
Require valid-user
<RequireAny>
Require group wardens
<RequireAll>
Require method GET HEAD
Require not user bob
</RequireAll>
</RequireAny>
<RequireNone>
Require env good
Require expr %{{HTTP_USER_AGENT}} == 'Good'
</RequireNone>
</RequireAll>
</Directory>
----
<VirtualHost *:%PORT%>
ServerName one.example
ServerAlias *.one.example two.example
DocumentRoot %ROOT%/dir
ServerPath /dir
Header set X-Host one
</VirtualHost>
<VirtualHost 127.0.0.1:%PORT%>
ServerName address.example
Header set X-Host address
</VirtualHost>
----
<VirtualHost _default_:%PORT%>
ServerName three.example
UseCanonicalName On
Header set X-Host three
RewriteEngine On
RewriteOptions InheritBefore
RewriteRule ^/three$ /a.txt
</VirtualHost>
<VirtualHost *:%PORT%>
ServerName one.example
Header set X-Host second
ErrorDocument 404 "second"
</VirtualHost>
----
<Location /login>
SetHandler form-login-handler
AuthFormLoginSuccessLocation /a.txt
AuthFormLoginRequiredLocation /a.html
AuthType form
AuthName zone
AuthFormProvider file
AuthUserFile passwd
Session On
SessionCookieName session path=/
</Location>
<Location /logout>
SetHandler form-logout-handler
AuthName zone
AuthFormLogoutLocation /a.html
Session On
SessionCookieName session path=/
SessionMaxAge 1
</Location>
----
<Location /dir>
AuthType form
AuthName zone
AuthFormProvider anon file
AuthUserFile passwd
AuthFormFakeBasicAuth On
Anonymous guest
Session On
SessionCookieName session path=/
SessionEnv On
ErrorDocument 401 /a.html
Require valid-user
</Location>
----
<Location /cgi>
SetHandler reflector
ReflectorHeader X-Key X-Reflected
ReflectorHeader Content-Type
</Location>
----
<Location /mix>
ModemStandard V.92
</Location>
----
<Location /dir>
Session On
SessionCookieName2 session Path=/;Version=1
SessionInclude /dir/sub
SessionExclude /dir/sub/c
SessionHeader X-Session
SessionExpiryUpdateInterval 100
SessionEnv On
Header set X-Session "key=k1"
</Location>
----
<Directory "%ROOT%/mix">
CharsetSourceEnc iso-8859-1
CharsetDefault utf-8
CharsetOptions ImplicitAdd
</Directory>
----
<Files *.txt>
SetOutputFilter upper;typed
ExtFilterOptions LogStderr
</Files>
ExtFilterDefine upper mode=output cmd="/usr/bin/tr a-z A-Z" preservescontentlength
ExtFilterDefine typed mode=output intype=text/plain outtype=text/x-typed cmd="/bin/sed s/P/QQ/g"
----
ExtFilterDefine twice mode=input cmd="/bin/sed p"
<Location /cgi>
SetInputFilter twice
</Location>
----
<Location /cgi>
AddInputFilter CaseFilterIn;BUFFER .cgi
KeptBodySize 64
</Location>
""".split("----\n")
)
AREAS: Final = tuple(
    area.strip()
    for area in """
AuthType Basic
AuthName "zone"
AuthUserFile passwd
AuthGroupFile groups
----
AuthType Basic
AuthName dbm
AuthBasicProvider dbm
AuthDBMType SDBM
AuthDBMUserFile users
AuthDBMGroupFile users
----
AuthType Basic
AuthName anon
AuthBasicProvider anon file
Anonymous guest alice
Anonymous_MustGiveEmail Off
AuthUserFile passwd
----
AuthType Basic
AuthName mail
AuthBasicProvider anon
Anonymous *
Anonymous_VerifyEmail On
Anonymous_LogEmail On
----
AuthType Digest
AuthName realm
AuthDigestProvider file
AuthUserFile digests
AuthGroupFile groups
----
AuthType Digest
AuthName realm
AuthDigestDomain / /dir
AuthDigestQop none
AuthUserFile digests
----
AuthType form
AuthName zone
AuthFormProvider file
AuthUserFile passwd
Session On
SessionCookieName session path=/
AuthFormLoginRequiredLocation /a.html
----
AuthType Basic
AuthName lost
AuthUserFile nowhere
----
AuthType None
""".split("----\n")
)
REQUIRE: Final = pool("""
Require dbm-group wardens
Require dbm-file-group
Require file-owner
Require file-group
Require forward-dns localhost
Require host localhost
Require expr %{REQUEST_METHOD} == 'GET'
Require not env good
Require user %{REQUEST_METHOD} bob
""")
PATHS: Final = pool("""
/login
/login?x=1
/logout
/dir/sub/c.txt?a=b
/three
/cgi/env.cgi
/dir/b.txt
""")
HOSTS: Final = pool("""
one.example
sub.one.example:8080
two.example.
THREE.example
address.example
bad_host!
""")
COOKIES: Final = (
    "session=zone-user=alice&zone-pw=curlew&expiry=9999999999999999",
    "session=zone-user=alice&zone-pw=wrong",
    "session=expiry=1&zone-user=bob&zone-pw=dunlin",
    "session=key=k%201&+=x; Path=/; other=1",
    'session="quoted=1"; $Version=1',
)
FORM: Final = "application/x-www-form-urlencoded"
# of requests: content type, body; a body is sent with Content-Length or in chunks
BODIES: Final = (
    (FORM, "httpd_username=alice&httpd_password=curlew"),
    (FORM, "httpd_username=alice&httpd_password=curlew&httpd_location=http://localhost/dir/&x=1"),
    (FORM, "httpd_username=bob&httpd_password=wrong&httpd_location=/list/"),
    (FORM, "httpd_username=guest&httpd_password=%41b%zz+c&httpd_method=GET&httpd_body=a%3db"),
    (FORM, "httpd_username=alice&httpd_password=curlew&httpd_method=POST&httpd_mimetype=text/x"),
    (FORM, "=&&a"),
    (FORM, ""),
    ("text/plain", "a line\nanother\n"),
    ("text/plain", "long " * 3000),
    ("application/xml", "<a/>"),
    ("text/plain; charset=iso-8859-1", "na\xefve"),
    ("application/octet-stream", "\x1f\x8b not gzip"),
)
MORE: Final = {
    "more.conf": "Header set X-More yes\nSetEnv set more\n",
    "more.d/1.conf": "Header append X-More one\n",
    "more.d/2.conf": '<Files "*.txt">\nHeader append X-More two\n</Files>\n',
}

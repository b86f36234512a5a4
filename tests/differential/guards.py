"""Texts of generated access control: one directive, opening line or path a line; blocks where lines belong
together.
"""

from __future__ import annotations

from tests.differential.pools import pool

ALIASES = """<AuthnProviderAlias file second>
AuthUserFile passwd2
</AuthnProviderAlias>
<AuthzProviderAlias ip near "127.0.0.1 127.0.0.3">
</AuthzProviderAlias>
<AuthzProviderAlias user chosen "bob carol">
</AuthzProviderAlias>
<AuthzProviderAlias group keepers wardens>
AuthGroupFile groups
</AuthzProviderAlias>
"""
AREAS = (
    *("AuthType Basic\nAuthName zone\nAuthUserFile passwd\nAuthGroupFile groups",) * 4,
    "AuthType Basic\nAuthName two\nAuthBasicProvider file second\nAuthUserFile passwd\nAuthGroupFile groups",
    "AuthType Basic\nAuthName back\nAuthBasicProvider second file\nAuthUserFile passwd",
    "AuthType Basic\nAuthName lost\nAuthUserFile nowhere\nAuthGroupFile nowhere",
    "AuthType Basic\nAuthName open\nAuthUserFile passwd\nAuthBasicAuthoritative Off",
    "AuthType Basic\nAuthName hashed\nAuthUserFile digests\nAuthGroupFile groups\n"
    "AuthBasicUseDigestAlgorithm MD5",
    "AuthType Digest\nAuthName realm\nAuthDigestProvider file\nAuthUserFile digests\nAuthGroupFile groups",
    "AuthType Digest\nAuthName realm\nAuthDigestDomain /\nAuthDigestProvider file\nAuthUserFile digests",
    "AuthType None",
)
PARTS = pool("""
AuthType Basic
AuthType None
AuthType Digest
AuthName other
AuthUserFile passwd2
AuthGroupFile groups
AuthBasicProvider second
AuthBasicProvider file
AuthBasicAuthoritative Off
AuthzSendForbiddenOnFailure On
AuthMerging And
AuthMerging Or
AuthMerging Off
SetEnvIf User-Agent Good good
SetEnvIf Request_URI dir !good
""")
REQUIRE = pool(r"""
Require all granted
Require all denied
Require valid-user
Require user alice
Require user bob alice
Require user "alice" carol
Require group wardens
Require group both nobody
Require group
Require ip 127.0.0.1
Require ip 127.0.0.2 10.0.0.0/8
Require ip 127.0.0.0/255.255.255.254
Require ip 127.0 ::1
Require env good
Require env good other
Require method GET HEAD
Require method POST OPTIONS
Require local
Require host localhost
Require host example.org
Require forward-dns localhost
Require file-owner
Require file-group
Require near
Require chosen
Require keepers
Require expr %{REQUEST_METHOD} == 'GET'
Require expr "%{REMOTE_ADDR} == '127.0.0.1'"
Require expr %{REMOTE_USER} == 'alice'
Require expr %{HTTP_USER_AGENT} =~ /^Good/
Require expr -R '127.0.0.2/31' && ! -n req('X-Key')
Require user %{REQUEST_METHOD} bob
Require group %{env:good} wardens
""")
NEGATED = pool(r"""
Require not ip 127.0.0.2
Require not user bob
Require not group both
Require not method POST
Require not env good
Require not all denied
Require not all granted
Require not valid-user
Require not near
Require not expr %{REQUEST_METHOD} == 'POST'
""")
ACCESS = pool("""
Allow from all
Allow from 127.0.0.1
Allow from 127.0.0.2 10.0.0.0/8
Allow from 127.0.0.0/31
Allow from 127.0.0
Allow from env=good
Allow from localhost
Deny from all
Deny from 127.0.0.1
Deny from 127.0.0.2
Deny from env=!good
Deny from env=good
Deny from localhost
Order allow,deny
Order deny,allow
Order mutual-failure
Satisfy Any
Satisfy All
""")
OVERRIDE = pool(r"""
AllowOverride None
AllowOverride All
AllowOverride AuthConfig
AllowOverride Limit
AllowOverride AuthConfig Limit FileInfo
AllowOverrideList Require Order AuthMerging
AllowOverride Nonfatal=AuthConfig
""")
LIMITS = pool(r"""
Limit GET
Limit POST OPTIONS
LimitExcept GET
LimitExcept POST
""")
SECTIONS = pool(r"""
Directory "%ROOT%"
Directory "%ROOT%/dir"
Directory "%ROOT%/dir"
Directory "%ROOT%/dir/sub"
Directory "%ROOT%/*/sub"
Directory ~ "/(dir|list)$"
DirectoryMatch "/sub$"
Location /
Location /dir
Location /dir
Location /dir/sub/
LocationMatch "^/(list|al)/"
Files b.txt
Files *.html
FilesMatch "\.txt$"
If "%{REQUEST_METHOD} == 'GET'"
If "%{HTTP_USER_AGENT} == 'Good'"
If "-R '127.0.0.2'"
If "%{REQUEST_URI} =~ m#^/dir#"
""")
INNER = pool(r"""
Files b.txt
FilesMatch "\.(txt|html?)$"
If "%{REQUEST_METHOD} == 'POST'"
If "-n req('X-Key')"
""")
SERVER = pool(r"""
Alias /al %ROOT%/dir
ErrorDocument 401 /a.txt
ErrorDocument 403 /dir/b.txt
ErrorDocument 403 "shut"
DirectoryIndex first.htm index.html
TraceEnable Off
SetEnvIf User-Agent Good good=1
""")
PATHS = pool(r"""
/
/a.txt
/dir/
/dir/
/dir/b.txt
/dir/b.txt
/dir/sub/
/dir/sub/c.txt
/dir/sub/c.txt
/dir/sub/none.txt
/dir
/list/
/list/one.txt
/list/deep/three.txt
/al/b.txt
/al/sub/c.txt
/nothing
/dir/.htaccess
""")
PASSWORDS = ("",) * 4 + pool("""
alice:curlew
alice:curlew
bob:dunlin
bob:dunlin
carol:godwit
carol:curlew
alice:wrong
alice:
eve:x
:curlew
nocolon
""")

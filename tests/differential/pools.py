"""Texts of generated configurations: one directive, opening line or path a line."""

from __future__ import annotations


def pool(text: str) -> tuple[str, ...]:
    """The lines of a block."""
    return tuple(text.strip().splitlines())


AUTH = """AuthType Basic
AuthName "zone"
AuthUserFile passwd
AuthGroupFile groups"""

ADDRESSES = pool("""
all
127.0.0.1
127.0.0.2
127.0.0
127.0.0.0/31
10.0.0.0/8
env=good
env=!good
localhost
127.0.0.1 127.0.0.2
""")
ACCESS = (
    *(f"{verb} from {address}" for verb in ("Allow", "Deny") for address in ADDRESSES),
    *pool("""
Order allow,deny
Order deny,allow
Order mutual-failure
Satisfy Any
Satisfy All
"""),
)
REQUIRE = pool(r"""
Require all granted
Require all denied
Require valid-user
Require user alice
Require user bob alice
Require group wardens
Require group both nobody
Require ip 127.0.0.1
Require ip 127.0.0.2 10.0.0.0/8
Require env good
Require method GET HEAD
Require local
""")
FILEINFO = pool(r"""
Header set X-Where here
Header append X-Where more
Header always set X-All yes
Header unset ETag
Header set X-Env %{good}e env=good
Header merge Cache-Control no-cache
Header edit X-Where here there
SetEnvIf User-Agent Good good=1
SetEnvIf Remote_Addr ^127\.0\.0\.2$ good
SetEnvIfNoCase Referer example good !late
SetEnvIf X-Key ^(.+)$ good=$1
SetEnv set value
UnsetEnv set
AddType text/x-odd .ext
ForceType text/x-forced
DefaultType none
AddDefaultCharset utf-8
AddCharset koi8-r .txt
AddLanguage nl .txt
AddEncoding x-zip .ext
RemoveType .html
ErrorDocument 404 "gone away"
ErrorDocument 403 /a.txt
ErrorDocument 401 nobody
ErrorDocument 404 /no/such
FileETag None
FileETag Size
Redirect /old http://elsewhere.example/new
Redirect gone /gone
RedirectMatch 303 ^/see/(.*)$ /a.txt?$1
RedirectPermanent /moved /dir/
ContentDigest On
AcceptPathInfo On
AcceptPathInfo Off
DirectorySlash Off
ServerSignature On
""")
INDEXES = pool(r"""
DirectoryIndex first.htm
DirectoryIndex b.txt index.html
DirectoryIndex disabled
DirectoryIndex nothing /a.txt
IndexOptions FancyIndexing
IndexOptions +IgnoreCase
IndexIgnore *.html
IndexOptions None
""")
OPTIONS = pool(r"""
Options None
Options Indexes
Options +Indexes
Options -Indexes
Options All
Options Indexes FollowSymLinks
Options FollowSymLinks +Indexes
""")
OVERRIDE = pool(r"""
AllowOverride None
AllowOverride All
AllowOverride AuthConfig Limit
AllowOverride FileInfo Indexes
AllowOverride Options=Indexes
AllowOverride Limit
AllowOverride Nonfatal=All
""")
SECTIONS = pool(r"""
Directory "%ROOT%"
Directory "%ROOT%/dir"
Directory "%ROOT%/dir/sub"
Directory "%ROOT%/*"
DirectoryMatch "/(sub|list)$"
Location /
Location /dir
Location /dir/sub/
LocationMatch "^/(list|al)/"
Files a.txt
Files *.html
FilesMatch "\.(txt|ext)$"
""")
LIMITS = pool(r"""
Limit GET
Limit POST
LimitExcept GET
""")
SERVER = pool(r"""
Alias /al %ROOT%/dir
Alias /file %ROOT%/a.txt
AliasMatch "^/m/([a-z]+)$" "%ROOT%/dir/$1.txt"
KeepAlive Off
TraceEnable Off
AllowEncodedSlashes On
""")
PATHS = pool(r"""
/
/a.txt
/a.html
/odd.ext
/sp%20ace.txt
/.hidden
/dir
/dir/
/dir/b.txt
/dir/sub/
/dir/sub/c.txt
/dir/sub/c.txt/more
/list/
/list/one.txt
/list/deep/
/al/
/al/b.txt
/al
/file
/m/b
/old/x
/gone
/see/q
/moved/b.txt
/nothing
/dir/../a.txt
//dir//b.txt
/%2e%2e/a.txt
/a%2Ftxt
/dir/?C=M;O=D
/a.txt?q=1
/dir/.htaccess
""")
NEGATED = (
    "Require not ip 127.0.0.2",
    "Require not user bob",
    "Require not method POST",
    "<RequireNone>\nRequire env good\n</RequireNone>",
)
CONTAINERS = ("RequireAll", "RequireAny")

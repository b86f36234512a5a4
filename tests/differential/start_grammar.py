"""Random configurations for comparisons of -t, -S, start and stop: valid and invalid lines, sections, files.

Placeholders: @ROOT@, @PORT@, @PORT2@ (free ports), @BUSY@ (a port in use), @MODULES@.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

MODULES = """
authn_core authn_file authz_core authz_host authz_user authz_groupfile auth_basic access_compat alias autoindex dir
env expires headers include macro mime negotiation rewrite setenvif status userdir vhost_alias actions deflate
filter info log_forensic speling substitute unique_id usertrack cgi cgid reqtimeout allowmethods remoteip
""".split()
Piece = list[str]


@dataclass
class StartCase:
    """A configuration: its main file, and further files by path below the server root."""

    number: int
    text: str
    files: dict[str, str] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()


# One word is chosen for {a|b|c}; wrong values stand beside right ones.
GLOBAL = """
ServerName {localhost|a.example|a.example:80|http://a.example|http://a.example:81|a b|"a.example"|-|*|a_b|:80|a:99999}
ServerAdmin {you@a.example|"a b"|a b}
ServerTokens {Prod|Full|OS|Foo|prod|Major Minor}
ServerSignature {On|Off|EMail|Foo|email}
KeepAlive {On|Off|banana|on off|}
KeepAliveTimeout {5|0|5000ms|-1|x|100min|}
MaxKeepAliveRequests {100|0|-1|x}
Timeout {60|0|-1|x|60s|300}
LimitRequestFields {100|0|-1|x|40000}
LimitRequestLine {8190|0|-1|x|70000}
LimitRequestFieldSize {8190|-5|x|1000000}
LimitRequestBody {0|100|-1|x|9999999999|99999999999999999999}
LimitInternalRecursion {10|0|-1|x|5 5|5 x|5 6 7}
HostnameLookups {On|Off|Double|Foo}
UseCanonicalName {On|Off|DNS|Foo}
UseCanonicalPhysicalPort {On|Foo}
AcceptPathInfo {On|Default|Foo}
ContentDigest {On|Foo}
EnableMMAP {On|Off|Foo}
EnableSendfile {On|Off|Foo}
FileETag {None|All|MTime Size|+INode|-Size|Foo|MTime None|Digest}
AddDefaultCharset {On|Off|utf-8|a b}
AllowEncodedSlashes {On|Off|NoDecode|Foo}
TraceEnable {on|off|extended|Foo}
LogLevel {warn|info|debug|trace8|trace9|core:info|alias:debug|nomodule:info|warn core:foo|foo|notice rewrite:trace3|}
ErrorLogFormat {"%t %M"|"%{x"|"[%t] %Q"|"%M%"|request|connection "[%c]"}
HttpProtocolOptions {Strict|Unsafe|Foo|Strict Allow0.9|Strict Unsafe|}
Protocols {http/1.1|h2|h2 http/1.1|foo|}
MergeSlashes {On|Foo}
MaxRanges {none|unlimited|default|10|0|-1|x}
ServerLimit {4|0|x|-3|30000}
ThreadsPerChild {25|0|x|-2|64|100000}
ThreadLimit {64|0|x|20001|10}
MaxRequestWorkers {50|0|x|30|400|100000|-1}
StartServers {1|0|-1|x}
MinSpareThreads {5|0|-1|x}
MaxSpareThreads {50|0|-1|x}
MaxConnectionsPerChild {0|100|-1|x}
AsyncRequestWorkerFactor {2|0|-1|x}
ListenBacklog {511|0|-1|x}
SendBufferSize {0|100|1024|x|-1}
ReceiveBufferSize {0|100|1024|x}
GracefulShutdownTimeout {5|-1|x}
CoreDumpDirectory {@ROOT@|/nonexistent|@ROOT@/file}
DefaultRuntimeDir {logs|nodir|@ROOT@/logs|/nonexistent/x}
Mutex {default|file:logs default|foo|sem|none|file:nodir default|default nosuch|pthread rewrite-map}
ScoreBoardFile {logs/sb|nodir/sb}
AcceptFilter {http none|http data|http foo|https|ftp none}
ExtendedStatus {On|Foo}
SeeRequestTail {On|Foo}
AccessFileName {.htaccess|.acl .other|}
ErrorDocument {404 /x|404 "text|404 "text"|999 x|200 x|abc x|403 http://a.example/|401 http://a.example/|500 default}
CustomLog {logs/access common|logs/access "%h %l"|nodir/a common|logs/access "%{x"|logs/access "%Q"|logs/access nosuch}
CustomLog {"|/bin/cat" common|logs/a common env=x|logs/a common env=!x|logs/a common foo|logs/a common "expr=true"|logs/a common "expr=foo("}
TransferLog {logs/transfer|nodir/t|}
LogFormat {"%h" x|"%h"|"%{x" y|"%h %!200s" z}
BufferedLogs {On|Foo}
GlobalLog {logs/g common|}
ForensicLog {logs/forensic|nodir/f}
User {www-data|nosuchuser|#33|#99999|#0|root|#x}
Group {www-data|nosuchgroup|#33|#99999|#-1|#x}
ChrootDir {/nonexistent|@ROOT@/nodir}
DocumentRoot {@ROOT@/htdocs|htdocs|/nonexistent|@ROOT@/file|"@ROOT@/htdocs"|}
ErrorLog {logs/error_log|logs/other_log|nodir/e|"|/bin/cat"|"|/nonexistent/prog"|syslog:foo:bar:baz:x}
PidFile {logs/httpd.pid|logs/other.pid|nodir/p|@ROOT@/logs}
Listen {127.0.0.1:@PORT2@|127.0.0.1:@PORT2@ http|127.0.0.1:@PORT@|foo|127.0.0.1|99999|0|127.0.0.1:@PORT2@ http x|nosuch.invalid:80|127.0.0.1:@BUSY@|[::1]:@PORT2@|127.0.0.1:80x|:80|127.0.0.1:@PORT2@ options=x|*:}
LoadModule {env_module @MODULES@/mod_env.so|env_module @MODULES@/mod_nosuch.so|nosuch_module @MODULES@/mod_env.so|unixd_module @MODULES@/mod_unixd.so|http_module @MODULES@/mod_http.so|env_module|alias_module @MODULES@/mod_alias.so x|mpm_prefork_module @MODULES@/mod_mpm_prefork.so|proxy_http_module @MODULES@/mod_proxy_http.so|data_module @ROOT@/file|data_module @ROOT@/empty}
LoadFile {/nonexistent.so|@ROOT@/file}
ServerRoot {@ROOT@|"@ROOT@"|/nonexistent|@ROOT@/htdocs|}
Define {X|X y|X "a b"|X y z|${x}|a:b|}
UnDefine {X|Y|${X}}
Error {"stop here"|a b|}
Include {conf/more.conf|conf/nosuch.conf|conf/*.conf|conf/no*.conf|@ROOT@/conf/more.conf|conf|conf/d|/nonexistent/*/x.conf|conf/loop.conf|conf/broken.conf|conf/[a|}
IncludeOptional {conf/more.conf|conf/nosuch.conf|conf/no*.conf|conf/d/*.conf|/nonexistent/*/x.conf|conf/broken.conf}
NameVirtualHost {*:80|127.0.0.1}
Nosuch {|a|"a|a b}
Use {Site a|Site|Nosuch x|Site a b}
UndefMacro {Site|Nosuch}
Alias {/a @ROOT@/htdocs|/a|/a/ @ROOT@/htdocs|/a b c|a @ROOT@/htdocs}
AliasMatch {^/a(.*)$ @ROOT@/htdocs$1|( /x|[a /x}
ScriptAlias {/cgi/ @ROOT@/htdocs/|/cgi}
Redirect {/a http://b.example/|permanent /a /b|foo /a /b|/a b|410 /a|410 /a /b|301 /a|a /b|gone /x}
RedirectMatch {^/a$ /b|( /b|301 ^/x|gone ^/x}
RewriteEngine {On|Off|Foo}
RewriteRule {^/a /b|( /b|^/a /b [L|^/a /b [Q]|^/a /b [R=404]|^/a /b [R=999]|^/a /b [L,|^/a|^/a /b [E=x:y,L] z|! - [F]|[ -}
RewriteCond {%{HTTP_HOST} ^a|%{HTTP_HOST} (|%{HTTP_HOST} ^a [NC]|%{HTTP_HOST} ^a [Q]|%{HTTP_HOST}|a b c d|expr true|expr foo(|%{X} -Z}
RewriteMap {m txt:@ROOT@/file|m txt:/nonexistent|m int:toupper|m int:foo|m prg:/nonexistent|m TXT:@ROOT@/file|m}
RewriteOptions {Inherit|Foo|IgnoreInherit|MaxRedirects=5|LegacyPrefixDocRoot}
SetEnv {A b|A|A b c|}
SetEnvIf {Host a b|Host ( b|Host a|Host|Host a b c !d|Host a ""}
BrowserMatch {a b|( b|a}
PassEnv {PATH|NOSUCHVAR|A B}
Header {set A b|set A|foo A b|unset A|set A "%{x" |edit A ( b|echo ^a|echo (|set A b env=x|set A b expr=true|set A b expr=foo(|set A b early|set "A:" b|always set A b|note A b}
RequestHeader {set A b|note A b|foo A|unset A|echo A|edit A ( b}
AddType {text/x .x|text/x|.x|x .y}
AddHandler {cgi-script .cgi|foo .foo|cgi-script}
AddEncoding {x-gzip .gz|x-gzip}
AddLanguage {en .en|en|a b}
TypesConfig {/nonexistent|conf/mime.types|@ROOT@/file}
DirectoryIndex {index.html|index.html a b|disabled|disabled x|}
DirectorySlash {On|Foo}
FallbackResource {/x|disabled|a b|x}
IndexOptions {FancyIndexing|+FancyIndexing -SuppressSize|Foo|NameWidth=*|NameWidth=x|AddAltClass}
IndexIgnore {*.bak|}
AddIcon {/a.gif .gif|(A,/a.gif) .gif|/a.gif}
ExpiresActive {On|Foo}
ExpiresDefault {"access plus 1 day"|A60|X60|"access plus x day"|"now minus"|M}
ExpiresByType {text/html A60|text/html x|text/html}
UserDir {public_html|disabled|disabled root|enabled|/home/*/www|}
LanguagePriority {en de|}
ForceLanguagePriority {Prefer|None|Foo|Prefer Fallback}
RequestReadTimeout {header=5|header=5-3|header=x|foo=5|body=10,MinRate=500|header=20-40,MinRate=x}
AllowMethods {GET|FOO|reset|}
SSIErrorMsg {"x"|x y}
XBitHack {on|full|foo}
Options {Indexes|+Indexes|Indexes +Includes|Foo|-All|None|All MultiViews|}
AllowOverride {None|All|Foo|AuthConfig FileInfo|Options=Indexes|Options=Foo|Nonfatal=All|Nonfatal=Foo}
AllowOverrideList {None|Redirect RedirectMatch|Nosuch|Listen}
Require {all granted|all denied|all foo|ip 127.0.0.1|ip foo|ip 1.2.3.4/99|host a.example|user a|valid-user|group a|foo|not all granted|expr true|expr foo(|method GET|env A|local|not ip 1.2.3|forward-dns a|}
Order {allow,deny|deny,allow|allow|mutual-failure|foo,bar}
Allow {from all|from 127.0.0.1|from 1.2.3.4/99|foo|from env=x|from|from a.example 10.}
Deny {from all|from foo_bar|x}
Satisfy {any|all|foo}
AuthType {Basic|Digest|Foo|}
AuthName {"a b"|a b|x}
AuthUserFile {@ROOT@/file|/nonexistent|conf/users|}
AuthBasicProvider {file|nosuch|file dbm|}
AuthMerging {And|Or|Off|Foo}
SetHandler {server-status|none|foo|"proxy:x"|expr|}
ForceType {text/x|none|}
SetOutputFilter {DEFLATE|INCLUDES|NOSUCH|DEFLATE;INCLUDES}
AddOutputFilter {DEFLATE .html|NOSUCH .x}
AddOutputFilterByType {DEFLATE text/html|DEFLATE}
DeflateCompressionLevel {5|0|10|x}
Substitute {s/a/b/|s/a/b|s/(/b/|x/a/b/|s/a/b/q|"s|a|b|ni"}
RemoteIPHeader {X-F|a b}
RemoteIPInternalProxy {127.0.0.1|foo|10.0.0.0/8|1.2.3.4/99}
ServerAlias {b.example|*.b.example c|}
ServerPath {/x|}
Script {GET /x|TRACE /x|PUT}
Action {foo /x|foo /x virtual|foo /x bar|foo}
CheckSpelling {On|Foo}
CookieTracking {On|Foo}
CookieExpires {"1 day"|60|x}
ScriptLog {logs/script|nodir/s}
ScriptSock {logs/sock|nodir/s}
VirtualDocumentRoot {@ROOT@/%0|none|relative|/%x|/%-|/%}
""".strip().splitlines()

SECTIONS = """
<Directory {@ROOT@/htdocs|"@ROOT@/htdocs"|/|~ "^/x"|~ "("|relative|@ROOT@/*/x|}>
<DirectoryMatch {^/x|(|"/a b"|}>
<Files {"*.html"|~ "\\.x$"|~ "("|a b|}>
<FilesMatch {\\.x$|(|}>
<Location {/a|"/a b"|~ "^/x"|~ (|a|/*/x|}>
<LocationMatch {^/a|[|}>
<If {"true"|"%{REQUEST_URI} == '/a'"|"foo("|"%{NOSUCH} == 'a'"|"-z"|true|}>
<ElseIf {"true"|"foo("}>
<Else{| x}>
<Limit {GET|GET POST|FOO|TRACE|}>
<LimitExcept {GET|FOO}>
<RequireAll{| x}>
<RequireAny{|}>
<RequireNone{|}>
<IfModule {mod_env.c|!mod_env.c|env_module|nosuch|!nosuch|mod_alias.c|}>
<IfDefine {X|!X|Y|!Y|DUMP|}>
<IfVersion {>= 2.4|< 2.4|2.4|= 2.4.71|~ ^2|/^2\\.4/|!= 2.4|foo 2|>= x|}>
<IfFile {@ROOT@/file|!@ROOT@/file|nosuch|file|}>
<IfDirective {Header|!Header|Nosuch}>
<IfSection {Directory|!VirtualHost|Nosuch}>
<VirtualHost {*:@PORT@|127.0.0.1:@PORT@|*|_default_:@PORT@|127.0.0.1|nosuch.invalid:80|*:x|127.0.0.1:@PORT@ *:@PORT2@|127.0.0.1:99999|[::1]:80|*:@PORT2@|}>
<Macro {Site $x|Other $a $b|Site|$bad|Empty|Dup $x $x|Pre $x $xy}>
<AuthnProviderAlias {file one|file file|nosuch x|file}>
<AuthzProviderAlias {ip two 127.0.0.1|nosuch x y|ip}>
<Nosuch {a}>
""".strip().splitlines()

OUTER = ("Directory", "Location", "Files", "VirtualHost", "IfModule", "IfDefine", "If", "IfVersion", "Macro")
BASE = """ServerName localhost
PidFile logs/httpd.pid
ErrorLog logs/error_log
User www-data
Group www-data
Listen 127.0.0.1:@PORT@
DocumentRoot @ROOT@/htdocs
StartServers 1
TypesConfig conf/mime.types
"""
FILES = {
    "conf/more.conf": "KeepAlive On\n",
    "conf/broken.conf": "KeepAlive On\n<Directory />\nKeepAlive\n",
    "conf/loop.conf": "Include conf/loop.conf\n",
    "conf/d/1.conf": "Timeout 61\n",
    "conf/d/2.conf": "<Directory />\nOptions None\n</Directory>\n",
    "conf/mime.types": "text/html html\n",
    "conf/users": "a:b\n",
    "file": "a b\n",
    "empty": "",
    "htdocs/index.html": "front\n",
}


def choice(rng: random.Random, template: str, right: float) -> str:
    """Return *template* with one of its words; with probability *right* the first, which is valid."""
    head, brace, rest = template.partition("{")
    if not brace:
        return template
    body, _, tail = rest.rpartition("}")
    words = split_words(body)
    return head + (words[0] if rng.random() < right else rng.choice(words)) + tail


def split_words(body: str) -> list[str]:
    """Return the words between bars; a bar in double quotes belongs to a word."""
    words, quoted = [""], False
    for char in body:
        quoted ^= char == '"' and words[-1].count('"') % 2 in (0, 1) and _is_piped(words[-1], body)
        if char == "|" and not quoted:
            words.append("")
        else:
            words[-1] += char
    return words


def _is_piped(word: str, body: str) -> bool:
    """Return True if quotes matter in *body*: a piped program, or a substitution between bars."""
    return '"|' in body or '"s|' in body


class Grammar:
    """Generator of one configuration; *right* is the probability of valid words."""

    def __init__(self, rng: random.Random) -> None:
        self.rng, self.right = rng, rng.choice((0.97, 0.9, 0.7, 0.4))
        self.places: list[Callable[[int], Piece]] = [self.line, self.line, self.line, self.section]

    def line(self, _depth: int) -> Piece:
        """Return a directive, now and then in another layout."""
        text = choice(self.rng, self.rng.choice(GLOBAL), self.right)
        layout = self.rng.random()
        if layout < 0.02:
            name, _, words = text.partition(" ")
            return [f"{name} \\", f"  {words}"]
        if layout < 0.04:
            return [f"  \t{text.lower() if layout < 0.03 else text}  "]
        return [text] if layout > 0.05 else ["# comment \\", text]

    def section(self, depth: int) -> Piece:
        """Return a section with contents; a wrong one may lack its end, or have another's."""
        begin = choice(self.rng, self.rng.choice(SECTIONS), self.right)
        name = begin[1:].split(">")[0].split(" ")[0]
        inner: Piece = []
        for _ in range(self.rng.randrange(4)):
            inner += self.rng.choice(self.places)(depth + 1) if depth < 3 else self.line(depth)
        end = [f"</{name}>"]
        wrong = self.rng.random() * (1 - self.right + 0.03)
        if wrong > 0.5:
            end = self.rng.choice(
                ([], ["</Nosuch>"], [f"</{name.lower()}>"], [f"</{name}"], [f"</{name} x>"])
            )
        return [begin, *(f"  {line}" for line in inner), *end]

    def text(self) -> str:
        """Return the main file: modules, the settings that a start needs, and pieces between them."""
        rng = self.rng
        names = rng.sample(MODULES, rng.randrange(len(MODULES) // 2, len(MODULES)))
        names = [name for name in names if name not in ("authz_core", "mime")]
        names = [name for name in names if name != "cgi" or "cgid" not in names]
        mpm = rng.choice([["mpm_event"]] * 24 + [["mpm_prefork"], [], ["mpm_event", "mpm_worker"]])
        lines = [f"LoadModule {n}_module @MODULES@/mod_{n}.so" for n in (*mpm, "authz_core", "mime", *names)]
        base = BASE.splitlines()
        if rng.random() < 1 - self.right:
            base.pop(rng.randrange(len(base)))
        lines += base
        for _ in range(rng.choice((1, 1, 2, 3, 5, 8))):
            piece = rng.choice(self.places)(0)
            if rng.random() < 0.1:
                at = rng.randrange(len(lines) + 1)
                lines[at:at] = piece
            else:
                lines += piece
        return "\n".join(lines) + rng.choice(("\n", "\n", "\n", ""))


def generate(number: int, seed: int) -> StartCase:
    """Return configuration *number* of the series *seed*."""
    rng = random.Random(f"{seed}/{number}")
    grammar = Grammar(rng)
    arguments = rng.choice([()] * 8 + [("-D", "X"), ("-C", "KeepAlive Off"), ("-c", "Nosuch"), ("-T",)])
    return StartCase(number, grammar.text(), dict(FILES), tuple(arguments))

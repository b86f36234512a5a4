"""Pairs of texts of 2.4 that differ by words of one line, for the directives of the catalogue.

Each row of ``word_pairs.tsv`` has a directive, its arguments on the old and on the new side, and the name of
the lines around it (`AROUND`; none: the server). Each change changes what a server does.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.unit.verify.sites import COMMON
from tests.unit.verify.sites import MODULES as SITE_MODULES
from whimbrel.catalogue.load import catalogue

FILES: Final = {
    "htdocs/ht/page.txt": "x\n",
    "htdocs/ht/page.a": "a\n",
    "htdocs/ht/.htaccess": "Header set X-Ht 1\n",
    "htdocs/doc/page.txt": "x\n",
    "htdocs/doc/page.a": "a\n",
    "htdocs/doc/en.html.en": "en\n",
    "htdocs/doc/en.html.de": "de\n",
    "conf/other.types": "text/html htm\ntext/x-z html\n",
    "conf/magic": "0 string a text/plain\n",
    "conf/magic2": "0 string a text/html\n",
    "conf/a": "x y\n",
    "conf/b": "x z\n",
    "conf/others": "dan:x\n",
    "conf/ticket": "a" * 48,
    "conf/ticket2": "b" * 48,
}
"""Files beside those of `sites.make_root`."""
_ALWAYS: Final = ("include", "filter", "negotiation", "deflate", "status", "info", "socache_shmcb", "cgid")
"""Modules that words name."""
_NAMED: Final = {
    "Proxy": ("proxy",),
    "AllowCONNECT": ("proxy",),
    "http://": ("proxy", "proxy_http"),
    "https://": ("proxy", "proxy_http", "ssl"),
    "Session": ("session", "session_cookie"),
    "Dav": ("dav", "dav_fs"),
    "DavBasePath": ("dav_fs",),
    "ldap": ("ldap", "authnz_ldap"),
    "dbm": ("authn_dbm",),
    " anon": ("authn_anon",),
    "Balancer": ("proxy", "slotmem_shm", "proxy_balancer", "lbmethod_byrequests"),
    "SUBSTITUTE": ("substitute",),
    "Cache": ("cache", "cache_disk", "cache_socache"),
    "AuthnCache": ("authn_socache",),
    "ProxyHTML": ("xml2enc",),
    "SSLEngine": ("ssl",),
}
"""Modules that words of a text need."""
_FIRST: Final = frozenset(
    ("dav", "proxy", "cache", "session", "slotmem_shm", "ldap", "dbd", "xml2enc", "filter")
)
"""Modules that others need."""
_HOST: Final = (
    "<VirtualHost *:8080>\nServerName tls.example\nSSLEngine on\nSSLCertificateFile conf/server.pem\n"
    "SSLCertificateKeyFile conf/server.pem\n{}\n</VirtualHost>"
)
_PRIVATE: Final = '<Directory "@ROOT@/htdocs/private">\n{}\n</Directory>'
_BASIC: Final = (
    "AuthType Basic\nAuthName A\nAuthUserFile conf/users\nAuthGroupFile conf/groups\n{}\nRequire user alice"
)
_FORM: Final = (
    "AuthFormProvider file\nAuthType form\nAuthName A\nAuthUserFile conf/users\nSession On\n"
    "SessionCookieName s path=/\n{}\nRequire valid-user"
)
_LDAP: Final = (
    "AuthType Basic\nAuthName A\nAuthBasicProvider ldap\nAuthLDAPURL ldap://x.example/o=x\n{}\n"
    "Require ldap-group cn=a"
)
AROUND: Final = {
    "": "{}",
    "dir": _PRIVATE.format("{}"),
    "dir2": _PRIVATE.format("Order deny,allow\nDeny from all\n{}"),
    "dir3": _PRIVATE.format("Order allow,deny\nAllow from all\n{}"),
    "auth": _PRIVATE.format(_BASIC),
    "digest": _PRIVATE.format(_BASIC.replace("Basic", "Digest")),
    "form": _PRIVATE.format(_FORM),
    "ldap": _PRIVATE.format(_LDAP),
    "status": "<Location /private>\nSetHandler server-status\n</Location>\n{}",
    "host": "<VirtualHost *:8080>\nServerName x.example\n{}\n</VirtualHost>",
    "ht": '<Directory "@ROOT@/htdocs/ht">\n{}\n</Directory>',
    "doc": '<Directory "@ROOT@/htdocs/doc">\n{}\n</Directory>',
    "doclist": '<Directory "@ROOT@/htdocs/doc">\nOptions +Indexes\nIndexOptions FancyIndexing\n{}\n'
    "</Directory>",
    "docmv": '<Directory "@ROOT@/htdocs/doc">\nOptions +MultiViews\n{}\n</Directory>',
    "echo": "{}\nHeader set X-A %{{a}}e",
    "echo2": "SetEnv a 1\nSetEnv b 2\nHeader set X-A %{{a}}e\n" + _PRIVATE.format("{}"),
    "pattern": "{}\n<FilesMatch a.c$>\nRequire all denied\n</FilesMatch>",
    "req": "<Location />\nRequire ip 10.0.0.0/8\n</Location>\n"
    "<Location /private>\n{}\nRequire user alice\n</Location>",
    "groups": _PRIVATE.format("AuthType Basic\nAuthName A\nAuthUserFile conf/users\n{}\nRequire group admin"),
    "types": "AddType text/x-a .a .b\n" + _PRIVATE.format("{}"),
    "list": _PRIVATE.format("Options +Indexes\nDirectoryIndex disabled\nIndexOptions FancyIndexing\n{}"),
    "expires": _PRIVATE.format("ExpiresActive On\n{}"),
    "filter": "FilterProvider zip DEFLATE true\n" + _PRIVATE.format("FilterChain zip\n{}"),
    "chain": "FilterDeclare zip\n{}\n" + _PRIVATE.format("FilterChain zip"),
    "include": _PRIVATE.format("Options +Includes\nSetOutputFilter INCLUDES\n{}"),
    "log": "{}\nCustomLog logs/a x",
    "mv": _PRIVATE.format("Options +MultiViews\n{}"),
    "handler": "AddHandler cgi-script .cgi .pl\n" + _PRIVATE.format("{}"),
    "fwd": "ProxyRequests On\n{}",
    "rip": "RemoteIPHeader X-Forwarded-For\n{}",
    "rules": "{}\nRewriteRule ^/x /index.html",
    "rewdir": _PRIVATE.format("RewriteEngine On\n{}\nRewriteRule x index.html"),
    "cond": "RewriteEngine On\n{}\nRewriteCond %{{REMOTE_ADDR}} ^1\nRewriteRule ^/x /index.html",
    "rew": "RewriteEngine On\n{}\nRewriteRule ^/y /a\nRewriteRule ^/z /b",
    "map": "RewriteEngine On\n{}\nRewriteRule ^/x(.*) /${{m:$1}}",
    "session": _PRIVATE.format("Session On\nSessionCookieName s path=/\n{}"),
    "spell": _PRIVATE.format("CheckSpelling On\n{}"),
    "ssl": _HOST.replace("SSLEngine on", "{}").format("{}", ""),
    "tls": _HOST,
    "tlsdir": _HOST.format("<Location /private>\nSSLVerifyClient require\n{}\n</Location>"),
    "stapling": "SSLStaplingCache shmcb:logs/stapling(128000)\n" + _HOST,
    "proxytls": "SSLProxyEngine on\nProxyPass /app https://10.0.0.1/\n{}",
    "subst": _PRIVATE.format("SetOutputFilter SUBSTITUTE\nSubstitute s/q/r/\n{}"),
    "sed": _PRIVATE.format("SetOutputFilter Sed\n{}"),
    "track": _PRIVATE.format("CookieTracking on\n{}"),
    "charset": _PRIVATE.format("CharsetSourceEnc UTF-16\n{}"),
    "meta": _PRIVATE.format("MetaFiles on\n{}"),
    "defined": "{}\nHeader set X-A ${{value}}",
    "macro": "<Macro one $v>\nHeader set X-A $v\n</Macro>\n{}",
}


@dataclass(frozen=True)
class WordPair:
    """A directive with its arguments on both sides, and the name of the lines around it."""

    directive: str
    old: str
    new: str
    around: str = ""

    @property
    def name(self) -> str:
        """The name of the test."""
        return f"{self.directive} {self.old} -> {self.new}"

    @property
    def texts(self) -> tuple[str, str]:
        """The texts of both sides."""
        old, new = (AROUND[self.around].format(f"{self.directive} {one}") for one in (self.old, self.new))
        return old, new

    @property
    def modules(self) -> tuple[str, ...]:
        """The modules of the texts, by their names in the manual, in an order in which they load."""
        names = dict.fromkeys(_ALWAYS)
        found = catalogue("2.4")
        modules = {module.source: module for module in found.modules}
        text = "\n".join(self.texts)
        for line in text.splitlines():
            for row in found.find(line.split(" ")[0]):
                module = modules.get(row.source)
                if module is not None and not module.is_static and module.kind != "mpm":
                    names[module.identifier.removesuffix("_module")] = None
        names.update(dict.fromkeys(name for word, more in _NAMED.items() if word in text for name in more))
        loaded = {*SITE_MODULES["2.4"], *COMMON, "cgi"}
        return tuple(sorted((name for name in names if name not in loaded), key=_order))


def _order(name: str) -> tuple[bool, str]:
    return name not in _FIRST, name.replace("_", " ")


def word_pairs() -> list[WordPair]:
    """Return the rows of ``word_pairs.tsv``."""
    text = Path(__file__).with_name("word_pairs.tsv").read_text()
    return [WordPair(*line.split("\t")) for line in text.splitlines()]

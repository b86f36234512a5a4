"""A server root that another person prepared: everything in it that can name a program names one that leaves
a mark, and names of files lead outside of the tree.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

Snapshot = dict[str, tuple[object, ...]]

_MODULES = """
mpm_event authz_core authz_host authn_core authn_file auth_basic authn_socache socache_shmcb socache_dbm
access_compat alias cgi cgid dir env setenvif headers mime mime_magic negotiation rewrite include actions
ext_filter sed filter ldap authnz_ldap session session_cookie session_crypto ssl md watchdog proxy proxy_fcgi
proxy_http cache cache_disk cache_socache dav dav_fs dav_lock dbd lua status info autoindex log_config
fcgid macro heartmonitor request userdir vhost_alias
"""

MAIN = """
ServerRoot "{root}"
ServerName hostile.test
Listen 8080
PidFile "{victims}/pid"
DocumentRoot "{root}/htdocs"
ErrorLog "|{program} errorlog"
CustomLog "|{program} customlog" "%h"
TransferLog "||{program} transferlog"
LogFormat "%h" common
ScriptLog "{victims}/scriptlog"
CoreDumpDirectory "{victims}"
RewriteEngine On
RewriteMap evil "prg:{program} map"
RewriteRule ^/map/(.*)$ /${{evil:$1}}
SSLPassPhraseDialog "exec:{program}"
SSLRandomSeed startup "exec:{program}"
SSLSessionCache "shmcb:{victims}/victim.conf"
AuthnCacheSOCache "shmcb:{victims}/victim.conf"
CacheSocache "shmcb:{victims}/victim.conf"
CacheRoot "{victims}/cache"
DavLockDB "{victims}/davlock"
DBDriver sqlite3
DBDParams "{victims}/database"
HeartbeatStorage "{victims}/heartbeats"
Mutex "file:{victims}"
ExtFilterDefine evil mode=output cmd="{program} filter"
MDomain hostile.test
MDCertificateAgreement accepted
MDStoreDir "{victims}/md"
MDNotifyCmd "{program} notify"
MDMessageCmd "{program} message"
MDChallengeDns01 "{program} dns"
FcgidWrapper "{program}" .fcgi
Action evil /cgi-bin/mark
ScriptAlias /cgi-bin/ "{root}/bin/"
LuaHookTranslateName "{root}/evil.lua" evil
LuaMapHandler ^/lua "{root}/evil.lua" evil
LuaAuthzProvider evil "{root}/evil.lua" evil
SessionCryptoPassphrase "exec:{program} passphrase"
SetEnv LD_PRELOAD "{root}/evil.so"
SetEnv LD_LIBRARY_PATH "{root}"
SetEnv BASH_ENV "{program}"
Include conf.d/*.conf
<Directory "{root}/htdocs">
    Options All
    AllowOverride All
    Order allow,deny
    Allow from all
    AuthLDAPURL "ldap://127.0.0.1:9/dc=example"
    AuthLDAPBindPassword "exec:{program} ldap"
    SetOutputFilter evil
    AddHandler cgi-script .cgi
    AddHandler fcgid-script .fcgi
    AddHandler lua-script .lua
    AddOutputFilter INCLUDES .shtml
</Directory>
<Location "/sed">
    SetOutputFilter Sed
    OutputSed "w {victims}/victim.conf"
</Location>
<Location "/dav">
    Dav On
</Location>
<VirtualHost *:8443>
    ServerName tls.hostile.test
    SSLEngine on
    SSLCertificateFile "{root}/tls.pem"
    SSLCertificateKeyFile "{root}/tls.pem"
</VirtualHost>
"""

HTACCESS = """
Order allow,deny
Allow from all
AuthType Basic
AuthName hostile
AuthBasicProvider ldap
AuthLDAPURL "ldap://127.0.0.1:9/dc=example"
AuthLDAPBindPassword "exec:{program} htaccess"
SessionCryptoPassphrase "exec:{program} htaccess-passphrase"
SetEnv LD_PRELOAD "{root}/evil.so"
RewriteEngine On
RewriteRule ^a$ b.cgi
RewriteCond %{{LA-U:REQUEST_FILENAME}} x
RewriteRule ^c$ d.shtml
Satisfy Any
"""

LUA = """
os.execute("{program} lua")
io.popen("{program} lua")
io.open("{victims}/lua", "w")
function evil(r) os.execute("{program} lua") return apache2.OK end
"""

ENVVARS = """
{program} envvars
export APACHE_RUN_USER=$({program} substitution)
export APACHE_LOG_DIR=`{program} backquotes`
eval "{program} eval"
. {program}
export APACHE_RUN_DIR={root}/run
"""


def _encrypted_key() -> bytes:
    """Return a certificate and its key, for which a server needs a pass phrase."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "tls.hostile.test")])
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(1).not_valid_before(now).not_valid_after(now + timedelta(days=1))
    pem = builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    encryption = serialization.BestAvailableEncryption(b"secret")
    form = serialization.PrivateFormat.PKCS8
    return pem + key.private_bytes(serialization.Encoding.PEM, form, encryption)


class HostileTree:
    """A tree below *top*, victims outside of it, and the marks of programs.

    Attributes:
        root: the server root.
        victims: files and directories outside of the tree.
        marks: a directory in which each program leaves a file; anybody may write there.
    """

    def __init__(self, top: Path) -> None:
        self.top, self.root = top, top / "tree"
        self.victims, self.marks = top / "victims", top / "marks"
        self.program = self.root / "bin" / "mark"
        for directory in (self.victims, self.marks):
            directory.mkdir()
        self.marks.chmod(0o777)
        (self.victims / "victim.conf").write_text("<Directory /x>\nOrder allow,deny\n</Directory>\n")
        (self.victims / "sub").mkdir()
        (self.victims / "sub/.htaccess").write_text("Order allow,deny\nAllow from all\n")
        self._lay()

    def _lay(self) -> None:
        values = {"root": self.root, "victims": self.victims, "program": self.program}
        loads = "".join(f"LoadModule {n}_module modules/mod_{n}.so\n" for n in _MODULES.split())
        page = f'<!--#exec cmd="{self.program} ssi" --><!--#include virtual="/cgi-bin/mark" -->'
        files = {
            "bin/mark": f'#!/bin/sh\n: > "{self.marks}/$$-$1"\n'
            'printf "Content-Type: text/plain\\n\\nmark\\n"\n',
            "apache2.conf": loads + MAIN.format(**values),
            "envvars": ENVVARS.format(**values),
            "evil.lua": LUA.format(**values),
            "conf.d/a.conf": f"<Directory {self.root}/bin>\nOrder allow,deny\nAllow from all\n</Directory>\n",
            "htdocs/.htaccess": HTACCESS.format(**values),
            "htdocs/a.cgi": f"#!/bin/sh\nexec {self.program} cgi\n",
            "htdocs/b.fcgi": f"#!/bin/sh\nexec {self.program} fcgi\n",
            "htdocs/evil.lua": LUA.format(**values),
            "htdocs/d.shtml": page,
            "htdocs/index.html": "index",
            "htdocs/inner/.htaccess": "Order deny,allow\nDeny from all\n",
            "cases.txt": "/ 200\n/a.cgi 200\n/evil.lua 200\n/d.shtml 200\n/cgi-bin/mark 200\n/map/x 404\n",
            "access.log": '127.0.0.1 - - [01/Jan/2024:00:00:00 +0000] "GET /a.cgi HTTP/1.1" 200 1\n'
            '127.0.0.1 - - [01/Jan/2024:00:00:00 +0000] "GET /d.shtml HTTP/1.1" 200 1\n',
        }
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            path.chmod(0o755)
        (self.root / "tls.pem").write_bytes(_encrypted_key())

    def add_links(self) -> None:
        """Add links that lead outside of the tree, and plant what an upgrade could obey."""
        victim = self.victims / "victim.conf"
        (self.root / "conf.d/linked.conf").symlink_to(victim)
        (self.root / "htdocs/linked").symlink_to(self.victims / "sub")
        (self.root / "htdocs/hard").mkdir()
        os.link(self.victims / "sub/.htaccess", self.root / "htdocs/hard/.htaccess")
        (self.root / ".whimbrel-2.2").symlink_to(self.victims)
        (self.root / "conf.d/a.conf.whimbrel-2.2~").symlink_to(victim)
        entry = (
            f'{{"target": "{victim}", "backup": "{self.root}/envvars", "digest": "", "temporary": "", '
            '"fresh": true}'
        )
        (self.root / ".whimbrel-upgrade.json").write_text(f'{{"state": "undoing", "entries": [{entry}]}}')

    def outside(self) -> Snapshot:
        """Return what is outside of the tree and may not change."""
        return snapshot(self.victims)

    def left_marks(self) -> list[str]:
        """Return the names of the marks that programs left."""
        return sorted(os.listdir(self.marks))

    def commands(self) -> Iterator[list[str]]:
        """Yield the arguments of `whimbrel` for every command that looks at a tree."""
        root, conf = str(self.root), str(self.root / "apache2.conf")
        yield ["check", "-d", root]
        yield ["check", root]
        yield ["check", "--whole", conf]
        yield ["upgrade", "-d", root]
        yield ["upgrade", "--out", str(self.top / "out"), "-d", root]
        yield ["verify", "-d", root]
        for path in (
            "/",
            "/a.cgi",
            "/b.fcgi",
            "/evil.lua",
            "/d.shtml",
            "/cgi-bin/mark",
            "/map/x",
            "/sed",
            "/lua",
        ):
            yield ["explain", "-d", root, f"http://hostile.test:8080{path}"]
        yield ["replay", str(self.root / "access.log"), "--old", conf, "--new", conf]
        yield ["rewrite-test", conf, str(self.root / "cases.txt")]
        yield ["rewrite-test", str(self.root / "htdocs/.htaccess"), str(self.root / "cases.txt")]
        yield ["fmt", "--check", root]
        yield ["fmt", root]
        yield ["upgrade", "--write", "-d", root]
        yield ["upgrade", "--undo", "-d", root]


def snapshot(directory: Path) -> Snapshot:
    """Return type, mode, owner and content of everything below *directory*."""
    found: Snapshot = {}
    for path in sorted([directory, *directory.rglob("*")]):
        status = path.lstat()
        content = ""
        if stat.S_ISREG(status.st_mode):
            content = hashlib.sha256(path.read_bytes()).hexdigest()
        elif stat.S_ISLNK(status.st_mode):
            content = os.readlink(path)
        found[str(path)] = (status.st_mode, status.st_uid, status.st_gid, status.st_ino, content)
    return found

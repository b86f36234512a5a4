"""Random chains of sections about access, as the main file and .htaccess of one small site, and engines for
them."""

from __future__ import annotations

import base64
import hashlib
import random
from dataclasses import dataclass
from pathlib import Path

from whimbrel.access.clients import ExampleClient as Who
from whimbrel.access.decide import AccessEnvironment
from whimbrel.access.layers import AccessLayer, lines_of_tree
from whimbrel.base.dialect import DIALECTS
from whimbrel.base.latin1 import from_system
from whimbrel.config.load import load
from whimbrel.config.model import SectionKind
from whimbrel.config.options import LoadOptions
from whimbrel.engine.engine import Engine
from whimbrel.engine.request import Connection
from whimbrel.modules import ALL
from whimbrel.syntax.tree import parse
from whimbrel.testing.client import TestClient
from whimbrel.testing.fake_runtime import FakeRuntime
from whimbrel.verify.probe import TlsFacts
from whimbrel.verify.probe_tls import ProbeTls

AREA = "AuthType Basic\nAuthName zone\nAuthUserFile conf/users\nAuthGroupFile conf/groups"
AREAS = (
    AREA,
    AREA,
    AREA,
    "AuthType Basic\nAuthName other\nAuthUserFile conf/users",
    "AuthType Basic",
    "AuthName only",
    "AuthType Basic\nAuthName lost\nAuthUserFile conf/nowhere\nAuthGroupFile conf/nowhere",
    "AuthGroupFile conf/groups",
    AREA + "\nAuthBasicAuthoritative Off",
    "AuthType None\nAuthName none",
)
ACCESS = (
    "Order allow,deny",
    "Order deny,allow",
    "Order mutual-failure",
    "Allow from all",
    "Deny from all",
    "Allow from 127.0.0.1",
    "Allow from 127.0.0.2 10.0.0.0/8",
    "Deny from 127.0.0.0/31",
    "Deny from 10.1",
    "Allow from env=flag",
    "Deny from env=!flag",
    "Allow from localhost",
    "Deny from .example.org",
    "Allow from ::1",
    "Deny from 127.0.0.0/255.0.255.0",
    "Satisfy Any",
    "Satisfy All",
    "SSLRequireSSL",
    'SSLRequire %{REQUEST_METHOD} eq "GET"',
    "SSLOptions +StrictRequire",
    "SSLOptions +StdEnvVars",
)
REQUIRE = (
    "Require valid-user",
    "Require user alice",
    "Require user bob alice",
    "Require group wardens",
    "Require group both wardens",
    "Require group",
    "Require user",
    "Require file-owner",
    "Require file-group",
)
LIMITS = ("Limit GET", "Limit POST PUT", "LimitExcept GET", "LimitExcept POST OPTIONS", "Limit FROB")
ONLY_22 = (
    "AuthzUserAuthoritative Off",
    "AuthzGroupFileAuthoritative Off",
    "AuthzOwnerAuthoritative Off",
    "AuthzDefaultAuthoritative Off",
    "Require nosuchthing",
)
ONLY_24 = (
    "Require all granted",
    "Require all denied",
    "Require ip 127.0.0.1",
    "Require ip 10.0.0.0/8",
    "Require local",
    "Require env flag",
    "Require method GET",
    "Require host example.org",
    "Require expr %{REQUEST_METHOD} == 'GET'",
    "Require expr %{REMOTE_USER} == 'bob'",
    "AuthMerging And",
    "AuthMerging Or",
    "AuthMerging Off",
    "AuthzSendForbiddenOnFailure On",
    "Require near",
    "Require chosen",
    "Require forward-dns localhost",
    "Require user %{reqenv:flag}",
    "Require bogus",
)
NEGATED = (
    "Require not ip 127.0.0.2",
    "Require not user bob",
    "Require not group both",
    "Require not method POST",
    "Require not env flag",
    "Require not all granted",
    "Require not valid-user",
    "Require not near",
)
ALIASES = (
    '<AuthzProviderAlias ip near "127.0.0.1 127.0.0.3">\n</AuthzProviderAlias>\n'
    '<AuthzProviderAlias user chosen "bob carol">\n'
    "</AuthzProviderAlias>\n"
)
COMMON = (
    "mime",
    "dir",
    "authz_host",
    "auth_basic",
    "authn_file",
    "authz_user",
    "authz_groupfile",
    "authz_owner",
    "setenvif",
    "ssl",
)
MODULES = {
    "2.2": ("log_config", *COMMON),
    "2.4": ("mpm_event", "authz_core", "authn_core", "access_compat", *COMMON),
}
KINDS = (
    SectionKind.DIRECTORY,
    SectionKind.DIRECTORY,
    SectionKind.HTACCESS,
    SectionKind.FILES,
    SectionKind.LOCATION,
)
OPENINGS = (
    'Directory "%ROOT%/htdocs"',
    'Directory "%ROOT%/htdocs/dir"',
    "",
    'Files "f.txt"',
    "Location /dir",
)
PASSWORDS = {"alice": "curlew", "bob": "dunlin", "carol": "godwit"}


@dataclass(frozen=True)
class Chain:
    """The texts of the sections that meet at /dir/f.txt, "" where there is none, in the order
    of `OPENINGS`."""

    version: str
    texts: tuple[str, ...]
    modules: tuple[str, ...]

    def layers(self) -> list[AccessLayer]:
        """The chain as `decide` wants it."""
        return [
            AccessLayer(lines_of_tree(parse(text.encode()).children, "x"), kind, kind is SectionKind.HTACCESS)
            for kind, text in zip(KINDS, self.texts, strict=True)
            if text
        ]

    def world(self, root: Path) -> AccessEnvironment:
        """Modules, root and aliases of the chain's site."""
        aliases = lines_of_tree(parse(ALIASES.encode()).children, "aliases") if self.version == "2.4" else ()
        return AccessEnvironment(
            self.modules, str(root), lambda path: Path(path).exists(), aliases, ("FROB",)
        )


def chain(chance: random.Random, version: str, only: bool = True) -> Chain:
    """A random chain; with *only* it may hold lines that the other version does not know."""
    lines = ACCESS + REQUIRE + REQUIRE + ((ONLY_22 if version == "2.2" else ONLY_24) if only else ())
    texts = [
        _body(chance, lines, version == "2.4" and only) if chance.random() < 0.5 else "" for _ in OPENINGS
    ]
    modules = list(MODULES[version]) + [
        name for name in ("authz_default", "authn_default") if version == "2.2" and chance.random() < 0.5
    ]
    chance.shuffle(modules)
    return Chain(version, tuple(texts), tuple(modules))


def _body(chance: random.Random, lines: tuple[str, ...], containers: bool) -> str:
    found = [_line(chance, lines, containers) for _ in range(chance.randint(1, 4))]
    return "\n".join(([chance.choice(AREAS)] if chance.random() < 0.6 else []) + found)


def _line(chance: random.Random, lines: tuple[str, ...], containers: bool) -> str:
    dice = chance.random()
    if dice < 0.15:
        opening = chance.choice(LIMITS)
        some = [
            line for line in chance.choices(lines, k=chance.randint(1, 3)) if not line.startswith("Auth")
        ] or ["Deny from all"]
        return f"<{opening}>\n" + "\n".join(some) + f"\n</{opening.split()[0]}>"
    return _container(chance, 2) if containers and dice < 0.35 else chance.choice(lines)


def _container(chance: random.Random, depth: int) -> str:
    name = chance.choice(("RequireAll", "RequireAny", "RequireAll"))
    requires = [line for line in ONLY_24 + REQUIRE if line.startswith("Require")]
    inner = [
        _container(chance, depth - 1) if depth and chance.random() < 0.2 else chance.choice(requires)
        for _ in range(chance.randint(1, 3))
    ]
    if name == "RequireAll" and chance.random() < 0.5:
        inner.insert(
            chance.randint(0, 1),
            chance.choice((*NEGATED, "<RequireNone>\n" + chance.choice(requires) + "\n</RequireNone>")),
        )
    return f"<{name}>\n" + "\n".join(inner) + f"\n</{name}>"


# asking -------------------------------------------------------------------------------------------
def prepare(root: Path) -> None:
    """The files of the site that every chain shares."""
    (root / "htdocs/dir").mkdir(parents=True)
    (root / "conf").mkdir()
    (root / "htdocs/dir/f.txt").write_text("f\n")
    (root / "conf/mime.types").write_text("text/plain txt\n")
    users(root, PASSWORDS, {"wardens": ["alice"], "both": ["alice", "bob"]})


def users(root: Path, passwords: dict[str, str], groups: dict[str, list[str]]) -> None:
    """The password file and the group file."""
    (root / "conf/users").write_text(
        "".join(f"{name}:{{SHA}}{_sha(word)}\n" for name, word in passwords.items())
    )
    (root / "conf/groups").write_text(
        "".join(f"{name}: {' '.join(members)}\n" for name, members in groups.items())
    )


def _sha(word: str) -> str:
    return base64.b64encode(hashlib.sha1(word.encode()).digest()).decode()


def engine(site: Chain, root: Path, runtime: FakeRuntime) -> Engine:
    """An engine for *site*; raises ConfigError or StartError where httpd would not start."""
    sections = [
        f"<{opening}>\n{text}\n"
        + ("AllowOverride All\n" if opening.endswith('dir"') else "")
        + f"</{opening.split()[0]}>\n"
        for opening, text in zip(OPENINGS, site.texts, strict=True)
        if opening
    ]
    loads = "".join(f"LoadModule {name}_module modules/mod_{name}.so\n" for name in site.modules)
    head = (
        f'{loads}Listen 80\nServerName localhost\nDocumentRoot "{root}/htdocs"\n'
        "TypesConfig conf/mime.types\nErrorLog error_log\n"
    )
    head += (
        "SetEnvIf X-Flag . flag\n<Directory /elsewhere>\n<Limit FROB>\nDeny from all\n"
        "</Limit>\n</Directory>\n"
    )
    head += ALIASES if site.version == "2.4" else ""
    (root / "conf/httpd.conf").write_text(head + "".join(sections).replace("%ROOT%", str(root)))
    (root / "htdocs/dir/.htaccess").write_text(site.texts[2] + "\n")
    options = LoadOptions(server_root=from_system(str(root)), file=from_system(f"{root}/conf/httpd.conf"))
    return Engine(load(options, ALL, DIALECTS[site.version]), runtime)


def ask(asked: Engine, who: Who, password: str = "") -> int:
    """The status of one request for /dir/f.txt by *who*; *password* is sent where there are credentials."""
    runtime = asked.runtime
    assert isinstance(runtime, FakeRuntime)
    runtime.names = {who.address: who.host} if who.host else {}
    runtime.hosts = {who.host: [who.address]} if who.host else {}
    fields = "X-Flag: 1\r\n" if "flag" in who.environment else ""
    if who.credentials is not None:
        fields += (
            "Authorization: Basic "
            + base64.b64encode(f"{who.credentials.user}:{password}".encode()).decode()
            + "\r\n"
        )
    local = who.address if who.is_server_address else "198.51.100.200"
    connection = Connection(who.address, 50000, local, 80)
    if who.over_tls:
        configuration = asked.configuration
        connection.tls = ProbeTls(TlsFacts(), configuration.main, configuration.dialect)
    client = TestClient(asked, connection)
    head = f"{who.method} /dir/f.txt HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{fields}\r\n"
    return int(client.send(head.encode()).split(b" ", 2)[1])

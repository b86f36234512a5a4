"""Virtual hosts that ask for different client certificates: no client enters one from which apache2 bars it.

Random sites of four hosts on one address, and random clients: server name x Host field x certificate x policy
x version x protocol x resumed session.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tests.hostile.measure import Budget, Measure, Result
from tests.hostile.server import APACHE, WHIMBREL, HostileSite, ServerProcess
from tests.hostile.tls_clients import REFUSED, Certificates, Client, play

POLICIES: Final = ("insecure", "authonly", "secure", "strict")
CLIENTS_OF_A_SITE: Final = 60
LOAD: Final = "LoadModule ssl_module /usr/lib/apache2/modules/mod_ssl.so\n"
PATHS: Final = ("o.txt", "in.txt")
Outcome = list[list[str]]
NAMES: Final = ("a.test", "b.test", "c.test", "d.test")
HIDDEN: Final = '<Files ".ht*">\nRequire all denied\n</Files>\n'
# lines of one host; the first ones are more frequent than others
VERIFY: Final = (
    "",
    "",
    "SSLVerifyClient require\n",
    "SSLVerifyClient require\n",
    "SSLVerifyClient optional\n",
    "SSLVerifyClient optional_no_ca\n",
    "SSLVerifyClient none\n",
)
AUTHORITY: Final = ("", "", "1", "2")
DEPTH: Final = ("", "", "SSLVerifyDepth 1\n", "SSLVerifyDepth 2\n", "SSLVerifyDepth 3\n")
CIPHERS: Final = (
    "",
    "",
    "",
    "SSLCipherSuite ECDHE-ECDSA-AES128-GCM-SHA256\n",
    "SSLCipherSuite ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-ECDSA-AES128-GCM-SHA256\n",
)
SECTION: Final = (
    "",
    "",
    "SSLVerifyClient require\n",
    "SSLVerifyClient optional\n",
    "SSLVerifyClient none\n",
    "SSLVerifyClient require\nSSLVerifyDepth 2\n",
    "SSLRequire %{SSL_CLIENT_VERIFY} eq 'SUCCESS'\n",
    "Require ssl-verify-client\n",
    "SSLCipherSuite ECDHE-ECDSA-AES128-GCM-SHA256\n",
)


@dataclass(frozen=True)
class Host:
    """The settings of one virtual host; `authority` is "" for that of the main server."""

    verify: str
    authority: str
    depth: str
    ciphers: str
    section: str

    @property
    def trusts(self) -> str:
        """The number of its authority."""
        return self.authority or "1"

    @property
    def most(self) -> int:
        """Its SSLVerifyDepth."""
        return int((self.depth or "x 1").split()[1])

    def text(self, name: str) -> str:
        """Return the section of the configuration."""
        file = f"SSLCACertificateFile %ROOT%/htdocs/.ht.ca{self.authority}\n" if self.authority else ""
        return (
            f"<VirtualHost *>\nServerName {name}\nSSLEngine on\nDocumentRoot %ROOT%/htdocs/{name}\n"
            f"{self.verify}{file}{self.depth}{self.ciphers}"
            f'<Location "/in.txt">\n{self.section}</Location>\n</VirtualHost>\n'
        )


def random_host(chance: random.Random) -> Host:
    """Return a host with random settings."""
    return Host(*(chance.choice(lines) for lines in (VERIFY, AUTHORITY, DEPTH, CIPHERS, SECTION)))


def site(hosts: dict[str, Host], policy: str, strict: str, documents: dict[str, bytes]) -> HostileSite:
    """Return a site with *hosts* on one address."""
    conf = f"{LOAD}{HIDDEN}SSLSessionCache none\nSSLVHostSNIPolicy {policy}\n{strict}Protocols h2 http/1.1\n"
    conf += "SSLCertificateFile %ROOT%/htdocs/.ht.crt\nSSLCertificateKeyFile %ROOT%/htdocs/.ht.key\n"
    conf += "SSLCACertificateFile %ROOT%/htdocs/.ht.ca1\n"
    conf += "".join(host.text(name) for name, host in hosts.items())
    pages = {f"{name}/{path}": f"{path} of {name}\n".encode() for name in NAMES for path in PATHS}
    return HostileSite(conf, {**documents, **pages})


def client(chance: random.Random, names: tuple[str, ...]) -> Client:
    """Return a random client of one or two connections, with one to three requests on each."""
    return Client(
        tuple(chance.choice(("", *NAMES)) for _ in range(chance.choice((1, 1, 2)))),
        tuple(chance.choice(NAMES) for _ in range(chance.choice((1, 2, 2, 3)))),
        chance.choice(("/o.txt", "/in.txt")),
        chance.choice(("", "", "c1", *names)),
        chance.choice(("1.2", "1.3")),
        chance.choice((True, False)),
        chance.choice((True, False, False)),
    )


def sites(budget: Budget, documents: dict[str, bytes]) -> Iterator[tuple[HostileSite, dict[str, Host]]]:
    """Yield sites under all policies until the budget is spent."""
    for number in range(max(budget.cases // CLIENTS_OF_A_SITE, 1)):
        if budget.is_spent:
            return
        # what differs between hosts counts under the policies that let requests through
        policy = POLICIES[(0, 0, 1, 2, 0, 1, 3)[number % 7]]
        hosts = {name: random_host(budget.random) for name in NAMES}
        strict = budget.random.choice(("", "", "", "SSLStrictSNIVHostCheck on\n"))
        yield site(hosts, policy, strict, documents), hosts


def enters(response: str) -> bool:
    """Return True if a response has the page."""
    return response.startswith("200")


@dataclass(frozen=True)
class Difference:
    """The first responses of two servers that differ: to request *at* of connection *number*; "" for none."""

    number: int
    at: int
    ours: str
    theirs: str


def difference(ours: Outcome, theirs: Outcome) -> Difference | None:
    """Return how the responses of Whimbrel and apache2 to one client differ."""
    for number, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
        for at, (one, two) in enumerate(zip_longest(mine, other, fillvalue="")):
            if one != two:
                return Difference(number, at, one, two)
    return None


def verdict(found: Difference, visitor: Client, hosts: dict[str, Host], alone: str) -> str:
    """Return the kind of a difference.

    left: apache2 takes what an earlier request of the connection, or of the one whose session it resumes, has
    left for the state of the handshake; to the request *alone* it responds as Whimbrel.  lost: it
    renegotiates within HTTP/2, which ends the
    connection.  stricter: Whimbrel refuses certificates of another host's authority or depth, and those that
    `SSLVerifyClient none` of a section lets pass in a host that requires them; apache2 accepts them.  status:
    both keep the client out.  other, admitted: in a way that breaks the promise.
    """
    if (found.at or found.number) and alone == found.ours:
        return "left"
    if enters(found.ours):
        return "admitted"
    if visitor.is_http2 and found.ours.startswith("reset") and found.theirs == REFUSED:
        return "lost"
    if not enters(found.theirs):
        return "status"
    handshake = hosts[visitor.sni[found.number] or NAMES[0]]
    request = hosts[visitor.hosts[found.at]]
    is_stricter = handshake.trusts != request.trusts or request.most < handshake.most
    passes_any = "none" in request.section and "require" in request.verify
    return "stricter" if is_stricter or passes_any else "other"


KINDS: Final = ("same", "left", "lost", "status", "stricter", "other", "admitted")


def run(budget: Budget) -> Result:
    """Send each client to both servers."""
    result = Result()
    if not APACHE.is_present:
        result.skipped = "apache2 is not installed"
        return result
    counts = dict.fromkeys(("sites", "clients", *KINDS), 0)
    with TemporaryDirectory() as folder:
        certificates = Certificates(Path(folder))
        for each, hosts in sites(budget, certificates.documents):
            counts["sites"] += 1
            with ServerProcess(WHIMBREL, each) as whimbrel, ServerProcess(APACHE, each) as apache:
                for _ in range(CLIENTS_OF_A_SITE):
                    visitor = client(budget.random, certificates.names)
                    ours = play(whimbrel.port, visitor, certificates.context(visitor))
                    theirs = play(apache.port, visitor, certificates.context(visitor))
                    found = difference(ours, theirs)
                    kind = "same"
                    if found is not None:
                        name, host = visitor.sni[found.number], visitor.hosts[found.at]
                        single = replace(visitor, sni=(name,), hosts=(host,))
                        alone = play(apache.port, single, certificates.context(single))[0][0]
                        kind = verdict(found, visitor, hosts, alone)
                    counts["clients"] += 1
                    counts[kind] += 1
                    if kind in ("other", "admitted"):
                        result.failures.append(f"{kind}: {visitor}: {ours}; apache2: {theirs}\n{each.conf}")
    result.figures.update(counts)
    return result


MEASURES = (
    Measure(
        "tls-hosts",
        "No client enters a host whose certificates, depth or ciphers apache2 keeps it out of.",
        run,
        2400,
        600,
    ),
)

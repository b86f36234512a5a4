"""Requests to one virtual host on a connection whose handshake was with another.

Two questions: may the request be served at all (SSLVHostSNIPolicy), and what does its server ask of the
client that the handshake has not checked?  httpd: ssl_hook_ReadReq, ssl_hook_Access.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from whimbrel.modules.ssl.mod_ssl.certificate_checks import Verification
from whimbrel.modules.ssl.mod_ssl.settings import CRL_NONE, OFF, SslServerConfig

if TYPE_CHECKING:
    from whimbrel.modules.ssl.mod_ssl.start import TlsServer

HOSTS: Final = "hosts"  # name of the provider of the group "ssl": hosts.Hosts
# values of SSLVHostSNIPolicy
STRICT = "strict"
SECURE = "secure"
AUTH_ONLY = "authonly"
INSECURE = "insecure"


def client_settings(conf: SslServerConfig) -> tuple[Any, ...]:
    """Return what SSLVHostSNIPolicy compares of the authentication of clients."""
    return (
        conf.verify,
        conf.depth,
        conf.ca_file,
        conf.ca_path,
        conf.ca_names_file,
        conf.ca_names_path,
        conf.crl_file,
        conf.crl_path,
        conf.crl_check,
        conf.srp_file,
        tuple(conf.commands),
    )


def server_settings(each: TlsServer) -> tuple[Any, ...]:
    """Return what the policy `secure` compares besides: certificates, keys, protocols, ciphers."""
    return (tuple(each.files), each.conf.protocols, each.conf.ciphers, each.conf.tls13_ciphers)


def _compared(each: TlsServer, policy: str) -> tuple[Any, ...]:
    """Return what must be equal for servers to be compatible."""
    if policy == STRICT:
        return (id(each),)
    if policy == INSECURE:
        return ()
    settings = client_settings(each.conf)
    return settings if policy == AUTH_ONLY else (*settings, *server_settings(each))


def are_compatible(one: TlsServer, other: TlsServer, policy: str) -> bool:
    """Return True if a handshake with one server lets requests to another through."""
    return _compared(one, policy) == _compared(other, policy)


def differs_in_trust(handshake: SslServerConfig, request: SslServerConfig) -> bool:
    """Return True if certificates that the handshake has accepted may be none for the server of a request: it
    has authorities, revocation lists or responders of its own.

    httpd compares the authorities where a further handshake takes place, and revocation never; a certificate
    of another server's authority enters no host here.
    """
    pairs = (
        (request.ca_file, handshake.ca_file),
        (request.ca_path, handshake.ca_path),
        (request.crl_file, handshake.crl_file),
        (request.crl_path, handshake.crl_path),
        (request.crl_check != CRL_NONE and request.crl_check, handshake.crl_check),
        (request.ocsp != OFF and request.ocsp, handshake.ocsp),
    )
    return any(own and own != other for own, other in pairs)


def demands_more(handshake: SslServerConfig, request: SslServerConfig) -> bool:
    """Return True if a handshake with one server has not checked all that another one asks for."""
    if request.ciphers and request.ciphers != handshake.ciphers:
        return True
    wanted = Verification(request.verify, request.depth)
    present = Verification(handshake.verify, handshake.depth)
    return wanted.wants and (wanted.is_stricter_than(present) or differs_in_trust(handshake, request))


class FurtherHandshakes:
    """Which servers get requests after handshakes with others that do not suffice for them.

    Servers with equal settings are looked at once: a configuration may have ten thousand.
    """

    def __init__(self, servers: list[TlsServer], policy: str) -> None:
        self._groups: dict[tuple[Any, ...], dict[tuple[Any, ...], TlsServer]] = {}
        keys = [(_compared(each, policy), _demanded(each.conf)) for each in servers]
        for each, (compared, demanded) in zip(servers, keys, strict=True):
            self._groups.setdefault(compared, {})[demanded] = each
        groups = self._groups.values()
        self._demanding = {_demanded(each.conf) for group in groups for each in _demanding(group)}
        for each, (compared, _) in zip(servers, keys, strict=True):
            each.may_renegotiate = any(
                other.conf.verifies_in_sections or demands_more(each.conf, other.conf)
                for other in self._groups[compared].values()
            )

    def may_demand_more(self, conf: SslServerConfig) -> bool:
        """Return True if requests to such a server may follow a handshake that does not suffice."""
        return _demanded(conf) in self._demanding


def _demanded(conf: SslServerConfig) -> tuple[Any, ...]:
    return (*client_settings(conf), conf.ciphers, conf.ocsp, conf.verifies_in_sections)


def _demanding(group: dict[tuple[Any, ...], TlsServer]) -> list[TlsServer]:
    """Return the servers of a group of compatible ones that demand more than another one does."""
    found = group.values()
    return [each for each in found if any(demands_more(other.conf, each.conf) for other in found)]

"""SSLOpenSSLConfCmd: the commands of SSL_CONF_cmd that pyOpenSSL has functions for.

They are applied to a context after all other settings, as httpd does.  OpenSSL: SSL_CONF_cmd(3).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from OpenSSL import SSL
from OpenSSL._util import lib

from whimbrel.base.latin1 import to_bytes
from whimbrel.base.numbers import lower

_VERSIONS: Final = {
    "none": 0,
    "tlsv1": SSL.TLS1_VERSION,
    "tlsv1.1": SSL.TLS1_1_VERSION,
    "tlsv1.2": SSL.TLS1_2_VERSION,
    "tlsv1.3": SSL.TLS1_3_VERSION,
}
_PROTOCOLS: Final = {
    "sslv3": SSL.OP_NO_SSLv3,
    "tlsv1": SSL.OP_NO_TLSv1,
    "tlsv1.1": SSL.OP_NO_TLSv1_1,
    "tlsv1.2": SSL.OP_NO_TLSv1_2,
    "tlsv1.3": SSL.OP_NO_TLSv1_3,
}
# words of Options: bit, and True where the word means that the bit is off
_OPTIONS: Final = {
    "sessionticket": (SSL.OP_NO_TICKET, True),
    "compression": (SSL.OP_NO_COMPRESSION, True),
    "serverpreference": (SSL.OP_CIPHER_SERVER_PREFERENCE, False),
    "prioritizechacha": (0x00200000, False),
    "noresumptiononrenegotiation": (0x00010000, False),
    "norenegotiation": (SSL.OP_NO_RENEGOTIATION, False),
    "encryptthenmac": (0x00080000, True),
    "allownodhekex": (0x00000400, False),
    "middleboxcompat": (0x00100000, False),
    "dhsingle": (SSL.OP_SINGLE_DH_USE, False),
    "ecdhsingle": (SSL.OP_SINGLE_ECDH_USE, False),
}
Command = Callable[[SSL.Context, str], bool]


def is_known(name: str) -> bool:
    """Return True if a command can be applied."""
    return lower(name) in _COMMANDS


def apply(context: SSL.Context, name: str, value: str) -> bool:
    """Apply one command; return False if OpenSSL refuses the value."""
    try:
        is_done = _COMMANDS[lower(name)](context, value)
    except SSL.Error:
        is_done = False
    lib.ERR_clear_error()
    return is_done


def _ciphers(context: SSL.Context, value: str) -> bool:
    context.set_cipher_list(to_bytes(value))
    return True


def _ciphersuites(context: SSL.Context, value: str) -> bool:
    context.set_tls13_ciphersuites(to_bytes(value))
    return True


def _groups(context: SSL.Context, value: str) -> bool:
    return bool(lib.SSL_CTX_set1_curves_list(context._context, to_bytes(value)) == 1)


def _curve(context: SSL.Context, value: str) -> bool:
    return lower(value) in ("auto", "automatic", "+automatic") or _groups(context, value)


def _signature_algorithms(context: SSL.Context, value: str) -> bool:
    return bool(lib.SSL_CTX_set1_sigalgs_list(context._context, to_bytes(value)) == 1)


def _least(context: SSL.Context, value: str) -> bool:
    version = _VERSIONS.get(lower(value))
    if version is not None:
        context.set_min_proto_version(version)
    return version is not None


def _most(context: SSL.Context, value: str) -> bool:
    version = _VERSIONS.get(lower(value))
    if version is not None:
        context.set_max_proto_version(version)
    return version is not None


def _change(context: SSL.Context, bits: dict[int, bool]) -> bool:
    """Set options; return False if one would have to be cleared, for which there is no function."""
    present = context.set_options(0)
    for bit, is_set in bits.items():
        if is_set:
            context.set_options(bit)
        elif present & bit:
            return False
    return True


def _signed(word: str) -> tuple[bool, str]:
    """Return False for a word with a minus sign, and the word."""
    return word[:1] != "-", lower(word[1:] if word[:1] in ("+", "-") else word)


def _protocols(context: SSL.Context, value: str) -> bool:
    bits: dict[int, bool] = {}
    for word in value.split(","):
        is_on, name = _signed(word)
        names = list(_PROTOCOLS) if name == "all" else [name]
        if any(one not in _PROTOCOLS for one in names):
            return False
        bits.update({_PROTOCOLS[one]: not is_on for one in names})
    return _change(context, bits)


def _options(context: SSL.Context, value: str) -> bool:
    bits: dict[int, bool] = {}
    for word in value.split(","):
        is_on, name = _signed(word)
        if name not in _OPTIONS:
            return False
        bit, is_inverted = _OPTIONS[name]
        bits[bit] = is_on is not is_inverted
    return _change(context, bits)


def _dh_parameters(context: SSL.Context, value: str) -> bool:
    context.load_tmp_dh(to_bytes(value))
    return True


_COMMANDS: Final[dict[str, Command]] = {
    "cipherstring": _ciphers,
    "ciphersuites": _ciphersuites,
    "curves": _groups,
    "groups": _groups,
    "ecdhparameters": _curve,
    "signaturealgorithms": _signature_algorithms,
    "minprotocol": _least,
    "maxprotocol": _most,
    "protocol": _protocols,
    "options": _options,
    "dhparameters": _dh_parameters,
}

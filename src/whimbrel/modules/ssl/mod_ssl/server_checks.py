"""Certificates and private keys of servers: read and checked with httpd's messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes

from whimbrel.base.dialect import Dialect
from whimbrel.base.fnmatch import compile_fnmatch
from whimbrel.base.product import VERSION
from whimbrel.modules.ssl.mod_ssl.certificate_names import common_names
from whimbrel.modules.ssl.mod_ssl.certificates import constraints, kind_of_key, matches_name
from whimbrel.modules.ssl.mod_ssl.context_checks import check_context
from whimbrel.modules.ssl.mod_ssl.key_files import (
    EncryptedKey,
    NoKey,
    belongs,
    certificates,
    first_certificate,
    pair,
    private_key,
    read,
)
from whimbrel.modules.ssl.mod_ssl.pass_phrases import RETRIES, PassPhrases
from whimbrel.modules.ssl.mod_ssl.settings import OFF
from whimbrel.modules.ssl.mod_ssl.start_messages import (
    MISMATCH,
    NO_CERTIFICATE,
    NO_START_LINE,
    PEM_LIB,
    UNSUPPORTED,
    Line,
    StartFailure,
    about,
    failure,
    library_error,
)

if TYPE_CHECKING:
    from whimbrel.modules.ssl.mod_ssl.start import TlsServer

_NO_PHRASE: Final = "Init: Unable to read pass phrase [Hint: key introduced or changed before restart?]"
_CA: Final = "server certificate is a CA certificate (BasicConstraints: CA == TRUE !?)"
_PATH: Final = "server certificate is not a leaf certificate (BasicConstraints: pathlen == {} > 0 !?)"
_PROGRAM: Final = f"Whimbrel/{VERSION}"


def _dialogs() -> PassPhrases:
    return PassPhrases(f"{_PROGRAM} mod_ssl")


def check(dialect: Dialect, servers: list[TlsServer], lines: list[Line]) -> None:
    """Check all TLS contexts, in 2.4 certificates too; warnings into *lines*. Raises StartFailure."""
    phrases = _dialogs()
    shown = servers[0].conf.dialog
    try:
        for each in servers:
            if each.engine == OFF:
                continue
            first = len(lines)
            names = (each.conf.ca_names_file, each.conf.ca_names_path)
            lines += check_context(dialect, each.conf, each.id, names)
            _check_chain(dialect, each)
            if dialect.tls_start_22:
                _check_22(dialect, each, lines)
                about(each.server, lines, first)
                continue
            if each.conf.stapling and not servers[0].conf.stapling_cache:
                raise failure(dialect, "AH01958", "SSLStapling: no stapling cache available")
            for index, files in enumerate(each.files):
                _read_pair(dialect, each, index, files, (phrases, shown, lines))
            if not each.pairs:
                text = f"Failed to configure at least one certificate and key for {each.id}"
                raise failure(dialect, "AH02572", text, NO_CERTIFICATE)
            about(each.server, lines, first)
        phrases.close()
    finally:
        phrases.end()


def _check_chain(dialect: Dialect, each: TlsServer) -> None:
    """Check SSLCertificateChainFile; a file without certificates is an empty chain."""
    if not each.conf.chain_file:
        return
    try:
        read(each.conf.chain_file)
    except OSError:
        raise failure(dialect, "AH01903", "Failed to configure CA certificate chain!") from None


# 2.4 ----------------------------------------------------------------------------------------------
def _read_pair(
    dialect: Dialect,
    each: TlsServer,
    index: int,
    files: tuple[str, str],
    dialog: tuple[PassPhrases, object, list[Line]],
) -> None:
    """Read the certificate number *index* and its key (ssl_init_server_certs)."""
    key_id = f"{each.id}:{index}"
    conf = each.conf
    (file, key_file) = files
    try:
        chain = certificates(read(file))
    except OSError:
        chain = []
    if not chain:
        has_chain = not conf.chain_file
        text = f"Failed to configure certificate {key_id}{' (with chain)' if has_chain else ''}, check {file}"
        errors = (NO_START_LINE, PEM_LIB)
        raise failure(dialect, "AH02562" if has_chain else "AH02561", text, *errors, is_fatal=False)
    key = _key(dialect, each, index, key_file, dialog)
    if not belongs(key, chain[0]):
        text = f"Certificate and private key {key_id} from {file} and {key_file} do not match"
        raise failure(dialect, "AH02565", text, is_fatal=False)
    dialog[2].extend(_warnings(each, chain[0], key_id))
    if conf.chain_file:
        chain = [chain[0], *_chain(conf.chain_file, conf.certificates)]
    each.pairs.append(pair(key, chain))


def _chain(file: str, own: list[str]) -> list[x509.Certificate]:
    """Return the certificates of SSLCertificateChainFile, without the server's own if it is the same file."""
    found = certificates(read(file))
    return found[1:] if file in own else found


def _key(
    dialect: Dialect, each: TlsServer, index: int, file: str, dialog: tuple[PassPhrases, object, list[Line]]
) -> PrivateKeyTypes:
    """Return the private key in *file*, decrypted with a pass phrase if it must be."""
    phrases = dialog[0]
    code = "AH02579"
    text = "Init: Private key not found"
    try:
        return private_key(read(file))
    except EncryptedKey:
        key = _decrypted(each, index, file, phrases)
        if key is not None:
            return key
        code = "AH02578"
        text = "Init: Unable to read pass phrase [Hint: key introduced or changed before restart?]"
    except (NoKey, OSError):
        pass
    phrases.failed()
    final = f"Failed to configure encrypted (?) private key {each.id}:{index}, check {file}"
    raise StartFailure(
        Line("error", code, text),
        library_error(dialect, UNSUPPORTED, "error"),
        Line("emerg", "AH02312", "Fatal error initialising mod_ssl, exiting."),
        Line("emerg", "AH02564", final),
        is_fatal=False,
    )


def _decrypted(
    each: TlsServer, index: int, file: str, phrases: PassPhrases, kind: str = ""
) -> PrivateKeyTypes | None:
    """Return the key in *file*: known pass phrases are tried first, then new ones; None if all are wrong."""
    data = read(file)
    dialog = each.conf.dialog
    for phrase in phrases.known:
        try:
            return private_key(data, phrase)
        except (EncryptedKey, NoKey):
            continue
    for attempt in range(RETRIES + 1):
        given = phrases.obtain(dialog, each.id, index, file, kind)
        if given is None:
            return None
        try:
            key = private_key(data, given)
        except EncryptedKey:
            if dialog.kind != "builtin" or attempt == RETRIES:
                return None
            phrases.refused(RETRIES - attempt)
            continue
        except NoKey:
            return None
        phrases.known.append(given)
        return key
    return None


def _warnings(each: TlsServer, certificate: x509.Certificate, key_id: str) -> list[Line]:
    """Return the warnings about a server's certificate (ssl_check_public_cert)."""
    lines = []
    is_authority, length = constraints(certificate)
    if is_authority:
        lines.append(Line("warn", "AH01906", f"{key_id} {_CA}"))
    if length > 0:
        lines.append(Line("warn", "AH01907", f"{key_id} {_PATH.format(length)}"))
    if not matches_name(certificate, each.server.name):
        text = f"{key_id} server certificate does NOT include an ID which matches the server name"
        lines.append(Line("warn", "AH01909", text))
    return lines


# 2.2 ----------------------------------------------------------------------------------------------
def read_keys_22(dialect: Dialect, servers: list[TlsServer]) -> None:
    """Read certificates and keys of all servers with TLS (ssl_pphrase_Handle); raises StartFailure."""
    phrases = _dialogs()
    try:
        for each in servers:
            if each.engine != OFF:
                _read_pairs_22(dialect, each, phrases)
        phrases.close()
    finally:
        phrases.end()


def _read_pairs_22(dialect: Dialect, each: TlsServer, phrases: PassPhrases) -> None:
    conf = each.conf
    place = each.server.place
    if not conf.certificates:
        where = f"{place.path}:{place.line}" if place is not None and each.server.is_virtual else "(null):0"
        text = "Server should be SSL-aware but has no certificate configured [Hint: SSLCertificateFile]"
        raise failure(dialect, "", f"{text} ({where})")
    kinds: set[str] = set()
    for index, file in enumerate(conf.certificates):
        try:
            data = read(file)
        except OSError:
            raise failure(dialect, "", f"Init: Can't open server certificate file {file}") from None
        certificate = first_certificate(data)
        if certificate is None:
            text = f"Init: Unable to read server certificate from file {file}"
            raise failure(dialect, "", text, NO_START_LINE)
        kind = kind_of_key(certificate)
        if kind in kinds:
            raise failure(dialect, "", f"Init: Multiple {kind} server certificates not allowed")
        kinds.add(kind)
        key_file = conf.keys[index] if index < len(conf.keys) else file
        key = _key_22(dialect, each, index, key_file, kind, phrases)
        more = _chain(conf.chain_file, conf.certificates) if conf.chain_file else []
        each.pairs.append(pair(key, [certificate, *more]))
        each.mismatched |= not belongs(key, certificate)


def _key_22(
    dialect: Dialect, each: TlsServer, index: int, file: str, kind: str, phrases: PassPhrases
) -> PrivateKeyTypes:
    try:
        return private_key(read(file), takes_der=True)
    except EncryptedKey:
        key = _decrypted(each, index, file, phrases, kind)
        if key is not None:
            return key
        phrases.failed()
        text = _NO_PHRASE
    except (NoKey, OSError):
        text = "Init: Private key not found"
    raise failure(dialect, "", text, UNSUPPORTED)


def _check_22(dialect: Dialect, each: TlsServer, lines: list[Line]) -> None:
    """Check the certificates of a server, then that their keys belong to them."""
    for key_pair in each.pairs:
        certificate = x509.load_der_x509_certificate(key_pair.chain[0])
        lines += _warnings_22(each, certificate)
    if each.mismatched:
        kind = kind_of_key(x509.load_der_x509_certificate(each.pairs[0].chain[0]))
        raise failure(dialect, "", f"Unable to configure {kind} server private key", MISMATCH)


def _warnings_22(each: TlsServer, certificate: x509.Certificate) -> list[Line]:
    kind = kind_of_key(certificate)
    (is_authority, length) = constraints(certificate)
    texts = []
    if is_authority:
        texts.append(f"{kind} {_CA}")
    if length > 0:
        texts.append(f"{kind} {_PATH.format(length)}")
    for name in common_names(certificate.subject)[:1]:
        is_wild = any(char in name for char in "*?[")
        if is_wild:
            is_same = compile_fnmatch(name, ignore_case=True).search(each.server.name) is not None
        else:
            is_same = name == each.server.name
        if not is_same:
            wild = "wildcard " if is_wild else ""
            texts.append(
                f"{kind} server certificate {wild}CommonName (CN) `{name}' does NOT match server name!?"
            )
    return [Line("warn", "", text) for text in texts]

"""A certificate authority over the network, by the package `acme` (extra "acme"): it signs requests, keeps
nonces and reads problem documents.  Responses have a bound, since their sender is another party.

RFC 8555, RFC 9773; profiles: draft-aaron-acme-profiles.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

import josepy
import requests
from acme import errors, messages
from acme.client import ClientNetwork
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from josepy.jwk import JWKRSA
from josepy.util import ComparableRSAKey

from whimbrel.base.latin1 import to_bytes, to_system
from whimbrel.base.numbers import decimal, is_digits
from whimbrel.base.product import VERSION
from whimbrel.modules.md.mod_md.authority import (
    Account,
    AcmeDirectory,
    AuthorityError,
    Authorization,
    CertificateOrder,
    Challenge,
    RenewalInfo,
)
from whimbrel.modules.md.mod_md.keys import base64url
from whimbrel.modules.md.mod_md.result import BAD_ARGUMENT, GENERAL

TIMEOUT: Final = 30  # seconds without a byte
MAX_RESPONSE: Final = 1024 * 1024  # bytes
NONCE_ATTEMPTS: Final = 10  # requests while an authority rejects their nonces
MAX_LISTED: Final = 256  # authorizations of an order, challenges of an authorization
_UNREACHABLE: Final = (
    "Unsuccessful in contacting ACME server at <{}>. If this problem persists, please check your network "
    "connectivity from your Apache server to the ACME server. Also, older servers might have trouble "
    "verifying the certificates of the "
    "ACME server. You can check if you are able to contact it manually via the curl "
    "command. Sometimes, the ACME server might be down for maintenance, so failing to contact it is not an "
    "immediate problem. Apache will continue retrying this."
)
_UNAVAILABLE: Final = (
    "The ACME server at <{}> reports that Service is Unavailable (503). This may happen during maintenance "
    "for short periods of time."
)
_UNUSUAL: Final = (
    "The ACME server at <{}> responded with HTTP status {}. This is unusual. Please verify that the URL is "
    "correct and that you can indeed make request from the server to it by other means, e.g. invoking "
    "curl/wget."
)
_NOT_ACME: Final = "Unable to understand ACME server response from <{}>. Wrong ACME protocol version or link?"
# statuses of problems (RFC 8555, 6.7), as httpd has them
_STATUSES: Final = {
    "badCSR": errno.EINVAL,
    "badNonce": errno.EAGAIN,
    "badRevocationReason": errno.EINVAL,
    "badSignatureAlgorithm": errno.EINVAL,
    "externalAccountRequired": errno.EINVAL,
    "invalidContact": BAD_ARGUMENT,
    "malformed": errno.EINVAL,
    "rateLimited": BAD_ARGUMENT,
    "rejectedIdentifier": BAD_ARGUMENT,
    "unauthorized": errno.EACCES,
    "unsupportedIdentifier": BAD_ARGUMENT,
}
_ENDPOINTS: Final = ("newNonce", "newAccount", "newOrder")


class _Body:
    """A payload of a signed request; josepy calls json_dumps."""

    def __init__(self, record: object) -> None:
        self._record = record

    def json_dumps(self, **_options: object) -> str:
        """Return the payload, "" for POST-as-GET."""
        return json.dumps(self._record)


class _Network(ClientNetwork):
    """A client of the package that reads at most MAX_RESPONSE bytes of a response."""

    def _send_request(self, method: str, url: str, *args: Any, **kwargs: Any) -> requests.Response:
        if not url.startswith(("https://", "http://")):
            raise errors.ClientError(f"no URL of HTTP: {url}")
        kwargs["stream"] = True
        headers = kwargs.setdefault("headers", {})
        headers.setdefault("User-Agent", self.user_agent)
        kwargs |= {"verify": self.verify_ssl, "timeout": self._default_timeout}
        response = self.session.request(method, url, *args, **kwargs)
        received = bytearray()
        for piece in response.iter_content(65_536):
            received += piece
            if len(received) > MAX_RESPONSE:
                response.close()
                raise errors.ClientError(f"the response has more than {MAX_RESPONSE} bytes")
        response._content = bytes(received)
        response.encoding = "utf-8"
        return response


class AcmeAuthority:
    """One authority (CertificateAuthority), for one renewal."""

    def __init__(self, url: str, *, ca_file: str = "", proxy: str = "", timeout: float = TIMEOUT) -> None:
        self._endpoints = dict[str, str]()
        self._url = url
        self._ca_file = ca_file
        verify: Any = to_system(ca_file) if ca_file else True
        agent = f"Whimbrel/{VERSION} mod_md"
        self._net = _Network(verify_ssl=verify, user_agent=agent, timeout=int(timeout))
        self._net.session.trust_env = False
        if proxy:
            self._net.session.proxies = {"http": proxy, "https": proxy}

    # requests ----------------------------------------------------------------------------------------
    def directory(self) -> AcmeDirectory:
        """See CertificateAuthority.directory."""
        self._check_ca_file()
        try:
            response = self._net._send_request("GET", self._url)
        except (requests.RequestException, errors.Error, ValueError, OSError) as problem:
            text = _UNREACHABLE.format(self._url)
            raise AuthorityError(_number(problem), text, levels=("warn", "error")) from None
        if response.status_code == 503:
            raise AuthorityError(errno.EAGAIN, _UNAVAILABLE.format(self._url), levels=("info", "error"))
        if response.status_code != 200:
            raise AuthorityError(errno.EAGAIN, _UNUSUAL.format(self._url, response.status_code))
        record = _object(response)
        self._endpoints = {key: value for key, value in record.items() if isinstance(value, str)}
        if not all(name in self._endpoints for name in _ENDPOINTS):
            raise AuthorityError(errno.EINVAL, _NOT_ACME.format(self._url), levels=("warn", "error"))
        found = record.get("meta")
        meta: dict[str, Any] = found if isinstance(found, dict) else {}
        profiles = meta.get("profiles")
        return AcmeDirectory(
            _text(meta, "termsOfService"),
            meta.get("externalAccountRequired") is True,
            tuple(map(str, profiles)) if isinstance(profiles, dict) else (),
            "renewalInfo" in self._endpoints,
        )

    def _check_ca_file(self) -> None:
        """Name the file that the library cannot read; its own error has no number."""
        try:
            if self._ca_file:
                open(to_bytes(self._ca_file), "rb").close()
        except OSError as problem:
            text = f"MDCACertificateFile {self._ca_file} can't be read"
            raise AuthorityError(problem.errno or errno.EIO, text) from None

    def _post(self, url: str, body: object = None) -> requests.Response:
        """Send a signed request; None: POST-as-GET.  Raises AuthorityError."""
        payload: Any = None if body is None else _Body(body)
        nonces = self._endpoints["newNonce"]
        try:
            for _ in range(NONCE_ATTEMPTS // 2):  # the package tries twice
                try:
                    return self._net.post(url, payload, new_nonce_url=nonces)
                except messages.Error as problem:
                    if problem.code != "badNonce":
                        raise
            raise AuthorityError(errno.EAGAIN, "", levels=())
        except messages.Error as problem:
            raise _refused(problem) from None
        except (errors.ClientError, AttributeError, TypeError) as problem:  # the package reads any JSON
            if problem.args and isinstance(problem.args[0], requests.Response):
                raise _unexpected(problem.args[0].status_code) from None
            raise AuthorityError(errno.EINVAL, f"unable to process the response: {_brief(problem)}") from None
        except (requests.RequestException, errors.Error, ValueError, OSError) as problem:
            text = f"Unsuccessful in contacting ACME server at <{url}>: {_brief(problem)}"
            raise AuthorityError(_number(problem), text) from None

    def use(self, key_pem: bytes, account: str) -> None:
        """See CertificateAuthority.use."""
        key: Any = load_pem_private_key(key_pem, None)
        self._net.key = JWKRSA(key=ComparableRSAKey(key))
        self._net.account = None
        if account:
            self._net.account = messages.RegistrationResource(body=messages.Registration(), uri=account)

    def register(self, contacts: list[str], *, agrees: bool, binding: tuple[str, str] | None) -> Account:
        """See CertificateAuthority.register."""
        body: dict[str, Any] = {"contact": contacts}
        if agrees:
            body["termsOfServiceAgreed"] = True
        if binding is not None:
            body["externalAccountBinding"] = self._binding(*binding)
        response = self._post(self._endpoints["newAccount"], body)
        url = response.headers.get("Location", "")
        if not url:
            raise AuthorityError(errno.EINVAL, "new acct without location")
        self._net.account = messages.RegistrationResource(body=messages.Registration(), uri=url)
        return Account(url, _object(response))

    def _binding(self, key_id: str, mac_key: str) -> dict[str, Any]:
        key = self._net.key
        assert key is not None
        try:
            record: dict[str, Any] = messages.ExternalAccountBinding.from_data(
                key.public_key(), key_id, mac_key, messages.Directory(self._endpoints)
            )
        except (ValueError, josepy.errors.Error):
            text = "external account binding HMAC value is not valid base64"
            raise AuthorityError(errno.EINVAL, text) from None
        return record

    def check_account(self) -> None:
        """See CertificateAuthority.check_account."""
        assert self._net.account is not None
        record = _object(self._post(self._net.account.uri))
        if record.get("status", "valid") != "valid":
            raise AuthorityError(errno.ENOENT, f"the account is {record.get('status')}")

    # orders ------------------------------------------------------------------------------------------
    def new_order(self, names: list[str], profile: str, replaces: str) -> CertificateOrder:
        """See CertificateAuthority.new_order."""
        body: dict[str, Any] = {"identifiers": [{"type": "dns", "value": name} for name in names]}
        if profile:
            body["profile"] = profile
        if replaces:
            body["replaces"] = replaces
        response = self._post(self._endpoints["newOrder"], body)
        url = response.headers.get("Location", "")
        if not url:
            raise AuthorityError(errno.EINVAL, "new order, no location header")
        return _order(url, _object(response))

    def order(self, url: str) -> CertificateOrder:
        return _order(url, _object(self._post(url)))

    def authorization(self, url: str) -> Authorization:
        """See CertificateAuthority.authorization."""
        response = self._post(url)
        record = _object(response)
        identifier = record.get("identifier")
        listed = record.get("challenges")
        name = _text(identifier, "value") if isinstance(identifier, dict) else ""
        challenges = tuple(
            Challenge(_text(each, "type"), _text(each, "url"), _text(each, "token"), _text(each, "status"))
            for each in (listed if isinstance(listed, list) else ())[:MAX_LISTED]
            if isinstance(each, dict)
        )
        text = json.dumps(record, separators=(",", ":"))
        return Authorization(url, name, _text(record, "status"), challenges, text)

    def key_authorization(self, token: str) -> str:
        assert self._net.key is not None
        return f"{token}.{base64url(self._net.key.thumbprint(hash_function=SHA256))}"

    def start_challenge(self, url: str) -> None:
        self._post(url, {})

    def finalize(self, order: CertificateOrder, request: bytes) -> None:
        self._post(order.finalize, {"csr": base64url(request)})

    def certificate(self, url: str) -> bytes:
        return bytes(self._post(url).content)

    def renewal_info(self, identifier: str) -> RenewalInfo:
        """See CertificateAuthority.renewal_info."""
        url = f"{self._endpoints['renewalInfo'].rstrip('/')}/{identifier}"
        try:
            response = self._net.get(url)
        except messages.Error as problem:
            raise _refused(problem) from None
        except (
            requests.RequestException,
            errors.Error,
            ValueError,
            OSError,
            AttributeError,
            TypeError,
        ) as problem:
            raise AuthorityError(_number(problem), f"error retrieving ARI from {url}") from None
        record = _object(response)
        window = record.get("suggestedWindow")
        begin, end = (_time(window, key) for key in ("start", "end"))
        if not begin or not end or end < begin:
            raise AuthorityError(errno.EINVAL, f"renewal info from CA incomplete for {identifier}")
        after = response.headers.get("Retry-After", "")
        seconds = float(decimal(after)) if is_digits(after) and len(after) < 10 else 0.0
        return RenewalInfo(begin, end, seconds, _text(record, "explanationURL"))


# responses ---------------------------------------------------------------------------------------
def _object(response: requests.Response) -> dict[str, Any]:
    try:
        record = response.json()
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, dict):
        kind = response.headers.get("Content-Type", "")
        text = f"unable to process the response: http-status={response.status_code}, content-type={kind}"
        raise AuthorityError(errno.EINVAL, text)
    return record


def _text(record: Mapping[str, Any], key: str) -> str:
    value = record.get(key)
    return value if isinstance(value, str) else ""


def _time(record: object, key: str) -> float:
    text = _text(record, key) if isinstance(record, dict) else ""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return 0.0
    return moment.timestamp() if moment.tzinfo is not None else 0.0


def _order(url: str, record: dict[str, Any]) -> CertificateOrder:
    listed = record.get("authorizations")
    problem = record.get("error")
    error: dict[str, Any] = problem if isinstance(problem, dict) else {}
    return CertificateOrder(
        url,
        _text(record, "status"),
        tuple(each for each in (listed if isinstance(listed, list) else ()) if isinstance(each, str))[
            :MAX_LISTED
        ],
        _text(record, "finalize"),
        _text(record, "certificate"),
        _text(error, "type"),
        _text(error, "detail"),
    )


def _unexpected(status: int) -> AuthorityError:
    """Return the error of a response without a problem document."""
    return AuthorityError(
        {400: errno.EINVAL, 403: errno.EACCES, 404: errno.ENOENT}.get(status, GENERAL),
        f"unexpected http status: {status}",
        levels=("warn",),
        line=f"acme problem unknown: http status {status}",
    )


def _refused(problem: messages.Error) -> AuthorityError:
    kind = str(problem.typ or "")
    name = kind.rpartition(":")[2]
    return AuthorityError(_STATUSES.get(name, GENERAL), str(problem.detail or kind), kind)


def _number(problem: BaseException) -> int:
    """Return the errno at the root of *problem*, that of a time-out or of an input error without one."""
    seen: BaseException | None = problem
    for _ in range(8):
        if seen is None:
            break
        if isinstance(seen, OSError) and isinstance(seen.errno, int) and seen.errno in errno.errorcode:
            return seen.errno
        reason = getattr(seen, "reason", None) or (seen.args[0] if seen.args else None)
        seen = reason if isinstance(reason, BaseException) else seen.__cause__ or seen.__context__
    return errno.ETIMEDOUT if isinstance(problem, requests.Timeout) else errno.EIO


def _brief(problem: BaseException) -> str:
    return str(problem)[:200] or os.strerror(_number(problem))

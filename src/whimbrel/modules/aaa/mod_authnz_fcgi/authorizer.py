"""One request to a FastCGI authorizer (req_rsp, handle_response)."""

from __future__ import annotations

from typing import Final

from whimbrel.backends.connection import BackendConnection, ConnectionOwner
from whimbrel.backends.fastcgi import AUTHNZ_FCGI, FastcgiReader, FastcgiRole, begin_request, params
from whimbrel.base.errors import apr_error
from whimbrel.base.latin1 import to_text
from whimbrel.base.numbers import lower, upper
from whimbrel.engine.log.error_log_line import enabled
from whimbrel.engine.request import Request
from whimbrel.http.client.answer import INVALID, TIMEOUT, BackendError
from whimbrel.modules.aaa.mod_authnz_fcgi.settings import Application
from whimbrel.modules.support.cgi.environment import add_cgi_vars, add_common_vars, overlap
from whimbrel.modules.support.cgi.script_head import ScriptHead, has_bare_status
from whimbrel.registry.phases import OK

MODULE: Final = "authnz_fcgi"
MAX_BODY: Final = 8192  # bytes of a refusal's body that are shown to the client (NON200_RESPONSE_BUF_LEN)
IO_TIMEOUT: Final = 30.0  # seconds
_UNREAD: Final = ("AH02501", "AH02509")  # codes of an answer that ended too early
_VARIABLE: Final = "variable-"
_DROPPED: Final = frozenset(
    (
        "CONTENT_LENGTH",
        "PATH_INFO",
        "PATH_TRANSLATED",
        "SCRIPT_NAME",
        "HTTP_KEEP_ALIVE",
        "HTTP_TE",
        "HTTP_TRAILER",
        "HTTP_TRANSFER_ENCODING",
        "HTTP_UPGRADE",
    )
)


class SingleUse(ConnectionOwner):
    """The owner of connections that serve one request."""

    def release(self, connection: BackendConnection) -> None:
        """Close the connection."""
        connection.close()

    def lost(self, connection: BackendConnection) -> None:
        """See ConnectionOwner."""


def log(r: Request, level: str, text: str, code: str, cause: str = "") -> None:
    """Write a line of this module."""
    r.log(level, text, code=code, module=MODULE, cause=cause)


async def authorize(r: Request, application: Application, password: str | None, role: str) -> str:
    """Send *r* to the application and return the answer's body; `r.status` is its status, 500 without one."""
    saved = r.env.copy()
    try:
        body = await _answer(r, application, await _variables(r, password, role))
    except BackendError as problem:
        if problem.reasons and problem.reasons[0].code in _UNREAD:
            log(r, "error", f"Couldn't read from backend {application.backend}", "AH02497")
        for message in problem.reasons:
            r.log(message.level, message.text, code=message.code, module=MODULE, cause=message.cause)
        text = f"req_rsp: Failed handling response from {application.backend}"
        log(r, "error", text, "AH02514", problem.reasons[-1].cause if problem.reasons else INVALID)
        body = ""
        r.status = 500
    except OSError:
        body = ""
        r.status = 500
    else:
        log(r, "debug", f"req_rsp: Received HTTP status {r.status}", "AH02515")
    r.env = saved
    if r.status == 200:
        _take_variables(r)
    return body


async def _variables(r: Request, password: str | None, role: str) -> dict[str, str]:
    add_common_vars(r)
    await add_cgi_vars(r)
    own = {"FCGI_ROLE": "AUTHORIZER"}
    if role:
        own["FCGI_APACHE_ROLE"] = role
    if password is not None:
        own["REMOTE_PASSWD"] = password
    own["HTTP_CONNECTION"] = "close"
    overlap(r.env, own)
    variables = {name: value for name, value in r.env.items() if upper(name) not in _DROPPED}
    if enabled(r.plan.levels, MODULE, "trace2"):
        for name, value in variables.items():
            shown = "XXXXXXXX" if name == "REMOTE_PASSWD" else value
            r.log("trace2", f"send_environment: '{name}': '{shown}'", module=MODULE)
    return variables


async def _connect(r: Request, application: Application) -> BackendConnection:
    """Return a connection; raise OSError, which is logged."""
    for at, address in enumerate(application.addresses):
        try:
            return await r.engine.runtime.connect(
                lambda: BackendConnection(SingleUse()), address, timeout=IO_TIMEOUT
            )
        except TimeoutError:
            cause = TIMEOUT
        except OSError as problem:
            cause = apr_error(problem)
        is_last = at + 1 == len(application.addresses)
        host, port = address
        shown = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        text = f"attempt to connect to {shown} ({application.backend}) failed"
        log(r, "error" if is_last else "debug", text, "AH02495", cause)
    raise OSError


async def _answer(r: Request, application: Application, variables: dict[str, str]) -> str:
    """Return the beginning of the answer's body; raise OSError, BackendError."""
    connection = await _connect(r, application)
    reader = FastcgiReader(AUTHNZ_FCGI)
    connection.begin(reader, IO_TIMEOUT, keeps_open=False)
    try:
        records, left_out = params(variables.items())
        for name in left_out:
            log(r, "warn", f"couldn't encode envvar '{name}' in 16384 bytes", "AH02499")
        connection.write(begin_request(FastcgiRole.AUTHORIZER) + records)
        return await _read(r, application, connection, reader)
    finally:
        connection.finish()


async def _read(
    r: Request, application: Application, connection: BackendConnection, reader: FastcgiReader
) -> str:
    body = b""
    while True:
        errors, reader.errors = reader.errors, []
        for text in errors:
            log(r, "warn", f"handle_response: Logged from {application.backend}: '{text}'", "AH02507")
        messages, reader.messages = reader.messages, []
        for message in messages:
            r.log(message.level, message.text, code=message.code, module=MODULE, cause=message.cause)
        body = (body + reader.take())[:MAX_BODY]
        if reader.done:
            break
        if connection.failure is not None:
            raise connection.failure
        await connection.changed()
    _read_head(r, application, reader)
    if r.status == 401 and not body and has_bare_status(_lines(reader)):
        r.status_line = "401 Unknown Reason"
    return to_text(body)


def _lines(reader: FastcgiReader) -> tuple[str, ...]:
    return (reader.head.script_lines or ()) if reader.head is not None else ()


def _read_head(r: Request, application: Application, reader: FastcgiReader) -> None:
    """Set status and fields; raise BackendError for a head that is malformed or missing."""
    head = ScriptHead(r, MODULE)
    status = None
    for line in _lines(reader):
        status = head.line(line)
        if status is not None:
            break
    if status is None:
        log(r, "error", "handle_response: Never reached end of script headers", "AH02510")
        raise BackendError(500)
    text = f"handle_response: script header parsing -> {status}/{r.status}"
    log(r, "debug", text, "AH02504")
    if status != OK:
        r.status = status
        text = f"handle_response: Error parsing script headers from {application.backend}"
        log(r, "error", text, "AH02506")
        raise BackendError(500)


def _take_variables(r: Request) -> None:
    """Make variables of the fields ``Variable-NAME``."""
    fields = [pair for pair in r.err_headers_out.items() if lower(pair[0]).startswith(_VARIABLE)]
    for name, value in fields:
        r.log("trace2", f"moving {name}->{value}", module=MODULE)
        r.err_headers_out.unset(name)
        overlap(r.env, {name[len(_VARIABLE) :]: value})

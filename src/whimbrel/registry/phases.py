"""The phases of a request, in httpd's order, and how each runs its hooks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.static_typing import Any, Final, IntEnum

# A hook's result: an HTTP status (from 100 on), or OK, DECLINED or DONE.
HookStatus = int
OK: Final = 0
DECLINED: Final = -1
DONE: Final = -2

# Values of Request.proxy besides 0: the client addressed a proxy (PROXYREQ_PROXY), or the server passes the
# request on by itself (PROXYREQ_REVERSE).
FORWARD_PROXY: Final = 1
REVERSE_PROXY: Final = 2

# The argument is a whimbrel.engine.request.Request, which is a higher layer.
HookFn = (
    Callable[[Any], HookStatus]
    | Callable[[Any], Awaitable[HookStatus]]
    | Callable[[Any], HookStatus | Awaitable[HookStatus]]
)


class RunMode(IntEnum):
    """When a phase ends."""

    RUN_FIRST = 1  # with the first hook that does not decline
    RUN_ALL = 2  # with the first hook that returns neither OK nor DECLINED
    VOID = 3  # after every hook, for any result


@dataclass(frozen=True, slots=True)
class Phase:
    """One phase; *index* gives the order."""

    index: int
    name: str
    run: RunMode


POST_READ_REQUEST = Phase(0, "post_read_request", RunMode.RUN_ALL)
QUICK_HANDLER = Phase(1, "quick_handler", RunMode.RUN_FIRST)
TRANSLATE_NAME = Phase(2, "translate_name", RunMode.RUN_FIRST)
MAP_TO_STORAGE = Phase(3, "map_to_storage", RunMode.RUN_FIRST)
HEADER_PARSER = Phase(4, "header_parser", RunMode.RUN_ALL)
ACCESS_CHECKER = Phase(5, "access_checker", RunMode.RUN_ALL)
ACCESS_CHECKER_EX = Phase(6, "access_checker_ex", RunMode.RUN_FIRST)
CHECK_USER_ID = Phase(7, "check_user_id", RunMode.RUN_FIRST)
AUTH_CHECKER = Phase(8, "auth_checker", RunMode.RUN_FIRST)
TYPE_CHECKER = Phase(9, "type_checker", RunMode.RUN_FIRST)
FIXUPS = Phase(10, "fixups", RunMode.RUN_ALL)
INSERT_FILTER = Phase(11, "insert_filter", RunMode.VOID)
INSERT_ERROR_FILTER = Phase(12, "insert_error_filter", RunMode.VOID)
HANDLER = Phase(13, "handler", RunMode.RUN_FIRST)
LOG_TRANSACTION = Phase(14, "log_transaction", RunMode.RUN_ALL)
NOTE_AUTH_FAILURE = Phase(15, "note_auth_failure", RunMode.RUN_FIRST)
PRE_TRANSLATE_NAME = Phase(16, "pre_translate_name", RunMode.RUN_FIRST)  # before translate_name
PHASES = (
    POST_READ_REQUEST,
    QUICK_HANDLER,
    TRANSLATE_NAME,
    MAP_TO_STORAGE,
    HEADER_PARSER,
    ACCESS_CHECKER,
    ACCESS_CHECKER_EX,
    CHECK_USER_ID,
    AUTH_CHECKER,
    TYPE_CHECKER,
    FIXUPS,
    INSERT_FILTER,
    INSERT_ERROR_FILTER,
    HANDLER,
    LOG_TRANSACTION,
    NOTE_AUTH_FAILURE,
    PRE_TRANSLATE_NAME,
)

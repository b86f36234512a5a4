"""Variables: names and forms as in the running httpd."""

from __future__ import annotations

import os
import pwd
import time

import pytest
from tests.unit.expr.stand_in import StandIn, record

from whimbrel.expr.api import compile_condition, compile_string
from whimbrel.expr.evaluation import Evaluation
from whimbrel.expr.variables import VARIABLES

# Every name that 2.4.71 accepts without further modules.
KNOWN = (
    "HTTP_ACCEPT HTTP_COOKIE HTTP_FORWARDED HTTP_HOST HTTP_PROXY_CONNECTION HTTP_REFERER HTTP_USER_AGENT "
    "REQUEST_METHOD REQUEST_SCHEME REQUEST_URI "
    "DOCUMENT_URI REQUEST_FILENAME SCRIPT_FILENAME LAST_MODIFIED SCRIPT_USER SCRIPT_GROUP PATH_INFO "
    "QUERY_STRING IS_SUBREQ THE_REQUEST REMOTE_ADDR "
    "REMOTE_PORT REMOTE_HOST REMOTE_USER REMOTE_IDENT SERVER_NAME SERVER_PORT SERVER_ADMIN SERVER_PROTOCOL "
    "DOCUMENT_ROOT AUTH_TYPE CONTENT_TYPE "
    "HANDLER HTTP2 HTTPS IPV6 REQUEST_STATUS REQUEST_LOG_ID CONN_LOG_ID CONN_REMOTE_ADDR CONTEXT_PREFIX "
    "CONTEXT_DOCUMENT_ROOT SERVER_SOFTWARE "
    "API_VERSION TIME TIME_YEAR TIME_MON TIME_DAY TIME_HOUR TIME_MIN TIME_SEC TIME_WDAY"
)


def value(name: str, view: StandIn) -> str:
    return compile_string(f"%{{{name}}}")(view)


def test_names() -> None:
    assert set(VARIABLES) == set(KNOWN.split())


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("request_method", "GET"),
        ("QUERY_STRING", ""),
        ("IS_SUBREQ", "false"),
        ("REQUEST_STATUS", "200"),
        ("API_VERSION", "20120211"),
        ("HTTPS", "off"),
        ("HTTP2", "off"),
        ("IPV6", "off"),
        ("SERVER_PORT", "8080"),
        ("REMOTE_PORT", "4711"),
        ("LAST_MODIFIED", "19700101000000"),
        ("CONTEXT_PREFIX", "/al"),
    ],
)
def test_values(name: str, known: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    known_in_utc = value(name, StandIn(record()))
    monkeypatch.undo()
    time.tzset()
    assert known_in_utc == known


def test_the_clock_is_local(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    view = StandIn(record(mtime=1_600_000_000_000_000))
    try:
        assert value("TIME", view) == "20200913212640"
        parts = [value(f"TIME_{part}", view) for part in ("YEAR", "MON", "DAY", "HOUR", "MIN", "SEC", "WDAY")]
        assert parts == ["2020", "09", "13", "21", "26", "40", "0"]
        assert value("LAST_MODIFIED", view) == "20200913212640"
    finally:
        monkeypatch.undo()
        time.tzset()
    assert set(view.asked) == {"now"}


def test_fields_of_the_head_are_named_for_the_vary_field() -> None:
    evaluation = Evaluation(StandIn(record({"Referer": "r", "Host": "h"})))
    assert compile_condition("%{HTTP_REFERER} == 'r' && %{HTTP_HOST} == 'h' && req('host') == 'h'").test(
        evaluation
    )
    assert evaluation.vary == ["Referer"]


def test_without_a_file_the_owner_is_number_0() -> None:
    assert value("SCRIPT_USER", StandIn(record())) == "root"


def test_the_owner(tmp_path: object) -> None:
    info = os.stat(str(tmp_path))
    assert value("SCRIPT_USER", StandIn(record(info=info))) == pwd.getpwuid(info.st_uid).pw_name

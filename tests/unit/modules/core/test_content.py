"""SetHandler, DefaultType, CGIVar, filters by name: as 2.4.71 and 2.2.34 accepted them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.client import fetch
from tests.support.engine import build_engine
from tests.support.site import Site

from whimbrel.base.dialect import V22
from whimbrel.config.core_config import CoreDirConfig
from whimbrel.modules.core.content import handler_name_of

LINE = "AH00526: Syntax error on line 1 of @/conf/httpd.conf:\n"
UNTERMINATED = "syntax error, unexpected T_ERROR, expecting T_VAR_END or ':': Unterminated string or variable"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("SetHandler %{x", f"Can't parse expression : {UNTERMINATED}"),
        ('SetHandler "%{x"', f"Can't parse expression : {UNTERMINATED}"),
        ("CGIVar FOO x", 'Unrecognized CGI variable: "FOO"'),
        ("CGIVar REQUEST_URI x", "Valid rules for REQUEST_URI are 'current-uri' and 'original-uri'"),
    ],
)
def test_refused(tmp_path: Path, line: str, reason: str) -> None:
    assert Site(tmp_path, line + "\n").check() == LINE + reason


@pytest.mark.parametrize(
    ("conf", "warned"),
    [
        ("DefaultType none", False),
        ("DefaultType text/plain", True),
        ("LogLevel error\nDefaultType text/plain", False),
        ("<VirtualHost *:80>\nDefaultType text/plain\n</VirtualHost>", False),
    ],
)
def test_default_type_warns(tmp_path: Path, conf: str, warned: bool) -> None:
    assert (
        "AH00117: Ignoring deprecated use of DefaultType in line " in Site(tmp_path, conf + "\n").check()
    ) is warned


def test_values(tmp_path: Path) -> None:
    conf = (
        Site(tmp_path, "SetHandler SERVER-STATUS\nAddDefaultCharset On\nForceType TEXT/X\n")
        .load()
        .main.defaults.record(CoreDirConfig)
    )
    assert (conf.handler, conf.add_default_charset, conf.forced_type) == (
        "server-status",
        "iso-8859-1",
        "text/x",
    )


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("proxy:unix:/run/Up/S.sock|http://LocalHost/Up", "proxy:unix:/run/Up/S.sock|http://LocalHost/Up"),
        ("proxy:UNIX:/run/Up|http://localhost/", "proxy:unix:/run/up|http://localhost/"),
        ("Proxy:unix:/run/Up|http://localhost/", "proxy:unix:/run/up|http://localhost/"),
        ("proxy:http://LocalHost/Up", "proxy:http://localhost/up"),
    ],
)
def test_only_the_path_of_a_socket_keeps_its_case(written: str, name: str, tmp_path: Path) -> None:
    """As apache2 2.4.71 sent the requests, or failed to find the socket."""
    assert handler_name_of(written) == name
    conf = Site(tmp_path, f'SetHandler "{written}"\n').load().main.defaults.record(CoreDirConfig)
    assert conf.handler == name


def test_filters_by_type_of_22(tmp_path: Path) -> None:
    conf = (
        Site(tmp_path, "AddOutputFilterByType A;B text/HTML text/x\n")
        .load(V22)
        .main.defaults.record(CoreDirConfig)
    )
    assert conf.filters_by_type == {"text/HTML": ["A", "B"], "text/x": ["A", "B"]}  # case counts
    assert Site(tmp_path, "AddOutputFilterByType ;A text/html\n").check("2.2").endswith("invalid filter name")


def test_unknown_filters_are_logged(tmp_path: Path) -> None:
    serving = build_engine(tmp_path, "SetOutputFilter a;;B;\nSetInputFilter XX", {"htdocs/f.txt": "x"})
    assert fetch(serving, "/f.txt").body == "x"
    text = b"".join(b"".join(v) for v in serving.runtime.logs.values()).decode()  # type: ignore[attr-defined]
    assert [line.partition("added: ")[2] for line in text.splitlines() if "AH00082" in line] == [
        "a",
        "B",
        "XX",
    ]


@pytest.mark.parametrize(
    ("handler", "want"),
    [
        ("%{req:X-Handler}", "nosuch"),
        ("expr=CGI-x", "expr=cgi-x"),
        ("expr=%{REQUEST_METHOD}", "expr=get"),
        ("x%{sha1:ABC}", "x3c01bdbb26f358bab27f267924aa2c9a03fcfdb8"),
        ("%{toupper:none}", "-"),
        ("%{req:X-None}", ""),
    ],
)  # apache2's values
def test_a_handler_that_depends_on_the_request(handler: str, want: str, tmp_path: Path) -> None:
    conf = f'SetHandler "{handler}"\nLogFormat %R f\nCustomLog log f'
    serving = build_engine(tmp_path, conf, {"htdocs/f.txt": "x"})
    assert fetch(serving, "/f.txt", "X-Handler: NoSuch").body == "x"
    logs = serving.runtime.logs  # type: ignore[attr-defined]
    assert [b"".join(lines) for name, lines in logs.items() if "log" in str(name)] == [f"{want}\n".encode()]

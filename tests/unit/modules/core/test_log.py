"""ErrorLog, LogLevel and ErrorLogFormat, with the messages of 2.4.71 and 2.2.34."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.site import Site

from whimbrel.base.dialect import V22
from whimbrel.config.core_config import CoreServerConfig
from whimbrel.config.model import LogSink
from whimbrel.engine.log.error_log_line import LEVELS
from whimbrel.modules.core.log import error_sink

LINE = "AH00526: Syntax error on line 1 of @/conf/httpd.conf:\n"
WORDS = "emerg/alert/crit/error/warn/notice/info/debug"
KEYWORD = f"Log level keyword must be one of {WORDS}/trace1/.../trace8"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("LogLevel bogus", KEYWORD),
        ("LogLevel nosuch:debug", "Cannot find module nosuch"),
        ("LogLevel :debug", "Cannot find module "),
        ("LogLevel core:", "Module specifier 'core' must be followed by a log level keyword"),
        ("LogLevel nosuch:bogus", f"nosuch:bogus: {KEYWORD}"),
        ("LogLevel CORE:info", "Cannot find module CORE"),
        ("LogLevel mod_env:debug", "Cannot find module mod_env"),
        ('ErrorLogFormat "%x %M"', "Unrecognized error log format directive %x"),
        ('ErrorLogFormat "%{a"', "Ran off end of error log format parsing args to some directive"),
        ('ErrorLogFormat "a"', "main ErrorLogFormat must contain message format string '%M'"),
        ('ErrorLogFormat bogus "%M"', "ErrorLogFormat type must be one of request, connection"),
        (
            'ErrorLogFormat request "%M"',
            "%M cannot be used in once-per-request or once-per-connection formats",
        ),
        ('ErrorLogFormat "%+M"', "The '+' flag cannot be used in the main error log format"),
        ('ErrorLogFormat "%16a %M"', "The specified loglevel modifier is out of range"),
    ],
)
def test_refused(tmp_path: Path, line: str, reason: str) -> None:
    assert Site(tmp_path, line + "\n").check() == LINE + reason


def test_refused_by_22(tmp_path: Path) -> None:
    expected = (
        f"Syntax error on line 1 of @/conf/httpd.conf:\nLogLevel requires level keyword: one of {WORDS}"
    )
    assert Site(tmp_path, "LogLevel trace1\n").check("2.2") == expected
    assert Site(tmp_path, 'LogLevel "info rewrite:trace1"\n').check("2.2") == "Syntax OK"


@pytest.mark.parametrize(
    ("lines", "levels"),
    [
        (
            "LoadModule wsgi_module m/mod_wsgi.so\nLogLevel info wsgi:debug\nLogLevel mod_wsgi.c:trace1",
            {"": "info", "wsgi": "trace1"},
        ),
        (
            "LogLevel info env:debug core.c:trace1 mod_env.c:warn",
            {"": "info", "env": "warn", "core": "trace1"},
        ),
        ("LogLevel env:debug\nLogLevel info", {"": "info"}),
        ("LogLevel http_module:Alert", {"http": "alert"}),
    ],
)
def test_levels(tmp_path: Path, lines: str, levels: dict[str, str]) -> None:
    found = Site(tmp_path, lines + "\n").load().main.config(CoreServerConfig).log_level
    assert found == {name: LEVELS[word] for name, word in levels.items()}


def test_traces_of_setting_a_level(tmp_path: Path) -> None:
    text = Site(tmp_path, "LogLevel core:trace4\n").check()
    assert "core.c(3517): Setting LogLevel for module core.c to trace4" in text
    assert "Setting LogLevel" not in Site(tmp_path, "LogLevel debug\n").check()


@pytest.mark.parametrize(
    ("written", "new", "old"),
    [
        ("/x/y", LogSink("/x/y"), LogSink("/x/y")),
        ("|/bin/p a", LogSink("/bin/p a", piped=True), LogSink("/bin/p a", piped=True, shell=True)),
        ("| /bin/p a", LogSink(" /bin/p a", piped=True), LogSink(" /bin/p a", piped=True, shell=True)),
        ("||/bin/p", LogSink("/bin/p", piped=True), LogSink("/bin/p", piped=True)),
        ("|$p", LogSink("p", piped=True, shell=True), LogSink("p", piped=True, shell=True)),
        ("syslog:local7:t", LogSink("local7:t", syslog=True), LogSink("local7:t", syslog=True)),
    ],
)
def test_sinks(tmp_path: Path, written: str, new: LogSink, old: LogSink) -> None:
    site = Site(tmp_path, f'ErrorLog "{written}"\n' if not written.startswith("/") else "")
    for sink, conf in ((new, site.load()), (old, site.load(V22))):
        conf.main.config(CoreServerConfig).error_log = written
        assert error_sink(conf, conf.main) == sink


def test_missing_directories(tmp_path: Path) -> None:
    conf = (
        "ErrorLog /nosuch1/x\n<VirtualHost *:80>\nErrorLog /nosuch2/x\n</VirtualHost>\n<VirtualHost "
        "*:81>\nErrorLog /nosuch3/x\n</VirtualHost>\n"
    )
    missing = "(2)No such file or directory: AH02291: Cannot access directory '/nosuch{}/' for {}"
    vhost = "error log of vhost defined at @/conf/httpd.conf:{}"
    assert Site(tmp_path, conf).check().splitlines() == [
        missing.format(1, "main error log"),
        missing.format(3, vhost.format(5)),
        missing.format(2, vhost.format(2)),
        "AH00014: Configuration check failed",
    ]
    assert Site(tmp_path, "ErrorLog /nosuch1/x\n").check("2.2") == "Syntax OK"


@pytest.mark.parametrize(
    ("lines", "version", "shown"),
    [
        ("{}", "2.4", True),
        ("LogLevel error\n{}", "2.4", False),
        ("{}LogLevel error\n", "2.4", True),
        ("LogLevel error core:warn\n{}", "2.4", True),
        ("<VirtualHost *:80>\n{}</VirtualHost>\n", "2.4", False),
        ("LogLevel debug\n<VirtualHost *:80>\n{}</VirtualHost>\n", "2.4", False),
        ("<VirtualHost *:80>\nLogLevel warn\n{}</VirtualHost>\n", "2.4", True),
        ("<VirtualHost *:80>\nLogLevel core:warn\n{}</VirtualHost>\n", "2.4", True),
        ("<VirtualHost *:80>\nLogLevel error\n{}</VirtualHost>\n", "2.4", False),
        ("<VirtualHost *:80>\n{}</VirtualHost>\n", "2.2", True),
    ],
)
def test_the_level_of_the_server_decides_about_messages_of_its_lines(
    tmp_path: Path, lines: str, version: str, shown: bool
) -> None:
    """Asked of apache2; 2.2: recorded. A virtual host of 2.4 has no level before its own LogLevel."""
    useless = "<Location /x>\nAllowOverride All\n</Location>\n"
    printed = Site(tmp_path, lines.format(useless)).check(version)
    assert ("Useless use of AllowOverride" in printed, printed.endswith("Syntax OK")) == (shown, True)

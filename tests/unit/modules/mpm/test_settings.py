"""Process settings, and the resulting ServerSpec."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.site import Site

from whimbrel.config.model import LogSink
from whimbrel.modules.core.spec import server_spec

LINE = "AH00526: Syntax error on line 1 of @/conf/httpd.conf:\n"
MECHANISMS = (
    "(Mutex mechanisms are: 'none', 'default', 'flock:/path/to/file', 'fcntl:/path/to/file', "
    "'file:/path/to/file', 'pthread', 'sysvsem', "
    "'posixsem', 'sem')"
)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("Mutex bogus", f"Invalid Mutex argument bogus {MECHANISMS}"),
        ('Mutex ""', f"Mutex requires at least a mechanism argument {MECHANISMS}"),
        ("Mutex none", "None is not allowed for mutex type default"),
        ("Mutex sem rewrite-map", "Mutex type rewrite-map is not valid"),
        ("Mutex sem a b c", "Mutex type c is not valid"),
        ("Mutex file:/nosuch/x", "Invalid Mutex directory in argument file:/nosuch/x"),
        ("Mutex sem mpm-accept", "Mutex type mpm-accept is not valid"),
        ("CoreDumpDirectory /nosuch/x", "CoreDumpDirectory /nosuch/x does not exist"),
        ("CoreDumpDirectory /etc/passwd", "CoreDumpDirectory /etc/passwd is not a directory"),
        ("MaxMemFree -1", "Invalid MaxMemFree value: -1"),
        ("Port 80", "Port was replaced with Listen in Apache 2.0"),
        ("RegexDefaultOptions +BOGUS", "RegexDefaultOptions: option 'BOGUS' unknown"),
        ("RegexDefaultOptions default", "RegexDefaultOptions: option 'default' unknown"),
        ("ChrootDir /nosuch/x", "ChrootDir must be a valid directory"),
    ],
)
def test_refused(tmp_path: Path, line: str, reason: str) -> None:
    assert Site(tmp_path, line + "\n").check() == LINE + reason


@pytest.mark.parametrize(
    "line",
    [
        "Mutex default",
        "Mutex file:run",
        "Mutex yes",
        "Mutex sem OmitPID",
        "Mutex sem watchdog-callback",
        "ThreadStackSize x",
        "PidFile /nosuch/d/p",
        "RegexDefaultOptions none +ICASE",
        "User #33",
        "Group #x",
        "ScoreBoardFile /../x",
    ],
)
def test_accepted(tmp_path: Path, line: str) -> None:
    assert Site(tmp_path, line + "\n").check() == "Syntax OK"


def test_names_that_the_system_does_not_know(tmp_path: Path) -> None:
    assert Site(tmp_path, "User nosuchuser\n").check() == "AH00543: apache2: bad user name nosuchuser"
    assert Site(tmp_path, "Group nosuchgroup\n").check("2.2") == "httpd: bad group name nosuchgroup"


def test_root_is_refused(tmp_path: Path) -> None:
    """The text of apache2 -t 2.4.71, whose line feeds are escaped."""
    assert Site(tmp_path, "User root\n").check() == LINE + (
        r"Error:\tApache has not been designed to serve pages while\n\trunning as root.  There are known "
        r"race conditions that\n\twill allow any local user to read any file on the system.\n\tIf you still "
        r"desire to serve pages as root then\n\tadd -DBIG_SECURITY_HOLE to the CFLAGS env variable\n\tand "
        r"then rebuild the server.\n\tIt is strongly suggested that you instead modify the User\n\tdirective "
        r"in your httpd.conf file to list a non-root\n\tuser.\n"
    )


def test_accept_mutex_of_22(tmp_path: Path) -> None:
    expected = (
        "Bogus is an invalid mutex mechanism; Valid accept mutexes for this platform and MPM are: default, "
        "flock, fcntl, sysvsem, posixsem, pthread."
    )
    assert (
        Site(tmp_path, "AcceptMutex Bogus\n").check("2.2")
        == "Syntax error on line 1 of @/conf/httpd.conf:\n" + expected
    )


def test_spec(tmp_path: Path) -> None:
    lines = [
        "PidFile run/p",
        "ErrorLog logs/e",
        "User #33",
        "Group #34",
        "ListenBackLog 7",
        "StartServers 2",
        "ThreadsPerChild 10",
        "MaxRequestWorkers 40",
        "MaxConnectionsPerChild 9",
        "GracefulShutdownTimeout 3",
        "CustomLog logs/a %h",
        "BufferedLogs On",
        "DefaultRuntimeDir run",
    ]
    spec = server_spec(Site(tmp_path, "\n".join(lines) + "\n").load())
    assert (spec.pid_file, spec.user, spec.group, spec.backlog) == (f"{tmp_path}/run/p", "#33", "#34", 7)
    assert (spec.processes, spec.threads, spec.max_workers, spec.max_processes) == (2, 10, 40, 4)
    assert (spec.requests_per_child, spec.graceful_timeout, spec.buffered_logs) == (9, 3.0, True)
    assert spec.run_directory == f"{tmp_path}/run"
    assert spec.log_sinks == [LogSink(f"{tmp_path}/logs/e"), LogSink(f"{tmp_path}/logs/a")]

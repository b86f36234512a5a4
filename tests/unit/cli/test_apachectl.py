"""whimbrel ctl: actions and exit codes of apache2ctl 2.4.71."""

from __future__ import annotations

import os
import pwd
import socket
import subprocess
import threading
from pathlib import Path

import pytest
from tests.support import warm_command

from whimbrel.cli.apachectl import as_text, brief
from whimbrel.testing.ports import free_port

FAILED = "The Apache error log may have more information.\n"


def ctl(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": "/usr/bin:/bin", **environment}
    done = warm_command.run(["ctl", *words], cwd="/", environment=environment, entry=warm_command.utility)
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def written(root: Path, more: str) -> None:
    for name in ("conf", "logs"):
        (root / name).mkdir()
    (root / "conf/httpd.conf").write_text(
        "LoadModule mpm_event_module m/mod_mpm_event.so\nListen 1\nServerName x\n" + more
    )


@pytest.mark.parametrize("words", [(), ("help",), ("usage",)])
def test_help_goes_to_standard_error_with_1(words: tuple[str, ...]) -> None:
    done = ctl(*words)
    assert (done.returncode, done.stdout) == (1, "")
    assert (
        done.stderr.startswith("Usage: ")
        and "start|stop|restart|graceful|graceful-stop|configtest|status|fullstatus|help" in done.stderr
    )


def test_startssl_is_2() -> None:
    done = ctl("startssl")
    assert done.returncode == 2
    assert done.stdout.startswith("The startssl option is no longer supported.\n") and done.stdout.endswith(
        f"Action 'startssl' failed.\n{FAILED}"
    )


def test_an_option_of_configtest_without_its_argument() -> None:
    done = ctl("configtest", "-d")
    assert done.returncode == 1
    assert done.stderr.startswith("whimbrel-httpd: option requires an argument -- d\n")


def test_configtest_says_what_t_says(tmp_path: Path) -> None:
    written(tmp_path, "Bogus x\n")
    done = ctl("-d", str(tmp_path), "configtest")
    assert done.returncode == 1
    assert "Invalid command 'Bogus'" in done.stderr
    assert done.stdout == f"Action '-d {tmp_path} configtest' failed.\n"


@pytest.mark.parametrize("action", ["restart", "graceful"])
def test_a_broken_configuration_stops_no_server(tmp_path: Path, action: str) -> None:
    written(tmp_path, "Bogus x\n")
    done = ctl(action, "-d", str(tmp_path))
    assert done.returncode == 1 and done.stderr.count("Invalid command 'Bogus'") == 1


def test_stop_without_a_server_is_0(tmp_path: Path) -> None:
    written(tmp_path, f"PidFile {tmp_path}/pid\n")
    done = ctl("--dialect", "2.4", "-d", str(tmp_path), "stop")
    assert (done.returncode, done.stdout) == (0, "httpd (no pid file) not running\n")
    assert ctl("-d", str(tmp_path), "-k", "stop").stdout == done.stdout


def test_status_that_cannot_be_fetched() -> None:
    url = f"http://127.0.0.1:{free_port()}/server-status"
    done = ctl("status", STATUSURL=url)
    assert done.returncode == 1
    assert f"'{url}' failed" in done.stderr


PAGE = (
    "<html><head><title>T</title></head><body><h1>Apache Server Status for a&amp;b</h1>\n"
    "<dl><dt>Server uptime:  1 second</dt></dl>"
    "<pre>W__</pre>\n<p>Scoreboard Key:<br />\n</p>\n"
    "<table><tr><td>1</td><td>2</td></tr></table></body></html>\n"
)


def test_status_ends_before_the_key_and_fullstatus_does_not() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            for _ in range(2):
                wire, _address = listener.accept()
                with wire:
                    wire.recv(4096)
                    wire.sendall(b"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n" + PAGE.encode())

        threading.Thread(target=serve, daemon=True).start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/server-status"
        short, full = ctl("status", APACHE_STATUSURL=url), ctl("fullstatus", APACHE_STATUSURL=url)
    assert (short.returncode, full.returncode) == (0, 0)
    assert "Apache Server Status for a&b" in short.stdout and "W__" in short.stdout
    assert "Scoreboard Key" not in short.stdout and "Scoreboard Key:" in full.stdout
    assert "1  2" in full.stdout


def test_a_page_of_text_stays_as_it_is() -> None:
    assert as_text("BusyWorkers: 1\n") == "BusyWorkers: 1\n"
    assert brief("a\nb\n") == "a\nb\n"


# Debian's directories ------------------------------------------------------------------------------
def debian_root(root: Path, more: str = "") -> Path:
    root.chmod(0o755)
    (root / "apache2.conf").write_text(
        "LoadModule mpm_event_module m/mod_mpm_event.so\nListen 1\nServerName x\nPidFile ${APACHE_PID_FILE}\n"
    )
    (root / "envvars").write_text(
        f"export APACHE_RUN_DIR={root}/run/a APACHE_LOCK_DIR={root}/lock APACHE_PID_FILE={root}/run/a/pid\n"
        f"export APACHE_RUN_USER={pwd.getpwuid(os.geteuid()).pw_name if os.geteuid() else 'www-data'}\n{more}"
    )
    return root


def test_directories_of_envvars_are_made_as_apache2ctl_makes_them(tmp_path: Path) -> None:
    """apache2ctl: the run directory with parents, sockets and locks of APACHE_RUN_USER with mode 755."""
    root = debian_root(tmp_path)
    (root / "run/a").mkdir(parents=True)
    (root / "logs").mkdir()
    (root / "run/a/ssl_scache.x").write_text("")
    done = ctl("stop", "-d", str(root))
    assert (done.returncode, done.stdout) == (0, "httpd (no pid file) not running\n"), done.stderr
    owner = pwd.getpwnam("www-data").pw_uid if os.geteuid() == 0 else os.geteuid()
    for path in (root / "run/a/socks", root / "lock"):
        found = path.stat()
        assert (found.st_mode & 0o7777, found.st_uid) == (0o755, owner)
    assert sorted(p.name for p in root.iterdir()) == ["apache2.conf", "envvars", "lock", "logs", "run"]
    assert (root / "run/a/ssl_scache.x").exists()  # only start removes it


def test_a_file_where_a_directory_belongs_aborts(tmp_path: Path) -> None:
    root = debian_root(tmp_path, "export APACHE_RUN_USER=www-data\n")
    (root / "lock").write_text("")
    (root / "run/a/socks").mkdir(parents=True)
    done = ctl("configtest", APACHE_CONFDIR=str(root))
    assert (done.returncode, done.stdout) == (
        1,
        f"{root}/lock already exists but is not a directory owned by www-data.\n"
        "Please fix manually. Aborting.\n",
    )


def test_arguments_of_envvars_come_first(tmp_path: Path) -> None:
    root = debian_root(tmp_path, 'export APACHE_ARGUMENTS="-D NAME -v"\n')
    done = ctl("configtest", APACHE_CONFDIR=str(root))
    assert done.returncode == 0 and done.stdout.startswith("Server version: ")

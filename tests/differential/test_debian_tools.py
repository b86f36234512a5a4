"""Debian's own programs around the server, unchanged, with Whimbrel at /usr/sbin/apache2: as with apache2."""

from __future__ import annotations

import re
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.differential.servers import APACHE, WHIMBREL, Program
from tests.support.debian_machine import PID_FILE, WHIMBREL_HTTPD, DebianMachine, missing
from tests.support.samples import amount

PROGRAMS: Final = [pytest.param(each, id=each.name) for each in (APACHE, WHIMBREL)]
APACHE2: Final = "/usr/sbin/apache2"
LOGROTATE: Final = "/etc/logrotate.d/apache2"
BAD: Final = "etc/apache2/conf-enabled/bad.conf"
# What changes between two runs of one program, or is the product's name.
_VARIES: Final = re.compile(r"pid \d+|Apache/[\d.]+ \([^)]*\)|Server built: .*")
_LABEL: Final = re.compile(r"^ *([A-Z][\w ]+):", re.MULTILINE)

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing() or "-")


@pytest.fixture(scope="module", params=PROGRAMS)
def machine(request: pytest.FixtureRequest) -> Iterator[DebianMachine]:
    """Return a machine whose server runs."""
    program: Program = request.param
    with DebianMachine(program) as made:
        (made.base / "var/www/html/index.html").write_text("knot\n")
        made.start()
        yield made


def served(path: str = "/") -> str:
    with urllib.request.urlopen(f"http://127.0.0.1{path}", timeout=10) as response:
        return str(response.read().decode())


def restarts(machine: DebianMachine) -> int:
    return machine.log().count("AH00489")


def test_all_processes_are_found_by_path_name_and_file(machine: DebianMachine) -> None:
    main = machine.main_process()
    found = machine.shell("pgrep -f ^/usr/sbin/apache2").split()
    assert main in found and len(found) >= 2
    assert set(machine.shell("ps -C apache2 -o args=").splitlines()) == {"/usr/sbin/apache2 -k start"}
    for command in ("pgrep -x apache2", "pidof apache2", "pgrep -f '^/usr/sbin/apache2 -k start$'"):
        assert sorted(machine.shell(command).split()) == sorted(found), command
    for option in ("--name apache2", f"--pidfile {PID_FILE}", f"--pidfile {PID_FILE} --name apache2"):
        assert machine.run("start-stop-daemon", "--status", *option.split()).returncode == 0, option
    status = machine.run("/etc/init.d/apache2", "status")
    assert (status.returncode, status.stdout) == (0, "apache2 is running.\n")


def test_service_reload_is_a_graceful_restart(machine: DebianMachine) -> None:
    main, before = machine.main_process(), restarts(machine)
    done = machine.run("invoke-rc.d", "apache2", "reload")
    assert done.returncode == 0, done.stdout
    machine.wait_for(lambda: restarts(machine) > before)
    assert machine.main_process() == main


@pytest.mark.skipif(bool(missing("logrotate")), reason="logrotate is not installed")
def test_stock_rotation_lets_the_server_open_new_logs(machine: DebianMachine) -> None:
    if not Path(LOGROTATE).exists():
        pytest.skip(f"{LOGROTATE} is not here")
    assert served() == "knot\n"
    machine.wait_for(lambda: machine.log("access.log"))
    main, old = machine.main_process(), machine.log("access.log")
    done = machine.run("logrotate", "-v", "-f", "-s", "/var/log/state", LOGROTATE)
    assert done.returncode == 0 and "running postrotate script" in done.stdout, done.stdout
    assert machine.log("access.log.1") == old
    machine.wait_for(lambda: restarts(machine) == 1)  # in the new log
    # a worker that is about to end may take a request, and logs it in the old file
    sent = 0
    while "/?after" not in machine.log("access.log"):
        assert served("/?after") == "knot\n"
        sent += 1
        machine.wait_for(lambda: requests_after(machine) == sent)  # noqa: B023
    assert machine.main_process() == main


def requests_after(machine: DebianMachine) -> int:
    """Return how many of the requests after a rotation the new and the old log have."""
    return sum(machine.log(name).count("/?after") for name in ("access.log", "access.log.1"))


def transcript(program: Program, envvars: str = "", path: str = APACHE2) -> dict[str, tuple[int, list[str]]]:
    """Return status and lines of each action of apache2ctl, in one life of a server.

    *envvars* is added to the file of that name and makes *path* the server's.
    """
    found: dict[str, tuple[int, list[str]]] = {}
    with DebianMachine(APACHE if envvars else program) as machine:
        with (machine.base / "etc/apache2/envvars").open("a") as file:
            file.write(envvars)

        def act(action: str, note: str = "") -> None:
            done = machine.run("apache2ctl", *action.split())
            text = _VARIES.sub("-", done.stdout).replace(path, APACHE2)
            text = text.replace(f"{Path(path).name}: ", "apache2: ")
            own = ("build: ", "Next: ")  # Whimbrel's own
            shown = [line for line in text.splitlines() if not line.startswith(own)]
            lines = _LABEL.findall(text) if "status" in action else sorted(shown)
            found[f"{action} {note}".strip()] = done.returncode, lines

        act("stop", "before the start")
        act("configtest")
        act("start")
        machine.wait_for(lambda: restarts(machine) == 1)
        for action in ("start", "-S", "-M", "-v", "help", "bogus"):
            act(action, "of a running server")
        if not missing("www-browser"):
            act("status")
            act("fullstatus")
        main = machine.main_process()
        assert machine.shell(f"ps -p {main} -o args=") == f"{path} -k start\n"
        (machine.base / BAD).write_text("Bogus on\n")
        for action in ("configtest", "graceful", "restart", "graceful-stop"):
            act(action, "with an error")
        assert machine.main_process() == main and restarts(machine) == 1
        (machine.base / BAD).unlink()
        for number, action in enumerate(("graceful", "restart"), 2):
            act(action)
            machine.wait_for(lambda number=number: restarts(machine) == number)  # type: ignore[misc]
        assert machine.main_process() == main
        act("graceful-stop")
        machine.wait_for(lambda: not machine.main_process())
    return found


def test_apache2ctl_prints_the_same() -> None:
    """In its place, and in a nightly run by APACHE_HTTPD."""
    expected = transcript(APACHE)
    assert len(expected) >= 15
    path = str(WHIMBREL_HTTPD)
    for envvars in ("", f"export APACHE_HTTPD={path}\n")[: amount(1, 2)]:
        found = transcript(WHIMBREL, envvars, path if envvars else APACHE2)
        for action, result in expected.items():
            assert found[action] == result, (envvars, action)


def test_init_script_with_x_of_pidof_stops_the_server() -> None:
    with DebianMachine(WHIMBREL) as machine:
        assert machine.run("apache2ctl", "start").returncode == 0
        assert machine.main_process() != ""  # the PidFile is there when the start returns
        machine.shell("sed 's/pidof $DAEMON/pidof -x $DAEMON/' /etc/init.d/apache2 > /run/script")
        assert machine.run("sh", "/run/script", "stop").returncode == 0
        assert machine.shell("pgrep -f ^/usr/sbin/apache2 -r S") == ""

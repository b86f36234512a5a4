"""Command line of whimbrel-httpd: options, texts, imports. Expected texts are httpd's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.support import warm_command

from whimbrel.base.dialect import DIALECTS
from whimbrel.base.product import VERSION
from whimbrel.catalogue.load import catalogue
from whimbrel.cli import version_text
from whimbrel.cli.arguments import parse
from whimbrel.cli.httpd import run
from whimbrel.config import servers, service_settings
from whimbrel.config.load import new_configuration
from whimbrel.config.options import LoadOptions
from whimbrel.config.service_settings import envvars_of, sourced_envvars
from whimbrel.directives.spec import Versions
from whimbrel.modules import ALL
from whimbrel.utilities.usage_error import UsageError


def test_letters_may_stand_together_and_values_apart() -> None:
    found = parse("p", ["-Da", "-D", "b", "-tf", "conf/x", "-d/r", "-C", "Listen 1"])
    assert (found.defines, found.check_only, found.file, found.root, found.before) == (
        ["a", "b"],
        True,
        "conf/x",
        "/r",
        ["Listen 1"],
    )


def test_the_log_shows_the_command_line_as_httpd_does() -> None:
    """AH00094 of 2.4.71: values apart from their letters, no -k."""
    found = parse("/usr/sbin/apache2", ["-d/r", "-C", 'Include "c"', "-k", "start", "-DFOREGROUND"])
    assert " ".join(found.log_words) == '/usr/sbin/apache2 -d /r -C Include "c" -D FOREGROUND'


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-Z"], "illegal option -- Z"),
        (["-k", "bogus"], "illegal option -- k"),
        (["-D"], "option requires an argument -- D"),
        (["-h"], ""),
        (["-e", "bogus", "-t"], ""),
        (["extra"], ""),
        (["-t", "extra"], ""),
        (["--dialect", "2.3"], "the dialect must be 2.2, 2.4 or guide"),
        (["--builtin", "none"], "the build must be auto, debian, shared, upstream, suse, all or any"),
    ],
)
def test_wrong_use(words: list[str], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse("p", words)
    assert caught.value.message == message


def test_s_and_m_are_synonyms() -> None:
    assert parse("p", ["-S", "-M"]).defines == ["DUMP_VHOSTS", "DUMP_RUN_CFG", "DUMP_MODULES"]


@pytest.mark.parametrize(
    ("words", "checks"),
    [
        (["-DDUMP_VHOSTS"], True),
        (["-D", "DUMP_RUN_CFG"], True),
        (["-D", "DUMP_INCLUDES"], True),
        (["-DDUMP_CONFIG"], False),
        (["--dialect", "2.2", "-DDUMP_MODULES"], True),
        (["--dialect", "2.2", "-DDUMP_RUN_CFG"], False),
    ],
)
def test_names_that_ask_for_a_dump_start_nothing(words: list[str], checks: bool) -> None:
    """In 2.4.71 a dump needs no -t; the sources' list of 2.2 is shorter."""
    assert parse("p", words).check_only is checks


def site(root: Path, conf: str, *more: str) -> subprocess.CompletedProcess[str]:
    """Return the output for a configuration that includes conf/a.conf."""
    for name in ("conf", "logs", "htdocs"):
        (root / name).mkdir()
    (root / "conf/a.conf").write_text("UseCanonicalName Off\n")
    (root / "conf/httpd.conf").write_text(
        f"LoadModule mpm_event_module m/mod_mpm_event.so\nListen 127.0.0.1:8080\n{conf}"
    )
    done = warm_command.run(["-c", "-d", str(root), *more], cwd=root, entry=warm_command.httpd)
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def test_files_before_an_error_are_listed(tmp_path: Path) -> None:
    done = site(tmp_path, "Include conf/a.conf\nBogus\n", "-DDUMP_INCLUDES")
    conf = f"{tmp_path}/conf"
    assert (done.returncode, done.stdout) == (
        1,
        f"Included configuration files:\n  (*) {conf}/httpd.conf\n    (3) {conf}/a.conf\n",
    )
    assert done.stderr.startswith(
        f"AH00526: Syntax error on line 4 of {conf}/httpd.conf:\nInvalid command 'Bogus'"
    )


@pytest.mark.parametrize(
    ("conf", "heads"),
    [
        (
            "",
            ["Included configuration files:", "VirtualHost configuration:", "ServerRoot:", "Loaded Modules:"],
        ),
        (
            "LoadModule info_module m/mod_info.so\n",
            [
                "Included configuration files:",
                "VirtualHost configuration:",
                "# In file:",
                "ServerRoot:",
                "Loaded Modules:",
            ],
        ),
    ],
)
def test_dumps_stand_in_the_order_in_which_httpd_comes_to_them(
    tmp_path: Path, conf: str, heads: list[str]
) -> None:
    """DUMP_CONFIG is mod_info's."""
    out = site(tmp_path, conf, "-M", "-S", "-DDUMP_CONFIG", "-DDUMP_INCLUDES").stdout
    known = (
        "Included configuration files:",
        "VirtualHost configuration:",
        "# In file:",
        "ServerRoot:",
        "Loaded Modules:",
    )
    assert [head for line in out.splitlines() for head in known if line.startswith(head)] == heads


def test_included_files_are_shown_with_the_line_of_the_last_include(tmp_path: Path) -> None:
    """Every number is that of httpd 2.4.71."""
    (tmp_path / "more").mkdir()
    texts = {"1": "\n\n\n\n\n\nInclude conf/a.conf", "2": "#", "3": "\nIncludeOptional no/*", "4": ""}
    for name, text in texts.items():
        (tmp_path / "more" / name).write_text(text)
    out = site(tmp_path, "Include more/*\nInclude conf/a.conf\n", "-DDUMP_INCLUDES").stdout
    assert [line.strip().replace(f"{tmp_path}/", "") for line in out.splitlines()[1:]] == [
        "(*) conf/httpd.conf",
        "(3) more/1",
        "(7) conf/a.conf",
        "(7) more/2",
        "(7) more/3",
        "(2) more/4",
        "(4) conf/a.conf",
    ]


def test_v_ends_the_reading() -> None:
    """apache2 -v -V shows the version only (config-dumps-0314)."""
    assert parse("p", ["-v", "-V", "-Z"]).show == "v"


def test_usage_of_24() -> None:
    """Of /usr/sbin/apache2 -h, whose program name is as long as the padding."""
    lines = version_text.usage("/usr/sbin/apache2", "2.4").split("\n")
    assert lines[:4] == [
        "Usage: /usr/sbin/apache2 [-D name] [-d directory] [-f file]",
        '                         [-C "directive"] [-c "directive"]',
        "                         [-k start|restart|graceful|graceful-stop|stop]",
        "                         [-v] [-V] [-h] [-l] [-L] [-t] [-T] [-S] [-X]",
    ]
    assert "  -t -D DUMP_MODULES : show all loaded modules " in lines
    assert lines[-2] == "  -X                 : debug mode (only one worker, do not detach)"


def test_usage_of_22() -> None:
    lines = version_text.usage("httpd", "2.2").split("\n")
    assert lines[3] == "                               [-v] [-V] [-h] [-l] [-L] [-t] [-T] [-S]"
    assert "  -t -D DUMP_VHOSTS  : show parsed settings (currently only vhost settings)" in lines
    assert "-X" not in "\n".join(lines)


def test_wrong_use_goes_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["/x/whimbrel-httpd", "-Z"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("whimbrel-httpd: illegal option -- Z\nUsage: /x/whimbrel-httpd [-D name]")


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["p", "-v"]) == 0
    first, second, rest = capsys.readouterr().out.split("\n")
    assert first == f"Server version: Apache/2.4.71 (Whimbrel/{VERSION})"
    assert second.startswith("Server built:   20")
    assert rest == ""


@pytest.mark.parametrize("build", ["debian", "shared", "upstream", "suse", "all"])
@pytest.mark.parametrize("dialect", ["2.2", "2.4"])
def test_listed_modules_are_active(
    dialect: str, build: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """-l lists what a configuration has before its first LoadModule."""
    options = LoadOptions(server_root=str(tmp_path), build=build)
    active = new_configuration(options, ALL, DIALECTS[dialect]).modules.modules
    assert run(["p", "--dialect", dialect, "--builtin", build, "-l"]) == 0
    _title, *lines = capsys.readouterr().out.splitlines()
    assert [line.strip() for line in lines] == [module.source for module in active]


def test_a_build_of_all_modules_has_those_with_behaviour_and_one_mpm(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = {row.file: row for row in catalogue("2.4").modules}
    wanted = {
        row.source
        for name in ALL
        if (row := rows.get(name)) and row.kind != "mpm" and ALL[name].versions & Versions.V24
    }
    assert run(["p", "-l", "--builtin", "all"]) == 0
    _title, *lines = capsys.readouterr().out.splitlines()
    static = {row.source for row in rows.values() if row.is_static}
    assert {line.strip() for line in lines} == wanted | static | {"event.c"}


def test_the_build_of_debian(capsys: pytest.CaptureFixture[str]) -> None:
    """Recorded: config-dumps-0275."""
    assert run(["p", "-l", "--builtin", "debian"]) == 0
    assert capsys.readouterr().out.split() == [
        *("Compiled", "in", "modules:", "core.c", "mod_so.c", "mod_watchdog.c", "http_core.c"),
        *("mod_log_config.c", "mod_logio.c", "mod_version.c", "mod_unixd.c"),
    ]


@pytest.mark.parametrize("letter", ["-v", "-V", "-l", "-h"])
def test_frequent_options_import_nothing(letter: str) -> None:
    """Test suites call these options hundreds of times: they import only what Python has loaded.

    Without a named build -V and -l read the main file.
    """
    code = (
        "import sys; b = set(sys.modules); from whimbrel.cli.httpd import run; "
        f"run(['p', '--builtin', 'debian', {letter!r}]); print(*(set(sys.modules) - b), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name for name in done.stderr.rsplit("\n", 2)[-2].split() if not name.startswith("whimbrel")}
    assert loaded <= {"__future__", "errno", "contextvars", "_contextvars"}


def test_a_debian_folder_is_known_by_its_files(tmp_path: Path) -> None:
    assert not servers.is_debian(str(tmp_path))
    (tmp_path / "apache2.conf").touch()
    (tmp_path / "envvars").write_text(
        'export RUN_USER=www-$APACHE_CONFDIR\nSECRET=1\nSUFFIX=" x"\nexport NAME="a$SUFFIX"\n'
    )
    assert servers.is_debian(str(tmp_path))
    server = servers.server_of(str(tmp_path), "")
    assert server.file == "apache2.conf"
    found = sourced_envvars(envvars_of(server), "/c")
    assert (found["RUN_USER"], found["NAME"]) == ("www-/c", "a x")
    assert "SECRET" not in found


@pytest.mark.parametrize(
    ("text", "seconds", "reason"),
    [
        ("while :; do :; done\n", 0.2, "sh did not end within 0.2 seconds"),
        ("export A='b\n", 30, "sh ended with status 2"),
        ("exit 7\n", 30, "sh ended with status 7"),
    ],
)
def test_variables_that_sh_cannot_read_stop_the_command(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    text: str,
    seconds: float,
    reason: str,
) -> None:
    """A server with none of its variables would be another server."""
    monkeypatch.setattr(service_settings, "SHELL_SECONDS", seconds)
    (tmp_path / "apache2.conf").write_text("ServerName a\n")
    (tmp_path / "envvars").write_text(text)
    assert run(["whimbrel-httpd", "-d", str(tmp_path), "-t"]) == 1
    printed = capfd.readouterr().err
    assert printed.endswith(f"whimbrel-httpd: could not read {tmp_path}/envvars: {reason}\n"), printed


def test_other_folders_have_no_variables(tmp_path: Path) -> None:
    (tmp_path / "envvars").touch()
    server = servers.server_of(str(tmp_path), "")
    assert (envvars_of(server), server.file) == ("", "conf/httpd.conf")


def test_own_options_stand_below_those_of_httpd(capsys: pytest.CaptureFixture[str]) -> None:
    run(["p", "-Z"])
    httpd_part = capsys.readouterr().err.partition("\n")[2]
    run(["p", "-h"])
    text = capsys.readouterr().err
    assert text.startswith(httpd_part)
    own = text.removeprefix(httpd_part)
    assert all(name in own for name in ("--dialect", "--builtin", "--envvars", "--strict", "--json"))

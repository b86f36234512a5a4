"""Each step of an upgrade prints the command of the next one, and the command works as it is printed."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support import warm_command

from whimbrel.cli.next_commands import after_replay, command_line
from whimbrel.replay.summary import Summary
from whimbrel.replay.tally import Change, ChangeKey, Tally
from whimbrel.upgrade.source.named_sources import ConfigArguments, sources
from whimbrel.verify.loading import load_side
from whimbrel.verify.written_logs import written_logs

PROGRAM = [sys.executable, "-c", "from whimbrel.cli.main import main; main()"]
TEXT = """ServerRoot "{root}"
Listen 127.0.0.1:8080
ServerName a.example
<IfModule !mod_version.c>
    LoadModule version_module modules/mod_version.so
</IfModule>
<IfVersion >= 2.4>
    <IfModule !mod_unixd.c>
        LoadModule unixd_module modules/mod_unixd.so
    </IfModule>
    LoadModule mpm_event_module modules/mod_mpm_event.so
    LoadModule authz_core_module modules/mod_authz_core.so
</IfVersion>
DocumentRoot "{root}/htdocs"
ErrorLog logs/error_log
DefaultType None
MaxRequestsPerChild 10
"""


def run(words: list[str], cwd: Path) -> tuple[int, str]:
    """Return exit status and both outputs of a command of whimbrel."""
    done = warm_command.run(words, cwd=cwd)
    return done.returncode, (done.stdout + done.stderr).decode()


def line_of(output: str, word: str) -> list[str]:
    """Return the words of the last line that begins with *word*, without the name of the program."""
    (line,) = [one for one in output.splitlines() if one.startswith(f"{word}: ")]
    program, *words = shlex.split(line.removeprefix(f"{word}: "))
    assert program == "whimbrel"
    return words


def assert_is_tested(result: tuple[int, str], root: Path, file: str) -> None:
    """Assert that the test of the server succeeded, and that those of httpd 2.4 and its start follow."""
    status, output = result
    assert status == 0 and "Syntax OK\n" in output, output
    assert "test did not try module files" in output, output
    (line,) = [one.removeprefix("Next: ") for one in output.splitlines() if one.startswith("Next: ")]
    test, start = [shlex.split(one) for one in line.split(" && ")][-2:]
    assert test[:5] == ["apachectl", "-d", str(root), "-f", file] and test[-1] == "-t"
    assert start == [*test[:-1], "-k", "graceful"]


@pytest.fixture
def site(tmp_path: Path) -> Path:
    root = tmp_path / "a site"
    for name in ("conf", "logs", "htdocs"):
        (root / name).mkdir(parents=True)
    (root / "conf/httpd.conf").write_text(TEXT.format(root=root))
    return root


@pytest.mark.parametrize("file", ["conf/httpd.conf", "conf/other.conf"])
def test_written_in_place(site: Path, file: str) -> None:
    os.rename(site / "conf/httpd.conf", site / file)
    named = ["-d", str(site), *(["-f", file] if "other" in file else [])]
    status, output = run(["upgrade", *named, "-D", "X Y"], site)
    assert status == 1
    command = line_of(output, "Next")
    assert command[:2] == ["upgrade", "--write"]
    status, output = run(command, site)
    assert status == 0, output
    assert "MaxConnectionsPerChild 10" in (site / file).read_text()
    command = line_of(output, "Next")
    assert command[:2] == ["verify", "--backups"]
    undo = line_of(output, "Undo")
    status, output = run(command, site.parent)
    assert status == 0 and "same" in output, output
    assert_is_tested(run(line_of(output, "Next"), site.parent), site, file)
    assert run(undo, site.parent)[0] == 0
    assert "MaxRequestsPerChild 10" in (site / file).read_text()
    status, output = run(command, site.parent)
    assert status == 2 and "no upgrade was written here" in output
    assert "the journal of this path is missing" in output and "verify OLD NEW" in output


@pytest.mark.parametrize("file", ["conf/httpd.conf", "conf/other.conf"])
def test_written_elsewhere(site: Path, file: str) -> None:
    os.rename(site / "conf/httpd.conf", site / file)
    named = ["-d", str(site), *(["-f", file] if "other" in file else [])]
    status, output = run(["upgrade", *named, "--out", str(site.parent / "new")], site)
    assert status == 0 and "Undo" not in output, output
    command = line_of(output, "Next")
    assert command[0] == "verify"
    status, output = run(command, site)
    assert "same" in output, output
    assert_is_tested(run(line_of(output, "Next"), site), site.parent / "new", file)


def test_a_check_follows_a_fragment(tmp_path: Path) -> None:
    (tmp_path / "a.conf").write_text("MaxRequestsPerChild 10\n")
    _status, output = run(["upgrade", "a.conf"], tmp_path)
    assert line_of(output, "Next") == ["upgrade", "--write", "a.conf"]
    _status, output = run(["upgrade", "--write", "a.conf"], tmp_path)
    assert line_of(output, "Next") == ["check", "a.conf"]
    assert run(line_of(output, "Undo"), tmp_path)[0] == 0


@pytest.mark.parametrize(
    "word",
    [
        b"plain",
        b"a b;'c'",
        b"caf\xc3\xa9",
        b"\x1b[31m\x1b]0;'t\\\x07",
        b"\xc2\x9b31m",
        b"\xe2\x80\xae",
        b"a\nb",
        b"\xff",
    ],
)
def test_a_command_line_shows_what_it_does(word: bytes) -> None:
    """A shell reads the word that was meant, and a terminal acts on no part of it."""
    line = command_line(os.fsdecode(word))
    shown = line.encode("latin-1")
    assert shown.decode().isprintable()
    shell = shutil.which("bash")
    if shell is None:
        pytest.skip("no bash")
    done = subprocess.run(
        [os.fsencode(shell), b"-c", shown.replace(b"whimbrel", b"printf %s", 1)],
        capture_output=True,
        check=True,
    )
    assert done.stdout == word


def test_more_requests_follow_lines_that_were_not_asked_for(site: Path) -> None:
    """Where the number of requests ended, the next command asks more of them, and decides."""
    text = (site / "conf/httpd.conf").read_text()
    both = "<RequireAll>\nRequire method GET\n</RequireAll>"
    for name, lines in (("old.conf", "Require method GET"), ("new.conf", both)):
        more = "".join(f"<Location /p{n}>\n{lines}\n</Location>\n" for n in range(8))
        (site / "conf" / name).write_text(f"{text.replace('DefaultType None', '')}{more}")
    dialects = ["--old-dialect", "2.4", "--limit", "1"]
    status, output = run(["verify", "conf/old.conf", "conf/new.conf", *dialects], site)
    assert status == 3, output
    command = line_of(output, "Next")
    assert command[0] == "verify" and command[-2] == "--limit" and int(command[-1]) > 1
    assert run(command, site)[0] == 0


@pytest.mark.parametrize("is_linked", [False, True])
def test_backups_are_the_old_side(site: Path, is_linked: bool) -> None:
    """What an upgrade wrote is compared with what it replaced, included files and .htaccess files too.

    Sites of Debian are links: their backups lie beside the files to which they lead.
    """
    if is_linked:
        (site / "available").mkdir()
        (site / "conf/more.conf").symlink_to("../available/more.conf")
    section = "<Location /a>\nOrder allow,deny\nAllow from 10.0.0.0/8\n</Location>\n"
    (site / "conf/more.conf").write_text(section)
    more = "LoadModule authz_host_module modules/mod_authz_host.so\nInclude conf/more.conf\n"
    (site / "conf/httpd.conf").write_text(f"{TEXT.format(root=site)}{more}")
    run(["upgrade", "--write", "-d", str(site)], site)
    assert run(["verify", "--backups", "-d", str(site)], site)[0] == 0
    written = (site / "conf/more.conf").read_text()
    assert "Require ip" in written
    (site / "conf/more.conf").write_text(written.replace("10.0.0.0/8", "11.0.0.0/8"))
    status, output = run(["verify", "--backups", "-d", str(site)], site)
    assert status == 1 and "opens access" in output, output
    command = line_of(output, "Next")
    assert command[0] == "explain" and "--backups" in command
    status, shown = run(command, site)
    assert status == 1 and shown.startswith("403 Forbidden in 2.2 before the upgrade, "), shown
    assert "because  Order allow,deny  conf/more.conf:2" in shown or "available/more.conf:2" in shown, shown
    assert run(["verify", "--backups", str(site), str(site)], site)[0] == 2


@pytest.mark.parametrize("is_absolute", [False, True])
@pytest.mark.parametrize("linked", ["file", "directory", ".htaccess", "main file"])
def test_backups_are_read_where_a_link_leads(site: Path, linked: str, *, is_absolute: bool) -> None:
    """An upgrade changes the target of a link; the old side reads its backup by the name of the link."""
    access = "Order allow,deny\nAllow from 10.0.0.0/8\n"
    sections = f"<Location /a>\n{access}</Location>\n"
    (site / "available").mkdir()
    (site / "enabled").mkdir()
    target, link, text, more = {
        "file": ("available/a.conf", "enabled/a.conf", sections, "Include enabled/*.conf\n"),
        "directory": ("available/a.conf", "linked", sections, "Include linked/a.conf\n"),
        ".htaccess": ("available/access", "htdocs/.htaccess", access, ""),
        "main file": ("available/main", "conf/httpd.conf", sections, ""),
    }[linked]
    override = f'<Directory "{site}/htdocs">\nAllowOverride All\n</Directory>\n'
    module = "LoadModule authz_host_module modules/mod_authz_host.so\n"
    main = f"{TEXT.format(root=site)}{module}{override}{more}"
    (site / "conf/httpd.conf").write_text(main)
    (site / target).write_text(main + text if linked == "main file" else text)
    (site / link).unlink(missing_ok=True)
    source = (site / target).parent if linked == "directory" else site / target
    (site / link).symlink_to(source if is_absolute else os.path.relpath(source, (site / link).parent))
    status, output = run(["upgrade", "--write", "-d", str(site)], site)
    assert "Require ip" in (site / target).read_text(), output
    status, output = run(["verify", "--backups", "-d", str(site)], site)
    assert status == 0, output


def test_the_name_of_a_client_is_part_of_the_command(site: Path) -> None:
    """apache2 looks the name up; the next command says which one the difference is about."""
    load = "LoadModule authz_host_module modules/mod_authz_host.so\n"
    text = (site / "conf/httpd.conf").read_text().replace("DefaultType None", "")
    for name, line in (("old.conf", "all denied"), ("new.conf", "host example.com")):
        more = f"{load}<Location /d>\nRequire {line}\n</Location>\n"
        (site / "conf" / name).write_text(f"{text}{more}")
    status, output = run(["verify", "conf/old.conf", "conf/new.conf", "--old-dialect", "2.4"], site)
    assert status == 1, output
    command = line_of(output, "Next")
    assert command[0] == "explain" and command[command.index("--client-host") + 1].endswith("example.com")
    status, output = run(command, site)
    assert status == 1 and output.startswith("403 Forbidden in "), output


def test_what_a_person_decides_is_said_and_the_next_step_is_another_command(site: Path) -> None:
    """No request shows what the line does, no option gives it: the comparison again would be a loop."""
    text = (site / "conf/httpd.conf").read_text().replace("DefaultType None", "")
    line = "LoadModule setenvif_module modules/mod_setenvif.so\nSetEnvIf Request_Protocol ^SPDY x=1\n"
    for name, more in (("old.conf", ""), ("new.conf", line)):
        (site / "conf" / name).write_text(f"{text}{more}")
    status, output = run(["verify", "conf/old.conf", "conf/new.conf", "--old-dialect", "2.4"], site)
    assert status == 3, output
    assert "Not decided: 1 line or chain above: look at each; no option and no file decides it" in output
    assert "When that is known or looked at:\nNext: " in output
    assert line_of(output, "Next")[:2] == ["ctl", "configtest"]


def test_what_stops_24_comes_before_its_test(site: Path) -> None:
    text = (site / "conf/httpd.conf").read_text()
    foreign = "LoadModule frontpage_module modules/mod_frontpage.so\n"
    for name in ("old.conf", "new.conf"):
        (site / "conf" / name).write_text(text + foreign)
    _status, output = run(["verify", "conf/old.conf", "conf/new.conf"], site)
    assert "  C06 foreign-modules  conf/new.conf:18  Is modules/mod_frontpage.so built for 2.4?\n" in output
    assert line_of(output, "Next")[0] == "check", output


def test_a_text_without_findings_is_compared(tmp_path: Path) -> None:
    (tmp_path / "httpd.conf").write_text("Listen 127.0.0.1:8080\nServerName a.example\nDefaultType None\n")
    status, output = run(["check", "-d", str(tmp_path), "--select", "C17"], tmp_path)
    assert status == 0, output
    assert line_of(output, "Next") == ["verify", "-d", str(tmp_path)]


def test_a_text_that_fails_is_checked(site: Path) -> None:
    (site / "conf/httpd.conf").write_text(f"{TEXT.format(root=site)}Bogus on\n")
    status, output = run(["ctl", "configtest", "-d", str(site)], site)
    assert status == 1
    assert line_of(output, "Next") == ["check", "-d", str(site)]
    (site / "variables").write_text("export A=1\n")
    _status, output = run(["ctl", "configtest", "-d", str(site), "--envvars", "variables"], site)
    assert line_of(output, "Next") == ["check", "-d", str(site), "--envvars", "variables"]


def test_a_file_that_is_missing_is_no_matter_of_a_check(site: Path) -> None:
    """A check finds nothing in such a text, and its next command is this test: that would be a loop."""
    lines = f'ErrorLog "{site}/none/log"\n'
    (site / "conf/httpd.conf").write_text(f"{TEXT.format(root=site)}{lines}")
    status, output = run(["ctl", "configtest", "-d", str(site)], site)
    assert status == 1, output
    assert line_of(output, "Next") == ["serve", "--loopback", str(site)]  # logs of a trial are temporary
    assert "First: put what is named above in its place, or serve without it" in output
    assert (
        f"Once it is there, towards httpd 2.4: whimbrel ctl configtest -d {shlex.quote(str(site))}\n"
        in output
    )
    assert "may have more information" not in output  # a test writes no log
    (site / "none").mkdir()
    assert run(["ctl", "configtest", "-d", str(site)], site)[0] == 0


def test_the_real_server_takes_the_last_command(site: Path) -> None:
    """The test of httpd 2.4 runs as it is printed, on this machine's modules."""
    shell, control = shutil.which("bash"), shutil.which("apachectl")
    if shell is None or control is None or not os.path.isdir("/usr/lib/apache2/modules"):
        pytest.skip("no bash, or no apachectl with Debian's modules")
    status, output = run(["ctl", "configtest", "-d", str(site)], site)
    assert status == 0, output
    (line,) = [one.removeprefix("Next: ") for one in output.splitlines() if one.startswith("Next: ")]
    test = line.rpartition(" && ")[0]
    done = subprocess.run([shell, "-c", test], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0 and "Syntax OK" in done.stderr, done.stderr


def test_a_text_that_debians_httpd_refuses_is_written_for_it_first(site: Path) -> None:
    """The real server refuses LoadModule of what it has compiled in, and takes what the commands lead to."""
    control = shutil.which("apachectl")
    if control is None or not os.path.isdir("/usr/lib/apache2/modules"):
        pytest.skip("no apachectl with Debian's modules")
    main = site / "conf/httpd.conf"
    names = ("unixd", "log_config", "mpm_event", "authz_core")
    lines = "".join(f"LoadModule {name}_module modules/mod_{name}.so\n" for name in names)
    main.write_text(
        f'ServerRoot "{site}"\nListen 127.0.0.1:8080\nServerName a.example\n{lines}'
        "LogFormat %h short\nCustomLog logs/access_log short\n"
    )
    test = [control, "-d", str(site), "-f", "conf/httpd.conf", "-t"]

    def accepted() -> subprocess.CompletedProcess[str]:
        return subprocess.run(test, capture_output=True, text=True, timeout=60, check=False)

    for is_linked in (False, True):
        if is_linked:
            (site / "modules").symlink_to("/usr/lib/apache2/modules")
            assert "module unixd_module is built-in and can't be loaded" in accepted().stderr
        status, output = run(["ctl", "configtest", "-d", str(site)], site)
        assert status == 0 and "module unixd_module is built-in and can't be loaded" in output, output
        assert "apachectl" not in output
    _status, output = run(line_of(output, "Next"), site)
    status, output = run(line_of(output, "Next"), site)
    assert_is_tested((status, output), site, "conf/httpd.conf")
    assert accepted().returncode == 0, accepted().stderr


def test_every_command_finds_the_server_below_a_directory(site: Path, tmp_path: Path) -> None:
    """The next command of a check names what the check named, and reads the same server."""
    tree = tmp_path / "backup"
    (tree / "of-one-machine").mkdir(parents=True)
    copy = site.rename(tree / "of-one-machine/site")
    main = copy / "conf/httpd.conf"
    main.write_text(main.read_text().replace(str(site), str(copy)))
    for named in ([str(tree)], ["-d", str(tree)]):
        status, output = run(["check", *named], tmp_path)
        assert f"input: whole server: {main}" in output, output
        following = line_of(output, "Next")
        assert following == ["upgrade", *named]
        status, output = run(following, tmp_path)
        assert f"input: whole server: {main}" in output, output
        assert run(["explain", "http://a.example/", *named], tmp_path)[1].startswith("404 Not Found")
        before = main.read_bytes()
        run(["upgrade", "--write", *named], tmp_path)
        assert main.read_bytes() != before
        assert run(["upgrade", "--undo", *named], tmp_path)[0] == 0
        assert main.read_bytes() == before
    for words in (["verify", str(tree)], ["verify", "-d", str(tree)], ["ctl", "-d", str(tree), "configtest"]):
        status, output = run(words, tmp_path)
        assert status == 0, output


def walk(words: list[str], cwd: Path) -> Iterator[list[str]]:
    """Run a command and those that follow it; yield the words of each, without that of one that serves."""
    seen = []
    while words and words[0] != "serve":
        assert words not in seen, seen  # a loop
        seen.append(words)
        yield words
        status, output = run(words, cwd)
        assert status in (0, 1, 3), output
        following = [line.removeprefix("Next: ") for line in output.splitlines() if line.startswith("Next: ")]
        assert len(set(following)) <= 1, output
        program, *words = shlex.split(following[-1]) if following else [""]
        if program != "whimbrel":
            return


LOGGED = '192.0.2.1 - - [10/Oct/2026:13:55:36 -0700] "GET / HTTP/1.1" 404 20\n'


@pytest.mark.parametrize("where", ["in place", "out", "image", "no user"])
def test_the_next_commands_lead_from_a_check_to_the_start(site: Path, where: str, tmp_path: Path) -> None:
    """No command comes twice, each works as it is printed, and the server's own logs are replayed."""
    text = (site / "conf/httpd.conf").read_text().replace("DefaultType None", "FileETag None\nOptions None")
    log = "LoadModule log_config_module modules/mod_log_config.so\nCustomLog logs/access_log common\n"
    user = "User nobody-has-this-name\n" if where == "no user" else ""
    (site / "conf/httpd.conf").write_text(f"{text}{log}{user}")
    (site / "logs/access_log").write_text(LOGGED)
    first = ["check", str(site)]
    if where == "image":
        image = tmp_path / "image"
        place = image / str(site)[1:]
        shutil.copytree(site, place)
        first = ["check", str(place)]
    elif where == "out":
        first = ["upgrade", str(site), "--out", str(tmp_path / "new")]
    commands = [words[0] if words[0] != "ctl" else words[1] for words in walk(first, tmp_path)]
    steps = [] if where == "out" else ["check", "upgrade"]
    expected = [*steps, "upgrade", "verify", "replay"]
    assert commands[: len(expected)] == expected, commands
    # Debian's httpd refuses the line of mod_log_config, which it has compiled in: the text is written for it
    is_refused = shutil.which("apachectl") is not None and os.path.isdir("/usr/lib/apache2/modules")
    end = ["configtest", "upgrade", "configtest"] if is_refused else ["configtest"]
    assert commands[len(expected) :] == (end if where in ("in place", "out") else []), commands


def test_the_main_file_of_suse_is_not_below_its_server_root(tmp_path: Path) -> None:
    """SUSE's packages are built with HTTPD_ROOT /srv/www and the main file /etc/apache2/httpd.conf."""
    (tmp_path / "image/srv/www/htdocs").mkdir(parents=True)
    (tmp_path / "image/etc/apache2/sysconfig.d").mkdir(parents=True)
    text = "Listen 8080\nServerName a.example\nFileETag All\nInclude /etc/apache2/sysconfig.d/\n"
    (tmp_path / "image/etc/apache2/httpd.conf").write_text(text)
    _status, output = run(["upgrade", "image", "--out", "new"], tmp_path)
    command = line_of(output, "Next")
    assert command == [
        "verify",
        *(str(tmp_path / name / "etc/apache2/httpd.conf") for name in ("image", "new")),
    ]
    status, output = run(command, tmp_path)
    assert status in (0, 1, 3) and output.startswith("old (2.2) and new (2.4): "), output


def test_what_follows_a_replay() -> None:
    """The first change that is not cosmetic is explained; without one the server is tested or served."""
    old, new = Path("old dir"), Path("new")
    cosmetic = {ChangeKey("vary", rule="C30"): Change(requests=1, words=("http://a/x",))}
    tally = Tally(requests=1, changes=cosmetic)
    quiet = Summary("o", "n", (), tally, dialects=("2.2", "2.4"))
    first = "What no logged request asks is compared by: whimbrel verify 'old dir' new\n"
    assert after_replay(quiet, old, new, "a test") == f"{first}Next: a test\n"
    of_backups = after_replay(quiet, None, new, "a test", has_backups=True)
    assert of_backups.startswith(
        "What no logged request asks is compared by: whimbrel verify --backups new\n"
    )
    changed = Tally(changes={ChangeKey("status 200 -> 403"): Change(requests=1, words=("/x",))})
    of_upgrade = Summary("o", "n", (), changed, dialects=("2.2", "2.4"))
    next_line = after_replay(of_upgrade, None, new, "", has_backups=True)
    assert next_line == "Next: whimbrel explain /x new --dialect 2.4 --backups\n"
    assert after_replay(quiet, None, new, "a test") == "Next: a test\n"
    asked = ("http://a:8080/y?z", "--from", "10.0.0.2", "--method", "POST")
    tally.changes[ChangeKey("status 200 -> 403")] = Change(requests=1, words=asked)
    words = "explain 'http://a:8080/y?z' new --from 10.0.0.2 --method POST --dialect 2.4 --diff"
    assert after_replay(quiet, old, new, "") == f"Next: whimbrel {words} 'old dir@2.2'\n"
    assert after_replay(quiet, None, new, "") == f"Next: whimbrel {words} 2.2\n"
    failed = Summary("o", "n", (), Tally(), ("n: bad",), dialects=("2.2", "2.4"))
    assert after_replay(failed, old, new, "") == "Next: whimbrel check new\n"


def test_a_copy_is_served_on_ports_that_need_no_root(site: Path, tmp_path: Path) -> None:
    """Ports below 1024 need root; the defines of the replay choose what is read, as in all its commands."""
    text = (site / "conf/httpd.conf").read_text().replace("Listen 127.0.0.1:8080", "Listen 80")
    defined = "<IfDefine MORE>\nListen 443 http\nListen 8088\n</IfDefine>\n"
    (site / "conf/httpd.conf").write_text(f"{text}{defined}")
    copy = tmp_path / "copy"
    shutil.copytree(site, copy)
    (tmp_path / "log").write_text('10.1.1.1 - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1" 404 20\n')
    status, output = run(["replay", "log", "--old", str(site), "--new", str(copy), "-D", "MORE"], tmp_path)
    command = line_of(output, "Next")
    assert command == [
        *("serve", "--loopback", "--port", "80=8080", "--port", "443=8443", "-D", "MORE", str(copy))
    ], output
    first = next(one for one in output.splitlines() if one.startswith("What no logged request asks"))
    assert first.endswith(f"whimbrel verify -D MORE {shlex.quote(str(site))} {copy}")
    failed = Summary("o", "n", (), Tally(), ("n: bad",), dialects=("2.2", "2.4"))
    assert after_replay(failed, None, Path("n"), "", ["-D", "A"]) == "Next: whimbrel check -D A n\n"


def test_what_an_upgrade_has_written_is_no_text_of_2_2(site: Path) -> None:
    """The .htaccess files of a copy are those of the tree: `upgrade --write` has changed them for both."""
    override = f'<Directory "{site}/htdocs">\nAllowOverride All\n</Directory>\n'
    module = "LoadModule authz_host_module modules/mod_authz_host.so\n"
    main = TEXT.format(root=site) + module + override
    for name in ("conf/httpd.conf", "old.conf"):
        (site / name).write_text(main)
    (site / "htdocs/.htaccess").write_text("Order allow,deny\nAllow from 10.0.0.0/8\n")
    (site / "log").write_text('10.1.1.1 - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1" 404 20\n')
    status, output = run(["upgrade", "--write", "-d", str(site)], site)
    assert "Require ip" in (site / "htdocs/.htaccess").read_text(), output
    new = str(site / "conf/httpd.conf")
    for words in (
        ["replay", "log", "--old", "old.conf", "--new", new],
        ["verify", "old.conf", new],
        ["verify", new],
    ):
        status, output = run(words, site)
        assert status in (1, 2), output
        ready = next(line for line in output.splitlines() if line.startswith("ready"))
        assert "not decided" in ready and "--backups" in ready, output
    status, output = run(["replay", "log", "--new", new, "--backups"], site)
    assert status == 0 and "Nothing changes." in output and "before the upgrade" in output, output
    assert line_of(output, "Next") == ["ctl", "configtest", "-d", str(site)]
    status, output = run(["replay", "log", "--old", "old.conf", "--new", new, "--backups"], site)
    assert status == 2 and "--old" in output
    run(["upgrade", "--undo", "-d", str(site)], site)
    assert run(["replay", "log", "--new", new, "--backups"], site)[0] == 2


def test_a_change_that_opens_access_comes_first_and_is_explained_next() -> None:
    many = Change(requests=7, words=("http://a/many", "--from", "10.0.0.1"))
    opened = Change(requests=1, words=("http://a/opened", "--from", "10.0.0.1"))
    changes = {
        ChangeKey("status 301 -> 403"): many,
        ChangeKey("status 401 -> 200", is_of_access=True): opened,
    }
    summary = Summary("o", "n", (), Tally(requests=8, changes=changes), dialects=("2.2", "2.4"))
    assert [change for _, change in summary.changes] == [opened, many]
    assert after_replay(summary, Path("o"), Path("n"), "").startswith(
        "Next: whimbrel explain http://a/opened n "
    )


def test_access_that_a_copy_opens_is_explained_next(site: Path, tmp_path: Path) -> None:
    """The text of the copy names the places of the original; `explain` reads the copy, as `verify` does."""
    load = "LoadModule authz_host_module modules/mod_authz_host.so\n"
    text = (site / "conf/httpd.conf").read_text().replace("DefaultType None", "")
    main = f"{text}{load}<Location /d>\nRequire {{}}\n</Location>\n"
    (site / "conf/httpd.conf").write_text(main.format("all denied"))
    copy = tmp_path / "copy"
    shutil.copytree(site, copy)
    (copy / "conf/httpd.conf").write_text(main.format("all granted"))
    status, output = run(["verify", str(site), str(copy), "--old-dialect", "2.4"], tmp_path)
    assert status == 1 and "opens access" in output, output
    command = line_of(output, "Next")
    assert command[:2] == ["explain", "http://a.example:8080/d"], command
    status, output = run(command, tmp_path)
    assert status == 1 and output.startswith("403 Forbidden in "), output


def test_a_login_by_digest_without_qop_is_explained_next(site: Path) -> None:
    """2.4 refuses clients of RFC 2069 (AH10560), 2.2 admits them: the command shows it."""
    (site / "digest").write_text("u:staff:5c36f958a82dfda7250780b4b65de83a\n")
    modules = ("auth_digest", "authn_file", "authz_user")
    loads = "".join(f"LoadModule {name}_module modules/mod_{name}.so\n" for name in modules)
    more = f'{loads}<Location />\nAuthType Digest\nAuthName staff\nAuthUserFile "{site}/digest"\n'
    text = f"{(site / 'conf/httpd.conf').read_text()}{more}Require valid-user\n</Location>\n"
    core = "LoadModule authn_core_module modules/mod_authn_core.so\n"
    (site / "conf/old.conf").write_text(text)
    (site / "conf/new.conf").write_text(f"{core}{text}")
    status, output = run(["verify", "conf/old.conf", "conf/new.conf"], site)
    assert status == 1, output
    command = line_of(output, "Next")
    assert command[0] == "explain" and command[command.index("--auth") + 1] == "digest-without-qop", output
    status, output = run(command, site)
    assert status == 1 and "401 Unauthorized in " in output.partition("\n")[0], output


def test_a_difference_that_no_command_shows_has_the_reason(site: Path) -> None:
    """No line sets the variable, so that no request of a client does, and `explain` has no option for it."""
    loads = "LoadModule authz_core_module x.so\nLoadModule authz_host_module x.so\n"
    text = (site / "conf/httpd.conf").read_text().replace("DefaultType None", "")
    for name, line in (("old.conf", "all denied"), ("new.conf", "env nowhere")):
        more = "" if "authz_core" in text else loads
        section = f"<Location /d>\nRequire {line}\n</Location>\n"
        (site / "conf" / name).write_text(f"{text}{more}{section}")
    status, output = run(["verify", "conf/old.conf", "conf/new.conf", "--old-dialect", "2.4"], site)
    assert status == 1, output
    first = next(line for line in output.splitlines() if line.startswith("First: "))
    assert "difference 1 (" in first and "new.conf:" in first
    assert "explain has no option for the variable nowhere" in first
    assert line_of(output, "Next")[0] == "verify"


def test_the_first_open_difference_is_named_not_the_first(site: Path) -> None:
    """A comment DIFF decides about a difference of an upgraded text; the next one is open."""
    loads = "LoadModule headers_module modules/mod_headers.so\n"
    text = f"{(site / 'conf/httpd.conf').read_text()}{loads}"
    (site / "conf/old.conf").write_text(text)
    decided = "# whimbrel: ignore[DIFF]\nHeader set X-A 1\n"
    more = "<Location /a.html>\nHeader set X-B 1\n</Location>\n"
    (site / "conf/new.conf").write_text(f"{text}{decided}{more}")
    (site / "htdocs/a.html").write_text("a\n")
    status, output = run(["verify", "conf/old.conf", "conf/new.conf"], site)
    assert status == 1, output
    first = next(line for line in output.splitlines() if line.startswith("First: "))
    number = next(line for line in output.splitlines() if "x-b: " in line.lower())
    heads = output[: output.index(number)].splitlines()
    wanted = [line.partition(".")[0] for line in heads if line[:1].isdigit()][-1]
    assert f"look at difference {wanted} (" in first, output
    page = run(["verify", "conf/old.conf", "conf/new.conf", "--format", "html"], site)[1]
    assert f"look at difference {wanted} (" in page


def test_the_page_of_a_comparison_does_not_name_itself_next(site: Path) -> None:
    """The text and the page name what is open, and the command that shows it."""
    section = "<Location /a>\nOrder allow,deny\nAllow from 10.0.0.0/8\n</Location>\n"
    load = "LoadModule authz_host_module modules/mod_authz_host.so\n"
    main = site / "conf/httpd.conf"
    main.write_text(f"{main.read_text()}{load}{section}")
    run(["upgrade", "--write", "-d", str(site)], site)
    main.write_text(main.read_text().replace("10.0.0.0/8", "11.0.0.0/8"))
    words = ["verify", "--backups", "-d", str(site)]
    page = run([*words, "--format", "html"], site)[1]
    assert "--format html &gt; differences.html" not in page
    assert 'class="next"' in page
    assert "look at difference 1 (" in page
    following = line_of(run(words, site)[1], "Next")
    assert following[0] == "explain" and "--backups" in following
    following = line_of(run([*words, "--with-httpd", str(site / "no httpd")], site)[1], "Next")
    assert following[0] == "explain" and "--with-httpd" not in following


def test_a_line_that_a_person_has_corrected_as_told_is_no_text_of_22(site: Path) -> None:
    """2.2 loaded the module that the journal names: the digest of the file shows that nothing else is new."""
    main = site / "conf/httpd.conf"
    further = site / "conf/further.conf"
    further.write_text("Timeout 60\nLoadModule php5_module modules/libphp5.so\n")
    (site / "htdocs/a.php").write_text("<?php ?>\n")
    handler = '<FilesMatch "\\.php$">\nSetHandler application/x-httpd-php\n</FilesMatch>\n'
    main.write_text(f"{main.read_text()}Include conf/further.conf\n{handler}")
    run(["upgrade", "--write", "-d", str(site)], site)
    further.write_text("Timeout 60\nLoadModule php_module modules/libphp.so\n")
    words = ["verify", "--backups", "-d", str(site)]
    output = run(words, site)[1]
    assert "sends the source" not in output and "was changed after the upgrade" not in output, output
    further.write_text("# 2.2: php5_module\n#LoadModule php5_module modules/libphp5.so\nTimeout 60\n")
    assert "new (2.4) sends the source of a.php" in run(words, site)[1]
    further.write_text("Timeout 90\nLoadModule php_module modules/libphp.so\n")
    assert f"{further} was changed after the upgrade" in " ".join(run(words, site)[1].split())


def test_a_file_without_a_backup_that_was_changed_later_is_no_text_of_22(site: Path) -> None:
    main = site / "conf/httpd.conf"
    further = site / "conf/further.conf"
    further.write_text("Timeout 60\n")
    main.write_text(f"{main.read_text()}Include conf/further.conf\n")
    run(["upgrade", "--write", "-d", str(site)], site)
    words = ["verify", "--backups", "-d", str(site)]
    assert "was changed after the upgrade" not in run(words, site)[1]
    further.write_text("Timeout 90\n")
    status, output = run(words, site)
    assert status == 3 and f"{further} was changed after the upgrade" in " ".join(output.split()), output
    os.utime(further, (1, 1))  # the time of the file, which a copy may keep, decides nothing
    assert run(words, site)[0] == 3
    (site / "log").write_text('10.0.0.1 - - [10/Oct/2023:13:55:36 +0000] "GET / HTTP/1.0" 404 0\n')
    replaying = ["replay", "log", "--new", str(site), "--backups"]
    status, output = run(replaying, site)
    assert status == 3 and f"{further} was changed after the upgrade" in " ".join(output.split()), output
    further.write_text("# whimbrel: ignore[C06]\nTimeout 90\n")
    assert run(words, site)[0] == 3
    further.write_text("# whimbrel: ignore[C06]\nTimeout 60\n")
    assert run(words, site)[0] == run(replaying, site)[0] == 0
    further.unlink()
    main.write_text(main.read_text().replace("Include conf/further.conf\n", ""))
    status, output = run(words, site)
    assert status == 3 and f"{further} was removed after the upgrade" in " ".join(output.split()), output


def test_logs_of_a_copy_are_found_where_the_copy_has_them(tmp_path: Path) -> None:
    """The text names the places of the original; programs and empty files are no logs to replay."""
    old = tmp_path / "copy"
    for name in ("conf", "logs", "htdocs"):
        (old / name).mkdir(parents=True)
    text = (
        'ServerRoot "/no/such/server"\nServerName a.example\nListen 8080\n'
        "LoadModule log_config_module modules/mod_log_config.so\n"
        'CustomLog "/no/such/server/logs/absolute_log" common\nCustomLog "logs/with \\"quotes\\"" common\n'
        "customlog logs/empty_log common\nCustomLog |/bin/cat common\n"
        "<IfModule no_such_module>\nCustomLog logs/other_log common\n</IfModule>\n"
        "<VirtualHost *:8080>\nTransferLog \\\n  logs/relative_log\n</VirtualHost>\n"
    )
    (old / "conf/httpd.conf").write_text(text)
    (old / "logs/empty_log").touch()
    for name in ("absolute_log", 'with "quotes"', "relative_log", "other_log"):
        (old / "logs" / name).write_text(LOGGED)
    options = sources(ConfigArguments([old], as_server=True))[0].options
    assert options is not None
    side = load_side(options, "2.2")
    assert [Path(path).name for path in written_logs(side.loaded)] == [
        "absolute_log",
        'with "quotes"',
        "relative_log",
    ]
    assert all(path.startswith(f"{old}/logs/") for path in written_logs(side.loaded))


@pytest.mark.parametrize("words", [["verify"], ["verify", "--backups"], ["check", "-d", ".", "-f"]])
def test_a_htaccess_file_alone_is_no_main_file(tmp_path: Path, words: list[str]) -> None:
    """What it answers depends on its server, which the message asks for; the command that it names works."""
    (tmp_path / ".htaccess").write_text("AuthType Basic\n")
    status, output = run([*words, ".htaccess"], tmp_path)
    assert status == 2 and "is no main file" in output and "Next: " not in output, output
    command = shlex.split(output.rpartition("of the file alone: ")[2])
    status, output = run(command[1:], tmp_path)
    assert status in (0, 1, 3) and "input: .htaccess: " in output, output


def test_a_check_follows_the_upgrade_of_a_file_alone(tmp_path: Path) -> None:
    """No server answers by the file alone: nothing can be compared."""
    (tmp_path / ".htaccess").write_text("Order allow,deny\nDeny from all\n")
    output = run(["upgrade", "--write", ".htaccess"], tmp_path)[1]
    assert "Next: whimbrel check .htaccess\nUndo: whimbrel upgrade --undo .htaccess\n" in output
    assert run(["check", ".htaccess"], tmp_path)[0] == 0

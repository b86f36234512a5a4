"""whimbrel check as a command: exit codes, formats, baselines, single files."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.support.elf import elf
from typer.testing import CliRunner, Result

from whimbrel.cli import check, upgrade, verify
from whimbrel.upgrade.source.named_sources import why_unread

BROKEN = "Listen 127.0.0.1:80\nSSLProtocol +SSLv2 +TLSv1\n"


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(check.app, [*map(str, words)])


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    (tmp_path / "httpd.conf").write_text(BROKEN)
    return tmp_path / "httpd.conf"


def test_exit_codes(conf: Path) -> None:
    assert run("-d", conf.parent, "-f", "httpd.conf", "--select", "C42").exit_code == 1
    assert run("-d", conf.parent, "-f", "httpd.conf", "--select", "C43").exit_code == 0
    assert run(conf, "--select", "C99").exit_code == 2
    assert run(conf.parent / "absent").exit_code == 2
    assert run("-d", conf.parent, "-f", "absent.conf").exit_code == 2


def test_a_note_is_no_reason_to_stop(conf: Path) -> None:
    conf.write_text("Listen 127.0.0.1:80\nErrorLog logs/e\n")
    found = run(conf, "--select", "C52")
    assert (found.exit_code, "httpd.conf:2  C52 " in found.stdout) == (0, True)


def test_every_shape(conf: Path) -> None:
    shown = {
        name: run(conf, "--select", "C42", "--format", name)
        for name in ("text", "json", "sarif", "github", "html", "junit")
    }
    assert {found.exit_code for found in shown.values()} == {1}
    assert "httpd.conf:2  C42 ssl-v2  " in shown["text"].stdout
    assert json.loads(shown["json"].stdout)["findings"][0]["line"] == 2
    region = json.loads(shown["sarif"].stdout)["runs"][0]["results"][0]["locations"][0]["physicalLocation"][
        "region"
    ]
    assert region == {"startLine": 2}
    assert shown["github"].stdout.startswith("::error file=httpd.conf,line=2,")
    assert "<!DOCTYPE html>" in shown["html"].stdout
    assert ElementTree.fromstring(shown["junit"].stdout.encode()).attrib["failures"] == "1"


def test_the_next_command_names_the_same_configuration(conf: Path) -> None:
    words = ("-C", "ServerName a b", "-D", "X", "--select", "C42", "--whole", str(conf))
    shown = run(conf, *words[:-1], "--format", "text", "--no-pager").stdout
    command = shown.rsplit("Next: ", 1)[1].strip()
    assert shlex.split(command)[:2] == ["whimbrel", "upgrade"]
    assert sorted(shlex.split(command)[2:]) == sorted(words)
    assert shlex.split(command)[-1] == str(conf)


def test_a_baseline_leaves_what_is_new(conf: Path) -> None:
    known = conf.parent / "known.json"
    assert run(conf, "--select", "C42", "--write-baseline", known).exit_code == 0
    assert run(conf, "--select", "C42", "--baseline", known).exit_code == 0
    conf.write_text("\n" + BROKEN + "SSLProxyProtocol SSLv2 TLSv1\n")
    found = run(conf, "--select", "C42", "--baseline", known, "--format", "json")
    assert [one["line"] for one in json.loads(found.stdout)["findings"]] == [4]
    assert run(conf, "--baseline", conf).exit_code == 2


def test_the_command_that_comes_next(conf: Path) -> None:
    last = run("-d", conf.parent, "-f", "httpd.conf", "--select", "C42").stdout.splitlines()[-1]
    assert last == f"Next: whimbrel upgrade -d {conf.parent} -f httpd.conf --select C42"
    first = run(conf, "--select", "C42", "--summary").stdout
    assert first.index("1 file, 2 lines: 1 finding") < first.index("C42 ssl-v2")


def test_start_up_messages_repeat_no_other_rule(conf: Path) -> None:
    load = "LoadModule authz_host_module modules/mod_authz_host.so\n"
    conf.write_text(f"{load}User www-data\n<Location /a>\nOrder deny,allow\nDeny from all\n</Location>\n")
    whole = json.loads(run(conf, "--whole", "--format", "json").stdout)["findings"]
    assert {"C17", "C45"} <= {one["rule"] for one in whole} and "C50" not in {one["rule"] for one in whole}
    (c17,) = [one for one in whole if one["rule"] == "C17"]
    assert c17["old"] == [{"line": 4, "text": "Order deny,allow"}, {"line": 5, "text": "Deny from all"}]
    assert c17["advice"] == "nobody gains or loses access"
    alone = json.loads(run(conf, "--whole", "--select", "C50", "--format", "json").stdout)["findings"]
    assert alone and {one["risk"] for one in alone} == {"breaks start-up"}


def test_colours(conf: Path) -> None:
    assert "\x1b[" in run(conf, "--color", "always").stdout
    assert "\x1b[" not in run(conf).stdout


def test_folders_of_several_servers(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name / "conf").mkdir(parents=True)
        (tmp_path / name / "conf" / "httpd.conf").write_text(BROKEN)
    found = json.loads(run(tmp_path, "--select", "C42", "--format", "json", "-j", "2").stdout)
    assert [
        one["file"].endswith(f"{name}/conf/httpd.conf")
        for one, name in zip(found["findings"], ("one", "two"), strict=True)
    ] == [True, True]


def test_single_htaccess_file(tmp_path: Path) -> None:
    (tmp_path / ".htaccess").write_text("CharsetOptions DebugLevel=1\n")
    assert ".htaccess:1  C28 " in run(tmp_path / ".htaccess", "--select", "C28").stdout


def test_part_of_it_unreadable(conf: Path) -> None:
    conf.write_text(BROKEN + "Include absent.conf\n")
    found = run(conf, "--select", "C42")
    assert found.exit_code == 1
    assert "httpd.conf:3  READ  could not be read" in found.stdout


def test_lock_databases(tmp_path: Path) -> None:
    (tmp_path / "lock.pag").write_bytes(b"")
    assert run("--davlock", tmp_path / "lock").exit_code == 0
    assert run("--davlock", tmp_path / "absent").exit_code == 2


def test_configure_lines(tmp_path: Path) -> None:
    (tmp_path / "config.nice").write_text('"./configure" \\\n"--enable-disk-cache" \\\n"$@"\n')
    found = run("--config-nice", tmp_path / "config.nice")
    assert found.exit_code == 1
    assert '"--enable-cache-disk"' in found.stdout


def test_module_files(tmp_path: Path) -> None:
    assert run("--modules", tmp_path).exit_code == 2
    (tmp_path / "mod_x.so").write_bytes(b"no module")
    found = run("--modules", tmp_path)
    assert "mod_x.so  C06 " in found.stdout


def test_password_files(tmp_path: Path) -> None:
    (tmp_path / "users").write_text("alice:plain words\n")
    assert "users:1  C48 " in run("--htpasswd", tmp_path / "users").stdout


def test_the_report_says_first_what_the_input_was_taken_for(tmp_path: Path) -> None:
    (tmp_path / "ports.conf").write_text("NameVirtualHost *:80\nListen 80\nLoadModule php5_module x.so\n")
    found = run(tmp_path / "ports.conf")
    assert found.stdout.startswith("input: fragment: ")
    named = [line for line in found.stdout.splitlines() if "| LoadModule" in line]
    assert named == ["    3  | LoadModule php5_module x.so"]
    whole = run(tmp_path / "ports.conf", "--whole").stdout.splitlines()
    decided = "to decide: 4 findings at 2 places"
    asked = [line for line in whole[1:20] if re.match(r"  \w", line) and "ports.conf:" in line]
    assert [line.split()[0::2][:2] for line in asked[:4]] == [
        [rule, f"ports.conf:{line}"] for rule, line in (("C06", 3), ("C04", 2), ("C11", 3), ("X02", 3))
    ]
    assert whole[0] == decided and whole[-1 - whole[::-1].index(decided) :][1].startswith(
        "  C06 foreign-modules  ports.conf:3"
    )
    assert any(line.startswith("input: whole server: ") for line in whole[:20])
    (tmp_path / ".htaccess").write_text("Order allow,deny\n")
    assert run(tmp_path / ".htaccess").stdout.startswith("input: .htaccess: ")
    assert json.loads(run(tmp_path / "ports.conf", "--format", "json").stdout)["input"][0].startswith(
        "input: fragment: "
    )


def test_a_list_of_compiled_in_modules(tmp_path: Path) -> None:
    (tmp_path / "httpd.conf").write_text("Listen 80\nRewriteEngine On\n")
    (tmp_path / "modules.txt").write_text("Compiled in modules:\n  core.c\n  mod_rewrite.c\n")
    assumed = run(tmp_path / "httpd.conf").stdout
    assert "modules compiled into the 2.2 server: httpd's default build (assumed" in assumed
    listed = run(tmp_path / "httpd.conf", "--built-in", tmp_path / "modules.txt").stdout
    assert "modules compiled into the 2.2 server: the list that was given" in listed
    assert "mod_dir" not in listed
    assert run(tmp_path / "httpd.conf", "--built-in", tmp_path / "absent").exit_code == 2
    assert run(tmp_path / "httpd.conf", "--built-in", tmp_path / "httpd.conf").exit_code == 2


def test_rules_do_not_contradict_each_other(tmp_path: Path) -> None:
    (tmp_path / "httpd.conf").write_text(
        "ServerRoot /nowhere\nLoadModule authz_host_module modules/mod_authz_host.so\n"
        "<Directory />\nOrder deny,allow\nDeny from all\n</Directory>\n"
    )
    found = json.loads(run(tmp_path / "httpd.conf", "--format", "json").stdout)["findings"]
    assert [one["new"] for one in found if one["rule"] == "C17"] == [["Require all denied"]]
    assert not [one for one in found if "mod_access_compat is not loaded" in one["message"]]


def test_a_release_that_does_not_refuse(tmp_path: Path) -> None:
    (tmp_path / ".htaccess").write_text("RewriteEngine On\nRewriteRule ^a/(.*)$ /b/$1\n")
    assert "since 2.4.60 URLs that match `^a/(.*)$`" in run(tmp_path / ".htaccess", "--select", "R01").stdout
    assert run(tmp_path / ".htaccess", "--select", "R01", "--target", "2.4.59").exit_code == 0
    assert run(tmp_path / ".htaccess", "--target", "2.2").exit_code == 2


def test_what_may_matter_and_is_not_known_is_no_success(tmp_path: Path) -> None:
    (tmp_path / "a.conf").write_text("ServerName ${NOWHERE}\n")
    found = run(tmp_path / "a.conf")
    assert found.exit_code == 3 and "undefined variable: a.conf:1: ${NOWHERE}" in found.stdout
    assert json.loads(run(tmp_path / "a.conf", "--format", "json").stdout)["knowledge"]["complete"] is False
    (tmp_path / "a.conf").write_text("ErrorLog ${NOWHERE}/e\n")
    assert run(tmp_path / "a.conf").exit_code == 0
    (tmp_path / "a.conf").write_text("ServerName a\nDocumentRooot x\n")
    assert run(tmp_path / "a.conf").exit_code == 1


def test_a_directory_without_main_file_gets_a_hint(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path).exit_code == 2
    assert f"hint: name the main file of the server: -d {tmp_path} -f FILE" in capfd.readouterr().err
    assert run("-d", tmp_path).exit_code == 2
    assert "hint: name the directory of the server, or its main file" in capfd.readouterr().err


def test_faults_name_the_options_that_help(
    tmp_path: Path, conf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert why_unread(f"{tmp_path}/a").endswith("main file: -d DIRECTORY -f FILE")
    monkeypatch.setattr("os.access", lambda _path, _mode: False)
    assert "run the command as the owner" in why_unread(str(conf))


def test_a_main_file_that_comes_and_goes_is_one_sentence(
    conf: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Another process takes it away while the command looks, and puts it back before the second look."""
    monkeypatch.setattr("os.path.isfile", lambda _path: False)
    assert run("-d", conf.parent, "-f", "httpd.conf").exit_code == 2
    assert f"{conf}: it was changed while the command read it\n" in capfd.readouterr().err


@pytest.mark.parametrize("shape", ["text", "html", "github", "junit"])
def test_a_name_with_a_line_end_begins_no_line(shape: str, tmp_path: Path) -> None:
    (tmp_path / "n\nFORGED line.conf").write_text("NameVirtualHost *:80\nDocumentRooot x\n")
    (tmp_path / "httpd.conf").write_text("Include *line.conf\nLoadModule FORGED modules/x\n")
    found = run("-d", tmp_path, "-f", "httpd.conf", "--format", shape)
    assert found.exit_code == 1 and "FORGED line.conf" in found.stdout
    assert not [line for line in found.stdout.splitlines() if line.startswith("FORGED")]


def test_the_advice_about_a_variable_defines_it(tmp_path: Path) -> None:
    (tmp_path / "httpd.conf").write_text('Listen 80\nServerRoot "/x"\nDocumentRoot ${SITE}/htdocs\n')
    shown = run(tmp_path / "httpd.conf").stdout
    found = re.search(r"--envvars FILE defines it: a file with the line (export SITE)=VALUE", shown)
    assert found is not None
    (tmp_path / "values").write_text(f"{found[1]}=/srv\n")
    defined = run(tmp_path / "httpd.conf", "--envvars", tmp_path / "values").stdout
    assert "undefined variable" in shown and "undefined variable" not in defined


@pytest.mark.parametrize(
    ("lines", "first"),
    [
        (["Order allow,deny", "LoadModule authn_alias_module modules/mod_authn_alias.so"], 5),
        (["LoadModule alias_module {modules}/mod_alias.so", "<Location /a>", "Order allow,deny"], 6),
        (["Bogus on", "Order allow,deny"], 4),
    ],
)
def test_the_line_at_which_the_new_version_ends_its_start(
    lines: list[str], first: int, tmp_path: Path
) -> None:
    """The first line that breaks is the one that apache2 names, whatever the order of the findings."""
    modules = Path("/usr/lib/apache2/modules")
    mpm = f"LoadModule mpm_event_module {modules}/mod_mpm_event.so"
    main = tmp_path / "apache2.conf"
    more = ["</Location>"] * any("<Location" in line for line in lines)
    text = [f"ServerRoot {tmp_path}", mpm, "Listen 127.0.0.1:8080", *lines, *more]
    main.write_text("\n".join(text).replace("{modules}", str(modules)) + "\n")
    assert run(main).output.startswith(f"2.4 does not start: apache2.conf:{first}: ")
    server = shutil.which("apache2")
    if server is None or not modules.is_dir():
        pytest.skip("no apache2")
    done = subprocess.run(
        [server, "-d", tmp_path, "-f", main, "-t"], capture_output=True, text=True, timeout=30, check=False
    )
    assert f"on line {first} of {main}" in done.stderr, done.stderr


def test_what_no_version_reads_comes_first(tmp_path: Path) -> None:
    """Behind a damaged tag lines belong to other sections than they seem to: nothing else needs a review."""
    lines = ["Listen 80", "<Files x>", "Order allow,deny", "</Fils>", "Include more.conf", "DefaultType a/b"]
    (tmp_path / "httpd.conf").write_text("\n".join(lines) + "\n")
    (tmp_path / "more.conf").write_text("MaxClients 3\nLockFile x\n")
    shown = run("-d", tmp_path).stdout
    assert shown.startswith(
        "neither 2.2 nor 2.4 starts: httpd.conf:4: </Fils> does not close <Files>, which line 2 opens\n"
    )
    asked = (
        "to decide: 1 finding at 1 place\n  READ  httpd.conf:4  </Fils> does not close <Files>, which line 2 "
    )
    assert asked in shown
    frames = [
        line for line in shown.splitlines() if line[0:1].isalpha() and ("  C" in line or "  READ  " in line)
    ]
    assert frames[0] == "httpd.conf:4  READ  breaks start-up · needs review"
    assert "more.conf:2  C15 mutexes  breaks start-up · waits for the correction of httpd.conf:4" in frames
    assert "needs review" not in "".join(frames[1:]) and "fixed by upgrade" not in shown
    assert shown.endswith(f"First: correct httpd.conf:4\nNext: whimbrel check -d {tmp_path}\n")


def test_the_command_behind_a_check_of_an_upgraded_text_loads_it(tmp_path: Path) -> None:
    """A check that changes nothing does not lead to itself, or to the same document for ever."""
    (tmp_path / "sites-enabled").mkdir()
    (tmp_path / "sites-enabled/a").write_text("Listen 127.0.0.1:8080\n")
    load = "".join(
        f"LoadModule {name}_module modules/mod_{name}.so\n" for name in ("authz_core", "mpm_event", "unixd")
    )
    (tmp_path / "apache2.conf").write_text(f"{load}Include sites-enabled/\nServerName a.example\n")
    done = run("-d", tmp_path)
    assert "X15" in done.stdout, done.stdout
    last = done.stdout.splitlines()[-1]
    assert last.startswith(f"Next: whimbrel ctl configtest -d {tmp_path}"), done.stdout


def test_an_upgraded_copy_without_findings_leads_to_the_comparison(tmp_path: Path) -> None:
    """No command loads a copy whose text names the places of the original."""
    root = tmp_path / "etc/httpd"
    (root / "conf").mkdir(parents=True)
    (root / "conf/httpd.conf").write_text(
        "ServerRoot /etc/httpd\nListen 80\nServerName a.example\nLockFile logs/lock\n"
    )
    written = CliRunner().invoke(upgrade.app, ["--write", "--no-verify", str(tmp_path)])
    assert written.exit_code in (0, 3), written.output
    done = run(tmp_path)
    assert "2 findings (2 to decide)" in done.stdout, done.stdout
    main = root / "conf/httpd.conf"
    lines = main.read_text().splitlines()
    lines[7:7] = ["# whimbrel: ignore[X02]"]
    lines[6:6] = ["# whimbrel: ignore[C11]"]
    main.write_text("\n".join(lines) + "\n")
    done = run(tmp_path)
    assert "0 findings" in done.stdout, done.stdout
    lines = done.stdout.splitlines()
    assert lines[-2].startswith("ready for 2.4: not decided: "), done.stdout
    assert lines[-1] == f"Next: whimbrel verify --backups {tmp_path}"


LISTS = {
    "no MPM": "core.c http_core.c mod_so.c mod_dir.c mod_alias.c mod_authz_host.c",
    "prefork": "core.c prefork.c http_core.c mod_so.c mod_dir.c mod_alias.c mod_authz_host.c",
}


@pytest.mark.parametrize("option", ["--builtin", "--built-in"])
@pytest.mark.parametrize("listed", LISTS)
@pytest.mark.parametrize("more", ["", "LoadModule mpm_event_module modules/mod_mpm_event.so\n"])
def test_a_list_of_modules_of_2_2_is_none_of_2_4(tmp_path: Path, option: str, listed: str, more: str) -> None:
    """The list names the MPM of 2.2; that of 2.4 is the one line of the text, or the one that is proposed."""
    (tmp_path / "htdocs").mkdir()
    (tmp_path / "httpd.conf").write_text(
        f'ServerRoot "{tmp_path}"\nListen 8080\nServerName a.example\nDocumentRoot "{tmp_path}/htdocs"\n'
        f"{more}Alias /x {tmp_path}/htdocs\nDirectoryIndex a.html\n"
    )
    (tmp_path / "mods.txt").write_text("Compiled in modules:\n" + LISTS[listed].replace(" ", "\n"))
    words = [str(tmp_path / "httpd.conf"), option, str(tmp_path / "mods.txt")]
    output = CliRunner().invoke(check.app, words).stdout
    assert "More than one MPM" not in output and "httpd.conf:0" not in output, output
    assert "mod_alias" in output, output  # compiled in before, a module of its own in 2.4
    if not more:
        compared = CliRunner().invoke(verify.app, words).output
        assert "old (2.2) does not load" not in compared, compared


def test_what_names_neither_a_build_nor_a_list_is_refused(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "httpd.conf").write_text("Listen 80\n")
    result = CliRunner().invoke(check.app, [str(tmp_path / "httpd.conf"), "--builtin", "debain"])
    assert result.exit_code == 2 and "debian" in capfd.readouterr().err


PHP = "LoadModule php5_module modules/libphp5.so"
OF_24 = "LoadModule mpm_event_module m/mod_mpm_event.so\nLoadModule authz_core_module m/mod_authz_core.so\n"
GONE = "LoadModule authz_default_module modules/mod_authz_default.so"


@pytest.mark.parametrize(
    ("text", "first"),
    [
        (f"AddType a/b .c\n{PHP}", "httpd.conf:4: modules/libphp5.so is built for 2.2"),
        (f"AddType a/b .c\nLoadModule x_module modules/mod_x.so\n{PHP}", "httpd.conf:4: modules/mod_x.so"),
        (f"NameVirtualHost *:80\nSSLMutex x\n{GONE}\n{PHP}", "httpd.conf:5: mod_authz_default is gone"),
        (f"{OF_24}AddType a/b .c\n{PHP}", "httpd.conf:6: modules/libphp5.so"),
        (f"{OF_24}Order deny,allow\nInclude inc.conf", "inc.conf:2: mod_authz_default is gone"),
        (f"{OF_24}Define X inc\nLockFile x\nInclude ${{X}}.conf", "inc.conf:2: mod_authz_default is gone"),
        (f"{OF_24}LockFile x\n<IfDefine !Q>\n{PHP}\n</IfDefine>", "httpd.conf:7: modules/libphp5.so"),
        (f"{OF_24}LockFile x\n<IfModule mod_nosuch.c>\n{PHP}\n</IfModule>", "httpd.conf:5: LockFile is gone"),
        (f"{OF_24}DefaultType text/plain\nFoo bar", "httpd.conf:6: Invalid command 'Foo'"),
    ],
)
def test_the_line_that_stops_2_4_first(tmp_path: Path, text: str, first: str) -> None:
    """As `apache2 -t` of 2.4.71 says: what httpd executes while it reads comes before all other lines."""
    (tmp_path / "htdocs").mkdir()
    (tmp_path / "inc.conf").write_text(f"# more\n{GONE}\n")
    (tmp_path / "modules").mkdir()
    for name in ("libphp5.so", "mod_x.so"):
        (tmp_path / "modules" / name).write_bytes(elf(20051115, b"AP22"))
    main = tmp_path / "httpd.conf"
    main.write_text(f'ServerRoot "{tmp_path}"\nServerName a.example\n{text}\n')
    output = run("--whole", main).output
    assert output.startswith(f"2.4 does not start: {first}"), output


def test_a_library_that_is_not_here_does_not_stop_2_4(tmp_path: Path) -> None:
    main = tmp_path / "httpd.conf"
    main.write_text(f'ServerRoot "{tmp_path}"\nListen 8080\nServerName a.example\n{OF_24}{PHP}\n')
    output = run("--whole", main).output
    assert "2.4 does not start" not in output
    assert "is not here: whether it is built for 2.4 is not known" in " ".join(output.split())

"""`whimbrel upgrade`: output, files, exit codes. C07 stands for all rules."""

from __future__ import annotations

import json
import os
import re
import shlex
from pathlib import Path

import pytest
from tests.support import warm_command
from tests.support.elf import elf

MAIN = "conf/httpd.conf"
OLD, NEW = b"Listen 80\r\nMaxRequestsPerChild  10\r\n", b"Listen 80\r\nMaxConnectionsPerChild  10\r\n"
WORDS = ["upgrade", "--select", "C07", "--no-verify"]
"""The answers change by the rules that are not selected."""


def upgrade(*arguments: str, cwd: Path, typed: str = "") -> tuple[int, bytes, str]:
    """Return exit status, standard output, standard error."""
    done = warm_command.run([*WORDS, *arguments], cwd=cwd, typed=typed.encode())
    assert b"Traceback" not in done.stderr, done.stderr.decode()
    return done.returncode, done.stdout, done.stderr.decode()


@pytest.fixture
def site(tmp_path: Path) -> Path:
    root = tmp_path / "site"
    (root / "conf").mkdir(parents=True)
    (root / MAIN).write_bytes(OLD)
    return root


def test_a_diff_and_nothing_written(site: Path) -> None:
    status, out, err = upgrade("-d", str(site), cwd=site)
    assert status == 1
    assert out == (
        b"diff --git a/conf/httpd.conf b/conf/httpd.conf\n"
        b"--- a/conf/httpd.conf\n+++ b/conf/httpd.conf\n"
        b"@@ -1,2 +1,2 @@ C07 MaxRequestsPerChild is MaxConnectionsPerChild\n"
        b" Listen 80\r\n-MaxRequestsPerChild  10\r\n+MaxConnectionsPerChild  10\r\n"
    )
    assert "1 file read, 1 to change, 1 change\n" in err
    assert "\nready for 2.4: not decided: not all rules were applied\n" in err
    assert (site / MAIN).read_bytes() == OLD


def test_a_named_file_of_a_server_has_the_diff_of_the_whole_server(site: Path) -> None:
    part = site / "conf" / "part.conf"
    part.write_bytes(b"MaxRequestsPerChild 5\n")
    (site / MAIN).write_bytes(OLD + b"\nInclude conf/part.conf\n")
    status, out, err = upgrade(str(site), str(part), cwd=site)
    assert status == 1 and out.startswith(b"diff --git a/conf/part.conf b/conf/part.conf\n")
    assert out.count(b"diff --git") == 1
    assert b"\n@@ -1 +1 @@ C07 MaxRequestsPerChild is MaxConnectionsPerChild\n" in out
    assert "the diff is of what was named; --write changes 1 other file too\nNext: " in err
    _, _, alone = upgrade(str(part), cwd=site)
    ends = f"Next: whimbrel upgrade {site} {part}\nOr, as a part of another server: whimbrel upgrade --write "
    assert ends in alone


@pytest.mark.parametrize("command", ["upgrade", "check"])
def test_each_next_command_of_a_part_works(site: Path, command: str) -> None:
    """A part leads to its server with the part, that to the whole server, and that to its comparison."""
    (site / "htdocs").mkdir()
    part = site / "conf" / "part.conf"
    part.write_bytes(b"MaxClients 5\n")
    (site / MAIN).write_text(f'ServerRoot "{site}"\nListen 127.0.0.1:1\nDocumentRoot "{site}/htdocs"\n')
    with (site / MAIN).open("a") as main:
        main.write("MaxRequestsPerChild 5\nInclude conf/part.conf\n")
    words = [command, str(part)]
    ran = []
    for _ in range(4):
        done = warm_command.run(words, cwd=site)
        assert done.returncode in (0, 1, 3), done.stderr
        ran.append(words)
        words = shlex.split(re.findall("(?m)^Next: whimbrel (.*)$", (done.stdout + done.stderr).decode())[-1])
    root = str(site)
    assert ran[1:] == [
        ["upgrade", root, str(part)],
        ["upgrade", "--write", root],
        ["verify", "--backups", root],
    ]
    assert (
        b"MaxRequestWorkers 5" in part.read_bytes()
        and b"MaxConnectionsPerChild" in (site / MAIN).read_bytes()
    )


def test_a_part_of_an_unknown_server_asks_for_it(tmp_path: Path) -> None:
    """The server is named first, and a server above that does not read the file is not its server."""
    part = tmp_path / "site" / "conf" / "part.conf"
    part.parent.mkdir(parents=True)
    part.write_bytes(b"MaxRequestsPerChild 5\n")
    (part.parent / "httpd.conf").write_bytes(b"Listen 80\n")
    _, _, err = upgrade(str(part), cwd=tmp_path)
    first, following = err.splitlines()[-2:]
    assert (
        first == f"First: name its server, if it is here, for what it needs: whimbrel upgrade SERVER {part}"
    )
    assert following == f"Next: whimbrel upgrade --write --select C07 --no-verify {part}"


def test_a_page_and_nothing_written(site: Path) -> None:
    status, out, err = upgrade("-d", str(site), "--format", "html", cwd=site)
    assert status == 1
    assert out.startswith(b"<!DOCTYPE html>") and b"MaxConnectionsPerChild" in out
    assert f"whimbrel upgrade --write -d {site} --select C07 --no-verify<" in out.decode()
    assert err == "ready for 2.4: not decided: not all rules were applied\n"
    assert (site / MAIN).read_bytes() == OLD


@pytest.mark.parametrize("words", [("-d", "."), ("--fleet", ".")])
def test_a_copy_inside_of_what_is_read_is_refused(site: Path, words: tuple[str, ...]) -> None:
    for out in ("new", "../site/new", "conf/../../site/a/b"):
        status, _, err = upgrade(*words, "--out", out, cwd=site)
        assert status == 2
        assert err.startswith(f"{out} lies in ")
        assert err.endswith(", which is read: name a directory outside of it with --out\n")
    assert sorted(path.name for path in site.iterdir()) == ["conf"]
    if "-d" in words:  # beside it, with a name that only begins alike
        assert upgrade(*words, "--out", "../site-new", cwd=site)[0] == 0


def test_json_by_either_option(site: Path) -> None:
    given = [upgrade("-d", str(site), *words, cwd=site)[:2] for words in (("--json",), ("--format", "json"))]
    assert given[0] == given[1]
    assert json.loads(given[0][1])["read"] == [MAIN]


def test_written_again_and_undone(site: Path) -> None:
    assert upgrade("--write", "-d", str(site), "-f", MAIN, cwd=site)[0] == 0
    assert (site / MAIN).read_bytes() == NEW
    status, out, _err = upgrade("--write", "-d", str(site), "-f", MAIN, cwd=site)
    assert (status, (site / MAIN).read_bytes()) == (0, NEW)
    assert b"1 file read, 0 changed" in out
    assert upgrade("--undo", "-d", str(site), cwd=site)[0] == 0
    assert (site / MAIN).read_bytes() == OLD
    assert upgrade("--undo", "-d", str(site), cwd=site)[0] == 2


@pytest.mark.parametrize("is_absolute", [False, True])
def test_changed_files_have_their_own_names(site: Path, *, is_absolute: bool) -> None:
    """The files that are listed are those whose bytes change, also where a link led to them."""
    for name in ("mods-available", "mods-enabled", "conf.d"):
        (site / name).mkdir()
    for name in ("a", "b"):
        (site / f"mods-available/{name}.conf").write_bytes(b"MaxRequestsPerChild 1\n")
        link = site / f"mods-enabled/1{name}.conf"
        link.symlink_to(
            site / f"mods-available/{name}.conf" if is_absolute else f"../mods-available/{name}.conf"
        )
    (site / "conf.d/plain").write_bytes(b"MaxRequestsPerChild 1\n")
    (site / MAIN).write_bytes(OLD + b"Include mods-enabled/*.conf\nInclude conf.d/\n")
    before = {path: path.read_bytes() for path in site.rglob("*") if path.is_file() and not path.is_symlink()}
    output = upgrade("--write", "-d", str(site), cwd=site)[1].decode()
    changed = {str(path.relative_to(site)) for path, data in before.items() if path.read_bytes() != data}
    listed = re.findall(r"^changed: (\S+\.\S+|conf\.d/plain)(?: \(via (\S+)\))?$", output, re.MULTILINE)
    assert {name for name, _link in listed} == changed and len(listed) == len(changed) == 4
    links = {name: link for name, link in listed if link}
    assert links == {f"mods-available/{name}.conf": f"mods-enabled/1{name}.conf" for name in ("a", "b")}
    backups = list(site.rglob("*.whimbrel-2.2~"))
    inside = sum(".whimbrel-2.2" in path.parts for path in backups)
    (line,) = [one for one in output.splitlines() if one.startswith("backups")]
    assert inside and f"{inside} in .whimbrel-2.2/" in line
    assert f"{len(backups) - inside} beside the files, as FILE.whimbrel-2.2~" in line
    assert not [path for path in backups if path.parent.name == "conf.d" and path.parent.parent == site]


def test_needs_review(site: Path) -> None:
    (site / MAIN).write_bytes(OLD + b"Include nope.conf\n")
    status, out, _err = upgrade("--write", "-d", str(site), cwd=site)
    assert status == 3
    text = out.decode()
    assert "conf/httpd.conf:3  READ  could not be read · needs review\n    3  | Include nope.conf\n" in text
    assert f"| {site}/nope.conf cannot be read: No such file or directory\n" in text
    assert "       = put it there, or run the command on the server itself: no rule has checked it\n" in text
    assert (site / MAIN).read_bytes() == NEW + b"Include nope.conf\n"


def test_nothing_to_do(site: Path) -> None:
    (site / MAIN).write_bytes(NEW)
    assert upgrade("-d", str(site), cwd=site)[:2] == (0, b"")


def test_a_copy(site: Path, tmp_path: Path) -> None:
    (site / "conf/mime.types").write_bytes(b"text/html html\n")
    (site / "conf/key.pem").write_bytes(b"x\n")
    (site / "x.conf").write_bytes(b"<IfModule ssl_module>\nSSLCertificateKeyFile conf/key.pem\n</IfModule>\n")
    (site / MAIN).write_bytes(OLD + b"Include x.conf\n")
    assert upgrade("--out", str(tmp_path / "new"), "-d", str(site), cwd=site)[0] == 0
    assert (tmp_path / "new" / MAIN).read_bytes() == NEW + b"Include x.conf\n"
    assert (tmp_path / "new/x.conf").read_bytes() == (site / "x.conf").read_bytes()
    assert (site / MAIN).read_bytes() == OLD + b"Include x.conf\n"
    assert (tmp_path / "new/conf/mime.types").read_bytes() == b"text/html html\n"
    assert os.readlink(tmp_path / "new/conf/key.pem") == str(site / "conf/key.pem")
    status, _out, err = upgrade("--out", str(tmp_path / "new"), "-d", str(site), cwd=site)
    assert (status, err) == (
        2,
        f"{tmp_path}/new is not empty\nhint: remove it first, or name another directory\n",
    )


def test_the_summary_names_what_is_left(site: Path) -> None:
    """Nothing is left to look at only if no decision is open, and no note is about answers that change."""
    lines = (
        f"ServerRoot {site}",
        "Listen 127.0.0.1:8080",
        "ServerName a.example",
        "LoadModule mime_module modules/mod_mime.so",
        "LoadModule dir_module modules/mod_dir.so",
        f"DocumentRoot {site}/htdocs",
    )
    (site / "htdocs").mkdir(exist_ok=True)
    (site / MAIN).write_text("\n".join(lines) + "\n")
    shown = upgrade("-d", str(site), "--select", "C11,C13,X02", cwd=site)[2]
    (line,) = [one for one in shown.splitlines() if " read, " in one]
    (ready,) = {one for one in shown.splitlines() if one.startswith("ready for 2.4: ")}
    assert re.fullmatch(r"ready for 2.4: not yet: to decide: 2 findings at 1 place", ready), shown
    assert "see the notes of `whimbrel check`: C13" in line


def test_a_copy_names_the_files_that_no_server_reads_there(site: Path, tmp_path: Path) -> None:
    (site / "htdocs").mkdir(exist_ok=True)
    (site / "htdocs/.htaccess").write_bytes(b"Order deny,allow\nDeny from all\n")
    (site / MAIN).write_bytes(OLD + b"DocumentRoot htdocs\n")
    named = "-d", str(site), "--select", "C17"
    copy = tmp_path / "new"
    words = (
        f"nothing is changed in {site}: its server reads the old files until --write changes them".encode()
    )
    idle = f"the server of {copy} reads 1 old .htaccess file beside the documents".encode()
    shown = b" ".join(upgrade("--out", str(copy), *named, cwd=site)[1].split())
    assert words in shown and idle in shown
    assert f"{site}/htdocs/.htaccess; until then it answers 500 below {site}/htdocs (.h".encode() in shown
    assert f"changed in {copy}: htdocs/.htaccess".encode() in shown
    assert (site / "htdocs/.htaccess").read_bytes() == b"Order deny,allow\nDeny from all\n"
    assert words not in b" ".join(upgrade("--write", *named, cwd=site)[1].split())


@pytest.mark.parametrize("shape", ["text", "json", "html"])
def test_a_copy_names_the_lines_that_lead_into_it(shape: str, site: Path, tmp_path: Path) -> None:
    """Copied over the old files, such a server would read the directory of the copy."""
    (site / "x").mkdir()
    (site / "x/a.conf").write_bytes(b"MaxRequestsPerChild 1\n")
    (site / "x/b.conf").write_bytes(b"# nothing\n")
    text = f"ServerRoot {site}\nInclude {site}/x/a.conf\nInclude {site}/x/b.conf\nPidFile {site}/a.pid\n"
    (site / MAIN).write_text(text)
    copy = tmp_path / "new"
    options = "--out", str(copy), "-d", str(site), "--format", shape, "--style", "compat"
    output = upgrade(*options, cwd=site)[1]
    leading = [line.split()[0] for line in (copy / MAIN).read_text().splitlines() if str(copy) in line]
    assert sorted(leading) == ["Include", "Include", "PidFile", "ServerRoot"]
    fact = f"2 Include lines, ServerRoot and PidFile of the copy point into {copy}: it is a server to try"
    writing = f"whimbrel upgrade --write -d {site} --style compat --select C07 --no-verify"
    if shape == "json":
        found = json.loads(output)["server_copy"]
        assert found["directory"] == str(copy) and found["go_live"] == writing
        (stated,) = found["facts"]
        assert stated.startswith(fact)
        return
    shown = " ".join(output.decode().split())
    assert fact in shown and writing in shown
    if shape == "text":
        assert f"\nTo go live: {writing}\n" in output.decode()
    (site / MAIN).write_text("Listen 80\nMaxRequestsPerChild 1\n")
    output = upgrade("--out", f"{copy}2", *options[2:], cwd=site)[1]
    assert b"point into" not in output and f"{copy}2" not in (tmp_path / "new2" / MAIN).read_text()


@pytest.mark.parametrize(
    "arguments", [["{site}"], ["{site}/conf/httpd.conf"], ["-f", "{site}/conf/httpd.conf"]]
)
def test_other_ways_to_name_it(arguments: list[str], site: Path, tmp_path: Path) -> None:
    status, out, _err = upgrade(*(word.format(site=site) for word in arguments), cwd=tmp_path)
    assert status == 1
    assert b"--- a/conf/httpd.conf\n" in out


def test_a_fragment_and_a_folder_of_fragments(tmp_path: Path) -> None:
    (tmp_path / "x.conf").write_bytes(b"MaxRequestsPerChild 1\n")
    (tmp_path / "note.txt").write_bytes(b"MaxRequestsPerChild 1\n")
    assert upgrade("x.conf", cwd=tmp_path)[1].count(b"--- a/") == 1
    assert upgrade(".", cwd=tmp_path)[1].count(b"--- a/") == 1


def test_json(site: Path) -> None:
    status, out, _err = upgrade("--json", "-d", str(site), cwd=site)
    found = json.loads(out)
    assert status == 1
    assert [
        (one["rule"], one["file"], one["line"], one["applied"], one["needs_review"])
        for one in found["findings"]
    ] == [("C07", MAIN, 2, True, False)]
    assert found["files"][0]["diff"].startswith("diff --git")


def test_colours(site: Path) -> None:
    assert (
        b"\x1b[31m-MaxRequestsPerChild  10\x1b[0m\r\n"
        in upgrade("--color", "always", "-d", str(site), cwd=site)[1]
    )


@pytest.mark.parametrize(("typed", "text"), [("y\n", NEW), ("n\n", OLD), ("q\n", OLD), ("a\n", NEW)])
def test_interactive(typed: str, text: bytes, site: Path) -> None:
    status, out, _err = upgrade("--interactive", "-d", str(site), cwd=site, typed=typed)
    assert b"+MaxConnectionsPerChild" in out
    assert (site / MAIN).read_bytes() == text
    assert status == 0


def test_interactive_shows_no_escape_sequences(site: Path) -> None:
    (site / MAIN).write_bytes(b"# \x1b[2J \x9b1m \xc3\xa9\n" + OLD)
    _status, out, _err = upgrade("--interactive", "-d", str(site), cwd=site, typed="n\n")
    assert b"\n # \\x1b[2J \\x9b1m \xc3\xa9\n" in out
    assert not set(out) & {0x1B, 0x9B}


def test_interactive_editor(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISUAL", "sed -i s/10/20/")
    assert upgrade("--interactive", "-d", str(site), cwd=site, typed="e\n")[0] == 0
    assert (site / MAIN).read_bytes() == NEW.replace(b"10", b"20")


@pytest.mark.parametrize(
    "arguments",
    [
        ["-d", "nowhere"],
        ["nowhere.conf"],
        ["--write", "--undo", "-d", "."],
        ["--select", "C99", "-d", "."],
        ["-d", ".", "-f", "nope.conf"],
        ["--write", "--out", "x", "-d", "."],
        ["--style", "odd", "-d", "."],
    ],
)
def test_wrong_use(arguments: list[str], site: Path) -> None:
    assert upgrade(*arguments, cwd=site)[0] == 2
    assert (site / MAIN).read_bytes() == OLD


def test_a_planted_journal_is_named_and_ignored(site: Path) -> None:
    (site / ".whimbrel-upgrade.json").write_text('{"state": "undoing", "entries": []}')
    status, _out, err = upgrade("--write", "-d", str(site), cwd=site)
    assert status == 0
    assert f"{site}/.whimbrel-upgrade.json: ignored: the journal of an upgrade is never in the tree" in err
    assert upgrade("--undo", "-d", str(site), cwd=site)[0] == 0
    assert (site / MAIN).read_bytes() == OLD


def test_equal_findings_and_decisions_stand_once(site: Path) -> None:
    (site / MAIN).write_bytes(OLD + b"RewriteRule ^/(.*)$ /b/$1\n" * 3 + b"SSLProxyEngine On\n")
    words = ["upgrade", "-d", str(site), "--select", "R01,C43"]
    err = warm_command.run(words, cwd=site).stderr.decode()
    ready = "ready for 2.4: not yet: to decide: 4 findings at 4 places"
    why = "not verified: under 2.4 the configuration does not load here: "  # R01 and C43 add no LoadModule
    assert err.startswith(f"{ready}, {why}")
    assert err.count(ready) == 2  # above the findings, and below
    assert (
        "  R01 unsafe-urls  conf/httpd.conf:3, conf/httpd.conf:4 and conf/httpd.conf:5  May URLs of `^/(.*)$`"
        in err
    )
    assert (
        "      yes: # whimbrel: ignore[R01] above each of these lines records it\n"
        "      no, they are in use: add Unsafe" in err
    )
    assert (
        "  C43 proxy-peer-checks  conf/httpd.conf:6  May the certificates of back ends stay unverified" in err
    )
    assert (
        "no: # whimbrel: ignore[C43] above conf/httpd.conf:6 keeps the text as it is; they have to be " in err
    )
    assert f"\ninput: whole server: {site}/conf/httpd.conf\n" in err
    assert "conf/httpd.conf:3  R01 unsafe-urls  changes answers · needs review  in 3 places\n" in err
    assert "    3  | RewriteRule ^/(.*)$ /b/$1\n" in err
    assert "= also conf/httpd.conf:4  conf/httpd.conf:5\n" in err
    assert "  C43 proxy-peer-checks  changes answers · decision\n" in err
    assert "= to decide: May the certificates of back ends stay unverified, as in 2.2?\n" in err


def test_the_comparison_of_both_versions_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "logs").mkdir()
    loads = "".join(f"LoadModule {name}_module modules/mod_{name}.so\n" for name in ("authz_host", "alias"))
    (tmp_path / "conf" / "httpd.conf").write_text(
        f'{loads}ServerRoot "{tmp_path}"\nServerName localhost\nListen 127.0.0.1:8080\n'
        "DefaultType text/plain\n"
    )
    command = ["upgrade", "-d", str(tmp_path)]
    err = warm_command.run(command, cwd=tmp_path).stderr.decode()
    assert re.search(
        r"^verified with \d+ requests? and \d+ chains? of sections.*: no answer contradicts a safe change",
        err,
        re.M,
    )
    err = warm_command.run([*command, "--no-verify"], cwd=tmp_path).stderr.decode()
    assert "verified with" not in err


def test_the_command_that_writes_has_the_option_that_it_needs(site: Path, tmp_path: Path) -> None:
    """Documents outside of the tree are usual; a command that is printed works."""
    (tmp_path / "docs").mkdir()
    file = tmp_path / "docs/.htaccess"
    file.write_bytes(b"Order deny,allow\nDeny from all\n")
    (site / MAIN).write_bytes(OLD + f"DocumentRoot {tmp_path}/docs\n".encode())
    named = "-d", str(site), "--select", "C07,C17"
    next_line = f"Next: whimbrel upgrade --write --outside -d {site} --select C07,C17 --no-verify\n"
    shown = upgrade(*named, cwd=site)[2]
    assert shown.endswith(f"--outside: 1 file to change is outside of the tree: {file}\n{next_line}")
    copied = upgrade(*named, "--out", str(tmp_path / "new"), cwd=site)[1].decode()
    assert copied.endswith(next_line.replace("Next", "To go live"))
    status, out, err = upgrade("--write", *named, cwd=site)
    assert (status, out) == (2, b"")
    assert err == f"nothing was written: 1 file to change is outside of {site}:\n  {file}\n{next_line}"
    assert (site / MAIN).read_bytes().startswith(OLD) and file.read_bytes().startswith(b"Order")
    assert upgrade("--write", "--outside", *named, cwd=site)[0] != 2
    assert file.read_bytes() == b"Require all denied\n"


def test_what_stops_the_start_is_to_correct_in_the_new_text(site: Path, tmp_path: Path) -> None:
    """A line that is corrected for 2.4 in the text of 2.2 changes what that text does under 2.2."""
    (site / MAIN).write_bytes(OLD + b"LoadModule php5_module modules/libphp5.so\n")
    named = "-d", str(site), "--select", "C06,C07"
    library = site / "modules/libphp5.so"
    library.parent.mkdir()
    for what in ("whether 2.4 starts is not known", "2.4 does not start,"):
        lines = upgrade(*named, cwd=site)[2].splitlines()
        assert lines[-2].startswith("Next: whimbrel upgrade --write ")
        assert (
            lines[-1]
            == f"Then correct, in the new text, C06 foreign-modules conf/httpd.conf:3: {what} until then"
        )
        assert not [line for line in lines if line.startswith("First: ")]
        library.write_bytes(elf(20051115, b"AP22"))
    page = upgrade(*named, "--format", "html", cwd=site)[1].decode()
    assert "Then correct, in the new text, C06 foreign-modules conf/httpd.conf:3" in page
    copied = upgrade(*named, "--out", str(tmp_path / "new"), cwd=site)[1].decode().splitlines()
    place = tmp_path / "new/conf/httpd.conf:3"
    assert copied[-2].startswith(f"First: correct C06 foreign-modules {place}: 2.4 does not start"), copied
    assert copied[-1].startswith("Next: whimbrel verify ")


@pytest.mark.parametrize("is_image", [True, False])
def test_the_names_of_a_diff_are_below_one_directory(is_image: bool, tmp_path: Path) -> None:
    """patch(1) finds the main file and a .htaccess file beside the documents from one directory."""
    image = tmp_path / "image" if is_image else Path("/")
    root, documents = (
        (Path("/etc/httpd"), Path("/srv/docs")) if is_image else (tmp_path / "r", tmp_path / "d")
    )
    places = [image / str(path)[1:] for path in (root / "conf/httpd.conf", documents / ".htaccess")]
    for place in places:
        place.parent.mkdir(parents=True)
    override = f"<Directory {documents}>\nAllowOverride All\n</Directory>\n"
    places[0].write_text(f"ServerRoot {root}\nListen 80\nDocumentRoot {documents}\n{override}MaxClients 5\n")
    places[1].write_text("Order allow,deny\nDeny from all\n")
    named = str(tmp_path / "image") if is_image else str(root)
    out = warm_command.run(["upgrade", named, "--no-verify"], cwd=tmp_path).stdout.decode()
    heads = [line.split()[2] for line in out.splitlines() if line.startswith("diff --git ")]
    assert heads == [f"a/{place.relative_to(image)}" for place in places], heads


def test_the_summary_says_whether_24_starts(site: Path) -> None:
    """It loads the new text of a server, and names all that ends the start on this machine, as httpd does: no
    file of a module, no user, no certificate; where a line stops it until a person corrects it, it does not
    load.
    """
    for name in ("htdocs", "logs"):
        (site / name).mkdir(exist_ok=True)
    text = f'ServerRoot "{site}"\nListen 127.0.0.1:8080\nServerName a\nDocumentRoot "{site}/htdocs"\n'

    def start_of(more: str) -> tuple[str, str]:
        (site / MAIN).write_text(f"{text}{more}")
        done = warm_command.run(["upgrade", "-d", str(site)], cwd=site)
        err = done.stderr.decode()
        lines = [line for line in err.splitlines() if line.startswith("start: ")]
        assert not lines or "start: " in "".join(err.splitlines()[:3]), err
        return "".join(dict.fromkeys(lines)), done.stdout.decode()

    start, diff = start_of("MaxClients 5\n")
    named = re.findall(r"(?m)^\+LoadModule \S+ (\S+)", diff)
    more = (
        f", nor {'is' if len(named) == 2 else 'are'} {len(named) - 1} more module file" if named[1:] else ""
    )
    assert f"(new text): {named[0]} is not on this machine{more}" in start, start
    for path in named:
        (site / path).parent.mkdir(exist_ok=True)
        (site / path).write_bytes(b"\x7fELF".ljust(64))
    start, _ = start_of("MaxClients 5\n")
    assert start.startswith(
        "start: 2.4 loads the new text; modules, users and certificates of its machine were "
    )
    start, _ = start_of("MaxClients 5\nUser nobody-has-this-name\nGroup nor-has-this\n")
    ends = f"{MAIN}:6: bad user name nobody-has-this-name; {MAIN}:7: bad group name nor-has-this"
    assert start == f"start: 2.4 loads the new text; on this machine it ends at {ends}"
    assert start_of("MaxClients 5\nNoSuchDirective on\n")[0] == ""


def test_lines_are_those_of_the_text_at_the_path(site: Path) -> None:
    """What is to decide has its old line in a diff, and its new one where the new text was written, in all
    sentences; `verify --backups` names the same lines.
    """
    (site / "htdocs").mkdir(exist_ok=True)
    text = (
        f'ServerRoot "{site}"\nListen 127.0.0.1:8080\nDocumentRoot "{site}/htdocs"\nNameVirtualHost *:8080\n'
    )
    text += "MaxClients 5\nLoadModule php5_module modules/libphp5.so\nUser nobody-has-this-name\n"
    (site / MAIN).write_text(text)

    def numbers(words: list[str]) -> tuple[set[int], set[int]]:
        """Return the lines at which the output of a command has C06, and that of User."""
        done = warm_command.run(words, cwd=site)
        output = (done.stdout + done.stderr).decode()
        rule = re.findall(r"C06 foreign-modules  conf/httpd.conf:(\d+)|conf/httpd.conf:(\d+)  C06", output)
        rule += re.findall(r"C06 (conf)/httpd.conf:(\d+): ", output)
        user = re.findall(r"httpd.conf:(\d+): bad user name", output)
        return {int(row[1] or row[0]) for row in rule}, set(map(int, user))

    named = {"C06": "LoadModule php5_module", "User": "User "}
    old = {
        key: text.splitlines().index(line) + 1
        for key, line in zip(named, text.splitlines()[5:7], strict=True)
    }
    before, after = numbers(["upgrade", str(site)]), numbers(["upgrade", "--write", str(site)])
    new_lines = (site / MAIN).read_text().splitlines()
    new = {key: [one.startswith(begin) for one in new_lines].index(True) + 1 for key, begin in named.items()}
    assert old["C06"] != new["C06"] and old["User"] != new["User"]
    assert before[0] >= {old["C06"]} and before[0] <= {old["C06"], new["C06"]} and before[1] == {old["User"]}
    assert after == ({new["C06"]}, {new["User"]})
    assert numbers(["verify", "--backups", str(site)]) == ({new["C06"]}, {new["User"]})


def test_the_command_for_one_file_explains_it(tmp_path: Path) -> None:
    """It names the file with the most access control; with other options it prints a diff."""
    (tmp_path / "conf").mkdir()
    order = "<Directory /{0}>\n    Order allow,deny\n    Allow from all\n</Directory>\n"
    for name, count in (("a", 1), ("b", 3), ("c", 1)):
        (tmp_path / f"conf/{name}.inc").write_text(
            "".join(order.format(f"{name}{at}") for at in range(count))
        )
    includes = "".join(f"Include conf/{name}.inc\n" for name in "abc")
    (tmp_path / "conf/httpd.conf").write_text(f"ServerRoot {tmp_path}\nNameVirtualHost *:80\n{includes}")
    plain = warm_command.run(["upgrade", "--no-verify", str(tmp_path)], cwd=tmp_path).stderr.decode()
    line = next(line for line in plain.splitlines() if line.startswith("What changes in one file"))
    command = line.rpartition(": ")[2]
    assert command == f"whimbrel explain conf/b.inc {tmp_path}"
    found = warm_command.run(command.split()[1:], cwd=tmp_path).stdout.decode()
    assert found.startswith("conf/b.inc: 3 places change\n")
    words = ["upgrade", "--no-verify", "--target", "2.4.58", str(tmp_path)]
    older = warm_command.run(words, cwd=tmp_path).stderr.decode()
    assert "What changes in one file" not in older
    assert re.search(r"^The diff of one file alone: whimbrel upgrade .*--target 2.4.58", older, re.MULTILINE)


def test_a_file_that_is_left_as_it_is_has_one_first_step(tmp_path: Path) -> None:
    """Which sections stand around a lone file with `Satisfy all` is not known: nothing is written."""
    part = tmp_path / ".htaccess"
    part.write_bytes(b"Satisfy all\n")
    done = warm_command.run([*WORDS[: WORDS.index("upgrade") + 1], str(part)], cwd=tmp_path)
    *_, first, other, following = done.stderr.decode().splitlines()
    assert done.returncode == 3 and first.startswith("First: correct C17 order-allow-deny .htaccess:1: ")
    assert other.startswith("Or, name its server, if it is here, for what it needs: ")
    assert following == "Next: whimbrel explain C17"

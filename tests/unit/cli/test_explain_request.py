"""whimbrel explain URL as a command."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.unit.explain.explained_site import CONF, write_site
from typer.testing import CliRunner, Result

from whimbrel.cli import explain


def run(*words: str) -> Result:
    return CliRunner().invoke(explain.app, [*words])


@pytest.mark.parametrize("words", [("--from", "10.0.0.0/8"), ("--from", "x"), ("--to", "10.0.0.1:80")])
def test_a_client_has_an_address(tmp_path: Path, words: tuple[str, str]) -> None:
    """No client has such an address; an answer would be about Require ip, which admits none."""
    file = write_site(tmp_path)
    found = run("/old/x", *words, "-d", str(tmp_path), "-f", str(file))
    assert (found.exit_code, found.stdout) == (2, "")
    assert found.stderr == f"{' '.join(words)}: not an IP address\n"


def test_a_url_is_explained(tmp_path: Path) -> None:
    file = write_site(tmp_path)
    found = run("/old/x", "--host", "q.example", "-d", str(tmp_path), "-f", str(file))
    assert found.exit_code == 0
    assert found.stdout.startswith(
        "302 Found to http://q.example/new/x   GET http://q.example/old/x from 192.0.2.1   httpd 2.4\n"
        "because  Redirect /old /new  httpd.conf:"
    )
    verbose = run("/old/x", "-v", "--host", "q.example", "-d", str(tmp_path), "-f", str(file))
    assert verbose.stdout.startswith("GET http://q.example/old/x from 192.0.2.1: 302 to http://q.example/new")
    assert "mapping: mod_alias: status 302" in verbose.stdout


def test_json_has_the_lines(tmp_path: Path) -> None:
    file = write_site(tmp_path)
    found = run("http://q.example/old/x", "--json", "-d", str(tmp_path), "-f", str(file))
    told = json.loads(found.stdout)
    (mapping,) = [step for step in told["steps"] if step["what"] == "mod_alias"]
    assert told["because"]["lines"] == mapping["lines"]
    assert told["status"] == 302 and mapping["lines"][0]["text"] == "Redirect /old /new"


def test_two_configurations(tmp_path: Path) -> None:
    write_site(tmp_path)
    write_site(tmp_path, CONF.replace("Redirect /old", "Redirect permanent /old"), "other.conf")
    here = ("-d", str(tmp_path), "-f", str(tmp_path / "httpd.conf"))
    found = run("/old/x", "--host", "q", *here, "--diff", str(tmp_path / "other.conf"), "--json")
    told = json.loads(found.stdout)
    assert found.exit_code == 1
    assert (told["old"]["status"], told["new"]["status"]) == (301, 302)
    equal = run("/old/x", "--host", "q", *here, "--diff", "guide")
    assert equal.exit_code == 0 and equal.stdout.startswith("same answer: 302 Found")


def test_log_lines(tmp_path: Path) -> None:
    here = ("-d", str(tmp_path), "-f", str(write_site(tmp_path)))
    line = '10.1.1.1 - bob [07/Mar/2004:16:05:49 -0800] "GET /private/x.html HTTP/1.1" 401 12846'
    found = run("--access-log-line", line, "--host", "a.example", *here)
    first, second = found.stdout.split("\n")[:2]
    assert first.startswith("the log has 401, the configuration as it stands answers 200 OK: ")
    assert second.startswith("200 OK   GET http://a.example/private/x.html from 10.1.1.1 as bob ")
    denied = "AH01630: client denied by server configuration"
    error = f"[client 10.0.0.8:4711] {denied}: {tmp_path}/htdocs/private/x.html"
    assert "/private/x.html from 10.0.0.8 " in run("--error-log-line", error, *here).stdout


def test_wrong_usage(tmp_path: Path) -> None:
    here = ("-d", str(tmp_path), "-f", str(write_site(tmp_path)))
    for words in (
        ("/x", "-d", "/nonexistent"),
        ("/x", *here, "--dialect", "1.3"),
        ("/x", *here, "--header", "no field"),
        ("--access-log-line", "no log line", *here),
        ("--error-log-line", "no log line", *here),
    ):
        assert run(*words).exit_code == 2, words
    broken = tmp_path / "broken.conf"
    broken.write_text("Nonsense on\n")
    found = run("/x", "-d", str(tmp_path), "-f", str(broken))
    assert found.exit_code == 1 and "Invalid command 'Nonsense'" in found.stdout


def test_a_line_of_a_log_in_quotes_is_explained_as_one(tmp_path: Path) -> None:
    """Without an option, too: a line of an access log has a request and a status."""
    here = ("-d", str(tmp_path), "-f", str(write_site(tmp_path)))
    line = '10.1.1.1 - - [07/Mar/2004:16:05:49 -0800] "GET /old/x HTTP/1.1" 302 12846'
    found = run(line, *here)
    assert found.exit_code == 0
    assert found.stdout.startswith("302 Found to http://")
    assert "GET http://a.example/old/x from 10.1.1.1 " in found.stdout


ACCESS_LINE = '10.1.1.1 - - [07/Mar/2004:16:05:49 -0800] "GET /old/x HTTP/1.1" 302 12846'
ERROR_LINE = "[client 10.1.1.1] AH01618: user who not found: /old/x"


@pytest.mark.parametrize(
    "words",
    [
        ("http://a.example/old/x", "SERVER"),
        ("SERVER", "http://a.example/old/x"),
        (ACCESS_LINE, "SERVER"),
        ("SERVER", ACCESS_LINE),
        (ERROR_LINE, "SERVER"),
        ("--access-log-line", ACCESS_LINE, "SERVER"),
        ("--error-log-line", ERROR_LINE, "SERVER"),
        ("site.conf:1", "SERVER"),
    ],
)
def test_the_server_stands_beside_each_kind_of_argument(tmp_path: Path, words: tuple[str, ...]) -> None:
    """A path that is not there is no reason to answer by another server."""
    server = write_site(tmp_path)
    found = run(
        *(str(server) if word == "SERVER" else word.replace("site.conf", server.name) for word in words)
    )
    assert found.exit_code == 0, found.output
    of_line = any("site.conf" in word for word in words)
    said = f"{server.name}:1 " if of_line else "302 Found to "
    assert found.stdout.startswith(said) and (of_line or "GET http" in found.stdout)
    missing = run(*(f"{tmp_path}/none" if word == "SERVER" else word for word in words))
    assert (missing.exit_code, missing.output) == (2, f"{tmp_path}/none: no such file or directory\n")


def test_access_is_named_before_the_file_that_is_not_there(tmp_path: Path) -> None:
    """2.4 takes the Require line of <Files> in the place of that of the directory: no password is asked."""
    conf = (
        "ServerRoot {0}\nListen 80\n"
        + "".join(
            f"LoadModule {name}_module modules/mod_{name}.so\n"
            for name in ("authz_core", "authz_host", "authz_user", "authn_core", "authn_file", "auth_basic")
        )
        + "DocumentRoot {0}\n<Directory {0}>\nAuthType Basic\nAuthName a\nAuthUserFile {0}/users\n"
        "Require valid-user\n</Directory>\n"
    )
    (tmp_path / "old.conf").write_text(conf.format(tmp_path))
    files = "<Files none>\nRequire ip 192.0.2.0/24\n</Files>\n"
    (tmp_path / "new.conf").write_text(conf.format(tmp_path) + files)
    found = run("/none", f"{tmp_path}/new.conf", "--diff", f"{tmp_path}/old.conf@2.4").stdout
    _, old, new = re.split(r"^[-+] /.*$", found.partition("steps that differ")[0], flags=re.MULTILINE)
    assert "Require valid-user" in old and "no credentials were sent" in old
    assert re.search(r"^granted +Require ip 192.0.2.0/24 .*:17\nbecause +DocumentRoot ", new.strip()), new
    assert "none does not exist" in new


def test_a_rule_beside_a_server_is_explained(tmp_path: Path) -> None:
    server = str(write_site(tmp_path))
    for words in (("C17", server), (server, "C17")):
        found = run(*words)
        assert found.exit_code == 0 and found.stdout == run("C17").stdout
        assert found.stderr == f"{server}: not read, as what C17 means is the same for every server\n"


def test_a_line_of_the_error_log_without_a_url_has_the_page_of_its_code(tmp_path: Path) -> None:
    here = ("-d", str(tmp_path), "-f", str(write_site(tmp_path)))
    line = (
        "[Thu Feb 05 21:10:12.000000 2015] [core:error] [pid 1:tid 2] [client 10.0.0.8:4711] AH00124: "
        "Request exceeded the limit of 10 internal redirects due to probable configuration error."
    )
    found = run("--error-log-line", line, *here)
    assert found.exit_code == 0
    assert "the line names no URL and no file" in found.stderr
    assert found.stdout.startswith("# AH00124")
    assert run("--error-log-line", "[client 10.0.0.8] nothing", *here).exit_code == 2


def test_a_handler_that_was_not_run_is_not_decided(tmp_path: Path) -> None:
    here = ("-d", str(tmp_path), "-f", str(write_site(tmp_path)))
    found = run("http://q.example/app/x", *here)
    assert found.exit_code == 3
    assert found.stdout.startswith("not decided here ")
    both = run("http://q.example/app/x", *here, "--diff", f"{here[-1]}@2.4")
    assert both.exit_code == 3
    assert both.stdout.startswith("no answer to compare") and "same answer" not in both.stdout


def test_a_line_of_a_file_that_is_not_here_is_no_url() -> None:
    for words in ("conf/httpd.conf:108", "vhosts/10-www.conf:4"):
        found = run(words)
        assert found.exit_code == 2
        assert found.stderr.endswith(
            f"hint: name the server that reads it: whimbrel explain {words} SERVER\n"
        )
    assert "no such file" not in run("www.example.com:8080").stderr


def test_a_tree_of_a_server_is_found_as_by_check(tmp_path: Path) -> None:
    """By -d, and behind the URL."""
    inner = tmp_path / "copy/etc/httpd"
    (inner / "conf").mkdir(parents=True)
    write_site(inner, name="conf/httpd.conf")
    url = "http://q.example/old/x"
    copy = str(tmp_path / "copy")
    for words in ((url, "-d", copy), (url, copy), (copy, url)):
        found = run(*words)
        assert found.stdout.startswith("302 Found to http://q.example/new/x "), (words, found.output)


def _original_and_copy(tmp_path: Path) -> tuple[Path, Path]:
    """Return a server whose text has its absolute places, and a copy with other lines."""
    original = tmp_path / "etc/httpd"
    copy = tmp_path / "copy"
    for root, target in ((original, "/original"), (copy, "/copied")):
        (root / "conf").mkdir(parents=True)
        text = f"ServerRoot {original}\nListen 80\nInclude {original}/conf/more.conf\n"
        (root / "conf/httpd.conf").write_text(text)
        modules = "LoadModule mpm_event_module x/mod_mpm_event.so\nLoadModule alias_module x/mod_alias.so"
        (root / "conf/more.conf").write_text(f"{modules}\nRedirect /a {target}\n")
    return original, copy


@pytest.mark.parametrize("words", [["-d", "@"], ["-f", "@/conf/httpd.conf"], ["@"], ["@/conf/httpd.conf"]])
def test_a_copy_is_read_and_not_its_original(words: list[str], tmp_path: Path) -> None:
    original, copy = _original_and_copy(tmp_path)
    here = [word.replace("@", str(copy)) for word in words]
    url = "http://127.0.0.1/a"
    assert "302 Found to http://127.0.0.1/copied " in run(url, *here).stdout
    told = json.loads(run(url, *here, "--diff", str(original), "--json").stdout)
    assert [told[side]["location"].rpartition("/")[2] for side in ("old", "new")] == ["original", "copied"]
    if here[0].startswith("-"):
        line = '10.1.1.1 - - [07/Mar/2004:16:05:49 -0800] "GET /a HTTP/1.1" 302 12'
        assert "302 Found to http://127.0.0.1/copied " in run(line, *here, "--host", "127.0.0.1").stdout


@pytest.mark.parametrize("user", ["--user", "url"])
def test_no_output_has_a_password(tmp_path: Path, user: str) -> None:
    """Neither in clear nor as the base64 of Basic, whatever copies the field."""
    rules = (
        '<Directory "@ROOT@/htdocs/private">\nRewriteEngine On\nRewriteCond %{HTTP:Authorization} ^(.+)$\n'
        "RewriteRule .* - [E=CRED:%1]\nRequire all granted\n</Directory>\n"
        'SetEnvIf Authorization "(.+)" COPY=$1\n'
    )
    here = (
        "-d",
        str(tmp_path),
        "-f",
        str(write_site(tmp_path, CONF.replace("Require valid-user", "Require all granted") + rules)),
    )
    words = (
        ("http://q.example/private/x.html", "--user", "robin:go dwit")
        if user == "--user"
        else ("http://robin:go%20dwit@q.example/private/x.html",)
    )
    for more in (
        (),
        ("-v",),
        ("--json",),
        ("--diff", "2.2"),
        ("--diff", "2.2", "-v"),
        ("--diff", "2.2", "--json"),
    ):
        found = run(*words, *more, *here)
        assert "robin" in found.output, more
        for secret in ("dwit", "cm9iaW46Z28gZHdpdA"):
            assert secret not in found.output, more
    verbose = run(*words, "-v", *here).output
    assert "env COPY Basic (hidden)" in verbose and "env CRED Basic (hidden)" in verbose
    assert "Authorization: Basic of robin" in run(*words, *here).output


@pytest.mark.parametrize("flags", ["R", "R,B", "R,NE", "R,B,NE", "R,QSA"])
def test_no_redirect_has_a_password(tmp_path: Path, flags: str) -> None:
    """Its base64 may be escaped once or twice."""
    rules = (
        'RewriteEngine On\nRewriteCond %{HTTP:Authorization} "Basic (.+)"\n'
        f"RewriteRule ^/r/ /login?c=%1 [{flags}]\n"
        f"RewriteCond %{{HTTP:Authorization}} ' (.+)'\nRewriteRule ^/p/ /login/%1 [{flags}]\n"
    )
    here = ("-d", str(tmp_path), "-f", str(write_site(tmp_path, CONF.partition("<VirtualHost")[0] + rules)))
    for path in ("/r/", "/p/"):
        for more in ((), ("-v",), ("--json",)):
            found = run(f"http://q.example{path}", "--user", "robin:s3cr>?~t?>", *more, *here)
            assert "302" in found.output and "(hidden)" in found.output, more
            assert "czNjcj4" not in found.output, more


@pytest.mark.parametrize(
    "url", ["http://robin:s3cr@q.example:x/", "ftp://robin:s3cr@q.example/", "robin:s3cr@q.example/x"]
)
def test_no_message_has_a_password(tmp_path: Path, url: str) -> None:
    here = ("-d", str(tmp_path), "-f", str(write_site(tmp_path)))
    for words in ((url,), (f"{url} x",), ("http://q.example/", "--header", "Authorization Basic s3cr")):
        found = run(*words, *here)
        assert found.exit_code == 2
        assert "s3cr" not in found.output + found.stderr


def test_a_line_of_a_log_reaches_no_terminal_as_it_is(tmp_path: Path) -> None:
    here = ("-d", str(tmp_path), "-f", str(write_site(tmp_path)))
    text = '192.0.2.1 - \x1b[31mx [29/Nov/2026:10:00:00 +0000] "GET /r\x1b]0;x\x07 HTTP/1.1" 302 5'
    found = run("--access-log-line", text, "--log-format", "common", *here)
    assert not {"\x1b", "\x07"} & set(found.output + found.stderr)


MANY_HOSTS = (
    "LoadModule log_config_module modules/mod_log_config.so\n"
    "LogFormat '%h %l %u %t \"%r\" %>s %b' common\n"
    + "".join(
        f"<VirtualHost *:80>\nServerName {name}.example\n{log}</VirtualHost>\n"
        for name, log in (("a", ""), ("b", "CustomLog logs/b common\n"), ("c", "CustomLog logs/c common\n"))
    )
    + "CustomLog logs/all '%v %h %l %u %t \"%r\" %>s %b'\n"
)


def test_a_line_without_a_host_asks_for_it(tmp_path: Path) -> None:
    """Two virtual hosts log in its format, a third one does not."""
    here = (
        "-d",
        str(tmp_path),
        "-f",
        str(write_site(tmp_path, CONF.partition("<VirtualHost")[0] + MANY_HOSTS)),
    )
    line = '10.1.1.1 - - [07/Mar/2004:16:05:49 -0800] "GET /old/x HTTP/1.1" 302 12846'
    asked = run(line, *here)
    assert asked.exit_code == 2 and "2 virtual hosts" in asked.output
    assert asked.output.endswith("--host b.example (log b), --host c.example (log c)\n")
    assert "GET http://c.example/old/x " in run(line, *here, "--host", "c.example").stdout
    assert "GET http://a.example/old/x " in run(f"a.example {line}", *here).stdout
    # a line of the error log never has the host of a URL
    error = "[client 10.1.1.1] AH01618: user who not found: /old/x"
    asked = run("--error-log-line", error, *here)
    assert asked.exit_code == 2 and "3 virtual hosts may have logged it" in asked.output
    assert asked.output.endswith("--host a.example, --host b.example, --host c.example\n")
    assert (
        "GET http://c.example/old/x " in run("--error-log-line", error, "--host", "c.example", *here).stdout
    )


def test_a_line_without_a_host_is_of_the_only_host_that_logs_in_its_format(tmp_path: Path) -> None:
    """It has the scheme, the port and the name of this host: the log is that of TransferLog there."""
    of_tls = (
        "LoadModule ssl_module modules/mod_ssl.so\nListen 443\n"
        "<VirtualHost _default_:443>\nServerName q.example\n{}SSLEngine on\nRedirect /old /secret\n"
        f"SSLCertificateFile {tmp_path}/none\n</VirtualHost>\n"
    )
    line = '10.1.1.1 - - [07/Mar/2004:16:05:49 -0800] "GET /old/x HTTP/1.1" 302 12846'

    def explained(more: str, log: str, *words: str) -> str:
        file = write_site(tmp_path, f"{CONF}{more}{of_tls.format(log)}")
        return run(line, "-d", str(tmp_path), "-f", str(file), *words).stdout

    loads = "LoadModule log_config_module modules/mod_log_config.so\n"
    found = explained(loads, "TransferLog logs/ssl\n")
    assert "taken for https://q.example, the only virtual host that logs in this format (" in found
    assert "GET https://q.example/old/x " in found
    for diff in ("2.2", "2.4"):
        assert "taken for https://q.example" in explained(loads, "TransferLog logs/ssl\n", "--diff", diff)
    assert "GET http://q.example/old/x " in explained(loads, "TransferLog logs/ssl\n", "--host", "q.example")
    both = f"{loads}TransferLog logs/main\n"
    assert "taken for" not in explained(both, "TransferLog logs/ssl\n")


def test_a_log_of_a_text_of_22_is_answered_as_22(tmp_path: Path) -> None:
    file = tmp_path / "httpd.conf"
    file.write_text(f'Listen 80\nServerName localhost\nDocumentRoot "{tmp_path}"\nLockFile lock\n')
    here = ("-d", str(tmp_path), "-f", str(file))
    line = '10.1.1.1 - - [07/Mar/2004:16:05:49 -0800] "GET /nothing HTTP/1.1" 404 12'
    notice, answer = run(line, *here).stdout.split("\n")[:2]
    assert notice.startswith("answered as httpd 2.2") and "--dialect 2.4 answers as 2.4" in notice
    assert answer.startswith("404 Not Found") and answer.endswith("httpd 2.2")
    file.write_text(file.read_text().replace("LockFile lock", "RewriteEngine\nLockFile lock"))
    new = run(line, *here, "--dialect", "2.4")
    assert new.exit_code == 1 and new.stdout.count("--dialect 2.2 reads the text as 2.2") == 1
    last = new.stdout.splitlines()[-1]
    assert (
        f"of a text of 2.2 `whimbrel upgrade -d {tmp_path} --out NEW`" in last and "-d NEW explains" in last
    )


def _write_text_of_22(root: Path) -> tuple[str, ...]:
    """Write a text that 2.4 does not load and `upgrade` corrects; return the options that name it."""
    text = f'Listen 80\nServerName q.example\nDocumentRoot "{root}"\nLockFile lock\n'
    closed = "<Location /old>\nOrder allow,deny\nDeny from all\n</Location>\n"
    (root / "httpd.conf").write_text(text + closed)
    return "-d", str(root), "-f", str(root / "httpd.conf")


def test_where_24_does_not_start_the_text_of_upgrade_answers(tmp_path: Path) -> None:
    here = _write_text_of_22(tmp_path)
    url = ("http://q.example/old/x", *here)
    for words in ((), ("--dialect", "2.4")):
        found = run(*url, *words)
        assert found.exit_code in (0, 3), found.output
        notice, answer, because = found.stdout.split("\n")[:3]
        assert notice.startswith("2.4 does not start with this text (httpd.conf:")
        assert "the text that `whimbrel upgrade` writes" in notice
        assert answer.startswith("403 Forbidden") and answer.endswith("httpd 2.4")
        assert because.startswith("because  Require all denied  httpd.conf:")
    told = run(*url, "--json").stdout
    assert "whimbrel upgrade" in json.loads(told)["notice"]


def test_a_text_of_22_is_compared_with_that_of_its_upgrade(tmp_path: Path) -> None:
    here = _write_text_of_22(tmp_path)
    for other in ("2.2", "2.4"):
        found = run("http://q.example/old/x", *here, "--diff", other)
        assert found.exit_code in (0, 3), found.output
        assert found.stdout.startswith("2.4 does not start with this text (httpd.conf:")
        assert "same answer: 403 Forbidden" in found.stdout and "in 2.2 and 2.4 after upgrade" in found.stdout
        assert "because  Deny from all" in found.stdout and "because  Require all denied" in found.stdout
        told = json.loads(run("http://q.example/old/x", *here, "--diff", other, "--json").stdout)
        assert (told["old"]["dialect"], told["new"]["dialect"]) == ("2.2", "2.4")
        assert "whimbrel upgrade" in told["notice"]


def test_a_copy_has_its_own_htaccess_files(tmp_path: Path) -> None:
    """`upgrade --out` writes them below the copy, under the paths of their originals."""
    copy = tmp_path / "copy"
    file = write_site(tmp_path)
    for root, text in (
        (tmp_path / "htdocs", "Deny from all"),
        (copy / f"{tmp_path}/htdocs"[1:], "Require all denied"),
    ):
        root.mkdir(parents=True, exist_ok=True)
        (root / ".htaccess").write_text(f"{text}\n")
    (copy / "httpd.conf").write_text(
        f"{file.read_text()}<Directory {tmp_path}/htdocs>\nAllowOverride All\n</Directory>\n"
    )
    here = ("-d", str(copy), "-f", str(copy / "httpd.conf"))
    found = run("/", "--host", "q.example", *here)
    assert found.stdout.startswith("403 ") and "Require all denied" in found.stdout
    both = run("/", "--host", "q.example", *here, "--diff", f"{file}@2.2")
    assert "Require all denied" in both.stdout


def test_requests_have_bytes(tmp_path: Path) -> None:
    here = ("-d", str(tmp_path), "-f", str(write_site(tmp_path)))
    found = run("http://q.example/€", "--user", "robin:€", "--header", "X-A: €", *here)
    assert "/€" in found.output and "X-A: €" in found.output, found.output


FILE_LINE = "[client 10.0.0.9] client denied by server configuration: @/htdocs/private/x.html"


def test_a_file_is_no_url_where_no_configuration_loads(tmp_path: Path) -> None:
    """Of two versions, the one that loads gives the file its URL."""
    file = write_site(
        tmp_path,
        'Listen 80\nServerName localhost\nDocumentRoot "@ROOT@/htdocs"\n'
        "<Directory />\nOptions +Indexes FollowSymLinks\n</Directory>\n",
    )
    file.write_text("".join(line for line in file.read_text().splitlines(True) if "LoadModule" not in line))
    here = ("-d", str(tmp_path), "-f", str(file))
    line = FILE_LINE.replace("@", str(tmp_path))
    here = (*here, "--dialect", "2.4")
    found = run(line, *here)
    assert found.exit_code == 1
    about = f"a request for the file {tmp_path}/htdocs/private/x.html from 10.0.0.9 "
    assert about in found.stdout and "GET http" not in found.stdout
    assert json.loads(run(line, *here, "--json").stdout)["request"] == about.strip()
    both = run(line, *here, "--diff", "2.2").stdout
    assert "GET http://localhost/private/x.html from 10.0.0.9" in both and "2.4" in both
    access = '10.0.0.9 - - [07/Mar/2004:16:05:49 -0800] "GET /private/x.html HTTP/1.1" 403 12'
    assert "GET http" in run(access, *here).stdout


def test_the_side_whose_text_was_upgraded_is_named(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    new.mkdir()
    here = _write_text_of_22(old)
    text = f'Listen 80\nServerName q.example\nDocumentRoot "{new}"\n'
    (new / "httpd.conf").write_text(text)
    there = ("-d", str(new), "-f", str(new / "httpd.conf"))
    found = run("http://q.example/old/x", *there, "--diff", here[3])
    assert found.exit_code != 2, found.output
    assert f"{old}/httpd.conf (2.4 after upgrade)" in " ".join(found.stdout.split())
    assert f"{new}/httpd.conf (2.4)" in " ".join(found.stdout.split())


def _write_old_htaccess(root: Path, more: str = "") -> tuple[str, ...]:
    """Write a text that both versions load, with a .htaccess file that 2.4 refuses; return its options."""
    directory = root / "htdocs/a"
    directory.mkdir(parents=True)
    (directory / "index.html").write_text("a\n")
    (directory / ".htaccess").write_text(
        "AuthType Basic\nAuthName a\nAuthUserFile users\nRequire valid-user\n"
        "Order deny,allow\nDeny from all\nAllow from 10.2\nSatisfy Any\n"
    )
    names = ("authz_host", "auth_basic", "authn_file", "authz_user", "dir")
    loads = "".join(f"LoadModule {name}_module modules/mod_{name}.so\n" for name in names)
    places = f'ServerRoot "{root}"\nDocumentRoot "{root}/htdocs"\n'
    override = "<Directory />\nAllowOverride All\n</Directory>\n"
    (root / "httpd.conf").write_text(f"{loads}Listen 80\nServerName q.example\n{places}{override}{more}")
    return "-d", str(root), "-f", str(root / "httpd.conf")


def test_where_24_refuses_a_htaccess_file_the_text_of_upgrade_answers(tmp_path: Path) -> None:
    here = _write_old_htaccess(tmp_path)
    found = run("http://q.example/a/", *here)
    lines = found.stdout.splitlines()
    assert lines[0].startswith("2.4 answers 500 with this text (htdocs/a/.htaccess:")
    assert "answered with the text that `whimbrel upgrade` writes" in lines[0]
    assert lines[1].startswith("401 Unauthorized")
    # the lines are those of the new text, not what the file has at their numbers
    shown = [line.split(": denied")[0].removeprefix("access").strip() for line in lines if ": denied" in line]
    assert shown == ["Require ip 10.2", "Require valid-user"]
    both = run("http://q.example/a/", *here, "--diff", "2.2").stdout
    assert "same answer: 401 Unauthorized" in both and "in 2.2 and 2.4 after upgrade" in both
    assert run("http://q.example/a/", *here, "--from", "10.2.0.1").stdout.splitlines()[1].startswith("200 OK")


def test_a_server_of_24_answers_500_and_what_upgrade_would_change_is_said(tmp_path: Path) -> None:
    here = _write_old_htaccess(tmp_path, "LoadModule authz_core_module modules/mod_authz_core.so\n")
    lines = run("http://q.example/a/", *here).stdout.splitlines()
    assert lines[0].startswith("2.4 answers 500 with this text (htdocs/a/.htaccess:")
    assert "with the text that `whimbrel upgrade` writes it is 401" in lines[0]
    assert lines[1].startswith("500 Internal Server Error")
    assert "htdocs/a/.htaccess:" in lines[2]

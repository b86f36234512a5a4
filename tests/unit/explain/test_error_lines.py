"""Lines of an error log as requests. The lines are apache2's (2.4.71) and those of a recorded 2.2.34."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.explain.explained_site import CONF, side_of

from whimbrel.explain.error_lines import is_error_line, read_error_line, url_of_file
from whimbrel.explain.request_description import BadRequest
from whimbrel.verify.probe import ProbeUser

CLIENT = "[pid 1:tid 2] [client 10.0.0.8:4711] "


def test_a_file_is_found_below_its_document_root(tmp_path: Path) -> None:
    line = (
        f"[Thu Feb 05 21:10:12.000000 2015] [authz_core:error] {CLIENT}AH01630: client denied by server "
        f"configuration: {tmp_path}/htdocs/private/x.html, referer: http://r/"
    )
    logged = read_error_line(line)
    assert (logged.client, logged.code, logged.level) == ("10.0.0.8", "AH01630", "error")
    configuration = side_of(tmp_path).configuration
    assert url_of_file(configuration, logged.path, "") == ("localhost", "/private/x.html", False)
    assert is_error_line(line) and not is_error_line("no line of a log")
    with pytest.raises(BadRequest):
        read_error_line("no line of a log")


@pytest.mark.parametrize(
    ("message", "path"),
    [
        ('AH01617: user robin: authentication failure for "/team/": Password Mismatch', "/team/"),
        ("AH01618: user nobody not found: /team/", "/team/"),
        ("AH10244: invalid URI path (/%2e%2e/%2e%2e/etc/passwd)", "/%2e%2e/%2e%2e/etc/passwd"),
        ("AH02596: RewriteRule '^(.*)x$' and URI '/nn/fox' exceeded maximum number of rounds", "/nn/fox"),
        ("/srv/htdocs/noidx/.htaccess: Invalid command 'Foo', perhaps misspelled or defined by a module "
         "not included in the server configuration", "/srv/htdocs/noidx/"),
        ("AH00035: access to /a b/x denied (filesystem path '/srv/a b/x') because search permissions are "
         "missing on a component of the path", "/a%20b/x"),
        ("AH01630: client denied by server configuration: /srv/a b/100%.html", "/srv/a%20b/100%25.html"),
        ("AH01276: Cannot serve directory /srv/d/: No matching DirectoryIndex (index.html) found, and "
         "server-generated directory index forbidden by Options directive", "/srv/d/"),
        ("AH00128: File does not exist: /srv/\\xc3\\xa4.html", "/srv/%C3%A4.html"),
        ("access to /team failed, reason: user robin not allowed access", "/team"),
        ("AH01144: No protocol handler was valid for the URL /app (scheme 'http').", "/app"),
    ],
)  # fmt: skip
def test_the_path_of_a_message(message: str, path: str) -> None:
    assert read_error_line(f"[core:error] {CLIENT}{message}").path == path


@pytest.mark.parametrize(
    ("message", "user"),
    [
        ('user robin: authentication failure for "/t": Password Mismatch',
         ProbeUser("robin", is_password_valid=False, is_assumed=True, has_file_groups=True)),
        ("user nobody not found: /t", ProbeUser("nobody")),
        ("user `nobody' in realm `team' not found: /t", ProbeUser("nobody")),
        ('user robin: authorization failure for "/t": ',
         ProbeUser("robin", is_assumed=True, has_file_groups=True)),
        ("access to /t failed, reason: user robin does not meet 'require'ments for user/valid-user to be "
         "allowed access", ProbeUser("robin", is_assumed=True, has_file_groups=True)),
        ("client denied by server configuration: /srv/user/x", None),
    ],
)  # fmt: skip
def test_the_user_of_a_message(message: str, user: ProbeUser | None) -> None:
    assert read_error_line(f"[error] [client 10.0.0.8] {message}").user == user


def test_a_file_of_an_alias_has_the_url_of_the_alias(tmp_path: Path) -> None:
    configuration = side_of(tmp_path).configuration
    assert url_of_file(configuration, f"{tmp_path}/cgi/x.pl", "") == ("localhost", "/cgi-bin/x.pl", False)
    assert url_of_file(configuration, f"{tmp_path}/nothing", "") == ("localhost", "/files", False)


def test_a_file_elsewhere_is_no_url(tmp_path: Path) -> None:
    configuration = side_of(tmp_path).configuration
    (tmp_path / "elsewhere").touch()
    with pytest.raises(BadRequest, match="below no DocumentRoot and no Alias"):
        url_of_file(configuration, f"{tmp_path}/elsewhere", "")
    assert url_of_file(configuration, "/team/none", "").path == "/team/none"


def test_a_file_of_a_host_of_tls_is_asked_for_by_tls(tmp_path: Path) -> None:
    more = '<VirtualHost *:443>\nServerName s.example\nDocumentRoot "@ROOT@/secure"\n</VirtualHost>\n'
    configuration = side_of(tmp_path, CONF + more).configuration
    assert url_of_file(configuration, f"{tmp_path}/secure/x", "") == ("s.example", "/x", True)


@pytest.mark.parametrize(
    ("message", "is_file"),
    [
        ("AH01630: client denied by server configuration: /srv/www/a", True),
        ("File does not exist: /srv/www/a", True),
        ("script not found or unable to stat: /usr/lib/cgi-bin/a", True),
        ("/srv/www/a/.htaccess: Redirect not allowed here", True),
        ("user bob not found: /a", False),
        ('AH01617: user bob: authentication failure for "/a b": Password Mismatch', False),
        ("access to /a failed, reason: user bob not allowed access", False),
        ("AH10244: invalid URI path (/%2e%2e/a)", False),
    ],
)
def test_the_path_of_a_file_is_told_from_that_of_a_url(message: str, is_file: bool) -> None:
    assert read_error_line(f"[client 10.0.0.9] {message}").is_file is is_file

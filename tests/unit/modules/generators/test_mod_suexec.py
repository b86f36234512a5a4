"""mod_suexec: messages and command lines of httpd 2.4.71; a script stands for the setuid program."""

from __future__ import annotations

import os
import pwd
import stat
from pathlib import Path

import pytest
from tests.support.client import fetch
from tests.support.engine import build_engine

from whimbrel.base.errors import ConfigError, StartError
from whimbrel.modules.support.cgi import suexec

LOAD = "LoadModule suexec_module modules/mod_suexec.so\n"
CGI = LOAD + "LoadModule cgi_module modules/mod_cgi.so\nSuexecUserGroup #1234 #2345\nSetHandler cgi-script\n"
CGI += "Options ExecCGI\n"
SCRIPT = {"htdocs/x.cgi": "#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\ndirect'"}


@pytest.fixture
def wrapper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a program that lists its arguments, and that counts as suexec."""
    path = tmp_path / "suexec"
    text = "#!/bin/sh\necho problem >&2\nprintf 'Content-Type: text/plain\\n\\n'\nprintf '%s,' \"$@\"\n"
    path.write_text(text)
    path.chmod(0o755)
    monkeypatch.setattr(suexec, "WRAPPER_24", str(path))
    monkeypatch.setattr(suexec, "disabled_reason", lambda _path: "")
    return path


def test_without_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suexec, "WRAPPER_24", str(tmp_path / "none"))
    reason = f"Missing suexec binary {tmp_path}/none"
    with pytest.raises(ConfigError, match=f"SuexecUserGroup configured, but suEXEC is disabled: {reason}$"):
        build_engine(tmp_path, LOAD + "SuexecUserGroup a b")
    with pytest.raises(ConfigError, match=f"suEXEC isn't supported: {reason}$"):
        build_engine(tmp_path, "Suexec On")
    text = "LoadModule suexec_module modules/mod_suexec.so\nSuexecUserGroup a b"
    monkeypatch.setattr(suexec, "WRAPPER_22", str(tmp_path / "none"))
    (message,) = build_engine(tmp_path, text, version="2.2").configuration.messages
    assert message.text == "Warning: SuexecUserGroup directive requires SUEXEC wrapper."


def test_owner_and_mode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "suexec"
    file.write_text("#!/bin/sh\n")
    reason = f"Invalid owner or file mode for {file}"
    file.chmod(0o755)
    assert suexec.disabled_reason(str(file)) == reason  # not setuid
    file.chmod(0o4755)
    real = os.stat(file)
    for uid, expected in ((0, ""), (1234, reason)):
        status = os.stat_result([real.st_mode, 0, 0, 1, uid, 0, 0, 0, 0, 0])
        monkeypatch.setattr(suexec.os, "stat", lambda _path, status=status: status)
        assert suexec.disabled_reason(str(file)) == expected
        assert status.st_mode & stat.S_ISUID


def test_order_of_arguments(tmp_path: Path, wrapper: Path) -> None:
    serving = build_engine(tmp_path, CGI, SCRIPT)
    assert "1234,2345,x.cgi,a,b," in fetch(serving, "/x.cgi?a+b").body
    (lines,) = serving.runtime.logs.values()
    assert f"AH01215: stderr from {tmp_path}/htdocs/x.cgi: problem" in lines[-1].decode()
    notice = serving.configuration.modules.providers("first_notice")["suexec"]
    assert notice == ("AH01232", f"suEXEC mechanism enabled (wrapper: {wrapper})")


def test_off_and_servers_without_user(tmp_path: Path, wrapper: Path) -> None:
    assert wrapper.exists()
    with pytest.raises(ConfigError, match="disabled: Suexec directive is Off$"):
        build_engine(tmp_path, "Suexec Off\n" + CGI, SCRIPT)
    off = CGI.replace("SuexecUserGroup", "#")
    for text in (off, CGI + "Suexec Off"):
        serving = build_engine(tmp_path, text, SCRIPT)
        (tmp_path / "htdocs/x.cgi").chmod(0o755)
        assert fetch(serving, "/x.cgi").body.count("direct") == 1


def test_the_user_of_a_directory_comes_first(tmp_path: Path, wrapper: Path) -> None:
    assert wrapper.exists()
    text = CGI + f"LoadModule userdir_module modules/mod_userdir.so\nUserDir {tmp_path}/htdocs/*"
    entry = pwd.getpwnam("nobody")
    files = {f"htdocs/{name}/x.cgi": SCRIPT["htdocs/x.cgi"] for name in ("nobody", "no-such-user-here")}
    serving = build_engine(tmp_path, text, files)
    assert f"~{entry.pw_uid}," in fetch(serving, "/~nobody/x.cgi").body
    assert "1234," in fetch(serving, "/~no-such-user-here/x.cgi").body
    alone = text.replace(LOAD, "").replace("SuexecUserGroup", "#")  # mod_userdir needs no mod_suexec
    assert f"~{entry.pw_uid}," in fetch(build_engine(tmp_path, alone, files), "/~nobody/x.cgi").body


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("no-such-user-here #1", "AH00543: .*: bad user name no-such-user-here"),
        ("#1 no-such-group-here", "AH00544: .*: bad group name no-such-group-here"),
    ],
)
def test_unknown_names(tmp_path: Path, wrapper: Path, words: str, message: str) -> None:
    assert wrapper.exists()
    with pytest.raises(StartError, match=message):
        build_engine(tmp_path, LOAD + f"SuexecUserGroup {words}")

"""The reader of envvars beside a shell: the same variables, or the variable is not decided."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from whimbrel.config.envvars import MAX_VALUE, Envvars, read

ENVIRONMENT = {"PATH": "/usr/bin:/bin", "HOME": "/root", "APACHE_CONFDIR": "/etc/apache2", "EMPTY": ""}
DEBIAN = """# envvars - default environment variables for apache2ctl

# this won't be correct after changing uid
unset HOME

# for supporting multiple apache2 instances
if [ "${APACHE_CONFDIR##/etc/apache2-}" != "${APACHE_CONFDIR}" ] ; then
	SUFFIX="-${APACHE_CONFDIR##/etc/apache2-}"
else
	SUFFIX=
fi

export APACHE_RUN_USER=www-data
export APACHE_RUN_GROUP=www-data
# temporary state file location. This might be changed to /run in Wheezy+1
export APACHE_PID_FILE=/var/run/apache2$SUFFIX/apache2.pid
export APACHE_RUN_DIR=/var/run/apache2$SUFFIX
export APACHE_LOCK_DIR=/var/lock/apache2$SUFFIX
export APACHE_LOG_DIR=/var/log/apache2$SUFFIX
export LANG=C
#. /etc/default/locale
export LANG
#export APACHE_LYNX='www-browser -dump'
"""


def parsed(tmp_path: Path, text: str, environment: dict[str, str] = ENVIRONMENT) -> Envvars:
    """The result of the reader."""
    path = tmp_path / "envvars"
    path.write_text(text)
    return read(str(path), environment)


def sourced(tmp_path: Path, text: str, environment: dict[str, str] = ENVIRONMENT) -> dict[str, str]:
    """The environment after a shell has read *text*."""
    path = tmp_path / "envvars.sh"
    path.write_text(text)
    command = ["/bin/sh", "-c", '. "$0" >/dev/null 2>&1; exec /usr/bin/env -0', str(path)]
    out = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True).stdout.decode(
        "latin-1"
    )
    pairs = (entry.partition("=") for entry in out.split("\0") if entry)
    return {name: value for name, _, value in pairs if name not in ("_", "PWD", "OLDPWD", "SHLVL")}


@pytest.mark.parametrize("directory", ["/etc/apache2", "/etc/apache2-second", ""])
def test_debians_file(directory: str, tmp_path: Path) -> None:
    environment = {**ENVIRONMENT, "APACHE_CONFDIR": directory}
    found = parsed(tmp_path, DEBIAN, environment)
    assert found.values == sourced(tmp_path, DEBIAN, environment)
    assert found.undecided == [] and "HOME" not in found.values


def test_the_file_of_this_machine(tmp_path: Path) -> None:
    stock = Path("/etc/apache2/envvars")
    if not stock.is_file():
        pytest.skip("no /etc/apache2/envvars here")
    found = parsed(tmp_path, stock.read_text())
    assert (found.values, found.undecided) == (sourced(tmp_path, stock.read_text()), [])


@pytest.mark.parametrize(
    "text",
    [
        "export A=b",
        "A=b",
        "A=b; export A",
        "export A=b C=d",
        "export A='b  c' B=\"d  $A\"",
        "export A=b\\ c\\$",
        'export A="a\\"b\\$c\\\\d\\e"',
        "export A='a'\"b\"c$PATH'$PATH'",
        "export A=${NONE:-b} B=${EMPTY:-c} C=${EMPTY-d} D=${PATH:+e} E=${NONE+f}",
        "export A=${NONE:-${EMPTY:-x}y}",
        'export A="${NONE:-b c}"',
        ": ; true; export A=1 # comment",
        "export A=a#b",
        "export A=1 \\\n  B=2",
        "EMPTY=full",
        "unset EMPTY PATH; export A=$EMPTY.",
        "export A=/a/b/c B=${A#*/} C=${A##*/}",
        "A=/a/b/c; export B=${A%/*} C=${A%%/*} D=${A%x} E=${A#/a}",
        'if [ -z "$NONE" ]; then export A=1; else export A=2; fi',
        'if [ -n "$NONE" ]; then export A=1; elif [ "$PATH" = x ]; then export A=2; else export A=3; fi',
        "if [ -d /etc ] && [ ! -f /etc/nothing ]; then\nexport A=1\nfi\nexport B=2",
        'if test "a" = "b" || test -r /etc/passwd; then export A=1; fi',
        "if [ x = x ]; then if [ x = y ]; then export A=1; else export A=2; fi; fi; export B=1",
        "if [ x = y ]\nthen\nexport A=1\nfi",
        "export A=1\nreturn\nexport A=2",
        "ulimit -n 8192\numask 022\nexport A=1",
        "export A=a$ B=$/x",
        "export A=~b",
        "export A='multi\nline' B=1",
        "export A=\"\" B=''",
        "export A",
        "A=1\nexport A\nA=2",
    ],
)
def test_the_same_as_a_shell(text: str, tmp_path: Path) -> None:
    found = parsed(tmp_path, text + "\n")
    wanted = sourced(tmp_path, text + "\n")
    decided = found.values
    if found.undecided:
        assert "~" in text and "A" not in decided
    else:
        assert decided == wanted


@pytest.mark.parametrize(
    "text",
    [
        "export A=$(echo b)",
        "export A=`echo b`",
        'export A="x$(echo b)"',
        "export A=$((1+1))",
        "A=1 env",
        "export A=1; A=$(x); export B=$A",
        "[ -f /etc/passwd ] && A=1 && export A",
        "if grep -q root /etc/passwd; then export A=1; else export A=2; fi",
        "case x in x) export A=1;; *) export A=2;; esac",
        "for A in 1 2; do export A=$A; done",
        "f() {\nexport A=1\n}\nf",
        "while false; do A=1; done",
        "(A=1; export A)",
        "cat <<X\nexport A=1\nX",
        "export A=$0 B=$$ C=$1",
    ],
)
def test_what_needs_a_shell_is_not_decided_and_named(text: str, tmp_path: Path) -> None:
    found = parsed(tmp_path, text + "\n")
    assert "A" not in found.values
    assert found.undecided
    assert all(str(one.place).startswith(f"{tmp_path}/envvars:") for one in found.undecided)


def test_nothing_is_executed(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    lines = [
        f"touch {mark}",
        f"A=$(touch {mark})",
        f"B=`touch {mark}`",
        f"eval touch {mark}",
        f". {tmp_path}/inner",
    ]
    (tmp_path / "inner").write_text(f"touch {mark}\nexport C=1\n")
    found = parsed(tmp_path, "\n".join(lines) + "\n")
    assert not mark.exists() and found.values["C"] == "1"
    assert shutil.which("touch")


def test_sourced_files_are_read_and_not_shown(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("root:secret:1\nexport A=1\n")
    found = parsed(tmp_path, f". {tmp_path}/secret\nexport B=$A\n")
    assert found.values["B"] == "1"
    assert "root" not in "".join(map(str, found.undecided)).replace(str(tmp_path), "")


def test_bombs_end(tmp_path: Path) -> None:
    text = "A=0123456789\n" + "A=$A$A$A$A$A$A$A$A$A$A\n" * 30 + "export A\n"
    found = parsed(tmp_path, text)
    assert len(found.values.get("A", "")) <= MAX_VALUE and found.undecided
    (tmp_path / "envvars").unlink()
    loop = f". {tmp_path}/envvars\n" * 3
    assert parsed(tmp_path, loop).undecided


def test_values_have_the_bytes_of_the_file(tmp_path: Path) -> None:
    """As in the environment of a program: UTF-8, other bytes as surrogates, and no zero byte."""
    (tmp_path / "envvars").write_bytes(b"export A=/srv/m\xc3\xbcller\nexport B=\xfc\0x\n")
    values = read(str(tmp_path / "envvars"), {}).values
    assert values == {"A": "/srv/m\u00fcller", "B": "\udcfcx"}

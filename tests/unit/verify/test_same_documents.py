"""Both sides of a comparison read the same documents for the same paths of their texts.

The text of 2.2 and that of 2.4 are equal in what they grant, so no request may get another answer, wherever
the documents lie.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.replay.replayed_site import line
from typer.testing import CliRunner

from whimbrel.cli import explain, replay
from whimbrel.cli import verify as verify_command

LOADS = "".join(
    f"LoadModule {name}_module m/mod_{name}.so\n" for name in ("mpm_event", "authz_core", "authz_host", "dir")
)


def write_server(root: Path, declared: str, documents: str) -> Path:
    """Write a server whose text names *declared* as its root, and its documents."""
    conf = root / "conf/httpd.conf"
    conf.parent.mkdir(parents=True)
    conf.write_text(
        f'{LOADS}ServerRoot "{declared}"\nListen 80\nServerName a.example\nDocumentRoot {documents}\n'
        f"<Directory {documents}>\nAllowOverride None\nRequire all granted\n"
        "</Directory>\n"
    )
    return root


def write_documents(place: Path) -> None:
    (place / "members").mkdir(parents=True)
    (place / "index.html").write_text("hello")
    (place / "members/index.html").write_text("members")


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """Return the place of a machine that the texts name; only its documents are there."""
    return tmp_path / "machine/site"


def copies(tmp_path: Path, machine: Path) -> tuple[str, str]:
    """Return a copy of a part of the machine, and one of the server alone, as `upgrade --out` writes it."""
    documents = f"{machine}/var/www"
    part = write_server(tmp_path / "work/etc/httpd", f"{machine}/etc/httpd", documents)
    alone = tmp_path / "new"
    return str(part), str(write_server(alone, str(alone), documents))


@pytest.mark.parametrize("is_reverse", [False, True])
@pytest.mark.parametrize("where", ["machine", "copy", "nowhere"])
def test_a_part_of_a_machine_and_a_server_alone(
    tmp_path: Path, machine: Path, where: str, *, is_reverse: bool
) -> None:
    part, alone = copies(tmp_path, machine)
    if where != "nowhere":
        write_documents((machine if where == "machine" else tmp_path / "work") / "var/www")
    both = (alone, part) if is_reverse else (part, alone)
    found = CliRunner().invoke(verify_command.app, [*both, "--old-dialect", "2.4"])
    first = found.stdout.splitlines()[0]
    said = {
        "machine": f"documents: both sides read {machine}/var/www of this machine: {tmp_path}/work has no",
        "copy": f"documents: both sides read {machine}/var/www in {tmp_path}/work",
        "nowhere": f"documents: none of {machine}/var/www has documents to read, neither",
    }
    assert first.startswith(said[where])
    assert ": 0 causes of 0 differences" in found.stdout, found.stdout


@pytest.mark.parametrize("where", ["machine", "copy"])
def test_explain_and_replay_read_the_same(tmp_path: Path, machine: Path, where: str) -> None:
    part, alone = copies(tmp_path, machine)
    write_documents((machine if where == "machine" else tmp_path / "work") / "var/www")
    words = ["http://a.example/members/", "-d", alone, "--dialect", "2.4", "--diff", f"{part}@2.4"]
    found = CliRunner().invoke(explain.app, words)
    assert found.stdout.startswith("documents: both sides read"), found.stdout
    # documents of this machine may not be those of the server: then the answer is the same, and not certain
    assert found.exit_code == (3 if where == "machine" else 0), found.stdout
    assert "same answer: 200 OK" in found.stdout or where == "copy" and "200 OK" in found.stdout
    log = tmp_path / "access_log"
    log.write_text(line("/members/"))
    sides = ["--old", part, "--old-dialect", "2.4", "--new", alone, "-j", "1"]
    replayed = CliRunner().invoke(replay.app, [str(log), *sides])
    assert replayed.stdout.startswith("documents: both sides read"), replayed.stdout
    assert "1 request has the status that was logged" in replayed.stdout


def test_only_what_the_copy_has_is_named_as_read(tmp_path: Path, machine: Path) -> None:
    part, alone = copies(tmp_path, machine)
    write_documents(tmp_path / "work/var/www")
    bare = f"{machine}/var/bare"
    for server in (part, alone):
        conf = next(Path(server).rglob("*.conf"))
        host = f"<VirtualHost *:80>\nServerName c.example\nDocumentRoot {bare}\n</VirtualHost>\n"
        conf.write_text(conf.read_text() + host)
    found = CliRunner().invoke(verify_command.app, [part, alone, "--old-dialect", "2.4"])
    assert found.stdout.splitlines()[0] == (
        f"documents: both sides read {machine}/var/www in {tmp_path}/work, the copy that has them"
        f"; nothing to read there: {bare}"
    )


def test_copies_with_documents_of_their_own_are_not_mapped(tmp_path: Path, machine: Path) -> None:
    """What one copy has, and the other lacks, is a difference of their documents."""
    documents = f"{machine}/var/www"
    roots = []
    for name in ("old", "new"):
        roots.append(str(write_server(tmp_path / name / "etc/httpd", f"{machine}/etc/httpd", documents)))
        write_documents(tmp_path / name / "var/www")
    (tmp_path / "new/var/www/members/index.html").unlink()
    found = CliRunner().invoke(verify_command.app, [*roots, "--old-dialect", "2.4"])
    assert "documents:" not in found.stdout and "/members/" in found.stdout
    assert found.exit_code == 1


def test_a_copy_without_documents_reads_those_of_the_other_one(tmp_path: Path, machine: Path) -> None:
    documents = f"{machine}/var/www"
    roots = [
        str(write_server(tmp_path / name / "etc/httpd", f"{machine}/etc/httpd", documents))
        for name in ("old", "new")
    ]
    for name, both in (("old", roots), ("old", roots[::-1])):
        if not (tmp_path / name / "var").exists():
            write_documents(tmp_path / name / "var/www")
        found = CliRunner().invoke(verify_command.app, [*both, "--old-dialect", "2.4"])
        assert f"in {tmp_path}/old" in found.stdout.splitlines()[0]
        assert ": 0 causes of 0 differences" in found.stdout, found.stdout

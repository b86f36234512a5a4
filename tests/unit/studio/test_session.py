"""The session: edits change answers and findings at once, in memory; a click writes, after its diff."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from tests.unit.studio.studio_site import MARKUP, Studio, run, studio_of, write_site

FILE = "conf/hosts/0001.conf"
REQUEST = {"url": "http://h1.example.org/closed/", "client": "192.0.2.7"}


async def answer(studio: Studio, dialect: str = "2.2") -> dict[str, object]:
    return await studio.call("answer", request=REQUEST, dialect=dialect, quick=True)


async def edit(studio: Studio, line: int, text: str) -> None:
    version = studio.session.overlay.version
    await studio.call("edit", file=FILE, version=version, first=line, count=1, lines=[text])


def test_an_edit_changes_the_answer_and_no_file(tmp_path: Path) -> None:
    write_site(tmp_path)
    before = (tmp_path / FILE).read_bytes()

    async def work(studio: Studio) -> None:
        first = await answer(studio)
        assert (first["status"], first["because"]) == (
            403,
            [{"file": FILE, "line": 6, "text": "Deny from all"}],
        )
        await edit(studio, 7, "        Allow from 192.0.2.0/24")
        assert (await answer(studio))["status"] == 404
        await studio.call("undo")
        assert (await answer(studio))["status"] == 403
        await studio.call("redo")
        assert (await answer(studio))["status"] == 404

    with studio_of(tmp_path) as studio:
        run(work(studio))
    assert (tmp_path / FILE).read_bytes() == before


def test_a_half_typed_line_gives_the_error_at_its_line(tmp_path: Path) -> None:
    write_site(tmp_path)

    async def work(studio: Studio) -> None:
        await edit(studio, 7, "        Allo")
        found = await answer(studio)
        assert found["error_place"] == {"file": FILE, "line": 7}
        errors = found["errors"]
        assert isinstance(errors, list) and "Invalid command 'Allo'" in errors[0]
        assert found["status"] is None

    with studio_of(tmp_path) as studio:
        run(work(studio))


def test_two_edits_of_one_version_are_not_mixed(tmp_path: Path) -> None:
    write_site(tmp_path)

    async def work(studio: Studio) -> None:
        await edit(studio, 7, "# one")
        late = await studio.refused("edit", file=FILE, version=0, first=7, count=1, lines=["# two"])
        assert late[0] == 409

    with studio_of(tmp_path) as studio:
        run(work(studio))


def test_findings_are_applied_one_by_one(tmp_path: Path) -> None:
    write_site(tmp_path)

    async def work(studio: Studio) -> None:
        found = await studio.call("findings", file=FILE)
        entries = found["entries"]
        assert isinstance(entries, list)
        entry = next(one for one in entries if one["rule"] == "C17")
        fixed = await studio.call("fix", file=FILE, rule="C17", line=entry["origin"], version=0)
        assert FILE in fixed["edited"]  # type: ignore[operator]
        text = studio.session.overlay.texts[f"{tmp_path}/{FILE}"]
        assert b"Require ip 10.1.0.0/16" in text and b"Allow from" not in text
        again = await studio.call("findings", file=FILE)
        assert not any(one["rule"] == "C17" and one["line"] == entry["line"] for one in again["entries"])  # type: ignore[attr-defined]
        nothing = await studio.refused("fix", file=FILE, rule="C17", line=1, version=1)
        assert nothing[0] == 409

    with studio_of(tmp_path) as studio:
        run(work(studio))


def test_changes_one_by_one_make_the_text_of_all_together(tmp_path: Path) -> None:
    write_site(tmp_path)

    async def work(studio: Studio) -> None:
        await studio.call("fix_all", version=0)
        together = {path: sorted(text.split(b"\n")) for path, text in studio.session.overlay.texts.items()}
        await studio.call("undo")
        for _step in range(30):
            left = rules_of(await studio.call("findings"))
            if not left:
                break
            rule, file, line = left[0]
            version = studio.session.overlay.version
            await studio.call("fix", file=file, rule=rule, line=line, version=version)
        alone = {path: sorted(text.split(b"\n")) for path, text in studio.session.overlay.texts.items()}
        assert alone == together

    def rules_of(found: dict[str, object]) -> list[tuple[str, str, int]]:
        entries = found["entries"]
        assert isinstance(entries, list)
        return [(one["rule"], one["file"], one["origin"]) for one in entries if one["fixable"]]

    with studio_of(tmp_path) as studio:
        run(work(studio))


def test_an_upgrade_is_verified_compared_and_written_after_its_diff(tmp_path: Path) -> None:
    main = write_site(tmp_path)
    old = main.read_bytes()
    sides = {"old": {"text": "disk", "dialect": "2.2"}, "new": {"text": "edited", "dialect": "2.4"}}

    async def work(studio: Studio) -> None:
        assert (await studio.refused("write", version=0))[0] == 409
        await studio.call("fix_all", version=0)
        compared = await studio.call("compare", request=REQUEST, **sides)
        assert compared["is_equal"] is True
        verdict = await studio.call("verify", **sides)
        assert verdict["verdict"] in ("same", "not decided") and verdict["differences"] == []
        assert (await studio.refused("write", version=1))[0] == 409, "the diff comes first"
        assert main.read_bytes() == old, "nothing is written without a click"
        diff = (await studio.call("diff"))["diff"]
        assert isinstance(diff, str) and "+    Require all granted" in diff
        written = await studio.call("write", version=1)
        assert (written["written"], written["edited"]) == (4, [])

    with studio_of(tmp_path) as studio:
        run(work(studio))
    assert b"Require all granted" in main.read_bytes()
    assert main.with_name("httpd.conf.whimbrel-2.2~").read_bytes() == old


def test_a_file_that_changed_on_disk_is_not_written(tmp_path: Path) -> None:
    write_site(tmp_path)

    async def work(studio: Studio) -> None:
        await edit(studio, 7, "# ours")
        await studio.call("diff")
        (tmp_path / FILE).write_text("# theirs\n")
        status, sentence = await studio.refused("write", version=1)
        assert status == 409 and "changed since it was read" in sentence

    with studio_of(tmp_path) as studio:
        run(work(studio))
    assert (tmp_path / FILE).read_text() == "# theirs\n"


def test_changes_on_disk_are_read_again(tmp_path: Path) -> None:
    write_site(tmp_path)

    async def work(studio: Studio) -> None:
        assert (await answer(studio))["status"] == 403
        text = (tmp_path / FILE).read_text()
        (tmp_path / FILE).write_text(text.replace("10.1.0.0/16", "192.0.2.0/24"))
        await studio.call("reload")
        assert (await answer(studio))["status"] == 404

    with studio_of(tmp_path) as studio:
        run(work(studio))


def test_no_program_of_the_configuration_runs(tmp_path: Path) -> None:
    main = write_site(tmp_path)
    mark = tmp_path / "ran"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {mark}\n")
    program.chmod(0o755)
    text = main.read_text() + f'RewriteEngine On\nRewriteMap m "prg:{program}"\nErrorLog "|{program}"\n'
    main.write_text(text + "RewriteRule ^/run/(.*) /${m:$1}\n")

    async def work(studio: Studio) -> None:
        await studio.call("answer", request={"url": "http://www.example.org/run/x"}, dialect="2.2")
        await studio.call("findings")
        await studio.call("verify", old={"text": "disk", "dialect": "2.2"}, new={"dialect": "2.2"})

    with studio_of(tmp_path) as studio:
        run(work(studio))
    assert not mark.exists()


def test_markup_is_sent_as_text(tmp_path: Path) -> None:
    write_site(tmp_path)

    async def work(studio: Studio) -> None:
        await edit(studio, 7, f"        # {MARKUP}")
        lines = (await studio.call("file", file=FILE))["lines"]
        assert isinstance(lines, list) and lines[6] == f"        # {MARKUP}"

    with studio_of(tmp_path) as studio:
        run(work(studio))


def test_a_name_that_two_files_look_like_is_refused(tmp_path: Path) -> None:
    """A name that is no UTF-8 lets all names be shown as Latin-1, so two files may look alike."""
    write_site(tmp_path)
    hosts = os.fsencode(tmp_path / "conf/hosts")
    for name in (b"40-\xc3\xa9.conf", b"40-\xc3\x83\xc2\xa9.conf", b"40-\xff.conf"):
        with open(os.path.join(hosts, name), "wb") as file:
            file.write(b"# " + name + b"\n")

    async def work(studio: Studio) -> None:
        found = await studio.call("files")
        names = found["names"]
        assert isinstance(names, list)
        shown = next(name for name in names if name.endswith("40-\xc3\xa9.conf"))
        assert (await studio.refused("file", file=shown))[0] == 409

    with studio_of(tmp_path) as studio:
        run(work(studio))


def test_no_edit_is_lost_beside_a_write(tmp_path: Path) -> None:
    write_site(tmp_path)

    async def work(studio: Studio) -> None:
        await edit(studio, 7, "# one")
        diff = await studio.call("diff")
        writing = asyncio.create_task(studio.call("write", version=diff["version"]))
        await asyncio.sleep(0)
        late = await studio.refused(
            "edit", file=FILE, version=diff["version"], first=1, count=1, lines=["# two"]
        )
        assert late[0] == 409
        assert (await writing)["written"] == 1
        await edit(studio, 7, "# three")

    with studio_of(tmp_path) as studio:
        run(work(studio))

"""No tool looks at the paths that the text of an image names on this machine."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest

from tests.support.machine_image import run, write_image

LOOKING = ("stat", "lstat", "readlink", "access", "scandir", "listdir")
"""Functions of os that look at a path."""
_opened: list[str] = []


def _note_open(event: str, words: tuple[Any, ...]) -> None:
    if event == "open" and isinstance(words[0], (str, bytes)):
        _opened.append(os.fsdecode(words[0]))


sys.addaudithook(_note_open)
_PATH = re.compile(r'(?m)(^|[\s"^])(/(?:etc|var|srv|people)/)')
_COMMANDS: tuple[tuple[str, ...], ...] = (
    ("check", "IMAGE"),
    ("explain", "http://www.example.org/closed/index.html", "-d", "IMAGE", "--dialect", "2.2", "-v"),
    ("explain", "http://www.example.org/~robin/", "-d", "IMAGE", "--dialect", "2.2"),
    ("explain", "http://www.example.org/users/a.html", "-d", "IMAGE", "--dialect", "2.2", "--user", "anna"),
    ("explain", "http://www.example.org/views/a", "-d", "IMAGE", "--dialect", "2.2"),
    ("explain", "http://shop.example.org/same/", "-d", "IMAGE", "--diff", "2.4"),
    ("upgrade", "IMAGE", "--out", "OUT", "--no-verify"),
    ("verify", "IMAGE", "OUT", "--limit", "200"),
    ("replay", "LOG", "--old", "IMAGE", "--new", "OUT", "-j", "1"),
)


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An image whose text names paths that this machine has too, with other contents."""
    top = tmp_path_factory.mktemp("machine")
    here = top / "here"
    write_image(here)
    image = write_image(top / "a")
    inside = image / str(here).lstrip("/")
    inside.mkdir(parents=True)
    for name in ("etc/httpd", "etc/mime.types", "var", "srv", "people"):
        (inside / name).parent.mkdir(exist_ok=True)
        (image / name).rename(inside / name)
    for path in inside.rglob("*"):
        if path.is_symlink() and os.readlink(path).startswith("/"):
            target = os.readlink(path)
            path.unlink()
            path.symlink_to(f"{here}{target}")
    for path in (inside / "etc/httpd/conf/httpd.conf", inside / "etc/httpd/sites-available/shop"):
        path.write_text(_PATH.sub(rf"\g<1>{here}\g<2>", path.read_text()))
    (image / "etc/passwd").write_text(f"robin:x:1001:1001::{here}/people/robin:/bin/sh\n")
    log = top / "log"
    log.write_text(
        '192.0.2.7 - - [01/Mar/2026:10:00:00 +0000] "GET http://www.example.org/closed/ HTTP/1.1" 200 5\n'
    )
    root = f"{inside}/etc/httpd"
    return {"HERE": str(here), "IMAGE": root, "OUT": str(top / "out"), "LOG": str(log), "TOP": str(image)}


def looked_at(command: Callable[[], Any], below: str) -> set[str]:
    """Return the paths below a directory that *command* looks at."""
    found: set[str] = set()

    def watching(real: Callable[..., Any]) -> Callable[..., Any]:
        def function(path: Any = ".", *words: Any, **named: Any) -> Any:
            if isinstance(path, (str, bytes, os.PathLike)):
                name = os.fsdecode(path)
                if f"{name}/".startswith(f"{below}/"):
                    found.add(name)
            return real(path, *words, **named)

        return function

    patches = [mock.patch.object(os, name, watching(getattr(os, name))) for name in LOOKING]
    _opened.clear()
    for patch in patches:
        patch.start()
    try:
        command()
    finally:
        for patch in patches:
            patch.stop()
    found |= {name for name in _opened if f"{name}/".startswith(f"{below}/")}
    root = f"{below}/etc/httpd/"
    return {name for name in found if not root.startswith(f"{name}/")}  # does the text name its own place?


def test_the_watch_sees_what_is_read(places: dict[str, str]) -> None:
    assert looked_at(lambda: run("check", places["IMAGE"]), places["TOP"])


@pytest.mark.parametrize("words", _COMMANDS, ids=lambda words: f"{words[0]} {words[1]}")
def test_nothing_of_this_machine_is_looked_at(places: dict[str, str], words: tuple[str, ...]) -> None:
    given = [places.get(word, word) for word in words]
    if "OUT" in words and words[0] != "upgrade":
        if not os.path.exists(places["OUT"]):
            run("upgrade", places["IMAGE"], "--out", places["OUT"], "--no-verify")
        given[words.index("OUT")] += places["HERE"] + "/etc/httpd"
    elif words[0] == "upgrade" and os.path.exists(places["OUT"]):
        given[words.index("OUT")] += "2"
    assert looked_at(lambda: run(*given), places["HERE"]) == set()

"""Paths against the statuses that the real servers gave for a known set of files."""

from __future__ import annotations

import re

import pytest

from whimbrel.http.syntax.target import split_target
from whimbrel.http.syntax.url import Slashes, decode_path, escape_uri

SLASHES = {"off": Slashes.OFF, "on": Slashes.ON, "nodecode": Slashes.NO_DECODE}


def option(conf, name, default):
    match = re.search(rf"{name} (\w+)", conf)
    return match[1].lower() if match else default


def look_up(files, path, info_allowed):
    """The status of a static site for a decoded path, and the path a redirect goes to."""
    folders = {""} | {name[:at] for name in files for at, char in enumerate(name) if char == "/"}
    at = re.sub("/+", "/", path).strip("/")
    slash = path.endswith("/")
    if at in files and not slash:
        return 200, ""
    if at in folders:
        if not slash:
            return 301, path + "/"
        return (200, "") if f"{at}/index.html".lstrip("/") in files else (403, "")
    parts = at.split("/")
    for count in range(len(parts), 0, -1):
        if "/".join(parts[:count]) in files:
            return 200 if info_allowed else 404, ""
    return 404, ""


@pytest.mark.parametrize("title", ["random URL paths", "%2f, %5c, %00", "dot segments", "multiple slashes"])
def test_every_recorded_path(answers, title):
    seen = 0
    for case, version, request, response in answers("core-path", title):
        conf = case["conf"] if isinstance(case["conf"], str) else case["conf"][version]
        files = {}
        for name, content in case["files"].items():
            files[name.removeprefix("htdocs/").encode().decode("latin-1")] = content
        target = split_target(request["path"], "GET")
        if target is None or target.path is None or target.fragment is not None:
            continue
        merge = option(conf, "MergeSlashes", "on") == "on"
        slashes = SLASHES[option(conf, "AllowEncodedSlashes", "off")]
        path, status = decode_path(target.path, slashes, merge=merge, version22=version == "2.2")
        where = (case["id"], version, request["path"], response["status"], path, status)
        if not path.startswith("/"):
            status = status or 400
        moved = ""
        if not status:
            status, moved = look_up(files, path, option(conf, "AcceptPathInfo", "default") == "on")
        assert status == response["status"] or (status, response["status"]) == (403, 404), where
        if moved:
            location = (
                dict(map(tuple, response["headers"]))["Location"]
                .removeprefix("http://localhost")
                .partition("?")[0]
            )
            assert escape_uri(moved) == location, where
        seen += 1
    assert seen > 40

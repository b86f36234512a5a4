"""FileETag and its neighbours; the results of merging are those that 2.4.71 gave for the same sections."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from tests.support.access_site import AccessSite
from tests.support.site import Site

from whimbrel.base.dialect import V22
from whimbrel.config.core_config import (
    ETAG_DIGEST,
    ETAG_INODE,
    ETAG_MTIME,
    ETAG_NONE,
    ETAG_SIZE,
    CoreDirConfig,
    EtagBits,
    apply_signs,
)
from whimbrel.registry.settings import merge

LINE = "AH00526: Syntax error on line 1 of @/conf/httpd.conf:\n"
DEFAULT = 0
LETTERS = {"I": ETAG_INODE, "S": ETAG_SIZE, "M": ETAG_MTIME}


def bits(tmp_path: Path, *settings: str) -> int:
    """What nested sections with these FileETag lines come to."""
    now = CoreDirConfig()
    for words in settings:
        now = merge(
            now,
            Site(tmp_path, f"FileETag {words}\n" if words else "").load().main.defaults.record(CoreDirConfig),
        )
    records = {CoreDirConfig: now}
    apply_signs(records, {}, is_section=True)  # a last section without FileETag
    now = records[CoreDirConfig]
    return now.etag.value if isinstance(now.etag, EtagBits) else DEFAULT


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (["+INode"], "I"),
        (["INode -MTime"], "I"),
        (["All -INode"], "SM"),
        (["None +MTime"], "M"),
        (["None MTime"], "M"),
        (["INode", "+MTime"], "IM"),
        (["INode MTime", "-MTime"], "I"),
        (["None", "+MTime"], "M"),
        (["MTime", "INode"], "I"),
        (["-Size", "+Size"], "S"),
        (["None", "All"], "ISM"),
        (["INode +MTime", "-Size"], "IM"),
        (["All", "-MTime", "-Size", "+MTime"], "IM"),
        (["MTime Size", "-MTime", "", "+MTime"], "SM"),
    ],
)
def test_merged(tmp_path: Path, settings: list[str], expected: str) -> None:
    assert bits(tmp_path, *settings) == sum(LETTERS[letter] for letter in expected)


@pytest.mark.parametrize("settings", [["-MTime"], ["+INode", "-INode"], ["INode", "-INode"], [""]])
def test_default(tmp_path: Path, settings: list[str]) -> None:
    assert bits(tmp_path, *settings) == DEFAULT


@pytest.mark.parametrize("settings", [["MTime None"], ["None"], ["All", "None"], ["None", "-MTime"]])
def test_none(tmp_path: Path, settings: list[str]) -> None:
    assert bits(tmp_path, *settings) == ETAG_NONE


def test_digest_is_of_24(tmp_path: Path) -> None:
    assert bits(tmp_path, "Digest") == ETAG_DIGEST
    assert (
        Site(tmp_path, "FileETag Digest\n")
        .check("2.2")
        .endswith("Unknown keyword 'Digest' for FileETag directive")
    )


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("FileETag +None", "FileETag keyword 'None' cannot be used with '+' or '-'"),
        ("FileETag -All", "FileETag keyword 'All' cannot be used with '+' or '-'"),
        ('FileETag ""', "Unknown keyword '' for FileETag directive"),
        ("EnableMMAP maybe", "parameter must be 'on' or 'off'"),
        ("AllowEncodedSlashes x", "AllowEncodedSlashes must be On, Off, or NoDecode"),
        ("AcceptPathInfo x", "AcceptPathInfo must be set to on, off or default"),
    ],
)
def test_refused(tmp_path: Path, line: str, reason: str) -> None:
    assert Site(tmp_path, line + "\n").check() == LINE + reason


def test_encoded_slashes(tmp_path: Path) -> None:
    conf = Site(tmp_path, "AllowEncodedSlashes NoDecode\n").load(V22).main.defaults.record(CoreDirConfig)
    assert (conf.encoded_slashes, conf.decode_slashes) == (True, False)


NESTED = """FileETag MTime Size
<Directory "@DOCROOT@">
FileETag -MTime
</Directory>
<Directory "@DOCROOT@/in">
FileETag +MTime
</Directory>
<Directory "@DOCROOT@/in/none">
FileETag None
</Directory>
<Directory "@DOCROOT@/in/none/size">
FileETag +Size
</Directory>
"""


@pytest.mark.parametrize(
    ("folder", "tag"), [("", "1"), ("in/", "5af3107a40000"), ("in/none/", None), ("in/none/size/", "1")]
)
def test_folders_are_merged_before_they_are_laid_over_the_server(
    tmp_path: Path, folder: str, tag: str | None
) -> None:
    """Recorded of both versions: size; time, although the outer scopes leave the size; none; size."""
    site = AccessSite(tmp_path, NESTED)
    path = tmp_path / "htdocs" / folder
    path.mkdir(parents=True, exist_ok=True)
    (path / "f").write_bytes(b"x")
    os.utime(path / "f", (1600000000, 1600000000))
    found = re.search(r'ETag: "(.*)"', site.fetch(f"/{folder}f"))
    assert (found[1] if found else None) == tag


ETAG_CASES = {  # of the server, two directories and a location; parts of the ETag in 2.4.71
    "signed replaces after a merge": ("FileETag Size", "", "FileETag +INode", "", "I"),
    "signed changes the server's": ("FileETag Size", None, "FileETag +MTime", "", "SM"),
    "none with a sign": ("", "", "", "FileETag None +Size", ""),
    "none with a sign, merged": ("FileETag None +Size", "", "", "", "S"),
    "first plain word resets": ("", "", "FileETag Size\nFileETag MTime", "", "M"),
}


@pytest.mark.parametrize("case", ETAG_CASES)
def test_merged_file_etags(tmp_path: Path, case: str) -> None:
    server, outer, inner, location, parts = ETAG_CASES[case]
    conf = f"{server}\n"
    if outer is not None:
        conf += f'<Directory "@DOCROOT@">\nRequire all granted\nOptions None\n{outer}\n</Directory>\n'
    conf += f'<Directory "@DOCROOT@/in">\nOptions None\n{inner}\n</Directory>\n'
    conf += f"<Location /in>\nOptions None\n{location}\n</Location>\n"
    site = AccessSite(tmp_path, conf)
    response = site.fetch("/in/f.html")
    info = (tmp_path / "htdocs/in/f.html").stat()
    texts = {"I": info.st_ino, "S": info.st_size, "M": info.st_mtime_ns // 1000}
    tag = "-".join(f"{texts[part]:x}" for part in parts)
    assert re.findall(r'ETag: (?:W/)?"([^"]*)"', response) == ([tag] if tag else [])

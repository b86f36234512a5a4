"""Options of nested sections; the listings are those that httpd 2.4.71 gave for the same files.

2.2 merges Options with the same lines of merge_core_dir_configs, and takes the two lines on one.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.client import fetch
from tests.support.engine import build_engine

TWO_LINES = "Options +Indexes\nOptions MultiViews"
ONE_LINE = "Options +Indexes MultiViews"
FILES = {
    "htdocs/a/plain/f": "",
    "htdocs/a/core/.htaccess": "AddDefaultCharset Off\n",
    "htdocs/a/core/x/f": "",
    "htdocs/a/other/.htaccess": "IndexOptions FancyIndexing\n",
    "htdocs/a/section/f": "",
    "htdocs/a/minus/.htaccess": "Options -FollowSymLinks\n",
    "htdocs/a/minus/x/f": "",
    "htdocs/a/limit/.htaccess": "<Limit GET>\nAllow from all\n</Limit>\n",
    "htdocs/a/files/.htaccess": "<Files none>\n</Files>\n",
}
LISTED = {
    "": False,
    "plain/": False,
    "core/": True,  # a .htaccess file with a directive of the core merges Options, one without does not
    "core/x/": True,
    "other/": False,
    "section/": True,
    "minus/": True,
    "minus/x/": True,
    "limit/": True,
    "files/": True,
}


@pytest.mark.parametrize(("version", "lines"), [("2.4", TWO_LINES), ("2.2", TWO_LINES), ("2.2", ONE_LINE)])
def test_an_added_option_returns_in_the_next_section(tmp_path: Path, version: str, lines: str) -> None:
    files = dict(FILES)
    if version == "2.4":
        files["htdocs/a/limit/.htaccess"] = "<Limit GET>\nRequire all granted\n</Limit>\n"
    sections = (
        f'<Directory "@/htdocs/a">\n{lines}\n</Directory>\n<Directory "@/htdocs/a/section">\n</Directory>'
    )
    serving = build_engine(tmp_path, sections, files, version)
    assert {path: fetch(serving, f"/a/{path}").status == 200 for path in LISTED} == LISTED

"""The files of the page: complete, without inline code, without HTML from text."""

from __future__ import annotations

import re

from whimbrel.studio.page import FIELDS, load_page


def test_each_file_that_the_page_names_is_served() -> None:
    page = load_page()
    text = page["/"].data.decode()
    named = set(re.findall(r'(?:href|src)="(/[^"]+)"', text))
    for path, file in page.items():
        if path.endswith(".js"):
            named |= {f"/{name}" for name in re.findall(r'from "\./([\w.]+)"', file.data.decode())}
    assert named == set(page) - {"/"}


def test_the_page_has_no_inline_code_and_no_other_origin() -> None:
    for path, file in load_page().items():
        text = file.data.decode()
        assert re.search(r"<[^>]+\s(?:style|on\w+)=|<style|<script>|javascript:", text) is None, path
        assert (
            re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", text)
            is None
        )
        assert "//cdn" not in text and re.search(r'(?:src|href|url\()=?"?https?://', text) is None, path
    assert "unsafe" not in FIELDS["Content-Security-Policy"]

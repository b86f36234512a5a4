"""The configure line of 2.2, carried to 2.4."""

from __future__ import annotations

import pytest

from whimbrel.upgrade.files.config_nice import translate
from whimbrel.upgrade.model import Safety

OLD = """#! /bin/sh
#
# Created by configure

CFLAGS="-O2"; export CFLAGS
"./configure" \\
"--prefix=/usr/local/apache2" \\
"--enable-disk-cache" \\
"--enable-mem-cache" \\
"--disable-authn-alias" \\
"--with-mpm=worker" \\
"--with-pcre=/usr" \\
"--with-apr=/usr" \\
"--enable-so" \\
"$@"
"""


def test_names_change_and_gone_modules_go() -> None:
    wanted = OLD.replace("--enable-disk-cache", "--enable-cache-disk")
    wanted = wanted.replace('"--enable-mem-cache" \\\n', "").replace('"--disable-authn-alias" \\\n', "")
    assert translate(OLD).text == wanted


def test_findings_name_the_lines_of_the_old_file() -> None:
    found = translate(OLD, "x/config.nice").findings
    assert [(finding.place.path, finding.place.line) for finding in found] == [
        ("x/config.nice", line) for line in (8, 9, 10, 11, 14)
    ]
    assert [finding.safety is Safety.SAFE for finding in found] == [True, True, True, False, False]


def test_several_options_in_one_line_lose_only_their_own() -> None:
    assert (
        translate('"./configure" "--enable-mem-cache" "--enable-ssl" "$@"\n').text
        == '"./configure"  "--enable-ssl" "$@"\n'
    )


def test_what_22_did_by_itself_is_told() -> None:
    messages = " ".join(finding.message for finding in translate('"./configure" "$@"\n').findings)
    assert "prefork" in messages
    assert "PCRE" in messages
    assert "APR" in messages


def test_comments_say_nothing() -> None:
    text = '# --enable-mem-cache\n"--with-mpm=event" "--with-pcre"\n"--with-apr=/usr"\n'
    assert translate(text).text == text


def test_a_second_time_changes_nothing() -> None:
    once = translate(OLD).text
    assert translate(once).text == once


@pytest.mark.parametrize("option", ["--disable-asis", "--disable-imagemap", "--disable-cgi", "--enable-so"])
def test_what_24_does_anyway_is_kept(option: str) -> None:
    """APACHE_MODULE of 2.4 leaves these modules out of the default build, and has mod_so in it."""
    text = f'"./configure" \\\n"{option}" \\\n"$@"\n'
    found = translate(text)
    assert found.text == text
    assert found.findings[0].message == f"{option} is the default"

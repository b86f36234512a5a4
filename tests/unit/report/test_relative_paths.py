"""Places of a text are paths below one directory, which a line names."""

from __future__ import annotations

from whimbrel.report.relative_paths import with_relative_places

TEXT = """old and new: different
ready for 2.4: no: 1 cause (/etc/httpd/conf/a.conf:3)
    /etc/httpd/conf/a.conf:3: Require ip 10.1
    /srv/www/.htaccess:1: Deny from all
    /etc/httpd/conf has no number
First: look at /etc/httpd/conf/a.conf:3: whimbrel explain /etc/httpd/conf/a.conf:3
Next: whimbrel explain /etc/httpd/conf/a.conf:3
"""


def test_places_lose_the_directory_and_commands_keep_it() -> None:
    assert with_relative_places(TEXT, "/etc/httpd") == (
        "old and new: different\n"
        "ready for 2.4: no: 1 cause (conf/a.conf:3)\n"
        "files: below /etc/httpd\n"
        "    conf/a.conf:3: Require ip 10.1\n"
        "    /srv/www/.htaccess:1: Deny from all\n"
        "    /etc/httpd/conf has no number\n"
        "First: look at conf/a.conf:3: whimbrel explain /etc/httpd/conf/a.conf:3\n"
        "Next: whimbrel explain /etc/httpd/conf/a.conf:3\n"
    )


def test_the_verdict_stays_the_first_line() -> None:
    text = "same\n  /a/b:1: x\n1\n2\nready for 2.4: yes\n"
    assert with_relative_places(text, "/a") == "same\nfiles: below /a\n  b:1: x\n1\n2\nready for 2.4: yes\n"


def test_a_text_without_places_is_the_same() -> None:
    assert with_relative_places("/other/b:1: x\n", "/a") == "/other/b:1: x\n"
    assert with_relative_places(TEXT, "") == TEXT

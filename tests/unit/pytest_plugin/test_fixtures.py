"""The pytest plugin, run by pytest itself over test files that a user would write."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.performance.counting import count_calls

from whimbrel.pytest_plugin.tested_site import Defaults, HtaccessSites, Sites

pytest_plugins = ["pytester"]
PLUGIN = ("-p", "no:whimbrel", "-p", "whimbrel.pytest_plugin.fixtures", "-p", "no:cacheprovider")
CONF = """LoadModule mpm_event_module modules/mod_mpm_event.so
LoadModule alias_module modules/mod_alias.so
LoadModule authz_core_module modules/mod_authz_core.so
LoadModule authz_host_module modules/mod_authz_host.so
Listen 80
ServerName www.example.com
DocumentRoot "{root}/htdocs"
Redirect permanent /old http://www.example.com/new
Redirect /secure https://www.example.com/secure
<Directory "{root}/htdocs">
    Require all granted
</Directory>
<Location /intern>
    Require ip 10.0.0.0/8
</Location>
"""
CONF_22 = """Listen 80
DocumentRoot "{root}/htdocs"
<Directory "{root}/htdocs">
    Order allow,deny
    Allow from ${{WHO}}
</Directory>
"""


def site_in(root: Path) -> Path:
    """Write a site; return its main file."""
    (root / "htdocs").mkdir()
    (root / "htdocs/index.txt").write_text("hello\n")
    conf = root / "httpd.conf"
    conf.write_text(CONF.format(root=root))
    return conf


def outcome(pytester: pytest.Pytester, text: str, *arguments: str) -> pytest.RunResult:
    """Run a test file with the plugin in this process."""
    pytester.makepyfile(text)
    return pytester.runpytest_inprocess(*PLUGIN, *arguments)


def test_expectations_that_hold(pytester: pytest.Pytester) -> None:
    site_in(pytester.path)
    (pytester.path / "users").touch()
    result = outcome(
        pytester,
        """
        def test_site(httpd):
            site = httpd("httpd.conf")
            site.get("/old/x").redirects_to("/new/x").has_status(301)
            site.get("/old/x").redirects_to("http://www.example.com/new/x", status=301)
            site.get("/old/x", host="other.example").redirects_to("http://www.example.com/new/x")
            site.get("/secure").redirects_to("https://www.example.com/secure")
            site.get("https://www.example.com/secure").redirects_to("/secure")
            site.get("/secure", host="WWW.example.com", tls=True).redirects_to("/secure")
            site.get("/intern").is_denied().has_status(403)
            site.get("/intern", client="10.0.0.7").has_status(404)
            page = site.get("/index.txt").serves("htdocs/index.txt").has_header("Content-Length", "6")
            assert page.body == b"hello\\n" and page.status == 200
            site.get("/index.txt", method="HEAD").has_status(200)
            assert httpd("httpd.conf").site is site.site
        """,
    )
    result.assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("expectation", "title"),
    [
        ('get("/old/x").redirects_to("/elsewhere")', "expected a redirect to /elsewhere, got 301 to http://"),
        ('get("/old/x").redirects_to("/new/x", status=302)', "with status 302, got 301 to"),
        ('get("/secure").redirects_to("/secure")', "got 302 to https://www.example.com/secure"),
        ('get("/secure", host="a.example").redirects_to("/secure")', "got 302 to https://www."),
        ('get("/index.txt").is_denied()', "expected a refusal (401 or 403), got 200"),
        ('get("/none").has_status(200)', "GET /none: expected status 200, got 404"),
        ('get("/index.txt").serves("other.txt")', "expected the file other.txt, got 200"),
        ('get("/index.txt").serves("dex.txt")', "expected the file dex.txt, got 200"),
        ('get("/none").serves("none")', "expected the file none, got 404"),
        ('get("/index.txt").has_header("X-A")', "expected the field X-A, got none"),
        ('get("/index.txt").has_header("Content-Length", "7")', "got Content-Length: 6"),
    ],
)
def test_an_expectation_that_fails_shows_the_explanation(
    pytester: pytest.Pytester, expectation: str, title: str
) -> None:
    site_in(pytester.path)
    result = outcome(pytester, f'def test_it(httpd):\n    httpd("httpd.conf").{expectation}\n')
    result.assert_outcomes(failed=1)
    text = result.stdout.str()
    assert title in text and "httpd 2.4" in text and "because" in text
    assert "tested_answer.py" not in text, "the frames of the plugin are hidden"
    if "/old/x" in expectation:
        assert "Redirect permanent /old http://www.example.com/new" in text and "httpd.conf:8" in text


def test_the_loading_error_is_the_failure(pytester: pytest.Pytester) -> None:
    conf = site_in(pytester.path)
    conf.write_text(conf.read_text() + "Bogus on\n")
    result = outcome(pytester, 'def test_it(httpd):\n    httpd("httpd.conf").get("/").has_status(200)\n')
    result.assert_outcomes(failed=1)
    number = len(conf.read_text().splitlines())
    result.stdout.fnmatch_lines([f"*Syntax error on line {number} of {conf}:", "*Invalid command 'Bogus'*"])
    assert "Traceback" not in result.stdout.str() and "tested_site.py" not in result.stdout.str()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ('httpd("none.conf")', "none.conf: No such file or directory"),
        ("httpd()", "needs whimbrel_conf in pytest.ini"),
        ('httpd("httpd.conf", dialect="2.5")', "dialect '2.5': not one of 2.4, 2.2, guide"),
        ('httpd("htdocs")', "htdocs: no configuration in there"),
        ('httpd("binary.conf")', "binary.conf"),
        ('httpd("httpd.conf").get("/a b")', "a URL contains no blanks"),
    ],
)
def test_bad_input_fails_with_one_message(pytester: pytest.Pytester, call: str, message: str) -> None:
    site_in(pytester.path)
    (pytester.path / "binary.conf").write_bytes(b"\x7fELF\x00\x01\x02")
    result = outcome(pytester, f"def test_it(httpd):\n    {call}\n")
    result.assert_outcomes(failed=1)
    text = result.stdout.str()
    assert message in text and "tested_site.py" not in text and "During handling" not in text


def test_the_options_of_pytest_ini(pytester: pytest.Pytester) -> None:
    conf = site_in(pytester.path)
    conf.write_text(CONF_22.format(root=pytester.path))
    (pytester.path / "vars").write_text("export WHO=192.0.2.1\n")
    pytester.makeini(
        "[pytest]\nwhimbrel_conf = httpd.conf\nwhimbrel_dialect = 2.2\nwhimbrel_envvars = vars\n"
    )
    result = outcome(
        pytester,
        """
        def test_it(httpd):
            assert httpd().site.dialect == "2.2"
            httpd().get("/index.txt").has_status(200)
            httpd().get("/index.txt", client="192.0.2.2").is_denied()
        """,
    )
    result.assert_outcomes(passed=1)


def test_a_changed_file_is_loaded_anew(tmp_path: Path) -> None:
    (tmp_path / ".htaccess").write_text("Redirect /a /b\n")
    sites = Sites(Defaults(tmp_path))
    htaccess = HtaccessSites(sites)
    first = htaccess()
    first.get("/a").redirects_to("/b")
    assert htaccess().site is first.site and htaccess(at="/x/").site is not first.site
    (tmp_path / ".htaccess").write_text("Redirect /a /changed\n")
    assert htaccess().site is not first.site
    htaccess().get("/a").redirects_to("/changed")


def test_the_sites_of_a_session_are_bounded(tmp_path: Path) -> None:
    from whimbrel.pytest_plugin.tested_site import MAX_SITES

    sites = Sites(Defaults(tmp_path))
    for number in range(MAX_SITES + 4):
        (tmp_path / f"{number}.htaccess").write_text("Redirect /a /b\n")
        HtaccessSites(sites)(f"{number}.htaccess")
    assert len(sites._sites) == MAX_SITES


def test_three_hundred_redirects_parse_nothing_again(tmp_path: Path) -> None:
    """A request costs a bounded number of calls, whatever the length of the table."""
    lines = "".join(f"Redirect permanent /old/{n} /new/{n}\n" for n in range(300))
    (tmp_path / ".htaccess").write_text(lines)
    htaccess = HtaccessSites(Sites(Defaults(tmp_path)))
    htaccess().get("/old/0").redirects_to("/new/0")

    def table() -> None:
        for n in range(300):
            htaccess().get(f"/old/{n}").redirects_to(f"/new/{n}")

    assert count_calls(table) / 300 < 2500


def test_the_plugin_imports_nothing_before_its_use(tmp_path: Path) -> None:
    code = "import sys, pytest; import whimbrel.pytest_plugin.fixtures; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    own = [name for name in done.stdout.split() if name.startswith("whimbrel.")]
    assert own == ["whimbrel.pytest_plugin", "whimbrel.pytest_plugin.fixtures"]

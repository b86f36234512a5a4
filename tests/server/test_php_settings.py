"""Settings of PHP, heads and ranges: the same requests to apache2 with libphp and to Whimbrel."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.differential.php_pair import exchange, missing, start
from tests.differential.servers import APACHE, WHIMBREL, ProgramProcess

MISSING = missing()
pytestmark = pytest.mark.skipif(bool(MISSING), reason=MISSING)
# A variable of the environment is the way by which a line's end gets into a value.
SMUGGLED = "a'\nmemory_limit=9M\nextension=/none/x.so\n[x]\nb='\nmemory_limit=8M\r\n"
# The names are shown with value, access level, and whether the script may change them.
SHOW = """<?php $out = [];
foreach (json_decode(file_get_contents(__DIR__ . '/names')) as $name) {
    $entry = ini_get_all(null, true)[$name];
    $set = @ini_set($name, $entry['local_value']);
    $out[$name] = [ini_get($name), $entry['global_value'], $entry['access'], $set];
}
echo json_encode([$out, function_exists('exec'), extension_loaded('sockets')]);"""
NAMES = ["memory_limit", "upload_max_filesize", "auto_prepend_file", "disable_functions", "highlight.string",
         "open_basedir", "enable_dl", "opcache.enable", "error_prepend_string", "date.timezone"]  # fmt: skip
HTACCESS = {
    "levels": "php_value memory_limit 55M\nphp_value upload_max_filesize 7M\nphp_flag enable_dl on\n"
    "php_value disable_functions exec\nphp_value extension /tmp/x.so\nphp_value unknown.name 1\n",
    "none": "php_value auto_prepend_file none\nphp_value error_prepend_string NoNe\n",
    "letters": 'php_value highlight.string "$pool ${PATH}x \'a\' \\"b\\" ; c = d [x]\\\\"\n',
    "names": 'php_value "a]b" 1\nphp_value "[HOST=localhost]" 1\nphp_value "[PATH=/]" 1\n'
    'php_value "memory_limit\\nextension" 1\nphp_value precision 5\n',
    "smuggled": 'php_value highlight.string "${SMUGGLED}"\nphp_value error_prepend_string "${SMUGGLED}"\n',
    "cache": "php_flag opcache.enable off\n",
    "base": "php_value open_basedir %SITE%/htdocs\n",
    "outside": "php_value open_basedir /none\n",
    "prepended": "php_value auto_prepend_file /none\n",
    "plain": "",
}
# Values of memory_limit; PHP refuses less than what a process has already.
REFUSED = {"unbounded": "-1", "refused-text": "null", "refused-zero": "0"}
FATAL = ("outside", "prepended")
SCRIPTS = {
    "status": "header('Status: 404 Not Found'); echo 'x';",
    "line": "header('HTTP/1.1 404 Gone away'); echo 'x';",
    "line10": "header('HTTP/1.0 404 Gone away'); echo 'x';",
    "ok10": "header('HTTP/1.0 200 OK'); echo 'x';",
    "short": "header('HTTP/1.0 404'); echo 'x';",
    "line2": "header('HTTP/2 404 Two'); echo 'x';",
    "odd": "header('HTTP/1.1 999 Odd'); echo 'x';",
    "code": "http_response_code(404); echo 'x';",
    "third": "header('X-A: 1', true, 503); echo 'x';",
    "moved": "header('Location: /x'); echo 'x';",
    "made": "header('Location: /x'); header('HTTP/1.0 201 Made'); echo 'x';",
    "fatal": "echo 'x'; nothing();",
    "unchanged": "header('HTTP/1.0 304 Not Modified'); header('ETag: \"a\"');",
    "length": "header('Content-Length: 1000'); echo str_repeat('0123456789', 100);",
    "flushed": "echo 'abc'; ob_flush(); flush(); echo 'def';",
    "bare": "header('X-C'); echo 'x';",
    "long": "header('X-G: ' . str_repeat('y', 9000)); echo 'x';",
    "longer": "header('X-G: ' . str_repeat('y', 60000)); echo 'x';",
    "full": "header('X-G: ' . str_repeat('y', 5000)); echo str_repeat('x', 7990);",
    "short-length": "header('Content-Length: 5'); echo str_repeat('x', 8000);",
    "no-length": "header('Content-Length: x'); echo str_repeat('x', 100);",
    "lengths": "header('Content-Length: 7'); header('Content-Length: 99', false); echo str_repeat('x', 99);",
    "teapot": "http_response_code(418); echo 'x';",
    "teapot2": "header('HTTP/2 418 Two'); echo 'x';",
    "type": "header('Content-Type: Text/X-Odd; Charset=A'); echo 'x';",
    "powered": "header('X-Powered-By: a'); echo 'x';",
    **{f"size{size}": f"echo str_repeat('x', {size});" for size in (0, 100, 8000, 8001, 8190, 8500, 90000)},
}
RANGES = ("", "Range: bytes=5-8", "Range: bytes=5000-5001", "Range: bytes=99999-")


class Site(NamedTuple):
    """Both servers: port of apache2, port and process of Whimbrel."""

    root: Path
    apache: int
    whimbrel: int
    process: ProgramProcess


def write_site(site: Path) -> None:
    """Write the scripts and their .htaccess files, and 60 directories with settings of their own."""
    root = site / "htdocs"
    htaccess = {**HTACCESS, **{f"d{number}": f"php_value precision {number}\n" for number in range(30)}}
    names = ("precision", "serialize_precision", "default_charset", "include_path", "error_log", "user_agent")
    for number in range(30, 60):
        chosen = [name for bit, name in enumerate(names) if number >> bit & 1]
        htaccess[f"d{number}"] = "".join(f"php_value {name} {number}\n" for name in chosen)
    for name, text in htaccess.items():
        (root / name).mkdir(parents=True)
        (root / name / ".htaccess").write_text(text.replace("%SITE%", str(site)))
        (root / name / "show.php").write_text(SHOW)
        (root / name / "names").write_text(json.dumps(NAMES))
    for number in range(60):
        text = "<?php echo ini_get('precision'), '|', ini_get('error_log');"
        (root / f"d{number}/show.php").write_text(text)
    for name in ("one", "two", *REFUSED):
        (root / f"admin-{name}").mkdir()
        (root / f"admin-{name}/show.php").write_text(
            "<?php echo json_encode([ini_get('memory_limit'), ini_set('memory_limit', '200M'),"
            "ini_get('enable_dl'), function_exists('exec')]);"
        )
    (site / "above.php").write_text("<?php echo ini_get('precision');")
    (site / ".htaccess").write_text("php_value precision 11\n")
    for name, text in SCRIPTS.items():
        (root / f"{name}.php").write_text(f"<?php {text}")


def sections(site: Path) -> str:
    """Return sections with php_admin_value lines: the same names with other values."""
    return "".join(
        f"<Directory {site}/htdocs/admin-{name}>\nphp_admin_value memory_limit {value}\n</Directory>\n"
        for name, value in REFUSED.items()
    ) + "".join(
        f"<Directory {site}/htdocs/admin-{name}>\nphp_admin_value memory_limit {size}M\n"
        f"php_admin_flag enable_dl {flag}\nphp_admin_value disable_functions exec\n</Directory>\n"
        for name, size, flag in (("one", 77, "on"), ("two", 78, "off"))
    )


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    # not below the directory of pytest, which another session closes to other users
    with ExitStack() as stack:
        base = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        base.chmod(0o755)
        write_site(base / "site")
        more, environment = sections(base / "site"), {"SMUGGLED": SMUGGLED}
        apache, whimbrel = (start(stack, program, base, more, environment) for program in (APACHE, WHIMBREL))
        yield Site(base / "site", apache.port, whimbrel.port, whimbrel)


@pytest.mark.parametrize("name", HTACCESS)
def test_settings_of_htaccess_files_are_those_of_libphp(site: Site, name: str) -> None:
    for target in (f"/{name}/show.php", "/plain/show.php"):
        theirs, ours = exchange(site.apache, target), exchange(site.whimbrel, target)
        status = b"HTTP/1.0 500 Internal Server Error" if name in FATAL else b"HTTP/1.1 200 OK"
        assert target[1:6] == "plain" or theirs[0][0] == status
        assert ours == theirs


def test_admin_values_are_those_of_libphp_but_for_disabled_functions(site: Site) -> None:
    for name in ("one", "two", "one", "two"):
        target = f"/admin-{name}/show.php"
        theirs, ours = exchange(site.apache, target), exchange(site.whimbrel, target)
        assert json.loads(theirs[1])[1] is False and ours == theirs


def test_an_admin_value_that_php_refuses_leaves_that_of_php_ini(site: Site) -> None:
    for name in ("unbounded", "refused-text", "refused-zero") * 2:
        target = f"/admin-{name}/show.php"
        theirs, ours = (exchange(port, target) for port in (site.apache, site.whimbrel))
        assert json.loads(theirs[1])[:2] == ["-1" if name == "unbounded" else "128M", False]
        assert ours == theirs


def test_a_script_above_the_document_root_has_its_settings(site: Site) -> None:
    assert exchange(site.whimbrel, "/above")[1] == exchange(site.apache, "/above")[1] == b"11"


def test_a_script_that_cannot_be_read_is_a_fatal_error(site: Site) -> None:
    if os.getuid() != 0:
        pytest.skip("needs root: a file that the server's user may not read")
    path = site.root / "htdocs/unread.php"
    path.write_text("<?php echo 1;")
    path.chmod(0)
    theirs, ours = (exchange(port, "/unread.php") for port in (site.apache, site.whimbrel))
    assert theirs[0][0] == b"HTTP/1.0 500 Internal Server Error" and ours == theirs
    log = (site.root.parent / "whimbrel/error_log").read_text()
    assert f"PHP Fatal error:  Failed opening required '{path}'" in log


def test_an_end_of_php_without_a_head_is_an_error(site: Site) -> None:
    path = site.root / "htdocs/ended"
    path.mkdir()
    (path / ".htaccess").write_text("php_value session.name 0\n")
    (path / "show.php").write_text("<?php echo 1;")
    assert exchange(site.whimbrel, "/ended/show.php")[0][0] == b"HTTP/1.1 500 Internal Server Error"
    log = (site.root.parent / "whimbrel/error_log").read_text()
    assert "the process of PHP ended before its response" in log


def test_an_admin_value_in_a_htaccess_file_is_refused(site: Site) -> None:
    path = site.root / "htdocs/refused"
    path.mkdir()
    (path / "show.php").write_text("<?php echo 1;")
    for line in ("php_admin_value memory_limit 1M", "php_admin_flag enable_dl on"):
        (path / ".htaccess").write_text(line)
        for port in (site.apache, site.whimbrel):
            assert exchange(port, "/refused/show.php")[0][0] == b"HTTP/1.1 500 Internal Server Error"


@pytest.mark.parametrize("name", SCRIPTS)
def test_heads_and_ranges_are_those_of_libphp(site: Site, name: str) -> None:
    for field in RANGES:
        for version in ("1.1", "1.0"):
            fields = [field] if field else []
            theirs = exchange(site.apache, f"/{name}.php", *fields, version=version)
            ours = exchange(site.whimbrel, f"/{name}.php", *fields, version=version)
            assert ours == theirs, (field, version)


def test_sixty_directories_share_processes(site: Site) -> None:
    for _ in range(2):
        for number in range(60):
            target = f"/d{number}/show.php"
            theirs = exchange(site.apache, target)
            assert theirs[0][0] == b"HTTP/1.1 200 OK" and exchange(site.whimbrel, target) == theirs, target
    processes = php_processes(site.process.process.pid)
    # base, values, and the two sets of admin names; each with its children for requests one after the other
    assert 0 < len(processes) <= 12, processes


def php_processes(ancestor: int) -> list[int]:
    """Return the processes of php-fpm below *ancestor*."""
    parents: dict[int, int] = {}
    names: dict[int, str] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            before, _, after = path.read_text().rpartition(")")
        except OSError:
            continue
        number, _, name = before.partition(" (")
        parents[int(number)], names[int(number)] = int(after.split()[1]), name

    def is_below(pid: int) -> bool:
        while pid in parents and pid != ancestor:
            pid = parents[pid]
        return pid == ancestor

    return [pid for pid, name in names.items() if name.startswith("php-fpm") and is_below(pid)]

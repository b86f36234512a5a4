"""The built-in mod_php with the machine's php-fpm: applications see what libphp8.2.so under apache2 shows."""

from __future__ import annotations

import os
import re
import shutil
import signal
from pathlib import Path

import pytest
from tests.server.conftest import ServerProcess, children, within

from whimbrel.modules.php.mod_php.interpreter import find_interpreter

FOUND = find_interpreter(8)
pytestmark = pytest.mark.skipif(FOUND is None or not FOUND.is_fpm, reason="php-fpm is not installed")
DOKUWIKI = Path("/usr/share/dokuwiki")
BASE = """
LoadModule php_module m/libphp8.2.so
LoadModule rewrite_module m/mod_rewrite.so
LogLevel info
<FilesMatch "\\.php$">
    SetHandler application/x-httpd-php
</FilesMatch>
AddType application/x-httpd-php-source .phps
DirectoryIndex index.php
"""


def start(server: ServerProcess, files: dict[str, str], more: str = "") -> None:
    """Start *server* with *files* below its document root."""
    for name, text in files.items():
        path = server.root / "htdocs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (server.root / "conf/extra.conf").write_text(BASE + more.replace("ROOT", str(server.root)))
    server.start()


def body(reply: bytes) -> str:
    """Return the body of a reply."""
    return reply.partition(b"\r\n\r\n")[2].decode()


def request(path: str, *fields: str, data: str = "", method: str = "GET") -> bytes:
    """Return the bytes of a request that ends its connection."""
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", "Connection: close", *fields]
    if data:
        lines.append(f"Content-Length: {len(data)}")
    return ("\r\n".join(lines) + "\r\n\r\n" + data).encode()


def keeper_of(server: ServerProcess) -> int:
    """Return the process of the master that has php-fpm as its child."""
    for child in server.workers():
        for grandchild in children(child):
            if b"php-fpm" in Path(f"/proc/{grandchild}/cmdline").read_bytes():
                return child
    raise AssertionError("no keeper")


def fpm_processes(keeper: int) -> list[int]:
    """Return the processes of php-fpm below *keeper*."""
    try:
        masters = children(keeper)
        return [*masters, *(child for master in masters for child in children(master))]
    except OSError:
        return []


def is_running(pid: int) -> bool:
    """Return True if the process exists and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_variables_are_those_of_libphp(server: ServerProcess) -> None:
    script = "<?php echo json_encode([$_SERVER, apache_request_headers()], JSON_UNESCAPED_SLASHES);"
    start(server, {"a.php": script, ".htaccess": "RewriteEngine On\nRewriteRule ^r/(.*) /a.php/$1\n"},
          "<Directory ROOT/htdocs>\nAllowOverride All\n</Directory>\n")  # fmt: skip
    text = body(server.ask(request("/a.php/p/i?q=1", "Authorization: Basic Ym9iOnB3", "X-One: 1")))
    for pair in (
        '"PHP_SELF":"/a.php/p/i"',
        '"PATH_INFO":"/p/i"',
        '"SCRIPT_NAME":"/a.php"',
        '"QUERY_STRING":"q=1"',
        '"PHP_AUTH_USER":"bob"',
        '"PHP_AUTH_PW":"pw"',
        '"X-One":"1"',
        '"Authorization":"Basic Ym9iOnB3"',
    ):
        assert pair in text, text
    assert "PHP_VALUE" not in text
    rewritten = body(server.get("/r/x/y"))
    assert '"PATH_INFO":"/x/y"' in rewritten and '"REDIRECT_URL":"/r/x/y"' in rewritten
    assert '"PHP_SELF":"/a.php/x/y"' in rewritten
    assert "bob" not in rewritten
    assert within(lambda: " 200 " in (server.root / "logs/access_log").read_text())


def test_settings_of_one_directory_stay_there(server: ServerProcess) -> None:
    show = "<?php echo ini_get('memory_limit'), '|', ini_get('upload_max_filesize'), '|', "
    show += "var_export(ini_set('memory_limit', '300M'), true);"
    start(
        server,
        {
            "a.php": show,
            "sub/a.php": show,
            "sub/.htaccess": "php_value memory_limit 55M\nphp_value upload_max_filesize 1M\n",
            "bad/a.php": show,
            "bad/.htaccess": "php_admin_value memory_limit 1M\n",
            "off/a.php": "source",
            "off/.htaccess": "php_flag engine off\n",
        },
        "php_value memory_limit 99M\n<Directory ROOT/htdocs>\nAllowOverride Options\n"
        "php_admin_value upload_max_filesize 7M\n</Directory>\n"
        "<Directory ROOT/htdocs/locked>\nphp_admin_value memory_limit 77M\n</Directory>\n",
    )
    assert body(server.get("/a.php")) == "99M|7M|'99M'"
    assert body(server.get("/sub/a.php")) == "55M|7M|'55M'"
    assert body(server.get("/a.php")) == "99M|7M|'99M'"
    assert server.get("/bad/a.php").startswith(b"HTTP/1.1 500 ")
    assert within(lambda: "php_admin_value not allowed here" in server.errors())
    assert body(server.get("/off/a.php")) == "source"


def test_admin_values_cannot_be_changed(server: ServerProcess) -> None:
    show = "<?php echo ini_get('memory_limit'), var_export(ini_set('memory_limit', '300M'), true);"
    start(
        server,
        {"a.php": show, ".htaccess": "php_value memory_limit 1M\nSetEnv PHP_ADMIN_VALUE memory_limit=2M\n"},
        "LoadModule env_module m/mod_env.so\n"
        "<Directory ROOT/htdocs>\nAllowOverride All\nphp_admin_value memory_limit 77M\n</Directory>\n",
    )
    assert body(server.get("/a.php")) == "77Mfalse"


def test_fields_and_statuses(server: ServerProcess) -> None:
    script = (
        '<?php header("ETag: \\"abc\\""); header("X-B: 1"); header("X-B: 2", false); setcookie("a", "b");'
        'header("Last-Modified: Mon, 01 Jan 2024 00:00:00 GMT"); header("Content-Length: 1"); echo "x";'
    )
    files = {"h.php": script, "s.php": '<?php header("HTTP/1.1 418 Teapot"); echo "y";'}
    files["l.php"] = '<?php header("Location: /foo");'
    start(server, files | {"c.phps": '<?php echo "secret";'})
    head = server.ask(request("/h.php", 'If-None-Match: "abc"')).partition(b"\r\n\r\n")[0].decode()
    assert head.startswith("HTTP/1.1 200 OK\r\n")
    assert "X-B: 1\r\nX-B: 2\r\n" in head and "Set-Cookie: a=b" in head and "Content-Length: 1" in head
    assert server.get("/s.php").startswith(b"HTTP/1.1 418 Teapot\r\n")
    assert server.get("/l.php").startswith(b"HTTP/1.1 302 Found\r\n")
    assert "highlight" not in body(server.get("/c.phps")) and "<code>" in body(server.get("/c.phps"))
    assert server.get("/none.php").startswith(b"HTTP/1.1 404 ")
    text = f"script '{server.root}/htdocs/none.php' not found or unable to stat"
    assert within(lambda: re.search(r"\[php:error\].*" + re.escape(text), server.errors()))


def test_bodies_and_messages(server: ServerProcess) -> None:
    files = {"p.php": "<?php echo $_POST['a'] ?? '-', strlen(file_get_contents('php://input'));"}
    files["e.php"] = '<?php error_log("mine"); echo $undefined; nothing();'
    start(server, files, "php_flag display_errors off\nphp_flag log_errors on\n")
    form = "Content-Type: application/x-www-form-urlencoded"
    assert body(server.ask(request("/p.php", form, data="a=1", method="POST"))) == "13"
    chunked = request("/p.php", form, "Transfer-Encoding: chunked", method="POST") + b"3\r\na=2\r\n0\r\n\r\n"
    assert body(server.ask(chunked)) == "23"
    big = request("/p.php", "Content-Type: text/plain", data="x" * 3_000_000, method="POST")
    assert body(server.ask(big)) == "-3000000"
    assert server.get("/e.php").startswith(b"HTTP/1.0 500 ")  # as libphp does
    assert within(lambda: "PHP Fatal error" in server.errors())
    log = server.errors()
    assert re.search(r"\[php:notice\].* mine\n", log)
    assert re.search(r"\[php:warn\].* PHP Warning:  Undefined variable \$undefined in ", log)
    assert re.search(r"\[php:error\].* PHP Fatal error:  Uncaught Error: ", log)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_no_process_of_php_is_left(server: ServerProcess, number: int) -> None:
    start(server, {"a.php": "<?php echo 1;"})
    assert body(server.get("/a.php")) == "1"
    keeper = keeper_of(server)
    running = [keeper, *fpm_processes(keeper)]
    assert len(running) >= 3
    server.signal(number)
    assert within(lambda: not any(map(is_running, running)))


def test_killed_processes_of_php_are_replaced(server: ServerProcess) -> None:
    start(server, {"a.php": "<?php echo 1;"})
    server.get("/a.php")
    keeper = keeper_of(server)
    for pid in fpm_processes(keeper)[::-1]:
        os.kill(pid, signal.SIGKILL)
        assert body(server.get("/a.php")) == "1", server.errors()
    old = fpm_processes(keeper)
    os.kill(keeper, signal.SIGKILL)
    assert within(lambda: not any(map(is_running, old)))
    assert body(server.get("/a.php")) == "1"


def test_a_restart_reads_new_settings(server: ServerProcess) -> None:
    start(server, {"a.php": "<?php echo ini_get('memory_limit');"}, "php_value memory_limit 40M\n")
    assert body(server.get("/a.php")) == "40M"
    extra = server.root / "conf/extra.conf"
    extra.write_text(extra.read_text().replace("40M", "41M"))
    for number in (signal.SIGUSR1, signal.SIGHUP):
        server.signal(number)
        assert within(lambda: body(server.get("/a.php")) == "41M")


def test_without_php_the_start_is_refused(server: ServerProcess) -> None:
    server.changes = (
        "from whimbrel.modules.php.mod_php import interpreter\n"
        "interpreter.find_interpreter = lambda major: None"
    )
    (server.root / "conf/extra.conf").write_text(BASE)
    assert "Syntax OK" in server.run("-t").stderr
    server.start()
    assert server.ended()
    assert "php: no PHP on this machine: install php-fpm or php-cgi (Debian and Ubuntu: " in server.errors()


def test_a_client_that_goes_away_ends_its_script(server: ServerProcess) -> None:
    out = server.root / "out"
    out.mkdir()
    out.chmod(0o777)
    note = f"register_shutdown_function(fn() => file_put_contents('{out}/end', connection_aborted()));"
    loop = "for ($i = 0; $i < 600; $i++) { echo str_repeat('x', 9000); flush(); usleep(50000); }"
    start(server, {"l.php": f"<?php {note} {loop}"})
    with server.connect() as wire:
        wire.sendall(request("/l.php"))
        assert wire.recv(100)
    assert within(lambda: (out / "end").exists())
    assert (out / "end").read_text() == "1"


# dokuwiki ----------------------------------------------------------------------------------------
def install_dokuwiki(server: ServerProcess) -> None:
    """Copy the packaged wiki with a configuration and data of its own; its .htaccess is the package's."""
    root = server.root / "htdocs/wiki"
    shutil.copytree(DOKUWIKI, root, symlinks=False)
    shutil.copytree("/etc/dokuwiki", server.root / "wikiconf", symlinks=False,
                    ignore=shutil.ignore_patterns("*.auth.php", "apache.conf"))  # fmt: skip
    data, conf = server.root / "wikidata", server.root / "wikiconf"
    for name in "pages attic media media_attic media_meta meta cache index locks tmp log".split():
        (data / name).mkdir(parents=True, exist_ok=True)
    (root / "inc/preload.php").write_text(f"<?php define('DOKU_CONF', '{conf}/');")
    (conf / "local.php").write_text(
        f"<?php\n$conf['savedir'] = '{data}';\n$conf['useacl'] = 1;\n$conf['superuser'] = '@admin';\n"
        "$conf['template'] = 'dokuwiki';\n$conf['authtype'] = 'authplain';\n$conf['updatecheck'] = 0;\n"
        "$conf['dnslookups'] = 0;\n"
    )
    import hashlib

    hashed = hashlib.md5(b"secret").hexdigest()  # one of the schemes that the wiki recognizes
    (conf / "users.auth.php").write_text(f"ann:{hashed}:Ann:ann@localhost:admin,user\n")
    (conf / "acl.auth.php").write_text("*\t@ALL\t1\n*\t@user\t8\n")
    (data / "pages/start.txt").write_text("====== Whimbrels ======\nA **wader**.\n")
    if os.getuid() == 0:
        for path in (data, *data.rglob("*"), conf, *conf.rglob("*")):
            shutil.chown(path, "www-data", "www-data")


@pytest.mark.skipif(not DOKUWIKI.exists(), reason="dokuwiki is not installed")
def test_dokuwiki_pages_login_and_upload(server: ServerProcess) -> None:
    install_dokuwiki(server)
    section = "<Directory ROOT/htdocs/wiki>\nAllowOverride All\nOptions +FollowSymLinks\n</Directory>\n"
    start(server, {}, f"LoadModule access_compat_module m/mod_access_compat.so\n{section}")
    page = server.get("/wiki/doku.php?id=start")
    assert b"<strong>wader</strong>" in page, page[:3000] + server.errors().encode()[-2000:]
    assert b"Location: /wiki/doku.php?id=start\r\n" in server.get("/wiki/")
    assert b"body" in server.get("/wiki/lib/exe/css.php?t=dokuwiki")
    assert b'name="p"' in server.get("/wiki/doku.php?id=start&do=login")
    cookies = cookies_of(page)
    token = re.search(rb'name="sectok" value="(\w*)"', server.get("/wiki/doku.php?id=start&do=login"))
    data = f"u=ann&p=secret&do=login&id=start&sectok={token[1].decode() if token else ''}"
    form = "Content-Type: application/x-www-form-urlencoded"
    reply = server.ask(request("/wiki/doku.php", form, f"Cookie: {join(cookies)}", data=data, method="POST"))
    cookies |= cookies_of(reply)
    assert any(name.startswith("DW") for name in cookies), reply[:2000]
    logged_in = server.ask(request("/wiki/doku.php?id=start", f"Cookie: {join(cookies)}"))
    assert b"Ann" in logged_in
    upload(server, cookies)


def upload(server: ServerProcess, cookies: dict[str, str]) -> None:
    """Upload a picture through the media manager and fetch it."""
    manager = server.ask(request("/wiki/lib/exe/mediamanager.php?ns=", f"Cookie: {join(cookies)}"))
    token = re.search(rb'name="sectok" value="(\w*)"', manager)
    assert token is not None, manager[:2000]
    pixel = bytes.fromhex(
        "47494638396101000100800000000000ffffff21f90401000000002c00000000010001000002014c003b"
    )
    parts = {"sectok": token[1].decode(), "ns": "", "do": "media", "mediaid": "pixel.gif"}
    text = b"".join(
        b'--B\r\nContent-Disposition: form-data; name="%b"\r\n\r\n%b\r\n' % (name.encode(), value.encode())
        for name, value in parts.items()
    )
    text += (
        b'--B\r\nContent-Disposition: form-data; name="upload"; filename="pixel.gif"\r\n'
        b"Content-Type: image/gif\r\n\r\n" + pixel + b"\r\n--B--\r\n"
    )
    head = request(
        "/wiki/lib/exe/mediamanager.php",
        f"Cookie: {join(cookies)}",
        "Content-Type: multipart/form-data; boundary=B",
        f"Content-Length: {len(text)}",
        method="POST",
    )
    reply = server.ask(head + text)
    assert (server.root / "wikidata/media/pixel.gif").exists(), reply[:3000]
    fetched = server.ask(request("/wiki/lib/exe/fetch.php?media=pixel.gif", f"Cookie: {join(cookies)}"))
    assert fetched.partition(b"\r\n\r\n")[2] == pixel


def cookies_of(reply: bytes) -> dict[str, str]:
    """Return the cookies that a reply sets."""
    found = re.findall(rb"Set-Cookie: ([^=;]+)=([^;\r]*)", reply)
    return {name.decode(): value.decode() for name, value in found if value != b"deleted"}


def join(cookies: dict[str, str]) -> str:
    """Return a Cookie field."""
    return "; ".join(f"{name}={value}" for name, value in cookies.items())

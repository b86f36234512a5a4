"""Servers that `whimbrel serve TREE` reads: copies of other machines, and servers of other users."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.support.layout_trees import TREES
from tests.support.served_copy import get, lay, served

from whimbrel.base.errors import ConfigError
from whimbrel.modules.loggers.mod_log_config import access_sinks

OPEN = '<Directory "/var/www">\nAllowOverride All\nRequire all granted\n</Directory>\n'
PAGES = {"var__www__html__index.html": "a page", "var__www__html__private__index.html": "secret"}


@pytest.mark.parametrize("name", TREES)
def test_each_layout_answers_with_ports_of_our_own(name: str, tmp_path: Path) -> None:
    """The copy of a machine; what was not copied is not found, and nothing else is served."""
    tree = TREES[name]
    with served(
        tree.write(tmp_path, is_copy=True), ports={80: 18080, 8080: 18080}, dialect=tree.version
    ) as loader:
        reply = get(loader, "/index.html", port=18080)
        configuration = loader.configuration
        assert configuration is not None and configuration.spec.listeners[0].port == 18080
        written = [configuration.spec.pid_file, *(sink.target for sink in configuration.spec.log_sinks)]
    if name == "OpenShift 2":  # its documents stand elsewhere on the machine
        assert reply.status == 404
    else:
        assert (reply.status, reply.body) == (200, tree.page)
    assert all(path.startswith(loader.places.directory) for path in written), written


def test_a_virtual_host_follows_its_port(tmp_path: Path) -> None:
    """Listen, <VirtualHost> and NameVirtualHost have the new port; port 443 keeps its protocol."""
    tree = lay(
        tmp_path,
        "Listen 443\nNameVirtualHost *:80\n<VirtualHost *:80 _default_:443>\nServerName localhost\n"
        f'DocumentRoot "/var/www/host"\n</VirtualHost>\n{OPEN}',
        **{"var__www__host__index.html": "host"},
    )
    with served(tree, ports={80: 18080, 443: 18443}) as loader:
        assert get(loader, "/index.html", port=18080).body == "host"
        configuration = loader.configuration
        assert configuration is not None
        listeners = [(entry.port, entry.protocol) for entry in configuration.spec.listeners]
    assert listeners == [(18080, "http"), (18443, "https")]


def test_addresses_of_the_other_machine(tmp_path: Path) -> None:
    """Each gets an address of the loopback, so that hosts by address stay apart."""
    lines = "".join(
        f"Listen 203.0.113.{n}:81\n<VirtualHost 203.0.113.{n}:81>\nServerName h{n}.example\n</VirtualHost>\n"
        for n in (1, 2)
    )
    with served(lay(tmp_path, lines + OPEN)) as loader:
        configuration = loader.load_to_serve()
    assert [entry.address for entry in configuration.spec.listeners] == ["", "127.0.0.1", "127.0.0.2"]
    assert [[address.host for address in host.addresses] for host in configuration.virtual_hosts] == [
        ["127.0.0.1"],
        ["127.0.0.2"],
    ]
    assert sum("no address of this machine" in note for note in loader.lines.notes) == 2


# access ------------------------------------------------------------------------------------------
DENY = "Require all denied\n"


@pytest.mark.parametrize(
    "section",
    [
        f'<Directory "/var/www/html/private">\n{DENY}</Directory>\n',
        f'<Directory "/*/www/html/priv*">\n{DENY}</Directory>\n',
        f'<Directory ~ "^/var/www/(html|x)/private">\n{DENY}</Directory>\n',
        f'<DirectoryMatch "^(/x|/var)/www/html/private">\n{DENY}</DirectoryMatch>\n',
        f'<DirectoryMatch "/private">\n{DENY}</DirectoryMatch>\n',
        f'<DirectoryMatch "(?i)^/VAR/www/html/PRIVATE|^/x">\n{DENY}</DirectoryMatch>\n',
        f'<DirectoryMatch "^/[^/^]+/www/html/private">\n{DENY}</DirectoryMatch>\n',
    ],
)
@pytest.mark.parametrize("is_image", [True, False])
def test_sections_of_paths_of_the_text(tmp_path: Path, section: str, is_image: bool) -> None:
    """Whole images, and copies of parts that links put to their places."""
    tree = lay(tmp_path / "copy", OPEN + section, **PAGES)
    if not is_image:
        moved = tmp_path / "parts"
        moved.mkdir()
        root = tmp_path / "copy/etc/httpd"
        (root / "html").mkdir()
        for name, text in (("index.html", "a page"), ("private/index.html", "secret")):
            (root / "html" / name).parent.mkdir(exist_ok=True)
            (root / "html" / name).write_text(text)
        main = root / "conf/httpd.conf"
        text = main.read_text().replace("/var/www", "/etc/httpd").replace("/www/html", "/httpd/html")
        main.write_text(text.replace("(/x|/var)", "(/x|/etc)").replace("/VAR/", "/ETC/"))
        tree = root.rename(moved / "server")
    with served(tree) as loader:
        assert (loader.places.image == str(tmp_path / "copy")) is is_image
        assert get(loader, "/index.html").body == "a page"
        assert get(loader, "/private/index.html").status == 403


def test_a_pattern_does_not_see_the_place_of_the_copy(tmp_path: Path) -> None:
    """A section for /granted must not apply to a copy that lies below a directory of that name."""
    grant = '<DirectoryMatch "/granted/">\nRequire all granted\n</DirectoryMatch>\n'
    with served(lay(tmp_path / "granted/copy", grant, **PAGES)) as loader:
        assert get(loader, "/index.html").status == 403


def test_an_image_with_wildcards_in_its_name(tmp_path: Path) -> None:
    deny = f'<Directory "/var/www/html/private">\n{DENY}</Directory>\n'
    with served(lay(tmp_path / "a[b]*", OPEN + deny, **PAGES)) as loader:
        assert get(loader, "/index.html").body == "a page"
        assert get(loader, "/private/index.html").status == 403


@pytest.mark.parametrize("place", ["main", "htaccess"])
@pytest.mark.parametrize("has_file", [True, False])
def test_a_password_file_is_that_of_the_copy(tmp_path: Path, place: str, has_file: bool) -> None:
    """One that is missing there stays missing, whatever this machine has at its path."""
    here = tmp_path / "users"
    here.write_text("a:$apr1$bTqsrQqR$WpfKs1ZR0bR8oZcUGLr4p1\nb:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=\n")
    lines = f"AuthType Basic\nAuthName x\nAuthUserFile {here}\nRequire valid-user\n"
    section = f'<Directory "/var/www/html/private">\n{lines}</Directory>\n' if place == "main" else ""
    files = dict(PAGES)
    if place == "htaccess":
        files["var__www__html__private__.htaccess"] = lines
    tree = lay(tmp_path / "copy", OPEN + section, **files)
    if has_file:
        copied = Path(f"{tmp_path}/copy{here}")
        copied.parent.mkdir(parents=True)
        copied.write_text("b:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=\n")
    with served(tree) as loader:
        reply = get(loader, "/private/index.html", "Authorization: Basic YjpwYXNzd29yZA==")
    assert (reply.status == 200) is has_file, reply


def test_a_missing_include_stops_the_start(tmp_path: Path) -> None:
    """It may hold rules of access."""
    with served(lay(tmp_path, "Include /etc/httpd/rules.conf\n")) as loader:
        with pytest.raises(ConfigError, match="rules.conf") as caught:
            loader.load_to_serve()
    assert caught.value.place is not None and caught.value.place.path.endswith("conf/httpd.conf")


def test_a_missing_authority_stops_the_start(tmp_path: Path) -> None:
    pytest.importorskip("cryptography", reason="the optional package cryptography is not installed")
    lines = (
        "LoadModule ssl_module modules/mod_ssl.so\nSSLCACertificateFile /etc/pki/clients.pem\n"
        "SSLVerifyClient require\n"
    )
    with served(lay(tmp_path, lines)) as loader:
        with pytest.raises(ConfigError, match="clients.pem"):
            loader.load_to_serve()


# replacements ------------------------------------------------------------------------------------
def test_paths_of_aliases_rules_and_users(tmp_path: Path) -> None:
    """Substitutions are paths where httpd's test says so: their first directory exists."""
    lines = (
        'Alias "/a" "/srv/alias"\nAliasMatch "^/m/(.*)" "/srv/alias/$1"\nUserDir /srv/home/*/web\n'
        "RewriteEngine on\nRewriteRule ^/r/(.*) /srv/alias/$1\nRewriteRule ^/u/(.*) /a/$1 [PT]\n"
        "RewriteCond /srv/alias/index.html -f\nRewriteRule ^/c$ /srv/alias/index.html\n"
        '<Directory "/srv">\nRequire all granted\n</Directory>\n'
    )
    files = {"srv__alias__index.html": "alias", "srv__home__joe__web__index.html": "joe"}
    with served(lay(tmp_path, lines, **files)) as loader:
        for path in ("/a/index.html", "/m/index.html", "/r/index.html", "/u/index.html", "/c"):
            assert get(loader, path).body == "alias", path
        assert get(loader, "/~joe/index.html").body == "joe"


def test_homes_are_those_of_the_copy(tmp_path: Path) -> None:
    """root is a user of each machine, whose home is read by nobody here."""
    lines = 'UserDir public_html\n<Directory "/home">\nRequire all granted\n</Directory>\n'
    tree = lay(tmp_path, lines, **{"home__joe__public_html__index.html": "joe"})
    with served(tree) as loader:
        assert get(loader, "/~joe/index.html").body == "joe"
        assert get(loader, "/~root/index.html").status in (403, 404)


def test_dots_do_not_leave_the_copy(tmp_path: Path) -> None:
    """``..`` ends at the root of the other machine, in sections and in files."""
    (tmp_path / "outside.txt").write_text("of this machine")
    up = "../" * 12
    lines = (
        f'Alias "/o" "/{up}{str(tmp_path)[1:]}/outside.txt"\n'
        f'<Directory "/{up}var/www/html/private">\n{DENY}</Directory>\n'
    )
    with served(lay(tmp_path / "copy", OPEN + lines, **PAGES)) as loader:
        assert get(loader, "/o").status in (403, 404)
        assert get(loader, "/index.html").body == "a page"
        assert get(loader, "/private/index.html").status == 403


def test_missing_users_certificates_and_directories(tmp_path: Path) -> None:
    """One line each; the server starts."""
    pytest.importorskip("cryptography", reason="the optional package cryptography is not installed")
    lines = (
        "LoadModule ssl_module modules/mod_ssl.so\nUser no_such_user\nGroup no_such_group\n"
        "SSLPassPhraseDialog exec:/usr/libexec/httpd-ssl-pass-dialog\n"
        "CoreDumpDirectory /var/cores\nMutex file:/run/locks default\nTypesConfig /usr/share/types\n"
        "<VirtualHost *:443>\nSSLEngine on\nSSLCertificateFile /etc/pki/a.pem\n"
        "SSLCertificateKeyFile /etc/pki/a.key\nSSLCertificateChainFile /etc/pki/c.pem\n"
        'DocumentRoot "/var/www/tls"\n</VirtualHost>\n'
    )
    with served(lay(tmp_path, lines, **PAGES)) as loader:
        configuration = loader.load_to_serve()
        notes = loader.notes()
    assert len(configuration.virtual_hosts) == 1
    expected = ["User no_such_user", "Group no_such_group"] if os.getuid() == 0 else []
    expected += ["SSLCertificateFile /etc/pki/a.pem", "DocumentRoot /var/www/tls", "TypesConfig /usr/share"]
    for text in expected:
        assert sum(text in note for note in notes) == 1, (text, notes)


def test_logs_of_programs_are_files(tmp_path: Path) -> None:
    """No program of a copy runs, and nothing is written into the copy."""
    lines = (
        'ErrorLog "|/usr/bin/logger -t x"\nCustomLog "|$/bin/cat > /tmp/y" common\nCustomLog logs/a common\n'
    )
    tree = lay(tmp_path, lines, **PAGES)
    before = sorted(tmp_path.rglob("*"))
    with served(tree) as loader:
        configuration = loader.load_to_serve()
        sinks = configuration.spec.log_sinks
        assert access_sinks(configuration)
    assert not any(sink.piped for sink in sinks)
    assert all(sink.target.startswith(loader.places.directory) for sink in sinks)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_server_in_place_is_left_where_it_is(tmp_path: Path) -> None:
    """Its logs are its own as far as they can be written; the PidFile may be that of a running server."""
    (tmp_path / "logs").mkdir()
    tree = lay(tmp_path, "CustomLog logs/access_log common\nCustomLog none/log common\n")
    main = tree / "conf/httpd.conf"
    text = main.read_text().replace('ServerRoot "/etc/httpd"', f'ServerRoot "{tree}"\nPidFile run/pid')
    main.write_text(text.replace('"/var/www/html"', f'"{tmp_path}"'))
    (tree / "logs").mkdir()
    (tree / "conf/mime.types").write_text("")
    with served(tree) as loader:
        configuration = loader.load_to_serve()
        assert loader.places.image == ""
    targets = [sink.target for sink in configuration.spec.log_sinks]
    assert f"{tree}/logs/access_log" in targets and f"{tree}/logs/error_log" in targets
    assert f"{loader.places.directory}/written{tree}/none/log" in targets
    assert configuration.spec.pid_file == f"{loader.places.directory}/httpd.pid"
    assert not Path(loader.places.directory).exists()


def test_messages_name_the_paths_of_the_text(tmp_path: Path) -> None:
    """A file that was not copied, below a directory of links that the user does not know."""
    tree = lay(tmp_path / "machine", "Include /etc/none.d/none.conf\n").rename(tmp_path / "httpd")
    with served(tree) as loader, pytest.raises(ConfigError) as caught:
        loader.load_to_serve()
    assert caught.value.reason == (
        "Could not open configuration file /etc/none.d/none.conf: No such file or directory"
    )
    assert caught.value.place is not None and caught.value.place.path == f"{tree}/conf/httpd.conf"

"""Notes of `whimbrel serve` on a configuration."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from whimbrel.base.dialect import V24
from whimbrel.cli.serve import root_and_file
from whimbrel.cli.serve_banner import changes, shown_urls, urls
from whimbrel.config.configuration import Configuration
from whimbrel.config.load import load
from whimbrel.config.options import LoadOptions
from whimbrel.modules import ALL
from whimbrel.modules.core.spec import server_spec

MODULES = """
LoadModule mpm_event_module m/mod_mpm_event.so
LoadModule authz_core_module m/mod_authz_core.so
LoadModule access_compat_module m/mod_access_compat.so
ServerName main.example
"""
Read = Callable[[str], Configuration]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    for name in ("conf", "logs", "htdocs/a/b", "other"):
        (tmp_path / name).mkdir(parents=True)

    def configured(text: str) -> Configuration:
        (tmp_path / "conf/httpd.conf").write_text(MODULES + text.replace("@", str(tmp_path)))
        configuration = load(LoadOptions(server_root=str(tmp_path)), ALL, V24)
        server_spec(configuration)
        return configuration

    return configured


def test_old_names_are_told_once_with_their_first_place(read: Read) -> None:
    found = changes(
        read(
            "Listen 80\nMaxClients 5\n"
            "<Location /x>\nOrder deny,allow\nOrder allow,deny\n</Location>\nTimeout 5\n"
        )
    )
    assert [line.partition(" ")[0] for line in found] == ["MaxClients", "Order"]
    assert "(conf/httpd.conf:7)" in found[0]
    assert "(conf/httpd.conf:9 and 1 more)" in found[1]


def test_default_type_none_is_no_change(read: Read) -> None:
    assert changes(read("Listen 80\nDefaultType none\n")) == []


def test_urls_name_the_front_page_a_folder_and_another_host(read: Read) -> None:
    text = """Listen 8080
<VirtualHost *:8080>
DocumentRoot @/htdocs
<Directory @/htdocs>
</Directory>
<Directory @/htdocs/a/b>
</Directory>
</VirtualHost>
<VirtualHost *:8080>
ServerName two.example
ServerAlias two.localhost
DocumentRoot @/other
</VirtualHost>
<VirtualHost *:9999>
ServerName elsewhere.localhost
</VirtualHost>
"""
    assert urls(read(text)) == [
        "http://localhost:8080/",
        "http://localhost:8080/a/b/",
        "http://two.localhost:8080/",
    ]


def test_a_url_of_https_is_among_those_that_are_shown() -> None:
    found = ["http://a/", "http://b/", "http://c/", "https://d/"]
    assert shown_urls(found) == ["http://a/", "http://b/", "https://d/"]
    assert shown_urls(found[:3]) == found[:3]


def test_a_line_that_2_4_reads_as_before_is_no_change(read: Read) -> None:
    loads = "".join(f"LoadModule {name}_module m/mod_{name}.so\n" for name in ("filter", "deflate"))
    text = f"{loads}Listen 80\nAddOutputFilterByType DEFLATE text/html\n"
    assert changes(read(text)) == []


def test_urls_of_a_named_address(read: Read) -> None:
    found = urls(
        read("Listen 192.0.2.1:80\n<Location /s>\n</Location>\n<Location ~ x>\n</Location>\nListen 81\n")
    )
    assert found == ["http://192.0.2.1/", "http://192.0.2.1/s", "http://localhost:81/"]


def test_the_root_is_the_folder_above_conf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert root_and_file(Path("site/conf/httpd.conf"), None) == (
        f"{tmp_path}/site",
        f"{tmp_path}/site/conf/httpd.conf",
    )
    assert root_and_file(Path("one.conf"), None) == (str(tmp_path), f"{tmp_path}/one.conf")
    assert root_and_file(Path("conf/x.conf"), Path("site")) == (
        f"{tmp_path}/site",
        f"{tmp_path}/site/conf/x.conf",
    )


def test_the_scheme_is_that_of_the_server_whatever_the_port(read: Read, tmp_path: Path) -> None:
    """SSLEngine decides, and so does the protocol of Listen; the port of a scheme is left out."""
    pytest.importorskip("cryptography", reason="certificates need cryptography")
    from whimbrel.cli.self_signed import make

    certificate, key = make(tmp_path)
    text = f"""LoadModule ssl_module m/mod_ssl.so
SSLCertificateFile {certificate}
SSLCertificateKeyFile {key}
Listen 8443
Listen 443
Listen 8080
Listen 4443 https
<VirtualHost *:8443 *:443>
SSLEngine on
DocumentRoot @/htdocs
</VirtualHost>
<VirtualHost *:8443>
ServerName two.localhost
SSLEngine on
DocumentRoot @/other
</VirtualHost>
"""
    found = urls(read(text))
    assert found[0] == "https://localhost:8443/"
    assert "https://two.localhost:8443/" in found
    assert {"https://localhost/", "http://localhost:8080/", "https://localhost:4443/"} <= set(found)

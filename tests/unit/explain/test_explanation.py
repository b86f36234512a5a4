"""Steps of explanations and the lines that they name."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.explain.explained_site import CONF, explained, side_of, step, texts

from whimbrel.base.latin1 import from_system
from whimbrel.config.options import LoadOptions
from whimbrel.explain.explanation import explain_probe
from whimbrel.explain.request_description import BadRequest, RequestDescription, probe_of
from whimbrel.verify.loading import load_side


def test_a_virtual_host_is_named_by_its_line(tmp_path: Path) -> None:
    side = side_of(tmp_path)
    found = step(explained(side, "/", host="www.a.example"), "virtual host")
    assert found.result == "a.example" and texts(found)[0] == "ServerAlias *.a.example"
    assert step(explained(side, "/"), "virtual host").detail == "the first host for 127.0.0.1:80"


def test_each_rule_is_shown_with_its_result(tmp_path: Path) -> None:
    explanation = explained(side_of(tmp_path), "/x.html", host="www.a.example", user="alice")
    mapping = step(explanation, "mapping", "mod_rewrite")
    assert [(rule.what, rule.result) for rule in mapping.children] == [
        ("RewriteRule ^/nope - [F]", "no match"),
        ("RewriteRule ^/(.*)$ /private/$1", "-> /private/x.html"),
    ]
    assert mapping.children[1].children[0].result == "holds"
    assert texts(mapping) == ["RewriteRule ^/(.*)$ /private/$1"]


def test_aliases_redirects_and_files(tmp_path: Path) -> None:
    side = side_of(tmp_path)
    redirect = explained(side, "/old/x")
    assert (redirect.status, redirect.location) == (302, "http://q.example/new/x")
    assert texts(step(redirect, "mapping", "mod_alias")) == ["Redirect /old /new"]
    missing = explained(side, "/files/y")
    assert missing.status == 404 and step(missing, "file").result == "does not exist"
    assert texts(step(missing, "mapping", "mod_alias")) == [f"Alias /files {tmp_path}/nothing"]
    root = explained(side, "/")
    assert texts(step(root, "mapping", "core")) == [f'DocumentRoot "{tmp_path}/htdocs"']
    assert texts(step(root, "fix-ups", "mod_dir")) == ["DirectoryIndex index.html"]


def test_access_names_authentication_and_the_user(tmp_path: Path) -> None:
    side = side_of(tmp_path)
    refused = explained(side, "/private/x.html", host="a.example")
    assert refused.status == 401
    assert texts(step(refused, "access")) == ["AuthType Basic", "AuthName staff"]
    admitted = explained(side, "/private/x.html", host="a.example", user="alice")
    assert admitted.status == 200 and step(admitted, "access").detail == "user alice"
    assert texts(step(admitted, "access", "provider")) == [f'AuthUserFile "{tmp_path}/users"']
    assert texts(step(admitted, "type", "mod_mime")) == ["AddType text/x-foo .html"]
    assert texts(step(admitted, "header")) == ["Header set X-Site main"]
    places = [found.lines[0].place for found in admitted.all() if found.kind == ".htaccess"]
    assert [Path(place.path).name for place in places] == [".htaccess"]


def test_programs_and_back_ends_are_not_run(tmp_path: Path) -> None:
    side = side_of(tmp_path)
    (tmp_path / "cgi").mkdir()
    (tmp_path / "cgi/z").touch(0o755)
    for target, module in (("/cgi-bin/z", "mod_cgid"), ("/app/z", "mod_proxy")):
        explanation = explained(side, target)
        assert explanation.status is None
        assert step(explanation, "response").detail.startswith(module)
        assert step(explanation, "handler", module).result == "not run"


def test_what_a_script_handler_refuses_is_known(tmp_path: Path) -> None:
    """mod_cgid answers without a program where ExecCGI is off, or no script is there."""
    side = side_of(tmp_path, CONF + '<Files "x.html">\nSetHandler cgi-script\n</Files>\n')
    refused = explained(side, "/private/x.html", client="10.0.0.1")
    assert refused.status == 403
    assert "Options ExecCGI is off" in step(refused, "handler", "mod_cgid").detail
    assert explained(side, "/cgi-bin/none").status == 404


def test_a_configuration_that_does_not_load_gives_its_errors(tmp_path: Path) -> None:
    explanation = explained(side_of(tmp_path, "Listen 80\nOrder allow,deny\n"), "/")
    assert explanation.steps == () and "Invalid command 'Order'" in explanation.errors[0]
    assert explained(side_of(tmp_path), "/a b").status == 400


@pytest.mark.parametrize(("user", "status"), [("robin", 200), ("ann", 401)])
def test_an_assumed_user_has_the_groups_of_the_files(tmp_path: Path, user: str, status: int) -> None:
    (tmp_path / "groups").write_text("keepers: robin tess\n")
    (tmp_path / "users").touch()
    (tmp_path / "htdocs").mkdir()
    (tmp_path / "htdocs" / "a.html").touch()
    names = "mpm_prefork authz_core authz_user authz_groupfile authn_core authn_file auth_basic"
    lines = [f"LoadModule {name}_module modules/mod_{name}.so" for name in names.split()]
    lines += ["Listen 80", "ServerName a.example", f'DocumentRoot "{tmp_path}/htdocs"', "<Location />"]
    lines += ["AuthType Basic", "AuthName x", f'AuthUserFile "{tmp_path}/users"']
    lines += [f'AuthGroupFile "{tmp_path}/groups"', "Require group keepers", "</Location>"]
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "httpd.conf").write_text("\n".join(lines) + "\n")
    side = load_side(LoadOptions(server_root=from_system(str(tmp_path))), "2.4")
    assert side.is_loaded, side.errors
    probe = probe_of(RequestDescription("/a.html", user=user), side.configuration)
    assert explain_probe(side, probe).status == status


@pytest.mark.parametrize(
    ("certificate", "status"),
    [
        ("", 403),
        ("CN=robin,O=Lab", 200),
        ("/O=Lab/CN=robin", 200),
        ("CN=robin,O=Other", 403),
    ],
)
def test_a_client_certificate_has_its_subject_and_is_verified(
    tmp_path: Path, certificate: str, status: int
) -> None:
    pytest.importorskip("cryptography", reason="certificates need the extra tls")
    (tmp_path / "conf").mkdir()
    (tmp_path / "htdocs").mkdir()
    (tmp_path / "htdocs" / "a.html").touch()
    lines = [
        f"LoadModule {name}_module modules/mod_{name}.so" for name in ("mpm_prefork", "authz_core", "ssl")
    ]
    lines += ["Listen 80", "ServerName a.example", f'DocumentRoot "{tmp_path}/htdocs"']
    lines += ["SSLVerifyClient optional", "<Location />"]
    lines += ["Require expr %{SSL_CLIENT_S_DN} == 'CN=robin,O=Lab' && %{SSL_CLIENT_VERIFY} == 'SUCCESS'"]
    (tmp_path / "conf" / "httpd.conf").write_text("\n".join([*lines, "</Location>"]) + "\n")
    side = load_side(LoadOptions(server_root=from_system(str(tmp_path))), "2.4")
    assert side.is_loaded, side.errors
    described = RequestDescription("https://a.example/a.html", certificate=certificate)
    assert explain_probe(side, probe_of(described, side.configuration)).status == status


def test_a_client_certificate_that_is_none_is_refused() -> None:
    pytest.importorskip("cryptography", reason="certificates need the extra tls")
    for text in ("robin", "=,=", "nowhere.pem"):
        with pytest.raises(BadRequest, match="--client-cert"):
            probe_of(RequestDescription("/", certificate=text), None)


def test_a_user_answers_a_challenge_of_digest(tmp_path: Path) -> None:
    """As a browser does: a client that sent Basic would be refused (AH01781)."""
    loads = "LoadModule auth_digest_module modules/mod_auth_digest.so\n"
    more = (
        "<Location /digest>\nAuthType Digest\nAuthName team\n"
        'AuthUserFile "@ROOT@/digests"\nRequire user alice\n</Location>\n'
    )
    main = CONF.split("<VirtualHost")[0]
    side = side_of(tmp_path, loads + main + more)
    (tmp_path / "digests").write_text("alice:team:0123456789abcdef0123456789abcdef\nbob:team:0\n")
    statuses = {name: explained(side, "/digest", user=name).status for name in ("alice", "bob", "")}
    assert statuses == {"alice": 404, "bob": 401, "": 401}


@pytest.mark.parametrize(
    ("module", "library", "handler", "statuses"),
    [
        ("php_module", "libphp.so", "application/x-httpd-php", (None, 404, 403)),
        ("fcgid_module", "mod_fcgid.so", "fcgid-script", (None, 404, 403)),
    ],
)
def test_a_handler_of_programs_refuses_what_is_no_script(
    tmp_path: Path, module: str, library: str, handler: str, statuses: tuple[int | None, ...]
) -> None:
    """apache2 answers 404 for a script that is not there, and 403 for a directory."""
    load = f"LoadModule {module} modules/{library}\n"
    section = f'<Directory "@ROOT@/htdocs">\nOptions +ExecCGI\nSetHandler {handler}\n</Directory>\n'
    side = side_of(tmp_path, f"{load}{CONF}{section}")
    (tmp_path / "htdocs/in").mkdir()
    found = [explained(side, target).status for target in ("/index.html", "/none.x", "/in/")]
    assert found == list(statuses)

"""Comparison on a machine that lacks what the configurations name."""

from __future__ import annotations

import os
from pathlib import Path
from unittest.mock import create_autospec

import pytest

from whimbrel.config.options import LoadOptions
from whimbrel.upgrade.knowledge.scope import UnknownKind
from whimbrel.verify import loading, side
from whimbrel.verify.copied_htaccess import with_copied_htaccess
from whimbrel.verify.loading import load_side, load_sides, with_files_of_old
from whimbrel.verify.probe import Probe
from whimbrel.verify.verification import Verdict, VerifyResult
from whimbrel.verify.verify import verify

MODULES = "".join(
    f"LoadModule {name}_module modules/mod_{name}.so\n"
    for name in ("mpm_event", "authz_core", "unixd", "rewrite", "mime", "dir")
)
TEXT = f"{MODULES}Listen 8080\nServerName www.example.com\nDocumentRoot htdocs\n"
GRANTED, DENIED = (f"<Directory />\nRequire all {word}\n</Directory>\n" for word in ("granted", "denied"))


def compare(root: Path, old: str, new: str, *, is_copy: bool = False) -> VerifyResult:
    """Compare two texts of 2.4 in *root*."""
    for name in ("conf", "htdocs"):
        (root / name).mkdir(exist_ok=True)
    for name, text in (("old.conf", old), ("new.conf", new)):
        (root / "conf" / name).write_text(TEXT + text)
    options = [
        LoadOptions(server_root=str(root), file=f"conf/{name}.conf", is_copy=is_copy)
        for name in ("old", "new")
    ]
    sides = load_sides((options[0], options[1]), ("2.4", "2.4"), ("old", "new"))
    return verify(*sides, limit=50)


@pytest.mark.parametrize(
    "line",
    [
        "ServerRoot /nowhere/httpd",
        "User nobody-of-this-name",
        "Group nobody-of-this-name",
        "DocumentRoot /nowhere/htdocs",
        "CustomLog /nowhere/logs/access_log common\n",
        "LoadFile /nowhere/libxml2.so",
        "TypesConfig /nowhere/mime.types",
        "LoadModule ssl_module modules/mod_ssl.so\nSSLCertificateFile /nowhere/a.crt",
    ],
)
def test_what_no_answer_depends_on(tmp_path: Path, line: str) -> None:
    line = line.replace("CustomLog", "LoadModule log_config_module m/mod_log_config.so\nCustomLog")
    same = compare(tmp_path, f"{line}\n{GRANTED}", f"{line}\n{GRANTED}")
    assert same.verdict is Verdict.SAME, (same.errors, same.not_decided)
    assert compare(tmp_path, f"{line}\n{GRANTED}", f"{line}\n{DENIED}").verdict is Verdict.DIFFERENT


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("Include conf/more.conf", "Could not open configuration file"),
        ("Include conf.d/*.conf", "Could not open directory"),
        (
            "LoadModule python_module modules/mod_python.so",
            "modules/mod_python.so: a module of mod_python (application) that is not here",
        ),
        ("RewriteMap names txt:/nowhere/names.txt", "RewriteMap: file for map names not found"),
    ],
)
def test_what_answers_may_depend_on_is_not_decided(tmp_path: Path, line: str, reason: str) -> None:
    found = compare(tmp_path, f"{line}\n{GRANTED}", f"{line}\n{GRANTED}")
    assert found.verdict is Verdict.NOT_DECIDED
    assert all(reason in item.subject for item in found.scope.deciding)
    # both texts have the line: that is one fact
    assert [item.place.path for item in found.scope.deciding if item.place is not None] == [
        str(tmp_path / "conf/old.conf")
    ]
    assert compare(tmp_path, f"{line}\n{GRANTED}", f"{line}\n{DENIED}").verdict is Verdict.DIFFERENT


def test_directives_of_a_module_that_is_not_here(tmp_path: Path) -> None:
    module = "LoadModule python_module modules/mod_python.so\n"
    lines = "PythonHandler app\n<PythonGroup>\nPythonOther 1\n</PythonGroup>\n"
    lines = f"<IfModule mod_python.c>\n{lines}</IfModule>\n"
    found = compare(tmp_path, module + lines + GRANTED, module + lines + GRANTED)
    subjects = {item.subject for item in found.scope.deciding}
    assert subjects >= {
        "PythonHandler: a directive of mod_python (application), which is not here",
        "<PythonGroup: a directive of a module that is not here",
    }


def test_other_errors_stay(tmp_path: Path) -> None:
    for line in (
        "Order allow,deny",
        "Require",
        "LoadModule authn_default_module modules/mod_authn_default.so",
    ):
        found = compare(tmp_path, f"User nobody-of-this-name\n{line}\n", GRANTED)
        assert found.verdict is Verdict.DOES_NOT_LOAD and found.errors[0], line


def test_a_known_directive_needs_its_module(tmp_path: Path) -> None:
    text = "LoadModule python_module modules/mod_python.so\nOrder allow,deny\n"
    found = compare(tmp_path, text, text)
    assert "Invalid command 'Order'" in found.errors[0][0].text


def test_a_copy_of_a_server_root(tmp_path: Path) -> None:
    (tmp_path / "conf.d").mkdir()
    (tmp_path / "conf.d/site.conf").write_text(DENIED)
    root = "ServerRoot /usr\nInclude /usr/conf.d/*.conf\n"
    assert compare(tmp_path, root, root, is_copy=True).verdict is Verdict.SAME
    assert compare(tmp_path, root, GRANTED, is_copy=True).verdict is Verdict.DIFFERENT
    outside = compare(tmp_path, f"{root}Include /etc/passwd\n", root, is_copy=True)
    assert any("/etc/passwd: not in this copy" in item.subject for item in outside.scope.deciding)


@pytest.mark.parametrize(
    ("line", "starts"),
    [("IncludeOptional /no-such/x.conf", True), ("Include /no-such/x.conf", False)],
)
def test_an_optional_file_outside_of_a_copy_stops_no_start(tmp_path: Path, line: str, starts: bool) -> None:
    """`apache2 -t` of 2.4.71: ``Syntax OK`` with IncludeOptional; Include: ``Could not open configuration
    file /no-such/x.conf: No such file or directory``."""
    root = "ServerRoot /usr\n"
    found = compare(tmp_path, root, f"{root}{line}\n", is_copy=True)
    assert ("/no-such/x.conf" not in found.no_start) is starts
    # what the file says is open in both cases
    assert found.verdict is not Verdict.SAME
    assert any("/no-such/x.conf: not in this copy" in item.subject for item in found.scope.deciding)


def test_htaccess_files_of_a_copy_count_at_their_places(tmp_path: Path) -> None:
    """`upgrade --out` writes them to the new directory, and both texts name one document root."""
    old, new, site = tmp_path / "old", tmp_path / "new", tmp_path / "site"
    text = f'{MODULES}Listen 8080\nServerName a.example\nDocumentRoot "{site}"\n{GRANTED}'
    for path in (old, new, site, new / str(site).lstrip("/")):
        path.mkdir(parents=True)
    for root in (old, new):
        (root / "httpd.conf").write_text(f'{text}<Directory "{site}">\nAllowOverride All\n</Directory>\n')
    (site / "index.html").write_text("x\n")
    (site / ".htaccess").write_text("Order allow,deny\n")
    (new / str(site).lstrip("/") / ".htaccess").write_text("Require all denied\n")
    options = [LoadOptions(server_root=str(root), file="httpd.conf") for root in (old, new)]
    sides = load_sides((options[0], with_copied_htaccess(*options)), ("2.4", "2.4"), ("old", "new"))
    probe = Probe("/", host="a.example", port=8080)
    assert [side.answer(probe).status for side in sides] == [500, 403]


def test_one_file_below_the_root_of_one_side_is_one_file(tmp_path: Path) -> None:
    """NEW is a copy whose text names the document root of OLD."""
    text = f'{TEXT}DocumentRoot "{tmp_path}/old/htdocs"\n{GRANTED}'
    for name in ("old/htdocs", "new/htdocs"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("old", "new"):
        (tmp_path / name / "httpd.conf").write_text(text)
    options = [LoadOptions(server_root=str(tmp_path / name), file="httpd.conf") for name in ("old", "new")]
    sides = load_sides((options[0], options[1]), ("2.4", "2.4"), ("old", "new"))
    assert verify(*sides, limit=50).verdict is Verdict.SAME


@pytest.mark.parametrize("line", ["", "TypesConfig conf/types\n", "TypesConfig /nowhere/mime.types\n"])
def test_sides_without_a_file_of_types_are_loaded_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    """What is not there ends the first loading before its lines are executed."""
    executed = create_autospec(side.complete, side_effect=side.complete)
    monkeypatch.setattr(side, "complete", executed)
    same = compare(tmp_path, f"{line}{GRANTED}", f"{line}{GRANTED}")
    assert executed.call_count == 2
    assert any("could not open mime types config file" in item.subject for item in same.scope.items)


def test_sides_whose_types_are_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that a host names does not count: that of the main server is read."""
    elsewhere = create_autospec(loading.load_side, side_effect=loading.load_side)
    monkeypatch.setattr(loading, "load_side", elsewhere)
    (tmp_path / "types").write_text("text/x html\n")
    (tmp_path / "logs").mkdir()
    line = "TypesConfig types\n<VirtualHost *:8080>\nTypesConfig nowhere\n</VirtualHost>\n"
    assert compare(tmp_path, f"{line}{GRANTED}", f"{line}{GRANTED}").verdict is Verdict.SAME
    elsewhere.assert_not_called()


PASSWORD = (
    "LoadModule authn_core_module modules/mod_authn_core.so\n"
    "LoadModule authn_file_module modules/mod_authn_file.so\n"
    "LoadModule authz_user_module modules/mod_authz_user.so\n"
    "LoadModule auth_basic_module modules/mod_auth_basic.so\n"
    "<Directory />\nAuthType Basic\nAuthName x\nAuthUserFile conf/users\nRequire valid-user\n</Directory>\n"
)


def compare_roots(root: Path, text: str, old: dict[str, str], new: dict[str, str]) -> VerifyResult:
    """Compare two servers with the files *old* and *new*; both have *text*."""
    for name, files in (("old", old), ("new", new)):
        for path, content in {"conf/httpd.conf": TEXT + text, "htdocs/index.html": "x", **files}.items():
            (root / name / path).parent.mkdir(parents=True, exist_ok=True)
            (root / name / path).write_text(content)
            os.utime(root / name / path, (1e9, 1e9))
    options = [LoadOptions(server_root=str(root / name)) for name in ("old", "new")]
    sides = load_sides((options[0], with_files_of_old(*options)), ("2.4", "2.4"), ("old", "new"))
    return verify(*sides, limit=50)


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ("Include conf/access.conf\n", {"conf/access.conf": DENIED}),
        (f"{GRANTED}TypesConfig conf/types\n", {"conf/types": "text/x html\n"}),
        (PASSWORD, {"conf/users": "robin:x\n"}),
    ],
    ids=["Include", "TypesConfig", "AuthUserFile"],
)
def test_a_file_that_only_the_old_root_has_is_read_there(
    tmp_path: Path, text: str, files: dict[str, str]
) -> None:
    result = compare_roots(tmp_path, text, files, {})
    assert result.verdict is Verdict.SAME, result.errors
    (name,) = files
    named = [item for item in result.scope.items if item.kind is UnknownKind.STAND_IN]
    assert [item.subject for item in named] == [f"{tmp_path}/new/{name} is missing"]
    assert named[0].consequence == f"{tmp_path}/old/{name} was read in its place"


def test_a_file_that_both_roots_have_is_their_own(tmp_path: Path) -> None:
    files = ({"conf/access.conf": DENIED}, {"conf/access.conf": GRANTED})
    assert compare_roots(tmp_path, "Include conf/access.conf\n", *files).verdict is Verdict.DIFFERENT


@pytest.mark.parametrize("line", ["IncludeOptional conf/access.conf", "Include conf/access.con*"])
def test_a_file_that_no_line_names_in_full_was_removed(tmp_path: Path, line: str) -> None:
    other = {"conf/access.conf2": ""}
    result = compare_roots(tmp_path, f"{GRANTED}{line}\n", {"conf/access.conf": DENIED, **other}, other)
    assert result.verdict is Verdict.DIFFERENT


def test_types_that_one_side_lacks_matter(tmp_path: Path) -> None:
    """Content-Type depends on the file of types: without it on one side, its differences are not those of a
    server that has it; without it on both sides, both answers lack the same."""
    (tmp_path / "mime.types").write_text("text/html html\n")
    (tmp_path / "htdocs").mkdir()
    (tmp_path / "htdocs/a.html").write_text("a\n")
    lacking, having = (f"TypesConfig {path}\n{GRANTED}" for path in ("/nowhere/mime.types", "mime.types"))
    found = compare(tmp_path, having, lacking)
    (item,) = [one for one in found.scope.items if "mime types config file" in one.subject]
    assert item.matters and "Content-Type depends on it" in item.consequence
    assert found.verdict is Verdict.DIFFERENT
    (item,) = [one for one in compare(tmp_path, lacking, lacking).scope.items if "mime types" in one.subject]
    assert not item.matters and "no answer depends on it" not in item.consequence


BALANCER = """LoadModule proxy_module modules/mod_proxy.so
LoadModule proxy_http_module modules/mod_proxy_http.so
LoadModule proxy_balancer_module modules/mod_proxy_balancer.so
LoadModule slotmem_shm_module modules/mod_slotmem_shm.so
LoadModule lbmethod_byrequests_module modules/mod_lbmethod_byrequests.so
<Proxy balancer://pool>
BalancerMember http://127.0.0.1:9
</Proxy>
ProxyPass /app balancer://pool
<Location /manager>
SetHandler balancer-manager
Require all granted
</Location>
"""


def test_the_manager_of_balancers_has_its_memory(tmp_path: Path) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf/httpd.conf").write_text(TEXT + BALANCER)
    found = load_side(LoadOptions(server_root=str(tmp_path)), "2.4")
    answer = found.answer(Probe("/manager", host="www.example.com", address="127.0.0.1", port=8080))
    assert (found.errors, answer.status) == ((), 200)
    assert answer.field("content-type")[0].startswith("text/html")

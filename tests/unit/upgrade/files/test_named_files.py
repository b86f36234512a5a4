"""The files that a server reads beside its configuration."""

from __future__ import annotations

from pathlib import Path

from tests.unit.upgrade.config_trees import config_tree, laid

from whimbrel.upgrade.files.named_files import named_files

MAIN = "conf/httpd.conf"
TEXT = """TypesConfig conf/types
<Directory /x>
AuthUserFile conf/users
AuthDBMUserFile conf/dbm
AuthGroupFile /etc/group
</Directory>
RewriteMap a txt:conf/a.map
RewriteMap b dbm=gdbm:conf/b.map
RewriteMap c int:tolower
SSLCertificateKeyFile conf/key.pem
MIMEMagicFile conf/none
"""


def test_what_exists_below_the_server_root(tmp_path: Path) -> None:
    names = ("types", "users", "dbm.pag", "dbm.dir", "a.map", "b.map", "key.pem", "magic", "other")
    laid(tmp_path, {f"conf/{name}": "x\n" for name in names})
    found = named_files(config_tree(tmp_path, {MAIN: TEXT, "envvars": "export A=1\n"}))
    assert {(Path(one.path).name, one.is_linked) for one in found} == {
        *((name, False) for name in ("types", "users", "dbm.pag", "dbm.dir", "a.map", "b.map", "magic")),
        ("envvars", False),
        ("key.pem", True),
    }


def test_data_files_of_modsecurity_lie_beside_their_rule(tmp_path: Path) -> None:
    """Without them the module ends the start of a copy."""
    rules = (
        'SecRule ARGS "@pmFromFile a.data b.data" "deny"\n'
        'SecRule REMOTE_ADDR "@ipMatchFromFile ips.txt" "deny"\n'
        'SecRule ARGS "@pm c.data" "deny"\n'
        'SecRule ARGS "@pmFromFile ../data/d.data ../../outside ../../srv/data/e.data" "deny"\n'
    )
    rest = ("data/d.data", "data/e.data", "rules/a.data", "rules/b.data", "rules/c.data", "rules/ips.txt")
    root = tmp_path / "srv"
    laid(tmp_path, {"outside": "x\n", **{f"srv/{name}": "x\n" for name in rest}})
    found = named_files(config_tree(root, {MAIN: "Include rules/*.conf\n", "rules/x.conf": rules}))
    assert {one.path for one in found} == {f"{root}/{name}" for name in rest if "/c." not in name}

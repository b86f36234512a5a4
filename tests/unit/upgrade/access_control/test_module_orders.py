"""A file alone does not tell which authorization module 2.2 asks first: what depends on that is left."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.upgrade.access_texts import NAMES, USER
from tests.unit.upgrade.config_trees import config_tree, fragments, laid

from whimbrel.base.latin1 import from_system
from whimbrel.config.options import LoadOptions
from whimbrel.upgrade.access_control.module_orders import other_orders
from whimbrel.upgrade.access_control.sections import to_access_lines
from whimbrel.upgrade.access_control.unchanged_sections import ORDER
from whimbrel.upgrade.check.fixpoint import upgrade
from whimbrel.upgrade.model import Risk, UpgradeOptions
from whimbrel.upgrade.rules import rules_of
from whimbrel.upgrade.source.reading import Sources, read_config_tree

BOTH = (
    f"{USER}AuthGroupFile conf/groups\nRequire group b\nSatisfy any\nOrder deny,allow\nDeny from all\n"
    "Allow from 10.20.5.\n<Limit POST>\nRequire user helga\n</Limit>\n"
)
"""POST of helga, who is not in b: 200 where mod_authz_user is loaded before mod_authz_groupfile, 401 else."""
USER_FIRST = ("authz_host", "auth_basic", "authn_file", "authz_user", "authz_groupfile")
GROUP_FIRST = (*USER_FIRST[:3], "authz_groupfile", "authz_user")
SAFE = UpgradeOptions(no_outer_password=True)


def loads(names: tuple[str, ...]) -> str:
    return "".join(f"LoadModule {name}_module modules/mod_{name}.so\n" for name in names)


def in_server(root: Path, names: tuple[str, ...]) -> str:
    """The new text of the file inside a server whose modules have this order."""
    conf = (
        f"{loads(names)}DocumentRoot ROOT/htdocs\n<Directory ROOT/htdocs>\nAllowOverride All\n</Directory>\n"
    )
    result = upgrade(
        config_tree(root, {"conf/httpd.conf": conf, "htdocs/.htaccess": BOTH}), rules_of("access")
    )
    return next(data for path, data in result.files.items() if path.endswith(".htaccess")).decode()


@pytest.mark.parametrize("options", [SAFE, UpgradeOptions()])
def test_a_file_alone_keeps_what_depends_on_the_order(tmp_path: Path, options: UpgradeOptions) -> None:
    user_first = in_server(tmp_path / "a", USER_FIRST)
    group_first = in_server(tmp_path / "b", GROUP_FIRST)
    assert "helga" in user_first and "helga" not in group_first  # 2.2 decides by the order
    result = upgrade(fragments(tmp_path / "c", {".htaccess": BOTH}, options), rules_of("access"))
    assert not result.files
    (finding,) = (one for one in result.findings if one.needs_review)
    assert ORDER in finding.message
    assert not any("had no effect" in one.message for one in result.findings)


@pytest.mark.parametrize(("names", "keeps"), [(USER_FIRST, True), (GROUP_FIRST, False)])
def test_a_server_beside_the_file_has_the_order(
    tmp_path: Path, names: tuple[str, ...], *, keeps: bool
) -> None:
    conf = f"{loads(names)}DocumentRoot ROOT/htdocs\n"
    laid(tmp_path, {"conf/httpd.conf": conf, "lone/.htaccess": BOTH})
    root = from_system(str(tmp_path))
    sources = Sources(options=LoadOptions(server_root=root), fragments=(f"{root}/lone/.htaccess",))
    result = upgrade(read_config_tree(sources, SAFE), rules_of("access"))
    (text,) = (data.decode() for path, data in result.files.items() if path.endswith(".htaccess"))
    assert ("helga" in text) is keeps


def test_a_server_whose_modules_were_not_read_keeps_it_too(tmp_path: Path) -> None:
    conf = (
        "Include mods-enabled/*.load\nAddCharset utf-8 .u\nDocumentRoot ROOT/htdocs\n"
        "<Directory ROOT/htdocs>\nAllowOverride All\n</Directory>\n"
    )
    tree = config_tree(tmp_path, {"conf/httpd.conf": conf, "htdocs/.htaccess": BOTH})
    assert tree.modules_unread is not None
    result = upgrade(tree, rules_of("access"))
    assert not any(path.endswith(".htaccess") for path in result.files)
    assert any(ORDER in one.message and "LoadModule" in one.advice for one in result.findings)


def test_one_family_of_words_has_one_order(tmp_path: Path) -> None:
    text = f"{USER}Require user a\nRequire valid-user\nOrder allow,deny\nAllow from all\n"
    assert upgrade(fragments(tmp_path, {".htaccess": text}, SAFE), rules_of("access")).files


def test_orders(tmp_path: Path) -> None:
    tree = config_tree(
        tmp_path, {"conf/httpd.conf": "<Location />\nRequire user a\nRequire group b\n</Location>\n"}
    )
    (section,) = tree.named("<location")
    lines = [to_access_lines(section.children)]
    assert other_orders(USER_FIRST, lines) == [GROUP_FIRST]
    assert other_orders(USER_FIRST, [lines[0][:1]]) == []
    assert set(NAMES) == set(USER_FIRST)


def test_orders_of_access_checkers(tmp_path: Path) -> None:
    text = "<Location />\nSSLRequireSSL\nSSLOptions +StrictRequire\nRequire valid-user\n</Location>\n"
    (section,) = config_tree(tmp_path, {"conf/httpd.conf": text}).named("<location")
    lines = to_access_lines(section.children)
    modules = ("authz_host", "authz_user", "ssl")
    assert other_orders(modules, [lines]) == [("ssl", "authz_user", "authz_host")]
    assert other_orders(modules, [lines[:1]]) == []  # without the option both orders decide alike


def test_the_sections_around_it_get_their_text(tmp_path: Path) -> None:
    text = (
        "<Directory /srv/a>\nOrder allow,deny\nDeny from all\n</Directory>\n"
        f"<Directory /srv/b>\n{USER}AuthGroupFile g\nAuthzGroupFileAuthoritative Off\nRequire user a\n"
        'Require group b\n</Directory>\n<FilesMatch "\\.bak$">\nOrder allow,deny\nDeny from all\n'
        "Satisfy All\n</FilesMatch>\n"
    )
    result = upgrade(fragments(tmp_path, {"a.conf": text}, SAFE), rules_of("access"))
    (left,) = (one for one in result.findings if one.needs_review)
    # AuthzGroupFileAuthoritative stays, which 2.4 refuses
    assert (left.place.line, left.risk) == (5, Risk.BREAKS)
    (new,) = (data.decode() for data in result.files.values())
    assert "Order" not in new and new.count("Require all denied") == 2
    assert "Require user a\nRequire group b\n" in new


def test_an_outer_list_stays_in_force(tmp_path: Path) -> None:
    # 2.2 asks for both: with Require ip outside, the inner Require of 2.4 would admit every address
    text = (
        "<Directory /srv>\nOrder deny,allow\nDeny from all\nAllow from 10\n</Directory>\n"
        f"<Directory /srv/b>\n{USER}AuthGroupFile g\nRequire user a\nRequire group b\n</Directory>\n"
    )
    result = upgrade(fragments(tmp_path, {"a.conf": text}, SAFE), rules_of("access"))
    new = next((data.decode() for data in result.files.values()), text)
    assert "Deny from all" in new and "Require ip" not in new

"""Text that edits keep: comments at the end of address lists, HEAD in methods; names of mod_rpaf 0.7."""

from __future__ import annotations

from pathlib import Path

from tests.unit.upgrade.config_trees import fragments

from whimbrel.upgrade.check.fixpoint import UpgradeResult, upgrade
from whimbrel.upgrade.check.load_errors import add_load_errors
from whimbrel.upgrade.model import UpgradeOptions


def upgraded(root: Path, text: str) -> tuple[str, UpgradeResult]:
    result = upgrade(fragments(root, {"a.conf": text}, UpgradeOptions(no_outer_password=True)))
    return next((data.decode() for data in result.files.values()), text), result


def test_comments_of_address_lists_are_lines(tmp_path: Path) -> None:
    text = (
        "<Directory /srv/b>\n  Order deny,allow\n  Deny from all\n  Allow from 10.0.0.1 # the office\n"
        "  Allow from 10.0.0.2 10.0.0.3 # both\n</Directory>\n"
    )
    new, _ = upgraded(tmp_path, text)
    lines = [line.strip() for line in new.splitlines()]
    assert sorted(line for line in lines if line.startswith("#")) == ["# both", "# the office"]
    assert "Require ip 10.0.0.1 10.0.0.2 10.0.0.3" in lines and "Allow" not in new


def test_head_stays_where_it_is_written(tmp_path: Path) -> None:
    inner = "Order deny,allow\nDeny from all\n"
    text = f"<Directory /srv>\n<LimitExcept {{}}>\n{inner}</LimitExcept>\n</Directory>\n"
    for methods in ("GET HEAD", "GET"):
        new, _ = upgraded(tmp_path, text.format(methods))
        assert f"<LimitExcept {methods}>\n" in new and "Require all denied" in new


def test_the_names_of_rpaf_07(tmp_path: Path) -> None:
    text = (
        "LoadModule rpaf_module modules/mod_rpaf.so\nRPAF_Enable On\nRPAF_ProxyIPs 10.0.0.1 10.0.0.2\n"
        "RPAF_Header X-Real-IP\nRPAF_SetHostName On\n"
    )
    new, _ = upgraded(tmp_path, text)
    assert new == (
        "LoadModule remoteip_module modules/mod_remoteip.so\nRemoteIPInternalProxy 10.0.0.1 10.0.0.2\n"
        "RemoteIPHeader X-Real-IP\n"
    )


def test_a_directive_of_a_module_that_is_not_loaded_is_no_misspelling(tmp_path: Path) -> None:
    from whimbrel.config.options import LoadOptions
    from whimbrel.upgrade.source.reading import read_config_tree

    loads = "".join(
        f"LoadModule {name}_module modules/mod_{name}.so\n" for name in ("mpm_event", "authz_core", "unixd")
    )
    main = tmp_path / "httpd.conf"
    main.write_text(f"{loads}Listen 80\nServerName x\nNoSuchName on\nRewriteEngine on\n")
    options = LoadOptions(server_root=str(tmp_path), file=str(main))
    result = upgrade(read_config_tree(options, UpgradeOptions()), [])
    add_load_errors(result, options)
    advice = {finding.place.line: finding.advice for finding in result.findings if finding.rule == "LOAD"}
    assert advice[7] == "remove the line, or load mod_rewrite"

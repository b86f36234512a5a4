"""C06 names modules of other origin; a module of httpd is none, whatever release has it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.upgrade.config_trees import config_tree

from whimbrel.upgrade.check.fixpoint import upgrade
from whimbrel.upgrade.model import Finding


def findings(root: Path, module: str) -> list[Finding]:
    text = f"LoadModule {module}_module modules/mod_{module}.so\n"
    found = upgrade(config_tree(root, {"conf/httpd.conf": text})).findings
    return [finding for finding in found if f"{module}_module" in finding.message]


# as the sources of httpd 1.3, 2.0, 2.2 and trunk name them in their module records
@pytest.mark.parametrize(
    "module",
    "imap cern_meta authz_default access auth auth_dbm dbm_auth db_auth digest anon_auth config_log includes"
    " action mmap_static agent_log referer_log isapi nw_ssl mpm_winnt privileges serf policy firehose"
    " case_filter case_filter_in bucketeer optional_hook_import tls journald log_json".split(),
)
def test_a_module_of_httpd_is_never_of_another_origin(tmp_path: Path, module: str) -> None:
    assert not [finding for finding in findings(tmp_path, module) if "third-party" in finding.message]


@pytest.mark.parametrize("module", ["isapi", "privileges", "serf", "dbm_auth", "includes", "threadpool"])
def test_it_is_named_nevertheless_where_24_cannot_load_it(tmp_path: Path, module: str) -> None:
    rules = {finding.rule for finding in findings(tmp_path, module)}
    assert len(rules & {"C06", "C53"}) == 1


def test_a_module_of_another_origin_is_named(tmp_path: Path) -> None:
    messages = [finding.message for finding in findings(tmp_path, "frontpage")]
    assert any("frontpage_module is a third-party module" in message for message in messages)


def test_a_server_on_windows_has_the_modules_of_windows(tmp_path: Path) -> None:
    text = 'ServerRoot "C:/Apache2"\nLoadModule isapi_module modules/mod_isapi.so\n'
    found = upgrade(config_tree(tmp_path, {"conf/httpd.conf": text})).findings
    assert not [finding for finding in found if "isapi_module" in finding.message]

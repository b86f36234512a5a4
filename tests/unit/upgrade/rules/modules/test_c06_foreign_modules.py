"""C06 names modules of other origin; a module of httpd is none, whatever release has it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.support.elf import elf
from tests.unit.upgrade.config_trees import config_tree

from whimbrel.api.comparing import compare_options
from whimbrel.config.options import LoadOptions
from whimbrel.upgrade.check.fixpoint import upgrade
from whimbrel.upgrade.knowledge.scope import UnknownKind
from whimbrel.upgrade.model import Finding, TargetBuild, UpgradeOptions
from whimbrel.upgrade.rules.modules.c06_foreign_modules import check


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


PHP = "LoadModule php5_module modules/libphp5.so\nAddHandler application/x-httpd-php .php .phtml\n"


def test_the_advice_names_what_goes_with_the_line_of_php(tmp_path: Path) -> None:
    found = upgrade(config_tree(tmp_path, {"conf/httpd.conf": PHP})).findings
    advice = next(finding.advice for finding in found if finding.rule == "C06")
    assert "for .php, .phtml files in the place of the line and of AddHandler conf/httpd.conf:2 " in advice
    assert "alone, the removal makes 2.4 send their source" in advice
    # without these modules, 2.4 sends the source of what is for PHP-FPM
    assert ", with proxy_module and proxy_fcgi_module loaded," in advice
    assert len(advice.split()) < 50


def test_a_comparison_accepts_what_the_advice_says(tmp_path: Path) -> None:
    """PHP-FPM in the place of the module, in the words of the advice: no answer differs, nothing is left."""
    text = f"{PHP}LoadModule mime_module modules/mod_mime.so\nListen 127.0.0.1:8080\nServerName a\n"
    text += f'DocumentRoot "{tmp_path}/htdocs"\n'
    (tmp_path / "htdocs").mkdir()
    (tmp_path / "htdocs/index.php").write_text("<?php echo 1;\n")
    tree = config_tree(tmp_path, {"conf/httpd.conf": text})
    advice = next(finding.advice for finding in upgrade(tree).findings if finding.rule == "C06")
    handler = re.search('SetHandler "[^"]*"', advice)
    modules = re.findall(r"(\w+)_module", advice.partition(", with ")[2].partition(" loaded,")[0])
    assert handler is not None and modules == ["proxy", "proxy_fcgi"]
    loads = "".join(f"LoadModule {one}_module modules/mod_{one}.so\n" for one in modules)
    section = f'<FilesMatch "\\.(php|phtml)$">\n{handler[0]}\n</FilesMatch>\n'
    new = text.replace(PHP, f"LoadModule mpm_event_module modules/mod_mpm_event.so\n{loads}{section}")
    paths = tmp_path / "conf/httpd.conf", tmp_path / "conf/new.conf"
    paths[1].write_text(f"{new}LoadModule authz_core_module modules/mod_authz_core.so\n")
    options = [LoadOptions(server_root=str(tmp_path), file=str(path)) for path in paths]
    result = compare_options((options[0], options[1]), ("2.2", "2.4"))
    assert not any(result.errors), result.errors
    assert not [one for one in result.causes_to_review if one.opens or one.closes or one.kind == "access"]
    again = upgrade(config_tree(tmp_path / "new", {"conf/httpd.conf": paths[1].read_text()}))
    assert not [one for one in again.findings if one.rule in ("C06", "LOAD")]


def test_an_answer_is_short_and_the_advice_has_the_rest(tmp_path: Path) -> None:
    (php,) = [
        one
        for one in upgrade(config_tree(tmp_path / "php", {"conf/httpd.conf": PHP})).findings
        if one.rule == "C06"
    ]
    assert max(map(len, php.answers)) < 160 < len(php.advice)
    assert "without the line 2.4 sends source" in php.answers[1]
    (other,) = [one for one in findings(tmp_path / "other", "frontpage") if one.rule == "C06"]
    assert other.answers[1] == f"no: {other.advice}"


def test_another_php_is_a_question_about_the_scripts(tmp_path: Path) -> None:
    tree = config_tree(tmp_path, {"conf/httpd.conf": PHP})
    library = tmp_path / "modules/libphp8.2.so"
    library.parent.mkdir(exist_ok=True)
    library.write_bytes(elf(20120211, b"AP24", symbol=b"php_module"))
    finding = next(one for one in upgrade(tree).findings if one.rule == "C06")
    assert finding.message == "php5_module is a third-party module: modules/libphp5.so is not here"
    assert finding.decision.startswith("Do the scripts run with libphp8.2.so, ")
    assert finding.answers[0] == "yes: upgrade writes `LoadModule php_module modules/libphp8.2.so`"
    assert finding.answers[1].startswith("not known: test the scripts before 2.4 serves them; ")


def test_a_line_without_handlers_may_be_removed_alone(tmp_path: Path) -> None:
    (finding,) = [one for one in findings(tmp_path, "frontpage") if one.rule == "C06"]
    assert finding.advice == "install a build for 2.4 (API 20120211), or remove the line"


def test_a_comment_about_a_library_that_is_not_here_is_an_assumption(tmp_path: Path) -> None:
    text = f"LoadModule alias_module modules/mod_alias.so\n# whimbrel: ignore[C06]\n{PHP}"
    result = upgrade(config_tree(tmp_path, {"conf/httpd.conf": text}))
    assert not [one for one in result.findings if one.rule == "C06"]
    (item,) = [one for one in result.scope.items if one.kind is UnknownKind.ASSUMED]
    assert item.matters  # 2.4 refuses a library of another API, and nobody has read this one
    assert item.subject == "ignore[C06]: modules/libphp5.so is built for 2.4"
    assert item.place is not None and item.place.line == 3


def test_no_comment_accepts_a_library_that_was_built_for_22(tmp_path: Path) -> None:
    text = f"LoadModule alias_module modules/mod_alias.so\n# whimbrel: ignore[C06]\n{PHP}"
    tree = config_tree(tmp_path, {"conf/httpd.conf": text})
    library = tmp_path / "modules/libphp5.so"
    library.parent.mkdir(exist_ok=True)
    library.write_bytes(elf(20051115, b"AP22"))
    (finding,) = [one for one in upgrade(tree).findings if one.rule == "C06"]
    assert finding.is_proven and "2.2" in finding.message


def test_a_library_that_is_not_here_is_not_called_one_of_22(tmp_path: Path) -> None:
    """Nothing was read: what the file was built for is not known, and the comment that says it is named."""
    (finding,) = [one for one in findings(tmp_path, "frontpage") if one.rule == "C06"]
    assert finding.message.endswith(
        "modules/mod_frontpage.so is not here: whether it is built for 2.4 is not known; if it is: "
        "# whimbrel: ignore[C06]"
    )


def test_the_module_of_php_8_is_one_of_24_alone(tmp_path: Path) -> None:
    """2.2 loads php5_module; a text with php_module names a build for 2.4."""
    text = "LoadModule php_module modules/libphp.so\nAddHandler application/x-httpd-php .php\n"
    tree = config_tree(tmp_path, {"conf/httpd.conf": text})
    assert not [one for one in upgrade(tree).findings if one.rule == "C06"]
    library = tmp_path / "modules/libphp.so"
    library.parent.mkdir(exist_ok=True)
    library.write_bytes(elf(20051115, b"AP22"))
    (finding,) = [one for one in upgrade(tree).findings if one.rule == "C06"]
    assert finding.is_proven


@pytest.mark.parametrize(("build", "lines"), [(TargetBuild.SHARED, [3, 9]), (None, [3, 6, 9])])
def test_a_line_for_another_mpm_is_not_read(
    tmp_path: Path, build: TargetBuild | None, lines: list[int]
) -> None:
    # Red Hat's php.conf: httpd is built for prefork and httpd.worker for worker; upgrade loads prefork.
    # A 2.4 of an unknown build may have worker compiled in, and reads the line for it.
    text = (
        "LoadModule dir_module modules/mod_dir.so\n"
        "<IfModule prefork.c>\nLoadModule php5_module modules/libphp5.so\n</IfModule>\n"
        "<IfModule worker.c>\nLoadModule php5_module modules/libphp5-zts.so\n</IfModule>\n"
        "<IfModule !worker.c>\nLoadModule frontpage_module modules/mod_frontpage.so\n</IfModule>\n"
    )
    options = UpgradeOptions(target_build=build)
    tree = config_tree(tmp_path, {"conf/httpd.conf": text}, options=options)
    assert [finding.place.line for finding in check(tree)] == lines
    found = upgrade(tree)
    assert [finding.place.line for finding in found.findings if finding.rule == "C06"] == lines
    assert b"modules/mod_mpm_prefork.so" in next(iter(found.files.values()))


@pytest.mark.parametrize("mpm", ["worker", "event"])
def test_a_line_for_the_mpm_of_the_text_is_read(tmp_path: Path, mpm: str) -> None:
    text = (
        "LoadModule dir_module modules/mod_dir.so\n"
        f"<IfModule {mpm}.c>\nLoadModule php5_module modules/libphp5-zts.so\n</IfModule>\n"
    )
    found = upgrade(config_tree(tmp_path, {"conf/httpd.conf": text}))
    assert [finding.place.line for finding in found.findings if finding.rule == "C06"] == [3]
    assert f"modules/mod_mpm_{mpm}.so".encode() in next(iter(found.files.values()))


def test_settings_in_htaccess_files_answer_500_without_the_module(tmp_path: Path) -> None:
    """httpd: "Invalid command 'php_flag', perhaps misspelled or defined by a module not included"."""
    main = f'{PHP}DocumentRoot htdocs\n<Directory "{{root}}/htdocs">\nAllowOverride All\n</Directory>\n'

    def answer(name: str, text: str) -> str:
        root = tmp_path / name
        files = {"conf/httpd.conf": main.format(root=root), "htdocs/.htaccess": text}
        (php,) = [one for one in upgrade(config_tree(root, files)).findings if one.rule == "C06"]
        return php.answers[1]

    assert " and answers 500 at php_flag htdocs/.htaccess:2: " in answer("bare", "# x\nphp_flag engine off\n")
    guarded = "<IfModule mod_php5.c>\nphp_flag engine off\n</IfModule>\n"
    assert "500" not in answer("guarded", guarded)

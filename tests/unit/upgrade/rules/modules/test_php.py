"""C06: a LoadModule line of PHP 5 names the newest module for 2.4 that is in the same directory."""

from __future__ import annotations

import re
from pathlib import Path

from tests.support.elf import elf
from tests.unit.upgrade.config_trees import config_tree, fragments

from whimbrel.upgrade.check.fixpoint import upgrade
from whimbrel.upgrade.knowledge.scope import UnknownKind
from whimbrel.upgrade.model import Finding, Risk, Safety
from whimbrel.upgrade.rules.modules.c06_foreign_modules import RULE

NEW, OLD = (20120211, b"AP24"), (20051115, b"AP22")


def new_lines(root: Path, files: dict[str, bytes]) -> list[str]:
    """The texts that the rule writes for the module of PHP 5, with *files* in the directory of modules."""
    conf = "# PHP\nLoadModule php5_module modules/libphp5.so\nLoadModule other_module modules/mod_other.so\n"
    modules: dict[str, str | bytes] = {f"modules/{name}": data for name, data in files.items()}
    found = list(RULE.check(config_tree(root, {"conf/httpd.conf": conf, **modules})))
    assert [(one.place.line, one.risk) for one in found] == [(2, Risk.BREAKS), (3, Risk.BREAKS)]
    assert not found[1].edits
    for one in found:
        assert one.safety is (Safety.REVIEW if one.edits else Safety.MANUAL)
    return [file_edit.edit.text.decode().strip() for one in found for file_edit in one.edits]


def test_the_newest_module_for_24_is_written(tmp_path: Path) -> None:
    files = {
        "libphp5.so": elf(*OLD, symbol=b"php5_module"),
        "libphp7.4.so": elf(*NEW, symbol=b"php7_module"),
        "libphp8.2.so": elf(*NEW, symbol=b"php_module"),
        "libphp8.10.so": elf(*NEW, symbol=b"php_module"),
        "libphp9.so": elf(*OLD, symbol=b"php_module"),
    }
    (text,) = new_lines(tmp_path, files)
    assert text.endswith("php_module modules/libphp8.10.so")


def test_the_identifier_is_that_of_the_file(tmp_path: Path) -> None:
    (text,) = new_lines(tmp_path, {"libphp7.4.so": elf(*NEW, symbol=b"php7_module")})
    assert text.endswith("php7_module modules/libphp7.4.so")


def test_without_such_a_file_the_line_stays(tmp_path: Path) -> None:
    assert not new_lines(tmp_path / "a", {})
    assert not new_lines(tmp_path / "b", {"libphp5.so": elf(*OLD, symbol=b"php5_module")})
    assert not new_lines(tmp_path / "c", {"libphp8.2.so": b"no shared object"})


def test_the_source_file_of_a_foreign_module_is_a_name(tmp_path: Path) -> None:
    """X11 is about `mod_rewrite` in the place of `mod_rewrite.c`."""
    for name, count in (("mod_php5.c", 0), ("mod_php7.c", 0), ("mod_rewrite", 1)):
        tree = fragments(tmp_path, {"a.conf": f"<IfModule {name}>\nphp_flag engine off\n</IfModule>\n"})
        assert sum(found.rule == "X11" for found in upgrade(tree).findings) == count, name


def test_the_name_of_the_module_of_php_8_is_told(tmp_path: Path) -> None:
    """php_module is the symbol of libphp of PHP 8: httpd looks for the symbol that LoadModule names."""
    (found,) = RULE.check(config_tree(tmp_path, {"conf/httpd.conf": "LoadModule php5_module modules/x.so\n"}))
    assert "of PHP 8: LoadModule php_module" in found.advice and "php_module" in found.answers[1]


def test_both_new_branches_of_php_are_in_the_answer(tmp_path: Path) -> None:
    text = "<IfModule mod_php5.c>\n<Files x>\nRequire all denied\n</Files>\n</IfModule>\n"
    result = upgrade(fragments(tmp_path, {"a.conf": text}))
    (found,) = [one for one in result.findings if one.rule == "R13"]
    written = b"".join(result.files.values()).decode()
    for name in ("<IfModule mod_php7.c>", "<IfModule mod_php.c>"):
        assert name in written and name in found.answers[0]


SECTION = (
    "<IfModule mod_php5.c>\nAddHandler application/x-httpd-php .php\n"
    "php_admin_flag log_errors on\n</IfModule>\n"
)


def r13(root: Path, text: str) -> tuple[list[Finding], list[str]]:
    """The findings of R13, and what the comments of the text are taken for."""
    result = upgrade(fragments(root, {"a.conf": text}))
    assumed = [item.subject for item in result.scope.items if item.kind is UnknownKind.ASSUMED]
    return [one for one in result.findings if one.rule == "R13"], assumed


def test_the_answer_names_the_line_that_runs_the_scripts(tmp_path: Path) -> None:
    """httpd 2.4 skips <IfModule mod_php5.c> with PHP 7 and 8; files without a handler are sent as is."""
    (found,), nothing = r13(tmp_path / "a", SECTION)
    assert found.risk is Risk.OPENS and not nothing
    for text in (found.message, found.answers[1]):
        assert "AddHandler application/x-httpd-php .php" in text and "sends the source" in text
    assert not found.answers[1].startswith("no: # whimbrel")
    none, (assumed,) = r13(tmp_path / "b", f"# whimbrel: ignore[R13]\n{SECTION}")
    assert not none and "AddHandler application/x-httpd-php .php" in assumed


def test_another_line_that_runs_the_same_scripts_leaves_nothing_open(tmp_path: Path) -> None:
    for number, (line, is_alone) in enumerate(
        (
            ("AddType application/x-httpd-php php .php3", False),
            ("AddHandler application/x-httpd-php .php3", True),
            ("AddHandler application/x-httpd-php-source .php", True),
            ("<Directory /srv>\nAddHandler application/x-httpd-php .php\n</Directory>", True),
            ("<IfModule mod_x.c>\nAddHandler application/x-httpd-php .php\n</IfModule>", True),
        )
    ):
        (found,), _ = r13(tmp_path / f"{number}a", f"{SECTION}{line}\n")
        assert ("sends the source" in found.message) is is_alone, line
        _, assumed = r13(tmp_path / f"{number}b", f"# whimbrel: ignore[R13]\n{SECTION}{line}\n")
        assert bool(assumed) is is_alone, line


def test_a_newer_section_with_settings_alone_runs_no_scripts(tmp_path: Path) -> None:
    """Of PHP 7 the section of mod_php7.c is read: without AddHandler in it, files are sent as they are."""
    of_7 = "<IfModule mod_php7.c>\nphp_value memory_limit 64M\n</IfModule>\n"
    of_8 = "<IfModule mod_php.c>\nAddHandler application/x-httpd-php .php .phtml\n</IfModule>\n"
    (found,), _ = r13(tmp_path / "a", SECTION + of_7 + of_8)
    assert found.risk is Risk.OPENS and not found.edits
    assert "mod_php7.c" in found.message and "mod_php.c" not in found.message
    _, (assumed,) = r13(tmp_path / "b", f"# whimbrel: ignore[R13]\n{SECTION}{of_7}{of_8}")
    assert "AddHandler application/x-httpd-php .php" in assumed
    full = of_7.replace("php_value memory_limit 64M", "AddType application/x-httpd-php .php")
    assert not r13(tmp_path / "d", SECTION + full + of_8)[0]


def test_no_answer_takes_away_the_line_that_it_keeps(tmp_path: Path) -> None:
    """Debian's php5.conf: one text runs scripts, another line keeps files of users from it."""
    text = (
        '<IfModule mod_php5.c>\n<FilesMatch "\\.ph(p3?|tml)$">\n'
        "SetHandler application/x-httpd-php\n</FilesMatch>\n"
        '<FilesMatch "\\.phps$">\nSetHandler application/x-httpd-php-source\n</FilesMatch>\n'
        "<IfModule mod_userdir.c>\n<Directory /home/*/public_html>\nphp_admin_value engine Off\n"
        "</Directory>\n</IfModule>\n</IfModule>\n"
    )
    (found,), _ = r13(tmp_path, text)
    _, no = found.answers
    taken, kept = re.search(r"take `(.*?)` out", no), re.search(r"keep `(.*?)` there", no)
    assert (taken is None and kept is None) or (taken and kept and taken[1] != kept[1])
    assert "# whimbrel: ignore[R13]" in no

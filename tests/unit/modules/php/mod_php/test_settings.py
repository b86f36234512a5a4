"""Merging of php_value and its relatives: what apache2 with libphp8.2.so does (merge_php_config)."""

from __future__ import annotations

from pathlib import Path

import pytest

from whimbrel.modules.php.mod_php.handler import basic_credentials, level_of_message
from whimbrel.modules.php.mod_php.interpreter import Interpreter, PhpPool, find_interpreter, quoted, usable
from whimbrel.modules.php.mod_php.settings import IniValue, is_on, merge_settings


def test_admin_values_win_over_inner_sections() -> None:
    outer = {"a": IniValue("1", True), "b": IniValue("1", False)}
    inner = {"a": IniValue("2", False), "b": IniValue("2", False), "c": IniValue("2", True)}
    assert merge_settings(outer, inner) == {
        "a": IniValue("1", True),
        "b": IniValue("2", False),
        "c": IniValue("2", True),
    }
    assert merge_settings(outer, {"a": IniValue("3", True)})["a"] == IniValue("3", True)


@pytest.mark.parametrize(
    ("text", "value"), [("1", True), ("On", True), ("0", False), ("off", False), ("", False), ("2", True)]
)
def test_booleans(text: str, value: bool) -> None:
    assert is_on({"engine": IniValue(text, False)}, "engine", True) is value


def test_values_keep_their_characters() -> None:
    assert quoted("a;b = c") == "'a;b = c'"
    assert quoted('it\'s "x"') == '"it\'s \\"x\\""'


def test_names_and_values_that_are_lines_are_left_out() -> None:
    settings = {"a b": IniValue("1", False), "x]\ny": IniValue("1", False), "ok": IniValue("1\nz=2", False)}
    assert usable(settings) == {}


def test_each_set_of_settings_has_its_own_processes(tmp_path: Path) -> None:
    pool = PhpPool(
        Interpreter("/usr/sbin/php-fpm", True, ()), children=2, max_requests=0, ini_dir="", environment={}
    )
    first = pool.program({"memory_limit": IniValue("1M", True)}, str(tmp_path))
    second = pool.program({"memory_limit": IniValue("1M", False)}, str(tmp_path))
    assert first.key != second.key
    files = sorted(path.read_text() for path in tmp_path.glob("*.conf"))
    assert "php_admin_value[memory_limit] = '1M'" in files[0] + files[1]
    assert "php_value[memory_limit] = '1M'" in files[0] + files[1]


def test_php_cgi_gets_the_values_on_its_command_line(tmp_path: Path) -> None:
    pool = PhpPool(
        Interpreter("/usr/bin/php-cgi", False, ()), children=3, max_requests=9, ini_dir="/i", environment={}
    )
    program = pool.program({"memory_limit": IniValue("1M", True)}, str(tmp_path))
    assert program.command[:3] == ("/usr/bin/php-cgi", "-c", "/i")
    assert "memory_limit='1M'" in program.command and "cgi.force_redirect='0'" in program.command
    assert dict(program.environment) == {"PHP_FCGI_CHILDREN": "3", "PHP_FCGI_MAX_REQUESTS": "9"}


def test_the_interpreter_of_the_module_is_preferred(tmp_path: Path) -> None:
    for name in ("php-fpm7.4", "php-fpm8.2", "php-cgi8.3", "phpize"):
        (tmp_path / name).write_text("")
        (tmp_path / name).chmod(0o755)
    found = find_interpreter(7, [str(tmp_path)])
    assert found is not None and found.path.endswith("php-fpm7.4")
    found = find_interpreter(8, [str(tmp_path), "/none"])
    assert found is not None and found.path.endswith("php-fpm8.2")
    assert find_interpreter(8, ["/none"]) is None


def test_levels_are_those_of_libphp() -> None:
    assert level_of_message("PHP Warning:  x") == "warn"
    assert level_of_message("PHP Fatal error:  x") == "error"
    assert level_of_message("PHP Notice:  x") == "notice"
    assert level_of_message("text of error_log()") == "notice"


def test_users_of_basic_credentials() -> None:
    assert basic_credentials("Basic Ym9iOnB3") == "bob"
    assert basic_credentials("Basic !") is None and basic_credentials("Digest a") is None
    assert basic_credentials(None) is None

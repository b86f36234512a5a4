"""Merging of php_value and its relatives: what apache2 with libphp8.2.so does (merge_php_config)."""

from __future__ import annotations

from pathlib import Path

import pytest

from whimbrel.modules.php.mod_php.exchange import level_of_message
from whimbrel.modules.php.mod_php.handler import basic_credentials
from whimbrel.modules.php.mod_php.ini_sets import IniSet
from whimbrel.modules.php.mod_php.interpreter import Interpreter, PhpPool, find_interpreter
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


def fpm() -> PhpPool:
    """Return a pool of php-fpm."""
    return PhpPool(
        Interpreter("/usr/sbin/php-fpm", True, ()), children=2, max_requests=0, ini_dir="", environment={}
    )


def test_sets_of_settings_share_the_processes_of_php_fpm(tmp_path: Path) -> None:
    """PHP keeps the values of php_admin_value: only sets with the same names share those."""
    sets = [IniSet({"memory_limit": f"{number}M"}, {}, True, {}) for number in range(60)]
    sets += [IniSet({f"name{number}": "1"}, {}, True, {}) for number in range(60)]
    assert len({fpm().program(each, str(tmp_path)).key for each in sets}) == 1
    admin = [IniSet({}, {"open_basedir": f"/srv/{number}"}, True, {}) for number in range(60)]
    assert len({fpm().program(each, str(tmp_path)).key for each in admin}) == 1
    others = [IniSet({}, {}, True, {}), sets[0], admin[0], IniSet({}, {"memory_limit": "1"}, True, {})]
    others += [IniSet({}, {"opcache.enable": value}, True, {}) for value in "01"]
    assert len({fpm().program(each, str(tmp_path)).key for each in others}) == len(others)


def test_the_pool_of_php_fpm_names_no_setting_of_a_site(tmp_path: Path) -> None:
    fpm().program(IniSet({"memory_limit": "1M"}, {"open_basedir": "$pool"}, True, {}), str(tmp_path))
    (text,) = (path.read_text() for path in tmp_path.glob("*.conf"))
    assert "memory_limit" not in text and "$pool" not in text


def test_php_cgi_gets_the_values_on_its_command_line(tmp_path: Path) -> None:
    pool = PhpPool(
        Interpreter("/usr/bin/php-cgi", False, ()), children=3, max_requests=9, ini_dir="/i", environment={}
    )
    program = pool.program(IniSet({"precision": "3"}, {"memory_limit": "1M"}, True, {}), str(tmp_path))
    assert program.command[:3] == ("/usr/bin/php-cgi", "-c", "/i")
    assert "memory_limit='1M'" in program.command and "cgi.force_redirect='0'" in program.command
    assert any(word.startswith("user_ini.filename='../../") for word in program.command)
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

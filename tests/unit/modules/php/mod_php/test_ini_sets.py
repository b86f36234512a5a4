"""Sets of settings: which names PHP gets, and their form; access levels and names are those of PHP 8.2."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from whimbrel.modules.php.mod_php import ini_sets
from whimbrel.modules.php.mod_php.ini_sets import (
    BadSettings,
    IniSet,
    PhpFacts,
    SetFile,
    document_root_for,
    ini_lines,
    quoted,
    read_facts,
    select,
)
from whimbrel.modules.php.mod_php.settings import IniValue

ACCESS = {
    "memory_limit": 7,
    "upload_max_filesize": 6,
    "enable_dl": 4,
    "disable_functions": 4,
    "user_ini.filename": 4,
    "cgi.nph": 7,
    "expose_php": 4,
    "only.scripts": 1,
}
FACTS = PhpFacts("8.2.1", False, ACCESS, {"memory_limit": "128M"})


def values(*names: str, is_admin: bool) -> dict[str, IniValue]:
    return {name: IniValue("1", is_admin) for name in names}


def test_only_names_of_the_level_of_the_directive_are_passed_on() -> None:
    names = (*ACCESS, "extension", "zend_extension", "unknown.name", "a]b", "[HOST=x]", "precision\ny")
    assert select(values(*names, is_admin=False), FACTS) == IniSet(
        {"memory_limit": "1", "upload_max_filesize": "1"}, {}, False, {}
    )
    admin = {"enable_dl": "1", "memory_limit": "1", "upload_max_filesize": "1"}
    assert select(values(*names, is_admin=True), FACTS) == IniSet(
        {}, admin, True, {"enable_dl": "", "memory_limit": "128M", "upload_max_filesize": ""}
    )


@pytest.mark.parametrize(
    ("in_htaccess", "admin"), [(False, {"mail.force_extra_parameters": "-f x"}), (True, {})]
)
def test_a_setting_that_php_refuses_in_a_htaccess(in_htaccess: bool, admin: dict[str, str]) -> None:
    """libphp takes it from a section of the server, at its own level (php_value of apache_config.c)."""
    name = "mail.force_extra_parameters"
    facts = PhpFacts("8", False, {name: 6}, {name: ""})
    found = select({name: IniValue("-f x", False, in_htaccess)}, facts)
    assert (found.values, found.admin) == ({}, admin)


def test_exposure_is_that_of_php_ini_or_of_an_admin_value() -> None:
    assert select({}, PhpFacts("8", True, ACCESS, {})).is_exposed
    assert not select({"expose_php": IniValue("0", True)}, PhpFacts("8", True, ACCESS, {})).is_exposed
    assert select({"expose_php": IniValue("0", False)}, PhpFacts("8", True, ACCESS, {})).is_exposed


def test_a_value_never_becomes_a_second_setting() -> None:
    """PHP reads all that is between single quotes to the letter (tests/server/test_php_settings.py)."""
    assert quoted("a\nextension=/tmp/x.so") == "'a\nextension=/tmp/x.so'"
    assert quoted("a'\nextension='x") == "'a'\"'\"'\nextension='\"'\"'x'"
    assert quoted("") == '""' and quoted("'") == '"\'"'
    assert select({"memory_limit": IniValue("1\0", False)}, FACTS).values == {}


def test_settings_that_do_not_fit_are_refused() -> None:
    for is_admin in (True, False):
        with pytest.raises(BadSettings):
            select({"memory_limit": IniValue("x" * ini_sets.MAX_SET_BYTES, is_admin)}, FACTS)


VALUES = {"memory_limit": b"128M".hex()}


def test_the_value_of_php_ini_is_first_in_the_parameter() -> None:
    settings = values("memory_limit", "opcache.enable", is_admin=True)
    facts = PhpFacts("8", True, {"memory_limit": 7, "opcache.enable": 7}, {"memory_limit": "128M"})
    parameter = select(settings, facts).parameter({"user_ini.filename": "f"})
    assert parameter == "memory_limit='128M'\nmemory_limit='1'\nopcache.enable='1'\nuser_ini.filename='f'\n"


def test_the_list_of_php() -> None:
    text = json.dumps({"version": "8.2.1", "exposed": False, "access": ACCESS, "values": VALUES}).encode()
    assert read_facts(text) == FACTS
    assert read_facts(b"") is None and read_facts(b"[]") is None and read_facts(b'{"version": 1}') is None


def test_the_file_of_a_set_exists_whenever_it_is_used(tmp_path: Path) -> None:
    file = SetFile({"memory_limit": "1M"}, str(tmp_path))
    for _ in range(2):
        file.prepare()
        assert Path(file.path).read_text() == ini_lines({"memory_limit": "1M"})
        os.unlink(file.path)
    assert SetFile({"memory_limit": "2M"}, str(tmp_path)).path != file.path
    assert os.path.normpath(os.path.join("/srv/www", file.name)) == file.path


def test_the_number_of_files_has_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ini_sets, "MAX_SETS", 3)
    files = [SetFile({"memory_limit": str(number)}, str(tmp_path)) for number in range(4)]
    for file in files[:3]:
        file.prepare()
    with pytest.raises(BadSettings):
        files[3].prepare()
    old = time.time() - ini_sets.UNUSED_AFTER - 1
    os.utime(files[0].path, (old, old))
    files[1].prepare()
    files[3].prepare()
    assert [os.path.exists(file.path) for file in files] == [False, True, True, True]


def test_a_file_in_use_is_not_the_oldest(tmp_path: Path) -> None:
    file = SetFile({"memory_limit": "1M"}, str(tmp_path))
    file.prepare()
    old = time.time() - ini_sets.UNUSED_AFTER
    os.utime(file.path, (old, old))
    file.prepare()
    assert time.time() - os.stat(file.path).st_mtime < ini_sets.USED_INTERVAL


def test_a_script_without_its_settings_is_refused(tmp_path: Path) -> None:
    file = SetFile({"memory_limit": "1M"}, "/run/php")
    file.check_script("/srv/www/a.php")
    deep = tmp_path.joinpath(*["d"] * (ini_sets.MAX_DEPTH + 1))
    deep.mkdir(parents=True)
    (tmp_path / "link").symlink_to(deep)
    for script in ("/a.php", f"/{'d' * 3700}/a.php", f"{deep}/a.php", f"{tmp_path}/link/a.php"):
        with pytest.raises(BadSettings):
            file.check_script(script)


def test_a_script_above_the_document_root_gets_its_settings() -> None:
    assert document_root_for("/srv/a.php", "/srv/www") == "//srv/www"
    assert document_root_for("/srv/www/a.php", "/srv/www") == "/srv/www"
    assert document_root_for("/srv/www2/a.php", "/srv/www") == "/srv/www"

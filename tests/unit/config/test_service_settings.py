"""What a service passes to httpd. Expected: systemd.exec(5), sysconfig files and start scripts.

Whole machines: tests/corpus/test_layouts.py.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from whimbrel.base.layouts import LAYOUTS, Layout
from whimbrel.config.servers import FoundServer
from whimbrel.config.service_settings import MAX_FILES, ServiceSettings, service_settings


def layout(name: str) -> Layout:
    """Return the layout of this name."""
    return next(layout for layout in LAYOUTS if layout.name == name)


def settings(image: Path, name: str, files: dict[str, str]) -> ServiceSettings:
    """Return the settings of a server in the image of a machine with *files*."""
    found = layout(name)
    for path, text in {found.file: "", **files}.items():
        target = Path(f"{image}{path}")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    root = f"{image}{found.root}"
    return service_settings(FoundServer(root, f"{image}{found.file}", found, str(image)), {"A": "0"})


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("A=1\n", "A", "1"),
        ('A="b c"\n', "A", "b c"),
        ("# A=1\nB=$A\n", "B", "$A"),
        ("A=1\\\n2\n", "A", "1 2"),
        ("A=/srv/m\u00fcller\u2028x\n", "A", "/srv/m\u00fcller\u2028x"),
        ("A=1\x002\n=x\n1B=2\nC D=3\n", "A", "12"),
    ],
)
def test_an_environment_file_of_systemd_expands_nothing(
    text: str, name: str, value: str, tmp_path: Path
) -> None:
    unit = "[Service]\nEnvironmentFile=-/etc/own.env\nEnvironmentFile=-/etc/missing\n"
    files = {"/usr/lib/systemd/system/httpd.service": unit, "/etc/own.env": text}
    environment = settings(tmp_path, "Red Hat's packages", files).environment
    assert environment[name] == value
    assert set(environment) <= {"A", "B"}


def test_a_drop_in_changes_the_unit(tmp_path: Path) -> None:
    found = settings(
        tmp_path,
        "Arch's package",
        {
            "/usr/lib/systemd/system/httpd.service": "[Service]\nEnvironment=A=1 B=2\n",
            "/etc/systemd/system/httpd.service.d/x.conf": '[Service]\nEnvironment="A=3 4"\n',
            "/etc/systemd/system/httpd.service.d/y.txt": "[Service]\nEnvironment=B=5\n",
        },
    )
    assert (found.environment["A"], found.environment["B"]) == ("3 4", "2")


@pytest.mark.parametrize(
    ("options", "defines", "before"),
    [
        ("-DSSL -D INFO", ["SSL", "INFO"], []),
        ("-DFOREGROUND -f other.conf", [], []),
        ("-C 'Listen 81' -D A", ["A"], ["Listen 81"]),
        ("-D", [], []),
    ],
)
def test_options_of_a_service(options: str, defines: list[str], before: list[str], tmp_path: Path) -> None:
    found = settings(tmp_path, "Gentoo's package", {"/etc/conf.d/apache2": f'APACHE2_OPTS="{options}"\n'})
    assert (found.defines, found.before) == (defines, before)


def test_modules_of_suse_are_loaded_where_the_start_script_has_not_run(tmp_path: Path) -> None:
    files = {
        "/etc/sysconfig/apache2": 'APACHE_MODULES="dir /opt/mod_own.so"\nAPACHE_SERVER_FLAGS="SSL -DX"\n'
    }
    found = settings(tmp_path, "SUSE's packages", files)
    assert found.defines == ["SSL", "X"]
    generated = f"{tmp_path}/etc/apache2/sysconfig.d"
    assert found.overlay[f"{generated}/loadmodule.conf"] == (
        b"LoadModule dir_module /usr/lib64/apache2/mod_dir.so\nLoadModule own_module /opt/mod_own.so\n"
    )
    written = {f"/etc/apache2/sysconfig.d/{name}.conf": "" for name in ("loadmodule", "global", "include")}
    assert not settings(tmp_path, "SUSE's packages", {**files, **written}).overlay


def test_a_file_of_another_distribution_is_not_read(tmp_path: Path) -> None:
    found = settings(tmp_path, "Arch's package", {"/etc/sysconfig/httpd": "A=1\n"})
    assert found.environment["A"] == "0" and not found.files


def test_nothing_is_executed(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    found = settings(tmp_path, "Red Hat's packages", {"/etc/sysconfig/httpd": f"A=`touch {mark}`\n"})
    assert not mark.exists() and len(found.undecided) == 1


def test_drop_ins_are_bounded(tmp_path: Path) -> None:
    more = {
        f"/etc/systemd/system/httpd.service.d/{number:03}.conf": "[Service]\nEnvironment=A=1\n"
        for number in range(MAX_FILES + 5)
    }
    assert len(settings(tmp_path, "Arch's package", more).files) == MAX_FILES


def test_a_part_of_a_machine_has_no_service(tmp_path: Path) -> None:
    found = layout("Red Hat's packages")
    server = FoundServer(str(tmp_path), f"{tmp_path}/conf/httpd.conf", found)
    assert service_settings(server, {"A": "0"}).environment == {"A": "0"}

"""mod_systemd: accepted from any path, without directives, in 2.4 only (mod/mod_systemd.html)."""

from __future__ import annotations

from whimbrel.catalogue.load import catalogue
from whimbrel.directives.spec import Versions
from whimbrel.modules import ALL


def test_it_is_a_module_of_2_4_without_directives() -> None:
    module = ALL["mod_systemd"]
    assert (module.name, module.versions, module.setters) == ("systemd_module", Versions.V24, {})


def test_only_the_catalogue_of_2_4_knows_it() -> None:
    assert catalogue("2.4").module_of_file("mod_systemd") is not None
    assert catalogue("2.2").module_of_file("mod_systemd") is None

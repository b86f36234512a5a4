"""Aliased providers under 2.2."""

from __future__ import annotations

from pathlib import Path

from tests.support.access_site import MODULES, AccessSite


def test_a_list_of_aliases_is_asked_in_turn(tmp_path: Path) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf/more").write_text("zoe:{SHA}19rK4sloOIlgv4lwCAqYDtXF3Lc=\n")  # zz
    conf = (
        "<AuthnProviderAlias file one>\nAuthUserFile conf/users\n</AuthnProviderAlias>\n"
        "<AuthnProviderAlias file two>\nAuthUserFile conf/more\n</AuthnProviderAlias>\n"
        "<Location />\nAuthType Basic\nAuthName x\nAuthBasicProvider one two\nRequire "
        "valid-user\n</Location>\n"
    )
    site = AccessSite(tmp_path, conf, "2.2", MODULES["2.2"] + " authn_alias")
    assert [site.status(user=user) for user in ("alice:wonder", "zoe:zz", "zoe:wonder", "kim:zz")] == [
        200,
        200,
        401,
        401,
    ]

"""Groups in DBM files: statuses and codes as recorded."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.access_site import BASIC, MODULES, AccessSite
from tests.support.dbm_samples import write_sdbm

from whimbrel.engine.cache.index import CacheIndex
from whimbrel.modules.aaa.mod_authz_dbm import groups_of
from whimbrel.modules.support.dbm import sdbm

AREA = "<Location />\n{}AuthzDBMType SDBM\nAuthDBMGroupFile conf/gdb\n{}</Location>\n"


def site_of(root: Path, body: str, version: str = "2.4") -> AccessSite:
    (root / "conf").mkdir()
    write_sdbm(
        root / "conf/gdb", (b"alice", b"admin,staff"), (b"bob", b"pw:staff:junk"), (b"bob:Other", b"admin")
    )
    return AccessSite(
        root,
        AREA.format(BASIC.replace("AuthGroupFile conf/groups\n", ""), body),
        version,
        MODULES[version] + " authz_dbm",
    )


@pytest.mark.parametrize(
    ("value", "groups"), [("a,b", {"a", "b"}), ("pw:a,b:more", {"a", "b"}), ("pw:", {""}), ("a", {"a"})]
)
def test_values(value: str, groups: set[str]) -> None:
    assert groups_of(value) == groups


@pytest.mark.parametrize(
    ("body", "user", "status", "codes"),
    [
        ("Require dbm-group admin ops\n", "alice:wonder", 200, []),
        ("Require dbm-group staff\n", "bob:builder", 200, []),
        ("Require dbm-group admin\n", "bob:builder", 401, ["AH01801", "AH01631"]),
        ("Require dbm-group Admin\n", "alice:wonder", 401, ["AH01801", "AH01631"]),
        ("AuthName Other\nRequire dbm-group admin\n", "bob:builder", 200, []),
        ("Require dbm-group admin\n", "", 401, []),
        ("SetEnvIf Request_URI ^ G=staff\nRequire dbm-group %{env:G}\n", "bob:builder", 200, []),
        (
            "SetEnvIf Request_URI ^ G=ops,admin\nRequire dbm-group %{env:G}\n",
            "bob:builder",
            401,
            ["AH01801", "AH01631"],
        ),
        ("Require dbm-group %{tolower:ADMIN} ops\n", "alice:wonder", 200, []),
        ("Require dbm-group %{REMOTE_USER}\n", "alice:wonder", 401, ["AH01801", "AH01631"]),
        ("AuthDBMGroupFile conf/none\nRequire dbm-group %{env:G}\n", "alice:wonder", 500, ["AH01799"]),
        ("Require dbm-group admin\nAuthDBMGroupFile conf/none\n", "alice:wonder", 500, ["AH01799"]),
        ("Require dbm-file-group\n", "alice:wonder", 401, ["AH01805", "AH01631"]),
    ],
)
def test_groups(tmp_path: Path, body: str, user: str, status: int, codes: list[str]) -> None:
    site = site_of(tmp_path, body)
    assert site.status(user=user) == status
    assert site.codes() == codes


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ("Require group staff\n", 200),
        ("Require group admin\n", 401),
        ("Require group admin\nAuthzDBMAuthoritative Off\n", 500),
        ("AuthDBMGroupFile conf/none\nRequire group staff\n", 500),
    ],
)
def test_require_group_of_22(tmp_path: Path, body: str, status: int) -> None:
    assert site_of(tmp_path, body, "2.2").status(user="bob:builder") == status


@pytest.mark.parametrize(
    ("version", "line"), [("2.4", "Require dbm-group admin\n"), ("2.2", "Require group admin\n")]
)
def test_a_file_is_read_once_until_it_changes(
    tmp_path: Path, version: str, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[bytes] = []
    pairs = sdbm.pairs

    def counted(data: bytes) -> Iterator[tuple[bytes, bytes]]:
        reads.append(data)
        return pairs(data)

    monkeypatch.setattr(sdbm, "pairs", counted)
    site = site_of(tmp_path, line, version)
    monkeypatch.setattr(CacheIndex, "lookup", lambda *_given: None)
    assert [site.status(user="alice:wonder") for _ in range(3)] == [200, 200, 200]
    assert len(reads) == 1
    write_sdbm(tmp_path / "conf/gdb", (b"alice", b"admins"), (b"carol", b"admin"))
    assert [site.status(user="alice:wonder") for _ in range(2)] == [401, 401]
    assert len(reads) == 2

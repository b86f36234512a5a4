"""The store: httpd's layout, rights, damage."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

pytest.importorskip("cryptography", reason="the optional package cryptography is not installed")

from tests.support.managed_domains import recorded_store

from whimbrel.modules.md.mod_md import keys
from whimbrel.modules.md.mod_md.settings import KeyKind
from whimbrel.modules.md.mod_md.store import (
    CHALLENGES,
    DOMAINS,
    KEY_SIZE,
    STAGING,
    TMP,
    FileStore,
    MdStoreError,
    is_safe,
)

EC = KeyKind("EC", curve="secp256r1")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def made(root: Path) -> FileStore:
    store = FileStore(str(root / "md"))
    store.open()
    return store


def test_a_new_store_has_the_modes_of_httpd(tmp_path: Path) -> None:
    store = made(tmp_path)
    assert len(store.key) == KEY_SIZE
    found = {path.name: mode(path) for path in (tmp_path / "md").iterdir()}
    assert found == {
        "md_store.json": 0o600,
        "challenges": 0o750,
        "staging": 0o755,
        "accounts": 0o750,
        "ocsp": 0o750,
    }


def test_it_is_opened_again_with_the_same_key(tmp_path: Path) -> None:
    assert made(tmp_path).key == made(tmp_path).key


def test_keys_that_others_can_read_are_encrypted(tmp_path: Path) -> None:
    store, key = made(tmp_path), keys.generate(EC)
    for group in (DOMAINS, STAGING, CHALLENGES, TMP, "accounts"):
        keys.save_key(store, group, "a.test", "privkey.pem", key)
        path = Path(store.path(group, "a.test", "privkey.pem"))
        assert mode(path) == (0o644 if group == "accounts" else 0o600)
        assert (b"ENCRYPTED" in path.read_bytes()) is (group not in (DOMAINS, TMP))
        again = keys.load_key(store, group, "a.test", "privkey.pem")
        assert keys.key_pem(again) == keys.key_pem(key)


@pytest.mark.parametrize(("name", "files"), [("staged", 3), ("installed", 1)])
def test_keys_of_httpd_are_read(tmp_path: Path, name: str, files: int) -> None:
    store = recorded_store(tmp_path, name)
    group = STAGING if name == "staged" else DOMAINS
    found = sorted(tmp_path.glob(f"{group}/a.test/privkey*.pem"))
    assert len(found) == files
    for file in found:
        key = keys.load_key(store, group, "a.test", file.name)
        chain = keys.chain(store.load(group, "a.test", file.name.replace("privkey", "pubcert")))
        assert keys.belongs(key, chain[0])


def test_files_are_replaced_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = made(tmp_path)
    store.save(DOMAINS, "a.test", "md.json", b"old")

    def full(*_arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "rename", full)
    with pytest.raises(OSError):
        store.save(DOMAINS, "a.test", "md.json", b"new")
    assert store.load(DOMAINS, "a.test", "md.json") == b"old"
    assert sorted(path.name for path in (tmp_path / "md/domains/a.test").iterdir()) == ["md.json"]


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", '{"store": {"version": 9}, "key": "eA"}', '{"store": {"version": 3}, "key": "eA"}'],
)
def test_a_damaged_store_is_refused(tmp_path: Path, text: str) -> None:
    made(tmp_path)
    (tmp_path / "md/md_store.json").write_text(text)
    with pytest.raises(MdStoreError):
        made(tmp_path)


def test_a_store_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(MdStoreError) as caught:
        FileStore(str(tmp_path / "file" / "md")).open()
    assert caught.value.cause is not None


@pytest.mark.parametrize("name", ["", "..", ".x", "a/b", "a\0b", "../../etc/passwd"])
def test_names_that_are_no_file_names(tmp_path: Path, name: str) -> None:
    assert not is_safe(name)
    if name:
        with pytest.raises(ValueError):
            made(tmp_path).load(CHALLENGES, name, "acme-http-01.txt")


def test_what_was_installed_goes_to_the_archive(tmp_path: Path) -> None:
    store = made(tmp_path)
    for text in (b"1", b"2", b"3"):
        store.save(TMP, "a.test", "md.json", text)
        store.install("a.test")
    assert store.load(DOMAINS, "a.test", "md.json") == b"3"
    archived = {path.parent.name: path.read_bytes() for path in (tmp_path / "md/archive").glob("*/md.json")}
    assert archived == {"a.test.1": b"1", "a.test.2": b"2"}


def test_one_process_renews_at_a_time(tmp_path: Path) -> None:
    store = made(tmp_path)
    with store.renewal() as first, store.renewal() as second:
        assert (first, second) == (True, False)
    with store.renewal() as third:
        assert third


def test_the_lock_of_a_start(tmp_path: Path) -> None:
    store = made(tmp_path)
    with store.locked(0) as first, store.locked(0) as second:
        assert (first, second) == (True, False)


def test_malformed_json(tmp_path: Path) -> None:
    store = made(tmp_path)
    for text in (b"", b"[1]", b"\xff", b"[" * 100_000):
        store.save(STAGING, "a.test", "job.json", text)
        with pytest.raises(MdStoreError):
            store.load_json(STAGING, "a.test", "job.json")

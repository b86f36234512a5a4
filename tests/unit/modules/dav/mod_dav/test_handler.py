"""Methods on a directory.  Statuses and texts are recorded ones of httpd 2.4.71, others those of RFC 4918."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from tests.support.client import Reply, error_log, fetch
from tests.support.engine import build_engine

from whimbrel.engine.engine import Engine
from whimbrel.modules.dav.mod_dav_fs import property_store

CONF = """
LoadModule dav_module modules/mod_dav.so
LoadModule dav_fs_module modules/mod_dav_fs.so
DavLockDB @/locks
<Directory @/htdocs/dav>
Dav On
%s
</Directory>
"""
LOCK = (
    '<D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope>'
    "<D:locktype><D:write/></D:locktype><D:owner>me</D:owner></D:lockinfo>"
)
NAMED = '<D:propfind xmlns:D="DAV:"><D:prop>%s</D:prop></D:propfind>'
SET = '<D:propertyupdate xmlns:D="DAV:" xmlns:z="urn:z"><D:set><D:prop>%s</D:prop></D:set></D:propertyupdate>'


def engine(root: Path, more: str = "") -> Engine:
    """An engine with files below /dav."""
    files = {"htdocs/dav/a.txt": "first file\n", "htdocs/dav/sub/c.txt": "third\n", "htdocs/x.txt": "x"}
    return build_engine(root, CONF % more, files)


def ask(served: Engine, method: str, path: str, *fields: str, body: str = "") -> Reply:
    """The reply to *method* on /dav/*path*."""
    return fetch(served, f"/dav/{path}", *fields, method=method, body=body)


def lock(served: Engine, path: str, *fields: str) -> str:
    """Lock *path*; return the value of an If field with the token."""
    reply = ask(served, "LOCK", path, *fields, body=LOCK)
    assert reply.status == 200, reply.body
    return f"({reply.get('Lock-Token')})"


def test_options(tmp_path: Path) -> None:
    served = engine(tmp_path)
    reply = ask(served, "OPTIONS", "")
    assert reply.all("DAV") == ["1,2", "<http://apache.org/dav/propset/fs/1>"]
    assert reply.get("MS-Author-Via") == "DAV"
    allowed = sorted((reply.get("Allow") or "").split(","))
    assert ",".join(allowed) == "COPY,DELETE,GET,HEAD,LOCK,MOVE,OPTIONS,POST,PROPFIND,PROPPATCH,TRACE,UNLOCK"
    assert sorted((ask(served, "OPTIONS", "none").get("Allow") or "").split(",")) == [
        *("LOCK", "MKCOL", "OPTIONS", "PUT"),
    ]
    body = '<D:options xmlns:D="DAV:"><D:supported-report-set/></D:options>'
    found = ask(served, "OPTIONS", "", body=body).body
    assert "<D:supported-report-set>\n</D:supported-report-set>" in found


@pytest.mark.parametrize("method", ["SEARCH", "CHECKOUT", "MKACTIVITY", "MERGE", "LABEL", "BIND"])
def test_methods_without_a_provider(tmp_path: Path, method: str) -> None:
    reply = ask(engine(tmp_path), method, "")
    allowed = sorted((reply.get("Allow") or "").split(","))
    assert (reply.status, allowed) == (405, ["GET", "HEAD", "OPTIONS", "POST", "TRACE"])


def test_put_and_delete(tmp_path: Path) -> None:
    served = engine(tmp_path)
    reply = ask(served, "PUT", "new.txt", body="x" * 100_000)
    assert (reply.status, reply.get("Location")) == (201, "http://localhost/dav/new.txt")
    assert "<p>Resource /dav/new.txt has been created.</p>" in reply.body
    assert (tmp_path / "htdocs/dav/new.txt").read_text() == "x" * 100_000
    assert ask(served, "PUT", "new.txt", body="y").status == 204
    assert ask(served, "PUT", "new.txt", "Content-Range: bytes 1-2/3", body="zz").status == 204
    assert (tmp_path / "htdocs/dav/new.txt").read_text() == "yzz"
    assert ask(served, "PUT", "new.txt", "Content-Range: bytes 2-1/3", body="zz").status == 400
    assert ask(served, "PUT", "none/new.txt", body="y").status == 409
    assert ask(served, "PUT", "sub/", body="y").status == 409
    assert ask(served, "PUT", "a.txt/b", body="y").status == 400
    assert ask(served, "DELETE", "sub/", "Depth: 0").status == 400
    assert ask(served, "DELETE", "sub/").status == 204
    assert ask(served, "DELETE", "sub/").status == 404
    assert not any(name.startswith(".davfs") for name in os.listdir(tmp_path / "htdocs/dav"))


def test_a_refused_body_leaves_the_file(tmp_path: Path) -> None:
    served = engine(tmp_path, "LimitRequestBody 80000")
    assert ask(served, "PUT", "a.txt", body="x" * 90_000).status == 413
    assert sorted(os.listdir(tmp_path / "htdocs/dav")) == ["a.txt", "sub"]
    assert (tmp_path / "htdocs/dav/a.txt").read_text() == "first file\n"


def test_mkcol(tmp_path: Path) -> None:
    served = engine(tmp_path)
    assert ask(served, "MKCOL", "new").status == 201
    assert ask(served, "MKCOL", "a.txt").status == 405
    assert ask(served, "MKCOL", "x/y").status == 409
    assert ask(served, "MKCOL", "body", body="x").status == 415


@pytest.mark.parametrize(
    ("destination", "status"),
    [
        ("http://localhost/dav/b.txt", 201),
        ("/dav/b.txt", 400),
        ("http://localhost/dav/b.txt?q", 400),
        ("https://localhost/dav/b.txt", 502),
        ("http://localhost/x.txt", 405),
        ("http://localhost/dav/a.txt", 403),
        ("http://localhost/dav/none/b", 409),
        ("http://localhost/dav/%2f", 404),
        ("http://localhost/../../etc/b", 400),
        ("http://localhost/dav/../../b", 400),
        ("http://localhost/dav/sub/../b%2etxt", 201),
        ("http://localhost:99999/dav/b.txt", 201),  # neither host nor port counts
        ("http://localhost:80x/dav/b", 400),
        ("http:/dav/b.txt", 201),
        ("mailto:b", 502),
        ("1a:/dav/b", 400),
    ],
)
def test_destinations(tmp_path: Path, destination: str, status: int) -> None:
    served = engine(tmp_path)
    assert ask(served, "COPY", "a.txt", f"Destination: {destination}").status == status
    names = {path.name for path in tmp_path.rglob("b*")}
    assert names == ({"b.txt"} if status == 201 else set())


def test_copies_of_trees(tmp_path: Path) -> None:
    served = engine(tmp_path)
    to = "Destination: http://localhost/dav/"
    assert ask(served, "COPY", "sub/", f"{to}sub/inner").status == 403
    assert ask(served, "COPY", "", f"{to}all").status == 403
    assert ask(served, "COPY", "sub/", f"{to}two/").status == 201
    assert (tmp_path / "htdocs/dav/two/c.txt").read_text() == "third\n"
    assert ask(served, "COPY", "sub/", f"{to}two/", "Overwrite: F").status == 412
    assert ask(served, "COPY", "sub/", f"{to}two/", "Depth: 0").status == 204
    assert os.listdir(tmp_path / "htdocs/dav/two") == []
    assert ask(served, "MOVE", "sub/", f"{to}a.txt").status == 204
    assert (tmp_path / "htdocs/dav/a.txt/c.txt").read_text() == "third\n"
    assert sorted(os.listdir(tmp_path / "htdocs/dav")) == ["a.txt", "two"]


def test_links_are_not_followed_in_trees(tmp_path: Path) -> None:
    served = engine(tmp_path, "DavDepthInfinity On")
    os.symlink("/etc", tmp_path / "htdocs/dav/sub/etc")
    found = ask(served, "PROPFIND", "", body=NAMED % "<D:getetag/>").body
    assert re.findall("<D:href>(.*)</D:href>", found).count("/dav/sub/c.txt") == 1
    assert "etc" not in found
    ask(served, "COPY", "sub/", "Destination: http://localhost/dav/two/")
    assert os.listdir(tmp_path / "htdocs/dav/two") == ["c.txt"]


def test_propfind_depths(tmp_path: Path) -> None:
    served = engine(tmp_path)
    reply = ask(served, "PROPFIND", "")
    assert reply.status == 403
    assert '<p>PROPFIND requests with a Depth of "infinity" are not allowed for /dav/.</p>' in reply.body
    reply = ask(served, "PROPFIND", "", "Depth: 1", body=NAMED % "<D:resourcetype/><D:displayname/>")
    hrefs = re.findall("<D:href>(.*)</D:href>", reply.body)
    assert (reply.status, hrefs[0], sorted(hrefs[1:])) == (207, "/dav/", ["/dav/a.txt", "/dav/sub/"])
    assert ask(served, "PROPFIND", "", "Depth: 2").status == 400
    assert ask(served, "PROPFIND", "none", "Depth: 0").status == 404
    assert "AH00580: An invalid Depth header was specified." in error_log(served)


def test_a_large_listing_is_a_stream(tmp_path: Path) -> None:
    served = engine(tmp_path)
    for number in range(300):
        (tmp_path / f"htdocs/dav/sub/f{number}.txt").write_text("x")
    reply = ask(served, "PROPFIND", "sub/", "Depth: 1")
    assert reply.get("Transfer-Encoding") == "chunked"
    assert reply.body.count("<D:getcontenttype>text/plain</D:getcontenttype>") == 301


def test_properties(tmp_path: Path) -> None:
    served = engine(tmp_path)
    assert "200 OK" in ask(served, "PROPPATCH", "a.txt", body=SET % "<z:p>one</z:p>").body
    assert "<ns1:p>one</ns1:p>" in ask(served, "PROPFIND", "a.txt", "Depth: 0").body
    failed = ask(served, "PROPPATCH", "a.txt", body=SET % "<z:q>1</z:q><D:getetag>x</D:getetag>").body
    assert "HTTP/1.1 424 (status)" in failed
    assert "Property is read-only." in failed
    assert "<ns1:q" not in ask(served, "PROPFIND", "a.txt", "Depth: 0").body
    ask(served, "COPY", "a.txt", "Destination: http://localhost/dav/b.txt")
    ask(served, "MOVE", "b.txt", "Destination: http://localhost/dav/d.txt")
    assert "<ns1:p>one</ns1:p>" in ask(served, "PROPFIND", "d.txt", "Depth: 0").body
    ask(served, "DELETE", "d.txt")
    assert os.listdir(tmp_path / "htdocs/dav/.DAV") == ["a.txt"]
    body = SET % '<A:executable xmlns:A="http://apache.org/dav/props/">T</A:executable>'
    ask(served, "PROPPATCH", "a.txt", body=body)
    assert os.access(tmp_path / "htdocs/dav/a.txt", os.X_OK)


def test_the_number_of_namespaces_is_limited(tmp_path: Path) -> None:
    served = engine(tmp_path)
    for count, status in ((2048, "413 (status)"), (2047, "200 OK")):  # and DAV:
        declared = "".join(f' xmlns:z{n}="urn:z{n}"' for n in range(count))
        change = "<D:set><D:prop><z0:p/></D:prop></D:set>"
        body = f'<D:propertyupdate xmlns:D="DAV:"{declared}>{change}</D:propertyupdate>'
        reply = ask(served, "PROPPATCH", "a.txt", body=body)
        assert f"<D:status>HTTP/1.1 {status}</D:status>" in reply.body
        assert reply.get("Transfer-Encoding") == "chunked"
    assert "Too many distinct namespaces in property database." in error_log(served)


def test_a_full_property_database_is_insufficient_storage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """docs/webdav.md: 507, as RFC 4918 has it (9.2.1 and 11.5)."""
    monkeypatch.setattr(property_store, "MAX_SIZE", 16_384)
    served = engine(tmp_path)
    failed = ask(served, "PROPPATCH", "a.txt", body=SET % f"<z:p>{'x' * 20_000}</z:p>")
    assert failed.status == 207
    assert "<D:status>HTTP/1.1 507 (status)</D:status>" in failed.body
    assert "<ns1:p" not in ask(served, "PROPFIND", "a.txt", "Depth: 0").body


def test_state_directories_are_hidden(tmp_path: Path) -> None:
    served = engine(tmp_path)
    ask(served, "PROPPATCH", "a.txt", body=SET % "<z:p>one</z:p>")
    for method in ("GET", "PUT", "DELETE", "PROPFIND"):
        assert ask(served, method, ".DAV/a.txt", "Depth: 0").status == 403
    assert "AH10619: access to .DAV state directory denied for" in error_log(served)
    assert ".DAV" not in ask(served, "PROPFIND", "", "Depth: 1").body


@pytest.mark.parametrize(
    ("timeout", "shown"),
    [
        ("Second-4294967295", "Second-4294967295"),
        ("Second-99999999999999999999", "Second-4294967295"),
        ("Second--99999999999999999999", "Second-0"),
        ("Infinite", "Infinite"),
        ("other", "Infinite"),
    ],
)
def test_timeouts_of_locks_are_bounded(tmp_path: Path, timeout: str, shown: str) -> None:
    served = engine(tmp_path)
    body = ask(served, "LOCK", "a.txt", f"Timeout: {timeout}", body=LOCK).body
    found = body.partition("<D:timeout>")[2].partition("<")[0]
    assert found in (shown, shown.replace("7295", "7294"))


def test_locks(tmp_path: Path) -> None:
    served = engine(tmp_path)
    token = lock(served, "a.txt")
    assert ask(served, "PUT", "a.txt", body="x").status == 423
    assert ask(served, "PUT", "a.txt", f"If: {token}", body="x").status == 204
    assert ask(served, "PUT", "a.txt", f"If: (Not {token[1:]}", body="x").status == 412
    assert ask(served, "LOCK", "a.txt", body=LOCK).status == 423
    refreshed = ask(served, "LOCK", "a.txt", f"If: {token}", "Timeout: Second-3600").body
    assert re.search("Second-3(600|59[0-9])<", refreshed)
    assert ask(served, "COPY", "a.txt", "Destination: http://localhost/dav/m.txt").status == 201
    assert ask(served, "MOVE", "a.txt", "Destination: http://localhost/dav/n.txt").status == 423
    assert ask(served, "UNLOCK", "m.txt", f"Lock-Token: {token[1:-1]}").status == 400
    assert ask(served, "UNLOCK", "a.txt", f"Lock-Token: {token[1:-1]}").status == 204
    assert ask(served, "PUT", "a.txt", body="x").status == 204


def test_locked_collections(tmp_path: Path) -> None:
    served = engine(tmp_path)
    token = lock(served, "sub/")
    reply = ask(served, "PUT", "sub/n.txt", body="x")
    assert reply.status == 207
    assert "<D:status>HTTP/1.1 424 Failed Dependency</D:status>" in reply.body
    assert "<D:href>/dav/sub</D:href>\n<D:status>HTTP/1.1 423 Locked</D:status>" in reply.body
    tagged = f"If: <http://localhost/dav/sub/> {token}"
    assert ask(served, "PUT", "sub/n.txt", tagged, body="x").status == 201
    assert ask(served, "PUT", "sub/n.txt", body="x").status == 423
    assert ask(served, "DELETE", "").status == 424
    assert ask(served, "UNLOCK", "sub/c.txt", f"Lock-Token: {token[1:-1]}").status == 204


def test_names_can_be_locked_before_they_exist(tmp_path: Path) -> None:
    served = engine(tmp_path)
    token = lock(served, "fresh.txt", "Timeout: Second-100")
    assert fetch(served, "/dav/fresh.txt").status == 404
    assert "/dav/fresh.txt" in ask(served, "PROPFIND", "", "Depth: 1").body
    assert ask(served, "PUT", "fresh.txt", body="x").status == 423
    assert ask(served, "PUT", "fresh.txt", f"If: {token}", body="x").status == 201
    assert ask(served, "LOCK", "none/x", body=LOCK).status == 409


def test_bodies_are_bounded(tmp_path: Path) -> None:
    served = engine(tmp_path, "LimitXMLRequestBody 50")
    assert ask(served, "PROPFIND", "", "Depth: 0", body=NAMED % "").status == 413
    text = "AH00539: XML request body is larger than the configured limit of 50"
    assert text in error_log(served)


def test_requests_after_a_change_in_the_same_tick(tmp_path: Path) -> None:
    served = engine(tmp_path)
    assert fetch(served, "/dav/n.txt").status == 404
    served.stat_cache.in_tick = True
    ask(served, "PUT", "n.txt", body="x")
    assert fetch(served, "/dav/n.txt").body == "x"


def test_named_properties_keep_their_order(tmp_path: Path) -> None:
    served = engine(tmp_path)
    ask(served, "PROPPATCH", "a.txt", body=SET % "<z:p>one</z:p>")
    wanted = '<z:p xmlns:z="urn:z"/><D:getcontentlength/><D:displayname/><z:none xmlns:z="urn:z"/>'
    body = ask(served, "PROPFIND", "a.txt", "Depth: 0", body=NAMED % wanted).body
    found = re.findall("<([a-z0-9]+:[a-z]+)[/>]", body)
    assert found == ["ns1:p", "lp1:getcontentlength", "ns0:displayname", "ns1:none"]


def test_a_subtree_cannot_be_switched_off(tmp_path: Path) -> None:
    served = engine(tmp_path, "</Directory>\n<Directory @/htdocs/dav/sub>\nDav Off")
    assert ask(served, "OPTIONS", "sub/").get("DAV") is not None
    text = 'AH00578: "DAV Off" cannot be used to turn off a subtree of a DAV-enabled location.'
    assert text in error_log(served)


def test_report_without_a_provider(tmp_path: Path) -> None:
    served = engine(tmp_path)
    assert ask(served, "REPORT", "a.txt").status == 400
    assert "AH00614: The request body must specify a report." in error_log(served)
    assert ask(served, "REPORT", "a.txt", body="<a/>").status == 501
    assert ask(served, "REPORT", "none", body="<a/>").status == 404

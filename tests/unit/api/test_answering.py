"""Answers to arbitrary values: each is an answer or a RequestError."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.samples import amount
from tests.unit.explain.explained_site import write_site

from whimbrel.api import Request, RequestError, Site, load

hypothesis = pytest.importorskip("hypothesis", reason="hypothesis is not installed")
st = pytest.importorskip("hypothesis.strategies", reason="hypothesis is not installed")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    return load(write_site(tmp_path_factory.mktemp("site")))


def requests() -> object:
    """Return a strategy of requests, most of them wrong in one value."""
    text = st.text(max_size=12)
    paths = st.one_of(text, text.map("/{}".format), text.map("http://{}/".format), text.map("//{}".format))
    plain = st.sampled_from(["", "a.example", "10.0.0.7"])
    words = st.one_of(plain, text)
    return st.builds(
        Request,
        paths,
        method=st.one_of(st.sampled_from(["GET", "HEAD", "POST", "TRACE", "BOGUS"]), text),
        client=st.one_of(st.sampled_from(["192.0.2.1", "::1", "10.0.0.7"]), text),
        host=words,
        user=words,
        password=st.one_of(st.none(), text),
        headers=st.dictionaries(st.one_of(st.just("Accept"), text), text, max_size=2),
        address=words,
        tls=st.booleans(),
    )


@hypothesis.settings(max_examples=amount(25, 150), derandomize=True)
@hypothesis.given(request=requests())
def test_any_value_gives_an_answer_or_a_request_error(site: Site, request: Request) -> None:
    try:
        answer = site.answer(request)
    except RequestError:
        return
    assert answer.status is None or 200 <= answer.status < 600
    str(site.explain(request)).encode()


@pytest.mark.parametrize(
    ("path", "host"), [("/\udcff", ""), ("/é", "é.example"), ("/%ff%00", ""), ("/" + "x" * 9000, "")]
)
def test_bytes_beyond_ascii_are_sent_as_utf_8(tmp_path: Path, path: str, host: str) -> None:
    answer = load(write_site(tmp_path)).get(path, host=host)
    assert answer.status in (400, 403, 404, 414)


def test_a_file_name_beyond_ascii_is_a_path_of_python(tmp_path: Path) -> None:
    conf = write_site(tmp_path)
    (tmp_path / "htdocs/é.html").write_text("e\n")
    site = load(conf)
    answer = site.get("/é.html")
    assert "htdocs/é.html" in str(site.explain("/é.html")) and "é.html" in site.explain("/é.html").sentence
    assert answer.status == 200 and answer.file == str(tmp_path / "htdocs/é.html")

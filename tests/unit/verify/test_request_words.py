"""The words that ask for the request of a probe again."""

from __future__ import annotations

import pytest

from whimbrel.verify.probe import Probe, ProbeUser
from whimbrel.verify.request_words import request_words


@pytest.mark.parametrize(
    ("probe", "words"),
    [
        (Probe("/a", host="a.test"), "http://a.test/a --from 192.0.2.1"),
        (Probe("/a", host="a.test:81", port=81), "http://a.test:81/a --from 192.0.2.1"),
        (Probe("/a", host="a.test", port=81), "http://a.test:81/a --from 192.0.2.1 --host a.test"),
        (
            Probe("/a", "PUT", "a.test", "10.0.0.5", user=ProbeUser("u"), fields=(("X-A", "1"),)),
            "http://a.test/a --from 192.0.2.1 --to 10.0.0.5 --method PUT --user u --header X-A: 1",
        ),
        (Probe(host="a", client_host="c.test"), "http://a/ --from 192.0.2.1 --client-host c.test"),
    ],
)
def test_all_that_the_answer_depends_on_is_named(probe: Probe, words: str) -> None:
    """The options are those of `explain --help`; Host is given where the URL does not stand for it."""
    assert " ".join(request_words(probe)) == words

"""Every recorded error page of the real servers, built again."""

from __future__ import annotations

import re

import pytest

from whimbrel.http.semantics.error_page import ErrorPage, error_page, signature
from whimbrel.http.semantics.status import reason

FAMILIES = (
    "core-http",
    "core-path",
    "core-mapping",
    "core-sections",
    "core-random",
    "config-vhost",
    "modules-proxy",
    "modules-ssl",
    "modules-backend",
    "modules-deflate",
    "authz-single",
    "modules-cache",
    "core-rewrite",
)
# Bodies that modules write themselves (mod_dav, mod_proxy's notes in 2.2 name a link; a backend's own pages).
FOREIGN = re.compile(
    r"requests with a Depth|Destination URI|Source |Malformed Content-Range|Cannot PUT|Destination is"
)

NOTES = re.compile(
    r"(?:this resource\.|understand\.<br />\n|server\.<br />\r\n|</h1>\n)((?:Reason|The proxy server "
    r"could|Size of|The number|Server unable).*?)(?:</p>\n|<p />\n)</?(?:body|p>Add|hr)",
    re.DOTALL,
)

URIS = (
    r"permission to access (.*?)\non this",
    r"requested URL (.+) was not",
    r"allowed for the URL (.*?)\.</p>",
    r"for the URL (.*?) evaluated",
    r"<br />(.*?)<br />\n(?:does not|is no)",
    r"resource (.*) could not be",
    r"<p>\S+ to (.*) not supported",
    r"<pre>\n(/.*?)\n</pre>",
)
METHOD = (
    r"(?:requested method|</h1>\n<p>)(?: (?=\S+ is not))?(\S+) (?:is not allowed|to \S+ not supp|not supp)"
)
ADDRESS = re.compile(
    r'<hr>\n<address>(.*?) Server at (?:<a href="mailto:(.*?)">)?([^<]*)(?:</a>)? Port (\d+)</address>\n'
)


def unescaped(text):
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", '"').replace("&amp;", "&")


def first(pattern, text, default=""):
    match = re.search(pattern, text, re.DOTALL)
    return unescaped(match[1]) if match else default


def page_of(response, body, method):
    """Return the values of a recorded page; the text around them must be the same."""
    title = first(r"<title>(.*?)</title>", body)
    status = response["status"]
    notes = NOTES.search(body)
    additional = first(r"Additionally, a (\d+) ", body)
    variants = re.search(
        r"(?:</h1>\n|on this server\.</p>\n)((?:Available variants|The document name you).*)</body>",
        body,
        re.DOTALL,
    )
    expect = re.search(r"\n    Expect: (.*)\n</pre>", body)
    uri = next(filter(None, (first(pattern, body) for pattern in URIS)), "")
    return ErrorPage(
        status=status,
        line=title,
        method=method,
        uri=uri,
        location=first(r'<a href="(.*?)">here', body, None) or None,
        notes=notes[1] if notes else "",
        verbose=status == 500 and notes is not None,
        variants=variants[1] if variants else "",
        expect=unescaped(expect[1]) if expect else None,
        additional=int(additional) if additional else 0,
        admin=first(r"administrator(?: at|,) ?\n (.*?) (?:to|and) inform", body),
        signature=first_raw(r"(<hr>\n<address>.*?</address>\n)", body),
    )


def first_raw(pattern, text):
    match = re.search(pattern, text)
    return match[1] if match else ""


@pytest.mark.parametrize("family", FAMILIES)
def test_every_recorded_page(answers, family):
    seen = 0
    for case, version, request, response in answers(family):
        body = response.get("body")
        if (
            not isinstance(body, str)
            or not body.startswith("<!DOCTYPE HTML PUBLIC")
            or response["status"] < 300
            or FOREIGN.search(body)
        ):
            continue
        method = first(METHOD, body) or request.get("method", "GET")
        made = error_page(page_of(response, body, method), version22=version == "2.2")
        assert made == body, (case["id"], version, request)
        seen += 1
    assert seen > 4


def test_reasons_of_both_versions(answers):
    for _case, version, request, response in answers("core-http", "default error pages"):
        assert reason(response["status"], version22=version == "2.2") == response["reason"], request


def test_signatures(answers):
    seen = 0
    for case, version, _request, response in answers("core-http"):
        found = ADDRESS.search(str(response.get("body")))
        if found is None:
            continue
        mode = "EMail" if found[2] else "On"
        assert signature(mode, found[1], found[3], int(found[4]), found[2] or "") == found[0], (
            case["id"],
            version,
        )
        seen += 1
    assert seen > 10

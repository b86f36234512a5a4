"""Small configurations and requests, drawn by hypothesis.  Most start; a few are refused, and the refusals
are compared too.
"""

from __future__ import annotations

from hypothesis import strategies as st

from tests.differential.exchange import Request
from tests.differential.pools import (
    ACCESS,
    AUTH,
    CONTAINERS,
    FILEINFO,
    INDEXES,
    LIMITS,
    NEGATED,
    OPTIONS,
    OVERRIDE,
    PATHS,
    REQUIRE,
    SECTIONS,
    SERVER,
)
from tests.differential.site import HTACCESS, GeneratedSite

LINES = (ACCESS, REQUIRE, FILEINFO, INDEXES, OPTIONS, (AUTH,))
any_line = st.one_of(*(st.sampled_from(lines) for lines in LINES))


@st.composite
def container(draw: st.DrawFn) -> str:
    """A Require container of one to three lines; in RequireAll one of them may be negated."""
    lines = draw(st.lists(st.sampled_from(REQUIRE), min_size=1, max_size=3))
    name = draw(st.sampled_from(CONTAINERS))
    if name == "RequireAll" and draw(st.booleans()):
        lines.append(draw(st.sampled_from(NEGATED)))
    return f"<{name}>\n" + "\n".join(lines) + f"\n</{name}>"


@st.composite
def limited(draw: st.DrawFn) -> str:
    """Access control of some methods only."""
    lines = draw(st.lists(st.sampled_from(ACCESS + REQUIRE), min_size=1, max_size=3))
    opening = draw(st.sampled_from(LIMITS))
    return f"<{opening}>\n" + "\n".join(lines) + f"\n</{opening.split()[0]}>"


@st.composite
def body(draw: st.DrawFn, override: bool) -> str:
    """Return the lines of a section; with *override* maybe an AllowOverride.  Lines that require a user have
    an AuthType.
    """
    lines = draw(
        st.lists(
            st.one_of(any_line, any_line, any_line, container(), limited()),
            min_size=1,
            max_size=6,
            unique=True,
        )
    )
    if override and draw(st.booleans()):
        lines.append(draw(st.sampled_from(OVERRIDE)))
    text = "\n".join(lines)
    return text if "AuthType" in text or not any(w in text for w in ("user", "group")) else f"{AUTH}\n{text}"


@st.composite
def section(draw: st.DrawFn) -> str:
    """One section of the main file."""
    opening = draw(st.sampled_from(SECTIONS))
    return f"<{opening}>\n{draw(body(opening.startswith('Directory ')))}\n</{opening.split()[0]}>\n"


@st.composite
def sites(draw: st.DrawFn) -> GeneratedSite:
    """A main file that denies the file system, opens the document root, and then does anything; with up to
    three .htaccess files.
    """
    override = draw(
        st.sampled_from(
            (
                "",
                "AllowOverride All\n",
                "AllowOverride None\n",
                "AllowOverride AuthConfig FileInfo Indexes Limit Options\n",
            )
        )
    )
    base = (
        f'<Directory />\nRequire all denied\n</Directory>\n<Directory "%ROOT%">\n'
        f"{override}Require all granted\n</Directory>\n"
    )
    server = "".join(
        f"{line}\n" for line in draw(st.lists(st.sampled_from(SERVER + FILEINFO), max_size=4, unique=True))
    )
    sections = "".join(draw(st.lists(section(), max_size=4)))
    files = draw(st.lists(st.sampled_from(HTACCESS), max_size=2, unique=True))
    return GeneratedSite(base + server + sections, {name: draw(body(False)) + "\n" for name in files})


@st.composite
def requests(draw: st.DrawFn) -> Request:
    """Return one request; half of them have no credentials."""
    path = draw(st.sampled_from(PATHS))
    if draw(st.booleans()):
        return Request(path)
    headers = draw(
        st.fixed_dictionaries(
            {},
            optional={
                "User-Agent": st.sampled_from(("Good", "Other")),
                "Referer": st.just("http://Example.org/"),
                "X-Key": st.sampled_from(("k1", "")),
                "Range": st.sampled_from(("bytes=0-3", "bytes=-5", "bytes=2-3,5-6", "bytes=900-")),
                "If-Modified-Since": st.sampled_from(
                    ("Sun, 13 Sep 2020 12:26:40 GMT", "Sat, 12 Sep 2020 12:26:40 GMT")
                ),
                "If-None-Match": st.sampled_from(("*", '"8-5af3106da4000"')),
            },
        )
    )
    return Request(
        path,
        draw(st.sampled_from(("GET", "GET", "HEAD", "POST", "OPTIONS", "DELETE", "TRACE", "FROB"))),
        headers,
        draw(st.sampled_from(("", "alice:curlew", "bob:dunlin", "alice:wrong", "eve:x"))),
        draw(st.sampled_from(("127.0.0.1", "127.0.0.2"))),
        draw(st.sampled_from(("HTTP/1.1", "HTTP/1.1", "HTTP/1.0"))),
    )

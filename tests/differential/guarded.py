"""Configurations about access control alone, drawn by hypothesis: sections in sections, .htaccess at several
levels, two virtual hosts.
"""

from __future__ import annotations

from hypothesis import strategies as st

from tests.differential import guards
from tests.differential.exchange import Request
from tests.differential.site import HTACCESS, GeneratedSite

CONTAINERS = ("RequireAll", "RequireAny", "RequireAll", "RequireNone")
ROOT_ONLY = ("Directory", "DirectoryMatch", "Location", "LocationMatch")
AREA = guards.AREAS[0]


def inside(opening: str, text: str) -> str:
    """*text* in a section."""
    return f"<{opening}>\n{text}\n</{opening.split()[0]}>"


@st.composite
def container(draw: st.DrawFn, depth: int = 2) -> str:
    """A Require container of one to three rules, containers among them; a few can never grant anything and
    are refused.
    """
    name = draw(st.sampled_from(CONTAINERS))
    rule = st.sampled_from(guards.REQUIRE)
    rules = st.one_of(rule, rule, container(depth - 1)) if depth else rule
    lines = draw(st.lists(rules, min_size=1, max_size=3))
    if name == "RequireAll" and draw(st.booleans()):
        lines.append(draw(st.sampled_from(guards.NEGATED)))
        lines = draw(st.permutations(lines))
    text = inside(name, "\n".join(lines))
    return inside("RequireAll", draw(rule) + "\n" + text) if name == "RequireNone" else text


@st.composite
def limited(draw: st.DrawFn) -> str:
    """Rules about some methods only."""
    lines = draw(st.lists(st.sampled_from(guards.ACCESS + guards.REQUIRE), min_size=1, max_size=3))
    return inside(draw(st.sampled_from(guards.LIMITS)), "\n".join(lines))


def rules() -> st.SearchStrategy[str]:
    """One line or block of a section; Require and its containers come most often."""
    require, access = st.sampled_from(guards.REQUIRE), st.sampled_from(guards.ACCESS)
    return st.one_of(require, require, access, access, st.sampled_from(guards.PARTS), container(), limited())


@st.composite
def body(draw: st.DrawFn) -> str:
    """Return the lines of a section or file; most that require a user have an AuthType."""
    text = "\n".join(draw(st.lists(rules(), min_size=1, max_size=4)))
    wanted = any(word in text for word in ("user", "group", "USER", "chosen", "keepers"))
    if "AuthType" in text or not draw(st.sampled_from((wanted, wanted, wanted, True))):
        return text
    return f"{draw(st.sampled_from(guards.AREAS))}\n{text}"


@st.composite
def section(draw: st.DrawFn) -> str:
    """One section of the main file, maybe with one inside, maybe with an <Else> after it."""
    opening = draw(st.sampled_from(guards.SECTIONS))
    text = draw(body())
    if opening.startswith('Directory "') and draw(st.booleans()):
        text += "\n" + draw(st.sampled_from(guards.OVERRIDE))
    if opening.startswith(ROOT_ONLY) and draw(st.sampled_from((False, False, True))):
        inner = draw(st.sampled_from(guards.INNER))
        if not (opening.startswith("Location") and inner.startswith("Files")):
            text += "\n" + inside(inner, draw(body()))
    made = inside(opening, text) + "\n"
    if opening.startswith("If ") and draw(st.booleans()):
        made += inside("Else", draw(body())) + "\n"
    return made


@st.composite
def hosts(draw: st.DrawFn) -> str:
    """Return no or two name-based virtual hosts, each with its own sections."""
    if draw(st.booleans()):
        return ""
    made = ""
    for name in ("localhost", "other.example"):
        text = f"ServerName {name}\n" + "".join(draw(st.lists(section(), max_size=2)))
        made += inside("VirtualHost *:%PORT%", text) + "\n"
    return made


@st.composite
def guarded_sites(draw: st.DrawFn) -> GeneratedSite:
    """A main file that denies the file system and opens the document root, guards of every kind behind it, up
    to three .htaccess files.
    """
    override = draw(
        st.sampled_from(
            (
                "",
                "AllowOverride All\n",
                "AllowOverride All\n",
                "AllowOverride None\n",
                "AllowOverride AuthConfig\n",
                "AllowOverride Limit\n",
            )
        )
    )
    opened = draw(
        st.sampled_from(
            ("Require all granted\n", "Require all granted\n", "Order allow,deny\nAllow from all\n", "")
        )
    )
    shut = draw(
        st.sampled_from(
            ("Require all denied\n", "Require all denied\n", "Order deny,allow\nDeny from all\n", "")
        )
    )
    base = (
        f'<Directory />\n{shut}</Directory>\n<Directory "%ROOT%">\nOptions Indexes FollowSymLinks\n'
        f"{override}{opened}</Directory>\n"
    )
    server = "".join(
        f"{line}\n" for line in draw(st.lists(st.sampled_from(guards.SERVER), max_size=2, unique=True))
    )
    sections = "".join(draw(st.lists(section(), min_size=1, max_size=3)))
    files = draw(st.lists(st.sampled_from(HTACCESS), max_size=3, unique=True))
    text = st.one_of(body(), body(), body().map(lambda t: inside(guards.INNER[0], t)))
    return GeneratedSite(
        guards.ALIASES + base + server + sections + draw(hosts()), {name: draw(text) + "\n" for name in files}
    )


@st.composite
def guarded_requests(draw: st.DrawFn) -> Request:
    """One request, with or without credentials; one in six answers a Digest challenge."""
    user = draw(st.sampled_from(guards.PASSWORDS))
    headers = draw(
        st.fixed_dictionaries(
            {},
            optional={
                "User-Agent": st.sampled_from(("Good", "Good", "Other")),
                "X-Key": st.sampled_from(("k1", "")),
                "Host": st.just("other.example"),
            },
        )
    )
    return Request(
        draw(st.sampled_from(guards.PATHS)),
        draw(st.sampled_from(("GET", "GET", "GET", "HEAD", "POST", "OPTIONS", "TRACE", "DELETE"))),
        headers,
        user,
        draw(st.sampled_from(("127.0.0.1", "127.0.0.1", "127.0.0.2", "127.0.0.3"))),
        digest=draw(st.sampled_from((False, False, False, False, False, True))) and ":" in user,
    )

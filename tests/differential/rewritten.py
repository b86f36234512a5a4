"""Configurations of rewriting and server-parsed documents, drawn by hypothesis: rules at server level, in
directories and in .htaccess files.
"""

from __future__ import annotations

from hypothesis import strategies as st

from tests.differential.exchange import Request
from tests.differential.pools import pool
from tests.differential.site import PARSED, GeneratedSite

PATTERNS = pool(r"""
^a\.txt$
^(.*)$
^(.+)\.html$
^/?dir/(.*)
!^/?dir
(.)(.)(.)
^/list/(.*)$
^sub/(.*)
x
""")
RESULTS = pool(r"""
/a.txt
a.txt
-
/dir/b.txt
http://localhost:%PORT%/z$1
http://other.example/z$1
/no$1
$1
/$1
/dir/
?x=$1
/a.txt?
/a.txt?a=$1&b=%1
%{REQUEST_URI}.html
/page.shtml?$1
/$1?%{QUERY_STRING}
%{document_root}/a.txt
""")
FLAGS = pool("""
L
R
R=301
NE
QSA
QSD
PT
END
C
S=1
NC
F
G
T=text/x
DPI
D
NS
B
BNP
R=404
QSL
L,QSA
N=3
E=good:$1
""")
CONDITIONS = pool(r"""
%{REQUEST_FILENAME} !-f
%{REQUEST_FILENAME} -d
%{QUERY_STRING} ^(.)(.*)$
%{QUERY_STRING} q=1 [OR]
%{Request_Uri} ^/d
%{HTTP_HOST} ^local(.*)$ [NC]
$1 ^.
%{ENV:REDIRECT_STATUS} ^$
expr %{QUERY_STRING} == ''
%{QUERY_STRING} >m
""")
PATHS = pool("""
/
/a.txt
/a.html
/dir
/dir/
/dir/b.txt?q=1
/dir/sub/c.txt
/list/one.txt?x=%20y
/nothing/here.html
/sp%20ace.txt
/page.shtml
/page.shtml?q=1
/list/p%2541
""")
ELEMENTS = pool(r"""
<!--#echo var="QUERY_STRING" -->
<!--#echo var="none" -->
<!--#set var="v" value="$QUERY_STRING x" --><!--#echo var="v" -->
<!--#if expr="v('QUERY_STRING') =~ /(q)/" -->yes<!--#else -->no<!--#endif -->
<!--#if expr="(" -->1<!--#elif expr="true" -->2<!--#else -->3<!--#endif -->
<!--#if expr="-f '/x'" -->1<!--#else -->2<!--#endif -->
<!--#include virtual="/a.txt" -->
<!--#include file="none" file="a.txt" -->
<!--#include file="none" onerror="/a.txt" -->
<!--#include virtual="/inner.shtml?i=1" -->
<!--#fsize file="a.txt" -->
<!--#config errmsg="[E]" --><!--#nothing -->
<!--#config timefmt="%Y" --><!--#flastmod file="a.txt" -->
<!--#echo encoding="url" var="DOCUMENT_URI" -->
""")
HEAD = """<Directory "%ROOT%">
Require all granted
AllowOverride All
Options FollowSymLinks Includes
AddType text/html .shtml
AddOutputFilter INCLUDES .shtml
</Directory>
LimitInternalRecursion 5
RewriteEngine On
"""


@st.composite
def rule(draw: st.DrawFn) -> str:
    """One RewriteRule with its conditions."""
    lines = [f"RewriteCond {text}" for text in draw(st.lists(st.sampled_from(CONDITIONS), max_size=2))]
    flags = draw(st.lists(st.sampled_from(FLAGS), max_size=2, unique=True))
    lines.append(
        f"RewriteRule {draw(st.sampled_from(PATTERNS))} {draw(st.sampled_from(RESULTS))}"
        + (f" [{','.join(flags)}]" if flags else "")
    )
    return "\n".join(lines)


@st.composite
def block(draw: st.DrawFn) -> str:
    """Return the rules of a directory, maybe with a base or with those of outer directories."""
    head = draw(
        st.sampled_from(
            (
                "",
                "",
                "RewriteBase /\n",
                "RewriteBase /dir/\n",
                "RewriteOptions Inherit\n",
                "RewriteOptions InheritBefore\n",
            )
        )
    )
    return "RewriteEngine On\n" + head + "\n".join(draw(st.lists(rule(), min_size=1, max_size=3))) + "\n"


@st.composite
def rewritten_sites(draw: st.DrawFn) -> GeneratedSite:
    """Rules at server level and in up to two .htaccess files; two documents of server-parsed elements."""
    server = "\n".join(draw(st.lists(rule(), max_size=2))) + "\n"
    files = {
        name: draw(block())
        for name in draw(st.lists(st.sampled_from((".htaccess", "dir/.htaccess")), max_size=2, unique=True))
    }
    files[PARSED[0]] = "".join(draw(st.lists(st.sampled_from(ELEMENTS), min_size=1, max_size=5)))
    files[PARSED[1]] = '(<!--#echo var="QUERY_STRING" -->|<!--#echo var="v" -->)'
    return GeneratedSite(HEAD + server, files)


def rewritten_requests() -> st.SearchStrategy[Request]:
    """Plain requests: what counts is the path."""
    return st.sampled_from(PATHS).map(Request)

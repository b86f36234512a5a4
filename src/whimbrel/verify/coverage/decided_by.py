"""How a differing line of each directive is decided.

| decided by | a differing line is | directives |
|---|---|---|
| EXACT | decided if the access decisions of its chains were compared | `_EXACT` |
| VALUE | a difference if the merged values differ | `_VALUES` |
| REQUESTS | decided if a request is answered otherwise with the other side's line in place | `_REQUESTS` |
| NOTHING | of no influence on answers | `_NOTHING` |
| UNKNOWN | not decided | everything else: patterns, expressions, programs |

A line of REQUESTS without a counterpart is decided if a request is answered otherwise without it, but not
those of `OF_SEVERAL` and `OF_FILE`. Lines whose values are equal after merging need none of these.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import Final

from whimbrel.verify.config_lines import ConfigLine


class DecidedBy(Enum):
    """How a line is decided."""

    EXACT = "access decisions"
    VALUE = "values"
    REQUESTS = "requests"
    NOTHING = "no influence"
    UNKNOWN = "not decided"


_EXACT: Final = (
    r"order|allow|deny|satisfy|require|<?require(all|any|none)|<?limit(except)?|authmerging"
    r"|authuserfile|authgroupfile|auth(z\w+|basic|digest|form)authoritative|authldapauthoritative|<?authzprovideralias"
)
_VALUES: Final = (
    r"keepalive\w*|maxkeepaliverequests|timeout|requestreadtimeout|graceful\w*"
    r"|limitrequest\w+|limitxmlrequestbody|limitinternalrecursion|maxranges|maxrange\w+"
    r"|listen|acceptpathinfo|allowencodedslashes|mergeslashes|usecanonical\w+|hostnamelookups"
    r"|servertokens|serversignature|serveradmin|traceenable|httpprotocoloptions|protocols\w*|fileetag"
    r"|dav\w*|errordocument|allowmethods|user|group"
    r"|remoteip\w+|requestheader|proxyrequests|proxy(set|via|preservehost|timeout|domain|maxforwards)"
    r"|proxy(pass|remote|remotematch|block|errorbackend|status|badheader|receivebuffersize|iobuffersize)"
    r"|noproxy|allowconnect|balancermember|proxypassreverse(cookie\w+)?|proxyerroroverride|proxyaddheaders"
    r"|proxyscgi\w+|proxyfcgi\w+|proxyhtml\w+|sslproxy\w+"
    r"|ssl(verify\w+|ca\w+|cadn\w+|protocol|ciphersuite|honorcipherorder|certificate\w+|options|username)"
    r"|ssl(engine|require|requiressl|insecurerenegotiation|strictsnivhostcheck|ocsp\w+|usestapling|stapling\w+)"
    r"|ssl(session\w+|compression|renegbuffersize|srp\w+|opensslconfcmd|crypto\w+|fips)"
    r"|logformat|customlog|transferlog|errorlogformat|globallog"
    r"|index(options|ignore\w*|orderdefault|stylesheet|headinsert)|headername|readmename"
    r"|add(icon\w*|alt\w*|description)|default(icon)"
    r"|authname|authtype|auth(basic|digest|form)\w+|authldap\w*|authn\w+|authz\w+|anonymous\w*"
    r"|h2\w+|session\w*|cache\w*|deflate\w*|expires\w*|xbithack|ssi\w*"
    r"|scriptsock|cgi\w*|passenv|chroot\w*|contentdigest|seerequesttail"
)
_REQUESTS: Final = (
    r"(script)?alias|redirect(temp|permanent)?|documentroot|directory(index|slash|indexredirect|checkhandler)"
    r"|(add|remove)(type|handler|charset|encoding|language|outputfilter|inputfilter)|forcetype|defaulttype"
    r"|sethandler|setoutputfilter|setinputfilter|action|script|adddefaultcharset|defaultlanguage"
    r"|(force)?languagepriority|header|setenv|unsetenv|options|multiviewsmatch|fallbackresource"
    r"|allowoverride(list)?|servername|serveralias|serverpath|userdir|rewriteengine"
    r"|mimemagicfile|typesconfig|modmimeusepathinfo|imap\w+|php_\w+"
)
_NOTHING: Final = (
    r"errorlog|loglevel|pidfile|scoreboardfile|lockfile|acceptmutex|mutex|coredumpdirectory|rewritelog\w*"
    r"|scriptlog\w*|forensiclog|bufferedlogs|serverroot|defaultruntimedir|startservers|m(in|ax)spare\w+"
    r"|maxclients|maxrequestworkers|serverlimit|thread\w+|max(requests|connections)perchild|maxmemfree|listenbacklog"
    r"|enablemmap|enablesendfile|extendedstatus|namevirtualhost|rewritelock|sslmutex|sslrandomseed"
    r"|sendbuffersize|receivebuffersize|acceptfilter|asyncrequestworkerfactor|enableexceptionhook"
    r"|sslsessioncache|sslsessioncachetimeout|sslpassphrasedialog|listencoresbucketsratio"
    r"|flushmax\w+|listentcpdeferaccept|watchdoginterval|proxyhtmlbufsize|dbd(min|keep|max|exptime)"
    r"|h2(minworkers|maxworker\w*|streammaxmemsize|serializeheaders|sessionextrafiles|copyfiles|tls\w+)"
    r"|ldaplibrarydebug|defaultstate|interactive|winnt\w+|addmodule|clearmodulelist|port|servertype|resourceconfig|accessconfig"
)
_PATTERNS: Final = tuple(
    (re.compile(pattern), how)
    for pattern, how in (
        (_NOTHING, DecidedBy.NOTHING),
        (_EXACT, DecidedBy.EXACT),
        (_VALUES, DecidedBy.VALUE),
        (_REQUESTS, DecidedBy.REQUESTS),
    )
)
SELF_ACTING: Final = frozenset(
    "autoindex_module dir_module mime_module negotiation_module reqtimeout_module userdir_module"
    " http2_module unique_id_module".split()
)
"""Modules that change answers without a directive of their own; other modules are decided by their directives
and handlers."""
OF_SEVERAL: Final = frozenset(("header", "options", "action"))
"""Directives decided by requests whose words act apart: the effect of the line does not show that of each."""
OF_FILE: Final = frozenset(("typesconfig", "mimemagicfile", "rewritemap"))
"""The same of directives whose file has lines that act apart: equal words may name another content."""
OF_STATUS: Final = frozenset(("seerequesttail",))
"""Directives that change the status page alone."""
_COMPUTED: Final = re.compile(r"%\{|\bexpr=|\bedit\*?\s|\benv=|(?<![\w-])-[a-z]\s", re.IGNORECASE)
"""Arguments whose effect depends on the request in ways that no derived request need show."""


def decided_by(line: ConfigLine) -> DecidedBy:
    """Return how a line that differs is decided."""
    found = next((how for pattern, how in _PATTERNS if pattern.fullmatch(line.name)), DecidedBy.UNKNOWN)
    if found is DecidedBy.REQUESTS and _COMPUTED.search(line.args):
        return DecidedBy.VALUE if line.name == "header" else DecidedBy.UNKNOWN
    return found

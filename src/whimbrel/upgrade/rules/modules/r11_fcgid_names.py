"""R11: former names of mod_fcgid's directives. Document: documents/R11-fcgid-names.md"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from whimbrel.base.numbers import lower
from whimbrel.upgrade.model import Finding, Risk, Safety
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree, Statement

NAMES: Final = {
    "busyscaninterval": "FcgidBusyScanInterval",
    "busytimeout": "FcgidBusyTimeout",
    "defaultinitenv": "FcgidInitialEnv",
    "defaultmaxclassprocesscount": "FcgidMaxProcessesPerClass",
    "defaultminclassprocesscount": "FcgidMinProcessesPerClass",
    "errorscaninterval": "FcgidErrorScanInterval",
    "fastcgiaccesschecker": "FcgidAccessChecker",
    "fastcgiaccesscheckerauthoritative": "FcgidAccessCheckerAuthoritative",
    "fastcgiauthenticator": "FcgidAuthenticator",
    "fastcgiauthenticatorauthoritative": "FcgidAuthenticatorAuthoritative",
    "fastcgiauthorizer": "FcgidAuthorizer",
    "fastcgiauthorizerauthoritative": "FcgidAuthorizerAuthoritative",
    "fcgiwrapper": "FcgidWrapper",
    "idlescaninterval": "FcgidIdleScanInterval",
    "idletimeout": "FcgidIdleTimeout",
    "ipccommtimeout": "FcgidIOTimeout",
    "ipcconnecttimeout": "FcgidConnectTimeout",
    "maxprocesscount": "FcgidMaxProcesses",
    "maxrequestinmem": "FcgidMaxRequestInMem",
    "maxrequestlen": "FcgidMaxRequestLen",
    "maxrequestsperprocess": "FcgidMaxRequestsPerProcess",
    "outputbuffersize": "FcgidOutputBufferSize",
    "passheader": "FcgidPassHeader",
    "php_fix_pathinfo_enable": "FcgidFixPathinfo",
    "processlifetime": "FcgidProcessLifeTime",
    "sharemempath": "FcgidProcessTableFile",
    "socketpath": "FcgidIPCDir",
    "spawnscore": "FcgidSpawnScore",
    "spawnscoreuplimit": "FcgidSpawnScoreUpLimit",
    "terminationscore": "FcgidTerminationScore",
    "timescore": "FcgidTimeScore",
    "zombiescaninterval": "FcgidZombieScanInterval",
}
_MODULE: Final = ("mod_fcgid.c", "fcgid_module")


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield each line whose name is one of mod_fcgid's, where that module is loaded or tested."""
    loaded = {line.words()[0] for line in tree.named("loadmodule") if line.words()}
    if "fastcgi_module" in loaded and "fcgid_module" not in loaded:
        return
    for line in tree.named(*NAMES):
        if "fcgid_module" not in loaded and not _is_tested(line):
            continue
        new = NAMES[line.name]
        yield Finding(
            "R11",
            line.place,
            f"{line.node.name} is a former name of mod_fcgid's {new}; builds for 2.4 still accept it",
            f"write {new}",
            Risk.COSMETIC,
            Safety.SAFE,
            (line.rename(new),),
        )


def _is_tested(line: Statement) -> bool:
    """Return True if an <IfModule> around the line tests for mod_fcgid."""
    return any(
        lower(word) in _MODULE for section in line.enclosing("<ifmodule") for word in section.words()[:1]
    )


RULE = Rule("R11", "fcgid-names", "Former names of mod_fcgid's directives", check)

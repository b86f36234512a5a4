"""The public API of Whimbrel: load a configuration, get answers, explain, check, upgrade and verify.

Public: every name in __all__; the other modules of this package are its parts. Texts are `str`, bodies
`bytes`, and no type of another package appears in a signature (docs/api.md).
Must not import: lsp, studio, cli, testing.
"""

from whimbrel.api.answers import Answer, Explanation, Line, Step
from whimbrel.api.errors import ConfigurationError, RequestError
from whimbrel.api.findings import CheckReport, Edit, FileChange, Finding, Unknown, UpgradePlan
from whimbrel.api.requests import Request
from whimbrel.api.site import Site, load
from whimbrel.api.verdicts import Difference, Verdict
from whimbrel.api.verifying import verify

__all__ = [
    "Answer",
    "CheckReport",
    "ConfigurationError",
    "Difference",
    "Edit",
    "Explanation",
    "FileChange",
    "Finding",
    "Line",
    "Request",
    "RequestError",
    "Site",
    "Step",
    "Unknown",
    "UpgradePlan",
    "Verdict",
    "load",
    "verify",
]

"""verify: the comparison of two sites."""

from __future__ import annotations

import os

from whimbrel.api.site import Dialect, Site, load
from whimbrel.api.verdicts import Verdict


def verify(
    old: Site | str | os.PathLike[str],
    new: Site | str | os.PathLike[str] | None = None,
    *,
    limit: int | None = None,
) -> Verdict:
    """Return the comparison of the answers of two configurations; raises ConfigurationError.

    Access control is compared exactly, all else by requests that the lines give.

    Args:
        old: a site, or a path, which is read under 2.2.
        new: a site, or a path, which is read under 2.4. None: the same files as *old*.
        limit: of the requests; 40000 by default.
    """
    from whimbrel.api.comparing import compare_inputs

    first = _site(old, "2.2")
    second = _site(first.path if new is None else new, "2.4")
    named = first._named, second._named
    return compare_inputs(named, (first.dialect, second.dialect), limit)


def _site(what: Site | str | os.PathLike[str], dialect: Dialect) -> Site:
    return what if isinstance(what, Site) else load(what, dialect=dialect)

"""Seeds of the fuzz targets, out of the recorded cases."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache

from tests.conformance.case import Case, Request
from tests.conformance.cases import families, load_cases, spread

SIZE = 8192  # bytes of a seed: longer ones are fuzzed too slowly
COUNT = 60  # seeds of a target


@cache
def cases(*prefixes: str) -> tuple[Case, ...]:
    """Return some cases of each family whose name begins with one of *prefixes*."""
    chosen = [name for name in families() if name.startswith(prefixes)]
    return tuple(case for name in chosen for case in spread(load_cases(name, "2.4"), 40))


def few(seeds: Iterable[bytes], count: int = COUNT) -> list[bytes]:
    """Return at most *count* different seeds of at most SIZE bytes, evenly spread."""
    return spread([seed for seed in dict.fromkeys(seeds) if len(seed) <= SIZE], count)


def texts(*prefixes: str) -> Iterator[bytes]:
    """Yield the configurations of cases."""
    for case in cases(*prefixes):
        yield case.conf.encode("latin-1", "replace")


def files(*prefixes: str, suffix: str) -> Iterator[bytes]:
    """Yield the files of cases whose names end with *suffix*."""
    for case in cases(*prefixes):
        for name, file in case.files.items():
            if name.endswith(suffix) and file.symlink is None:
                yield file.content if isinstance(file.content, bytes) else file.content.encode()


def requests(*prefixes: str) -> Iterator[Request]:
    """Yield the requests of cases."""
    for case in cases(*prefixes):
        yield from case.requests


def fields(name: str, *prefixes: str) -> Iterator[bytes]:
    """Yield the values of the request field *name*."""
    for request in requests(*prefixes):
        for field, value in request.headers:
            if field.lower() == name.lower() and value is not None:
                yield value.encode("latin-1", "replace")


def bodies(*prefixes: str) -> Iterator[bytes]:
    """Yield the bodies of requests."""
    for request in requests(*prefixes):
        if request.body:
            yield request.body if isinstance(request.body, bytes) else request.body.encode()

"""What a condition asks of a request, as changes of a probe."""

from __future__ import annotations

from collections.abc import Iterable

from whimbrel.base.lazy_dataclasses import dataclass, replace
from whimbrel.verify.probe import Probe


@dataclass(frozen=True, slots=True)
class Facts:
    """Changes of a probe; "" leaves a value as it is.

    Attributes:
        target: replaces the target, *query* the part behind its ``?``.
    """

    fields: tuple[tuple[str, str], ...] = ()
    method: str = ""
    client: str = ""
    client_host: str = ""
    host: str = ""
    target: str = ""
    query: str = ""
    protocol: str = ""

    @property
    def is_empty(self) -> bool:
        """Return True if nothing is changed."""
        return self == Facts()

    def applied(self, probe: Probe) -> Probe:
        """Return *probe* with the changes."""
        names = {name.lower() for name, _ in self.fields}
        target = self.target or probe.target
        if self.query:
            target = f"{target.partition('?')[0]}?{self.query}"
        return replace(
            probe,
            target=target,
            method=self.method or probe.method,
            client=self.client or probe.client,
            client_host=self.client_host or probe.client_host,
            host=self.host or probe.host,
            protocol=self.protocol or probe.protocol,
            fields=(*((n, v) for n, v in probe.fields if n.lower() not in names), *self.fields),
        )

    def joined(self, other: Facts) -> Facts:
        """Return the changes of both; *other* wins."""
        names = {name.lower() for name, _ in other.fields}
        return Facts(
            (*((n, v) for n, v in self.fields if n.lower() not in names), *other.fields),
            other.method or self.method,
            other.client or self.client,
            other.client_host or self.client_host,
            other.host or self.host,
            other.target or self.target,
            other.query or self.query,
            other.protocol or self.protocol,
        )


def distinct(facts: Iterable[Facts]) -> list[Facts]:
    """Return *facts* without empty ones and repetitions."""
    return [one for one in dict.fromkeys(facts) if not one.is_empty]

"""Concrete requests for the clients of counterexamples, confirmed by the engines of both sides."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Final

from whimbrel.access.clients import ClientCredentials, ExampleClient
from whimbrel.access.decision import Counterexample
from whimbrel.base.file_reading import read_start
from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.base.lazy_dataclasses import dataclass, replace
from whimbrel.engine.plan.plan import Plan
from whimbrel.modules.aaa.mod_authn_dbm import AuthnDbmDirConfig
from whimbrel.modules.aaa.mod_authn_file import AuthnFileDirConfig
from whimbrel.modules.support.auth.auth_files import Passwords
from whimbrel.modules.support.dbm.open import DbmFile, DbmUnreadable
from whimbrel.verify.answer import Answer
from whimbrel.verify.derive.facts import Facts
from whimbrel.verify.probe import Probe, ProbeUser
from whimbrel.verify.probe_engine import AccessCheck
from whimbrel.verify.side import Side

_MAX_USERS: Final = 12
_MAX_TRIES: Final = 240
_MAX_FILE: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Confirmed:
    """A request that both engines answered as a counterexample says."""

    probe: Probe
    old: Answer
    new: Answer
    is_assumed: bool


class Confirmation:
    """Finds the requests of counterexamples.

    *find_facts* returns those that the conditions of both sides name: they set variables of the environment
    and decide expressions. It is called for the first client that needs them.

    *settable* are the variables (lower case) that lines of a side set: they are not assumed, as only
    requests decide about them.
    """

    def __init__(
        self, old: Side, new: Side, find_facts: Callable[[], list[Facts]], settable: frozenset[str]
    ) -> None:
        self.old = old
        self.new = new
        self.find_facts = find_facts
        self.settable = settable
        self._facts: list[Facts] | None = None
        self._users: dict[tuple[str, str], list[str]] = {}

    def confirm(self, example: Counterexample, base: Probe, plans: tuple[Plan, Plan]) -> Confirmed | None:
        """Return a request with which both engines decide as *example* says; None if none was found.

        *base* is the request whose chains differ, with *plans*.
        """
        for probe in islice(self.requests(example.client, base, plans), _MAX_TRIES):
            old, checks_old = self.old.checked(probe)
            if _verdict(checks_old, old) != example.before.value:
                continue
            new, checks_new = self.new.checked(probe)
            if _verdict(checks_new, new) == example.after.value:
                return Confirmed(probe, old, new, probe.user is not None and probe.user.is_assumed)
        return None

    def granted(self, client: ExampleClient, base: Probe, plans: tuple[Plan, Plan]) -> Probe | None:
        """Return a request of *client* that both sides admit."""
        for probe in islice(self.requests(client, base, plans), _MAX_USERS):
            verdicts = [_verdict(checks, answer) for answer, checks in map(self._checked(probe), (0, 1))]
            if verdicts == [200, 200]:
                return probe
        return None

    def _checked(self, probe: Probe) -> Any:
        return lambda number: (self.old, self.new)[number].checked(probe)

    # requests ---------------------------------------------------------------------------------------
    def requests(self, client: ExampleClient, base: Probe, plans: tuple[Plan, Plan]) -> Iterator[Probe]:
        """Yield requests that *client* may send, the plainest first."""
        plain = replace(
            base, client=client.address, client_host=client.host or "", method=client.method, user=None
        )
        if client.is_server_address:
            plain = replace(plain, address=client.address)
        elif client.address == base.address and client.address.startswith("127."):
            plain = replace(plain, address="127.0.0.3")
        users = list(self._credentials(client.credentials, plans))
        for facts in self._surroundings(client):
            for user in users:
                yield replace(facts.applied(plain), user=user) if facts is not None else plain
        if client.environment and not set(client.environment) & self.settable:
            assumed = tuple((name, "1") for name in client.environment)
            yield from (replace(plain, user=user, environment=assumed) for user in users)

    def _credentials(
        self, credentials: ClientCredentials | None, plans: tuple[Plan, Plan]
    ) -> Iterator[ProbeUser | None]:
        if credentials is None:
            yield None
            return
        known = credentials.is_known_user
        names = self._real_users(plans) if known else []
        for scheme in dict.fromkeys(_scheme(plan) for plan in plans):
            valid = credentials.is_password_valid
            for name in dict.fromkeys([credentials.user, *names]):
                yield ProbeUser(name, scheme, valid)
            if known:
                yield ProbeUser(credentials.user, scheme, valid, True, credentials.groups)

    def _surroundings(self, client: ExampleClient) -> Iterator[Facts]:
        yield Facts()
        if not client.environment and not client.opaque_answers:
            return
        if self._facts is None:
            self._facts = self.find_facts()
        yield from self._facts
        if len(client.environment) + len(client.opaque_answers) > 1:
            usable = [facts for facts in self._facts if not facts.target][:12]
            for number, one in enumerate(usable):
                yield from (one.joined(other) for other in usable[number + 1 :])

    def _real_users(self, plans: tuple[Plan, Plan]) -> list[str]:
        """Return some users of the password files, those that only one side has first."""
        old, new = map(self.users_of, plans)
        different = set(old) ^ set(new)
        names = dict.fromkeys([*old, *new])
        return sorted(names, key=lambda name: name not in different)[:_MAX_USERS]

    def users_of(self, plan: Plan) -> list[str]:
        """Return the users of the plan's password file, as its dialect reads it, and of its DBM file."""
        return [*self._users_of_text(plan), *self._users_of_dbm(plan)]

    def _users_of_dbm(self, plan: Plan) -> list[str]:
        settings = plan.dir_config(AuthnDbmDirConfig)
        if not settings.path:
            return []
        key = settings.path, f"dbm {settings.kind}"
        users = self._users.get(key)
        if users is None:
            try:
                entries = DbmFile(settings.path, settings.kind).entries()
            except DbmUnreadable:
                entries = {}
            users = [name for name in entries if name and ":" not in name]
            self._users[key] = users
        return users

    def _users_of_text(self, plan: Plan) -> list[str]:
        file = plan.dir_config(AuthnFileDirConfig).file
        if file is None:
            return []
        key = file.path, plan.dialect.name
        users = self._users.get(key)
        if users is None:
            try:
                text = to_text(read_start(to_bytes(file.path), _MAX_FILE))
            except OSError:
                text = ""
            stored = Passwords(text, continued=plan.dialect.overlong_line_is_eof).stored
            users = [name for name in stored if name and ":" not in name]
            self._users[key] = users
        return users


def _scheme(plan: Plan) -> str:
    from whimbrel.modules.support.auth.auth_api import auth_type

    try:
        kind = auth_type(plan)(None)  # type: ignore[arg-type]
    except AttributeError:  # an expression, which needs a request
        return "basic"
    return "digest" if kind is not None and kind.lower() == "digest" else "basic"


def _verdict(checks: tuple[AccessCheck, ...], answer: Answer) -> int:
    """Return the result of the first access check as a status: 200 for granted."""
    if not checks:
        return answer.status
    return 200 if checks[0].status == 0 else checks[0].status

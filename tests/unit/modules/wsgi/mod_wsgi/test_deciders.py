"""``Require wsgi-group`` (mod_wsgi.c, wsgi_groups_for_user): any group of the user that a line names."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import create_autospec

import pytest

from whimbrel.engine.request import Request
from whimbrel.modules.support.auth.auth_api import Authz
from whimbrel.modules.wsgi.mod_wsgi import deciders
from whimbrel.modules.wsgi.mod_wsgi.settings import WsgiDirConfig, WsgiScript
from whimbrel.registry.module import Scope


@pytest.mark.parametrize(
    ("groups", "result", "words"),
    [
        (["staff"], Authz.GRANTED, ""),
        (["x", "Admin"], Authz.GRANTED, ""),
        (["x"], Authz.DENIED, "User is not a member of designated groups."),
        ([], Authz.DENIED, "User is not a member of any groups."),
        (None, Authz.DENIED, ""),
    ],
)
@pytest.mark.parametrize("user", ["ann", None])
@pytest.mark.parametrize("has_script", [True, False])
def test_the_groups_of_a_user(
    monkeypatch: pytest.MonkeyPatch,
    groups: list[str] | None,
    result: Authz,
    words: str,
    user: str | None,
    has_script: bool,
) -> None:
    async def groups_of(_r: Request, _script: WsgiScript) -> list[str] | None:
        return groups

    lines: list[str] = []
    monkeypatch.setattr(deciders, "groups_of", groups_of)
    monkeypatch.setattr(deciders, "log", lambda _r, _level, text: lines.append(text))
    conf = WsgiDirConfig()
    conf.group_script = create_autospec(WsgiScript, instance=True) if has_script else None
    scope: Any = create_autospec(Scope, instance=True)
    scope.dir_config.return_value = conf
    check: Any = deciders.make_authz(scope, 'staff "admin"')
    found = asyncio.run(check.fn(cast("Request", SimpleNamespace(user=user, uri="/x"))))
    if user is None:
        assert (found, lines) == (Authz.DENIED_NO_USER, [])
    elif not has_script:
        assert found == Authz.DENIED
        assert lines == ["Location of WSGI group authorization script not provided."]
    else:
        assert found == result
        assert [line.partition("failed. ")[2] for line in lines] == [words] * bool(words)

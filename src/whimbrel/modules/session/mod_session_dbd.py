"""mod_session_dbd (2.4): sessions stored in a database, under a random key in a cookie or under the user's
name.

The statements are those that DBDPrepareSQL labels.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Versions
from whimbrel.modules.database.dbd_drivers import DatabaseError, Result
from whimbrel.modules.database.mod_dbd import prepared
from whimbrel.modules.session import mod_session
from whimbrel.modules.session.mod_session import Session, SessionError, Store
from whimbrel.modules.session.session_cookies import CookieName, named, read, write
from whimbrel.modules.support.setters import set_flag, set_text
from whimbrel.registry.module import Module, Provider
from whimbrel.registry.settings import setting

if TYPE_CHECKING:
    from whimbrel.engine.request import Request

_MODULE = "session_dbd"
_NOTE: Final = "mod_session_dbd"
_FAILED: Final = "(20014)Internal error (specific information not available)"
_CACHE: Final = ("Cache-Control", "no-cache, private")


@dataclass(slots=True)
class SessionDbdDirConfig:
    """Per-directory settings: labels of statements, and the key of a session."""

    select: str = setting("selectsession")
    insert: str = setting("insertsession")
    update: str = setting("updatesession")
    delete: str = setting("deletesession")
    name: CookieName | None = setting(None)
    name2: CookieName | None = setting(None)
    per_user: bool = setting(False)
    remove: bool = setting(True)


async def _run(r: Request, label: str, values: tuple[str, ...], code: str, failure: str) -> Result:
    """Run the statement *label*; raises SessionError, logged as *failure* with the error for ``%s``."""
    try:
        return await prepared(r, label, *values)
    except KeyError:
        r.log(
            "error", f"failed to find the prepared statement called '{label}'", code="AH01852", module=_MODULE
        )
    except DatabaseError as problem:
        if problem.connected:
            r.log("error", failure.replace("%s", str(problem)), code=code, module=_MODULE)
        else:
            r.log("error", "failed to acquire database connection", code="AH01851", module=_MODULE)
    raise SessionError(_FAILED)


async def load(r: Request) -> Session | None:
    """Return the session of the cookie's key or the user, perhaps empty; None without either."""
    conf = r.dir_config(SessionDbdDirConfig)
    cookie = conf.name2 or conf.name
    if cookie is None and not (conf.per_user and r.user is not None):
        return None
    name = _NOTE + (cookie.name if cookie is not None else r.user or "")
    session = mod_session.noted(r, name)
    if session is not None:
        return session
    key = read(r, cookie.name, remove=conf.remove) if cookie is not None else r.user
    encoded = None
    if key:
        values = key, str(int(r.engine.runtime.now() * 1_000_000))
        failure = f"query execution error saving session '{key}' in database using query '{conf.select}': %s"
        result = await _run(r, conf.select, values, "AH01854", failure)
        encoded = result.rows[0][0] if result.rows else None
    r.headers_out.add(*_CACHE)
    session = Session(encoded, key=_uuid(key) if cookie is not None else "")
    mod_session.note(r, name, session)
    return session


def _uuid(text: str | None) -> str:
    """Return the key if it is a UUID, else ""."""
    try:
        return str(uuid.UUID(text)) if text is not None and len(text) == 36 else ""
    except ValueError:
        return ""


async def save(r: Request, session: Session, text: str) -> bool:
    """Store the session; a changed one gets a new key, so that a key from before a login is invalid."""
    conf = r.dir_config(SessionDbdDirConfig)
    cookies = [cookie for cookie in (conf.name, conf.name2) if cookie is not None]
    if not cookies:
        return conf.per_user and await _save_user(r, conf, session, text)
    old = session.key
    if session.dirty or not old:
        session.key = str(uuid.uuid4())
    if text:
        await _store(r, conf, old, session.key, text, session.expiry)
    elif old:
        failure = f"query execution error removing session '{old}' from database"
        await _run(r, conf.delete, (old,), "AH01864", failure)
    for cookie in cookies:
        write(r, cookie, session.key, session.max_age, everywhere=True)
    return True


async def _save_user(r: Request, conf: SessionDbdDirConfig, session: Session, text: str) -> bool:
    r.headers_out.add(*_CACHE)
    if r.user is None:
        r.log(
            "error",
            f"peruser sessions can only be saved if a user is logged in, session not saved: {r.uri}",
            code="AH01865",
            module=_MODULE,
        )
        return False
    await _store(r, conf, r.user, r.user, text, session.expiry)
    return True


async def _store(r: Request, conf: SessionDbdDirConfig, old: str, new: str, text: str, expiry: int) -> None:
    """Update the row of *old*; insert one if there is none."""
    values = text, str(expiry), new
    if old:
        # httpd's arguments are in this order, whatever the words say
        failure = (
            f"query execution error updating session '{old}' using database query '{new}': {conf.update}/%s"
        )
        if (await _run(r, conf.update, (*values, old), "AH01857", failure)).changed:
            return
    failure = f"query execution error inserting session '{new}' in database with '{conf.insert}': %s"
    result = await _run(r, conf.insert, values, "AH01859", failure)
    if not result.changed:
        r.log(
            "error",
            "the session insert query did not cause any rows to be added to the database for session "
            f"'{old}', session not inserted",
            code="AH01860",
            module=_MODULE,
        )
        raise SessionError(_FAILED)


# directives ---------------------------------------------------------------------------------------
def set_name(field: str) -> Callable[[Command, SessionDbdDirConfig, list[str]], None]:
    """Return the setter of SessionDBDCookieName or SessionDBDCookieName2."""

    def apply(cmd: Command, record: SessionDbdDirConfig, words: list[str]) -> None:
        empty = f"{cmd.name} requires at least one argument!"
        setattr(
            record,
            field,
            named(
                cmd.name,
                words[0],
                empty=empty,
                bad=f"{cmd.name} cannot contain '=', ';' or '&'.",
                marks="=;&",
            ),
        )

    return apply


MODULE = Module(
    name="session_dbd_module",
    source="mod_session_dbd.c",
    versions=Versions.V24,
    dir_config=SessionDbdDirConfig,
    dir_setters={
        "SessionDBDSelectLabel": set_text("select"),
        "SessionDBDInsertLabel": set_text("insert"),
        "SessionDBDUpdateLabel": set_text("update"),
        "SessionDBDDeleteLabel": set_text("delete"),
        "SessionDBDPerUser": set_flag("per_user"),
        "SessionDBDCookieRemove": set_flag("remove"),
        "SessionDBDCookieName": set_name("name"),
        "SessionDBDCookieName2": set_name("name2"),
    },
    providers=(Provider("session_store", "dbd", Store(load, save)),),
)

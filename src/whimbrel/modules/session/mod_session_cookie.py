"""mod_session_cookie (2.4): sessions stored in a cookie.

With SessionCookieRemove every load reads the Cookie field anew, and the first one removes the cookie from it.
So values set before the response is sent, such as a login, are lost, in httpd as here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Versions
from whimbrel.modules.session import mod_session
from whimbrel.modules.session.mod_session import Session, Store
from whimbrel.modules.session.session_cookies import CookieName, clear, named, read, write
from whimbrel.modules.support.setters import set_flag
from whimbrel.registry.module import Module, Provider
from whimbrel.registry.settings import setting

if TYPE_CHECKING:
    from whimbrel.engine.request import Request

_NOTE: Final = "mod_session_cookie"


@dataclass(slots=True)
class SessionCookieDirConfig:
    """Per-directory settings; *name* is the cookie of Set-Cookie, *name2* that of Set-Cookie2."""

    name: CookieName | None = setting(None)
    name2: CookieName | None = setting(None)
    remove: bool = setting(False)


async def load(r: Request) -> Session | None:
    """Return the session of the cookie, empty without the cookie; None if no cookie is configured."""
    conf = r.dir_config(SessionCookieDirConfig)
    cookie = conf.name2 or conf.name
    if cookie is None:
        return None
    session = None if conf.remove else mod_session.noted(r, _NOTE + cookie.name)
    if session is None:
        r.headers_out.add("Cache-Control", "no-cache, private")
        session = Session(read(r, cookie.name, remove=conf.remove))
        mod_session.note(r, _NOTE + cookie.name, session)
    return session


async def save(r: Request, session: Session, text: str) -> bool:
    """Send the cookies, or expire them if the session is empty."""
    conf = r.dir_config(SessionCookieDirConfig)
    cookies = [cookie for cookie in (conf.name, conf.name2) if cookie is not None]
    for cookie in cookies:
        if text:
            write(r, cookie, text, session.max_age)
        else:
            clear(r, cookie)
    return bool(cookies)


def set_name(field: str) -> Callable[[Command, SessionCookieDirConfig, list[str]], None]:
    """Return the setter of SessionCookieName or SessionCookieName2."""

    def apply(cmd: Command, record: SessionCookieDirConfig, words: list[str]) -> None:
        wrong = f"{cmd.name} cannot be empty, or contain '=' or '&'."
        setattr(record, field, named(cmd.name, words[0], empty=wrong, bad=wrong, marks="=&"))

    return apply


MODULE = Module(
    name="session_cookie_module",
    source="mod_session_cookie.c",
    versions=Versions.V24,
    dir_config=SessionCookieDirConfig,
    dir_setters={
        "SessionCookieName": set_name("name"),
        "SessionCookieName2": set_name("name2"),
        "SessionCookieRemove": set_flag("remove"),
    },
    providers=(Provider("session_store", "cookie", Store(load, save)),),
)

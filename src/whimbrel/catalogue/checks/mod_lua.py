"""mod_lua's argument rules."""

from __future__ import annotations

from whimbrel.catalogue.checks.rules import Rule, always, one_of, regex

WHEN = one_of("early late", "Third argument must be 'early' or 'late'", at=2, exact=True)
HOOKS = "luahookaccesschecker luahookauthchecker luahooktranslatename"

CHECKS: dict[str, Rule] = {
    **dict.fromkeys(HOOKS.split(), WHEN),
    "luacodecache": one_of(
        "never stat forever",
        "LuaCodeCache type of '{0}' not recognized, valid options are 'never', 'stat', and 'forever'",
    ),
    "luainherit": one_of(
        "none parent-first parent-last",
        "LuaInherit type of '{0}' not recognized, valid options are 'none', 'parent-first', and "
        "'parent-last'",
    ),
    "luahookinsertfilter": always("LuaHookInsertFilter not yet implemented"),
    "luascope": one_of(
        "once request conn thread server",
        "Invalid value for LuaScope, '{0}', acceptable values are: 'once', 'request', 'conn', 'thread', "
        "'server'",
        exact=True,
    ),
    "luamaphandler": regex("Invalid regex pattern!"),
}

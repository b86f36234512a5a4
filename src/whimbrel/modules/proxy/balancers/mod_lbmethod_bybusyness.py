"""mod_lbmethod_bybusyness (2.4): the member with the fewest requests in hand."""

from __future__ import annotations

from whimbrel.modules.proxy.balancers.method import method_module

MODULE = method_module("bybusyness")

"""mod_lbmethod_byrequests (2.4): members get requests by their load factors."""

from __future__ import annotations

from whimbrel.modules.proxy.balancers.method import method_module

MODULE = method_module("byrequests")

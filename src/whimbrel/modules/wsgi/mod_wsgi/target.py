"""Where a request goes: groups, callable and script."""

from __future__ import annotations


class WsgiTarget:
    """Where one request goes.

    Attributes:
        process_group, application_group, callable: names; *handler_script*: "" for the file of the request.
    """

    __slots__ = ("application_group", "callable", "handler_script", "pass_authorization", "process_group")

    def __init__(self, process_group: str, application_group: str, callable: str, passes: bool) -> None:
        self.process_group = process_group
        self.application_group = application_group
        self.callable = callable
        self.pass_authorization = passes
        self.handler_script = ""

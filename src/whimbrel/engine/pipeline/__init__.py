"""The phases of a request in httpd's order (request.c, http_request.c).

Public: read, process, access, handler, redirect, subrequest, error.die; hooks runs one phase.
A phase that no hook makes asynchronous runs without the event loop.
Must not import: server.
"""

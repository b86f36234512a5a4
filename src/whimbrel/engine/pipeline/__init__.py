"""The phases of a request in httpd's order (request.c, http_request.c): read, process, access, handler,
redirect, error.

Public: read, process, redirect (sub-requests and internal redirects), error.die.
A phase that no hook makes asynchronous runs without the event loop.
Must not import: server.
"""

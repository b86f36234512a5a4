"""One configuration that answers requests.  It owns no socket; server/ and testing/ drive it.

Public: engine.Engine, request.Request, connection.Connection, response.Response, runtime.Runtime.
Packages: plan, pipeline, prepared, specialized, walk, input, output, deps, cache, log, explain.
Must not import: modules, server, cli.
"""

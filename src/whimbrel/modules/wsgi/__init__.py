"""Python applications: WSGI with mod_wsgi's directives and behaviour.

Modules: mod_wsgi, of which 4.9 is the model.
Applications run in processes of their own; no code of theirs runs in a worker.
Must not import: server, cli, upgrade.
"""

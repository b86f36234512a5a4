"""Many servers at once: check, upgrade and verify on all processors or a cluster, and one report.

Public: servers, model, tasks, run, page, formats.
Must not import: lsp, studio, cli, testing.
"""

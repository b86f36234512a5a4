"""The pytest plugin: the fixtures `httpd` and `htaccess`, whose sites answer in process or as live servers.

Public: fixtures (the entry point `whimbrel`), tested_site.{Sites, TestedSite}, tested_answer.TestedAnswer.
fixtures imports pytest alone, so that test runs without these fixtures pay nothing.
Must not import: cli, lsp, studio.
"""

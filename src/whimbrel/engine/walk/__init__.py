"""Which sections apply to a request: location, directory and file walks, .htaccess files.  Manual:
sections.html.

Public: directory.directory_walk, matching, htaccess.HtaccessResolver, cache (walks whose result is still
valid).
Symbolic links are checked here (Options FollowSymLinks, SymLinksIfOwnerMatch).
Must not import: pipeline, output.
"""

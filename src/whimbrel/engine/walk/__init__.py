"""Sections that apply to a request: directory, location, files and if walks, .htaccess files.

Public: directory.directory_walk, location, files, if_sections, matching, htaccess.HtaccessResolver, cache.
Symbolic links are checked in symlinks (FollowSymLinks, SymLinksIfOwnerMatch).  Manual: sections.html.
Must not import: pipeline, output.
"""

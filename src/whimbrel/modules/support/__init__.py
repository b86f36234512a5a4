"""Code that several modules share; it has no directives of its own.

Packages: auth (credentials, password files), cgi (programs, script heads), dbm (database files), session.
Also setters (bodies of directives), substitution (ap_pregsub), form_data, reverse_dns, magic_file.
Must not import: a module.
"""

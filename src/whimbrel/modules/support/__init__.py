"""Code shared by several modules; it defines no directives.

Packages: auth (credentials, password files), cgi (programs, script heads), dbm (database files).
Also setters (bodies of directives), substitution (ap_pregsub), form_data, reverse_dns, magic_file.
Must not import: a module.
"""

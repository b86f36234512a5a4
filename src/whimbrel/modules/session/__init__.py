"""Sessions.  Manual: mod/.

Modules: mod_session, mod_session_cookie, mod_session_crypto, mod_session_dbd; session_cipher,
session_cookies.
Each mod_NAME has one `Module` with directives and hooks; whimbrel.modules lists them.
Must not import: server, cli.
"""

"""Upgraded configurations asked of a real httpd 2.4."""

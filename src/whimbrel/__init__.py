"""Whimbrel: an HTTP server that reads Apache httpd configurations, and an upgrade toolchain 2.2 to 2.4."""

__version__ = "0.2.0"

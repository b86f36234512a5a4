"""Whimbrel: an HTTP server that reads Apache httpd configurations, and the toolchain that carries 2.2 setups to 2.4."""

__version__ = "0.1.0"

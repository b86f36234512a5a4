"""Every directive and module of httpd 2.2 and 2.4, as data."""

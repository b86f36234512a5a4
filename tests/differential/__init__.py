"""The same generated configuration and requests to Debian's apache2 and to Whimbrel: the answers must be the
same.
"""

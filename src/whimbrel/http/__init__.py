"""The wire without sockets: HTTP/1 heads, headers, ranges, conditionals."""

"""httpd 2.4's expression language (ap_expr): boolean conditions and strings with ``%{...}`` in them.  Manual: expr.html."""

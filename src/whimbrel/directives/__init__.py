"""From tree to typed: argument shapes, httpd's word rules, contexts, AllowOverride."""

"""From 2.2 to 2.4: what an upgrade changes in a configuration, and the edits that mend it."""

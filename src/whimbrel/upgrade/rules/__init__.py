"""The rules by area: one file for each row of the table of changes, or for rows that only make sense together."""

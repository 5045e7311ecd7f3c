"""A whole run: base policy, search, polish, and everything that is written about it."""

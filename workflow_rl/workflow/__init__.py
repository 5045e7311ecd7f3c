"""Workflows: orders of units, such as the five types, and what it means to comply with one."""

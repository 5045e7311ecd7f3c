"""Workflows: orders of the five unit types, and what it means to comply with one."""

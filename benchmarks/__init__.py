"""Benchmarks: one script per table, run as `python -m benchmarks.NAME` from the repository."""

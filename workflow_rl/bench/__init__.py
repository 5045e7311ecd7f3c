"""Measurements: same work, same run, medians of repeats, never a pass or fail."""

"""CAGE-2 as compiled rules for one environment, and one loop that runs them over a batch."""

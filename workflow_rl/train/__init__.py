"""Training one workflow: collect, judge compliance, update, log, decide."""

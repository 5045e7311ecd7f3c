"""Step-by-step comparison of the simulator with recordings of the real CybORG."""

"""Networks without a trainer: the forward pass, sampling, and a cache of results by input."""

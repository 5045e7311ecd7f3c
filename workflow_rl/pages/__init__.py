"""A run made visible: the report, the replay of an episode, and the view of a run under way."""

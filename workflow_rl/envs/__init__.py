"""The simulator behind the interfaces users already know."""

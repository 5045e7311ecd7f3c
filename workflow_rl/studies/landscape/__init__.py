"""The landscape: every order trained for several seeds, and what that tells."""

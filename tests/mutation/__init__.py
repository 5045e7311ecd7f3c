"""Changes the rules one by one and tells which changes no test notices (`make mutation`)."""

"""Small things that all other parts use."""

"""BEAM: adapter."""

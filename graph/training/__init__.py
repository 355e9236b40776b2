"""Train the small models in assets/models."""

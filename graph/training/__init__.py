"""Train the small models in assets/."""

"""The Evaluate tab: what is chosen, what goes on, what came of it, and why."""

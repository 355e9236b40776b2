"""MADial-Bench: its adapter and everything else that is its own."""

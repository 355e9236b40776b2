"""DialSim's simulator: who asks what and when, under which names, and which choice an answer amounts to."""

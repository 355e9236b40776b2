"""DialSim's simulator: questions asked while sessions are played, under other names, with choices."""

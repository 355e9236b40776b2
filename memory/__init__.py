"""What Memoir knows: a bank of personas, sessions, turns and memories, and the ways into and through it."""

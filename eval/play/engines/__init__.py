"""Where histories are replayed: in several processes of this machine."""

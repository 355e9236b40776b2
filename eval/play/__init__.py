"""Replay a history: feed its sessions to a fresh bank and ask its probes."""

"""Replay histories: store their sessions in a fresh bank and ask their probes."""

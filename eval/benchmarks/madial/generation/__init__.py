"""Make memories of users, and dialogues to bring them up in, by a chat model (He et al. 2025, section 3.2)."""

"""Let a chat model reply as the persona: what it is shown, and what becomes of its reply."""

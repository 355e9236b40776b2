"""Chat models behind an address: how they are asked, what their servers tell of themselves, and their keys."""

"""Chat models run in this process by transformers, in 4 to 32 bits, with replies constrained to a JSON schema."""

"""Chat models: a hosted one, any server that speaks OpenAI's protocol, or one that runs in this process."""

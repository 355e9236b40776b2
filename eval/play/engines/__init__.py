"""Ways to replay many histories at once."""

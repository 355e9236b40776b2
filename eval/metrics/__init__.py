"""What is measured: pure functions, named as in the literature, each with its convention and where it is from."""

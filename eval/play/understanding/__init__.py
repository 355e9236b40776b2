"""What models outside the pipeline read in a question: its time, and its kind of memory."""

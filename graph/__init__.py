"""How one turn is answered: classify, retrieve, rerank, time_filter, read, persist."""

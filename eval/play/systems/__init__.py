"""Memory systems under test, behind one contract: those built in, those of other packages, those behind HTTP."""

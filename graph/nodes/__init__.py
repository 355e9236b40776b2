"""The steps of one turn, a module each: the listing of this folder is the pipeline."""

"""The panel "How I remembered": the steps of an answer as text, tables and a plot."""

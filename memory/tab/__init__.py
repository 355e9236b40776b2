"""The Memory tab, and the parts that all tabs share: templates, formatting, tables, progress, event handling."""

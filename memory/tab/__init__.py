"""The Memory tab, and the parts that all tabs share: templates, tables, progress, event handling."""

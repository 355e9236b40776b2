"""Histories in other people's formats: one module a format, found by what a file holds, never by its name.

An importer is a module with three names:

    NAME        what reports call the format ("LoCoMo")
    sniff(head) whether the first bytes of a file are this format; `head` holds at most `HEAD_BYTES`
    read(path)  the file as a stream of records, so that no file need fit in memory

The stream names a history before what belongs to it: `PersonaDraft`, then its `SessionDraft`s and `MemoryDraft`s in any
order, then the next `PersonaDraft`. What cannot be used comes as a `Skip` with its place in the file; what makes the
rest of the file unreadable raises `memory.errors.UnreadableFile`, after everything before it was handed over.
"""

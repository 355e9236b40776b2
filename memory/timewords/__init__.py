"""The words that name times, and the calendar they name: what `memory.timespan` is made of."""

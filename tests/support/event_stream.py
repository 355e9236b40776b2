"""The events of one message, for tests that have no event loop."""

import asyncio
from contextlib import aclosing


def events_of(assistant, ask):
    """All events, from the first step to the answer."""
    return events_until(assistant, ask, lambda event: False)


def events_until(assistant, ask, is_enough):
    """The events up to the first that is enough; the answering is then stopped."""

    async def collect():
        async with aclosing(assistant.stream(ask)) as stream:
            async for event in stream:
                events.append(event)
                if is_enough(event):
                    return

    events = []
    asyncio.run(collect())
    return events

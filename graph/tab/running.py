"""An answer that is being written, which outlives the page that asked for it."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from graph.assistant import kept_open
from graph.tab.messages import Chat
from memory.bank.bank import Bank
from memory.tab.parts import Update


@dataclass(eq=False, slots=True)
class Running:
    """The answer, and how far it is.

    `chat` is the chat before it, and `held` what pages hold until they have heard of the end; `text` is the message,
    which the bank is to `remember` or not. `shown` is what a page shows of it now; `changed` is set when that changes.
    Once all is there and only compared with the memories, it `is_checked`.
    """

    chat: Chat
    held: list[Chat]
    text: str
    remember: bool = True
    shown: Update = field(default_factory=dict)
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None
    is_checked: bool = False

    async def write(self, updates: AsyncIterator[Update], bank: Bank) -> None:
        """Show updates as they come; meanwhile the bank is kept open."""
        try:
            async with kept_open(bank):
                async for update in updates:
                    self.show(update)
        finally:
            asyncio.get_running_loop().call_soon(self.notify)  # once the task is done

    def give_chat(self) -> Chat:
        """Return the chat before the answer, which a page holds until it has heard of the end."""
        self.held.append(self.chat)
        return self.chat

    def show(self, update: Update) -> None:
        """Show what an update changes to the pages that follow."""
        shown = self.shown
        shown |= {part: value for part, value in update.items() if part not in shown or shown[part] != value}
        self.notify()

    def notify(self) -> None:
        """Wake the pages that follow."""
        self.changed.set()
        self.changed = asyncio.Event()

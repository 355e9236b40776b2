"""The Chat tab: talk with a persona, choose who reads for it, see what each answer relies on."""

from graph.tab.chat_tab import Trimmings, chat_tab

__all__ = ["Trimmings", "chat_tab"]

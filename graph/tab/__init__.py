"""The Chat tab: talk with a persona, choose the chat model, see what each answer relies on."""

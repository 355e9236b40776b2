"""Say what the user plans."""

from datetime import datetime

from graph.replies.second_person import said_to_user
from graph.state import USER
from graph.understanding.reminders import asked_reminder, without_time
from graph.understanding.sentences import capitalise, split
from graph.understanding.times import describe_ahead, describe_plan, times_in
from memory.formatting import clip
from memory.types import Memory


def say_plan(plan: Memory, now: datetime) -> str:
    """What is ahead as it is said to the user, after its day: "Saturday: You see the dentist."; of others, quoted."""
    named = (text for text in split(plan.text) if any(t.span == plan.event for t in times_in(text, plan.said_at)))
    text = next(named, plan.text)
    said = said_to_user(asked_reminder(text, plan.said_at) or without_time(text, plan.said_at))
    if plan.speaker != USER or plan.event is None or not said:
        return describe_plan(plan, now)
    return f"{capitalise(describe_ahead(plan.event, now))}: {clip(said)}"

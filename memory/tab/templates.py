"""The pictures and templates in assets/web. Templates are rendered as the HTML of the tabs, every value escaped."""

from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from memory.formatting import STORE_NAMES, clip, format_count, format_day, format_time, memory_date
from memory.types import STORES

WEB = Path(__file__).parents[2] / "assets" / "web"

LOGO, USER_AVATAR, PERSONA_AVATAR = PICTURES = tuple(
    WEB / name for name in ("logo.svg", "avatar-user.svg", "avatar-persona.svg")
)
"""The files that every page serves; all others that it serves are downloads of its user."""

_environment = Environment(
    loader=FileSystemLoader(WEB / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    auto_reload=False,
)
_environment.globals |= {"STORES": STORES, "STORE_NAMES": STORE_NAMES}
_environment.filters |= {
    "clip": clip,
    "count": format_count,
    "day": format_day,
    "time": format_time,
    "clock": lambda moment: f"{moment:%H:%M}",
    "memory_date": memory_date,
}


def render(template: str, /, **values: object) -> Markup:
    """Fill in a template, named by its file.

    The result is marked as safe, so other templates can contain it. A variable that the template uses and `values`
    lacks raises `jinja2.UndefinedError`.
    """
    return Markup(_environment.get_template(template).render(values))


def hint(text: str) -> Markup:
    """Render a quiet line of explanation; nothing for an empty text."""
    return render("hint.html", text=text)


def empty_state(title: str, remedy: str, soon: Sequence[str] = ()) -> Markup:
    """Render what a part shows while it has no content, and what the user can do about it; a chat also what is soon."""
    return render("empty_state.html", title=title, remedy=remedy, soon=soon)


def error_box(text: str) -> Markup:
    """Render what went wrong, and what to do."""
    return render("error_box.html", text=text)


def heading(text: str) -> Markup:
    """Render the heading of a section."""
    return render("heading.html", text=text)


def progress_bar(title: str, steps: list[str], share: float, label: str = "") -> Markup:
    """Render a progress bar with what to say beside its title; `share` is 0..1, `label` its name for screen readers."""
    return render("progress_bar.html", title=title, steps=steps, share=share, label=label or title)

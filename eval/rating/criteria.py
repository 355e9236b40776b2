"""What a reply is rated by: five criteria of three points each, and which reply of a question feels closest.

The criteria are those of MADial-Bench (He et al. 2025, sections 2.2 and 3.3): each has three points, and each point is
given from 0 to 1, so that a criterion has 3 at most. The text that we have names the criteria, not their points; these
are in our own words.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Criterion:
    """A column of the sheet: its name, and what each of its three points asks of a reply."""

    name: str
    points: tuple[str, str, str]

    @property
    def explanation(self) -> str:
        """The points in one line."""
        return "; ".join(self.points)


CRITERIA = (
    Criterion(
        "naturalness",
        ("it is fluent and free of mistakes", "it sounds spoken, not recited", "it follows from what was said last"),
    ),
    Criterion(
        "style",
        ("it keeps to one manner of speaking", "the manner suits the speaker", "and it suits the person spoken to"),
    ),
    Criterion(
        "memory",
        ("it brings up a memory where one helps", "what it says of it is right", "and is woven in, not listed"),
    ),
    Criterion(
        "support",
        ("it understands the feeling", "it meets it: comforts, or shares the joy", "it offers or asks what helps now"),
    ),
    Criterion(
        "emotion",
        ("the person would feel better", "nothing in it hurts or dismisses", "the person would want to go on talking"),
    ),
)
HIGHEST = 3.0
"""The most a criterion gives: three points of 1."""

COLUMNS_TO_FILL = {
    **{criterion.name: f"0 to {HIGHEST:g}, up to 1 for each: {criterion.explanation}" for criterion in CRITERIA},
    "closest": "x at the reply to a question that feels closest to a friend's, or tie at any of them",
    "remembers": "x if the reply uses a memory",
}
"""The columns that a rater fills in, and how."""

"""An invented show in the layout of LongDialQA: 2 episodes of 3 sessions, 5 characters, questions of all types."""

import pickle
from pathlib import Path

AGENT = "Ross"
PEOPLE = ("Odo", "Pia", "Tam", "Wilma")

HARD = ("past", "cur", "fu", "past_past", "past_cur", "past_fu", "cur_past", "fu_past", "fu_fu")
EASY = ("ans_w_time", "ans_wo_time", "before_event_unans", "dont_know_unans", "dont_know_unans_time")
DATES = (
    ("March 3, 2001", "March 3, 2001", "March 17, 2001"),
    ("April 8, 2001", "June 2, 2002", "June 20, 2002"),
)


def item(thing, answer, spoken):
    """One question with five options, the last of them "I don't know."."""
    options = ["the blue dinghy", "the pilot cutter", "the old ferry", "the lamp", "I don't know."]
    return {
        "questions": {who: f"{who} asks: which boat carried {thing}?" for who in spoken},
        "options": options,
        "answer": options[answer],
    }


def script(number):
    """Nine lines in which everybody speaks, the agent three times."""
    return (
        f"Teleplay: Nobody\n[Scene: The quay, day {number}.]\nRoss: Good morning, all of you.\nPia: Morning.\n"
        f"Odo: The pilot cutter carried crate {number}.\nwhich was heavy\nRoss: I saw Pia's note about it.\n"
        "Tam: And PIA never came?\nRoss: She came at noon.\nWilma: So she did.\n"
    )


def show():
    """The whole of `<show>_dialsim.pickle`."""
    numbers = iter(range(1, 7))
    return {
        f"S01E0{n}": {place: session(date, next(numbers)) for place, date in enumerate(dates, start=1)}
        for n, dates in enumerate(DATES, start=1)
    }


def session(date, number):
    unknown = {kind: 4 if "fu" in kind or "unans" in kind else 1 for kind in (*HARD, *EASY)}
    return {
        "script": script(number),
        "date": date,
        "hard_q": {
            kind: [item(f"{kind} {number}-{n}", unknown[kind], ("default", *PEOPLE)) for n in range(2)] for kind in HARD
        },
        "easy_q": {
            kind: {n: item(f"{kind} {number}-{n}", unknown[kind], ("default",)) for n in (3, 8)} for kind in EASY
        },
    }


def oracles():
    """What lies beside it: the dates of the evidence, by episode, session, type and number."""
    tkg = {
        episode: {place: {kind: [["March 3, 2001"], ["March 17, 2001", "fu"]] for kind in HARD} for place in sessions}
        for episode, sessions in show().items()
    }
    fan = {
        episode: {place: {"ans_w_time": {3: ["March 3, 2001"], 8: []}} for place in sessions}
        for episode, sessions in show().items()
    }
    return tkg, fan


def write_show(folder: Path, name: str = "friends") -> Path:
    """The three pickles of a show; the path of the first."""
    tkg, fan = oracles()
    for part, value in (("dialsim", show()), ("oracle_tkg", tkg), ("oracle_fan", fan)):
        (folder / f"{name}_{part}.pickle").write_bytes(pickle.dumps(value))
    return folder / f"{name}_dialsim.pickle"

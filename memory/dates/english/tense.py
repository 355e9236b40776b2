"""Tell whether a time in an English sentence lies in the past or ahead, by the verbs around it.

"We moved in March" lies in the past, "we're moving in March" ahead. A past form makes a clause one of the past:
English has some two hundred irregular ones and the ending -ed, while its present forms look like any other word
("exams start on the 18th"). A clause without a verb announces something ("dentist on friday").
"""

import re

from memory.dates.calendar import WORDS, Tense

IRREGULAR_PASTS, OTHER_ED, TIME_WORDS = (
    frozenset(WORDS[name].split()) for name in ("irregular_pasts", "other_ed", "time_words")
)

SUBJECT = r"(?:i|you|he|she|it|we|they|there)"

CLAUSE_END = re.compile(
    r"[,;:–—()]|\b(?:and|but|so|because|cause|cos|since|although|though|while|when|which|who|that|if|then|after|before"
    rf"|(?:why|how|what|where) (?={SUBJECT}\b))\b"
    rf"|\b(?:told|tell|tells|telling|reminded|reminds|reminding) \w+ (?=(?:{SUBJECT}|the|my|his|her|their|our)\b)"
    r"|\b(?:said|says|say|heard|hear|think|thinks|thought|know|knew|mentioned|reckons?|guess|hope|hopes|believe|learnt"
    rf"|found out|noticed|realised|realized|forgot|remembered|announced|confirmed|(?:was|were|been"
    rf"|got) told) (?={SUBJECT}\b)",
    re.IGNORECASE,
)

AHEAD = re.compile(
    r"\b(?:will|won['’]?t|shall|gonna|upcoming|tomorrow|(?:\w+['’]|\bit)ll|let['’]?s"
    r"|(?<!was )(?<!were )(?:going|supposed|meant|about|hoping|expected|due|set|scheduled|planned) to"
    r"|(?:need|want|have|has|got|ought|hope|hopes|intend|aim|wants|needs|hopes)s? to|hafta|gotta"
    r"|(?:i|you|he|she|we|they)['’]?d (?:like|love|rather)|(?:would|['’]d) (?:like|love) to"
    r"|(?:must|should|might|could(?!n['’]?t))(?:n['’]?t)?(?! have\b|['’]ve\b|a\b)"
    r"|can['’]?t wait|look(?:s|ing)? forward|plan(?:s|ning)? (?:to|on|for)|(?<!was )(?<!were )due\b"
    r"|(?:have|has|['’]ve|['’]s|ive|weve)(?: (?:i|you|he|she|we|they))? got(?: \w+ed)?"
    r"|(?:agreed|promised|decided|offered|volunteered|arranged|chose|asked \w+|invited \w+|told \w+"
    r"|convinced \w+) to|booked (?:us|me|him|her|them|the|an?|our|my)|\A\W*were (?:on|off|away|at|in))\b",
    re.IGNORECASE,
)
"""Words of a clause that put its time ahead, whatever its other verbs."""

PLANNED = (
    r"(?:planned|booked|scheduled|arranged|reserved|registered|signed up|set|expected|invited|postponed|pushed"
    r"|moved|put"
    r"|rescheduled|delayed|brought|shifted|changed|down)"
)
NOW_PLANNED = re.compile(
    rf"(?:\b(?:am|is|are|im|its)(?: \w+)?|['’](?:m|s|re)(?: now| all| still)?) (?:{PLANNED}|due|\w+ed)\b", re.IGNORECASE
)
PASSIVE = re.compile(
    r"(?:\b(?:am|is|are|im)|['’](?:m|re)|\b(?:have|has|having) (?:my|our|his|her|their|the) \w+) \w+"
    r"|\b(?:be|get|gets|getting|being)(?: (?:the|my|our|his|her|their|its|a|an) \w+| (?:it|them))? \w+"
    r"|\b(?:to|will|won['’]?t|shall|gonna|wanna|gotta|can|can['’]?t|cannot|must|should|might|could|would|do|does|don['’]?t"
    r"|lets?|let['’]s|\w+['’]?ll)(?: (?:i|you|u|we|he|she|they))?(?: (?:not|also|just|only|finally))? (?:beat"
    r"|burst|cut|hit|hurt|let|put|quit|read|set|shut"
    r"|split|upset)\b",
    re.IGNORECASE,
)
"""Passives, states ("I'm stuck") and causatives: their participle is not a past form."""
SET_FOR = re.compile(rf"\b{PLANNED}\b.*\b(?:for|to|until|till) (?:the )?\Z", re.IGNORECASE)
FOR = re.compile(r"\bfor (?:the )?\Z", re.IGNORECASE)
SINCE = re.compile(r"\bsince (?:the )?\Z", re.IGNORECASE)
BECAUSE = re.compile(r"\W*(?:s|is|isn['’]?t|will|works|i['’]?m|we['’]?re)\b", re.IGNORECASE)
SPENDS_TIME = re.compile(
    r"\b(?:was|were|went|stayed|came|lived|visited|flew|drove|been|gone|closed|waited)\b", re.IGNORECASE
)
"""With these, "for" says how long ("we went to Rome for the weekend"); else what is arranged ("tickets for friday")."""

PROGRESSIVE = re.compile(
    r"(?:\b(?:am|is|are|im|hes|shes|theyre|youre|whos|whats|its)|['’](?:m|s|re)|(?:\A\W*|\bso |\bwhere )were)"
    r"(?: (?:not|also|still|now|all|both|just|you|u|we|they|he|she|i|\w+ly))*"
    r" (?!during\b|morning\b|evening\b)\w+ing\b"
    r"|\A\W*(?:(?:so|also|finally|just|btw|ok|oh|anyway) )*(?!(?:thinking|remembering|missing|wondering|feeling"
    r"|during)\b)\w+ing\b",
    re.IGNORECASE,
)
"""The present progressive: with a time, it tells a plan."""

PRESENT = re.compile(
    r"\b(?:am|is|are|isn['’]?t|aren['’]?t|do|does|don['’]?t|doesn['’]?t|have|has|im|its)\b|['’](?:m|s|re)\b"
    r"|\b(?:i|we|they|you) (?!['’])[a-z]+\b|\b(?:he|she|it) [a-z]+s\b",
    re.IGNORECASE,
)
WORD = re.compile(r"[\w'’]+")
BEGINS = re.compile(r"\W*(?:start|end|finish)(?:s|ing)? (?:on|at|in|from|back)\b", re.IGNORECASE)
"""What begins with a verb whose subject is left out: "start on the 14th", but not "start of the week"."""
MAX_VERBLESS_WORDS = 2
"""Words of a clause that has no verb ("then Rome in May")."""
FUTURE_SIGNS = (AHEAD, NOW_PLANNED, PROGRESSIVE)


def tense_of(before: str, after: str) -> Tense:
    """The tense of a sentence at a time in it, from the words before and after the time.

    In the clause around the time, the nearest verb before it decides, else the nearest after it. A clause without a
    verb takes the tense of the one before it; one of at most a word ("on friday, we left") that of the next. A sentence
    without a verb is in the present tense, and a time that stands alone is a past one.
    """
    if BEGINS.match(f"{before} {after}"):
        return "future"
    if all(word.lower() in TIME_WORDS or word[0].isdigit() for word in WORD.findall(f"{before} {after}")):
        return "past"
    if SINCE.search(before) and not BECAUSE.match(after):
        return "past"
    head, tail = CLAUSE_END.split(before), CLAUSE_END.split(after)
    if SET_FOR.search(head[-1]) or (FOR.search(head[-1]) and not SPENDS_TIME.search(head[-1])):
        return "future"
    words = len(WORD.findall(f"{head[-1]} {tail[0]}"))
    others = (
        (*tail[1:], *reversed(head[:-1])) if words <= 1 else reversed(head[:-1]) if words <= MAX_VERBLESS_WORDS else ()
    )
    tenses = [_tense_of_clause(head[-1]), _tense_of_clause(tail[0], first=True), *map(_tense_of_clause, others)]
    return next(filter(None, tenses), "present")


def _tense_of_clause(clause: str, *, first: bool = False) -> Tense | None:
    """The tense of the last, or the first, verb of a clause; None if none is recognised."""
    ahead = [match.span() for sign in FUTURE_SIGNS for match in sign.finditer(clause)]
    covered = [*ahead, *(match.span() for match in PASSIVE.finditer(clause))]
    past = [
        match.span()
        for match in WORD.finditer(clause)
        if is_past_form(match[0]) and not any(start <= match.start() < end for start, end in covered)
    ]
    if not ahead and not past:
        return "present" if PRESENT.search(clause) else None
    nearest = min([*ahead, *past]) if first else max([*ahead, *past])
    return "future" if nearest in ahead else "past"


def is_past_form(word: str) -> bool:
    """Whether a word looks like a past form or a participle."""
    lower = word.lower().replace("’", "'")
    return lower in IRREGULAR_PASTS or (lower.endswith("ed") and lower not in OTHER_ED)

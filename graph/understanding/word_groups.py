"""Groups of words that are lexical features of the learned classifier."""

from __future__ import annotations

from collections.abc import Mapping

GROUPS: Mapping[str, frozenset[str]] = {
    name: frozenset(words.split())
    for name, words in {
        "kin": """mother mom mum mama father dad papa parents sister brother siblings sibling son daughter child
        children kids wife husband spouse partner girlfriend boyfriend fiance uncle aunt auntie cousin cousins niece
        nephew grandmother grandma grandfather grandpa grandparents family relative relatives twin grandson
        granddaughter stepfather stepmother godmother godfather godson in-law in-laws brother-in-law sister-in-law
        mother-in-law father-in-law fiancé fiancée ex ex-wife ex-husband""",
        "role": """friend friends colleague colleagues classmate classmates roommate flatmate neighbour neighbor boss
        manager supervisor mentor teacher student coach landlord assistant partner leader coworker coworkers apprentice
        trainer tutor pupil rival opponent deputy predecessor successor secretary superior buddy mate acquaintance
        guardian housemate co-founder tenant landlady""",
        "tie": "relationship relation related connection connected bond tie ties link friendship",
        "speech": """say says said tell tells told talk talks talked discuss discusses discussed mention mentions
        mentioned ask asks asked answer answers answered reply replies replied respond responds responded suggest
        suggests suggested recommend recommends recommended advise advises advised promise promises promised explain
        explains explained describe describes described express expresses expressed propose proposes proposed invite
        invites invited agree agrees agreed warn warned complain complained apologise apologize thank thanks thanked
        chat chatted chatting share shared shares encourage encouraged comment comments remind reminded argue argued
        offer offers offered demand demands demanded request requests praise praises praised criticise criticises warns
        advises explains criticism compliment console comfort confess confesses quote quotes call calls""",
        "talk": """conversation conversations dialogue chat talk discussion advice suggestion suggestions opinion view
        views reply response topic attitude idea ideas thoughts tips tip""",
        "mind": """think thinks thought feel feels felt believe believes hope hopes hoped plan plans want wants worry
        worries worried consider considers intend intends wish wishes like likes appreciate appreciates enjoy enjoys
        regret regrets fear fears doubt doubts admire admires dream dreams prefer prefers find finds expect expects miss
        misses imagine picture judge see sees""",
        "trait": """age old job occupation profession career hobby hobbies nickname name nationality education degree
        university school major height weight hair eyes looks appearance award awards achievement achievements
        birthday gender title employer company favourite favorite personality interests religion faith
        citizenship ethnicity skills talent habits strengths weaknesses temperament character ambition ambitions dream
        ideal hero profile qualifications trade pastimes expertise""",
        "past": """was were did had went came got took made saw won lost bought met gave found left began broke fell
        built wrote led held ran drove flew ate spent paid taught learnt chose became grew happened ended""",
        "present": "is are am does do has have can",
        "future": "will shall going plans intend",
        "me": "i me my mine myself we us our",
        "you": "you your yours yourself u ur",
        "they": "he she they him her them his hers their",
        "asks": "what who whom whose which when where why how",
        "order": "tell remind describe explain list name give show write draft suggest recommend help summarise please",
        "time": """yesterday ago last today tonight tomorrow week month year weekend january february march april june
        july august september october november december monday tuesday wednesday thursday friday saturday sunday spring
        summer autumn winter recently earlier lately""",
        "count": "many often times total altogether all every list each",
        "emotion": """sad happy lonely anxious nervous scared afraid angry furious proud tired exhausted stressed
        worried ashamed guilty jealous miss cry crying excited thrilled devastated hopeless depressed upset hurt
        grateful""",
    }.items()
}
"""Words with the same role in a message, so that one seen in training stands for the others."""
GROUPED = frozenset().union(*GROUPS.values())

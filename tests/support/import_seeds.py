"""A small file of each format that can be imported, for tests that change some bytes of it."""

from support.export_files import EXPORTS, picture

SEEDS = (
    b'{"memoir": 1, "persona": {"name": "I", "traits": ["a"]}}\n'
    b'{"session": {"started_at": "2024", "turns": [{"text": "x"}]}}\n'
    b'{"memory": {"store": "event", "text": "y", "event_start": "2018", "event_end": "2019-01-01"}}\n',
    b'{"memoir": 1, "sessions": [{"turns": [{"text": "x", "said_at": "10:30"}]}], "memories": [{"store": "event"}]}',
    b'[{"question_id": "q", "haystack_dates": ["2024/05/01 (Wed) 09:30"], "haystack_session_ids": ["a"], '
    b'"haystack_sessions": [[{"role": "user", "content": "\\ud83c\\udf0a"}]]}]',
    b'[{"sample_id": "c", "conversation": {"speaker_a": "A", "session_1_date_time": "1:56 pm on 8 May, 2023", '
    b'"session_1": [{"speaker": "A", "dia_id": "D1:1", "text": "t", "blip_caption": "b"}]}}]',
    b'{"P": {"profile": {"Age": 3}, "social_relationship": {"1": {"Relationship": "r"}}, "events": {"2": '
    b'{"content": "c", "Creation Time": "73 BC"}}, "dialogues": {"3": {"contents": {"2018-07-15 10:00": ["A: b"]}}}}}',
    b'{"1": {"time": "2023-12-25", "scene": "s", "emotion": "e", "event": "v", "user-id": 1, "id": "1"}}\n',
    b'{"U": {"name": "U", "history": {"2023-04-27": [{"query": "q", "response": "r"}]}, "meta_information": {}}}',
    b"[Date: September 22, 1994, Session #1]\nA: b\n(c)\nmore\n",
    b"# 2024-05-01\nA: b\n[18:22] B: c\n2024-05-01 18:22:05+02:00 A: d\nmore\n",
    *(path.read_bytes() for path in sorted(EXPORTS.iterdir())),
)
CARD = picture(chara='{"spec": "chara_card_v2", "data": {"name": "I"}}', ccv3='{"spec": "x", "data": {"name": "I"}}')

EDITS = (b"null", b"[]", b"{}", b'"', b"9" * 30, b"\\u")
"""What is put in the place of some bytes, besides any bytes."""

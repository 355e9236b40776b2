PRAGMA user_version = 5;
BEGIN TRANSACTION;
CREATE TABLE changes (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    persona_id INTEGER NOT NULL REFERENCES personas (id) ON DELETE CASCADE,
    at TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('edit', 'wrong', 'pin', 'unpin', 'merge')),
    memory_id INTEGER NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    other_id INTEGER REFERENCES memories (id) ON DELETE CASCADE,
    touched TEXT NOT NULL DEFAULT '[]'
) STRICT
;
INSERT INTO "changes" VALUES(1,1,'2026-11-22T07:21:01.343974+00:00','pin',12,NULL,'[]');
INSERT INTO "changes" VALUES(2,1,'2026-11-22T07:21:01.378264+00:00','edit',8,14,'[9, 10]');
INSERT INTO "changes" VALUES(3,1,'2026-11-22T07:21:01.421791+00:00','wrong',6,NULL,'[]');
CREATE TABLE cites (
    turn_id INTEGER NOT NULL REFERENCES turns (id) ON DELETE CASCADE,
    memory_id INTEGER NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    PRIMARY KEY (turn_id, memory_id)
) STRICT, WITHOUT ROWID
;
INSERT INTO "cites" VALUES(4,3);
CREATE TABLE journal (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at TEXT NOT NULL,
    action TEXT NOT NULL,
    request TEXT NOT NULL,
    persona_id INTEGER,
    counts TEXT NOT NULL,
    memories TEXT NOT NULL
) STRICT
;
INSERT INTO "journal" VALUES(1,'2026-11-22T07:21:01.184535+00:00','created','app',1,'{"personas": 1}','');
INSERT INTO "journal" VALUES(2,'2026-11-22T07:21:01.216273+00:00','imported','app',1,'{"memories": 7}','');
INSERT INTO "journal" VALUES(3,'2026-11-22T07:21:01.260028+00:00','talked','chat a',1,'{"sessions": 1, "turns": 2, "memories": 3}','');
INSERT INTO "journal" VALUES(4,'2026-11-22T07:21:01.299380+00:00','talked','chat b',1,'{"sessions": 1, "turns": 2, "memories": 3, "recalled": 1}','3');
INSERT INTO "journal" VALUES(5,'2026-11-22T07:21:01.344148+00:00','pinned','Memory tab',1,'{"memories": 1}','12');
INSERT INTO "journal" VALUES(6,'2026-11-22T07:21:01.378397+00:00','edited','Memory tab',1,'{"memories": 1}','8');
INSERT INTO "journal" VALUES(7,'2026-11-22T07:21:01.421965+00:00','marked wrong','Memory tab',1,'{"memories": 1}','6');
CREATE TABLE memories (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    persona_id INTEGER NOT NULL REFERENCES personas (id) ON DELETE CASCADE,
    session_id INTEGER REFERENCES sessions (id) ON DELETE CASCADE,
    store TEXT NOT NULL CHECK (store IN ('profile', 'relationship', 'world', 'event', 'dialogue')),
    identity TEXT NOT NULL,
    text TEXT NOT NULL,
    key TEXT NOT NULL,
    key_hash TEXT NOT NULL,
    terms TEXT NOT NULL,
    speaker TEXT NOT NULL,
    attribute TEXT NOT NULL,
    event_start TEXT,
    event_end TEXT,
    event_text TEXT NOT NULL,
    said_at TEXT,
    recorded_at TEXT NOT NULL,
    valid_from TEXT,
    valid_to TEXT,
    superseded_by INTEGER REFERENCES memories (id) ON DELETE SET NULL,
    emotion TEXT NOT NULL,
    scene TEXT NOT NULL,
    external_id TEXT NOT NULL, taken_back TEXT, pinned INTEGER NOT NULL DEFAULT 0,
    UNIQUE (persona_id, identity),
    CHECK ((event_start IS NULL) = (event_end IS NULL))
) STRICT;
INSERT INTO "memories" VALUES(1,1,NULL,'relationship','444672b014a9de955f782ed0734f6735','Leila is Noor''s younger sister, a midwife in Utrecht.','Leila is Noor''s younger sister, a midwife in Utrecht.','674be837e8d2308ae98a96652ad09948','noor leila is noor younger sister a midwif in utrecht','Noor','',NULL,NULL,'','2023-05-08T10:30:00.000000+00:00','2026-11-22T07:21:01.206086+00:00','2023-05-08T10:30:00.000000+00:00',NULL,NULL,'','','r1',NULL,0);
INSERT INTO "memories" VALUES(2,1,NULL,'relationship','5fe950583c59023dc9a689e2e9823df8','Tomas, a fiddler, plays on Sundays.','Tomas, a fiddler, plays on Sundays.','1e7cbf5d37f7eed12949c5db97e47377','noor toma a fiddler play on sunday','Noor','partner',NULL,NULL,'','2023-05-08T10:30:00.000000+00:00','2026-11-22T07:21:01.206500+00:00','2023-05-08T10:30:00.000000+00:00',NULL,NULL,'','','',NULL,0);
INSERT INTO "memories" VALUES(3,1,NULL,'relationship','a29b3a7fff6ff363a25befb2d49d2ee7','Li Ming (younger brother): a baker','Li Ming (younger brother): a baker','200e382bd78a715e4d71995d2eb09ec8','li ming younger brother a baker','','younger brother',NULL,NULL,'',NULL,'2026-11-22T07:21:01.206897+00:00',NULL,NULL,NULL,'','','',NULL,0);
INSERT INTO "memories" VALUES(4,1,NULL,'profile','e0238a07927396edbe7786ec93dffad9','home: Vellmar','home: Vellmar','424afdd353bca1cbca0d07dd8da5fb2c','noor home vellmar','Noor','home',NULL,NULL,'','2023-05-08T10:30:00.000000+00:00','2026-11-22T07:21:01.207092+00:00','2023-05-08T10:30:00.000000+00:00',NULL,NULL,'','','',NULL,0);
INSERT INTO "memories" VALUES(5,1,NULL,'profile','9bd0a54c4bd7f7778f5281c2719b0ac2','Favourite tea: mint','Favourite tea: mint','692c95dc181bbf7cae1f4f5dce11e084','noor favourit tea mint','Noor','favourite tea',NULL,NULL,'','2023-05-08T10:30:00.000000+00:00','2026-11-22T07:21:01.215602+00:00','2023-05-08T10:30:00.000000+00:00',NULL,NULL,'','','',NULL,0);
INSERT INTO "memories" VALUES(6,1,NULL,'profile','1e9d5b213967d1f2b9d13dfc9428be8b','Is fond of boats','Is fond of boats','fd05aeaef832b6d25ea05c99f36c7c04','noor is fond of boat','Noor','hobby',NULL,NULL,'','2023-05-08T10:30:00.000000+00:00','2026-11-22T07:21:01.215949+00:00','2023-05-08T10:30:00.000000+00:00',NULL,NULL,'','','','2026-11-22T07:21:01.421579+00:00',0);
INSERT INTO "memories" VALUES(7,1,NULL,'event','fdf35d950cf8252865b06ce88b17a49b','A trip to Porto','trip Porto','8b6b6dd54e53a10655819bd687160ba5','trip porto','','','2023-05-08T10:30:00.000000+00:00','2023-05-08T13:30:00.000000+00:00','last May','2023-05-08T10:30:00.000000+00:00','2026-11-22T07:21:01.216170+00:00','2023-05-08T10:30:00.000000+00:00',NULL,NULL,'joy','harbour','',NULL,0);
INSERT INTO "memories" VALUES(8,1,1,'dialogue','936af318d210297a8ea41df8b447cb0c','I live in Porto.','I live in Porto.','6d1ce1197b76a86406a6035140d1ef9f','you i live in porto','You','',NULL,NULL,'','2023-05-09T10:30:00.000000+00:00','2026-11-22T07:21:01.250519+00:00','2023-05-09T10:30:00.000000+00:00',NULL,14,'','','t1','2026-11-22T07:21:01.377996+00:00',0);
INSERT INTO "memories" VALUES(9,1,1,'profile','92c73258a4d2dfc6f4e14d6e85a62405','Lives in Porto','Lives in Porto','d3ab1f024a9f82b435e4adad493f3a81','you live in porto','You','home',NULL,NULL,'','2023-05-09T10:30:00.000000+00:00','2026-11-22T07:21:01.250917+00:00','2023-05-09T10:30:00.000000+00:00','2023-05-17T10:30:00.000000+00:00',12,'','','',NULL,0);
INSERT INTO "memories" VALUES(10,1,1,'world','031fb23bbeef3bee0cc47536b82c8c3f','Porto is near','Porto is near','57504785cd34c949881507f92b3f37e3','porto is near','','',NULL,NULL,'','2023-05-09T10:30:00.000000+00:00','2026-11-22T07:21:01.259750+00:00','2023-05-09T10:30:00.000000+00:00',NULL,NULL,'','','',NULL,0);
INSERT INTO "memories" VALUES(11,1,2,'dialogue','94e4ee25b42f20b18ad2a7f08ad14c47','I live in Lisbon.','I live in Lisbon.','629c34286e217ff1651df407238ab195','you i live in lisbon','You','',NULL,NULL,'','2023-05-17T10:30:00.000000+00:00','2026-11-22T07:21:01.294233+00:00','2023-05-17T10:30:00.000000+00:00',NULL,NULL,'','','t9',NULL,0);
INSERT INTO "memories" VALUES(12,1,2,'profile','77e1368eddab92fe3b42c5f060a679a5','Lives in Lisbon','Lives in Lisbon','5dbb129fb7367d6dc0ea592e6ba6c443','you live in lisbon','You','home',NULL,NULL,'','2023-05-17T10:30:00.000000+00:00','2026-11-22T07:21:01.294531+00:00','2023-05-17T10:30:00.000000+00:00',NULL,NULL,'','','',NULL,1);
INSERT INTO "memories" VALUES(13,1,2,'world','6a7a8a65881faf409db3b625a7fd669d','Lisbon is near','Lisbon is near','9f2afe62f2cd328c6cafcf623ed7e8c5','lisbon is near','','',NULL,NULL,'','2023-05-17T10:30:00.000000+00:00','2026-11-22T07:21:01.295057+00:00','2023-05-17T10:30:00.000000+00:00',NULL,NULL,'','','',NULL,0);
INSERT INTO "memories" VALUES(14,1,1,'dialogue','c23a8ab441d4afebbc40e134b9b116c1','I lived in Porto.','I lived in Porto.','f5df618cff089605642b5d85ab46c2fa','you i live in porto','You','',NULL,NULL,'','2023-05-09T10:30:00.000000+00:00','2026-11-22T07:21:01.377756+00:00',NULL,NULL,NULL,'','','t1',NULL,0);
CREATE TABLE personas (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    external_id TEXT NOT NULL DEFAULT '',
    description TEXT NOT NULL DEFAULT '',
    traits TEXT NOT NULL DEFAULT '[]',
    manner TEXT NOT NULL DEFAULT 'plain',
    created_at TEXT NOT NULL
, proactive INTEGER NOT NULL DEFAULT 1) STRICT;
INSERT INTO "personas" VALUES(1,'Iris','iris-1','Keeps the lighthouse.','["patient", "dry"]','warm','2026-11-22T07:21:01.184061+00:00',0);
CREATE TABLE rests_on (
    memory_id INTEGER NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    basis_id INTEGER NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    PRIMARY KEY (memory_id, basis_id)
) STRICT, WITHOUT ROWID
;
INSERT INTO "rests_on" VALUES(9,8);
INSERT INTO "rests_on" VALUES(10,8);
INSERT INTO "rests_on" VALUES(10,9);
INSERT INTO "rests_on" VALUES(13,12);
CREATE TABLE revision (
    value INTEGER NOT NULL
, rewritten INTEGER NOT NULL DEFAULT 0) STRICT;
INSERT INTO "revision" VALUES(8,0);
CREATE TABLE segments (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    persona_id INTEGER NOT NULL REFERENCES personas (id) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    first_id INTEGER NOT NULL,
    last_id INTEGER NOT NULL,
    size INTEGER NOT NULL,
    payload BLOB NOT NULL
) STRICT
;
CREATE TABLE sessions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    persona_id INTEGER NOT NULL REFERENCES personas (id) ON DELETE CASCADE,
    identity TEXT NOT NULL,
    external_id TEXT NOT NULL,
    title TEXT NOT NULL,
    source TEXT NOT NULL CHECK (source IN ('chat', 'import')),
    started_at TEXT,
    started_text TEXT NOT NULL, heard_at TEXT, learned INTEGER NOT NULL DEFAULT 0,
    UNIQUE (persona_id, identity)
) STRICT;
INSERT INTO "sessions" VALUES(1,1,'f53b3155b302982e196b7645b7b614b1','a','About Porto','chat','2023-05-09T10:30:00.000000+00:00','in May','2026-11-22T07:21:01.259932+00:00',0);
INSERT INTO "sessions" VALUES(2,1,'90edadc038f6fbd3e76323a62d3c0332','b','About Lisbon','chat','2023-05-17T10:30:00.000000+00:00','in May','2026-11-22T07:21:01.295183+00:00',0);
CREATE TABLE sources (
    memory_id INTEGER NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    turn_id INTEGER NOT NULL REFERENCES turns (id) ON DELETE CASCADE, quote TEXT NOT NULL DEFAULT '', alone INTEGER NOT NULL DEFAULT 1,
    PRIMARY KEY (memory_id, turn_id)
) STRICT, WITHOUT ROWID;
INSERT INTO "sources" VALUES(8,1,'',1);
INSERT INTO "sources" VALUES(9,1,'live in Porto',1);
INSERT INTO "sources" VALUES(10,1,'live in Porto',1);
INSERT INTO "sources" VALUES(11,3,'',1);
INSERT INTO "sources" VALUES(12,3,'live in Lisbon',1);
INSERT INTO "sources" VALUES(13,3,'live in Lisbon',1);
INSERT INTO "sources" VALUES(14,1,'',0);
CREATE TABLE turns (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    identity TEXT NOT NULL,
    speaker TEXT NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('user', 'assistant', 'other')),
    text TEXT NOT NULL,
    said_at TEXT,
    said_text TEXT NOT NULL,
    external_id TEXT NOT NULL,
    UNIQUE (session_id, position),
    UNIQUE (session_id, identity)
) STRICT;
INSERT INTO "turns" VALUES(1,1,0,'84ef3f9c785a060e9d471efa3673966a','You','user','I live in Porto.','2023-05-09T10:30:00.000000+00:00','09 May','t1');
INSERT INTO "turns" VALUES(2,1,1,'c909039dda01704d5b94e671e264db6f','Iris','assistant','Really?','2023-05-09T10:30:00.000000+00:00','in May','');
INSERT INTO "turns" VALUES(3,2,0,'cf90b59b1789807d878451a73841d2d6','You','user','I live in Lisbon.','2023-05-17T10:30:00.000000+00:00','17 May','t9');
INSERT INTO "turns" VALUES(4,2,1,'c909039dda01704d5b94e671e264db6f','Iris','assistant','Really?','2023-05-17T10:30:00.000000+00:00','in May','');
CREATE TABLE "vectors" (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    model TEXT NOT NULL,
    key_hash TEXT NOT NULL,
    vector BLOB NOT NULL,
    UNIQUE (key_hash, model)
) STRICT
;
INSERT INTO "vectors" VALUES(1,'tiny','424afdd353bca1cbca0d07dd8da5fb2c',X'000000000000803F0000004000004040');
CREATE INDEX personas_external ON personas (external_id);
CREATE INDEX memories_said ON memories (persona_id, said_at);
CREATE INDEX memories_attribute ON memories (persona_id, attribute) WHERE attribute <> '';
CREATE INDEX memories_session ON memories (session_id);
CREATE INDEX memories_key ON memories (key_hash);
CREATE INDEX memories_superseded ON memories (superseded_by) WHERE superseded_by IS NOT NULL;
CREATE INDEX sources_turn ON sources (turn_id);
CREATE INDEX segments_of ON segments (persona_id, kind, first_id, last_id, size);
CREATE INDEX memories_persona ON memories (persona_id);
CREATE INDEX memories_closed ON memories (persona_id, valid_to) WHERE valid_to IS NOT NULL;
CREATE TRIGGER memories_gone AFTER DELETE ON memories BEGIN
    DELETE FROM vectors WHERE key_hash = old.key_hash
        AND NOT EXISTS (SELECT 1 FROM memories WHERE key_hash = old.key_hash);
    DELETE FROM segments WHERE persona_id = old.persona_id AND old.id BETWEEN first_id AND last_id;
    UPDATE revision SET rewritten = rewritten + 1;
END;
CREATE TRIGGER memories_rewritten AFTER UPDATE OF id, persona_id, session_id, store, key_hash, terms, speaker,
        event_start, event_end, said_at, valid_from, emotion, scene ON memories BEGIN
    DELETE FROM segments WHERE persona_id = old.persona_id AND old.id BETWEEN first_id AND last_id;
    UPDATE revision SET rewritten = rewritten + 1;
END;
CREATE INDEX sessions_due ON sessions (id) WHERE NOT learned;
CREATE INDEX sessions_open ON sessions (heard_at) WHERE heard_at IS NOT NULL;
CREATE INDEX memories_taken_back ON memories (persona_id) WHERE taken_back IS NOT NULL;
CREATE INDEX rests_on_basis ON rests_on (basis_id);
CREATE INDEX cites_memory ON cites (memory_id);
CREATE INDEX memories_pinned ON memories (persona_id) WHERE pinned;
CREATE INDEX changes_of ON changes (persona_id, id);
CREATE INDEX changes_memory ON changes (memory_id);
CREATE INDEX changes_other ON changes (other_id);
CREATE TRIGGER journal_stays BEFORE DELETE ON journal BEGIN
    SELECT raise(ABORT, 'the journal is only added to');
END;
CREATE TRIGGER journal_unchanged BEFORE UPDATE ON journal BEGIN
    SELECT raise(ABORT, 'the journal is only added to');
END;
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('vectors',1);
INSERT INTO "sqlite_sequence" VALUES('personas',1);
INSERT INTO "sqlite_sequence" VALUES('journal',7);
INSERT INTO "sqlite_sequence" VALUES('memories',14);
INSERT INTO "sqlite_sequence" VALUES('sessions',2);
INSERT INTO "sqlite_sequence" VALUES('turns',4);
INSERT INTO "sqlite_sequence" VALUES('changes',3);
COMMIT;

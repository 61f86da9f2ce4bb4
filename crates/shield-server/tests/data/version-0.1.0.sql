-- The tables of version 0.1.0, as its program made them.
CREATE TABLE elections (
    name TEXT NOT NULL PRIMARY KEY,
    grp TEXT NOT NULL,
    file TEXT NOT NULL,
    stage TEXT NOT NULL,
    created BIGINT NOT NULL,
    closed BIGINT,
    seed TEXT,
    frozen TEXT,
    problem TEXT,
    touched BIGINT NOT NULL
);
CREATE TABLE members (
    teacher TEXT NOT NULL PRIMARY KEY,
    grp TEXT NOT NULL
);
CREATE TABLE tokens (
    hash TEXT NOT NULL PRIMARY KEY,
    role TEXT NOT NULL,
    election TEXT,
    teacher BIGINT
);
CREATE TABLE election_keys (
    election TEXT NOT NULL REFERENCES elections (name),
    kind TEXT NOT NULL,
    hash TEXT NOT NULL,
    bytes BIGINT NOT NULL,
    key_id TEXT NOT NULL,
    PRIMARY KEY (election, kind)
);
CREATE TABLE ballots (
    election TEXT NOT NULL REFERENCES elections (name),
    teacher BIGINT NOT NULL,
    batch BIGINT NOT NULL,
    hash TEXT NOT NULL,
    bytes BIGINT NOT NULL,
    presence TEXT NOT NULL,
    received BIGINT NOT NULL,
    PRIMARY KEY (election, teacher, batch),
    UNIQUE (election, batch, hash)
);
CREATE TABLE releases (
    election TEXT NOT NULL REFERENCES elections (name),
    batch BIGINT NOT NULL,
    hash TEXT NOT NULL,
    bytes BIGINT NOT NULL,
    PRIMARY KEY (election, batch)
);
CREATE TABLE ledger (
    election TEXT NOT NULL PRIMARY KEY REFERENCES elections (name),
    grp TEXT NOT NULL,
    stage TEXT NOT NULL,
    voters TEXT NOT NULL,
    booked BIGINT NOT NULL
);
CREATE TABLE identity (id TEXT NOT NULL PRIMARY KEY);
CREATE TABLE schema_version (id BIGINT NOT NULL PRIMARY KEY, version BIGINT NOT NULL);
INSERT INTO schema_version (id, version) VALUES (1, 2);

-- The tables of format 3 but for those of `marks.sql`, in SQLite as in PostgreSQL. Times are milliseconds since 1970, by the database's clock.

CREATE TABLE meta (
  format BIGINT NOT NULL
);

-- One row for each configuration whose state is kept here.
CREATE TABLE states (
  name    TEXT   NOT NULL PRIMARY KEY,
  -- Random, so that two states are never taken for one.
  lineage TEXT   NOT NULL,
  -- Grows with every write.
  serial  BIGINT NOT NULL,
  -- Grows with every holder of the lock. A write that carries an older number is refused.
  fence   BIGINT NOT NULL
);

-- Who writes. A holder that does not renew its row in time has lost it.
CREATE TABLE locks (
  state   TEXT   NOT NULL PRIMARY KEY,
  fence   BIGINT NOT NULL,
  owner   TEXT   NOT NULL,
  host    TEXT   NOT NULL,
  -- Where the number of its process means something.
  machine TEXT   NOT NULL,
  pid     BIGINT NOT NULL,
  job     TEXT,
  command TEXT   NOT NULL,
  since   BIGINT NOT NULL,
  expires BIGINT NOT NULL
);

-- What things depended on. Many share one set.
CREATE TABLE dependencies (
  state   TEXT NOT NULL,
  digest  TEXT NOT NULL,
  -- A JSON array of addresses.
  targets TEXT NOT NULL,
  PRIMARY KEY (state, digest)
);

-- What was made, read back and found equal.
CREATE TABLE resources (
  state      TEXT   NOT NULL,
  address    TEXT   NOT NULL,
  -- The number of an older object that still has to go; -1 for the current one.
  deposed    BIGINT NOT NULL,
  provider   TEXT   NOT NULL,
  alias      TEXT,
  scope      TEXT   NOT NULL,
  kind       TEXT   NOT NULL,
  version    BIGINT NOT NULL,
  -- JSON with types; sensitive parts are null.
  value      TEXT   NOT NULL,
  -- What stands for the sensitive parts, as JSON.
  sealed     TEXT,
  depends_on TEXT   NOT NULL,
  create_before_destroy BIGINT NOT NULL,
  epoch      TEXT,
  PRIMARY KEY (state, address, deposed)
);

-- What was begun; a row is open until the thing was read back.
CREATE TABLE journal (
  state      TEXT   NOT NULL,
  address    TEXT   NOT NULL,
  deposed    BIGINT NOT NULL,
  provider   TEXT   NOT NULL,
  alias      TEXT,
  scope      TEXT   NOT NULL,
  kind       TEXT   NOT NULL,
  version    BIGINT NOT NULL,
  value      TEXT   NOT NULL,
  sealed     TEXT,
  depends_on TEXT   NOT NULL,
  create_before_destroy BIGINT NOT NULL,
  epoch      TEXT,
  operation  TEXT   NOT NULL,
  -- Which run began it.
  run        TEXT   NOT NULL,
  PRIMARY KEY (state, address, deposed)
);

-- The outputs of the root module. A sensitive one has no value here.
CREATE TABLE outputs (
  state     TEXT   NOT NULL,
  name      TEXT   NOT NULL,
  value     TEXT,
  sensitive BIGINT NOT NULL,
  PRIMARY KEY (state, name)
);

-- The history: who changed the state, and when.
CREATE TABLE runs (
  state       TEXT   NOT NULL,
  -- The number it held the lock with.
  fence       BIGINT NOT NULL,
  id          TEXT   NOT NULL,
  owner       TEXT   NOT NULL,
  host        TEXT   NOT NULL,
  job         TEXT,
  command     TEXT   NOT NULL,
  started     BIGINT NOT NULL,
  serial_from BIGINT NOT NULL,
  -- Without a value if it did not come to its end.
  ended       BIGINT,
  serial_to   BIGINT,
  failed      BIGINT,
  skipped     BIGINT,
  unknown     BIGINT,
  PRIMARY KEY (state, fence)
);

-- What each run changed.
CREATE TABLE changes (
  state   TEXT   NOT NULL,
  fence   BIGINT NOT NULL,
  -- The serial number that came of it.
  serial  BIGINT NOT NULL,
  address TEXT   NOT NULL,
  deposed BIGINT NOT NULL,
  -- What had been begun, if anything.
  operation TEXT,
  -- Whether something is there now.
  present BIGINT NOT NULL,
  PRIMARY KEY (state, fence, serial)
);

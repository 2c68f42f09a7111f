-- One row: which state this is, and how often it was changed.
CREATE TABLE meta (
  format  INTEGER NOT NULL,
  lineage TEXT    NOT NULL,
  serial  INTEGER NOT NULL
);

-- What was made, read back and found equal.
CREATE TABLE resources (
  address    TEXT    NOT NULL PRIMARY KEY,
  provider   TEXT    NOT NULL,
  alias      TEXT,
  kind       TEXT    NOT NULL,
  version    INTEGER NOT NULL,
  value      TEXT    NOT NULL,
  depends_on TEXT    NOT NULL
);

-- What was begun; a row is open until the thing was read back.
CREATE TABLE journal (
  address    TEXT    NOT NULL PRIMARY KEY,
  operation  TEXT    NOT NULL,
  provider   TEXT    NOT NULL,
  alias      TEXT,
  kind       TEXT    NOT NULL,
  version    INTEGER NOT NULL,
  value      TEXT    NOT NULL,
  depends_on TEXT    NOT NULL
);

-- What format 3 has and format 2 had not: hosts that somebody set apart.

CREATE TABLE marks (
  state   TEXT NOT NULL,
  -- The address of the host.
  address TEXT NOT NULL,
  -- `paused` or `quarantined`.
  apart   TEXT NOT NULL,
  machine TEXT,
  owner   TEXT NOT NULL,
  -- As RFC 3339 has it.
  since   TEXT NOT NULL,
  reason  TEXT,
  PRIMARY KEY (state, address)
);

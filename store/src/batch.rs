//! Many writes → a handful of statements.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use fleet_engine::address::Address;
use fleet_engine::encode::{Unwritable, to_text};
use fleet_engine::state::{Apart, Mark, Object, Recorded, SavedOutput, State, Write, ends_pause};
use serde::Serialize;

use crate::connection::{Arg, Column, Connection};
use crate::rows::{CURRENT, Columns, Key, MARK_READ, MarkText, OBJECT, RECORD};
use crate::sets::{Set, Sets};

/// How many rows of a whole state go into one statement.
const STATEMENT: usize = 10_000;

/// Writes that share a commit.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// Done one after the other.
    parts: Vec<Part>,
    /// The sets of dependencies that are not in the database yet.
    sets: BTreeMap<String, Arc<Set>>,
}

/// Who writes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Author<'a> {
    /// The name of the state.
    pub(crate) state: &'a str,
    /// The number that the lock was taken with.
    pub(crate) fence: i64,
    /// The run.
    pub(crate) run: &'a str,
}

#[derive(Debug)]
enum Part {
    Net(Net),
    Move { from: String, to: String, serial: i64 },
}

/// What many writes come to: for each object, what is there in the end. In this order.
#[derive(Debug, Default)]
struct Net {
    changes: Vec<Change>,
    deposed: BTreeMap<String, u32>,
    records: BTreeMap<Key, Option<Columns>>,
    intents: BTreeMap<Key, Option<Begun>>,
    outputs: Option<Vec<Output>>,
    /// Hosts that are gone, so that nobody pauses them any more.
    unpaused: BTreeSet<String>,
    marks: BTreeMap<String, Option<(Apart, MarkText)>>,
}

#[derive(Debug, Serialize)]
struct Begun {
    operation: &'static str,
    #[serde(flatten)]
    columns: Columns,
}

#[derive(Debug, Serialize)]
struct Change {
    #[serde(flatten)]
    key: Key,
    serial: i64,
    present: u8,
}

#[derive(Debug, Serialize)]
struct Deposed<'a> {
    address: &'a str,
    number: u32,
}

#[derive(Debug, Serialize)]
struct Output {
    name: String,
    value: Option<String>,
    sensitive: u8,
}

/// A row of a table that is keyed by object.
#[derive(Serialize)]
struct Line<'a, T> {
    #[serde(flatten)]
    key: &'a Key,
    #[serde(flatten)]
    columns: &'a T,
}

impl Batch {
    /// Adds a write, from which the state gets this serial number.
    pub(crate) fn add(&mut self, write: &Write, serial: i64, sets: &mut Sets) -> Result<(), Unwritable> {
        match write {
            Write::Begin { object, intent } => {
                let columns = self.columns(&intent.record, sets)?;
                let begun = Begun { operation: intent.operation.word(), columns };
                self.net().intents.insert(Key::of(object), Some(begun));
            }
            Write::Settle { object, recorded } => {
                let columns = recorded.as_ref().map(|recorded| self.columns(recorded, sets)).transpose()?;
                let key = Key::of(object);
                // The history tells what had been begun, and finds that in the table.
                if self.net().intents.contains_key(&key) {
                    self.parts.push(Part::Net(Net::default()));
                }
                let unpaused = ends_pause(object, recorded.as_ref()).then(|| key.address.clone());
                self.net().settle(key, columns, serial);
                if let Some(host) = unpaused {
                    self.net().unpause(host);
                }
            }
            Write::Withdraw { object } => _ = self.net().intents.insert(Key::of(object), None),
            Write::Depose { address, number, recorded } => {
                let columns = self.columns(recorded, sets)?;
                let key = Key::of(&Object::current(address.clone()));
                if self.net().touches(&key.address) {
                    self.parts.push(Part::Net(Net::default()));
                }
                let net = self.net();
                net.deposed.insert(key.address.clone(), *number);
                net.settle(key, Some(columns), serial);
            }
            Write::Move { from, to } => {
                self.parts.push(Part::Move { from: from.to_string(), to: to.to_string(), serial });
            }
            Write::Outputs(outputs) => self.net().outputs = Some(output_rows(outputs)?),
            Write::Mark { host, mark } => self.net().mark(host, mark.as_ref()),
        }
        Ok(())
    }

    /// All of a state, for a database that holds nothing of it.
    pub(crate) fn of_state(state: &State, sets: &mut Sets) -> Result<Batch, Unwritable> {
        let mut batch = Batch::default();
        let current = state.recorded.iter().map(|(address, record)| (address, None, record));
        let older = state.deposed.iter().flat_map(|(address, objects)| {
            objects.iter().map(move |(number, record)| (address, Some(*number), record))
        });
        for (address, deposed, record) in current.chain(older) {
            let columns = batch.columns(record, sets)?;
            if batch.net().records.len() >= STATEMENT {
                batch.parts.push(Part::Net(Net::default()));
            }
            let key = Key::of(&Object { address: address.clone(), deposed });
            batch.net().records.insert(key, Some(columns));
        }
        for (object, intent) in &state.intents {
            let columns = batch.columns(&intent.record, sets)?;
            let begun = Begun { operation: intent.operation.word(), columns };
            batch.net().intents.insert(Key::of(object), Some(begun));
        }
        batch.net().outputs = Some(output_rows(&state.outputs)?);
        state.marks.iter().for_each(|(host, mark)| batch.net().mark(host, Some(mark)));
        Ok(batch)
    }

    /// Sends it, inside a transaction.
    pub(crate) async fn send(
        &self,
        connection: &mut Connection,
        author: Author<'_>,
    ) -> Result<(), sqlx::Error> {
        if !self.sets.is_empty() {
            let sql = format!(
                "INSERT INTO dependencies (state, digest, targets) SELECT $2, digest, targets FROM {} WHERE true \
                 ON CONFLICT (state, digest) DO NOTHING",
                connection.batch(&[Column::Text("digest"), Column::Text("targets")])
            );
            let sets: Vec<&Set> = self.sets.values().map(|set| &**set).collect();
            connection.run(&sql, &[Arg::Text(&json(&sets)), Arg::Text(author.state)]).await?;
        }
        for part in &self.parts {
            match part {
                Part::Net(net) => net.send(connection, author).await?,
                Part::Move { from, to, serial } => {
                    send_move(connection, author, from, to, *serial).await?;
                }
            }
        }
        Ok(())
    }

    /// The digests of the sets that are in the database once this is.
    pub(crate) fn into_sets(self) -> impl Iterator<Item = String> {
        self.sets.into_keys()
    }

    fn columns(&mut self, recorded: &Recorded, sets: &mut Sets) -> Result<Columns, Unwritable> {
        let set = sets.of(&recorded.depends_on);
        let columns = Columns::of(recorded, &set.digest)?;
        if !sets.is_stored(&set) {
            self.sets.entry(set.digest.clone()).or_insert(set);
        }
        Ok(columns)
    }

    fn net(&mut self) -> &mut Net {
        if !matches!(self.parts.last(), Some(Part::Net(_))) {
            self.parts.push(Part::Net(Net::default()));
        }
        match self.parts.last_mut() {
            Some(Part::Net(net)) => net,
            _ => unreachable!("just added"),
        }
    }
}

impl Net {
    fn settle(&mut self, key: Key, columns: Option<Columns>, serial: i64) {
        self.changes.push(Change { key: key.clone(), serial, present: columns.is_some().into() });
        self.intents.insert(key.clone(), None);
        self.records.insert(key, columns);
    }

    fn mark(&mut self, host: &Address, mark: Option<&Mark>) {
        self.marks.insert(host.to_string(), mark.map(|mark| (mark.apart, MarkText::of(host, mark))));
    }

    /// A pause ends with its host; a quarantine does not.
    fn unpause(&mut self, host: String) {
        match self.marks.get_mut(&host) {
            Some(mark) => _ = mark.take_if(|(apart, _)| *apart == Apart::Paused),
            None => _ = self.unpaused.insert(host),
        }
    }

    /// Whether an object of that address is in it.
    fn touches(&self, address: &str) -> bool {
        let from = Key { address: address.to_owned(), deposed: CURRENT };
        let first = |mut keys: std::collections::btree_map::Range<'_, Key, Option<Columns>>| {
            keys.next().is_some_and(|(key, _)| key.address == address)
        };
        first(self.records.range(from.clone()..))
            || self.intents.range(from..).next().is_some_and(|(key, _)| key.address == address)
            || self.deposed.contains_key(address)
    }

    async fn send(&self, connection: &mut Connection, author: Author<'_>) -> Result<(), sqlx::Error> {
        let state = Arg::Text(author.state);
        if !self.changes.is_empty() {
            let columns = [&OBJECT[..], &[Column::Int("serial"), Column::Int("present")]].concat();
            let sql = format!(
                "INSERT INTO changes (state, fence, serial, address, deposed, operation, present) \
                 SELECT $2, $3, batch.serial, batch.address, batch.deposed, journal.operation, batch.present \
                 FROM {} LEFT JOIN journal ON journal.state = $2 AND journal.address = batch.address \
                 AND journal.deposed = batch.deposed",
                connection.batch(&columns)
            );
            let args = [Arg::Text(&json(&self.changes)), state, Arg::Int(author.fence)];
            connection.run(&sql, &args).await?;
        }
        if !self.deposed.is_empty() {
            let sql = format!(
                "UPDATE resources SET deposed = batch.number FROM {} \
                 WHERE resources.state = $2 AND resources.address = batch.address AND resources.deposed = $3",
                connection.batch(&[Column::Text("address"), Column::Int("number")])
            );
            let rows = self.deposed.iter().map(|(address, number)| Deposed { address, number: *number });
            let args = [Arg::Text(&json(&rows.collect::<Vec<_>>())), state, Arg::Int(CURRENT)];
            connection.run(&sql, &args).await?;
        }
        upsert(connection, "resources", &RECORD, &self.records, &[state]).await?;
        delete(connection, "resources", &self.records, state).await?;
        let columns = [&RECORD[..], &[Column::Text("operation")]].concat();
        upsert(connection, "journal", &columns, &self.intents, &[state, Arg::Text(author.run)]).await?;
        delete(connection, "journal", &self.intents, state).await?;
        if let Some(outputs) = &self.outputs {
            connection.run("DELETE FROM outputs WHERE state = $1", &[state]).await?;
            let columns = [Column::Text("name"), Column::Text("value"), Column::Int("sensitive")];
            let sql = format!(
                "INSERT INTO outputs (state, name, value, sensitive) SELECT $2, name, value, sensitive FROM {}",
                connection.batch(&columns)
            );
            connection.run(&sql, &[Arg::Text(&json(outputs)), state]).await?;
        }
        self.send_marks(connection, state).await
    }

    async fn send_marks(&self, connection: &mut Connection, state: Arg<'_>) -> Result<(), sqlx::Error> {
        for host in &self.unpaused {
            let sql = "DELETE FROM marks WHERE state = $1 AND address = $2 AND apart = $3";
            connection.run(sql, &[state, Arg::Text(host), Arg::Text(Apart::Paused.word())]).await?;
        }
        for host in self.marks.keys() {
            let sql = "DELETE FROM marks WHERE state = $1 AND address = $2";
            connection.run(sql, &[state, Arg::Text(host)]).await?;
        }
        let marks: Vec<&MarkText> = self.marks.values().flatten().map(|(_, text)| text).collect();
        if marks.is_empty() {
            return Ok(());
        }
        let (names, columns) = (MARK_READ.join(", "), MARK_READ.map(Column::Text));
        let batch = connection.batch(&columns);
        let sql = format!("INSERT INTO marks (state, {names}) SELECT $2, {names} FROM {batch}");
        connection.run(&sql, &[Arg::Text(&json(&marks)), state]).await.map(drop)
    }
}

/// Writes the rows that have columns. The journal also takes the run, as a third argument.
async fn upsert<T: Serialize>(
    connection: &mut Connection,
    table: &str,
    columns: &[Column],
    rows: &BTreeMap<Key, Option<T>>,
    constants: &[Arg<'_>],
) -> Result<(), sqlx::Error> {
    let lines = rows.iter().filter_map(|(key, columns)| Some(Line { key, columns: columns.as_ref()? }));
    let lines: Vec<_> = lines.collect();
    if lines.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = columns.iter().map(Column::name).collect();
    let (run, third) = if constants.len() > 1 { (", run", ", $3") } else { ("", "") };
    let updates: Vec<String> = names
        .iter()
        .copied()
        .chain((constants.len() > 1).then_some("run"))
        .map(|name| format!("{name} = excluded.{name}"))
        .collect();
    let sql = format!(
        "INSERT INTO {table} (state, address, deposed, {names}{run}) \
         SELECT $2, address, deposed, {names}{third} FROM {batch} WHERE true \
         ON CONFLICT (state, address, deposed) DO UPDATE SET {updates}",
        names = names.join(", "),
        batch = connection.batch(&[&OBJECT[..], columns].concat()),
        updates = updates.join(", "),
    );
    let lines = json(&lines);
    let args: Vec<Arg<'_>> = [Arg::Text(&lines)].into_iter().chain(constants.iter().copied()).collect();
    connection.run(&sql, &args).await.map(drop)
}

/// Deletes the rows that have none.
async fn delete<T>(
    connection: &mut Connection,
    table: &str,
    rows: &BTreeMap<Key, Option<T>>,
    state: Arg<'_>,
) -> Result<(), sqlx::Error> {
    let gone: Vec<&Key> = rows.iter().filter(|(_, columns)| columns.is_none()).map(|(key, _)| key).collect();
    if gone.is_empty() {
        return Ok(());
    }
    let sql = format!(
        "DELETE FROM {table} WHERE state = $2 AND (address, deposed) IN (SELECT address, deposed FROM {})",
        connection.batch(&OBJECT)
    );
    connection.run(&sql, &[Arg::Text(&json(&gone)), state]).await.map(drop)
}

async fn send_move(
    connection: &mut Connection,
    author: Author<'_>,
    from: &str,
    to: &str,
    serial: i64,
) -> Result<(), sqlx::Error> {
    let args = [Arg::Text(author.state), Arg::Text(from), Arg::Text(to)];
    for sql in [
        "UPDATE resources SET address = $3 WHERE state = $1 AND address = $2",
        "UPDATE journal SET address = $3 WHERE state = $1 AND address = $2",
        "UPDATE marks SET address = $3 WHERE state = $1 AND address = $2",
    ] {
        connection.run(sql, &args).await?;
    }
    let sql = "INSERT INTO changes (state, fence, serial, address, deposed, operation, present) \
               VALUES ($1, $2, $3, $4, $5, 'move', 1)";
    let numbers = [author.fence, serial].map(Arg::Int);
    let args = [Arg::Text(author.state), numbers[0], numbers[1], Arg::Text(to), Arg::Int(CURRENT)];
    connection.run(sql, &args).await.map(drop)
}

fn output_rows(outputs: &BTreeMap<Arc<str>, SavedOutput>) -> Result<Vec<Output>, Unwritable> {
    let row = |(name, output): (&Arc<str>, &SavedOutput)| {
        let value = output.value.as_ref().map(to_text);
        let value = value.transpose()?;
        Ok(Output { name: name.to_string(), value, sensitive: output.sensitive.into() })
    };
    outputs.iter().map(row).collect()
}

fn json(rows: &impl Serialize) -> String {
    serde_json::to_string(rows).expect("rows can be written as JSON")
}

//! The second stage: blocks of lines become the syntax tree.
//!
//! A line that cannot be read is reported and left out of the tree; the next line is read as if nothing had happened.

mod client;
mod expect;
mod protocol;
mod schedule;
mod search;
mod table;
mod watch;

pub(super) use client::is_reserved;
pub(super) use schedule::{begins_action, parts, schedule_entry};

use super::error::{Errors, Place};
use super::lines::{Chunk, Line, Parentheses, Quotes, chunks, without_comment};
use super::scan::{Cursor, Word};
use super::syntax::{Block, BlockKind, Entry, Named, Passage, Text, Written};

/// The words that begin a block.
const BLOCKS: [&str; 2 + 11] = [
    "option", "server", "replica", "table", "database", "store", "script", "watch", "protocol",
    "client", "schedule", "expect", "search",
];

/// What was left out of a tree, so that a name that is not found is not reported as well.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Damage {
    /// Something in a protocol.
    pub protocols: bool,
    /// Something in a line that declares clients.
    pub clients: bool,
    /// Something in a script.
    pub scripts: bool,
    /// Something in a table or in the statements before the schedule.
    pub tables: bool,
}

/// Reads lines into a tree.
pub(super) fn parse(lines: &[&str], errors: &mut Errors<'_>) -> (Text, Damage) {
    let mut text = Text::default();
    let mut damage = Damage::default();
    for chunk in chunks(lines, errors) {
        match chunk {
            Chunk::Blank => text.items.push(Entry::Blank),
            Chunk::Comment(comment) => text.items.push(comment_of(comment)),
            Chunk::Damaged => damage = ALL_DAMAGED,
            Chunk::Block { header, body } => {
                let before = errors.count();
                if let Some(block) = block(header, &body, errors) {
                    text.items.push(Entry::Of(block));
                    text.items.extend(what_stands_behind(header, &body, errors));
                }
                if errors.count() > before || body.iter().any(|line| line.is_damaged) {
                    damage.note(header.text);
                }
            }
        }
    }
    (text, damage)
}

const ALL_DAMAGED: Damage = Damage {
    protocols: true,
    clients: true,
    scripts: true,
    tables: true,
};

impl Damage {
    /// Notes that something in the block that begins so was left out.
    fn note(&mut self, header: &str) {
        match header.split(' ').next().unwrap_or_default() {
            "protocol" => self.protocols = true,
            "client" => self.clients = true,
            "script" => self.scripts = true,
            "table" | "database" => self.tables = true,
            word if BLOCKS.contains(&word) => {}
            _ => *self = ALL_DAMAGED,
        }
    }
}

fn block(header: Line<'_>, body: &[Line<'_>], errors: &mut Errors<'_>) -> Option<Block> {
    let (content, comment) = without_comment(header.text, Quotes::Code);
    let mut cursor = Cursor::new(header.number, 0, content);
    let word = cursor.take_while(|other| other != ' ' && other != ':');
    let last = body.last().map_or(header.number, |line| line.number);
    let place = Place {
        last,
        ..header.place()
    };
    let kind = match word.text.as_str() {
        "option" => option(&mut cursor, errors)?,
        "server" => servers(&mut cursor, false, errors)?,
        "replica" => servers(&mut cursor, true, errors)?,
        "table" => BlockKind::Table(table::table(header, body, errors)?),
        "watch" => BlockKind::Watch(watch::watch(&mut cursor, errors)?),
        "client" => BlockKind::Clients(client::clients(&mut cursor, errors)?),
        "database" => {
            cursor.end(
                "nothing behind `database`; statements stand under it",
                errors,
            );
            BlockKind::Database(passages(body))
        }
        "store" => {
            cursor.end("nothing behind `store`; commands stand under it", errors);
            BlockKind::Store(entries(body, |line| Some(written(line, Quotes::Code))))
        }
        "script" => {
            let name = name_alone(&mut cursor, "the script's name", errors);
            let lines = script(header, body, errors);
            BlockKind::Script {
                name: name?,
                lines: lines?,
            }
        }
        "protocol" => {
            let name = name_alone(&mut cursor, "the protocol's name", errors);
            let parts = protocol::parts(body, errors);
            BlockKind::Protocol { name: name?, parts }
        }
        "schedule" => {
            cursor.end("nothing behind `schedule`; actions stand under it", errors);
            BlockKind::Schedule(entries(body, |line| schedule_entry(line, errors)))
        }
        "expect" => {
            cursor.end(
                "nothing behind `expect`; expectations stand under it",
                errors,
            );
            BlockKind::Expect(entries(body, |line| expect::expect_entry(line, errors)))
        }
        "search" => {
            cursor.end(
                "nothing behind `search`; what it may do stands under it",
                errors,
            );
            BlockKind::Search(entries(body, |line| search::search_entry(line, errors)))
        }
        other => {
            let message = "no block begins with";
            return errors.unknown(word.place, message, other, BLOCKS.into_iter());
        }
    };
    // A table's definition keeps its comments line by line.
    let comment = comment
        .filter(|_| !matches!(kind, BlockKind::Table(_)))
        .map(str::to_owned);
    Some(Block {
        kind,
        comment,
        place,
    })
}

/// Comments and blank lines under a line under which nothing can stand; anything else is reported.
fn what_stands_behind(
    header: Line<'_>,
    body: &[Line<'_>],
    errors: &mut Errors<'_>,
) -> Vec<Entry<Block>> {
    let word = header.text.split(' ').next().unwrap_or_default();
    if !matches!(word, "option" | "server" | "replica" | "watch" | "client") {
        return Vec::new();
    }
    entries(body, |line| {
        let message = format!("nothing can stand under a `{word}` line");
        errors.add(line.place(), message, "the next block in column 1")
    })
}

fn comment_of<T>(comment: &str) -> Entry<T> {
    Entry::Comment(comment.trim_end_matches(' ').to_owned())
}

/// Reads each line of a block by itself.
fn entries<'a, T>(body: &[Line<'a>], mut read: impl FnMut(Line<'a>) -> Option<T>) -> Vec<Entry<T>> {
    let mut entries = Vec::new();
    for line in body.iter().filter(|line| !line.is_damaged) {
        match (line.is_blank(), line.comment()) {
            (true, _) => entries.push(Entry::Blank),
            (false, Some(comment)) => entries.push(comment_of(comment)),
            (false, None) => entries.extend(read(*line).map(Entry::Of)),
        }
    }
    entries
}

/// A line as it is written.
fn written(line: Line<'_>, quotes: Quotes) -> Written {
    let (text, comment) = without_comment(line.content(), quotes);
    Written {
        text: text.to_owned(),
        comment: comment.map(str::to_owned),
        place: Place::within(line.number, line.indent, line.indent + text.len()),
    }
}

/// Statements, each of which goes on over deeper lines.
fn passages(body: &[Line<'_>]) -> Vec<Entry<Passage>> {
    let lines = entries(body, |line| {
        Some((line.indent, written(line, Quotes::Code)))
    });
    let base = super::syntax::things(&lines)
        .next()
        .map_or(0, |(indent, _)| *indent);
    let mut passages: Vec<Entry<Passage>> = Vec::new();
    let mut between = Vec::new();
    for line in lines {
        let (indent, line) = match line {
            Entry::Blank => {
                between.push(Entry::Blank);
                continue;
            }
            Entry::Comment(comment) => {
                between.push(Entry::Comment(comment));
                continue;
            }
            Entry::Of(line) => line,
        };
        match passages.last_mut() {
            Some(Entry::Of(passage)) if indent > base => {
                passage.append(&mut between);
                passage.push(Entry::Of(line));
            }
            _ => {
                passages.extend(between.drain(..).map(without_thing));
                passages.push(Entry::Of(vec![Entry::Of(line)]));
            }
        }
    }
    passages.extend(between.into_iter().map(without_thing));
    passages
}

/// What stands between things, whatever the things are.
fn without_thing<T, U>(entry: Entry<T>) -> Entry<U> {
    match entry {
        Entry::Comment(comment) => Entry::Comment(comment),
        Entry::Blank | Entry::Of(_) => Entry::Blank,
    }
}

fn option(cursor: &mut Cursor<'_>, errors: &mut Errors<'_>) -> Option<BlockKind> {
    let name = cursor.name("the option's name", errors)?;
    let value = match cursor.is_at_end() {
        true => None,
        false => Some(cursor.name("what the option is set to", errors)?),
    };
    cursor.end("nothing more behind the option", errors)?;
    Some(BlockKind::Option { name, value })
}

/// `r1, r2, r3`, and `a, b of r1` for replicas.
fn servers(
    cursor: &mut Cursor<'_>,
    are_replicas: bool,
    errors: &mut Errors<'_>,
) -> Option<BlockKind> {
    let mut names = Vec::new();
    loop {
        let name = cursor.name("the server's name", errors)?;
        if is_reserved(&name.text) {
            let message = format!(
                "no server can be called {}",
                super::error::quoted(&name.text)
            );
            let expected = "a name that means nothing else in a schedule, such as `r1`";
            return errors.add(name.place, message, expected);
        }
        names.push(name);
        if names.len() >= super::limits::SERVERS || !cursor.eat(",") {
            break;
        }
    }
    let replica_of = match are_replicas {
        true if cursor.eat_words("of") => Some(cursor.name("the primary's name", errors)?),
        true => {
            let expected = "`of` and the primary, such as `replica copy of r1`";
            return errors.add(cursor.here(), "a replica is one of a server", expected);
        }
        false => None,
    };
    cursor.end("`,` and another server", errors)?;
    Some(BlockKind::Servers { names, replica_of })
}

/// `on r1`, if it comes next.
fn on_server(cursor: &mut Cursor<'_>, errors: &mut Errors<'_>) -> Option<Option<Named>> {
    match cursor.eat_words("on") {
        true => Some(Some(cursor.name("the server's name", errors)?)),
        false => Some(None),
    }
}

fn name_alone(cursor: &mut Cursor<'_>, what: &str, errors: &mut Errors<'_>) -> Option<Named> {
    let name = cursor.name(what, errors)?;
    cursor.end(&format!("nothing behind {what}"), errors)?;
    Some(name)
}

/// A script's lines without their common indentation.
fn script(header: Line<'_>, body: &[Line<'_>], errors: &mut Errors<'_>) -> Option<Vec<String>> {
    let spaces = |line: &Line<'_>| line.text.len() - line.text.trim_start_matches(' ').len();
    let common = body
        .iter()
        .filter(|line| !line.is_blank())
        .map(spaces)
        .min();
    let Some(common) = common else {
        return errors.add(
            header.place(),
            "the script is empty",
            "indented lines of Lua under it",
        );
    };
    let without_indent = |line: &Line<'_>| match line.is_blank() {
        true => String::new(),
        false => line.text.get(common..).unwrap_or_default().to_owned(),
    };
    Some(body.iter().map(without_indent).collect())
}

/// A key, which cannot be a variable here.
fn key(cursor: &mut Cursor<'_>, marks: &str, errors: &mut Errors<'_>) -> Option<Vec<u8>> {
    let word = cursor.word("a key", marks, errors)?;
    if word.variable().is_some() {
        return no_variable(&word, errors);
    }
    Some(word.bytes)
}

fn no_variable<T>(word: &Word, errors: &mut Errors<'_>) -> Option<T> {
    errors.add(
        word.place,
        format!(
            "the variable {} has no value here",
            super::error::quoted(&word.text())
        ),
        "a key; in double quotes it stands for itself",
    )
}

/// Whether the definition of a table goes on.
fn goes_on(parentheses: &mut Parentheses, text: &str) -> bool {
    parentheses.read(text);
    parentheses.are_open()
}

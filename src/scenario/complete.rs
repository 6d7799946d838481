//! What can stand at the cursor of the editor: names, commands and words, in the order in which they are most likely meant.
//!
//! ```text
//!   A tok|          schedule, `<client> <label>`: the labels of A's protocol, the one that comes next first
//!   broken: stale|  expect, `broken: <property>`: the sentences with a word that begins so
//! ```
//!
//! What a line can say is written down as patterns: fixed words, and places such as `<client>` for which the text is looked
//! through. It works on texts that do not parse, as one that is being typed seldom does, and looks at lines alone.

use std::ops::Range;

use super::lines::{Quotes, without_comment};
use super::request::STATEMENTS;
use super::syntax::Limit;

use crate::property::Property;
use crate::search::Reduction;
use crate::sim::setup::EvictionPolicy;
use crate::sim::store;

/// What can stand at the cursor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Completion {
    /// Which bytes of the text a candidate replaces.
    pub range: Range<usize>,
    /// How much of that stands before the cursor: nothing has been typed of it where this is empty.
    pub typed: String,
    /// What can stand there, the likeliest first; none where anything can.
    pub candidates: Vec<Candidate>,
}

impl Completion {
    /// Whether one of the candidates is there already.
    pub fn is_written(&self) -> bool {
        let is_it =
            |candidate: &Candidate| candidate.text.trim_end().eq_ignore_ascii_case(&self.typed);
        self.candidates.iter().any(is_it)
    }
}

/// One thing that can stand there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// What is written, with a blank at the end where the line goes on.
    pub text: String,
    /// What it is.
    pub note: String,
}

/// The most candidates that are given.
const MOST: usize = 60;

/// The words that begin a block, and what the line goes on with.
const HEADERS: &[&str] = &[
    "protocol <name>",
    "client <names>: <protocol> x2",
    "schedule",
    "expect",
    "search",
    "watch <watch>",
    "table <name>",
    "script <name>",
    "store",
    "database",
    "server <name>",
    "replica <name> of <server>",
    "option maxmemory-policy <policy>",
    "option CLIENT_FOUND_ROWS",
];

const SCHEDULE: &[&str] = &[
    "<client> <label>",
    "pause <client> before <label>",
    "pause <client> after <label>",
    "resume <client> before <label>",
    "resume <client> after <label>",
    "clock +1s",
    "clock to~next~deadline",
    "clock of <clock> +1s",
    "clock of <clock> runs~at~99.9%",
    "crash <client>",
    "crash <server>",
    "restart <client>",
    "restart <server> without~data",
    "lose <client> <label>",
    "lose request <client> <label>",
    "delay request <client> <label>",
    "delay reply <client> <label>",
    "deliver <client> <label>",
    "expire <key> on <server>",
    "wipe <key> on <server>",
    "evict <key> on <server>",
    "replicate to <server>",
    "failover to <server>",
    "operator> <request>",
];

const REPLIES: &[&str] = &["OK", "nil", "1~row", "0~rows", "1", "0", "waits"];

const EXPECT: &[&str] = &[
    "holds: <property>",
    "broken: <property>",
    "not~tested: <property>",
    "<table> <rest>",
    "key <key> <rest>",
    "client <client>: done",
    "client <client>: stopped",
    "client <client>: crashed",
    "client <client>: before <label>",
    "client <client>: paused~before <label>",
    "client <client>: paused~after <label>",
    "writes: <rest>",
    "charges: <rest>",
];

const SEARCH: &[&str] = &[
    "breaks: <property>",
    "breaks: anything",
    "reaches: client <client>: done",
    "reaches: client <client>: before <label>",
    "reaches: key <key> <rest>",
    "reaches: <table> <rest>",
    "finds: nothing",
    "finds: the~schedule",
    "from: start",
    "from: end",
    "from: action <rest>",
    "without: <reduction>",
    "challenge",
    "<limit>",
];

const WATCH: &[&str] = &[
    "lock <key> on <server>",
    "counter <key>",
    "fence <column>",
    "stock <column>",
];

const STEP: &[&str] = &["claims: <property>", "compensation <rest>"];

const PATTERNS: &[&str] = &[
    "OK",
    "nil",
    "1~row",
    "0~rows",
    "{variable}",
    "error",
    "no~reply",
    "no~reply~within~500ms",
    "held",
    "message",
    "else",
];

const EFFECTS: &[&str] = &[
    "holds <key> for 10000ms",
    "votes~for <key>",
    "releases <key>",
    "loses <key>",
    "draws {variable}",
    "sells 1",
    "retry after 100ms",
    "start~over after 100ms",
    "go~to <label>",
    "abort~with <label>",
    "stop",
    "done",
];

/// What a request begins with most often, before all the other commands.
const COMMON: [&str; 14] = [
    "SET", "GET", "INCR", "DEL", "EVAL", "PEXPIRE", "SELECT", "UPDATE", "INSERT", "CHARGE",
    "CHECK", "SLEEP", "QUORUM", "REFUND",
];

/// The words behind a command's arguments.
const OPTIONS: [(&str, &[&str]); 6] = [
    (
        "SET",
        &["NX", "PX", "EX", "XX", "GET", "KEEPTTL", "PXAT", "EXAT"],
    ),
    ("GETEX", &["PX", "EX", "PERSIST", "PXAT", "EXAT"]),
    ("EXPIRE", &["NX", "XX", "GT", "LT"]),
    ("PEXPIRE", &["NX", "XX", "GT", "LT"]),
    ("CHARGE", &["KEY"]),
    ("QUORUM", &["PX", "DRIFT"]),
];

/// Words of a statement beyond its first.
const SQL: &[&str] = &[
    "FROM",
    "WHERE",
    "SET",
    "AND",
    "OR",
    "INTO",
    "VALUES",
    "ORDER~BY",
    "LIMIT",
    "FOR~UPDATE",
    "ON~DUPLICATE~KEY~UPDATE",
    "JOIN",
    "NULL",
    "GET_LOCK",
    "RELEASE_LOCK",
];

/// What can stand at this byte of the text.
pub fn complete(text: &str, offset: usize) -> Completion {
    let offset = (0..=offset.min(text.len()))
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0);
    let begin = text[..offset].rfind('\n').map_or(0, |at| at + 1);
    let typed = &text[begin..offset];
    let names = Names::of(text, begin);
    let found = names.candidates(typed).unwrap_or(Found {
        start: typed.len(),
        candidates: Vec::new(),
    });
    let start = begin + found.start;
    let after = &text[offset..];
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || "-_:".contains(letter);
    let rest = after.find(|letter| !is_name(letter)).unwrap_or(after.len());
    let typed = text[start..offset].to_string();
    // What stands there already is not offered, and a blank is not written twice.
    let has_blank = after[rest..].starts_with(' ');
    let mut candidates: Vec<Candidate> = Vec::new();
    for mut candidate in found.candidates {
        if has_blank {
            candidate.text.truncate(candidate.text.trim_end().len());
        }
        let is_new = candidates.iter().all(|other| other.text != candidate.text);
        if is_new && candidates.len() < MOST {
            candidates.push(candidate);
        }
    }
    Completion {
        range: start..offset + rest,
        typed,
        candidates,
    }
}

/// The word of the block that this line stands in: of the nearest line above that begins in the first column.
pub fn block_of<'a>(lines: &[&'a str], line: usize) -> &'a str {
    let above = lines.iter().take(line).rev();
    above
        .map(|line| top_level_word(line))
        .find(|word| !word.is_empty())
        .unwrap_or("")
}

/// The word with which a line begins a block; empty for a line within one, a comment and a blank line.
pub fn top_level_word(line: &str) -> &str {
    match line.starts_with([' ', '\t', '#', ')']) {
        true => "",
        false => line.split([' ', '\t', ':']).next().unwrap_or(""),
    }
}

/// The candidates for what begins at this byte of a line.
struct Found {
    start: usize,
    candidates: Vec<Candidate>,
}

/// A step of a protocol: the protocol, the label and the request.
type StepLine<'a> = (&'a str, &'a str, &'a str);

/// The names that a text declares, and where in it the cursor stands.
#[derive(Default)]
struct Names<'a> {
    /// Clients with their protocols.
    clients: Vec<(&'a str, &'a str)>,
    protocols: Vec<&'a str>,
    steps: Vec<StepLine<'a>>,
    scripts: Vec<&'a str>,
    servers: Vec<&'a str>,
    tables: Vec<&'a str>,
    /// Columns with their tables.
    columns: Vec<(&'a str, &'a str)>,
    keys: Vec<&'a str>,
    /// The variables of the block that the cursor stands in.
    variables: Vec<&'a str>,
    /// The actions above the cursor.
    played: Vec<&'a str>,
    /// The word and the name of the block that the cursor stands in.
    block: (&'a str, &'a str),
    /// How far the first line of that block is indented; none where the cursor stands in it.
    indent: Option<usize>,
}

fn note<'a>(all: &mut Vec<&'a str>, name: &'a str) {
    if !name.is_empty() && !all.contains(&name) {
        all.push(name);
    }
}

/// Both sides of the first such mark, without blanks around them; nothing behind where there is none.
fn halves<'a>(text: &'a str, mark: &str) -> (&'a str, &'a str) {
    let (before, after) = text.split_once(mark).unwrap_or((text, ""));
    (before.trim(), after.trim())
}

fn first_word(text: &str) -> &str {
    text.split_whitespace().next().unwrap_or("")
}

impl<'a> Names<'a> {
    /// Looks through a text whose line with the cursor begins at this byte.
    fn of(text: &'a str, cursor: usize) -> Names<'a> {
        let mut names = Names::default();
        let (mut at, mut block, mut base) = (0, ("", ""), None);
        for line in text.split_inclusive('\n') {
            let is_cursor = at <= cursor && cursor < at + line.len();
            let is_above = at < cursor;
            at += line.len();
            let (line, _) = without_comment(line.trim_end(), Quotes::Prose);
            let word = top_level_word(line);
            let content = line.trim_start();
            if !word.is_empty() {
                block = (word, first_word(&line[word.len()..]));
                base = None;
                if is_above {
                    names.variables.clear();
                }
                if !is_cursor {
                    names.header(word, line[word.len()..].trim_start());
                }
            } else if !content.is_empty() && !content.starts_with('#') {
                let indent = line.len() - content.len();
                let base = *base.get_or_insert(indent);
                names.line(block, content, indent > base, is_above);
            }
            if is_above || is_cursor {
                names.block = block;
                names.indent = base;
            }
            if block == names.block {
                names.variables_in(line);
            }
        }
        names
    }

    fn header(&mut self, word: &str, rest: &'a str) {
        match word {
            "protocol" => note(&mut self.protocols, first_word(rest)),
            "script" => note(&mut self.scripts, first_word(rest)),
            "server" | "replica" => {
                let names = rest.split(" of ").next().unwrap_or("");
                for name in names.split(',') {
                    note(&mut self.servers, name.trim());
                }
            }
            "client" => {
                let (names, protocol) = halves(rest, ":");
                for name in names.split(',').map(str::trim) {
                    if !name.is_empty() {
                        self.clients.push((name, first_word(protocol)));
                    }
                }
            }
            "table" => {
                let (name, columns) = halves(rest, "(");
                note(&mut self.tables, name);
                for column in columns.split(',') {
                    self.column(name, column);
                }
            }
            "watch" => {
                for role in rest.split(',') {
                    let mut words = role.split_whitespace();
                    if let (Some("lock" | "counter"), Some(key)) = (words.next(), words.next()) {
                        note(&mut self.keys, key);
                    }
                }
            }
            _ => {}
        }
    }

    /// A line within a block.
    fn line(&mut self, block: (&'a str, &'a str), content: &'a str, is_deep: bool, is_above: bool) {
        match block.0 {
            "protocol" if is_deep => {
                for effect in content.split(": ").skip(1).flat_map(|all| all.split(", ")) {
                    let words: Vec<&str> = effect.split_whitespace().collect();
                    if let ["holds" | "releases" | "loses", key, ..] = words.as_slice() {
                        note(&mut self.keys, key);
                    }
                }
            }
            "protocol" => {
                let (label, request) = halves(content, ":");
                let label = label.strip_prefix("compensation ").unwrap_or(label);
                if !request.is_empty() && label != "claims" {
                    self.steps.push((block.1, label, request));
                }
            }
            "table" => self.column(block.1.split('(').next().unwrap_or(""), content),
            "store" => note(&mut self.keys, content.split(' ').nth(1).unwrap_or("")),
            "schedule" if is_above => self.played.push(content),
            _ => {}
        }
    }

    /// A column's definition; rows begin with a literal.
    fn column(&mut self, table: &'a str, definition: &'a str) {
        let name = first_word(definition).trim_matches([',', '`']);
        let is_name = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
        let is_key = [
            "PRIMARY",
            "UNIQUE",
            "KEY",
            "INDEX",
            "CHECK",
            "CONSTRAINT",
            "NULL",
        ];
        if is_name && !is_key.contains(&name.to_ascii_uppercase().as_str()) {
            self.columns.push((table, name));
        }
    }

    fn variables_in(&mut self, line: &'a str) {
        for part in line.split('{').skip(1) {
            if let Some((name, _)) = part.split_once('}')
                && super::scan::is_variable_name(name)
            {
                note(&mut self.variables, name);
            }
        }
    }

    // What can stand at the end of what has been typed of the line.

    fn candidates(&self, typed: &str) -> Option<Found> {
        let content = typed.trim_start();
        let indent = typed.len() - content.len();
        if content.starts_with('#') || without_comment(typed, Quotes::Prose).1.is_some() {
            return None;
        }
        if indent == 0 {
            return self.header_goes_on(typed);
        }
        let is_deep = self.indent.is_some_and(|base| indent > base);
        match self.block.0 {
            "schedule" => self.action(typed, indent),
            "expect" => self.fits(EXPECT, typed, indent),
            "search" => {
                let found = self.fits(SEARCH, typed, indent);
                found.or_else(|| self.fits(&["<limit>"], typed, behind(typed, &[", "])?))
            }
            "protocol" if is_deep => self.under_a_step(typed, indent),
            "protocol" => match content.find(": ") {
                Some(at) if !content.starts_with("claims:") => self.request(typed, indent + at + 2),
                _ => self.fits(STEP, typed, indent),
            },
            "store" | "database" => self.request(typed, indent),
            _ => None,
        }
    }

    fn header_goes_on(&self, typed: &str) -> Option<Found> {
        let watch = typed.starts_with("watch ");
        match behind(typed, &["watch ", ", "]).filter(|_| watch) {
            Some(start) => self.fits(WATCH, typed, start),
            None => self.fits(HEADERS, typed, 0),
        }
    }

    /// A line of the schedule: an action, a command at a console, or behind `=>` a reply.
    fn action(&self, typed: &str, indent: usize) -> Option<Found> {
        if let Some(at) = typed.find("=> ") {
            return self.fits(REPLIES, typed, at + 3);
        }
        let prompt = typed.find("> ");
        match prompt {
            Some(at) => self.request(typed, at + 2),
            None => self.fits(SCHEDULE, typed, indent),
        }
    }

    /// A clause, or a statement that goes on.
    fn under_a_step(&self, typed: &str, indent: usize) -> Option<Found> {
        let content = &typed[indent..];
        if let Some(pattern) = content.strip_prefix("on ") {
            return match pattern.contains(": ") {
                true => self.fits(EFFECTS, typed, behind(typed, &[": ", ", "])?),
                false => self.fits(PATTERNS, typed, indent + 3),
            };
        }
        if "on".starts_with(content) {
            return self.fits(&["on <rest>"], typed, indent);
        }
        self.statement_goes_on(typed)
    }

    /// A request, which begins at this byte.
    fn request(&self, typed: &str, start: usize) -> Option<Found> {
        let source = &typed[start..];
        let source = source.trim_start();
        // `redis SET k v`, `r1> SET k v`.
        let prefix = ["redis ", "mysql "]
            .iter()
            .find(|it| source.starts_with(**it));
        let prompt = source.find("> ").map(|at| at + 2);
        let source = &source[prefix.map(|it| it.len()).or(prompt).unwrap_or(0)..];
        let start = typed.len() - source.len();
        let last = source.rfind(' ').map_or(0, |at| at + 1);
        let words: Vec<&str> = source[..last].split_whitespace().collect();
        let Some(command) = words.first().map(|word| word.to_ascii_uppercase()) else {
            return filtered(typed, start, first_words());
        };
        let at = start + last;
        if typed[at..].starts_with('{') {
            return filtered(typed, at, self.variables());
        }
        if STATEMENTS.contains(&command.as_str()) {
            return self.statement_goes_on(typed);
        }
        let mut candidates = Vec::new();
        let is_script = command.starts_with("EVAL") && words.len() == 1;
        let argv = source.split(' ').filter(|word| !word.is_empty());
        let mut argv: Vec<Vec<u8>> = argv.map(|word| word.as_bytes().to_vec()).collect();
        argv.resize(words.len() + 1, Vec::new());
        let takes_key = match store::find_command(command.as_bytes()) {
            Some(found) => found.key_places(&argv).contains(&words.len()),
            None => matches!(command.as_str(), "CHECK" | "QUORUM") && words.len() < 3,
        };
        if is_script {
            candidates.extend(each(&self.scripts, "script", " "));
        } else if takes_key {
            candidates.extend(each(&self.keys, "key", ""));
        }
        let options = OPTIONS.iter().find(|(name, _)| *name == command);
        if let Some((_, options)) = options.filter(|_| words.len() > 2) {
            let left = options
                .iter()
                .filter(|option| !words.iter().any(|word| word.eq_ignore_ascii_case(option)));
            candidates.extend(left.map(|option| candidate(option, "option")));
        }
        if !is_script && !typed[at..].is_empty() {
            candidates.extend(self.variables());
        }
        filtered(typed, at, candidates)
    }

    /// A statement beyond its first word: tables where one is due, else columns and words, of which something has been typed.
    fn statement_goes_on(&self, typed: &str) -> Option<Found> {
        let separators = [' ', '(', ',', '='];
        let start = typed.rfind(separators).map_or(0, |at| at + 1);
        let before = typed[..start].trim_end().rsplit([' ', '(']).next();
        let before = before.unwrap_or("").to_ascii_uppercase();
        if typed[start..].starts_with('{') {
            return filtered(typed, start, self.variables());
        }
        if ["FROM", "UPDATE", "INTO", "JOIN", "TABLE"].contains(&before.as_str()) {
            return filtered(typed, start, each(&self.tables, "table", " ").collect());
        }
        if typed.len() == start {
            return None;
        }
        let columns = self.columns.iter();
        let mut candidates: Vec<Candidate> = columns
            .map(|(table, column)| candidate(column, table))
            .collect();
        candidates.extend(SQL.iter().map(|word| candidate(&spaced(word), "SQL")));
        candidates.extend(self.variables());
        filtered(typed, start, candidates)
    }

    /// What goes on with one of these patterns from this byte of the line; the first that fits says where that begins.
    fn fits(&self, patterns: &[&str], typed: &str, start: usize) -> Option<Found> {
        let mut found: Option<Found> = None;
        for pattern in patterns {
            let Some(next) = self.next(pattern, typed, start) else {
                continue;
            };
            match &mut found {
                None => found = Some(next),
                Some(found) if found.start == next.start => {
                    found.candidates.extend(next.candidates)
                }
                Some(_) => {}
            }
        }
        found
    }

    /// What comes next in a pattern of which all before it has been typed.
    fn next(&self, pattern: &str, typed: &str, start: usize) -> Option<Found> {
        let mut at = start;
        let mut read: Vec<&str> = Vec::new();
        let mut units = pattern.split(' ').peekable();
        while let Some(unit) = units.next() {
            at += typed[at..].len() - typed[at..].trim_start().len();
            let rest = &typed[at..];
            let goes_on = units.peek().is_some();
            let length = match unit
                .strip_prefix('<')
                .and_then(|place| place.split_once('>'))
            {
                // A sentence or a list reaches to the end.
                Some(("property" | "rest" | "request" | "watch", _)) => None,
                Some((_, "")) => rest.find(' '),
                Some((_, mark)) => rest.find(mark).map(|end| end + mark.len()),
                None => {
                    let fixed = spaced(unit);
                    let is_whole = rest.strip_prefix(fixed.as_str());
                    is_whole
                        .filter(|rest| rest.starts_with(' ') || fixed.ends_with(':'))
                        .map(|_| fixed.len())
                }
            };
            let Some(length) = length else {
                let next = self.named(unit, &read, goes_on);
                return filtered(typed, at, next);
            };
            let word = rest[..length].trim_end_matches(':');
            let is_known = match unit.trim_end_matches(':') {
                "<client>" => self.clients.iter().any(|(name, _)| *name == word),
                "<table>" => self.tables.contains(&word),
                _ => true,
            };
            if !is_known {
                return None;
            }
            read.push(word);
            at += length;
        }
        None
    }

    /// What can stand in this place of a pattern, of which this stands before.
    fn named(&self, unit: &str, read: &[&str], goes_on: bool) -> Vec<Candidate> {
        let end = if goes_on { " " } else { "" };
        let Some((place, mark)) = unit.strip_prefix('<').and_then(|it| it.split_once('>')) else {
            if unit == "{variable}" {
                return self.variables();
            }
            return vec![candidate(&(spaced(unit) + end), "")];
        };
        let end = mark.to_string() + end;
        let end = end.as_str();
        match place {
            "client" | "names" => {
                let clients = self.clients.iter().filter(|_| place == "client");
                let named = clients.map(|(name, protocol)| Candidate {
                    text: name.to_string() + end,
                    note: "client: ".to_string() + protocol,
                });
                named.collect()
            }
            "clock" => {
                let clients = self.clients.iter().map(|(name, _)| *name);
                let clocks: Vec<&str> = self.servers().into_iter().chain(["database"]).collect();
                let clocks: Vec<&str> = clients.chain(clocks).collect();
                each(&clocks, "clock", end).collect()
            }
            "label" => self.labels(read, end),
            "protocol" => each(&self.protocols, "protocol", "").collect(),
            "server" => each(&self.servers(), "server", end).collect(),
            "key" => each(&self.keys, "key", end).collect(),
            "table" => each(&self.tables, "table", end).collect(),
            "column" => {
                let columns = self.columns.iter();
                let named = columns.map(|(table, column)| table.to_string() + "." + column);
                named.map(|name| candidate(&name, "column")).collect()
            }
            "property" => {
                let all = Property::ALL.iter();
                all.map(|property| candidate(property.sentence(), "property"))
                    .collect()
            }
            "limit" => {
                let all = Limit::ALL.iter();
                all.map(|limit| candidate(&(limit.words().to_string() + ": "), "bound"))
                    .collect()
            }
            "reduction" => {
                let all = Reduction::ALL.iter();
                all.map(|reduction| candidate(reduction.words(), "reduction"))
                    .collect()
            }
            "policy" => each(&EvictionPolicy::NAMES, "policy", "").collect(),
            _ => Vec::new(),
        }
    }

    fn servers(&self) -> Vec<&'a str> {
        match self.servers.is_empty() {
            true => vec!["store"],
            false => self.servers.clone(),
        }
    }

    fn variables(&self) -> Vec<Candidate> {
        let me = self.variables.iter().find(|name| **name == "me");
        let me = me.map_or(Some("me"), |_| None);
        let all = self.variables.iter().copied().chain(me);
        all.map(|name| candidate(&("{".to_string() + name + "}"), "variable"))
            .collect()
    }

    /// The labels of the protocol of the client that was named last, the one that comes next first; of the block's own protocol
    /// within one; of all where neither is known.
    fn labels(&self, read: &[&str], end: &str) -> Vec<Candidate> {
        let named = |word: &&&str| self.clients.iter().find(|(name, _)| name == *word);
        let client = read.iter().rev().find_map(|word| named(&word));
        let protocol = match (client, self.block) {
            (Some((_, protocol)), _) => protocol,
            (None, ("protocol", name)) => name,
            _ => "",
        };
        let steps: Vec<&StepLine<'_>> = self
            .steps
            .iter()
            .filter(|(of, ..)| protocol.is_empty() || *of == protocol)
            .collect();
        let next = client.map_or(0, |(client, _)| self.next_step(client, &steps));
        let steps = steps.iter().cycle().skip(next).take(steps.len());
        let candidates = steps.map(|(_, label, request)| Candidate {
            text: label.to_string() + end,
            note: request.to_string(),
        });
        candidates.collect()
    }

    /// The place of the step that follows the one which a client took last.
    fn next_step(&self, client: &str, steps: &[&StepLine<'_>]) -> usize {
        let last = self.played.iter().rev().find_map(|action| {
            let mut words = action.split_whitespace();
            let label = words
                .next()
                .filter(|word| *word == client)
                .and(words.next())?;
            steps.iter().position(|(_, other, _)| *other == label)
        });
        last.map_or(0, |last| (last + 1) % steps.len().max(1))
    }
}

/// Behind the last of these marks.
fn behind(typed: &str, marks: &[&str]) -> Option<usize> {
    let ends = marks
        .iter()
        .filter_map(|mark| Some(typed.rfind(mark)? + mark.len()));
    ends.max()
}

/// Fixed words of a pattern, in which the blank between two is written as `~`.
fn spaced(word: &str) -> String {
    word.replace('~', " ")
}

fn candidate(text: &str, note: &str) -> Candidate {
    Candidate {
        text: text.to_string(),
        note: note.to_string(),
    }
}

fn each<'n>(
    names: &'n [&str],
    note: &'n str,
    end: &'n str,
) -> impl Iterator<Item = Candidate> + 'n {
    names
        .iter()
        .map(move |name| candidate(&(name.to_string() + end), note))
}

/// What a request can begin with: the most common first, then every command and every statement.
fn first_words() -> Vec<Candidate> {
    let commands = store::all_commands().map(|command| command.name);
    let all = COMMON.into_iter().chain(commands).chain(STATEMENTS);
    let kind = |word: &str| match word {
        "CHARGE" | "REFUND" => "card gateway",
        "CHECK" | "SLEEP" | "QUORUM" | "AWAIT" => "client",
        _ if STATEMENTS.contains(&word) => "SQL",
        _ => "Redis",
    };
    all.map(|word| candidate(&(word.to_string() + " "), kind(word)))
        .collect()
}

/// Those that begin as what has been typed from this byte on, and then those of which a word does, capitals or not; none where
/// the only one is there already.
fn filtered(typed: &str, start: usize, candidates: Vec<Candidate>) -> Option<Found> {
    let typed = typed[start..].to_ascii_lowercase();
    let rank = |candidate: &Candidate| {
        let text = candidate.text.to_ascii_lowercase();
        match text.starts_with(&typed) {
            true => Some(0),
            false if text.contains(&(" ".to_string() + &typed)) => Some(1),
            false => None,
        }
    };
    let mut candidates: Vec<(usize, Candidate)> = candidates
        .into_iter()
        .filter_map(|candidate| Some((rank(&candidate)?, candidate)))
        .collect();
    crate::sorted::sort_by_key(&mut candidates, |(rank, _)| *rank);
    let candidates: Vec<Candidate> = candidates.into_iter().map(|(_, it)| it).collect();
    (!candidates.is_empty()).then_some(Found { start, candidates })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::library;

    /// What is offered, where `|` is the cursor in lines that are put under one of story 7, or at its end.
    fn check(under: &str, line: &str, expected: &str) {
        let story = library::story_named("07a-split-acquire").unwrap().text;
        let at = match story.find(under).filter(|_| !under.is_empty()) {
            Some(at) => at + under.len() + 1,
            None => story.len(),
        };
        let (before, after) = line.split_once('|').unwrap();
        let text = story[..at].to_string() + before + after + "\n" + &story[at..];
        let offset = at + before.len();
        let found = complete(&text, offset);
        assert_eq!(found.range.start + found.typed.len(), offset, "{line}");
        let all = found.candidates.iter().take(5);
        let all: Vec<&str> = all.map(|candidate| candidate.text.as_str()).collect();
        let seen = text[found.range].to_string() + "> " + &all.join("; ");
        assert_eq!(seen, expected, "{line}");
    }

    #[test]
    fn blocks_and_what_their_first_line_names() {
        check("", "|", "> protocol ; client ; schedule; expect; search");
        check("", "pro|", "pro> protocol ");
        check("", "client C: |", "> split-acquire");
        check("", "client C: sp| x2", "sp> split-acquire");
        check("", "watch |", "> lock ; counter ; fence ; stock ");
        check("", "watch lock lock:sku-1, co|", "co> counter ");
        check(
            "",
            "watch fence inv|",
            "inv> inventory.sku; inventory.qty; inventory.fence_token",
        );
        check(
            "",
            "option maxmemory-policy all|",
            "all> allkeys-lru; allkeys-lfu; allkeys-random",
        );
        check("", "server r1\nreplica copy of |", "> r1");
        check("", "# pro|", "> ");
        check("", "table t (k INT)\n  |", "> ");
    }

    #[test]
    fn actions_name_clients_and_the_labels_of_their_protocols() {
        check("schedule", "  |", "> A ; B ; pause ; resume ; clock ");
        check("schedule", "  A |", "> acquire; token; write; release");
        // The one that comes next stands first.
        check(
            "A token                => 2",
            "  A |",
            "> write; release; acquire; token",
        );
        check(
            "A token                => 2",
            "  A w|rite  => 1",
            "write> write",
        );
        check("schedule", "  pa|", "pa> pause ");
        check("schedule", "  pause A |", "> before ; after ");
        check("schedule", "  pause A before t|", "t> token");
        check("schedule", "  lose request B re|", "re> release");
        check("schedule", "  clock |", "> +1s; to next deadline; of ");
        check("schedule", "  clock to ne|", "to ne> to next deadline");
        check("schedule", "  clock of |", "> A ; B ; store ; database ");
        check("schedule", "  expire |", "> lock:sku-1 ; fence:sku-1 ");
        check("schedule", "  A token  => |", "> OK; nil; 1 row; 0 rows; 1");
        check("schedule", "  A token  # a|", "> ");
        check("schedule", "  C |", "> ");
    }

    #[test]
    fn requests_begin_with_commands_and_go_on_with_what_these_take() {
        check("schedule", "  operator> sele|", "sele> SELECT ");
        check("schedule", "  operator> SELECT * FROM |", "> inventory ");
        let step = "protocol split-acquire";
        check(step, "  |", "> claims: ; compensation ");
        check(
            step,
            "  claims: no|",
            "no> nobody is charged for something they did not get; nobody is charged twice",
        );
        check(step, "  x: |", "> SET ; GET ; INCR ; DEL ; EVAL ");
        check(step, "  x: s|", "s> SET ; SELECT ; SLEEP ; SADD ; SCAN ");
        check(step, "  x: SET |", "> lock:sku-1; fence:sku-1");
        check(step, "  x: SET k v |", "> NX; PX; EX; XX; GET");
        check(step, "  x: SET k v NX P|", "P> PX; PXAT");
        check(step, "  x: SET k {|", "{> {me}; {token}");
        check(step, "  x: EVAL |", "> unlock ");
        check(step, "  x: EVAL unlock 1 |", "> lock:sku-1; fence:sku-1");
        check(step, "  x: r1> GETD|", "GETD> GETDEL ");
        check(step, "  x: UPDATE |", "> inventory ");
        check(step, "  x: UPDATE inventory SET q|", "q> qty");
        check(
            "write: UPDATE inventory SET qty = qty - 1, fence_token = {token}",
            "      WHERE f|",
            "f> fence_token; FROM; FOR UPDATE",
        );
        check("", "store\n  GETS|", "GETS> GETSET ");
        check("", "database\n  INSERT INTO |", "> inventory ");
        // Lua is nobody's business here.
        check("script unlock", "  if re|", "> ");
    }

    #[test]
    fn clauses_say_which_reply_means_what() {
        let step = "acquire: SET lock:sku-1 {me} NX PX 10000";
        check(step, "    o|", "o> on ");
        check(step, "    on |", "> OK; nil; 1 row; 0 rows; {me}");
        check(step, "    on no|", "no> no reply; no reply within 500ms");
        check(
            step,
            "    on OK: |",
            "> holds ; votes for ; releases ; loses ; draws ",
        );
        check(step, "    on OK: holds |", "> lock:sku-1 ; fence:sku-1 ");
        check(
            step,
            "    on OK: sells 1, go to |",
            "> acquire; token; write; release",
        );
    }

    #[test]
    fn expectations_and_searches_speak_of_properties() {
        check("expect", "  bro|", "bro> broken: ");
        // Sentences that begin so come before those of which a word does.
        let stale = "a stale write is never accepted after a newer holder's write";
        let expected =
            "st> stock is never negative; stock equals what was sold; ".to_string() + stale;
        check("expect", "  broken: st|", &expected);
        check(
            "expect",
            "  client A: |",
            "> done; stopped; crashed; before ; paused before ",
        );
        check("expect", "  client A: paused before t|", "t> token");
        check("expect", "  inv|", "inv> inventory ");
        check("expect", "  key |", "> lock:sku-1 ; fence:sku-1 ");
        // What is written again keeps the blank behind it.
        check(
            "expect",
            "  |holds: x",
            "holds:> holds:; broken:; not tested:; inventory; key",
        );
        check("", "search\n  lapses: 1, wi|", "wi> wipes: ");
        check("", "search\n  breaks: anyt|", "anyt> anything");
        check("", "search\n  reaches: cl|", "cl> client ");
        check("", "search\n  finds: |", "> nothing; the schedule");
    }

    #[test]
    fn what_is_there_already_is_known() {
        let check = |text: &str, expected| {
            assert_eq!(complete(text, text.len()).is_written(), expected, "{text}");
        };
        check("schedule", true);
        check("protocol p\n  x: set", true);
        check("protocol p\n  x: se", false);
        check("", false);
    }

    #[test]
    fn no_place_in_any_story_stops_it() {
        for story in library::stories() {
            for (at, _) in story.text.char_indices().step_by(37) {
                let found = complete(story.text, at);
                assert!(
                    found.range.start <= at && at <= found.range.end,
                    "{}: {at}",
                    story.name
                );
            }
        }
        // A place within a letter is the one before it.
        assert_eq!(complete("# ü", 3).range, 2..2);
    }

    #[test]
    fn a_block_reaches_to_the_next_line_in_the_first_column() {
        let lines = ["script a", "  x", "", "  # y", "schedule", "  A b"];
        assert_eq!(block_of(&lines, 3), "script");
        assert_eq!(block_of(&lines, 5), "schedule");
        assert_eq!(block_of(&lines, 0), "");
    }
}

//! What can be read and cannot work: a step that its server answers with an error whatever the schedule is, and a script that Lua
//! does not compile. Told beside the line before anything runs; the text is no less a scenario for it.

use crate::sim::action::{Action, ClientId};
use crate::sim::client::protocol::{Argument, Pattern, Protocol, Request, Step};
use crate::sim::database::{Database, DatabaseInput, SqlError, SqlReply, Statement, Value};
use crate::sim::setup::Setup;
use crate::sim::store::{self, lua::Script};
use crate::sim::time::START_OF_WALL_CLOCK;
use crate::sim::world::{World, connection_of};
use crate::sorted::SortedSet;

use super::compile::known_variables;
use super::error::{Errors, Place, nearest, quoted};
use super::highlight;
use super::layout::Lines;
use super::request::STATEMENTS;
use super::{Reading, TextError, Who};

/// The statements that give a schedule tables and columns which are not there before it.
const DEFINITIONS: [&str; 4] = ["CREATE", "ALTER", "DROP", "RENAME"];

/// MySQL's numbers of the errors that do not depend on what is in the rows: an unknown column, table or function, and more or fewer
/// values than columns.
const WHATEVER_IS_IN_IT: [u16; 4] = [1054, 1146, 1305, 1136];

/// What stands in the text and cannot work, in the order of the text. A step that says what an error means is meant to fail.
pub fn warnings(text: &str, reading: &Reading) -> Vec<TextError> {
    let lines: Vec<&str> = text.lines().collect();
    let mut errors = Errors::new(&lines);
    let database = database(reading);
    for (protocol, step, place) in steps(reading) {
        let wrong = why_never(&step.request, database.as_ref());
        if let Some((message, offset)) = wrong.filter(|_| !expects_an_error(step)) {
            let place = place_in(step, place, offset, &lines);
            errors.add::<()>(place, message, "");
        }
        if let Some(key) = unwatched(step, protocol, &reading.setup) {
            let message = format!(
                "the client holds {} and no `watch lock` line names that key: nothing is said of its holders",
                quoted(&String::from_utf8_lossy(key))
            );
            errors.add::<()>(place_in(step, place, 0, &lines), message, "");
        }
    }
    literal_variables(reading, &lines, &mut errors);
    for line in &reading.schedule {
        let is_meant = line.expected.as_deref().is_some_and(is_error);
        if let (
            Action::Command {
                request, source, ..
            },
            false,
        ) = (&line.action, is_meant)
            && let Some((message, _)) = why_never(request, database.as_ref())
        {
            let whole = lines.get(line.line - 1).copied().unwrap_or_default();
            let start = whole.find(source.as_str()).unwrap_or(0);
            let place = Place::within(line.line, start, start + source.len());
            errors.add::<()>(place, message, "");
        }
    }
    for (name, place) in &reading.layout.scripts {
        let source = reading.setup.scripts.get(name);
        if let Some(message) = source.and_then(|source| Script::parse(source).err()) {
            let line = place.first + line_of(&message);
            let end = lines.get(line - 1).map_or(0, |line| line.len());
            errors.add::<()>(Place::within(line, 0, end), message, "");
        }
    }
    errors.finish()
}

/// Every step of every protocol, and where it stands, in the order of the text.
fn steps(reading: &Reading) -> impl Iterator<Item = (&Protocol, &Step, Lines)> {
    let protocols = reading.setup.protocols.iter();
    let layouts = &reading.layout.protocols;
    protocols.zip(layouts).flat_map(|(protocol, layout)| {
        let places = protocol.steps.iter().zip(&layout.steps);
        places.map(move |(step, place)| (protocol, step, *place))
    })
}

/// Complains of variables that are sent as they are written, as they stand in quotes or within a longer word.
fn literal_variables(reading: &Reading, lines: &[&str], errors: &mut Errors<'_>) {
    let clients = (0..reading.setup.clients.len()).map(|client| Who::Client(ClientId(client)));
    let names: SortedSet<String> = clients
        .flat_map(|client| known_variables(&reading.setup, client))
        .collect();
    let layout = &reading.layout;
    let protocols = layout.protocols.iter().map(|it| ("protocol", it.lines));
    let scripts = layout.scripts.iter().map(|it| ("script", it.1));
    let schedule = layout.schedule.map(|it| ("schedule", it));
    for (block, place) in protocols.chain(scripts).chain(schedule) {
        for number in place.first + 1..=place.last {
            let line = lines.get(number - 1).copied().unwrap_or_default();
            // The operator has no variables.
            if !line.trim_start().starts_with("operator>") {
                literals_in(line, number, block, &names, errors);
            }
        }
    }
}

/// Those in one line, by the colours that it has: whatever is not shown as a variable is none.
fn literals_in(
    line: &str,
    number: usize,
    block: &str,
    names: &SortedSet<String>,
    errors: &mut Errors<'_>,
) {
    let mut start = 0;
    for piece in highlight::pieces(line, block) {
        let is_string = piece.class == "x-string";
        let may_be_meant = is_string || piece.class.is_empty() && block != "script";
        for name in names.iter().filter(|_| may_be_meant) {
            let written = ["{", name, "}"].concat();
            let Some(at) = piece.text.find(&written) else {
                continue;
            };
            let (why, expected) = match (is_string, block) {
                (true, "script") => (
                    "in a script, `",
                    "`ARGV[1]`, and the variable behind the keys of the EVAL",
                ),
                (true, _) => (
                    "in quotes, `",
                    "it without quotes, as a whole argument or value",
                ),
                _ => (
                    "within a word, `",
                    "a parameter or variable that holds the whole word",
                ),
            };
            let place = Place::within(number, start + at, start + at + written.len());
            let message = [
                why,
                &written,
                "` is sent as it is written, not the variable's value",
            ]
            .concat();
            errors.add::<()>(place, message, expected);
        }
        start += piece.text.len();
    }
}

/// The command or the first word of a statement that was perhaps meant; `None`: there is such a command, or none is near.
pub fn command_meant(word: &str) -> Option<&'static str> {
    let commands = store::all_commands().map(|command| command.name);
    let known: Vec<&str> = commands.chain(STATEMENTS).collect();
    nearest(word, &known).filter(|near| !near.eq_ignore_ascii_case(word))
}

/// Whether the word begins an action of a schedule, as `clock` and `crash` do: no server knows it.
pub fn begins_action(word: &str) -> bool {
    super::parse::begins_action(&word.to_ascii_lowercase())
}

/// Whether the reply that stands behind `=>` is an error: `ERR ...`, `WRONGTYPE ...`, `ERROR 1146 ...`.
fn is_error(reply: &str) -> bool {
    let word = reply.split(' ').next().unwrap_or_default();
    word.len() > 2 && word.bytes().all(|byte| byte.is_ascii_uppercase())
}

/// A lock that a step takes and that no line watches, where other locks are watched: every verdict on its holders is left open.
fn unwatched<'a>(step: &'a Step, protocol: &Protocol, setup: &'a Setup) -> Option<&'a [u8]> {
    let watched = || {
        setup
            .watches
            .iter()
            .filter_map(|watch| watch.lock.as_deref())
    };
    watched().next()?;
    let clients = (0..setup.clients.len()).map(ClientId);
    let runs = |client: &ClientId| setup.protocol_of(*client) == Some(protocol);
    let mut locks = clients
        .filter(runs)
        .flat_map(|client| setup.locks_of(client, step));
    locks.find(|lock| !watched().any(|key| key == *lock))
}

fn expects_an_error(step: &Step) -> bool {
    let mut clauses = step.clauses.iter();
    clauses.any(|clause| matches!(clause.pattern, Pattern::Error(_) | Pattern::Else))
}

/// The database before the schedule; `None` where something in the text may give it other tables and columns.
fn database(reading: &Reading) -> Option<Database> {
    let defines = |request: &Request| match request {
        Request::Database(Ok(statement)) => {
            let word = statement
                .source()
                .split_whitespace()
                .next()
                .unwrap_or_default();
            DEFINITIONS
                .iter()
                .any(|other| word.eq_ignore_ascii_case(other))
        }
        _ => false,
    };
    let is_fixed = !reading.requests().any(defines);
    is_fixed.then(|| World::new(&reading.setup).0.database)
}

/// Why a server can only answer this with an error, and at which byte of a statement.
fn why_never(request: &Request, database: Option<&Database>) -> Option<(String, usize)> {
    match request {
        Request::Store(_, arguments) => Some((why_no_command(arguments)?, 0)),
        Request::Database(Err(error)) => {
            let offset = error.offset.unwrap_or_default() as usize;
            Some((error.to_string(), offset))
        }
        Request::Database(Ok(statement)) => {
            let error = tried(statement, database?.clone())?;
            // A savepoint is what the client's transaction has, which nobody knows beforehand.
            let is_certain =
                WHATEVER_IS_IN_IT.contains(&error.code) && !error.message.starts_with("SAVEPOINT");
            is_certain.then(|| (error.to_string(), 0))
        }
        _ => None,
    }
}

fn why_no_command(arguments: &[Argument]) -> Option<String> {
    let word = |argument: &Argument| match argument {
        Argument::Literal(bytes) => bytes.clone(),
        _ => b"1".to_vec(),
    };
    let argv: Vec<Vec<u8>> = arguments.iter().map(word).collect();
    if let [Argument::Literal(name), Argument::Literal(source), ..] = arguments
        && name.to_ascii_uppercase().starts_with(b"EVAL")
        && !name.to_ascii_uppercase().starts_with(b"EVALSHA")
    {
        return Script::parse(source).err();
    }
    if let Some(command) = store::left_out(&argv) {
        return Some(format!(
            "Redis has {command}; the playground's store does not"
        ));
    }
    let why = store::why_never(&argv)?.trim_end().to_string();
    let meant = command_meant(&String::from_utf8_lossy(argv.first()?));
    Some(match meant {
        Some(meant) if STATEMENTS.contains(&meant) => {
            format!(
                "{why} (did you mean {}, a statement of SQL?)",
                quoted(meant)
            )
        }
        Some(meant) => format!("{why} (did you mean {}?)", quoted(meant)),
        None => why,
    })
}

/// What the database answers to a statement whose variables are NULL, where that is an error.
fn tried(statement: &Statement, mut database: Database) -> Option<SqlError> {
    let variables = statement.variables().iter();
    let parameters: Vec<(String, Value)> =
        variables.map(|name| (name.clone(), Value::Null)).collect();
    let input = DatabaseInput::Statement {
        connection: connection_of(Who::Operator),
        statement,
        parameters: &parameters,
        now: START_OF_WALL_CLOCK,
    };
    match database.apply(input).replies.into_iter().next_back()?.1 {
        SqlReply::Error(error) => Some(error),
        _ => None,
    }
}

/// Where this byte of a step's request stands, to the end of its line.
fn place_in(step: &Step, place: Lines, offset: usize, lines: &[&str]) -> Place {
    let mut before = 0;
    let mut number = place.first;
    for source in &step.source {
        let stands = |line: &usize| {
            lines
                .get(*line - 1)
                .is_some_and(|text| text.contains(source))
        };
        number = (number..=place.last).find(stands).unwrap_or(number);
        if offset <= before + source.len() {
            let line = lines.get(number - 1).copied().unwrap_or_default();
            let start = line.find(source.as_str()).unwrap_or(0);
            return Place::within(number, start + offset - before, start + source.len());
        }
        before += source.len() + 1;
        number += 1;
    }
    Place::within(place.first, 0, 0)
}

/// The line of a script that `user_script:3: ...` names; 0 where it names none.
fn line_of(message: &str) -> usize {
    let rest = message.strip_prefix("user_script:").unwrap_or_default();
    rest.split(':')
        .next()
        .and_then(|line| line.parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{library, read};

    /// The warnings of story 7 with this in place of that.
    fn warned(change: (&str, &str)) -> Vec<String> {
        let text = library::story_named("07a-split-acquire").unwrap().text;
        assert!(text.contains(change.0), "{}", change.0);
        let text = text.replacen(change.0, change.1, 1);
        let found = warnings(&text, &read(&text).unwrap());
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_cannot_work_is_told_at_its_line() {
        let all = [
            ("token: INCR fence:sku-1", "token: INRC fence:sku-1"),
            ("token: INCR fence:sku-1", "token: SELEC qty FROM t"),
            ("token: INCR fence:sku-1", "token: INCR fence:sku-1 2"),
            ("token: INCR fence:sku-1", "token: XADD fence:sku-1 * a 1"),
            ("SET qty = qty - 1", "SET qyt = qty - 1"),
            ("UPDATE inventory", "UPDATE inventry"),
            ("AND qty >= 1", "AND AND qty >= 1"),
            (
                "return redis.call('DEL', KEYS[1])",
                "return redis.call('DEL', KEYS[1]",
            ),
        ];
        let told = all.map(|change| warned(change).join("; "));
        let expected = [
            "line 23, column 10: ERR unknown command 'INRC', with args beginning with: 'fence:sku-1' (did you mean `INCR`?)",
            "line 23, column 10: ERR unknown command 'SELEC', with args beginning with: 'qty' 'FROM' 't' (did you mean `SELECT`, a statement of SQL?)",
            "line 23, column 10: ERR wrong number of arguments for 'incr' command",
            "line 23, column 10: Redis has XADD; the playground's store does not",
            "line 25, column 10: ERROR 1054 (42S22): Unknown column 'qyt' in 'field list'",
            "line 25, column 10: ERROR 1146 (42S02): Table 'test.inventry' doesn't exist",
            "line 26, column 31: ERROR 1064 (42000): You have an error in your SQL syntax; check the manual that corresponds to your MySQL \
             server version for the right syntax to use near 'AND qty >= 1 AND fence_token < {token}' at line 2",
            "line 12, column 1: user_script:4: ')' expected (to close '(' at line 3) near 'end'",
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn braces_that_are_no_variable_are_told() {
        let quoted = "is sent as it is written, not the variable's value: expected it without quotes, as a whole argument or value";
        let within = "is sent as it is written, not the variable's value: expected a parameter or variable that holds the whole word";
        let change = |from: &'static str, to| warned((from, to)).join("; ");
        let set = "acquire: SET lock:sku-1 {me}";
        let all = [
            (change(set, "acquire: SET lock:sku-1 '{me}'"), format!("line 20, column 28: in quotes, `{{me}}` {quoted}")),
            (change(set, "acquire: SET lock:sku-1 \"a {me}\""), format!("line 20, column 30: in quotes, `{{me}}` {quoted}")),
            (change(set, "acquire: SET lock:sku-1 id:{me}"), format!("line 20, column 30: within a word, `{{me}}` {within}")),
            (
                change("sku = 'sku-1' AND", "sku = '{me}' AND"),
                format!("line 26, column 20: in quotes, `{{me}}` {quoted}"),
            ),
            (
                change("redis.call('DEL', KEYS[1])", "redis.call('DEL', '{me}')"),
                "line 11, column 31: in a script, `{me}` is sent as it is written, not the variable's value: \
                 expected `ARGV[1]`, and the variable behind the keys of the EVAL".to_string(),
            ),
            // No variable is called that: a hash tag of a cluster, or plain text.
            (change(set, "acquire: SET lock:sku-1 {user}:'{you}'"), String::new()),
        ];
        for (told, expected) in all {
            assert_eq!(told, expected);
        }
    }

    #[test]
    fn what_is_coloured_as_a_variable_is_one() {
        for text in library::stories().iter().map(|story| story.text) {
            let reading = read(text).unwrap();
            for (_, step, place) in steps(&reading) {
                let lines = text.lines().skip(place.first - 1).take(step.source.len());
                let pieces = lines.flat_map(|line| highlight::pieces(line, "protocol"));
                let coloured: Vec<String> = pieces
                    .filter(|piece| piece.class == "x-var")
                    .map(|piece| piece.text)
                    .collect();
                let variables: Vec<String> = super::super::request::variables(&step.request)
                    .iter()
                    .map(|name| format!("{{{name}}}"))
                    .collect();
                assert_eq!(coloured, variables, "{:?}", step.source);
            }
        }
    }

    #[test]
    fn a_savepoint_is_known_to_its_transaction_alone() {
        let back = (
            "token: INCR fence:sku-1",
            "token: ROLLBACK TO SAVEPOINT attempt",
        );
        assert_eq!(warned(back), [""; 0]);
    }

    #[test]
    fn no_story_is_warned_of() {
        for story in library::stories() {
            let found = warnings(story.text, &read(story.text).unwrap());
            assert_eq!(found, [], "{}", story.name);
        }
    }
}

//! The call of a client library that each step of a protocol stands for, as whoever runs the protocol would write it.

use crate::sim::client::protocol::{Argument, Request};
use crate::sim::database::{Statement, StatementKind};
use crate::sim::setup::Setup;
use crate::timeline::Timeline;

use super::request::Call;
use super::routine::{Routine, Shape};
use super::walk::{Asker, Asking, Language, argument, call_of, names_in};
use super::words::sql_with;
use super::{go, junit, phpunit, python, rust, vitest};

/// In what calls can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Library {
    /// redis-py and PyMySQL.
    Python,
    /// ioredis and mysql2.
    TypeScript,
    /// phpredis and PDO.
    Php,
    /// The facades of Laravel.
    Laravel,
    /// go-redis and database/sql.
    Go,
    /// Jedis and JDBC.
    Java,
    /// The crates redis and mysql_async.
    Rust,
}

impl Library {
    /// All of them, in the order in which they are offered.
    pub const ALL: [Library; 7] = [
        Library::Python,
        Library::TypeScript,
        Library::Laravel,
        Library::Php,
        Library::Go,
        Library::Java,
        Library::Rust,
    ];

    /// Its name and what it is: `python`, `Python: redis-py, PyMySQL`.
    pub fn names(self) -> [&'static str; 2] {
        match self {
            Library::Python => ["python", "Python: redis-py, PyMySQL"],
            Library::TypeScript => ["typescript", "TypeScript: ioredis, mysql2"],
            Library::Laravel => ["laravel", "PHP: Laravel"],
            Library::Php => ["php", "PHP: phpredis, PDO"],
            Library::Go => ["go", "Go: go-redis, database/sql"],
            Library::Java => ["java", "Java: Jedis, JDBC"],
            Library::Rust => ["rust", "Rust: redis, mysql_async"],
        }
    }

    /// The one that is called so.
    pub fn named(name: &str) -> Option<Library> {
        Library::ALL
            .into_iter()
            .find(|library| library.names()[0] == name)
    }

    fn language(self) -> &'static dyn Language {
        match self {
            Library::Python => python::LANGUAGE,
            Library::TypeScript => vitest::LANGUAGE,
            Library::Laravel | Library::Php => phpunit::LANGUAGE,
            Library::Go => go::LANGUAGE,
            Library::Java => junit::LANGUAGE,
            Library::Rust => rust::LANGUAGE,
        }
    }
}

/// For each protocol, in the order of the text, the call that each step stands for, in one line.
pub fn calls(setup: &Setup, timeline: &Timeline, library: Library) -> Vec<Vec<String>> {
    let protocols = setup.protocols.iter().enumerate();
    let calls = protocols.map(|(place, protocol)| {
        let routine = Routine::new(setup, timeline, place, false).ok();
        let call = protocol.steps.iter().map(|step| {
            let shape = match &routine {
                Some(routine) => routine.shape_of(&step.label),
                None => usual_shape(&step.request),
            };
            call(setup, &step.request, shape, library)
        });
        call.collect()
    });
    calls.collect()
}

/// What is asked of a reply, where nobody knows what is made of it.
fn usual_shape(request: &Request) -> Shape {
    match request {
        Request::Database(Ok(statement)) if statement.kind() == StatementKind::Select => Shape::Row,
        Request::Database(_) => Shape::Affected,
        _ => Shape::Plain,
    }
}

fn call(setup: &Setup, request: &Request, shape: Shape, library: Library) -> String {
    let language = library.language();
    let name = match request {
        Request::Store(Some(server), _) if setup.servers.len() > 1 => setup.server_name(*server),
        _ => "redis",
    };
    let server = match (library, name) {
        (Library::Go, "redis") => "rdb".to_owned(),
        _ => language.server(name),
    };
    let request = in_one_line(request);
    let call = Call::of(&request);
    let own = match (library, &call) {
        (_, Call::Statement(statement)) => Some(query(library, statement)),
        (Library::Laravel, call) => phpunit::laravel(call).map(|call| match name {
            "redis" => call,
            name => call.replacen("Redis::", &format!("Redis::connection('{name}')->"), 1),
        }),
        (Library::Go, call) => in_go(language, &server, call, &request),
        (Library::Rust, call) => in_rust(language, &server, call, &request),
        _ => None,
    };
    own.unwrap_or_else(|| as_in_tests(library, &call, shape, &server))
}

/// As the exported tests call it, without what they put around it.
fn as_in_tests(library: Library, call: &Call<'_>, shape: Shape, server: &str) -> String {
    let language = library.language();
    let asker = Asker {
        who: Asking::Protocol,
        redis: server,
    };
    let written = call_of(language, call, shape, 0, asker).flat();
    let around = [("c.notes.", ""), ("c.", ""), ("$client->", "$")];
    let bare = around
        .into_iter()
        .find_map(|(before, instead)| Some(format!("{instead}{}", written.strip_prefix(before)?)));
    let awaits = if library == Library::TypeScript {
        "await "
    } else {
        ""
    };
    format!(
        "{awaits}{}{}",
        bare.unwrap_or(written),
        language.tables().form.end
    )
}

/// A statement as the database's own driver takes it.
fn query(library: Library, statement: &Statement) -> String {
    let language = library.language();
    let kind = statement.kind();
    let asks = kind == StatementKind::Select;
    let names = names_in(statement);
    // Placeholders without names take a value for every mention of a variable.
    let mentions = statement.pieces().into_iter().filter_map(|(_, name)| name);
    let mentions: Vec<String> = mentions.map(|name| language.variable(name)).collect();
    let marks = sql_with(statement, &|_| "?".to_owned());
    let sql = language.text(marks.as_bytes());
    let list = match mentions.is_empty() {
        true => String::new(),
        false => format!("[{}]", mentions.join(", ")),
    };
    let behind = if list.is_empty() { "" } else { ", " };
    match library {
        Library::Python => {
            let sql = sql_with(statement, &|name| format!("%({name})s"));
            let values = pairs(language, &names, ": ");
            let values = values.map_or(String::new(), |values| format!(", {{{values}}}"));
            format!("cursor.execute({}{values})", language.text(sql.as_bytes()))
        }
        Library::TypeScript => format!("await mysql.execute({sql}{behind}{list});"),
        Library::Laravel => match phpunit::laravel_transaction(kind) {
            Some(call) => call.to_owned(),
            None => {
                let method = phpunit::laravel_method(kind);
                format!("DB::{method}({sql}{behind}{list});")
            }
        },
        Library::Php => format!("$mysql->prepare({sql})->execute({list});"),
        Library::Go => {
            let method = if asks {
                "QueryRowContext"
            } else {
                "ExecContext"
            };
            format!("db.{method}(ctx, {sql}{behind}{})", mentions.join(", "))
        }
        Library::Java => {
            let method = if asks {
                "executeQuery"
            } else {
                "executeUpdate"
            };
            let set = mentions.iter().enumerate().map(|(place, variable)| {
                format!(" statement.setObject({}, {variable});", place + 1)
            });
            let set: String = set.collect();
            format!("statement = mysql.prepareStatement({sql});{set} statement.{method}();")
        }
        Library::Rust => {
            let method = if asks { "exec_first" } else { "exec_drop" };
            let values = pairs(language, &names, " => ");
            let values = values.map_or("()".to_owned(), |values| format!("params! {{ {values} }}"));
            let sql = sql_with(statement, &|name| format!(":{name}"));
            let sql = language.text(sql.as_bytes());
            format!("mysql.{method}({sql}, {values}).await?;")
        }
    }
}

/// Names with their values.
fn pairs(language: &dyn Language, names: &[&String], between: &str) -> Option<String> {
    let pairs = names.iter().map(|name| {
        let value = language.variable(name);
        format!("{}{between}{value}", language.text(name.as_bytes()))
    });
    let pairs: Vec<String> = pairs.collect();
    (!pairs.is_empty()).then(|| pairs.join(", "))
}

/// A Redis command in Go: its own method for the two that locks are made of, else `Do`.
fn in_go(
    language: &dyn Language,
    server: &str,
    call: &Call<'_>,
    request: &Request,
) -> Option<String> {
    let given = |arguments: &[Argument]| {
        let written = arguments
            .iter()
            .map(|one| format!(", {}", argument(language, one)));
        written.collect::<String>()
    };
    Some(match call {
        Call::Set {
            key,
            value,
            options,
        } => match options.as_slice() {
            [(px, Some(lease)), (nx, None)] | [(nx, None), (px, Some(lease))]
                if px == "PX" && nx == "NX" =>
            {
                let [key, value, lease] = [key, value, lease].map(|one| argument(language, one));
                format!("{server}.SetNX(ctx, {key}, {value}, {lease}*time.Millisecond)")
            }
            _ => format!("{server}.Do(ctx{})", given(words_of(request)?)),
        },
        Call::Eval {
            script,
            keys,
            arguments,
        } => {
            let script = language.script_name(script, false);
            let keys: Vec<String> = keys.iter().map(|key| argument(language, key)).collect();
            let keys = keys.join(", ");
            format!(
                "{server}.Eval(ctx, {script}, []string{{{keys}}}{})",
                given(arguments)
            )
        }
        Call::Command(..) => format!("{server}.Do(ctx{})", given(words_of(request)?)),
        _ => return None,
    })
}

/// A Redis command in Rust.
fn in_rust(
    language: &dyn Language,
    server: &str,
    call: &Call<'_>,
    request: &Request,
) -> Option<String> {
    let each = |method: &str, arguments: &[Argument]| {
        let written = arguments
            .iter()
            .map(|one| format!(".{method}({})", argument(language, one)));
        written.collect::<String>()
    };
    Some(match call {
        Call::Eval {
            script,
            keys,
            arguments,
        } => format!(
            "Script::new({}){}{}.invoke_async(&mut {server}).await?;",
            language.script_name(script, false),
            each("key", keys),
            each("arg", arguments)
        ),
        Call::Set { .. } | Call::Command(..) => {
            let (name, rest) = words_of(request)?.split_first()?;
            format!(
                "cmd({}){}.query_async(&mut {server}).await?;",
                argument(language, name),
                each("arg", rest)
            )
        }
        _ => return None,
    })
}

/// A Redis command, word by word.
fn words_of(request: &Request) -> Option<&[Argument]> {
    match request {
        Request::Store(_, words) => Some(words),
        _ => None,
    }
}

/// The request, with blanks in place of the line breaks of a statement.
fn in_one_line(request: &Request) -> Request {
    let Request::Database(Ok(statement)) = request else {
        return request.clone();
    };
    let source = statement.source();
    let lines: Vec<&str> = source.lines().map(str::trim).collect();
    match Statement::parse(&lines.join(" ")) {
        Ok(statement) if source.contains('\n') => Request::Database(Ok(statement)),
        _ => request.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario;

    /// The calls of a story's first protocol, each behind its label.
    fn calls_of(story: &str, library: Library) -> Vec<String> {
        let story = scenario::library::story_named(story).unwrap();
        let reading = scenario::read(story.text).unwrap();
        let timeline = Timeline::new(reading.setup.clone());
        let calls = calls(&reading.setup, &timeline, library);
        let steps = reading.setup.protocols[0].steps.iter();
        let labelled = steps.zip(&calls[0]);
        labelled
            .map(|(step, call)| format!("{}: {call}", step.label))
            .collect()
    }

    #[test]
    fn the_split_acquire_as_people_write_it() {
        let check = |library: Library, expected: [&str; 4]| {
            assert_eq!(calls_of("07a-split-acquire", library), expected);
        };
        check(
            Library::Python,
            [
                "acquire: redis.set(\"lock:sku-1\", me, nx=True, px=10000)",
                "token: redis.incr(\"fence:sku-1\")",
                "write: cursor.execute(\"UPDATE inventory SET qty = qty - 1, fence_token = %(token)s WHERE sku = 'sku-1' AND qty >= 1 AND \
                 fence_token < %(token)s\", {\"token\": token})",
                "release: redis.eval(UNLOCK, 1, \"lock:sku-1\", me)",
            ],
        );
        check(
            Library::Laravel,
            [
                "acquire: Redis::set('lock:sku-1', $me, 'PX', 10000, 'NX');",
                "token: Redis::incr('fence:sku-1');",
                "write: DB::update(\"UPDATE inventory SET qty = qty - 1, fence_token = ? WHERE sku = 'sku-1' AND qty >= 1 AND \
                 fence_token < ?\", [$token, $token]);",
                "release: Redis::eval(self::UNLOCK, 1, 'lock:sku-1', $me);",
            ],
        );
        check(
            Library::Go,
            [
                "acquire: rdb.SetNX(ctx, \"lock:sku-1\", me, 10000*time.Millisecond)",
                "token: rdb.Do(ctx, \"INCR\", \"fence:sku-1\")",
                "write: db.ExecContext(ctx, \"UPDATE inventory SET qty = qty - 1, fence_token = ? WHERE sku = 'sku-1' AND qty >= 1 AND \
                 fence_token < ?\", token, token)",
                "release: rdb.Eval(ctx, unlockScript, []string{\"lock:sku-1\"}, me)",
            ],
        );
        check(
            Library::TypeScript,
            [
                "acquire: await redis.set(\"lock:sku-1\", me, \"PX\", 10000, \"NX\");",
                "token: await redis.incr(\"fence:sku-1\");",
                "write: await mysql.execute(\"UPDATE inventory SET qty = qty - 1, fence_token = ? WHERE sku = 'sku-1' AND qty >= 1 AND \
                 fence_token < ?\", [token, token]);",
                "release: await redis.eval(UNLOCK, 1, \"lock:sku-1\", me);",
            ],
        );
    }

    #[test]
    fn every_step_of_every_story_stands_for_one_line() {
        for story in scenario::library::stories() {
            let reading = scenario::read(story.text).unwrap();
            let actions = reading.schedule.iter().map(|line| line.action.clone());
            let timeline = Timeline::replay(reading.setup.clone(), actions);
            for library in Library::ALL {
                let calls = calls(&reading.setup, &timeline, library);
                for (protocol, calls) in reading.setup.protocols.iter().zip(calls) {
                    assert_eq!(protocol.steps.len(), calls.len());
                    for call in calls {
                        let is_one_line = !call.trim().is_empty() && !call.contains('\n');
                        assert!(is_one_line, "{}: {}: {call:?}", story.name, protocol.name);
                    }
                }
            }
        }
    }
}

//! A test for pytest, with redis-py and PyMySQL.

use crate::sim::client::protocol::{Argument, Request};
use crate::sim::database::{Statement, Value as SqlValue};

use super::Options;
use super::claim::Replies;
use super::layout::{Code as Laid, Style, leaf, list};
use super::names::Reserved;
use super::plan::{OPERATOR, Part, Plan};
use super::request::Call;
use super::routine::{Routine, Send, Shape};
use super::walk::{
    Asked, Asker, Asking, Form, Guide, Language, Phrases, Proof, Questions, Tables, Walk, argument,
    arguments, names_in,
};
use super::words::{
    WHERE_MYSQL_IS, WHERE_REDIS_IS, WHERE_SEVERAL_ARE, indented, screaming, short, snake,
    unless_taken,
};

/// The test.
pub(super) fn print(plan: Plan<'_>, options: Options) -> String {
    super::walk::print(plan, options, &Python)
}

/// The language, for whoever asks for single calls.
pub(super) const LANGUAGE: &dyn Language = &Python;

const TABLES: Tables = Tables {
    form: Form {
        width: 88,
        tab: 4,
        style: Style::Black,
        remark: "# ",
        remark_width: 88,
        header: "",
        header_width: 87,
        end: "",
        forever: "while True:",
        if_open: ["if ", ":"],
        else_if: ["elif ", ":"],
        otherwise: "else:",
        close: "",
        leave: "return",
        nil: ["None", "None"],
        list: ["[", "]"],
    },
    guide: Guide {
        how: "To run it:",
        commands: &["pip install {packages}", "pytest"],
        packages: ["pytest", "redis", "PyMySQL"],
        redis: WHERE_REDIS_IS,
        several: WHERE_SEVERAL_ARE,
        variable: "REDIS_URL",
        mysql: WHERE_MYSQL_IS,
    },
    template: include_str!("texts/pytest.py"),
    phrases: Phrases {
        step: "{me}.{verb}({label})",
        step_freely: "{me}.{verb}()  # {name}",
        verbs: ["step", "sends", "loses", "delays", "finds_it_down"],
        see: "{me}.sees_the_reply()  # {name}",
        deliver: "{me}.delivers()  # {name}",
        give_up: "{me}.gives_up()  # {name}",
        start: [
            "{me}.starts(¦{label}¦waits_at_{server}¦)",
            "{me}.starts(waits_at_{server})  # {name}",
        ],
        start_asking: "waits_at_{server}",
        hear: "{me}.hears()  # {name}",
        withdraw: "{me}.withdraws(end_wait_at_{server})  # {name}",
        listen: "{me}.waits_for_a_message(¦{label}¦{channel}¦)",
        told: [
            "{me}.is_told(¦{label}¦{reply}¦)",
            "{me}.is_told({reply})  # {name}",
        ],
        clock: "{me}.clock.passes({n})",
        by_clock: [
            "clock.holds({lock}, {n})",
            "clock.forgets({lock})",
            "clock.asks_for({lock})",
            "clock.counts_a_vote_for({lock})",
        ],
        latch: "{latch} = Event()",
        wait: "wait_for({latch})",
        open: "{latch}.set()",
        lapse: "{me}.{redis}.pexpire(¦{key}¦0¦)",
        age: "{me}.{redis}.pexpire(¦{key}¦{n}¦)",
        ahead: "{me}.{redis}.incrby(¦{key}¦{n}¦)",
        database_clock: "affected_rows(¦{me}.mysql¦{statement}¦)",
        wipe: "{me}.{redis}.delete({key})  # lost",
        crash: "{me}.close()  # crashes",
        restart: "{me}.connect()",
        look_for_key: "left.append(¦{me}.{redis}.exists({key})¦)",
        look_for_deadline: "times_to_live.append(¦{me}.{redis}.pttl({key})¦)",
        raise: "raise {reply}",
        runs: ["{me}.runs(", ")"],
        together: ["run_together(", ")"],
        called: "{name}",
        seen: ["assert seen == [", "(", ")", "]"],
        commands: ["", ""],
        settings: [
            ["STATEMENTS = [", "]"],
            ["TABLES = [", "]"],
            ["KEYS = [", "]"],
        ],
        is_gone: "assert operator.{redis}.exists({key}) == 0",
        stays: "assert operator.{redis}.pttl({key}) == -1",
        lapses: "assert 0 < operator.{redis}.pttl({key}) <= {n}",
        reads: [
            "operator.{redis}.get({key})",
            "operator.{redis}.lrange({key}, 0, -1)",
            "operator.{redis}.execute_command(\"HGETALL\", {key})",
            "sorted(operator.{redis}.smembers({key}))",
            "operator.{redis}.execute_command(\"ZRANGE\", {key}, 0, -1)",
        ],
    },
    questions: Questions {
        nil: ["{reply} is None", "{reply} is not None"],
        equal: ["{reply} == {value}", "{reply} != {value}"],
        error: [
            "isinstance({reply}, Exception)",
            "not isinstance({reply}, Exception)",
        ],
        named_error: [
            "error_code({reply}) == {value}",
            "error_code({reply}) != {value}",
        ],
        no_reply: ["{reply} is NO_REPLY", "{reply} is not NO_REPLY"],
        element: "{reply}[{n}]",
        count: "len({reply})",
        joints: [" and ", " or "],
    },
    proofs: [
        Proof::of("not any(late_writes)", "any(late_writes)").about("late_writes"),
        Proof::of("all(writes_of_holders)", "not all(writes_of_holders)")
            .about("writes_of_holders"),
        Proof::of("tokens == sorted(tokens)", "tokens != sorted(tokens)").about("tokens"),
        Proof::of(
            "len(set(tokens)) == len(tokens)",
            "len(set(tokens)) < len(tokens)",
        )
        .about("tokens"),
        Proof::of("least >= 0", "least < 0").after(&["least = value(¦operator.mysql¦{query}¦)"]),
        Proof::of(
            "{before} - stock == len(sales)",
            "{before} - stock != len(sales)",
        )
        .after(&["stock = value(¦operator.mysql¦{query}¦)"]),
        Proof::of(
            "gateway.paid() <= set(sales)",
            "not gateway.paid() <= set(sales)",
        ),
        Proof::of("len(set(paid)) == len(paid)", "len(set(paid)) < len(paid)")
            .after(&["paid = [charge.order for charge in gateway.charges if not charge.refunded]"]),
        Proof::of(
            "set(sales) <= gateway.paid()",
            "not set(sales) <= gateway.paid()",
        ),
        Proof::of("all(left)", "not all(left)"),
        Proof::of("-1 not in times_to_live", "-1 in times_to_live"),
    ],
};

/// Commands that redis-py has under their own name, with the same arguments in the same order.
const METHODS: &str = " APPEND DECR DECRBY EXISTS EXPIRE GET GETDEL HGET HGETALL HLEN HSET INCR INCRBY LINDEX LLEN LPOP LPUSH \
    LRANGE MGET PERSIST PEXPIRE PTTL PUBLISH RPOP RPUSH SADD SETNX SMEMBERS STRLEN TIME TTL TYPE ZCARD ZSCORE ";

struct Python;

impl Language for Python {
    fn tables(&self) -> &'static Tables {
        &TABLES
    }

    fn words(&self, plan: &Plan<'_>) -> Vec<(&'static str, String)> {
        let title = self.quoted(plan.title().trim_end_matches('.'));
        vec![
            ("title", title),
            ("test", snake(&short(&plan.title))),
            ("errors", errors(plan)),
        ]
    }

    fn reserved(&self) -> Reserved {
        Reserved {
            words: KEYWORDS,
            beginnings: &["test", "setup", "teardown", "pytest"],
        }
    }
    fn variable(&self, name: &str) -> String {
        variable(name)
    }
    fn latch(&self, name: &str) -> String {
        snake(name)
    }
    fn function(&self, name: &str) -> String {
        variable(name)
    }
    fn text(&self, bytes: &[u8]) -> String {
        text(bytes)
    }
    fn quoted(&self, line: &str) -> String {
        line.replace('\\', "\\\\").replace("\"\"\"", "\\\"\\\"\\\"")
    }

    fn script(&self, walk: &mut Walk<'_, '_>, indent: usize, name: &str, source: &str) {
        let source = block_text(source, indent);
        walk.line(indent, &format!("{} = {source}", screaming(name)));
        walk.line(0, "");
    }

    fn statement(&self, statement: &Statement, indent: usize) -> String {
        statement_text(statement, indent)
    }

    fn head(&self, walk: &mut Walk<'_, '_>, indent: usize, routine: &Routine<'_>) {
        let given = routine.handed(
            &walk.stores(),
            ["mysql", "gateway", "sales", "clock", "inbox"],
        );
        let given = given.into_iter();
        let given = given.chain(routine.given.iter().map(|name| variable(name)));
        let open = format!("def {}(", variable(&routine.name));
        walk.line(0, "");
        walk.line(0, "");
        walk.code(indent, &list(open, given.map(leaf).collect(), "):"));
        let doc =
            "\"\"\"One attempt, request by request; each is sent when the schedule says so.\"\"\"";
        walk.line(indent + 4, doc);
    }

    fn send(&self, walk: &mut Walk<'_, '_>, indent: usize, send: &Send<'_>, _is_declared: bool) {
        let reply = variable(&send.reply);
        let inner = if send.catches { indent + 4 } else { indent };
        let request = &send.step.request;
        let request = lambda(walk.call(request, send.shape, inner + 8, Asking::Protocol));
        let open = match send.is_used {
            true => format!("{reply} = yield Step("),
            false => "yield Step(".to_owned(),
        };
        let label = leaf(text(send.step.label.as_bytes()));
        let code = list(open, vec![label, request], ")");
        if !send.catches {
            return walk.code(indent, &code);
        }
        let errors = match send.step.request {
            Request::Gateway(_) => "GatewayError",
            _ if send.shape == Shape::Plain => "RedisError",
            _ => "pymysql.MySQLError",
        };
        walk.line(indent, "try:");
        walk.code(inner, &code);
        walk.line(indent, &format!("except {errors} as error:"));
        walk.line(inner, &format!("{reply} = error"));
    }

    fn bind(&self, name: &str, reply: &str, element: Option<usize>, _is_declared: bool) -> String {
        let element = element.map_or(String::new(), |element| format!("[{element}]"));
        format!("{} = {}{element}", variable(name), variable(reply))
    }

    fn sell(&self, units: u64, order: &str) -> String {
        match units {
            1 => format!("sales.append({order})"),
            units => format!("sales.extend([{order}] * {units})"),
        }
    }

    fn script_name(&self, name: &str, as_digest: bool) -> String {
        match as_digest {
            true => format!("sha1_of({})", screaming(name)),
            false => screaming(name),
        }
    }

    fn call(&self, call: &Call<'_>, shape: Shape, indent: usize, asker: Asker<'_>) -> Laid {
        let [redis, mysql] = asker.connections();
        let given = |one: &[Argument]| arguments(self, one);
        match call {
            Call::Set {
                key,
                value,
                options,
            } => {
                let mut items = vec![leaf(argument(self, key)), leaf(argument(self, value))];
                items.extend(options.iter().map(|(word, number)| {
                    let number = number.map_or("True".to_owned(), |number| argument(self, number));
                    leaf(format!("{}={number}", word.to_ascii_lowercase()))
                }));
                list(format!("{redis}.set("), items, ")")
            }
            Call::Eval {
                script,
                keys,
                arguments,
            } => {
                let mut items = vec![leaf(screaming(script)), leaf(keys.len().to_string())];
                items.extend(given(keys));
                items.extend(given(arguments));
                list(format!("{redis}.eval("), items, ")")
            }
            Call::Command(name, arguments) if name == "DEL" => {
                list(format!("{redis}.delete("), given(arguments), ")")
            }
            Call::Command(name, arguments) if METHODS.contains(&format!(" {name} ")) => list(
                format!("{redis}.{}(", name.to_ascii_lowercase()),
                given(arguments),
                ")",
            ),
            Call::Command(name, arguments) => {
                let mut items = vec![leaf(text(name.as_bytes()))];
                items.extend(given(arguments));
                list(format!("{redis}.execute_command("), items, ")")
            }
            Call::Statement(statement) => {
                let function = shape.function("affected_rows");
                let mut items = vec![leaf(mysql), leaf(statement_text(statement, indent))];
                items.extend(
                    names_in(statement)
                        .iter()
                        .map(|name| leaf(format!("{0}={0}", variable(name)))),
                );
                list(format!("{function}("), items, ")")
            }
            // The walker writes what is the test's own.
            _ => leaf("None"),
        }
    }

    fn charge(&self, mut given: Vec<Laid>, key: Option<Laid>) -> (&'static str, Vec<Laid>) {
        given.extend(key.map(|key| leaf(format!("key={}", key.flat()))));
        ("charge", given)
    }

    fn ask(&self, walk: &mut Walk<'_, '_>, indent: usize, asked: &Asked<'_>) {
        let mut items = vec![
            leaf(text(asked.source.as_bytes())),
            lambda(walk.asked(asked, indent + 8)),
        ];
        items.extend(asked.waits.map(leaf));
        let verb = asked.either("asks", "starts_asking");
        walk.code(indent, &list(format!("{}.{verb}(", asked.me), items, ")"));
    }

    fn milliseconds(&self, milliseconds: &Argument) -> String {
        argument(self, milliseconds)
    }

    fn handed(&self, routine: &Routine<'_>, client: &str, stores: &[String]) -> Vec<String> {
        let stores: Vec<String> = stores
            .iter()
            .map(|name| format!("{client}.{name}"))
            .collect();
        let [mysql, clock, inbox] =
            ["mysql", "clock", "inbox"].map(|member| format!("{client}.{member}"));
        routine.handed(&stores, [&mysql, "gateway", "sales", &clock, &inbox])
    }

    fn given(&self, name: &str, value: String) -> String {
        format!("{}={value}", variable(name))
    }

    fn part(
        &self,
        walk: &mut Walk<'_, '_>,
        indent: usize,
        part: &Part<'_>,
        names: [&str; 2],
    ) -> usize {
        let [name, me] = names;
        walk.line(indent, &format!("def {name}():"));
        if part.is_operator() {
            return indent + 4;
        }
        let client = text(part.name.as_bytes());
        walk.line(indent + 4, &format!("with Client({client}, seen) as {me}:"));
        indent + 8
    }

    fn part_name(&self, name: &str) -> String {
        match name {
            OPERATOR => "the_operator".to_owned(),
            name => format!("client_{}", snake(name)),
        }
    }

    fn near(&self, number: i64, _place: usize, _element: Option<usize>) -> String {
        format!("pytest.approx({number}, abs=1000)")
    }

    fn sql_value(&self, value: &SqlValue) -> String {
        match value {
            SqlValue::Null => "None".to_owned(),
            SqlValue::Text(words) => text(words.as_bytes()),
            SqlValue::DateTime(time) => {
                format!(
                    "datetime.fromisoformat({})",
                    text(time.to_string().as_bytes())
                )
            }
            SqlValue::Decimal(number) if number.scale() > 0 => format!("Decimal(\"{number}\")"),
            other => other.to_string(),
        }
    }

    fn row(&self, row: &[SqlValue]) -> Laid {
        let values: Vec<String> = row.iter().map(|value| self.sql_value(value)).collect();
        let comma = if values.len() == 1 { "," } else { "" };
        leaf(format!("({}{comma})", values.join(", ")))
    }

    fn rows_are(
        &self,
        walk: &mut Walk<'_, '_>,
        indent: usize,
        _table: &str,
        query: &str,
        rows: Vec<Laid>,
    ) {
        let open = format!("assert rows(operator.mysql, {query}) == [");
        walk.code(indent, &list(open, rows, "]"));
    }

    fn key_is(&self, walk: &mut Walk<'_, '_>, indent: usize, read: &str, value: Laid) {
        let open = format!("assert {read} == {}", value.open);
        walk.code(indent, &Laid { open, ..value });
    }

    fn charges_are(&self, walk: &mut Walk<'_, '_>, indent: usize, charges: &[(String, u64, bool)]) {
        let charges = charges.iter().map(|(order, amount, refunded)| {
            let refunded = if *refunded { ", refunded=True" } else { "" };
            let order = text(order.as_bytes());
            leaf(format!("Charge({order}, {amount}{refunded})"))
        });
        walk.code(
            indent,
            &list("assert gateway.charges == [", charges.collect(), "]"),
        );
    }

    fn named(
        &self,
        walk: &mut Walk<'_, '_>,
        indent: usize,
        name: &str,
        replies: &[Replies],
        as_numbers: bool,
    ) {
        let lists: Vec<String> = replies.iter().map(list_of_replies).collect();
        let is_text = as_numbers && replies.iter().any(|replies| replies.element.is_some());
        if let ([only], false) = (lists.as_slice(), is_text) {
            return walk.line(indent, &format!("{name} = {only}"));
        }
        let lists = lists.iter().map(|list| leaf(format!("*{list}")));
        walk.code(indent, &list(format!("{name} = ["), lists.collect(), "]"));
        if is_text {
            walk.line(
                indent,
                &format!("{name} = [int(token) for token in {name}]"),
            );
        }
    }

    /// `assert condition, "message"`.
    fn assert(
        &self,
        walk: &mut Walk<'_, '_>,
        indent: usize,
        proof: &Proof<'_>,
        message: &str,
        is_broken: bool,
    ) {
        let condition = if is_broken { proof.breaks } else { proof.holds };
        let message = text(message.as_bytes());
        let line = format!("assert {condition}, {message}");
        if indent + line.chars().count() <= TABLES.form.width {
            return walk.line(indent, &line);
        }
        walk.line(indent, &format!("assert {condition}, ("));
        walk.line(indent + 4, &message);
        walk.line(indent, ")");
    }
}

/// The errors that are looked at like any other reply.
fn errors(plan: &Plan<'_>) -> String {
    let mut errors = Vec::new();
    errors.extend(plan.store.then_some("RedisError"));
    errors.extend(plan.database.then_some("pymysql.MySQLError"));
    errors.extend(plan.gateway.then_some("GatewayError"));
    match errors.as_slice() {
        [only] => (*only).to_owned(),
        errors => format!("({})", errors.join(", ")),
    }
}

fn lambda(call: Laid) -> Laid {
    Laid {
        open: format!("lambda: {}", call.open),
        ..call
    }
}

fn list_of_replies(replies: &Replies) -> String {
    let (who, what) = (text(replies.who.as_bytes()), text(replies.what.as_bytes()));
    let element = replies
        .element
        .map_or(String::new(), |element| format!(", element={element}"));
    let only = replies
        .only
        .map_or(String::new(), |only| format!("[{only}:{}]", only + 1));
    format!("replies(seen, {who}, {what}{element}){only}")
}

const KEYWORDS: &str = " and as assert async await break class continue def del elif else except finally for from global if import \
    in is lambda nonlocal not or pass raise return try while with yield redis mysql gateway sales clock inbox rows row value error Step \
    type id None ";

/// A variable's name in Python.
pub(super) fn variable(name: &str) -> String {
    unless_taken(snake(name), KEYWORDS)
}

/// A string, or bytes where they are no text.
fn text(bytes: &[u8]) -> String {
    let Ok(text) = std::str::from_utf8(bytes) else {
        let bytes = bytes.iter().map(|byte| format!("\\x{byte:02x}"));
        return format!("b\"{}\"", bytes.collect::<String>());
    };
    let quote = if text.contains('"') && !text.contains('\'') {
        '\''
    } else {
        '"'
    };
    let mut out = String::from(quote);
    for letter in text.chars() {
        match letter {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            letter if letter == quote => {
                out.push('\\');
                out.push(letter);
            }
            letter if letter.is_control() => out.push_str(&format!("\\x{:02x}", letter as u32)),
            letter => out.push(letter),
        }
    }
    out.push(quote);
    out
}

/// Text of several lines in three quotes, closed in this column.
fn block_text(source: &str, indent: usize) -> String {
    let escaped = source
        .replace('\\', "\\\\")
        .replace("\"\"\"", "\\\"\\\"\\\"");
    let (lines, blanks) = (indented(&escaped, indent), " ".repeat(indent));
    format!("\"\"\"\n{lines}\n{blanks}\"\"\"")
}

/// An SQL statement as PyMySQL takes it.
fn statement_text(statement: &Statement, indent: usize) -> String {
    let mut sql = String::new();
    let has_values = !statement.variables().is_empty();
    for (piece, name) in statement.pieces() {
        match has_values {
            true => sql.push_str(&piece.replace('%', "%%")),
            false => sql.push_str(piece),
        }
        if let Some(name) = name {
            sql.push_str(&format!("%({})s", variable(name)));
        }
    }
    match sql.contains('\n') {
        true => block_text(&sql, indent),
        false => text(sql.as_bytes()),
    }
}

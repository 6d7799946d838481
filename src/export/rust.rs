//! A test for cargo, with tokio and the crates redis and mysql_async.

use crate::sim::client::protocol::Argument;
use crate::sim::database::{Statement, Value as SqlValue};
use crate::sim::event::Value;

use super::Options;
use super::claim::Replies;
use super::layout::{Code as Laid, Style, leaf, list};
use super::names::Reserved;
use super::plan::{Move, OPERATOR, Part, Plan};
use super::request::Call;
use super::routine::{Code, Routine, Send, Shape, is_sent_first};
use super::walk::{
    Asked, Asker, Asking, BRACES, Form, Guide, Language, Phrases, Proof, Questions, Tables, Walk,
    names_in,
};
use super::words::{
    WHERE_MYSQL_IS, WHERE_REDIS_IS, WHERE_SEVERAL_ARE, screaming, short, snake, sql_with,
    unless_taken,
};

/// The test.
pub(super) fn print(plan: Plan<'_>, options: Options) -> String {
    let mut replies = Vec::new();
    for routine in &plan.routines {
        super::routine::assigned_in(&routine.code, &mut replies);
    }
    let numbers = numbers(&plan);
    super::walk::print(plan, options, &Rust { replies, numbers })
}

/// The language, for whoever asks for single calls.
pub(super) const LANGUAGE: &dyn Language = &Rust {
    replies: Vec::new(),
    numbers: Vec::new(),
};

const TABLES: Tables = Tables {
    form: Form {
        style: Style::Rustfmt,
        forever: "loop {",
        if_open: ["if ", " {"],
        else_if: ["} else if ", " {"],
        leave: "return Ok(())",
        nil: ["Reply::Nil", "Reply::Nil"],
        list: ["list![", "]"],
        ..BRACES
    },
    guide: Guide {
        how: "To run it, as a file in tests/ of a package:",
        commands: &["cargo add --dev {packages}", "cargo test"],
        packages: [
            "tokio --features tokio/full",
            "redis --features redis/tokio-comp",
            "mysql_async",
        ],
        redis: WHERE_REDIS_IS,
        several: WHERE_SEVERAL_ARE,
        variable: "REDIS_URL",
        mysql: WHERE_MYSQL_IS,
    },
    template: include_str!("texts/rust.rs"),
    phrases: Phrases {
        step: "{me}.{verb}(¦{label}¦).await;",
        step_freely: "{me}.{verb}().await; // {name}",
        verbs: ["step", "sends", "loses", "delays", "finds_it_down"],
        see: "{me}.sees_the_reply().await; // {name}",
        deliver: "{me}.delivers().await; // {name}",
        give_up: "{me}.gives_up().await; // {name}",
        start: [
            "{me}.starts(¦{label}¦\"{server}\"¦).await;",
            "{me}.starts(\"{server}\").await; // {name}",
        ],
        start_asking: "\"{server}\"",
        hear: "{me}.hears().await; // {name}",
        withdraw: "{me}.withdraws(\"{server}\").await; // {name}",
        listen: "{me}.waits_for_a_message(¦{label}¦{channel}¦).await;",
        told: [
            "{me}.is_told(¦{label}¦{reply}¦).await;",
            "{me}.is_told({reply}).await; // {name}",
        ],
        clock: "{me}.clock.lock().unwrap().passes({n});",
        by_clock: [
            "steps.clock().holds({lock}, {n})",
            "steps.clock().forgets({lock})",
            "steps.clock().asks_for({lock})",
            "steps.clock().counts_a_vote_for({lock})",
        ],
        latch: "let {latch} = Notify::new();",
        wait: "{latch}.notified(¦).await;",
        open: "{latch}.notify_one();",
        lapse: "{me}.{redis}(¦\"PEXPIRE\"¦({key}, 0)¦).await;",
        age: "{me}.{redis}(¦\"PEXPIRE\"¦({key}, {n})¦).await;",
        ahead: "{me}.{redis}(¦\"INCRBY\"¦({key}, {n})¦).await;",
        database_clock: "{me}.ask(¦update({statement}, ())¦).await;",
        wipe: "{me}.{redis}(\"DEL\", {key}).await; // lost",
        crash: "{me}.close().await; // crashes",
        restart: "{me}.connect(¦).await;",
        look_for_key: "notes.keeps(¦{me}.{redis}(\"EXISTS\", {key}).await¦);",
        look_for_deadline: "notes.keeps_time_to_live(¦{me}.{redis}(\"PTTL\", {key}).await¦);",
        raise: "return Err({reply})",
        runs: ["{me}.runs(|steps| ", ").await;"],
        together: ["tokio::join!(", ");"],
        called: "{name}",
        seen: ["let expected = [", "saw(", ")", "];"],
        commands: ["", ""],
        settings: [
            ["const STATEMENTS: &[&str] = &[", "];"],
            ["const TABLES: &[&str] = &[", "];"],
            ["const KEYS: &[&str] = &[", "];"],
        ],
        is_gone: "assert_eq!(¦operator.{redis}(\"EXISTS\", {key}).await¦0¦);",
        stays: "assert_eq!(¦operator.{redis}(\"PTTL\", {key}).await¦-1¦);",
        lapses: "assert!(operator.{redis}(\"PTTL\", {key}).await.number() > {least});",
        reads: [
            "{redis}(\"GET\", {key})",
            "{redis}(\"LRANGE\", ({key}, 0, -1))",
            "{redis}(\"HGETALL\", {key})",
            "{redis}(\"SORT\", ({key}, \"ALPHA\"))",
            "{redis}(\"ZRANGE\", ({key}, 0, -1))",
        ],
    },
    questions: Questions {
        nil: ["{reply} == Reply::Nil", "{reply} != Reply::Nil"],
        equal: ["{reply} == {value}", "{reply} != {value}"],
        error: [
            "matches!({reply}, Reply::Error(_))",
            "!matches!({reply}, Reply::Error(_))",
        ],
        named_error: [
            "{reply} == Reply::Error({value}.to_owned())",
            "{reply} != Reply::Error({value}.to_owned())",
        ],
        no_reply: ["{reply} == Reply::Lost", "{reply} != Reply::Lost"],
        element: "{reply}[{n}]",
        count: "{reply}.len()",
        joints: [" && ", " || "],
    },
    proofs: [
        Proof::of(
            "late_writes.iter().all(|changed| *changed == 0)",
            "late_writes.iter().any(|changed| *changed != 0)",
        )
        .about("late_writes"),
        Proof::of(
            "writes_of_holders.iter().all(|changed| *changed != 0)",
            "writes_of_holders.iter().any(|changed| *changed == 0)",
        )
        .about("writes_of_holders"),
        Proof::of("tokens.is_sorted()", "!tokens.is_sorted()").about("tokens"),
        Proof::of("are_different(&tokens)", "!are_different(&tokens)").about("tokens"),
        Proof::of("least.number() >= 0", "least.number() < 0")
            .after(&["let least = operator.ask(¦value({query}, ())¦).await;"]),
        Proof::of(
            "{before} - stock.number() == sold",
            "{before} - stock.number() != sold",
        )
        .after(&[
            "let stock = operator.ask(¦value({query}, ())¦).await;",
            "let sold = notes.sales().len() as i64;",
        ]),
        Proof::of(
            "paid.iter().all(|order| sales.contains(order))",
            "!paid.iter().all(|order| sales.contains(order))",
        )
        .after(&["let (paid, sales) = (notes.paid(), notes.sales());"]),
        Proof::of("are_different(&paid)", "!are_different(&paid)")
            .after(&["let paid = notes.paid();"]),
        Proof::of(
            "sales.iter().all(|order| paid.contains(order))",
            "!sales.iter().all(|order| paid.contains(order))",
        )
        .after(&["let (paid, sales) = (notes.paid(), notes.sales());"]),
        Proof::of(
            "left.iter().all(|there| *there == 1)",
            "left.iter().any(|there| *there == 0)",
        )
        .after(&["let left = notes.left.lock().unwrap().clone();"]),
        Proof::of(
            "times_to_live.iter().all(|left| *left != -1)",
            "times_to_live.iter().any(|left| *left == -1)",
        )
        .after(&["let times_to_live = notes.times_to_live.lock().unwrap().clone();"]),
    ],
};

struct Rust {
    /// The variables that hold replies, which are borrowed where they are sent.
    replies: Vec<String>,
    /// The variables of protocols that are given numbers.
    numbers: Vec<String>,
}

impl Language for Rust {
    fn tables(&self) -> &'static Tables {
        &TABLES
    }

    fn words(&self, plan: &Plan<'_>) -> Vec<(&'static str, String)> {
        vec![("test", snake(&short(plan.title())))]
    }

    fn reserved(&self) -> Reserved {
        Reserved {
            words: KEYWORDS,
            beginnings: &[],
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
        format!("{:?}", String::from_utf8_lossy(bytes))
    }

    fn script(&self, walk: &mut Walk<'_, '_>, indent: usize, name: &str, source: &str) {
        let name = screaming(name);
        walk.line(indent, &format!("const {name}: &str = r#\""));
        for line in source.lines() {
            walk.line(indent, line);
        }
        walk.line(indent, "\"#;");
        walk.line(0, "");
    }

    fn statement(&self, statement: &Statement, indent: usize) -> String {
        statement_text(statement, indent)
    }

    fn head(&self, walk: &mut Walk<'_, '_>, indent: usize, routine: &Routine<'_>) {
        let given = routine.given.iter().map(|name| {
            let is_number = self.numbers.contains(name);
            let kind = if is_number { "i64" } else { "&'static str" };
            leaf(format!("{}: {kind}", variable(name)))
        });
        let given = std::iter::once(leaf("steps: Steps")).chain(given).collect();
        let open = format!("async fn {}(", variable(&routine.name));
        walk.line(0, "");
        let doc = "/// One attempt, request by request; each is sent when the schedule says so.";
        walk.line(indent, doc);
        walk.code(indent, &list(open, given, ") -> Attempt {"));
    }

    fn tail(&self, walk: &mut Walk<'_, '_>, indent: usize, routine: &Routine<'_>) {
        if !super::routine::ends(&routine.code) {
            walk.line(indent, "Ok(())");
        }
    }

    fn declare(&self, name: &str, inside: &Code<'_>) -> Option<String> {
        let nothing = match inside {
            Code::Loop(body) if is_sent_first(body, name) => "",
            _ => " = Reply::Nil",
        };
        Some(format!("let mut {}{nothing};", variable(name)))
    }

    fn send(&self, walk: &mut Walk<'_, '_>, indent: usize, send: &Send<'_>, is_declared: bool) {
        let reply = variable(&send.reply);
        let request = &send.step.request;
        let request = walk.call(request, send.shape, indent + 12, Asking::Protocol);
        let open = match (send.is_used, is_declared) {
            (true, false) => format!("let {reply} = "),
            (true, true) => format!("{reply} = "),
            (false, _) => String::new(),
        };
        let ask = if send.catches { "try_to_ask" } else { "ask" };
        let label = leaf(self.text(send.step.label.as_bytes()));
        let open = format!("{open}steps.{ask}(");
        walk.code(indent, &list(open, vec![label, request], ").await?;"));
    }

    fn bind(&self, name: &str, reply: &str, element: Option<usize>, is_declared: bool) -> String {
        let declares = if is_declared { "" } else { "let " };
        let element = element.map_or(String::new(), |element| format!("[{element}]"));
        format!(
            "{declares}{} = {}{element}.clone()",
            variable(name),
            variable(reply)
        )
    }

    fn sell(&self, units: u64, order: &str) -> String {
        format!("steps.sells({units}, {order})")
    }

    fn script_name(&self, name: &str, as_digest: bool) -> String {
        match as_digest {
            true => format!("sha1_of({})", screaming(name)),
            false => screaming(name),
        }
    }

    fn call(&self, call: &Call<'_>, shape: Shape, indent: usize, asker: Asker<'_>) -> Laid {
        let request = self.request(call, shape, indent, asker.redis);
        match asker.who {
            Asking::SetUp => list("operator.ask(", vec![request], ").await;"),
            _ => request,
        }
    }

    fn own(&self, _part: &str, _asker: Asker<'_>) -> String {
        String::new()
    }

    fn charge(&self, mut given: Vec<Laid>, key: Option<Laid>) -> (&'static str, Vec<Laid>) {
        let name = if key.is_some() {
            "charge_once"
        } else {
            "charge"
        };
        given.extend(key);
        (name, given)
    }

    fn given_to_own(&self, word: &Argument) -> Laid {
        self.argument(word)
    }

    fn ask(&self, walk: &mut Walk<'_, '_>, indent: usize, asked: &Asked<'_>) {
        let mut items = vec![leaf(self.text(asked.source.as_bytes()))];
        items.extend(asked.waits.map(leaf));
        items.push(walk.asked(asked, indent + 4));
        let open = format!("{}.{}(", asked.me, asked.either("asks", "starts_asking"));
        walk.code(indent, &list(open, items, ").await;"));
    }

    fn milliseconds(&self, milliseconds: &Argument) -> String {
        let text = super::walk::argument(self, milliseconds);
        match milliseconds {
            Argument::Variable(name) if self.replies.contains(name) => format!("{text}.number()"),
            _ => text,
        }
    }

    fn handed(&self, _routine: &Routine<'_>, _client: &str, _stores: &[String]) -> Vec<String> {
        vec!["steps".to_owned()]
    }

    fn part(
        &self,
        walk: &mut Walk<'_, '_>,
        indent: usize,
        part: &Part<'_>,
        names: [&str; 2],
    ) -> usize {
        let [name, me] = names;
        walk.line(indent, &format!("let {name} = async {{"));
        if !part.is_operator() {
            let client = self.text(part.name.as_bytes());
            let open = format!("let mut {me} = Client::new(");
            let items = vec![leaf(client), leaf("&notes")];
            walk.code(indent + 4, &list(open, items, ").await;"));
        }
        indent + 4
    }

    fn end_of_part(&self, walk: &mut Walk<'_, '_>, indent: usize, part: &Part<'_>, me: &str) {
        if !part.is_operator() && !matches!(part.moves.last(), Some(Move::Crash)) {
            walk.line(indent + 4, &format!("{me}.close().await;"));
        }
        walk.line(indent, "};");
    }

    fn part_name(&self, name: &str) -> String {
        match name {
            OPERATOR => "the_operator".to_owned(),
            name => format!("client_{}", snake(name)),
        }
    }

    fn near(&self, number: i64, _place: usize, _element: Option<usize>) -> String {
        format!("Reply::Near({number})")
    }

    fn sql_value(&self, value: &SqlValue) -> String {
        match value {
            SqlValue::Null => "Reply::Nil".to_owned(),
            SqlValue::Integer(_) | SqlValue::Unsigned(_) => value.to_string(),
            other => self.text(other.to_string().as_bytes()),
        }
    }

    fn rows_are(
        &self,
        walk: &mut Walk<'_, '_>,
        indent: usize,
        table: &str,
        query: &str,
        rows: Vec<Laid>,
    ) {
        let name = variable(table);
        let open = format!("let {name} = operator.ask(");
        let query = list("rows(", vec![leaf(query), leaf("()")], ")");
        walk.code(indent, &list(open, vec![query], ").await;"));
        let items = vec![leaf(name), list("list![", rows, "]")];
        walk.code(indent, &list("assert_eq!(", items, ");"));
    }

    fn key_is(&self, walk: &mut Walk<'_, '_>, indent: usize, read: &str, value: Laid) {
        let items = vec![leaf(format!("operator.{read}.await")), value];
        walk.code(indent, &list("assert_eq!(", items, ");"));
    }

    fn charges_are(&self, walk: &mut Walk<'_, '_>, indent: usize, charges: &[(String, u64, bool)]) {
        let charges = charges.iter().map(|(order, amount, refunded)| {
            let order = self.text(order.as_bytes());
            let state = if *refunded { "refunded" } else { "kept" };
            leaf(format!("{state}({order}, {amount})"))
        });
        walk.code(indent, &list("let charges = [", charges.collect(), "];"));
        walk.line(indent, "assert_eq!(notes.charges(), charges);");
    }

    fn named(
        &self,
        walk: &mut Walk<'_, '_>,
        indent: usize,
        name: &str,
        replies: &[Replies],
        as_numbers: bool,
    ) {
        let lists: Vec<Laid> = replies.iter().map(list_of_replies).collect();
        let code = match (lists.as_slice(), as_numbers) {
            ([only], false) => leaf(format!("let {name} = {};", only.open)),
            (_, false) => list(format!("let {name} = ["), lists, "].concat();"),
            (_, true) => list(format!("let {name} = numbers(&["), lists, "]);"),
        };
        walk.code(indent, &code);
    }

    /// What is left out of an implementation leaves no gap.
    fn finished(&self, file: String) -> String {
        file.replace("impl Notes {\n\n", "impl Notes {\n")
            .replace("impl Notes {\n}\n\n", "")
    }

    fn assert(
        &self,
        walk: &mut Walk<'_, '_>,
        indent: usize,
        proof: &Proof<'_>,
        message: &str,
        is_broken: bool,
    ) {
        let condition = if is_broken { proof.breaks } else { proof.holds };
        let items = vec![leaf(condition), leaf(self.text(message.as_bytes()))];
        walk.code(indent, &list("assert!(", items, ");"));
    }
}

impl Rust {
    fn argument(&self, argument: &Argument) -> Laid {
        let text = super::walk::argument(self, argument);
        match argument {
            Argument::Variable(name) if self.replies.contains(name) => leaf(format!("&{text}")),
            _ => leaf(text),
        }
    }

    /// What is sent to a server.
    fn request(&self, call: &Call<'_>, shape: Shape, indent: usize, redis: &str) -> Laid {
        let arguments = |words: &[Argument]| words.iter().map(|word| self.argument(word)).collect();
        match call {
            Call::Set {
                key,
                value,
                options,
            } => {
                let mut words: Vec<Laid> = vec![self.argument(key), self.argument(value)];
                for (word, number) in options {
                    words.push(leaf(self.text(word.as_bytes())));
                    words.extend(number.map(|number| self.argument(number)));
                }
                command(redis, self.text(b"SET"), words)
            }
            Call::Eval {
                script,
                keys,
                arguments: rest,
            } => {
                let mut words = vec![leaf(screaming(script)), leaf(keys.len().to_string())];
                words.extend(keys.iter().chain(*rest).map(|word| self.argument(word)));
                command(redis, self.text(b"EVAL"), words)
            }
            Call::Command(name, words) => {
                command(redis, self.text(name.as_bytes()), arguments(words))
            }
            Call::Statement(statement) => {
                let function = shape.function("update");
                let text = leaf(statement_text(statement, indent));
                list(
                    format!("{function}("),
                    vec![text, self.values(statement)],
                    ")",
                )
            }
            // The walker writes what is the test's own.
            _ => leaf("()"),
        }
    }

    /// The values of an SQL statement.
    fn values(&self, statement: &Statement) -> Laid {
        let values: Vec<String> = names_in(statement)
            .into_iter()
            .map(|name| {
                let borrow = if self.replies.contains(name) { "&" } else { "" };
                format!("\"{}\" => {borrow}{}", snake(name), variable(name))
            })
            .collect();
        match values.is_empty() {
            true => leaf("()"),
            false => leaf(format!("params! {{ {} }}", values.join(", "))),
        }
    }
}

/// A command with its arguments: one by itself, several in parentheses, more than twelve in two of them.
fn command(redis: &str, name: String, mut words: Vec<Laid>) -> Laid {
    let words = match words.len() {
        0 => leaf("&[\"\"; 0]"),
        1 => words.remove(0),
        2..=12 => list("(", words, ")"),
        _ => {
            let rest = words.split_off(11);
            words.push(list("(", rest, ")"));
            list("(", words, ")")
        }
    };
    let function = match redis {
        "redis" => "command",
        server => server,
    };
    list(format!("{function}("), vec![leaf(name), words], ")")
}

fn list_of_replies(replies: &Replies) -> Laid {
    let mut given = format!("notes.replies({:?}, {:?})", replies.who, replies.what);
    if let Some(only) = replies.only {
        given = format!("{given}[{only}..{}].to_vec()", only + 1);
    }
    leaf(match replies.element {
        Some(element) => format!("elements({given}, {element})"),
        None => given,
    })
}

/// The variables of protocols that are given numbers.
fn numbers(plan: &Plan<'_>) -> Vec<String> {
    let mut numbers = Vec::new();
    for act in plan.parts.iter().flat_map(|part| &part.moves) {
        if let Move::Run { parameters, .. } = act {
            let given = parameters.iter();
            let given = given.filter(|(_, value)| matches!(value, Value::Integer(_)));
            numbers.extend(given.map(|(name, _)| name.clone()));
        }
    }
    numbers
}

const KEYWORDS: &str = " as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod \
    move mut pub ref return self static struct super trait true type unsafe use where while abstract become box do final macro \
    override priv try typeof unsized virtual yield gen steps notes operator expected paid sales stock least left tokens sold main drop u8 u16 u32 u64 i8 i16 \
    i32 i64 f32 f64 usize isize bool char str std core alloc ";

/// A variable's name in Rust.
pub(super) fn variable(name: &str) -> String {
    unless_taken(snake(name), KEYWORDS)
}

/// An SQL statement with named placeholders.
fn statement_text(statement: &Statement, indent: usize) -> String {
    let sql = sql_with(statement, &|name| format!(":{}", snake(name)));
    if !sql.contains('\n') {
        return format!("{sql:?}");
    }
    let blanks = " ".repeat(indent);
    let lines = sql.lines().map(|line| {
        let line = line.replace('\\', "\\\\").replace('"', "\\\"");
        format!("{blanks}{line}")
    });
    let lines: Vec<String> = lines.collect();
    format!("\"\n{}\n{blanks}\"", lines.join("\n"))
}

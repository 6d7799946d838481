//! A test for JUnit 5, with Jedis and JDBC.

use crate::sim::client::protocol::{Argument, Request};
use crate::sim::database::{Statement, Value as SqlValue};

use super::Options;
use super::claim::Replies;
use super::layout::{Code as Laid, Style, leaf, list};
use super::names::Reserved;
use super::plan::{Move, OPERATOR, Part, Plan};
use super::request::{Call, plain_number};
use super::routine::{Code, Routine, Send, Shape, is_sent_first};
use super::walk::{
    Asked, Asker, Asking, BRACES, Form, Guide, Language, Phrases, Proof, Questions, Tables, Walk,
    argument,
};
use super::words::{
    WHERE_MYSQL_IS, WHERE_REDIS_IS, WHERE_SEVERAL_ARE, camel, screaming, short, sql_with,
    test_class, unless_taken,
};

/// The test.
pub(super) fn print(plan: Plan<'_>, options: Options) -> String {
    let queues = plan.calls(&|call| matches!(call, Call::Command(name, _) if name == "MULTI"));
    let is_told = plan.looks(|act| matches!(act, Move::Told(..)));
    super::walk::print(plan, options, &Java { queues, is_told })
}

/// The language, for whoever asks for single calls.
pub(super) const LANGUAGE: &dyn Language = &Java {
    queues: false,
    is_told: false,
};

const TABLES: Tables = Tables {
    form: Form {
        tab: 2,
        style: Style::Google,
        header: " * ",
        list: ["list(", ")"],
        ..BRACES
    },
    guide: Guide {
        how: "To run it, in src/test/java, with Java 17 or later and these among the dependencies:",
        commands: &["{packages}", "mvn test -Dtest={class}"],
        packages: [
            "org.junit.jupiter:junit-jupiter",
            "redis.clients:jedis",
            "com.mysql:mysql-connector-j",
        ],
        redis: WHERE_REDIS_IS,
        several: WHERE_SEVERAL_ARE,
        variable: "REDIS_URL",
        mysql: WHERE_MYSQL_IS,
    },
    template: include_str!("texts/junit.java"),
    phrases: Phrases {
        step: "{me}.{verb}({label});",
        step_freely: "{me}.{verb}(); // {name}",
        verbs: ["step", "sends", "loses", "delays", "findsItDown"],
        see: "{me}.seesTheReply(); // {name}",
        deliver: "{me}.sends({label});",
        give_up: "{me}.givesUp(); // {name}",
        start: [
            "{me}.starts(¦{label}¦\"{server}\"¦);",
            "{me}.starts(\"{server}\"); // {name}",
        ],
        start_asking: "\"{server}\"",
        hear: "{me}.hears(); // {name}",
        withdraw: "{me}.withdraws(\"{server}\"); // {name}",
        listen: "{me}.waitsForAMessage(¦{label}¦{channel}¦);",
        told: [
            "{me}.isTold(¦{label}¦{reply}¦);",
            "{me}.isTold({reply}); // {name}",
        ],
        clock: "{me}.clock.passes({n});",
        by_clock: [
            "clock.holds({lock}, {n})",
            "clock.forgets({lock})",
            "clock.asksFor({lock})",
            "clock.countsAVoteFor({lock})",
        ],
        latch: "private final CountDownLatch {latch} = new CountDownLatch(¦1¦);",
        wait: "waitFor({latch});",
        open: "{latch}.countDown();",
        lapse: "{me}.{redis}.pexpire(¦{key}¦0¦);",
        age: "{me}.{redis}.pexpire(¦{key}¦{n}¦);",
        ahead: "{me}.{redis}.incrBy(¦{key}¦{n}¦);",
        database_clock: "update(¦{me}.mysql¦{statement}¦);",
        wipe: "{me}.{redis}.del({key}); // lost",
        crash: "{me}.close(); // crashes",
        restart: "{me}.connect();",
        look_for_key: "left.add(¦{me}.{redis}.exists({key})¦);",
        look_for_deadline: "timesToLive.add(¦{me}.{redis}.pttl({key})¦);",
        raise: "throw (Exception) {reply}",
        runs: ["{me}.runs(", ");"],
        together: ["runTogether(", ");"],
        called: "this::{name}",
        seen: ["Saw[] expected = {", "new Saw(", ")", "};"],
        commands: ["", ";"],
        settings: [
            ["private static final String[] STATEMENTS = {", "};"],
            ["private static final List<String> TABLES = List.of(", ");"],
            ["private static final String[] KEYS = {", "};"],
        ],
        is_gone: "assertFalse(operator.{redis}.exists({key}));",
        stays: "assertEquals(-1, operator.{redis}.pttl({key}));",
        lapses: "assertLapsesAfter(operator.{redis}, {key}, {least});",
        reads: [
            "operator.{redis}.get({key})",
            "operator.{redis}.lrange({key}, 0, -1)",
            "command(operator.{redis}, \"HGETALL\", {key})",
            "command(operator.{redis}, \"SORT\", {key}, \"ALPHA\")",
            "operator.{redis}.zrange({key}, 0, -1)",
        ],
    },
    questions: Questions {
        nil: ["{reply} == null", "{reply} != null"],
        equal: [
            "Objects.equals({reply}, {value})",
            "!Objects.equals({reply}, {value})",
        ],
        error: [
            "{reply} instanceof Exception",
            "!({reply} instanceof Exception)",
        ],
        named_error: [
            "isRefused({reply}, {value})",
            "!isRefused({reply}, {value})",
        ],
        no_reply: [
            "{reply} instanceof NoReply",
            "!({reply} instanceof NoReply)",
        ],
        element: "element({reply}, {n})",
        count: "((List<?>) {reply}).size()",
        joints: [" && ", " || "],
    },
    proofs: [
        Proof::of(
            "lateWrites.stream().allMatch(changed -> isZero(changed))",
            "",
        )
        .about("List<Object> lateWrites"),
        Proof::of(
            "writesOfHolders.stream().noneMatch(changed -> isZero(changed))",
            "",
        )
        .about("List<Object> writesOfHolders"),
        Proof::of("isSorted(tokens)", "").about("List<Long> tokens"),
        Proof::of("areDifferent(tokens)", "").about("List<Long> tokens"),
        Proof::of("least >= 0", "")
            .after(&["long least = number(value(¦operator.mysql¦{query}¦));"]),
        Proof::of("{before} - stock == sales.size()", "")
            .after(&["long stock = number(value(¦operator.mysql¦{query}¦));"]),
        Proof::of("sales.containsAll(gateway.paid())", ""),
        Proof::of("areDifferent(gateway.paid())", ""),
        Proof::of("gateway.paid().containsAll(sales)", ""),
        Proof::of("!left.contains(false)", ""),
        Proof::of("!timesToLive.contains(-1L)", ""),
    ],
};

/// Commands that Jedis has as methods whose replies are as Redis sends them, and what they take: `s` a text, `n` a number, `*` any
/// number of texts.
const METHODS: [(&str, &str, &str); 33] = [
    ("APPEND", "append", "ss"),
    ("DECR", "decr", "s"),
    ("DECRBY", "decrBy", "sn"),
    ("DEL", "del", "*"),
    ("EVALSHA", "evalsha", "sn*"),
    ("EXPIRE", "expire", "sn"),
    ("GET", "get", "s"),
    ("GETDEL", "getDel", "s"),
    ("HDEL", "hdel", "s*"),
    ("HGET", "hget", "ss"),
    ("HINCRBY", "hincrBy", "ssn"),
    ("HLEN", "hlen", "s"),
    ("HSET", "hset", "sss"),
    ("INCR", "incr", "s"),
    ("INCRBY", "incrBy", "sn"),
    ("LINDEX", "lindex", "sn"),
    ("LLEN", "llen", "s"),
    ("LPOP", "lpop", "s"),
    ("LPUSH", "lpush", "s*"),
    ("LRANGE", "lrange", "snn"),
    ("PERSIST", "persist", "s"),
    ("PEXPIRE", "pexpire", "sn"),
    ("PTTL", "pttl", "s"),
    ("PUBLISH", "publish", "ss"),
    ("RPOP", "rpop", "s"),
    ("RPUSH", "rpush", "s*"),
    ("SADD", "sadd", "s*"),
    ("SCARD", "scard", "s"),
    ("SETNX", "setnx", "ss"),
    ("STRLEN", "strlen", "s"),
    ("TTL", "ttl", "s"),
    ("TYPE", "type", "s"),
    ("ZCARD", "zcard", "s"),
];

struct Java {
    /// Whether commands may be queued for a transaction: Jedis' methods read the replies as if they were not.
    queues: bool,
    /// Whether the schedule says what a protocol's WAIT is answered.
    is_told: bool,
}

impl Language for Java {
    fn tables(&self) -> &'static Tables {
        &TABLES
    }

    fn words(&self, plan: &Plan<'_>) -> Vec<(&'static str, String)> {
        let title = plan.title().trim_end_matches('.');
        vec![
            ("title", self.quoted(title)),
            ("class", test_class(plan.title())),
            ("test", variable(&short(plan.title()))),
        ]
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
        camel(name)
    }
    fn function(&self, name: &str) -> String {
        format!("steps -> {}", variable(name))
    }
    fn text(&self, bytes: &[u8]) -> String {
        text(&String::from_utf8_lossy(bytes))
    }
    fn quoted(&self, line: &str) -> String {
        line.replace("*/", "* /")
    }

    fn script(&self, walk: &mut Walk<'_, '_>, indent: usize, name: &str, source: &str) {
        let name = screaming(name);
        walk.line(indent, &format!("private static final String {name} ="));
        let source = block_text(source, indent + 4);
        walk.line(indent + 4, &format!("{source};"));
        walk.line(0, "");
    }

    fn statement(&self, statement: &Statement, indent: usize) -> String {
        statement_text(statement, indent)
    }

    fn head(&self, walk: &mut Walk<'_, '_>, indent: usize, routine: &Routine<'_>) {
        let stores = walk.stores();
        let stores: Vec<String> = stores.iter().map(|name| format!("Jedis {name}")).collect();
        let others = [
            "Connection mysql",
            "Gateway gateway",
            "List<String> sales",
            "Clock clock",
            "Inbox inbox",
        ];
        let handed = routine.handed(&stores, others);
        let mut given = vec![leaf("Steps steps")];
        given.extend(handed.into_iter().map(leaf));
        given.extend(routine.given.iter().map(|name| {
            let kind = if is_text(name) { "String" } else { "Object" };
            leaf(format!("{kind} {}", variable(name)))
        }));
        walk.line(0, "");
        let doc = "/** One attempt, request by request; each is sent when the schedule says so. */";
        walk.line(indent, doc);
        let open = format!("private static void {}(", variable(&routine.name));
        let code = list(open, given, ") throws Exception {");
        let flat = code.flat();
        let width = TABLES.form.width - indent;
        if flat.chars().count() <= width {
            return walk.line(indent, &flat);
        }
        walk.code(
            indent,
            &Laid {
                close: ")".to_owned(),
                ..code
            },
        );
        walk.line(indent + 4, "throws Exception {");
    }

    fn declare(&self, name: &str, inside: &Code<'_>) -> Option<String> {
        let first = match inside {
            Code::Loop(body) if is_sent_first(body, name) => "",
            _ => " = null",
        };
        Some(format!("Object {}{first};", variable(name)))
    }

    fn send(&self, walk: &mut Walk<'_, '_>, indent: usize, send: &Send<'_>, is_declared: bool) {
        let reply = variable(&send.reply);
        let may_be_lost = send.step.knows_of_lost();
        let is_tried = send.catches || may_be_lost;
        let inner = if is_tried { indent + 2 } else { indent };
        let declares = !is_declared && !is_tried;
        let open = match (send.is_used, declares) {
            (true, true) => format!("Object {reply} = "),
            (true, false) => format!("{reply} = "),
            (false, _) => String::new(),
        };
        let deeper = inner + if send.is_used { 12 } else { 8 };
        let request = walk.call(&send.step.request, send.shape, deeper, Asking::Protocol);
        let code = list(format!("{open}steps.seen("), vec![request], ");");
        if is_tried && !is_declared && (send.is_used || send.catches) {
            walk.line(indent, &format!("Object {reply};"));
        }
        let next = format!("steps.next({});", text(&send.step.label));
        if !may_be_lost {
            walk.line(indent, &next);
        }
        if !is_tried {
            return walk.code(indent, &code);
        }
        walk.line(indent, "try {");
        if may_be_lost {
            walk.line(inner, &next);
        }
        walk.code(inner, &code);
        if send.catches {
            let error = match send.step.request {
                Request::Gateway(_) => "GatewayException",
                _ if send.shape == Shape::Plain => "JedisDataException",
                _ => "SQLException",
            };
            walk.line(indent, &format!("}} catch ({error} error) {{"));
            walk.line(inner, &format!("{reply} = steps.seen(error);"));
        }
        if may_be_lost {
            walk.line(indent, "} catch (NoReply lost) {");
            match send.is_used {
                true => walk.line(inner, &format!("{reply} = lost;")),
                false => walk.line(inner, "// It goes on all the same."),
            }
        }
        walk.line(indent, "}");
    }

    fn bind(&self, name: &str, reply: &str, element: Option<usize>, is_declared: bool) -> String {
        let declares = if is_declared { "" } else { "Object " };
        let (name, reply) = (variable(name), variable(reply));
        match element {
            Some(element) => format!("{declares}{name} = element({reply}, {element})"),
            None => format!("{declares}{name} = {reply}"),
        }
    }

    fn sell(&self, units: u64, order: &str) -> String {
        let order = match order {
            "me" | "order" => order.to_owned(),
            order if order.starts_with('"') => order.to_owned(),
            order => format!("String.valueOf({order})"),
        };
        match units {
            1 => format!("sales.add({order})"),
            units => format!("sales.addAll(nCopies({units}, {order}))"),
        }
    }

    fn script_name(&self, name: &str, as_digest: bool) -> String {
        match as_digest {
            true => format!("sha1Of({})", screaming(name)),
            false => screaming(name),
        }
    }

    fn call(&self, call: &Call<'_>, shape: Shape, indent: usize, asker: Asker<'_>) -> Laid {
        let [redis, mysql] = asker.connections();
        match call {
            Call::Set {
                key,
                value,
                options,
            } => {
                let mut items = vec![self.word(key), self.word(value)];
                if !options.is_empty() {
                    let options = options.iter().map(|(word, number)| {
                        let number = number.map_or(String::new(), |number| self.number(number));
                        format!(".{}({number})", word.to_ascii_lowercase())
                    });
                    let options: String = options.collect();
                    items.push(leaf(format!("setParams(){options}")));
                }
                list(format!("{redis}.set("), items, ")")
            }
            Call::Eval {
                script,
                keys,
                arguments,
            } => {
                let mut items = vec![leaf(screaming(script)), leaf(keys.len().to_string())];
                items.extend(keys.iter().chain(*arguments).map(|word| self.word(word)));
                list(format!("{redis}.eval("), items, ")")
            }
            Call::Command(name, words) => match self.method(name, words) {
                Some((method, items)) => list(format!("{redis}.{method}("), items, ")"),
                None => {
                    let mut items = vec![leaf(redis), leaf(text(name))];
                    items.extend(words.iter().map(|word| self.word(word)));
                    let is_told = self.is_told && asker.who == Asking::Protocol && name == "WAIT";
                    let open = if is_told { "steps.answer(" } else { "command(" };
                    list(open, items, ")")
                }
            },
            Call::Statement(statement) => {
                let function = shape.function("update");
                let mut items = vec![leaf(mysql), leaf(statement_text(statement, indent))];
                let values = statement.pieces().into_iter().filter_map(|(_, name)| name);
                items.extend(values.map(|name| leaf(variable(name))));
                list(format!("{function}("), items, ")")
            }
            // The walker writes what is the test's own.
            _ => leaf("null"),
        }
    }

    /// Jedis wants texts.
    fn word(&self, word: &Argument) -> Laid {
        leaf(match word {
            Argument::Literal(literal) => self.text(literal),
            Argument::Variable(name) if !is_text(name) => {
                format!("String.valueOf({})", variable(name))
            }
            other => argument(self, other),
        })
    }

    fn ask(&self, walk: &mut Walk<'_, '_>, indent: usize, asked: &Asked<'_>) {
        let call = walk.asked(asked, indent + 12);
        let call = Laid {
            open: format!("() -> {}", call.open),
            ..call
        };
        let mut items = vec![leaf(text(asked.source))];
        items.extend(asked.waits.map(leaf));
        items.push(call);
        let verb = asked.either("asks", "startsAsking");
        walk.code(indent, &list(format!("{}.{verb}(", asked.me), items, ");"));
    }

    /// The thread of a protocol that has given up is somewhere else.
    fn deliver(
        &self,
        walk: &mut Walk<'_, '_>,
        indent: usize,
        asked: &Asked<'_>,
        is_late: bool,
    ) -> bool {
        if is_late {
            self.ask(walk, indent, asked);
        }
        is_late
    }

    fn milliseconds(&self, milliseconds: &Argument) -> String {
        self.number(milliseconds)
    }

    fn handed(&self, routine: &Routine<'_>, client: &str, stores: &[String]) -> Vec<String> {
        let stores: Vec<String> = stores
            .iter()
            .map(|name| format!("{client}.{name}"))
            .collect();
        let [mysql, clock, inbox] =
            ["mysql", "clock", "inbox"].map(|name| format!("{client}.{name}"));
        let mut handed = vec!["steps".to_owned()];
        handed.extend(routine.handed(&stores, [&mysql, "gateway", "sales", &clock, &inbox]));
        handed
    }

    fn part(
        &self,
        walk: &mut Walk<'_, '_>,
        indent: usize,
        part: &Part<'_>,
        names: [&str; 2],
    ) -> usize {
        let [name, me] = names;
        walk.line(
            indent,
            &format!("private void {name}() throws Exception {{"),
        );
        if part.is_operator() {
            return indent + 2;
        }
        let client = text(part.name);
        walk.line(
            indent + 2,
            &format!("try (Client {me} = new Client({client})) {{"),
        );
        indent + 4
    }

    fn end_of_part(&self, walk: &mut Walk<'_, '_>, indent: usize, part: &Part<'_>, _me: &str) {
        if !part.is_operator() {
            walk.line(indent + 2, "}");
        }
        walk.line(indent, "}");
    }

    fn part_name(&self, name: &str) -> String {
        match name {
            OPERATOR => "theOperator".to_owned(),
            name => camel(&format!("client {name}")),
        }
    }

    fn integer(&self, number: i64) -> String {
        format!("{number}L")
    }

    fn near(&self, number: i64, place: usize, element: Option<usize>) -> String {
        let element = element.map_or(String::new(), |element| format!(", {element}"));
        format!("near({number}L, {place}{element})")
    }

    fn sql_value(&self, value: &SqlValue) -> String {
        match value {
            SqlValue::Null => "null".to_owned(),
            SqlValue::Integer(_) | SqlValue::Unsigned(_) => format!("{value}L"),
            other => text(&other.to_string()),
        }
    }

    fn rows_are(
        &self,
        walk: &mut Walk<'_, '_>,
        indent: usize,
        _table: &str,
        query: &str,
        rows: Vec<Laid>,
    ) {
        let read = list("rows(", vec![leaf("operator.mysql"), leaf(query)], ")");
        let items = vec![list("list(", rows, ")"), read];
        walk.code(indent, &list("assertEquals(", items, ");"));
    }

    fn key_is(&self, walk: &mut Walk<'_, '_>, indent: usize, read: &str, value: Laid) {
        let items = vec![value, leaf(read)];
        walk.code(indent, &list("assertEquals(", items, ");"));
    }

    fn charges_are(&self, walk: &mut Walk<'_, '_>, indent: usize, charges: &[(String, u64, bool)]) {
        let charges = charges.iter().map(|(order, amount, refunded)| {
            leaf(format!("new Charge({}, {amount}, {refunded})", text(order)))
        });
        let charges = list("List.of(", charges.collect(), ")");
        let items = vec![charges, leaf("gateway.charges")];
        walk.code(indent, &list("assertEquals(", items, ");"));
    }

    fn named(
        &self,
        walk: &mut Walk<'_, '_>,
        indent: usize,
        name: &str,
        replies: &[Replies],
        as_numbers: bool,
    ) {
        let mut lists: Vec<Laid> = replies.iter().map(list_of_replies).collect();
        let all = match lists.len() {
            1 => lists.remove(0),
            _ => list("concat(", lists, ")"),
        };
        let code = match as_numbers {
            true => list(format!("{name} = numbers("), vec![all], ");"),
            false => Laid {
                open: format!("{name} = {}", all.open),
                close: format!("{};", all.close),
                ..all
            },
        };
        walk.code(indent, &code);
    }

    fn assert(
        &self,
        walk: &mut Walk<'_, '_>,
        indent: usize,
        proof: &Proof<'_>,
        message: &str,
        is_broken: bool,
    ) {
        let (assert, condition) = match (is_broken, proof.holds.strip_prefix('!')) {
            (false, None) => ("assertTrue(", proof.holds),
            (false, Some(contrary)) => ("assertFalse(", contrary),
            (true, None) => ("assertFalse(", proof.holds),
            (true, Some(contrary)) => ("assertTrue(", contrary),
        };
        let items = vec![leaf(condition), leaf(text(message))];
        walk.code(indent, &list(assert, items, ");"));
    }

    fn finished(&self, file: String) -> String {
        without_escapes(&tidied(&without_unused(&file)))
    }
}

impl Java {
    /// An argument that Jedis wants as a number.
    fn number(&self, number: &Argument) -> String {
        match number {
            Argument::Variable(name) if is_text(name) => {
                format!("Long.parseLong({})", variable(name))
            }
            Argument::Variable(name) => format!("number({})", variable(name)),
            other => argument(self, other),
        }
    }

    /// The method that Jedis has for a command, with what it is given.
    fn method(&self, name: &str, words: &[Argument]) -> Option<(&'static str, Vec<Laid>)> {
        let (_, method, takes) = METHODS.iter().find(|(command, ..)| *command == name)?;
        let fixed = takes.trim_end_matches('*');
        let takes_more = takes.ends_with('*') && words.len() > fixed.len();
        if self.queues || (words.len() != fixed.len() && !takes_more) {
            return None;
        }
        let kinds = fixed.chars().chain(std::iter::repeat('s'));
        let items = words.iter().zip(kinds).map(|(word, kind)| match kind {
            'n' => is_number(word).then(|| leaf(self.number(word))),
            _ => Some(self.word(word)),
        });
        Some((method, items.collect::<Option<Vec<Laid>>>()?))
    }
}

/// Whether a variable is a text; others hold whatever a server has answered.
fn is_text(name: &str) -> bool {
    name == "me" || name == "order"
}

/// Whether an argument can be given as a number.
fn is_number(word: &Argument) -> bool {
    match word {
        Argument::Literal(literal) => {
            plain_number(literal).is_some_and(|number| i32::try_from(number).is_ok())
        }
        Argument::Variable(_) => true,
        _ => false,
    }
}

fn list_of_replies(replies: &Replies) -> Laid {
    let mut given = format!("replies({}, {})", text(&replies.who), text(&replies.what));
    if let Some(only) = replies.only {
        given = format!("{given}.subList({only}, {})", only + 1);
    }
    leaf(match replies.element {
        Some(element) => format!("elements({given}, {element})"),
        None => given,
    })
}

const KEYWORDS: &str = " abstract assert boolean break byte case catch char class const continue default do double else enum \
    extends final finally float for goto if implements import instanceof int interface long native new null package private \
    protected public return short static strictfp super switch synchronized this throw throws transient try void volatile while \
    true false var record yield steps redis mysql gateway sales clock inbox error lost expected ";

/// A variable's name in Java.
pub(super) fn variable(name: &str) -> String {
    unless_taken(camel(name), KEYWORDS)
}

/// A string. Java reads `\u` everywhere, so that other characters are written by their number in octal digits.
fn text(text: &str) -> String {
    let mut out = String::from('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            letter if letter.is_ascii_control() => {
                out.push_str(&format!("\\{:03o}", letter as u32))
            }
            letter => out.push(letter),
        }
    }
    out + "\""
}

/// Text of several lines in three quotes, which stand in this column.
fn block_text(source: &str, indent: usize) -> String {
    let source = source.replace('\\', "\\\\").replace("\"\"\"", "\\\"\"\"");
    let blanks = " ".repeat(indent);
    let lines = source.lines().map(|line| match line.trim_end() {
        "" => "\n".to_owned(),
        line => format!("{blanks}{line}\n"),
    });
    let lines: String = lines.collect();
    format!("\"\"\"\n{lines}{blanks}\"\"\"")
}

/// An SQL statement with `?` for each value.
fn statement_text(statement: &Statement, indent: usize) -> String {
    let sql = sql_with(statement, &|_| "?".to_owned());
    match sql.contains('\n') {
        true => block_text(&sql, indent),
        false => text(&sql),
    }
}

/// Without the imports and the methods that nothing in this file mentions.
fn without_unused(file: &str) -> String {
    let mut chunks: Vec<&str> = file.split("\n\n").collect();
    while let Some(unused) = (0..chunks.len()).find(|place| is_unused(&chunks, *place)) {
        chunks.remove(unused);
    }
    let file = chunks.join("\n\n");
    let is_import = |line: &&str| line.starts_with("import ");
    let code: String = file.lines().filter(|line| !is_import(line)).collect();
    let lines = file.lines().filter(|line| {
        let name = line.trim_end_matches(';').rsplit('.').next();
        !is_import(line) || name.is_some_and(|name| mentions(&code, name))
    });
    lines.flat_map(|line| [line, "\n"]).collect()
}

/// Whether this chunk is a method of the test's class that no other chunk calls.
fn is_unused(chunks: &[&str], place: usize) -> bool {
    let is_head = |line: &&str| line.starts_with("  private ") && line.contains('(');
    let chunk = chunks[place];
    let name = chunk.lines().find(is_head).and_then(|line| {
        let before = line.split('(').next()?;
        before.rsplit(' ').next()
    });
    let mut others = chunks
        .iter()
        .enumerate()
        .filter(|(other, _)| *other != place);
    chunk.ends_with("\n  }")
        && name.is_some_and(|name| !others.any(|(_, chunk)| mentions(chunk, name)))
}

/// Whether a word is in a text.
fn mentions(text: &str, word: &str) -> bool {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    text.match_indices(word).any(|(place, _)| {
        let (before, behind) = (&text[..place], &text[place + word.len()..]);
        !before.ends_with(is_part) && !behind.starts_with(is_part)
    })
}

/// With at most one empty line at a time, and none at the borders of blocks.
fn tidied(file: &str) -> String {
    let mut out: Vec<&str> = Vec::new();
    let mut is_text = false;
    for line in file.lines() {
        let last = out.last().copied().unwrap_or_default();
        if !is_text && line.trim_start().starts_with('}') && last.is_empty() {
            out.pop();
        }
        if is_text || !line.is_empty() || !(last.is_empty() || last.ends_with('{')) {
            out.push(line);
        }
        is_text ^= line.matches("\"\"\"").count() % 2 == 1;
    }
    out.join("\n") + "\n"
}

/// Java reads what follows `\u` as a character's number, in remarks as well; behind a second backslash it does not.
fn without_escapes(file: &str) -> String {
    let mut out = String::new();
    let mut backslashes = 0;
    for letter in file.chars() {
        if letter == 'u' && backslashes % 2 == 1 {
            out.push('\\');
        }
        backslashes = if letter == '\\' { backslashes + 1 } else { 0 };
        out.push(letter);
    }
    out
}

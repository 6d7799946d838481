//! A test for vitest, with ioredis and mysql2.

use crate::sim::client::protocol::Argument;
use crate::sim::database::{Statement, Value as SqlValue};

use super::Options;
use super::claim::Replies;
use super::layout::{Code as Laid, leaf, list};
use super::names::Reserved;
use super::plan::{OPERATOR, Part, Plan};
use super::request::Call;
use super::routine::{Code, Routine, Send, Shape};
use super::walk::{
    Asked, Asker, Asking, BRACES, Form, Guide, Language, Phrases, Proof, Questions, Tables, Walk,
    argument, arguments, names_in,
};
use super::words::{
    WHERE_MYSQL_IS, WHERE_REDIS_IS, WHERE_SEVERAL_ARE, camel, indented, screaming, sql_with,
    unless_taken,
};

/// The test.
pub(super) fn print(plan: Plan<'_>, options: Options) -> String {
    super::walk::print(plan, options, &JavaScript)
}

/// The language, for whoever asks for single calls.
pub(super) const LANGUAGE: &dyn Language = &JavaScript;

const TABLES: Tables = Tables {
    form: Form {
        width: 80,
        tab: 2,
        remark_width: 80,
        header_width: 80,
        ..BRACES
    },
    guide: Guide {
        how: "To run it:",
        commands: &["npm install --save-dev {packages}", "npx vitest run"],
        packages: ["vitest", "ioredis", "mysql2"],
        redis: WHERE_REDIS_IS,
        several: WHERE_SEVERAL_ARE,
        variable: "REDIS_URL",
        mysql: WHERE_MYSQL_IS,
    },
    template: include_str!("texts/vitest.js"),
    phrases: Phrases {
        step: "await {me}.{verb}({label});",
        step_freely: "await {me}.{verb}(); // {name}",
        verbs: ["step", "sends", "loses", "delays", "findsItDown"],
        see: "{me}.seesTheReply(); // {name}",
        deliver: "await {me}.delivers(); // {name}",
        give_up: "{me}.givesUp(); // {name}",
        start: [
            "await {me}.starts(¦{label}¦\"{server}\"¦);",
            "await {me}.starts(\"{server}\"); // {name}",
        ],
        start_asking: "{server}",
        hear: "await {me}.hears(); // {name}",
        withdraw: "await {me}.withdraws(\"{server}\"); // {name}",
        listen: "await {me}.waitsForAMessage(¦{label}¦{channel}¦);",
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
        latch: "const {latch} = latch();",
        wait: "await {latch}.opened;",
        open: "{latch}.open();",
        lapse: "await {me}.{redis}.pexpire(¦{key}¦0¦);",
        age: "await {me}.{redis}.pexpire(¦{key}¦{n}¦);",
        ahead: "await {me}.{redis}.incrby(¦{key}¦{n}¦);",
        database_clock: "await affectedRows(¦{me}.mysql¦{statement}¦);",
        wipe: "await {me}.{redis}.del({key}); // lost",
        crash: "{me}.close(); // crashes",
        restart: "await {me}.connect();",
        look_for_key: "left.push(¦await {me}.{redis}.exists({key})¦);",
        look_for_deadline: "timesToLive.push(¦await {me}.{redis}.pttl({key})¦);",
        raise: "throw {reply}",
        runs: ["{me}.runs(", ");"],
        together: ["await Promise.all([", "]);"],
        called: "{name}()",
        seen: ["expect(seen).toEqual([", "[", "]", "]);"],
        commands: ["await ", ";"],
        settings: [
            ["const STATEMENTS = [", "];"],
            ["const TABLES = [", "];"],
            ["const KEYS = [", "];"],
        ],
        is_gone: "expect(await operator.{redis}.exists({key})).toBe(0);",
        stays: "expect(await operator.{redis}.pttl({key})).toBe(-1);",
        lapses: "expect(await operator.{redis}.pttl({key})).toBeGreaterThan({least});",
        reads: [
            "{redis}.get({key})",
            "{redis}.lrange({key}, 0, -1)",
            "{redis}.hgetall({key})",
            "{redis}.sort({key}, \"ALPHA\")",
            "{redis}.zrange({key}, 0, -1)",
        ],
    },
    questions: Questions {
        nil: ["{reply} === null", "{reply} !== null"],
        equal: ["{reply} === {value}", "{reply} !== {value}"],
        error: ["{reply} instanceof Error", "!({reply} instanceof Error)"],
        named_error: [
            "errorCode({reply}) === {value}",
            "errorCode({reply}) !== {value}",
        ],
        no_reply: ["{reply} === NO_REPLY", "{reply} !== NO_REPLY"],
        element: "{reply}[{n}]",
        count: "{reply}.length",
        joints: [" && ", " || "],
    },
    proofs: [
        Proof::of(
            "lateWrites.some(Boolean)¦toBe(false)",
            "lateWrites.some(Boolean)¦toBe(true)",
        )
        .about("lateWrites"),
        Proof::of(
            "writesOfHolders.every(Boolean)¦toBe(true)",
            "writesOfHolders.every(Boolean)¦toBe(false)",
        )
        .about("writesOfHolders"),
        Proof::of("areInOrder¦toBe(true)", "areInOrder¦toBe(false)")
            .about("tokens")
            .after(&[
                "const areInOrder = tokens.every(",
                "  (token, place) => place === 0 || token >= tokens[place - 1],",
                ");",
            ]),
        Proof::of("areDifferent¦toBe(true)", "areDifferent¦toBe(false)")
            .about("tokens")
            .after(&["const areDifferent = new Set(tokens).size === tokens.length;"]),
        Proof::of("least¦toBeGreaterThanOrEqual(0)", "least¦toBeLessThan(0)")
            .after(&["const least = await value(¦operator.mysql¦{query}¦);"]),
        Proof::of(
            "stock + sales.length¦toBe({before})",
            "stock + sales.length¦not.toBe({before})",
        )
        .after(&["const stock = await value(¦operator.mysql¦{query}¦);"]),
        Proof::of(
            "gateway.paid().every(isSold)¦toBe(true)",
            "gateway.paid().every(isSold)¦toBe(false)",
        )
        .after(&["const isSold = (order) => sales.includes(order);"]),
        Proof::of("isPaidOnce¦toBe(true)", "isPaidOnce¦toBe(false)").after(&[
            "const paid = gateway.paid();",
            "const isPaidOnce = new Set(paid).size === paid.length;",
        ]),
        Proof::of(
            "sales.every(isPaid)¦toBe(true)",
            "sales.every(isPaid)¦toBe(false)",
        )
        .after(&["const isPaid = (order) => gateway.paid().includes(order);"]),
        Proof::of(
            "left.every(Boolean)¦toBe(true)",
            "left.every(Boolean)¦toBe(false)",
        ),
        Proof::of("timesToLive¦not.toContain(-1)", "timesToLive¦toContain(-1)"),
    ],
};

/// Commands that ioredis has under their own name and whose replies it leaves as they are.
const METHODS: &str = " APPEND DECR DECRBY DEL EXISTS EXPIRE GET GETDEL HGET HLEN HSET INCR INCRBY LINDEX LLEN LPOP LPUSH \
    LRANGE MGET PERSIST PEXPIRE PTTL PUBLISH RPOP RPUSH SADD SET SETNX SMEMBERS STRLEN TIME TTL TYPE ZCARD ZSCORE BRPOP ";

struct JavaScript;

impl Language for JavaScript {
    fn tables(&self) -> &'static Tables {
        &TABLES
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
        variable(name)
    }
    fn text(&self, bytes: &[u8]) -> String {
        text(bytes)
    }

    fn insert(&self, walk: &mut Walk<'_, '_>, indent: usize, name: &str) {
        if name == "head" {
            head(walk, indent);
        }
    }

    fn script(&self, walk: &mut Walk<'_, '_>, indent: usize, name: &str, source: &str) {
        let source = block_text(source, indent);
        walk.line(indent, &format!("const {} = {source};", screaming(name)));
        walk.line(0, "");
    }

    fn statement(&self, statement: &Statement, indent: usize) -> String {
        statement_text(statement, indent)
    }

    fn head(&self, walk: &mut Walk<'_, '_>, indent: usize, routine: &Routine<'_>) {
        let own = routine.handed(&walk.stores(), ["mysql", "", "", "clock", "inbox"]);
        let mut given = Vec::new();
        given.extend((!own.is_empty()).then(|| format!("{{ {} }}", own.join(", "))));
        given.extend(routine.handed(&[], ["", "gateway", "sales", "", ""]));
        given.extend(routine.given.iter().map(|name| variable(name)));
        let doc = "/** One attempt, request by request; each is sent when the schedule says so. */";
        let open = format!("function* {}(", variable(&routine.name));
        walk.line(0, "");
        walk.line(indent, doc);
        walk.code(
            indent,
            &list(open, given.into_iter().map(leaf).collect(), ") {"),
        );
    }

    fn declare(&self, name: &str, _inside: &Code<'_>) -> Option<String> {
        Some(format!("let {};", variable(name)))
    }

    fn send(&self, walk: &mut Walk<'_, '_>, indent: usize, send: &Send<'_>, is_declared: bool) {
        let reply = variable(&send.reply);
        let inner = if send.catches { indent + 2 } else { indent };
        let call = walk.call(&send.step.request, send.shape, inner + 4, Asking::Protocol);
        let open = match (send.is_used, is_declared || send.catches) {
            (true, false) => format!("const {reply} = yield step("),
            (true, true) => format!("{reply} = yield step("),
            (false, _) => "yield step(".to_owned(),
        };
        let code = arrow(open, &send.step.label, call, ");");
        if !send.catches {
            return walk.code(indent, &code);
        }
        if !is_declared {
            walk.line(indent, &format!("let {reply};"));
        }
        walk.line(indent, "try {");
        walk.code(inner, &code);
        walk.line(indent, "} catch (error) {");
        walk.line(inner, &format!("{reply} = error;"));
        walk.line(indent, "}");
    }

    fn bind(&self, name: &str, reply: &str, element: Option<usize>, is_declared: bool) -> String {
        let declares = if is_declared { "" } else { "const " };
        let element = element.map_or(String::new(), |element| format!("[{element}]"));
        format!(
            "{declares}{} = {}{element}",
            variable(name),
            variable(reply)
        )
    }

    fn sell(&self, units: u64, order: &str) -> String {
        let orders = vec![order; usize::try_from(units).unwrap_or(1)].join(", ");
        format!("sales.push({orders})")
    }

    fn script_name(&self, name: &str, as_digest: bool) -> String {
        match as_digest {
            true => format!("sha1Of({})", screaming(name)),
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
                // ioredis' types know the expiry before NX and XX.
                let (expiry, conditions): (Vec<_>, Vec<_>) =
                    options.iter().partition(|(_, number)| number.is_some());
                for (word, number) in expiry.into_iter().chain(conditions) {
                    items.push(leaf(text(word.as_bytes())));
                    items.extend(number.map(|number| leaf(argument(self, number))));
                }
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
            Call::Command(name, arguments) if METHODS.contains(&format!(" {name} ")) => list(
                format!("{redis}.{}(", name.to_ascii_lowercase()),
                given(arguments),
                ")",
            ),
            Call::Command(name, arguments) => {
                let mut items = vec![leaf(text(name.as_bytes()))];
                items.extend(given(arguments));
                list(format!("{redis}.call("), items, ")")
            }
            Call::Statement(statement) => {
                let function = shape.function("affectedRows");
                let mut items = vec![leaf(mysql), leaf(statement_text(statement, indent + 2))];
                let names: Vec<String> = names_in(statement)
                    .into_iter()
                    .map(|name| variable(name))
                    .collect();
                items.extend(
                    (!names.is_empty()).then(|| leaf(format!("{{ {} }}", names.join(", ")))),
                );
                list(format!("{function}("), items, ")")
            }
            // The walker writes what is the test's own.
            _ => leaf("undefined"),
        }
    }

    fn ask(&self, walk: &mut Walk<'_, '_>, indent: usize, asked: &Asked<'_>) {
        let me = asked.me;
        let call = walk.asked(asked, indent + 4);
        let open = match asked.waits {
            None => format!("await {me}.asks("),
            Some(waits) => format!("await {me}.startsAsking(\"{waits}\", "),
        };
        walk.code(indent, &arrow(open, asked.source, call, ");"));
    }

    fn milliseconds(&self, milliseconds: &Argument) -> String {
        argument(self, milliseconds)
    }

    fn handed(&self, routine: &Routine<'_>, client: &str, _stores: &[String]) -> Vec<String> {
        let has_servers = !routine.stores.is_empty() || routine.database;
        let has_own = has_servers || routine.clock || routine.listens;
        let mut handed: Vec<String> = has_own.then(|| client.to_owned()).into_iter().collect();
        handed.extend(routine.handed(&[], ["", "gateway", "sales", "", ""]));
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
        walk.line(indent, &format!("async function {name}() {{"));
        if !part.is_operator() {
            let client = text(part.name.as_bytes());
            let connect = format!("const {me} = await new Client({client}, seen).connect();");
            walk.line(indent + 2, &connect);
            walk.line(indent + 2, &format!("everybody.push({me});"));
        }
        indent + 2
    }

    fn end_of_part(&self, walk: &mut Walk<'_, '_>, indent: usize, _part: &Part<'_>, _me: &str) {
        walk.line(indent, "}");
    }

    fn part_name(&self, name: &str) -> String {
        match name {
            OPERATOR => "theOperator".to_owned(),
            name => camel(&format!("client {name}")),
        }
    }

    fn near(&self, number: i64, _place: usize, _element: Option<usize>) -> String {
        format!("expect.closeTo({number}, -4)")
    }

    fn sql_value(&self, value: &SqlValue) -> String {
        match value {
            SqlValue::Null => "null".to_owned(),
            SqlValue::Text(words) => text(words.as_bytes()),
            SqlValue::DateTime(time) => text(time.to_string().as_bytes()),
            other => other.to_string(),
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
        let items = vec![leaf("operator.mysql"), leaf(query)];
        walk.code(
            indent,
            &list(format!("const {name} = await rows("), items, ");"),
        );
        matrix(walk, indent, format!("expect({name}).toEqual(["), rows);
    }

    fn hash(&self, parts: Vec<Laid>) -> Laid {
        let pairs = parts.chunks(2).map(|pair| match pair {
            [field, value] => leaf(format!("{}: {}", field.open, value.open)),
            other => leaf(other.iter().map(Laid::flat).collect::<String>()),
        });
        list("{ ", pairs.collect(), " }")
    }

    fn key_is(&self, walk: &mut Walk<'_, '_>, indent: usize, read: &str, value: Laid) {
        let matcher = if value.items.is_empty() {
            "toBe"
        } else {
            "toEqual"
        };
        let open = format!("expect(await operator.{read}).{matcher}({}", value.open);
        let close = format!("{});", value.close);
        walk.code(
            indent,
            &Laid {
                open,
                close,
                ..value
            },
        );
    }

    fn charges_are(&self, walk: &mut Walk<'_, '_>, indent: usize, charges: &[(String, u64, bool)]) {
        let charges = charges.iter().map(|(order, amount, refunded)| {
            let order = text(order.as_bytes());
            leaf(format!(
                "{{ order: {order}, amount: {amount}, refunded: {refunded} }}"
            ))
        });
        matrix(
            walk,
            indent,
            "expect(gateway.charges).toEqual([".to_owned(),
            charges.collect(),
        );
    }

    fn named(
        &self,
        walk: &mut Walk<'_, '_>,
        indent: usize,
        name: &str,
        replies: &[Replies],
        _as_numbers: bool,
    ) {
        let element = replies.iter().find_map(|replies| replies.element);
        let Some(element) = element else {
            return lists_of_replies(walk, indent, name, replies);
        };
        lists_of_replies(walk, indent, "drawn", replies);
        let numbers = format!("const {name} = drawn.map((reply) => Number(reply[{element}]));");
        walk.line(indent, &numbers);
    }

    /// `expect(value, "message").matcher(given);`; prettier breaks the last brackets if that is enough.
    fn assert(
        &self,
        walk: &mut Walk<'_, '_>,
        indent: usize,
        proof: &Proof<'_>,
        message: &str,
        is_broken: bool,
    ) {
        let condition = if is_broken { proof.breaks } else { proof.holds };
        let (value, matcher) = condition.split_once('¦').unwrap_or((condition, ""));
        let items = vec![leaf(value), leaf(text(message.as_bytes()))];
        let code = list("expect(", items, format!(").{matcher};"));
        let flat = code.flat();
        let head = flat
            .rfind('(')
            .map_or(flat.as_str(), |place| &flat[..=place]);
        let is_long = indent + flat.chars().count() > TABLES.form.width;
        if !is_long || indent + head.chars().count() > TABLES.form.width {
            return walk.code(indent, &code);
        }
        let given = flat[head.len()..].trim_end_matches(");");
        walk.line(indent, head);
        walk.line(indent + 2, &format!("{given},"));
        walk.line(indent, ");");
    }
}

fn head(walk: &mut Walk<'_, '_>, indent: usize) {
    let head = format!("test({}, async ({{", text(walk.plan.title().as_bytes()));
    let whole = format!("{head} operator }}) => {{");
    if whole.chars().count() <= TABLES.form.width {
        return walk.line(indent, &whole);
    }
    walk.line(indent, &head);
    walk.line(indent + 2, "operator,");
    walk.line(indent, "}) => {");
}

/// Rows, which prettier gives a line each where there are several.
fn matrix(walk: &mut Walk<'_, '_>, indent: usize, open: String, rows: Vec<Laid>) {
    let code = list(open, rows, "]);");
    if code.items.len() < 2 || code.items.iter().any(|row| row.items.len() == 1) {
        return walk.code(indent, &code);
    }
    walk.line(indent, &code.open);
    for row in &code.items {
        walk.line(indent + 2, &format!("{},", row.flat()));
    }
    walk.line(indent, &code.close);
}

/// A variable with the replies of several.
fn lists_of_replies(walk: &mut Walk<'_, '_>, indent: usize, name: &str, replies: &[Replies]) {
    let list_of = |replies: &Replies| {
        let (who, what) = (text(replies.who.as_bytes()), text(replies.what.as_bytes()));
        let only = replies
            .only
            .map(|only| format!(".slice({only}, {})", only + 1));
        format!("replies(seen, {who}, {what}){}", only.unwrap_or_default())
    };
    let lists: Vec<String> = replies.iter().map(list_of).collect();
    if let [only] = lists.as_slice() {
        return walk.line(indent, &format!("const {name} = {only};"));
    }
    let lists = lists.iter().map(|list| leaf(format!("...{list}")));
    walk.code(
        indent,
        &list(format!("const {name} = ["), lists.collect(), "];"),
    );
}

const KEYWORDS: &str = " await break case catch class const continue default delete do else export extends false finally for \
    function if import in instanceof new null return static super switch this throw true try typeof var void while with yield let \
    clock inbox redis mysql gateway sales rows row value error step test base seen everybody operator latch replies left paid stock least sorted enum implements \
    interface package private protected public eval arguments undefined null async ";

/// A variable's name in JavaScript.
pub(super) fn variable(name: &str) -> String {
    unless_taken(camel(name), KEYWORDS)
}

/// A string, as prettier quotes it.
fn text(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let count = |quote| text.matches(quote).count();
    let quote = if count('"') > count('\'') { '\'' } else { '"' };
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

/// Text of several lines in backquotes, closed in this column.
fn block_text(source: &str, indent: usize) -> String {
    let escaped = source
        .replace('\\', "\\\\")
        .replace('`', "\\`")
        .replace("${", "\\${");
    let (lines, blanks) = (indented(&escaped, indent), " ".repeat(indent));
    format!("`\n{lines}\n{blanks}`")
}

/// An SQL statement with named placeholders.
fn statement_text(statement: &Statement, indent: usize) -> String {
    let sql = sql_with(statement, &|name| format!(":{}", variable(name)));
    match sql.contains('\n') {
        true => block_text(&sql, indent),
        false => text(sql.as_bytes()),
    }
}

/// `open "label", () => call close`.
fn arrow(open: String, label: &str, call: Laid, close: &str) -> Laid {
    let function = Laid {
        open: "() => ".to_owned(),
        items: vec![call],
        close: String::new(),
        hugs: false,
    };
    Laid {
        hugs: true,
        ..list(open, vec![leaf(text(label.as_bytes())), function], close)
    }
}

//! A test for vitest, with ioredis and mysql2.

use crate::sorted::SortedMap;

use crate::sim::client::protocol::{Argument, Element, Request};
use crate::sim::database::{SqlReply, Statement, Value as SqlValue};
use crate::sim::event::{Answer, Value};
use crate::sim::store::Value as StoreValue;
use crate::sim::store::reply::Reply;

use super::Options;
use super::claim::{Claim, Evidence, Replies};
use super::layout::{Code as Laid, Style, laid_out, leaf, list};
use super::plan::{CLOCK_KEY, FinalKey, Move, Part, Plan, Seen};
use super::request::{Call, plain_number};
use super::routine::{Code, Is, Routine, Send, Shape, Test, outliving};
use super::words::{
    LEAVES_ALONE, SEE_IT, WHERE_REDIS_IS, aim, camel, error_name, name_in_sql, push_line,
    screaming, seconds, wrapped,
};

const WIDTH: usize = 80;

/// The test.
pub(super) fn print(plan: &Plan<'_>, options: Options) -> String {
    let mut printer = Printer {
        plan,
        options,
        out: String::new(),
        tokens_are_named: false,
    };
    let body = printer.after_imports();
    printer.header();
    printer.imports(&body);
    printer.out + &body
}

/// Commands that ioredis has under their own name and whose replies it leaves as they are.
const METHODS: &str = " APPEND DECR DECRBY DEL EXISTS EXPIRE GET GETDEL HGET HLEN HSET INCR INCRBY LINDEX LLEN LPOP LPUSH \
    LRANGE MGET PERSIST PEXPIRE PTTL PUBLISH RPOP RPUSH SADD SET SETNX SMEMBERS STRLEN TIME TTL TYPE ZCARD ZSCORE BRPOP ";

struct Printer<'p, 'a> {
    plan: &'p Plan<'a>,
    options: Options,
    out: String,
    tokens_are_named: bool,
}

impl Printer<'_, '_> {
    fn line(&mut self, indent: usize, text: &str) {
        push_line(&mut self.out, indent, text);
    }

    fn code(&mut self, indent: usize, code: &Laid) {
        self.out
            .push_str(&laid_out(code, indent, "", WIDTH, 2, Style::OneEach));
        self.out.push('\n');
    }

    /// `expect(value, "message").matcher(given);`; prettier breaks the last brackets if that is enough.
    fn expect(&mut self, indent: usize, value: &str, message: &str, matcher: &str) {
        let items = vec![leaf(value), leaf(text(message.as_bytes()))];
        let code = list("expect(", items, format!(").{matcher};"));
        let flat = code.flat();
        let head = flat
            .rfind('(')
            .map_or(flat.as_str(), |place| &flat[..=place]);
        let is_long = indent + flat.chars().count() > WIDTH;
        if is_long && indent + head.chars().count() <= WIDTH {
            let given = flat[head.len()..].trim_end_matches(");");
            self.line(indent, head);
            self.line(indent + 2, &format!("{given},"));
            return self.line(indent, ");");
        }
        self.code(indent, &code);
    }

    fn remark(&mut self, indent: usize, text: &str) {
        for line in wrapped(text, WIDTH - 3 - indent) {
            self.line(indent, &format!("// {line}"));
        }
    }

    fn header(&mut self) {
        let plan = self.plan;
        let title = if plan.title.is_empty() {
            "A schedule of lock clients"
        } else {
            &plan.title
        };
        self.remark(0, &format!("{}.", title.trim_end_matches('.')));
        self.line(0, "//");
        if !plan.description.is_empty() {
            self.remark(0, plan.description);
            self.line(0, "//");
        }
        let aim = aim(self.options.holds);
        self.remark(0, aim);
        self.remark(0, SEE_IT);
        self.line(0, "//");
        self.line(0, &format!("//     {}", plan.link));
        self.line(0, "//");
        self.remark(0, "To run it:");
        self.line(0, "//");
        let packages = match (plan.store, plan.database) {
            (true, true) => "vitest ioredis mysql2",
            (true, false) => "vitest ioredis",
            (false, true) => "vitest mysql2",
            (false, false) => "vitest",
        };
        self.line(0, &format!("//     npm install --save-dev {packages}"));
        self.line(0, "//     npx vitest run");
        self.line(0, "//");
        if plan.store {
            self.remark(0, WHERE_REDIS_IS);
        }
        if plan.database {
            self.remark(
                0,
                "MYSQL_HOST, MYSQL_PORT, MYSQL_USER, MYSQL_PASSWORD and MYSQL_DATABASE say where MySQL or MariaDB is (127.0.0.1, \
                 3306, root, no password, test).",
            );
        }
        self.remark(0, LEAVES_ALONE);
        self.line(0, "");
    }

    fn imports(&mut self, body: &str) {
        if body.contains("new Redis(") {
            self.line(0, "import { Redis } from \"ioredis\";");
        }
        if body.contains("createConnection(") {
            self.line(0, "import { createConnection } from \"mysql2/promise\";");
        }
        self.line(0, "import { test as base, expect } from \"vitest\";");
        self.line(0, "");
    }

    fn after_imports(&mut self) -> String {
        let plan = self.plan;
        for (name, source) in &plan.scripts {
            self.line(
                0,
                &format!("const {} = {};", screaming(name), block_text(source, 0)),
            );
            self.line(0, "");
        }
        self.settings();
        for routine in &plan.routines {
            self.routine(routine);
        }
        if plan.gateway {
            self.out.push_str(GATEWAY);
        }
        self.tools();
        self.test();
        std::mem::take(&mut self.out)
    }

    fn settings(&mut self) {
        let plan = self.plan;
        if !plan.statements.is_empty() {
            self.line(0, "const STATEMENTS = [");
            for statement in &plan.statements {
                self.line(2, &format!("{},", statement_text(statement, 2)));
            }
            self.line(0, "];");
        }
        if !plan.tables.is_empty() {
            let tables = plan
                .tables
                .iter()
                .map(|table| leaf(text(table.as_bytes())))
                .collect();
            self.code(0, &list("const TABLES = [", tables, "];"));
        }
        if !plan.keys.is_empty() {
            let keys = plan.keys.iter().map(|key| leaf(text(key))).collect();
            self.code(0, &list("const KEYS = [", keys, "];"));
        }
    }

    // Protocols.

    fn routine(&mut self, routine: &Routine<'_>) {
        let servers: Vec<&str> = [
            routine.store.then_some("redis"),
            routine.database.then_some("mysql"),
        ]
        .into_iter()
        .flatten()
        .collect();
        let mut given = Vec::new();
        given.extend((!servers.is_empty()).then(|| leaf(format!("{{ {} }}", servers.join(", ")))));
        given.extend(routine.gateway.then(|| leaf("gateway")));
        given.extend(routine.sells.then(|| leaf("sales")));
        given.extend(routine.given.iter().map(|name| leaf(variable(name))));
        self.line(0, "");
        self.line(
            0,
            "/** One attempt, request by request; each is sent when the schedule says so. */",
        );
        self.code(
            0,
            &list(
                format!("function* {}(", variable(&routine.protocol.name)),
                given,
                ") {",
            ),
        );
        self.block(2, &routine.code, &[]);
        self.line(0, "}");
    }

    fn block(&mut self, indent: usize, code: &[Code<'_>], declared: &[String]) {
        let mut declared = declared.to_vec();
        for (place, statement) in code.iter().enumerate() {
            for name in outliving(code, place) {
                if !declared.contains(&name) {
                    self.line(indent, &format!("let {};", variable(&name)));
                    declared.push(name);
                }
            }
            self.statement(indent, statement, &declared);
        }
    }

    fn statement(&mut self, indent: usize, statement: &Code<'_>, declared: &[String]) {
        match statement {
            Code::Send(send) => self.send(indent, send, declared),
            Code::Loop(body) => {
                self.line(indent, "while (true) {");
                self.block(indent + 2, body, declared);
                self.line(indent, "}");
            }
            Code::Break => self.line(indent, "break;"),
            Code::Again => self.line(indent, "continue;"),
            Code::Return => self.line(indent, "return;"),
            Code::Remark(text) => self.remark(indent, text),
            Code::Raise(name) => self.line(indent, &format!("throw {};", variable(name))),
            Code::Bind {
                variable: name,
                reply,
                element,
            } => {
                let declares = if declared.iter().any(|known| known == name) {
                    ""
                } else {
                    "const "
                };
                let element = element.map_or(String::new(), |element| format!("[{element}]"));
                self.line(
                    indent,
                    &format!(
                        "{declares}{} = {}{element};",
                        variable(name),
                        variable(reply)
                    ),
                );
            }
            Code::Sell(units, order) => {
                let order = order.map_or("me".to_owned(), argument);
                let orders = vec![order; usize::try_from(*units).unwrap_or(1)].join(", ");
                self.line(indent, &format!("sales.push({orders});"));
            }
            Code::If(asked, then, otherwise) => {
                self.line(indent, &format!("if ({}) {{", condition(asked)));
                self.block(indent + 2, then, declared);
                self.otherwise(indent, otherwise, declared);
                self.line(indent, "}");
            }
        }
    }

    fn otherwise(&mut self, indent: usize, code: &[Code<'_>], declared: &[String]) {
        match code {
            [] => {}
            [Code::If(asked, then, rest)] => {
                self.line(indent, &format!("}} else if ({}) {{", condition(asked)));
                self.block(indent + 2, then, declared);
                self.otherwise(indent, rest, declared);
            }
            code => {
                self.line(indent, "} else {");
                self.block(indent + 2, code, declared);
            }
        }
    }

    fn send(&mut self, indent: usize, send: &Send<'_>, declared: &[String]) {
        let reply = variable(&send.reply);
        let inner = if send.catches { indent + 2 } else { indent };
        let call = call(
            &Call::of(&send.step.request),
            send.shape,
            inner + 4,
            "redis",
            "mysql",
        );
        let is_declared = declared.contains(&send.reply);
        let open = match (send.is_used, is_declared || send.catches) {
            (true, false) => format!("const {reply} = yield step("),
            (true, true) => format!("{reply} = yield step("),
            (false, _) => "yield step(".to_owned(),
        };
        let code = arrow(open, &send.step.label, call, ");");
        if !send.catches {
            return self.code(indent, &code);
        }
        if !is_declared {
            self.line(indent, &format!("let {reply};"));
        }
        self.line(indent, "try {");
        self.code(inner, &code);
        self.line(indent, "} catch (error) {");
        self.line(inner, &format!("{reply} = error;"));
        self.line(indent, "}");
    }

    // What every test needs.

    fn tools(&mut self) {
        let plan = self.plan;
        let mut later = Printer {
            plan,
            options: self.options,
            out: String::new(),
            tokens_are_named: false,
        };
        later.test();
        let all = format!("{}{}", self.out, later.out);
        let uses = |name: &str| all.contains(&format!("{name}("));
        if !plan.routines.is_empty() {
            self.out.push_str(STEP);
        }
        if plan.store {
            self.out.push_str(CONNECT_TO_REDIS);
        }
        if plan.database {
            let flags = if plan.setup.found_rows {
                ""
            } else {
                "    flags: [\"-FOUND_ROWS\"],\n"
            };
            self.out
                .push_str(&CONNECT_TO_MYSQL.replace("{flags}", flags));
            self.out.push_str(AFFECTED_ROWS);
            if uses(" rows")
                || uses("(rows")
                || uses(" row")
                || uses(" value")
                || !plan.tables.is_empty()
            {
                self.out.push_str(ROWS);
            }
            if uses(" row") || uses(" value") {
                self.out.push_str(ROW);
            }
            if uses(" value") {
                self.out.push_str(VALUE);
            }
        }
        self.out.push_str(ERROR_CODE);
        self.client();
        if !plan.latches.is_empty() {
            self.out.push_str(LATCH);
        }
        if uses("replies") {
            self.out.push_str(REPLIES);
        }
        self.fixture();
    }

    fn client(&mut self) {
        let plan = self.plan;
        self.out.push_str("\n/** Somebody with connections of their own; whatever they are told is noted. */\nclass Client {\n  constructor(name, seen) {\n    this.name = name;\n    this.seen = seen;\n  }\n");
        self.out
            .push_str("\n  /** Opens connections of its own. */\n  async connect() {\n");
        if plan.store {
            self.line(4, "this.redis = connectToRedis();");
        }
        if plan.database {
            self.line(4, "this.mysql = await connectToMysql();");
        }
        self.out.push_str("    return this;\n  }\n\n  /** Closes them, as a crash would; what is not committed is rolled back. */\n  close() {\n");
        if plan.store {
            self.line(4, "this.redis.disconnect();");
        }
        if plan.database {
            self.line(4, "this.mysql.destroy();");
        }
        self.line(2, "}");
        if !plan.routines.is_empty() {
            self.out.push_str(if self.options.holds {
                CLIENT_STEPS_FREELY
            } else {
                CLIENT_STEPS
            });
        }
        if plan.looks(|act| matches!(act, Move::Ask { .. })) {
            self.out.push_str("\n  /** Sends what is typed at a console, and notes the reply. */\n  async asks(what, request) {\n    await this.note(what, request);\n  }\n");
        }
        self.out.push_str(CLIENT_NOTE);
    }

    fn fixture(&mut self) {
        let plan = self.plan;
        self.out.push_str("\nconst test = base.extend({\n  /** Somebody who sets everything up and cleans up. */\n  // eslint-disable-next-line no-empty-pattern\n  operator: async ({}, use) => {\n    const operator = await new Client(\"operator\", []).connect();\n    operator.everybody = [operator];\n");
        if !plan.keys.is_empty() {
            self.line(4, "const takenKeys = await operator.redis.exists(...KEYS);");
            self.line(
                4,
                "expect(takenKeys, \"Redis has its keys already\").toBe(0);",
            );
        }
        if !plan.tables.is_empty() {
            self.line(
                4,
                "const tables = await rows(operator.mysql, \"SHOW TABLES\");",
            );
            self.line(
                4,
                "const taken = tables.flat().filter((table) => TABLES.includes(table));",
            );
            self.line(
                4,
                "expect(taken, \"the database has its tables already\").toEqual([]);",
            );
        }
        self.line(4, "try {");
        if !plan.statements.is_empty() {
            self.line(6, "for (const statement of STATEMENTS) {");
            self.line(8, "await affectedRows(operator.mysql, statement);");
            self.line(6, "}");
        }
        for command in &plan.setup.commands {
            let arguments: Vec<Argument> =
                command.1.iter().cloned().map(Argument::Literal).collect();
            let request = Request::Store(None, arguments);
            let code = call(
                &Call::of(&request),
                Shape::Plain,
                6,
                "operator.redis",
                "operator.mysql",
            );
            self.code(
                6,
                &Laid {
                    open: format!("await {}", code.open),
                    close: format!("{};", code.close),
                    ..code
                },
            );
        }
        self.line(6, "await use(operator);");
        self.line(4, "} finally {");
        self.line(6, "for (const client of operator.everybody.slice(1)) {");
        self.line(8, "client.close();");
        self.line(6, "}");
        if !plan.tables.is_empty() {
            self.line(6, "for (const table of TABLES) {");
            self.line(8, "const drop = `DROP TABLE IF EXISTS \\`${table}\\``;");
            self.line(8, "await affectedRows(operator.mysql, drop);");
            self.line(6, "}");
        }
        if !plan.keys.is_empty() {
            self.line(6, "await operator.redis.del(...KEYS);");
        }
        self.line(6, "operator.close();");
        self.line(4, "}");
        self.line(2, "},");
        self.line(0, "});");
    }

    // The test.

    fn test(&mut self) {
        let plan = self.plan;
        self.line(0, "");
        let title = if plan.title.is_empty() {
            "a schedule of lock clients"
        } else {
            &plan.title
        };
        let head = format!("test({}, async ({{", text(title.as_bytes()));
        let whole = format!("{head} operator }}) => {{");
        if whole.chars().count() <= WIDTH {
            self.line(0, &whole);
        } else {
            self.line(0, &head);
            self.line(2, "operator,");
            self.line(0, "}) => {");
        }
        self.line(2, "const { seen, everybody } = operator;");
        if plan.gateway {
            self.line(2, "const gateway = new Gateway();");
        }
        if plan.sells {
            self.line(2, "const sales = [];");
        }
        if plan.looks(|act| matches!(act, Move::LookForKey(_))) {
            self.line(2, "const left = [];");
        }
        if plan.looks(|act| matches!(act, Move::LookForDeadline(_))) {
            self.line(2, "const timesToLive = [];");
        }
        for latch in &plan.latches {
            self.line(2, &format!("const {} = latch();", camel(latch)));
        }
        let mut parts = Vec::new();
        for part in &plan.parts {
            parts.push(leaf(format!("{}()", self.part(part))));
        }
        self.line(0, "");
        self.code(2, &list("await Promise.all([", parts, "]);"));
        if !self.options.holds {
            self.line(0, "");
            self.seen();
            self.end();
        }
        for claim in &plan.claims {
            self.claim(claim);
        }
        self.line(0, "});");
    }

    fn part(&mut self, part: &Part<'_>) -> String {
        let is_operator = part.name == "operator";
        let name = if is_operator {
            "theOperator".to_owned()
        } else {
            camel(&format!("client {}", part.name))
        };
        let me = if is_operator {
            "operator".to_owned()
        } else {
            variable(part.name)
        };
        self.line(0, "");
        self.line(2, &format!("async function {name}() {{"));
        if !is_operator {
            self.line(
                4,
                &format!(
                    "const {me} = await new Client({}, seen).connect();",
                    text(part.name.as_bytes())
                ),
            );
            self.line(4, &format!("everybody.push({me});"));
        }
        for act in &part.moves {
            self.act(4, &me, act);
        }
        self.line(2, "}");
        name
    }

    fn act(&mut self, indent: usize, me: &str, act: &Move<'_>) {
        let step = |verb: &str, label: &str| match self.options.holds {
            false => format!("await {me}.{verb}({});", text(label.as_bytes())),
            true => format!("await {me}.{verb}(); // {label}"),
        };
        match act {
            Move::Run {
                routine,
                me: name,
                parameters,
            } => self.run(indent, me, &self.plan.routines[*routine], name, parameters),
            Move::Step(label) => self.line(indent, &step("step", label)),
            Move::Send(label) => self.line(indent, &step("sends", label)),
            Move::See(label) => self.line(indent, &format!("{me}.seesTheReply(); // {label}")),
            Move::Ask {
                source,
                request,
                seen,
            } => {
                let shape = self.plan.seen[*seen].shape;
                let code = call(
                    &Call::of(request),
                    shape,
                    indent + 4,
                    &format!("{me}.redis"),
                    &format!("{me}.mysql"),
                );
                self.code(
                    indent,
                    &arrow(format!("await {me}.asks("), source, code, ");"),
                );
            }
            Move::Wait(latch) => self.line(
                indent,
                &format!("await {}.opened;", camel(&self.plan.latches[*latch])),
            ),
            Move::Open(latch) => self.line(
                indent,
                &format!("{}.open();", camel(&self.plan.latches[*latch])),
            ),
            Move::Lapse(key) => self.line(
                indent,
                &format!("await {me}.redis.pexpire({}, 0);", text(key)),
            ),
            Move::Age(key, remaining) => self.line(
                indent,
                &format!("await {me}.redis.pexpire({}, {remaining});", text(key)),
            ),
            Move::Ahead(milliseconds) => {
                self.line(
                    indent,
                    &format!(
                        "await {me}.redis.incrby({}, {milliseconds});",
                        text(CLOCK_KEY.as_bytes())
                    ),
                );
            }
            Move::DatabaseClock(milliseconds) => {
                self.remark(
                    indent,
                    "For this connection's statements it is that much later.",
                );
                let statement = format!(
                    "SET timestamp = UNIX_TIMESTAMP() + {}",
                    seconds(*milliseconds)
                );
                let items = vec![
                    leaf(format!("{me}.mysql")),
                    leaf(text(statement.as_bytes())),
                ];
                self.code(indent, &list("await affectedRows(", items, ");"));
            }
            Move::Wipe(key) => self.line(
                indent,
                &format!("await {me}.redis.del({}); // lost", text(key)),
            ),
            Move::Crash => self.line(indent, &format!("{me}.close(); // crashes")),
            Move::Restart => self.line(indent, &format!("await {me}.connect();")),
            Move::LookForKey(key) => {
                let item = leaf(format!("await {me}.redis.exists({})", text(key)));
                self.code(indent, &list("left.push(", vec![item], ");"));
            }
            Move::LookForDeadline(key) => {
                let item = leaf(format!("await {me}.redis.pttl({})", text(key)));
                self.code(indent, &list("timesToLive.push(", vec![item], ");"));
            }
            Move::Remark(text) => self.remark(indent, text),
        }
    }

    fn run(
        &mut self,
        indent: usize,
        client: &str,
        routine: &Routine<'_>,
        name: &str,
        parameters: &SortedMap<String, Value>,
    ) {
        let mut given: Vec<Laid> = Vec::new();
        given.extend((routine.store || routine.database).then(|| leaf(client)));
        given.extend(routine.gateway.then(|| leaf("gateway")));
        given.extend(routine.sells.then(|| leaf("sales")));
        for parameter in &routine.given {
            given.push(leaf(
                match (parameter.as_str(), parameters.get(parameter)) {
                    ("me", _) => text(name.as_bytes()),
                    (_, Some(Value::Text(bytes))) => text(bytes),
                    (_, Some(Value::Integer(number))) => number.to_string(),
                    (_, Some(Value::Null) | None) => "null".to_owned(),
                },
            ));
        }
        let protocol = list(format!("{}(", variable(&routine.protocol.name)), given, ")");
        self.code(
            indent,
            &list(format!("{client}.runs("), vec![protocol], ");"),
        );
    }

    fn seen(&mut self) {
        self.line(2, "expect(seen).toEqual([");
        for seen in &self.plan.seen {
            let items = vec![
                leaf(text(seen.who.as_bytes())),
                leaf(text(seen.what.as_bytes())),
                leaf(expected(seen)),
            ];
            self.out.push_str(&laid_out(
                &list("[", items, "]"),
                4,
                ",",
                WIDTH,
                2,
                Style::OneEach,
            ));
            self.out.push('\n');
        }
        self.line(2, "]);");
    }

    fn end(&mut self) {
        let plan = self.plan;
        for table in &plan.rows {
            let order: Vec<String> = table
                .order
                .iter()
                .map(|column| name_in_sql(column))
                .collect();
            let order = if order.is_empty() {
                String::new()
            } else {
                format!(" ORDER BY {}", order.join(", "))
            };
            let query =
                text(format!("SELECT * FROM {}{order}", name_in_sql(&table.table)).as_bytes());
            let rows: Vec<Laid> = table.rows.iter().map(|row| row_text(row)).collect();
            let name = variable(&table.table);
            self.code(
                2,
                &list(
                    format!("const {name} = await rows("),
                    vec![leaf("operator.mysql"), leaf(query)],
                    ");",
                ),
            );
            self.matrix(format!("expect({name}).toEqual(["), rows);
        }
        for (key, state) in &plan.final_keys {
            self.final_key(key, state.as_ref());
        }
        if plan.gateway {
            let charges = plan.charges.iter().map(|(order, amount, refunded)| {
                let order = text(order.as_bytes());
                leaf(format!(
                    "{{ order: {order}, amount: {amount}, refunded: {refunded} }}"
                ))
            });
            self.matrix(
                "expect(gateway.charges).toEqual([".to_owned(),
                charges.collect(),
            );
        }
    }

    /// Rows, which prettier gives a line each where there are several.
    fn matrix(&mut self, open: String, rows: Vec<Laid>) {
        let code = list(open, rows, "]);");
        if code.items.len() < 2 || code.items.iter().any(|row| row.items.len() == 1) {
            return self.code(2, &code);
        }
        self.line(2, &code.open);
        for row in &code.items {
            self.line(4, &format!("{},", row.flat()));
        }
        self.line(2, &code.close);
    }

    fn final_key(&mut self, key: &[u8], state: Option<&FinalKey>) {
        let key = text(key);
        let Some(state) = state else {
            return self.line(
                2,
                &format!("expect(await operator.redis.exists({key})).toBe(0);"),
            );
        };
        let parts: Vec<Laid> = state
            .value
            .parts()
            .iter()
            .map(|part| leaf(text(part)))
            .collect();
        let (read, value) = match &state.value {
            StoreValue::String(value) => (format!("get({key})"), leaf(text(value))),
            StoreValue::List(_) => (format!("lrange({key}, 0, -1)"), list("[", parts, "]")),
            StoreValue::Hash(_) => {
                let pairs = parts
                    .chunks(2)
                    .map(|pair| leaf(format!("{}: {}", pair[0].open, pair[1].open)));
                (format!("hgetall({key})"), list("{ ", pairs.collect(), " }"))
            }
            StoreValue::Set(_) => (format!("sort({key}, \"ALPHA\")"), list("[", parts, "]")),
            StoreValue::SortedSet(_) => (
                format!("zrange({key}, 0, -1)"),
                list("[", parts.into_iter().step_by(2).collect(), "]"),
            ),
        };
        let matcher = if value.items.is_empty() {
            "toBe"
        } else {
            "toEqual"
        };
        let open = format!(
            "expect(await operator.redis.{read}).{matcher}({}",
            value.open
        );
        let close = format!("{});", value.close);
        self.code(
            2,
            &Laid {
                open,
                close,
                ..value
            },
        );
        match state.remaining {
            None => self.line(
                2,
                &format!("expect(await operator.redis.pttl({key})).toBe(-1);"),
            ),
            Some(remaining) => {
                self.line(
                    2,
                    &format!(
                        "expect(await operator.redis.pttl({key})).toBeGreaterThan({});",
                        remaining.saturating_sub(5000).max(1)
                    ),
                );
            }
        }
    }

    fn claim(&mut self, claim: &Claim) {
        let is_broken = claim.broken.is_some() && !self.options.holds;
        let goes_on = self.tokens_are_named
            && matches!(claim.evidence, Evidence::Different(_))
            && claim.broken.is_none();
        if !goes_on {
            self.line(0, "");
        }
        if let (Some(because), false) = (&claim.broken, self.options.holds) {
            self.remark(2, because);
        }
        let sentence = claim.property.sentence();
        let message = if is_broken {
            format!("is not broken: {sentence}")
        } else {
            sentence.to_owned()
        };
        let (value, holds, breaks) = self.evidence(&claim.evidence);
        self.expect(
            2,
            &value,
            &message,
            if is_broken { &breaks } else { &holds },
        );
    }

    /// What is looked at, what it is where the property holds, and what where it does not.
    fn evidence(&mut self, evidence: &Evidence) -> (String, String, String) {
        let three = |value: &str, holds: &str, breaks: &str| {
            (value.to_owned(), holds.to_owned(), breaks.to_owned())
        };
        match evidence {
            Evidence::NoRows(writes) => {
                self.named("lateWrites", writes);
                three("lateWrites.some(Boolean)", "toBe(false)", "toBe(true)")
            }
            Evidence::AllRows(writes) => {
                self.named("writesOfHolders", writes);
                three(
                    "writesOfHolders.every(Boolean)",
                    "toBe(true)",
                    "toBe(false)",
                )
            }
            Evidence::Growing(tokens) => {
                self.remark(2, "In the order in which the locks were taken.");
                self.tokens(tokens);
                self.line(2, "const areInOrder = tokens.every(");
                self.line(
                    4,
                    "(token, place) => place === 0 || token >= tokens[place - 1],",
                );
                self.line(2, ");");
                three("areInOrder", "toBe(true)", "toBe(false)")
            }
            Evidence::Different(tokens) => {
                self.tokens(tokens);
                self.line(
                    2,
                    "const areDifferent = new Set(tokens).size === tokens.length;",
                );
                three("areDifferent", "toBe(true)", "toBe(false)")
            }
            Evidence::NotNegative(column) => {
                let query = format!(
                    "SELECT MIN({}) FROM {}",
                    name_in_sql(&column.column),
                    name_in_sql(&column.table)
                );
                self.value("least", &query);
                three("least", "toBeGreaterThanOrEqual(0)", "toBeLessThan(0)")
            }
            Evidence::ShrunkBySales(column, before) => {
                let query = format!(
                    "SELECT SUM({}) FROM {}",
                    name_in_sql(&column.column),
                    name_in_sql(&column.table)
                );
                self.value("stock", &query);
                three(
                    "stock + sales.length",
                    &format!("toBe({before})"),
                    &format!("not.toBe({before})"),
                )
            }
            Evidence::PaidIsSold => {
                self.line(2, "const isSold = (order) => sales.includes(order);");
                three("gateway.paid().every(isSold)", "toBe(true)", "toBe(false)")
            }
            Evidence::SoldIsPaid => {
                self.line(
                    2,
                    "const isPaid = (order) => gateway.paid().includes(order);",
                );
                three("sales.every(isPaid)", "toBe(true)", "toBe(false)")
            }
            Evidence::PaidOnce => {
                self.line(2, "const paid = gateway.paid();");
                self.line(2, "const isPaidOnce = new Set(paid).size === paid.length;");
                three("isPaidOnce", "toBe(true)", "toBe(false)")
            }
            Evidence::Left { .. } => three("left.every(Boolean)", "toBe(true)", "toBe(false)"),
            Evidence::Deadline(_) => three("timesToLive", "not.toContain(-1)", "toContain(-1)"),
        }
    }

    fn value(&mut self, name: &str, query: &str) {
        let items = vec![leaf("operator.mysql"), leaf(text(query.as_bytes()))];
        self.code(
            2,
            &list(format!("const {name} = await value("), items, ");"),
        );
    }

    fn tokens(&mut self, tokens: &[Replies]) {
        if !self.tokens_are_named {
            self.named("tokens", tokens);
            self.tokens_are_named = true;
        }
    }

    /// A variable with these replies.
    fn named(&mut self, name: &str, replies: &[Replies]) {
        if let Some(element) = replies.iter().find_map(|replies| replies.element) {
            self.lists("drawn", replies);
            return self.line(
                2,
                &format!("const {name} = drawn.map((reply) => Number(reply[{element}]));"),
            );
        }
        self.lists(name, replies);
    }

    fn lists(&mut self, name: &str, replies: &[Replies]) {
        let list_of = |replies: &Replies| {
            let given = format!(
                "replies(seen, {}, {})",
                text(replies.who.as_bytes()),
                text(replies.what.as_bytes())
            );
            let only = replies.only.map_or(String::new(), |only| {
                format!(".slice({only}, {})", only + 1)
            });
            format!("{given}{only}")
        };
        let lists: Vec<String> = replies.iter().map(list_of).collect();
        if let [only] = lists.as_slice() {
            return self.line(2, &format!("const {name} = {only};"));
        }
        let lists = lists
            .into_iter()
            .map(|list| leaf(format!("...{list}")))
            .collect();
        self.code(2, &list(format!("const {name} = ["), lists, "];"));
    }
}

const KEYWORDS: &str = " await break case catch class const continue default delete do else export extends false finally for \
    function if import in instanceof new null return static super switch this throw true try typeof var void while with yield let \
    redis mysql gateway sales rows row value error step test base seen everybody operator latch replies left paid stock least sorted ";

/// A variable's name in JavaScript.
fn variable(name: &str) -> String {
    let name = camel(name);
    match KEYWORDS.contains(&format!(" {name} ")) {
        true => name + "_",
        false => name,
    }
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
    let blanks = " ".repeat(indent);
    let lines: Vec<String> = escaped
        .lines()
        .map(|line| {
            if line.is_empty() {
                String::new()
            } else {
                format!("{blanks}{line}")
            }
        })
        .collect();
    format!("`\n{}\n{blanks}`", lines.join("\n"))
}

/// An SQL statement with named placeholders.
fn statement_text(statement: &Statement, indent: usize) -> String {
    let mut sql = String::new();
    for (piece, name) in statement.pieces() {
        sql.push_str(piece);
        if let Some(name) = name {
            sql.push_str(&format!(":{}", variable(name)));
        }
    }
    match sql.contains('\n') {
        true => block_text(&sql, indent),
        false => text(sql.as_bytes()),
    }
}

fn argument(argument: &Argument) -> String {
    match argument {
        Argument::Literal(literal) => {
            plain_number(literal).map_or_else(|| text(literal), |number| number.to_string())
        }
        Argument::Variable(name) => variable(name),
        Argument::ScriptSource(name) => screaming(name),
        Argument::ScriptSha(name) => format!("sha1Of({})", screaming(name)),
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

/// The call that sends a request.
fn call(call: &Call<'_>, shape: Shape, indent: usize, redis: &str, mysql: &str) -> Laid {
    let given = |arguments: &[Argument]| {
        arguments
            .iter()
            .map(|one| leaf(argument(one)))
            .collect::<Vec<_>>()
    };
    match call {
        Call::Set {
            key,
            value,
            options,
        } => {
            let mut items = vec![leaf(argument(key)), leaf(argument(value))];
            // ioredis' types know the expiry before NX and XX.
            let (expiry, conditions): (Vec<_>, Vec<_>) =
                options.iter().partition(|(_, number)| number.is_some());
            for (word, number) in expiry.into_iter().chain(conditions) {
                items.push(leaf(text(word.as_bytes())));
                items.extend(number.map(|number| leaf(argument(number))));
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
            let function = match shape {
                Shape::Value => "value",
                Shape::Row => "row",
                Shape::Rows => "rows",
                Shape::Affected | Shape::Plain => "affectedRows",
            };
            let mut items = vec![leaf(mysql), leaf(statement_text(statement, indent + 2))];
            let mut names: Vec<String> = statement
                .variables()
                .iter()
                .map(|name| variable(name))
                .collect();
            names.sort();
            names.dedup();
            items.extend((!names.is_empty()).then(|| leaf(format!("{{ {} }}", names.join(", ")))));
            list(format!("{function}("), items, ")")
        }
        Call::Charge(order, amount, key) => {
            let mut items = vec![leaf(argument(order)), leaf(argument(amount))];
            items.extend(key.map(|key| leaf(argument(key))));
            list("gateway.charge(", items, ")")
        }
        Call::Refund(name) => list("gateway.refund(", vec![leaf(argument(name))], ")"),
        Call::BrokenStatement | Call::Nothing => leaf("undefined"),
    }
}

/// What is true where the question is answered by yes.
fn condition(test: &Test<'_>) -> String {
    let reply = variable(&test.reply);
    let is = if test.not { "!==" } else { "===" };
    match &test.is {
        Is::Nil => format!("{reply} {is} null"),
        Is::Anything => format!("{reply} {} null", if test.not { "===" } else { "!==" }),
        Is::Text(wanted) => format!("{reply} {is} {}", text(wanted)),
        Is::Me => format!("{reply} {is} me"),
        Is::Integer(wanted) => format!("{reply} {is} {wanted}"),
        Is::RowCount(wanted) => format!("{reply}.length {is} {wanted}"),
        Is::Elements(elements) => {
            let asked = elements
                .iter()
                .enumerate()
                .filter_map(|(place, element)| match element {
                    Element::Variable(_) => None,
                    Element::Me => Some(format!("{reply}[{place}] {is} me")),
                    Element::Integer(number) => Some(format!("{reply}[{place}] {is} {number}")),
                    Element::Text(wanted) => {
                        Some(format!("{reply}[{place}] {is} {}", text(wanted)))
                    }
                    Element::Nil => Some(format!("{reply}[{place}] {is} null")),
                });
            let joint = if test.not { " || " } else { " && " };
            asked.collect::<Vec<_>>().join(joint)
        }
        Is::Error(None) if test.not => format!("!({reply} instanceof Error)"),
        Is::Error(None) => format!("{reply} instanceof Error"),
        Is::Error(Some(name)) => format!(
            "errorCode({reply}) {is} {}",
            text(error_name(name).as_bytes())
        ),
    }
}

fn expected(seen: &Seen<'_>) -> String {
    match seen.answer {
        Answer::Store(reply) | Answer::Gateway(reply) | Answer::Client(reply) => {
            match seen.what.to_ascii_uppercase() {
                // Where ioredis has a form of its own.
                what if what.starts_with("SUBSCRIBE ") => "1".to_owned(),
                _ => reply_text(reply, seen.is_loose),
            }
        }
        Answer::Database(SqlReply::Error(error)) => {
            let error = error.to_string();
            text(format!("ERROR {}", error.split(' ').nth(1).unwrap_or_default()).as_bytes())
        }
        Answer::Database(SqlReply::Done { .. }) => "0".to_owned(),
        Answer::Database(SqlReply::Affected { affected, .. }) => affected.to_string(),
        Answer::Database(SqlReply::Rows { rows, .. }) => match (seen.shape, rows.first()) {
            (Shape::Value, first) => first
                .and_then(|row| row.first())
                .map_or("null".to_owned(), sql_value),
            (Shape::Row, first) => first.map_or("null".to_owned(), |row| row_text(row).flat()),
            _ => format!(
                "[{}]",
                rows.iter()
                    .map(|row| row_text(row).flat())
                    .collect::<Vec<_>>()
                    .join(", ")
            ),
        },
        Answer::Lost => "undefined".to_owned(),
    }
}

fn reply_text(reply: &Reply, is_loose: bool) -> String {
    match reply {
        Reply::Status(word) => text(word.as_bytes()),
        Reply::Error(error) => text(error.split(' ').next().unwrap_or_default().as_bytes()),
        Reply::Integer(number) if is_loose => format!("expect.closeTo({number}, -4)"),
        Reply::Integer(number) => number.to_string(),
        Reply::Bulk(bytes) => text(bytes),
        Reply::Nil => "null".to_owned(),
        Reply::Array(items) => {
            let items: Vec<String> = items
                .iter()
                .map(|item| reply_text(item, is_loose))
                .collect();
            format!("[{}]", items.join(", "))
        }
    }
}

fn row_text(row: &[SqlValue]) -> Laid {
    list(
        "[",
        row.iter().map(|value| leaf(sql_value(value))).collect(),
        "]",
    )
}

fn sql_value(value: &SqlValue) -> String {
    match value {
        SqlValue::Null => "null".to_owned(),
        SqlValue::Text(words) => text(words.as_bytes()),
        SqlValue::DateTime(time) => text(time.to_string().as_bytes()),
        other => other.to_string(),
    }
}

const GATEWAY: &str = r#"
/** A card gateway in memory; with a key that it knows it does not charge again. */
class Gateway {
  charges = [];
  names = new Map();

  /** Charges a card, and gives the charge's name. */
  charge(order, amount, key) {
    if (this.names.has(key)) {
      return this.names.get(key);
    }
    this.charges.push({ order, amount, refunded: false });
    const name = `ch-${this.charges.length}`;
    if (key !== undefined) {
      this.names.set(key, name);
    }
    return name;
  }

  /** Gives a charge back, by its name or by that of its order. */
  refund(name) {
    const charge = this.charges.findLast(
      ({ order, refunded }, place) =>
        !refunded && [order, `ch-${place + 1}`].includes(name),
    );
    if (charge === undefined) {
      throw new Error(`ERR nothing to refund for '${name}'`);
    }
    charge.refunded = true;
    return "OK";
  }

  /** The orders that are paid, once for each charge. */
  paid() {
    return this.charges
      .filter(({ refunded }) => !refunded)
      .map(({ order }) => order);
  }
}
"#;

const STEP: &str = r#"
/** A request that a protocol is about to send. */
function step(label, request) {
  return { label, request };
}
"#;

const CONNECT_TO_REDIS: &str = r#"
function connectToRedis() {
  return new Redis(process.env.REDIS_URL ?? "redis://127.0.0.1:6379/0");
}
"#;

const CONNECT_TO_MYSQL: &str = r#"
function connectToMysql() {
  return createConnection({
    host: process.env.MYSQL_HOST ?? "127.0.0.1",
    port: Number(process.env.MYSQL_PORT ?? 3306),
    user: process.env.MYSQL_USER ?? "root",
    password: process.env.MYSQL_PASSWORD ?? "",
    database: process.env.MYSQL_DATABASE ?? "test",
    namedPlaceholders: true,
    rowsAsArray: true,
    decimalNumbers: true,
{flags}  });
}
"#;

const AFFECTED_ROWS: &str = r#"
async function affectedRows(mysql, statement, values) {
  const [result] = await mysql.query(statement, values);
  return result.affectedRows;
}
"#;

const ROWS: &str = r#"
async function rows(mysql, query, values) {
  const [found] = await mysql.query(query, values);
  return found;
}
"#;

const ROW: &str = r#"
/** The first row; null where there is none. */
async function row(mysql, query, values) {
  return (await rows(mysql, query, values))[0] ?? null;
}
"#;

const VALUE: &str = r#"
/** The first value of the first row; null where there is none. */
async function value(mysql, query, values) {
  return (await row(mysql, query, values))?.[0] ?? null;
}
"#;

const ERROR_CODE: &str = r#"
/** The word or the number that names an error; null for a reply that is none. */
function errorCode(reply) {
  if (!(reply instanceof Error)) {
    return null;
  }
  return reply.sqlState ? `ERROR ${reply.errno}` : reply.message.split(" ")[0];
}
"#;

const CLIENT_STEPS: &str = r#"
  /** Begins an attempt, and has its first request ready. */
  runs(protocol) {
    this.protocol = protocol;
    this.upcoming = protocol.next().value;
  }

  /** Sends the next request, which has to be this one, and sees the reply. */
  async step(label) {
    await this.sends(label);
    this.seesTheReply();
  }

  /** Sends the next request, which has to be this one; the reply waits. */
  async sends(label) {
    expect(this.upcoming?.label).toBe(label);
    this.reply = await this.note(label, this.upcoming.request);
  }

  /** Hands the reply to the protocol, which has its next request ready then. */
  seesTheReply() {
    try {
      const failed = this.reply instanceof Error;
      const next = failed
        ? this.protocol.throw(this.reply)
        : this.protocol.next(this.reply);
      this.upcoming = next.value;
    } catch (error) {
      if (error !== this.reply) {
        throw error;
      }
      this.upcoming = undefined;
    }
  }
"#;

const CLIENT_STEPS_FREELY: &str = r#"
  /** Begins an attempt, and has its first request ready. */
  runs(protocol) {
    this.protocol = protocol;
    this.upcoming = protocol.next().value;
  }

  /** Sends the next request, if there is one, and sees the reply. */
  async step() {
    await this.sends();
    this.seesTheReply();
  }

  /** Sends the next request, if there is one; the reply waits. */
  async sends() {
    if (this.upcoming !== undefined) {
      const { label, request } = this.upcoming;
      this.reply = await this.note(label, request);
    }
  }

  /** Hands the reply to the protocol, which has its next request ready then. */
  seesTheReply() {
    if (this.upcoming === undefined) {
      return;
    }
    try {
      const failed = this.reply instanceof Error;
      const next = failed
        ? this.protocol.throw(this.reply)
        : this.protocol.next(this.reply);
      this.upcoming = next.value;
    } catch (error) {
      if (error !== this.reply) {
        throw error;
      }
      this.upcoming = undefined;
    }
  }
"#;

const CLIENT_NOTE: &str = r#"
  /** Sends a request, and notes the reply. */
  async note(what, request) {
    let reply;
    try {
      reply = await request();
    } catch (error) {
      reply = error;
    }
    this.seen.push([this.name, what, errorCode(reply) ?? reply]);
    return reply;
  }
}
"#;

const LATCH: &str = r#"
/** A latch: `opened` is a promise that `open()` fulfils. */
function latch() {
  let open;
  const opened = new Promise((resolve) => {
    open = resolve;
  });
  return { opened, open };
}
"#;

const REPLIES: &str = r#"
/** The replies that a client got to a step. */
function replies(seen, client, label) {
  return seen
    .filter(([who, what]) => who === client && what === label)
    .map(([, , reply]) => reply);
}
"#;

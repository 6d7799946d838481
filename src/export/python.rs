//! A test for pytest, with redis-py and PyMySQL.

use crate::sim::client::protocol::{Argument, Element};
use crate::sim::database::{SqlReply, Statement, Value as SqlValue};
use crate::sim::event::{Answer, Value};
use crate::sim::store::Value as StoreValue;
use crate::sim::store::reply::Reply;

use super::Options;
use super::claim::{Claim, Evidence, Replies};
use super::layout::{Code as Laid, Style, laid_out, leaf, list};
use super::plan::{FinalKey, Move, Part, Plan, Seen};
use super::request::{Call, plain_number};
use super::routine::{Code, Is, Routine, Send, Shape, Test};
use super::words::{
    LEAVES_ALONE, SEE_IT, WHERE_REDIS_IS, aim, error_name, name_in_sql, push_line, screaming,
    seconds, short, snake, wrapped,
};

const WIDTH: usize = 88;

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

/// Commands that redis-py has under their own name, with the same arguments in the same order.
const METHODS: &str = " APPEND DECR DECRBY EXISTS EXPIRE GET GETDEL HGET HGETALL HLEN HSET INCR INCRBY LINDEX LLEN LPOP LPUSH \
    LRANGE MGET PERSIST PEXPIRE PTTL PUBLISH RPOP RPUSH SADD SETNX SMEMBERS STRLEN TIME TTL TYPE ZCARD ZSCORE ";

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
            .push_str(&laid_out(code, indent, "", WIDTH, 4, Style::Black));
        self.out.push('\n');
    }

    /// `assert condition, "message"`.
    fn assert(&mut self, indent: usize, condition: &str, message: &str) {
        let message = text(message.as_bytes());
        let line = format!("assert {condition}, {message}");
        if indent + line.chars().count() <= WIDTH {
            return self.line(indent, &line);
        }
        self.line(indent, &format!("assert {condition}, ("));
        self.line(indent + 4, &message);
        self.line(indent, ")");
    }

    fn header(&mut self) {
        let plan = self.plan;
        let title = if plan.title.is_empty() {
            "A schedule of lock clients"
        } else {
            &plan.title
        };
        let quoted = |line: &str| line.replace('\\', "\\\\").replace("\"\"\"", "\\\"\\\"\\\"");
        self.line(
            0,
            &format!("\"\"\"{}.", quoted(title.trim_end_matches('.'))),
        );
        self.line(0, "");
        if !plan.description.is_empty() {
            for line in wrapped(plan.description, WIDTH - 1) {
                self.line(0, &quoted(&line));
            }
            self.line(0, "");
        }
        let aim = aim(self.options.holds);
        self.line(0, aim);
        self.line(0, SEE_IT);
        self.line(0, "");
        self.line(0, &format!("    {}", plan.link));
        self.line(0, "");
        self.line(0, "To run it:");
        self.line(0, "");
        let packages = match (plan.store, plan.database) {
            (true, true) => "pytest redis PyMySQL",
            (true, false) => "pytest redis",
            (false, true) => "pytest PyMySQL",
            (false, false) => "pytest",
        };
        self.line(0, &format!("    pip install {packages}"));
        self.line(0, "    pytest");
        self.line(0, "");
        if plan.store {
            self.line(0, WHERE_REDIS_IS);
        }
        if plan.database {
            self.line(0, "MYSQL_HOST, MYSQL_PORT, MYSQL_USER, MYSQL_PASSWORD and MYSQL_DATABASE say where MySQL");
            self.line(
                0,
                "or MariaDB is (127.0.0.1, 3306, root, no password, test).",
            );
        }
        self.line(0, LEAVES_ALONE);
        self.line(0, "\"\"\"");
        self.line(0, "");
    }

    fn imports(&mut self, body: &str) {
        let uses = |word: &str| body.contains(word);
        if uses("os.environ") {
            self.line(0, "import os");
        }
        if uses("Callable") {
            self.line(0, "from collections.abc import Callable");
        }
        self.line(
            0,
            "from concurrent.futures import ThreadPoolExecutor, as_completed",
        );
        if uses("@dataclass") {
            self.line(0, "from dataclasses import dataclass");
        }
        if uses("Decimal(") {
            self.line(0, "from decimal import Decimal");
        }
        if uses("Event()") {
            self.line(0, "from threading import Event");
        }
        if uses("(NamedTuple)") {
            self.line(0, "from typing import NamedTuple");
        }
        self.line(0, "");
        if uses("pymysql.") {
            self.line(0, "import pymysql");
        }
        self.line(0, "import pytest");
        if uses("Redis.from_url") {
            self.line(0, "from redis import Redis");
        }
        if uses("RedisError") {
            self.line(0, "from redis.exceptions import RedisError");
        }
    }

    /// Everything behind the imports.
    fn after_imports(&mut self) -> String {
        let plan = self.plan;
        self.line(0, "");
        for (name, source) in &plan.scripts {
            self.constant(&screaming(name), source);
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

    fn constant(&mut self, name: &str, source: &str) {
        self.line(0, &format!("{name} = {}", block_text(source, 0)));
        self.line(0, "");
    }

    /// What stands before the schedule, and what is there at its end.
    fn settings(&mut self) {
        let plan = self.plan;
        if !plan.statements.is_empty() {
            let statements = plan
                .statements
                .iter()
                .map(|statement| leaf(statement_text(statement, 4)))
                .collect();
            self.exploded(list("STATEMENTS = [", statements, "]"));
        }
        if !plan.tables.is_empty() {
            let tables = plan
                .tables
                .iter()
                .map(|table| leaf(text(table.as_bytes())))
                .collect();
            self.code(0, &list("TABLES = [", tables, "]"));
        }
        if !plan.keys.is_empty() {
            let keys = plan.keys.iter().map(|key| leaf(bytes(key))).collect();
            self.code(0, &list("KEYS = [", keys, "]"));
        }
    }

    /// One item to a line.
    fn exploded(&mut self, code: Laid) {
        self.line(0, &code.open);
        for item in &code.items {
            self.line(4, &format!("{},", item.open));
        }
        self.line(0, &code.close);
    }

    // Protocols.

    fn routine(&mut self, routine: &Routine<'_>) {
        let mut given: Vec<String> = Vec::new();
        given.extend(routine.store.then(|| "redis".to_owned()));
        given.extend(routine.database.then(|| "mysql".to_owned()));
        given.extend(routine.gateway.then(|| "gateway".to_owned()));
        given.extend(routine.sells.then(|| "sales".to_owned()));
        given.extend(routine.given.iter().map(|name| variable(name)));
        self.line(0, "");
        self.line(0, "");
        let open = format!("def {}(", function(&routine.protocol.name));
        self.code(0, &list(open, given.into_iter().map(leaf).collect(), "):"));
        self.line(
            4,
            "\"\"\"One attempt, request by request; each is sent when the schedule says so.\"\"\"",
        );
        self.block(4, &routine.code);
    }

    fn block(&mut self, indent: usize, code: &[Code<'_>]) {
        for statement in code {
            self.statement(indent, statement);
        }
    }

    fn statement(&mut self, indent: usize, statement: &Code<'_>) {
        match statement {
            Code::Send(send) => self.send(indent, send),
            Code::Loop(body) => {
                self.line(indent, "while True:");
                self.block(indent + 4, body);
            }
            Code::Break => self.line(indent, "break"),
            Code::Again => self.line(indent, "continue"),
            Code::Return => self.line(indent, "return"),
            Code::Remark(text) => self.remark(indent, text),
            Code::Raise(name) => self.line(indent, &format!("raise {}", variable(name))),
            Code::Bind {
                variable: name,
                reply,
                element,
            } => {
                let element = element.map_or(String::new(), |element| format!("[{element}]"));
                self.line(
                    indent,
                    &format!("{} = {}{element}", variable(name), variable(reply)),
                );
            }
            Code::Sell(units, order) => {
                let order = order.map_or("me".to_owned(), argument);
                match units {
                    1 => self.line(indent, &format!("sales.append({order})")),
                    units => self.line(indent, &format!("sales.extend([{order}] * {units})")),
                }
            }
            Code::If(asked, then, otherwise) => {
                self.line(indent, &format!("if {}:", condition(asked)));
                self.block(indent + 4, then);
                self.otherwise(indent, otherwise);
            }
        }
    }

    fn otherwise(&mut self, indent: usize, code: &[Code<'_>]) {
        match code {
            [] => {}
            [Code::If(asked, then, rest)] => {
                self.line(indent, &format!("elif {}:", condition(asked)));
                self.block(indent + 4, then);
                self.otherwise(indent, rest);
            }
            code => {
                self.line(indent, "else:");
                self.block(indent + 4, code);
            }
        }
    }

    fn remark(&mut self, indent: usize, text: &str) {
        for line in wrapped(text, WIDTH - 2 - indent) {
            self.line(indent, &format!("# {line}"));
        }
    }

    fn send(&mut self, indent: usize, send: &Send<'_>) {
        let reply = variable(&send.reply);
        let inner = if send.catches { indent + 4 } else { indent };
        let call = call(
            &Call::of(&send.step.request),
            send.shape,
            inner + 8,
            "redis",
            "mysql",
        );
        let request = Laid {
            open: format!("lambda: {}", call.open),
            ..call
        };
        let open = if send.is_used {
            format!("{reply} = yield Step(")
        } else {
            "yield Step(".to_owned()
        };
        let code = list(
            open,
            vec![leaf(text(send.step.label.as_bytes())), request],
            ")",
        );
        if !send.catches {
            return self.code(indent, &code);
        }
        let errors = match self.plan.gateway
            && matches!(
                send.step.request,
                crate::sim::client::protocol::Request::Gateway(_)
            ) {
            true => "GatewayError",
            false if send.shape == Shape::Plain => "RedisError",
            false => "pymysql.MySQLError",
        };
        self.line(indent, "try:");
        self.code(inner, &code);
        self.line(indent, &format!("except {errors} as error:"));
        self.line(inner, &format!("{reply} = error"));
    }

    // What every test needs.

    fn tools(&mut self) {
        let plan = self.plan;
        if !plan.routines.is_empty() {
            self.out.push_str(STEP);
        }
        if plan.store {
            self.out.push_str(CONNECT_TO_REDIS);
        }
        if plan.database {
            let flag = if plan.setup.found_rows {
                "        client_flag=pymysql.constants.CLIENT.FOUND_ROWS,\n"
            } else {
                ""
            };
            self.out.push_str(&CONNECT_TO_MYSQL.replace("{flag}", flag));
        }
        let uses = |name: &str, out: &str| out.contains(&format!("{name}("));
        let mut later = Printer {
            plan,
            options: self.options,
            out: String::new(),
            tokens_are_named: false,
        };
        later.test();
        let all = format!("{}{}", self.out, later.out);
        if plan.database {
            self.out.push_str(AFFECTED_ROWS);
            self.out.push_str(ROWS);
            if uses("row", &all) || uses("value", &all) {
                self.out.push_str(ROW);
            }
            if uses("value", &all) {
                self.out.push_str(VALUE);
            }
        }
        self.out.push_str(&self.error_code());
        self.out.push_str(&self.client());
        if uses("replies", &all) {
            self.out.push_str(REPLIES);
        }
        if uses("wait_for", &all) {
            self.out.push_str(WAIT_FOR);
        }
        self.out.push_str(RUN_TOGETHER);
        self.out.push_str(&self.fixture());
    }

    fn errors(&self) -> String {
        let plan = self.plan;
        let mut errors = Vec::new();
        errors.extend(plan.store.then_some("RedisError"));
        errors.extend(plan.database.then_some("pymysql.MySQLError"));
        errors.extend(plan.gateway.then_some("GatewayError"));
        match errors.as_slice() {
            [only] => (*only).to_owned(),
            errors => format!("({})", errors.join(", ")),
        }
    }

    fn error_code(&self) -> String {
        let mut out = String::from(
            "\n\ndef error_code(reply):\n    \"\"\"The word or the number that names an error; None for a reply that is none.\"\"\"\n",
        );
        if self.plan.database {
            out.push_str("    if isinstance(reply, pymysql.MySQLError):\n        return f\"ERROR {reply.args[0]}\"\n");
        }
        out.push_str("    if isinstance(reply, Exception):\n        word = str(reply).split()[0]\n        return word if word.isupper() else \"ERR\"\n    return None\n");
        out
    }

    fn client(&self) -> String {
        let plan = self.plan;
        let mut out = String::from(CLIENT_HEAD);
        out.push_str("    def connect(self):\n        \"\"\"Opens connections of its own.\"\"\"\n");
        if plan.store {
            out.push_str("        self.redis = connect_to_redis()\n");
        }
        if plan.database {
            out.push_str("        self.mysql = connect_to_mysql()\n");
        }
        if !plan.store && !plan.database {
            out.push_str("        self.upcoming = None\n");
        }
        out.push_str("\n    def close(self):\n        \"\"\"Closes them, as a crash would; what is not committed is rolled back.\"\"\"\n");
        if plan.store {
            out.push_str("        self.redis.close()\n");
        }
        if plan.database {
            out.push_str("        if self.mysql.open:\n            self.mysql.close()\n");
        }
        if !plan.store && !plan.database {
            out.push_str("        self.upcoming = None\n");
        }
        if !plan.routines.is_empty() {
            out.push_str(if self.options.holds {
                CLIENT_STEPS_FREELY
            } else {
                CLIENT_STEPS
            });
        }
        if plan
            .parts
            .iter()
            .flat_map(|part| &part.moves)
            .any(|act| matches!(act, Move::Ask { .. }))
        {
            out.push_str("\n    def asks(self, what, request):\n        \"\"\"Sends what is typed at a console, and notes the reply.\"\"\"\n        self.note(what, request)\n");
        }
        out.push_str(&CLIENT_NOTE.replace("{errors}", &self.errors()));
        out
    }

    fn fixture(&self) -> String {
        let plan = self.plan;
        let mut out = String::from(
            "\n\n@pytest.fixture\ndef operator():\n    \"\"\"Somebody with connections of their own, who sets everything up and cleans up.\"\"\"\n    with Client(\"operator\", seen=[]) as operator:\n",
        );
        if !plan.keys.is_empty() {
            out.push_str("        taken = [key for key in KEYS if operator.redis.exists(key)]\n        assert not taken, f\"Redis has these keys already: {taken}\"\n");
        }
        if !plan.tables.is_empty() {
            out.push_str("        present = {table for (table,) in rows(operator.mysql, \"SHOW TABLES\")}\n        taken = present.intersection(TABLES)\n        assert not taken, f\"the database has these tables already: {taken}\"\n");
        }
        out.push_str("        try:\n");
        if !plan.statements.is_empty() {
            out.push_str("            for statement in STATEMENTS:\n                affected_rows(operator.mysql, statement)\n");
        }
        for command in &plan.setup.commands {
            let arguments: Vec<Argument> =
                command.1.iter().cloned().map(Argument::Literal).collect();
            let request = crate::sim::client::protocol::Request::Store(None, arguments);
            let code = call(
                &Call::of(&request),
                Shape::Plain,
                12,
                "operator.redis",
                "operator.mysql",
            );
            out.push_str(&laid_out(&code, 12, "", WIDTH, 4, Style::Black));
            out.push('\n');
        }
        out.push_str("            yield operator\n        finally:\n");
        if !plan.tables.is_empty() {
            out.push_str("            for table in TABLES:\n                affected_rows(operator.mysql, f\"DROP TABLE IF EXISTS `{table}`\")\n");
        }
        if !plan.keys.is_empty() {
            out.push_str("            operator.redis.delete(*KEYS)\n");
        }
        if plan.tables.is_empty() && plan.keys.is_empty() {
            out.push_str("            pass\n");
        }
        out
    }

    // The test.

    fn test(&mut self) {
        let plan = self.plan;
        self.line(0, "");
        self.line(0, "");
        self.line(
            0,
            &format!("def test_{}(operator):", snake(&short(&plan.title))),
        );
        self.line(4, "seen = operator.seen");
        if plan.gateway {
            self.line(4, "gateway = Gateway()");
        }
        if plan.sells {
            self.line(4, "sales = []");
        }
        if plan.looks(|act| matches!(act, Move::LookForKey(_))) {
            self.line(4, "left = []");
        }
        if plan.looks(|act| matches!(act, Move::LookForDeadline(_))) {
            self.line(4, "times_to_live = []");
        }
        for latch in &plan.latches {
            self.line(4, &format!("{} = Event()", snake(latch)));
        }
        let mut names = Vec::new();
        for part in &plan.parts {
            names.push(self.part(part));
        }
        self.line(0, "");
        self.code(
            4,
            &list("run_together(", names.into_iter().map(leaf).collect(), ")"),
        );
        if !self.options.holds {
            self.line(0, "");
            self.seen();
            self.end();
        }
        let claims: Vec<&Claim> = plan.claims.iter().collect();
        for claim in claims {
            self.claim(claim);
        }
    }

    fn part(&mut self, part: &Part<'_>) -> String {
        let is_operator = part.name == "operator";
        let name = if is_operator {
            "the_operator".to_owned()
        } else {
            format!("client_{}", snake(part.name))
        };
        let me = if is_operator {
            "operator".to_owned()
        } else {
            snake(part.name)
        };
        self.line(0, "");
        self.line(4, &format!("def {name}():"));
        let indent = if is_operator { 8 } else { 12 };
        if !is_operator {
            self.line(
                8,
                &format!("with Client({}, seen) as {me}:", text(part.name.as_bytes())),
            );
        }
        for act in &part.moves {
            self.act(indent, &me, act);
        }
        name
    }

    fn act(&mut self, indent: usize, me: &str, act: &Move<'_>) {
        let holds = self.options.holds;
        let step = |verb: &str, label: &str| match holds {
            false => format!("{me}.{verb}({})", text(label.as_bytes())),
            true => format!("{me}.{verb}()  # {label}"),
        };
        match act {
            Move::Run {
                routine,
                me: name,
                parameters,
            } => self.run(indent, me, &self.plan.routines[*routine], name, parameters),
            Move::Step(label) => self.line(indent, &step("step", label)),
            Move::Send(label) => self.line(indent, &step("sends", label)),
            Move::See(label) => self.line(indent, &format!("{me}.sees_the_reply()  # {label}")),
            Move::Ask {
                source,
                request,
                seen,
            } => {
                let shape = self.plan.seen[*seen].shape;
                let code = call(
                    &Call::of(request),
                    shape,
                    indent + 8,
                    &format!("{me}.redis"),
                    &format!("{me}.mysql"),
                );
                let request = Laid {
                    open: format!("lambda: {}", code.open),
                    ..code
                };
                self.code(
                    indent,
                    &list(
                        format!("{me}.asks("),
                        vec![leaf(text(source.as_bytes())), request],
                        ")",
                    ),
                );
            }
            Move::Wait(latch) => self.line(
                indent,
                &format!("wait_for({})", snake(&self.plan.latches[*latch])),
            ),
            Move::Open(latch) => self.line(
                indent,
                &format!("{}.set()", snake(&self.plan.latches[*latch])),
            ),
            Move::Lapse(key) => {
                self.line(indent, &format!("{me}.redis.pexpire({}, 0)", bytes(key)));
            }
            Move::Age(key, remaining) => self.line(
                indent,
                &format!("{me}.redis.pexpire({}, {remaining})", bytes(key)),
            ),
            Move::Ahead(milliseconds) => {
                let key = text(super::plan::CLOCK_KEY.as_bytes());
                self.line(indent, &format!("{me}.redis.incrby({key}, {milliseconds})"));
            }
            Move::DatabaseClock(milliseconds) => {
                let seconds = seconds(*milliseconds);
                self.remark(
                    indent,
                    "For this connection's statements it is that much later.",
                );
                let statement = format!("SET timestamp = UNIX_TIMESTAMP() + {seconds}");
                self.line(
                    indent,
                    &format!("affected_rows({me}.mysql, {})", text(statement.as_bytes())),
                );
            }
            Move::Wipe(key) => {
                self.line(
                    indent,
                    &format!("{me}.redis.delete({})  # lost", bytes(key)),
                );
            }
            Move::Crash => self.line(indent, &format!("{me}.close()  # crashes")),
            Move::Restart => self.line(indent, &format!("{me}.connect()")),
            Move::LookForKey(key) => self.line(
                indent,
                &format!("left.append({me}.redis.exists({}))", bytes(key)),
            ),
            Move::LookForDeadline(key) => {
                self.line(
                    indent,
                    &format!("times_to_live.append({me}.redis.pttl({}))", bytes(key)),
                );
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
        parameters: &crate::sorted::SortedMap<String, Value>,
    ) {
        let mut given: Vec<Laid> = Vec::new();
        given.extend(routine.store.then(|| leaf(format!("{client}.redis"))));
        given.extend(routine.database.then(|| leaf(format!("{client}.mysql"))));
        given.extend(routine.gateway.then(|| leaf("gateway")));
        given.extend(routine.sells.then(|| leaf("sales")));
        for parameter in &routine.given {
            let value = match (parameter.as_str(), parameters.get(parameter)) {
                ("me", _) => text(name.as_bytes()),
                (_, Some(Value::Text(bytes))) => self::bytes(bytes),
                (_, Some(Value::Integer(number))) => number.to_string(),
                (_, Some(Value::Null) | None) => "None".to_owned(),
            };
            given.push(leaf(format!("{}={value}", variable(parameter))));
        }
        let protocol = list(format!("{}(", function(&routine.protocol.name)), given, ")");
        self.code(
            indent,
            &list(format!("{client}.runs("), vec![protocol], ")"),
        );
    }

    fn seen(&mut self) {
        let plan = self.plan;
        self.line(4, "assert seen == [");
        for seen in &plan.seen {
            let items = vec![
                leaf(text(seen.who.as_bytes())),
                leaf(text(seen.what.as_bytes())),
                leaf(expected(seen)),
            ];
            self.out.push_str(&laid_out(
                &list("(", items, ")"),
                8,
                ",",
                WIDTH,
                4,
                Style::Black,
            ));
            self.out.push('\n');
        }
        self.line(4, "]");
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
            let query = format!("SELECT * FROM {}{order}", name_in_sql(&table.table));
            let rows: Vec<Laid> = table.rows.iter().map(|row| leaf(row_text(row))).collect();
            let query = text(query.as_bytes());
            match rows.is_empty() {
                true => self.line(4, &format!("assert rows(operator.mysql, {query}) == []")),
                false => self.code(
                    4,
                    &list(
                        format!("assert rows(operator.mysql, {query}) == ["),
                        rows,
                        "]",
                    ),
                ),
            }
        }
        for (key, state) in &plan.final_keys {
            self.final_key(key, state.as_ref());
        }
        if plan.gateway {
            let charges = plan.charges.iter().map(|(order, amount, refunded)| {
                let refunded = if *refunded { ", refunded=True" } else { "" };
                leaf(format!(
                    "Charge({}, {amount}{refunded})",
                    text(order.as_bytes())
                ))
            });
            let charges: Vec<Laid> = charges.collect();
            self.code(4, &list("assert gateway.charges == [", charges, "]"));
        }
    }

    fn final_key(&mut self, key: &[u8], state: Option<&FinalKey>) {
        let key = bytes(key);
        let Some(state) = state else {
            return self.line(4, &format!("assert operator.redis.exists({key}) == 0"));
        };
        let parts: Vec<Laid> = state
            .value
            .parts()
            .iter()
            .map(|part| leaf(bytes(part)))
            .collect();
        let (read, value) = match &state.value {
            StoreValue::String(value) => (format!("operator.redis.get({key})"), leaf(bytes(value))),
            StoreValue::List(_) => (
                format!("operator.redis.lrange({key}, 0, -1)"),
                list("[", parts, "]"),
            ),
            StoreValue::Hash(_) => (
                format!("operator.redis.execute_command(\"HGETALL\", {key})"),
                list("[", parts, "]"),
            ),
            StoreValue::Set(_) => (
                format!("sorted(operator.redis.smembers({key}))"),
                list("[", parts, "]"),
            ),
            StoreValue::SortedSet(_) => (
                format!("operator.redis.execute_command(\"ZRANGE\", {key}, 0, -1)"),
                list("[", parts.into_iter().step_by(2).collect(), "]"),
            ),
        };
        self.code(
            4,
            &Laid {
                open: format!("assert {read} == {}", value.open),
                ..value
            },
        );
        match state.remaining {
            None => self.line(4, &format!("assert operator.redis.pttl({key}) == -1")),
            Some(remaining) => self.line(
                4,
                &format!("assert 0 < operator.redis.pttl({key}) <= {remaining}"),
            ),
        }
    }

    fn claim(&mut self, claim: &Claim) {
        let is_broken = claim.broken.is_some() && !self.options.holds;
        let is_told = self.tokens_are_named
            && matches!(claim.evidence, Evidence::Different(_))
            && claim.broken.is_none();
        if !is_told {
            self.line(0, "");
        }
        if let (Some(because), false) = (&claim.broken, self.options.holds) {
            self.remark(4, because);
        }
        let (condition, opposite) = self.evidence(&claim.evidence);
        let sentence = claim.property.sentence();
        match is_broken {
            true => self.assert(4, &opposite, &format!("is not broken: {sentence}")),
            false => self.assert(4, &condition, sentence),
        }
    }

    /// What is true where the property holds, and what is where it does not; what is needed for it is printed.
    fn evidence(&mut self, evidence: &Evidence) -> (String, String) {
        let pair = |holds: &str, not: &str| (holds.to_owned(), not.to_owned());
        match evidence {
            Evidence::NoRows(writes) => {
                self.named("late_writes", writes, false);
                pair("not any(late_writes)", "any(late_writes)")
            }
            Evidence::AllRows(writes) => {
                self.named("writes_of_holders", writes, false);
                pair("all(writes_of_holders)", "not all(writes_of_holders)")
            }
            Evidence::Growing(tokens) => {
                self.remark(4, "In the order in which the locks were taken.");
                self.named("tokens", tokens, true);
                self.tokens_are_named = true;
                pair("tokens == sorted(tokens)", "tokens != sorted(tokens)")
            }
            Evidence::Different(tokens) => {
                if !self.tokens_are_named {
                    self.named("tokens", tokens, true);
                }
                pair(
                    "len(set(tokens)) == len(tokens)",
                    "len(set(tokens)) < len(tokens)",
                )
            }
            Evidence::NotNegative(column) => {
                let query = format!(
                    "SELECT MIN({}) FROM {}",
                    name_in_sql(&column.column),
                    name_in_sql(&column.table)
                );
                self.line(
                    4,
                    &format!("least = value(operator.mysql, {})", text(query.as_bytes())),
                );
                pair("least >= 0", "least < 0")
            }
            Evidence::ShrunkBySales(column, before) => {
                let query = format!(
                    "SELECT SUM({}) FROM {}",
                    name_in_sql(&column.column),
                    name_in_sql(&column.table)
                );
                self.line(
                    4,
                    &format!("stock = value(operator.mysql, {})", text(query.as_bytes())),
                );
                (
                    format!("{before} - stock == len(sales)"),
                    format!("{before} - stock != len(sales)"),
                )
            }
            Evidence::PaidIsSold => pair(
                "gateway.paid() <= set(sales)",
                "not gateway.paid() <= set(sales)",
            ),
            Evidence::SoldIsPaid => pair(
                "set(sales) <= gateway.paid()",
                "not set(sales) <= gateway.paid()",
            ),
            Evidence::PaidOnce => {
                self.line(
                    4,
                    "paid = [charge.order for charge in gateway.charges if not charge.refunded]",
                );
                pair("len(set(paid)) == len(paid)", "len(set(paid)) < len(paid)")
            }
            Evidence::Left { .. } => pair("all(left)", "not all(left)"),
            Evidence::Deadline(_) => pair("-1 not in times_to_live", "-1 in times_to_live"),
        }
    }

    /// A variable with these replies.
    fn named(&mut self, name: &str, replies: &[Replies], as_numbers: bool) {
        let lists: Vec<Laid> = replies
            .iter()
            .map(|replies| {
                let mut given = vec![
                    leaf("seen"),
                    leaf(text(replies.who.as_bytes())),
                    leaf(text(replies.what.as_bytes())),
                ];
                given.extend(
                    replies
                        .element
                        .map(|element| leaf(format!("element={element}"))),
                );
                let only = replies
                    .only
                    .map_or(String::new(), |only| format!("[{only}:{}]", only + 1));
                leaf(format!("*{}{only}", list("replies(", given, ")").flat()))
            })
            .collect();
        let is_text = as_numbers && replies.iter().any(|replies| replies.element.is_some());
        match (lists.as_slice(), is_text) {
            ([only], false) => self.line(
                4,
                &format!("{name} = {}", only.open.trim_start_matches('*')),
            ),
            (_, false) => self.code(4, &list(format!("{name} = ["), lists, "]")),
            (_, true) => {
                self.code(4, &list(format!("{name} = ["), lists, "]"));
                self.line(4, &format!("{name} = [int(token) for token in {name}]"));
            }
        }
    }
}

const KEYWORDS: &str = " and as assert async await break class continue def del elif else except finally for from global if import \
    in is lambda nonlocal not or pass raise return try while with yield redis mysql gateway sales rows row value error Step \
    type id None ";

/// A variable's name in Python.
fn variable(name: &str) -> String {
    let name = snake(name);
    match KEYWORDS.contains(&format!(" {name} ")) {
        true => name + "_",
        false => name,
    }
}

fn function(protocol: &str) -> String {
    variable(protocol)
}

/// A string.
fn text(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
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

/// A string, or bytes where they are no text.
fn bytes(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(_) => text(bytes),
        Err(_) => format!(
            "b\"{}\"",
            bytes
                .iter()
                .map(|byte| format!("\\x{byte:02x}"))
                .collect::<String>()
        ),
    }
}

/// Text of several lines in three quotes, closed in this column.
fn block_text(source: &str, indent: usize) -> String {
    let escaped = source
        .replace('\\', "\\\\")
        .replace("\"\"\"", "\\\"\\\"\\\"");
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
    format!("\"\"\"\n{}\n{blanks}\"\"\"", lines.join("\n"))
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

fn argument(argument: &Argument) -> String {
    match argument {
        Argument::Literal(literal) => {
            plain_number(literal).map_or_else(|| bytes(literal), |number| number.to_string())
        }
        Argument::Variable(name) => variable(name),
        Argument::ScriptSource(name) => screaming(name),
        Argument::ScriptSha(name) => format!("sha1_of({})", screaming(name)),
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
            items.extend(options.iter().map(|(word, number)| {
                let number = number.map_or("True".to_owned(), argument);
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
            let function = match shape {
                Shape::Value => "value",
                Shape::Row => "row",
                Shape::Rows => "rows",
                Shape::Affected | Shape::Plain => "affected_rows",
            };
            let mut items = vec![leaf(mysql), leaf(statement_text(statement, indent))];
            let mut names: Vec<&String> = statement.variables().iter().collect();
            crate::sorted::sort(&mut names);
            names.dedup();
            items.extend(
                names
                    .iter()
                    .map(|name| leaf(format!("{0}={0}", variable(name)))),
            );
            list(format!("{function}("), items, ")")
        }
        Call::Charge(order, amount, key) => {
            let mut items = vec![leaf(argument(order)), leaf(argument(amount))];
            items.extend(key.map(|key| leaf(format!("key={}", argument(key)))));
            list("gateway.charge(", items, ")")
        }
        Call::Refund(name) => list("gateway.refund(", vec![leaf(argument(name))], ")"),
        Call::BrokenStatement | Call::Nothing => leaf("None"),
    }
}

/// What is true where the question is answered by yes.
fn condition(test: &Test<'_>) -> String {
    let reply = variable(&test.reply);
    let (is, is_not) = match test.not {
        false => ("==", "!="),
        true => ("!=", "=="),
    };
    match &test.is {
        Is::Nil => format!("{reply} is {}None", if test.not { "not " } else { "" }),
        Is::Anything => format!("{reply} is {}None", if test.not { "" } else { "not " }),
        Is::Text(wanted) => format!("{reply} {is} {}", text(wanted)),
        Is::Integer(wanted) => format!("{reply} {is} {wanted}"),
        Is::Me => format!("{reply} {is} me"),
        Is::RowCount(wanted) => format!("len({reply}) {is} {wanted}"),
        Is::Elements(elements) => {
            let asked = elements
                .iter()
                .enumerate()
                .filter_map(|(place, element)| match element {
                    Element::Variable(_) => None,
                    Element::Integer(number) => Some(format!("{reply}[{place}] {is} {number}")),
                    Element::Text(wanted) => {
                        Some(format!("{reply}[{place}] {is} {}", text(wanted)))
                    }
                    Element::Me => Some(format!("{reply}[{place}] {is} me")),
                    Element::Nil => Some(format!("{reply}[{place}] {is} None")),
                });
            let joint = if test.not { " or " } else { " and " };
            asked.collect::<Vec<_>>().join(joint)
        }
        Is::Error(None) => format!(
            "{}isinstance({reply}, Exception)",
            if test.not { "not " } else { "" }
        ),
        Is::Error(Some(name)) => {
            let _ = is_not;
            format!(
                "error_code({reply}) {is} {}",
                text(error_name(name).as_bytes())
            )
        }
    }
}

/// The reply that is expected.
fn expected(seen: &Seen<'_>) -> String {
    match seen.answer {
        Answer::Store(reply) | Answer::Gateway(reply) | Answer::Client(reply) => {
            reply_text(reply, seen.is_loose)
        }
        Answer::Database(SqlReply::Error(error)) => {
            let error = error.to_string();
            let number = error.split(' ').nth(1).unwrap_or_default();
            text(format!("ERROR {number}").as_bytes())
        }
        Answer::Database(SqlReply::Done { .. }) => "0".to_owned(),
        Answer::Database(SqlReply::Affected { affected, .. }) => affected.to_string(),
        Answer::Database(SqlReply::Rows { rows, .. }) => match (seen.shape, rows.first()) {
            (Shape::Value, first) => first
                .and_then(|row| row.first())
                .map_or("None".to_owned(), sql_value),
            (Shape::Row, first) => first.map_or("None".to_owned(), |row| row_text(row)),
            _ => format!(
                "[{}]",
                rows.iter()
                    .map(|row| row_text(row))
                    .collect::<Vec<_>>()
                    .join(", ")
            ),
        },
        Answer::Lost => "None".to_owned(),
    }
}

fn reply_text(reply: &Reply, is_loose: bool) -> String {
    match reply {
        Reply::Status(word) => text(word.as_bytes()),
        Reply::Error(error) => text(error.split(' ').next().unwrap_or_default().as_bytes()),
        Reply::Integer(number) if is_loose => format!("pytest.approx({number}, abs=1000)"),
        Reply::Integer(number) => number.to_string(),
        Reply::Bulk(bytes) => self::bytes(bytes),
        Reply::Nil => "None".to_owned(),
        Reply::Array(items) => {
            let items: Vec<String> = items
                .iter()
                .map(|item| reply_text(item, is_loose))
                .collect();
            format!("[{}]", items.join(", "))
        }
    }
}

fn row_text(row: &[SqlValue]) -> String {
    match row {
        [only] => format!("({},)", sql_value(only)),
        row => format!(
            "({})",
            row.iter().map(sql_value).collect::<Vec<_>>().join(", ")
        ),
    }
}

fn sql_value(value: &SqlValue) -> String {
    match value {
        SqlValue::Null => "None".to_owned(),
        SqlValue::Text(words) => text(words.as_bytes()),
        SqlValue::DateTime(time) => text(time.to_string().as_bytes()),
        SqlValue::Decimal(number) if number.scale() > 0 => format!("Decimal(\"{number}\")"),
        other => other.to_string(),
    }
}

const GATEWAY: &str = r#"

class GatewayError(Exception):
    """The gateway does not do what it was asked."""


@dataclass
class Charge:
    """One charge to a card."""

    order: str
    amount: int
    refunded: bool = False


class Gateway:
    """A card gateway in memory; with a key that it knows it does not charge again."""

    def __init__(self):
        self.charges = []
        self.names = {}

    def charge(self, order, amount, key=None):
        """Charges a card, and gives the charge's name."""
        if key is not None and key in self.names:
            return self.names[key]
        self.charges.append(Charge(order, amount))
        name = f"ch-{len(self.charges)}"
        if key is not None:
            self.names[key] = name
        return name

    def refund(self, name):
        """Gives a charge back, by its name or by that of its order."""
        for number, charge in reversed(list(enumerate(self.charges, start=1))):
            if name in (f"ch-{number}", charge.order) and not charge.refunded:
                charge.refunded = True
                return "OK"
        raise GatewayError(f"ERR nothing to refund for '{name}'")

    def paid(self):
        """The orders that are paid."""
        return {charge.order for charge in self.charges if not charge.refunded}
"#;

const STEP: &str = r#"

class Step(NamedTuple):
    """A request that a protocol is about to send."""

    label: str
    request: Callable
"#;

const CONNECT_TO_REDIS: &str = r#"

def connect_to_redis():
    url = os.environ.get("REDIS_URL", "redis://127.0.0.1:6379/0")
    connection = Redis.from_url(
        url, decode_responses=True, protocol=2, single_connection_client=True
    )
    # Replies as the server sends them: "OK" and not True.
    connection.response_callbacks.clear()
    return connection
"#;

const CONNECT_TO_MYSQL: &str = r#"

def connect_to_mysql():
    return pymysql.connect(
        host=os.environ.get("MYSQL_HOST", "127.0.0.1"),
        port=int(os.environ.get("MYSQL_PORT", "3306")),
        user=os.environ.get("MYSQL_USER", "root"),
        password=os.environ.get("MYSQL_PASSWORD", ""),
        database=os.environ.get("MYSQL_DATABASE", "test"),
        autocommit=True,
{flag}    )
"#;

const AFFECTED_ROWS: &str = r#"

def affected_rows(mysql, statement, **values):
    with mysql.cursor() as cursor:
        return cursor.execute(statement, values or None)
"#;

const ROWS: &str = r#"

def rows(mysql, query, **values):
    with mysql.cursor() as cursor:
        cursor.execute(query, values or None)
        return list(cursor.fetchall())
"#;

const ROW: &str = r#"

def row(mysql, query, **values):
    """The first row; None where there is none."""
    return next(iter(rows(mysql, query, **values)), None)
"#;

const VALUE: &str = r#"

def value(mysql, query, **values):
    """The first value of the first row; None where there is none."""
    first = row(mysql, query, **values)
    return first[0] if first else None
"#;

const CLIENT_HEAD: &str = r#"

class Client:
    """Somebody with connections of their own; whatever they are told is noted."""

    def __init__(self, name, seen):
        self.name = name
        self.seen = seen
        self.connect()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

"#;

const CLIENT_STEPS: &str = r#"
    def runs(self, protocol):
        """Begins an attempt, and has its first request ready."""
        self.protocol = protocol
        self.upcoming = next(protocol)

    def step(self, label):
        """Sends the next request, which has to be this one, and sees the reply."""
        self.sends(label)
        self.sees_the_reply()

    def sends(self, label):
        """Sends the next request, which has to be this one; the reply waits."""
        assert self.upcoming is not None, f"{self.name} is done before {label}"
        assert self.upcoming.label == label
        self.reply = self.note(label, self.upcoming.request)

    def sees_the_reply(self):
        """Hands the reply to the protocol, which has its next request ready then."""
        failed = isinstance(self.reply, Exception)
        proceed = self.protocol.throw if failed else self.protocol.send
        try:
            self.upcoming = proceed(self.reply)
        except StopIteration:
            self.upcoming = None
        except Exception as error:
            if error is not self.reply:
                raise
            self.upcoming = None
"#;

const CLIENT_STEPS_FREELY: &str = r#"
    def runs(self, protocol):
        """Begins an attempt, and has its first request ready."""
        self.protocol = protocol
        self.upcoming = next(protocol, None)

    def step(self):
        """Sends the next request, if there is one, and sees the reply."""
        self.sends()
        self.sees_the_reply()

    def sends(self):
        """Sends the next request, if there is one; the reply waits."""
        if self.upcoming is not None:
            self.reply = self.note(self.upcoming.label, self.upcoming.request)

    def sees_the_reply(self):
        """Hands the reply to the protocol, which has its next request ready then."""
        if self.upcoming is None:
            return
        failed = isinstance(self.reply, Exception)
        proceed = self.protocol.throw if failed else self.protocol.send
        try:
            self.upcoming = proceed(self.reply)
        except StopIteration:
            self.upcoming = None
        except Exception as error:
            if error is not self.reply:
                raise
            self.upcoming = None
"#;

const CLIENT_NOTE: &str = r#"
    def note(self, what, request):
        """Sends a request, and notes the reply."""
        try:
            reply = request()
        except {errors} as error:
            reply = error
        self.seen.append((self.name, what, error_code(reply) or reply))
        return reply
"#;

const REPLIES: &str = r#"

def replies(seen, client, step, element=None):
    """The replies that a client got to a step, or one element of each."""
    found = [reply for who, what, reply in seen if (who, what) == (client, step)]
    return found if element is None else [reply[element] for reply in found]
"#;

const WAIT_FOR: &str = r#"

def wait_for(latch):
    assert latch.wait(timeout=10), "the others never came as far as this waits for"
"#;

const RUN_TOGETHER: &str = r#"

def run_together(*parts):
    """Runs each part in a thread of its own; the first failure is raised."""
    with ThreadPoolExecutor(max_workers=len(parts)) as threads:
        for part in as_completed([threads.submit(part) for part in parts]):
            part.result()
"#;

//! A test for PHPUnit, with phpredis and PDO, and the Laravel lines that its requests stand for.

use crate::sorted::SortedMap;

use crate::sim::client::protocol::{Argument, Element, Request};
use crate::sim::database::{SqlReply, Statement, StatementKind, Value as SqlValue};
use crate::sim::event::{Answer, Value};
use crate::sim::store::Value as StoreValue;
use crate::sim::store::reply::Reply;

use super::Options;
use super::claim::{Claim, Evidence, Replies};
use super::layout::{Code as Laid, Style, laid_out, leaf, list};
use super::plan::{CLOCK_KEY, FinalKey, Move, Part, Plan, Seen};
use super::request::{Call, plain_number};
use super::routine::{Code, Is, Routine, Send, Shape, Test};
use super::words::{
    LEAVES_ALONE, SEE_IT, aim, camel, error_name, name_in_sql, pascal, push_line, screaming,
    seconds, short, wrapped,
};

const WIDTH: usize = 120;

/// The name of the test's class, which PHPUnit wants its file to be called by.
pub(super) fn class_name(title: &str) -> String {
    format!("{}Test", pascal(&short(title)))
}

/// The test.
pub(super) fn print(plan: &Plan<'_>, options: Options) -> String {
    let mut printer = Printer {
        plan,
        options,
        out: String::new(),
        tokens_are_named: false,
    };
    printer.header();
    printer.class();
    printer.tools();
    printer.out
}

/// Commands that phpredis has under their own name and whose replies it leaves as they are.
const METHODS: &str = " DEL DECR EXISTS GET INCR LLEN LPUSH LRANGE PTTL RPUSH STRLEN TTL ZCARD ";

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
            .push_str(&laid_out(code, indent, "", WIDTH, 4, Style::OneEach));
        self.out.push('\n');
    }

    fn remark(&mut self, indent: usize, text: &str) {
        for line in wrapped(text, 100 - 3 - indent) {
            self.line(indent, &format!("// {line}"));
        }
    }

    fn header(&mut self) {
        let plan = self.plan;
        self.line(0, "<?php");
        self.line(0, "");
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
        self.remark(0, aim(self.options.holds));
        self.remark(0, SEE_IT);
        self.line(0, "//");
        self.line(0, &format!("//     {}", plan.link));
        self.line(0, "//");
        self.remark(0, "To run it, with PHP's extensions redis and pdo_mysql:");
        self.line(0, "//");
        self.line(0, &format!("//     phpunit {}.php", class_name(title)));
        self.line(0, "//");
        if plan.store {
            self.remark(0, "REDIS_HOST, REDIS_PORT, REDIS_PASSWORD and REDIS_DB say where Redis is (127.0.0.1, 6379, no password, 0).");
        }
        if plan.database {
            self.remark(0, "DB_HOST, DB_PORT, DB_USERNAME, DB_PASSWORD and DB_DATABASE say where MySQL or MariaDB is (127.0.0.1, 3306, root, no password, test).");
        }
        self.remark(0, LEAVES_ALONE);
        self.line(0, "");
        self.line(0, "declare(strict_types=1);");
        self.line(0, "");
        // Each test has a namespace of its own, for its small classes.
        self.line(0, &format!("namespace Tests\\{};", pascal(&short(title))));
        self.line(0, "");
        let mut uses = vec![
            "Fiber",
            "Generator",
            "PHPUnit\\Framework\\TestCase",
            "Throwable",
        ];
        uses.extend(plan.database.then_some("PDO"));
        uses.extend(plan.database.then_some("PDOException"));
        uses.extend(plan.store.then_some("Redis"));
        uses.extend((plan.store || plan.gateway).then_some("RuntimeException"));
        if plan.routines.is_empty() {
            uses.retain(|name| *name != "Generator");
        }
        uses.sort_unstable();
        for name in uses {
            self.line(0, &format!("use {name};"));
        }
        self.line(0, "");
    }

    fn class(&mut self) {
        let plan = self.plan;
        let title = if plan.title.is_empty() {
            "A schedule of lock clients"
        } else {
            &plan.title
        };
        self.line(
            0,
            &format!("final class {} extends TestCase", class_name(title)),
        );
        self.line(0, "{");
        for (name, source) in &plan.scripts {
            self.line(
                4,
                &format!(
                    "private const {} = {};",
                    screaming(name),
                    heredoc("LUA", source, 8)
                ),
            );
            self.line(0, "");
        }
        if !plan.statements.is_empty() {
            self.line(4, "private const STATEMENTS = [");
            for statement in &plan.statements {
                self.line(8, &format!("{},", statement_text(statement, 12)));
            }
            self.line(4, "];");
        }
        if !plan.tables.is_empty() {
            let tables = plan
                .tables
                .iter()
                .map(|table| leaf(text(table.as_bytes())))
                .collect();
            self.code(4, &list("private const TABLES = [", tables, "];"));
        }
        if !plan.keys.is_empty() {
            let keys = plan.keys.iter().map(|key| leaf(text(key))).collect();
            self.code(4, &list("private const KEYS = [", keys, "];"));
        }
        self.line(0, "");
        self.line(4, "private ?Client $operator = null;");
        self.line(4, "private bool $isSetUp = false;");
        for routine in &plan.routines {
            self.routine(routine);
        }
        self.test();
        self.fixture();
        self.line(0, "}");
    }

    // Protocols.

    fn routine(&mut self, routine: &Routine<'_>) {
        let mut given = vec![leaf("Client $client")];
        given.extend(routine.gateway.then(|| leaf("Gateway $gateway")));
        given.extend(routine.sells.then(|| leaf("array &$sales")));
        given.extend(routine.given.iter().map(|name| {
            leaf(format!(
                "{} {}",
                if name == "me" { "string" } else { "string|int" },
                variable(name)
            ))
        }));
        self.line(0, "");
        self.line(
            4,
            "/** One attempt, request by request; each is sent when the schedule says so. */",
        );
        let head = list(
            format!("private function {}(", camel(&routine.protocol.name)),
            given,
            "): Generator",
        );
        self.code(4, &head);
        self.line(4, "{");
        self.block(8, &routine.code);
        self.line(4, "}");
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
                self.line(indent, "while (true) {");
                self.block(indent + 4, body);
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
                let element = element.map_or(String::new(), |element| format!("[{element}]"));
                self.line(
                    indent,
                    &format!("{} = {}{element};", variable(name), variable(reply)),
                );
            }
            Code::Sell(units, order) => {
                let order = order.map_or("$me".to_owned(), argument);
                let orders = vec![order; usize::try_from(*units).unwrap_or(1)].join(", ");
                match units {
                    1 => self.line(indent, &format!("$sales[] = {orders};")),
                    _ => self.line(indent, &format!("array_push($sales, {orders});")),
                }
            }
            Code::If(asked, then, otherwise) => {
                self.line(indent, &format!("if ({}) {{", condition(asked)));
                self.block(indent + 4, then);
                self.otherwise(indent, otherwise);
                self.line(indent, "}");
            }
        }
    }

    fn otherwise(&mut self, indent: usize, code: &[Code<'_>]) {
        match code {
            [] => {}
            [Code::If(asked, then, rest)] => {
                self.line(indent, &format!("}} elseif ({}) {{", condition(asked)));
                self.block(indent + 4, then);
                self.otherwise(indent, rest);
            }
            code => {
                self.line(indent, "} else {");
                self.block(indent + 4, code);
            }
        }
    }

    fn send(&mut self, indent: usize, send: &Send<'_>) {
        let reply = variable(&send.reply);
        let inner = if send.catches { indent + 4 } else { indent };
        let request = Call::of(&send.step.request);
        if let Some(laravel) = laravel(&request) {
            self.line(indent, &format!("// Laravel: {laravel}"));
        }
        let call = call(&request, send.shape, inner + 8, "$client");
        let label = text(send.step.label.as_bytes());
        let open = match send.is_used {
            true => format!("{reply} = yield {label} => fn () => {}", call.open),
            false => format!("yield {label} => fn () => {}", call.open),
        };
        let code = Laid {
            open,
            close: format!("{};", call.close),
            ..call
        };
        if !send.catches {
            return self.code(indent, &code);
        }
        self.line(indent, "try {");
        self.code(inner, &code);
        self.line(indent, "} catch (Throwable $error) {");
        self.line(inner, &format!("{reply} = $error;"));
        self.line(indent, "}");
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
        self.line(
            4,
            &format!("public function test{}(): void", pascal(&short(title))),
        );
        self.line(4, "{");
        self.line(8, "$operator = $this->operator;");
        self.line(8, "$seen = &$operator->seen;");
        if plan.gateway {
            self.line(8, "$gateway = new Gateway();");
        }
        for (name, is_needed) in [
            ("$sales", plan.sells),
            (
                "$left",
                plan.looks(|act| matches!(act, Move::LookForKey(_))),
            ),
            (
                "$timesToLive",
                plan.looks(|act| matches!(act, Move::LookForDeadline(_))),
            ),
        ] {
            if is_needed {
                self.line(8, &format!("{name} = [];"));
            }
        }
        for latch in &plan.latches {
            self.line(8, &format!("${} = new Latch();", camel(latch)));
        }
        let mut names = Vec::new();
        for part in &plan.parts {
            names.push(leaf(self.part(part)));
        }
        self.line(0, "");
        self.code(8, &list("$this->runTogether(", names, ");"));
        if !self.options.holds {
            self.line(0, "");
            self.seen();
            self.end();
        }
        for claim in &plan.claims {
            self.claim(claim);
        }
        if self.options.holds && plan.claims.is_empty() {
            self.line(0, "");
            self.line(8, "$this->assertNotEmpty($seen);");
        }
        self.line(4, "}");
    }

    fn part(&mut self, part: &Part<'_>) -> String {
        let is_operator = part.name == "operator";
        let name = if is_operator {
            "$theOperator".to_owned()
        } else {
            format!("${}", camel(&format!("client {}", part.name)))
        };
        let me = if is_operator {
            "$operator".to_owned()
        } else {
            variable(part.name)
        };
        self.line(0, "");
        self.line(
            8,
            &format!(
                "{name} = function () use ({}): void {{",
                self.used(part).join(", ")
            ),
        );
        if !is_operator {
            self.line(
                12,
                &format!("{me} = new Client({}, $seen);", text(part.name.as_bytes())),
            );
        }
        for act in &part.moves {
            self.act(12, &me, act);
        }
        if !is_operator && !matches!(part.moves.last(), Some(Move::Crash)) {
            self.line(12, &format!("{me}->close();"));
        }
        self.line(8, "};");
        name
    }

    /// What a part takes from the test around it.
    fn used(&self, part: &Part<'_>) -> Vec<String> {
        let is_operator = part.name == "operator";
        let mut used = vec![if is_operator {
            "$operator".to_owned()
        } else {
            "&$seen".to_owned()
        }];
        let mut add = |name: String| {
            if !used.contains(&name) {
                used.push(name);
            }
        };
        for act in &part.moves {
            match act {
                Move::Run { routine, .. } => {
                    let routine = &self.plan.routines[*routine];
                    if routine.gateway {
                        add("$gateway".to_owned());
                    }
                    if routine.sells {
                        add("&$sales".to_owned());
                    }
                }
                Move::Ask {
                    request: Request::Gateway(_),
                    ..
                } => add("$gateway".to_owned()),
                Move::Wait(latch) | Move::Open(latch) => {
                    add(format!("${}", camel(&self.plan.latches[*latch])))
                }
                Move::LookForKey(_) => add("&$left".to_owned()),
                Move::LookForDeadline(_) => add("&$timesToLive".to_owned()),
                _ => {}
            }
        }
        used
    }

    fn act(&mut self, indent: usize, me: &str, act: &Move<'_>) {
        let step = |verb: &str, label: &str| match self.options.holds {
            false => format!("{me}->{verb}({});", text(label.as_bytes())),
            true => format!("{me}->{verb}(); // {label}"),
        };
        match act {
            Move::Run {
                routine,
                me: name,
                parameters,
            } => self.run(indent, me, &self.plan.routines[*routine], name, parameters),
            Move::Step(label) => self.line(indent, &step("step", label)),
            Move::Send(label) => self.line(indent, &step("sends", label)),
            Move::See(label) => self.line(indent, &format!("{me}->seesTheReply(); // {label}")),
            Move::Ask {
                source,
                request,
                seen,
            } => {
                let shape = self.plan.seen[*seen].shape;
                let call = call(&Call::of(request), shape, indent + 8, me);
                let request = Laid {
                    open: format!("fn () => {}", call.open),
                    ..call
                };
                self.code(
                    indent,
                    &list(
                        format!("{me}->note("),
                        vec![leaf(text(source.as_bytes())), request],
                        ");",
                    ),
                );
            }
            Move::Wait(latch) => self.line(
                indent,
                &format!("${}->wait();", camel(&self.plan.latches[*latch])),
            ),
            Move::Open(latch) => self.line(
                indent,
                &format!("${}->open();", camel(&self.plan.latches[*latch])),
            ),
            Move::Lapse(key) => {
                self.line(indent, &format!("{me}->redis->pExpire({}, 0);", text(key)))
            }
            Move::Age(key, remaining) => self.line(
                indent,
                &format!("{me}->redis->pExpire({}, {remaining});", text(key)),
            ),
            Move::Ahead(milliseconds) => {
                self.line(
                    indent,
                    &format!(
                        "{me}->redis->incrBy({}, {milliseconds});",
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
                self.line(
                    indent,
                    &format!("{me}->affectedRows({});", text(statement.as_bytes())),
                );
            }
            Move::Wipe(key) => {
                self.line(indent, &format!("{me}->redis->del({}); // lost", text(key)))
            }
            Move::Crash => self.line(indent, &format!("{me}->close(); // crashes")),
            Move::Restart => self.line(indent, &format!("{me}->connect();")),
            Move::LookForKey(key) => self.line(
                indent,
                &format!("$left[] = {me}->redis->exists({});", text(key)),
            ),
            Move::LookForDeadline(key) => self.line(
                indent,
                &format!("$timesToLive[] = {me}->redis->pttl({});", text(key)),
            ),
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
        let mut given = vec![leaf(client)];
        given.extend(routine.gateway.then(|| leaf("$gateway")));
        given.extend(routine.sells.then(|| leaf("$sales")));
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
        let protocol = list(
            format!("$this->{}(", camel(&routine.protocol.name)),
            given,
            ")",
        );
        self.code(
            indent,
            &list(format!("{client}->runs("), vec![protocol], ");"),
        );
    }

    fn seen(&mut self) {
        self.line(8, "$this->assertSame([");
        for (place, seen) in self.plan.seen.iter().enumerate() {
            let items = vec![
                leaf(text(seen.who.as_bytes())),
                leaf(text(seen.what.as_bytes())),
                leaf(expected(seen, place)),
            ];
            self.out.push_str(&laid_out(
                &list("[", items, "]"),
                12,
                ",",
                WIDTH,
                4,
                Style::OneEach,
            ));
            self.out.push('\n');
        }
        self.line(8, "], $seen);");
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
            self.code(
                8,
                &list(
                    "$this->assertSame(",
                    vec![
                        list("[", rows, "]"),
                        leaf(format!("$operator->rows({query})")),
                    ],
                    ");",
                ),
            );
        }
        for (key, state) in &plan.final_keys {
            self.final_key(key, state.as_ref());
        }
        if plan.gateway {
            let charges = plan.charges.iter().map(|(order, amount, refunded)| {
                let order = text(order.as_bytes());
                leaf(format!(
                    "['order' => {order}, 'amount' => {amount}, 'refunded' => {refunded}]"
                ))
            });
            self.code(
                8,
                &list(
                    "$this->assertSame(",
                    vec![list("[", charges.collect(), "]"), leaf("$gateway->charges")],
                    ");",
                ),
            );
        }
    }

    fn final_key(&mut self, key: &[u8], state: Option<&FinalKey>) {
        let key = text(key);
        let Some(state) = state else {
            return self.line(
                8,
                &format!("$this->assertSame(0, $operator->redis->exists({key}));"),
            );
        };
        let parts: Vec<Laid> = state
            .value
            .parts()
            .iter()
            .map(|part| leaf(text(part)))
            .collect();
        let (value, read) = match &state.value {
            StoreValue::String(value) => (leaf(text(value)), format!("get({key})")),
            StoreValue::List(_) => (list("[", parts, "]"), format!("lRange({key}, 0, -1)")),
            StoreValue::Hash(_) => (
                list("[", parts, "]"),
                format!("rawCommand('HGETALL', {key})"),
            ),
            StoreValue::Set(_) => (
                list("[", parts, "]"),
                format!("sort({key}, ['alpha' => true])"),
            ),
            StoreValue::SortedSet(_) => (
                list("[", parts.into_iter().step_by(2).collect(), "]"),
                format!("zRange({key}, 0, -1)"),
            ),
        };
        self.code(
            8,
            &list(
                "$this->assertSame(",
                vec![value, leaf(format!("$operator->redis->{read}"))],
                ");",
            ),
        );
        match state.remaining {
            None => self.line(
                8,
                &format!("$this->assertSame(-1, $operator->redis->pttl({key}));"),
            ),
            Some(remaining) => {
                let least = remaining.saturating_sub(5000);
                self.line(
                    8,
                    &format!("$this->assertGreaterThan({least}, $operator->redis->pttl({key}));"),
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
            self.remark(8, because);
        }
        let sentence = claim.property.sentence();
        let message = if is_broken {
            format!("is not broken: {sentence}")
        } else {
            sentence.to_owned()
        };
        let condition = self.evidence(&claim.evidence);
        let assertion = if is_broken {
            "$this->assertFalse("
        } else {
            "$this->assertTrue("
        };
        self.code(
            8,
            &list(
                assertion,
                vec![leaf(condition), leaf(text(message.as_bytes()))],
                ");",
            ),
        );
    }

    /// What is true where the property holds.
    fn evidence(&mut self, evidence: &Evidence) -> String {
        match evidence {
            Evidence::NoRows(writes) => {
                self.named("$lateWrites", writes);
                "array_filter($lateWrites) === []".to_owned()
            }
            Evidence::AllRows(writes) => {
                self.named("$writesOfHolders", writes);
                "array_filter($writesOfHolders) === $writesOfHolders".to_owned()
            }
            Evidence::Growing(tokens) => {
                self.remark(8, "In the order in which the locks were taken.");
                self.tokens(tokens);
                self.line(8, "$sorted = $tokens;");
                self.line(8, "sort($sorted);");
                "$tokens === $sorted".to_owned()
            }
            Evidence::Different(tokens) => {
                self.tokens(tokens);
                "array_unique($tokens) === $tokens".to_owned()
            }
            Evidence::NotNegative(column) => {
                let query = format!(
                    "SELECT MIN({}) FROM {}",
                    name_in_sql(&column.column),
                    name_in_sql(&column.table)
                );
                format!("$operator->value({}) >= 0", text(query.as_bytes()))
            }
            Evidence::ShrunkBySales(column, before) => {
                let query = format!(
                    "SELECT SUM({}) FROM {}",
                    name_in_sql(&column.column),
                    name_in_sql(&column.table)
                );
                self.line(
                    8,
                    &format!(
                        "$stock = (int) $operator->value({});",
                        text(query.as_bytes())
                    ),
                );
                format!("{before} - $stock === count($sales)")
            }
            Evidence::PaidIsSold => "array_diff($gateway->paid(), $sales) === []".to_owned(),
            Evidence::SoldIsPaid => "array_diff($sales, $gateway->paid()) === []".to_owned(),
            Evidence::PaidOnce => "array_unique($gateway->paid()) === $gateway->paid()".to_owned(),
            Evidence::Left { .. } => "!in_array(0, $left, true)".to_owned(),
            Evidence::Deadline(_) => "!in_array(-1, $timesToLive, true)".to_owned(),
        }
    }

    fn tokens(&mut self, tokens: &[Replies]) {
        if !self.tokens_are_named {
            self.named("$tokens", tokens);
            self.tokens_are_named = true;
        }
    }

    /// A variable with these replies.
    fn named(&mut self, name: &str, replies: &[Replies]) {
        let lists: Vec<String> = replies
            .iter()
            .map(|replies| {
                let given = format!(
                    "$operator->replies({}, {})",
                    text(replies.who.as_bytes()),
                    text(replies.what.as_bytes())
                );
                replies.only.map_or(given.clone(), |only| {
                    format!("array_slice({given}, {only}, 1)")
                })
            })
            .collect();
        match lists.as_slice() {
            [only] => self.line(8, &format!("{name} = {only};")),
            _ => {
                let lists = lists
                    .into_iter()
                    .map(|list| leaf(format!("...{list}")))
                    .collect();
                self.code(8, &list(format!("{name} = ["), lists, "];"));
            }
        }
        if let Some(element) = replies.iter().find_map(|replies| replies.element) {
            self.line(
                8,
                &format!("{name} = array_map(fn ($reply) => (int) $reply[{element}], {name});"),
            );
        }
    }

    // What every test needs.

    fn fixture(&mut self) {
        let plan = self.plan;
        self.line(0, "");
        self.line(
            4,
            "/** Sets everything up; what is there already is left alone. */",
        );
        self.line(4, "protected function setUp(): void");
        self.line(4, "{");
        self.line(8, "$seen = [];");
        self.line(8, "$this->operator = new Client('operator', $seen);");
        if !plan.keys.is_empty() {
            self.line(8, "$this->assertSame(0, $this->operator->redis->exists(self::KEYS), 'Redis has its keys already');");
        }
        if !plan.tables.is_empty() {
            self.line(
                8,
                "$tables = array_merge([], ...$this->operator->rows('SHOW TABLES'));",
            );
            self.line(8, "$this->assertSame([], array_intersect(self::TABLES, $tables), 'the database has its tables already');");
        }
        self.line(8, "$this->isSetUp = true;");
        if !plan.statements.is_empty() {
            self.line(8, "foreach (self::STATEMENTS as $statement) {");
            self.line(12, "$this->operator->affectedRows($statement);");
            self.line(8, "}");
        }
        for command in &plan.setup.commands {
            let arguments: Vec<Argument> =
                command.1.iter().cloned().map(Argument::Literal).collect();
            let request = Request::Store(None, arguments);
            let code = call(&Call::of(&request), Shape::Plain, 12, "$this->operator");
            self.code(
                8,
                &Laid {
                    close: format!("{};", code.close),
                    ..code
                },
            );
        }
        self.line(4, "}");
        self.line(0, "");
        self.line(4, "/** Takes away what the test has made. */");
        self.line(4, "protected function tearDown(): void");
        self.line(4, "{");
        self.line(8, "if (!$this->isSetUp) {");
        self.line(12, "return;");
        self.line(8, "}");
        if !plan.tables.is_empty() {
            self.line(8, "foreach (self::TABLES as $table) {");
            self.line(
                12,
                "$this->operator->affectedRows(\"DROP TABLE IF EXISTS `{$table}`\");",
            );
            self.line(8, "}");
        }
        if !plan.keys.is_empty() {
            self.line(8, "$this->operator->redis->del(self::KEYS);");
        }
        self.line(8, "$this->operator->close();");
        self.line(4, "}");
        self.out.push_str(RUN_TOGETHER);
        if plan.seen.iter().any(|seen| seen.is_loose) {
            self.out.push_str(NEAR);
        }
    }

    fn tools(&mut self) {
        let plan = self.plan;
        self.out.push_str("\n/** Somebody with connections of their own; whatever they are told is noted. */\nfinal class Client\n{\n");
        if plan.store {
            self.line(4, "public ?Redis $redis = null;");
        }
        if plan.database {
            self.line(4, "public ?PDO $mysql = null;");
        }
        if !plan.routines.is_empty() {
            self.line(4, "private ?Generator $protocol = null;");
            self.line(4, "private mixed $reply = null;");
        }
        self.out.push_str(CLIENT_HEAD);
        if plan.store {
            self.out.push_str(CONNECT_TO_REDIS);
        }
        if plan.database {
            let flag = if plan.setup.found_rows {
                "            [PDO::MYSQL_ATTR_FOUND_ROWS => true],\n"
            } else {
                ""
            };
            self.out.push_str(&CONNECT_TO_MYSQL.replace("{flag}", flag));
        }
        self.out.push_str("    }\n\n    /** Closes them, as a crash would; what is not committed is rolled back. */\n    public function close(): void\n    {\n");
        if plan.store {
            self.line(8, "$this->redis?->close();");
            self.line(8, "$this->redis = null;");
        }
        if plan.database {
            self.line(8, "$this->mysql = null;");
        }
        self.line(4, "}");
        if !plan.routines.is_empty() {
            self.out.push_str(if self.options.holds {
                CLIENT_STEPS_FREELY
            } else {
                CLIENT_STEPS
            });
        }
        let (clear, check) = if plan.store {
            (
                "            $this->redis->clearLastError();\n",
                CHECK_LAST_ERROR,
            )
        } else {
            ("", "")
        };
        self.out.push_str(
            &CLIENT_NOTE
                .replace("{clear}", clear)
                .replace("{check}", check),
        );
        if plan.database {
            self.out.push_str(CLIENT_STATEMENTS);
        }
        let code = if plan.database {
            "        if ($reply instanceof PDOException) {\n            return \"ERROR {$reply->errorInfo[1]}\";\n        }\n"
        } else {
            ""
        };
        self.out
            .push_str(&CLIENT_ERRORS.replace("{database}", code));
        self.out.push_str("}\n");
        self.out.push_str(LATCH);
        if plan.gateway {
            self.out.push_str(GATEWAY);
        }
    }
}

/// A variable's name in PHP.
fn variable(name: &str) -> String {
    let name = camel(name);
    let is_taken = " this client gateway sales seen operator left timesToLive error "
        .contains(&format!(" {name} "));
    format!("${name}{}", if is_taken { "_" } else { "" })
}

/// A string.
fn text(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    match text.chars().any(char::is_control) {
        false => format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'")),
        true => {
            let mut out = String::from("\"");
            for letter in text.chars() {
                match letter {
                    '\\' | '"' | '$' => out.extend(['\\', letter]),
                    letter if letter.is_control() => {
                        out.push_str(&format!("\\x{:02x}", letter as u32))
                    }
                    letter => out.push(letter),
                }
            }
            out + "\""
        }
    }
}

/// Text of several lines, closed in this column.
fn heredoc(word: &str, source: &str, indent: usize) -> String {
    let blanks = " ".repeat(indent);
    let lines: Vec<String> = source
        .lines()
        .map(|line| {
            if line.is_empty() {
                String::new()
            } else {
                format!("{blanks}{line}")
            }
        })
        .collect();
    format!("<<<'{word}'\n{}\n{blanks}{word}", lines.join("\n"))
}

/// An SQL statement with named placeholders.
fn statement_text(statement: &Statement, indent: usize) -> String {
    let mut sql = String::new();
    for (piece, name) in statement.pieces() {
        sql.push_str(piece);
        if let Some(name) = name {
            sql.push_str(&format!(":{}", camel(name)));
        }
    }
    match sql.contains('\n') {
        true => heredoc("SQL", &sql, indent),
        false => text(sql.as_bytes()),
    }
}

/// The values of an SQL statement.
fn values_of(statement: &Statement) -> Option<String> {
    let mut names: Vec<&String> = statement.variables().iter().collect();
    names.sort();
    names.dedup();
    let pairs: Vec<String> = names
        .iter()
        .map(|name| format!("'{}' => {}", camel(name), variable(name)))
        .collect();
    (!pairs.is_empty()).then(|| format!("[{}]", pairs.join(", ")))
}

fn argument(argument: &Argument) -> String {
    match argument {
        Argument::Literal(literal) => {
            plain_number(literal).map_or_else(|| text(literal), |number| number.to_string())
        }
        Argument::Variable(name) => variable(name),
        Argument::ScriptSource(name) => format!("self::{}", screaming(name)),
        Argument::ScriptSha(name) => format!("sha1(self::{})", screaming(name)),
    }
}

fn arguments(arguments: &[Argument]) -> Vec<String> {
    arguments.iter().map(argument).collect()
}

/// The call that sends a request.
fn call(call: &Call<'_>, shape: Shape, indent: usize, client: &str) -> Laid {
    let leaves = |texts: Vec<String>| texts.into_iter().map(leaf).collect::<Vec<_>>();
    match call {
        Call::Set {
            key,
            value,
            options,
        } => {
            let options: Vec<String> = options
                .iter()
                .map(|(word, number)| match number {
                    None => text(word.to_ascii_lowercase().as_bytes()),
                    Some(number) => format!(
                        "{} => {}",
                        text(word.to_ascii_lowercase().as_bytes()),
                        argument(number)
                    ),
                })
                .collect();
            let mut items = vec![leaf(argument(key)), leaf(argument(value))];
            items.extend((!options.is_empty()).then(|| leaf(format!("[{}]", options.join(", ")))));
            list(format!("{client}->redis->set("), items, ")")
        }
        Call::Eval {
            script,
            keys,
            arguments: rest,
        } => {
            let given = arguments(keys)
                .into_iter()
                .chain(arguments(rest))
                .collect::<Vec<_>>()
                .join(", ");
            let items = vec![
                leaf(format!("self::{}", screaming(script))),
                leaf(format!("[{given}]")),
                leaf(keys.len().to_string()),
            ];
            list(format!("{client}->redis->eval("), items, ")")
        }
        Call::Command(name, given) if METHODS.contains(&format!(" {name} ")) => list(
            format!("{client}->redis->{}(", method(name)),
            leaves(arguments(given)),
            ")",
        ),
        Call::Command(name, given) => {
            let mut items = vec![leaf(text(name.as_bytes()))];
            items.extend(leaves(arguments(given)));
            list(format!("{client}->redis->rawCommand("), items, ")")
        }
        Call::Statement(statement) => {
            let function = match shape {
                Shape::Value => "value",
                Shape::Row => "row",
                Shape::Rows => "rows",
                Shape::Affected | Shape::Plain => "affectedRows",
            };
            let mut items = vec![leaf(statement_text(statement, indent))];
            items.extend(values_of(statement).map(leaf));
            list(format!("{client}->{function}("), items, ")")
        }
        Call::Charge(order, amount, key) => {
            let mut items = vec![leaf(argument(order)), leaf(argument(amount))];
            items.extend(key.map(|key| leaf(argument(key))));
            list("$gateway->charge(", items, ")")
        }
        Call::Refund(name) => list("$gateway->refund(", vec![leaf(argument(name))], ")"),
        Call::BrokenStatement | Call::Nothing => leaf("null"),
    }
}

/// A command as phpredis writes it.
fn method(name: &str) -> &str {
    match name {
        "DEL" => "del",
        "DECR" => "decr",
        "EXISTS" => "exists",
        "GET" => "get",
        "INCR" => "incr",
        "LLEN" => "lLen",
        "LPUSH" => "lPush",
        "LRANGE" => "lRange",
        "PTTL" => "pttl",
        "RPUSH" => "rPush",
        "STRLEN" => "strlen",
        "TTL" => "ttl",
        _ => "zCard",
    }
}

/// The line of Laravel that a request stands for.
fn laravel(call: &Call<'_>) -> Option<String> {
    Some(match call {
        Call::Set {
            key,
            value,
            options,
        } => {
            let mut given = vec![argument(key), argument(value)];
            let (expiry, conditions): (Vec<_>, Vec<_>) =
                options.iter().partition(|(_, number)| number.is_some());
            for (word, number) in expiry.into_iter().chain(conditions) {
                given.push(text(word.as_bytes()));
                given.extend(number.map(argument));
            }
            format!("Redis::set({});", given.join(", "))
        }
        Call::Eval {
            script,
            keys,
            arguments: rest,
        } => {
            let mut given = vec![
                format!("self::{}", screaming(script)),
                keys.len().to_string(),
            ];
            given.extend(arguments(keys));
            given.extend(arguments(rest));
            format!("Redis::eval({});", given.join(", "))
        }
        Call::Command(name, given) if METHODS.contains(&format!(" {name} ")) => {
            format!(
                "Redis::{}({});",
                name.to_ascii_lowercase(),
                arguments(given).join(", ")
            )
        }
        Call::Command(name, given) => format!(
            "Redis::command('{}', [{}]);",
            name.to_ascii_lowercase(),
            arguments(given).join(", ")
        ),
        Call::Statement(statement) => {
            let verb = match statement.kind() {
                StatementKind::Select => "selectOne",
                StatementKind::Insert | StatementKind::Replace => "insert",
                StatementKind::Update => "update",
                StatementKind::Delete => "delete",
                _ => "statement",
            };
            let values = values_of(statement).map_or(String::new(), |values| format!(", {values}"));
            format!(
                "DB::{verb}('{} …'{values});",
                statement
                    .source()
                    .split_whitespace()
                    .next()
                    .unwrap_or_default()
            )
        }
        _ => return None,
    })
}

/// What is true where the question is answered by yes.
fn condition(test: &Test<'_>) -> String {
    let reply = variable(&test.reply);
    let is = if test.not { "!==" } else { "===" };
    let status = |wanted: &[u8]| {
        if wanted == b"OK" {
            "true".to_owned()
        } else {
            text(wanted)
        }
    };
    match &test.is {
        Is::Nil => format!("{reply} {is} false"),
        Is::Anything => format!("{reply} {} false", if test.not { "===" } else { "!==" }),
        Is::Text(wanted) => format!("{reply} {is} {}", status(wanted)),
        Is::Me => format!("{reply} {is} $me"),
        Is::Integer(wanted) => format!("{reply} {is} {wanted}"),
        Is::RowCount(wanted) => format!("count({reply}) {is} {wanted}"),
        Is::Elements(elements) => {
            let asked = elements
                .iter()
                .enumerate()
                .filter_map(|(place, element)| match element {
                    Element::Variable(_) => None,
                    Element::Me => Some(format!("{reply}[{place}] {is} $me")),
                    Element::Integer(number) => Some(format!("{reply}[{place}] {is} {number}")),
                    Element::Text(wanted) => {
                        Some(format!("{reply}[{place}] {is} {}", text(wanted)))
                    }
                    Element::Nil => Some(format!("{reply}[{place}] {is} false")),
                });
            let joint = if test.not { " || " } else { " && " };
            asked.collect::<Vec<_>>().join(joint)
        }
        Is::Error(None) if test.not => format!("!{reply} instanceof Throwable"),
        Is::Error(None) => format!("{reply} instanceof Throwable"),
        Is::Error(Some(name)) => format!(
            "Client::errorCode({reply}) {is} {}",
            text(error_name(name).as_bytes())
        ),
    }
}

fn expected(seen: &Seen<'_>, place: usize) -> String {
    match seen.answer {
        Answer::Store(reply) | Answer::Gateway(reply) | Answer::Client(reply) => match reply {
            Reply::Integer(number) if seen.is_loose => {
                format!("$this->near({number}, $seen[{place}][2] ?? null)")
            }
            Reply::Array(items) if seen.is_loose => {
                let items = items.iter().enumerate().map(|(at, item)| match item {
                    Reply::Integer(number) => {
                        format!("$this->near({number}, $seen[{place}][2][{at}] ?? null)")
                    }
                    other => reply_text(other),
                });
                format!("[{}]", items.collect::<Vec<_>>().join(", "))
            }
            reply => reply_text(reply),
        },
        Answer::Database(SqlReply::Error(error)) => {
            let error = error.to_string();
            text(format!("ERROR {}", error.split(' ').nth(1).unwrap_or_default()).as_bytes())
        }
        Answer::Database(SqlReply::Done { .. }) => "0".to_owned(),
        Answer::Database(SqlReply::Affected { affected, .. }) => affected.to_string(),
        Answer::Database(SqlReply::Rows { rows, .. }) => match (seen.shape, rows.first()) {
            (Shape::Value, first) => first
                .and_then(|row| row.first())
                .map_or("false".to_owned(), sql_value),
            (Shape::Row, first) => first.map_or("false".to_owned(), |row| row_text(row).flat()),
            _ => format!(
                "[{}]",
                rows.iter()
                    .map(|row| row_text(row).flat())
                    .collect::<Vec<_>>()
                    .join(", ")
            ),
        },
        Answer::Lost => "null".to_owned(),
    }
}

fn reply_text(reply: &Reply) -> String {
    match reply {
        Reply::Status(word) if word == "OK" => "true".to_owned(),
        Reply::Status(word) => text(word.as_bytes()),
        Reply::Error(error) => text(error.split(' ').next().unwrap_or_default().as_bytes()),
        Reply::Integer(number) => number.to_string(),
        Reply::Bulk(bytes) => text(bytes),
        Reply::Nil => "false".to_owned(),
        Reply::Array(items) => format!(
            "[{}]",
            items.iter().map(reply_text).collect::<Vec<_>>().join(", ")
        ),
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
        SqlValue::Integer(_) | SqlValue::Unsigned(_) => value.to_string(),
        SqlValue::Double(_) => format!("(float) {value}"),
        other => text(other.to_string().as_bytes()),
    }
}

const RUN_TOGETHER: &str = r#"
    /** Runs each part as a fiber of its own; whoever waits for a latch lets the others go on. */
    private function runTogether(callable ...$parts): void
    {
        $fibers = array_map(fn (callable $part) => new Fiber($part), $parts);
        array_walk($fibers, fn (Fiber $fiber) => $fiber->start());
        for ($rounds = 0; $rounds < 1000 && $fibers !== []; $rounds++) {
            $fibers = array_filter($fibers, fn (Fiber $fiber) => !$fiber->isTerminated());
            array_walk($fibers, fn (Fiber $fiber) => $fiber->resume());
        }
        $this->assertSame([], $fibers, 'somebody waits for a latch that nobody opens');
    }
"#;

const NEAR: &str = r#"
    /** What was seen, where it is within a second of what is expected. */
    private function near(int $expected, mixed $seen): mixed
    {
        return is_int($seen) && abs($seen - $expected) <= 1000 ? $seen : $expected;
    }
"#;

const CLIENT_HEAD: &str = r#"
    public function __construct(private string $name, public array &$seen)
    {
        $this->connect();
    }

    /** Opens connections of its own. */
    public function connect(): void
    {
"#;

const CONNECT_TO_REDIS: &str = r#"        $this->redis = new Redis();
        $this->redis->connect(getenv('REDIS_HOST') ?: '127.0.0.1', (int) (getenv('REDIS_PORT') ?: 6379));
        if (getenv('REDIS_PASSWORD')) {
            $this->redis->auth(getenv('REDIS_PASSWORD'));
        }
        $this->redis->select((int) getenv('REDIS_DB'));
"#;

const CONNECT_TO_MYSQL: &str = r#"        $host = getenv('DB_HOST') ?: '127.0.0.1';
        $port = getenv('DB_PORT') ?: '3306';
        $database = getenv('DB_DATABASE') ?: 'test';
        $this->mysql = new PDO(
            "mysql:host={$host};port={$port};dbname={$database};charset=utf8mb4",
            getenv('DB_USERNAME') ?: 'root',
            getenv('DB_PASSWORD') ?: '',
{flag}        );
"#;

const CLIENT_STEPS: &str = r#"
    /** Begins an attempt, and has its first request ready. */
    public function runs(Generator $protocol): void
    {
        $this->protocol = $protocol;
        $protocol->rewind();
    }

    /** Sends the next request, which has to be this one, and sees the reply. */
    public function step(string $label): void
    {
        $this->sends($label);
        $this->seesTheReply();
    }

    /** Sends the next request, which has to be this one; the reply waits. */
    public function sends(string $label): void
    {
        TestCase::assertSame($label, $this->protocol->key());
        $this->reply = $this->note($label, $this->protocol->current());
    }

    /** Hands the reply to the protocol, which has its next request ready then. */
    public function seesTheReply(): void
    {
        if (!$this->reply instanceof Throwable) {
            $this->protocol->send($this->reply);
            return;
        }
        try {
            $this->protocol->throw($this->reply);
        } catch (Throwable $error) {
            TestCase::assertSame($this->reply, $error);
        }
    }
"#;

const CLIENT_STEPS_FREELY: &str = r#"
    /** Begins an attempt, and has its first request ready. */
    public function runs(Generator $protocol): void
    {
        $this->protocol = $protocol;
        $protocol->rewind();
    }

    /** Sends the next request, if there is one, and sees the reply. */
    public function step(): void
    {
        $this->sends();
        $this->seesTheReply();
    }

    /** Sends the next request, if there is one; the reply waits. */
    public function sends(): void
    {
        if ($this->protocol->valid()) {
            $this->reply = $this->note($this->protocol->key(), $this->protocol->current());
        }
    }

    /** Hands the reply to the protocol, which has its next request ready then. */
    public function seesTheReply(): void
    {
        if (!$this->protocol->valid()) {
            return;
        }
        if (!$this->reply instanceof Throwable) {
            $this->protocol->send($this->reply);
            return;
        }
        try {
            $this->protocol->throw($this->reply);
        } catch (Throwable $error) {
            TestCase::assertSame($this->reply, $error);
        }
    }
"#;

const CHECK_LAST_ERROR: &str = r#"            $error = $this->redis->getLastError();
            if ($error !== null) {
                throw new RuntimeException($error);
            }
"#;

const CLIENT_NOTE: &str = r#"
    /** Sends a request, and notes the reply. */
    public function note(string $what, callable $request): mixed
    {
        try {
{clear}            $reply = $request();
{check}        } catch (Throwable $error) {
            $reply = $error;
        }
        $this->seen[] = [$this->name, $what, self::errorCode($reply) ?? $reply];

        return $reply;
    }

    /** The replies that a client got to a step. */
    public function replies(string $client, string $step): array
    {
        $found = array_filter($this->seen, fn (array $seen) => $seen[0] === $client && $seen[1] === $step);

        return array_column($found, 2);
    }
"#;

const CLIENT_STATEMENTS: &str = r#"
    public function affectedRows(string $statement, array $values = []): int
    {
        $prepared = $this->mysql->prepare($statement);
        $prepared->execute($values);

        return $prepared->rowCount();
    }

    public function rows(string $query, array $values = []): array
    {
        $prepared = $this->mysql->prepare($query);
        $prepared->execute($values);

        return $prepared->fetchAll(PDO::FETCH_NUM);
    }

    /** The first row; false where there is none. */
    public function row(string $query, array $values = []): array|false
    {
        return $this->rows($query, $values)[0] ?? false;
    }

    /** The first value of the first row; false where there is none. */
    public function value(string $query, array $values = []): mixed
    {
        $row = $this->row($query, $values);

        return $row === false ? false : $row[0];
    }
"#;

const CLIENT_ERRORS: &str = r#"
    /** The word or the number that names an error; null for a reply that is none. */
    public static function errorCode(mixed $reply): ?string
    {
{database}        return $reply instanceof Throwable ? explode(' ', $reply->getMessage())[0] : null;
    }
"#;

const LATCH: &str = r#"
/** A latch: whoever waits for it goes on once it is open. */
final class Latch
{
    private bool $isOpen = false;

    public function open(): void
    {
        $this->isOpen = true;
    }

    public function wait(): void
    {
        while (!$this->isOpen) {
            Fiber::suspend();
        }
    }
}
"#;

const GATEWAY: &str = r#"
/** A card gateway in memory; with a key that it knows it does not charge again. */
final class Gateway
{
    public array $charges = [];
    private array $names = [];

    /** Charges a card, and gives the charge's name. */
    public function charge(string $order, int $amount, ?string $key = null): string
    {
        if ($key !== null && isset($this->names[$key])) {
            return $this->names[$key];
        }
        $this->charges[] = ['order' => $order, 'amount' => $amount, 'refunded' => false];
        $name = 'ch-' . count($this->charges);
        if ($key !== null) {
            $this->names[$key] = $name;
        }

        return $name;
    }

    /** Gives a charge back, by its name or by that of its order. */
    public function refund(string $name): bool
    {
        foreach (array_reverse($this->charges, true) as $place => $charge) {
            $isMeant = in_array($name, [$charge['order'], 'ch-' . ($place + 1)], true);
            if ($isMeant && !$charge['refunded']) {
                $this->charges[$place]['refunded'] = true;

                return true;
            }
        }
        throw new RuntimeException("ERR nothing to refund for '{$name}'");
    }

    /** The orders that are paid, once for each charge. */
    public function paid(): array
    {
        return array_column(array_filter($this->charges, fn (array $charge) => !$charge['refunded']), 'order');
    }
}
"#;

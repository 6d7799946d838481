//! A test for PHPUnit, with phpredis and PDO, and the Laravel lines that its requests stand for.

use crate::sim::client::protocol::{Argument, Request};
use crate::sim::database::{Statement, StatementKind, Value as SqlValue};

use super::Options;
use super::claim::Replies;
use super::layout::{Code as Laid, leaf, list};
use super::names::Reserved;
use super::plan::{Move, OPERATOR, Part, Plan};
use super::request::Call;
use super::routine::{Routine, Send, Shape};
use super::walk::{
    Asked, Asker, Asking, BRACES, Form, Guide, Language, Phrases, Proof, Questions, Tables, Walk,
    names_in,
};
use super::words::{camel, indented, pascal, screaming, short, sql_with, test_class};

/// The test.
pub(super) fn print(plan: Plan<'_>, options: Options) -> String {
    let queues = plan.calls(&|call| matches!(call, Call::Command(name, _) if name == "MULTI"));
    super::walk::print(plan, options, &Php { queues })
}

/// The language, for whoever asks for single calls.
pub(super) const LANGUAGE: &dyn Language = &PHP;

const PHP: Php = Php { queues: false };

const TABLES: Tables = Tables {
    form: Form {
        width: 120,
        else_if: ["} elseif (", ") {"],
        nil: ["false", "null"],
        ..BRACES
    },
    guide: Guide {
        how: "To run it, with PHP's extensions {extensions}:",
        commands: &["phpunit {class}.php"],
        packages: ["", "", ""],
        redis: "REDIS_HOST, REDIS_PORT, REDIS_PASSWORD and REDIS_DB say where Redis is (127.0.0.1, 6379, no password, 0).",
        several: "{variables} say where {servers} are, and so do REDIS_PORT, REDIS_PASSWORD and REDIS_DB with the same numbers (127.0.0.1, 6379, no \
            password, and the databases {databases}).",
        variable: "REDIS_HOST",
        mysql: "DB_HOST, DB_PORT, DB_USERNAME, DB_PASSWORD and DB_DATABASE say where MySQL or MariaDB is (127.0.0.1, 3306, root, no password, test).",
    },
    template: include_str!("texts/phpunit.php"),
    phrases: Phrases {
        step: "{me}->{verb}({label});",
        step_freely: "{me}->{verb}(); // {name}",
        verbs: ["step", "sends", "loses", "delays", "findsItDown"],
        see: "{me}->seesTheReply(); // {name}",
        deliver: "{me}->delivers(); // {name}",
        give_up: "{me}->givesUp(); // {name}",
        start: [
            "{me}->starts(¦{label}¦'{server}'¦);",
            "{me}->starts('{server}'); // {name}",
        ],
        start_asking: "'{server}'",
        hear: "{me}->hears(); // {name}",
        withdraw: "{me}->withdraws('{server}'); // {name}",
        listen: "{me}->waitsForAMessage(¦{label}¦{channel}¦);",
        told: [
            "{me}->isTold(¦{label}¦{reply}¦);",
            "{me}->isTold({reply}); // {name}",
        ],
        clock: "{me}->clock->passes({n});",
        by_clock: [
            "$client->clock->holds({lock}, {n})",
            "$client->clock->forgets({lock})",
            "$client->clock->asksFor({lock})",
            "$client->clock->countsAVoteFor({lock})",
        ],
        latch: "{latch} = new Latch();",
        wait: "{latch}->wait();",
        open: "{latch}->open();",
        lapse: "{me}->{redis}->pExpire(¦{key}¦0¦);",
        age: "{me}->{redis}->pExpire(¦{key}¦{n}¦);",
        ahead: "{me}->{redis}->incrBy(¦{key}¦{n}¦);",
        database_clock: "{me}->affectedRows(¦{statement}¦);",
        wipe: "{me}->{redis}->del({key}); // lost",
        crash: "{me}->close(); // crashes",
        restart: "{me}->connect();",
        look_for_key: "$left[] = {me}->{redis}->exists({key});",
        look_for_deadline: "$timesToLive[] = {me}->{redis}->pttl({key});",
        raise: "throw {reply}",
        runs: ["{me}->runs(", ");"],
        together: ["$this->runTogether(", ");"],
        called: "{name}",
        seen: ["$this->assertSame([", "[", "]", "], $seen);"],
        commands: ["", ";"],
        settings: [
            ["private const STATEMENTS = [", "];"],
            ["private const TABLES = [", "];"],
            ["private const KEYS = [", "];"],
        ],
        is_gone: "$this->assertSame(0, $operator->{redis}->exists({key}));",
        stays: "$this->assertSame(-1, $operator->{redis}->pttl({key}));",
        lapses: "$this->assertGreaterThan({least}, $operator->{redis}->pttl({key}));",
        reads: [
            "{redis}->get({key})",
            "{redis}->lRange({key}, 0, -1)",
            "{redis}->rawCommand('HGETALL', {key})",
            "{redis}->sort({key}, ['alpha' => true])",
            "{redis}->zRange({key}, 0, -1)",
        ],
    },
    questions: Questions {
        nil: ["{reply} === false", "{reply} !== false"],
        equal: ["{reply} === {value}", "{reply} !== {value}"],
        error: [
            "{reply} instanceof Throwable",
            "!{reply} instanceof Throwable",
        ],
        named_error: [
            "Client::errorCode({reply}) === {value}",
            "Client::errorCode({reply}) !== {value}",
        ],
        no_reply: ["{reply} instanceof NoReply", "!{reply} instanceof NoReply"],
        element: "{reply}[{n}]",
        count: "count({reply})",
        joints: [" && ", " || "],
    },
    proofs: [
        Proof::of("array_filter($lateWrites) === []", "").about("$lateWrites"),
        Proof::of("array_filter($writesOfHolders) === $writesOfHolders", "")
            .about("$writesOfHolders"),
        Proof::of("$tokens === $sorted", "")
            .about("$tokens")
            .after(&["$sorted = $tokens;", "sort($sorted);"]),
        Proof::of("array_unique($tokens) === $tokens", "").about("$tokens"),
        Proof::of("$operator->value({query}) >= 0", ""),
        Proof::of("{before} - $stock === count($sales)", "")
            .after(&["$stock = (int) $operator->value({query});"]),
        Proof::of("array_diff($gateway->paid(), $sales) === []", ""),
        Proof::of("array_unique($gateway->paid()) === $gateway->paid()", ""),
        Proof::of("array_diff($sales, $gateway->paid()) === []", ""),
        Proof::of("!in_array(0, $left, true)", ""),
        Proof::of("!in_array(-1, $timesToLive, true)", ""),
    ],
};

/// Commands that phpredis has under their own name and whose replies it leaves as they are.
const METHODS: &str = " DEL DECR EXISTS GET INCR LLEN LPUSH LRANGE PTTL RPUSH STRLEN TTL ZCARD ";

struct Php {
    /// Whether commands may be queued for a transaction: the methods of phpredis read the replies as if they were not.
    queues: bool,
}

impl Language for Php {
    fn tables(&self) -> &'static Tables {
        &TABLES
    }

    fn words(&self, plan: &Plan<'_>) -> Vec<(&'static str, String)> {
        let extensions = match plan.waits() {
            false => "redis and pdo_mysql",
            true => "redis, pdo_mysql, pcntl and posix",
        };
        // Each test has a namespace of its own, for its small classes.
        vec![
            ("extensions", extensions.to_owned()),
            ("namespace", pascal(&short(plan.title()))),
            ("class", test_class(plan.title())),
        ]
    }

    fn reserved(&self) -> Reserved {
        Reserved {
            words: RESERVED,
            beginnings: &["test", "assert", "expect", "mark", "logical"],
        }
    }
    fn variable(&self, name: &str) -> String {
        variable(name)
    }
    fn latch(&self, name: &str) -> String {
        format!("${}", camel(name))
    }
    fn function(&self, name: &str) -> String {
        format!("$this->{}", camel(name))
    }
    fn text(&self, bytes: &[u8]) -> String {
        text(bytes)
    }

    fn script(&self, walk: &mut Walk<'_, '_>, indent: usize, name: &str, source: &str) {
        let source = heredoc("LUA", source, indent + 4);
        walk.line(
            indent,
            &format!("private const {} = {source};", screaming(name)),
        );
        walk.line(0, "");
    }

    fn statement(&self, statement: &Statement, indent: usize) -> String {
        statement_text(statement, indent + 4)
    }

    fn head(&self, walk: &mut Walk<'_, '_>, indent: usize, routine: &Routine<'_>) {
        let mut given = vec!["Client $client".to_owned()];
        given.extend(routine.gateway.then(|| "Gateway $gateway".to_owned()));
        given.extend(routine.sells.then(|| "array &$sales".to_owned()));
        given.extend(routine.given.iter().map(|name| {
            let kind = if name == "me" { "string" } else { "string|int" };
            format!("{kind} {}", variable(name))
        }));
        let doc = "/** One attempt, request by request; each is sent when the schedule says so. */";
        let open = format!("private function {}(", camel(&routine.name));
        let given = given.into_iter().map(leaf).collect();
        walk.line(0, "");
        walk.line(indent, doc);
        walk.code(indent, &list(open, given, "): Generator"));
        walk.line(indent, "{");
    }

    fn send(&self, walk: &mut Walk<'_, '_>, indent: usize, send: &Send<'_>, _is_declared: bool) {
        let reply = variable(&send.reply);
        let inner = if send.catches { indent + 4 } else { indent };
        if let Some(laravel) = laravel(&Call::of(&send.step.request)) {
            walk.line(indent, &format!("// Laravel: {laravel}"));
        }
        let call = walk.call(&send.step.request, send.shape, inner + 8, Asking::Protocol);
        let label = text(send.step.label.as_bytes());
        let open = match send.is_used {
            true => format!("{reply} = yield {label} => fn () => {}", call.open),
            false => format!("yield {label} => fn () => {}", call.open),
        };
        let close = format!("{};", call.close);
        let code = Laid {
            open,
            close,
            ..call
        };
        if !send.catches {
            return walk.code(indent, &code);
        }
        walk.line(indent, "try {");
        walk.code(inner, &code);
        walk.line(indent, "} catch (Throwable $error) {");
        walk.line(inner, &format!("{reply} = $error;"));
        walk.line(indent, "}");
    }

    fn bind(&self, name: &str, reply: &str, element: Option<usize>, _is_declared: bool) -> String {
        let element = element.map_or(String::new(), |element| format!("[{element}]"));
        format!("{} = {}{element}", variable(name), variable(reply))
    }

    fn sell(&self, units: u64, order: &str) -> String {
        let orders = vec![order; usize::try_from(units).unwrap_or(1)].join(", ");
        match units {
            1 => format!("$sales[] = {orders}"),
            _ => format!("array_push($sales, {orders})"),
        }
    }

    fn script_name(&self, name: &str, as_digest: bool) -> String {
        match as_digest {
            true => format!("sha1(self::{})", screaming(name)),
            false => format!("self::{}", screaming(name)),
        }
    }

    fn call(&self, call: &Call<'_>, shape: Shape, indent: usize, asker: Asker<'_>) -> Laid {
        let client = client_of(asker);
        let redis = format!("{client}->{}", asker.redis);
        let leaves = |texts: Vec<String>| texts.into_iter().map(leaf).collect::<Vec<_>>();
        let raw = |name: &str, given: Vec<String>| {
            let mut items = vec![leaf(text(name.as_bytes()))];
            items.extend(leaves(given));
            list(format!("{redis}->rawCommand("), items, ")")
        };
        match call {
            Call::Set {
                key,
                value,
                options,
            } if self.queues => {
                let mut given = vec![argument(key), argument(value)];
                for (word, number) in options {
                    given.push(text(word.as_bytes()));
                    given.extend(number.map(argument));
                }
                raw("SET", given)
            }
            Call::Eval {
                script,
                keys,
                arguments: rest,
            } if self.queues => {
                let mut given = vec![
                    format!("self::{}", screaming(script)),
                    keys.len().to_string(),
                ];
                given.extend(arguments(keys));
                given.extend(arguments(rest));
                raw("EVAL", given)
            }
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
                items.extend(
                    (!options.is_empty()).then(|| leaf(format!("[{}]", options.join(", ")))),
                );
                list(format!("{redis}->set("), items, ")")
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
                list(format!("{redis}->eval("), items, ")")
            }
            Call::Command(name, given)
                if !self.queues && METHODS.contains(&format!(" {name} ")) =>
            {
                list(
                    format!("{redis}->{}(", method(name)),
                    leaves(arguments(given)),
                    ")",
                )
            }
            Call::Command(name, given) => raw(name, arguments(given)),
            Call::Statement(statement) => {
                let function = shape.function("affectedRows");
                let mut items = vec![leaf(statement_text(statement, indent))];
                items.extend(values_of(statement).map(leaf));
                list(format!("{client}->{function}("), items, ")")
            }
            // The walker writes what is the test's own.
            _ => leaf("null"),
        }
    }

    fn own(&self, part: &str, asker: Asker<'_>) -> String {
        let client = client_of(asker);
        match part {
            "gateway" => "$gateway->".to_owned(),
            part => format!("{client}->{part}->"),
        }
    }

    fn ask(&self, walk: &mut Walk<'_, '_>, indent: usize, asked: &Asked<'_>) {
        let call = walk.asked(asked, indent + 8);
        let open = format!("fn () => {}", call.open);
        let mut items = vec![leaf(text(asked.source.as_bytes()))];
        items.extend(asked.waits.map(leaf));
        items.push(Laid { open, ..call });
        let verb = asked.either("note", "startsAsking");
        walk.code(indent, &list(format!("{}->{verb}(", asked.me), items, ");"));
    }

    fn server(&self, name: &str) -> String {
        camel(name)
    }

    fn milliseconds(&self, milliseconds: &Argument) -> String {
        argument(milliseconds)
    }

    fn handed(&self, routine: &Routine<'_>, client: &str, _stores: &[String]) -> Vec<String> {
        let mut handed = vec![client.to_owned()];
        handed.extend(routine.handed(&[], ["", "$gateway", "$sales", "", ""]));
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
        let used = used(walk.plan, part).into_iter().map(leaf).collect();
        let open = format!("{name} = function () use (");
        walk.code(indent, &list(open, used, "): void {"));
        if !part.is_operator() {
            let client = text(part.name.as_bytes());
            walk.line(indent + 4, &format!("{me} = new Client({client}, $seen);"));
        }
        indent + 4
    }

    fn end_of_part(&self, walk: &mut Walk<'_, '_>, indent: usize, part: &Part<'_>, me: &str) {
        if !part.is_operator() && !matches!(part.moves.last(), Some(Move::Crash)) {
            walk.line(indent + 4, &format!("{me}->close();"));
        }
        walk.line(indent, "};");
    }

    fn part_name(&self, name: &str) -> String {
        match name {
            OPERATOR => "$theOperator".to_owned(),
            name => format!("${}", camel(&format!("client {name}"))),
        }
    }

    /// `OK` is `true` in phpredis.
    fn status(&self, word: &[u8]) -> String {
        match word {
            b"OK" => "true".to_owned(),
            b"QUEUED" if self.queues => "true".to_owned(),
            word => text(word),
        }
    }

    fn near(&self, number: i64, place: usize, element: Option<usize>) -> String {
        let element = element.map_or(String::new(), |element| format!("[{element}]"));
        format!("$this->near({number}, $seen[{place}][2]{element} ?? null)")
    }

    fn sql_value(&self, value: &SqlValue) -> String {
        match value {
            SqlValue::Null => "null".to_owned(),
            SqlValue::Integer(_) | SqlValue::Unsigned(_) => value.to_string(),
            SqlValue::Double(_) => format!("(float) {value}"),
            other => text(other.to_string().as_bytes()),
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
        let items = vec![
            list("[", rows, "]"),
            leaf(format!("$operator->rows({query})")),
        ];
        walk.code(indent, &list("$this->assertSame(", items, ");"));
    }

    fn key_is(&self, walk: &mut Walk<'_, '_>, indent: usize, read: &str, value: Laid) {
        let items = vec![value, leaf(format!("$operator->{read}"))];
        walk.code(indent, &list("$this->assertSame(", items, ");"));
    }

    fn charges_are(&self, walk: &mut Walk<'_, '_>, indent: usize, charges: &[(String, u64, bool)]) {
        let charges = charges.iter().map(|(order, amount, refunded)| {
            let order = text(order.as_bytes());
            leaf(format!(
                "['order' => {order}, 'amount' => {amount}, 'refunded' => {refunded}]"
            ))
        });
        let items = vec![list("[", charges.collect(), "]"), leaf("$gateway->charges")];
        walk.code(indent, &list("$this->assertSame(", items, ");"));
    }

    fn named(
        &self,
        walk: &mut Walk<'_, '_>,
        indent: usize,
        name: &str,
        replies: &[Replies],
        _as_numbers: bool,
    ) {
        let lists: Vec<String> = replies.iter().map(list_of_replies).collect();
        if let [only] = lists.as_slice() {
            walk.line(indent, &format!("{name} = {only};"));
        } else {
            let lists = lists.iter().map(|list| leaf(format!("...{list}")));
            walk.code(indent, &list(format!("{name} = ["), lists.collect(), "];"));
        }
        if let Some(element) = replies.iter().find_map(|replies| replies.element) {
            let numbers = format!("array_map(fn ($reply) => (int) $reply[{element}], {name})");
            walk.line(indent, &format!("{name} = {numbers};"));
        }
    }

    fn assert(
        &self,
        walk: &mut Walk<'_, '_>,
        indent: usize,
        proof: &Proof<'_>,
        message: &str,
        is_broken: bool,
    ) {
        let assertion = match is_broken {
            true => "$this->assertFalse(",
            false => "$this->assertTrue(",
        };
        let items = vec![leaf(proof.holds), leaf(text(message.as_bytes()))];
        walk.code(indent, &list(assertion, items, ");"));
    }
}

/// Who sends a request.
fn client_of(asker: Asker<'_>) -> &str {
    match asker.who {
        Asking::Protocol => "$client",
        Asking::Console(me) => me,
        Asking::SetUp => "$this->operator",
    }
}

fn list_of_replies(replies: &Replies) -> String {
    let (who, what) = (text(replies.who.as_bytes()), text(replies.what.as_bytes()));
    let given = format!("$operator->replies({who}, {what})");
    match replies.only {
        Some(only) => format!("array_slice({given}, {only}, 1)"),
        None => given,
    }
}

/// What a part takes from the test around it.
fn used(plan: &Plan<'_>, part: &Part<'_>) -> Vec<String> {
    let first = if part.is_operator() {
        "$operator"
    } else {
        "&$seen"
    };
    let mut used = vec![first.to_owned()];
    let mut add = |name: String| {
        if !used.contains(&name) {
            used.push(name);
        }
    };
    for act in &part.moves {
        match act {
            Move::Run { routine, .. } => {
                let others = ["", "$gateway", "&$sales", "", ""];
                let others = plan.routines[*routine].handed(&[], others);
                others.into_iter().for_each(&mut add);
            }
            Move::Ask {
                request: Request::Gateway(_),
                ..
            } => add("$gateway".to_owned()),
            Move::Wait(latch) | Move::Open(latch) => add(PHP.latch(&plan.latches[*latch])),
            Move::LookForKey(_) => add("&$left".to_owned()),
            Move::LookForDeadline(_) => add("&$timesToLive".to_owned()),
            _ => {}
        }
    }
    used
}

/// What PHPUnit's class of tests has already, and the one word that no constant can be.
const RESERVED: &str = " CLASS any anything arrayHasKey at atLeast atLeastOnce atMost callback containsEqual containsIdentical \
    containsOnly count countOf createMock createStub dataName directoryExists doubledTypes equalTo exactly fail fileExists \
    getActualOutput getGroups getName getNumAssertions getResult getSize getStatus greaterThan groups handleDependencies hasFailed \
    hasOutput hasSize identicalTo iniSet invokeTestMethod isEmpty isFalse isTrue isNull isJson isNan lessThan matches name never \
    nameWithDataSet objectEquals once onConsecutiveCalls output prophesize provides registerComparator requires result \
    returnArgument returnCallback returnSelf returnValue returnValueMap run runBare runTest setUp setName setResult setLocale \
    setGroups setData size sortId status stringContains stringEndsWith stringStartsWith tearDown throwException toString \
    transformException usesDataProvider valueObjectForEvents wasPrepared this client gateway sales seen operator left timesToLive error ";

/// A variable's name in PHP.
pub(super) fn variable(name: &str) -> String {
    let name = camel(name);
    let is_taken = " this client gateway sales seen operator left timesToLive error "
        .contains(&format!(" {name} "));
    format!("${name}{}", if is_taken { "_" } else { "" })
}

/// A string.
fn text(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    match text.chars().any(char::is_control) {
        // Nothing to escape between the other quotes, in which variables have values and backslashes a meaning.
        false if text.contains('\'') && !text.contains(['"', '$', '\\']) => format!("\"{text}\""),
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
    let (lines, blanks) = (indented(source, indent), " ".repeat(indent));
    format!("<<<'{word}'\n{lines}\n{blanks}{word}")
}

/// An SQL statement with named placeholders.
fn statement_text(statement: &Statement, indent: usize) -> String {
    let sql = sql_with(statement, &|name| format!(":{}", camel(name)));
    match sql.contains('\n') {
        true => heredoc("SQL", &sql, indent),
        false => text(sql.as_bytes()),
    }
}

/// The values of an SQL statement.
fn values_of(statement: &Statement) -> Option<String> {
    let names = names_in(statement);
    let pairs = names
        .iter()
        .map(|name| format!("'{}' => {}", camel(name), variable(name)));
    let pairs: Vec<String> = pairs.collect();
    (!pairs.is_empty()).then(|| format!("[{}]", pairs.join(", ")))
}

fn argument(argument: &Argument) -> String {
    super::walk::argument(&PHP, argument)
}

fn arguments(arguments: &[Argument]) -> Vec<String> {
    arguments.iter().map(argument).collect()
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

/// The method of Laravel's `DB` that takes such a statement.
pub(super) fn laravel_method(kind: StatementKind) -> &'static str {
    match kind {
        StatementKind::Select => "selectOne",
        StatementKind::Insert | StatementKind::Replace => "insert",
        StatementKind::Update => "update",
        StatementKind::Delete => "delete",
        _ => "statement",
    }
}

/// What Laravel has for the statements around a transaction.
pub(super) fn laravel_transaction(kind: StatementKind) -> Option<&'static str> {
    Some(match kind {
        StatementKind::Begin => "DB::beginTransaction();",
        StatementKind::Commit => "DB::commit();",
        StatementKind::Rollback => "DB::rollBack();",
        _ => return None,
    })
}

/// The line of Laravel that a request stands for; of a statement the first word.
pub(super) fn laravel(call: &Call<'_>) -> Option<String> {
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
            if let Some(call) = laravel_transaction(statement.kind()) {
                return Some(call.to_owned());
            }
            let verb = laravel_method(statement.kind());
            let values = values_of(statement).map_or(String::new(), |values| format!(", {values}"));
            let mut words = statement.source().split_whitespace();
            let sql = format!("'{} …'", words.next().unwrap_or_default());
            format!("DB::{verb}({sql}{values});")
        }
        _ => return None,
    })
}

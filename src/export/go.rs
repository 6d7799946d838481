//! A test for `go test`, with go-redis and go-sql-driver.

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
    argument, arguments,
};
use super::words::{
    WHERE_MYSQL_IS, WHERE_REDIS_IS, WHERE_SEVERAL_ARE, camel, pascal, short, sql_with, unless_taken,
};

/// The test.
pub(super) fn print(plan: Plan<'_>, options: Options) -> String {
    super::walk::print(plan, options, &Go)
}

/// The language, for whoever asks for single calls.
pub(super) const LANGUAGE: &dyn Language = &Go;

const TABLES: Tables = Tables {
    form: Form {
        end: "",
        forever: "for {",
        if_open: ["if ", " {"],
        else_if: ["} else if ", " {"],
        nil: ["nil", "nil"],
        list: ["[]any{", "}"],
        ..BRACES
    },
    guide: Guide {
        how: "To run it, in a directory of its own:",
        commands: &["go get {packages}", "go test"],
        packages: [
            "",
            "github.com/redis/go-redis/v9",
            "github.com/go-sql-driver/mysql",
        ],
        redis: WHERE_REDIS_IS,
        several: WHERE_SEVERAL_ARE,
        variable: "REDIS_URL",
        mysql: WHERE_MYSQL_IS,
    },
    template: include_str!("texts/go.go"),
    phrases: Phrases {
        step: "{me}.{verb}({label})",
        step_freely: "{me}.{verb}() // {name}",
        verbs: ["step", "sends", "loses", "delays", "findsItDown"],
        see: "{me}.seesTheReply() // {name}",
        deliver: "{me}.delivers() // {name}",
        give_up: "{me}.givesUp() // {name}",
        start: [
            "{me}.starts({label}, \"{server}\")",
            "{me}.starts(\"{server}\") // {name}",
        ],
        start_asking: "\"{server}\"",
        hear: "{me}.hears() // {name}",
        withdraw: "{me}.withdraws(\"{server}\") // {name}",
        listen: "{me}.waitsForAMessage({label}, {channel})",
        told: [
            "{me}.isTold({label}, {reply})",
            "{me}.isTold({reply}) // {name}",
        ],
        clock: "{me}.clock.passes({n})",
        by_clock: [
            "steps.clock.holds({lock}, {n})",
            "steps.clock.forgets({lock})",
            "steps.clock.asksFor({lock})",
            "steps.clock.countsAVoteFor({lock})",
        ],
        latch: "{latch} := make(chan struct{})",
        wait: "waitFor(t, {latch})",
        open: "close({latch})",
        lapse: "{me}.{redis}(\"PEXPIRE\", {key}, 0)",
        age: "{me}.{redis}(\"PEXPIRE\", {key}, {n})",
        ahead: "{me}.{redis}(\"INCRBY\", {key}, {n})",
        database_clock: "{me}.update({statement})",
        wipe: "{me}.{redis}(\"DEL\", {key}) // lost",
        crash: "{me}.close() // crashes",
        restart: "{me}.connect()",
        look_for_key: "{me}.looksFor({me}.{redis}(\"EXISTS\", {key}))",
        look_for_deadline: "{me}.looksHowLongThereIs({me}.{redis}(\"PTTL\", {key}))",
        raise: "runtime.Goexit()",
        runs: ["{me}.runs(func(steps *steps) { ", " })"],
        together: ["runTogether(", ")"],
        called: "{name}",
        seen: ["expected := []saw{", "{", "}", "}"],
        commands: ["", ""],
        settings: [
            ["var statements = []string{", "}"],
            ["var tables = []string{", "}"],
            ["var keys = []any{", "}"],
        ],
        is_gone: "assertEqual(t, operator.{redis}(\"EXISTS\", {key}), 0)",
        stays: "assertEqual(t, operator.{redis}(\"PTTL\", {key}), -1)",
        lapses: "assertLapsesAfter(t, operator.{redis}(\"PTTL\", {key}), {key}, {least})",
        reads: [
            "{redis}(\"GET\", {key})",
            "{redis}(\"LRANGE\", {key}, 0, -1)",
            "{redis}(\"HGETALL\", {key})",
            "{redis}(\"SORT\", {key}, \"ALPHA\")",
            "{redis}(\"ZRANGE\", {key}, 0, -1)",
        ],
    },
    questions: Questions {
        nil: ["{reply} == nil", "{reply} != nil"],
        equal: ["{reply} == {value}", "{reply} != {value}"],
        error: ["isError({reply})", "!isError({reply})"],
        named_error: [
            "{reply} == serverError({value})",
            "{reply} != serverError({value})",
        ],
        no_reply: ["{reply} == noReply", "{reply} != noReply"],
        element: "element({reply}, {n})",
        count: "len({reply}.([]any))",
        joints: [" && ", " || "],
    },
    proofs: [
        Proof::of("all(lateWrites, isZero)", "!all(lateWrites, isZero)").about("lateWrites"),
        Proof::of(
            "all(writesOfHolders, isNotZero)",
            "!all(writesOfHolders, isNotZero)",
        )
        .about("writesOfHolders"),
        Proof::of("sort.IntsAreSorted(tokens)", "!sort.IntsAreSorted(tokens)").about("tokens"),
        Proof::of("areDifferent(tokens)", "!areDifferent(tokens)").about("tokens"),
        Proof::of("least >= 0", "least < 0").after(&["least := number(operator.value({query}))"]),
        Proof::of(
            "{before}-stock == len(notes.sales)",
            "{before}-stock != len(notes.sales)",
        )
        .after(&["stock := number(operator.value({query}))"]),
        Proof::of(
            "isWithin(notes.gateway.paid(), notes.sales)",
            "!isWithin(notes.gateway.paid(), notes.sales)",
        ),
        Proof::of(
            "areDifferent(notes.gateway.paid())",
            "!areDifferent(notes.gateway.paid())",
        ),
        Proof::of(
            "isWithin(notes.sales, notes.gateway.paid())",
            "!isWithin(notes.sales, notes.gateway.paid())",
        ),
        Proof::of("all(notes.left, isNotZero)", "!all(notes.left, isNotZero)"),
        Proof::of(
            "all(notes.timesToLive, hasDeadline)",
            "!all(notes.timesToLive, hasDeadline)",
        ),
    ],
};

struct Go;

impl Language for Go {
    fn tables(&self) -> &'static Tables {
        &TABLES
    }

    fn words(&self, plan: &Plan<'_>) -> Vec<(&'static str, String)> {
        vec![("test", pascal(&short(plan.title())))]
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
        text(&String::from_utf8_lossy(bytes))
    }

    fn script(&self, walk: &mut Walk<'_, '_>, indent: usize, name: &str, source: &str) {
        let name = self.script_name(name, false);
        if source.contains('`') {
            walk.line(indent, &format!("const {name} = {}", text(source)));
        } else {
            walk.line(indent, &format!("const {name} = `"));
            source.lines().for_each(|line| walk.line(indent, line));
            walk.line(indent, "`");
        }
        walk.line(0, "");
    }

    fn statement(&self, statement: &Statement, indent: usize) -> String {
        statement_text(statement, indent)
    }

    fn head(&self, walk: &mut Walk<'_, '_>, indent: usize, routine: &Routine<'_>) {
        let name = variable(&routine.name);
        let given = routine.given.iter().map(|name| {
            let kind = if name == "me" || name == "order" {
                "string"
            } else {
                "any"
            };
            leaf(format!("{} {kind}", variable(name)))
        });
        let given = std::iter::once(leaf("steps *steps")).chain(given).collect();
        walk.line(0, "");
        let doc = "is one attempt, request by request; each is sent when the schedule says so.";
        walk.line(indent, &format!("// {name} {doc}"));
        walk.code(indent, &list(format!("func {name}("), given, ") {"));
    }

    fn declare(&self, name: &str, _inside: &Code<'_>) -> Option<String> {
        Some(format!("var {} any", variable(name)))
    }

    fn send(&self, walk: &mut Walk<'_, '_>, indent: usize, send: &Send<'_>, is_declared: bool) {
        let reply = variable(&send.reply);
        let request = &send.step.request;
        let request = walk.call(request, send.shape, indent + 8, Asking::Protocol);
        let assigned = match (send.is_used, is_declared) {
            (true, false) => format!("{reply} := "),
            (true, true) => format!("{reply} = "),
            (false, _) => String::new(),
        };
        let ask = if send.catches { "try" } else { "ask" };
        let label = text(&send.step.label);
        function(
            walk,
            indent,
            &format!("{assigned}steps.{ask}({label}, "),
            request,
        );
    }

    fn bind(&self, name: &str, reply: &str, element: Option<usize>, is_declared: bool) -> String {
        let equals = if is_declared { "=" } else { ":=" };
        let (name, reply) = (variable(name), variable(reply));
        match element {
            Some(element) => format!("{name} {equals} element({reply}, {element})"),
            None => format!("{name} {equals} {reply}"),
        }
    }

    fn sell(&self, units: u64, order: &str) -> String {
        format!("steps.sells({units}, {order})")
    }

    fn script_name(&self, name: &str, as_digest: bool) -> String {
        let name = camel(&format!("{name} script"));
        match as_digest {
            true => format!("sha1Of({name})"),
            false => name,
        }
    }

    fn call(&self, call: &Call<'_>, shape: Shape, indent: usize, asker: Asker<'_>) -> Laid {
        let me = match asker.who {
            Asking::Protocol | Asking::Console(_) => "c",
            Asking::SetUp => "operator",
        };
        let redis = |name: &str, mut words: Vec<Laid>| {
            words.insert(0, leaf(text(name)));
            list(format!("{me}.{}(", asker.redis), words, ")")
        };
        match call {
            Call::Set {
                key,
                value,
                options,
            } => {
                let mut words = arguments(self, &[(*key).clone(), (*value).clone()]);
                for (word, number) in options {
                    words.push(leaf(text(word)));
                    words.extend(number.map(|number| leaf(argument(self, number))));
                }
                redis("SET", words)
            }
            Call::Eval {
                script,
                keys,
                arguments: rest,
            } => {
                let script = leaf(self.script_name(script, false));
                let mut words = vec![script, leaf(keys.len().to_string())];
                words.extend(arguments(self, keys));
                words.extend(arguments(self, rest));
                redis("EVAL", words)
            }
            Call::Command(name, words) => redis(name, arguments(self, words)),
            Call::Statement(statement) => {
                let function = shape.function("update");
                let mut items = vec![leaf(statement_text(statement, indent))];
                let values = statement.pieces().into_iter().filter_map(|(_, name)| name);
                items.extend(values.map(|name| leaf(variable(name))));
                list(format!("{me}.{function}("), items, ")")
            }
            // The walker writes what is the test's own.
            _ => leaf("nil"),
        }
    }

    fn own(&self, part: &str, asker: Asker<'_>) -> String {
        match (part, asker.who) {
            ("gateway", _) => "c.notes.gateway.".to_owned(),
            _ => format!("c.{part}."),
        }
    }

    fn charge(&self, mut given: Vec<Laid>, key: Option<Laid>) -> (&'static str, Vec<Laid>) {
        given.push(key.unwrap_or_else(|| leaf("nil")));
        ("charge", given)
    }

    fn ask(&self, walk: &mut Walk<'_, '_>, indent: usize, asked: &Asked<'_>) {
        let (me, source) = (asked.me, text(asked.source));
        let request = walk.asked(asked, indent + 8);
        let open = match asked.waits {
            None => format!("{me}.note({source}, "),
            Some(waits) => format!("{me}.startsAsking({source}, {waits}, "),
        };
        function(walk, indent, &open, request);
    }

    fn milliseconds(&self, milliseconds: &Argument) -> String {
        let text = argument(self, milliseconds);
        match milliseconds {
            Argument::Variable(_) => format!("number({text})"),
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
        walk.line(indent, &format!("{name} := func() {{"));
        if !part.is_operator() {
            let client = text(part.name);
            walk.line(
                indent + 4,
                &format!("{me} := newClient(t, {client}, notes)"),
            );
            walk.line(indent + 4, &format!("defer {me}.close()"));
        }
        indent + 4
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

    fn near(&self, number: i64, place: usize, element: Option<usize>) -> String {
        let element = element.map_or(String::new(), |element| format!(", {element}"));
        format!("near({number}, notes.seen, {place}{element})")
    }

    fn sql_value(&self, value: &SqlValue) -> String {
        match value {
            SqlValue::Null => "nil".to_owned(),
            SqlValue::Integer(_) | SqlValue::Unsigned(_) => value.to_string(),
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
        let read = leaf(format!("operator.rows({query})"));
        let items = vec![leaf("t"), read, list("[]any{", rows, "}")];
        walk.code(indent, &list("assertEqual(", items, ")"));
    }

    fn key_is(&self, walk: &mut Walk<'_, '_>, indent: usize, read: &str, value: Laid) {
        let items = vec![leaf("t"), leaf(format!("operator.{read}")), value];
        walk.code(indent, &list("assertEqual(", items, ")"));
    }

    fn charges_are(&self, walk: &mut Walk<'_, '_>, indent: usize, charges: &[(String, u64, bool)]) {
        let charges = charges.iter().map(|(order, amount, refunded)| {
            leaf(format!("{{{}, {amount}, {refunded}}}", text(order)))
        });
        let charges = match charges.len() {
            0 => leaf("[]charge(nil)"),
            _ => list("[]charge{", charges.collect(), "}"),
        };
        let items = vec![leaf("t"), leaf("notes.gateway.charges"), charges];
        walk.code(indent, &list("assertEqual(", items, ")"));
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
        let (open, close) = match as_numbers {
            true => ("numbers(", ")"),
            false => ("", ""),
        };
        let code = match lists.as_slice() {
            [only] => leaf(format!("{name} := {open}{}{close}", only.open)),
            _ => list(
                format!("{name} := {open}concat("),
                lists,
                format!("){close}"),
            ),
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
        let failed = if is_broken { proof.holds } else { proof.breaks };
        walk.line(indent, &format!("if {failed} {{"));
        walk.line(indent + 4, &format!("t.Error({})", text(message)));
        walk.line(indent, "}");
    }

    fn finished(&self, file: String) -> String {
        with_tabs(&file)
    }
}

/// A call whose last argument is a function that sends a request.
fn function(walk: &mut Walk<'_, '_>, indent: usize, open: &str, request: Laid) {
    let flat = format!("{open}func(c *client) any {{ return {} }})", request.flat());
    if indent + flat.chars().count() <= TABLES.form.width && !flat.contains('\n') {
        return walk.line(indent, &flat);
    }
    walk.line(indent, &format!("{open}func(c *client) any {{"));
    let request = Laid {
        open: format!("return {}", request.open),
        ..request
    };
    walk.code(indent + 4, &request);
    walk.line(indent, "})");
}

fn list_of_replies(replies: &Replies) -> Laid {
    let (who, what) = (text(&replies.who), text(&replies.what));
    let mut given = format!("notes.replies({who}, {what})");
    if let Some(only) = replies.only {
        given = format!("{given}[{only}:{}]", only + 1);
    }
    leaf(match replies.element {
        Some(element) => format!("elements({given}, {element})"),
        None => given,
    })
}

const KEYWORDS: &str = " break case chan const continue default defer else fallthrough for func go goto if import interface map \
    package range return select struct switch type var any all append cap close copy false int iota len make new nil panic print \
    string true steps notes operator expected tables keys statements numbers number elements element near charge gateway client \
    step saw row t c context sql errors fmt os reflect runtime sort strconv strings sync testing time mysql redis least stock \
    tokens concat cell plain try clock inbox noReply init main byte rune bool error int64 float64 uint64 min max clear complex real imag delete recover println uintptr \
    comparable ";

/// A variable's name in Go.
pub(super) fn variable(name: &str) -> String {
    unless_taken(camel(name), KEYWORDS)
}

/// A string.
fn text(text: &str) -> String {
    let mut out = String::from('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            letter if letter.is_control() => out.push_str(&format!("\\u{:04x}", letter as u32)),
            letter => out.push(letter),
        }
    }
    out + "\""
}

/// An SQL statement with `?` for each value; in backquotes where it has several lines, and on one line where it has backquotes itself.
fn statement_text(statement: &Statement, indent: usize) -> String {
    let sql = sql_with(statement, &|_| "?".to_owned());
    if !sql.contains('\n') {
        return text(&sql);
    }
    if sql.contains('`') {
        let lines: Vec<&str> = sql.lines().map(str::trim).collect();
        return text(&lines.join(" "));
    }
    let tabs = "\t".repeat(indent / 4);
    let lines: Vec<String> = sql.lines().map(|line| format!("{tabs}{line}")).collect();
    format!("`\n{}\n{tabs}`", lines.join("\n"))
}

/// As gofmt indents and aligns it: tabs, but in strings of several lines; names of fields and remarks below one another.
fn with_tabs(file: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut is_text = false;
    for line in file.lines() {
        let blanks = line.len() - line.trim_start_matches(' ').len();
        match is_text {
            true => lines.push(line.to_owned()),
            false => lines.push("\t".repeat(blanks / 4) + &line[blanks / 4 * 4..]),
        }
        is_text ^= line.matches('`').count() % 2 == 1;
    }
    align(&mut lines, &remark_in);
    align(&mut lines, &field_in);
    lines.join("\n") + "\n"
}

/// Sets what stands behind these places of lines that follow one another below one another.
fn align(lines: &mut [String], place_in: &dyn Fn(&[String], usize) -> Option<usize>) {
    let places: Vec<Option<usize>> = (0..lines.len()).map(|line| place_in(lines, line)).collect();
    let mut from = 0;
    for run in places.split_inclusive(Option::is_none) {
        let furthest = run.iter().flatten().max().copied().unwrap_or_default();
        for (line, place) in run.iter().enumerate() {
            if let Some(place) = place {
                let line = &mut lines[from + line];
                line.insert_str(*place, &" ".repeat(furthest - place));
            }
        }
        from += run.len();
    }
}

/// Where a remark behind code begins.
fn remark_in(lines: &[String], line: usize) -> Option<usize> {
    let place = lines[line].find(" // ")?;
    let code = lines[line][..place].trim();
    (!code.is_empty() && !code.contains("//") && !code.ends_with('`')).then_some(place)
}

/// Where the type of a field begins, in a struct.
fn field_in(lines: &[String], line: usize) -> Option<usize> {
    let field = lines[line].strip_prefix('\t')?;
    let head = lines[..line]
        .iter()
        .rev()
        .find(|line| !line.starts_with('\t'))?;
    if !head.ends_with("struct {") || field.starts_with('/') {
        return None;
    }
    let mut blanks = field.match_indices(' ').map(|(place, _)| place);
    blanks
        .find(|place| !field[..*place].ends_with(','))
        .map(|place| place + 2)
}

//! The way through a plan that the tests of all languages share: header, protocols, schedule, assertions. A language says in
//! which words.

use crate::property::Property;
use crate::sim::action::ServerId;
use crate::sim::client::protocol::{Argument, Element, Request};
use crate::sim::database::{SqlReply, Statement, Value as SqlValue};
use crate::sim::event::{Answer, Value};
use crate::sim::store::Value as StoreValue;
use crate::sim::store::reply::Reply;
use crate::sorted::SortedMap;

use super::Options;
use super::claim::{Claim, Evidence, Replies};
use super::layout::{Code as Laid, Style, laid_out, leaf, list};
use super::names::{self, Reserved};
use super::plan::{CLOCK_KEY, FinalKey, Key, Move, Part, Plan, Seen, Waits};
use super::request::{Call, plain_number};
use super::routine::{ByClock, Code, Is, NO_REPLY, Routine, Send, Shape, Test, outliving};
use super::template::{Line, filled, lines, with_words};
use super::words::{
    LEAVES_ALONE, SEE_IT, aim, error_name, listed, name_in_sql, push_line, seconds, wrapped,
};

/// What a language looks like.
pub(super) struct Form {
    /// How long lines become.
    pub width: usize,
    /// How much deeper the inside of a block stands.
    pub tab: usize,
    /// How lines are broken.
    pub style: Style,
    /// What a remark begins with.
    pub remark: &'static str,
    /// How far remarks reach.
    pub remark_width: usize,
    /// What the header's lines begin with.
    pub header: &'static str,
    /// How far they reach.
    pub header_width: usize,
    /// What ends a statement.
    pub end: &'static str,
    /// `while True:`
    pub forever: &'static str,
    /// Before and behind the condition of an `if`, and of an `else if`.
    pub if_open: [&'static str; 2],
    /// The same for what is asked where the first condition is not met.
    pub else_if: [&'static str; 2],
    /// `else:`
    pub otherwise: &'static str,
    /// What closes a block; empty where nothing does.
    pub close: &'static str,
    /// Leaves a protocol.
    pub leave: &'static str,
    /// What no reply at all is, and what an empty value is.
    pub nil: [&'static str; 2],
    /// What a list stands in.
    pub list: [&'static str; 2],
}

/// A language with braces and semicolons.
pub(super) const BRACES: Form = Form {
    width: 100,
    tab: 4,
    style: Style::OneEach,
    remark: "// ",
    remark_width: 100,
    header: "// ",
    header_width: 100,
    end: ";",
    forever: "while (true) {",
    if_open: ["if (", ") {"],
    else_if: ["} else if (", ") {"],
    otherwise: "} else {",
    close: "}",
    leave: "return",
    nil: ["null", "null"],
    list: ["[", "]"],
};

/// The sentences of the header that are the language's own, and how the test is run: `{packages}` are those that are needed.
pub(super) struct Guide {
    /// Over the commands; `{name}` is a word of the language's.
    pub how: &'static str,
    /// The commands.
    pub commands: &'static [&'static str],
    /// Packages: always, for Redis, for the database.
    pub packages: [&'static str; 3],
    /// Where Redis is.
    pub redis: &'static str,
    /// Where the servers are, of several: `{servers}` are their names, `{variables}` say where they are, `{databases}` are their usual
    /// databases.
    pub several: &'static str,
    /// The variable that says where the first one is.
    pub variable: &'static str,
    /// Where the database is.
    pub mysql: &'static str,
}

/// How the moves of the schedule are written. Items between `¦` may be broken into lines; `{me}` is who acts, `{redis}` on which
/// server, `{key}` and `{latch}` and `{label}` what with, `{n}` how much.
pub(super) struct Phrases {
    /// The next request is this one: `{verb}` is one of the verbs.
    pub step: &'static str,
    /// The next request, whichever it is.
    pub step_freely: &'static str,
    /// `step`, `sends`, `loses`, `delays`, `finds nobody`.
    pub verbs: [&'static str; 5],
    /// The reply that has waited is seen.
    pub see: &'static str,
    /// The request that has been under way arrives.
    pub deliver: &'static str,
    /// No reply is waited for any longer.
    pub give_up: &'static str,
    /// The next request waits at `{server}`; and so does whichever it is.
    pub start: [&'static str; 2],
    /// Behind what is typed at a console and waits at `{server}`: the last argument, and what closes.
    pub start_asking: &'static str,
    /// The reply to what has waited comes: `{name}`.
    pub hear: &'static str,
    /// What waits at `{server}` is given up: `{name}`.
    pub withdraw: &'static str,
    /// The client waits for a message of `{channel}`.
    pub listen: &'static str,
    /// The next request is answered with `{reply}`; and so is whichever it is.
    pub told: [&'static str; 2],
    /// The client's own clock goes on by `{n}`.
    pub clock: &'static str,
    /// What a client notes by its own clock: `{lock}` and `{n}`.
    pub by_clock: [&'static str; 4],
    /// A latch is made.
    pub latch: &'static str,
    /// A latch is waited for.
    pub wait: &'static str,
    /// A latch is opened.
    pub open: &'static str,
    /// A key lapses.
    pub lapse: &'static str,
    /// A key has so much left.
    pub age: &'static str,
    /// Scripts read another time.
    pub ahead: &'static str,
    /// Statements read another time: `{statement}`.
    pub database_clock: &'static str,
    /// A key is lost.
    pub wipe: &'static str,
    /// Connections are closed.
    pub crash: &'static str,
    /// Connections are opened again.
    pub restart: &'static str,
    /// Notes whether a key is there.
    pub look_for_key: &'static str,
    /// Notes how long a key will be there.
    pub look_for_deadline: &'static str,
    /// An error goes on: `{reply}`.
    pub raise: &'static str,
    /// Before and behind the protocol that a client begins: `{me}`.
    pub runs: [&'static str; 2],
    /// Before and behind the parts.
    pub together: [&'static str; 2],
    /// A part where it is handed over: `{name}`.
    pub called: &'static str,
    /// Around the replies, and around each of them.
    pub seen: [&'static str; 4],
    /// Around a command of the set-up.
    pub commands: [&'static str; 2],
    /// Around the statements, tables and keys of the settings.
    pub settings: [[&'static str; 2]; 3],
    /// A key that is gone at the end.
    pub is_gone: &'static str,
    /// A key that stays for ever.
    pub stays: &'static str,
    /// A key that has at most `{n}` and at least `{least}` left.
    pub lapses: &'static str,
    /// How a string, list, hash, set, sorted set is read: `{key}`.
    pub reads: [&'static str; 5],
}

/// How the properties are asserted.
pub(super) struct Proof<'t> {
    /// The variable that the replies are in, where there are any.
    pub replies: &'t str,
    /// What stands before the assertion: `{query}` and `{before}`.
    pub before: &'t [&'t str],
    /// What is true where it holds.
    pub holds: &'t str,
    /// What is true where it does not.
    pub breaks: &'t str,
}

impl<'t> Proof<'t> {
    /// One that looks at no replies.
    pub const fn of(holds: &'t str, breaks: &'t str) -> Proof<'t> {
        Proof {
            replies: "",
            before: &[],
            holds,
            breaks,
        }
    }

    /// With the variable that the replies are in.
    pub const fn about(self, replies: &'t str) -> Proof<'t> {
        Proof { replies, ..self }
    }

    /// With what stands before the assertion.
    pub const fn after(self, before: &'t [&'t str]) -> Proof<'t> {
        Proof { before, ..self }
    }
}

/// How questions about a reply are asked; each with its contrary behind it.
pub(super) struct Questions {
    /// Whether it is nothing: `{reply}`.
    pub nil: [&'static str; 2],
    /// Whether it is `{value}`.
    pub equal: [&'static str; 2],
    /// Whether it is an error.
    pub error: [&'static str; 2],
    /// Whether it is the error that is called `{value}`.
    pub named_error: [&'static str; 2],
    /// Whether there is none.
    pub no_reply: [&'static str; 2],
    /// One of its elements: `{n}`.
    pub element: &'static str,
    /// How many rows it has.
    pub count: &'static str,
    /// Between questions all of which have to be answered by yes, and between those of which one has to.
    pub joints: [&'static str; 2],
}

/// All of a language that can be said in tables.
pub(super) struct Tables {
    /// What it looks like.
    pub form: Form,
    /// Its sentences in the header.
    pub guide: Guide,
    /// The file.
    pub template: &'static str,
    /// The moves.
    pub phrases: Phrases,
    /// The conditions.
    pub questions: Questions,
    /// The assertions, in the order of [`Evidence`].
    pub proofs: [Proof<'static>; 11],
}

/// A language that tests are written in.
pub(super) trait Language {
    /// What of it is tables.
    fn tables(&self) -> &'static Tables;
    /// The words of the template: `{{name}}`.
    fn words(&self, _plan: &Plan<'_>) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// What names of the scenario are not to be.
    fn reserved(&self) -> Reserved;
    /// A name of the scenario as a variable.
    fn variable(&self, name: &str) -> String;
    /// A latch's name.
    fn latch(&self, name: &str) -> String;
    /// A protocol's name.
    fn function(&self, name: &str) -> String;
    /// What a connection to a Redis server is called, as a member of whoever has it.
    fn server(&self, name: &str) -> String {
        const TAKEN: &str = " mysql name seen notes step steps runs sends sees note reply upcoming protocol close connect asks \
            clock inbox loses delays delivers ask row rows value update refused db rdb t waiting replies delayed ";
        if name == "redis" {
            return name.to_owned();
        }
        let server = self.variable(name);
        match TAKEN.contains(&format!(" {server} ")) {
            true => self.variable(&format!("redis {name}")),
            false => server,
        }
    }
    /// A string.
    fn text(&self, bytes: &[u8]) -> String;
    /// A line of the header.
    fn quoted(&self, line: &str) -> String {
        line.to_owned()
    }

    /// Text of several lines that is called so.
    fn script(&self, walk: &mut Walk<'_, '_>, indent: usize, name: &str, source: &str);
    /// An SQL statement without variables, for the settings.
    fn statement(&self, statement: &Statement, indent: usize) -> String;
    /// The beginning of a protocol.
    fn head(&self, walk: &mut Walk<'_, '_>, indent: usize, routine: &Routine<'_>);
    /// What stands before the protocol's end.
    fn tail(&self, _walk: &mut Walk<'_, '_>, _indent: usize, _routine: &Routine<'_>) {}
    /// Declares a variable that is looked at behind this code, where it gets its value inside of it.
    fn declare(&self, _name: &str, _inside: &Code<'_>) -> Option<String> {
        None
    }
    /// A request of a protocol.
    fn send(&self, walk: &mut Walk<'_, '_>, indent: usize, send: &Send<'_>, is_declared: bool);
    /// A variable gets a reply or an element of it.
    fn bind(&self, name: &str, reply: &str, element: Option<usize>, is_declared: bool) -> String;
    /// Units are sold to an order.
    fn sell(&self, units: u64, order: &str) -> String;

    /// The script's source, and its digest.
    fn script_name(&self, name: &str, as_digest: bool) -> String;
    /// The call that sends a request to a server.
    fn call(&self, call: &Call<'_>, shape: Shape, indent: usize, asker: Asker<'_>) -> Laid;
    /// What stands before a method of the test's own `gateway`, `clock` or `inbox`.
    fn own(&self, part: &str, asker: Asker<'_>) -> String {
        match part {
            "inbox" => format!("{}.", asker.inbox()),
            part => format!("{part}."),
        }
    }
    /// The method that charges a card, and what it is given; with a key it charges once.
    fn charge(&self, given: Vec<Laid>, key: Option<Laid>) -> (&'static str, Vec<Laid>) {
        ("charge", given.into_iter().chain(key).collect())
    }
    /// An argument of such a method, whatever it is.
    fn given_to_own(&self, word: &Argument) -> Laid {
        leaf(argument(self, word))
    }
    /// An argument of such a method that is a text: the name of a lock or of a channel.
    fn word(&self, word: &Argument) -> Laid {
        self.given_to_own(word)
    }
    /// What somebody types at a console.
    fn ask(&self, walk: &mut Walk<'_, '_>, indent: usize, asked: &Asked<'_>);
    /// A request that has been under way comes to its server, where the protocol's own request cannot be sent so late; whether
    /// anything was written.
    fn deliver(
        &self,
        _walk: &mut Walk<'_, '_>,
        _indent: usize,
        _asked: &Asked<'_>,
        _is_late: bool,
    ) -> bool {
        false
    }
    /// How long a client may count on a lock, as a number.
    fn milliseconds(&self, milliseconds: &Argument) -> String;
    /// What a protocol is given before its variables; `stores` are the names of the connections to Redis servers.
    fn handed(&self, routine: &Routine<'_>, client: &str, stores: &[String]) -> Vec<String>;
    /// A variable that a protocol is given.
    fn given(&self, _name: &str, value: String) -> String {
        value
    }
    /// Begins a part, and says how deep its moves stand.
    fn part(
        &self,
        walk: &mut Walk<'_, '_>,
        indent: usize,
        part: &Part<'_>,
        names: [&str; 2],
    ) -> usize;
    /// Ends a part.
    fn end_of_part(&self, _walk: &mut Walk<'_, '_>, _indent: usize, _part: &Part<'_>, _me: &str) {}
    /// What a part is called.
    fn part_name(&self, name: &str) -> String;

    /// A status that is expected.
    fn status(&self, word: &[u8]) -> String {
        self.text(word)
    }
    /// A number that is expected.
    fn integer(&self, number: i64) -> String {
        number.to_string()
    }
    /// A number that is expected within a second, in the reply at this place, or in one of its elements.
    fn near(&self, number: i64, place: usize, element: Option<usize>) -> String;
    /// A value of the database.
    fn sql_value(&self, value: &SqlValue) -> String;
    /// A row of the database.
    fn row(&self, row: &[SqlValue]) -> Laid {
        let [open, close] = self.tables().form.list;
        list(
            open,
            row.iter()
                .map(|value| leaf(self.sql_value(value)))
                .collect(),
            close,
        )
    }
    /// Asserts that a table has these rows.
    fn rows_are(
        &self,
        walk: &mut Walk<'_, '_>,
        indent: usize,
        table: &str,
        query: &str,
        rows: Vec<Laid>,
    );
    /// A hash, from its fields and values.
    fn hash(&self, parts: Vec<Laid>) -> Laid {
        let [open, close] = self.tables().form.list;
        list(open, parts, close)
    }
    /// Asserts that what is read of a key is this.
    fn key_is(&self, walk: &mut Walk<'_, '_>, indent: usize, read: &str, value: Laid);
    /// Asserts that these are the charges.
    fn charges_are(&self, walk: &mut Walk<'_, '_>, indent: usize, charges: &[(String, u64, bool)]);
    /// A variable with these replies.
    fn named(
        &self,
        walk: &mut Walk<'_, '_>,
        indent: usize,
        name: &str,
        replies: &[Replies],
        as_numbers: bool,
    );
    /// Asserts that a property holds, or that it does not.
    fn assert(
        &self,
        walk: &mut Walk<'_, '_>,
        indent: usize,
        proof: &Proof<'_>,
        message: &str,
        is_broken: bool,
    );
    /// Something of the template that only this language has.
    fn insert(&self, _walk: &mut Walk<'_, '_>, _indent: usize, _name: &str) {}
    /// The finished file.
    fn finished(&self, file: String) -> String {
        file
    }
}

/// Writes a test.
pub(super) struct Walk<'p, 'a> {
    /// What is to be written.
    pub plan: &'p Plan<'a>,
    /// What was asked for.
    pub options: Options,
    language: &'p dyn Language,
    out: String,
    tokens_are_named: bool,
    parts: Vec<String>,
}

/// The test for a plan in a language.
pub(super) fn print(mut plan: Plan<'_>, options: Options, language: &dyn Language) -> String {
    let file = Walk::new(&plan, options, language).lines();
    names::tell_apart(&mut plan, language, &file);
    let mut walk = Walk::new(&plan, options, language);
    walk.template();
    language.finished(walk.out)
}

impl<'p, 'a> Walk<'p, 'a> {
    fn new(plan: &'p Plan<'a>, options: Options, language: &'p dyn Language) -> Walk<'p, 'a> {
        Walk {
            plan,
            options,
            language,
            out: String::new(),
            tokens_are_named: false,
            parts: Vec::new(),
        }
    }

    /// A line; an empty one is not indented.
    pub fn line(&mut self, indent: usize, text: &str) {
        push_line(&mut self.out, indent, text);
    }

    /// Lines of code.
    pub fn code(&mut self, indent: usize, code: &Laid) {
        self.code_before(indent, code, "");
    }

    fn code_before(&mut self, indent: usize, code: &Laid, behind: &str) {
        let form = &self.language.tables().form;
        let code = laid_out(code, indent, behind, form.width, form.tab, form.style);
        self.out.push_str(&code);
        self.out.push('\n');
    }

    /// Something to know, in lines.
    pub fn remark(&mut self, indent: usize, text: &str) {
        let form = &self.language.tables().form;
        for line in wrapped(text, form.remark_width - form.remark.len() - indent) {
            self.line(indent, &format!("{}{line}", form.remark));
        }
    }

    /// A phrase with its words; items between `¦` may be broken into lines.
    pub fn phrase(&mut self, indent: usize, phrase: &str, words: &[(&str, &str)]) {
        self.code(indent, &laid_phrase(phrase, words));
    }

    /// The lines of the file's text that this test has.
    fn lines(&self) -> Vec<Line<'static>> {
        let text = self.language.tables().template;
        lines(text, &|name| self.is_true(name), &self.servers())
    }

    fn template(&mut self) {
        let words = self.language.words(self.plan);
        for line in self.lines() {
            match line {
                Line::Text(line) => self.line(0, &with_words(&line, &words)),
                Line::Insert(name, indent) => self.insert(indent, name),
            }
        }
    }

    /// The words of each Redis server: how its connection is called, its place from 0 and from 1, and what stands behind the names
    /// of the variables that say where it is.
    fn servers(&self) -> Vec<Vec<(&'static str, String)>> {
        let servers = self.plan.servers.iter().enumerate();
        let words = servers.map(|(place, name)| {
            let suffix = match place {
                0 => String::new(),
                place => format!("_{}", place + 1),
            };
            vec![
                ("server", self.language.server(name)),
                ("place", place.to_string()),
                ("suffix", suffix),
            ]
        });
        words.collect()
    }

    /// The connection to a server, as it is called.
    fn server(&self, place: usize) -> String {
        let name = self.plan.servers.get(place).map_or("redis", String::as_str);
        self.language.server(name)
    }

    /// Whether the condition of this name is met.
    fn is_true(&self, name: &str) -> bool {
        let plan = self.plan;
        match name {
            "holds" => self.options.holds,
            "store" => plan.store,
            "database" => plan.database,
            "servers" => plan.store || plan.database,
            "several" => plan.servers.len() > 1,
            "clock" => plan.routines.iter().any(|routine| routine.clock),
            "votes" => plan.calls(&|call| matches!(call, Call::Quorum { .. })),
            "looks" => plan.calls(&|call| matches!(call, Call::Look(_))),
            "no_reply" => {
                self.is_true("gives_up") || plan.routines.iter().any(Routine::asks_for_lost)
            }
            // Whether anything has a name of its own before the first function.
            "settled" => {
                let settings = plan.tables.len() + plan.statements.len() + plan.keys.len();
                settings > 0 || !plan.scripts.is_empty() || self.is_true("no_reply")
            }
            "gives_up" => plan.looks(|act| matches!(act, Move::GiveUp(_) | Move::FindDown(_))),
            "finds_down" => plan.looks(|act| matches!(act, Move::FindDown(_))),
            "loses" => plan.looks(|act| matches!(act, Move::Lose(_) | Move::FindDown(_))),
            "delays" => plan.looks(|act| matches!(act, Move::Delay(_))),
            "awaits" => plan.calls(&|call| matches!(call, Call::Await(_))),
            "subscribes" => {
                plan.calls(&|call| matches!(call, Call::Subscribe(verb, _) if verb == "subscribe"))
            }
            "unsubscribes" => {
                plan.calls(&|call| matches!(call, Call::Subscribe(verb, _) if verb != "subscribe"))
            }
            "node" => self.is_true("digests") || self.is_true("listens"),
            "listens" => plan.listens(),
            "waits" => !self.options.holds && plan.looks(|act| matches!(act, Move::Listen(..))),
            "told" => plan.looks(|act| matches!(act, Move::Told(..))),
            "starts" => plan.waits(),
            "withdraws" => plan.looks(|act| matches!(act, Move::Withdraw(..))),
            "starts_steps" => plan.looks(|act| matches!(act, Move::Start(..))),
            "starts_in_redis" => plan.looks(|act| {
                matches!(
                    act,
                    Move::Start(_, Waits::Redis(_))
                        | Move::StartAsking {
                            at: Waits::Redis(_),
                            ..
                        }
                )
            }),
            "starts_in_mysql" => plan.looks(|act| {
                matches!(
                    act,
                    Move::Start(_, Waits::Database)
                        | Move::StartAsking {
                            at: Waits::Database,
                            ..
                        }
                )
            }),
            "passes" => plan.looks(|act| matches!(act, Move::Clock(_))),
            "forgets" => plan.routines.iter().any(Routine::forgets),
            "guards" => plan.gateway || self.is_true("clock"),
            "digests" => plan.sends_digests(),
            "delivers" => plan.looks(|act| matches!(act, Move::Deliver { .. })),
            "counts_on_replies" => plan.routines.iter().any(Routine::counts_on_replies),
            "gateway" => plan.gateway,
            "runtime" => plan.store || plan.gateway,
            "sells" => plan.sells,
            "routines" => !plan.routines.is_empty(),
            "latches" => !plan.latches.is_empty(),
            "statements" => !plan.statements.is_empty(),
            "tables" => !plan.tables.is_empty(),
            "keys" => !plan.keys.is_empty(),
            "claims" => !plan.claims.is_empty(),
            "asks" => plan.looks(|act| matches!(act, Move::Ask { .. })),
            "asks_or_delivers" => self.is_true("asks") || self.is_true("delivers"),
            "no_reply_clauses" => {
                let mut routines = plan.routines.iter();
                routines.any(Routine::knows_of_lost) || self.is_true("no_reply")
            }
            "left" => plan.looks(|act| matches!(act, Move::LookForKey(_))),
            "deadlines" => plan.looks(|act| matches!(act, Move::LookForDeadline(_))),
            "found_rows" => plan.setup.found_rows,
            "loose" => !self.options.holds && plan.seen.iter().any(|seen| seen.is_loose),
            "times" => !self.options.holds && plan.has_times(),
            "decimals" => !self.options.holds && plan.has_decimals(),
            "replies" => plan.claims.iter().any(|claim| claim.evidence.is_replies()),
            "values" => {
                self.asks_for(Shape::Value)
                    || plan.claims.iter().any(|claim| claim.evidence.is_value())
            }
            "one_row" => self.asks_for(Shape::Row) || self.is_true("values"),
            "many_rows" => {
                self.asks_for(Shape::Rows) || self.is_true("one_row") || self.is_true("tables")
            }
            "reads_seen" => !self.options.holds || self.is_true("replies"),
            "growing" => self.claims(&|evidence| matches!(evidence, Evidence::Growing(_))),
            "lists_of_replies" => {
                self.is_true("left")
                    || self.is_true("deadlines")
                    || self.claims(&|evidence| {
                        matches!(evidence, Evidence::NoRows(_) | Evidence::AllRows(_))
                    })
            }
            "uses_time" => !plan.latches.is_empty() || plan.listens(),
            "uses_fmt" => plan.database || plan.gateway,
            "uses_strconv" => plan.database || self.is_true("numbers"),
            "uses_elements" => {
                self.is_true("indexes")
                    || self.is_true("elements")
                    || self.is_true("loose")
                    || self.is_true("starts_in_mysql")
            }
            "uses_operator" => {
                !self.options.holds
                    || self.is_true("sets_up")
                    || plan.parts.iter().any(Part::is_operator)
                    || self.claims(&|evidence| evidence.is_value())
            }
            "sets_up" => !plan.statements.is_empty() || !plan.setup.commands.is_empty(),
            "lists" => {
                self.is_true("listens")
                    || !plan.tables.is_empty()
                    || (!self.options.holds && plan.has_lists())
            }
            "single_rows" => self.asks_for(Shape::Row),
            "tokens" => self.claims(&|evidence| {
                matches!(evidence, Evidence::Growing(_) | Evidence::Different(_))
            }),
            "elements" => self.claims(&|evidence| evidence.takes_elements()),
            "indexes" => {
                plan.routines.iter().any(Routine::takes_elements) || self.is_true("starts_in_mysql")
            }
            "different" => self.claims(&|evidence| {
                matches!(evidence, Evidence::Different(_) | Evidence::PaidOnce)
            }),
            "paid" => self.claims(&|evidence| {
                use Evidence::{PaidIsSold, PaidOnce, SoldIsPaid};
                matches!(evidence, PaidIsSold | PaidOnce | SoldIsPaid)
            }),
            "reads_charges" => !self.options.holds || self.is_true("paid"),
            "numbers" => {
                let lapses = |(_, key): &(Key, Option<FinalKey>)| {
                    key.as_ref().is_some_and(|key| key.remaining.is_some())
                };
                self.is_true("tokens")
                    || self.is_true("starts")
                    || self.is_true("counts_on_replies")
                    || self.claims(&|evidence| evidence.is_value())
                    || (!self.options.holds && plan.final_keys.iter().any(lapses))
            }
            "catches" => plan
                .routines
                .iter()
                .any(|routine| routine.sends(&|send| send.catches)),
            "parameters" => plan.calls(&|call| match call {
                Call::Statement(statement) => !statement.variables().is_empty(),
                _ => false,
            }),
            "charges" => plan.calls(&|call| matches!(call, Call::Charge(_, _, None))),
            "charges_once" => plan.calls(&|call| matches!(call, Call::Charge(_, _, Some(_)))),
            "refunds" => plan.calls(&|call| matches!(call, Call::Refund(_))),
            "refunded" => plan.charges.iter().any(|(_, _, refunded)| *refunded),
            _ => false,
        }
    }

    fn claims(&self, wanted: &dyn Fn(&Evidence) -> bool) -> bool {
        self.plan.claims.iter().any(|claim| wanted(&claim.evidence))
    }

    /// Whether a request's reply is of this shape.
    fn asks_for(&self, shape: Shape) -> bool {
        let plan = self.plan;
        let asked = plan.seen.iter().any(|seen| seen.shape == shape);
        asked || plan.routines.iter().any(|routine| routine.asks_for(shape))
    }

    fn insert(&mut self, indent: usize, name: &str) {
        let (plan, language) = (self.plan, self.language);
        match name {
            "title" => self.title(),
            "header" => self.header(),
            "scripts" => {
                for script in &plan.scripts {
                    language.script(self, indent, &script.spoken, &script.source);
                }
            }
            "settings" => self.settings(indent),
            "routines" => {
                for routine in &plan.routines {
                    self.routine(indent, routine);
                }
            }
            "commands" => self.commands(indent),
            "latches" => {
                let make = language.tables().phrases.latch;
                for latch in &plan.latches {
                    self.phrase(indent, make, &[("latch", &language.latch(latch))]);
                }
            }
            "parts" => {
                for part in &plan.parts {
                    self.part(indent, part);
                }
            }
            "together" => {
                let [open, close] = language.tables().phrases.together;
                let parts = std::mem::take(&mut self.parts);
                self.code(
                    indent,
                    &list(open, parts.into_iter().map(leaf).collect(), close),
                );
            }
            "seen" => self.seen(indent),
            "end_state" => self.end_state(indent),
            "claims" => {
                for claim in &plan.claims {
                    self.claim(indent, claim);
                }
            }
            name => language.insert(self, indent, name),
        }
    }

    // What stands before the test.

    fn title(&mut self) {
        let title = format!("{}.", self.plan.title().trim_end_matches('.'));
        self.remark(0, &title);
    }

    fn header(&mut self) {
        let (plan, guide) = (self.plan, &self.language.tables().guide);
        self.header_line("");
        if !plan.description.is_empty() {
            self.header_text(plan.description);
            self.header_line("");
        }
        self.header_text(aim(self.options.holds));
        self.header_text(SEE_IT);
        self.header_line("");
        self.header_line(&format!("    {}", plan.link));
        self.header_line("");
        let [base, store, database] = guide.packages;
        let needed = [(base, true), (store, plan.store), (database, plan.database)];
        let needed = needed
            .iter()
            .filter(|(name, is_needed)| *is_needed && !name.is_empty());
        let packages: Vec<&str> = needed.map(|(name, _)| *name).collect();
        let packages = packages.join(" ");
        let words = self.language.words(self.plan);
        let mut given: Vec<(&str, &str)> = vec![("packages", &packages)];
        given.extend(words.iter().map(|(name, value)| (*name, value.as_str())));
        self.header_text(&filled(guide.how, &given));
        self.header_line("");
        for command in guide.commands {
            self.header_line(&format!("    {}", filled(command, &given)));
        }
        self.header_line("");
        if plan.store {
            let redis = match plan.servers.len() {
                1 => guide.redis.to_owned(),
                _ => where_they_are(guide, &plan.servers),
            };
            self.header_text(&redis);
        }
        if plan.database {
            self.header_text(guide.mysql);
        }
        self.header_text(LEAVES_ALONE);
    }

    fn header_line(&mut self, text: &str) {
        let line = format!("{}{text}", self.language.tables().form.header);
        self.line(0, line.trim_end());
    }

    fn header_text(&mut self, text: &str) {
        let form = &self.language.tables().form;
        for line in wrapped(text, form.header_width - form.header.len()) {
            let line = self.language.quoted(&line);
            self.header_line(&line);
        }
    }

    fn settings(&mut self, indent: usize) {
        let (plan, language) = (self.plan, self.language);
        let tab = language.tables().form.tab;
        let [statements, tables, keys] = language.tables().phrases.settings;
        if !plan.statements.is_empty() {
            self.line(indent, statements[0]);
            for statement in &plan.statements {
                let statement = language.statement(statement, indent + tab);
                self.line(indent + tab, &format!("{statement},"));
            }
            self.line(indent, statements[1]);
        }
        let names = plan.tables.iter().map(|table| table.as_bytes()).collect();
        self.setting(indent, tables, names);
        self.setting(indent, keys, plan.keys.iter().map(Vec::as_slice).collect());
    }

    fn setting(&mut self, indent: usize, around: [&str; 2], names: Vec<&[u8]>) {
        if !names.is_empty() {
            let names = names.into_iter().map(|name| leaf(self.language.text(name)));
            let code = list(around[0], names.collect(), around[1]);
            self.code(indent, &code);
        }
    }

    fn commands(&mut self, indent: usize) {
        let [open, close] = self.language.tables().phrases.commands;
        let setup = self.plan.setup;
        // Replicas begin with what their primary has.
        let everywhere = setup.commands.iter().flat_map(|(server, words)| {
            let replicates = |other: &ServerId| {
                let other = setup.servers.get(other.0);
                other.is_some_and(|other| other.replica_of == Some(*server))
            };
            let others = (0..setup.server_count()).map(ServerId).filter(replicates);
            let servers: Vec<ServerId> = std::iter::once(*server).chain(others).collect();
            servers.into_iter().map(move |server| (server, words))
        });
        for (server, words) in everywhere.collect::<Vec<_>>() {
            let words: Vec<Argument> = words.iter().cloned().map(Argument::Literal).collect();
            let request = Request::Store(Some(server), words);
            let code = self.call(&request, Shape::Plain, indent, Asking::SetUp);
            let code = Laid {
                open: format!("{open}{}", code.open),
                close: format!("{}{close}", code.close),
                ..code
            };
            self.code(indent, &code);
        }
    }

    /// What the server is called at which a request waits.
    fn waits_at(&self, at: Waits) -> String {
        match at {
            Waits::Redis(place) => self.server(place),
            Waits::Database => "mysql".to_owned(),
        }
    }

    /// The call that sends what is typed at a console.
    pub fn asked(&self, asked: &Asked<'_>, indent: usize) -> Laid {
        self.call(
            asked.request,
            asked.shape,
            indent,
            Asking::Console(asked.me),
        )
    }

    /// The call that sends a request.
    pub fn call(&self, request: &Request, shape: Shape, indent: usize, who: Asking<'_>) -> Laid {
        let place = match request {
            Request::Store(server, _) => server.map_or(0, |server| server.0),
            _ => 0,
        };
        let asker = Asker {
            who,
            redis: &self.server(place),
        };
        let request = names::with_scripts(request, self.plan);
        let call = Call::of(&request);
        call_of(self.language, &call, shape, indent, asker)
    }

    /// What the protocol is handed of Redis servers, by their names.
    pub fn stores(&self) -> Vec<String> {
        let places = 0..self.plan.servers.len();
        places.map(|place| self.server(place)).collect()
    }

    // Protocols.

    fn routine(&mut self, indent: usize, routine: &Routine<'_>) {
        let form = &self.language.tables().form;
        self.language.head(self, indent, routine);
        self.block(indent + form.tab, &routine.code, &[]);
        self.language.tail(self, indent + form.tab, routine);
        self.close(indent);
    }

    fn close(&mut self, indent: usize) {
        let close = self.language.tables().form.close;
        if !close.is_empty() {
            self.line(indent, close);
        }
    }

    fn block(&mut self, indent: usize, code: &[Code<'_>], declared: &[String]) {
        let mut declared = declared.to_vec();
        for (place, statement) in code.iter().enumerate() {
            for name in outliving(code, place) {
                let declaration = self.language.declare(&name, statement);
                if let (Some(line), false) = (declaration, declared.contains(&name)) {
                    self.line(indent, &line);
                    declared.push(name);
                }
            }
            self.statement(indent, statement, &declared);
        }
    }

    fn statement(&mut self, indent: usize, statement: &Code<'_>, declared: &[String]) {
        let (language, form) = (self.language, &self.language.tables().form);
        let is_declared = |name: &str| declared.iter().any(|known| known == name);
        let simple = match statement {
            Code::Send(send) => {
                return language.send(self, indent, send, is_declared(&send.reply));
            }
            Code::Remark(text) => return self.remark(indent, text),
            Code::Loop(body) => {
                self.line(indent, form.forever);
                self.block(indent + form.tab, body, declared);
                return self.close(indent);
            }
            Code::If(asked, then, otherwise) => {
                let [open, close] = form.if_open;
                let condition = condition(language, asked);
                self.line(indent, &format!("{open}{condition}{close}"));
                self.block(indent + form.tab, then, declared);
                self.otherwise(indent, otherwise, declared);
                return self.close(indent);
            }
            Code::Break => "break".to_owned(),
            Code::Again => "continue".to_owned(),
            Code::Return => form.leave.to_owned(),
            Code::Raise(name) => filled(
                language.tables().phrases.raise,
                &[("reply", &language.variable(name))],
            ),
            Code::Bind {
                variable,
                reply,
                element,
            } => language.bind(variable, reply, *element, is_declared(variable)),
            Code::Clock(by_clock) => self.by_clock(by_clock),
            Code::Sell(units, order) => {
                let order = order.map_or_else(
                    || language.variable("me"),
                    |order| argument(language, order),
                );
                language.sell(*units, &order)
            }
        };
        self.line(indent, &format!("{simple}{}", form.end));
    }

    fn by_clock(&self, by_clock: &ByClock<'_>) -> String {
        let (place, lock, milliseconds) = match by_clock {
            ByClock::Holds(lock, milliseconds) => (0, lock, Some(milliseconds)),
            ByClock::Forgets(lock) => (1, lock, None),
            ByClock::Asked(lock) => (2, lock, None),
            ByClock::Voted(lock) => (3, lock, None),
        };
        let lock = argument(self.language, lock);
        let milliseconds = milliseconds.map(|number| self.language.milliseconds(number));
        let words = [
            ("lock", lock.as_str()),
            ("n", milliseconds.as_deref().unwrap_or_default()),
        ];
        filled(self.language.tables().phrases.by_clock[place], &words)
    }

    fn otherwise(&mut self, indent: usize, code: &[Code<'_>], declared: &[String]) {
        let form = &self.language.tables().form;
        match code {
            [] => {}
            [Code::If(asked, then, rest)] => {
                let [open, close] = form.else_if;
                let condition = condition(self.language, asked);
                self.line(indent, &format!("{open}{condition}{close}"));
                self.block(indent + form.tab, then, declared);
                self.otherwise(indent, rest, declared);
            }
            code => {
                self.line(indent, form.otherwise);
                self.block(indent + form.tab, code, declared);
            }
        }
    }

    // The schedule.

    fn part(&mut self, indent: usize, part: &Part<'_>) {
        let language = self.language;
        let name = language.part_name(&part.spoken);
        let me = match part.is_operator() {
            true => language.latch("operator"),
            false => language.variable(&part.spoken),
        };
        self.line(0, "");
        let inside = language.part(self, indent, part, [&name, &me]);
        for act in &part.moves {
            self.act(inside, &me, act);
        }
        language.end_of_part(self, indent, part, &me);
        let called = language.tables().phrases.called;
        self.parts.push(filled(called, &[("name", &name)]));
    }

    fn act(&mut self, indent: usize, me: &str, act: &Move<'_>) {
        let (language, phrases) = (self.language, &self.language.tables().phrases);
        let [step, send, lose, delay, find_down] = phrases.verbs;
        let server = |key: &Key| ("redis", self.server(key.server));
        let is_there = |key: &Key| vec![("key", language.text(&key.key)), server(key)];
        let latch = |latch: usize| vec![("latch", language.latch(&self.plan.latches[latch]))];
        let (phrase, mut words) = match act {
            Move::Run {
                routine,
                me: name,
                parameters,
            } => return self.run(indent, me, &self.plan.routines[*routine], name, parameters),
            Move::Ask {
                source,
                request,
                seen,
            } => {
                let shape = self.plan.seen[*seen].shape;
                let asked = Asked {
                    me,
                    source,
                    request,
                    shape,
                    waits: None,
                };
                return language.ask(self, indent, &asked);
            }
            Move::Remark(text) => return self.remark(indent, text),
            Move::Step(label) => (self.step_phrase(), self.label(label, step)),
            Move::Send(label) => (self.step_phrase(), self.label(label, send)),
            Move::See(label) => (phrases.see, self.label(label, "")),
            Move::Lose(label) => (self.step_phrase(), self.label(label, lose)),
            Move::Delay(label) => (self.step_phrase(), self.label(label, delay)),
            Move::FindDown(label) => (self.step_phrase(), self.label(label, find_down)),
            Move::Deliver {
                label,
                request,
                shape,
                is_late,
            } => {
                let asked = Asked {
                    me,
                    source: label,
                    request,
                    shape: *shape,
                    waits: None,
                };
                if language.deliver(self, indent, &asked, *is_late) {
                    return;
                }
                (phrases.deliver, self.label(label, ""))
            }
            Move::GiveUp(label) => (phrases.give_up, self.label(label, "")),
            Move::Start(label, at) => {
                let mut words = self.label(label, "");
                words.push(("server", self.waits_at(*at)));
                (phrases.start[usize::from(self.options.holds)], words)
            }
            Move::StartAsking {
                source,
                request,
                shape,
                at,
            } => {
                let waits = [("server", self.waits_at(*at))];
                let waits = waits.each_ref().map(|(name, word)| (*name, word.as_str()));
                let waits = filled(phrases.start_asking, &waits);
                let asked = Asked {
                    me,
                    source,
                    request,
                    shape: *shape,
                    waits: Some(&waits),
                };
                return language.ask(self, indent, &asked);
            }
            Move::Hear(what) => (phrases.hear, self.label(what, "")),
            Move::Withdraw(what, at) => {
                let mut words = self.label(what, "");
                words.push(("server", self.waits_at(*at)));
                (phrases.withdraw, words)
            }
            Move::Listen(..) if self.options.holds => return,
            Move::Listen(label, channel) => {
                let mut words = self.label(label, "");
                words.push(("channel", language.text(channel)));
                (phrases.listen, words)
            }
            Move::Told(label, answer) => {
                let remark = "In this test no server is the replica of another: how many have it is what the schedule says.";
                self.remark(indent, remark);
                let mut words = self.label(label, "");
                words.push(("reply", answered(language, answer)));
                (phrases.told[usize::from(self.options.holds)], words)
            }
            Move::Clock(passed) => (phrases.clock, vec![("n", passed.to_string())]),
            Move::Tell(request) => return self.tell(indent, request),
            Move::Wait(which) => (phrases.wait, latch(*which)),
            Move::Open(which) => (phrases.open, latch(*which)),
            Move::Lapse(key) => (phrases.lapse, is_there(key)),
            Move::Age(key, remaining) => {
                let mut words = is_there(key);
                words.push(("n", remaining.to_string()));
                (phrases.age, words)
            }
            Move::Ahead(passed) => {
                let key = language.text(CLOCK_KEY.as_bytes());
                let words = vec![
                    ("key", key),
                    ("n", passed.to_string()),
                    ("redis", self.server(0)),
                ];
                (phrases.ahead, words)
            }
            Move::DatabaseClock { now, is_first } => {
                let clock = |statement: String| language.text(statement.as_bytes());
                if *is_first {
                    let remark = "Statements of this connection read the schedule's time.";
                    self.remark(indent, remark);
                    let zone = clock("SET time_zone = '+00:00'".to_owned());
                    let words = [("me", me), ("statement", zone.as_str())];
                    self.phrase(indent, phrases.database_clock, &words);
                }
                let now = clock(format!("SET timestamp = {}", seconds(now.unsigned_abs())));
                (phrases.database_clock, vec![("statement", now)])
            }
            Move::LockWaitTimeout(variable) => {
                self.remark(indent, "So the database gives up after three seconds, whatever time the schedule lets pass.");
                let statement = language.text(format!("SET {variable} = 3").as_bytes());
                (phrases.database_clock, vec![("statement", statement)])
            }
            Move::Wipe(key) => (phrases.wipe, is_there(key)),
            Move::Crash => (phrases.crash, Vec::new()),
            Move::Restart => (phrases.restart, Vec::new()),
            Move::LookForKey(key) => (phrases.look_for_key, is_there(key)),
            Move::LookForDeadline(key) => (phrases.look_for_deadline, is_there(key)),
        };
        words.push(("me", me.to_owned()));
        let words: Vec<(&str, &str)> = words
            .iter()
            .map(|(name, word)| (*name, word.as_str()))
            .collect();
        self.phrase(indent, phrase, &words);
    }

    /// Redis is told something by whoever looks after it.
    fn tell(&mut self, indent: usize, request: &Request) {
        let [open, close] = self.language.tables().phrases.commands;
        let code = self.call(request, Shape::Plain, indent, Asking::SetUp);
        let code = Laid {
            open: format!("{open}{}", code.open),
            close: format!("{}{close}", code.close),
            ..code
        };
        self.code(indent, &code);
    }

    fn step_phrase(&self) -> &'static str {
        let phrases = &self.language.tables().phrases;
        if self.options.holds {
            phrases.step_freely
        } else {
            phrases.step
        }
    }

    fn label(&self, label: &str, verb: &str) -> Vec<(&'static str, String)> {
        vec![
            ("label", self.language.text(label.as_bytes())),
            ("name", label.to_owned()),
            ("verb", verb.to_owned()),
        ]
    }

    fn run(
        &mut self,
        indent: usize,
        client: &str,
        routine: &Routine<'_>,
        name: &str,
        parameters: &SortedMap<String, Value>,
    ) {
        let language = self.language;
        let mut given: Vec<Laid> = language
            .handed(routine, client, &self.stores())
            .into_iter()
            .map(leaf)
            .collect();
        for parameter in &routine.given {
            let value = match (parameter.as_str(), parameters.get(parameter)) {
                ("me", _) => language.text(name.as_bytes()),
                (_, Some(Value::Text(bytes))) => language.text(bytes),
                (_, Some(Value::Integer(number))) => number.to_string(),
                (_, Some(Value::Null) | None) => language.tables().form.nil[1].to_owned(),
            };
            given.push(leaf(language.given(parameter, value)));
        }
        let protocol = list(format!("{}(", language.function(&routine.name)), given, ")");
        let [open, close] = language.tables().phrases.runs;
        let open = filled(open, &[("me", client)]);
        self.code(indent, &list(open, vec![protocol], close));
    }

    // What is asserted.

    fn seen(&mut self, indent: usize) {
        let language = self.language;
        let [open, item_open, item_close, close] = language.tables().phrases.seen;
        self.line(indent, open);
        for (place, seen) in self.plan.seen.iter().enumerate() {
            let reply = expected(language, seen, place);
            let items = vec![
                leaf(language.text(seen.who.as_bytes())),
                leaf(language.text(seen.what.as_bytes())),
                leaf(reply),
            ];
            let item = list(item_open, items, item_close);
            self.code_before(indent + language.tables().form.tab, &item, ",");
        }
        self.line(indent, close);
    }

    fn end_state(&mut self, indent: usize) {
        let (plan, language) = (self.plan, self.language);
        for table in &plan.rows {
            let order: Vec<String> = table
                .order
                .iter()
                .map(|column| name_in_sql(column))
                .collect();
            let order = match order.is_empty() {
                true => String::new(),
                false => format!(" ORDER BY {}", order.join(", ")),
            };
            let query = format!("SELECT * FROM {}{order}", name_in_sql(&table.table));
            let rows = table.rows.iter().map(|row| language.row(row)).collect();
            let query = language.text(query.as_bytes());
            language.rows_are(self, indent, &table.table, &query, rows);
        }
        for (key, state) in &plan.final_keys {
            self.final_key(indent, key, state.as_ref());
        }
        if plan.gateway {
            language.charges_are(self, indent, &plan.charges);
        }
    }

    fn final_key(&mut self, indent: usize, key: &Key, state: Option<&FinalKey>) {
        let (language, phrases) = (self.language, &self.language.tables().phrases);
        let redis = self.server(key.server);
        let key = language.text(&key.key);
        let words = [("key", key.as_str()), ("redis", &redis)];
        let Some(state) = state else {
            return self.phrase(indent, phrases.is_gone, &words);
        };
        let parts = state.value.parts();
        let parts: Vec<Laid> = parts.iter().map(|part| leaf(language.text(part))).collect();
        let [open, close] = language.tables().form.list;
        let (kind, value) = match &state.value {
            StoreValue::String(value) => (0, leaf(language.text(value))),
            StoreValue::List(_) => (1, list(open, parts, close)),
            StoreValue::Hash(_) => (2, language.hash(parts)),
            StoreValue::Set(_) => (3, list(open, parts, close)),
            StoreValue::SortedSet(_) => {
                (4, list(open, parts.into_iter().step_by(2).collect(), close))
            }
        };
        let read = filled(phrases.reads[kind], &words);
        language.key_is(self, indent, &read, value);
        let Some(remaining) = state.remaining else {
            return self.phrase(indent, phrases.stays, &words);
        };
        let (most, least) = (
            remaining.to_string(),
            remaining.saturating_sub(5000).to_string(),
        );
        self.phrase(
            indent,
            phrases.lapses,
            &[words[0], words[1], ("n", &most), ("least", &least)],
        );
    }

    fn claim(&mut self, indent: usize, claim: &Claim) {
        let language = self.language;
        let is_broken = claim.broken.is_some() && !self.options.holds;
        let goes_on = self.tokens_are_named
            && claim.property == Property::TokensUnique
            && claim.broken.is_none();
        if !goes_on {
            self.line(0, "");
        }
        if let (Some(because), false) = (&claim.broken, self.options.holds) {
            self.remark(indent, because);
        }
        let proof = &language.tables().proofs[claim.evidence.place()];
        match &claim.evidence {
            Evidence::NoRows(writes) | Evidence::AllRows(writes) => {
                language.named(self, indent, proof.replies, writes, false);
            }
            Evidence::Growing(tokens) => {
                self.remark(indent, "In the order in which the locks were taken.");
                self.tokens(indent, proof.replies, tokens);
            }
            Evidence::Different(tokens) => self.tokens(indent, proof.replies, tokens),
            _ => {}
        }
        let (query, before) = claim.evidence.query();
        let query = language.text(query.as_bytes());
        let words = [("query", query.as_str()), ("before", before.as_str())];
        for phrase in proof.before {
            self.phrase(indent, phrase, &words);
        }
        let sentence = claim.property.sentence();
        let message = match is_broken {
            true => format!("is not broken: {sentence}"),
            false => sentence.to_owned(),
        };
        let proof = Proof {
            holds: &filled(proof.holds, &words),
            breaks: &filled(proof.breaks, &words),
            ..*proof
        };
        language.assert(self, indent, &proof, &message, is_broken);
    }

    fn tokens(&mut self, indent: usize, name: &str, tokens: &[Replies]) {
        if !self.tokens_are_named {
            self.language.named(self, indent, name, tokens, true);
            self.tokens_are_named = true;
        }
    }
}

/// Who sends a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asking<'s> {
    /// A protocol, of its client's connections.
    Protocol,
    /// Somebody at a console.
    Console(&'s str),
    /// Whoever sets everything up.
    SetUp,
}

/// What somebody types at a console.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked<'s> {
    /// What the test calls who types it.
    pub me: &'s str,
    /// As it is typed.
    pub source: &'s str,
    /// What is sent.
    pub request: &'s Request,
    /// What is looked at in the reply.
    pub shape: Shape,
    /// How the test sees that it waits for somebody else; `None` where it is answered at once.
    pub waits: Option<&'s str>,
}

impl Asked<'_> {
    /// One word where it is answered at once, another where it waits.
    pub fn either(&self, at_once: &'static str, waits: &'static str) -> &'static str {
        match self.waits {
            None => at_once,
            Some(_) => waits,
        }
    }
}

/// Who sends a request, and what the connection to the Redis server is called that it would go to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asker<'s> {
    /// Who.
    pub who: Asking<'s>,
    /// The connection.
    pub redis: &'s str,
}

impl Asker<'_> {
    /// Its connections to Redis and to the database, in languages where protocols are handed theirs and everybody else has them as
    /// members.
    pub fn connections(self) -> [String; 2] {
        let of = |server: &str| match self.who {
            Asking::Protocol => server.to_owned(),
            Asking::Console(me) => format!("{me}.{server}"),
            Asking::SetUp => format!("operator.{server}"),
        };
        [of(self.redis), of("mysql")]
    }

    /// Its subscriptions, in the same languages.
    pub fn inbox(self) -> String {
        match self.who {
            Asking::Protocol => "inbox".to_owned(),
            Asking::Console(me) => format!("{me}.inbox"),
            Asking::SetUp => "operator.inbox".to_owned(),
        }
    }
}

/// Where several servers are.
fn where_they_are(guide: &Guide, servers: &[String]) -> String {
    let places = 0..servers.len();
    let variable = |place: usize| match place {
        0 => guide.variable.to_owned(),
        place => format!("{}_{}", guide.variable, place + 1),
    };
    let variables: Vec<String> = places.clone().map(variable).collect();
    let databases: Vec<String> = places.map(|place| place.to_string()).collect();
    let words = [
        ("variables", listed(&variables)),
        ("servers", listed(servers)),
        ("databases", listed(&databases)),
    ];
    let words = words.each_ref().map(|(name, word)| (*name, word.as_str()));
    filled(guide.several, &words)
}

/// A phrase with its words, as code that may be broken where `¦` stands.
pub(super) fn laid_phrase(phrase: &str, words: &[(&str, &str)]) -> Laid {
    let mut pieces: Vec<String> = phrase
        .split('¦')
        .map(|piece| filled(piece, words))
        .collect();
    let close = if pieces.len() > 1 { pieces.pop() } else { None };
    let Some(close) = close else {
        return leaf(pieces.concat());
    };
    let open = pieces.remove(0);
    list(open, pieces.into_iter().map(leaf).collect(), close)
}

/// What is true where the question is answered by yes.
fn condition(language: &dyn Language, test: &Test<'_>) -> String {
    let questions = &language.tables().questions;
    let reply = language.variable(&test.reply);
    let ask = |pair: [&str; 2], not: bool, reply: &str, value: &str| {
        let words = [("reply", reply), ("value", value)];
        filled(pair[usize::from(not)], &words)
    };
    let equal = |reply: &str, value: &str| ask(questions.equal, test.not, reply, value);
    match &test.is {
        Is::Nil => ask(questions.nil, test.not, &reply, ""),
        Is::Anything => ask(questions.nil, !test.not, &reply, ""),
        Is::Text(wanted) => equal(&reply, &language.status(wanted)),
        Is::Me => equal(&reply, &language.variable("me")),
        Is::Integer(wanted) => equal(&reply, &language.integer(*wanted)),
        Is::RowCount(wanted) => {
            let count = filled(questions.count, &[("reply", &reply)]);
            equal(&count, &wanted.to_string())
        }
        Is::Elements(elements) => {
            let elements = elements.iter().enumerate();
            let asked = elements.filter_map(|(place, element)| {
                let part = filled(
                    questions.element,
                    &[("reply", &reply), ("n", &place.to_string())],
                );
                match element {
                    Element::Variable(_) => None,
                    Element::Me => Some(equal(&part, &language.variable("me"))),
                    Element::Integer(number) => Some(equal(&part, &language.integer(*number))),
                    Element::Text(wanted) => Some(equal(&part, &language.status(wanted))),
                    Element::Nil => Some(ask(questions.nil, test.not, &part, "")),
                }
            });
            let asked: Vec<String> = asked.collect();
            asked.join(questions.joints[usize::from(test.not)])
        }
        Is::Error(Some(NO_REPLY)) => ask(questions.no_reply, test.not, &reply, ""),
        Is::Error(None) => ask(questions.error, test.not, &reply, ""),
        Is::Error(Some(name)) => {
            let name = language.text(error_name(name).as_bytes());
            ask(questions.named_error, test.not, &reply, &name)
        }
    }
}

/// An argument of a request; a number is written as one.
pub(super) fn argument(language: &(impl Language + ?Sized), argument: &Argument) -> String {
    match argument {
        Argument::Literal(literal) => plain_number(literal)
            .map_or_else(|| language.text(literal), |number| number.to_string()),
        Argument::Variable(name) => language.variable(name),
        Argument::ScriptSource(name) => language.script_name(name, false),
        Argument::ScriptSha(name) => language.script_name(name, true),
    }
}

/// The call for a request: one of a server, or of what the test has itself.
pub(super) fn call_of(
    language: &dyn Language,
    call: &Call<'_>,
    shape: Shape,
    indent: usize,
    asker: Asker<'_>,
) -> Laid {
    let method = |part: &str, name: &str, given: Vec<Laid>| {
        list(format!("{}{name}(", language.own(part, asker)), given, ")")
    };
    match call {
        Call::Charge(order, amount, key) => {
            let given = [order, amount].map(|word| language.given_to_own(word));
            let key = key.map(|key| language.given_to_own(key));
            let (name, given) = language.charge(given.into(), key);
            method("gateway", name, given)
        }
        Call::Refund(name) => method("gateway", "refund", vec![language.given_to_own(name)]),
        Call::Subscribe(verb, channel) => method("inbox", verb, vec![language.word(channel)]),
        Call::Await(channel) => method("inbox", "message", vec![language.word(channel)]),
        Call::Look(lock) => method("clock", "look", vec![language.word(lock)]),
        Call::Quorum {
            votes,
            key,
            lease,
            drift,
        } => {
            let mut given = vec![leaf(votes.to_string()), language.word(key)];
            given.extend([*lease, drift].map(|number| leaf(language.milliseconds(number))));
            method("clock", "quorum", given)
        }
        _ => language.call(call, shape, indent, asker),
    }
}

/// Arguments of a request.
pub(super) fn arguments(language: &dyn Language, arguments: &[Argument]) -> Vec<Laid> {
    arguments
        .iter()
        .map(|one| leaf(argument(language, one)))
        .collect()
}

/// The variables of a statement in the order of the alphabet, each once.
pub(super) fn names_in(statement: &Statement) -> Vec<&String> {
    let mut names: Vec<&String> = statement.variables().iter().collect();
    crate::sorted::sort(&mut names);
    names.dedup();
    names
}

/// An answer of Redis in a language's words.
fn answered(language: &dyn Language, answer: &Answer) -> String {
    match answer {
        Answer::Store(reply) => reply_text(language, reply, None),
        _ => language.tables().form.nil[0].to_owned(),
    }
}

/// A reply that is expected, in a language's words.
fn expected(language: &dyn Language, seen: &Seen<'_>, place: usize) -> String {
    let nil = || language.tables().form.nil[0].to_owned();
    match seen.answer {
        Answer::Store(reply) | Answer::Gateway(reply) | Answer::Client(reply) => {
            let near = seen.is_loose.then_some((place, None));
            reply_text(language, reply, near)
        }
        Answer::Database(SqlReply::Error(error)) => {
            let error = error.to_string();
            let number = error.split(' ').nth(1).unwrap_or_default();
            language.text(format!("ERROR {number}").as_bytes())
        }
        Answer::Database(SqlReply::Done { .. }) => language.integer(0),
        Answer::Database(SqlReply::Affected { affected, .. }) => {
            language.integer(i64::try_from(*affected).unwrap_or(i64::MAX))
        }
        Answer::Database(SqlReply::Rows { rows, .. }) => match (seen.shape, rows.first()) {
            (Shape::Value, first) => first
                .and_then(|row| row.first())
                .map_or_else(nil, |value| language.sql_value(value)),
            (Shape::Row, first) => first.map_or_else(nil, |row| language.row(row).flat()),
            _ => {
                let rows: Vec<Laid> = rows.iter().map(|row| language.row(row)).collect();
                let [open, close] = language.tables().form.list;
                list(open, rows, close).flat()
            }
        },
        Answer::Lost => nil(),
    }
}

fn reply_text(
    language: &dyn Language,
    reply: &Reply,
    near: Option<(usize, Option<usize>)>,
) -> String {
    match reply {
        Reply::Status(word) => language.status(word.as_bytes()),
        Reply::Error(error) => {
            language.text(error.split(' ').next().unwrap_or_default().as_bytes())
        }
        Reply::Integer(number) => match near {
            Some((place, element)) => language.near(*number, place, element),
            None => language.integer(*number),
        },
        Reply::Bulk(bytes) => language.text(bytes),
        Reply::Nil => language.tables().form.nil[0].to_owned(),
        Reply::Array(items) => {
            let items = items.iter().enumerate().map(|(element, item)| {
                let near = near.map(|(place, _)| (place, Some(element)));
                leaf(reply_text(language, item, near))
            });
            let [open, close] = language.tables().form.list;
            list(open, items.collect(), close).flat()
        }
    }
}

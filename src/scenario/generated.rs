//! Property tests: generated trees print and read back, and no text makes the reader panic.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::syntax::*;
use super::*;
use crate::search::{Finds, MOST, Reduction, Start};
use crate::sim::action::{Leg, ServerId};
use crate::sim::client::protocol::{Argument, Effect, Element, Pattern, Request};
use crate::sim::event::Value;
use crate::sim::world::World;
use crate::timeline::Timeline;

fn place() -> Place {
    Place::default()
}

fn named(text: impl Into<String>) -> Named {
    Named {
        text: text.into(),
        place: place(),
    }
}

fn name() -> impl Strategy<Value = Named> {
    prop_oneof![
        4 => "[A-Za-z_][A-Za-z0-9_-]{0,5}",
        1 => Just("A".to_owned()),
        1 => "x[0-9]",
    ]
    .prop_filter("reserved", |name| {
        let reserved = [
            "operator",
            "pause",
            "resume",
            "crash",
            "restart",
            "lose",
            "clock",
            "expire",
            "wipe",
            "evict",
            "on",
            "claims",
            "compensation",
        ];
        !reserved.contains(&name.as_str())
    })
    .prop_map(named)
}

fn variable() -> impl Strategy<Value = String> {
    "[A-Za-z_][A-Za-z0-9_]{0,4}".prop_filter("me", |name| name != "me")
}

/// Bytes of a key: plain ones, and ones that need quotes.
fn key() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        "[a-z]{1,6}(:[a-z0-9-]{1,4})?".prop_map(String::into_bytes),
        "[ -~é]{1,8}".prop_map(String::into_bytes),
        vec(any::<u8>(), 1..5),
        Just(b"{me}".to_vec()),
        Just(b"a:".to_vec()),
        Just(b"=>".to_vec()),
        Just(b"  # b".to_vec()),
        Just(Vec::new()),
    ]
}

/// What stands behind the `#` of a comment.
fn comment() -> impl Strategy<Value = String> {
    "[ -~é]{0,12}".prop_map(|text| text.trim_end_matches(' ').to_owned())
}

/// Things, and what stands between them; a thing comes last.
fn entries<T: Clone + std::fmt::Debug + 'static>(
    thing: impl Strategy<Value = T> + 'static,
) -> impl Strategy<Value = Vec<Entry<T>>> {
    let entry = prop_oneof![
        4 => thing.prop_map(Entry::Of),
        1 => comment().prop_map(Entry::Comment),
        1 => Just(Entry::Blank),
    ];
    vec(entry, 0..5).prop_map(|mut entries| {
        while entries.last().is_some_and(|entry| entry.thing().is_none()) {
            entries.pop();
        }
        entries
    })
}

/// A line of Redis or SQL, which begins with a word and keeps its quotes balanced.
fn code() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        "[A-Za-z0-9:{}()=<>+*-]{1,6}",
        Just("'a  # b'".to_owned()),
        Just("\"=> \\\" x\"".to_owned()),
        Just("'it''s'".to_owned()),
        Just("`c`".to_owned()),
        Just("#".to_owned()),
    ];
    ("[A-Z]{2,6}", vec((word, 1..3_usize), 0..4)).prop_map(|(first, words)| {
        words.into_iter().fold(first, |line, (word, blanks)| {
            // Two blanks and `#` would begin a comment, and `=>` between blanks a reply.
            let blanks = if word.starts_with('#') { 1 } else { blanks };
            let word = if word == "=>" { "=" } else { &word };
            format!("{line}{:blanks$}{word}", "")
        })
    })
}

fn written(code: impl Strategy<Value = String>) -> impl Strategy<Value = Written> {
    (code, option::of(comment())).prop_map(|(text, comment)| Written {
        text,
        comment,
        place: place(),
    })
}

fn passage() -> impl Strategy<Value = Passage> {
    (written(code()), entries(written(code()))).prop_map(|(first, mut others)| {
        others.insert(0, Entry::Of(first));
        others
    })
}

fn table() -> impl Strategy<Value = Table> {
    let row = written("[0-9]{1,3}, '[a-z  #]{0,4}'");
    let more = option::of(written(Just("b INT)".to_owned())));
    (name(), option::of(comment()), more, entries(row)).prop_map(|(name, comment, more, rows)| {
        let text = if more.is_some() {
            "(a INT,"
        } else {
            "(a INT, 'x(')"
        };
        let first = Written {
            text: text.to_owned(),
            comment,
            place: place(),
        };
        let definition = std::iter::once(first).chain(more).map(Entry::Of).collect();
        let name = named(name.text.replace('-', "_"));
        Table {
            name,
            definition,
            rows,
        }
    })
}

fn script() -> impl Strategy<Value = BlockKind> {
    (name(), vec("[ -~\t]{0,8}", 0..4), "[!-~][ -~]{0,8}[!-~]").prop_map(
        |(name, mut lines, last)| {
            for line in &mut lines {
                if line.trim_matches([' ', '\t']).is_empty() {
                    line.clear();
                }
            }
            lines.push(last);
            BlockKind::Script { name, lines }
        },
    )
}

fn column() -> impl Strategy<Value = WrittenColumn> {
    let word = prop_oneof!["[a-z_]{1,5}", Just("`a b`".to_owned())];
    (word.clone(), word).prop_map(|(table, column)| WrittenColumn {
        table: named(table),
        column: named(column),
    })
}

fn watch() -> impl Strategy<Value = BlockKind> {
    let roles = (
        option::of(key()),
        option::of(key()),
        option::of(column()),
        option::of(column()),
    );
    roles.prop_map(|(lock, counter, fence, stock)| {
        let roles: Vec<Role> = lock
            .map(|key| Role::Lock(key, Vec::new()))
            .into_iter()
            .chain(counter.map(Role::Counter))
            .chain(fence.map(Role::Fence))
            .chain(stock.map(Role::Stock))
            .collect();
        match roles.is_empty() {
            true => BlockKind::Watch(vec![Role::Lock(
                b"k".to_vec(),
                vec![named("r1"), named("r2")],
            )]),
            false => BlockKind::Watch(roles),
        }
    })
}

fn argument() -> impl Strategy<Value = Argument> {
    prop_oneof![
        key().prop_map(Argument::Literal),
        variable().prop_map(Argument::Variable)
    ]
}

fn milliseconds() -> impl Strategy<Value = u64> {
    0..limits::DURATION
}

fn pattern() -> impl Strategy<Value = Pattern> {
    prop_oneof![
        "[A-Z][A-Za-z0-9-]{0,5}".prop_map(Pattern::Status),
        Just(Pattern::Nil),
        Just(Pattern::Message),
        any::<i64>().prop_map(Pattern::Integer),
        vec(any::<u8>(), 0..5).prop_map(Pattern::Text),
        (0_u64..5).prop_map(Pattern::Rows),
        variable().prop_map(|name| Pattern::Bind(vec![Element::Variable(name)])),
        (element(), element())
            .prop_filter("each variable once", |(first, second)| {
                first != second || !matches!(first, Element::Variable(_))
            })
            .prop_map(|(first, second)| Pattern::Bind(vec![first, second])),
        option::of("[A-Z0-9]{1,6}").prop_map(Pattern::Error),
        option::of(milliseconds()).prop_map(|within| Pattern::NoReply { within }),
        Just(Pattern::Else),
    ]
}

fn element() -> impl Strategy<Value = Element> {
    prop_oneof![
        variable().prop_map(Element::Variable),
        any::<i64>().prop_map(Element::Integer),
        vec(any::<u8>(), 0..5).prop_map(Element::Text),
        Just(Element::Nil),
        Just(Element::Me),
    ]
}

fn effect() -> impl Strategy<Value = Effect> {
    let duration = prop_oneof![
        milliseconds().prop_map(|number| Argument::Literal(number.to_string().into_bytes())),
        variable().prop_map(Argument::Variable),
    ];
    prop_oneof![
        (argument(), option::of(duration))
            .prop_map(|(key, milliseconds)| Effect::Holds { key, milliseconds }),
        argument().prop_map(Effect::Releases),
        argument().prop_map(Effect::Loses),
        variable().prop_map(Effect::Draws),
        (1_u64..9, option::of(argument()))
            .prop_map(|(units, order)| Effect::Sells { units, order }),
    ]
}

fn flow() -> impl Strategy<Value = WrittenFlow> {
    prop_oneof![
        option::of(milliseconds()).prop_map(WrittenFlow::Retry),
        option::of(milliseconds()).prop_map(WrittenFlow::StartOver),
        name().prop_map(WrittenFlow::GoTo),
        vec(name(), 1..3).prop_map(WrittenFlow::Abort),
        Just(WrittenFlow::Stop),
        Just(WrittenFlow::Done),
    ]
}

fn clause() -> impl Strategy<Value = WrittenClause> {
    (
        pattern(),
        vec(effect(), 0..3),
        option::of(flow()),
        option::of(comment()),
    )
        .prop_map(|(pattern, effects, flow, comment)| WrittenClause {
            pattern,
            effects,
            flow,
            comment,
            place: place(),
        })
}

fn protocol_part() -> impl Strategy<Value = ProtocolPart> {
    let step = (name(), any::<bool>(), passage(), entries(clause())).prop_map(
        |(label, compensation, request, clauses)| {
            ProtocolPart::Step(WrittenStep {
                label,
                compensation,
                request,
                clauses,
                place: place(),
            })
        },
    );
    let claim =
        ("[a-z][a-z' ]{0,9}[a-z]", option::of(comment())).prop_map(|(sentence, comment)| {
            ProtocolPart::Claim {
                sentence: named(sentence),
                comment,
            }
        });
    prop_oneof![4 => step, 1 => claim]
}

fn clients() -> impl Strategy<Value = BlockKind> {
    let text = prop_oneof![
        key(),
        any::<i64>().prop_map(|number| number.to_string().into_bytes()),
        Just(b"007".to_vec())
    ];
    let value = prop_oneof![
        text.prop_map(Value::Text),
        any::<i64>().prop_map(Value::Integer)
    ];
    let run = (name(), 1_u32..4, option::of((variable(), value)));
    (vec(name(), 1..4), option::of(run)).prop_map(|(names, run)| {
        let mut clients = Clients {
            names,
            protocol: None,
            rounds: 1,
            parameters: Vec::new(),
        };
        if let Some((protocol, rounds, parameter)) = run {
            clients.protocol = Some(protocol);
            clients.rounds = rounds;
            clients.parameters = parameter
                .into_iter()
                .map(|(name, value)| (named(name), value))
                .collect();
        }
        BlockKind::Clients(clients)
    })
}

fn leg() -> impl Strategy<Value = Leg> {
    prop_oneof![Just(Leg::Request), Just(Leg::Reply)]
}

fn key_fault() -> impl Strategy<Value = KeyFault> {
    prop_oneof![
        Just(KeyFault::Expire),
        Just(KeyFault::Wipe),
        Just(KeyFault::Evict)
    ]
}

fn schedule_entry() -> impl Strategy<Value = ScheduleEntry> {
    let side = || prop_oneof![Just(Side::Before), Just(Side::After)];
    let choice =
        prop_oneof![
            (name(), name()).prop_map(|(client, label)| Choice::Step { client, label }),
            (name(), option::of((side(), name())))
                .prop_map(|(client, at)| Choice::Pause { client, at }),
            (name(), option::of((side(), name())))
                .prop_map(|(client, at)| Choice::Resume { client, at }),
            name().prop_map(Choice::Crash),
            name().prop_map(Choice::Restart),
            (name(), name()).prop_map(|(client, label)| Choice::Lose { client, label }),
            (name(), name()).prop_map(|(client, label)| Choice::LoseRequest { client, label }),
            (name(), name(), leg()).prop_map(|(client, label, leg)| Choice::Delay {
                client,
                label,
                leg
            }),
            (name(), name()).prop_map(|(client, label)| Choice::Deliver { client, label }),
            milliseconds().prop_map(Choice::Advance),
            (name(), milliseconds(), any::<bool>()).prop_map(|(whose, milliseconds, is_back)| {
                let milliseconds = milliseconds as i64;
                Choice::ClockJump {
                    whose,
                    milliseconds: if is_back { -milliseconds } else { milliseconds },
                }
            }),
            (name(), 1_u32..100_000)
                .prop_map(|(client, permille)| Choice::ClockRate { client, permille }),
            Just(Choice::AdvanceToNextDeadline),
            (key_fault(), key(), option::of(name()))
                .prop_map(|(what, key, server)| Choice::OfKey { what, key, server }),
            name().prop_map(Choice::RestartWithoutData),
            (name(), option::of(1_u64..50))
                .prop_map(|(to, commands)| Choice::Replicate { to, commands }),
            name().prop_map(Choice::Failover),
            (name(), option::of(name()), code()).prop_map(|(who, server, source)| {
                let source = named(source);
                Choice::Command {
                    who,
                    server,
                    source,
                }
            }),
        ];
    let reply = prop_oneof![
        "[A-Za-z0-9]{1,5}",
        Just("\"a  # b\"".to_owned()),
        Just("ERR can't".to_owned()),
        Just("[1, nil]".to_owned()),
        Just("=> x".to_owned()),
    ];
    (choice, option::of(reply), option::of(comment())).prop_map(|(choice, expected, comment)| {
        let has_reply = matches!(
            choice,
            Choice::Step { .. }
                | Choice::Lose { .. }
                | Choice::Delay {
                    leg: Leg::Reply,
                    ..
                }
                | Choice::Deliver { .. }
                | Choice::Command { .. }
        );
        // An apostrophe in a comment would close the one in the reply.
        let is_open = expected.as_ref().is_some_and(|reply| reply.contains('\''));
        let comment = comment.filter(|text| !is_open || !text.contains(['\'', '"', '`', '\\']));
        ScheduleEntry {
            choice,
            expected: expected.filter(|_| has_reply),
            comment,
            place: place(),
        }
    })
}

fn expect_entry() -> impl Strategy<Value = ExpectEntry> {
    (claim(), option::of(comment())).prop_map(|(claim, comment)| ExpectEntry {
        claim,
        comment,
        place: place(),
    })
}

fn search_entry() -> impl Strategy<Value = SearchEntry> {
    let limit = (
        proptest::sample::select(Limit::ALL.to_vec()),
        0u64..=MOST,
        vec(key(), 0..3),
    )
        .prop_map(|(limit, count, keys)| SearchLimit {
            limit,
            count,
            keys: match limit {
                Limit::Budget(budget) if budget.takes_keys() => keys,
                _ => Vec::new(),
            },
        });
    let reductions = proptest::sample::select(Reduction::ALL.to_vec());
    let reached = claim().prop_filter("no world shows it", |claim| {
        !matches!(
            claim,
            ExpectedClaim::Property { .. } | ExpectedClaim::Writes(_)
        )
    });
    let finds = prop_oneof![
        Just(Finds::Schedule),
        option::of(0u64..1_000_000).prop_map(|worlds| Finds::Nothing { worlds }),
        (0u32..50, 0u32..5).prop_map(|(steps, faults)| Finds::Steps { steps, faults }),
    ];
    let start = prop_oneof![
        Just(Start::Start),
        Just(Start::End),
        (0usize..100).prop_map(Start::After)
    ];
    let line = prop_oneof![
        vec(limit, 1..4).prop_map(SearchLine::Limits),
        vec(reductions, 1..3).prop_map(SearchLine::Without),
        start.prop_map(SearchLine::From),
        Just(SearchLine::Breaks(None)),
        "[b-z][a-z' ]{0,9}[a-z]".prop_map(|sentence| SearchLine::Breaks(Some(named(sentence)))),
        reached.prop_map(SearchLine::Reaches),
        finds.prop_map(SearchLine::Finds),
        Just(SearchLine::Challenge),
    ];
    (line, option::of(comment())).prop_map(|(line, comment)| SearchEntry {
        line,
        comment,
        place: place(),
    })
}

fn claim() -> impl Strategy<Value = ExpectedClaim> {
    let verdict = prop_oneof![
        Just(ExpectedVerdict::Holds),
        Just(ExpectedVerdict::Broken),
        Just(ExpectedVerdict::NotTested)
    ];
    let literal = || {
        prop_oneof![
            "-?[0-9]{1,3}",
            Just("'it''s: x, y'".to_owned()),
            Just("NULL".to_owned())
        ]
    };
    let word = || "[a-jl-vx-z][a-z_]{0,4}x".prop_map(named);
    let columns = vec((word(), literal()), 1..3);
    let value = prop_oneof![
        Just("\"a ttl 5ms\"".to_owned()),
        "[0-9]{1,4}",
        Just("[\"a\", nil]".to_owned())
    ];
    let verdict_on_write = prop_oneof![
        Just("accepted, stale".to_owned()),
        Just("rejected (fenced; 'x)')".to_owned()),
        Just("rejected (can t)".to_owned())
    ];
    prop_oneof![
        (verdict, "[a-z][a-z' ]{0,9}[a-z]").prop_map(|(verdict, sentence)| {
            ExpectedClaim::Property {
                verdict,
                sentence: named(sentence),
            }
        }),
        (word(), vec(literal(), 1..3), option::of(columns)).prop_map(|(table, key, columns)| {
            ExpectedClaim::Row {
                table,
                key,
                columns,
            }
        }),
        (
            (key(), option::of(name())),
            option::of((value, option::of(option::of(milliseconds()))))
        )
            .prop_map(|((key, server), state)| match state {
                Some((value, ttl)) => ExpectedClaim::Key {
                    key,
                    server,
                    value: Some(value),
                    ttl
                },
                None => ExpectedClaim::Key {
                    key,
                    server,
                    value: None,
                    ttl: None
                },
            }),
        vec((name(), verdict_on_write), 0..3).prop_map(ExpectedClaim::Writes),
        vec("ch-[0-9] [a-z]{1,4} [0-9]{1,3}( refunded)?", 0..3).prop_map(ExpectedClaim::Charges),
        (name(), "[a-z][a-z, :-]{0,9}[a-z]")
            .prop_map(|(name, state)| ExpectedClaim::Client { name, state }),
    ]
}

fn block() -> impl Strategy<Value = Block> {
    let protocol_parts =
        (entries(protocol_part()), vec(comment(), 0..2)).prop_map(|(mut parts, comments)| {
            // Comments can stand behind the last step.
            if !parts.is_empty() {
                parts.extend(comments.into_iter().map(Entry::Comment));
            }
            parts
        });
    let kind = prop_oneof![
        (name(), option::of(name())).prop_map(|(name, value)| BlockKind::Option { name, value }),
        (vec(name(), 1..4), option::of(name()))
            .prop_map(|(names, replica_of)| BlockKind::Servers { names, replica_of }),
        table().prop_map(BlockKind::Table),
        entries(passage()).prop_map(BlockKind::Database),
        entries(written(code())).prop_map(BlockKind::Store),
        script(),
        watch(),
        (name(), protocol_parts).prop_map(|(name, parts)| BlockKind::Protocol { name, parts }),
        clients(),
        entries(schedule_entry()).prop_map(BlockKind::Schedule),
        entries(expect_entry()).prop_map(BlockKind::Expect),
        entries(search_entry()).prop_map(BlockKind::Search),
    ];
    (kind, option::of(comment())).prop_map(|(kind, comment)| {
        let comment = comment.filter(|_| !matches!(kind, BlockKind::Table(_)));
        Block {
            kind,
            comment,
            place: place(),
        }
    })
}

fn tree() -> impl Strategy<Value = syntax::Text> {
    let item = prop_oneof![
        4 => block().prop_map(Entry::Of),
        1 => comment().prop_map(Entry::Comment),
        1 => Just(Entry::Blank),
    ];
    vec(item, 0..6).prop_map(|items| syntax::Text { items })
}

/// A text in which something was cut out, put in, doubled or replaced.
fn mutated(text: &'static str) -> impl Strategy<Value = String> {
    let pieces = prop_oneof![
        Just("\n".to_owned()),
        Just("  ".to_owned()),
        Just("'".to_owned()),
        Just("\"\\".to_owned()),
        Just("=> ".to_owned()),
        Just("{me}".to_owned()),
        Just("99999999999999999999".to_owned()),
        Just("table t (".to_owned()),
        "\\PC{0,4}",
        any::<char>().prop_map(String::from),
    ];
    let change = (0.0..1.0_f64, 0..12_usize, pieces);
    vec(change, 1..6).prop_map(move |changes| {
        let mut characters: Vec<char> = text.chars().collect();
        for (at, cut, piece) in changes {
            let at = (at * characters.len() as f64) as usize;
            let end = (at + cut).min(characters.len());
            characters.splice(at..end, piece.chars());
        }
        characters.into_iter().collect()
    })
}

/// Reads a text in every way there is, and checks what is promised of any text.
fn read_in_every_way(text: &str) {
    let lines = text.lines().count().max(1);
    match read(text) {
        Ok(reading) => {
            for line in &reading.schedule {
                let printed =
                    print_schedule_line(&reading.setup, &line.action, line.expected.as_deref());
                let again = read_schedule_line(&printed, &reading.setup).expect("it was printed");
                assert_eq!(
                    (&again.action, &again.expected),
                    (&line.action, &line.expected)
                );
            }
            run_and_pin(text, &reading);
        }
        Err(errors) => {
            assert!(!errors.is_empty());
            for error in &errors {
                assert!(error.line >= 1 && error.line <= lines, "{error}");
                assert!(error.column >= 1 && error.length >= 1, "{error}");
                assert!(!error.message.is_empty());
            }
        }
    }
    if let Ok(formatted) = format(text) {
        assert_eq!(format(&formatted).as_deref(), Ok(formatted.as_str()));
        assert_eq!(parse_only(text), parse_only(&formatted));
    }
    let _ = read_request(text, &Setup::default(), Who::Operator);
    let _ = read_schedule_line(text, &Setup::default());
}

/// Runs a scenario, and checks that expectations that are pinned are met.
fn run_and_pin(text: &str, reading: &Reading) {
    let actions = reading.schedule.iter().map(|line| line.action.clone());
    let timeline = Timeline::replay(reading.setup.clone(), actions);
    let pinned = edit::pin_expectations(text, &timeline).expect("it was read before");
    let again = read(&pinned).unwrap_or_else(|errors| panic!("{}\n{pinned}", errors[0]));
    let expect = again.layout.expect.map_or(0, |lines| lines.first);
    let differences = check::check(&again);
    let unmet = differences
        .iter()
        .find(|difference| difference.line > expect);
    assert_eq!(unmet, None, "{pinned}");
}

/// A line of a schedule for a scenario of this many clients and steps; places beyond them are wrapped around.
fn action() -> impl Strategy<Value = (Action, usize)> {
    let client = || (0..8_usize).prop_map(ClientId);
    let point = || {
        prop_oneof![
            (0..16_usize).prop_map(LatchPoint::Before),
            (0..16_usize).prop_map(LatchPoint::After)
        ]
    };
    let key = || prop_oneof![Just(b"lock:sku-1".to_vec()), Just(b"fence:sku-1".to_vec())];
    let typed = prop_oneof![
        Just("GET lock:sku-1"),
        Just("SET lock:sku-1 x PX 100"),
        Just("PEXPIRE lock:sku-1 50"),
        Just("BLPOP list 1"),
        Just("RPUSH list a"),
        Just("MULTI"),
        Just("EXEC"),
        Just("WATCH fence:sku-1"),
        Just("BEGIN"),
        Just("COMMIT"),
        Just("SELECT * FROM inventory FOR UPDATE"),
        Just("UPDATE inventory SET qty = qty - 1 WHERE sku = 'sku-1'"),
        Just("DELETE FROM inventory"),
        Just("CHARGE order-1 5 KEY k"),
        Just("REFUND order-1"),
    ];
    let typed = (option::of(client()), typed).prop_map(|(client, source)| Action::Command {
        who: client.map_or(Who::Operator, Who::Client),
        source: source.to_owned(),
        request: Request::Store(None, Vec::new()),
    });
    let action = prop_oneof![
        8 => client().prop_map(|client| Action::Step { client, step: 0 }),
        1 => (client(), option::of(point())).prop_map(|(client, at)| Action::Pause { client, at }),
        1 => (client(), option::of(point())).prop_map(|(client, at)| Action::Resume { client, at }),
        1 => client().prop_map(|client| Action::Crash { client }),
        1 => client().prop_map(|client| Action::Restart { client }),
        1 => client().prop_map(|client| Action::LoseReply { client, step: 0 }),
        1 => client().prop_map(|client| Action::LoseRequest { client, step: 0 }),
        2 => (client(), leg()).prop_map(|(client, leg)| Action::Delay { client, step: 0, leg }),
        2 => client().prop_map(|client| Action::Deliver { client, step: 0 }),
        3 => server_action(),
        2 => prop_oneof![0..200_u64, 0..60_000_u64, Just(limits::DURATION)]
            .prop_map(|milliseconds| Action::Advance { milliseconds }),
        1 => Just(Action::AdvanceToNextDeadline),
        1 => (option::of(client()), -60_000..60_000_i64).prop_map(|(client, milliseconds)| {
            let clock = client.map_or(ClockOf::Server(ServerId::FIRST), ClockOf::Client);
            Action::ClockJump { clock, milliseconds }
        }),
        1 => (client(), 1_u32..2000)
            .prop_map(|(client, permille)| Action::ClockRate { client, permille }),
        1 => key().prop_map(|key| Action::ExpireNow { server: ServerId::FIRST, key }),
        1 => key().prop_map(|key| Action::Wipe { server: ServerId::FIRST, key }),
        4 => typed,
    ];
    (action, 0..32_usize)
}

/// What befalls a server; places beyond those that there are are wrapped around.
fn server_action() -> impl Strategy<Value = Action> {
    let server = || (0..4_usize).prop_map(ServerId);
    prop_oneof![
        server().prop_map(|server| Action::CrashServer { server }),
        (server(), any::<bool>())
            .prop_map(|(server, keeps_data)| Action::RestartServer { server, keeps_data }),
        (server(), option::of(1..3_u64))
            .prop_map(|(to, commands)| Action::Replicate { to, commands }),
        server().prop_map(|to| Action::Failover { to }),
        server().prop_map(|server| Action::Evict {
            server,
            key: b"fence:sku-1".to_vec(),
        }),
        server().prop_map(|server| Action::Wipe {
            server,
            key: b"lock:sku-1".to_vec(),
        }),
    ]
}

/// The action with a client and a step that the setup has. A step is mostly the one that comes next.
fn fitted(setup: &Setup, world: &World, action: Action, choice: usize) -> Option<Action> {
    let fit = |client: ClientId| ClientId(client.0 % setup.clients.len().max(1));
    let fit_server = |server: ServerId| ServerId(server.0 % setup.server_count());
    let steps = |client: ClientId| {
        let protocol = setup
            .clients
            .get(client.0)
            .and_then(|client| client.protocol);
        protocol
            .and_then(|index| setup.protocols.get(index))
            .map_or(1, |protocol| protocol.steps.len())
    };
    let next = |client: ClientId| {
        let next = world
            .client(client)
            .and_then(|client| client.current_step());
        next.filter(|_| choice < 28)
            .unwrap_or(choice % steps(client))
    };
    let fit_point = |client: ClientId, at: LatchPoint| match at {
        LatchPoint::Before(step) => LatchPoint::Before(step % steps(client)),
        LatchPoint::After(step) => LatchPoint::After(step % steps(client)),
    };
    Some(match action {
        Action::Step { client, .. } => {
            let client = fit(client);
            Action::Step {
                client,
                step: next(client),
            }
        }
        Action::LoseReply { client, .. } => {
            let client = fit(client);
            Action::LoseReply {
                client,
                step: next(client),
            }
        }
        Action::LoseRequest { client, .. } => {
            let client = fit(client);
            Action::LoseRequest {
                client,
                step: next(client),
            }
        }
        Action::Delay { client, leg, .. } => {
            let client = fit(client);
            Action::Delay {
                client,
                step: next(client),
                leg,
            }
        }
        Action::Deliver { client, .. } => {
            let client = fit(client);
            let step = world
                .network
                .iter()
                .find(|message| message.client == client)
                .map_or(0, |message| message.step);
            Action::Deliver { client, step }
        }
        Action::Pause { client, at } => {
            let client = fit(client);
            Action::Pause {
                client,
                at: at.map(|at| fit_point(client, at)),
            }
        }
        Action::Resume { client, at } => {
            let client = fit(client);
            Action::Resume {
                client,
                at: at.map(|at| fit_point(client, at)),
            }
        }
        Action::Crash { client } => Action::Crash {
            client: fit(client),
        },
        Action::Restart { client } => Action::Restart {
            client: fit(client),
        },
        Action::Command { who, source, .. } => {
            let who = match who {
                Who::Client(client) => Who::Client(fit(client)),
                Who::Operator => Who::Operator,
            };
            let request = read_request(&source, setup, who).ok()?;
            Action::Command {
                who,
                source,
                request,
            }
        }
        Action::CrashServer { server } => Action::CrashServer {
            server: fit_server(server),
        },
        Action::RestartServer { server, keeps_data } => Action::RestartServer {
            server: fit_server(server),
            keeps_data,
        },
        Action::Replicate { to, commands } => Action::Replicate {
            to: fit_server(to),
            commands,
        },
        Action::Failover { to } => Action::Failover { to: fit_server(to) },
        Action::Evict { server, key } => Action::Evict {
            server: fit_server(server),
            key,
        },
        Action::Wipe { server, key } => Action::Wipe {
            server: fit_server(server),
            key,
        },
        Action::ClockJump {
            clock: ClockOf::Client(client),
            milliseconds,
        } => Action::ClockJump {
            clock: ClockOf::Client(fit(client)),
            milliseconds,
        },
        Action::ClockRate { client, permille } => Action::ClockRate {
            client: fit(client),
            permille,
        },
        other => other,
    })
}

/// A story without its schedule and its expectations.
fn beginning_of(story: &str) -> &str {
    story
        .find("schedule\n")
        .and_then(|end| story.get(..end))
        .unwrap_or(story)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn what_is_printed_reads_back_as_the_same_tree(tree in tree()) {
        let text = print::print(&tree);
        match parse_only(&text) {
            Ok(again) => prop_assert_eq!(&again, &tree, "{}", text),
            Err(errors) => prop_assert!(false, "{}\n{}", errors[0], text),
        }
        prop_assert_eq!(format(&text), Ok(text));
    }

    #[test]
    fn any_text_is_read_without_a_panic(text in "(\\PC{0,20}\n?){0,8}") {
        read_in_every_way(&text);
    }

    #[test]
    fn any_lines_are_read_without_a_panic(
        lines in vec(prop_oneof![
            "(schedule|expect|store|database|script s|client A|protocol p|table t|watch|option)[ -~]{0,10}",
            "  [ -~]{0,20}",
            "    on [ -~]{0,12}",
            "  [A-C](> )?[ -~]{0,12}( => [ -~]{0,5})?",
        ], 0..10)
    ) {
        read_in_every_way(&lines.join("\n"));
    }

    #[test]
    fn a_changed_story_is_read_without_a_panic(text in mutated(super::tests::STORY)) {
        read_in_every_way(&text);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn any_schedule_of_a_story_runs_and_can_be_written_down(
        story in 0..100_usize,
        actions in vec(action(), 0..40),
    ) {
        let stories = library::stories();
        let beginning = beginning_of(stories[story % stories.len()].text);
        let setup = read(beginning).expect("it is a story").setup;
        let mut timeline = Timeline::new(setup.clone());
        let mut text = format!("{beginning}schedule\n");
        for (action, choice) in actions {
            let world = timeline.moment(timeline.len()).world;
            let Some(action) = fitted(&setup, &world, action, choice) else { continue };
            let entry = timeline.push(action.clone());
            if entry.refusal().is_none() {
                let reply = entry.reply_in_short();
                text.push_str("  ");
                text.push_str(&print_schedule_line(&setup, &action, reply.as_deref()));
                text.push('\n');
            }
        }
        let reading = read(&text).unwrap_or_else(|errors| panic!("{}\n{text}", errors[0]));
        prop_assert_eq!(check::check(&reading), vec![], "{}", text);
        prop_assert_eq!(format(&text), Ok(text.clone()));
        run_and_pin(&text, &reading);
    }
}

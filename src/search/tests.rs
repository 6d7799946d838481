//! The search on small scenarios: how many worlds there are does not depend on the order in which they are tried.

use std::collections::BTreeSet;

use super::*;

/// A pinned search, as `latchkey check` reads it.
macro_rules! pinned {
    ($name:literal) => {
        include_str!(concat!("../../scenarios/search/", $name, ".latchkey"))
    };
}

/// The model with which model checkers are compared (benches/search.rs), in the size A0.
const MODEL: &str = include_str!("../../benches/search/atomic.latchkey");

/// The same with two commands in place of one script.
const SPLIT: &str = include_str!("../../benches/search/split.latchkey");

fn request_of(text: &str) -> Request {
    let reading = scenario::read(text).unwrap();
    reading.searches[0].request.clone()
}

/// Every world within these bounds, breadth first: the search itself.
fn breadth_first(text: &str, request: &Request) -> (Search, Progress) {
    let mut search = Search::of_request(text, request).unwrap();
    search.explore_all();
    search.finish();
    let progress = search.progress();
    (search, progress)
}

/// The same worlds, the one that was found last always the next: by another table, and by parts that come to be in another order.
fn worlds_depth_first(text: &str, request: &Request) -> u64 {
    let mut search = Search::of_request(text, request).unwrap();
    let engine = &mut search.engine;
    let mut first = engine.first_fields().to_vec();
    engine.parts.place(&mut first);
    let mut known = BTreeSet::from([first.clone()]);
    let mut open = vec![first];
    while let Some(fields) = open.pop() {
        for successor in engine.successors(&fields) {
            let mut fields = successor.fields;
            engine.parts.place(&mut fields);
            if known.insert(fields.clone()) {
                open.push(fields);
            }
        }
    }
    known.len() as u64
}

fn without(request: &Request, without: Vec<Reduction>) -> Request {
    let mut request = request.clone();
    request.bounds.without = without;
    request
}

#[test]
fn breadth_first_and_depth_first_count_the_same_worlds() {
    for text in [
        pinned!("01-everything-right"),
        pinned!("06-fence-limit-order"),
        pinned!("13f-seeding-upwards-while-it-is-there"),
        pinned!("13h-ceiling-in-mysql"),
        pinned!("15b-set-with-deadline"),
        pinned!("16b-charged-then-refunded"),
        pinned!("20-node-redlock"),
        pinned!("31a-acquired-and-not-told"),
        pinned!("31c-late-request"),
        pinned!("32a-majority-of-three"),
        pinned!("34-volatile-lru"),
        pinned!("35b-notice-missed"),
        pinned!("shift-two-leases"),
    ] {
        for reductions in [
            Vec::new(),
            vec![Reduction::Symmetry],
            Reduction::ALL.to_vec(),
        ] {
            let request = without(&request_of(text), reductions);
            let (search, progress) = breadth_first(text, &request);
            let used = without(&request, search.engine.settings().0.without);
            assert_eq!(worlds_depth_first(text, &used), progress.worlds, "{text}");
        }
    }
}

#[test]
fn the_model_has_as_many_worlds_as_in_every_model_checker() {
    let request = Request {
        bounds: Bounds {
            expiries: 2,
            without: Reduction::ALL.to_vec(),
            ..Bounds::none()
        },
        goal: Goal::Breaks(vec![Property::NoStaleWrite]),
        ..Request::default()
    };
    let (_, progress) = breadth_first(MODEL, &request);
    assert_eq!((progress.worlds, progress.transitions), (7_984, 21_279));
    assert_eq!(worlds_depth_first(MODEL, &request), 7_984);
}

/// All worlds by the kernel as far as it knows them, and all by the engine move by move; how many there are.
#[track_caller]
fn kernel_beside_engine(text: &str, bounds: &Bounds) -> usize {
    let goal = Goal::Breaks(vec![Property::NoStaleWrite]);
    let explored = |by_itself: bool| {
        let mut search = Search::new(text, 0, bounds.clone(), goal.clone()).unwrap();
        search.explore_all();
        assert!(search.engine.explorer.strikes.is_some());
        if !by_itself {
            search.engine.explorer.strikes = None;
        }
        let outcome = search.finish().clone();
        let worlds = &search.engine.explorer.worlds;
        let origins: Vec<_> = (0..worlds.count() as u32)
            .map(|world| worlds.origin(world))
            .collect();
        (search.progress().transitions, outcome, origins)
    };
    let by_kernel = explored(true);
    assert!(by_kernel == explored(false), "{bounds:?}\n{text}");
    by_kernel.2.len()
}

/// Time alone does something in worlds whose steps are all known: a key lapses, a client has waited long enough for a list or a row.
#[test]
fn the_kernel_leaves_worlds_in_which_time_alone_does_something_to_the_engine() {
    let table = "table t (id INT PRIMARY KEY, n INT NOT NULL)\n  1, 0\n\n";
    let others = "protocol reports\n  one: INCR n\n  two: GET n\n    on {n}\n\nprotocol counts\n  one: UPDATE t SET n = n + 1 WHERE id = 1\n  two: SELECT n FROM t WHERE id = 1\n    on {n}\n\n";
    let waits_for_list = format!(
        "{table}{others}protocol waits\n  wait: BLPOP list 3\n    on nil\n    on else: stop\n  late: INCR late\n\nclient A: waits\nclient B: reports\nclient C: counts\n"
    );
    // Nobody gives the row free.
    let waits_for_row = format!(
        "{table}{others}protocol holds\n  begin: BEGIN\n  first: UPDATE t SET n = n + 1 WHERE id = 1\n\nclient A: holds\nclient B: reports\nclient C: counts\n"
    );
    let texts = [(MODEL, 1), (&waits_for_list, 0), (&waits_for_row, 0)];
    let worlds = texts.map(|(text, lapses)| {
        let bounds = Bounds {
            lapses,
            without: Reduction::ALL.to_vec(),
            ..Bounds::none()
        };
        kernel_beside_engine(text, &bounds)
    });
    assert_eq!(worlds, [1756, 36, 33]);
}

/// What the kernel tries by itself, and leaves out as it was tried in another order, is what the engine tries move by move: the same
/// worlds, found in the same order and in the same way.
#[test]
fn the_kernel_finds_what_the_engine_finds_move_by_move() {
    let two = SPLIT.replace("client A, B, C:", "client A, B:");
    let reports = "protocol report\n  count: INCR fence:sku-1\n\nclient R: report\n";
    let mixed = format!("{two}{reports}");
    for (text, bounds) in [
        (MODEL, (2, 0, 0, None)),
        (&two, (2, 1, 1, None)),
        (&mixed, (1, 1, 1, Some(1))),
        (&mixed, (2, 1, 0, Some(2))),
    ] {
        let (expiries, wipes, evictions, faults) = bounds;
        for without in [
            Reduction::ALL.to_vec(),
            vec![Reduction::Symmetry],
            Vec::new(),
        ] {
            for steps in [None, Some(9)] {
                let bounds = Bounds {
                    expiries,
                    wipes,
                    evictions,
                    faults,
                    steps,
                    without: without.clone(),
                    ..Bounds::none()
                };
                kernel_beside_engine(text, &bounds);
            }
        }
    }
}

#[test]
fn where_there_is_nothing_to_reduce_reductions_change_no_count() {
    let count = |text: &str, reductions: Vec<Reduction>| {
        breadth_first(text, &without(&request_of(text), reductions)).1
    };
    let check = |text: &str, reduction: Reduction| {
        assert_eq!(
            count(text, vec![reduction]),
            count(text, Vec::new()),
            "{text}"
        );
    };
    // Two protocols, one client each.
    check(pinned!("20-node-redlock"), Reduction::Symmetry);
    // To reach something: nothing of the order of locks is remembered.
    check(pinned!("31a-acquired-and-not-told"), Reduction::Ranks);
    // No variable but the client's name, which the release reads.
    check(pinned!("14b-compare-and-delete"), Reduction::DeadVariables);
}

#[test]
fn a_limit_ends_a_search_with_what_is_known_by_then_and_says_which_it_was() {
    let check = |bounds: Bounds, left_out: &str| {
        let bounds = Bounds {
            expiries: 2,
            wipes: 1,
            without: Reduction::ALL.to_vec(),
            ..bounds
        };
        let goal = Goal::Breaks(vec![Property::StockNotNegative]);
        let mut search = Search::new(SPLIT, 0, bounds.clone(), goal).unwrap();
        let Outcome::LimitReached {
            depth,
            left_out: said,
            ..
        } = search.finish().clone()
        else {
            panic!("it has to meet the limit: {left_out}");
        };
        let progress = search.progress();
        assert_eq!(said[0], left_out);
        assert!(depth > 5, "{depth}");
        assert!(
            progress.bytes < bounds.bytes.saturating_mul(2),
            "{progress:?}"
        );
    };
    let none = Bounds::none();
    let bytes = Bounds {
        bytes: 2 << 20,
        ..none.clone()
    };
    check(bytes, "what takes more than 2 MB of memory");
    let worlds = Bounds {
        worlds: 5_000,
        ..none
    };
    check(worlds, "more than 5\u{202f}000 distinct worlds");
}

#[test]
fn a_found_schedule_has_a_title_and_a_description_of_its_own() {
    let story = crate::scenario::library::story_named("07a-split-acquire").unwrap();
    let (head, below) = story.text.split_once("\n\n").unwrap();
    let check = |text: &str, bounds: Bounds, goal: Goal, title: &str, description: &str| {
        let mut search = Search::new(text, 0, bounds, goal).unwrap();
        let Outcome::Found { text: found, .. } = search.finish() else {
            panic!("{:?}", search.outcome());
        };
        let found = scenario::read(found).unwrap();
        assert_eq!(
            [found.title.as_str(), &found.description],
            [title, description]
        );
    };
    let lapse = || Bounds {
        lapses: 1,
        ..Bounds::none()
    };
    let stale = || Goal::Breaks(vec![Property::NoStaleWrite]);
    let broken =
        "Broken in 7 steps, 1 fault: a stale write is never accepted after a newer holder's write";
    let shortest = "none has fewer faults, and none with as few has fewer steps. It tried everything within these bounds";
    let of = "for the clients of “Split acquire: a token that is newer than its lock”";
    check(
        story.text,
        lapse(),
        stale(),
        broken,
        &format!("A search found this schedule {of}: {shortest}: lapses: 1."),
    );
    // The comments of a text without a blank line behind them go, too, and what was found is not told of as if it were the text.
    for text in [
        below.to_string(),
        format!("{head}\n{below}"),
        format!("\n# Broken in 1 step\n\n{below}"),
    ] {
        let of = if text.contains(head) {
            format!(" {of}")
        } else {
            String::new()
        };
        check(
            &text,
            lapse(),
            stale(),
            broken,
            &format!("A search found this schedule{of}: {shortest}: lapses: 1."),
        );
    }
    let drawn = scenario::Expectation::Key {
        key: b"fence:sku-1".to_vec(),
        server: None,
        value: Some("\"1\"".to_owned()),
        ttl: None,
    };
    check(
        below,
        Bounds::none(),
        Goal::Reach(vec![drawn]),
        "Reached in 2 steps, 0 faults: key fence:sku-1: \"1\"",
        &format!(
            "A search found this schedule: {shortest}: no fault, only the order of the steps."
        ),
    );
}

#[test]
fn each_of_several_schedules_tells_what_it_breaks_itself_and_what_is_claimed_comes_first() {
    let text = "\
table stock (sku INT PRIMARY KEY, qty INT)
  1, 10
watch lock k, stock stock.qty
protocol oversell
  write: UPDATE stock SET qty = qty - 1 WHERE sku = 1
    on 1 row: sells 2
protocol keep
  take: SETNX k {me}
    on 1: holds k
client A: oversell
client B: keep
";
    let check = |text: &str, expected: [Property; 2]| {
        let goal = Goal::Breaks(Vec::new());
        let mut search = Search::new(text, 0, Bounds::none(), goal).unwrap();
        let Outcome::Found {
            text, ties, breaks, ..
        } = search.finish()
        else {
            panic!("{:?}", search.outcome());
        };
        let mut told = Vec::new();
        for found in std::iter::once(text).chain(ties) {
            let found = scenario::read(found).unwrap();
            let property = match found.expectations.first().map(|line| &line.expectation) {
                Some(scenario::Expectation::Broken(property)) => *property,
                other => panic!("{other:?}"),
            };
            assert!(
                found.title.ends_with(property.sentence()),
                "{}",
                found.title
            );
            told.push(property);
        }
        assert_eq!(*breaks, told.first().copied());
        told.dedup();
        assert_eq!(told, expected);
    };
    let (deadline, sold) = (Property::LockHasDeadline, Property::StockEqualsSold);
    check(text, [deadline, sold]);
    let claims = "protocol oversell\n  claims: stock equals what was sold";
    check(&text.replace("protocol oversell", claims), [sold, deadline]);
}

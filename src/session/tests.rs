//! What a user does on the page, without the page.

use super::{Msg, Notice, Session, Standing};
use crate::property::{Property, Verdict};
use crate::scenario::Expectation;
use crate::search::Finds;
use crate::search::challenge::Hint;
use crate::sim::action::{Action, ClientId, LatchPoint, ServerId, Who};

const A: ClientId = ClientId(0);
const B: ClientId = ClientId(1);

/// A story of the library, with its schedule played up to here.
fn story(name: &str, cursor: Option<usize>) -> Session {
    let text = crate::scenario::library::story_named(name).unwrap().text;
    Session::new(text, cursor).unwrap()
}

/// The story's set-up with an empty schedule and no expectations.
fn fresh(name: &str) -> Session {
    let text = crate::scenario::library::story_named(name).unwrap().text;
    let (setup, _) = text.split_once("\nschedule").unwrap();
    Session::new(&format!("{setup}\nschedule\n"), None).unwrap()
}

/// Does it, and expects that nothing is refused.
fn does(session: &mut Session, msg: Msg) -> Vec<String> {
    let told = session.update(msg.clone()).into_iter();
    told.map(|notice| match notice {
        Notice::Said(said) => said,
        Notice::Refused(why) => panic!("{msg:?} was refused: {why}"),
    })
    .collect()
}

/// Tries it, and expects this refusal.
fn refuses(session: &mut Session, msg: Msg, expected: &str) {
    let before = session.text();
    assert_eq!(
        session.update(msg),
        vec![Notice::Refused(expected.to_string())]
    );
    assert_eq!(session.text(), before, "a refusal changes nothing");
}

fn press_step(session: &mut Session, client: ClientId) {
    let action = session.next_step(client).unwrap();
    does(session, Msg::Act(action));
}

fn schedule(session: &Session) -> Vec<String> {
    let text = session.text();
    let lines = text.lines().skip_while(|line| *line != "schedule").skip(1);
    lines
        .take_while(|line| line.starts_with("  "))
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect()
}

/// The text says the same as the page: reading it again gives the same worlds.
fn see_the_same_when_read_again(session: &Session) {
    let again = Session::new(&session.text(), Some(session.cursor())).unwrap();
    assert_eq!(again.world(), session.world());
    assert_eq!(again.timeline().entries(), session.timeline().entries());
    assert_eq!(again.verdicts(), session.verdicts());
    assert!(again.mismatches().is_empty(), "{:?}", again.mismatches());
}

#[test]
fn split_acquire_by_clicks_writes_the_story() {
    let mut session = fresh("07a-split-acquire");
    press_step(&mut session, A);
    does(
        &mut session,
        Msg::ToggleLatch {
            client: A,
            at: LatchPoint::Before(1),
        },
    );
    does(
        &mut session,
        Msg::Act(Action::Advance {
            milliseconds: 10_001,
        }),
    );
    for _ in 0..3 {
        press_step(&mut session, B);
    }
    let step = session.next_step(A).unwrap();
    refuses(
        &mut session,
        Msg::Act(step),
        "A is paused before token: resume A first",
    );
    does(
        &mut session,
        Msg::ToggleLatch {
            client: A,
            at: LatchPoint::Before(1),
        },
    );
    does(&mut session, Msg::Run(A));
    does(
        &mut session,
        Msg::Type {
            who: Who::Operator,
            source: "GET lock:sku-1".to_string(),
        },
    );
    assert_eq!(
        schedule(&session),
        [
            "A acquire => OK",
            "pause A before token",
            "clock +10001ms",
            "B acquire => OK",
            "B token => 1",
            "B write => 1 row",
            "resume A",
            "A token => 2",
            "A write => 1 row",
            "A release => 0",
            "operator> GET lock:sku-1 => \"B-1\"",
        ]
    );
    see_the_same_when_read_again(&session);
}

#[test]
fn acting_in_the_past_keeps_the_old_branch_and_undo_brings_it_back() {
    let mut session = story("07a-split-acquire", Some(3));
    let whole = session.text();
    let said = does(&mut session, Msg::Act(Action::Crash { client: A }));
    let name = "Split acquire, before action 4";
    assert_eq!(said, [format!("The old branch is kept as “{name}”")]);
    assert_eq!(
        schedule(&session).last().map(String::as_str),
        Some("crash A")
    );
    assert!(
        !session.text().contains("expect"),
        "it spoke of a schedule that is no more"
    );
    assert_eq!(session.branches()[0].text, whole);
    assert_eq!(session.branches()[0].cursor, 3);
    see_the_same_when_read_again(&session);

    does(&mut session, Msg::Undo);
    assert_eq!((session.text(), session.cursor()), (whole.clone(), 3));
    does(&mut session, Msg::Redo);
    assert_eq!(
        schedule(&session).last().map(String::as_str),
        Some("crash A")
    );
    does(&mut session, Msg::SwitchBranch(0));
    assert_eq!((session.text(), session.cursor()), (whole, 3));
    assert!(session.branches()[0].text.contains("crash A"));
}

#[test]
fn a_branch_that_is_deleted_comes_back_and_a_client_that_goes_leaves_one() {
    let mut session = story("07a-split-acquire", Some(3));
    let whole = session.text();
    does(&mut session, Msg::RemoveClient(A));
    let names = |session: &Session| -> Vec<String> {
        let names = session.branches().iter().map(|branch| branch.name.clone());
        names.collect()
    };
    let name = "Split acquire, before A went";
    assert_eq!(names(&session), [name]);
    assert_eq!(session.branches()[0].text, whole);
    does(&mut session, Msg::DeleteBranch(0));
    assert!(session.branches().is_empty());
    does(&mut session, Msg::Undo);
    assert_eq!(names(&session), [name]);
    does(&mut session, Msg::Redo);
    assert!(session.branches().is_empty());
    does(&mut session, Msg::Undo);
    does(&mut session, Msg::Undo);
    assert_eq!(session.text(), whole);
    // What is kept already is not kept again.
    does(&mut session, Msg::Act(Action::Crash { client: A }));
    assert_eq!(names(&session), [name]);
}

#[test]
fn the_branches_of_another_page_are_taken_over_once() {
    let mut session = fresh("07a-split-acquire");
    let theirs = |text: &str| super::Branch {
        name: "theirs".to_string(),
        text: text.to_string(),
        cursor: 0,
        born: 0,
    };
    session.keep_others(vec![theirs("client X\n"), theirs(&session.text())]);
    session.keep_others(vec![theirs("client X\n")]);
    session.keep_others(vec![theirs("client Y\n")]);
    let texts = session.branches().iter().map(|branch| branch.text.as_str());
    let texts: Vec<&str> = texts.collect();
    assert_eq!(texts, ["client Y\n"], "the latest of this name");
}

#[test]
fn doing_what_the_schedule_does_next_only_goes_forward() {
    let mut session = story("07a-split-acquire", Some(0));
    let whole = session.text();
    press_step(&mut session, A);
    does(
        &mut session,
        Msg::ToggleLatch {
            client: A,
            at: LatchPoint::Before(1),
        },
    );
    does(
        &mut session,
        Msg::Act(Action::Advance {
            milliseconds: 10_001,
        }),
    );
    does(&mut session, Msg::Run(B));
    assert_eq!((session.text(), session.cursor()), (whole, 6));
    assert!(session.branches().is_empty());
}

#[test]
fn every_change_is_undone_and_done_again() {
    let mut session = fresh("10a-counter-wiped");
    let changes = [
        Msg::Run(A),
        Msg::Act(Action::AdvanceToNextDeadline),
        Msg::Act(Action::Wipe {
            server: ServerId::FIRST,
            key: b"fence:sku-1".to_vec(),
        }),
        Msg::Reseed(0),
        Msg::AddClient {
            name: "Z".to_string(),
            protocol: None,
        },
        Msg::Type {
            who: Who::Client(A),
            source: "SELECT MAX(fence_token) FROM inventory".to_string(),
        },
        Msg::AddProtocol("setnx-expire".to_string()),
        Msg::PinExpectations,
        Msg::RemoveClient(B),
    ];
    let mut texts = vec![session.text()];
    for change in changes {
        // Some of these are not possible in this scenario; then there is nothing to undo.
        let told = session.update(change);
        if !told
            .iter()
            .any(|notice| matches!(notice, Notice::Refused(_)))
        {
            texts.push(session.text());
        }
    }
    assert!(texts.len() > 5, "{}", texts.len());
    for text in texts.iter().rev().skip(1) {
        does(&mut session, Msg::Undo);
        assert_eq!(&session.text(), text);
    }
    refuses(&mut session, Msg::Undo, "there is nothing to undo");
    for text in &texts[1..] {
        does(&mut session, Msg::Redo);
        assert_eq!(&session.text(), text);
    }
    refuses(&mut session, Msg::Redo, "there is nothing to do again");
    see_the_same_when_read_again(&session);
}

#[test]
fn reseeding_is_two_visible_lines() {
    let mut session = story("10a-counter-wiped", None);
    let before = schedule(&session).len();
    does(&mut session, Msg::Reseed(0));
    let lines = schedule(&session).split_off(before);
    let [select, set] = lines.as_slice() else {
        panic!("{lines:?}")
    };
    let seed = select
        .strip_prefix("operator> SELECT MAX(fence_token) FROM inventory => ")
        .unwrap();
    assert_eq!(set, &format!("operator> SET fence:sku-1 {seed} => OK"));
}

#[test]
fn a_text_that_does_not_parse_leaves_the_last_good_one() {
    let mut session = story("07a-split-acquire", None);
    let good = session.text();
    let bad = good.replace("client A, B: split-acquire", "client A, B: split-aquire");
    does(&mut session, Msg::Edit(bad.clone()));
    assert_eq!((session.text(), session.edited_text()), (good.clone(), bad));
    let line = good
        .lines()
        .position(|line| line.starts_with("client"))
        .unwrap()
        + 1;
    assert_eq!(
        session
            .errors()
            .iter()
            .map(|error| error.line)
            .collect::<Vec<_>>(),
        [line]
    );
    let why = session.why_not_writable().unwrap();
    assert!(
        why.starts_with(&format!("the text does not parse: line {line}: ")),
        "{why}"
    );
    refuses(&mut session, Msg::Act(Action::Crash { client: A }), &why);
    does(&mut session, Msg::Undo);
    assert_eq!(session.edited_text(), good);
    assert!(session.errors().is_empty());
}

#[test]
fn editing_replays_and_keeps_the_cursor_at_the_end() {
    let mut session = story("07a-split-acquire", None);
    let edited = session.text().replace(
        "A write                => 1 row",
        "A write                => 0 rows",
    );
    let edited = edited.replace("A write      => 1 row", "A write      => 0 rows");
    does(&mut session, Msg::Edit(edited.clone()));
    assert_eq!(session.text(), edited);
    assert_eq!(session.cursor(), session.timeline().len());
    let [mismatch] = session.mismatches() else {
        panic!("{:?}", session.mismatches())
    };
    assert_eq!(
        (mismatch.expected.as_str(), mismatch.got.as_str()),
        ("0 rows", "1 row")
    );
    does(&mut session, Msg::Undo);
    assert!(session.mismatches().is_empty());
}

#[test]
fn opening_another_text_keeps_changed_work() {
    let mut session = story("07a-split-acquire", None);
    let other = crate::scenario::library::story_named("01-everything-right")
        .unwrap()
        .text;
    let open = Msg::Open {
        text: other.to_string(),
        cursor: Some(0),
    };
    assert!(
        does(&mut session, open.clone()).is_empty(),
        "nothing was changed, so nothing is kept"
    );
    assert_eq!((session.cursor(), session.branches().len()), (0, 0));
    does(&mut session, Msg::Act(Action::Advance { milliseconds: 1 }));
    let changed = session.text();
    does(&mut session, open);
    let kept: Vec<&str> = session
        .branches()
        .iter()
        .map(|branch| branch.text.as_str())
        .collect();
    assert_eq!(
        kept,
        [other, changed.as_str()],
        "the future that was left, then the work"
    );
}

#[test]
fn run_ends_where_only_others_can_help() {
    let mut session = fresh("07a-split-acquire");
    press_step(&mut session, A);
    does(&mut session, Msg::Run(B));
    assert_eq!(schedule(&session), ["A acquire => OK", "B acquire => nil"]);
    let action = session.next_step(B).unwrap();
    refuses(
        &mut session,
        Msg::Act(action),
        "B waits on its own timer for another 100 ms",
    );
}

#[test]
fn a_click_among_ten_thousand_applies_one_action() {
    // Worlds are not replayed: the entries that are there stay the very same ones.
    let mut session = fresh("07a-split-acquire");
    for _ in 0..200 {
        does(&mut session, Msg::Act(Action::Advance { milliseconds: 1 }));
    }
    let first = session.timeline().entries()[0].clone();
    does(&mut session, Msg::GoTo(77));
    assert_eq!(session.world().now, 77);
    does(&mut session, Msg::GoTo(200));
    assert_eq!(session.timeline().entries()[0], first);
    see_the_same_when_read_again(&session);
}

/// What a verdict is called in a text.
fn word_of(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Holds { .. } => "holds",
        Verdict::Broken(_) => "broken",
        Verdict::NotTested { .. } => "not tested",
    }
}

fn verdict_on(session: &Session, property: Property) -> &'static str {
    let verdicts = session.verdicts();
    let (_, verdict) = verdicts.iter().find(|(of, _)| *of == property).unwrap();
    word_of(verdict)
}

#[test]
fn stories_show_at_their_end_what_their_texts_pin() {
    for story in crate::scenario::library::stories() {
        let session = Session::new(story.text, None).unwrap();
        let expectations = session.reading().expectations.iter();
        let pinned: Vec<(Property, &str)> = expectations
            .filter_map(|expectation| match expectation.expectation {
                Expectation::Holds(property) => Some((property, "holds")),
                Expectation::Broken(property) => Some((property, "broken")),
                Expectation::NotTested(property) => Some((property, "not tested")),
                _ => None,
            })
            .collect();
        assert_eq!(pinned.len(), Property::ALL.len(), "{}", story.name);
        for (property, word) in pinned {
            let shown = verdict_on(&session, property);
            assert_eq!(shown, word, "{}: {}", story.name, property.sentence());
        }
    }
}

#[test]
fn a_pinned_schedule_is_over_at_its_end_and_nowhere_else() {
    let paid = Property::NoChargeForNothing;
    let mut session = fresh("16d-idempotency-key-me");
    for _ in 0..3 {
        press_step(&mut session, A);
    }
    assert_eq!(schedule(&session)[2], "A charge => ch-1");
    let open = verdict_on(&session, paid);
    assert_ne!(open, "broken", "A may still sell what it has charged for");
    does(&mut session, Msg::PinExpectations);
    assert_eq!(verdict_on(&session, paid), "broken");
    assert!(session.unmet_expectations().is_empty());
    let pause = Action::Pause {
        client: A,
        at: None,
    };
    does(&mut session, Msg::Act(pause));
    does(&mut session, Msg::GoTo(3));
    assert_eq!(verdict_on(&session, paid), open, "in the midst of it");
}

#[test]
fn a_search_is_written_into_the_text_and_what_it_finds_is_opened_beside_it() {
    use crate::search::{Goal, Outcome, Search};
    let mut session = fresh("07a-split-acquire");
    let mut request = session.search_request(0);
    assert_eq!(request.goal, Goal::Breaks(session.claims()));
    assert!(!session.claims().is_empty());
    request.bounds.lapses = 1;
    let write = |request: &crate::search::Request, reaches: Option<&str>| Msg::SetSearch {
        place: 0,
        request: Box::new(request.clone()),
        reaches: reaches.map(str::to_string),
    };
    does(&mut session, write(&request, None));
    assert_eq!(session.search_request(0), request);
    let searched = session.text();
    assert!(searched.contains("\nsearch\n  lapses: 1\n"), "{searched}");
    refuses(
        &mut session,
        write(&request, Some("inventry 'sku-1': qty 9")),
        "no table is called `inventry` (did you mean `inventory`?): expected `inventory`",
    );

    let mut search = Search::of_request(&searched, &request).unwrap();
    let Outcome::Found { text, ties, .. } = search.finish().clone() else {
        panic!("{:?}", search.outcome());
    };
    let open = |text: &str| Msg::OpenFound {
        text: text.to_string(),
        cursor: 0,
    };
    does(&mut session, open(&text));
    assert_eq!((session.text(), session.cursor()), (text.clone(), 0));
    assert_eq!(session.branches()[0].text, searched);
    assert_eq!(session.search_request(0), request);
    assert_eq!(session.standing(), Standing::Found);
    let head: Vec<&str> = text.lines().take(4).collect();
    let expected = [
        "# Broken in 5 steps, 1 fault: tokens come in the order in which locks were taken",
        "# A search found this schedule for the clients of “Split acquire: a token that is newer than its lock”: none has fewer faults, and \
         none with as few has fewer steps.",
        "# It tried everything within these bounds: lapses: 1.",
        "",
    ];
    assert_eq!(head, expected);
    let tree: Vec<Option<usize>> = session.tree().iter().map(|leaf| leaf.place).collect();
    let depths: Vec<usize> = session.tree().iter().map(|leaf| leaf.depth).collect();
    assert_eq!(
        (tree, depths),
        (vec![Some(0), None], vec![0, 1]),
        "what was found hangs on what was searched"
    );
    does(&mut session, open(&ties[0]));
    let kept = session.branches().len();
    assert_eq!(kept, 1, "one of several that were found is not kept");
    does(&mut session, Msg::Undo);
    does(&mut session, Msg::Undo);
    assert_eq!(session.text(), searched);
}

#[test]
fn what_has_no_button_is_typed_as_it_stands_in_the_schedule() {
    let mut session = fresh("32a-majority-of-three");
    let mut types = |line: &str| does(&mut session, Msg::TypeAction(line.to_string()));
    types("crash r3");
    types("delay request A lock-1");
    types("clock of r2 +5s");
    types("deliver A lock-1  => OK");
    types("restart r3 without data");
    types("operator r2> GET lock:sku-1");
    assert_eq!(
        schedule(&session),
        [
            "crash r3",
            "delay request A lock-1",
            "clock of r2 +5000ms",
            "deliver A lock-1 => OK",
            "restart r3 without data",
            "operator r2> GET lock:sku-1 => nil",
        ]
    );
    see_the_same_when_read_again(&session);
    refuses(
        &mut session,
        Msg::TypeAction("failover to r2".to_string()),
        "r2 is no replica",
    );
    refuses(
        &mut session,
        Msg::TypeAction("crash r4".to_string()),
        "no client is called `r4`: expected `A` or `B`",
    );
}

/// Whoever has the majority of the servers has the lock, for as long as it is one; a lock that statements take is no server's.
#[test]
fn a_lease_is_what_the_servers_say() {
    let check = |name: &str, key: &str, expected: &[&str]| {
        let said: Vec<String> = (0..=story(name, None).timeline().len())
            .map(
                |cursor| match story(name, Some(cursor)).lease(key.as_bytes()) {
                    None => "free".to_string(),
                    Some(lease) => format!("{:?} {:?}", lease.holder, lease.remaining),
                },
            )
            .collect();
        assert_eq!(said, expected, "{name}");
    };
    check(
        "18b-laravel-database-lock",
        "cache_locks:sku-1",
        &["free"; 10],
    );
    let held = ["Some(ClientId(0)) Some(10000)"; 12];
    let of_three = [&["free"; 3], held.as_slice(), &["free"; 3]].concat();
    check("32a-majority-of-three", "lock:sku-1", &of_three);
}

/// A lock that only statements take is no server's, whether its name is written out or comes from the client's line.
#[test]
fn a_lock_that_statements_take_is_no_server_s() {
    let text = crate::scenario::library::story_named("18b-laravel-database-lock")
        .unwrap()
        .text;
    let (written_out, _) = text.split_once("\nschedule").unwrap();
    let named = written_out
        .replace("holds cache_locks:sku-1", "holds {lock}")
        .replace(
            "client A, B: laravel-database-lock",
            "client A: laravel-database-lock lock=cache_locks:sku-1",
        );
    assert_ne!(written_out, named);
    let check = |text: &str, lock: &[u8], expected: &[ServerId]| {
        let session = Session::new(&format!("{text}\nschedule\n"), None).unwrap();
        assert_eq!(session.setup().servers_of_lock(lock), expected, "{text}");
    };
    for text in [written_out, &named] {
        check(text, b"cache_locks:sku-1", &[]);
        check(text, b"another", &[ServerId::FIRST]);
    }
}

/// A single Step follows the schedule, whatever comes next, and begins no branch; at its end somebody goes on.
#[test]
fn a_single_step_is_the_recorded_action() {
    let mut session = story("07a-split-acquire", Some(0));
    let whole = session.text();
    let recorded = session.timeline().len();
    for played in 1..=recorded {
        does(&mut session, Msg::StepOn);
        assert_eq!((session.text(), session.cursor()), (whole.clone(), played));
    }
    assert!(session.branches().is_empty());

    let check = |cursor: usize, next: &str| {
        let mut session = story("22-unique-job", Some(cursor));
        assert!(schedule(&session)[cursor].starts_with(next));
        does(&mut session, Msg::GoTo(cursor));
        let line = crate::scenario::print_action(session.setup(), &session.step_on().unwrap());
        assert!(line.starts_with(next), "{line}");
    };
    check(0, "A claim");
    // V could go on, and the schedule lets W step.
    check(7, "W fetch");
    check(3, "clock");

    // Nothing is recorded: who acted last goes on, and where it cannot, the first that can.
    let mut session = fresh("07a-split-acquire");
    press_step(&mut session, B);
    does(&mut session, Msg::StepOn);
    does(
        &mut session,
        Msg::Act(Action::Pause {
            client: B,
            at: None,
        }),
    );
    does(&mut session, Msg::StepOn);
    let begun: Vec<String> = schedule(&session);
    let begun: Vec<&str> = begun.iter().map(|line| &line[..7]).collect();
    assert_eq!(begun, ["B acqui", "B token", "pause B", "A acqui"]);
}

/// A card says `pause A`, the story `pause A before token`: where both do the same, pressing it follows the story.
#[test]
fn an_action_written_otherwise_is_the_recorded_one() {
    let check = |before: &str, cursor: usize, action: Action, follows: bool| {
        let text = crate::scenario::library::story_named("07a-split-acquire").unwrap();
        let text = text.text.replace("pause A before token", before);
        let mut session = Session::new(&text, Some(cursor)).unwrap();
        does(&mut session, Msg::Act(action.clone()));
        let kept = session.branches().len();
        assert_eq!(
            (session.cursor(), kept == 0),
            (cursor + 1, follows),
            "{action:?}"
        );
    };
    let pause = |step: Option<usize>| Action::Pause {
        client: A,
        at: step.map(LatchPoint::Before),
    };
    check("pause A before token", 1, pause(None), true);
    check("pause A", 1, pause(Some(1)), true);
    check("pause A before token", 1, pause(Some(2)), false);
    check(
        "pause A before token",
        1,
        Action::Pause {
            client: B,
            at: None,
        },
        false,
    );
    let resume = |at| Action::Resume { client: A, at };
    check("pause A before token", 6, resume(None), true);
    check(
        "pause A before token",
        6,
        resume(Some(LatchPoint::Before(1))),
        true,
    );
    check(
        "pause A before token",
        2,
        Action::AdvanceToNextDeadline,
        true,
    );
    check(
        "pause A before token",
        2,
        Action::Advance {
            milliseconds: 10_002,
        },
        false,
    );
}

/// A title speaks of the schedule that it was written for.
#[test]
fn a_schedule_that_goes_another_way_is_called_a_branch() {
    let mut session = story("07a-split-acquire", Some(3));
    assert_eq!(session.standing(), Standing::Itself);
    does(&mut session, Msg::Act(Action::Crash { client: A }));
    assert_eq!(session.standing(), Standing::Branch { after: 3 });
    let link = Session::new(&session.text(), None).unwrap();
    assert_eq!(
        link.standing(),
        Standing::Branch { after: 3 },
        "after a reload, too"
    );
    does(&mut session, Msg::Undo);
    assert_eq!(session.standing(), Standing::Itself);
    does(&mut session, Msg::GoTo(usize::MAX));
    does(&mut session, Msg::Act(Action::Advance { milliseconds: 1 }));
    assert_eq!(session.standing(), Standing::Changed);
    assert_eq!(
        fresh("07a-split-acquire").standing(),
        Standing::Branch { after: 0 }
    );

    let renamed = session.text().replacen("Split acquire", "My acquire", 1);
    does(&mut session, Msg::Edit(renamed));
    assert_eq!(session.standing(), Standing::Itself, "a title of one's own");
    let open = Msg::Open {
        text: String::new(),
        cursor: None,
    };
    does(&mut session, open);
    does(&mut session, Msg::Act(Action::Advance { milliseconds: 1 }));
    assert_eq!(session.standing(), Standing::Itself, "there is no title");
}

fn challenge(name: &str) -> Session {
    let mut all = crate::scenario::library::challenges().iter();
    let challenge = all.find(|challenge| challenge.name == name).unwrap();
    Session::new(challenge.text, None).unwrap()
}

/// Follows the hints until the challenge is done; how many actions and faults that took. `None`: nothing leads there.
fn follows_hints(session: &mut Session) -> Option<(u32, u32)> {
    let mut ahead = None;
    loop {
        let standing = session.challenge().unwrap().standing;
        if standing.is_done {
            return Some((standing.actions, standing.faults));
        }
        match session.hint().unwrap() {
            Hint::Next(action, left) => {
                assert!(
                    ahead.is_none_or(|ahead| ahead == left + 1),
                    "{action}: {left}"
                );
                ahead = Some(left);
                does(session, Msg::TypeAction(action))
            }
            Hint::Nothing => return None,
            Hint::Unknown => panic!("{}: too many worlds", session.title()),
        };
    }
}

#[test]
fn hints_lead_to_par_in_every_challenge_that_can_be_met() {
    let (mut met, mut proved) = (0, 0);
    for story in crate::scenario::library::challenges() {
        let mut session = challenge(story.name);
        match (
            session.challenge().unwrap().par,
            follows_hints(&mut session),
        ) {
            (Finds::Steps { steps, faults }, Some(took)) => {
                assert_eq!(took, (steps, faults), "{}", story.name);
                met += 1;
            }
            (Finds::Nothing { worlds: Some(_) }, None) => proved += 1,
            (par, took) => panic!("{}: {par:?}, but {took:?}", story.name),
        }
    }
    assert!(met > 2 && proved > 1);
}

#[test]
fn hints_lead_through_a_reseed_and_no_other_command_is_allowed() {
    let pinned = include_str!("../../scenarios/search/13a-reseeded-while-it-is-there.latchkey");
    let protocol = pinned.split("\nschedule").next().unwrap();
    let text = protocol.replace(
        "finds: the schedule",
        "finds: 6 steps, 1 fault\n  challenge",
    );
    let mut session = Session::new(&text, None).unwrap();
    let Finds::Steps { steps, faults } = session.challenge().unwrap().par else {
        panic!("the search finds something");
    };
    assert_eq!(follows_hints(&mut session), Some((steps, faults)));
    let typed = session.text();
    assert!(typed.contains("operator> SELECT MAX"), "{typed}");
    assert!(typed.contains("operator> SET fence:sku-1"), "{typed}");
    // Only what was read may be put back, and nothing else where nothing was read.
    let mut session = Session::new(&text, None).unwrap();
    let set = Msg::TypeAction("operator> SET fence:sku-1 5".to_string());
    let other = Msg::TypeAction("operator> SET fence:sku-1 6".to_string());
    does(&mut session, other.clone());
    assert_eq!(session.challenge().unwrap().standing.left, None);
    does(&mut session, Msg::Undo);
    let read = "operator> SELECT MAX(fence_token) FROM inventory";
    does(&mut session, Msg::TypeAction(read.to_string()));
    let allows = |session: &Session| session.challenge().unwrap().standing.left.is_some();
    assert!(allows(&session));
    does(&mut session, other.clone());
    assert!(!allows(&session));
    does(&mut session, Msg::Undo);
    does(&mut session, set);
    assert!(allows(&session));
    // One reseed is allowed, not two; a look is no reseed.
    does(&mut session, Msg::TypeAction(read.to_string()));
    assert!(allows(&session));
    does(&mut session, other);
    assert!(!allows(&session));
}

#[test]
fn what_is_typed_in_a_challenge_is_judged_by_what_it_does() {
    let check = |name: &str, typed: &[&str], expected: Result<(u32, u32), (usize, &str)>| {
        let mut session = challenge(name);
        for line in typed {
            does(&mut session, Msg::TypeAction((*line).to_string()));
        }
        let standing = session.challenge().unwrap().standing;
        let got = match &standing.beyond {
            None => Ok((standing.actions, standing.faults)),
            Some((place, why)) => Err((*place, why.as_str())),
        };
        assert_eq!(got, expected, "{name}: {typed:?}");
        assert_eq!(standing.left.is_some(), got.is_ok(), "{name}: {typed:?}");
    };
    let typed = "what is typed may look at everything, and change only what the bounds let happen by itself";
    let reseed = "4-seeded-again";
    // A look is free, whoever looks; so is what fails.
    check(
        "1-del",
        &[
            "A acquire",
            "operator> GET lock:report",
            "B> TTL lock:report",
        ],
        Ok((1, 0)),
    );
    check(
        reseed,
        &["operator> SELECT MAX(fence_token) FROM inventory"],
        Ok((0, 0)),
    );
    check(reseed, &["operator> INCR"], Ok((0, 0)));
    check(
        reseed,
        &["operator> SELECT * FROM inventory FOR UPDATE"],
        Ok((0, 0)),
    );
    // The loss of a key that may be lost is that loss, whoever types it.
    check(reseed, &["operator> DEL fence:sku-1"], Ok((1, 1)));
    check(
        reseed,
        &[
            "operator> DEL fence:sku-1",
            "A acquire",
            "operator> DEL fence:sku-1",
        ],
        Err((2, "more than the bounds allow (wipes: 1)")),
    );
    check(
        reseed,
        &["A acquire", "operator> DEL lock:sku-1"],
        Err((1, typed)),
    );
    check(reseed, &["operator> SET fence:sku-1 9"], Err((0, typed)));
    check(reseed, &["operator> BEGIN"], Err((0, typed)));
    check(
        "1-del",
        &["A acquire", "B> DEL lock:report"],
        Err((1, typed)),
    );
    check(
        "1-del",
        &["crash A"],
        Err((0, "more than the bounds allow (crashes: 0)")),
    );
    check(
        "1-del",
        &["A acquire", "clock +10001ms", "B acquire", "clock +10001ms"],
        Err((3, "more than the bounds allow (lapses: 1)")),
    );
}

#[test]
fn latches_do_not_count_and_what_is_not_allowed_does_not_pass() {
    let mut session = challenge("1-del");
    let counts = |session: &Session| {
        let standing = session.challenge().unwrap().standing;
        (standing.actions, standing.faults, standing.left.is_some())
    };
    press_step(&mut session, A);
    does(
        &mut session,
        Msg::TypeAction("pause A before work".to_string()),
    );
    assert_eq!(counts(&session), (1, 0, true));
    does(&mut session, Msg::TypeAction("clock +10001ms".to_string()));
    assert_eq!(counts(&session), (2, 1, true));
    let hint = session.hint();
    assert!(
        matches!(&hint, Some(Hint::Next(action, 4)) if action == "B acquire" || action == "C acquire"),
        "{hint:?}"
    );
    press_step(&mut session, B);
    // A second lapse is one too many, and nobody has an operator.
    for beyond in ["clock +10001ms", "operator> DEL lock:report", "crash A"] {
        does(&mut session, Msg::TypeAction(beyond.to_string()));
        assert!(!counts(&session).2, "{beyond}");
        assert_eq!(session.hint(), None);
        does(&mut session, Msg::Undo);
        assert!(counts(&session).2, "{beyond}");
    }
    assert_eq!(story("07a-split-acquire", None).challenge(), None);
}

#[test]
fn what_is_offered_by_name_is_what_can_be_done() {
    for name in [
        "07a-split-acquire",
        "10a-counter-wiped",
        "13c-two-tokens-in-flight",
    ] {
        for cursor in [0, 3, 7] {
            let session = story(name, Some(cursor));
            let offers = session.offers();
            let names: Vec<&str> = offers.iter().map(|offer| offer.name.as_str()).collect();
            let is_twice = |name: &&&str| names.iter().filter(|other| other == name).count() > 1;
            assert_eq!(names.iter().find(is_twice), None, "{name}");
            for offer in offers {
                let told = session.clone().update(offer.msg.clone());
                let refused = told.into_iter().find_map(|notice| match notice {
                    Notice::Refused(why) => Some(why),
                    Notice::Said(_) => None,
                });
                assert_eq!(
                    refused, offer.why_not,
                    "{name} after {cursor}: {}",
                    offer.name
                );
            }
        }
    }
    let session = story("07a-split-acquire", Some(2));
    let is_there = |name: &str, why_not: Option<&str>| {
        let offers = session.offers();
        let offer = offers.iter().find(|offer| offer.name == name).unwrap();
        assert_eq!(offer.why_not.as_deref(), why_not, "{name}");
    };
    is_there(
        "Step A: token",
        Some("A is paused before token: resume A first"),
    );
    is_there("Resume A", None);
    is_there("Run B", None);
    is_there("Clock to the next deadline: +10\u{202f}001 ms", None);
    is_there("Reseed fence:sku-1 from the table", None);
    is_there("Undo", Some("there is nothing to undo"));
}

#[test]
fn names_are_found_by_what_they_begin_with_and_by_their_words() {
    let check =
        |typed: &str, expected| assert_eq!(super::fit("Step A: token", typed), expected, "{typed}");
    check("", Some(0));
    check("step A", Some(0));
    check("tok st", Some(1));
    check("a step", Some(1));
    check("ken", Some(2));
    check("ken b", None);
    assert_eq!(super::fit("Step Größe: ÄNDERN", "änd GRÖ"), Some(1));
}

#[test]
fn a_belief_whose_time_is_over_is_told_in_the_past() {
    let mut session = fresh("07a-split-acquire");
    let told = |session: &Session| session.belief_until(A, b"lock:sku-1");
    assert_eq!(told(&session), None);
    press_step(&mut session, A);
    assert_eq!(told(&session).as_deref(), Some(" until 10.000\u{a0}s"));
    let mut later = |milliseconds| {
        does(&mut session, Msg::Act(Action::Advance { milliseconds }));
        told(&session).unwrap()
    };
    assert_eq!(later(10_000), " until 10.000\u{a0}s");
    let over = ", though by its own clock its time ended at 10.000\u{a0}s";
    assert_eq!([later(1), later(40_000)], [over, over]);
}

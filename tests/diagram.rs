//! The space-time picture: what is drawn for a schedule, and that a window, a longer and a shorter schedule show the same.

#![allow(clippy::unwrap_used)]

use std::path::Path;

use latchkey::diagram::{Diagram, Kind, Part, Picture, Shown, lane_name};
use latchkey::scenario;
use latchkey::sim::action::{Action, ClientId, ClockOf, LatchPoint, ServerId};
use latchkey::sim::client::Place;
use latchkey::sim::setup::Setup;
use latchkey::sim::world::World;
use latchkey::timeline::Timeline;
use proptest::prelude::*;

/// Reads a scenario and plays its schedule.
fn play(text: &str) -> Timeline {
    let reading = scenario::read(text).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
    Timeline::replay(
        reading.setup,
        reading.schedule.into_iter().map(|line| line.action),
    )
}

/// Draws the first so many actions.
fn draw(timeline: &Timeline, actions: usize) -> Diagram {
    let mut diagram = Diagram::new(timeline.setup());
    for entry in &timeline.entries()[..actions] {
        diagram.extend(timeline.setup(), entry);
    }
    diagram
}

fn whole(diagram: &Diagram) -> Picture {
    diagram.visible(i32::MIN / 2, i32::MAX / 2, diagram.len())
}

/// The picture as text: its lanes, and a line for each row and for each part that begins in it.
///
/// ```text
/// 72 pause A before token
///   89..409 A: Paused 'paused before token' "A was paused before token, until it was resumed at 10.001 s."
/// ```
fn dump(diagram: &Diagram, setup: &Setup) -> String {
    let mut picture = whole(diagram);
    picture.parts.sort_by_key(|shown| shown.id);
    let lanes: Vec<String> = diagram
        .lanes()
        .iter()
        .map(|lane| lane_name(setup, *lane))
        .collect();
    let mut lines = vec![lanes.join(" | ")];
    let parts_of = |action: Option<usize>| {
        picture
            .parts
            .iter()
            .filter(move |shown| shown.part.action == action)
    };
    lines.extend(parts_of(None).map(|shown| line(diagram, setup, shown)));
    for row in &picture.rows {
        let time = row
            .time
            .as_ref()
            .map_or(String::new(), |time| format!(" [{time}]"));
        lines.push(format!("{}{time} {:?}: {}", row.top, row.kind, row.label));
        lines.extend(parts_of(Some(row.action)).map(|shown| line(diagram, setup, shown)));
    }
    lines.push(format!("{} end", picture.height));
    lines.join("\n") + "\n"
}

fn line(diagram: &Diagram, setup: &Setup, shown: &Shown) -> String {
    let part = &shown.part;
    let place = match (part.is_bar(), shown.top == shown.bottom) {
        (true, _) if part.end.is_none() => format!("{}..…", shown.top),
        (false, true) => shown.top.to_string(),
        _ => format!("{}..{}", shown.top, shown.bottom),
    };
    let lane = lane_name(setup, part.lane);
    let to = if part.to == part.lane {
        String::new()
    } else {
        format!(" -> {}", lane_name(setup, part.to))
    };
    let debug = format!("{:?}", part.kind);
    let kind: String = debug
        .chars()
        .take_while(|character| character.is_alphanumeric())
        .collect();
    let token = part
        .token
        .map_or(String::new(), |token| format!(" ({token})"));
    let details = match &part.kind {
        Kind::Write { details, .. } => format!(" {details:?}"),
        _ => String::new(),
    };
    let sentence = diagram.sentence(setup, shown.id);
    format!(
        "  {place} {lane}{to}: {kind} '{}'{token}{details} \"{sentence}\"",
        part.label
    )
}

/// A scenario, and behind a line of `====` the picture of its schedule. With UPDATE_DIAGRAMS=1 the picture is written instead of
/// compared.
fn check(path: &Path) -> Result<(), String> {
    let file = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let (text, expected) = file.split_once("====\n").unwrap_or((&file, ""));
    let timeline = play(text);
    let drawn = dump(&draw(&timeline, timeline.len()), timeline.setup());
    if std::env::var_os("UPDATE_DIAGRAMS").is_some() {
        return std::fs::write(path, format!("{text}====\n{drawn}"))
            .map_err(|error| error.to_string());
    }
    match drawn
        .lines()
        .zip(expected.lines())
        .find(|(drawn, expected)| drawn != expected)
    {
        Some((drawn, expected)) => Err(format!(
            "{}\n  expected {expected}\n  drawn    {drawn}",
            path.display()
        )),
        None if drawn != expected => Err(format!("{}: not as many lines", path.display())),
        None => Ok(()),
    }
}

#[test]
fn pictures_are_as_they_were() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/diagram");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().path())
        .collect();
    files.sort();
    assert_eq!(files.len(), 12, "a picture is missing or has no scenario");
    let wrong: Vec<String> = files.iter().filter_map(|file| check(file).err()).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Everything that a picture can show, for schedules that nobody thought of. The schedule's lines are what is typed at consoles.
const ANYTHING: &str = "\
table inventory (sku VARCHAR(32) PRIMARY KEY, qty INT NOT NULL, fence_token BIGINT NOT NULL)
  'sku-1', 10, 0

store
  SET other x PX 2000

watch lock lock, counter fence, fence inventory.fence_token, stock inventory.qty
watch lock second

protocol one
  acquire: SET lock {me} NX PX 1000
    on OK: holds lock for 1000ms
    on nil: retry after 300ms
    on no reply: start over after 10ms
  second: SET second {me} NX PX 700
    on OK: holds second for 700ms
    on nil: go to acquire
  token: INCR fence
    on {token}
  charge: CHARGE {me} 100
  begin: BEGIN
  write: UPDATE inventory SET qty = qty - 1, fence_token = {token} WHERE sku = 'sku-1' AND fence_token < {token}
    on 0 rows: abort with undo, release
  commit: COMMIT
  look: CHECK lock
    on lapsed: loses lock
  release: DEL lock second
  compensation undo: ROLLBACK

client A, B, C: one x3

schedule
  operator> SELECT qty FROM inventory
  operator> UPDATE inventory SET qty = 10
  A> BLPOP list 1
  operator> RPUSH list x
  operator> PEXPIRE lock 5000
  B> GET lock
";

fn in_protocol(step: u8) -> usize {
    usize::from(step % 10)
}

/// Plays what comes of some bytes: mostly the next step of a client, sometimes something else, also what is not possible.
fn improvise(bytes: &[(u8, u8)]) -> Timeline {
    let reading = scenario::read(ANYTHING).unwrap_or_else(|errors| panic!("{errors:?}"));
    let consoles: Vec<Action> = reading
        .schedule
        .into_iter()
        .map(|line| line.action)
        .collect();
    let mut timeline = Timeline::new(reading.setup);
    for (choice, more) in bytes {
        let world = timeline.moment(timeline.len()).world;
        let client = ClientId(usize::from(more % 3));
        let next = match world.clients[client.0].place {
            Place::Ready { step } | Place::InFlight { step, .. } => step,
            _ => in_protocol(*more),
        };
        let side = if more & 8 == 0 {
            LatchPoint::Before(next)
        } else {
            LatchPoint::After(next)
        };
        timeline.push(match choice % 32 {
            0..15 => Action::Step { client, step: next },
            15 => Action::Pause { client, at: None },
            16..19 => Action::Pause {
                client,
                at: Some(side),
            },
            19..22 => Action::Resume { client, at: None },
            22 => Action::Crash { client },
            23 => Action::Restart { client },
            24 => Action::LoseReply { client, step: next },
            25 => Action::Advance {
                milliseconds: u64::from(*more) * 10,
            },
            26 => Action::AdvanceToNextDeadline,
            27 => Action::ExpireNow {
                server: ServerId::FIRST,
                key: b"lock".to_vec(),
            },
            28 => Action::Wipe {
                server: ServerId::FIRST,
                key: if more % 2 == 0 {
                    b"fence".to_vec()
                } else {
                    b"second".to_vec()
                },
            },
            29 => Action::ClockJump {
                clock: match more % 3 {
                    0 => ClockOf::Database,
                    1 => ClockOf::Client(client),
                    _ => ClockOf::Server(ServerId::FIRST),
                },
                milliseconds: (i64::from(*more) - 128) * 10,
            },
            30 if more % 2 == 0 => Action::ClockRate {
                client,
                permille: 900 + u32::from(*more),
            },
            _ => consoles[usize::from(*more) % consoles.len()].clone(),
        });
    }
    timeline
}

/// The windows of a picture show what the whole shows there.
fn check_windows(diagram: &Diagram, windows: &[(u16, u16)]) {
    for (from, size) in windows {
        let (from, to) = (
            i32::from(*from) - 50,
            i32::from(*from) - 50 + i32::from(*size % 1000),
        );
        let cursor = usize::from(*size) % (diagram.len() + 1);
        let all = diagram.visible(i32::MIN / 2, i32::MAX / 2, cursor);
        let expected = Picture {
            rows: all
                .rows
                .into_iter()
                .filter(|row| row.top <= to && row.top + row.height >= from)
                .collect(),
            parts: all
                .parts
                .into_iter()
                .filter(|shown| shown.top <= to && shown.bottom >= from)
                .collect(),
            ..all
        };
        assert_eq!(diagram.visible(from, to, cursor), expected, "{from}..{to}");
    }
}

/// Each part stands in its row and says something; rows follow one another; what belongs together is found from both sides.
fn check_parts(diagram: &Diagram, setup: &Setup) {
    for action in 0..diagram.len() {
        let (top, bottom) = diagram.row_of(action).unwrap();
        assert_eq!(diagram.action_at(top), Some(action));
        assert_eq!(diagram.action_at(bottom - 1), Some(action));
        assert_eq!(diagram.height(action + 1), bottom);
    }
    for (id, part) in diagram.parts() {
        let (top, bottom) = part
            .action
            .map_or((0, 0), |action| diagram.row_of(action).unwrap());
        let end = if part.is_bar() { part.top } else { part.bottom };
        assert!(
            top <= part.top && part.top <= end && end <= bottom,
            "{part:?} in {top}..{bottom}"
        );
        if let (Some(end), false) = (part.end, matches!(part.kind, Kind::Carry { .. })) {
            let (top, bottom) = diagram.row_of(end.action).unwrap();
            assert!(
                part.top <= end.y && top <= end.y && end.y <= bottom,
                "{part:?}"
            );
        }
        let sentence = diagram.sentence(setup, id);
        assert!(
            sentence.ends_with('.') && sentence.len() > 5 && !sentence.contains('?'),
            "{sentence}"
        );
        let related = diagram.related(id);
        assert!(related.contains(&id));
        for cause in &part.causes {
            assert!(
                cause < &id && related.contains(cause) && diagram.related(*cause).contains(&id)
            );
        }
    }
}

/// What goes on in the picture is what is so in the world.
fn check_truth(diagram: &Diagram, setup: &Setup, world: &World) {
    let key = |lock: usize| &diagram.locks()[lock];
    let believes =
        |client: ClientId, lock: usize| world.clients[client.0].beliefs.contains_key(key(lock));
    let holds = |client: ClientId, lock: usize| {
        let name = format!("{}-", setup.clients[client.0].name);
        world
            .store(ServerId::FIRST)
            .get(key(lock))
            .is_some_and(|state| {
                state
                    .value
                    .as_string()
                    .is_some_and(|value| value.starts_with(name.as_bytes()))
            })
    };
    let count = |is: &dyn Fn(&Part) -> bool| {
        diagram
            .parts()
            .filter(|(_, part)| part.is_bar() && part.end.is_none() && is(part))
            .count()
    };
    for client in (0..setup.clients.len()).map(ClientId) {
        let state = &world.clients[client.0];
        for lock in 0..diagram.locks().len() {
            let beliefs = count(
                &|part| matches!(part.kind, Kind::Belief { client: of, lock: to, .. } if (of, to) == (client, lock)),
            );
            assert_eq!(beliefs, usize::from(believes(client, lock)), "belief");
            let gaps = count(&|part| part.kind == Kind::Gap { client, lock });
            assert_eq!(
                gaps,
                usize::from(believes(client, lock) && !holds(client, lock)),
                "gap"
            );
        }
        let paused = state.paused_at().map_or(0, |at| {
            count(&|part| part.kind == Kind::Paused { client, at })
        });
        let any_pause =
            count(&|part| matches!(part.kind, Kind::Paused { client: of, .. } if of == client));
        assert_eq!(
            (paused, any_pause),
            if state.paused_at().is_some() {
                (1, 1)
            } else {
                (0, 0)
            },
            "paused"
        );
        let crashed = count(&|part| part.kind == Kind::Crashed { client });
        assert_eq!(
            crashed,
            usize::from(state.place == Place::Crashed),
            "crashed"
        );
        let sleeps =
            count(&|part| matches!(part.kind, Kind::Sleep { client: of, .. } if of == client));
        assert_eq!(
            sleeps,
            usize::from(matches!(state.place, Place::Sleeping { .. })),
            "sleeps"
        );
        let who = latchkey::sim::action::Who::Client(client);
        let waits = count(&|part| matches!(part.kind, Kind::Wait { who: of, .. } if of == who));
        let blocked = matches!(state.place, Place::Blocked { .. }) || state.console_waits;
        assert_eq!(waits, usize::from(blocked), "waits");
    }
    for lock in 0..diagram.locks().len() {
        let leases = count(&|part| matches!(part.kind, Kind::Lease { lock: of, .. } if of == lock));
        assert_eq!(
            leases,
            usize::from(world.store(ServerId::FIRST).get(key(lock)).is_some()),
            "lease"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_schedule_is_drawn_truly(
        bytes in prop::collection::vec(any::<(u8, u8)>(), 1..150),
        windows in prop::collection::vec(any::<(u16, u16)>(), 8),
        cuts in prop::collection::vec(any::<u16>(), 4),
    ) {
        let timeline = improvise(&bytes);
        let setup = timeline.setup();
        let mut diagram = Diagram::new(setup);
        for (place, entry) in timeline.entries().iter().enumerate() {
            diagram.extend(setup, entry);
            check_truth(&diagram, setup, &timeline.moment(place + 1).world);
        }
        check_parts(&diagram, setup);
        check_windows(&diagram, &windows);
        for cut in cuts {
            let cut = usize::from(cut) % timeline.len();
            let mut shorter = diagram.clone();
            shorter.truncate(cut);
            assert_eq!(shorter, draw(&timeline, cut));
            for entry in &timeline.entries()[cut..] {
                shorter.extend(setup, entry);
            }
            assert_eq!(shorter, diagram);
            let halves = [diagram.as_table(setup, 0..cut), diagram.as_table(setup, cut..timeline.len())].concat();
            assert_eq!(halves, diagram.as_table(setup, 0..timeline.len()));
        }
    }
}

#[test]
fn every_story_is_drawn() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/stories");
    let mut drawn = 0;
    for file in std::fs::read_dir(folder).unwrap() {
        let timeline = play(&std::fs::read_to_string(file.unwrap().path()).unwrap());
        let diagram = draw(&timeline, timeline.len());
        check_parts(&diagram, timeline.setup());
        check_windows(&diagram, &[(50, 300), (400, 500), (900, 100)]);
        drawn += 1;
    }
    assert!(drawn > 0, "there is no story");
}

/// What a screen reader gets of these actions.
fn check_table(file: &str, actions: std::ops::Range<usize>, expected: &[&str]) {
    let file = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap();
    let timeline = play(file.split_once("====\n").unwrap().0);
    let table = draw(&timeline, timeline.len()).as_table(timeline.setup(), actions);
    let table: Vec<String> = table
        .iter()
        .map(|row| {
            format!(
                "{} {} {}: {} [{}]",
                row.action, row.time, row.who, row.what, row.verdict
            )
        })
        .collect();
    assert_eq!(table, expected);
}

#[test]
fn the_table_tells_what_the_picture_shows() {
    check_table(
        "tests/diagram/split-acquire.txt",
        1..4,
        &[
            "1 0.000 A: A was paused before token. []",
            "2 0.000 clock: 10.001 s passed. []",
            "2 10.000 A: By A's own clock its time with lock:sku-1 was over; nothing told it to look. []",
            "2 10.001 store: A's lease on lock:sku-1 lapsed. []",
            "2 10.001 A: A was a stale holder: it believed that it held lock:sku-1, and the store did not say so. \
             [stale holder]",
            "3 10.001 B: B sent acquire to the store: SET lock:sku-1 B-1 NX PX 10000. []",
            "3 10.001 store: The store leased lock:sku-1 to B until 20.001 s. []",
            "3 10.001 store: The store answered B's acquire with OK. []",
            "3 10.001 B: B believed that it held lock:sku-1, until 20.001 s by its own clock. []",
        ],
    );
    check_table(
        "tests/diagram/clock.txt",
        0..1,
        &[
            "0 0.000 store: The store leased lock:2 to somebody else until 700 ms. []",
            "0 0.000 A: A sent one to the store: SET lock:1 A-1 NX PX 1000. []",
            "0 0.000 store: The store leased lock:1 to A until 1 s. []",
            "0 0.000 store: The store answered A's one with OK. []",
            "0 0.000 A: A believed that it held lock:1, until 1 s by its own clock. []",
        ],
    );
}

/// A lock that only SQL statements take is no lease of the store's, so nobody is stale for want of one.
#[test]
fn nobody_is_stale_for_a_lock_that_is_a_row() {
    let gaps = |name: &str| {
        let story = scenario::library::story_named(name).unwrap();
        let timeline = play(story.text);
        let picture = whole(&draw(&timeline, timeline.len()));
        let gaps = picture.parts.iter();
        gaps.filter(|shown| matches!(shown.part.kind, Kind::Gap { .. }))
            .count()
    };
    assert_eq!(gaps("18b-laravel-database-lock"), 0);
    assert_eq!(gaps("18a-laravel-cache-lock"), 1);
}

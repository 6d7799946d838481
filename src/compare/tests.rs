//! Stories beside themselves with one thing changed.

use super::*;
use crate::scenario::library::story_named;

/// What is compared, at which line the two part with both replies, and lines that differ at the end.
struct Case {
    story: &'static str,
    change: Change,
    parts_at: Option<(&'static str, &'static str, &'static str)>,
    ends: &'static [(&'static str, &'static str)],
}

fn fence(fence: Fence) -> Change {
    Change::Fence {
        column: "fence_token".to_owned(),
        fence,
    }
}

fn protocol(from: &str, to: &str) -> Change {
    Change::Protocol {
        from: from.to_owned(),
        to: to.to_owned(),
    }
}

fn in_words(side: &Side) -> String {
    match side {
        Side::Done(reply) => reply.clone(),
        Side::LeftOut(why) => format!("left out: {why}"),
        Side::Absent => "absent".to_owned(),
    }
}

fn check(case: &Case) {
    let text = story_named(case.story).unwrap().text;
    let comparison = compare(text, &case.change).unwrap();
    let parts_at = comparison.parts_at.map(|place| {
        let row = &comparison.rows[place];
        let [left, right] = &row.sides;
        (row.line.clone(), in_words(left), in_words(right))
    });
    let expected = case
        .parts_at
        .map(|(line, left, right)| (line.to_owned(), left.to_owned(), right.to_owned()));
    assert_eq!(parts_at, expected, "{}", case.story);
    for (left, right) in case.ends {
        let pair = [left, right].map(|line| Some((*line).to_owned()));
        assert!(
            comparison.ends.contains(&pair),
            "{}: {pair:?} is not in {:#?}",
            case.story,
            comparison.ends
        );
    }
    // It is an ordinary scenario, and plays as it was played here.
    assert_eq!(
        scenario::check(&comparison.text).unwrap(),
        [],
        "{}:\n{}",
        case.story,
        comparison.text
    );
}

#[test]
fn stories_part_where_the_change_begins_to_count() {
    let cases = [
        Case {
            story: "05-lapse-with-fence",
            change: fence(Fence::None),
            parts_at: Some((
                "A write",
                "0 rows · rejected (fenced), stale",
                "1 row · accepted, stale",
            )),
            ends: &[(
                "holds: a stale write is never accepted after a newer holder's write",
                "broken: a stale write is never accepted after a newer holder's write",
            )],
        },
        // The same schedule with the atomic script: A's token is older than B's, and its write is fenced.
        Case {
            story: "07a-split-acquire",
            change: protocol("split-acquire", "atomic-acquire"),
            parts_at: Some(("B write", "1 row · accepted", "1 row · accepted")),
            ends: &[
                (
                    "broken: a stale write is never accepted after a newer holder's write",
                    "holds: a stale write is never accepted after a newer holder's write",
                ),
                (
                    "inventory 'sku-1': qty 8, fence_token 2",
                    "inventory 'sku-1': qty 9, fence_token 2",
                ),
            ],
        },
        // Equal tokens: `<` rejects the live holder, `<=` lets it pass.
        Case {
            story: "13a-token-in-flight",
            change: fence(Fence::LessOrEqual),
            parts_at: Some(("B write", "0 rows · rejected (fenced)", "1 row · accepted")),
            ends: &[],
        },
        // A was paused before its write; with one more step before that, it comes to the same latch, which is open by then.
        Case {
            story: "13a-token-in-flight",
            change: protocol("atomic-acquire", "split-acquire"),
            parts_at: Some(("B write", "0 rows · rejected (fenced)", "1 row · accepted")),
            ends: &[],
        },
        Case {
            story: "14a-del-frees-somebody-elses-lock",
            change: protocol("delete-without-looking", "compare-and-delete"),
            parts_at: Some(("A release", "1", "0")),
            ends: &[(
                "broken: only the owner releases or prolongs a lock",
                "holds: only the owner releases or prolongs a lock",
            )],
        },
        // What stopped it was the missing stock, and the fence would have let it pass.
        Case {
            story: "16a-charged-then-gone",
            change: fence(Fence::LessOrEqual),
            parts_at: None,
            ends: &[],
        },
        // It looks once more before it writes, and stops: the step is there, and the write is not.
        Case {
            story: "08-atomic-acquire",
            change: protocol("atomic-acquire", "checked-write"),
            parts_at: Some(("A look", "absent", "lapsed")),
            ends: &[],
        },
    ];
    cases.iter().for_each(check);
}

#[test]
fn every_story_can_be_compared_and_opened() {
    for story in crate::scenario::library::stories() {
        let reading = scenario::read(story.text).unwrap();
        let changes = Change::all(story.text, &reading);
        let is_fence = |change: &&Change| matches!(change, Change::Fence { .. });
        let first_protocol = changes.iter().find(|change| !is_fence(change));
        for change in changes.iter().filter(is_fence).chain(first_protocol) {
            let name = format!("{}: {}", story.name, change.in_words());
            let comparison =
                compare(story.text, change).unwrap_or_else(|errors| panic!("{name}: {errors:?}"));
            let differences = scenario::check(&comparison.text)
                .unwrap_or_else(|errors| panic!("{name}: {errors:?}\n{}", comparison.text));
            assert_eq!(differences, [], "{name}\n{}", comparison.text);
        }
    }
}

/// What is chosen first parts the schedules where anything does, and nothing is offered that cannot run.
#[test]
fn what_changes_something_is_offered_first() {
    let check = |story: &str, first: &str, last: &str, never: &[&str]| {
        let text = story_named(story).unwrap().text;
        let reading = scenario::read(text).unwrap();
        let words = |changes: &[Change]| changes.iter().map(Change::in_words).collect::<Vec<_>>();
        let offered = words(&choices(text, &reading));
        assert!(
            offered.first().is_some_and(|it| it == first),
            "{story}: {offered:?}"
        );
        assert!(
            offered.last().is_some_and(|it| it == last),
            "{story}: {offered:?}"
        );
        let all = words(&Change::all(text, &reading));
        for name in never {
            assert!(
                all.iter().any(|it| it == name) && !offered.iter().any(|it| it == name),
                "{story}: {offered:?}"
            );
        }
    };
    // No stock is left, whatever the fence says.
    check(
        "09-last-unit-hides-the-fence",
        "the protocol atomic-acquire",
        "no fence",
        &["the protocol guarded-acquire"],
    );
    check(
        "05-lapse-with-fence",
        "no fence",
        "the fence fence_token <= {token}",
        &[],
    );
    check(
        "16a-charged-then-gone",
        "the protocol checkout",
        "no fence",
        &[],
    );
}

//! Why a property was broken: what led to it, from cause to effect, in the sentences of the picture.

use crate::property::Break;
use crate::sim::action::{ClientId, Who};
use crate::sim::setup::Setup;

use super::Diagram;
use super::part::{Holder, Kind, LeaseEnd, Part, TokenPlace};

/// The most causes that are told; the latest of them.
const MOST_CAUSES: usize = 12;

impl Diagram {
    /// What led to a break, in order, each with the place of its action: what was believed, what was true, which tokens and writes
    /// came of it; the break itself is the last.
    pub fn why(&self, setup: &Setup, found: &Break) -> Vec<(usize, String)> {
        let teller = self.teller(setup);
        let before = self
            .parts
            .iter()
            .filter_map(|part| Some((part.action?, part)));
        let mut causes: Vec<(usize, String)> = before
            .filter(|(action, part)| *action <= found.action && leads_to(part, &found.clients))
            .map(|(action, part)| (action, teller.told(part) + "."))
            .collect();
        causes.dedup();
        causes.drain(..causes.len().saturating_sub(MOST_CAUSES));
        causes.push((
            found.action,
            crate::words::sentence_of(setup, &found.because),
        ));
        causes
    }
}

/// Whether the part tells a belief, a truth or a deed of one of these clients, or a fault.
fn leads_to(part: &Part, involved: &[ClientId]) -> bool {
    let of = |client: &ClientId| involved.contains(client);
    match &part.kind {
        Kind::LeaseEnded {
            how: LeaseEnd::Released,
            ..
        } => false,
        Kind::LeaseEnded {
            holder: Holder::Client(client),
            ..
        }
        | Kind::Belief { client, .. }
        | Kind::Gap { client, .. }
        | Kind::Paused { client, .. }
        | Kind::Crashed { client }
        | Kind::Token {
            client,
            place: TokenPlace::Drawn,
            ..
        } => of(client),
        Kind::Write {
            who: Who::Client(client),
            ..
        }
        | Kind::Charge {
            who: Who::Client(client),
            ..
        }
        | Kind::Refund {
            who: Who::Client(client),
            ..
        } => of(client),
        Kind::Fault(_) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use crate::diagram::Diagram;
    use crate::property::{Break, Property, Verdict};
    use crate::scenario::library;
    use crate::timeline::Timeline;

    /// A property, how it is broken, and what led to it: actions with their sentences.
    type Why = (Property, Break, Vec<(usize, String)>);

    /// The story's breaks with what led to each.
    fn whys(text: &str) -> Vec<Why> {
        let reading = crate::scenario::read(text).unwrap();
        let actions = reading.schedule.iter().map(|line| line.action.clone());
        let timeline = Timeline::replay(reading.setup.clone(), actions);
        let mut diagram = Diagram::new(&reading.setup);
        for entry in timeline.entries() {
            diagram.extend(&reading.setup, entry);
        }
        let verdicts = timeline.verdicts(timeline.len()).into_iter();
        let broken = verdicts.filter_map(|(property, verdict)| match verdict {
            Verdict::Broken(found) => Some((property, found)),
            _ => None,
        });
        broken
            .map(|(property, found)| (property, found.clone(), diagram.why(&reading.setup, &found)))
            .collect()
    }

    #[test]
    fn the_stale_write_of_story_7_is_told_from_belief_to_effect() {
        let text = library::story_named("07a-split-acquire").unwrap().text;
        let whys = whys(text);
        let (_, _, why) = whys
            .iter()
            .find(|(property, ..)| *property == Property::NoStaleWrite)
            .unwrap();
        let told: Vec<String> = why
            .iter()
            .map(|(action, words)| format!("{} {words}", action + 1))
            .collect();
        let expected = [
            "1 A believed that it held lock:sku-1, until 10 s by its own clock.",
            "2 A was paused before token.",
            "3 A's lease on lock:sku-1 lapsed.",
            "3 A was a stale holder: it believed that it held lock:sku-1, and the store did not say so.",
            "4 B believed that it held lock:sku-1, until 20.001 s by its own clock.",
            "5 B drew fencing token 1 (fence:sku-1 none → 1).",
            "6 B's write with token 1 was accepted.",
            "8 A drew fencing token 2 (fence:sku-1 1 → 2).",
            "9 A's write with token 2 was accepted; A still believed that it held the lock, but its lease had lapsed at 10 s.",
            "9 A wrote with token 2 at 10.001 s although its lease had lapsed at 10 s and B, who took the lock after A, had already written \
             with token 1; the fence let it pass because 2 is greater than 1.",
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn every_break_of_every_story_has_its_causes_in_order() {
        for story in library::stories() {
            for (property, found, why) in whys(story.text) {
                let name = format!("{}: {}", story.name, property.sentence());
                assert!(why.len() > 1, "{name}: {why:?}");
                assert!(
                    why.is_sorted_by_key(|(action, _)| *action),
                    "{name}: {why:?}"
                );
                assert_eq!(
                    why.last().map(|(action, _)| *action),
                    Some(found.action),
                    "{name}"
                );
            }
        }
    }
}

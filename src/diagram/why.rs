//! Why a property was broken: what led to it, from cause to effect, in the sentences of the picture.

use crate::property::{Break, Property};
use crate::sim::action::{ClientId, Who};
use crate::sim::setup::Setup;

use super::Diagram;
use super::part::{Fault, Holder, Kind, Lane, LeaseEnd, Part, TokenPlace};

/// The most causes that are told; the latest of them.
const MOST_CAUSES: usize = 12;

impl Diagram {
    /// What led to a break, in order, each with the place of its action: what was believed, what was true, which tokens and writes
    /// came of it; the break itself is the last. What had no effect is left out, and no sentence comes twice in a row.
    pub fn why(&self, setup: &Setup, found: &Break) -> Vec<(usize, String)> {
        let teller = self.teller(setup);
        let leading = self.parts.iter().filter_map(|part| {
            let action = part.action.filter(|action| *action <= found.action)?;
            let counts = leads_to(part, &found.clients)
                && !is_itself(part, found)
                && !self.is_told_of_lease(part);
            counts.then_some((action, part))
        });
        let leading: Vec<(usize, &Part)> = leading.collect();
        let has_effect = |(place, cause): &(usize, &(usize, &Part))| match cause.1.kind {
            Kind::Paused { client, .. } => {
                self.had_begun(client, cause.0)
                    && pause_counts(cause, &leading[place + 1..], client)
            }
            _ => true,
        };
        let with_effect = leading.iter().enumerate().filter(has_effect);
        let mut causes: Vec<(usize, String)> = with_effect
            .map(|(_, (action, part))| (*action, teller.told(part) + "."))
            .collect();
        causes.push((
            found.action,
            crate::words::sentence_of(setup, &found.because),
        ));
        causes.dedup_by(|one, before| one.1 == before.1);
        causes.drain(..causes.len().saturating_sub(MOST_CAUSES + 1));
        causes
    }

    /// Whether a key went of which a lease tells, where it is of interest.
    fn is_told_of_lease(&self, fault: &Part) -> bool {
        use Fault::{Evict, Expire, Wipe};
        matches!(fault.kind, Kind::Fault(Expire(_) | Evict(_) | Wipe(_)))
            && self.parts.iter().any(|part| {
                part.action == fault.action && matches!(part.kind, Kind::LeaseEnded { .. })
            })
    }

    /// Whether the client had sent anything by this action.
    fn had_begun(&self, client: ClientId, action: usize) -> bool {
        self.parts.iter().any(|part| {
            part.action.is_some_and(|sent| sent <= action)
                && matches!(part.kind, Kind::Request { who: Who::Client(who), .. } if who == client)
        })
    }
}

/// Whether a pause had an effect: while the client waited something came to be otherwise.
fn pause_counts(
    (paused, pause): &(usize, &Part),
    after: &[(usize, &Part)],
    client: ClientId,
) -> bool {
    let until = pause.end.map_or(usize::MAX, |end| end.action);
    after
        .iter()
        .any(|(action, part)| (paused + 1..until).contains(action) && !is_deed_of(part, client))
}

/// Whether the client did or came to believe it.
fn is_deed_of(part: &Part, client: ClientId) -> bool {
    let who = match &part.kind {
        Kind::Write { who, .. } | Kind::Charge { who, .. } | Kind::Refund { who, .. } => *who,
        Kind::Belief { client, .. } | Kind::Token { client, .. } => Who::Client(*client),
        _ => return false,
    };
    who == Who::Client(client)
}

/// Whether it is the write that breaks the property, which the sentence of the break tells.
fn is_itself(part: &Part, found: &Break) -> bool {
    use Property::{LiveHolderNotFenced, NoStaleWrite};
    matches!(part.kind, Kind::Write { who: Who::Client(client), .. } if found.clients.first() == Some(&client))
        && part.action == Some(found.action)
        && matches!(found.property, NoStaleWrite | LiveHolderNotFenced)
}

/// Whether the part tells a belief, a truth or a deed of one of these clients, or a fault of theirs or of a server's.
fn leads_to(part: &Part, involved: &[ClientId]) -> bool {
    let of = |client: &ClientId| involved.is_empty() || involved.contains(client);
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
        Kind::Fault(Fault::Replicate(..)) => false,
        Kind::Fault(_) => match part.lane {
            Lane::Client(client) => of(&client),
            _ => true,
        },
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
            "9 A wrote with token 2 at 10.001 s although its lease had lapsed at 10 s and B, who took the lock after A, had already written \
             with token 1; the fence let it pass because 2 is greater than 1.",
        ];
        assert_eq!(told, expected);
    }

    /// A pause before anything else, one during which nothing happens, another client's crash, and a lease that lapses twice.
    #[test]
    fn what_had_no_effect_is_left_out() {
        let story = library::story_named("07a-split-acquire").unwrap().text;
        let (setup, _) = story.split_once("schedule\n").unwrap();
        let setup = setup.replace("client A, B:", "client A, B, C:");
        let schedule = "schedule\n  pause A before acquire\n  C acquire\n  crash C\n  expire lock:sku-1\n  resume A\n  A acquire\n  \
                        pause A before token\n  resume A\n  expire lock:sku-1\n  B acquire\n";
        let whys = whys(&(setup + schedule));
        let (_, _, why) = whys.first().unwrap();
        let told: Vec<String> = why
            .iter()
            .map(|(action, words)| format!("{} {words}", action + 1))
            .collect();
        let expected = [
            "6 A believed that it held lock:sku-1, until 10 s by its own clock.",
            "9 A's lease on lock:sku-1 ended, as its deadline was made to pass.",
            "9 A was a stale holder: it believed that it held lock:sku-1, and the store did not say so.",
            "10 B believed that it held lock:sku-1, until 10 s by its own clock.",
            "10 From 0 s on both A and B believed that they held lock:sku-1, though A's lease had been made to lapse at 0 s.",
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
                let twice = why.windows(2).find(|pair| pair[0].1 == pair[1].1);
                assert_eq!(twice, None, "{name}");
                let is_of_write = matches!(
                    property,
                    Property::NoStaleWrite | Property::LiveHolderNotFenced
                );
                let write = why.iter().find(|(action, words)| {
                    *action == found.action && words.split(' ').nth(1) == Some("write")
                });
                assert!(!is_of_write || write.is_none(), "{name}: {write:?}");
            }
        }
    }
}

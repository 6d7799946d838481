//! The judge forgets all that no later verdict depends on. Here it is compared with a reference that forgets nothing, over
//! random schedules, and with itself.

#![allow(
    clippy::unwrap_used,
    reason = "clippy takes only a plain `cfg(test)` for a test"
)]

use std::sync::{Arc, OnceLock};

use proptest::prelude::*;

use super::tests::{ALL_ROLES, SHOP};
use super::{Break, Judge, Property, Verdict};
use crate::scenario;
use crate::sim::action::{Action, ClientId, LatchPoint, ServerId, Who};
use crate::sim::client::Place;
use crate::sim::event::{Event, Fact};
use crate::sim::setup::Setup;
use crate::sim::step::{refusal, step};
use crate::sim::world::World;
use crate::sorted::SortedMap;

/// Every taking, draw and write of a schedule, numbered from its start.
#[derive(Default)]
struct History {
    takings: u32,
    current: SortedMap<ClientId, u32>,
    draws: Vec<(u32, i64)>,
    writes: Vec<(String, u32)>,
    unordered: bool,
    repeated: bool,
    stale: bool,
}

impl History {
    fn see(&mut self, event: &Event) {
        match &event.fact {
            Fact::KeyChanged {
                who: Some(Who::Client(client)),
                key,
                before,
                after,
                ..
            } if key == b"k" => match (before, after) {
                (_, None) => {
                    self.current.remove(client);
                }
                (None, Some(_)) => {
                    self.takings += 1;
                    self.current.insert(*client, self.takings);
                }
                _ => {}
            },
            Fact::KeyChanged {
                who: Some(Who::Client(client)),
                key,
                after: Some(after),
                ..
            } if key == b"c" => {
                let text = String::from_utf8_lossy(after.value.as_string().unwrap()).into_owned();
                self.draw(*client, text.parse().unwrap());
            }
            Fact::Wrote {
                who: Who::Client(client),
                write,
            } => {
                for row in write.rows.iter().filter(|row| row.changed) {
                    let row = row.before("sku").unwrap().to_literal();
                    self.write(*client, row);
                }
            }
            Fact::Ended { client, .. }
            | Fact::Crashed { client }
            | Fact::Started { client, .. } => {
                self.current.remove(client);
            }
            _ => {}
        }
    }

    fn draw(&mut self, client: ClientId, token: i64) {
        self.repeated |= self.draws.iter().any(|(_, drawn)| *drawn == token);
        let Some(&own) = self.current.get(&client) else {
            self.draws.push((0, token));
            return;
        };
        self.unordered |=
            self.draws
                .iter()
                .filter(|(other, _)| *other != 0)
                .any(|(other, drawn)| {
                    (*other < own && *drawn > token) || (*other > own && *drawn < token)
                });
        self.draws.push((own, token));
    }

    fn write(&mut self, client: ClientId, row: String) {
        if let Some(&own) = self.current.get(&client) {
            self.stale |= self
                .writes
                .iter()
                .any(|(other, newer)| *other == row && *newer > own);
            self.writes.push((row, own));
        }
    }
}

fn setup() -> Arc<Setup> {
    let clients = "client A: split sku=sku-1 x9\nclient B: atomic sku=sku-1 x9\nclient C: split sku=sku-3 x9\n\
                   client D: unfenced sku=sku-1 x9\nclient E: pay sku=sku-2 order=o x9\n";
    static SETUP: OnceLock<Arc<Setup>> = OnceLock::new();
    let read = || scenario::read(&format!("{SHOP}\n{ALL_ROLES}\n\n{clients}")).unwrap();
    SETUP.get_or_init(|| read().setup).clone()
}

/// One of the actions that are possible.
fn choose(setup: &Setup, world: &World, pick: u16) -> Action {
    let choices = choices(world);
    let from = usize::from(pick) % choices.len();
    let in_turn = choices[from..].iter().chain(&choices[..from]);
    in_turn
        .into_iter()
        .find(|action| refusal(setup, world, action).is_none())
        .unwrap()
        .clone()
}

/// What a client, or a fault, may do next; not all of it is possible.
fn choices(world: &World) -> Vec<Action> {
    let mut choices = vec![
        Action::AdvanceToNextDeadline,
        Action::Advance { milliseconds: 3000 },
        Action::ExpireNow {
            server: ServerId::FIRST,
            key: b"k".to_vec(),
        },
        Action::Wipe {
            server: ServerId::FIRST,
            key: b"c".to_vec(),
        },
    ];
    for (place, state) in world.clients.iter().enumerate() {
        let client = ClientId(place);
        match state.place {
            Place::Crashed => choices.push(Action::Restart { client }),
            Place::Ready { step } => {
                // Steps are the most of what happens.
                choices.extend(vec![Action::Step { client, step }; 4]);
                choices.push(Action::LoseReply { client, step });
                choices.push(Action::Pause {
                    client,
                    at: Some(LatchPoint::After(step)),
                });
                choices.push(Action::Crash { client });
            }
            _ => {}
        }
        choices.push(Action::Resume { client, at: None });
    }
    choices
}

fn break_of(judge: &Judge, setup: &Setup, property: Property) -> Option<Break> {
    let verdicts = judge.verdicts_so_far(setup);
    verdicts
        .into_iter()
        .find_map(|(other, verdict)| match verdict {
            Verdict::Broken(broken) if other == property => Some(broken),
            _ => None,
        })
}

/// Properties that nothing can put right once they are broken.
const FOR_GOOD: [Property; 9] = [
    Property::NoStaleWrite,
    Property::TokensInOrder,
    Property::TokensUnique,
    Property::LiveHolderNotFenced,
    Property::OneBeliever,
    Property::OwnerOnly,
    Property::LockHasDeadline,
    Property::StockNotNegative,
    Property::NoDoubleCharge,
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_judge_sees_what_a_whole_history_shows(picks in prop::collection::vec(any::<u16>(), 1..120)) {
        let setup = setup();
        let (mut world, events) = World::new(&setup);
        let mut judge = Judge::new(&setup);
        judge.observe(&setup, 0, &events, &world);
        let mut history = History::default();
        let mut broken: SortedMap<Property, Break> = SortedMap::new();
        for (place, pick) in picks.into_iter().enumerate() {
            let action = choose(&setup, &world, pick);
            let (next, events) = step(&setup, &world, &action);
            judge.observe(&setup, place, &events, &next);
            world = next;
            for event in &events {
                history.see(event);
            }
            for (property, expected) in [
                (Property::NoStaleWrite, history.stale),
                (Property::TokensInOrder, history.unordered),
                (Property::TokensUnique, history.repeated),
            ] {
                let got = break_of(&judge, &setup, property);
                prop_assert_eq!(got.is_some(), expected, "{:?} after {:?}: {:?}", property, action, got);
            }
            for property in FOR_GOOD {
                let now = break_of(&judge, &setup, property);
                let before = broken.get(&property);
                prop_assert!(before.is_none() || before == now.as_ref(), "{property:?}");
                broken.extend(now.map(|now| (property, now)));
            }
        }
    }

    /// A judge that hears and remembers only what some properties need breaks them exactly when a whole one does.
    #[test]
    fn a_judge_for_some_properties_breaks_them_when_a_whole_one_does(
        wanted in 1_u16..1 << Property::ALL.len(),
        keeps_numbers: bool,
        picks in prop::collection::vec(any::<u16>(), 1..120),
    ) {
        let setup = setup();
        let of = |only: Option<Property>| -> Vec<Property> {
            let chosen = |(place, _): &(usize, Property)| wanted >> place & 1 == 1;
            let all = Property::ALL.into_iter().enumerate().filter(chosen).map(|(_, property)| property);
            only.map_or_else(|| all.collect(), |property| vec![property])
        };
        let wholes = [None].into_iter().chain(of(None).into_iter().map(Some));
        let mut judges: Vec<(Vec<Property>, Judge)> = Vec::new();
        let (mut world, events) = World::new(&setup);
        let mut judge = Judge::new(&setup);
        judge.observe(&setup, 0, &events, &world);
        for only in wholes {
            let mut small = judge.clone();
            if keeps_numbers {
                small.keep_numbers();
            }
            small.remember_only(&of(only));
            judges.push((of(only), small));
        }
        for (place, pick) in picks.into_iter().enumerate() {
            let action = choose(&setup, &world, pick);
            let (next, events) = step(&setup, &world, &action);
            judge.observe(&setup, place, &events, &next);
            world = next;
            for (properties, small) in &mut judges {
                let heard: Vec<Event> = events
                    .iter()
                    .filter_map(|event| {
                        let fact = Judge::hears(&setup, &world.database, properties, &event.fact)?;
                        Some(Event { at: 0, fact })
                    })
                    .collect();
                if !heard.is_empty() {
                    let mut new = small.clone();
                    new.observe(&setup, 0, &heard, &world);
                    new.remember_only_of_new(properties);
                    small.observe(&setup, 0, &heard, &world);
                    small.remember_only(properties);
                    prop_assert_eq!(&new, &*small, "after {:?}", action);
                    *small = new;
                }
                for property in properties.iter() {
                    let whole = judge.breaks_any(&setup, &[*property]);
                    prop_assert_eq!(small.breaks_any(&setup, &[*property]), whole, "{:?} after {:?}", property, action);
                    prop_assert_eq!(break_of(&judge, &setup, *property).is_some(), whole);
                }
            }
        }
    }

    /// Two judges that are equal stay equal, whatever comes.
    #[test]
    fn equal_judges_stay_equal(wait in 0_u64..5000, picks in prop::collection::vec(any::<u16>(), 1..60)) {
        let setup = setup();
        let mut moments: Vec<(World, Judge)> = [0, wait]
            .into_iter()
            .map(|wait| {
                let (world, events) = World::new(&setup);
                let mut judge = Judge::new(&setup);
                judge.observe(&setup, 0, &events, &world);
                let (world, events) = step(&setup, &world, &Action::Advance { milliseconds: wait });
                judge.observe(&setup, 0, &events, &world);
                (world, judge)
            })
            .collect();
        for (place, pick) in picks.into_iter().enumerate() {
            let action = choose(&setup, &moments[0].0, pick);
            for (world, judge) in &mut moments {
                let (next, events) = step(&setup, world, &action);
                judge.observe(&setup, place, &events, &next);
                *world = next;
            }
            prop_assert_eq!(&moments[0].1, &moments[1].1, "after {:?}", action);
        }
    }
}

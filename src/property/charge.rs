//! Money: no charge for nothing, no order charged twice, nothing sold that is not paid.
//!
//! All three go by order, and an order may be several clients' work. What is owed is judged when every client that worked on the
//! order has ended its run, or the schedule ends.

use super::findings::{Findings, Here, name_of};
use super::places::{Marks, Places};
use super::told::Told;
use super::{Break, Property};
use crate::sim::action::{ClientId, Who};
use crate::sim::client::protocol::{Argument, Request};
use crate::sim::setup::Setup;
use crate::sim::time::in_words;
use crate::sorted::{SortedMap, SortedSet};

/// What is remembered of every order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct ChargeMemory {
    orders: SortedMap<String, Order>,
    /// Clients that sold units to no order although their protocol charges, in a run that goes on.
    nameless: SortedMap<ClientId, u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Order {
    /// Charges that were not given back, and who made them.
    standing: SortedMap<String, Charge>,
    /// Whether a charge was ever given back.
    refunded: bool,
    /// Whether it was ever charged.
    charged: bool,
    /// Units that it got.
    sold: u64,
    /// Clients that worked on it in a run that goes on.
    open: SortedSet<ClientId>,
    /// Those of them that crashed.
    crashed: SortedSet<ClientId>,
    last: Told<(usize, u64)>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Charge {
    by: Who,
    at: Told<u64>,
}

impl ChargeMemory {
    /// Clients change places.
    pub fn change_places(&mut self, places: Places<'_>) {
        places.map(&mut self.nameless);
        for order in self.orders.values_mut() {
            places.set(&mut order.open);
            places.set(&mut order.crashed);
            for charge in order.standing.values_mut() {
                charge.by = places.who(charge.by);
            }
        }
    }

    /// Takes up what is remembered of a client.
    pub fn mark(&self, client: ClientId, marks: &mut Marks<'_>) {
        marks.add(self.nameless.get(&client));
        for (name, order) in &self.orders {
            marks.add(name);
            marks.add(order.open.contains(&client));
            marks.add(order.crashed.contains(&client));
            let made = |charge: &&Charge| charge.by == Who::Client(client);
            marks.add(order.standing.values().filter(made).count());
        }
    }

    /// A card was charged.
    pub fn charged(
        &mut self,
        here: Here<'_>,
        findings: &mut Findings,
        who: Who,
        charge: &str,
        name: &str,
    ) {
        let order = self.worked_on(here, who, name);
        let by = here.who(who);
        if let Some((earlier, made)) = order.standing.iter().next() {
            let because = format!(
                "{name} was charged twice: {} made {earlier} at {}, and {by} made {charge} at {} while {earlier} still stood.",
                here.who(made.by),
                in_words(made.at.0),
                here.time()
            );
            let clients = [made.by, who].into_iter().filter_map(client_of).collect();
            findings.broke(here, Property::NoDoubleCharge, clients, Vec::new(), because);
        } else if order.charged {
            findings.tested(Property::NoDoubleCharge, || {
                format!(
                    "{by} charged {name} again only after the earlier charge had been given back."
                )
            });
        }
        order.charged = true;
        order.standing.insert(
            charge.to_string(),
            Charge {
                by: who,
                at: Told(here.at),
            },
        );
    }

    /// The gateway recognised an idempotency key.
    pub fn repeated(
        &mut self,
        here: Here<'_>,
        findings: &mut Findings,
        who: Who,
        charge: &str,
        name: &str,
    ) {
        self.worked_on(here, who, name);
        findings.tested(Property::NoDoubleCharge, || {
            format!(
                "{} asked to charge {name} again, and by the idempotency key the gateway gave it the earlier {charge}.",
                here.who(who)
            )
        });
    }

    /// A charge was given back.
    pub fn refunded(
        &mut self,
        here: Here<'_>,
        findings: &mut Findings,
        who: Who,
        charge: &str,
        name: &str,
    ) {
        let order = self.worked_on(here, who, name);
        order.standing.remove(charge);
        order.refunded = true;
        if order.sold > 0 && order.standing.is_empty() {
            findings.broke(
                here,
                Property::SoldIsPaid,
                client_of(who).into_iter().collect(),
                Vec::new(),
                format!(
                    "{} gave {charge} back at {}, but {name} had been sold by then, and no other charge pays for it.",
                    here.who(who),
                    here.time()
                ),
            );
        }
    }

    /// Units went to an order.
    pub fn sold(&mut self, here: Here<'_>, client: ClientId, units: u64, name: Option<&str>) {
        match name {
            Some(name) => {
                let order = self.worked_on(here, Who::Client(client), name);
                order.sold = order.sold.saturating_add(units);
            }
            None if charges(here.setup, client) => {
                let sold = self.nameless.or_default(client);
                *sold = sold.saturating_add(units);
            }
            None => {}
        }
    }

    fn worked_on(&mut self, here: Here<'_>, who: Who, name: &str) -> &mut Order {
        let order = self.orders.or_default(name.to_string());
        order.open.extend(client_of(who));
        order.last = Told((here.action, here.at));
        order
    }

    /// A client's run ended: its orders are judged where nobody else is at work on them.
    pub fn run_ended(&mut self, here: Here<'_>, findings: &mut Findings, client: ClientId) {
        if self.nameless.remove(&client).is_some() {
            findings.broke(
                here,
                Property::SoldIsPaid,
                vec![client],
                Vec::new(),
                format!(
                    "{} ended at {} after it had sold a unit for which it charged nobody.",
                    here.name(client),
                    here.time()
                ),
            );
        }
        for (name, order) in self.orders.iter_mut() {
            order.crashed.remove(&client);
            if order.open.remove(&client) && order.open.is_empty() {
                judge(here, findings, name, order, client);
            }
        }
    }

    /// A client crashed; it may be restarted, and go on with its orders.
    pub fn crashed(&mut self, client: ClientId) {
        for order in self.orders.values_mut() {
            if order.open.contains(&client) {
                order.crashed.insert(client);
            }
        }
    }

    /// A crashed client begins anew.
    pub fn restarted(&mut self, client: ClientId) {
        for order in self.orders.values_mut() {
            order.crashed.remove(&client);
        }
    }

    /// The break of a property that there is if nobody goes on: with `ended`, as if the schedule ended here; else only where
    /// all who were at work have ended or crashed.
    pub fn open_break(&self, setup: &Setup, property: Property, ended: bool) -> Option<Break> {
        self.orders
            .iter()
            .filter(|(_, order)| ended || order.open.is_subset(&order.crashed))
            .find_map(|(name, order)| open_break(setup, property, name, order))
    }

    /// Clients that are at work on an order for which the property is not settled, and that live.
    pub fn at_work(&self, setup: &Setup, property: Property) -> SortedSet<ClientId> {
        self.orders
            .iter()
            .filter(|(name, order)| open_break(setup, property, name, order).is_some())
            .flat_map(|(_, order)| order.open.difference(&order.crashed))
            .copied()
            .collect()
    }

    /// What put the property to the test, where all is well: an order that got what it paid for.
    pub fn fulfilment(&self, property: Property) -> Option<String> {
        self.orders.iter().find_map(|(name, order)| {
            match (property, order.standing.keys().next(), order.sold) {
                (_, Some(charge), 1..) => Some(format!(
                    "{charge} was charged for {name}, and {name} was sold."
                )),
                (Property::NoChargeForNothing, None, _) if order.refunded => {
                    Some(format!("{name}'s charge was given back."))
                }
                _ => None,
            }
        })
    }
}

/// Judges an order on which nobody is at work any more; `client` was the last.
fn judge(here: Here<'_>, findings: &mut Findings, name: &str, order: &Order, client: ClientId) {
    let ended = here.name(client);
    if order.refunded && order.standing.is_empty() {
        findings.tested(Property::NoChargeForNothing, || {
            format!("{name}'s charge was given back.")
        });
    }
    match (order.standing.iter().next(), order.sold) {
        (Some((charge, made)), 0) => findings.broke(
            here,
            Property::NoChargeForNothing,
            client_of(made.by).into_iter().collect(),
            Vec::new(),
            format!(
                "{} charged {name} at {} ({charge}); when {ended} ended at {}, {name} had got nothing, and the charge still stood.",
                here.who(made.by),
                in_words(made.at.0),
                here.time()
            ),
        ),
        (None, 1..) if order.charged || somebody_charges(here.setup) => findings.broke(
            here,
            Property::SoldIsPaid,
            vec![client],
            Vec::new(),
            format!(
                "{name} was sold, and when {ended} ended at {} no charge paid for it.",
                here.time()
            ),
        ),
        (Some((charge, _)), 1..) => {
            for property in [Property::NoChargeForNothing, Property::SoldIsPaid] {
                findings.tested(property, || {
                    format!("{charge} was charged for {name}, and {name} was sold.")
                });
            }
        }
        (None, _) => {}
    }
}

fn open_break(setup: &Setup, property: Property, name: &str, order: &Order) -> Option<Break> {
    let at_work: Vec<&str> = order
        .open
        .iter()
        .map(|client| name_of(setup, *client))
        .collect();
    let state = match at_work.as_slice() {
        [] => String::new(),
        [one] => format!(", and {one} has not finished"),
        many => format!(", and {} have not finished", many.join(" and ")),
    };
    let because = match (property, order.standing.keys().next(), order.sold) {
        (Property::NoChargeForNothing, Some(charge), 0) => {
            format!("{name} was charged ({charge}) and has got nothing{state}.")
        }
        (Property::SoldIsPaid, None, 1..) if order.charged || somebody_charges(setup) => {
            format!("{name} was sold and no charge pays for it{state}.")
        }
        _ => return None,
    };
    let (action, at) = order.last.0;
    Some(Break {
        property,
        action,
        at,
        clients: order.open.iter().copied().collect(),
        tokens: Vec::new(),
        because,
    })
}

fn client_of(who: Who) -> Option<ClientId> {
    match who {
        Who::Client(client) => Some(client),
        Who::Operator => None,
    }
}

/// Whether the client's protocol charges cards.
fn charges(setup: &Setup, client: ClientId) -> bool {
    setup
        .steps_of(client)
        .iter()
        .any(|step| is_charge(&step.request))
}

/// Whether any client's protocol charges cards.
pub(super) fn somebody_charges(setup: &Setup) -> bool {
    (0..setup.clients.len()).any(|client| charges(setup, ClientId(client)))
}

fn is_charge(request: &Request) -> bool {
    match request {
        Request::Gateway(arguments) => matches!(
            arguments.first(),
            Some(Argument::Literal(verb)) if verb.eq_ignore_ascii_case(b"CHARGE")
        ),
        _ => false,
    }
}

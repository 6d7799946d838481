//! What is on stock: never less than nothing, and as many units fewer as were sold.
//!
//! Stock is taken by a statement and sold by a reply's `sells`, so that the two differ while a client has not seen the reply to its
//! write; they are compared when nobody is between the two. What is typed at a console is neither bought nor sold: it only
//! changes what the count starts from.

use super::findings::{Findings, Here, name_of};
use super::ledger::RowWrite;
use super::places::{Marks, Places};
use super::told::Told;
use super::{Break, Property, Role};
use crate::sim::action::{ClientId, Who};
use crate::sim::client::protocol::{Effect, Request, Step};
use crate::sim::setup::Setup;
use crate::sorted::{SortedMap, SortedSet};

/// What is remembered of the watched stock, of all watched columns together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct StockMemory {
    /// Units that a client's statements took and that it has not sold; negative: sold and not taken.
    balance: SortedMap<ClientId, i64>,
    /// Clients whose write was accepted and who have not seen the reply.
    waiting: SortedSet<ClientId>,
    /// Clients that took or sold units in a run that goes on, and may still settle the two.
    open: SortedSet<ClientId>,
    /// Clients that crashed before they settled.
    crashed: SortedSet<ClientId>,
    /// Of those, the ones that began anew and whose run goes on.
    recovering: SortedSet<ClientId>,
    /// Whether any unit was taken or sold.
    moved: bool,
    told: Told<Figures>,
}

#[derive(Clone, Debug, Default)]
struct Figures {
    sold: u64,
    taken: i64,
    outside: i64,
    last: Option<(usize, u64)>,
}

impl StockMemory {
    /// Clients change places.
    pub fn change_places(&mut self, places: Places<'_>) {
        places.map(&mut self.balance);
        for clients in [
            &mut self.waiting,
            &mut self.open,
            &mut self.crashed,
            &mut self.recovering,
        ] {
            places.set(clients);
        }
    }

    /// Takes up what is remembered of a client.
    pub fn mark(&self, client: ClientId, marks: &mut Marks<'_>) {
        marks.add(self.balance.get(&client));
        for clients in [&self.waiting, &self.open, &self.crashed, &self.recovering] {
            marks.add(clients.contains(&client));
        }
    }

    /// Forgets whether anything moved, and where it is not compared with sales all the rest.
    pub fn remember_only(&mut self, balance: bool) {
        self.moved = false;
        if !balance {
            *self = StockMemory::default();
        }
    }

    /// A committed statement changed units of stock from `before` to `after` in a row.
    pub fn wrote(
        &mut self,
        here: Here<'_>,
        findings: &mut Findings,
        who: Who,
        at_console: bool,
        row: &RowWrite,
        (before, after): (i64, i64),
    ) {
        judge_sign(here, findings, who, row, before, after);
        let taken = before.saturating_sub(after);
        match who {
            Who::Client(client) if !at_console => {
                self.change_balance(client, taken);
                self.waiting.insert(client);
                self.open.insert(client);
                self.told.0.taken = self.told.0.taken.saturating_add(taken);
                self.told.0.last = Some((here.action, here.at));
                self.moved = true;
            }
            _ => self.told.0.outside = self.told.0.outside.saturating_sub(taken),
        }
    }

    /// A committed statement was rejected, or touched no unit.
    pub fn rejected(&mut self, here: Here<'_>, findings: &mut Findings, who: Who, row: &RowWrite) {
        let missing = row
            .conditions
            .iter()
            .find(|condition| condition.role == Role::Stock && condition.outcome != Some(true));
        if let Some(condition) = missing {
            findings.tested(Property::StockNotNegative, || {
                format!(
                    "{} asked for more than there was in {}, and {} stopped it.",
                    here.who(who),
                    row.label,
                    condition.text
                )
            });
        }
    }

    /// A client counts units as sold.
    pub fn sold(&mut self, here: Here<'_>, client: ClientId, units: u64) {
        self.change_balance(client, 0i64.saturating_sub_unsigned(units));
        self.open.insert(client);
        self.moved = true;
        self.told.0.sold = self.told.0.sold.saturating_add(units);
        self.told.0.last = Some((here.action, here.at));
    }

    /// Whether a client has written and not seen the reply.
    pub fn waits(&self, client: ClientId) -> bool {
        self.waiting.contains(&client)
    }

    /// A client saw the reply to a step; a lost one tells it nothing.
    pub fn saw(&mut self, client: ClientId) {
        self.waiting.remove(&client);
    }

    /// A client's run ended: whatever it has not settled, it never will.
    pub fn run_ended(&mut self, client: ClientId) {
        self.waiting.remove(&client);
        self.open.remove(&client);
        self.recovering.remove(&client);
    }

    /// A client crashed; it may be restarted, and settle.
    pub fn crashed(&mut self, client: ClientId) {
        self.recovering.remove(&client);
        if self.balance.contains_key(&client) {
            self.crashed.insert(client);
        }
    }

    /// A crashed client begins anew.
    pub fn restarted(&mut self, client: ClientId) {
        if self.crashed.remove(&client) {
            self.waiting.remove(&client);
            self.recovering.insert(client);
        }
    }

    fn change_balance(&mut self, client: ClientId, by: i64) {
        let balance = self.balance.or_default(client);
        *balance = balance.saturating_add(by);
        if *balance == 0 {
            self.balance.remove(&client);
        }
    }

    /// Who may still settle: `holding` are clients whose transactions hold uncommitted writes on the stock.
    fn unsettled(&self, setup: &Setup, holding: &SortedSet<ClientId>) -> SortedSet<ClientId> {
        let open = self
            .open
            .iter()
            .filter(|client| self.balance.contains_key(client) && sells_elsewhere(setup, **client));
        self.waiting
            .iter()
            .chain(open)
            .chain(holding)
            .chain(&self.crashed)
            .chain(&self.recovering)
            .copied()
            .collect()
    }

    fn gap(&self) -> i64 {
        self.balance
            .values()
            .fold(0, |sum: i64, balance| sum.saturating_add(*balance))
    }

    /// At the end of an action: compares stock with sales where nobody is between the two.
    pub fn settle(&self, here: Here<'_>, findings: &mut Findings, holding: &SortedSet<ClientId>) {
        if self.gap() != 0 && self.unsettled(here.setup, holding).is_empty() {
            findings.broke(
                here,
                Property::StockEqualsSold,
                self.balance.keys().copied().collect(),
                Vec::new(),
                self.difference(here.setup),
            );
        }
    }

    /// The break that there is if nobody settles any more what is open.
    pub fn unsettled_break(&self, setup: &Setup) -> Option<Break> {
        let (action, at) = self.told.0.last.unwrap_or_default();
        (self.gap() != 0).then(|| Break {
            property: Property::StockEqualsSold,
            action,
            at,
            clients: self.balance.keys().copied().collect(),
            tokens: Vec::new(),
            because: self.difference(setup),
        })
    }

    /// Clients that may still settle what they took and sold, as long as they live.
    pub fn unsettled_and_alive(
        &self,
        setup: &Setup,
        holding: &SortedSet<ClientId>,
    ) -> SortedSet<ClientId> {
        self.unsettled(setup, holding)
            .difference(&self.crashed)
            .copied()
            .collect()
    }

    /// Whether any unit was taken or sold.
    pub fn moved(&self) -> bool {
        self.moved
    }

    /// The agreement of stock and sales, in a sentence.
    pub fn agreement(&self) -> String {
        let figures = &self.told.0;
        format!(
            "{}, and the stock is lower by as many{}.",
            units(figures.sold, "was sold", "were sold"),
            outside(figures.outside)
        )
    }

    fn difference(&self, setup: &Setup) -> String {
        let figures = &self.told.0;
        let blame: Vec<String> = self
            .balance
            .iter()
            .map(|(client, balance)| {
                let name = name_of(setup, *client);
                match balance {
                    1.. => format!(
                        "{name} took {} more than it sold",
                        units(balance.unsigned_abs(), "", "").trim_end()
                    ),
                    _ => format!(
                        "{name} sold {} more than it took",
                        units(balance.unsigned_abs(), "", "").trim_end()
                    ),
                }
            })
            .collect();
        let fewer = match figures.taken {
            0 => "the stock is what it was".to_string(),
            taken @ 1.. => format!("the stock is lower by {taken}"),
            taken => format!("the stock is higher by {}", taken.unsigned_abs()),
        };
        format!(
            "{}, and {fewer}{}: {}.",
            units(figures.sold, "was sold", "were sold"),
            outside(figures.outside),
            blame.join(", and ")
        )
    }
}

fn units(count: u64, one: &str, many: &str) -> String {
    match count {
        1 => format!("1 unit {one}"),
        count => format!("{count} units {many}"),
    }
}

fn outside(units: i64) -> String {
    match units {
        0 => String::new(),
        units @ 1.. => format!(" (not counting {units} that somebody put there at a console)"),
        units => format!(
            " (not counting {} that somebody took away at a console)",
            units.unsigned_abs()
        ),
    }
}

fn judge_sign(
    here: Here<'_>,
    findings: &mut Findings,
    who: Who,
    row: &RowWrite,
    before: i64,
    after: i64,
) {
    if after < 0 {
        findings.broke(
            here,
            Property::StockNotNegative,
            client_of(who).into_iter().collect(),
            Vec::new(),
            format!(
                "{}'s write at {} took the stock of {} from {before} to {after}.",
                here.who(who),
                here.time(),
                row.label
            ),
        );
    } else if after == 0 && before > 0 {
        findings.tested(Property::StockNotNegative, || {
            format!(
                "{} took the last unit of {}, and nobody got one more.",
                here.who(who),
                row.label
            )
        });
    }
}

fn client_of(who: Who) -> Option<ClientId> {
    match who {
        Who::Client(client) => Some(client),
        Who::Operator => None,
    }
}

/// Whether the client's protocol counts units as sold on the reply to something that is no statement, so that taking and
/// selling are settled only when its run ends.
fn sells_elsewhere(setup: &Setup, client: ClientId) -> bool {
    setup
        .steps_of(client)
        .iter()
        .filter(|step| !matches!(step.request, Request::Database(_)))
        .flat_map(Step::effects)
        .any(|effect| matches!(effect, Effect::Sells { .. }))
}

//! The judge: shows each event to every group of properties, and gives their verdicts.

use std::hash::Hasher;

use super::charge::{ChargeMemory, somebody_charges};
use super::fence::{FenceMemory, HeldWrite};
use super::findings::{Findings, Here, name_of};
use super::hearing::heard;
use super::ledger::{self, RowWrite};
use super::lock::{Acquisition, Holder, KeyChange, LockMemory};
use super::places::{Marks, Places};
use super::shared::Shared;
use super::stock::StockMemory;
use super::token::TokenMemory;
use super::told::Told;
use super::{LedgerEntry, Property, Verdict};
use crate::sim::action::{ClientId, Leg, Who};
use crate::sim::client::protocol::{Effect, Request, Step};
use crate::sim::database::{Database, SqlReply};
use crate::sim::event::{Answer, Event, Fact, Server, Value};
use crate::sim::setup::{Setup, Watch};
use crate::sim::store::reply::Reply;
use crate::sim::store::{Cause, KeyState};
use crate::sim::world::World;
use crate::sorted::{SortedMap, SortedSet};

/// What the properties remember of a schedule, and no more of its history than a later verdict depends on: two judges are equal
/// when nothing that may still happen could tell their verdicts apart. Words and times for sentences take no part in that.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Judge {
    findings: Shared<Findings>,
    lines: Vec<Line>,
    stock: Shared<StockMemory>,
    charges: Shared<ChargeMemory>,
    /// Writes in transactions that are still open.
    uncommitted: SortedMap<Who, Vec<HeldRow>>,
    /// Clients whose latest request was typed at their console.
    at_console: SortedSet<ClientId>,
    /// Whether takings keep the numbers that they were given; see [`Judge::keep_numbers`].
    keeps_numbers: bool,
    /// Requests that are under way, the oldest first.
    under_way: Vec<UnderWay>,
}

/// What is remembered for one `watch` line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Line {
    lock: Shared<LockMemory>,
    tokens: Shared<TokenMemory>,
    fence: Shared<FenceMemory>,
}

impl Line {
    fn of(watch: &Watch) -> Line {
        let mut line = Line::default();
        line.lock.set_servers(watch.servers());
        line
    }
}

/// A row that was written, and what its writer was when it wrote.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct HeldRow {
    row: RowWrite,
    /// For each watch line: the writer as a holder, and whether it was stale.
    standing: Vec<(Option<Holder>, bool)>,
    at_console: bool,
    /// Whether it had been under way since its writer gave it up.
    late: bool,
    /// The token that its statement carried in a variable.
    carried: Told<Option<i64>>,
}

/// A step's request that is under way, and what its sender was when it sent it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct UnderWay {
    client: ClientId,
    step: usize,
    standing: Vec<(Option<Holder>, bool)>,
}

/// A request that this action makes, as far as it is seen.
#[derive(Default)]
struct Asked {
    text: String,
    /// The place of its step; `None` for one that was typed.
    step: Option<usize>,
    /// Whether it is a step, and goes to a Redis-like server.
    is_step: bool,
    /// What its sender was when it sent it, where that is some time ago and the sender has given it up.
    late: Option<Vec<(Option<Holder>, bool)>>,
    /// The tokens that it drew, by watch line.
    drawn: Vec<(usize, i64)>,
    /// What it made of watched locks, by watch line.
    left: SortedMap<usize, Option<KeyState>>,
    /// Whether the step asks for a lock, by key.
    asks_for: Option<Vec<u8>>,
}

impl Judge {
    /// A judge of a schedule that has not begun. What stands before the schedule is no history.
    pub fn new(setup: &Setup) -> Judge {
        Judge {
            findings: Shared::default(),
            lines: setup.watches.iter().map(Line::of).collect(),
            stock: Shared::default(),
            charges: Shared::default(),
            uncommitted: SortedMap::new(),
            at_console: SortedSet::new(),
            keeps_numbers: false,
            under_way: Vec::new(),
        }
    }

    /// Has takings of locks keep the numbers that they were given, instead of ranks among those that still matter: for a search
    /// that counts what happened. No verdict changes, but such a judge grows with the schedule.
    pub fn keep_numbers(&mut self) {
        self.keeps_numbers = true;
    }

    /// A fact as far as a break of one of these properties may depend on it; `None` where none does. The database is as it is after
    /// the action. For a judge that [remembers only](Judge::remember_only) what these properties need.
    pub fn hears(
        setup: &Setup,
        database: &Database,
        properties: &[Property],
        fact: &Fact,
    ) -> Option<Fact> {
        heard(setup, database, properties, fact)
    }

    /// Forgets everything on which no break of these properties depends, what put them to the test included: for a search, in
    /// which only breaks are looked for.
    pub fn remember_only(&mut self, properties: &[Property]) {
        self.forget(properties, false);
    }

    /// The same for the clone of a judge that remembers only these, after what it has [observed](Judge::observe): what it has in
    /// common with that judge is not looked at.
    pub fn remember_only_of_new(&mut self, properties: &[Property]) {
        self.forget(properties, true);
    }

    fn forget(&mut self, properties: &[Property], only_own: bool) {
        use Property::*;
        let any = |wanted: &[Property]| wanted.iter().any(|one| properties.contains(one));
        self.findings
            .change(only_own, |findings| findings.keep_breaks_of(properties));
        let order = any(&[
            OwnerOnly,
            NoStaleWrite,
            LiveHolderNotFenced,
            TokensInOrder,
            TokensUnique,
        ]);
        for line in &mut self.lines {
            line.lock.change(only_own, |lock| {
                lock.remember_only(order, any(&[OneBeliever]));
            });
            line.tokens.change(only_own, |tokens| {
                tokens.remember_only(any(&[TokensInOrder]), any(&[TokensUnique]));
            });
            line.fence.change(only_own, |fence| {
                fence.remember_only(any(&[NoStaleWrite]), any(&[LiveHolderNotFenced]));
            });
        }
        self.stock.change(only_own, |stock| {
            stock.remember_only(any(&[StockEqualsSold]));
        });
        if !any(&[NoChargeForNothing, NoDoubleCharge, SoldIsPaid]) {
            self.charges
                .change(only_own, |charges| *charges = ChargeMemory::default());
        }
        let writes = [
            NoStaleWrite,
            LiveHolderNotFenced,
            StockNotNegative,
            StockEqualsSold,
        ];
        if !any(&writes) {
            self.uncommitted.clear();
            for sent in &mut self.under_way {
                sent.standing.clear();
            }
        }
    }

    /// The judge as it would be had clients been in each other's places: the client of place i has place `places[i]`. It
    /// [remembers only](Judge::remember_only) what some properties need.
    pub fn with_places(&self, places: &[usize]) -> Judge {
        let mut judge = self.clone();
        let places = Places(places);
        let standing = |standing: &mut Vec<(Option<Holder>, bool)>| {
            for holder in standing
                .iter_mut()
                .filter_map(|(holder, _)| holder.as_mut())
            {
                holder.client = places.client(holder.client);
            }
        };
        for line in &mut judge.lines {
            line.lock.change_places(places);
            line.tokens.change_places(places);
        }
        judge.stock.change_places(places);
        judge.charges.change_places(places);
        judge.uncommitted = std::mem::take(&mut judge.uncommitted)
            .into_iter()
            .map(|(who, rows)| (places.who(who), rows))
            .collect();
        for held in judge.uncommitted.values_mut().flatten() {
            standing(&mut held.standing);
        }
        places.set(&mut judge.at_console);
        for sent in &mut judge.under_way {
            sent.client = places.client(sent.client);
            standing(&mut sent.standing);
        }
        judge
    }

    /// Has the hasher take up what is remembered of a client, so that clients of whom the same is remembered give the same.
    pub fn mark(&self, client: ClientId, hasher: &mut dyn Hasher) {
        let mut marks = Marks(hasher);
        for line in &self.lines {
            line.lock.mark(client, &mut marks);
            line.tokens.mark(client, &mut marks);
        }
        self.stock.mark(client, &mut marks);
        self.charges.mark(client, &mut marks);
        let held = self.uncommitted.get(&Who::Client(client));
        marks.add(held.map_or(0, Vec::len));
        marks.add(self.at_console.contains(&client));
    }

    /// Whether one of these properties is broken in the midst of a schedule, as [`Judge::verdicts_so_far`] would say.
    pub fn breaks_any(&self, setup: &Setup, properties: &[Property]) -> bool {
        properties.iter().any(|property| match property {
            Property::StockEqualsSold | Property::NoChargeForNothing | Property::SoldIsPaid => {
                matches!(self.verdict(setup, *property, false), Verdict::Broken(_))
            }
            _ => self.findings.break_of(*property).is_some(),
        })
    }

    /// Sees what an action caused, and the world after it. Gives the writes that it adds to the ledger, in order: a write in a
    /// transaction when it is committed.
    pub fn observe(
        &mut self,
        setup: &Setup,
        action: usize,
        events: &[Event],
        after: &World,
    ) -> Vec<LedgerEntry> {
        let mut ledger = Vec::new();
        let mut asked = SortedMap::new();
        let mut here = Here {
            setup,
            world: after,
            action,
            at: after.now,
        };
        for event in events {
            here.at = event.at;
            self.see(here, &event.fact, &mut asked, &mut ledger);
        }
        for (who, request) in asked {
            self.request_ended(here, who, &request);
        }
        let holding = self.holding_stock(setup);
        self.stock.settle(here, &mut self.findings, &holding);
        self.renumber();
        ledger
    }

    fn see(
        &mut self,
        here: Here<'_>,
        fact: &Fact,
        asked: &mut SortedMap<Who, Asked>,
        ledger: &mut Vec<LedgerEntry>,
    ) {
        match fact {
            Fact::Sent {
                who,
                step,
                server,
                text,
            } => {
                let asks_store = matches!(server, Server::Store(_));
                let request = self.sent(here.setup, *who, *step, text);
                asked.insert(
                    *who,
                    Asked {
                        is_step: request.is_step && asks_store,
                        ..request
                    },
                );
            }
            Fact::Delayed {
                client,
                step,
                leg: Leg::Request,
            } => {
                let who = Who::Client(*client);
                self.under_way.push(UnderWay {
                    client: *client,
                    step: *step,
                    standing: self.lines.iter().map(|line| standing(line, who)).collect(),
                });
            }
            Fact::RequestLost { client, step } => {
                self.no_longer_under_way(*client, *step);
            }
            Fact::Arrived {
                client,
                step,
                server,
                text,
                late,
            } => {
                let sent = self.no_longer_under_way(*client, *step);
                let who = Who::Client(*client);
                let asks_store = matches!(server, Server::Store(_));
                let request = self.sent(here.setup, who, Some(*step), text);
                asked.insert(
                    who,
                    Asked {
                        is_step: asks_store,
                        late: sent.filter(|_| *late),
                        ..request
                    },
                );
            }
            Fact::FailedOver { from, to, .. } => {
                for line in &mut self.lines {
                    line.lock.failed_over(here, *from, *to);
                }
            }
            Fact::KeyChanged {
                server,
                who,
                key,
                before,
                after,
                cause,
                ..
            } => {
                let change = KeyChange {
                    server: *server,
                    key,
                    who: *who,
                    before: before.as_ref(),
                    after: after.as_ref(),
                    cause: *cause,
                };
                self.key_changed(here, &change, asked);
            }
            Fact::Wrote { who, write } => {
                if ledger::is_watched(here.setup, &write.table) {
                    let rows = ledger::rows_of(here.setup, &here.world.database, write);
                    let request = asked.get(who);
                    self.wrote(here, *who, rows, write.transaction, request, ledger);
                }
            }
            Fact::Committed { who } => self.committed(here, *who, ledger),
            Fact::RolledBack { who } => {
                self.uncommitted.remove(who);
            }
            Fact::Answered {
                who,
                server: Server::Store(_),
                ..
            } => {
                if let Some(request) = asked.remove(who) {
                    self.request_ended(here, *who, &request);
                }
            }
            Fact::Answered {
                who,
                answer: Answer::Database(SqlReply::Error(error)),
                ..
            } => {
                let request = asked.get(who);
                let row = request
                    .and_then(|request| ledger::failed_write(here.setup, &request.text, error));
                self.wrote(
                    here,
                    *who,
                    row.into_iter().collect(),
                    false,
                    request,
                    ledger,
                );
            }
            Fact::Charged {
                who, charge, order, ..
            } => {
                self.charges
                    .charged(here, &mut self.findings, *who, charge, order);
            }
            Fact::ChargeRepeated { who, charge, order } => {
                self.charges
                    .repeated(here, &mut self.findings, *who, charge, order);
            }
            Fact::Refunded { who, charge, order } => {
                self.charges
                    .refunded(here, &mut self.findings, *who, charge, order);
            }
            _ => self.see_client(here, fact),
        }
    }

    fn see_client(&mut self, here: Here<'_>, fact: &Fact) {
        match fact {
            Fact::Saw {
                client,
                step,
                answer,
                clause,
            } => {
                self.saw(here, *client, *step, answer, *clause);
            }
            Fact::Believed { client, key, .. } => {
                for (line, watch) in self.lines.iter_mut().zip(&here.setup.watches) {
                    if watch.lock.as_ref() == Some(key) {
                        line.lock.believed(here, &mut self.findings, *client, key);
                    }
                }
            }
            Fact::BeliefEnded { client, key, .. } => {
                for (line, watch) in self.lines.iter_mut().zip(&here.setup.watches) {
                    if watch.lock.as_ref() == Some(key) {
                        line.lock.belief_ended(*client);
                    }
                }
            }
            Fact::Drew {
                client,
                token: Value::Integer(token),
            } => {
                for place in 0..self.lines.len() {
                    if here.setup.watches[place].lock.is_some() {
                        self.drew(here, place, *client, *token);
                    }
                }
            }
            Fact::Drew {
                client,
                token: Value::Text(text),
            } => {
                if let Some(token) = integer_in(text) {
                    let fact = Fact::Drew {
                        client: *client,
                        token: Value::Integer(token),
                    };
                    self.see_client(here, &fact);
                }
            }
            Fact::Sold {
                client,
                units,
                order,
            } => {
                if watches_stock(here.setup) {
                    self.stock.sold(here, *client, *units);
                }
                self.charges.sold(here, *client, *units, order.as_deref());
            }
            Fact::Ended { client, .. } => {
                self.run_over(*client);
                self.stock.run_ended(*client);
                self.charges.run_ended(here, &mut self.findings, *client);
            }
            Fact::Crashed { client } => {
                self.run_over(*client);
                self.stock.crashed(*client);
                self.charges.crashed(*client);
            }
            Fact::Started { client, .. } => {
                self.run_over(*client);
                self.stock.restarted(*client);
                self.charges.restarted(*client);
            }
            _ => {}
        }
    }

    // ---- requests and keys ------------------------------------------------------------------------------------------

    fn sent(&mut self, setup: &Setup, who: Who, step: Option<usize>, text: &str) -> Asked {
        let mut asks_for = None;
        if let Who::Client(client) = who {
            match step {
                None => self.at_console.insert(client),
                Some(_) => self.at_console.remove(&client),
            };
            asks_for = step
                .and_then(|step| lock_asked_for(setup, client, step))
                .filter(|key| !self.believes(setup, client, key));
        }
        Asked {
            text: text.to_string(),
            step,
            is_step: step.is_some(),
            asks_for,
            ..Asked::default()
        }
    }

    /// What the sender of the oldest request that is under way for this step was when it sent it; it is under way no longer.
    fn no_longer_under_way(
        &mut self,
        client: ClientId,
        step: usize,
    ) -> Option<Vec<(Option<Holder>, bool)>> {
        let is_it = |sent: &UnderWay| sent.client == client && sent.step == step;
        let place = self.under_way.iter().position(is_it)?;
        Some(self.under_way.remove(place).standing)
    }

    /// Whether the client believes that it holds this lock: then it does not ask for it, it prolongs it.
    fn believes(&self, setup: &Setup, client: ClientId, key: &[u8]) -> bool {
        let mut lines = self.lines.iter().zip(&setup.watches);
        lines.any(|(line, watch)| watch.lock.as_deref() == Some(key) && line.lock.believes(client))
    }

    fn key_changed(
        &mut self,
        here: Here<'_>,
        change: &KeyChange<'_>,
        asked: &mut SortedMap<Who, Asked>,
    ) {
        for place in 0..self.lines.len() {
            let watch = &here.setup.watches[place];
            if watch.lock.as_deref() == Some(change.key) {
                self.lock_changed(here, place, change);
                if let Some(request) = change.who.and_then(|who| asked.get_mut(&who)) {
                    request.left.insert(place, change.after.cloned());
                }
            }
            if watch.counter.as_deref() == Some(change.key)
                && let Some(who @ Who::Client(client)) = change.who
                && let Some(token) = drawn_by(here.setup, client, change)
            {
                asked.or_default(who).drawn.push((place, token));
            }
        }
    }

    fn lock_changed(&mut self, here: Here<'_>, place: usize, change: &KeyChange<'_>) {
        let line = &mut self.lines[place];
        let taker = line.lock.key_changed(here, &mut self.findings, change);
        if let Some(client) = taker
            && let Some(acquisition) = line.lock.current(client)
        {
            line.tokens
                .took(here, &mut self.findings, client, acquisition);
        }
    }

    /// What a client's request as a whole did to watched locks, and the tokens that it drew: a script may draw first and take the
    /// lock afterwards.
    fn request_ended(&mut self, here: Here<'_>, who: Who, request: &Asked) {
        let Who::Client(client) = who else {
            return;
        };
        for (place, token) in &request.drawn {
            self.drew(here, *place, client, *token);
        }
        for (place, watch) in here.setup.watches.iter().enumerate() {
            let Some(key) = &watch.lock else { continue };
            let lock = &self.lines[place].lock;
            match request.left.get(&place) {
                Some(Some(state)) => {
                    lock.request_ended(here, &mut self.findings, client, key, state);
                }
                Some(None) => {}
                None if request.is_step && request.asks_for.as_ref() != Some(key) => {
                    lock.request_left_it(here, &mut self.findings, client, key, &request.text);
                }
                None => {}
            }
        }
    }

    fn drew(&mut self, here: Here<'_>, place: usize, client: ClientId, token: i64) {
        let line = &mut self.lines[place];
        let acquisition = line.lock.current(client);
        line.tokens
            .drew(here, &mut self.findings, client, token, acquisition);
    }

    // ---- writes -----------------------------------------------------------------------------------------------------

    fn wrote(
        &mut self,
        here: Here<'_>,
        who: Who,
        rows: Vec<RowWrite>,
        in_transaction: bool,
        request: Option<&Asked>,
        ledger: &mut Vec<LedgerEntry>,
    ) {
        let late = request.and_then(|request| request.late.as_deref());
        let carried = request.and_then(|request| self.carried(here.setup, who, request));
        let at_console = match who {
            Who::Client(client) => self.at_console.contains(&client),
            Who::Operator => true,
        };
        for row in rows {
            let lines = self.lines.iter().enumerate();
            let held = HeldRow {
                standing: lines
                    .map(
                        |(place, line)| match late.and_then(|late| late.get(place)) {
                            Some(sent) => line.lock.standing_since(*sent),
                            None => standing(line, who),
                        },
                    )
                    .collect(),
                row,
                at_console,
                late: late.is_some(),
                carried: Told(carried),
            };
            if in_transaction {
                self.uncommitted.or_default(who).push(held);
            } else {
                ledger.push(self.count(here, who, &held));
            }
        }
    }

    /// The latest token that the client drew, where the statement carries it in a variable.
    fn carried(&self, setup: &Setup, who: Who, request: &Asked) -> Option<i64> {
        let Who::Client(client) = who else {
            return None;
        };
        let steps = setup.steps_of(client);
        let Request::Database(Ok(statement)) = &steps.get(request.step?)?.request else {
            return None;
        };
        // A token comes from a store: what a SELECT gave is none, even where the numbers are the same.
        let of_store = |step: &&Step| matches!(step.request, Request::Store(..));
        let clauses = steps.iter().filter(of_store).flat_map(|step| &step.clauses);
        let mut bound = clauses.flat_map(|clause| clause.pattern.variables());
        if !bound.any(|name| statement.variables().iter().any(|other| other == name)) {
            return None;
        }
        let mut latest = self
            .lines
            .iter()
            .filter_map(|line| line.tokens.latest(client));
        let times = |text, token| {
            let integers = ledger::integers_in(text);
            integers.filter(|integer| *integer == token).count()
        };
        latest.find(|token| times(&request.text, *token) > times(statement.source(), *token))
    }

    fn committed(&mut self, here: Here<'_>, who: Who, ledger: &mut Vec<LedgerEntry>) {
        for held in self.uncommitted.remove(&who).unwrap_or_default() {
            ledger.push(self.count(here, who, &held));
        }
    }

    /// A write counts: it was committed.
    fn count(&mut self, here: Here<'_>, who: Who, held: &HeldRow) -> LedgerEntry {
        let mut token = None;
        let mut stale = false;
        let mut lease_end = None;
        for (place, watch) in here.setup.watches.iter().enumerate() {
            if !guards(watch, &held.row) {
                continue;
            }
            let (holder, is_stale) = held.standing.get(place).copied().unwrap_or_default();
            let line = &mut self.lines[place];
            let written = token_of(watch, held);
            token = token.or(written);
            if let (true, Who::Client(client)) = (is_stale, who) {
                stale = true;
                lease_end = line.lock.lease_end(here, client);
            }
            let Some(holder) = holder else {
                line.fence.wrote_without_lock(&held.row);
                continue;
            };
            let write = HeldWrite {
                holder,
                lease_end: line.lock.lease_end(here, holder.client),
                token: written,
                stored: stored_token(watch, &held.row),
                row: &held.row,
            };
            line.fence.wrote(here, &mut self.findings, &write);
        }
        self.count_stock(here, who, held);
        let lease_end = lease_end.as_deref();
        ledger::entry(here, who, &held.row, token, (stale, held.late), lease_end)
    }

    fn count_stock(&mut self, here: Here<'_>, who: Who, held: &HeldRow) {
        let columns: SortedSet<_> = here
            .setup
            .watches
            .iter()
            .filter_map(|watch| watch.stock.as_ref())
            .filter(|column| held.row.is_of(column))
            .collect();
        for column in columns {
            let change = held
                .row
                .values_of(column)
                .map(|values| (values.before.unwrap_or(0), values.after.unwrap_or(0)));
            match change.filter(|_| held.row.accepted) {
                Some((before, after)) if before != after => self.stock.wrote(
                    here,
                    &mut self.findings,
                    who,
                    held.at_console,
                    &held.row,
                    (before, after),
                ),
                _ => self
                    .stock
                    .rejected(here, &mut self.findings, who, &held.row),
            }
        }
    }

    /// Clients whose transactions hold writes on watched stock.
    fn holding_stock(&self, setup: &Setup) -> SortedSet<ClientId> {
        self.uncommitted
            .iter()
            .filter(|(_, rows)| {
                rows.iter().any(|held| {
                    setup
                        .watches
                        .iter()
                        .filter_map(|watch| watch.stock.as_ref())
                        .any(|column| held.row.is_of(column))
                })
            })
            .filter_map(|(who, _)| match who {
                Who::Client(client) => Some(*client),
                Who::Operator => None,
            })
            .collect()
    }

    // ---- clients ----------------------------------------------------------------------------------------------------

    fn saw(
        &mut self,
        here: Here<'_>,
        client: ClientId,
        step: usize,
        answer: &Answer,
        clause: Option<usize>,
    ) {
        if self.stock.waits(client) && *answer != Answer::Lost {
            self.stock.saw(client);
        }
        let Some(key) = lock_asked_for(here.setup, client, step) else {
            return;
        };
        if took_it(here.setup, client, step, clause) || is_failure(answer) {
            return;
        }
        for (line, watch) in self.lines.iter().zip(&here.setup.watches) {
            if watch.lock.as_ref() == Some(&key) {
                line.lock.refused(here, &mut self.findings, client, &key);
            }
        }
    }

    fn run_over(&mut self, client: ClientId) {
        for line in &mut self.lines {
            line.lock.run_over(client);
            line.tokens.run_over(client);
        }
    }

    // ---- forgetting -------------------------------------------------------------------------------------------------

    /// Numbers acquisitions anew, so that only the order that still matters is kept: those in play get 2, 4, 6, ..., and the
    /// others, which are only ever compared with those in play and with new ones, the odd number of the gap that they are in.
    fn renumber(&mut self) {
        if self.keeps_numbers {
            return;
        }
        for place in 0..self.lines.len() {
            let mut in_play = self.lines[place].lock.acquisitions_in_play();
            let under_way = self
                .under_way
                .iter()
                .filter_map(|sent| sent.standing.get(place));
            in_play.extend(under_way.filter_map(|(holder, _)| Some(holder.as_ref()?.acquisition)));
            let held = self.uncommitted.values().flatten();
            in_play.extend(
                held.filter_map(|held| {
                    held.standing.get(place)?.0.map(|holder| holder.acquisition)
                }),
            );
            let in_play: Vec<Acquisition> = in_play.into_iter().collect();
            let next = Acquisition(2 * in_play.len() as u32 + 1);
            let is_ranked = |(rank, own): (usize, &Acquisition)| own.0 == 2 * rank as u32 + 2;
            let is_numbered = in_play.iter().enumerate().all(is_ranked);
            // Then every number would stay as it is, and what is shared stays shared.
            if is_numbered && self.lines[place].lock.next_is(next) {
                continue;
            }
            let new = |old: Acquisition| match in_play.binary_search(&old) {
                Ok(rank) => Acquisition(2 * rank as u32 + 2),
                Err(rank) => Acquisition(2 * rank as u32 + 1),
            };
            let line = &mut self.lines[place];
            line.lock.renumber(next, new);
            line.tokens.renumber(new);
            line.fence.renumber(new);
            for sent in &mut self.under_way {
                if let Some((Some(holder), _)) = sent.standing.get_mut(place) {
                    holder.acquisition = new(holder.acquisition);
                }
            }
            for held in self.uncommitted.values_mut().flatten() {
                if let Some((Some(holder), _)) = held.standing.get_mut(place) {
                    holder.acquisition = new(holder.acquisition);
                }
            }
        }
    }

    // ---- verdicts ---------------------------------------------------------------------------------------------------

    /// Every property with its verdict, in the order of [`Property::ALL`], as if the schedule ended here: what a client has not
    /// done by now, it never will.
    pub fn verdicts(&self, setup: &Setup) -> Vec<(Property, Verdict)> {
        self.all_verdicts(setup, true)
    }

    /// Every property with its verdict, in the order of [`Property::ALL`], in the midst of a schedule: what a living client may
    /// still put right is not judged yet.
    pub fn verdicts_so_far(&self, setup: &Setup) -> Vec<(Property, Verdict)> {
        self.all_verdicts(setup, false)
    }

    fn all_verdicts(&self, setup: &Setup, ended: bool) -> Vec<(Property, Verdict)> {
        Property::ALL
            .into_iter()
            .map(|property| (property, self.verdict(setup, property, ended)))
            .collect()
    }

    fn verdict(&self, setup: &Setup, property: Property, ended: bool) -> Verdict {
        if let Some(broken) = self.findings.break_of(property) {
            return Verdict::Broken(broken.clone());
        }
        if let Some(needs) = missing_roles(setup, property) {
            return Verdict::NotTested { needs };
        }
        match property {
            Property::StockEqualsSold => self.stock_verdict(setup),
            Property::NoChargeForNothing | Property::SoldIsPaid => {
                self.charge_verdict(setup, property, ended)
            }
            _ => match self.findings.test_of(property) {
                Some(because) => Verdict::Holds {
                    because: because.to_string(),
                },
                None => Verdict::NotTested {
                    needs: needs(property).to_string(),
                },
            },
        }
    }

    fn stock_verdict(&self, setup: &Setup) -> Verdict {
        let unsettled = self
            .stock
            .unsettled_and_alive(setup, &self.holding_stock(setup));
        if !unsettled.is_empty() {
            return Verdict::NotTested {
                needs: format!(
                    "Not yet: {} between a write and its sale. It is judged when the reply is seen.",
                    are(setup, &unsettled)
                ),
            };
        }
        match self.stock.unsettled_break(setup) {
            Some(broken) => Verdict::Broken(broken),
            None if self.stock.moved() => Verdict::Holds {
                because: self.stock.agreement(),
            },
            None => Verdict::NotTested {
                needs: needs(Property::StockEqualsSold).to_string(),
            },
        }
    }

    fn charge_verdict(&self, setup: &Setup, property: Property, ended: bool) -> Verdict {
        if let Some(broken) = self.charges.open_break(setup, property, ended) {
            return Verdict::Broken(broken);
        }
        let at_work = self.charges.at_work(setup, property);
        if !at_work.is_empty() {
            return Verdict::NotTested {
                needs: format!(
                    "Not yet: {} at work on an order. It is judged when the run, or the schedule, ends.",
                    are(setup, &at_work)
                ),
            };
        }
        let test = self.findings.test_of(property).map(str::to_string);
        match test.or_else(|| self.charges.fulfilment(property)) {
            Some(because) => Verdict::Holds { because },
            None => Verdict::NotTested {
                needs: needs(property).to_string(),
            },
        }
    }
}

/// `A is`, `A and B are`.
fn are(setup: &Setup, clients: &SortedSet<ClientId>) -> String {
    let names: Vec<&str> = clients
        .iter()
        .map(|client| name_of(setup, *client))
        .collect();
    match names.as_slice() {
        [one] => format!("{one} is"),
        many => format!("{} are", many.join(" and ")),
    }
}

/// The writer as a holder of the line's lock, and whether it was stale.
fn standing(line: &Line, who: Who) -> (Option<Holder>, bool) {
    match who {
        Who::Client(client) => (line.lock.holder(client), line.lock.is_stale(client)),
        Who::Operator => (None, false),
    }
}

/// Whether the line's lock protects the row: its table has the line's fence, or the line's stock where there is no fence.
fn guards(watch: &Watch, row: &RowWrite) -> bool {
    let table = watch.fence.as_ref().or(watch.stock.as_ref());
    watch.lock.is_some() && table.is_some_and(|column| row.is_of(column))
}

/// The token that a write stored, or compared, or carried for something else; none where it carried none.
fn token_of(watch: &Watch, held: &HeldRow) -> Option<i64> {
    let row = &held.row;
    let stored = row
        .values_of(watch.fence.as_ref()?)
        .filter(|values| row.accepted && values.after != values.before)
        .and_then(|values| values.after);
    stored.or(row.compared).or(held.carried.0)
}

fn stored_token(watch: &Watch, row: &RowWrite) -> Option<i64> {
    row.values_of(watch.fence.as_ref()?)?.before
}

/// The token that a client drew by this change of the counter, where its protocol does not say `draws`.
fn drawn_by(setup: &Setup, client: ClientId, change: &KeyChange<'_>) -> Option<i64> {
    const DRAWING: [&str; 4] = ["INCR", "INCRBY", "DECR", "DECRBY"];
    match change.cause {
        Cause::Command(command) if DRAWING.contains(&command) && !says_draws(setup, client) => {
            integer_in(change.after?.value.as_string()?)
        }
        _ => None,
    }
}

fn integer_in(text: &[u8]) -> Option<i64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Whether the client's protocol says itself when a token is drawn.
fn says_draws(setup: &Setup, client: ClientId) -> bool {
    setup
        .steps_of(client)
        .iter()
        .flat_map(Step::effects)
        .any(|effect| matches!(effect, Effect::Draws(_)))
}

/// The lock that a step asks for: one of its clauses says that the client then holds it.
fn lock_asked_for(setup: &Setup, client: ClientId, step: usize) -> Option<Vec<u8>> {
    let step = setup.steps_of(client).get(step)?;
    setup.lock_asked_for(client, step).map(<[u8]>::to_vec)
}

/// Whether the clause that took the reply says that the client holds the lock.
fn took_it(setup: &Setup, client: ClientId, step: usize, clause: Option<usize>) -> bool {
    setup
        .steps_of(client)
        .get(step)
        .and_then(|step| step.clauses.get(clause?))
        .is_some_and(|clause| {
            clause
                .effects
                .iter()
                .any(|effect| matches!(effect, Effect::Holds { .. }))
        })
}

fn watches_stock(setup: &Setup) -> bool {
    setup.watches.iter().any(|watch| watch.stock.is_some())
}

/// Whether the answer says nothing about the lock.
fn is_failure(answer: &Answer) -> bool {
    matches!(
        answer,
        Answer::Lost | Answer::Store(Reply::Error(_)) | Answer::Client(Reply::Error(_))
    )
}

/// Which line to add, where the text gives nobody a role that the property is about.
fn missing_roles(setup: &Setup, property: Property) -> Option<String> {
    let has = |role: fn(&Watch) -> bool| setup.watches.iter().any(role);
    let lock = has(|watch| watch.lock.is_some());
    let missing: Vec<&str> = match property {
        Property::OneBeliever | Property::OwnerOnly | Property::LockHasDeadline => {
            vec![(!lock).then_some("lock KEY")]
        }
        Property::TokensInOrder | Property::TokensUnique => {
            let draws = (0..setup.clients.len()).any(|client| says_draws(setup, ClientId(client)));
            let counter = draws || has(|watch| watch.counter.is_some());
            vec![
                (!lock).then_some("lock KEY"),
                (!counter).then_some("counter KEY"),
            ]
        }
        Property::NoStaleWrite => {
            let guarded = has(|watch| watch.fence.is_some() || watch.stock.is_some());
            vec![
                (!lock).then_some("lock KEY"),
                (!guarded).then_some("fence TABLE.COLUMN"),
            ]
        }
        Property::LiveHolderNotFenced => vec![
            (!lock).then_some("lock KEY"),
            (!has(|watch| watch.fence.is_some())).then_some("fence TABLE.COLUMN"),
        ],
        Property::StockNotNegative | Property::StockEqualsSold => {
            vec![(!has(|watch| watch.stock.is_some())).then_some("stock TABLE.COLUMN")]
        }
        Property::NoChargeForNothing | Property::NoDoubleCharge | Property::SoldIsPaid => {
            return (!somebody_charges(setup)).then(|| {
                "It takes a client that charges: add a step such as `charge: CHARGE {order} 4900` to a protocol.".to_string()
            });
        }
    }
    .into_iter()
    .flatten()
    .collect();
    (!missing.is_empty()).then(|| {
        format!(
            "The text does not say what this is about: add `watch {}`.",
            missing.join(", ")
        )
    })
}

/// What it takes to put a property to the test.
fn needs(property: Property) -> &'static str {
    match property {
        Property::OneBeliever => {
            "It takes a second client that asks for the lock, while the first believes that it holds it or afterwards."
        }
        Property::NoStaleWrite => {
            "It takes a write by an older holder after a newer holder's write was accepted, and nothing but the fence in its way."
        }
        Property::TokensInOrder => {
            "It takes two different tokens, drawn for two locks taken one after the other."
        }
        Property::LiveHolderNotFenced => {
            "It takes a fenced write under a live lease on a row that stores the token of another taking of the lock."
        }
        Property::TokensUnique => "It takes two tokens to be handed out.",
        Property::OwnerOnly => {
            "It takes a client that tries to release or prolong the lock while it is somebody else's."
        }
        Property::LockHasDeadline => "It takes a client that takes the lock.",
        Property::StockNotNegative => {
            "It takes the last unit to go, or somebody who asks for more than there is."
        }
        Property::StockEqualsSold => {
            "It takes a unit to be taken from stock, or a reply that `sells`."
        }
        Property::NoChargeForNothing => "It takes a charge.",
        Property::NoDoubleCharge => "It takes a second charge for the same order.",
        Property::SoldIsPaid => "It takes a unit that is sold for an order that was charged.",
    }
}

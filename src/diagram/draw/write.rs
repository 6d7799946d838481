//! Writes with their verdicts, transactions, charges and refunds.

use crate::diagram::layout::{self, MOST_DRAWN};
use crate::diagram::part::{Kind, Lane, PartId, WriteVerdict};
use crate::diagram::{Slot, words};
use crate::property::LedgerEntry;
use crate::sim::action::Who;
use crate::sim::database::WriteFact;

use super::Pen;

impl Pen<'_> {
    pub(super) fn wrote(&mut self, who: Who, write: &WriteFact) {
        let causes = self.causes(Some(who));
        let setup = self.setup;
        let details = |place, of| words::details(setup, write, place, of);
        if self.count_writes(who, &causes, details) {
            return;
        }
        let because = words::unjudged(self.setup, who, write);
        let details = details(0, 1);
        let kind = Kind::Write {
            who,
            verdict: WriteVerdict::Unjudged,
            ledger: None,
            because,
            details,
        };
        let label = words::unjudged_in_short(write);
        let mark = self.mark(Lane::Table, kind, label, causes);
        self.done.push((who, mark));
        self.diagram.open(Slot::Wrote(who), mark);
    }

    /// Draws somebody's writes that the ledger has now, each with what its row came to; whether there are any.
    pub(super) fn count_writes(
        &mut self,
        who: Who,
        asked: &[PartId],
        details: impl Fn(usize, usize) -> Vec<String>,
    ) -> bool {
        let judged: Vec<_> = self
            .ledger
            .extract_if(.., |(_, entry)| entry.who == who)
            .collect();
        let start = self.y;
        for (row, (place, entry)) in judged.iter().take(MOST_DRAWN).enumerate() {
            self.judged(*place, entry, asked, details(row, judged.len()));
            self.y += layout::WRITE;
        }
        if let Some(more @ 1..) = judged.len().checked_sub(MOST_DRAWN) {
            let causes = asked.to_vec();
            self.mark(
                Lane::Table,
                Kind::More(more),
                format!("and {more} more"),
                causes,
            );
        }
        self.y = start;
        !judged.is_empty()
    }

    pub(super) fn judged(
        &mut self,
        place: usize,
        entry: &LedgerEntry,
        asked: &[PartId],
        details: Vec<String>,
    ) {
        let who = entry.who;
        let verdict = match (entry.stale, entry.accepted) {
            (false, true) => WriteVerdict::Accepted,
            (true, true) => WriteVerdict::StaleAccepted,
            (false, false) => WriteVerdict::Rejected(entry.reasons.clone()),
            (true, false) => WriteVerdict::StaleRejected(entry.reasons.clone()),
        };
        let mut causes = asked.to_vec();
        let request = causes.first().copied();
        if let (true, Who::Client(client)) = (entry.stale, who) {
            let gaps = (0..self.diagram.tracked)
                .filter_map(|lock| self.diagram.open.get(&Slot::Gap(client, lock)));
            causes.extend(gaps.copied());
        }
        if let (Some(token), Some(request), Who::Client(client)) = (entry.token, request, who) {
            causes.push(self.token_at_row(client, token, request));
        }
        let label = words::verdict(&verdict);
        let because = entry.because.clone();
        let kind = Kind::Write {
            who,
            verdict,
            ledger: Some(place),
            because,
            details,
        };
        let mark = self.mark(Lane::Table, kind, label, causes);
        self.done.push((who, mark));
    }

    /// The end of a transaction: what it wrote counts now, through the request that wrote it.
    pub(super) fn transaction(&mut self, who: Who, committed: bool) {
        let wrote = self.diagram.close(Slot::Wrote(who));
        let label = if committed {
            "committed"
        } else {
            "rolled back"
        };
        let mut causes = self.causes(Some(who));
        causes.extend(wrote);
        let mark = self.mark(
            Lane::Table,
            Kind::Transaction { who, committed },
            label,
            causes,
        );
        self.done.push((who, mark));
        let asked = wrote.and_then(|wrote| self.diagram.part(wrote)?.causes.first().copied());
        let asked: Vec<PartId> = asked.into_iter().chain([mark]).collect();
        let details = match wrote.and_then(|wrote| Some(&self.diagram.part(wrote)?.kind)) {
            Some(Kind::Write { details, .. }) => details.clone(),
            _ => Vec::new(),
        };
        self.y += layout::WRITE;
        self.count_writes(who, &asked, |_, of| {
            if of == 1 { details.clone() } else { Vec::new() }
        });
        self.y -= layout::WRITE;
    }

    pub(super) fn charged(&mut self, who: Who, charge: &str, order: &str, amount: Option<u64>) {
        let label = if amount.is_some() {
            "charged"
        } else {
            "charged before"
        };
        let (charge, order) = (charge.to_string(), order.to_string());
        let causes = self.causes(Some(who));
        let mark = self.mark(
            Lane::Gateway,
            Kind::Charge {
                who,
                charge,
                order,
                amount,
            },
            label,
            causes,
        );
        self.done.push((who, mark));
    }

    pub(super) fn refunded(&mut self, who: Who, charge: &str, order: &str) {
        let (charge, order) = (charge.to_string(), order.to_string());
        let causes = self.causes(Some(who));
        let mark = self.mark(
            Lane::Gateway,
            Kind::Refund { who, charge, order },
            "refunded",
            causes,
        );
        self.done.push((who, mark));
    }
}

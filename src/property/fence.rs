//! What the fence lets pass and what it stops: no stale write after a newer holder's, and no live holder turned away.
//!
//! Both are about writes of clients that have an acquisition of the watched lock, row by row. A late write that comes before the
//! newer holder's is in order, and tests nothing; one that missing stock stopped tests nothing either, and the ledger says what
//! the fence would have done.

use super::Property;
use super::findings::{Findings, Here};
use super::ledger::RowWrite;
use super::lock::{Acquisition, Holder};
use super::told::Told;
use crate::sim::action::ClientId;
use crate::sorted::SortedMap;

/// What is remembered of the rows that the watched lock protects.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct FenceMemory {
    rows: SortedMap<String, RowMemory>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct RowMemory {
    /// The newest acquisition that wrote the row.
    newest: Option<Acquisition>,
    /// Whose it was, and the token that it wrote.
    newest_writer: Told<Option<(ClientId, Option<i64>)>>,
    /// The acquisition that wrote the row last; `None`: nobody did, or somebody without a lock.
    last: Option<Acquisition>,
}

/// A row that a holder's statement was about.
pub(super) struct HeldWrite<'a> {
    pub holder: Holder,
    /// How the holder's lease ended, if it did: `had lapsed at 10 s`.
    pub lease_end: Option<String>,
    /// The token that it wrote or compared.
    pub token: Option<i64>,
    /// What the fence column held before.
    pub stored: Option<i64>,
    pub row: &'a RowWrite,
}

impl FenceMemory {
    /// Judges a committed write of a holder, and remembers it.
    pub fn wrote(&mut self, here: Here<'_>, findings: &mut Findings, write: &HeldWrite<'_>) {
        let memory = self.rows.or_default(write.row.identity.clone());
        let own = write.holder.acquisition;
        let is_older = memory.newest.is_some_and(|newest| own < newest);
        if write.row.accepted {
            judge_accepted(here, findings, write, memory, is_older);
            if !is_older {
                memory.newest = Some(own);
                memory.newest_writer = Told(Some((write.holder.client, write.token)));
            }
            memory.last = Some(own);
        } else if write.row.others_pass() && write.row.is_fenced() {
            judge_fenced(here, findings, write, memory, is_older);
        }
    }

    /// Somebody without a lock wrote the row.
    pub fn wrote_without_lock(&mut self, row: &RowWrite) {
        if let Some(memory) = self.rows.get_mut(&row.identity).filter(|_| row.accepted) {
            memory.last = None;
        }
    }

    /// Forgets what only stale writes, or only rejected holders, depend on.
    pub fn remember_only(&mut self, stale: bool, rejected: bool) {
        for memory in self.rows.values_mut() {
            memory.newest = memory.newest.filter(|_| stale);
            memory.last = memory.last.filter(|_| rejected);
        }
        self.rows
            .retain(|_, memory| memory.newest.is_some() || memory.last.is_some());
    }

    /// Gives every acquisition its new number.
    pub fn renumber(&mut self, new: impl Fn(Acquisition) -> Acquisition) {
        for memory in self.rows.values_mut() {
            memory.newest = memory.newest.map(&new);
            memory.last = memory.last.map(&new);
        }
    }
}

fn judge_accepted(
    here: Here<'_>,
    findings: &mut Findings,
    write: &HeldWrite<'_>,
    memory: &RowMemory,
    is_older: bool,
) {
    if is_older && write.row.changed {
        return break_by_stale_write(here, findings, write, memory);
    }
    let others_token = write
        .stored
        .filter(|stored| *stored != 0 && memory.last != Some(write.holder.acquisition));
    if let Some(stored) = others_token.filter(|_| write.holder.live && write.row.has_fence()) {
        findings.tested(Property::LiveHolderNotFenced, || {
            format!(
                "{} held a live lease and wrote{} over the stored token {stored}.",
                here.name(write.holder.client),
                with_token(write.token)
            )
        });
    }
}

fn break_by_stale_write(
    here: Here<'_>,
    findings: &mut Findings,
    write: &HeldWrite<'_>,
    memory: &RowMemory,
) {
    let client = write.holder.client;
    let (newer, newer_token) = memory.newest_writer.0.unwrap_or((client, None));
    let name = here.name(client);
    let lease = match &write.lease_end {
        Some(end) => format!("although its lease {end} and "),
        None => "although ".to_string(),
    };
    let because = format!(
        "{name} wrote{} at {} {lease}{}, who took the lock after {name}, had already written{}; {}.",
        with_token(write.token),
        here.time(),
        if newer == client {
            "it itself"
        } else {
            here.name(newer)
        },
        with_token(newer_token),
        why_it_passed(write)
    );
    findings.broke(
        here,
        Property::NoStaleWrite,
        vec![client, newer],
        write.token.into_iter().chain(newer_token).collect(),
        because,
    );
}

fn why_it_passed(write: &HeldWrite<'_>) -> String {
    match (write.row.has_fence(), write.token, write.stored) {
        (false, ..) => "nothing in the statement compares tokens".to_string(),
        (true, Some(token), Some(stored)) if token > stored => {
            format!("the fence let it pass because {token} is greater than {stored}")
        }
        (true, Some(token), Some(stored)) if token == stored => {
            format!(
                "the fence let it pass because the stored token was {stored} too, and equal tokens pass"
            )
        }
        (true, _, Some(stored)) => format!(
            "the fence let it pass because {} held although the row stored {stored}",
            write.row.fence_texts()
        ),
        (true, _, None) => format!(
            "the fence let it pass because {} held",
            write.row.fence_texts()
        ),
    }
}

fn judge_fenced(
    here: Here<'_>,
    findings: &mut Findings,
    write: &HeldWrite<'_>,
    memory: &RowMemory,
    is_older: bool,
) {
    let client = write.holder.client;
    let name = here.name(client);
    let stored = write
        .stored
        .map_or(String::new(), |stored| format!(": the row held {stored}"));
    if is_older {
        let newer = memory.newest_writer.0.map(|(newer, _)| newer);
        findings.tested(Property::NoStaleWrite, || {
            format!(
                "{name} came{} after {}, a newer holder, had written, and the fence rejected it{stored}.",
                with_token(write.token),
                newer.map_or("another", |newer| here.name(newer)),
            )
        });
    }
    if write.holder.live && memory.last != Some(write.holder.acquisition) {
        let writer = match memory.last {
            Some(_) => ", which another holder's write had put there",
            None => "",
        };
        findings.broke(
            here,
            Property::LiveHolderNotFenced,
            vec![client],
            write.token.into_iter().chain(write.stored).collect(),
            format!(
                "{name} held a live lease when it came{} at {}, and the fence rejected it{stored}{writer}.",
                with_token(write.token),
                here.time()
            ),
        );
    }
}

fn with_token(token: Option<i64>) -> String {
    token.map_or(String::new(), |token| format!(" with token {token}"))
}

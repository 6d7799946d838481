//! The scenario text: one readable format for the link, the file, the editor and the tests.

pub mod library;

use std::sync::Arc;

use crate::property::{LedgerEntry, Property};
use crate::sim::action::{Action, Who};
use crate::sim::setup::Setup;

/// A text that was read without an error.
#[derive(Clone, Debug)]
pub struct Reading {
    /// The first comment line of the text, without `# `; empty when there is none.
    pub title: String,
    /// The comment lines that follow the title, joined by spaces, up to the first blank line.
    pub description: String,
    /// What stands before the schedule.
    pub setup: Arc<Setup>,
    /// The schedule, in order.
    pub schedule: Vec<ScheduleLine>,
    /// The expectations, in order.
    pub expectations: Vec<ExpectationLine>,
}

/// One action of the schedule, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleLine {
    /// The line of the text, from 1.
    pub line: usize,
    /// The action.
    pub action: Action,
    /// What stands behind `=>`, as it is written: the reply in its short form.
    pub expected: Option<String>,
}

/// One expectation, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectationLine {
    /// The line of the text, from 1.
    pub line: usize,
    /// What is expected once the schedule has ended.
    pub expectation: Expectation,
}

/// What can be expected once the schedule has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expectation {
    /// `holds: stock is never negative`.
    Holds(Property),
    /// `broken: a stale write is never accepted`.
    Broken(Property),
    /// `not tested: tokens are never handed out twice`.
    NotTested(Property),
    /// `inventory 'sku-1': qty 8, fence_token 2`, `inventory 'sku-2': none`: a row by its primary key, some of its columns.
    Row {
        /// The table's name.
        table: String,
        /// The primary key's values as SQL literals, in order.
        key: Vec<String>,
        /// Column names and values as SQL literals; `None`: no such row.
        columns: Option<Vec<(String, String)>>,
    },
    /// `key lock:sku-1: "A-1" ttl 9000ms`, `key lock:sku-1: none`: a key's value in the short form of the reply to a
    /// read of it, and its time to live (`no ttl` for none; nothing said: not checked).
    Key {
        /// Which key.
        key: Vec<u8>,
        /// Its value in short form; `None`: no such key.
        value: Option<String>,
        /// Its remaining milliseconds; the outer `None`: not checked.
        ttl: Option<Option<u64>>,
    },
    /// `writes: B accepted; A rejected (no stock), stale, fence would pass`: every entry of the ledger, in order.
    Writes(Vec<ExpectedWrite>),
    /// `charges: ch-1 order-1 100; ch-2 order-1 100 refunded`: every charge, in order.
    Charges(Vec<String>),
    /// `client A: paused before write, believes lock:sku-1`: the client's state in a few words, as
    /// [`crate::sim::client::Client::state_in_words`] gives it.
    Client {
        /// Its name.
        name: String,
        /// Its state in words.
        state: String,
    },
}

/// One entry of the ledger as an expectation names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedWrite {
    /// A client's name, or `operator`.
    pub who: String,
    /// `accepted`, or `rejected (fenced)`, `rejected (no stock, fenced)`, `rejected (no such row)`; then `, stale` for a stale
    /// writer, and `, fence would pass` for a write that a fence condition let through while another one stopped it.
    pub verdict: String,
}

impl ExpectedWrite {
    /// An entry of the ledger in an expectation's words.
    pub fn of(entry: &LedgerEntry, setup: &Setup) -> ExpectedWrite {
        let who = match entry.who {
            Who::Client(client) => setup
                .clients
                .get(client.0)
                .map_or("?", |client| client.name.as_str()),
            Who::Operator => "operator",
        };
        ExpectedWrite {
            who: who.to_string(),
            verdict: entry.verdict(),
        }
    }
}

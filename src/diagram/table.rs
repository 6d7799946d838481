//! The picture as a table of text: its equal for those who do not see it.

use std::ops::Range;

use crate::sim::setup::Setup;
use crate::sim::time::in_words;

use super::part::{Kind, Part, TokenPlace, WriteVerdict};
use super::{Diagram, RowKind, lane_name};
use crate::words::{seconds, sentence};

/// One line of the picture as a table.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TableRow {
    /// The place of the action in the schedule, from 0.
    pub action: usize,
    /// The time in seconds: `10.001`.
    pub time: String,
    /// Whose lane: a client's name, `store`, `table`, `gateway`, `operator`, or `clock`.
    pub who: String,
    /// What happened, in a sentence.
    pub what: String,
    /// The verdict on a write, `stale holder`, `not possible`, or empty.
    pub verdict: String,
}

impl Diagram {
    /// The picture as a table, equal to it: a line for each thing that these actions brought about, in order. Bars have a line where
    /// they begin and one where they end.
    pub fn as_table(&self, setup: &Setup, actions: Range<usize>) -> Vec<TableRow> {
        let actions = actions.start..actions.end.min(self.rows.len());
        let parts_before = |action: usize| {
            self.rows
                .get(action)
                .map_or(self.parts.len(), |row| row.parts)
        };
        let start = match actions.start {
            0 => 0, // with what was there before the schedule
            start => parts_before(start),
        };
        let end = parts_before(actions.end).max(start);
        let mut table = Vec::new();
        let mut row = actions.start;
        for part in &self.parts[start..end] {
            let action = part.action.unwrap_or(0);
            while row <= action.min(actions.end.saturating_sub(1)) {
                table.extend(self.clock_line(row));
                row += 1;
            }
            if is_told(&part.kind) {
                table.push(self.line(setup, action, part));
            }
        }
        (row..actions.end).for_each(|row| table.extend(self.clock_line(row)));
        table
    }

    fn clock_line(&self, action: usize) -> Option<TableRow> {
        let row = self.rows.get(action)?;
        let RowKind::Clock { milliseconds } = row.kind else {
            return None;
        };
        Some(TableRow {
            action,
            time: seconds(row.at),
            who: "clock".to_string(),
            what: format!("{} passed.", sentence(&in_words(milliseconds))),
            verdict: String::new(),
        })
    }

    fn line(&self, setup: &Setup, action: usize, part: &Part) -> TableRow {
        let verdict = match &part.kind {
            Kind::Write {
                verdict: WriteVerdict::Unjudged,
                ..
            } => String::new(),
            Kind::Write { .. } | Kind::Gap { .. } | Kind::Refused { .. } => part.label.clone(),
            _ => String::new(),
        };
        TableRow {
            action,
            time: seconds(part.at),
            who: lane_name(setup, part.lane),
            what: self.teller(setup).told(part) + ".",
            verdict,
        }
    }
}

/// Whether a part tells something that no other part tells.
fn is_told(kind: &Kind) -> bool {
    match kind {
        Kind::Carry { .. } => false,
        Kind::Token { place, .. } => *place == TokenPlace::Drawn,
        _ => true,
    }
}

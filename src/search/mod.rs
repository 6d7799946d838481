//! The search for the shortest schedule that breaks a protocol, or that leads somewhere: it tries them all, within bounds.
//!
//! It runs the users' own commands, Lua and SQL through the same [`crate::sim::step`] as the page; there is no second model of
//! anything. Worlds that nothing can tell apart are one world, so that what is tried is a graph and not a tree:
//!
//! ```text
//! text ── Bounds, Goal ──► Search ── run, run, run ──► Outcome: a text with the schedule, or how much was tried
//!                             │
//!            parts ── step ──► numbers ──► worlds, a few packed words each ──► breadth first, by faults, then by steps
//! ```
//!
//! Shortest means: fewest faults, then fewest actions. Among schedules of the same length the one that changes client least often
//! comes first.

mod bounds;
pub mod challenge;
mod engine;
mod liveness;
mod moves;
mod parts;
mod presets;
mod reads;
mod schedule;
mod symmetry;
pub mod told;

pub use bounds::{
    ATTEMPTS, BYTES, Bounds, Budget, Finds, Goal, MOST, Reduction, Request, Start, WORLDS,
};
pub use presets::Preset;

use crate::property::Property;
use crate::scenario::{self, Reading, TextError, found};
use crate::timeline::{Moment, Timeline};
use engine::Engine;
use moves::Operator;

/// A search that is under way. It does nothing by itself: [`Search::run`] is called as long as it is wanted.
pub struct Search {
    text: String,
    reading: Reading,
    /// How many actions of the schedule come before it.
    at: usize,
    goal: Goal,
    start: Moment,
    /// What the operator has read at the start and may put back.
    operator: Operator,
    engine: Engine,
    outcome: Option<Outcome>,
}

/// How far a search has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Distinct worlds found.
    pub worlds: u64,
    /// Moves tried.
    pub transitions: u64,
    /// The faults of the schedules that are being tried; all with fewer were tried.
    pub faults: u32,
    /// The actions of the schedules that are being tried; all with as many faults and fewer actions were tried.
    pub depth: u32,
    /// Bytes that the tables take, by capacity.
    pub bytes: u64,
    /// Whether it is over, and has an outcome.
    pub finished: bool,
}

/// What came of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// There is such a schedule.
    Found {
        /// The scenario with the schedule in place of what came behind the start, and with what it shows as expectations. Of the
        /// shortest ones it is the one that changes client least often.
        text: String,
        /// Its actions behind the start, faults among them.
        steps: u32,
        /// Its faults.
        faults: u32,
        /// The property that it breaks, or the first of them; `None` where the search was to reach something.
        breaks: Option<Property>,
        /// Texts with the other schedules that are as short, those that change client less often first; not more than
        /// [`MOST_TIES`].
        ties: Vec<String>,
        /// Distinct worlds that were found until then.
        worlds: u64,
        /// Moves that were tried until then.
        transitions: u64,
    },
    /// There is none within the bounds.
    Nothing {
        /// Distinct worlds.
        worlds: u64,
        /// Moves.
        transitions: u64,
        /// What the bounds left out, each in a few words.
        left_out: Vec<String>,
    },
    /// The search has met a limit of worlds or bytes before its end.
    LimitReached {
        /// Distinct worlds.
        worlds: u64,
        /// Moves.
        transitions: u64,
        /// There is none with fewer faults than this,
        faults: u32,
        /// nor one with as many and fewer actions than this.
        depth: u32,
        /// What the bounds left out, each in a few words.
        left_out: Vec<String>,
    },
}

/// How many schedules are listed beside the first.
pub const MOST_TIES: usize = 20;

impl Search {
    /// A search through a scenario from the world after `at` actions of its schedule on.
    ///
    /// # Errors
    /// Everything that is wrong with the text, in order.
    pub fn new(
        text: &str,
        at: usize,
        bounds: Bounds,
        goal: Goal,
    ) -> Result<Search, Vec<TextError>> {
        let reading = scenario::read(text)?;
        let goal = goal.spelled_out(&reading.setup);
        let at = at.min(reading.schedule.len());
        let kept = reading.schedule[..at]
            .iter()
            .map(|line| line.action.clone());
        let start = Timeline::replay(reading.setup.clone(), kept).moment(at);
        let operator = None;
        let engine = Engine::new(reading.setup.clone(), &start, operator, bounds, &goal);
        Ok(Search {
            text: text.to_owned(),
            at,
            start,
            operator,
            engine,
            reading,
            goal,
            outcome: None,
        })
    }

    /// The search that a `search` block of a text describes.
    ///
    /// # Errors
    /// Everything that is wrong with the text, in order.
    pub fn of_request(text: &str, request: &Request) -> Result<Search, Vec<TextError>> {
        let len = scenario::read(text)?.schedule.len();
        Search::new(
            text,
            request.start.actions(len),
            request.bounds.clone(),
            request.goal.clone(),
        )
    }

    /// Goes on behind what it looks for until there are no more worlds: to count them.
    pub fn explore_all(&mut self) {
        self.engine.explore_all();
    }

    /// Tries the moves of about so many worlds more. Where it is not called from a loop of one's own, about 16,000 keep a page
    /// alive.
    pub fn run(&mut self, worlds: usize) -> Progress {
        self.engine.run(worlds);
        if self.engine.symmetry_failed() {
            self.start_without_symmetry();
        }
        let progress = self.engine.progress();
        if progress.finished && self.outcome.is_none() {
            self.outcome = Some(self.conclude());
        }
        progress
    }

    /// Begins anew where clients turned out not to be interchangeable.
    fn start_without_symmetry(&mut self) {
        let (mut bounds, explores_all) = self.engine.settings();
        bounds.without.push(Reduction::Symmetry);
        self.start_anew(bounds);
        if explores_all {
            self.engine.explore_all();
        }
    }

    fn start_anew(&mut self, bounds: Bounds) {
        let setup = self.reading.setup.clone();
        self.engine = Engine::new(setup, &self.start, self.operator, bounds, &self.goal);
    }

    /// Begins where the operator has read a largest token and not put it back yet.
    fn begin_within_reseed(&mut self, operator: Operator) {
        let (bounds, _) = self.engine.settings();
        self.operator = operator;
        self.start_anew(bounds);
    }

    /// How far it has come.
    pub fn progress(&self) -> Progress {
        self.engine.progress()
    }

    /// How many parts of each kind there are, in words.
    pub fn counts(&self) -> String {
        self.engine.parts.counts()
    }

    /// What came of it, once it is over.
    pub fn outcome(&self) -> Option<&Outcome> {
        self.outcome.as_ref()
    }

    /// Runs to the end.
    pub fn finish(&mut self) -> &Outcome {
        while self.outcome.is_none() {
            self.run(1 << 14);
        }
        match &self.outcome {
            Some(outcome) => outcome,
            None => unreachable!("the loop ends with an outcome"),
        }
    }

    /// Ends the search with what is known so far.
    pub fn stop(&mut self) -> &Outcome {
        self.engine.stop();
        self.finish()
    }

    fn conclude(&mut self) -> Outcome {
        let progress = self.engine.progress();
        let (worlds, transitions) = (progress.worlds, progress.transitions);
        let left_out = self.engine.left_out();
        if let Some((faults, steps)) = self.engine.found() {
            let schedules = self.engine.schedules(&self.start, MOST_TIES + 1);
            let (bounds, _) = self.engine.settings();
            let title = |breaks| {
                found::title_of_found(&self.reading, &bounds, (steps, faults), &self.goal, breaks)
            };
            let texts = schedules.into_iter().map(|schedule| {
                let (text, reading) = (&self.text, &self.reading);
                schedule::text_with(text, reading, self.at, &schedule, &self.goal, title)
            });
            let mut texts: Vec<(String, Option<Property>)> = texts.collect();
            // What somebody claims, and what locks and fences are for, comes before a sale that a crash leaves unfinished.
            crate::sorted::sort_by_key(&mut texts, |(_, breaks)| {
                breaks.map(|property| {
                    let is_claimed = property.is_claimed(&self.reading.setup);
                    (!is_claimed, property == Property::StockEqualsSold)
                })
            });
            let mut texts = texts.into_iter();
            let (text, breaks) = texts.next().unwrap_or_default();
            return Outcome::Found {
                text,
                steps,
                faults,
                breaks,
                ties: texts.map(|(text, _)| text).collect(),
                worlds,
                transitions,
            };
        }
        match self.engine.is_cut() {
            true => Outcome::LimitReached {
                worlds,
                transitions,
                faults: progress.faults,
                depth: progress.depth,
                left_out,
            },
            false => Outcome::Nothing {
                worlds,
                transitions,
                left_out,
            },
        }
    }
}

/// A search's bounds, goal and finding as a `search` block, with a line break at its end.
pub fn print_request(request: &Request) -> String {
    found::print_request(request)
}

/// What a search finds, as the text writes it behind `finds:`.
pub fn print_finds(finds: Finds) -> String {
    found::print_finds(finds)
}

/// What a search block of a text expects and what a search found, where these differ.
pub fn difference(finds: Finds, outcome: &Outcome, reading: &Reading) -> Option<(String, String)> {
    schedule::difference(finds, outcome, reading)
}

#[cfg(test)]
mod tests;

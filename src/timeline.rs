//! The schedule with its worlds: replay, checkpoints, and what each action caused.
//!
//! Only the actions are kept for ever. What they caused is kept beside them as it is shown all the time, and the world is kept at
//! every [`CHECKPOINT_EVERY`]th action, so that any moment is a few steps from a checkpoint.

use std::sync::Arc;

use crate::property::{Judge, LedgerEntry, Property, Verdict};
use crate::sim::action::{Action, Who};
use crate::sim::event::{Answer, Event, Fact};
use crate::sim::setup::Setup;
use crate::sim::step::step;
use crate::sim::world::World;

/// After how many actions the next world is kept.
pub const CHECKPOINT_EVERY: usize = 32;

/// The largest number of actions that a schedule can have; one more is refused by whoever adds it.
pub const MOST_ACTIONS: usize = 100_000;

/// A world, and what the properties remember of how it came to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moment {
    /// The world.
    pub world: World,
    /// What the properties remember.
    pub judge: Judge,
}

/// One action, and what it caused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The action.
    pub action: Action,
    /// What happened, in order.
    pub events: Vec<Event>,
    /// The writes that it added to the ledger, in order.
    pub ledger: Vec<LedgerEntry>,
}

impl Entry {
    /// Why the action was refused; `None`: it was done.
    pub fn refusal(&self) -> Option<&str> {
        self.events.iter().find_map(|event| match &event.fact {
            Fact::Refused { why } => Some(why.as_str()),
            _ => None,
        })
    }

    /// What the request that this action made was answered with by the server; `None` when it made no request, or has no
    /// answer yet.
    pub fn answer(&self) -> Option<&Answer> {
        let asking = self.who()?;
        let answer = self.events.iter().find_map(|event| match &event.fact {
            Fact::Answered { who, answer, .. } if *who == asking => Some(answer),
            Fact::AnsweredNobody { answer, .. } => Some(answer),
            Fact::Unreachable { who, .. } if *who == asking => Some(&Answer::Lost),
            _ => None,
        });
        // What had been under way, or had come as a message, is answered long since, and only seen.
        answer.or_else(|| self.seen())
    }

    /// Whether the action made a request that the server has not answered at once.
    pub fn waits(&self) -> bool {
        self.answer().is_none()
            && self
                .events
                .iter()
                .any(|event| matches!(event.fact, Fact::Waits { .. }))
    }

    /// What stands behind `=>` for this action: the reply in its short form, or `waits`; `None` when it makes no request.
    pub fn reply_in_short(&self) -> Option<String> {
        match self.answer() {
            Some(answer) => Some(answer.print_short()),
            None if self.waits() => Some("waits".to_string()),
            None => None,
        }
    }

    fn seen(&self) -> Option<&Answer> {
        let (Action::Deliver {
            client: asking,
            step: asked,
        }
        | Action::Step {
            client: asking,
            step: asked,
        }) = &self.action
        else {
            return None;
        };
        self.events.iter().find_map(|event| match &event.fact {
            Fact::Saw {
                client,
                step,
                answer,
                ..
            } if (client, step) == (asking, asked) && *answer != Answer::Lost => Some(answer),
            _ => None,
        })
    }

    fn who(&self) -> Option<Who> {
        match &self.action {
            Action::Step { client, .. }
            | Action::LoseReply { client, .. }
            | Action::LoseRequest { client, .. }
            | Action::Delay { client, .. }
            | Action::Deliver { client, .. } => Some(Who::Client(*client)),
            Action::Command { who, .. } => Some(*who),
            _ => None,
        }
    }
}

/// A schedule, with what each of its actions caused.
#[derive(Clone, Debug)]
pub struct Timeline {
    setup: Arc<Setup>,
    start: Moment,
    beginning: Vec<Event>,
    entries: Vec<Entry>,
    /// The moment after every `CHECKPOINT_EVERY` actions.
    checkpoints: Vec<Moment>,
    last: Moment,
}

impl Timeline {
    /// The empty schedule.
    pub fn new(setup: Arc<Setup>) -> Timeline {
        let (world, beginning) = World::new(&setup);
        let mut judge = Judge::new(&setup);
        judge.observe(&setup, 0, &beginning, &world);
        let start = Moment { world, judge };
        Timeline {
            setup,
            last: start.clone(),
            start,
            beginning,
            entries: Vec::new(),
            checkpoints: Vec::new(),
        }
    }

    /// The schedule of these actions.
    pub fn replay(setup: Arc<Setup>, actions: impl IntoIterator<Item = Action>) -> Timeline {
        let mut timeline = Timeline::new(setup);
        for action in actions {
            timeline.push(action);
        }
        timeline
    }

    /// What stands before the schedule.
    pub fn setup(&self) -> &Arc<Setup> {
        &self.setup
    }

    /// What happened before the first action: each client began its first attempt.
    pub fn beginning(&self) -> &[Event] {
        &self.beginning
    }

    /// The actions and what they caused, in order.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// How many actions there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Adds an action at the end. One that is not possible is kept too, and changes nothing.
    pub fn push(&mut self, action: Action) -> &Entry {
        let place = self.entries.len();
        let entry = advance(&self.setup, &mut self.last, place, action);
        self.entries.push(entry);
        if self.entries.len().is_multiple_of(CHECKPOINT_EVERY) {
            self.checkpoints.push(self.last.clone());
        }
        &self.entries[place]
    }

    /// Forgets all actions from this place on.
    pub fn truncate(&mut self, len: usize) {
        if len < self.entries.len() {
            self.last = self.moment(len);
            self.entries.truncate(len);
            self.checkpoints.truncate(len / CHECKPOINT_EVERY);
        }
    }

    /// The moment after this many actions; after all of them when there are fewer.
    pub fn moment(&self, after: usize) -> Moment {
        if after >= self.entries.len() {
            return self.last.clone();
        }
        let kept = after / CHECKPOINT_EVERY;
        let mut moment = match kept {
            0 => self.start.clone(),
            kept => self.checkpoints[kept - 1].clone(),
        };
        for place in kept * CHECKPOINT_EVERY..after {
            advance(
                &self.setup,
                &mut moment,
                place,
                self.entries[place].action.clone(),
            );
        }
        moment
    }

    /// The verdicts after this many actions, as if the schedule ended there.
    pub fn verdicts(&self, after: usize) -> Vec<(Property, Verdict)> {
        let moment = self.moment(after);
        moment.judge.verdicts(&self.setup)
    }
}

fn advance(setup: &Setup, moment: &mut Moment, place: usize, action: Action) -> Entry {
    let (world, events) = step(setup, &moment.world, &action);
    moment.world = world;
    let ledger = moment.judge.observe(setup, place, &events, &moment.world);
    Entry {
        action,
        events,
        ledger,
    }
}

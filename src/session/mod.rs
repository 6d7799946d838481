//! The whole page minus the DOM: what it shows, and what each thing that a user does changes.
//!
//! ```text
//! Msg ──► Session::update ──► document (text), timeline (worlds), cursor, branches ──► notices
//! ```
//!
//! A click applies one action and adds one line; it neither parses the text nor replays the schedule. Editing the text replays
//! it. A text that does not parse is kept as a draft beside the last good one, and nothing that would write the text is possible
//! until it parses.

mod branches;
mod challenge;
mod document;
mod offers;
mod origin;
mod shelf;
mod shown;
#[cfg(test)]
mod tests;

pub use branches::{Beside, Leaf, Parting};
pub use challenge::Challenge;
pub use document::Document;
pub use offers::{Offer, fit};
use origin::Origin;
pub use origin::Standing;
pub use shelf::MOST_OF_A_NAME;

pub use shown::{Lease, TableNow};

use std::sync::Arc;

use crate::property::{Property, Verdict};
use crate::scenario::{self, Reading, TextError};
use crate::search;
use crate::sim::action::{Action, ClientId, LatchPoint, Who};
use crate::sim::event::Answer;
use crate::sim::setup::{Setup, Watch};
use crate::sim::step::{refusal, step};
use crate::sim::world::World;
use crate::timeline::{MOST_ACTIONS, Moment, Timeline};
use crate::words;

/// How many steps one Run takes at most.
pub const MOST_STEPS_OF_A_RUN: usize = 200;

/// The most milliseconds by which the clock advances at once, as in a text.
pub const MOST_ADVANCE: u64 = scenario::limits::DURATION;

/// How many changes can be undone.
pub const MOST_UNDO: usize = 10_000;

/// How many branches are kept; the oldest goes first.
pub const MOST_BRANCHES: usize = 50;

/// The longest beginning of a title in a branch's name, in characters.
const MOST_OF_A_TITLE: usize = 32;

/// Something that a user does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Msg {
    /// One action at the cursor. In the past it begins a branch, and the old one is kept.
    Act(Action),
    /// A command or statement typed at a console.
    Type {
        /// At whose console.
        who: Who,
        /// What is typed.
        source: String,
    },
    /// An action as it stands in the schedule, typed: what has no button of its own.
    TypeAction(String),
    /// The next action of the schedule, whatever it is; at its end the next step of the client that acted last.
    StepOn,
    /// Steps of a client until it is paused, blocked or done.
    Run(ClientId),
    /// The client's next step, with its reply lost.
    LoseReply(ClientId),
    /// Puts a latch there, or takes it away.
    ToggleLatch {
        /// Whose.
        client: ClientId,
        /// Where.
        at: LatchPoint,
    },
    /// Seeds the counter of this `watch` line (from 0) from the table: a SELECT MAX and a SET.
    Reseed(usize),
    /// Moves the cursor to after this many actions.
    GoTo(usize),
    /// Undoes the last change, whatever it was.
    Undo,
    /// Does again what was undone.
    Redo,
    /// The text, as it was edited.
    Edit(String),
    /// The text as the canonical printer writes it.
    Format,
    /// Writes an `expect` part that pins what is so at the end of the schedule.
    PinExpectations,
    /// Opens another text with its cursor (`None`: at its end); what was open is kept as a branch if it was changed.
    Open {
        /// The text.
        text: String,
        /// How many actions have been played.
        cursor: Option<usize>,
    },
    /// Writes the search at this place of the text (from 0), before the schedule where there is none.
    SetSearch {
        /// Which of the text's searches.
        place: usize,
        /// Its bounds and what it looks for.
        request: Box<search::Request>,
        /// Expectations, one a line, that it is to reach instead.
        reaches: Option<String>,
    },
    /// Opens a text with a schedule that a search found, with the cursor where that begins; what was open is kept as a branch.
    OpenFound {
        /// The text.
        text: String,
        /// How many actions come before what was found.
        cursor: usize,
    },
    /// Opens a kept branch, and keeps the current text in its place.
    SwitchBranch(usize),
    /// Forgets a kept branch.
    DeleteBranch(usize),
    /// Gives a kept branch (`None`: what is open) a name.
    NameBranch {
        /// Its place.
        place: Option<usize>,
        /// Its new name.
        name: String,
    },
    /// Keeps what is open (or this text) under a name.
    Keep {
        /// The name.
        name: String,
        /// The text of a file, in place of what is open.
        text: Option<String>,
    },
    /// Gives a scenario that is kept another name.
    RenameKept {
        /// What it is called.
        name: String,
        /// What it is to be called.
        to: String,
    },
    /// Forgets a scenario that is kept under this name.
    DeleteKept(String),
    /// Adds a client that runs this protocol (`None`: with a console only).
    AddClient {
        /// Its name.
        name: String,
        /// The protocol's name.
        protocol: Option<String>,
    },
    /// Removes a client with its lines of the schedule.
    RemoveClient(ClientId),
    /// Gives a client another name, in every line that names it.
    RenameClient {
        /// Which client.
        client: ClientId,
        /// Its new name.
        name: String,
    },
    /// Adds a protocol of the library, with the tables, scripts and roles that it needs.
    AddProtocol(String),
}

/// A text that was left for another one, kept in the browser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch {
    /// What it is called.
    pub name: String,
    /// The text.
    pub text: String,
    /// Where its cursor stood.
    pub cursor: usize,
    /// Which of the branches came first: one that parted from another has the larger number. 0 for what is no branch.
    pub born: u64,
}

/// Something to tell the user, once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// Nothing went wrong.
    Said(String),
    /// It could not be done, and why.
    Refused(String),
}

impl Notice {
    /// The sentence.
    pub fn into_words(self) -> String {
        match self {
            Notice::Said(words) | Notice::Refused(words) => words,
        }
    }
}

/// One reply that differs from what stands behind `=>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// Which action.
    pub action: usize,
    /// What stands there.
    pub expected: String,
    /// What was replied, or why the action was refused.
    pub got: String,
}

/// A step back, and forward again.
#[derive(Clone, Debug)]
enum Change {
    /// These schedule lines were added, and the cursor was there before.
    Added {
        lines: Vec<(String, Action)>,
        cursor: usize,
    },
    /// The whole text was replaced.
    Replaced { before: Kept, after: Kept },
    /// A branch was forgotten, which had this place.
    Forgot { place: usize, branch: Branch },
    /// What was open and a branch changed places; each is known by its number.
    Switched { from: u64, to: u64 },
    /// The branch with this number got another name.
    Named {
        born: u64,
        before: Option<String>,
        after: Option<String>,
    },
    /// Scenarios that are kept came, went or were replaced.
    Shelf(Vec<(Option<Branch>, Option<Branch>)>),
}

/// A whole text with its cursor.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Kept {
    text: String,
    cursor: usize,
    name: Option<String>,
    born: u64,
    shelved: Option<Branch>,
}

/// The page's state: all that the views show is derived from it.
#[derive(Clone, Debug)]
pub struct Session {
    document: Document,
    reading: Arc<Reading>,
    timeline: Timeline,
    cursor: usize,
    /// The moment at the cursor.
    moment: Moment,
    draft: Option<(String, Vec<TextError>)>,
    mismatches: Vec<Mismatch>,
    /// What stands in the text and cannot work.
    warnings: Vec<TextError>,
    undo: Vec<Change>,
    redo: Vec<Change>,
    branches: Vec<Branch>,
    /// What is open is called so among the branches, where somebody has named it.
    name: Option<String>,
    /// Its number among the branches.
    born: u64,
    /// The scenarios that are kept under names, in their order.
    shelf: Vec<Branch>,
    /// What of these is open, as it was opened or kept last.
    shelved: Option<Branch>,
    /// The text as it was opened, to tell whether it was changed.
    opened: String,
    origin: Origin,
    /// The schedule of a search that was opened last.
    found: Vec<String>,
    revision: u64,
    /// How many of the first actions the last update left as they were.
    unchanged: usize,
}

impl Session {
    /// A session on this text, with the cursor after this many actions (`None`: at the end).
    pub fn new(text: &str, cursor: Option<usize>) -> Result<Session, Vec<TextError>> {
        let reading = scenario::read(text)?;
        let timeline = replay(&reading);
        let cursor = cursor.unwrap_or(usize::MAX).min(timeline.len());
        let document = document_of(text, &reading);
        Ok(Session {
            origin: Origin::of(&reading.title, &document),
            document,
            mismatches: mismatches(&reading, &timeline),
            warnings: scenario::warnings(text, &reading),
            moment: timeline.moment(cursor),
            reading: Arc::new(reading),
            timeline,
            cursor,
            draft: None,
            undo: Vec::new(),
            redo: Vec::new(),
            branches: Vec::new(),
            name: None,
            born: 1,
            shelf: Vec::new(),
            shelved: None,
            opened: text.to_string(),
            found: Vec::new(),
            revision: 0,
            unchanged: 0,
        })
    }

    /// Does what the user asks, and gives what to tell them.
    pub fn update(&mut self, msg: Msg) -> Vec<Notice> {
        self.unchanged = self.timeline.len();
        let outcome = match msg {
            Msg::GoTo(cursor) => {
                self.go_to(cursor);
                Ok(None)
            }
            Msg::StepOn if self.cursor < self.timeline.len() => {
                self.go_to(self.cursor + 1);
                Ok(None)
            }
            Msg::Undo => self.undo(),
            Msg::Redo => self.redo(),
            Msg::Edit(text) => self.edit(text),
            Msg::Open { text, cursor } => self.open(&text, cursor),
            Msg::OpenFound { text, cursor } => self.open_found(&text, cursor),
            Msg::SwitchBranch(place) => self.switch_branch(place),
            Msg::DeleteBranch(place) => self.delete_branch(place),
            Msg::NameBranch { place, name } => self.name_branch(place, &name),
            Msg::Keep { name, text } => self.keep_under(&name, text),
            Msg::RenameKept { name, to } => self.rename_kept(&name, &to),
            Msg::DeleteKept(name) => self.delete_kept(&name),
            other => match self.why_not_writable() {
                Some(why) => Err(why),
                None => self.write(other),
            },
        };
        match outcome {
            Ok(None) => Vec::new(),
            Ok(Some(said)) => vec![Notice::Said(said)],
            Err(why) => vec![Notice::Refused(why)],
        }
    }

    fn write(&mut self, msg: Msg) -> Result<Option<String>, String> {
        match msg {
            Msg::Act(action) => self.act(action),
            Msg::StepOn => {
                let step = self.step_on().ok_or("no client can take a step now")?;
                self.act(step)
            }
            Msg::Type { who, source } => self.type_command(who, source),
            Msg::TypeAction(line) => {
                let line =
                    scenario::read_schedule_line(line.trim(), self.setup()).map_err(|error| {
                        match error.expected.as_str() {
                            "" => error.message.clone(),
                            expected => format!("{}: expected {expected}", error.message),
                        }
                    })?;
                self.act(line.action)
            }
            Msg::Run(client) => self.run(client),
            Msg::LoseReply(client) => {
                let step = self
                    .world()
                    .client(client)
                    .and_then(|client| client.current_step());
                let step = step.ok_or("the client has no step whose reply could be lost")?;
                self.act(Action::LoseReply { client, step })
            }
            Msg::ToggleLatch { client, at } => self.act(self.latch_action(client, at)),
            Msg::Reseed(watch) => self.reseed(watch),
            Msg::Format => {
                let text = scenario::format(&self.text()).map_err(|errors| first(&errors))?;
                self.replace(text, self.cursor)
                    .map(|()| Some("The text is formatted".to_string()))
            }
            Msg::PinExpectations => {
                let text = scenario::edit::pin_expectations(&self.text(), &self.timeline)
                    .map_err(|errors| first(&errors))?;
                self.replace(text, self.cursor).map(|()| {
                    Some("The expectations say what is so at the end of the schedule".to_string())
                })
            }
            Msg::AddClient { name, protocol } => {
                let text = scenario::edit::add_client(&self.text(), &name, protocol.as_deref())
                    .map_err(|errors| of_a_field(&errors))?;
                let text = match scenario::read(&text) {
                    Ok(_) => text,
                    Err(_) => with_parameters(&text, &name, protocol.as_deref()),
                };
                self.replace(text, self.cursor)
                    .map(|()| Some(format!("{name} is there")))
            }
            Msg::RemoveClient(client) => {
                let name = self.client_name(client).to_string();
                let text = scenario::edit::remove_client(&self.text(), &name)
                    .map_err(|errors| first(&errors))?;
                let cursor = self.cursor - self.lines_of(client, self.cursor);
                let has_acted = self.lines_of(client, self.timeline.len()) > 0;
                let kept = has_acted.then(|| {
                    self.keep_branch(format!("{}, before {name} went", self.title_in_short()))
                });
                self.replace(text, cursor)?;
                Ok(Some(match kept {
                    Some(kept) => format!("{name} is removed; what was there is kept as “{kept}”"),
                    None => format!("{name} is removed"),
                }))
            }
            Msg::RenameClient { client, name } => {
                let before = self.client_name(client).to_string();
                if before == name {
                    return Ok(None);
                }
                let text = scenario::edit::rename_client(&self.text(), &before, &name)
                    .map_err(|errors| of_a_field(&errors))?;
                self.replace(text, self.cursor)
                    .map(|()| Some(format!("{before} is called {name} now")))
            }
            Msg::AddProtocol(name) => {
                let text = scenario::edit::add_protocol(&self.text(), &name)
                    .map_err(|errors| of_a_field(&errors))?;
                self.replace(text, self.cursor)
                    .map(|()| Some(format!("The protocol {name} is there")))
            }
            Msg::SetSearch {
                place,
                request,
                reaches,
            } => {
                let text =
                    scenario::edit::set_search(&self.text(), place, &request, reaches.as_deref())
                        .map_err(|errors| of_a_field(&errors))?;
                if text == self.text() {
                    return Ok(None);
                }
                scenario::read(&text).map_err(|errors| of_a_field(&errors))?;
                self.replace(text, self.cursor).map(|()| None)
            }
            Msg::GoTo(_)
            | Msg::Undo
            | Msg::Redo
            | Msg::Edit(_)
            | Msg::Open { .. }
            | Msg::OpenFound { .. }
            | Msg::SwitchBranch(_)
            | Msg::DeleteBranch(_)
            | Msg::NameBranch { .. }
            | Msg::Keep { .. }
            | Msg::RenameKept { .. }
            | Msg::DeleteKept(_) => Ok(None),
        }
    }

    // What is shown.

    /// The text's lines: the last good one while a draft does not parse.
    pub fn document(&self) -> &Document {
        &self.document
    }

    /// The text as it was last good.
    pub fn text(&self) -> String {
        self.document.text()
    }

    /// The text that the editor shows: the draft while there is one.
    pub fn edited_text(&self) -> String {
        match &self.draft {
            Some((draft, _)) => draft.clone(),
            None => self.text(),
        }
    }

    /// What is wrong with the draft, all at once; empty when the text parses.
    pub fn errors(&self) -> &[TextError] {
        self.draft.as_ref().map_or(&[], |(_, errors)| errors)
    }

    /// What was read before the schedule, the title and the expectations.
    pub fn reading(&self) -> &Arc<Reading> {
        &self.reading
    }

    /// What stands before the schedule.
    pub fn setup(&self) -> &Arc<Setup> {
        self.timeline.setup()
    }

    /// The schedule, with what each of its actions caused.
    pub fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    /// How many actions have been played at the cursor.
    pub fn cursor(&self) -> usize {
        self.cursor
    }

    /// The world at the cursor.
    pub fn world(&self) -> &World {
        &self.moment.world
    }

    /// The verdicts at the cursor. What a client that is still at work may put right is left open, but for the end of a schedule
    /// whose text has expectations: there, as the expectations do, the schedule is taken to be over.
    pub fn verdicts(&self) -> Vec<(Property, Verdict)> {
        let judge = &self.moment.judge;
        match self.is_over() {
            true => judge.verdicts(self.setup()),
            false => judge.verdicts_so_far(self.setup()),
        }
    }

    /// Whether the cursor is at the end of a schedule of which the text says what is so at its end.
    fn is_over(&self) -> bool {
        self.cursor == self.timeline.len() && !self.reading.expectations.is_empty()
    }

    /// The replies that differ from what stands behind `=>`, in order.
    pub fn mismatches(&self) -> &[Mismatch] {
        &self.mismatches
    }

    /// What stands in the text and cannot work, before the schedule or in a protocol; none of a draft that does not parse.
    pub fn warnings(&self) -> &[TextError] {
        match self.draft {
            Some(_) => &[],
            None => &self.warnings,
        }
    }

    /// The branches that are kept, the oldest first.
    pub fn branches(&self) -> &[Branch] {
        &self.branches
    }

    /// Puts kept branches in place, as a saved session brings them back.
    pub fn set_branches(&mut self, branches: Vec<Branch>) {
        self.branches = branches;
        self.branches.truncate(MOST_BRANCHES);
        self.born = self.next_born();
    }

    /// Takes the place among the branches that what is open had, as a saved session brings it back: its name, where it has one, and its
    /// number.
    pub fn be_branch(&mut self, name: &str, born: u64) {
        self.name = Some(name.to_string()).filter(|name| !name.is_empty());
        self.born = born;
    }

    /// The name, where it has one, and the number of what is open among the branches.
    pub fn own_branch(&self) -> (&str, u64) {
        (self.name.as_deref().unwrap_or_default(), self.born)
    }

    /// A number for a branch that begins now.
    fn next_born(&self) -> u64 {
        let all = self.branches.iter().map(|branch| branch.born);
        all.chain([self.born]).max().unwrap_or(0) + 1
    }

    /// Takes over the branches that another page has kept beside this one: by their names, those that are not here with the same text.
    pub fn keep_others(&mut self, branches: Vec<Branch>) {
        for mut branch in branches {
            branch.born = self.next_born();
            let is_here = |kept: &Branch| kept.text == branch.text;
            if branch.text == self.text() || self.branches.iter().any(is_here) {
                continue;
            }
            self.branches.retain(|kept| kept.name != branch.name);
            self.branches.push(branch);
        }
        let extra = self.branches.len().saturating_sub(MOST_BRANCHES);
        self.branches.drain(..extra);
    }

    /// Grows with every change of text, cursor or branches.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// How many of the schedule's first actions the last update left as they were, for whoever keeps something beside each.
    pub fn unchanged(&self) -> usize {
        self.unchanged
    }

    /// The text as it is being edited, while it does not parse.
    pub fn draft(&self) -> Option<&str> {
        self.draft.as_ref().map(|(draft, _)| draft.as_str())
    }

    /// Whether the text differs from what was opened.
    pub fn is_changed(&self) -> bool {
        self.text() != self.opened
    }

    /// Whether there is something to undo.
    pub fn can_undo(&self) -> bool {
        !self.undo.is_empty() || self.draft.is_some()
    }

    /// Whether there is something to do again.
    pub fn can_redo(&self) -> bool {
        !self.redo.is_empty()
    }

    /// Why nothing that writes the text is possible now: the draft's first error; `None` when it is.
    pub fn why_not_writable(&self) -> Option<String> {
        let (_, errors) = self.draft.as_ref()?;
        let error = errors.first()?;
        Some(format!(
            "the text does not parse: line {}: {}",
            error.line, error.message
        ))
    }

    /// Why the action is not possible at the cursor, in a sentence; `None` when it is.
    pub fn why_not(&self, action: &Action) -> Option<String> {
        self.why_not_writable()
            .or_else(|| refusal(self.setup(), self.world(), action))
    }

    /// The client's next step as an action, where it has one.
    pub fn next_step(&self, client: ClientId) -> Option<Action> {
        let step = self.world().client(client)?.current_step()?;
        Some(Action::Step { client, step })
    }

    /// What toggling the latch there means now: to put it, or to take it away.
    pub fn latch_action(&self, client: ClientId, at: LatchPoint) -> Action {
        let is_set = self
            .world()
            .client(client)
            .is_some_and(|client| client.latches.contains(&at));
        let is_here = self
            .world()
            .client(client)
            .and_then(|client| client.paused_at())
            == Some(at);
        match is_set {
            true => Action::Resume {
                client,
                at: Some(at).filter(|_| !is_here),
            },
            false => Action::Pause {
                client,
                at: Some(at),
            },
        }
    }

    /// A client's name.
    pub fn client_name(&self, client: ClientId) -> &str {
        self.setup()
            .clients
            .get(client.0)
            .map_or("", |client| client.name.as_str())
    }

    // Acting.

    /// Adds an action at the cursor, if it is possible.
    fn act(&mut self, action: Action) -> Result<Option<String>, String> {
        if let Action::Advance { milliseconds } = action
            && !(1..=MOST_ADVANCE).contains(&milliseconds)
        {
            return Err(format!(
                "the clock advances by 1 ms at least and by {MOST_ADVANCE} ms, about 31 years, at most"
            ));
        }
        if let Some(why) = self.why_not(&action) {
            return Err(why);
        }
        if self.is_recorded_next(&action) {
            self.go_to(self.cursor + 1);
            return Ok(None);
        }
        self.add(|session| Ok(vec![session.append(action)?]))
    }

    /// Whether the schedule goes on with this very action, or with one of its kind that does the same here (`pause A before write`
    /// where A comes to write next): doing it again is only to go forward, and begins no branch.
    fn is_recorded_next(&self, action: &Action) -> bool {
        let Some(entry) = self.timeline.entries().get(self.cursor) else {
            return false;
        };
        let recorded = &entry.action;
        let same = recorded == action
            || is_written_in_several_ways(recorded)
                && is_written_in_several_ways(action)
                && client_of(recorded) == client_of(action)
                && step(self.setup(), self.world(), recorded).0
                    == step(self.setup(), self.world(), action).0;
        // What the schedule could not do is done again by nobody.
        same && entry.refusal().is_none()
    }

    /// Adds schedule lines at the cursor as one change. In the past, the whole text is kept as a branch first and the schedule is
    /// cut at the cursor.
    fn add(
        &mut self,
        append: impl FnOnce(&mut Session) -> Result<Vec<(String, Action)>, String>,
    ) -> Result<Option<String>, String> {
        let cursor = self.cursor;
        if cursor == self.timeline.len() {
            let lines = append(self)?;
            self.remember(Change::Added { lines, cursor });
            return Ok(None);
        }
        let before = self.kept();
        let name = self.keep_branch(format!(
            "{}, before action {}",
            self.title_in_short(),
            cursor + 1
        ));
        self.cut_at_cursor();
        append(self)?;
        let after = self.kept();
        self.remember(Change::Replaced { before, after });
        Ok(Some(format!("The old branch is kept as “{name}”")))
    }

    /// Plays one action at the end and writes its line.
    fn append(&mut self, action: Action) -> Result<(String, Action), String> {
        if self.timeline.len() >= MOST_ACTIONS {
            return Err(format!("a schedule has at most {MOST_ACTIONS} actions"));
        }
        let setup = self.setup().clone();
        let entry = self.timeline.push(action.clone());
        let reply = entry.reply_in_short();
        let line = scenario::print_schedule_line(&setup, &action, reply.as_deref());
        self.document.append(&line);
        self.cursor = self.timeline.len();
        self.moment = self.timeline.moment(self.cursor);
        self.revision += 1;
        Ok((line, action))
    }

    fn cut_at_cursor(&mut self) {
        let reading = Arc::make_mut(&mut self.reading);
        reading.schedule.truncate(self.cursor);
        reading.expectations.clear();
        self.document.cut(self.cursor);
        self.timeline.truncate(self.cursor);
        self.unchanged = self.unchanged.min(self.cursor);
        self.mismatches
            .retain(|mismatch| mismatch.action < self.cursor);
    }

    fn type_command(&mut self, who: Who, source: String) -> Result<Option<String>, String> {
        let source = source.trim().to_string();
        if source.is_empty() {
            return Ok(None);
        }
        let request = scenario::read_request(&source, self.setup(), who)
            .map_err(|error| error.message.clone())?;
        self.act(Action::Command {
            who,
            source,
            request,
        })
    }

    fn run(&mut self, client: ClientId) -> Result<Option<String>, String> {
        let action = self
            .next_step(client)
            .ok_or("the client has no next step")?;
        if let Some(why) = self.why_not(&action) {
            return Err(why);
        }
        let from = self.cursor;
        while self
            .next_step(client)
            .is_some_and(|action| self.is_recorded_next(&action))
        {
            self.go_to(self.cursor + 1);
        }
        if self.cursor > from {
            return Ok(None);
        }
        let said = self.add(|session| session.steps_until_it_waits(client))?;
        let next = self.next_step(client);
        let goes_on = next.is_some_and(|action| self.why_not(&action).is_none());
        Ok(said.or_else(|| {
            let name = self.client_name(client);
            goes_on.then(|| format!("{name} goes in a circle, and Run stops: only others can help"))
        }))
    }

    fn steps_until_it_waits(&mut self, client: ClientId) -> Result<Vec<(String, Action)>, String> {
        let mut lines = Vec::new();
        while lines.len() < MOST_STEPS_OF_A_RUN {
            let Some(action) = self
                .next_step(client)
                .filter(|action| self.why_not(action).is_none())
            else {
                break;
            };
            let here = |session: &Session| {
                let client = session.world().client(client);
                client.map(|client| (client.place.clone(), client.attempt))
            };
            let before = here(self);
            lines.push(self.append(action)?);
            // A step that leads back to itself waits for something that only others can change.
            if here(self) == before {
                break;
            }
        }
        Ok(lines)
    }

    fn reseed(&mut self, place: usize) -> Result<Option<String>, String> {
        let watch = self
            .setup()
            .watches
            .get(place)
            .cloned()
            .ok_or("there is no such watch line")?;
        let Watch {
            counter: Some(counter),
            fence: Some(fence),
            ..
        } = watch
        else {
            return Err(
                "to reseed, a watch line has to name the counter and the fence: \
                        `watch counter KEY, fence TABLE.COLUMN`"
                    .to_string(),
            );
        };
        self.add(|session| {
            let select = format!("SELECT MAX({}) FROM {}", fence.column, fence.table);
            let read = session.append(session.operator_command(select)?)?;
            let seed = session.selected_number().unwrap_or(0);
            let key = crate::sim::store::quote_argument(&counter);
            let set = session.append(session.operator_command(format!("SET {key} {seed}"))?)?;
            Ok(vec![read, set])
        })
    }

    fn operator_command(&self, source: String) -> Result<Action, String> {
        let who = Who::Operator;
        let request = scenario::read_request(&source, self.setup(), who)
            .map_err(|error| error.message.clone())?;
        Ok(Action::Command {
            who,
            source,
            request,
        })
    }

    /// The number that the last action's SELECT gave; `None` for NULL.
    fn selected_number(&self) -> Option<i64> {
        use crate::sim::database::SqlReply;
        match self.timeline.entries().last()?.answer()? {
            Answer::Database(SqlReply::Rows { rows, .. }) => rows.first()?.first()?.as_integer(),
            _ => None,
        }
    }

    // Moving.

    fn go_to(&mut self, cursor: usize) {
        self.cursor = cursor.min(self.timeline.len());
        self.moment = self.timeline.moment(self.cursor);
        self.revision += 1;
    }

    // Changing the text.

    fn edit(&mut self, text: String) -> Result<Option<String>, String> {
        match scenario::read(&text) {
            Err(errors) => {
                self.draft = Some((text, errors));
                self.revision += 1;
                Ok(None)
            }
            Ok(reading) => {
                let at_end = self.cursor == self.timeline.len();
                let cursor = if at_end { usize::MAX } else { self.cursor };
                let before = self.kept();
                self.draft = None;
                if before.text == text {
                    self.revision += 1;
                    return Ok(None);
                }
                self.put(&text, reading, cursor);
                let after = self.kept();
                self.remember(Change::Replaced { before, after });
                Ok(None)
            }
        }
    }

    fn replace(&mut self, text: String, cursor: usize) -> Result<(), String> {
        let reading = scenario::read(&text).map_err(|errors| first(&errors))?;
        let before = self.kept();
        self.put(&text, reading, cursor);
        let after = self.kept();
        self.remember(Change::Replaced { before, after });
        Ok(())
    }

    fn open(&mut self, text: &str, cursor: Option<usize>) -> Result<Option<String>, String> {
        let reading = scenario::read(text).map_err(|errors| first(&errors))?;
        let said = self.is_changed().then(|| {
            let title = self.title();
            let name = self.keep_branch(title);
            format!("Your work is kept as “{name}”")
        });
        let before = self.kept();
        self.draft = None;
        self.put(text, reading, cursor.unwrap_or(usize::MAX));
        self.opened = self.text();
        self.origin = Origin::of(&self.reading.title, &self.document);
        self.begin_branch();
        self.shelved = self.shelved_with(text);
        let after = self.kept();
        self.remember(Change::Replaced { before, after });
        Ok(said)
    }

    fn open_found(&mut self, text: &str, cursor: usize) -> Result<Option<String>, String> {
        let reading = scenario::read(text).map_err(|errors| first(&errors))?;
        // One of several schedules that were found is there to be found again.
        let said = (!self.is_found()).then(|| {
            let name = self.keep_branch(self.title_in_short() + ", before the search");
            format!("What was open is kept as “{name}”")
        });
        let before = self.kept();
        self.draft = None;
        self.put(text, reading, cursor);
        self.opened = self.text();
        self.found = self.titled_schedule().map(str::to_string).collect();
        self.begin_branch();
        self.shelved = None;
        let after = self.kept();
        self.remember(Change::Replaced { before, after });
        Ok(said)
    }

    /// Whether the schedule is the one that a search found and that was opened last.
    fn is_found(&self) -> bool {
        self.titled_schedule().eq(&self.found)
    }

    fn titled_schedule(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.reading.title.as_str()).chain(self.document.schedule())
    }

    /// How the text stands to what its title and its description were written for.
    pub fn standing(&self) -> Standing {
        match self.origin.standing(&self.document) {
            Standing::Itself if self.is_found() => Standing::Found,
            standing => standing,
        }
    }

    /// What the text is called: its title, or what it is without one.
    pub fn title(&self) -> String {
        match self.reading.title.as_str() {
            "" => "Untitled".to_string(),
            title => title.to_string(),
        }
    }

    /// The title up to its first colon, for names that go on behind it.
    fn title_in_short(&self) -> String {
        let title = self.title();
        let (name, _) = title.split_once(':').unwrap_or((&title, ""));
        words::shortened(name, MOST_OF_A_TITLE)
    }

    fn put(&mut self, text: &str, reading: Reading, cursor: usize) {
        self.timeline = replay(&reading);
        self.unchanged = 0;
        self.document = document_of(text, &reading);
        self.mismatches = mismatches(&reading, &self.timeline);
        self.warnings = scenario::warnings(text, &reading);
        if !self.origin.is_of(&reading.title) {
            self.origin = Origin::of(&reading.title, &self.document);
        }
        self.reading = Arc::new(reading);
        self.go_to(cursor);
    }

    // Undo, redo, branches.

    fn kept(&self) -> Kept {
        Kept {
            text: self.text(),
            cursor: self.cursor,
            name: self.name.clone(),
            born: self.born,
            shelved: self.shelved.clone(),
        }
    }

    fn remember(&mut self, change: Change) {
        self.undo.push(change);
        self.redo.clear();
        if self.undo.len() > MOST_UNDO {
            self.undo.remove(0);
        }
        self.revision += 1;
    }

    fn undo(&mut self) -> Result<Option<String>, String> {
        if self.draft.take().is_some() {
            self.revision += 1;
            return Ok(Some("The text is the last good one again".to_string()));
        }
        let change = self.undo.pop().ok_or("there is nothing to undo")?;
        match &change {
            Change::Added { lines, cursor } => {
                for _ in lines {
                    self.document.take_last();
                }
                self.timeline.truncate(self.timeline.len() - lines.len());
                self.unchanged = self.timeline.len();
                self.go_to(*cursor);
            }
            Change::Replaced { before, .. } => self.restore(before)?,
            Change::Switched { from, .. } => self.switch_back(*from)?,
            Change::Named { born, before, .. } => self.set_name(*born, before.clone()),
            Change::Shelf(changes) => {
                for (before, after) in changes.iter().rev() {
                    self.swap_kept(after.as_ref(), before.as_ref());
                }
            }
            Change::Forgot { place, branch } => {
                let place = (*place).min(self.branches.len());
                self.branches.insert(place, branch.clone());
                self.revision += 1;
            }
        }
        self.redo.push(change);
        Ok(None)
    }

    fn redo(&mut self) -> Result<Option<String>, String> {
        self.draft = None;
        let change = self.redo.pop().ok_or("there is nothing to do again")?;
        match &change {
            Change::Added { lines, .. } => {
                for (line, action) in lines {
                    self.timeline.push(action.clone());
                    self.document.append(line);
                }
                self.go_to(usize::MAX);
            }
            Change::Replaced { after, .. } => self.restore(after)?,
            Change::Switched { to, .. } => self.switch_back(*to)?,
            Change::Named { born, after, .. } => self.set_name(*born, after.clone()),
            Change::Shelf(changes) => {
                for (before, after) in changes {
                    self.swap_kept(before.as_ref(), after.as_ref());
                }
            }
            Change::Forgot { branch, .. } => {
                self.branches.retain(|kept| kept.name != branch.name);
                self.revision += 1;
            }
        }
        self.undo.push(change);
        Ok(None)
    }

    fn restore(&mut self, kept: &Kept) -> Result<(), String> {
        let reading = scenario::read(&kept.text).map_err(|errors| first(&errors))?;
        self.put(&kept.text, reading, kept.cursor);
        self.shelved.clone_from(&kept.shelved);
        // Where it is kept as a branch, too, this is a new one, which goes the same way so far.
        match self.branches.iter().any(|branch| branch.born == kept.born) {
            true => self.begin_branch(),
            false => {
                self.name.clone_from(&kept.name);
                self.born = kept.born;
            }
        }
        Ok(())
    }

    /// What is open is a branch of its own from now on.
    fn begin_branch(&mut self) {
        self.name = None;
        self.born = self.next_born();
    }

    /// Keeps what is open as a branch, and gives its name, which is this one unless it has one. A text that is kept already is not
    /// kept twice.
    fn keep_branch(&mut self, name: String) -> String {
        let text = self.text();
        if let Some(place) = self.branches.iter().position(|branch| branch.text == text) {
            let mut branch = self.branches.remove(place);
            branch.cursor = self.cursor;
            let name = branch.name.clone();
            self.branches.push(branch);
            self.begin_branch();
            return name;
        }
        let name = self.free_branch(self.name.clone().unwrap_or(name));
        self.branches.push(Branch {
            name: name.clone(),
            ..self.as_branch()
        });
        if self.branches.len() > MOST_BRANCHES {
            self.branches.remove(0);
        }
        self.begin_branch();
        name
    }

    /// This name, or one like it that no kept branch has.
    fn free_branch(&self, name: String) -> String {
        free(name, &|name| {
            self.branches.iter().any(|branch| branch.name == name)
        })
    }

    fn switch_branch(&mut self, place: usize) -> Result<Option<String>, String> {
        let branch = self.branches.get(place).ok_or("there is no such branch")?;
        let (from, to) = (self.born, branch.born);
        self.change_places(place)?;
        self.remember(Change::Switched { from, to });
        Ok(Some("The two branches have changed places".to_string()))
    }

    /// Opens the branch with this number again, as undoing a switch does.
    fn switch_back(&mut self, born: u64) -> Result<(), String> {
        let place = self.branches.iter().position(|branch| branch.born == born);
        self.change_places(place.ok_or("that branch is no more")?)
    }

    /// Opens a branch, and keeps what is open in its place.
    fn change_places(&mut self, place: usize) -> Result<(), String> {
        let branch = self
            .branches
            .get(place)
            .cloned()
            .ok_or("there is no such branch")?;
        let reading = scenario::read(&branch.text).map_err(|errors| first(&errors))?;
        let mut own = self.as_branch();
        own.name = match &self.name {
            Some(name) => name.clone(),
            None => self.free_branch(own.name),
        };
        self.draft = None;
        self.put(&branch.text, reading, branch.cursor);
        self.shelved = self.shelved_with(&branch.text);
        self.name = Some(branch.name);
        self.born = branch.born;
        self.branches[place] = own;
        Ok(())
    }

    fn name_branch(&mut self, place: Option<usize>, name: &str) -> Result<Option<String>, String> {
        let after = shelf::checked(name)?;
        let (born, before) = match place {
            None => (self.born, self.name.clone()),
            Some(place) => {
                let branch = self.branches.get(place).ok_or("there is no such branch")?;
                (branch.born, Some(branch.name.clone()))
            }
        };
        if before.as_ref() == Some(&after) || place.is_none() && after == self.title() {
            return Ok(None);
        }
        let mut named = self
            .branches
            .iter()
            .map(|branch| &branch.name)
            .chain(&self.name);
        if named.any(|other| *other == after) {
            return Err(format!("another branch is called “{after}”"));
        }
        let said = format!("It is called “{after}” now");
        let after = Some(after);
        self.set_name(born, after.clone());
        self.remember(Change::Named {
            born,
            before,
            after,
        });
        Ok(Some(said))
    }

    /// Names the branch with this number.
    fn set_name(&mut self, born: u64, name: Option<String>) {
        let branch = self.branches.iter_mut().find(|branch| branch.born == born);
        match branch {
            Some(branch) => branch.name = name.unwrap_or_default(),
            None if self.born == born => self.name = name,
            None => {}
        }
        self.revision += 1;
    }

    fn delete_branch(&mut self, place: usize) -> Result<Option<String>, String> {
        if place >= self.branches.len() {
            return Err("there is no such branch".to_string());
        }
        let branch = self.branches.remove(place);
        let said = format!("“{}” is deleted; Undo brings it back", branch.name);
        self.remember(Change::Forgot { place, branch });
        Ok(Some(said))
    }

    /// How many of the first `until` actions are this client's.
    fn lines_of(&self, client: ClientId, until: usize) -> usize {
        self.timeline.entries()[..until]
            .iter()
            .filter(|entry| client_of(&entry.action) == Some(client))
            .count()
    }
}

/// This name, or `name (2)` and so on where it is taken.
fn free(name: String, is_taken: &dyn Fn(&str) -> bool) -> String {
    match is_taken(&name) {
        false => name,
        true => (2..)
            .map(|number| format!("{name} ({number})"))
            .find(|name| !is_taken(name))
            .unwrap_or(name),
    }
}

/// Whether the text has several lines for what such an action does.
fn is_written_in_several_ways(action: &Action) -> bool {
    matches!(
        action,
        Action::Pause { .. }
            | Action::Resume { .. }
            | Action::Advance { .. }
            | Action::AdvanceToNextDeadline
    )
}

/// The client whose action this is.
pub fn client_of(action: &Action) -> Option<ClientId> {
    match action {
        Action::Step { client, .. }
        | Action::LoseReply { client, .. }
        | Action::LoseRequest { client, .. }
        | Action::Delay { client, .. }
        | Action::Deliver { client, .. }
        | Action::Pause { client, .. }
        | Action::Resume { client, .. }
        | Action::Crash { client }
        | Action::Restart { client }
        | Action::Command {
            who: Who::Client(client),
            ..
        } => Some(*client),
        _ => None,
    }
}

/// Gives a client that was just added the parameters with which the library's story runs the same protocol.
fn with_parameters(text: &str, name: &str, protocol: Option<&str>) -> String {
    let parameters = protocol
        .and_then(scenario::library::parameters_of)
        .unwrap_or_default();
    let declaration = format!("client {name}: {}", protocol.unwrap_or_default());
    let lines = text.lines().map(|line| match line == declaration {
        true => format!("{line}{parameters}\n"),
        false => format!("{line}\n"),
    });
    lines.collect()
}

fn replay(reading: &Reading) -> Timeline {
    let actions = reading.schedule.iter().map(|line| line.action.clone());
    Timeline::replay(reading.setup.clone(), actions)
}

/// A text as lines, if it parses.
fn read_document(text: &str) -> Option<Document> {
    let reading = scenario::read(text).ok()?;
    Some(document_of(text, &reading))
}

fn document_of(text: &str, reading: &Reading) -> Document {
    Document::new(text, reading.schedule.iter().map(|line| line.line))
}

fn mismatches(reading: &Reading, timeline: &Timeline) -> Vec<Mismatch> {
    let lines = reading.schedule.iter().zip(timeline.entries()).enumerate();
    lines
        .filter_map(|(action, (line, entry))| {
            let refused = entry.refusal().map(str::to_string);
            let expected = line.expected.clone();
            let got = match (&refused, &expected) {
                (Some(why), _) => why.clone(),
                (None, Some(_)) => entry
                    .reply_in_short()
                    .unwrap_or_else(|| "no reply".to_string()),
                (None, None) => return None,
            };
            let same = refused.is_none()
                && expected
                    .as_deref()
                    .is_some_and(|expected| scenario::check::is_same_reply(expected, &got));
            (!same).then(|| Mismatch {
                action,
                expected: expected.unwrap_or_default(),
                got,
            })
        })
        .collect()
}

/// What is wrong with what was put into a field, which has no lines.
fn of_a_field(errors: &[TextError]) -> String {
    errors.first().map_or_else(String::new, |error| {
        error.message.clone() + ": expected " + &error.expected
    })
}

fn first(errors: &[TextError]) -> String {
    errors.first().map_or_else(
        || "the text does not parse".to_string(),
        |error| error.to_string(),
    )
}

//! What all panels share: the session, and what the page shows of it.
//!
//! The session is one signal. A panel reads from it through memos ([`Desk::read`]), so that it is drawn again only when what it
//! shows has changed. Everything that a user does goes through [`Desk::send`].

use std::sync::Arc;

use super::view::*;
use leptos::prelude::RwSignal as LargeSignal;

use super::controls::Items;
use super::guide::Guide;
use super::picture::Drawing;
use super::search::Seeking;
use crate::property::Verdict;
use crate::scenario::check::Difference;
use crate::session::{Branch, Msg, Notice, Session};
use crate::sim::action::{ClientId, Who};
use crate::words;

/// Which panel a phone shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tab {
    /// The client cards.
    Clients,
    /// The picture.
    Picture,
    /// The servers and the properties.
    Servers,
    /// The text and the consoles.
    Text,
}

/// Which panel stands below the servers where there is no room for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dock {
    /// The properties.
    Properties,
    /// The text.
    Text,
    /// The consoles.
    Consoles,
}

/// The one thing that can lie over the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// The stories.
    Library,
    /// The link and the file.
    Share,
    /// The kept branches.
    Branches,
    /// The search for a failing schedule.
    Search,
    /// The schedule beside itself with one thing changed.
    Compare,
    /// The keys and what the picture's marks mean.
    Help,
    /// Everything that can be done, by its name.
    Palette,
    /// What the picture shows, as a table.
    Table,
}

/// Something to tell the user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// The sentence.
    pub words: String,
    /// Whether it says that something could not be done.
    pub refused: bool,
    /// Whether it deserves a place over the page for a while, beside the status line.
    pub aloud: bool,
    /// Which one it is, so that the same sentence is told again.
    pub number: u64,
}

/// The signals of the page. It is small and is copied into every handler.
#[derive(Clone, Copy)]
pub struct Desk {
    /// The page minus the DOM.
    pub session: LargeSignal<Session>,
    /// The picture of the whole schedule, which grows with it.
    pub drawing: LargeSignal<Drawing>,
    /// The expectations of the text that are not met at the end of the schedule.
    pub unmet: Memo<Vec<Difference>>,
    /// What was told last.
    pub said: RwSignal<Said>,
    /// Which panel a phone shows.
    pub tab: RwSignal<Tab>,
    /// Which panel stands below the servers.
    pub dock: RwSignal<Dock>,
    /// Whether the page stands within another one, and shows the picture, the verdicts and the transport alone.
    pub embedded: bool,
    /// What lies over the page.
    pub over: RwSignal<Option<Over>>,
    /// Whether the recorded schedule plays.
    pub playing: RwSignal<bool>,
    /// Which of the text's searches the page shows, from 0.
    pub search: RwSignal<usize>,
    /// How far a search has come.
    pub seeking: RwSignal<Seeking>,
    /// The walk that is under way.
    pub guide: RwSignal<Option<Guide>>,
    /// Whether the picture is drawn beyond what is seen, for print.
    pub whole: RwSignal<bool>,
    /// By how much the picture is enlarged, in percent.
    pub zoom: RwSignal<usize>,
    /// The scenarios that are kept under names, as this page last read or wrote them in the browser.
    pub shelf: RwSignal<Vec<Branch>>,
    /// The theme: `light`, `dark`, or nothing for what the system says.
    pub theme: RwSignal<String>,
    /// Why the browser does not keep the work; empty: it does.
    pub not_kept: RwSignal<String>,
    /// In which library's calls the steps are shown too, by its name; empty: in none.
    pub library: RwSignal<String>,
    /// These calls, for each protocol and step.
    pub calls: RwSignal<Vec<Vec<String>>>,
}

impl Desk {
    /// The signals of a page on this session.
    pub fn new(session: Session) -> Desk {
        let drawing = Drawing::of(&session);
        let said = Said {
            words: where_it_stands(&session),
            ..Said::default()
        };
        let session = LargeSignal::new(session);
        Desk {
            session,
            unmet: Memo::new(move || session.with(Session::unmet_expectations)),
            drawing: LargeSignal::new(drawing),
            said: RwSignal::new(said),
            tab: RwSignal::new(Tab::Picture),
            dock: RwSignal::new(Dock::Properties),
            embedded: super::browser::is_embedded(),
            over: RwSignal::new(None),
            playing: RwSignal::new(false),
            search: RwSignal::new(0),
            seeking: RwSignal::new(Seeking::default()),
            guide: RwSignal::new(None),
            whole: RwSignal::new(false),
            zoom: RwSignal::new(100),
            shelf: RwSignal::new(session.with_untracked(|session| session.shelf().to_vec())),
            theme: RwSignal::new(super::browser::theme()),
            not_kept: RwSignal::new(String::new()),
            library: RwSignal::new(String::new()),
            calls: RwSignal::new(Vec::new()),
        }
    }

    /// A part of the session, known again only when it has changed.
    pub fn read<T>(self, part: impl Fn(&Session) -> T + Send + Sync + 'static) -> Memo<T>
    where
        T: PartialEq + Send + Sync + 'static,
    {
        Memo::new(move || self.session.with(&part))
    }

    /// A part of the session that is a list, each item known again only when it has changed.
    pub fn items<T>(
        self,
        part: impl Fn(&Session) -> Vec<(Key, T)> + Send + Sync + 'static,
    ) -> Items<T>
    where
        T: Clone + PartialEq + Send + Sync + 'static,
    {
        Items::new(move || self.session.with(&part))
    }

    /// A look at the session as it is, for handlers.
    pub fn look<T>(self, look: impl FnOnce(&Session) -> T) -> T {
        self.session.with_untracked(look)
    }

    /// With a capital at the front, unless it begins with a name.
    pub fn sentence(self, words: &str) -> String {
        self.look(|session| words::sentence_of(session.setup(), words))
    }

    /// Does what the user asks, and tells what came of it.
    pub fn send(self, msg: Msg) {
        if matches!(msg, Msg::Open { .. } | Msg::SwitchBranch(_)) {
            super::search::forget(self);
            self.guide.set(None);
        }
        let stands = |session: &Session| (session.revision(), session.why_not_writable());
        let before = self.look(stands);
        let mut notices = Vec::new();
        self.session.update(|session| notices = session.update(msg));
        self.drawing
            .update(|drawing| self.look(|session| drawing.follow(session)));
        let (revision, why) = self.look(stands);
        if notices.is_empty() && revision != before.0 {
            match why {
                None => self.tell(self.look(where_it_stands), false, false),
                Some(why) if before.1.as_ref() != Some(&why) => {
                    self.tell(self.sentence(&why), false, false);
                }
                Some(_) => {}
            }
        }
        for notice in notices {
            match notice {
                Notice::Said(words) => self.tell(words, false, true),
                Notice::Refused(words) => self.tell(words, true, true),
            }
        }
    }

    /// Shows the page in this theme, now and when it is opened again.
    pub fn choose_theme(self, theme: &str) {
        super::browser::set_theme(theme);
        self.theme.set(theme.to_string());
    }

    /// Tells the user something.
    pub fn say(self, words: impl Into<String>) {
        self.tell(words.into(), false, true);
    }

    /// Tells the user why something could not be done.
    pub fn refuse(self, why: impl Into<String>) {
        self.tell(why.into(), true, true);
    }

    fn tell(self, words: String, refused: bool, aloud: bool) {
        self.said.update(|said| {
            *said = Said {
                words,
                refused,
                aloud,
                number: said.number + 1,
            };
        });
    }

    /// A client's name, as it is now.
    pub fn name_of(self, client: ClientId) -> String {
        self.look(|session| session.client_name(client).to_string())
    }

    /// What the session would be asked, shared by handlers.
    pub fn sends(self, msg: Msg) -> Arc<dyn Fn() + Send + Sync> {
        Arc::new(move || self.send(msg.clone()))
    }
}

fn whose(session: &Session, who: Who) -> String {
    match who {
        Who::Client(client) => session.client_name(client).to_string(),
        Who::Operator => "operator".to_string(),
    }
}

/// The line of the schedule before the cursor, with its number, the verdicts on what was written, by whom, and the properties that it
/// broke.
pub fn where_it_stands(session: &Session) -> String {
    let Some(action) = session.cursor().checked_sub(1) else {
        return "At the start, before the first action".to_string();
    };
    let line = session.document().line_of(action).unwrap_or(1);
    let line = session
        .document()
        .lines()
        .get(line - 1)
        .map_or("", |line| line.trim());
    let line: Vec<&str> = line.split_whitespace().collect();
    let mut told = vec![(action + 1).to_string(), line.join(" ")];
    let entry = session.last_entry();
    told.extend(
        entry
            .iter()
            .flat_map(|entry| &entry.ledger)
            .map(|write| whose(session, write.who) + ": " + &write.verdict()),
    );
    for (property, verdict) in session.verdicts() {
        if matches!(verdict, Verdict::Broken(found) if found.action == action) {
            told.push("broken: ".to_string() + property.sentence());
        }
    }
    told.join(" · ")
}

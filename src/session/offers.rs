//! Everything that can be done to a session by name: what cards, transport and servers have buttons for, in one list.

use super::{Msg, Session};
use crate::sim::action::{Action, ClientId, Leg, ServerId};
use crate::sim::client::Place;
use crate::sim::database::lower;
use crate::words;

/// Something that can be done, or why it cannot be now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// What it is called.
    pub name: String,
    /// The key that does the same, if one does.
    pub key: &'static str,
    /// What does it.
    pub msg: Msg,
    /// Why it is not possible at the cursor; `None`: it is.
    pub why_not: Option<String>,
}

impl Session {
    /// Everything that can be done by name: first what is done most often, then client by client, the clock, the servers, the text.
    pub fn offers(&self) -> Vec<Offer> {
        let offer = |name: String, key, msg: Msg, why_not: Option<String>| Offer {
            name,
            key,
            msg,
            why_not,
        };
        let act = |name: String, key, action: Action| {
            let why_not = self.why_not(&action);
            offer(name, key, Msg::Act(action), why_not)
        };
        let frozen = self.why_not_writable();
        let nothing = |is_there: bool, why: &str| (!is_there).then(|| why.to_string());
        let (cursor, end) = (self.cursor(), self.timeline().len());
        let can_step = nothing(self.step_on().is_some(), "no client can take a step now");
        let stuck = frozen.clone().filter(|_| cursor == end).or(can_step);
        let mut all = vec![
            offer("Step: what comes next".into(), "S", Msg::StepOn, stuck),
            offer(
                "Undo".into(),
                "U",
                Msg::Undo,
                nothing(self.can_undo(), "there is nothing to undo"),
            ),
            offer(
                "Redo".into(),
                "R",
                Msg::Redo,
                nothing(self.can_redo(), "there is nothing to do again"),
            ),
            offer("To the start".into(), "Home", Msg::GoTo(0), None),
            offer("To the end".into(), "End", Msg::GoTo(usize::MAX), None),
        ];
        for client in (0..self.world().clients.len()).map(ClientId) {
            all.extend(self.offers_of(client, &act, &offer));
        }
        let next = self.world().next_deadline().map(words::milliseconds);
        let next = next.map_or_else(String::new, |next| ": +".to_string() + &next);
        let clock = |milliseconds: u64| Action::Advance { milliseconds };
        all.push(act(
            "Clock to the next deadline".to_string() + &next,
            "C",
            Action::AdvanceToNextDeadline,
        ));
        for (name, milliseconds) in [
            ("+1 ms", 1),
            ("+100 ms", 100),
            ("+1 s", 1000),
            ("+10 s", 10_000),
        ] {
            all.push(act("Clock ".to_string() + name, "", clock(milliseconds)));
        }
        for (place, watch) in self.setup().watches.iter().enumerate() {
            let server = ServerId::FIRST;
            for key in watch.lock.iter().chain(&watch.counter) {
                let (name, key) = (words::text(key), key.clone());
                let expire = Action::ExpireNow {
                    server,
                    key: key.clone(),
                };
                all.push(act("Expire ".to_string() + &name + " now", "", expire));
                all.push(act(
                    "Wipe ".to_string() + &name,
                    "",
                    Action::Wipe { server, key },
                ));
            }
            if let (Some(counter), Some(_)) = (&watch.counter, &watch.fence) {
                let name = "Reseed ".to_string() + &words::text(counter) + " from the table";
                all.push(offer(name, "", Msg::Reseed(place), frozen.clone()));
            }
        }
        all.push(offer(
            "Format the text".into(),
            "",
            Msg::Format,
            frozen.clone(),
        ));
        all.push(offer(
            "Pin what is so at the end as expectations".into(),
            "",
            Msg::PinExpectations,
            frozen,
        ));
        all
    }

    /// What can be done with a client.
    fn offers_of(
        &self,
        client: ClientId,
        act: &dyn Fn(String, &'static str, Action) -> Offer,
        offer: &dyn Fn(String, &'static str, Msg, Option<String>) -> Offer,
    ) -> Vec<Offer> {
        let Some(state) = self.world().client(client) else {
            return Vec::new();
        };
        let name = self.client_name(client);
        let say = |what: &str| what.to_string() + " " + name;
        let key = ["1", "2", "3", "4", "5", "6", "7", "8", "9"].get(client.0);
        let step = state.current_step().unwrap_or(0);
        let label = self
            .step_label(client)
            .map_or_else(String::new, |label| ": ".to_string() + label);
        let lose = Action::LoseReply { client, step };
        let why_no_step = self.why_not(&Action::Step { client, step });
        let (pause, crash) = (self.pause_or_resume(client), self.crash_or_restart(client));
        let is_paused = matches!(pause, Action::Resume { .. });
        let is_crashed = matches!(crash, Action::Restart { .. });
        let delay = Action::Delay {
            client,
            step,
            leg: Leg::Request,
        };
        let why_not_lose = self.why_not(&lose);
        let mut all = vec![
            act(
                say("Step") + &label,
                key.copied().unwrap_or(""),
                Action::Step { client, step },
            ),
            offer(say("Run"), "", Msg::Run(client), why_no_step),
            act(say(if is_paused { "Resume" } else { "Pause" }), "", pause),
            act(say(if is_crashed { "Restart" } else { "Crash" }), "", crash),
            offer(
                say("Lose the reply to the next step of"),
                "",
                Msg::LoseReply(client),
                why_not_lose,
            ),
            act(say("Delay the next request of"), "", delay),
        ];
        let mut network = self.world().network.iter();
        if let Some(message) = network.find(|message| message.client == client) {
            let deliver = Action::Deliver {
                client,
                step: message.step,
            };
            all.push(act(say("Deliver what is under way of"), "", deliver));
        }
        all
    }

    /// What pausing a client where it is means now: to resume one that is paused.
    pub fn pause_or_resume(&self, client: ClientId) -> Action {
        let state = self.world().client(client);
        match state.is_some_and(|state| state.paused_at().is_some()) {
            true => Action::Resume { client, at: None },
            false => Action::Pause { client, at: None },
        }
    }

    /// What crashing a client means now: to restart one that has crashed.
    pub fn crash_or_restart(&self, client: ClientId) -> Action {
        let state = self.world().client(client);
        match state.is_some_and(|state| state.place == Place::Crashed) {
            true => Action::Restart { client },
            false => Action::Crash { client },
        }
    }
}

/// How well a name fits what somebody types: 0 where it begins so, 1 where every word that is typed begins one of its words, 2 where
/// it has them somewhere, capitals or not; `None`: it does not.
pub fn fit(name: &str, typed: &str) -> Option<usize> {
    // Not the standard library's, which would bring its tables of all letters into the page.
    let (name, typed) = (lower(name), lower(typed.trim()));
    let begins = |word: &str| {
        let mut words =
            name.split(|letter: char| letter.is_ascii() && !letter.is_ascii_alphanumeric());
        words.any(|other| other.starts_with(word))
            || name.split(' ').any(|other| other.starts_with(word))
    };
    match name.starts_with(&typed) {
        true => Some(0),
        false if typed.split_whitespace().all(begins) => Some(1),
        false => typed
            .split_whitespace()
            .all(|word| name.contains(word))
            .then_some(2),
    }
}

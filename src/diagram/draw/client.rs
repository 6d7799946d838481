//! What befalls a client: latches, timers, crashes, the ends of its runs.

use crate::diagram::part::{Ended, Fault, Kind, Lane, LatchChange, Run};
use crate::diagram::{Slot, words};
use crate::sim::action::{ClientId, LatchPoint, Who};
use crate::sim::time::in_words;

use super::Pen;

impl Pen<'_> {
    pub(super) fn latch(&mut self, client: ClientId, at: LatchPoint, change: LatchChange) {
        let label = words::latch(self.setup, client, at, change);
        self.mark(
            Lane::Client(client),
            Kind::Latch { client, at, change },
            label,
            Vec::new(),
        );
    }

    pub(super) fn paused(&mut self, client: ClientId, at: LatchPoint) {
        self.end_bar(Slot::Paused(client), Ended::Resumed);
        let label = format!("paused {}", words::point(self.setup, client, at));
        let causes = self
            .seen
            .get(&client)
            .or(self.diagram.open.get(&Slot::Held(client)));
        let causes = causes.copied().into_iter().collect();
        let kind = Kind::Paused { client, at };
        self.bar(
            Slot::Paused(client),
            Lane::Client(client),
            kind,
            label,
            causes,
        );
    }

    pub(super) fn resumed(&mut self, client: ClientId) {
        let Some(paused) = self.end_bar(Slot::Paused(client), Ended::Resumed) else {
            return;
        };
        if let Kind::Paused { at, .. } = self.diagram.parts[paused.0 as usize].kind {
            let kind = Kind::Latch {
                client,
                at,
                change: LatchChange::Opened,
            };
            self.mark(Lane::Client(client), kind, "resumed", vec![paused]);
        }
    }

    pub(super) fn crashed(&mut self, client: ClientId) {
        let who = Who::Client(client);
        for slot in [
            Slot::Paused(client),
            Slot::Sleep(client),
            Slot::Wait(who, true),
            Slot::Wait(who, false),
        ] {
            self.end_bar(slot, Ended::Crashed);
        }
        for slot in [
            Slot::Held(client),
            Slot::Asked(who, true),
            Slot::Asked(who, false),
            Slot::Wrote(who),
        ] {
            self.diagram.close(slot);
        }
        self.drop_tokens(client, None);
        let fault = self.mark(
            Lane::Client(client),
            Kind::Fault(Fault::Crash),
            "crashed",
            Vec::new(),
        );
        self.fault = Some(fault);
        self.seen.insert(client, fault);
        self.bar(
            Slot::Crashed(client),
            Lane::Client(client),
            Kind::Crashed { client },
            "",
            vec![fault],
        );
    }

    pub(super) fn started(&mut self, client: ClientId, me: &str) {
        self.end_bar(Slot::Crashed(client), Ended::Restarted);
        self.drop_tokens(client, None);
        self.run(
            client,
            Run::Started(me.to_string()),
            format!("begins as {me}"),
        );
    }

    pub(super) fn slept(&mut self, client: ClientId, milliseconds: u64) {
        let label = format!("sleeps {}", in_words(milliseconds));
        let causes = self.seen.get(&client).copied().into_iter().collect();
        let kind = Kind::Sleep {
            client,
            milliseconds,
        };
        self.bar(
            Slot::Sleep(client),
            Lane::Client(client),
            kind,
            label,
            causes,
        );
    }

    pub(super) fn woke(&mut self, client: ClientId) {
        let sleep = self.end_bar(Slot::Sleep(client), Ended::Woke);
        let causes = sleep.into_iter().collect();
        let woke = self.mark(Lane::Client(client), Kind::Woke(client), "wakes", causes);
        self.seen.insert(client, woke);
    }

    pub(super) fn run(&mut self, client: ClientId, run: Run, label: impl Into<String>) {
        self.client_mark(client, Kind::Run(client, run), label);
    }
}

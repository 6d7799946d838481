//! A sequence diagram for Mermaid, as GitHub and GitLab draw it.

use crate::diagram::{Lane, lane_name};
use crate::property::{Property, Verdict};
use crate::scenario::Reading;
use crate::sim::action::{ClientId, LatchPoint, Who};
use crate::sim::event::{Event, Fact};
use crate::sim::setup::Setup;
use crate::sim::store::Cause;
use crate::sim::time::in_words;
use crate::timeline::Timeline;

use super::words::wrapped;

/// How long a line of a note or a message may become.
const WIDTH: usize = 56;

/// The diagram of a schedule that has been played.
pub(super) fn print(reading: &Reading, timeline: &Timeline) -> String {
    let mut printer = Printer {
        setup: &reading.setup,
        lanes: Vec::new(),
        lines: String::new(),
    };
    let verdicts = timeline.verdicts(timeline.len());
    for (place, entry) in timeline.entries().iter().enumerate() {
        for event in &entry.events {
            printer.event(event);
        }
        printer.broken(place, &verdicts);
    }
    let mut out = String::from("sequenceDiagram\n");
    if !reading.title.is_empty() {
        out = format!("---\ntitle: {}\n---\n{out}", quoted(&reading.title));
    }
    // Clients to the left and servers to the right, whoever spoke first.
    let mut lanes = printer.lanes.clone();
    lanes.sort();
    for lane in lanes {
        let kind = if matches!(lane, Lane::Client(_) | Lane::Operator) {
            "actor"
        } else {
            "participant"
        };
        let name = lane_name(&reading.setup, lane);
        let id = printer.id(lane);
        let alias = if name == id {
            String::new()
        } else {
            format!(" as {}", escaped(&name))
        };
        out.push_str(&format!("    {kind} {id}{alias}\n"));
    }
    out + &printer.lines
}

struct Printer<'a> {
    setup: &'a Setup,
    lanes: Vec<Lane>,
    lines: String,
}

impl Printer<'_> {
    fn see(&mut self, lane: Lane) -> String {
        if !self.lanes.contains(&lane) {
            self.lanes.push(lane);
        }
        self.id(lane)
    }

    /// A name that Mermaid reads as one word.
    fn id(&self, lane: Lane) -> String {
        match lane {
            Lane::Client(client) => format!("c{}", client.0 + 1),
            Lane::Store(server) if server.0 == 0 => "store".to_owned(),
            Lane::Store(server) => format!("store{}", server.0 + 1),
            Lane::Table => "table".to_owned(),
            Lane::Gateway => "gateway".to_owned(),
            Lane::Operator => "operator".to_owned(),
        }
    }

    fn message(&mut self, from: Lane, arrow: &str, to: Lane, text: &str) {
        let (from, to) = (self.see(from), self.see(to));
        self.lines
            .push_str(&format!("    {from}{arrow}{to}: {}\n", folded(text)));
    }

    fn note(&mut self, lane: Lane, text: &str) {
        let id = self.see(lane);
        self.lines
            .push_str(&format!("    Note over {id}: {}\n", folded(text)));
    }

    /// A note from one end to the other.
    fn note_to_all(&mut self, text: &str) {
        let mut lanes = self.lanes.clone();
        lanes.sort();
        if let (Some(first), Some(last)) = (lanes.first(), lanes.last()) {
            let ends = if first == last {
                self.id(*first)
            } else {
                format!("{},{}", self.id(*first), self.id(*last))
            };
            self.lines
                .push_str(&format!("    Note over {ends}: {}\n", folded(text)));
        }
    }

    fn event(&mut self, event: &Event) {
        match &event.fact {
            Fact::Sent {
                who, server, text, ..
            } => {
                self.message(Lane::of(*who), "->>", Lane::of_server(*server, *who), text);
            }
            Fact::Answered {
                who,
                server,
                answer,
                ..
            } => {
                self.message(
                    Lane::of_server(*server, *who),
                    "-->>",
                    Lane::of(*who),
                    &answer.print_short(),
                );
            }
            Fact::KeyChanged {
                server,
                key,
                cause,
                after: None,
                ..
            } => {
                let key = String::from_utf8_lossy(key);
                match cause {
                    Cause::Lapse | Cause::ClockJump => {
                        self.note(Lane::Store(*server), &format!("{key} lapses"))
                    }
                    Cause::ExpiredNow => {
                        self.note(Lane::Store(*server), &format!("{key} is made to lapse"))
                    }
                    Cause::Wiped => self.note(Lane::Store(*server), &format!("{key} is lost")),
                    Cause::Evicted => self.note(Lane::Store(*server), &format!("{key} is evicted")),
                    Cause::DataLost => self.note(Lane::Store(*server), &format!("{key} is lost")),
                    Cause::Command(_) | Cause::Replicated => {}
                }
            }
            Fact::Waits { who, server } => {
                self.note(Lane::of_server(*server, *who), "the answer has to wait")
            }
            Fact::Paused { client, at } => {
                let (side, step) = match at {
                    LatchPoint::Before(step) => ("before", step),
                    LatchPoint::After(step) => ("after", step),
                };
                let label = self.label(*client, *step);
                self.note(Lane::Client(*client), &format!("pauses {side} {label}"));
            }
            Fact::Resumed { client } => self.note(Lane::Client(*client), "goes on"),
            Fact::Crashed { client } => self.note(Lane::Client(*client), "crashes"),
            Fact::RequestLost { client, step } => self.lost(*client, *step, "the request"),
            Fact::ReplyLost { client, step } => self.lost(*client, *step, "the reply"),
            Fact::Arrived { client, step, .. } => {
                let label = self.label(*client, *step);
                self.note(Lane::Client(*client), &format!("{label} arrives now"));
            }
            Fact::TimedOut { client, step, .. } => {
                let label = self.label(*client, *step);
                self.note(
                    Lane::Client(*client),
                    &format!("gives up waiting for {label}"),
                );
            }
            Fact::ServerCrashed { server } => self.note(Lane::Store(*server), "crashes"),
            Fact::ServerRestarted { server, keeps_data } => {
                let with = if *keeps_data { "with" } else { "without" };
                self.note(
                    Lane::Store(*server),
                    &format!("is there again, {with} its data"),
                );
            }
            Fact::FailedOver { to, lost, .. } => self.note(
                Lane::Store(*to),
                &format!("takes over; commands that it had not received: {lost}"),
            ),
            Fact::Ended {
                client,
                finished: false,
                ..
            } => self.note(Lane::Client(*client), "stops"),
            Fact::TimePassed { milliseconds } => {
                self.note_to_all(&format!("{} later", in_words(*milliseconds)))
            }
            _ => {}
        }
    }

    fn lost(&mut self, client: ClientId, step: usize, what: &str) {
        let label = self.label(client, step);
        self.note(
            Lane::of(Who::Client(client)),
            &format!("{what} of {label} is lost"),
        );
    }

    fn label(&self, client: ClientId, step: usize) -> String {
        let protocol = self
            .setup
            .clients
            .get(client.0)
            .and_then(|client| client.protocol);
        let step = protocol.and_then(|place| self.setup.protocols.get(place)?.steps.get(step));
        step.map_or_else(String::new, |step| step.label.clone())
    }

    fn broken(&mut self, place: usize, verdicts: &[(Property, Verdict)]) {
        for (property, verdict) in verdicts {
            if let Verdict::Broken(broken) = verdict
                && broken.action == place
            {
                self.note_to_all(&format!("broken: {}", property.sentence()));
            }
        }
    }
}

/// Text in lines of a bearable length.
fn folded(text: &str) -> String {
    let lines: Vec<String> = wrapped(text, WIDTH)
        .iter()
        .map(|line| escaped(line))
        .collect();
    lines.join("<br/>")
}

/// Characters that mean something to Mermaid, as it wants them.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for letter in text.chars() {
        match letter {
            '#' | ';' | '<' | '>' | '&' | '"' | '%' => {
                out.push_str(&format!("#{};", letter as u32))
            }
            letter => out.push(letter),
        }
    }
    out
}

/// A string in YAML.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

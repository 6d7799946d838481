//! Messages: a client's steps subscribe on a connection of their own, and what comes there waits in its inbox for an AWAIT.
//!
//! ```text
//! A  SUBSCRIBE unlocked ─────▶ store           A  AWAIT unlocked ...waits
//! B  PUBLISH unlocked 0 ─────▶ store ── message ──▶ A goes on
//! ```

use super::Stage;
use crate::sim::ConnectionId;
use crate::sim::action::{ClientId, Who};
use crate::sim::client::protocol::Request;
use crate::sim::client::{MOST_MESSAGES, Place};
use crate::sim::event::{Answer, Fact, Server};
use crate::sim::network::ServerRequest;
use crate::sim::store::reply::Reply;
use crate::sim::world::{connection_of, subscriber_of};

/// The commands that go over the connection for messages.
const SUBSCRIBING: [&[u8]; 4] = [b"SUBSCRIBE", b"PSUBSCRIBE", b"UNSUBSCRIBE", b"PUNSUBSCRIBE"];

impl Stage<'_> {
    /// The connection on which a step's request goes.
    pub(super) fn connection_for(&self, client: ClientId, request: &ServerRequest) -> ConnectionId {
        let subscribes = match request {
            ServerRequest::Store { argv, .. } => {
                let name = argv.first().map(|name| name.to_ascii_uppercase());
                name.is_some_and(|name| SUBSCRIBING.contains(&name.as_slice()))
            }
            _ => false,
        };
        match subscribes {
            true => subscriber_of(client),
            false => connection_of(Who::Client(client)),
        }
    }

    /// A client waits for the next message of a channel; one that has come already it takes at once.
    pub(super) fn await_message(&mut self, client: ClientId, step: usize, channel: &[u8]) {
        if let Some(message) = self.take_message(client, channel) {
            let answer = Answer::Store(Reply::Bulk(message));
            return self.receive(client, step, answer, 0, false);
        }
        self.note(Fact::Waits {
            who: Who::Client(client),
            server: Server::Store(self.target(None)),
        });
        self.wait_for_reply(client, step, 0);
    }

    fn take_message(&mut self, client: ClientId, channel: &[u8]) -> Option<Vec<u8>> {
        let inbox = &self.world.clients[client.0].inbox;
        let place = inbox.iter().position(|(of, _)| of == channel)?;
        let mut message = None;
        self.change(client, |state| message = Some(state.inbox.remove(place).1));
        message
    }

    /// Something comes on a client's connection for messages: a message, or the confirmation of a further channel.
    pub(super) fn pushed(&mut self, client: ClientId, server: Server, reply: Reply) {
        let Reply::Array(parts) = reply else { return };
        let texts: Vec<&[u8]> = parts
            .iter()
            .filter_map(|part| match part {
                Reply::Bulk(bytes) => Some(bytes.as_slice()),
                _ => None,
            })
            .collect();
        let (channel, message) = match texts.as_slice() {
            [b"message", channel, message] | [b"pmessage", _, channel, message] => {
                (channel.to_vec(), message.to_vec())
            }
            _ => return,
        };
        self.note(Fact::Messaged {
            client,
            server,
            channel: channel.clone(),
            message: message.clone(),
        });
        match self.world.clients[client.0].place {
            Place::Blocked { step, age, .. } if self.awaits(client, step, &channel) => {
                let answer = Answer::Store(Reply::Bulk(message));
                self.receive(client, step, answer, age, false);
            }
            _ => self.change(client, |state| {
                if state.inbox.len() < MOST_MESSAGES {
                    state.inbox.push((channel, message));
                }
            }),
        }
    }

    /// Whether this step waits for messages of this channel.
    fn awaits(&self, client: ClientId, step: usize, channel: &[u8]) -> bool {
        let request = self
            .protocol(client)
            .map(|protocol| &protocol.steps[step].request);
        let Some(Request::Await(argument)) = request else {
            return false;
        };
        let who = Who::Client(client);
        let values = super::request::Values { stage: self, who };
        values.bytes(argument).is_ok_and(|wanted| wanted == channel)
    }

    /// A client no longer listens: what has come and was not taken is forgotten.
    pub(super) fn stopped_listening(&mut self, client: ClientId, argv: &[Vec<u8>]) {
        let is_end = |name: &Vec<u8>| name.eq_ignore_ascii_case(b"UNSUBSCRIBE");
        if !argv.first().is_some_and(is_end) {
            return;
        }
        let channels = argv.get(1..).unwrap_or(&[]);
        self.change(client, |state| {
            let is_kept = |channel: &Vec<u8>| !channels.is_empty() && !channels.contains(channel);
            state.inbox.retain(|(channel, _)| is_kept(channel));
        });
    }
}

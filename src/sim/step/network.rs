//! The way of requests and replies: straight, delayed, lost, or too late.

use super::Stage;
use super::request::Course;
use crate::sim::ConnectionId;
use crate::sim::action::{ClientId, Leg, Who};
use crate::sim::client::Place;
use crate::sim::client::protocol::Request;
use crate::sim::database::DatabaseInput;
use crate::sim::event::{Answer, Fact, Server};
use crate::sim::network::{Content, Message, ServerRequest};
use crate::sim::store::StoreInput;
use crate::sim::world::{connection_of, is_left_behind, left_behind};

impl Stage<'_> {
    /// Sends a step's request, and brings the reply back, as far as the course goes.
    pub(super) fn send_on_course(
        &mut self,
        client: ClientId,
        step: usize,
        request: ServerRequest,
        course: Course,
    ) {
        let who = Who::Client(client);
        let connection = self.connection_for(client, &request);
        let server = request.server();
        if let ServerRequest::Store { argv, .. } = &request {
            self.stopped_listening(client, argv);
        }
        self.sent(who, Some(step), server, request.text());
        let delayed = |content| Message {
            client,
            step,
            connection,
            content,
        };
        if course == Course::LoseRequest {
            self.note(Fact::RequestLost { client, step });
            return self.hear_nothing(client, step, 0);
        }
        if course == Course::DelayRequest {
            self.note(Fact::Delayed {
                client,
                step,
                leg: Leg::Request,
            });
            self.world.network.push(delayed(Content::Request(request)));
            return self.wait_for_reply(client, step, 0);
        }
        match self.serve(connection, Some(step), request) {
            None => self.wait_for_reply(client, step, 0),
            Some(answer) if course == Course::DelayReply => {
                self.note(Fact::Delayed {
                    client,
                    step,
                    leg: Leg::Reply,
                });
                let content = Content::Reply(server, answer);
                self.world.network.push(delayed(content));
                self.wait_for_reply(client, step, 0);
            }
            Some(answer) => {
                self.receive(client, step, answer, 0, course == Course::LoseReply);
            }
        }
    }

    /// The client waits for the reply to a step that it sent so long ago.
    pub(super) fn wait_for_reply(&mut self, client: ClientId, step: usize, age: i64) {
        let waited = age.max(0).unsigned_abs();
        let patience = self.patience(client, step);
        let patience = patience.map(|patience| patience.saturating_sub(waited));
        self.change(client, |state| {
            state.place = Place::Blocked {
                step,
                age,
                patience,
            };
        });
        if patience == Some(0) {
            self.time_out(client, step, age);
        }
    }

    fn patience(&self, client: ClientId, step: usize) -> Option<u64> {
        self.protocol(client)?.steps.get(step)?.patience()
    }

    /// No reply will come. A client that has patience for it cannot know that; any other learns it at once.
    pub(super) fn hear_nothing(&mut self, client: ClientId, step: usize, age: i64) {
        match self.patience(client, step) {
            Some(_) => self.wait_for_reply(client, step, age),
            None => self.deliver(client, step, Answer::Lost, age),
        }
    }

    /// The place of the oldest message that is under way for this step.
    pub(super) fn message(&self, client: ClientId, step: usize) -> Option<usize> {
        let is_it = |message: &Message| message.client == client && message.step == step;
        self.world.network.iter().position(is_it)
    }

    /// The place of the oldest request that is under way for this step.
    pub(super) fn delayed_request(&self, client: ClientId, step: usize) -> Option<usize> {
        let is_it = |message: &Message| {
            message.client == client && message.step == step && message.leg() == Leg::Request
        };
        self.world.network.iter().position(is_it)
    }

    pub(super) fn lose_request(&mut self, client: ClientId, step: usize) {
        let Some(place) = self.delayed_request(client, step) else {
            return self.send(client, step, Course::LoseRequest);
        };
        let message = self.world.network.remove(place);
        self.note(Fact::RequestLost { client, step });
        if is_left_behind(message.connection) {
            return self.disconnect(message.connection, message.server());
        }
        if let Place::Blocked { step, age, .. } = self.world.clients[client.0].place {
            self.hear_nothing(client, step, age);
        }
    }

    /// What is under way for this step arrives. With `lose`, the server does what was asked, and the reply is lost.
    pub(super) fn deliver_message(&mut self, client: ClientId, step: usize, lose: bool) {
        let Some(place) = self.message(client, step) else {
            return;
        };
        let message = self.world.network.remove(place);
        let server = message.server();
        let late = is_left_behind(message.connection);
        let answer = match message.content {
            Content::Request(request) => {
                self.note(Fact::Arrived {
                    client,
                    step,
                    server,
                    text: request.text(),
                    late,
                });
                self.serve(message.connection, Some(step), request)
            }
            Content::Reply(_, answer) => {
                if late && !lose {
                    self.note(Fact::CameTooLate { client, step });
                }
                Some(answer)
            }
        };
        if late {
            if lose {
                self.note(Fact::ReplyLost { client, step });
            }
            return self.disconnect(message.connection, server);
        }
        let Place::Blocked { age, .. } = self.world.clients[client.0].place else {
            return;
        };
        if let Some(answer) = answer {
            self.receive(client, step, answer, age, lose);
        }
    }

    /// The client gives up waiting: it closes the connection, and another one takes its place.
    pub(super) fn time_out(&mut self, client: ClientId, step: usize, age: i64) {
        let server = self.server_of(client, step);
        self.note(Fact::TimedOut {
            client,
            step,
            closes: server.is_some(),
        });
        if let Some(server) = server {
            self.close_connection(client, server);
        }
        self.receive(client, step, Answer::Lost, age, false);
    }

    /// The server that a step's request goes to; `None` where it goes to none.
    pub(super) fn server_of(&self, client: ClientId, step: usize) -> Option<Server> {
        let under_way = self.world.network.iter().rev().find(|message| {
            message.client == client && message.step == step && !is_left_behind(message.connection)
        });
        if let Some(message) = under_way {
            return Some(message.server());
        }
        match &self.protocol(client)?.steps.get(step)?.request {
            Request::Store(server, _) => Some(Server::Store(self.target(*server))),
            Request::Database(_) => Some(Server::Database),
            Request::Gateway(_) => Some(Server::Gateway),
            Request::CheckDeadline(_)
            | Request::Quorum { .. }
            | Request::Await(_)
            | Request::Sleep(_) => None,
        }
    }

    /// The client closes its connection to a server. A request that is under way on it may still arrive.
    pub(super) fn close_connection(&mut self, client: ClientId, server: Server) {
        let who = Who::Client(client);
        let connection = connection_of(who);
        let under_way = self
            .world
            .network
            .iter()
            .position(|message| message.connection == connection && message.server() == server);
        let Some(place) = under_way else {
            return self.disconnect(connection, server);
        };
        let taken = |number: &u32| {
            let left = left_behind(who, *number);
            let network = &self.world.network;
            network.iter().any(|message| message.connection == left)
        };
        let number = (1..u32::MAX).find(|number| !taken(number)).unwrap_or(1);
        let left = left_behind(who, number);
        self.world.network[place].connection = left;
        match (server, self.world.network[place].leg()) {
            (_, Leg::Reply) => self.disconnect(connection, server),
            (Server::Store(server), Leg::Request) => {
                let input = StoreInput::LeaveBehind { connection, left };
                self.apply_to_store(None, server, input);
            }
            (Server::Database, Leg::Request) => {
                let input = DatabaseInput::LeaveBehind { connection, left };
                self.world.database.apply(input);
            }
            (Server::Gateway | Server::Client, Leg::Request) => {}
        }
    }

    /// A server sees that a connection is closed.
    pub(super) fn disconnect(&mut self, connection: ConnectionId, server: Server) {
        match server {
            Server::Store(server) => {
                let input = StoreInput::Disconnect { connection };
                self.apply_to_store(Some(connection), server, input);
            }
            Server::Database => {
                let input = DatabaseInput::Disconnect { connection };
                let output = self.world.database.apply(input);
                self.after_database(Some(connection), output);
            }
            Server::Gateway | Server::Client => {}
        }
    }
}

//! What servers do with a request, told as events; replies that they owed from earlier.

use super::Stage;
use super::request::{Filled, Quorum};
use crate::sim::ConnectionId;
use crate::sim::action::{ClientId, ServerId, Who};
use crate::sim::client::Place;
use crate::sim::database::{DatabaseFact, DatabaseInput, DatabaseOutput, SqlReply};
use crate::sim::event::{Answer, BeliefEnd, Fact, Server};
use crate::sim::gateway::{Gateway, GatewayFact};
use crate::sim::network::ServerRequest;
use crate::sim::store::reply::Reply;
use crate::sim::store::{Cause, KeyState, StoreFact, StoreInput, StoreOutput};
use crate::sim::world::{connection_of, is_left_behind, is_subscriber, owner_of};

impl Stage<'_> {
    /// Has a server, or the client's own clock, do a request, and gives the answer; `None` when the server makes the connection wait.
    pub(super) fn execute(
        &mut self,
        who: Who,
        step: Option<usize>,
        filled: Filled,
    ) -> Option<Answer> {
        match filled {
            Filled::ToServer(request) => {
                self.sent(who, step, request.server(), request.text());
                self.serve(connection_of(who), step, request)
            }
            Filled::CheckDeadline { client, key } => {
                let text = format!("CHECK {}", String::from_utf8_lossy(&key));
                self.sent(who, step, Server::Client, text);
                let answer = Answer::Client(self.look_at_deadline(client, &key));
                self.answered(who, step, Server::Client, &answer);
                Some(answer)
            }
            Filled::Quorum { client, quorum } => {
                self.sent(who, step, Server::Client, quorum.text());
                let answer = Answer::Client(self.count_votes(client, &quorum));
                self.answered(who, step, Server::Client, &answer);
                Some(answer)
            }
            Filled::Await(_) | Filled::Sleep(_) | Filled::Refused(_) => None,
        }
    }

    /// Has a server do a request that has come to it, and gives its answer; `None` when the server makes the connection wait.
    pub(super) fn serve(
        &mut self,
        connection: ConnectionId,
        step: Option<usize>,
        request: ServerRequest,
    ) -> Option<Answer> {
        let now = self.world.wall_clock();
        let server = request.server();
        if let Server::Store(store) = server
            && self.world.store(store).is_down()
        {
            let who = owner_of(connection);
            self.note(Fact::Unreachable { who, step, server });
            return Some(Answer::Lost);
        }
        let answer = match request {
            ServerRequest::Store { server, argv, .. } => {
                let input = StoreInput::Command {
                    connection,
                    argv: &argv,
                    now,
                };
                let reply = self.apply_to_store(Some(connection), server, input);
                reply.map(Answer::Store)
            }
            ServerRequest::Statement {
                statement,
                parameters,
            } => {
                let output = self.world.database.apply(DatabaseInput::Statement {
                    connection,
                    statement: &statement,
                    parameters: &parameters,
                    now,
                });
                let reply = self.after_database(Some(connection), output);
                reply.map(Answer::Database)
            }
            ServerRequest::BrokenStatement(error) => Some(Answer::Database(SqlReply::Error(error))),
            ServerRequest::Gateway { argv, .. } => {
                let (reply, fact) = self.world.gateway.apply(&argv);
                self.after_gateway(owner_of(connection), fact);
                Some(Answer::Gateway(reply))
            }
        };
        let who = owner_of(connection);
        match (who, step, &answer) {
            (Who::Client(client), Some(step), Some(answer)) if is_left_behind(connection) => {
                self.note(Fact::AnsweredNobody {
                    client,
                    step,
                    server,
                    answer: answer.clone(),
                });
            }
            (_, _, Some(answer)) => self.answered(who, step, server, answer),
            (_, _, None) if is_left_behind(connection) => {}
            (_, _, None) => self.note(Fact::Waits { who, server }),
        }
        answer
    }

    /// What a QUORUM says; the votes are counted once.
    fn count_votes(&mut self, client: ClientId, quorum: &Quorum) -> Reply {
        let mut ballot = None;
        self.change(client, |state| ballot = state.ballots.remove(&quorum.key));
        let ballot = ballot.unwrap_or_default();
        let milliseconds = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        let left = milliseconds(quorum.lease)
            .saturating_sub(ballot.age)
            .saturating_sub(milliseconds(quorum.drift));
        let enough = ballot.votes.len() as u64 >= quorum.votes;
        match enough && left > 0 {
            true => Reply::Integer(left),
            false => Reply::Nil,
        }
    }

    fn look_at_deadline(&self, client: ClientId, key: &[u8]) -> Reply {
        let belief = self.world.clients[client.0].beliefs.get(key);
        let held = belief.is_some_and(|belief| belief.remaining != Some(0));
        Reply::Status(if held { "held" } else { "lapsed" }.to_string())
    }

    /// Applies an input to a Redis-like server, tells what it did, delivers the replies of other connections, and gives the reply
    /// to `asking`.
    pub(super) fn apply_to_store(
        &mut self,
        asking: Option<ConnectionId>,
        server: ServerId,
        input: StoreInput<'_>,
    ) -> Option<Reply> {
        let output = self.world.stores.get_mut(server.0)?.apply(input);
        self.after_store(asking, server, output)
    }

    fn after_store(
        &mut self,
        asking: Option<ConnectionId>,
        server: ServerId,
        output: StoreOutput,
    ) -> Option<Reply> {
        for fact in output.facts {
            match fact {
                StoreFact::Key {
                    key,
                    before,
                    after,
                    cause,
                } => {
                    self.after_key(asking, server, key, before, after, cause);
                }
                StoreFact::Command {
                    connection,
                    depth,
                    argv,
                    reply,
                } if depth > 0 => {
                    self.note(Fact::ScriptCalled {
                        server,
                        who: owner_of(connection),
                        argv,
                        reply,
                    });
                }
                StoreFact::Log { message, .. } => {
                    if let Some(asking) = asking {
                        let who = owner_of(asking);
                        self.note(Fact::ScriptLogged { who, message });
                    }
                }
                _ => {}
            }
        }
        let mut own = None;
        for (connection, reply) in output.replies {
            match asking == Some(connection) && own.is_none() {
                true => own = Some(reply),
                false => self.late_reply(connection, Server::Store(server), Answer::Store(reply)),
            }
        }
        own
    }

    fn after_key(
        &mut self,
        asking: Option<ConnectionId>,
        server: ServerId,
        key: Vec<u8>,
        before: Option<KeyState>,
        after: Option<KeyState>,
        cause: Cause,
    ) {
        let asking = asking.filter(|_| matches!(cause, Cause::Command(_) | Cause::Replicated));
        let who = asking.map(owner_of);
        let gone = before.is_some() && after.is_none();
        self.note(Fact::KeyChanged {
            server,
            who,
            key: key.clone(),
            before,
            after,
            cause,
        });
        // Of what came of a request that it has given up, the client knows nothing.
        let knows = cause != Cause::Replicated
            && asking.is_some_and(|connection| !is_left_behind(connection));
        if let (true, Some(Who::Client(client))) = (gone && knows, who) {
            self.end_belief(client, &key, BeliefEnd::Released);
        }
    }

    /// Tells what the database did, delivers the replies of other connections, and gives the reply to `asking`.
    pub(super) fn after_database(
        &mut self,
        asking: Option<ConnectionId>,
        output: DatabaseOutput,
    ) -> Option<SqlReply> {
        for fact in output.facts {
            match fact {
                DatabaseFact::Write(write) => {
                    let who = owner_of(write.connection);
                    self.note(Fact::Wrote { who, write });
                }
                DatabaseFact::Committed { connection } => {
                    self.note(Fact::Committed {
                        who: owner_of(connection),
                    });
                }
                DatabaseFact::RolledBack { connection } => {
                    self.note(Fact::RolledBack {
                        who: owner_of(connection),
                    });
                }
                _ => {}
            }
        }
        let mut own = None;
        for (connection, reply) in output.replies {
            match asking == Some(connection) && own.is_none() {
                true => own = Some(reply),
                false => self.late_reply(connection, Server::Database, Answer::Database(reply)),
            }
        }
        own
    }

    fn after_gateway(&mut self, who: Who, fact: Option<GatewayFact>) {
        let Some(fact) = fact else { return };
        let (GatewayFact::Charged(place)
        | GatewayFact::Repeated(place)
        | GatewayFact::Refunded(place)) = fact;
        let charge = Gateway::name_of(place);
        let (order, amount) = {
            let charge = &self.world.gateway.charges()[place];
            (charge.order.clone(), charge.amount)
        };
        if let (Who::Client(client), false) = (who, matches!(fact, GatewayFact::Refunded(_))) {
            self.change(client, |state| state.order = Some(order.clone()));
        }
        self.note(match fact {
            GatewayFact::Charged(_) => Fact::Charged {
                who,
                charge,
                order,
                amount,
            },
            GatewayFact::Repeated(_) => Fact::ChargeRepeated { who, charge, order },
            GatewayFact::Refunded(_) => Fact::Refunded { who, charge, order },
        });
    }

    /// A reply that a server owed somebody since an earlier action.
    pub(super) fn late_reply(&mut self, connection: ConnectionId, server: Server, answer: Answer) {
        if is_left_behind(connection) {
            return;
        }
        let who = owner_of(connection);
        if let (true, Who::Client(client)) = (is_subscriber(connection), who) {
            if let Answer::Store(reply) = answer {
                self.pushed(client, server, reply);
            }
            return;
        }
        let Who::Client(client) = who else {
            return self.answered(who, None, server, &answer);
        };
        match self.world.clients[client.0].place {
            Place::Blocked { step, age, .. } => {
                self.answered(who, Some(step), server, &answer);
                self.receive(client, step, answer, age, false);
            }
            _ => {
                self.answered(who, None, server, &answer);
                self.change(client, |state| state.console_waits = false);
            }
        }
    }
}

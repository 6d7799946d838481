//! Requests on their way: values in place of variables, and who sends them.

use super::Stage;
use crate::sim::action::{ClientId, Who};
use crate::sim::client::AfterSleep;
use crate::sim::client::protocol::{Argument, Effect, Request};
use crate::sim::database::Value as SqlValue;
use crate::sim::event::{Answer, Server, Value};
use crate::sim::network::ServerRequest;
use crate::sim::store::reply::Reply;
use crate::sim::store::{quote_argument, script_sha1};

impl Stage<'_> {
    /// Sends a client's step.
    pub(super) fn send(&mut self, client: ClientId, step: usize, course: Course) {
        let Some(protocol) = self.protocol(client) else {
            return;
        };
        let request = &protocol.steps[step].request;
        let who = Who::Client(client);
        match self.fill(who, request) {
            Err(why) => self.end_run(client, false, Some(why)),
            Ok(Filled::Sleep(milliseconds)) => {
                self.sent(
                    who,
                    Some(step),
                    Server::Client,
                    format!("SLEEP {milliseconds}"),
                );
                self.sleep(client, milliseconds, AfterSleep::Answer(step));
            }
            Ok(Filled::Await(channel)) => self.await_message(client, step, &channel),
            Ok(Filled::ToServer(request)) => {
                self.open_ballots(client, step);
                self.send_on_course(client, step, request, course);
            }
            Ok(filled) => {
                if let Some(answer) = self.execute(who, Some(step), filled) {
                    self.receive(client, step, answer, 0, course == Course::LoseReply);
                }
            }
        }
    }

    /// A step whose reply may be a vote is about to be sent: from the first one for a lock on, its lease is counted.
    fn open_ballots(&mut self, client: ClientId, step: usize) {
        let clauses = match self.protocol(client) {
            Some(protocol) => &protocol.steps[step].clauses,
            None => return,
        };
        for effect in clauses.iter().flat_map(|clause| &clause.effects) {
            let Effect::Votes(key) = effect else { continue };
            let who = Who::Client(client);
            if let Ok(key) = (Values { stage: self, who }).bytes(key) {
                self.change(client, |state| {
                    state.ballots.or_default(key);
                });
            }
        }
    }

    pub(super) fn type_command(&mut self, who: Who, request: &Request) {
        let filled = match self.fill(who, request) {
            Err(why) | Ok(Filled::Refused(why)) => {
                let answer = Answer::Client(Reply::Error(format!("ERR {why}")));
                return self.answered(who, None, Server::Client, &answer);
            }
            Ok(Filled::Await(_)) => {
                let answer = Answer::Client(Reply::Error(
                    "ERR a console shows messages as they come: AWAIT is a step's".to_string(),
                ));
                return self.answered(who, None, Server::Client, &answer);
            }
            Ok(Filled::Sleep(_)) => {
                let answer = Answer::Client(Reply::Error(
                    "ERR a console does not sleep: move the clock instead".to_string(),
                ));
                return self.answered(who, None, Server::Client, &answer);
            }
            Ok(filled) => filled,
        };
        if self.execute(who, None, filled).is_none()
            && let Who::Client(client) = who
        {
            self.change(client, |state| state.console_waits = true);
        }
    }

    /// Puts values into a request's variables.
    fn fill(&self, who: Who, request: &Request) -> Result<Filled, String> {
        let values = Values { stage: self, who };
        Ok(match request {
            Request::Store(server, arguments) => Filled::ToServer(ServerRequest::Store {
                server: self.target(*server),
                text: values.text_of(arguments)?,
                argv: values.bytes_of(arguments)?,
            }),
            Request::Gateway(arguments) => Filled::ToServer(ServerRequest::Gateway {
                text: values.text_of(arguments)?,
                argv: values.bytes_of(arguments)?,
            }),
            Request::Database(Err(error)) => {
                Filled::ToServer(ServerRequest::BrokenStatement(error.clone()))
            }
            Request::Database(Ok(statement)) => {
                let parameters = statement
                    .variables()
                    .iter()
                    .map(|name| Ok((name.clone(), SqlValue::from(values.value_of(name)?))))
                    .collect::<Result<Vec<_>, String>>()?;
                Filled::ToServer(ServerRequest::Statement {
                    statement: statement.clone(),
                    parameters,
                })
            }
            Request::CheckDeadline(key) => match who {
                Who::Client(client) => Filled::CheckDeadline {
                    client,
                    key: values.bytes(key)?,
                },
                Who::Operator => Filled::Refused("CHECK looks at a client's own clock".to_string()),
            },
            Request::Quorum {
                votes,
                key,
                lease,
                drift,
            } => match who {
                Who::Client(client) => {
                    let lease = values.number(lease)?;
                    let drift = drift.as_ref().map(|drift| values.number(drift));
                    let drift = drift.transpose()?;
                    let quorum = Quorum {
                        votes: *votes,
                        key: values.bytes(key)?,
                        lease,
                        // As node-redlock and redlock-rb count it.
                        drift: drift.unwrap_or(lease / 100 + 2),
                    };
                    Filled::Quorum { client, quorum }
                }
                Who::Operator => Filled::Refused("QUORUM counts a client's own votes".to_string()),
            },
            Request::Await(channel) => Filled::Await(values.bytes(channel)?),
            Request::Sleep(milliseconds) => Filled::Sleep(values.number(milliseconds)?),
        })
    }
}

/// How a step's request and its reply fare on their way.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Course {
    /// Both arrive at once.
    Straight,
    /// The server does it, and the reply is lost.
    LoseReply,
    /// The request is lost.
    LoseRequest,
    /// The request stays under way.
    DelayRequest,
    /// The server does it, and the reply stays under way.
    DelayReply,
}

/// A request with values in place of its variables.
pub(super) enum Filled {
    ToServer(ServerRequest),
    CheckDeadline { client: ClientId, key: Vec<u8> },
    Quorum { client: ClientId, quorum: Quorum },
    Await(Vec<u8>),
    Sleep(u64),
    Refused(String),
}

/// How many votes it takes for a lock, and what has to be left of its lease.
pub(super) struct Quorum {
    pub(super) votes: u64,
    pub(super) key: Vec<u8>,
    pub(super) lease: u64,
    pub(super) drift: u64,
}

impl Quorum {
    /// The request as events tell it.
    pub(super) fn text(&self) -> String {
        let key = quote_argument(&self.key);
        format!(
            "QUORUM {} {key} PX {} DRIFT {}",
            self.votes, self.lease, self.drift
        )
    }
}

/// The values that somebody's variables have.
pub(super) struct Values<'a, 'b> {
    pub(super) stage: &'a Stage<'b>,
    pub(super) who: Who,
}

impl Values<'_, '_> {
    pub(super) fn value_of(&self, name: &str) -> Result<Value, String> {
        let Who::Client(client) = self.who else {
            return Err(format!("the operator has no variable {{{name}}}"));
        };
        self.stage
            .client(client)?
            .variables
            .get(name)
            .cloned()
            .ok_or_else(|| format!("{{{name}}} has no value yet"))
    }

    pub(super) fn bytes(&self, argument: &Argument) -> Result<Vec<u8>, String> {
        let scripts = &self.stage.setup.scripts;
        match argument {
            Argument::Literal(bytes) => Ok(bytes.clone()),
            Argument::Variable(name) => match self.value_of(name)? {
                Value::Text(bytes) => Ok(bytes),
                Value::Integer(integer) => Ok(integer.to_string().into_bytes()),
                Value::Null => Err(format!("{{{name}}} is NULL")),
            },
            Argument::ScriptSource(name) => scripts
                .get(name)
                .cloned()
                .ok_or_else(|| format!("there is no script {name}")),
            Argument::ScriptSha(name) => scripts
                .get(name)
                .map(|source| script_sha1(source).into_bytes())
                .ok_or_else(|| format!("there is no script {name}")),
        }
    }

    pub(super) fn number(&self, argument: &Argument) -> Result<u64, String> {
        let bytes = self.bytes(argument)?;
        let text = String::from_utf8_lossy(&bytes);
        text.parse()
            .map_err(|_| format!("expected a number of milliseconds, not '{text}'"))
    }

    fn bytes_of(&self, arguments: &[Argument]) -> Result<Vec<Vec<u8>>, String> {
        arguments
            .iter()
            .map(|argument| self.bytes(argument))
            .collect()
    }

    /// The request as one line: scripts by their names, arguments quoted where redis-cli needs it.
    fn text_of(&self, arguments: &[Argument]) -> Result<String, String> {
        let words = arguments
            .iter()
            .map(|argument| match argument {
                Argument::ScriptSource(name) | Argument::ScriptSha(name) => Ok(name.clone()),
                other => Ok(quote_argument(&self.bytes(other)?)),
            })
            .collect::<Result<Vec<String>, String>>()?;
        Ok(words.join(" "))
    }
}

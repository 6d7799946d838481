//! The network: requests and replies that are under way.
//!
//! Ordinarily a request comes to its server, and the reply to its client, within the same action. What is delayed stands here until an
//! action delivers or loses it. A client that gives up waiting closes its connection and goes on with another one: what was under way
//! on the old one may still arrive, a late reply is never taken for another request's, and nobody sees what a late request did.
//!
//! ```text
//! A  ── SET lock A-1 NX ──▶ ...delayed...                                  ▶ store: OK, for nobody
//! A       waits 500 ms, closes the connection, opens another, tries again
//! ```

use super::ConnectionId;
use super::action::{ClientId, Leg};
use super::database::{SqlError, Statement, Value as SqlValue};
use super::event::{Answer, Server};

/// A request or a reply that is under way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Message {
    /// Whose.
    pub client: ClientId,
    /// To which of its steps it belongs.
    pub step: usize,
    /// On which connection.
    pub connection: ConnectionId,
    /// What it is.
    pub content: Content,
}

/// What is under way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Content {
    /// A request that has not come to its server.
    Request(ServerRequest),
    /// A server's answer that has not come to the client.
    Reply(Server, Answer),
}

impl Message {
    /// Which half of the way it is on.
    pub fn leg(&self) -> Leg {
        match self.content {
            Content::Request(_) => Leg::Request,
            Content::Reply(..) => Leg::Reply,
        }
    }

    /// The server that it goes to or comes from.
    pub fn server(&self) -> Server {
        match &self.content {
            Content::Request(request) => request.server(),
            Content::Reply(server, _) => *server,
        }
    }
}

/// A request as a server gets it: values in place of variables.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ServerRequest {
    /// A Redis command.
    Store {
        /// To which server.
        server: super::action::ServerId,
        /// Its name and arguments.
        argv: Vec<Vec<u8>>,
        /// The command on one line, scripts by their names.
        text: String,
    },
    /// A request to the card gateway.
    Gateway {
        /// Its words.
        argv: Vec<Vec<u8>>,
        /// The request on one line.
        text: String,
    },
    /// An SQL statement.
    Statement {
        /// The statement.
        statement: Statement,
        /// Its parameters by name.
        parameters: Vec<(String, SqlValue)>,
    },
    /// A statement that does not parse, and what the database says of it.
    BrokenStatement(SqlError),
}

impl ServerRequest {
    /// Which server it is for.
    pub fn server(&self) -> Server {
        match self {
            ServerRequest::Store { server, .. } => Server::Store(*server),
            ServerRequest::Gateway { .. } => Server::Gateway,
            ServerRequest::Statement { .. } | ServerRequest::BrokenStatement(_) => Server::Database,
        }
    }

    /// The request as events tell it.
    pub fn text(&self) -> String {
        match self {
            ServerRequest::Store { text, .. } | ServerRequest::Gateway { text, .. } => text.clone(),
            ServerRequest::Statement {
                statement,
                parameters,
            } => statement.text_with(parameters),
            ServerRequest::BrokenStatement(_) => String::new(),
        }
    }
}

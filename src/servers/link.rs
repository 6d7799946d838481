//! One connection: requests go in, and whatever the server sends comes out in order.

use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::task::JoinHandle;

use crate::sim::store::reply::Reply;

/// How long a server may take.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// What goes to a server.
#[derive(Clone, Debug)]
pub(super) enum Request {
    /// A command of Redis.
    Command(Vec<Vec<u8>>),
    /// A statement of SQL.
    Statement(String),
}

/// A command of these words.
pub(super) fn command(words: &[&[u8]]) -> Request {
    Request::Command(words.iter().map(|word| word.to_vec()).collect())
}

/// Nothing, where it is no error.
pub(super) fn done(got: Got) -> Result<(), String> {
    match got {
        Got::Store(Reply::Error(error)) | Got::Database(Answer::Error { text: error, .. }) => {
            Err(error)
        }
        _ => Ok(()),
    }
}

/// What comes from a server.
#[derive(Clone, Debug)]
pub(super) enum Got {
    /// From Redis.
    Store(Reply),
    /// From the database.
    Database(Answer),
}

/// What the database says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// The rows of a query, as text; `None` is NULL.
    Rows(Vec<Vec<Option<String>>>),
    /// How many rows a statement wrote; 0 for one that writes none.
    Affected(u64),
    /// An error.
    Error {
        /// Its number.
        code: u16,
        /// As the mysql client prints it.
        text: String,
    },
}

impl Got {
    /// As the scenario text writes it.
    pub fn print(&self) -> String {
        match self {
            Got::Store(reply) => reply.print_short(),
            Got::Database(Answer::Error { text, .. }) => text.clone(),
            Got::Database(Answer::Affected(1)) => "1 row".to_owned(),
            Got::Database(Answer::Affected(count)) => format!("{count} rows"),
            Got::Database(Answer::Rows(rows)) if rows.is_empty() => "no rows".to_owned(),
            Got::Database(Answer::Rows(rows)) => {
                let value =
                    |value: &Option<String>| value.clone().unwrap_or_else(|| "NULL".to_owned());
                let rows = rows.iter().map(|row| {
                    format!("({})", row.iter().map(value).collect::<Vec<_>>().join(", "))
                });
                rows.collect::<Vec<_>>().join(", ")
            }
        }
    }
}

/// A connection. Dropped, it closes as a crash would close it.
pub(super) struct Link {
    /// Where requests go in.
    pub requests: UnboundedSender<Request>,
    /// Where replies come out; an error when the connection is gone.
    pub replies: UnboundedReceiver<Result<Got, String>>,
    /// What carries them.
    pub task: JoinHandle<()>,
}

impl Link {
    /// Sends a request.
    pub fn send(&self, request: Request) -> Result<(), String> {
        self.requests
            .send(request)
            .map_err(|_| "the connection is closed".to_owned())
    }

    /// The next thing that comes.
    pub async fn receive(&mut self) -> Result<Got, String> {
        self.receive_within(PATIENCE).await
    }

    /// The next thing that comes within a time.
    pub async fn receive_within(&mut self, patience: Duration) -> Result<Got, String> {
        match tokio::time::timeout(patience, self.replies.recv()).await {
            Ok(Some(got)) => got,
            Ok(None) => Err("the connection is closed".to_owned()),
            Err(_) => Err(format!("no answer for {} s", patience.as_secs())),
        }
    }

    /// What comes within a short time, if anything does.
    pub async fn glance(&mut self, time: Duration) -> Option<Result<Got, String>> {
        tokio::time::timeout(time, self.replies.recv())
            .await
            .ok()
            .flatten()
    }

    /// Sends a request, and gives the reply.
    pub async fn ask(&mut self, request: Request) -> Result<Got, String> {
        self.send(request)?;
        self.receive().await
    }

    /// Closes the connection, and waits until the server has been told.
    pub async fn close(mut self) {
        self.replies.close();
        let Link { requests, task, .. } = self;
        drop(requests);
        let _ = tokio::time::timeout(PATIENCE, task).await;
    }
}

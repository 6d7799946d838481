//! Transactions: MULTI queues commands, EXEC runs them as one, WATCH makes EXEC depend on keys that
//! nobody touched.

use super::call::{Answer, Call};
use super::dispatch;
use super::reply::Reply;
use super::run::Run;
use super::table::{self, Command};

/// The commands of an open transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Queue {
    pub(super) commands: Vec<Vec<Vec<u8>>>,
    /// Whether one of them could not be queued, so that EXEC must not run the others.
    refused: bool,
}

pub(super) fn is_open(run: &Run<'_>) -> bool {
    run.connection_state()
        .is_some_and(|state| state.queue.is_some())
}

/// Whether the command runs at once even within a transaction.
pub(super) fn steers(command: &Command) -> bool {
    matches!(
        command.name,
        "EXEC" | "DISCARD" | "MULTI" | "WATCH" | "QUIT" | "RESET"
    )
}

pub(super) fn queue(run: &mut Run<'_>, argv: &[Vec<u8>]) {
    if let Some(queue) = &mut run.store.connection(run.connection).queue {
        queue.commands.push(argv.to_vec());
    }
}

/// A command was refused with this error: EXEC will not run the open transaction. Where EXEC itself
/// was refused, the transaction is over, and the error says so.
pub(super) fn refuse(run: &mut Run<'_>, argv: &[Vec<u8>], error: String) -> String {
    if argv
        .first()
        .is_some_and(|name| name.eq_ignore_ascii_case(b"EXEC"))
    {
        run.store.connection(run.connection).queue = None;
        forget_watches(run);
        let reason = error.strip_prefix("ERR ").unwrap_or(&error);
        return format!("EXECABORT Transaction discarded because of: {reason}");
    }
    if is_open(run)
        && let Some(queue) = &mut run.store.connection(run.connection).queue
    {
        queue.refused = true;
    }
    error
}

pub(super) fn multi(run: &mut Run<'_>, _: &Call<'_>) -> Answer {
    if is_open(run) {
        return Err("ERR MULTI calls can not be nested".into());
    }
    run.store.connection(run.connection).queue = Some(Queue::default());
    Ok(Reply::ok())
}

pub(super) fn discard(run: &mut Run<'_>, _: &Call<'_>) -> Answer {
    if !is_open(run) {
        return Err("ERR DISCARD without MULTI".into());
    }
    run.store.connection(run.connection).queue = None;
    forget_watches(run);
    Ok(Reply::ok())
}

pub(super) fn exec(run: &mut Run<'_>, _: &Call<'_>) -> Answer {
    if !is_open(run) {
        return Err("ERR EXEC without MULTI".into());
    }
    let connection = run.store.connection(run.connection);
    let touched = connection.touched;
    let queue = connection.queue.take().unwrap_or_default();
    forget_watches(run);
    if queue.refused {
        return Err("EXECABORT Transaction discarded because of previous errors.".into());
    }
    if touched {
        return Ok(Reply::Nil);
    }
    run.depth += 1;
    let mut replies = Vec::new();
    for argv in &queue.commands {
        if let Some(command) = table::command_of(argv) {
            let sent = run.output.replies.len();
            let own = dispatch::execute(run, &Call { command, argv });
            replies.extend(messages_to_self(run, sent));
            replies.extend(own);
        }
    }
    run.depth -= 1;
    // The array's length is that of the queue: what a SUBSCRIBE to several channels replies beyond
    // that comes after the array.
    let beyond = replies.split_off(queue.commands.len().min(replies.len()));
    let array = Reply::Array(replies);
    if beyond.is_empty() {
        return Ok(array);
    }
    Err(super::call::Instead::Several(
        std::iter::once(array).chain(beyond).collect(),
    ))
}

/// Takes back the messages that the connection has published to itself since: they stand among the
/// replies of EXEC, where Redis writes them, too.
fn messages_to_self(run: &mut Run<'_>, sent: usize) -> Vec<Reply> {
    let connection = run.connection;
    let messages = run.output.replies.split_off(sent);
    let (own, others): (Vec<_>, Vec<_>) =
        messages.into_iter().partition(|(to, _)| *to == connection);
    run.output.replies.extend(others);
    own.into_iter().map(|(_, message)| message).collect()
}

pub(super) fn watch(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    if is_open(run) {
        return Err("ERR WATCH inside MULTI is not allowed".into());
    }
    let connection = run.store.connection(run.connection);
    if !connection.touched {
        for key in call.from(1) {
            connection.watched.insert::<[u8]>(key.clone());
        }
    }
    Ok(Reply::ok())
}

pub(super) fn unwatch(run: &mut Run<'_>, _: &Call<'_>) -> Answer {
    forget_watches(run);
    Ok(Reply::ok())
}

fn forget_watches(run: &mut Run<'_>) {
    let connection = run.store.connection(run.connection);
    connection.watched.clear();
    connection.touched = false;
}

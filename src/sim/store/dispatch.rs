//! The way of a command from its arguments to its handler (`processCommand`): is it known, does it
//! have its arguments, may it run now, or is it queued?

use super::blocking;
use super::call::{Call, Instead, OUT_OF_MEMORY, on_one_line, shown};
use super::reply::Reply;
use super::run::Run;
use super::scripting::Rules;
use super::table::{self, Command};
use super::{Cause, StoreFact, transactions};

/// One command that a connection sends.
pub(super) fn command(run: &mut Run<'_>, argv: &[Vec<u8>]) {
    let connection = run.connection;
    if argv.is_empty() {
        run.output.refused = Some("there is no command");
        return;
    }
    if run.store.blocked(connection).is_some() {
        run.output.refused = Some("the connection waits for the reply to its blocked command");
        return;
    }
    let replies = match admit(run, argv) {
        Ok(Admitted::Run(command)) => execute(run, &Call { command, argv }),
        Ok(Admitted::Queued) => answered(run, argv, vec![Reply::Status("QUEUED".to_owned())]),
        Err(error) => {
            let error = transactions::refuse(run, argv, error);
            answered(run, argv, vec![Reply::Error(error)])
        }
    };
    run.output
        .replies
        .extend(replies.into_iter().map(|reply| (connection, reply)));
}

/// What a replica says to a write (`shared.roslaveerr`).
const READ_ONLY: &str = "READONLY You can't write against a read only replica.";

enum Admitted {
    Run(&'static Command),
    Queued,
}

fn admit(run: &mut Run<'_>, argv: &[Vec<u8>]) -> Result<Admitted, String> {
    let command = find(argv)?;
    let in_transaction = transactions::is_open(run);
    let steers_transaction = transactions::steers(command);
    if run.memory_is_full()
        && (command.denied_out_of_memory() || (in_transaction && !steers_transaction))
    {
        return Err(OUT_OF_MEMORY.to_owned());
    }
    if command.writes() && run.store.is_replica() {
        return Err(READ_ONLY.to_owned());
    }
    let subscribed = run
        .connection_state()
        .is_some_and(|state| state.subscriptions() > 0);
    if subscribed && !command.allowed_while_subscribed() {
        return Err(format!(
            "ERR Can't execute '{}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context",
            command.shown_name()
        ));
    }
    if in_transaction && !steers_transaction {
        transactions::queue(run, argv);
        return Ok(Admitted::Queued);
    }
    Ok(Admitted::Run(command))
}

/// The error with which the store answers these arguments, whatever it holds: no such command, or too many or too few arguments.
pub fn why_never(argv: &[Vec<u8>]) -> Option<String> {
    find(argv).err()
}

/// The command that these arguments call, subcommands resolved and arguments counted.
fn find(argv: &[Vec<u8>]) -> Result<&'static Command, String> {
    let name = argv.first().map_or(&[][..], Vec::as_slice);
    let command = table::command_of(argv).ok_or_else(|| {
        on_one_line(&match (table::find_command(name), argv.get(1)) {
            (Some(_), Some(word)) => {
                let container = shown(name, 128).to_ascii_uppercase();
                format!(
                    "ERR unknown subcommand '{}'. Try {container} HELP.",
                    shown(word, 128)
                )
            }
            _ => unknown(name, argv),
        })
    })?;
    if command.takes(argv.len()) {
        Ok(command)
    } else {
        Err(command.wrong_arity())
    }
}

fn unknown(name: &[u8], argv: &[Vec<u8>]) -> String {
    let mut arguments = String::new();
    for argument in argv.iter().skip(1) {
        if arguments.len() >= 128 {
            break;
        }
        arguments.push_str(&format!("'{}' ", shown(argument, 128 - arguments.len())));
    }
    format!(
        "ERR unknown command '{}', with args beginning with: {arguments}",
        shown(name, 128)
    )
}

/// Runs a command and tells it as a fact; no replies mean that the connection waits.
pub(super) fn execute(run: &mut Run<'_>, call: &Call<'_>) -> Vec<Reply> {
    let outer = std::mem::replace(&mut run.cause, Cause::Command(call.command.name));
    let answer = if run.told_too_much() {
        Err(OUT_OF_MEMORY.into())
    } else {
        (call.command.handler)(run, call)
    };
    run.cause = outer;
    let replies = match answer {
        Ok(reply) => vec![reply],
        Err(Instead::Error(text)) => vec![Reply::Error(text.into_owned())],
        Err(Instead::Several(replies)) => replies,
        Err(Instead::Wait(waiting)) => {
            blocking::begin(run, call, waiting);
            return Vec::new();
        }
    };
    answered(run, call.argv, replies)
}

fn answered(run: &mut Run<'_>, argv: &[Vec<u8>], replies: Vec<Reply>) -> Vec<Reply> {
    if let Some(reply) = replies.last() {
        run.tell(StoreFact::Command {
            connection: run.connection,
            depth: run.depth,
            argv: argv.to_vec(),
            reply: reply.clone(),
        });
    }
    replies
}

/// One command that a script calls; the errors are those of redis.call.
pub(super) fn command_of_script(run: &mut Run<'_>, argv: &[Vec<u8>], rules: Rules) -> Reply {
    match admit_in_script(run, argv, rules) {
        Ok(command) => execute(run, &Call { command, argv })
            .pop()
            .unwrap_or(Reply::Nil),
        Err(error) => Reply::Error(error.to_owned()),
    }
}

fn admit_in_script(
    run: &Run<'_>,
    argv: &[Vec<u8>],
    rules: Rules,
) -> Result<&'static Command, &'static str> {
    let name = argv
        .first()
        .ok_or("ERR Please specify at least one argument for this redis lib call")?;
    let command = table::command_of(argv).ok_or(if table::is_left_out(name) {
        "ERR Latchkey's store does not have this Redis command"
    } else {
        "ERR Unknown Redis command called from script"
    })?;
    if !command.takes(argv.len()) {
        return Err("ERR Wrong number of args calling Redis command from script");
    }
    if command.denied_in_scripts() {
        return Err("ERR This Redis command is not allowed from script");
    }
    // What may reach replicas counts as a write here.
    if rules.read_only && (command.writes() || command.name == "PUBLISH") {
        return Err("ERR Write commands are not allowed from read-only scripts.");
    }
    if command.writes() && run.store.is_replica() {
        return Err(READ_ONLY);
    }
    if command.denied_out_of_memory() && run.memory_is_full() && !rules.may_exceed_memory {
        return Err(OUT_OF_MEMORY);
    }
    Ok(command)
}

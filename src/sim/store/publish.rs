//! Messages: PUBLISH, and SUBSCRIBE by channel or by pattern.
//!
//! A connection's patterns are in the order in which they came; its channels are in byte order where
//! Redis goes by its hash table.

use super::call::{Answer, Call, Instead, count, on_one_line, shown};
use super::connection::Connection;
use super::glob;
use super::ordered::Ascending;
use super::reply::Reply;
use super::run::Run;
use super::{ConnectionId, StoreFact};

/// What a connection subscribes to: channels, or patterns.
#[derive(Clone, Copy)]
enum To {
    Channels,
    Patterns,
}

impl To {
    fn names(self, connection: &Connection) -> Vec<Vec<u8>> {
        match self {
            To::Channels => connection.channels.iter().cloned().collect(),
            To::Patterns => connection.patterns.clone(),
        }
    }

    fn insert(self, connection: &mut Connection, name: &[u8]) {
        match self {
            To::Channels => {
                connection.channels.insert::<[u8]>(name.to_vec());
            }
            To::Patterns if connection.patterns.iter().any(|pattern| pattern == name) => {}
            To::Patterns => connection.patterns.push(name.to_vec()),
        }
    }

    fn remove(self, connection: &mut Connection, name: &[u8]) {
        match self {
            To::Channels => {
                connection.channels.remove(name);
            }
            To::Patterns => connection.patterns.retain(|pattern| pattern != name),
        }
    }
}

pub(super) fn subscribe(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    add(run, call, "subscribe", To::Channels)
}

pub(super) fn psubscribe(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    add(run, call, "psubscribe", To::Patterns)
}

pub(super) fn unsubscribe(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    remove(run, call, "unsubscribe", To::Channels)
}

pub(super) fn punsubscribe(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    remove(run, call, "punsubscribe", To::Patterns)
}

fn add(run: &mut Run<'_>, call: &Call<'_>, word: &str, to: To) -> Answer {
    let connection = run.store.connection(run.connection);
    let mut replies = Vec::new();
    for name in call.from(1) {
        to.insert(connection, name);
        replies.push(confirmation(word, Reply::bulk(name), connection));
    }
    Err(Instead::Several(replies))
}

fn remove(run: &mut Run<'_>, call: &Call<'_>, word: &str, to: To) -> Answer {
    let connection = run.store.connection(run.connection);
    let all = to.names(connection);
    let names = if call.len() > 1 { call.from(1) } else { &all };
    if names.is_empty() {
        return Ok(confirmation(word, Reply::Nil, connection));
    }
    let mut replies = Vec::new();
    for name in names {
        to.remove(connection, name);
        replies.push(confirmation(word, Reply::bulk(name), connection));
    }
    Err(Instead::Several(replies))
}

fn confirmation(word: &str, name: Reply, connection: &Connection) -> Reply {
    Reply::Array(vec![
        Reply::bulk(word),
        name,
        count(connection.subscriptions()),
    ])
}

pub(super) fn publish(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    let (channel, message) = (call.arg(1), call.arg(2));
    let mut deliveries: Vec<(ConnectionId, Reply)> = Vec::new();
    for (connection, state) in run.store.connections.iter() {
        if state.channels.contains(channel) {
            let parts = ["message".as_bytes(), channel, message];
            deliveries.push((
                *connection,
                Reply::Array(parts.iter().map(Reply::bulk).collect()),
            ));
        }
        for pattern in state
            .patterns
            .iter()
            .filter(|pattern| glob::matches(pattern, channel))
        {
            let parts = ["pmessage".as_bytes(), pattern, channel, message];
            deliveries.push((
                *connection,
                Reply::Array(parts.iter().map(Reply::bulk).collect()),
            ));
        }
    }
    let receivers = deliveries.len();
    run.output.replies.extend(deliveries);
    run.tell(StoreFact::Published {
        channel: channel.to_vec(),
        message: message.to_vec(),
        receivers,
    });
    Ok(count(receivers))
}

pub(super) fn pubsub_channels(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    if call.len() > 3 {
        let text = format!(
            "ERR unknown subcommand or wrong number of arguments for '{}'. Try PUBSUB HELP.",
            shown(call.arg(1), 128)
        );
        return Err(on_one_line(&text).into());
    }
    let mut active = Ascending::default();
    for (_, state) in run.store.connections.iter() {
        for channel in state
            .channels
            .iter()
            .filter(|channel| call.len() < 3 || glob::matches(call.arg(2), channel))
        {
            active.insert::<[u8]>(channel.clone());
        }
    }
    Ok(Reply::Array(active.iter().map(Reply::bulk).collect()))
}

pub(super) fn pubsub_numsub(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    let receives = |channel: &Vec<u8>| {
        run.store
            .connections
            .iter()
            .filter(|(_, state)| state.channels.contains(&channel[..]))
            .count()
    };
    let pair = |channel: &Vec<u8>| [Reply::bulk(channel), count(receives(channel))];
    Ok(Reply::Array(call.from(2).iter().flat_map(pair).collect()))
}

pub(super) fn pubsub_numpat(run: &mut Run<'_>, _: &Call<'_>) -> Answer {
    let mut distinct = Ascending::default();
    for pattern in run
        .store
        .connections
        .iter()
        .flat_map(|(_, state)| &state.patterns)
    {
        distinct.insert::<[u8]>(pattern.clone());
    }
    Ok(count(distinct.len()))
}

//! Variables that a language spells alike, `Token` and `token`, under names of which it does not.
//!
//! A protocol's variables are its own: what another protocol calls its variables is nobody's business here.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::scenario::Reading;
use crate::sim::action::{Action, Who};
use crate::sim::client::protocol::{Argument, Clause, Effect, Element, Pattern, Protocol, Request};
use crate::sim::database::Statement;
use crate::sim::setup::Setup;

use super::words::sql_with;

/// What is renamed, and how it is called then.
type Names = BTreeMap<String, String>;

/// The scenario with other names for the variables that are spelled like an earlier one of the same protocol; `None` where all differ.
pub(super) fn told_apart(reading: &Reading, spell: &dyn Fn(&str) -> String) -> Option<Reading> {
    let setup: &Setup = &reading.setup;
    let protocols = 0..setup.protocols.len();
    let names: Vec<Names> = protocols
        .map(|protocol| new_names(&variables_of(setup, protocol), spell))
        .collect();
    if names.iter().all(Names::is_empty) {
        return None;
    }
    let mut renamed = setup.clone();
    for (protocol, names) in renamed.protocols.iter_mut().zip(&names) {
        rename_protocol(protocol, names);
    }
    for client in &mut renamed.clients {
        if let Some(names) = client.protocol.and_then(|protocol| names.get(protocol)) {
            let parameters = std::mem::take(&mut client.parameters);
            for (name, value) in parameters.iter() {
                client
                    .parameters
                    .insert(new_name(names, name), value.clone());
            }
        }
    }
    let mut reading = reading.clone();
    for line in &mut reading.schedule {
        if let Action::Command {
            who: Who::Client(client),
            request,
            ..
        } = &mut line.action
            && let Some(protocol) = renamed.clients[client.0].protocol
        {
            rename_request(request, &names[protocol]);
        }
    }
    reading.setup = Arc::new(renamed);
    Some(reading)
}

/// The variables of a protocol, in the order in which they are first named.
fn variables_of(setup: &Setup, protocol: usize) -> Vec<String> {
    let mut names = vec!["me".to_owned()];
    let mut note = |name: &str| {
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    };
    for client in &setup.clients {
        if client.protocol == Some(protocol) {
            client.parameters.iter().for_each(|(name, _)| note(name));
        }
    }
    for step in &setup.protocols[protocol].steps {
        super::variables(&step.request).for_each(&mut note);
        let bound = step.clauses.iter().map(|clause| &clause.pattern);
        bound.flat_map(Pattern::variables).for_each(&mut note);
    }
    names
}

/// The names of those that are spelled like an earlier one: with a number that makes them differ.
fn new_names(names: &[String], spell: &dyn Fn(&str) -> String) -> Names {
    let mut spelled: Vec<String> = Vec::new();
    let mut new_names = Names::new();
    for name in names {
        let numbered = (1..).map(|number| match number {
            1 => name.clone(),
            number => format!("{name}_{number}"),
        });
        let is_free = |candidate: &String| {
            let is_another = candidate != name && names.contains(candidate);
            !is_another && !spelled.contains(&spell(candidate))
        };
        let Some(new) = { numbered }.find(is_free) else {
            continue;
        };
        spelled.push(spell(&new));
        if new != *name {
            new_names.insert(name.clone(), new);
        }
    }
    new_names
}

fn new_name(names: &Names, name: &str) -> String {
    names.get(name).map_or(name, String::as_str).to_owned()
}

fn rename_protocol(protocol: &mut Protocol, names: &Names) {
    for step in &mut protocol.steps {
        rename_request(&mut step.request, names);
        step.clauses
            .iter_mut()
            .for_each(|clause| rename_clause(clause, names));
    }
}

fn rename_request(request: &mut Request, names: &Names) {
    match request {
        Request::Store(_, arguments) | Request::Gateway(arguments) => arguments
            .iter_mut()
            .for_each(|argument| rename(argument, names)),
        Request::Database(Ok(statement)) => {
            if statement
                .variables()
                .iter()
                .any(|it| names.contains_key(it))
            {
                let placeholder = |name: &str| format!("{{{}}}", new_name(names, name));
                if let Ok(renamed) = Statement::parse(&sql_with(statement, &placeholder)) {
                    *statement = renamed;
                }
            }
        }
        Request::Database(Err(_)) => {}
        Request::CheckDeadline(argument) | Request::Await(argument) | Request::Sleep(argument) => {
            rename(argument, names);
        }
        Request::Quorum {
            key, lease, drift, ..
        } => [key, lease]
            .into_iter()
            .chain(drift)
            .for_each(|argument| rename(argument, names)),
    }
}

fn rename_clause(clause: &mut Clause, names: &Names) {
    if let Pattern::Bind(elements) = &mut clause.pattern {
        for element in elements {
            if let Element::Variable(name) = element {
                *name = new_name(names, name);
            }
        }
    }
    for effect in &mut clause.effects {
        match effect {
            Effect::Holds { key, milliseconds } => {
                rename(key, names);
                milliseconds.iter_mut().for_each(|it| rename(it, names));
            }
            Effect::Releases(key) | Effect::Loses(key) | Effect::Votes(key) => rename(key, names),
            Effect::Draws(name) => *name = new_name(names, name),
            Effect::Sells { order, .. } => order.iter_mut().for_each(|it| rename(it, names)),
        }
    }
}

fn rename(argument: &mut Argument, names: &Names) {
    if let Argument::Variable(name) = argument {
        *name = new_name(names, name);
    }
}

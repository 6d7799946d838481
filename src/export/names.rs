//! Names of the scenario as identifiers that nothing else in the file has.
//!
//! A scenario tells `b` from `B` and `a-b` from `a_b`; a language's spelling does not. What is spelled like something else, like a
//! word of the file or like a word of the language gets a number: `b`, `b 2`.

use crate::sim::client::protocol::{Argument, Request};

use super::plan::Plan;
use super::routine::{Routine, assigned_in};
use super::template::{Line, filled};
use super::walk::{Language, Proof};

/// What a language keeps for itself, beside what stands in the file.
pub(super) struct Reserved {
    /// Words between blanks.
    pub words: &'static str,
    /// What names of functions do not begin with: whoever runs the tests takes such functions for something else.
    pub beginnings: &'static [&'static str],
}

/// The identifiers that are taken.
#[derive(Default)]
struct Taken {
    /// As they are written.
    exactly: Vec<String>,
    /// In lower case: PHP's functions are the same then, and readers mistake one for the other everywhere.
    in_lower_case: Vec<String>,
}

impl Taken {
    /// Every word of a text. A single letter is in no file's way: it is a type's parameter, or an article.
    fn take_words(&mut self, text: &str) {
        let words = text.split(|other: char| !other.is_ascii_alphanumeric() && other != '_');
        for word in words.filter(|word| word.len() > 1) {
            self.take(word);
        }
    }

    fn take(&mut self, identifier: &str) {
        self.exactly.push(identifier.to_owned());
        self.in_lower_case.push(identifier.to_ascii_lowercase());
    }

    fn has(&self, identifier: &str, minds_case: bool) -> bool {
        match minds_case {
            true => self.exactly.iter().any(|taken| taken == identifier),
            false => {
                let identifier = identifier.to_ascii_lowercase();
                self.in_lower_case.contains(&identifier)
            }
        }
    }

    /// The name, or the first numbered one, none of whose identifiers is taken; they are taken then.
    fn name(
        &mut self,
        name: &str,
        minds_case: bool,
        spell: &dyn Fn(&str) -> Vec<String>,
    ) -> String {
        let mut number = 1;
        let mut numbered = name.to_owned();
        loop {
            let identifiers = spell(&numbered);
            if !identifiers.iter().any(|one| self.has(one, minds_case)) {
                identifiers.iter().for_each(|one| self.take(one));
                return numbered;
            }
            number += 1;
            numbered = format!("{name} {number}");
        }
    }
}

/// The part of an identifier that tells it from others: `$this->lock` is `lock`.
fn bare(identifier: String) -> String {
    let start = identifier
        .rfind(|other: char| !other.is_ascii_alphanumeric() && other != '_')
        .map_or(0, |place| place + 1);
    identifier[start..].to_owned()
}

/// Gives everything of a plan that has a name in a test of this language the name that it has there.
pub(super) fn tell_apart(plan: &mut Plan<'_>, language: &dyn Language, file: &[Line<'_>]) {
    let mut taken = Taken::default();
    let reserved = language.reserved();
    taken.take_words(reserved.words);
    for line in file {
        if let Line::Text(text) = line {
            taken.take_words(text);
        }
    }
    for (_, word) in language.words(plan) {
        taken.take_words(&word);
    }
    for proof in &language.tables().proofs {
        let Proof {
            replies,
            before,
            holds,
            breaks,
        } = proof;
        let texts = before.iter().chain([replies, holds, breaks]);
        texts.for_each(|text| taken.take_words(&filled(text, &[("query", ""), ("before", "")])));
    }
    let variable = |name: &str| bare(language.variable(name));
    for part in plan.parts.iter_mut().filter(|part| !part.is_operator()) {
        part.spoken = taken.name(part.name, false, &|name| {
            vec![variable(name), bare(language.part_name(name))]
        });
    }
    for routine in &mut plan.routines {
        let name = &routine.protocol.name;
        let function = |name: &str| bare(language.function(name));
        let begins = |beginning: &&str| function(name).starts_with(beginning);
        let name = match reserved.beginnings.iter().any(begins) {
            true => format!("protocol {name}"),
            false => name.clone(),
        };
        routine.name = taken.name(&name, false, &|name| vec![function(name)]);
    }
    for latch in &mut plan.latches {
        *latch = taken.name(latch, false, &|name| vec![bare(language.latch(name))]);
    }
    // Constants are written in capitals, or end with a word of their own: their case tells them from functions.
    for script in &mut plan.scripts {
        let constant = |name: &str| vec![bare(language.script_name(name, false))];
        script.spoken = taken.name(&script.name, true, &constant);
    }
    let mut members = Taken::default();
    for routine in &plan.routines {
        for name in variables_of(routine) {
            members.take(&variable(&name));
        }
    }
    for server in &mut plan.servers {
        *server = members.name(server, false, &|name| vec![language.server(name)]);
    }
}

/// The variables of a protocol, each once.
fn variables_of(routine: &Routine<'_>) -> Vec<String> {
    let mut names = routine.given.clone();
    assigned_in(&routine.code, &mut names);
    crate::sorted::sort(&mut names);
    names.dedup();
    names
}

/// The request with the names that its scripts have in the test.
pub(super) fn with_scripts(request: &Request, plan: &Plan<'_>) -> Request {
    let mut request = request.clone();
    if let Request::Store(_, words) = &mut request {
        for word in words {
            if let Argument::ScriptSource(name) | Argument::ScriptSha(name) = word
                && let Some(script) = plan.scripts.iter().find(|script| script.name == *name)
            {
                *name = script.spoken.clone();
            }
        }
    }
    request
}

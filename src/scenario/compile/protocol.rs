//! Protocols: requests, clauses and variables.

use crate::sim::client::protocol::{
    Argument, Clause, Effect, Flow, Pattern, Protocol, Request, Step,
};
use crate::sorted::SortedSet;

use super::super::error::{Place, quoted};
use super::super::limits;
use super::super::request::{Known, Part, check_variable, request, variable_of, variables};
use super::super::syntax::{
    BlockKind, Entry, Named, ProtocolPart, WrittenClause, WrittenFlow, WrittenStep, things,
};
use super::Compiler;

/// The steps among a protocol's parts.
pub(super) fn steps(parts: &[Entry<ProtocolPart>]) -> impl Iterator<Item = &WrittenStep> {
    things(parts).filter_map(|part| match part {
        ProtocolPart::Step(step) => Some(step),
        ProtocolPart::Claim { .. } => None,
    })
}

/// A protocol whose steps have their labels and nothing else yet, for others to refer to.
pub(super) fn skeleton(name: &Named, parts: &[Entry<ProtocolPart>]) -> Protocol {
    let step = |written: &WrittenStep| Step {
        label: written.label.text.clone(),
        compensation: written.compensation,
        source: things(&written.request)
            .map(|line| line.text.clone())
            .collect(),
        request: Request::Store(None, Vec::new()),
        clauses: Vec::new(),
    };
    let steps = steps(parts).map(step).collect();
    Protocol {
        name: name.text.clone(),
        steps,
        claims: Vec::new(),
    }
}

impl Compiler<'_, '_, '_> {
    /// Fills in what the skeletons lack.
    pub(super) fn protocols(&mut self) {
        for block in self.blocks() {
            let BlockKind::Protocol { name, parts } = &block.kind else {
                continue;
            };
            let index = self
                .setup
                .protocols
                .iter()
                .position(|other| other.name == name.text);
            // One of a second protocol of the same name, or beyond the limit, was reported.
            let is_this = |index: &usize| {
                self.layout
                    .protocols
                    .get(*index)
                    .is_some_and(|it| it.lines.first == block.place.line)
            };
            if let Some(index) = index.filter(is_this) {
                self.protocol(index, name, parts);
            }
        }
    }

    fn protocol(&mut self, index: usize, name: &Named, parts: &[Entry<ProtocolPart>]) {
        let written: Vec<&WrittenStep> = steps(parts).collect();
        let is_empty = written.iter().all(|step| step.compensation);
        if is_empty && !self.damage.protocols {
            let message = format!("the protocol {} has no steps", quoted(&name.text));
            let expected =
                "indented steps under it, such as `acquire: SET lock:sku-1 {me} NX PX 10000`";
            self.errors.add::<()>(name.place, message, expected);
        }
        if let Some(step) = written.get(limits::STEPS) {
            self.too_many(step.label.place, "steps", limits::STEPS);
            return;
        }
        for (place, step) in written.iter().enumerate() {
            if written
                .iter()
                .take(place)
                .any(|other| other.label.text == step.label.text)
            {
                self.taken(&step.label, "step");
            }
        }
        for part in things(parts) {
            if let ProtocolPart::Claim { sentence, .. } = part {
                let claim = self.property(sentence);
                self.setup.protocols[index].claims.extend(claim);
            }
        }
        let variables = Variables::of(self, index, &written);
        for (place, step) in written.iter().enumerate() {
            let (request, clauses) = self.step(index, step, &variables);
            let step = &mut self.setup.protocols[index].steps[place];
            step.clauses = clauses;
            if let Some(request) = request {
                step.request = request;
            }
        }
    }

    fn step(
        &mut self,
        protocol: usize,
        step: &WrittenStep,
        known: &Variables,
    ) -> (Option<Request>, Vec<Clause>) {
        let parts: Vec<Part<'_>> = things(&step.request)
            .map(|line| Part {
                text: &line.text,
                place: line.place,
            })
            .collect();
        let scripts = Known {
            scripts: &self.setup.scripts,
            scripts_are_damaged: self.damage.scripts,
            is_typed: false,
            setup: &self.setup,
        };
        let request = request(&parts, scripts, self.errors);
        if let Some(request) = &request {
            let first = parts.first().map(|part| part.place).unwrap_or_default();
            let last = parts.last().map_or(first.line, |part| part.place.line);
            let mut names = variables(request);
            names.dedup();
            for name in names {
                known.check(self, name, Place { last, ..first });
            }
        }
        let written: Vec<&WrittenClause> = things(&step.clauses).collect();
        if let Some(clause) = written.get(limits::CLAUSES) {
            self.too_many(clause.place, "clauses", limits::CLAUSES);
            return (request, Vec::new());
        }
        self.unreachable_clause(&written);
        let clauses = written
            .iter()
            .filter_map(|clause| self.clause(protocol, clause, known))
            .collect();
        (request, clauses)
    }

    /// Reports a clause that no reply can come to, as one above takes all of them.
    fn unreachable_clause(&mut self, clauses: &[&WrittenClause]) {
        for (place, clause) in clauses.iter().enumerate() {
            let takes_all = |other: &&&WrittenClause| {
                let is_lost = |pattern: &Pattern| matches!(pattern, Pattern::NoReply { .. });
                other.pattern == clause.pattern
                    || other.pattern == Pattern::Else
                    || is_lost(&other.pattern) && is_lost(&clause.pattern)
            };
            if let Some(other) = clauses.iter().take(place).find(takes_all) {
                let message = format!(
                    "no reply comes to this clause: line {} takes it before",
                    other.place.line
                );
                self.errors
                    .add::<()>(clause.place, message, "each pattern once, and `else` last");
            }
        }
    }

    fn clause(
        &mut self,
        protocol: usize,
        clause: &WrittenClause,
        known: &Variables,
    ) -> Option<Clause> {
        for name in clause.effects.iter().flat_map(variables_of_effect) {
            known.check(self, name, clause.place);
        }
        Some(Clause {
            pattern: clause.pattern.clone(),
            effects: clause.effects.clone(),
            flow: self.flow(protocol, clause.flow.as_ref())?,
        })
    }

    fn flow(&mut self, protocol: usize, flow: Option<&WrittenFlow>) -> Option<Flow> {
        Some(match flow {
            None => Flow::Next,
            Some(WrittenFlow::Retry(after)) => Flow::Retry { after: *after },
            Some(WrittenFlow::StartOver(after)) => Flow::StartOver { after: *after },
            Some(WrittenFlow::Stop) => Flow::Stop,
            Some(WrittenFlow::Done) => Flow::Done,
            Some(WrittenFlow::GoTo(label)) => {
                let step = self.label(protocol, label)?;
                if self.setup.protocols[protocol].steps[step].compensation {
                    let message = format!("{} is a compensation", quoted(&label.text));
                    let expected = format!("another step, or `abort with {}`", label.text);
                    return self.errors.add(label.place, message, expected);
                }
                Flow::GoTo(step)
            }
            Some(WrittenFlow::Abort(labels)) => {
                let steps: Vec<Option<usize>> = labels
                    .iter()
                    .map(|label| self.label(protocol, label))
                    .collect();
                Flow::Abort(steps.into_iter().collect::<Option<Vec<usize>>>()?)
            }
        })
    }

    /// The step of a protocol that has this label.
    pub(super) fn label(&mut self, protocol: usize, label: &Named) -> Option<usize> {
        let protocol = self.setup.protocols.get(protocol)?;
        let step = protocol.step_named(&label.text);
        if step.is_none() && !self.damage.protocols {
            let message = format!("the protocol {} has no step", quoted(&protocol.name));
            let known = protocol.steps.iter().map(|step| step.label.as_str());
            self.errors
                .unknown::<()>(label.place, &message, &label.text, known);
        }
        step
    }
}

fn variables_of_effect(effect: &Effect) -> impl Iterator<Item = &str> {
    let (first, second): (Option<&str>, Option<&Argument>) = match effect {
        Effect::Holds { key, milliseconds } => (variable_of(key), milliseconds.as_ref()),
        Effect::Releases(key) | Effect::Loses(key) | Effect::Votes(key) => (variable_of(key), None),
        Effect::Draws(name) => (Some(name), None),
        Effect::Sells { order, .. } => (None, order.as_ref()),
    };
    first.into_iter().chain(second.and_then(variable_of))
}

/// The variables that a protocol's requests and clauses may refer to.
struct Variables {
    /// `me`, what clauses bind, and the parameters that every client has that runs the protocol.
    known: SortedSet<String>,
    /// Parameters that only some of these clients have, with one client that has not.
    partly: Vec<(String, String)>,
    /// Whether any other name may be a parameter: no client runs the protocol, or one could not be read.
    is_open: bool,
}

impl Variables {
    fn of(compiler: &Compiler<'_, '_, '_>, protocol: usize, steps: &[&WrittenStep]) -> Variables {
        let clients: Vec<_> = compiler
            .setup
            .clients
            .iter()
            .filter(|client| client.protocol == Some(protocol))
            .collect();
        let mut known = SortedSet::from(["me".to_owned()]);
        for clause in steps.iter().flat_map(|step| things(&step.clauses)) {
            known.extend(clause.pattern.variables().into_iter().map(str::to_owned));
        }
        let mut partly = Vec::new();
        for name in clients.iter().flat_map(|client| client.parameters.keys()) {
            match clients
                .iter()
                .find(|client| !client.parameters.contains_key(name))
            {
                Some(without) => partly.push((name.clone(), without.name.clone())),
                None => {
                    known.insert(name.clone());
                }
            }
        }
        Variables {
            known,
            partly,
            is_open: clients.is_empty() || compiler.damage.clients,
        }
    }

    fn check(&self, compiler: &mut Compiler<'_, '_, '_>, name: &str, place: Place) {
        if self.is_open || self.known.contains(name) {
            return;
        }
        if let Some((_, client)) = self.partly.iter().find(|(partly, _)| partly == name) {
            let place = compiler.errors.find(place, &format!("{{{name}}}"));
            let message = format!("the client {} has no parameter `{name}`", quoted(client));
            let expected = format!("`{name}=...` behind every client that runs the protocol");
            compiler.errors.add::<()>(place, message, expected);
            return;
        }
        check_variable(name, &self.known, place, compiler.errors);
    }
}

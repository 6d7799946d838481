//! What stands under a protocol's name: claims, steps and clauses.

use crate::sim::client::protocol::{Argument, Effect, Element, Pattern};

use super::super::error::{Errors, Place, nearest, quoted};
use super::super::limits;
use super::super::lines::{Line, Quotes, without_comment};
use super::super::scan::{Cursor, Word, is_variable_name, whole_number};
use super::super::syntax::{Entry, Named, ProtocolPart, WrittenClause, WrittenFlow, WrittenStep};
use super::{comment_of, without_thing, written};

/// The protocol as far as it has been read.
#[derive(Default)]
struct Reader {
    parts: Vec<Entry<ProtocolPart>>,
    /// The step under which lines stand now.
    step: Option<WrittenStep>,
    /// Whether the last step could not be read: what stands under it is read, and thrown away.
    is_lost: bool,
    /// Blank lines and comments of which it is not known yet where they belong.
    between: Vec<Entry<()>>,
}

/// Reads the lines under a protocol's name.
pub(super) fn parts(body: &[Line<'_>], errors: &mut Errors<'_>) -> Vec<Entry<ProtocolPart>> {
    let is_content =
        |line: &&Line<'_>| !line.is_damaged && !line.is_blank() && line.comment().is_none();
    let base = body.iter().find(is_content).map_or(0, |line| line.indent);
    let mut reader = Reader::default();
    for line in body.iter().filter(|line| !line.is_damaged) {
        match (line.is_blank(), line.comment()) {
            (true, _) => reader.between.push(Entry::Blank),
            (false, Some(comment)) => reader.between.push(comment_of(comment)),
            (false, None) if line.indent > base => reader.line_under_step(*line, errors),
            (false, None) => reader.part(*line, errors),
        }
    }
    reader.end_step();
    reader.parts
}

impl Reader {
    fn end_step(&mut self) {
        self.parts.extend(
            self.step
                .take()
                .map(|step| Entry::Of(ProtocolPart::Step(step))),
        );
        self.parts.extend(self.between.drain(..).map(without_thing));
    }

    fn part(&mut self, line: Line<'_>, errors: &mut Errors<'_>) {
        self.end_step();
        self.is_lost = false;
        if let Some(sentence) = line.content().strip_prefix("claims:") {
            let (sentence, comment) = without_comment(sentence, Quotes::Prose);
            let comment = comment.map(str::to_owned);
            let offset = line.indent + "claims:".len();
            let sentence = Cursor::new(line.number, offset, sentence).take_rest();
            self.parts
                .push(Entry::Of(ProtocolPart::Claim { sentence, comment }));
            return;
        }
        self.step = step(line, errors);
        self.is_lost = self.step.is_none();
    }

    fn line_under_step(&mut self, line: Line<'_>, errors: &mut Errors<'_>) {
        let content = line.content();
        let is_clause = content == "on" || content.starts_with("on ");
        let clause = if is_clause {
            clause(line, errors)
        } else {
            None
        };
        let between = self.between.drain(..);
        let Some(step) = &mut self.step else {
            if !self.is_lost {
                let expected = "a step, such as `acquire: SET lock:sku-1 {me} NX PX 10000`";
                errors.add::<()>(line.place(), "this line stands under no step", expected);
            }
            return;
        };
        step.place.last = line.number;
        if is_clause {
            step.clauses.extend(between.map(without_thing));
            step.clauses.extend(clause.map(Entry::Of));
        } else if step.clauses.is_empty() {
            step.request.extend(between.map(without_thing));
            step.request.push(Entry::Of(written(line, Quotes::Code)));
        } else {
            let expected =
                "what a reply means, as in `on OK: stop`, or the next step, less indented";
            let message = "a request cannot go on behind its first clause";
            errors.add::<()>(line.place(), message, expected);
        }
    }
}

fn step(line: Line<'_>, errors: &mut Errors<'_>) -> Option<WrittenStep> {
    let written = written(line, Quotes::Code);
    let mut cursor = Cursor::new(line.number, line.indent, &written.text);
    if written.text.starts_with("on ") {
        let expected = "a label and a request; clauses stand deeper than their step";
        return errors.add(line.place(), "this clause stands under no step", expected);
    }
    let compensation = cursor.eat_words("compensation");
    let label = cursor.name("the step's label", errors)?;
    if matches!(label.text.as_str(), "on" | "claims" | "compensation") {
        let message = format!("no step can be called {}", quoted(&label.text));
        return errors.add(label.place, message, "another label");
    }
    if !cursor.rest().starts_with(':') {
        let expected = "`:` right behind the label, and the request";
        return errors.add(cursor.here(), "the label has no `:`", expected);
    }
    cursor.eat(":");
    let request = cursor.take_rest();
    if request.text.is_empty() {
        let expected = "a Redis command, an SQL statement, CHARGE, REFUND, CHECK or SLEEP";
        return errors.add(request.place, "the request is missing", expected);
    }
    let first = super::Written {
        text: request.text,
        place: request.place,
        ..written
    };
    Some(WrittenStep {
        label,
        compensation,
        request: vec![Entry::Of(first)],
        clauses: Vec::new(),
        place: line.place(),
    })
}

fn clause(line: Line<'_>, errors: &mut Errors<'_>) -> Option<WrittenClause> {
    let written = written(line, Quotes::Code);
    let mut cursor = Cursor::new(line.number, line.indent, &written.text);
    cursor.eat_words("on");
    let pattern = pattern(&mut cursor, errors)?;
    let mut clause = WrittenClause {
        pattern,
        effects: Vec::new(),
        flow: None,
        comment: written.comment.clone(),
        place: written.place,
    };
    if cursor.eat(":") {
        effects(&mut cursor, &mut clause, errors)?;
    } else {
        cursor.end(
            "`:` and what the client then knows or does, as in `on OK: holds lock:sku-1 for 10s`, or the end of the line, as in `on {token}`",
            errors,
        )?;
    }
    Some(clause)
}

/// What a pattern looks like.
const A_PATTERN: &str = "the reply that it is about, as in `on nil: retry`: `OK`, `nil`, a number, `\"text\"`, `1 row`, `{variable}`, `error`, \
                         `no reply` or `else`";

fn pattern(cursor: &mut Cursor<'_>, errors: &mut Errors<'_>) -> Option<Pattern> {
    match cursor.peek() {
        Some('"' | '\'') => {
            let text = cursor.word("a text", ":,", errors)?.bytes;
            return match cursor.eat(",") {
                true => elements(Element::Text(text), cursor, errors),
                false => Some(Pattern::Text(text)),
            };
        }
        Some('{') => {
            let first = bound(cursor, errors)?;
            return match cursor.eat(",") {
                true => elements(first, cursor, errors),
                false => Some(Pattern::Bind(vec![first])),
            };
        }
        _ => {}
    }
    if cursor.eat_words("nil") {
        return match cursor.eat(",") {
            true => elements(Element::Nil, cursor, errors),
            false => Some(Pattern::Nil),
        };
    }
    if cursor.eat_words("no reply") {
        let within = match cursor.eat_words("within") {
            true => Some(cursor.duration_before_colon(errors)?),
            false => None,
        };
        return Some(Pattern::NoReply { within });
    }
    if cursor.eat_words("else") {
        return Some(Pattern::Else);
    }
    let is_word = |other: char| other.is_ascii_alphanumeric() || matches!(other, '_' | '-');
    if cursor.eat_words("error") {
        let which = cursor.take_while(is_word).text;
        return Some(Pattern::Error(
            Some(which).filter(|which| !which.is_empty()),
        ));
    }
    let word = cursor.take_while(is_word);
    if word.text.is_empty() {
        let place = cursor.here();
        return errors.add(place, "the pattern of the reply is missing", A_PATTERN);
    }
    if let Ok(number) = word.text.parse::<i64>() {
        if cursor.eat(",") {
            return elements(Element::Integer(number), cursor, errors);
        }
        if !cursor.eat_words("row") && !cursor.eat_words("rows") {
            return Some(Pattern::Integer(number));
        }
        return match u64::try_from(number) {
            Ok(rows) => Some(Pattern::Rows(rows)),
            Err(_) => errors.add(word.place, "rows cannot be fewer than none", A_PATTERN),
        };
    }
    if !word
        .text
        .starts_with(|first: char| first.is_ascii_alphabetic())
    {
        let message = format!("{} is no pattern of a reply", quoted(&word.text));
        return errors.add(word.place, message, A_PATTERN);
    }
    Some(match word.text.as_str() {
        "message" => Pattern::Message,
        _ => Pattern::Status(word.text),
    })
}

/// `{a}, {b}` or `-1, {token}`, from behind the first comma.
fn elements(first: Element, cursor: &mut Cursor<'_>, errors: &mut Errors<'_>) -> Option<Pattern> {
    let mut all = vec![first];
    loop {
        let place = cursor.here();
        let next = element(cursor, errors)?;
        if let Element::Variable(name) = &next
            && all.contains(&next)
        {
            let message = format!("`{{{name}}}` is bound twice");
            return errors.add(place, message, "each variable once");
        }
        if all.len() >= limits::ITEMS {
            let expected = format!("at most {}", limits::ITEMS);
            return errors.add(place, "too many elements", expected);
        }
        all.push(next);
        if !cursor.eat(",") {
            return Some(Pattern::Bind(all));
        }
    }
}

fn element(cursor: &mut Cursor<'_>, errors: &mut Errors<'_>) -> Option<Element> {
    match cursor.peek() {
        Some('"' | '\'') => {
            let text = cursor.word("a text", ":,", errors)?.bytes;
            return Some(Element::Text(text));
        }
        Some('{') => return bound(cursor, errors),
        _ => {}
    }
    if cursor.eat_words("nil") {
        return Some(Element::Nil);
    }
    let word = cursor.take_while(|other| other.is_ascii_alphanumeric() || other == '-');
    match word.text.parse::<i64>() {
        Ok(number) => Some(Element::Integer(number)),
        Err(_) => {
            let expected = "a variable, such as `{token}`, a number, `\"text\"` or `nil`";
            errors.add(word.place, "the next element is missing", expected)
        }
    }
}

/// `{name}`, which an element is bound to, or `{me}`, with which it is compared.
fn bound(cursor: &mut Cursor<'_>, errors: &mut Errors<'_>) -> Option<Element> {
    let name = variable(cursor, errors)?;
    Some(match name.as_str() {
        "me" => Element::Me,
        _ => Element::Variable(name),
    })
}

/// `{name}`.
fn variable(cursor: &mut Cursor<'_>, errors: &mut Errors<'_>) -> Option<String> {
    let place = cursor.here();
    let expected = "a variable, such as `{token}`: letters, digits and `_` in braces";
    if !cursor.eat("{") {
        return errors.add(place, "the variable is missing", expected);
    }
    let name = cursor.take_while(|other| other != '}' && other != ' ').text;
    if !is_variable_name(&name) || !cursor.eat("}") {
        return errors.add(place, "this is no variable", expected);
    }
    Some(name)
}

/// What an effect or a flow looks like.
const AN_EFFECT: &str = "what the client then knows, as in `on OK: holds lock:sku-1 for 10s` (also `releases`, `loses` or `votes for` a lock, \
                         `draws {token}`, `sells 1`), or does, as in `on nil: retry after 100ms` (also `start over`, `go to` or `abort with` a \
                         step, `stop`, `done`)";

/// Reads effects and at most one flow, which comes last.
fn effects(
    cursor: &mut Cursor<'_>,
    clause: &mut WrittenClause,
    errors: &mut Errors<'_>,
) -> Option<()> {
    loop {
        let place = cursor.here();
        if clause.effects.len() >= limits::ITEMS {
            return errors.add(
                place,
                "too many effects",
                format!("at most {}", limits::ITEMS),
            );
        }
        match effect(cursor, errors)? {
            Some(effect) => clause.effects.push(effect),
            None => clause.flow = Some(flow(cursor, errors)?),
        }
        if !cursor.eat(",") {
            let expected = "`,` and what the client knows or does besides, as in `on OK: sells 1, stop`, or the end of the line";
            return cursor.end(expected, errors);
        }
        if clause.flow.is_some() {
            let expected = "the end of the line; effects stand before it";
            let message = "nothing can follow where the client goes";
            return errors.add(cursor.place_of_rest(), message, expected);
        }
    }
}

/// An effect, if one comes next.
fn effect(cursor: &mut Cursor<'_>, errors: &mut Errors<'_>) -> Option<Option<Effect>> {
    let effect = if cursor.eat_words("holds") {
        let key = lock(cursor, errors)?;
        let milliseconds = match cursor.eat_words("for") {
            true => Some(milliseconds(cursor, errors)?),
            false => None,
        };
        Effect::Holds { key, milliseconds }
    } else if cursor.eat_words("releases") {
        Effect::Releases(lock(cursor, errors)?)
    } else if cursor.eat_words("loses") {
        Effect::Loses(lock(cursor, errors)?)
    } else if cursor.eat_words("votes for") {
        Effect::Votes(lock(cursor, errors)?)
    } else if cursor.eat_words("draws") {
        Effect::Draws(variable(cursor, errors)?)
    } else if cursor.eat_words("sells") {
        let word = cursor.take_while(|other| other != ' ' && other != ',');
        let units = whole_number(&word.text).filter(|units| (1..=limits::UNITS).contains(units));
        let Some(units) = units else {
            let message = match word.text.as_str() {
                "" => "how many units were sold is missing".to_owned(),
                text => format!("{} units cannot be sold", quoted(text)),
            };
            let expected = "a whole number from 1 on, as in `sells 1`";
            return errors.add(word.place, message, expected);
        };
        let order = match cursor.eat_words("for") {
            true => Some(argument(cursor.word("an order", ",", errors)?)),
            false => None,
        };
        Effect::Sells { units, order }
    } else {
        return Some(None);
    };
    Some(Some(effect))
}

/// The key of a lock.
fn lock(cursor: &mut Cursor<'_>, errors: &mut Errors<'_>) -> Option<Argument> {
    if cursor.is_at_end() {
        let expected = "its key, as in `holds lock:sku-1 for 10s`";
        return errors.add(cursor.here(), "the lock is missing", expected);
    }
    cursor.word("a lock's key", ",", errors).map(argument)
}

fn flow(cursor: &mut Cursor<'_>, errors: &mut Errors<'_>) -> Option<WrittenFlow> {
    if cursor.eat_words("retry") {
        return Some(WrittenFlow::Retry(after(cursor, errors)?));
    }
    if cursor.eat_words("start over") {
        return Some(WrittenFlow::StartOver(after(cursor, errors)?));
    }
    if cursor.eat_words("go to") {
        return Some(WrittenFlow::GoTo(cursor.name("the step's label", errors)?));
    }
    if cursor.eat_words("abort with") {
        return Some(WrittenFlow::Abort(labels(cursor, errors)?));
    }
    if cursor.eat_words("abort") {
        let expected = "`with` and the steps to run, or `stop` to run none";
        return errors.add(cursor.here(), "`abort` names no steps", expected);
    }
    if cursor.eat_words("stop") {
        return Some(WrittenFlow::Stop);
    }
    if cursor.eat_words("done") {
        return Some(WrittenFlow::Done);
    }
    let word = cursor.here();
    let rest = cursor.rest();
    let text = rest.split([' ', ',']).next().unwrap_or_default();
    if text.is_empty() {
        return errors.add(word, "what the reply means is missing", AN_EFFECT);
    }
    let words = [
        "holds",
        "releases",
        "loses",
        "votes for",
        "draws",
        "sells",
        "retry",
        "start over",
        "go to",
        "abort with",
        "stop",
        "done",
    ];
    let near = nearest(text, &words).map_or(String::new(), |near| {
        format!(" (did you mean {}?)", quoted(near))
    });
    let place = Place {
        end: word.start + text.len(),
        ..word
    };
    let message = format!("no reply can mean {}{near}", quoted(text));
    errors.add(place, message, AN_EFFECT)
}

/// `after 100ms`, if it comes next.
fn after(cursor: &mut Cursor<'_>, errors: &mut Errors<'_>) -> Option<Option<u64>> {
    match cursor.eat_words("after") {
        true => Some(Some(cursor.duration(errors)?)),
        false => Some(None),
    }
}

fn labels(cursor: &mut Cursor<'_>, errors: &mut Errors<'_>) -> Option<Vec<Named>> {
    let mut labels = Vec::new();
    loop {
        labels.push(cursor.name("the step's label", errors)?);
        if !cursor.eat(",") {
            return Some(labels);
        }
        if labels.len() >= limits::ITEMS {
            let expected = format!("at most {}", limits::ITEMS);
            return errors.add(cursor.here(), "too many steps", expected);
        }
    }
}

/// A duration, or a variable that holds milliseconds: `{ttl}ms`.
fn milliseconds(cursor: &mut Cursor<'_>, errors: &mut Errors<'_>) -> Option<Argument> {
    if cursor.peek() != Some('{') {
        let milliseconds = cursor.duration(errors)?;
        return Some(Argument::Literal(milliseconds.to_string().into_bytes()));
    }
    let name = variable(cursor, errors)?;
    if !cursor.eat_words("ms") {
        let message = format!("`{{{name}}}` has no unit");
        return errors.add(cursor.here(), message, format!("`{{{name}}}ms`"));
    }
    Some(Argument::Variable(name))
}

fn argument(word: Word) -> Argument {
    match word.variable() {
        Some(name) => Argument::Variable(name.to_owned()),
        None => Argument::Literal(word.bytes),
    }
}

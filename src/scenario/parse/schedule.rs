//! One line of the schedule.

use crate::sim::action::Leg;

use super::super::error::{Errors, Place, nearest, quoted};
use super::super::lines::{Line, Quotes, end_of_quote, without_comment};
use super::super::scan::{Cursor, whole_number};
use super::super::syntax::{Choice, KeyFault, Named, ScheduleEntry, Side};
use super::{key, on_server};

/// The words with which actions begin.
const ACTIONS: [&str; 12] = [
    "pause",
    "resume",
    "crash",
    "restart",
    "replicate",
    "failover",
    "lose",
    "delay",
    "deliver",
    "clock",
    "expire",
    "wipe",
];

/// Whether an action of the schedule begins with this word, and no command of a server: `clock`, `crash`.
pub(in super::super) fn begins_action(word: &str) -> bool {
    ACTIONS.contains(&word)
}

/// What an action looks like.
const AN_ACTION: &str = "`CLIENT STEP`, `CLIENT> COMMAND`, or an action such as `pause CLIENT before STEP`, `resume CLIENT`, `clock +10s`, `crash CLIENT`, `lose CLIENT STEP` or `expire KEY`; SCENARIOS.md has them all";

/// The parts of a line of the schedule.
pub(in super::super) struct Parts<'a> {
    /// The action.
    pub action: &'a str,
    /// What stands behind `=>`, and where.
    pub expected: Option<(&'a str, usize)>,
    /// What stands behind the `#` of the comment.
    pub comment: Option<&'a str>,
}

/// Takes a line's content apart at `=>` and at its comment.
pub(in super::super) fn parts(content: &str) -> Parts<'_> {
    let (action, comment) = without_comment(content, Quotes::Code);
    let Some(arrow) = arrow(action) else {
        return Parts {
            action,
            expected: None,
            comment,
        };
    };
    // Behind the arrow stands a reply, in which an apostrophe is no quote: the comment is looked for anew.
    let from = arrow + "=>".len();
    let (expected, comment) =
        without_comment(content.get(from..).unwrap_or_default(), Quotes::Reply);
    let blanks = expected.len() - expected.trim_start_matches(' ').len();
    Parts {
        action: action
            .get(..arrow)
            .unwrap_or_default()
            .trim_end_matches(' '),
        expected: Some((expected.get(blanks..).unwrap_or_default(), from + blanks)),
        comment,
    }
}

/// Where `=>` stands outside quotes with a blank on both sides.
fn arrow(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = 0;
    loop {
        match bytes.get(at)? {
            b'\'' | b'"' | b'`' => at = end_of_quote(bytes, at)?,
            b'=' if bytes.get(at + 1) == Some(&b'>')
                && (at == 0 || bytes[at - 1] == b' ')
                && matches!(bytes.get(at + 2), None | Some(b' ')) =>
            {
                return Some(at);
            }
            _ => {}
        }
        at += 1;
    }
}

/// Reads a line of the schedule.
pub(in super::super) fn schedule_entry(
    line: Line<'_>,
    errors: &mut Errors<'_>,
) -> Option<ScheduleEntry> {
    let parts = parts(line.content());
    let mut cursor = Cursor::new(line.number, line.indent, parts.action);
    let place = Place::within(line.number, line.indent, line.indent + parts.action.len());
    let choice = choice(&mut cursor, errors)?;
    if let Some((expected, at)) = parts.expected {
        let place = Place::within(
            line.number,
            line.indent + at,
            line.indent + at + expected.len(),
        );
        if expected.is_empty() {
            let example = "a reply in short form, such as `OK`, `nil`, `1` or `\"A-1\"`";
            return errors.add(place, "the reply behind `=>` is missing", example);
        }
        if !has_reply(&choice) {
            let example = "`=>` behind a step, a command or a `lose` alone";
            return errors.add(place, "no reply comes to this action", example);
        }
    }
    Some(ScheduleEntry {
        choice,
        expected: parts.expected.map(|(text, _)| text.to_owned()),
        comment: parts.comment.map(str::to_owned),
        place,
    })
}

/// Whether a reply can come to the action.
fn has_reply(choice: &Choice) -> bool {
    matches!(
        choice,
        Choice::Step { .. }
            | Choice::Command { .. }
            | Choice::Lose { .. }
            | Choice::Delay {
                leg: Leg::Reply,
                ..
            }
            | Choice::Deliver { .. }
    )
}

fn choice(cursor: &mut Cursor<'_>, errors: &mut Errors<'_>) -> Option<Choice> {
    if let Some(command) = command(cursor, errors) {
        return command;
    }
    let mut ahead = cursor.clone();
    let word = ahead.take_while(|other| other != ' ');
    let choice = match word.text.as_str() {
        "pause" => {
            let client = client(&mut ahead, errors)?;
            Choice::Pause {
                client,
                at: latch(&mut ahead, errors)?,
            }
        }
        "resume" => {
            let client = client(&mut ahead, errors)?;
            Choice::Resume {
                client,
                at: latch(&mut ahead, errors)?,
            }
        }
        "crash" => Choice::Crash(client(&mut ahead, errors)?),
        "restart" => {
            let name = client(&mut ahead, errors)?;
            match ahead.eat_words("without data") {
                true => Choice::RestartWithoutData(name),
                false => Choice::Restart(name),
            }
        }
        "replicate" if words_left(&ahead) > 1 => {
            let commands = commands(&mut ahead, errors)?;
            let to = to_server(&mut ahead, errors)?;
            Choice::Replicate { to, commands }
        }
        "failover" if words_left(&ahead) > 1 => Choice::Failover(to_server(&mut ahead, errors)?),
        "lose" if is_about_request(&ahead) => {
            ahead.eat_words("request");
            let (client, label) = step_of(&mut ahead, errors)?;
            Choice::LoseRequest { client, label }
        }
        "delay" if words_left(&ahead) > 1 => {
            let leg = leg(&mut ahead, errors)?;
            let (client, label) = step_of(&mut ahead, errors)?;
            Choice::Delay { client, label, leg }
        }
        "deliver" if words_left(&ahead) > 1 => {
            let (client, label) = step_of(&mut ahead, errors)?;
            Choice::Deliver { client, label }
        }
        "lose" => {
            let client = client(&mut ahead, errors)?;
            Choice::Lose {
                client,
                label: label(&mut ahead, errors)?,
            }
        }
        "clock" => clock(&mut ahead, errors)?,
        "expire" => of_key(KeyFault::Expire, &mut ahead, errors)?,
        "wipe" => of_key(KeyFault::Wipe, &mut ahead, errors)?,
        "evict" => of_key(KeyFault::Evict, &mut ahead, errors)?,
        "" => return errors.add(word.place, "the action is missing", AN_ACTION),
        _ if !is_before_name(&ahead) && nearest(&word.text, &ACTIONS).is_some() => {
            let known = ACTIONS.into_iter();
            return errors.unknown(word.place, "no action begins with", &word.text, known);
        }
        _ => {
            ahead = cursor.clone();
            step(&mut ahead, errors)?
        }
    };
    *cursor = ahead;
    cursor.end("the end of the action", errors)?;
    Some(choice)
}

/// Whether a step's label may come next: `+5s` is none, and so what stands before it is no client.
fn is_before_name(cursor: &Cursor<'_>) -> bool {
    let rest = cursor.rest().trim_start_matches(' ');
    rest.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
}

/// How many words are left. A client may be called as an action that came later: its steps are two words, and those actions more.
fn words_left(cursor: &Cursor<'_>) -> usize {
    let words = cursor.rest().split(' ');
    words.filter(|word| !word.is_empty()).count()
}

/// Whether what stands behind `lose` is `request A token`, and not a step of a client called `request`.
fn is_about_request(cursor: &Cursor<'_>) -> bool {
    let mut ahead = cursor.clone();
    ahead.eat_words("request") && words_left(&ahead) > 1
}

/// `request` or `reply`.
fn leg(cursor: &mut Cursor<'_>, errors: &mut Errors<'_>) -> Option<Leg> {
    if cursor.eat_words("request") {
        return Some(Leg::Request);
    }
    if cursor.eat_words("reply") {
        return Some(Leg::Reply);
    }
    let expected = "`request` or `reply`, and a client's step, such as `delay request A acquire`";
    errors.add(cursor.here(), "it is not said what is delayed", expected)
}

/// A client and one of its steps.
fn step_of(cursor: &mut Cursor<'_>, errors: &mut Errors<'_>) -> Option<(Named, Named)> {
    let client = client(cursor, errors)?;
    Some((client, label(cursor, errors)?))
}

fn step(cursor: &mut Cursor<'_>, errors: &mut Errors<'_>) -> Option<Choice> {
    let client = client(cursor, errors)?;
    if cursor.is_at_end() {
        let message = format!("{} does nothing here", quoted(&client.text));
        return errors.add(client.place, message, AN_ACTION);
    }
    Some(Choice::Step {
        client,
        label: label(cursor, errors)?,
    })
}

/// A key, and the server that it is on.
fn of_key(what: KeyFault, cursor: &mut Cursor<'_>, errors: &mut Errors<'_>) -> Option<Choice> {
    let key = key(cursor, "", errors)?;
    let server = on_server(cursor, errors)?;
    Some(Choice::OfKey { what, key, server })
}

/// `1 command` or `2 commands`, if it comes next.
fn commands(cursor: &mut Cursor<'_>, errors: &mut Errors<'_>) -> Option<Option<u64>> {
    if !cursor.peek().is_some_and(|first| first.is_ascii_digit()) {
        return Some(None);
    }
    let word = cursor.take_while(|other| other != ' ');
    let number = whole_number(&word.text).filter(|number| *number > 0);
    let is_followed = cursor.eat_words("command") || cursor.eat_words("commands");
    match number.filter(|_| is_followed) {
        Some(number) => Some(Some(number)),
        None => {
            let expected = "a number of commands, such as `replicate 1 command to copy`";
            errors.add(word.place, "so much cannot be replicated", expected)
        }
    }
}

/// `to copy`.
fn to_server(cursor: &mut Cursor<'_>, errors: &mut Errors<'_>) -> Option<Named> {
    if !cursor.eat_words("to") {
        let expected = "`to` and a replica, such as `to copy`";
        return errors.add(cursor.here(), "it is not said to which server", expected);
    }
    cursor.name("the server's name", errors)
}

/// `WHO> COMMAND`, if it is that; the inner `None` was reported.
fn command(cursor: &Cursor<'_>, errors: &mut Errors<'_>) -> Option<Option<Choice>> {
    let mut cursor = cursor.clone();
    let who =
        cursor.take_while(|other| other.is_ascii_alphanumeric() || matches!(other, '_' | '-'));
    if who.text.is_empty() {
        return None;
    }
    let server = prompt_server(&mut cursor);
    if !cursor.rest().starts_with('>') {
        return None;
    }
    cursor.eat(">");
    let source = cursor.take_rest();
    if source.text.is_empty() || source.text.starts_with("=>") {
        let expected = "a Redis command or an SQL statement";
        return Some(errors.add(source.place, "nothing is typed", expected));
    }
    Some(Some(Choice::Command {
        who,
        server,
        source,
    }))
}

/// The server in `A r1> GET k`, if one comes next.
fn prompt_server(cursor: &mut Cursor<'_>) -> Option<Named> {
    let mut ahead = cursor.clone();
    let is_name = |other: char| other.is_ascii_alphanumeric() || matches!(other, '_' | '-');
    let server = ahead.take_while(is_name);
    if server.text.is_empty() || !ahead.rest().starts_with('>') || cursor.rest().starts_with('>') {
        return None;
    }
    *cursor = ahead;
    Some(server)
}

fn client(cursor: &mut Cursor<'_>, errors: &mut Errors<'_>) -> Option<Named> {
    cursor.name("the client's name", errors)
}

fn label(cursor: &mut Cursor<'_>, errors: &mut Errors<'_>) -> Option<Named> {
    cursor.name("the step's label", errors)
}

/// `before STEP` or `after STEP`, if anything is left.
fn latch(cursor: &mut Cursor<'_>, errors: &mut Errors<'_>) -> Option<Option<(Side, Named)>> {
    let side = if cursor.is_at_end() {
        return Some(None);
    } else if cursor.eat_words("before") {
        Side::Before
    } else if cursor.eat_words("after") {
        Side::After
    } else {
        let message = format!(
            "{} is not understood",
            quoted(cursor.rest().trim_start_matches(' '))
        );
        let expected = "`before STEP`, `after STEP` or the end of the action";
        return errors.add(cursor.place_of_rest(), message, expected);
    };
    Some(Some((side, label(cursor, errors)?)))
}

fn clock(cursor: &mut Cursor<'_>, errors: &mut Errors<'_>) -> Option<Choice> {
    if cursor.eat_words("to next deadline") {
        return Some(Choice::AdvanceToNextDeadline);
    }
    if cursor.eat_words("of") {
        return one_clock(cursor, errors);
    }
    if !cursor.eat("+") {
        let expected =
            "`+` and a duration, such as `clock +10s`, `to next deadline` or `of` and a clock";
        return errors.add(cursor.here(), "the clock moves by a duration", expected);
    }
    Some(Choice::Advance(cursor.duration(errors)?))
}

/// The rates at which a clock can go, in thousandths.
const RATES: std::ops::RangeInclusive<u64> = 1..=100_000;

/// `store +5s`, `A -300ms`, `A runs at 90%`.
fn one_clock(cursor: &mut Cursor<'_>, errors: &mut Errors<'_>) -> Option<Choice> {
    let whose = cursor.name("whose clock it is", errors)?;
    if cursor.eat_words("runs at") {
        let permille = permille(cursor, errors)?;
        return Some(Choice::ClockRate {
            client: whose,
            permille,
        });
    }
    let is_back = cursor.eat("-");
    if !is_back && !cursor.eat("+") {
        let expected = "`+` or `-` and a duration, such as `clock of store +5s`, or `runs at 99%`";
        return errors.add(cursor.here(), "one clock jumps by a duration", expected);
    }
    let distance = i64::try_from(cursor.duration(errors)?).unwrap_or(i64::MAX);
    Some(Choice::ClockJump {
        whose,
        milliseconds: if is_back { -distance } else { distance },
    })
}

/// `90%`, `99.9%`, in thousandths.
fn permille(cursor: &mut Cursor<'_>, errors: &mut Errors<'_>) -> Option<u32> {
    let word = cursor.take_while(|other| other != ' ');
    let number = word.text.strip_suffix('%').unwrap_or_default();
    let (whole, tenths) = number.split_once('.').unwrap_or((number, "0"));
    let permille = whole_number(whole)
        .zip(whole_number(tenths).filter(|_| tenths.len() == 1))
        .map(|(whole, tenths)| whole.saturating_mul(10).saturating_add(tenths))
        .filter(|permille| RATES.contains(permille))
        .and_then(|permille| u32::try_from(permille).ok());
    if permille.is_none() {
        let expected = "a percentage with at most one place, such as 90% or 99.9%";
        let message = format!("{} is no rate of a clock", quoted(&word.text));
        return errors.add(word.place, message, expected);
    }
    permille
}

//! One line of a search.

use crate::search::{Budget, Finds, MOST, Reduction, Start};

use super::super::error::{Errors, Place, quoted};
use super::super::limits;
use super::super::lines::{Line, Quotes, without_comment};
use super::super::scan::{Cursor, whole_number};
use super::super::syntax::{Limit, SearchEntry, SearchLimit, SearchLine};
use super::{expect, key};

/// What a line of a search looks like.
const A_LINE: &str = "`faults: 2`, `lapses: 1`, `wipes: 1 of KEY`, `breaks: SENTENCE`, `breaks: anything`, `reaches: EXPECTATION`, `from: end`, `finds: nothing` or `challenge`";

/// Reads a line of a search.
pub(super) fn search_entry(line: Line<'_>, errors: &mut Errors<'_>) -> Option<SearchEntry> {
    let is_prose = line.content().starts_with("breaks:");
    let quotes = if is_prose {
        Quotes::Prose
    } else {
        Quotes::Reply
    };
    let (content, comment) = without_comment(line.content(), quotes);
    let mut cursor = Cursor::new(line.number, line.indent, content);
    let place = Place::within(line.number, line.indent, line.indent + content.len());
    Some(SearchEntry {
        line: search_line(&mut cursor, errors)?,
        comment: comment.map(str::to_owned),
        place,
    })
}

fn search_line(cursor: &mut Cursor<'_>, errors: &mut Errors<'_>) -> Option<SearchLine> {
    if cursor.eat("breaks:") {
        let sentence = cursor.take_rest();
        return match sentence.text.as_str() {
            "" => {
                let expected = "a property's sentence, or `anything`";
                errors.add(sentence.place, "the property is missing", expected)
            }
            "anything" => Some(SearchLine::Breaks(None)),
            _ => Some(SearchLine::Breaks(Some(sentence))),
        };
    }
    if cursor.eat("reaches:") {
        cursor.skip_blanks();
        return expect::reached(cursor, errors).map(SearchLine::Reaches);
    }
    if cursor.eat("from:") {
        return start(cursor, errors).map(SearchLine::From);
    }
    if cursor.eat("finds:") {
        return finds(cursor, errors).map(SearchLine::Finds);
    }
    if cursor.eat("without:") {
        return without(cursor, errors).map(SearchLine::Without);
    }
    if cursor.eat_words("challenge") {
        cursor.end("nothing behind `challenge`", errors)?;
        return Some(SearchLine::Challenge);
    }
    let mut limits = Vec::new();
    loop {
        limits.push(limit(cursor, errors)?);
        if limits.len() >= super::super::limits::ITEMS || !cursor.eat(",") {
            break;
        }
    }
    cursor.end("`,` and another limit", errors)?;
    Some(SearchLine::Limits(limits))
}

fn limit(cursor: &mut Cursor<'_>, errors: &mut Errors<'_>) -> Option<SearchLimit> {
    let Some(limit) = Limit::ALL
        .into_iter()
        .find(|limit| cursor.eat_words(limit.words()))
    else {
        let place = cursor.place_of_rest();
        let message = match cursor.is_at_end() {
            true => "a limit is missing".to_owned(),
            false => format!("{} is not understood", quoted(cursor.rest())),
        };
        let known: Vec<&str> = Limit::ALL.into_iter().map(Limit::words).collect();
        return errors.add(
            place,
            message,
            format!("{A_LINE}; limits are {}", known.join(", ")),
        );
    };
    if !cursor.eat(":") {
        let message = format!("{} has no `:` behind it", limit.words());
        return errors.add(cursor.here(), message, "`:` and a number");
    }
    let most = if limit == Limit::Worlds {
        limits::WORLDS
    } else {
        MOST
    };
    let count = number(cursor, most, errors)?;
    let mut keys = Vec::new();
    if cursor.eat_words("of") {
        let takes_keys = matches!(limit, Limit::Budget(budget) if budget.takes_keys());
        if !takes_keys {
            let message = format!("{} are not of a key", limit.words());
            return errors.add(cursor.here(), message, "`,` and another limit");
        }
        keys.push(key(cursor, ",", errors)?);
        while keys.len() < limits::ITEMS && cursor.eat_words("or") {
            keys.push(key(cursor, ",", errors)?);
        }
    }
    Some(SearchLimit { limit, count, keys })
}

fn number(cursor: &mut Cursor<'_>, most: u64, errors: &mut Errors<'_>) -> Option<u64> {
    let word = cursor.take_while(|other| other != ' ' && other != ',');
    match whole_number(&word.text) {
        Some(number) if number <= most => Some(number),
        Some(_) => {
            let message = format!("{} is too many", quoted(&word.text));
            errors.add(word.place, message, format!("at most {most}"))
        }
        None if word.text.is_empty() => {
            errors.add(word.place, "the number is missing", "a whole number")
        }
        None => {
            let message = format!("{} is no number", quoted(&word.text));
            errors.add(word.place, message, "a whole number")
        }
    }
}

fn without(cursor: &mut Cursor<'_>, errors: &mut Errors<'_>) -> Option<Vec<Reduction>> {
    let mut without = Vec::new();
    loop {
        let Some(reduction) = Reduction::ALL
            .into_iter()
            .find(|reduction| cursor.eat_words(reduction.words()))
        else {
            let known: Vec<&str> = Reduction::ALL.into_iter().map(Reduction::words).collect();
            let rest = cursor.take_rest();
            let message = format!("{} is no reduction", quoted(&rest.text));
            return errors.add(rest.place, message, super::super::error::one_of(&known));
        };
        without.push(reduction);
        if without.len() >= limits::ITEMS || !cursor.eat(",") {
            break;
        }
    }
    cursor.end("`,` and another reduction", errors)?;
    Some(without)
}

fn start(cursor: &mut Cursor<'_>, errors: &mut Errors<'_>) -> Option<Start> {
    let start = if cursor.eat_words("start") {
        Start::Start
    } else if cursor.eat_words("end") {
        Start::End
    } else if cursor.eat_words("action") {
        Start::After(number(cursor, limits::ACTIONS as u64, errors)? as usize)
    } else {
        let rest = cursor.take_rest();
        let message = format!("{} is no moment of the schedule", quoted(&rest.text));
        return errors.add(rest.place, message, "`start`, `end` or `action N`");
    };
    cursor.end("nothing behind the moment", errors)?;
    Some(start)
}

fn finds(cursor: &mut Cursor<'_>, errors: &mut Errors<'_>) -> Option<Finds> {
    let expected = "`nothing`, `nothing in N worlds`, `N steps, M faults` or `the schedule`";
    let finds = if cursor.eat_words("the schedule") {
        Finds::Schedule
    } else if cursor.eat_words("nothing in") {
        let worlds = number(cursor, limits::WORLDS, errors)?;
        if !cursor.eat_words("worlds") && !cursor.eat_words("world") {
            return errors.add(cursor.here(), "the word `worlds` is missing", expected);
        }
        Finds::Nothing {
            worlds: Some(worlds),
        }
    } else if cursor.eat_words("nothing") {
        Finds::Nothing { worlds: None }
    } else {
        let mut ahead = cursor.clone();
        let first = ahead.take_while(|other| other.is_ascii_digit());
        if first.text.is_empty() {
            let rest = cursor.take_rest();
            let message = format!("{} is nothing that can be found", quoted(&rest.text));
            return errors.add(rest.place, message, expected);
        }
        let steps = number(cursor, limits::ACTIONS as u64, errors)? as u32;
        if !cursor.eat_words("steps") && !cursor.eat_words("step") {
            return errors.add(cursor.here(), "the word `steps` is missing", expected);
        }
        if !cursor.eat(",") {
            return errors.add(cursor.here(), "the faults are missing", expected);
        }
        let faults = number(cursor, MOST, errors)? as u32;
        if !cursor.eat_words("faults") && !cursor.eat_words("fault") {
            return errors.add(cursor.here(), "the word `faults` is missing", expected);
        }
        Finds::Steps { steps, faults }
    };
    cursor.end("nothing behind what is found", errors)?;
    Some(finds)
}

impl Limit {
    /// All of them, two words before one that begins alike.
    pub const ALL: [Limit; 4 + Budget::ALL.len()] = [
        Limit::Faults,
        Limit::Budget(Budget::Lapses),
        Limit::Budget(Budget::Shifts),
        Limit::Budget(Budget::Expiries),
        Limit::Budget(Budget::Wipes),
        Limit::Budget(Budget::Reseeds),
        Limit::Budget(Budget::Crashes),
        Limit::Budget(Budget::Restarts),
        Limit::Budget(Budget::LostReplies),
        Limit::Budget(Budget::LostRequests),
        Limit::Budget(Budget::LateReplies),
        Limit::Budget(Budget::LateRequests),
        Limit::Budget(Budget::Evictions),
        Limit::Budget(Budget::ServerCrashes),
        Limit::Budget(Budget::ServerRestarts),
        Limit::Budget(Budget::Failovers),
        Limit::Budget(Budget::ClockJumps),
        Limit::Steps,
        Limit::Attempts,
        Limit::Worlds,
    ];

    /// What the text calls it.
    pub fn words(self) -> &'static str {
        match self {
            Limit::Faults => "faults",
            Limit::Budget(budget) => budget.words(),
            Limit::Steps => "steps",
            Limit::Attempts => "attempts",
            Limit::Worlds => "worlds",
        }
    }
}

//! What is asked of whoever plays: above the clients, as long as the text asks it.

use super::view::*;

use super::controls::Button;
use super::desk::Desk;
use crate::search::challenge::Hint;
use crate::search::{Finds, Goal, print_request};
use crate::session::{Challenge, Session};
use crate::words;

/// The challenge, where the text has one.
pub fn challenge(desk: Desk) -> AnyView {
    let shown = desk.read(Session::challenge);
    let draw = move || {
        shown.get().map(|challenge| {
            let hint = Button::new("Hint")
                .label("Hint: the next action of the shortest schedule from here")
                .class("button--small")
                .unless(why_no_hint(&challenge))
                .does(move || give_hint(desk));
            view! {
                <section class="challenge" aria-label="Challenge">
                    <p class="challenge__asked">{asked(&challenge)}</p>
                    <p class="share__note">{allowed(&challenge)}</p>
                    <p class="challenge__standing" role="status">{standing(&challenge)}</p>
                    {hint.draw(desk)}
                </section>
            }
        })
    };
    view! { {draw} }.into_any()
}

fn counts(actions: u32, faults: u32) -> String {
    words::count(actions as usize, "action", "actions")
        + ", "
        + &words::count(faults as usize, "fault", "faults")
}

/// What is to be done, and the best that there is.
fn asked(challenge: &Challenge) -> String {
    let goal = match &challenge.request.goal {
        Goal::Breaks(these) => match these.as_slice() {
            [one] => "Break this: ".to_string() + one.sentence(),
            _ => "Break what the protocols claim".to_string(),
        },
        Goal::Reach(_) => "Reach what the search in the text names".to_string(),
    };
    match challenge.par {
        Finds::Steps { steps, faults } => goal + ". Par: " + &counts(steps, faults),
        _ => goal + ". Or believe the search that nothing does",
    }
}

/// The bounds as the text has them.
fn allowed(challenge: &Challenge) -> String {
    let printed = print_request(&challenge.request);
    match printed.lines().nth(1).map(str::trim) {
        Some(limits) if !limits.starts_with("breaks") && !limits.starts_with("reaches") => {
            "Allowed: ".to_string() + limits
        }
        _ => "No fault is allowed".to_string(),
    }
}

fn standing(challenge: &Challenge) -> String {
    let standing = &challenge.standing;
    let so_far = counts(standing.actions, standing.faults);
    match (standing.left.is_some(), standing.is_done, challenge.par) {
        (false, ..) => "This schedule does what is not allowed: take it back".to_string(),
        (true, false, _) => so_far + " so far",
        (true, true, Finds::Steps { steps, faults })
            if (standing.faults, standing.actions) > (faults, steps) =>
        {
            so_far + ": done, and above par"
        }
        (true, true, _) => so_far + ": done, and par",
    }
}

fn why_no_hint(challenge: &Challenge) -> Option<String> {
    let why = match (&challenge.standing.left, challenge.standing.is_done) {
        (None, _) => "This schedule does what is not allowed",
        (_, true) => "It is done",
        _ => return None,
    };
    Some(why.to_string())
}

fn give_hint(desk: Desk) {
    let said = match desk.look(Session::hint) {
        Some(Hint::Next(action)) => "Next: ".to_string() + &action,
        Some(Hint::Nothing) => "Nothing does it from here: every world was tried".to_string(),
        Some(Hint::Unknown) | None => "There are too many worlds to say at once".to_string(),
    };
    desk.say(said);
}

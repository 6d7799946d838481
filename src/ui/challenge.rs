//! What is asked of whoever plays: above the clients, as long as the text asks it.

use super::view::*;

use super::controls::{Button, icon};
use super::desk::{Desk, Over};
use super::share;
use crate::scenario::library;
use crate::search::challenge::Hint;
use crate::search::{Budget, Finds, Goal};
use crate::session::{Challenge, Msg, Session};
use crate::words;

/// The challenge, where the text has one.
pub fn challenge(desk: Desk) -> AnyView {
    let shown = desk.read(|session| session.challenge().map(|it| (it, session.revision())));
    // What was said last, and of which revision: it says nothing of another world.
    let hint = RwSignal::new(None::<(u64, Hint)>);
    let draw = move || {
        shown.get().map(|(challenge, revision)| {
            let hinted = hint.get().filter(|(of, _)| *of == revision);
            let hinted = hinted.map(|(_, hint)| hint);
            view! {
                <section class="challenge" aria-label="Challenge">
                    <p class="challenge__asked">{asked(&challenge)}</p>
                    <p class="share__note">{par(&challenge)}</p>
                    <p class="share__note">{allowed(&challenge)}</p>
                    {standing(&challenge)}
                    <p class="challenge__hint" role="status">{hinted.as_ref().map(in_words)}</p>
                    <div class="challenge__buttons">{buttons(desk, &challenge, hinted, move |said| hint.set(Some((revision, said))))}</div>
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

/// What is to be done.
fn asked(challenge: &Challenge) -> String {
    match &challenge.request.goal {
        Goal::Breaks(these) => {
            let sentences: Vec<&str> = these.iter().map(|property| property.sentence()).collect();
            match sentences.as_slice() {
                [] => "Break any property".to_string(),
                [one] => "Break this: ".to_string() + one,
                several => "Break one of these: ".to_string() + &several.join("; "),
            }
        }
        Goal::Reach(_) => "Reach what the search in the text names".to_string(),
    }
}

/// The best that there is.
fn par(challenge: &Challenge) -> String {
    match challenge.par {
        Finds::Steps { steps, faults } => {
            "Par: ".to_string() + &counts(steps, faults) + ". No shorter schedule does it."
        }
        Finds::Nothing {
            worlds: Some(worlds),
        } => {
            "It cannot be done, says the search: it tried all ".to_string()
                + &words::grouped(worlds)
                + " worlds. Try it, or watch the search prove it."
        }
        _ => {
            "It cannot be done, says the search. Try it, or watch the search prove it.".to_string()
        }
    }
}

/// The bounds in plain words.
fn allowed(challenge: &Challenge) -> String {
    let bounds = &challenge.request.bounds;
    let said = Budget::ALL.into_iter().filter_map(|budget| {
        let most = bounds.budget(budget);
        let times = match most {
            0 => return None,
            1 => "once: ".to_string(),
            most => "up to ".to_string() + &most.to_string() + " times: ",
        };
        let keys = bounds.keys(budget).iter().map(|key| words::text(key));
        let keys = keys.collect::<Vec<_>>().join(" or ");
        let of = if keys.is_empty() {
            String::new()
        } else {
            " (".to_string() + &keys + ")"
        };
        Some(times + budget.explanation() + &of)
    });
    let said: Vec<String> = said.collect();
    match said.is_empty() {
        true => "Nothing may go wrong: only the order of the steps is yours.".to_string(),
        false => "The order of the steps is yours; and ".to_string() + &said.join("; ") + ".",
    }
}

/// How far it has come.
fn standing(challenge: &Challenge) -> AnyView {
    let standing = &challenge.standing;
    let so_far = counts(standing.actions, standing.faults);
    let (sign, words) = match (&standing.beyond, standing.is_done, challenge.par) {
        (Some((place, why)), ..) => (
            Some("rejected"),
            "Action ".to_string() + &(place + 1).to_string() + " is not allowed: " + why,
        ),
        (None, false, _) => (None, so_far + " so far"),
        (None, true, Finds::Steps { steps, faults })
            if (standing.faults, standing.actions) > (faults, steps) =>
        {
            let par = counts(steps, faults);
            (
                Some("accepted"),
                "Done in ".to_string() + &so_far + ". Par is " + &par,
            )
        }
        (None, true, _) => (
            Some("accepted"),
            "Done in ".to_string() + &so_far + ": par. No schedule is shorter",
        ),
    };
    view! { <p class="challenge__standing" role="status">{sign.map(icon)}{words}</p> }.into_any()
}

/// What can be done about it now.
fn buttons(
    desk: Desk,
    challenge: &Challenge,
    hinted: Option<Hint>,
    tell: impl Fn(Hint) + Send + Sync + 'static,
) -> AnyView {
    let standing = &challenge.standing;
    let small = |words: &'static str| Button::new(words).class("button--small");
    let on = match (&standing.beyond, standing.is_done, hinted) {
        (Some((place, _)), ..) => small("Take it back")
            .label("Take back what is not allowed, and all behind it")
            .primary(true)
            .sends(desk, Msg::GoTo(*place)),
        (None, true, _) => next(desk),
        (None, false, Some(Hint::Next(action, _))) => small("Play it")
            .label("Play what the hint says")
            .primary(true)
            .sends(desk, Msg::TypeAction(action)),
        (None, false, _) => small("Hint")
            .label("Hint: the next action of the shortest schedule from here")
            .does(move || tell(desk.look(Session::hint).unwrap_or(Hint::Unknown))),
    };
    let again = (standing.actions > 0).then(|| {
        let again =
            small("Start again").label("Start again; what you have played is kept as a branch");
        again.does(move || start_again(desk)).draw(desk)
    });
    let prove = matches!(challenge.par, Finds::Nothing { .. }).then(|| {
        let prove = small("Search").label("Watch the search prove it");
        prove
            .does(move || desk.over.set(Some(Over::Search)))
            .draw(desk)
    });
    view! { {on.draw(desk)} {prove} {again} }.into_any()
}

/// The next challenge of the library; behind the last one the library.
fn next(desk: Desk) -> Button {
    let title = desk.look(Session::title);
    let mut all = library::challenges().iter();
    all.find(|challenge| challenge.title == title);
    let (words, then) = match all.next() {
        Some(next) => ("Next challenge", Some(next)),
        None => ("All challenges", None),
    };
    let go = move || match then {
        Some(next) => share::open_story(desk, next),
        None => desk.over.set(Some(Over::Library)),
    };
    Button::new(words)
        .class("button--small")
        .primary(true)
        .does(go)
}

/// Opens the challenge anew where it is one of the library; else goes back to the start.
fn start_again(desk: Desk) {
    let title = desk.look(Session::title);
    let mut all = library::challenges().iter();
    match all.find(|challenge| challenge.title == title) {
        Some(challenge) => share::open_story(desk, challenge),
        None => desk.send(Msg::GoTo(0)),
    }
}

fn in_words(hint: &Hint) -> String {
    match hint {
        Hint::Next(action, 1) => "Next: ".to_string() + action + ". That does it.",
        Hint::Next(action, actions) => {
            "Next: ".to_string()
                + action
                + ". It is the first of "
                + &actions.to_string()
                + " actions, the fewest that lead there from here."
        }
        Hint::Nothing => {
            "From here nothing does it: the search tried every world that the bounds still allow."
                .to_string()
        }
        Hint::Unknown => {
            "From here there are too many worlds to try at once. Play an action, and ask again."
                .to_string()
        }
    }
}

//! The branches as a tree: what was left when somebody acted in the past or opened something else, each under what it parts from.

use super::view::*;

use super::browser;
use super::controls::{Button, Key, list, named, verdict};
use super::desk::Desk;
use super::share;
use crate::property::Verdict;
use crate::session::{Beside, Leaf, Msg, Parting, Session};
use crate::words;

/// What the dialog shows.
pub fn view(desk: Desk) -> AnyView {
    let tree = desk.items(|session| {
        let leaves = session.tree().into_iter().enumerate();
        leaves
            .map(|(place, leaf)| (place as Key, leaf))
            .collect::<Vec<_>>()
    });
    let hint = move || {
        (tree.count() < 2).then(|| {
            view! {
                <p class="empty">
                    "None yet. When you act in the past, or open another text over changed work, what was there is kept here, under what it parts from."
                </p>
            }
        })
    };
    // Which branch what is open is compared with, by its place.
    let compared = RwSignal::new(None::<usize>);
    let comparison = move || {
        let place = compared.get()?;
        let (name, beside) = desk.session.with(|session| {
            let name = session
                .branches()
                .get(place)
                .map(|branch| branch.name.clone());
            (name, session.beside(place))
        });
        Some(draw_comparison(desk, name?, beside, compared))
    };
    view! {
        {hint}
        <ul class="branches">{list(tree, move |leaf| draw(desk, leaf, compared))}</ul>
        <div aria-live="polite">{comparison}</div>
    }
    .into_any()
}

fn draw(desk: Desk, leaf: Leaf, compared: RwSignal<Option<usize>>) -> AnyView {
    let Leaf {
        place,
        name,
        depth,
        actions,
        parts,
    } = leaf;
    let say = |what: &str, then: &str| what.to_string() + " “" + &name + "”" + then;
    let note = match parts {
        None => words::count(actions, "action", "actions"),
        Some(parts) => in_words(&parts),
    };
    let tools = place.map(|place| {
        let open = Button::new("Open")
            .label(say("Open", "; what is open now takes its place here"))
            .does(move || share::switch_branch(desk, place));
        let compare = Button::new("Compare")
            .label(say("Compare", " with what is open"))
            .class("button--quiet")
            .does(move || {
                compared.set(Some(place));
                request_animation_frame(|| browser::bring_into_view("compared"));
            });
        let delete = Button::new("Delete")
            .label(say("Forget", ""))
            .class("button--quiet")
            .does(move || {
                compared.set(None);
                desk.send(Msg::DeleteBranch(place));
            });
        view! { {open.draw(desk)}{compare.draw(desk)}{delete.draw(desk)} }
    });
    let mark = place
        .is_none()
        .then(|| view! { <span class="chip">"open"</span> });
    let rename = move |name| desk.send(Msg::NameBranch { place, name });
    // The deeper ones of a very deep tree stand under one another.
    let indent = (depth.min(6) as f64 * 1.25).to_string() + "rem";
    view! {
        <li class="branch" data-depth=depth style:margin-left=indent>
            <span class="branch__name">{named(desk, name, None, rename)}{mark}</span>
            <span class="branch__note">{note}</span>
            <span class="branch__tools">{tools}</span>
        </li>
    }
    .into_any()
}

/// Where a branch parts from the one that it hangs on.
fn in_words(parts: &Parting) -> String {
    let after = match parts.after {
        0 => "from the start: ".to_string(),
        after => "parts after action ".to_string() + &after.to_string() + ": ",
    };
    match &parts.next {
        [None, None] => "the same schedule".to_string(),
        [Some(other), Some(own)] => after + own + ", not " + other,
        [None, Some(own)] => after + own + ", where the other ends",
        [Some(other), None] => after + "ends, where the other has " + other,
    }
}

/// What is open beside a branch: where they part, and the verdicts at the ends of both.
fn draw_comparison(
    desk: Desk,
    name: String,
    beside: Result<Beside, String>,
    compared: RwSignal<Option<usize>>,
) -> AnyView {
    let close = Button::icon_only("cross", "Close the comparison")
        .class("button--quiet button--small")
        .does(move || compared.set(None));
    let found = match beside {
        Err(why) => view! { <p class="search__said">{desk.sentence(&why)}</p> }.into_any(),
        Ok(beside) => draw_beside(desk, name.clone(), beside),
    };
    view! {
        <h3 class="help__title branches__compared" id="compared">"What is open beside “"{name}"”"{close.draw(desk)}</h3>
        {found}
    }
    .into_any()
}

fn draw_beside(desk: Desk, name: String, beside: Beside) -> AnyView {
    let Beside {
        parting,
        differs_before,
        verdicts,
    } = beside;
    let Parting { after, next } = parting;
    let is_same = next.iter().all(Option::is_none);
    let common = match (is_same, after) {
        (true, _) => "The schedules are the same.".to_string(),
        (false, 0) => "They part at the first action.".to_string(),
        (false, after) => {
            "They part after ".to_string() + &words::count(after, "action", "actions") + "."
        }
    };
    let before = differs_before.then_some(" What stands before the schedules differs, too.");
    let next = next
        .into_iter()
        .map(|line| view! { <td>{line.unwrap_or_else(|| "ends".to_string())}</td> });
    let next = (!is_same).then(|| {
        view! { <tr class="compare__parts"><th scope="row">"Action "{after + 1}</th>{next.collect_view()}</tr> }
    });
    let rows = verdicts.into_iter().map(|(property, [own, other])| {
        let class = match marks(&own).0 == marks(&other).0 {
            true => "",
            false => "compare__differs",
        };
        let cell = |found: &Verdict| {
            let (kind, words) = marks(found);
            view! { <td>{verdict(kind, words.to_string())}</td> }
        };
        view! { <tr class=class><th scope="row">{words::sentence(property.sentence())}</th>{cell(&own)}{cell(&other)}</tr> }
    });
    let open = desk.look(Session::title);
    let open = desk.look(|session| match session.own_branch().0 {
        "" => open.clone(),
        name => name.to_string(),
    });
    view! {
        <p class="search__said">{common}{before}" At their ends:"</p>
        <div class="rows__scroll">
            <table class="rows compare">
                <thead><tr><th scope="col">"Property"</th><th scope="col">{open}</th><th scope="col">{name}</th></tr></thead>
                <tbody>{next}{rows.collect_view()}</tbody>
            </table>
        </div>
    }
    .into_any()
}

/// The mark of a verdict and its word.
fn marks(found: &Verdict) -> (&'static str, &'static str) {
    match found {
        Verdict::Broken(_) => ("rejected", "broken"),
        Verdict::Holds { .. } => ("accepted", "holds"),
        Verdict::NotTested { .. } => ("untested", "not tested"),
    }
}

//! Keys for what is done most often. They rest while a field, a button or the slider has the focus.

use super::view::*;
use web_sys::KeyboardEvent;

use super::browser;
use super::clients::step_client;
use super::desk::{Desk, Over};
use super::transport;
use crate::session::{Msg, Session};
use crate::sim::action::ClientId;

/// Listens to keys.
pub fn listen(desk: Desk) {
    browser::leave_buttons_after_a_pointer();
    browser::on_key(move |event| {
        let with_others = event.ctrl_key() || event.meta_key() || event.alt_key();
        if !with_others
            && !event.default_prevented()
            && !browser::keys_are_taken()
            && press(desk, &event)
        {
            event.prevent_default();
        }
    });
}

/// Does what the key stands for; whether it stands for something.
fn press(desk: Desk, event: &KeyboardEvent) -> bool {
    match event.key().as_str() {
        "ArrowLeft" => transport::back(desk),
        "ArrowRight" => transport::forward(desk),
        "Home" => desk.send(Msg::GoTo(0)),
        "End" => desk.send(Msg::GoTo(usize::MAX)),
        " " => transport::toggle_play(desk),
        "u" | "U" => desk.send(Msg::Undo),
        "r" | "R" => desk.send(Msg::Redo),
        "l" | "L" => desk.over.set(Some(Over::Library)),
        "f" | "F" => desk.over.set(Some(Over::Search)),
        "?" => desk.over.set(Some(Over::Help)),
        "s" | "S" => step_next(desk),
        key => return step_numbered(desk, key),
    }
    true
}

fn step_next(desk: Desk) {
    match desk.look(Session::next_actor) {
        Some(client) => step_client(desk, client),
        None => desk.refuse("No client can take a step now"),
    }
}

fn step_numbered(desk: Desk, key: &str) -> bool {
    let place = key
        .parse::<usize>()
        .ok()
        .filter(|number| (1..=9).contains(number))
        .map(|number| number - 1);
    let Some(place) = place else { return false };
    step_client(desk, ClientId(place));
    true
}

//! Keys for what is done most often. They rest while a field has the focus, which Escape leaves.

use web_sys::KeyboardEvent;

use super::browser;
use super::clients::{crash_or_restart, pause_or_resume, step_client};
use super::desk::{Desk, Over};
use super::{palette, transport};
use crate::session::{Msg, client_of};
use crate::sim::action::{Action, ClientId};

/// Listens to keys.
pub fn listen(desk: Desk) {
    browser::leave_buttons_after_a_pointer();
    browser::on_key(move |event| {
        if is_palette(&event) {
            event.prevent_default();
            let is_open = desk.over.get_untracked() == Some(Over::Palette);
            return desk.over.set((!is_open).then_some(Over::Palette));
        }
        if event.ctrl_key() || event.meta_key() || event.alt_key() || event.default_prevented() {
            return;
        }
        if event.key() == "Escape" {
            browser::leave_field();
        } else if !browser::is_taken(&event.key()) && press(desk, &event) {
            event.prevent_default();
        }
    });
}

/// Ctrl+K, wherever the focus is; on a Mac the command key with it, as Ctrl+K cuts to the end of a line there.
fn is_palette(event: &KeyboardEvent) -> bool {
    let with = (event.ctrl_key(), event.meta_key());
    let is_with = with
        == if browser::is_mac() {
            (false, true)
        } else {
            (true, false)
        };
    is_with && !event.alt_key() && !event.shift_key() && event.key().eq_ignore_ascii_case("k")
}

/// Does what the key stands for; whether it stands for something.
fn press(desk: Desk, event: &KeyboardEvent) -> bool {
    match event.key().as_str() {
        "ArrowLeft" => transport::back(desk),
        "ArrowRight" => transport::forward(desk),
        "Home" => desk.send(Msg::GoTo(0)),
        "End" => desk.send(Msg::GoTo(usize::MAX)),
        "u" | "U" => desk.send(Msg::Undo),
        "r" | "R" => desk.send(Msg::Redo),
        "s" | "S" => desk.send(Msg::StepOn),
        "p" | "P" => pause_or_resume(desk, last_actor(desk)),
        "x" | "X" => crash_or_restart(desk, last_actor(desk)),
        "c" | "C" => desk.send(Msg::Act(Action::AdvanceToNextDeadline)),
        key => return palette::press(desk, key) || press_number(desk, event),
    }
    true
}

/// The client that acted last; before anybody did, the first.
fn last_actor(desk: Desk) -> ClientId {
    desk.look(|session| {
        let mut acted = session.played().rev();
        acted.find_map(|entry| client_of(&entry.action))
    })
    .unwrap_or(ClientId(0))
}

/// A digit steps the client of this number, with Shift it pauses or resumes it.
fn press_number(desk: Desk, event: &KeyboardEvent) -> bool {
    // With Shift the key itself is another sign on every keyboard.
    let code = event.code();
    let digit = code.strip_prefix("Digit").or(code.strip_prefix("Numpad"));
    let number = digit.and_then(|digit| digit.parse::<usize>().ok());
    let Some(place) = number.and_then(|number| number.checked_sub(1)) else {
        return false;
    };
    match event.shift_key() {
        true => pause_or_resume(desk, ClientId(place)),
        false => step_client(desk, ClientId(place)),
    }
    true
}

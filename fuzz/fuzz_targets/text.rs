//! A scenario's text: reading and playing it never panics, and the canonical text reads as itself.
#![no_main]

use latchkey::scenario;
use latchkey::session::{Msg, Session};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(canonical) = scenario::format(text) {
        assert_eq!(scenario::format(&canonical).as_ref(), Ok(&canonical));
    }
    let Ok(mut session) = Session::new(text, None) else {
        return;
    };
    session.update(Msg::StepOn);
    session.update(Msg::Undo);
    session.verdicts();
});

//! The keys, and what the marks of the picture mean.

use super::view::*;

use super::controls::{hidden, icon, token};

/// The keys beside those of the page's own names.
const KEYS: [(&str, &str); 11] = [
    ("← →", "back and forward one action"),
    ("Home End", "to the start, to the end"),
    ("1 … 9", "the next step of that client"),
    ("⇧ 1 … 9", "pause or resume that client"),
    (
        "S",
        "the schedule’s next action; at its end, the next step of the client that acted last",
    ),
    ("P", "pause or resume the client that acted last"),
    ("X", "crash or restart it"),
    ("C", "the clock to the next deadline"),
    ("U R", "undo, redo"),
    (
        "↑ ↓",
        "in the picture: from row to row; in a console: what was typed before",
    ),
    ("Ctrl K", "anything by its name: ⌘K on a Mac"),
];

const MARKS: [(&str, &str); 6] = [
    (
        "latch-open",
        "A latch: click it and the client pauses when it comes there. The larger one stands before a step, the smaller one between the server doing it and the client seeing the reply.",
    ),
    (
        "latch-closed",
        "A closed latch. A client that waits on it stays paused until you resume it.",
    ),
    (
        "accepted",
        "A write that the table accepted; a property that was put to the test and holds.",
    ),
    (
        "rejected",
        "A write that one of its conditions rejected; a property that was broken.",
    ),
    (
        "stale",
        "A write of a stale holder that was accepted: its lease had ended, and it did not know.",
    ),
    (
        "untested",
        "Not yet put to the test: nothing has happened that could have broken the property.",
    ),
];

/// What the dialog shows.
pub fn view() -> AnyView {
    let keys = KEYS
        .into_iter()
        .chain(super::palette::keys())
        .map(|(key, what)| view! { <div><dt><kbd>{key}</kbd></dt><dd>{what}</dd></div> });
    let marks = MARKS.iter().map(|(sign, what)| view! { <div><dt class="help__sign">{icon(sign)}</dt><dd>{*what}</dd></div> });
    view! {
        <p class="help__lead">
            "Nothing moves by itself: you decide which client takes its next step, who is paused, and when the clock advances. "
            "What you do is written into the text, and the text is the link that you share."
        </p>
        <h3 class="help__title">"To read"</h3>
        <p class="help__note">
            <a class="link" href="SCENARIOS.md" target="_blank">"The scenario text"</a>", all of it, by example and by rule. "
            <a class="link" href="REDIS.md" target="_blank">"The store"</a>" and "
            <a class="link" href="DATABASE.md" target="_blank">"the database"</a>", and how they differ from real ones. "
            <a class="link" href="EXPORTS.md" target="_blank">"Tests for real servers"</a>" from a scenario."
        </p>
        <h3 class="help__title">"Keys"</h3>
        <dl class="help">{keys.collect_view()}</dl>
        <p class="help__note">"Keys rest while a field or the slider has the focus, which Esc leaves; Ctrl K does not."</p>
        <h3 class="help__title">"Marks"</h3>
        <dl class="help">
            {marks.collect_view()}
            <div><dt class="help__sign">{token("2")}</dt><dd>"A fencing token, from the counter to the client to the row."</dd></div>
            <div>
                <dt class="help__sign">
                    <svg class="help__bar is-client-1" viewBox="0 0 28 16" aria-hidden="true">
                        <rect class="p-belief" x="1" y="1" width="10" height="14" />
                        <rect class="p-lease" x="16" y="1" width="10" height="14" />
                    </svg>
                    {hidden("pale bar, solid bar")}
                </dt>
                <dd>"Pale, beside a client: it believes that it holds the lock. Solid, beside the store: the lease, which is the truth."</dd>
            </div>
            <div>
                <dt class="help__sign">
                    <svg class="help__bar" viewBox="0 0 28 16" aria-hidden="true">
                        <rect class="p-gap" fill="url(#hatch-stale)" x="6" y="1" width="14" height="14" />
                    </svg>
                    {hidden("hatched bar")}
                </dt>
                <dd>"The gap: belief without lease. Whoever acts in it is a stale holder."</dd>
            </div>
        </dl>
    }
    .into_any()
}

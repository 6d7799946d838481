//! How quick and how large the page is, as ratios within one run. Nothing here fails by being slow, but the frames during a search
//! where they are much rarer than without one: the figures are printed, in lines that begin with `measured: `, for who reads the
//! log of a run.

use crate::Test;
use crate::browser::Browser;
use crate::searching::{long_search, opens_search};
use crate::visitor::Visitor;
use latchkey::{link, scenario::limits};
use serde_json::{Value, json};

pub const TESTS: &[Test] = &[
    ("measures_how_the_page_opens", measures_opening),
    ("measures_a_step_after_many", measures_steps),
    ("measures_frames_during_a_search", measures_frames),
];

/// How often a thing is measured; the median counts.
const TIMES: usize = 9;

/// Remembers when the transport could first be seen and used, in milliseconds since the navigation began.
const FIRST_USABLE_FRAME: &str = "
    new MutationObserver((_, observer) => {
        if (!document.querySelector('.transport__where')) return;
        observer.disconnect();
        requestAnimationFrame(() => requestAnimationFrame(() => { window.usable = performance.now(); }));
    }).observe(document, { childList: true, subtree: true });";

/// Every file that the page has loaded once more, past every cache: as long as a page without a program would take for them.
const SAME_BYTES: &str = "
    const done = arguments[arguments.length - 1];
    const files = performance.getEntriesByType('resource').map(it => it.name).concat(location.href.split('#')[0]);
    const begun = performance.now();
    Promise.all(files.map(file => fetch(file, { cache: 'reload' }).then(it => it.arrayBuffer())))
        .then(all => done([performance.now() - begun, all.reduce((sum, it) => sum + it.byteLength, 0)]));";

/// The milliseconds from a click to the second frame after it, when what it changed has been drawn.
const CLICK_TO_FRAME: &str = "
    const done = arguments[arguments.length - 1];
    const begun = performance.now();
    document.querySelector(arguments[0]).click();
    requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - begun)));";

/// The milliseconds between frames, for so many of them.
const FRAMES: &str = "
    const done = arguments[arguments.length - 1];
    const intervals = [];
    let last = performance.now();
    const frame = () => {
        const now = performance.now();
        intervals.push(now - last);
        last = now;
        if (intervals.length < arguments[0]) requestAnimationFrame(frame); else done(intervals);
    };
    requestAnimationFrame(frame);";

/// How many frames are looked at: two seconds of them.
const MOST_FRAMES: usize = 120;

/// The bytes of the program's memory. Starting it a second time only gives back what is there.
const PROGRAM_MEMORY: &str = "
    const done = arguments[arguments.length - 1];
    import(document.getElementById('program-js').href)
        .then(program => program.default())
        .then(program => done(program.memory.buffer.byteLength), error => done(String(error)));";

fn measures_opening(browser: &Browser) {
    browser.before_every_page(FIRST_USABLE_FRAME);
    let (mut ratios, mut bytes) = (Vec::new(), 0.0);
    for _ in 0..TIMES {
        Visitor::opens(browser, "");
        let mut usable = None;
        browser.wait_until("the first usable frame", |browser| {
            usable = browser.execute("return window.usable", &json!([])).as_f64();
            usable.is_some()
        });
        let same_bytes = browser.execute_until_done(SAME_BYTES, &json!([]));
        bytes = number(&same_bytes[1]);
        ratios.push(usable.unwrap_or_default() / number(&same_bytes[0]));
    }
    assert!(
        bytes > 100_000.0,
        "the page's files have only {bytes} bytes"
    );
    println!(
        "measured: {:.0} kB loaded before compression; the first usable frame takes {:.1} times as long as the bytes alone",
        bytes / 1000.0,
        median(ratios)
    );
}

fn measures_steps(browser: &Browser) {
    let few = 100;
    let many = limits::ACTIONS - TIMES;
    let step = |actions: usize| {
        let visitor = Visitor::opens(browser, &link::encode(&long_text(actions), actions));
        visitor.sees_cursor(actions, actions);
        let times = (0..TIMES).map(|_| {
            number(&browser.execute_until_done(CLICK_TO_FRAME, &json!([".client__buttons button"])))
        });
        let times: Vec<f64> = times.collect();
        visitor.sees_cursor(actions + TIMES, actions + TIMES);
        median(times)
    };
    let (after_few, after_many) = (step(few), step(many));
    println!(
        "measured: a step after {many} takes {:.1} times as long, to its frame, as one after {few}; the program has {:.0} MB then",
        after_many / after_few,
        number(&browser.execute_until_done(PROGRAM_MEMORY, &json!([]))) / 1e6
    );
}

/// Frames of the page while a search goes on in its worker, beside those of the same page before it begins.
fn measures_frames(browser: &Browser) {
    let frames = || {
        let intervals = browser.execute_until_done(FRAMES, &json!([MOST_FRAMES]));
        let intervals = intervals.as_array().expect("a list of intervals").iter();
        let mut intervals: Vec<f64> = intervals.map(number).collect();
        intervals.sort_by(f64::total_cmp);
        intervals
    };
    let visitor = opens_search(browser, &long_search());
    let still = frames();
    visitor.presses("Search within these bounds");
    browser.wait_until("worlds a second are counted", |browser| {
        let counts = browser.texts_of(".search__counts dd");
        counts.get(1).is_some_and(|speed| speed != "0")
    });
    let searching = frames();
    let speed = browser.texts_of(".search__counts dd")[1].clone();
    let worlds = browser.text_of(".search__counts dd");
    assert!(
        browser.count(".search__result") == 0,
        "the search has ended too early, after {worlds} worlds"
    );
    visitor.presses("Stop the search");
    let (middle, late, last) = (MOST_FRAMES / 2, MOST_FRAMES * 95 / 100, MOST_FRAMES - 1);
    println!(
        "measured: while a search tries {speed} worlds a second in its worker, a frame comes every {:.1} ms in the median, {:.1} at worst; \
         without one every {:.1}, {:.1} at worst",
        searching[middle], searching[last], still[middle], still[last]
    );
    // Where processors are fewer than those who want them a frame is late now and then; but not most of them.
    assert!(
        searching[middle] < still[middle] * 2.0,
        "half of the frames come {:.1} times as late as without a search, one in twenty {:.1} times",
        searching[middle] / still[middle],
        searching[late] / still[late]
    );
}

/// A text of two clients that draw numbers in turn, so many of them.
fn long_text(actions: usize) -> String {
    let schedule: String = (0..actions)
        .map(|place| ["  A draw\n", "  B draw\n"][place % 2])
        .collect();
    format!(
        "# Long\n\nprotocol counting\n  draw: INCR counter\n    on else: retry\n\nclient A, B: counting\n\nschedule\n{schedule}"
    )
}

#[track_caller]
fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("{value} is no number"))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

//! Every story of the library, opened and run on the page, comes to what its file pins.

use crate::Test;
use crate::browser::Browser;
use crate::visitor::{Visitor, part_of, schedule_of};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::Path;

pub const TESTS: &[Test] = &[("runs_every_story_to_what_its_file_pins", runs_every_story)];

/// How many properties there are.
const PROPERTIES: usize = 12;

fn runs_every_story(browser: &Browser) {
    let stories = stories();
    let visitor = Visitor::opens(browser, "");
    // So large that all panels stand side by side and every line of the text is in view.
    browser.resize(1900, 5000);
    browser.click(".masthead__title");
    assert_eq!(
        browser.count(".over .stories__group .story"),
        stories.len() as u64,
        "the library lists as many stories as there are files"
    );
    visitor.presses("Close");
    let wrong: Vec<String> = stories
        .iter()
        .flat_map(|(name, text)| {
            let differences = differences(&visitor, text).into_iter();
            differences.map(move |difference| format!("{name}: {difference}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The stories' names and texts.
pub fn stories() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/stories");
    let files = std::fs::read_dir(&folder).expect("the folder of stories");
    let mut stories: Vec<(String, String)> = files
        .map(|file| file.expect("a file of the folder").path())
        .filter(|file| file.extension().is_some_and(|end| end == "latchkey"))
        .map(|file| {
            let name = file.file_stem().unwrap_or_default().to_string_lossy();
            let text = std::fs::read_to_string(&file).expect("a story is text");
            (name.into_owned(), text)
        })
        .collect();
    stories.sort();
    assert!(stories.len() > 30, "only {} stories", stories.len());
    stories
}

/// What the library calls it.
pub fn title_of(text: &str) -> &str {
    let first = text.lines().next().unwrap_or_default();
    first.trim_start_matches("# ")
}

/// How many lines of its schedule are actions.
pub fn number_of_actions(text: &str) -> usize {
    schedule_of(text)
        .iter()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .count()
}

/// Opens the story, runs it from its start to its end, and says what is not as its text has it.
fn differences(visitor: &Visitor<'_>, text: &str) -> Vec<String> {
    let actions = number_of_actions(text);
    visitor.opens_story(title_of(text));
    visitor.presses("To the start (Home)");
    visitor.sees_cursor(0, actions);
    visitor.presses("To the end (End)");
    visitor.sees_cursor(actions, actions);

    let mut differences = Vec::new();
    if visitor.text() != text {
        differences.push("the text on the page is not the file's".to_owned());
    }
    differences.extend(wrong_verdicts(visitor, text));
    differences.extend(unmarked_lines(visitor, text));
    let state = visitor.contents(".text__fine").concat();
    if !state.starts_with("No errors.") || state.contains("otherwise") || state.contains("not met")
    {
        differences.push(format!("under the text: {state:?}"));
    }
    differences
}

/// What the page shows of the properties at the story's end, where its text has it otherwise.
pub fn wrong_verdicts(visitor: &Visitor<'_>, text: &str) -> Vec<String> {
    let (pinned, shown) = (pinned_verdicts(text), visitor.verdicts());
    assert_eq!(
        pinned.len(),
        PROPERTIES,
        "{} pins every property",
        title_of(text)
    );
    let mut differences = Vec::new();
    for (property, verdict) in &pinned {
        let shown = shown.get(property).map_or("nothing", String::as_str);
        if shown != verdict {
            differences.push(format!(
                "{property}: pinned {verdict}, the page shows {shown}"
            ));
        }
    }
    let others = shown.keys().filter(|name| !pinned.contains_key(*name));
    differences.extend(others.map(|other| format!("the page also lists: {other}")));
    differences
}

/// What the `expect` part says of each property.
fn pinned_verdicts(text: &str) -> BTreeMap<String, String> {
    part_of(text, "expect")
        .filter_map(|line| line.trim().split_once(": "))
        .filter(|(verdict, _)| ["holds", "broken", "not tested"].contains(verdict))
        .map(|(verdict, property)| (property.to_owned(), verdict.to_owned()))
        .collect()
}

/// The lines that should have the tick of a reply or an expectation that is met, and have not. The last action's line has the
/// cursor's mark in its place.
fn unmarked_lines(visitor: &Visitor<'_>, text: &str) -> Vec<String> {
    let lines = text.lines().count();
    visitor
        .browser
        .wait_until("every line of the text is in view", |browser| {
            browser.count(".text__line") >= lines as u64
        });
    let marks = visitor.browser.execute(
        "return [...document.querySelectorAll('.text__line')].map(it =>
            it.classList.contains('text__line--met') ? 'met'
            : it.classList.contains('text__line--cursor') ? 'cursor'
            : it.classList.length > 1 ? 'wrong' : '')",
        &json!([]),
    );
    let marks: Vec<String> = serde_json::from_value(marks).expect("texts");
    let mut in_schedule = false;
    let mut wrong = Vec::new();
    for (line, mark) in text.lines().zip(marks) {
        if !line.starts_with(' ') && !line.is_empty() {
            in_schedule = line.trim_end() == "schedule";
        }
        let should_be_met = in_schedule && line.contains("=> ");
        let is_fine = match mark.as_str() {
            "wrong" => false,
            "" => !should_be_met,
            _ => true,
        };
        if !is_fine {
            wrong.push(format!("marked as {mark:?}: {}", line.trim()));
        }
    }
    wrong
}

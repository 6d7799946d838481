//! What a visitor does on the page and sees there, in the page's own words: the end-to-end tests are written in them.

use crate::browser::{Browser, keys};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

/// As long as the page takes at most to write the address and keep the work, and a little more.
const WRITTEN_BY_THEN: Duration = Duration::from_millis(1300);

/// Somebody who looks at the page in a browser.
pub struct Visitor<'b> {
    pub browser: &'b Browser,
}

/// All that a link carries, as the page shows it.
#[derive(Debug, PartialEq, Eq)]
pub struct Shown {
    pub text: String,
    pub cursor: String,
    pub verdicts: BTreeMap<String, String>,
    pub ledger: Vec<String>,
}

impl<'b> Visitor<'b> {
    /// Opens the page with an address relative to its folder.
    #[track_caller]
    pub fn opens(browser: &'b Browser, address: &str) -> Self {
        browser.open(address);
        let visitor = Self { browser };
        visitor.waits_for_the_page();
        visitor
    }

    #[track_caller]
    fn waits_for_the_page(&self) {
        self.browser
            .wait_until("the transport is there", |browser| {
                browser.count(".transport__where") == 1
            });
    }

    /// Loads the page again.
    #[track_caller]
    pub fn reloads(&self) {
        self.browser.reload();
        self.waits_for_the_page();
    }

    /// Until the page has written the address and kept the work.
    pub fn waits_a_moment(&self) {
        std::thread::sleep(WRITTEN_BY_THEN);
    }

    // ---- doing

    /// Opens a story of the library by its title.
    #[track_caller]
    pub fn opens_story(&self, title: &str) {
        self.browser.click(".masthead__title");
        let opened = self.browser.execute(
            "const story = [...document.querySelectorAll('.over .story')]
                .find(it => it.querySelector('.story__title').firstChild.textContent === arguments[0]);
             story?.click();
             return story !== undefined;",
            &json!([title]),
        );
        assert_eq!(opened, json!(true), "the library has no story '{title}'");
        self.browser
            .wait_until(&format!("'{title}' is open"), |browser| {
                browser.count("dialog[open]") == 0 && browser.text_of(".masthead__name") == title
            });
    }

    /// Opens an empty page.
    #[track_caller]
    pub fn begins_anew(&self) {
        self.browser.click_text("New");
        self.sees_cursor(0, 0);
    }

    /// Adds the client that the page suggests, with a protocol that is here or in the library.
    #[track_caller]
    pub fn adds_client(&self, protocol: &str) {
        self.browser
            .click(&format!(".clients__protocols option[value='{protocol}']"));
        self.browser.click(".clients__add");
    }

    /// Presses a button of the page by its words or its label.
    #[track_caller]
    pub fn presses(&self, words: &str) {
        self.browser.click_text(words);
    }

    /// Presses a button on a client's card.
    #[track_caller]
    pub fn presses_of(&self, client: &str, words: &str) {
        let find =
            "return [...document.querySelectorAll(arguments[0] + ' .client__buttons button')]
            .findIndex(it => it.textContent === arguments[1])";
        let card = card(client);
        let mut place = None;
        self.browser
            .wait_until(&format!("{client} has a button {words}"), |browser| {
                place = browser.execute(find, &json!([card, words])).as_i64();
                place.is_some_and(|place| place >= 0)
            });
        let buttons = format!("{card} .client__buttons button");
        self.browser
            .click_nth(&buttons, place.unwrap_or_default() as usize);
    }

    /// The next step of a client.
    #[track_caller]
    pub fn press_step(&self, client: &str) {
        self.presses_of(client, "Step");
    }

    /// Presses a latch by its label.
    #[track_caller]
    pub fn presses_latch(&self, label: &str) {
        self.browser.click(&format!("[aria-label='{label}']"));
    }

    /// Types milliseconds into the clock's field and advances.
    #[track_caller]
    pub fn advances(&self, milliseconds: &str) {
        self.browser
            .replace_text(".clock__free input", milliseconds);
        self.presses("Advance");
    }

    /// Goes forward by so many recorded actions.
    #[track_caller]
    pub fn goes_forward(&self, actions: usize) {
        for _ in 0..actions {
            self.presses("Forward one action (Right)");
        }
    }

    /// Presses Share, and takes the link that the page has put on the clipboard.
    #[track_caller]
    pub fn takes_the_link(&self) -> String {
        self.browser.allow_clipboard();
        self.presses("Share");
        self.hears("Link copied");
        let copied = self
            .browser
            .execute("return navigator.clipboard.readText()", &json!([]));
        copied.as_str().unwrap_or_default().to_owned()
    }

    /// Asks for something by its name, and takes the first thing that is called so.
    #[track_caller]
    pub fn asks_for(&self, name: &str) {
        self.browser.press(&format!("{}k", keys::CONTROL));
        self.has_focus("palette-field");
        self.browser.press(name);
        self.browser.press(keys::ENTER);
    }

    // ---- seeing

    /// The text in the editor.
    #[track_caller]
    pub fn text(&self) -> String {
        self.browser.value_of(".text__area")
    }

    /// Every property with its verdict, as the panel of properties lists them.
    #[track_caller]
    pub fn verdicts(&self) -> BTreeMap<String, String> {
        let rows = self.browser.execute(
            "return [...document.querySelectorAll('.property')].map(it => [
                it.querySelector('.property__name').firstChild.textContent.trim(),
                it.querySelector('.verdict').textContent.trim()])",
            &json!([]),
        );
        let rows: Vec<(String, String)> = serde_json::from_value(rows).expect("pairs of texts");
        let all = rows.len();
        // The page begins its sentences with a capital letter, the text does not.
        let rows: BTreeMap<String, String> = rows
            .into_iter()
            .map(|(name, verdict)| (uncapitalized(&name), verdict))
            .collect();
        assert_eq!(rows.len(), all, "a property is listed twice");
        rows
    }

    /// The writes of the ledger, each in all its words.
    #[track_caller]
    pub fn ledger(&self) -> Vec<String> {
        self.contents(".write")
    }

    /// The contents of elements, whether they are in view or not.
    #[track_caller]
    pub fn contents(&self, selector: &str) -> Vec<String> {
        let contents = self.browser.execute(
            "return [...document.querySelectorAll(arguments[0])].map(it => it.textContent.trim())",
            &json!([selector]),
        );
        serde_json::from_value(contents).expect("texts")
    }

    /// All that a link carries.
    #[track_caller]
    pub fn everything(&self) -> Shown {
        Shown {
            text: self.text(),
            cursor: self.contents(".transport__where").concat(),
            verdicts: self.verdicts(),
            ledger: self.ledger(),
        }
    }

    /// The cursor is after so many of so many actions.
    #[track_caller]
    pub fn sees_cursor(&self, after: usize, of: usize) {
        self.comes_to_see(&format!("{after} of {of}"), |visitor| {
            visitor.contents(".transport__where").concat()
        });
    }

    /// The clock.
    #[track_caller]
    pub fn sees_now(&self, words: &str) {
        self.comes_to_see(words, |visitor| visitor.contents(".clock__now").concat());
    }

    /// The chip on a client's card.
    #[track_caller]
    pub fn sees_state(&self, client: &str, state: &str) {
        let chip = format!("{} .chip__words", card(client));
        self.comes_to_see(state, |visitor| visitor.contents(&chip).concat());
    }

    /// Whom the store names as the holder of the only lock.
    #[track_caller]
    pub fn sees_holder(&self, client: &str) {
        self.comes_to_see(&format!("{client} holds it"), |visitor| {
            let title = visitor.browser.execute(
                "return document.querySelector('.key .chip[title$=\" holds it\"]')?.title ?? 'nobody holds it'",
                &json!([]),
            );
            title.as_str().unwrap_or_default().to_owned()
        });
    }

    /// The verdict of a property.
    #[track_caller]
    pub fn sees_verdict(&self, property: &str, verdict: &str) {
        self.comes_to_see(verdict, |visitor| {
            let verdicts = visitor.verdicts();
            let of = verdicts.get(property);
            of.cloned().unwrap_or_else(|| format!("{verdicts:#?}"))
        });
    }

    /// The verdicts of the ledger's writes, in order.
    #[track_caller]
    pub fn sees_writes(&self, verdicts: &[&str]) {
        self.comes_to_see(&verdicts.join("; "), |visitor| {
            visitor.contents(".write .verdict").join("; ")
        });
    }

    /// The lines of the text's schedule, but for how their columns are set.
    #[track_caller]
    pub fn sees_schedule(&self, lines: &[&str]) {
        self.comes_to_see(&lines.join("\n"), |visitor| {
            schedule_of(&visitor.text()).join("\n")
        });
    }

    /// These are the first choices of the list that is open; none where none is.
    #[track_caller]
    pub fn sees_choices(&self, choices: &[&str]) {
        self.comes_to_see(&choices.join("; "), |visitor| {
            let seen = visitor.contents(".choice__text");
            let first = &seen[..seen.len().min(choices.len().max(1))];
            first.join("; ")
        });
    }

    /// The element with this id has the focus.
    #[track_caller]
    pub fn has_focus(&self, id: &str) {
        self.comes_to_see(id, |visitor| {
            let focused = "return document.activeElement.id";
            let focused = visitor.browser.execute(focused, &json!([]));
            focused.as_str().unwrap_or_default().to_owned()
        });
    }

    /// Something is told, in the status line.
    #[track_caller]
    pub fn hears(&self, words: &str) {
        self.browser
            .wait_until(&format!("the page says '{words}'"), |browser| {
                browser
                    .execute(
                        "return document.querySelector('.status__said')?.textContent ?? ''",
                        &json!([]),
                    )
                    .as_str()
                    .is_some_and(|said| said.contains(words))
            });
    }

    /// Waits until the page shows this, and fails with what it shows instead.
    #[track_caller]
    fn comes_to_see(&self, expected: &str, look: impl Fn(&Self) -> String) {
        let mut seen = String::new();
        let came = self.browser.comes_to(|_| {
            seen = look(self);
            seen == expected
        });
        assert!(came, "expected to see:\n{expected}\nand saw:\n{seen}");
    }

    /// How many entries the tab's history has.
    #[track_caller]
    pub fn length_of_history(&self) -> Value {
        self.browser.execute("return history.length", &json!([]))
    }
}

fn card(client: &str) -> String {
    format!(".client[aria-label='Client {client}']")
}

fn uncapitalized(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_lowercase().collect::<String>() + letters.as_str()
    })
}

/// The lines of a text's schedule, with one blank where there are several.
pub fn schedule_of(text: &str) -> Vec<String> {
    part_of(text, "schedule")
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect()
}

/// The indented lines under a word that stands alone at the left.
pub fn part_of<'t>(text: &'t str, word: &'t str) -> impl Iterator<Item = &'t str> {
    text.lines()
        .skip_while(move |line| line.trim_end() != word)
        .skip(1)
        .take_while(|line| line.starts_with(' '))
}

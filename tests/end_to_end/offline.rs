//! The page stays: without a network, and while a newer version of it is being published.

use crate::Test;
use crate::browser::{Browser, keys};
use crate::file_server::FileServer;
use crate::visitor::Visitor;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::Command;

pub const TESTS: &[Test] = &[
    (
        "opens_without_a_network_after_the_first_visit",
        opens_without_a_network,
    ),
    (
        "exports_without_a_network_after_the_first_visit",
        exports_without_a_network,
    ),
    (
        "says_why_when_the_program_arrives_damaged",
        says_why_it_is_damaged,
    ),
    (
        "is_kept_where_the_exporter_cannot_be_had",
        is_kept_without_the_exporter,
    ),
    (
        "is_never_half_an_old_version_and_half_a_new_one",
        is_never_half,
    ),
    (
        "keeps_its_version_while_another_tab_is_open",
        keeps_its_version,
    ),
];

/// A copy of the built page that a test may change, served at an address of its own.
struct Published {
    folder: PathBuf,
    server: FileServer,
}

impl Published {
    fn new(name: &str) -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let built = root.join(std::env::var_os("LATCHKEY_PAGE").expect("it names the built page"));
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("the folder can be made");
        for file in std::fs::read_dir(built).expect("the built page") {
            let file = file.expect("a file of the page").path();
            let copy = folder.join(file.file_name().expect("it has a name"));
            std::fs::copy(&file, copy).expect("it can be copied");
        }
        let server = FileServer::start(&folder, "/published/");
        Self { folder, server }
    }

    /// What the server hands out under this name from now on; `None`: nothing.
    fn hands_out(&self, name: &str, bytes: Option<&[u8]>) {
        let file = self.folder.join(name);
        match bytes {
            Some(bytes) => std::fs::write(file, bytes).expect("it can be written"),
            None => std::fs::remove_file(file).expect("it was there"),
        }
    }

    /// Publishes another edition, whose page names it and whose start-up script has another name.
    fn publish(&self, edition: &str) {
        let page = self.folder.join("index.html");
        let text = std::fs::read_to_string(&page).expect("the page");
        let from = text.find("boot").expect("it names the script");
        let to = from + text[from..].find(".js").expect("a script") + 3;
        let script = format!("boot-{edition}.js");
        std::fs::rename(self.folder.join(&text[from..to]), self.folder.join(&script))
            .expect("the script is there");
        let text = text.replace(&text[from..to], &script);
        let mark = format!("<meta name=\"edition\" content=\"{edition}\"></head>");
        std::fs::write(&page, text.replace("</head>", &mark)).expect("it can be written");
        let status = Command::new("sh")
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tools/add_service_worker.sh"))
            .arg(&self.folder)
            .status()
            .expect("sh starts");
        assert!(status.success());
    }
}

/// What the browser says of the page's service worker.
#[track_caller]
pub fn has_worker(browser: &Browser, which: &str) -> bool {
    let script = "return navigator.serviceWorker.getRegistration()
        .then(it => Boolean(it?.[arguments[0]]) && !it.installing)";
    browser.execute(script, &json!([which])) == json!(true)
}

/// The last edition that the open page names; `first` where it names none.
fn edition(browser: &Browser) -> String {
    let script =
        "return [...document.querySelectorAll('meta[name=edition]')].at(-1)?.content ?? 'first'";
    let edition = browser.execute(script, &json!([]));
    edition.as_str().unwrap_or_default().to_owned()
}

/// How many open pages share the lock that keeps a newer edition waiting.
fn open_pages(browser: &Browser) -> u64 {
    let script = "return navigator.locks.query().then(it => it.held.length)";
    let held = browser.execute(script, &json!([]));
    held.as_u64().expect("a number of locks")
}

/// Reloads until the page is of this edition. The first reload brings it where the browser takes the lock back from the page
/// that is left within the second that the new one waits for it; a busy machine may need another, and three are a failure.
#[track_caller]
fn comes_with_a_reload(visitor: &Visitor<'_>, expected: &str) {
    let browser = visitor.browser;
    browser.wait_until("no other page is open", |it| open_pages(it) == 1);
    let came = (0..3).any(|_| {
        visitor.reloads();
        browser.comes_to(|it| edition(it) == expected)
    });
    assert!(
        came,
        "three reloads, and still not: the {expected} edition is here"
    );
}

#[track_caller]
fn plays(visitor: &Visitor<'_>) {
    visitor.begins_anew();
    visitor.adds_client("split-acquire");
    visitor.press_step("A");
    visitor.sees_cursor(1, 1);
}

fn opens_without_a_network(browser: &Browser) {
    let published = Published::new("without-a-network");
    let browser = browser.with_a_fresh_profile_at(published.server.address());
    Visitor::opens(&browser, "");
    browser.wait_until("the page is kept", |it| has_worker(it, "active"));
    published.server.close();
    browser.look_at("about:blank");
    let visitor = Visitor::opens(&browser, "");
    plays(&visitor);
    visitor.reloads();
    visitor.sees_cursor(1, 1);
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

/// Asks for the scenario in these formats; each comes to hold its words.
#[track_caller]
fn exports(visitor: &Visitor<'_>, formats: &[(&str, &str)]) {
    let browser = visitor.browser;
    visitor.presses("Save, export, embed");
    for (format, words) in formats {
        browser.click(&format!(".over option[value='{format}']"));
        browser.wait_until(&format!("{format} holds {words}"), |browser| {
            let text = "return document.querySelector('.over')?.innerText
                + (document.querySelector('.over textarea')?.value ?? '')";
            let text = browser.execute(text, &json!([]));
            text.as_str().is_some_and(|text| text.contains(words))
        });
    }
    browser.press(keys::ESCAPE);
}

const REMARK_AND_TEST: &[(&str, &str)] = &[
    ("markdown", "\nsequenceDiagram\n"),
    ("pytest", "a.step(\"acquire\")"),
];

fn exports_without_a_network(browser: &Browser) {
    let published = Published::new("exports-without-a-network");
    let browser = browser.with_a_fresh_profile_at(published.server.address());
    let visitor = Visitor::opens(&browser, "");
    browser.wait_until("the page is kept", |it| has_worker(it, "active"));
    let before = published.server.asked().len();
    let asked = || published.server.asked().split_off(before);
    exports(&visitor, REMARK_AND_TEST);
    assert_eq!(asked(), Vec::<String>::new(), "once it was open and kept");
    visitor.reloads();
    exports(&visitor, REMARK_AND_TEST);
    // The browser looks by itself whether there is a newer worker.
    let is_worker = |path: &String| path == "/published/service-worker.js";
    assert!(asked().iter().all(is_worker), "{:?}", asked());
    published.server.close();
    browser.look_at("about:blank");
    let visitor = Visitor::opens(&browser, "");
    exports(&visitor, REMARK_AND_TEST);
    visitor.presses("Save, export, embed");
    browser.click(".over option[value='.svg']");
    visitor.presses("Save the picture");
    visitor.hears(".svg");
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

fn says_why_it_is_damaged(browser: &Browser) {
    let published = Published::new("damaged");
    let files = std::fs::read_dir(&published.folder).expect("the folder");
    let mut names = files.map(|file| {
        file.expect("a file")
            .file_name()
            .to_string_lossy()
            .into_owned()
    });
    let name = names.find(|name| name.starts_with("page") && name.ends_with(".wasm"));
    let name = name.expect("the page's program");
    let mut program = std::fs::read(published.folder.join(&name)).expect("the program");
    let middle = program.len() / 2;
    program[middle] ^= 1;
    published.hands_out(&name, Some(&program));
    let browser = browser.with_a_fresh_profile_at(published.server.address());
    browser.look_at(browser.page());
    browser.wait_for_text("#page", "the program arrived damaged");
    browser.forget_console_errors();
}

fn is_kept_without_the_exporter(browser: &Browser) {
    const PROGRAM: &str = "exporter_bg.wasm";
    let published = Published::new("without-the-exporter");
    let program = std::fs::read(published.folder.join(PROGRAM)).expect("the exporter");
    published.hands_out(PROGRAM, None);
    let browser = browser.with_a_fresh_profile_at(published.server.address());
    let visitor = Visitor::opens(&browser, "");
    browser.wait_until("the page is kept", |it| has_worker(it, "active"));
    // The other half is there, but this one is of a version that does not belong to it.
    published.hands_out(PROGRAM, Some(b"another version"));
    visitor.reloads();
    exports(&visitor, &[("markdown", "could not be loaded")]);
    browser.forget_console_errors();
    published.hands_out(PROGRAM, Some(&program));
    visitor.reloads();
    exports(&visitor, REMARK_AND_TEST);
    published.server.close();
    visitor.reloads();
    exports(&visitor, REMARK_AND_TEST);
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

fn is_never_half(browser: &Browser) {
    let published = Published::new("editions");
    let browser = browser.with_a_fresh_profile_at(published.server.address());
    let visitor = Visitor::opens(&browser, "");
    browser.wait_until("the page is kept", |it| has_worker(it, "active"));
    published.publish("second");
    visitor.reloads();
    assert_eq!(edition(&browser), "first", "what was kept, and all of it");
    plays(&visitor);
    visitor.waits_a_moment();
    browser.wait_until("the second edition is ready", |it| {
        has_worker(it, "waiting")
    });
    comes_with_a_reload(&visitor, "second");
    visitor.sees_cursor(1, 1);
    // The third is only half uploaded: one of its files is not there yet.
    published.publish("third");
    std::fs::remove_file(published.folder.join("boot-third.js")).expect("it was there");
    visitor.reloads();
    plays(&visitor);
    browser.wait_until("the third edition is given up", |it| {
        !has_worker(it, "waiting")
    });
    browser.forget_console_errors();
    visitor.waits_a_moment();
    visitor.reloads();
    assert_eq!(edition(&browser), "second", "and not half of the third");
    visitor.sees_cursor(1, 1);
}

fn keeps_its_version(browser: &Browser) {
    let published = Published::new("tabs");
    let browser = browser.with_a_fresh_profile_at(published.server.address());
    let visitor = Visitor::opens(&browser, "");
    browser.wait_until("the page is kept", |it| has_worker(it, "active"));
    browser.with_another_tab(|| {
        published.publish("second");
        visitor.reloads();
        browser.wait_until("the second edition is ready", |it| {
            has_worker(it, "waiting")
        });
        visitor.reloads();
        assert_eq!(edition(&browser), "first", "as in the other tab");
        plays(&visitor);
        visitor.waits_a_moment();
    });
    comes_with_a_reload(&visitor, "second");
    visitor.sees_cursor(1, 1);
}

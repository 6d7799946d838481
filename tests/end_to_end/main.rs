//! The built page in a real browser, from the outside: what a visitor sees, clicks and types.
//!
//! `./check` builds the page and then runs this with `LATCHKEY_PAGE` naming the folder of the built
//! page; without the variable there is nothing to open, and the run says so and ends. By hand:
//!
//! ```text
//! trunk build --release
//! LATCHKEY_PAGE=dist cargo test --no-default-features --features cli --test end_to_end
//! LATCHKEY_PAGE=dist cargo test ... --test end_to_end -- opens      only tests with 'opens' in their name
//! cargo test ... --test end_to_end -- screenshots                   pictures into target/screenshots/
//! cargo test ... --test end_to_end -- screenshots '#v1.…'           of the page at that address
//! ```
//!
//! Every test gets a browser of its own with a fresh profile, looking at the page from a folder deep
//! inside a server. After the test the browser's own findings count too: an error on its console, or
//! a request to anywhere but the page's folder, fails the test.

mod beside_others;
mod browser;
mod building;
mod every_way;
mod file_server;
mod links;
mod measures;
mod offline;
mod opening;
mod playing;
mod screenshots;
mod searching;
mod stories;
mod troubles;
mod trust;
mod visitor;
mod webdriver;
mod writing;

use browser::{Browser, Driver};
use file_server::FileServer;
use std::cell::RefCell;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

/// One end-to-end test: a sentence-like name, and what to do with a browser that stands ready.
type Test = (&'static str, fn(&Browser));

/// Every test, in the order in which they run. A new file adds its own list here.
fn all_tests() -> Vec<Test> {
    [
        opening::TESTS,
        playing::TESTS,
        stories::TESTS,
        every_way::TESTS,
        building::TESTS,
        links::TESTS,
        offline::TESTS,
        troubles::TESTS,
        searching::TESTS,
        writing::TESTS,
        trust::TESTS,
        beside_others::TESTS,
        measures::TESTS,
    ]
    .concat()
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // What `cargo test` may pass on to every test program, and has no meaning here.
    let words: Vec<&str> = arguments
        .iter()
        .map(String::as_str)
        .filter(|word| !word.starts_with("--"))
        .collect();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let named = std::env::var_os("LATCHKEY_PAGE").map(|folder| root.join(folder));
    match (words.split_first(), named) {
        (Some((&"screenshots", addresses)), named) => {
            let folder = named.unwrap_or_else(|| root.join("dist"));
            with_page(&folder, |driver, server| {
                screenshots::take_all(driver, server, addresses);
                true
            })
        }
        (_, None) => {
            println!(
                "end_to_end: skipped, LATCHKEY_PAGE does not name a built page (./check builds one and sets it)"
            );
            ExitCode::SUCCESS
        }
        (_, Some(folder)) => {
            let tests: Vec<Test> = all_tests()
                .into_iter()
                .filter(|(name, _)| {
                    words.is_empty() || words.iter().any(|word| name.contains(word))
                })
                .collect();
            with_page(&folder, |driver, server| run(driver, server, &tests))
        }
    }
}

/// Serves the built page and starts the browser's driver for as long as `work` lasts.
fn with_page(folder: &Path, work: impl FnOnce(&Driver, &FileServer) -> bool) -> ExitCode {
    if !folder.join("index.html").is_file() {
        eprintln!(
            "end_to_end: {} holds no index.html; build the page first: trunk build --release",
            folder.display()
        );
        return ExitCode::FAILURE;
    }
    let server = FileServer::start(folder, "/some/folder/");
    let driver = Driver::start();
    match work(&driver, &server) {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

/// Runs the tests one after the other and prints what libtest would print, so that `./check` can
/// read the outcome of every suite in the same way.
fn run(driver: &Driver, server: &FileServer, tests: &[Test]) -> bool {
    std::panic::set_hook(Box::new(|panic| LAST_PANIC.set(panic.to_string())));
    let begun = Instant::now();
    println!("\nrunning {} tests", tests.len());
    let mut failed = Vec::new();
    for &(name, test) in tests {
        match run_one(driver, server, name, test) {
            Ok(()) => println!("test {name} ... ok"),
            Err(reason) => {
                println!("test {name} ... FAILED\n  {}", reason.replace('\n', "\n  "));
                failed.push(name);
            }
        }
    }
    if !failed.is_empty() {
        println!("\nfailures:\n    {}", failed.join("\n    "));
    }
    println!(
        "\ntest result: {}. {} passed; {} failed; 0 ignored; 0 measured; 0 filtered out; finished in {:.2}s",
        if failed.is_empty() { "ok" } else { "FAILED" },
        tests.len() - failed.len(),
        failed.len(),
        begun.elapsed().as_secs_f32()
    );
    failed.is_empty()
}

fn run_one(
    driver: &Driver,
    server: &FileServer,
    name: &str,
    test: fn(&Browser),
) -> Result<(), String> {
    let browser = attempt(|| Browser::start(driver, server.address()))?;
    let outcome = attempt(|| test(&browser));
    let complaints = attempt(|| browser.complaints()).unwrap_or_else(|reason| vec![reason]);
    let mut reasons: Vec<String> = outcome.err().into_iter().collect();
    reasons.extend(complaints);
    if reasons.is_empty() {
        return Ok(());
    }
    let picture = pictures().join(format!("failed-{name}.png"));
    if attempt(|| browser.take_picture(&picture)).is_ok() {
        reasons.push(format!("what it looked like: {}", picture.display()));
    }
    Err(reasons.join("\n"))
}

thread_local! {
    /// What the last panic said, and which line of a test it was about.
    static LAST_PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Does something that may panic, as a test does when it fails, and gives the panic's words.
fn attempt<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    std::panic::catch_unwind(AssertUnwindSafe(work)).map_err(|_| LAST_PANIC.take())
}

/// Where pictures go: a place that a person finds without looking.
fn pictures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("target/screenshots")
}

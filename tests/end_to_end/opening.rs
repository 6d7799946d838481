//! The page opens: from any folder, under its policy, and without asking anybody else for anything.

use crate::Test;
use crate::browser::Browser;
use serde_json::json;

pub const TESTS: &[Test] = &[
    ("opens_from_a_folder_without_complaints", opens),
    (
        "asks_only_its_own_folder_for_files",
        asks_only_its_own_folder,
    ),
    ("forbids_inline_scripts_and_foreign_requests", forbids),
    ("says_why_when_there_is_no_webassembly", says_why),
];

fn opens(browser: &Browser) {
    browser.open("");
    assert_eq!(browser.count("h1"), 1, "one heading names the page");
    assert!(browser.text_of("h1").contains("Latchkey"));
}

fn asks_only_its_own_folder(browser: &Browser) {
    browser.open("");
    let requests = browser.requests();
    assert!(
        requests.iter().any(|address| address.ends_with(".wasm")),
        "the browser's log tells every request, so it must tell that for the program: {requests:?}"
    );
    for address in requests {
        assert!(
            address.starts_with(browser.page()),
            "{address} is not in the page's folder"
        );
    }
}

fn forbids(browser: &Browser) {
    browser.open("");
    // Both answers come from the browser: an inline handler that never runs, a fetch that is refused.
    let inline = browser.execute(
        "document.body.insertAdjacentHTML('beforeend', '<button id=probe onclick=\"window.ran = true\">probe</button>');
         document.getElementById('probe').click();
         document.getElementById('probe').remove();
         return window.ran === true;",
        &json!([]),
    );
    assert_eq!(inline, json!(false), "an inline script ran");
    let policy = browser.execute(
        "return document.querySelector('meta[http-equiv=\"Content-Security-Policy\"]')?.content ?? ''",
        &json!([]),
    );
    let policy = policy.as_str().unwrap_or_default();
    for rule in [
        "default-src 'none'",
        "connect-src 'self'",
        "form-action 'none'",
        "base-uri 'none'",
    ] {
        assert!(policy.contains(rule), "the policy lacks {rule}: {policy}");
    }
    browser.forget_console_errors();
}

fn says_why(browser: &Browser) {
    browser.before_every_page("delete globalThis.WebAssembly");
    browser.look_at(browser.page());
    browser.wait_for_text("#page", "needs WebAssembly");
    assert!(!browser.text_of("#page").contains("loading"));
}

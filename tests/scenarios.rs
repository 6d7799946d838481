//! Every scenario file, played to its end: each `=>`, each expectation and each search is as the text says, and nothing is
//! warned of. One test for each file, natively
//! and in the browser; build.rs finds the files.

use latchkey::scenario;

#[cfg(target_arch = "wasm32")]
wasm_bindgen_test::wasm_bindgen_test_configure!(run_in_browser);

/// Plays the text and fails with everything that is not as it says.
fn check(path: &str, text: &str) {
    let wrong: Vec<String> = match scenario::check(text) {
        Ok(differences) => differences
            .iter()
            .map(|difference| {
                let scenario::check::Difference {
                    line,
                    expected,
                    got,
                } = difference;
                format!("{path}:{line}: expected {expected}, got {got}")
            })
            .collect(),
        Err(errors) => errors
            .iter()
            .map(|error| format!("{path}: {error}"))
            .collect(),
    };
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    if let Ok(reading) = scenario::read(text) {
        let warned = scenario::warnings(text, &reading);
        assert!(warned.is_empty(), "{path}: {warned:?}");
    }
    let canonical = scenario::format(text).unwrap_or_default();
    assert!(
        canonical == text,
        "{path} is not formatted as the canonical printer writes it"
    );
}

include!(concat!(env!("OUT_DIR"), "/scenario_tests.rs"));

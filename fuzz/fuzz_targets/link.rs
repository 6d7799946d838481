//! What stands after the `#` of an address: no link panics, and what one opens is opened by its own link again.
#![no_main]

use latchkey::link;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|address: &str| {
    if let Ok(opened) = link::decode(address) {
        let again = link::decode(&link::encode(&opened.text, opened.cursor));
        assert_eq!(again.as_ref(), Ok(&opened));
    }
});

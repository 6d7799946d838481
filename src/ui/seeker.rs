//! The other half of a search beside the page: what `search.js` calls in the worker, where the same program runs without a page.

use wasm_bindgen::prelude::wasm_bindgen;

use crate::scenario;
use crate::search::{self, Search, told};

/// How long one slice takes, in milliseconds: then the worker hears whether it is to pause or stop.
const SLICE: f64 = 100.0;

/// How many worlds are tried before the clock is looked at.
const WORLDS_AT_ONCE: usize = 1 << 11;

/// The most bytes that a search's tables take in a browser.
const MOST_BYTES: u64 = 1 << 29;

/// A search that tells strings (`search/told.rs`).
#[wasm_bindgen]
pub struct Seeker {
    search: Option<Search>,
}

#[wasm_bindgen]
impl Seeker {
    /// The search that the text's `search` block at this place (from 0) describes, or the first one that the page offers.
    #[wasm_bindgen(constructor)]
    pub fn new(text: &str, place: usize) -> Seeker {
        super::rescue::tell_of_panics();
        let request = |reading: scenario::Reading| {
            let search = reading.searches.get(place);
            let mut request =
                search.map_or_else(search::Request::default, |search| search.request.clone());
            request.bounds.bytes = MOST_BYTES;
            request
        };
        let search = scenario::read(text)
            .map(request)
            .and_then(|request| Search::of_request(text, &request));
        Seeker {
            search: search.ok(),
        }
    }

    /// Goes on for a slice, and tells how far it has come.
    pub fn go_on(&mut self) -> String {
        let until = js_sys::Date::now() + SLICE;
        self.tell(
            |search| {
                while !search.run(WORLDS_AT_ONCE).finished && js_sys::Date::now() < until {}
            },
        )
    }

    /// Ends with what is known so far.
    pub fn stop(&mut self) -> String {
        self.tell(|search| {
            search.stop();
        })
    }

    /// Whether it is over.
    pub fn is_over(&self) -> bool {
        let progress = self.search.as_ref().map(Search::progress);
        progress.is_none_or(|progress| progress.finished)
    }

    fn tell(&mut self, work: impl Fn(&mut Search)) -> String {
        let Some(search) = &mut self.search else {
            return String::new();
        };
        work(search);
        told::print(&search.progress(), search.outcome())
    }
}

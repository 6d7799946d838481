//! What a scenario becomes in other languages, as a program of its own: the page loads it when somebody asks for such a text.

use latchkey::export::{Format, Library, Options, calls, export};
use latchkey::scenario::read;
use latchkey::timeline::Timeline;
use wasm_bindgen::prelude::wasm_bindgen;

/// A scenario's text in the format that is called so; an error says why there is none. `calls:python` is no format: a line for each step,
/// and an empty line between protocols.
#[wasm_bindgen]
pub fn exported(text: &str, format: &str, holds: bool) -> Result<String, String> {
    let reading = read(text).map_err(|_| "the text does not parse")?;
    let actions = reading.schedule.iter().map(|line| line.action.clone());
    let timeline = Timeline::replay(reading.setup.clone(), actions);
    let library = format.strip_prefix("calls:").and_then(Library::named);
    if let Some(library) = library {
        let protocols = calls(&reading.setup, &timeline, library);
        let protocols = protocols.iter().map(|calls| calls.join("\n"));
        return Ok(protocols.collect::<Vec<String>>().join("\n\n"));
    }
    let format = Format::named(format).ok_or("there is no such format")?;
    export(text, &reading, &timeline, format, Options { holds }).map_err(|refusal| refusal.0)
}

fn main() {}

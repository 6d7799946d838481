//! Completion in the text editor: what the core offers at the caret, in a list beside it. Typing goes on undisturbed.

use super::browser;
use super::choices::{Choice, Choices};
use super::view::*;
use crate::scenario::complete::{Completion, complete};
use web_sys::{HtmlDivElement, HtmlTextAreaElement, KeyboardEvent};

/// The textarea's padding, in pixels.
const PADDING: f64 = 8.0;

/// The most that the list is wide, in pixels.
const WIDTH: f64 = 340.0;

/// What the editor needs to complete.
#[derive(Clone, Copy)]
pub struct Completing {
    area: NodeRef<HtmlTextAreaElement>,
    /// Ten lines high and ten letters wide.
    probe: NodeRef<HtmlDivElement>,
    list: Choices,
    found: RwSignal<Completion>,
    /// Left, top and bottom of the list within the window.
    place: RwSignal<(String, String, String)>,
}

impl Completing {
    /// Completion in this textarea.
    pub fn new(area: NodeRef<HtmlTextAreaElement>, probe: NodeRef<HtmlDivElement>) -> Completing {
        Completing {
            area,
            probe,
            list: Choices::new("text-choices"),
            found: RwSignal::new(Completion::default()),
            place: RwSignal::new((String::new(), String::new(), String::new())),
        }
    }

    /// The id of the active option.
    pub fn active_id(self) -> Option<String> {
        self.list.active_id()
    }

    /// Offers what fits after a letter was typed; goes on with it, or leaves it, after something else has changed. What a keyboard's own
    /// clipboard or dictation puts there also comes as typed, but is more than a word: it is pasted, and the list would cover it.
    pub fn typed(self, event: &web_sys::Event) {
        let of_event = |name: &str| {
            let value = js_sys::Reflect::get(event, &name.into()).ok();
            value
                .and_then(|value| value.as_string())
                .unwrap_or_default()
        };
        let kind = of_event("inputType");
        let is_typed = matches!(kind.as_str(), "insertText" | "insertCompositionText")
            && !of_event("data").trim_end().contains([' ', '\n']);
        match is_typed || self.list.is_open() && kind.starts_with("delete") {
            true => self.offer(false),
            false => self.list.close(),
        }
    }

    /// Closes the list.
    pub fn close(self) {
        self.list.close();
    }

    /// Offers what can stand at the caret; where somebody asks for it, also in place of what stands there already.
    fn offer(self, is_asked: bool) {
        let Some(area) = self.area.get_untracked() else {
            return;
        };
        let text = area.value();
        let caret = area.selection_start().ok().flatten().unwrap_or(0) as usize;
        let found = complete(&text, byte_of(&text, caret));
        if !is_asked && found.is_written() {
            return self.list.close();
        }
        let candidates = found.candidates.iter().map(|candidate| Choice {
            text: candidate.text.trim_end().to_string(),
            note: candidate.note.clone(),
            why_not: String::new(),
        });
        let choices = candidates.collect();
        let is_first_active = is_asked || !found.typed.is_empty();
        self.found.set(found);
        self.follow();
        self.list.offer(choices, is_first_active);
    }

    /// Puts the list beside the place where what it offers begins, below the line or above it, wherever there is more room.
    pub fn follow(self) {
        let (Some(area), Some(probe)) = (self.area.get_untracked(), self.probe.get_untracked())
        else {
            return;
        };
        let text = area.value();
        let start = self.found.with_untracked(|found| found.range.start);
        let before = text.get(..start).unwrap_or_default();
        let (rows, column) = match before.rsplit_once('\n') {
            Some((above, line)) => (above.matches('\n').count() + 1, line.chars().count()),
            None => (0, before.chars().count()),
        };
        let (sheet, letter) = (
            area.get_bounding_client_rect(),
            probe.get_bounding_client_rect(),
        );
        let line = letter.height() / 10.0;
        let top = sheet.top() + PADDING + rows as f64 * line;
        let left = sheet.left() + PADDING + column as f64 * letter.width() / 10.0;
        let (width, height) = browser::window_size();
        let left = left.min(width - WIDTH - PADDING).max(PADDING);
        let pixels = |pixels: f64| pixels.to_string() + "px";
        let auto = || "auto".to_string();
        self.place.set(match top > height / 2.0 {
            true => (pixels(left), auto(), pixels(height - top)),
            false => (pixels(left), pixels(top + line), auto()),
        });
    }

    /// What a key does while the list is open, and the key that opens it.
    pub fn key(self, event: KeyboardEvent) {
        if event.is_composing() {
            return;
        }
        let key = event.key();
        let active = self.list.active();
        match key.as_str() {
            " " if event.ctrl_key() => self.offer(true),
            "Enter" if active.is_none() && !event.shift_key() => {
                if !self.break_line() {
                    return;
                }
            }
            _ if !self.list.is_open() => return,
            "ArrowDown" => self.list.move_by(1),
            "ArrowUp" => self.list.move_by(-1),
            "Enter" | "Tab" if active.is_some() && !event.shift_key() => {
                self.take(active.unwrap_or(0));
            }
            "Escape" => self.close(),
            "ArrowLeft" | "ArrowRight" | "Home" | "End" => return self.close(),
            _ => return,
        }
        event.prevent_default();
    }

    /// A new line that begins as far to the right as the one that the caret leaves; whether that is to the right at all.
    fn break_line(self) -> bool {
        let Some(area) = self.area.get_untracked() else {
            return false;
        };
        let text = area.value();
        let [start, end] = [area.selection_start(), area.selection_end()]
            .map(|place| place.ok().flatten().unwrap_or(0));
        let before = text.get(..byte_of(&text, start as usize)).unwrap_or("");
        let line = before.rsplit('\n').next().unwrap_or("");
        let blanks = line.len() - line.trim_start_matches(' ').len();
        if blanks > 0 {
            browser::write_into(&area, start, end, &("\n".to_string() + &line[..blanks]));
        }
        self.close();
        blanks > 0
    }

    /// Writes a candidate.
    fn take(self, place: usize) {
        let Some(area) = self.area.get_untracked() else {
            return;
        };
        let found = self.found.get_untracked();
        self.close();
        if let Some(candidate) = found.candidates.get(place) {
            let text = area.value();
            let unit = |byte: usize| {
                let before = text.get(..byte).unwrap_or_default();
                before.encode_utf16().count() as u32
            };
            let (start, end) = (unit(found.range.start), unit(found.range.end));
            browser::write_into(&area, start, end, &candidate.text);
        }
    }

    /// The list.
    pub fn draw(self) -> AnyView {
        let list = self
            .list
            .draw("What can stand here", move |place| self.take(place));
        let part = move |part: fn(&(String, String, String)) -> &String| {
            move || self.place.with(|place| part(place).clone())
        };
        view! {
            <div
                class="text__choices"
                style:left=part(|(left, ..)| left)
                style:top=part(|(_, top, _)| top)
                style:bottom=part(|(.., bottom)| bottom)
            >
                {list}
            </div>
        }
        .into_any()
    }
}

/// The byte before which so many units of UTF-16 stand, as browsers count.
fn byte_of(text: &str, units: usize) -> usize {
    let mut seen = 0;
    let at = text.char_indices().find(|(_, letter)| {
        seen += letter.len_utf16();
        seen > units
    });
    at.map_or(text.len(), |(at, _)| at)
}

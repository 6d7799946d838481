//! Choices under a field that keeps the focus: the listbox of ARIA's combobox, whose active option the field names by
//! `aria-activedescendant`.

use super::browser;
use super::view::*;

/// One thing to choose.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// Its name.
    pub text: String,
    /// What it is, or the key that does the same.
    pub note: String,
    /// Why it cannot be chosen now; empty: it can.
    pub why_not: String,
}

/// No choice is the active one.
const NONE: usize = usize::MAX;

/// The choices that are offered, and which of them is active.
#[derive(Clone, Copy)]
pub struct Choices {
    /// The id of the list.
    pub id: &'static str,
    all: RwSignal<Vec<Choice>>,
    active: RwSignal<usize>,
}

impl Choices {
    /// A list with this id, which offers nothing yet.
    pub fn new(id: &'static str) -> Choices {
        Choices {
            id,
            all: RwSignal::new(Vec::new()),
            active: RwSignal::new(NONE),
        }
    }

    /// Offers these, the first of which is active or none is; nothing to offer closes the list.
    pub fn offer(self, all: Vec<Choice>, is_first_active: bool) {
        let is_active = is_first_active && !all.is_empty();
        self.all.set(all);
        self.active.set(if is_active { 0 } else { NONE });
        self.show_active();
    }

    /// Closes the list.
    pub fn close(self) {
        if self.is_open() {
            self.offer(Vec::new(), false);
        }
    }

    /// Whether something is offered.
    pub fn is_open(self) -> bool {
        self.all.with_untracked(|all| !all.is_empty())
    }

    /// The place of the active one; `None`: none is.
    pub fn active(self) -> Option<usize> {
        Some(self.active.get_untracked()).filter(|active| *active != NONE)
    }

    /// The id of the active option, for the field.
    pub fn active_id(self) -> Option<String> {
        let active = self.active.get();
        (active != NONE).then(|| option_id(self.id, active))
    }

    /// Makes the next one (1) or the one before (-1) the active one, in a circle.
    pub fn move_by(self, step: isize) {
        let count = self.all.with_untracked(Vec::len) as isize;
        let next = match (self.active(), step < 0) {
            (Some(active), _) => (active as isize + step).rem_euclid(count.max(1)),
            (None, true) => count - 1,
            (None, false) => 0,
        };
        self.active.set(next as usize);
        self.show_active();
    }

    /// Scrolls the list so that the active option is in view.
    fn show_active(self) {
        let active = self.active.get_untracked();
        let (Some(list), option) = (
            browser::element(self.id),
            browser::element(&option_id(self.id, active)),
        ) else {
            return;
        };
        let Some(option) = option else {
            return list.set_scroll_top(0);
        };
        let (top, height) = (option.offset_top(), option.offset_height());
        let seen = list.client_height();
        let first = list.scroll_top().max(top + height - seen).min(top);
        list.set_scroll_top(first);
    }

    /// The list, under this name; who points at one takes it.
    pub fn draw(self, label: &'static str, take: impl Fn(usize) + Copy + 'static) -> AnyView {
        let options = move || {
            self.all.with(|all| {
                let options = all.iter().enumerate();
                options
                    .map(|(place, choice)| self.draw_one(place, choice.clone(), take))
                    .collect_view()
            })
        };
        // The focus stays in the field.
        let stay = |event: web_sys::MouseEvent| event.prevent_default();
        view! {
            <ul class="choices" id=self.id role="listbox" aria-label=label on:mousedown=stay>{options}</ul>
        }
        .into_any()
    }

    fn draw_one(self, place: usize, choice: Choice, take: impl Fn(usize) + 'static) -> AnyView {
        let Choice {
            text,
            note,
            why_not,
        } = choice;
        let is_active = move || match self.active.get() == place {
            true => "true",
            false => "false",
        };
        let is_off = (!why_not.is_empty()).then_some("true");
        let note = if why_not.is_empty() { note } else { why_not };
        view! {
            <li
                class="choice"
                id=option_id(self.id, place)
                role="option"
                aria-selected=is_active
                aria-disabled=is_off
                on:click=move |_| take(place)
            >
                <span class="choice__text">{text}</span>
                <span class="choice__note">{note}</span>
            </li>
        }
        .into_any()
    }
}

fn option_id(list: &str, place: usize) -> String {
    list.to_string() + "-" + &place.to_string()
}

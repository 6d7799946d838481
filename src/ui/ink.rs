//! The two shapes that the picture is made of, a path and a text, so that the page holds the code of each once.

use leptos::prelude::*;

/// A path, plain or hatched, or a text.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// A path.
    Path {
        /// Its classes.
        class: String,
        /// Where it leads, in SVG's words.
        way: String,
    },
    /// A path that is filled with the hatching of the stale holder.
    Hatched {
        /// Its classes.
        class: String,
        /// Where it leads.
        way: String,
    },
    /// A text.
    Text {
        /// Its classes.
        class: String,
        /// Where it stands.
        at: (i32, i32),
        /// Whether it is turned to read upward.
        upward: bool,
        /// What it says.
        words: String,
    },
}

impl Shape {
    /// The shape on the page.
    pub fn draw(self) -> AnyView {
        match self {
            Shape::Path { class, way } => view! { <path class=class d=way /> }.into_any(),
            Shape::Hatched { class, way } => {
                view! { <path class=class d=way fill="url(#hatch-stale)" /> }.into_any()
            }
            Shape::Text {
                class,
                at: (x, y),
                upward,
                words,
            } => {
                let turn = if upward { " rotate(-90)" } else { "" };
                let place = ["translate(", &x.to_string(), " ", &y.to_string(), ")", turn].concat();
                view! { <text class=class transform=place>{words}</text> }.into_any()
            }
        }
    }
}

/// Collects shapes.
#[derive(Default)]
pub struct Ink {
    /// What has been drawn.
    pub shapes: Vec<Shape>,
    /// Between which heights something is seen.
    pub window: (i32, i32),
    /// At which heights a command that a script called is named.
    pub calls: Vec<i32>,
}

impl Ink {
    /// Nothing yet.
    pub fn new() -> Ink {
        Ink {
            shapes: Vec::new(),
            window: (0, i32::MAX),
            calls: Vec::new(),
        }
    }

    /// A path.
    pub fn path(&mut self, class: &str, way: String) {
        self.path_in(class.to_string(), way);
    }

    /// A path whose classes were put together.
    pub fn path_in(&mut self, class: String, way: String) {
        self.shapes.push(Shape::Path { class, way });
    }

    /// A text that begins here.
    pub fn text(&mut self, class: &str, x: i32, y: i32, words: String) {
        self.shapes.push(Shape::Text {
            class: class.to_string(),
            at: (x, y),
            upward: false,
            words,
        });
    }

    /// A text that begins here and reads upward.
    pub fn upward(&mut self, class: &str, x: i32, y: i32, words: String) {
        self.shapes.push(Shape::Text {
            class: class.to_string(),
            at: (x, y),
            upward: true,
            words,
        });
    }

    /// A rectangle.
    pub fn rectangle(&mut self, class: &str, x: i32, y: i32, width: i32, height: i32) {
        self.path(
            class,
            numbers(&[
                ("M", x),
                (" ", y),
                ("h", width),
                ("v", height),
                ("h", -width),
            ]) + "z",
        );
    }

    /// A rectangle with the hatching of the stale holder.
    pub fn hatched(&mut self, class: &str, x: i32, y: i32, width: i32, height: i32) {
        self.rectangle(class, x, y, width, height);
        if let Some(Shape::Path { class, way }) = self.shapes.pop() {
            self.shapes.push(Shape::Hatched { class, way });
        }
    }

    /// A circle.
    pub fn circle(&mut self, class: &str, x: i32, y: i32, radius: i32) {
        let turn = [
            "a",
            &radius.to_string(),
            " ",
            &radius.to_string(),
            " 0 1 0 ",
        ]
        .concat();
        let way = numbers(&[("M", x - radius), (" ", y)])
            + &turn
            + &numbers(&[("", 2 * radius), (" ", 0)])
            + &turn
            + &numbers(&[("", -2 * radius), (" ", 0)])
            + "z";
        self.path(class, way);
    }
}

/// Numbers with what stands before each.
pub fn numbers(parts: &[(&str, i32)]) -> String {
    let mut all = String::new();
    for (before, number) in parts {
        all.push_str(before);
        all.push_str(&number.to_string());
    }
    all
}

/// The torn edge of the axis.
pub fn zigzag(y: i32, width: i32) -> String {
    numbers(&[("M0 ", y)]) + &"l6 -4l6 4".repeat((width / 12 + 1).max(0) as usize)
}

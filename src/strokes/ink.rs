//! The two shapes that the picture is made of, a path and a text, so that the page holds the code of each once; and the labels,
//! which stand above all strokes, each on a ground of its own, and are kept apart.

use crate::diagram::Lane;

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

/// Words beside a mark or an arrow.
#[derive(Clone, Debug, PartialEq)]
pub struct Label {
    class: String,
    /// Its left edge.
    left: i32,
    /// The line that it stands on.
    y: i32,
    width: i32,
    words: String,
}

impl Label {
    /// How high a label is, and so how far two are kept apart that stand one over the other.
    const HEIGHT: i32 = 13;

    fn covers(&self, other: &Label) -> bool {
        (self.y - other.y).abs() < Label::HEIGHT
            && self.left < other.left + other.width
            && other.left < self.left + self.width
    }

    /// Moves it down to where it covers none of these.
    pub fn make_way(&mut self, others: &[&Label]) {
        while let Some(other) = others.iter().find(|other| self.covers(other)) {
            self.y = other.y + Label::HEIGHT;
        }
    }

    /// The line that it stands on.
    pub fn y(&self) -> i32 {
        self.y
    }

    /// The label on its ground, which has this class.
    pub fn shapes(&self, ground: &str) -> [Shape; 2] {
        let way = numbers(&[
            ("M", self.left - 2),
            (" ", self.y - 10),
            ("h", self.width + 3),
            ("v", Label::HEIGHT),
            ("h", -self.width - 3),
        ]);
        let at = match self.class.contains("p-end") {
            true => (self.left + self.width, self.y),
            false => (self.left, self.y),
        };
        [
            Shape::Path {
                class: ground.to_string(),
                way: way + "z",
            },
            Shape::Text {
                class: self.class.clone(),
                at,
                upward: false,
                words: self.words.clone(),
            },
        ]
    }
}

/// Moves each label that would cover one above it to below that one.
pub fn keep_apart(mut labels: Vec<&mut Label>) {
    crate::sorted::sort_by_key(&mut labels, |label| label.y);
    for place in 1..labels.len() {
        let (before, others) = labels.split_at_mut(place);
        for above in before {
            if others[0].covers(above) {
                others[0].y = above.y + Label::HEIGHT;
            }
        }
    }
}

/// Collects shapes.
#[derive(Default)]
pub struct Ink {
    /// What has been drawn.
    pub shapes: Vec<Shape>,
    /// The labels, which are drawn above all shapes.
    pub labels: Vec<Label>,
    /// Between which heights something is seen.
    pub window: (i32, i32),
    /// At which heights a command that a script called is named.
    pub calls: Vec<i32>,
    /// Between which two points a message goes.
    pub messages: Vec<[(i32, i32); 2]>,
    /// In which lane, over the belief in which lock and from which height on a holder is stale.
    pub gaps: Vec<(Lane, usize, i32)>,
}

impl Ink {
    /// Nothing yet.
    pub fn new() -> Ink {
        Ink {
            window: (0, i32::MAX),
            ..Ink::default()
        }
    }

    /// At which heights, from above, messages cross this place.
    pub fn crossings(&self, x: i32) -> Vec<i32> {
        let crossing = |[from, to]: &[(i32, i32); 2]| {
            let is_crossed = (from.0.min(to.0)..from.0.max(to.0)).contains(&x);
            is_crossed.then(|| from.1 + (to.1 - from.1) * (x - from.0) / (to.0 - from.0))
        };
        let mut crossings: Vec<i32> = self.messages.iter().filter_map(crossing).collect();
        crossings.sort_unstable();
        crossings
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

    /// Words beside something, which begin here, or end here where the class has `p-end`.
    pub fn label(&mut self, class: &str, x: i32, y: i32, words: String) {
        // In tenths of a pixel: a letter of the typewriter's, of the bold and of the ordinary typeface.
        let letter = match class {
            class if class.contains("p-mono") => 66,
            class if class.contains("word") => 68,
            _ => 60,
        };
        let width = words.chars().count() as i32 * letter / 10 + 2;
        self.labels.push(Label {
            class: class.to_string(),
            left: if class.contains("p-end") {
                x - width
            } else {
                x
            },
            y,
            width,
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

#[cfg(test)]
mod tests {
    use super::Ink;

    #[test]
    fn a_label_makes_way_downward_for_all_that_it_would_cover() {
        let mut ink = Ink::new();
        ink.label("p-words", 10, 20, "gives up waiting".to_owned());
        ink.label("p-words", 10, 34, "stopped".to_owned());
        ink.label("p-words", 400, 47, "far beside it".to_owned());
        ink.label("p-mono", 10, 26, "clock +10 001 ms".to_owned());
        let mut clock = ink.labels.pop().expect("the clock's label");
        clock.make_way(&ink.labels.iter().collect::<Vec<_>>());
        assert_eq!(clock.y(), 47);
    }

    #[test]
    fn a_message_crosses_what_stands_between_its_ends() {
        let mut ink = Ink::new();
        ink.messages = vec![[(100, 40), (200, 50)], [(200, 20), (100, 30)]];
        assert_eq!(ink.crossings(150), [25, 45]);
        assert_eq!(ink.crossings(250), [0; 0]);
    }
}

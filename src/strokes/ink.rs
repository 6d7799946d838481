//! The two shapes that the picture is made of, a path and a text, so that the page holds the code of each once; and the labels,
//! which stand above all strokes, each on a ground of its own, and are kept apart.

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
}

impl Ink {
    /// Nothing yet.
    pub fn new() -> Ink {
        Ink {
            shapes: Vec::new(),
            labels: Vec::new(),
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

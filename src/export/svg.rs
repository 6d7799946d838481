//! The picture as a file of its own, in SVG: the strokes that the page draws, with their looks written beside them, in light
//! colours, and in dark ones for whoever prefers those.

use crate::diagram::{Diagram, LanePlaces};
use crate::scenario::Reading;
use crate::sorted::SortedMap;
use crate::strokes::ink::Shape;
use crate::strokes::{self, ABOVE, BELOW, Group, HEADS};
use crate::timeline::Timeline;

use super::looks::{Element, Looks, Said};

/// How wide the picture is at least, in pixels: as wide as what is written around it where it will be shown.
const WIDTH: i32 = 880;

/// The picture of the whole schedule.
pub(super) fn print(reading: &Reading, timeline: &Timeline) -> String {
    let mut diagram = Diagram::new(&reading.setup);
    for entry in timeline.entries() {
        diagram.extend(&reading.setup, entry);
    }
    let places = LanePlaces::new(&diagram.lanes(), diagram.locks().len(), WIDTH);
    let heads = [
        (String::new(), strokes::heads(&reading.setup, &places)),
        ("p-axis".to_owned(), strokes::corner(&places)),
    ];
    let height = diagram.height(timeline.len());
    let time = strokes::sheet(&diagram, &places, (0, height), timeline);
    let mut paper = Paper {
        looks: Looks::new(),
        known: SortedMap::default(),
        dark: Vec::new(),
        lines: Vec::new(),
    };
    paper.heads(&places, &heads);
    let down = HEADS + ABOVE;
    paper.line(format!("<g transform=\"translate(0 {down})\">"));
    paper.groups(&time);
    paper.line("</g>".to_owned());
    paper.file(&reading.title, places.width, HEADS + ABOVE + height + BELOW)
}

struct Paper {
    looks: Looks,
    /// The attributes of elements that have been written; `None`: nothing of one is seen.
    known: SortedMap<[String; 4], Option<String>>,
    /// What looks otherwise in the dark, each once; its class is its place.
    dark: Vec<Vec<Said>>,
    lines: Vec<String>,
}

impl Paper {
    fn line(&mut self, line: String) {
        self.lines.push(line);
    }

    fn heads(&mut self, places: &LanePlaces, heads: &[Group]) {
        self.groups(heads);
        let edge = Element {
            tag: "path",
            class: "p-rule",
            before: "",
            group: "",
        };
        let looks = self.attributes(edge).unwrap_or_default();
        let y = HEADS - 1;
        self.line(format!("<path{looks} d=\"M0 {y}.5H{}\"/>", places.width));
    }

    fn groups(&mut self, groups: &[Group]) {
        for (group, shapes) in groups {
            let mut before = "";
            for shape in shapes {
                let (Shape::Path { class, .. }
                | Shape::Hatched { class, .. }
                | Shape::Text { class, .. }) = shape;
                let tag = match shape {
                    Shape::Text { .. } => "text",
                    _ => "path",
                };
                let element = Element {
                    tag,
                    class,
                    before,
                    group,
                };
                self.shape(shape, element);
                before = class;
            }
        }
    }

    fn shape(&mut self, shape: &Shape, element: Element<'_>) {
        let Some(looks) = self.attributes(element) else {
            return;
        };
        let line = match shape {
            Shape::Path { way, .. } => format!("<path{looks} d=\"{way}\"/>"),
            Shape::Hatched { way, .. } => {
                format!("<path{looks} fill=\"url(#stale)\" d=\"{way}\"/>")
            }
            Shape::Text {
                at: (x, y),
                upward,
                words,
                ..
            } => {
                let place = match upward {
                    true => format!("transform=\"translate({x} {y}) rotate(-90)\""),
                    false => format!("x=\"{x}\" y=\"{y}\""),
                };
                format!("<text{looks} {place}>{}</text>", escaped(words))
            }
        };
        self.line(line);
    }

    /// The looks of an element as attributes, and the class that it has where it looks otherwise in the dark; `None`: it is not
    /// seen.
    fn attributes(&mut self, element: Element<'_>) -> Option<String> {
        let Element {
            tag,
            class,
            before,
            group,
        } = element;
        let key = [tag, class, before, group].map(str::to_owned);
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let attributes = self.new_attributes(element);
        self.known.insert(key, attributes.clone());
        attributes
    }

    fn new_attributes(&mut self, element: Element<'_>) -> Option<String> {
        let light = self.looks.of(element, false);
        let is = |name: &str, value: &str| light.iter().any(|one| one.0 == name && one.1 == value);
        let has_stroke = light.iter().any(|(name, _)| *name == "stroke");
        if is("opacity", "0") || (is("fill", "transparent") && !has_stroke) {
            return None;
        }
        let mut dark = self.looks.of(element, true);
        dark.retain(|said| !light.contains(said));
        let mut out = String::new();
        if !dark.is_empty() {
            let known = self.dark.iter().position(|known| *known == dark);
            let place = known.unwrap_or_else(|| {
                self.dark.push(dark);
                self.dark.len() - 1
            });
            out.push_str(&format!(" class=\"d{place}\""));
        }
        let sans = self.looks.variable("--sans");
        for (name, value) in light {
            if name == "font-family" && value == sans {
                continue;
            }
            let value = value.replace('"', "'");
            out.push_str(&format!(" {name}=\"{}\"", escaped(&value)));
        }
        Some(out)
    }

    /// The file: what all of it stands on, and then the lines.
    fn file(mut self, title: &str, width: i32, height: i32) -> String {
        let lines = std::mem::take(&mut self.lines);
        let ground = self
            .attributes(Element {
                tag: "path",
                class: "p-hatch-ground",
                before: "",
                group: "",
            })
            .unwrap_or_default();
        let hatch = self
            .attributes(Element {
                tag: "path",
                class: "p-hatch-line",
                before: "",
                group: "",
            })
            .unwrap_or_default();
        let sans = escaped(&self.looks.variable("--sans").replace('"', "'"));
        self.line(format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"img\" font-family=\"{sans}\">"
        ));
        self.line(format!("<title>{}</title>", escaped(title)));
        self.line("<style>".to_owned());
        self.line("@media (prefers-color-scheme: dark) {".to_owned());
        for (place, said) in std::mem::take(&mut self.dark).into_iter().enumerate() {
            let said = said.iter().map(|(name, value)| format!("{name}: {value}"));
            let said: Vec<String> = said.collect();
            self.line(format!("  .d{place} {{ {} }}", said.join("; ")));
        }
        self.line("}".to_owned());
        self.line("</style>".to_owned());
        let pattern = "<pattern id=\"stale\" width=\"9\" height=\"9\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">";
        self.line(format!(
            "<defs>{pattern}<path{ground} d=\"M0 0h9v9h-9z\"/><path{hatch} d=\"M0 0v9\"/></pattern></defs>"
        ));
        self.line(format!(
            "<path{ground} d=\"M0 0h{width}v{height}h-{width}z\"/>"
        ));
        self.lines.extend(lines);
        self.line("</svg>\n".to_owned());
        self.lines.join("\n")
    }
}

/// A text as XML has it; what XML cannot say at all becomes a replacement character.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            letter if letter < ' ' && !matches!(letter, '\t' | '\n' | '\r') => out.push('\u{fffd}'),
            letter => out.push(letter),
        }
    }
    out
}

//! What the page's style sheets say of the picture's shapes, light and dark, for a file that has no page around it: as much of CSS
//! as they use for the picture.

use crate::sorted::SortedMap;

/// The palette, and the picture.
const SHEETS: [&str; 2] = [
    include_str!("../../style/tokens.css"),
    include_str!("../../style/picture.css"),
];

/// What an SVG file can say of a shape, in the order in which it is written.
const SAID: [&str; 14] = [
    "fill",
    "stroke",
    "stroke-width",
    "stroke-dasharray",
    "stroke-linecap",
    "stroke-linejoin",
    "opacity",
    "paint-order",
    "font-family",
    "font-size",
    "font-weight",
    "letter-spacing",
    "text-anchor",
    "--hue",
];

/// A name and a value.
pub(super) type Said = (&'static str, String);

/// An element that is looked at.
#[derive(Clone, Copy)]
pub(super) struct Element<'a> {
    /// `path` or `text`, or another one.
    pub tag: &'a str,
    /// Its classes.
    pub class: &'a str,
    /// The classes of the element before it.
    pub before: &'a str,
    /// The classes of the group that it is in.
    pub group: &'a str,
}

/// The style sheets, read.
pub(super) struct Looks {
    palette: SortedMap<String, String>,
    rules: Vec<Rule>,
}

struct Rule {
    /// From the outermost element to the one that is meant; before each, what stands between it and the one before.
    selector: Vec<(char, Compound)>,
    said: Vec<(String, String)>,
}

/// `text.p-mono`: a tag, which may be missing, and classes.
struct Compound {
    tag: String,
    classes: Vec<String>,
}

impl Looks {
    /// Reads the style sheets.
    pub fn new() -> Looks {
        let mut looks = Looks {
            palette: SortedMap::default(),
            rules: Vec::new(),
        };
        for sheet in SHEETS {
            looks.read(&without_remarks(sheet));
        }
        // Later rules go before earlier ones where they are as exact.
        looks.rules.sort_by_key(Rule::exactness);
        looks
    }

    fn read(&mut self, sheet: &str) {
        let mut rest = sheet;
        while let Some((head, behind)) = rest.split_once('{') {
            let end = end_of_block(behind);
            let body = &behind[..end];
            rest = behind.get(end + 1..).unwrap_or_default();
            let head = head.trim();
            if head.starts_with('@') {
                continue;
            }
            let said = declarations(body);
            if head == ":root" {
                for (name, value) in said {
                    self.palette.insert(name, value);
                }
                continue;
            }
            for selector in alternatives(head) {
                let selector = compounds(&selector);
                let said = said.clone();
                self.rules
                    .extend(selector.map(|selector| Rule { selector, said }));
            }
        }
    }

    /// What is said of an element, in light or in dark colours.
    pub fn of(&self, element: Element<'_>, dark: bool) -> Vec<Said> {
        let own = self.cascaded(element);
        let group = self.cascaded(Element {
            tag: "g",
            class: element.group,
            before: "",
            group: "",
        });
        let hue = |said: &[(&'static str, String)]| {
            let hue = said.iter().find(|(name, _)| *name == "--hue");
            hue.map(|(_, value)| value.clone())
        };
        let hue = hue(&own).or_else(|| hue(&group)).unwrap_or_default();
        own.into_iter()
            .filter(|(name, _)| !name.starts_with("--"))
            .map(|(name, value)| (name, self.resolved(&value, &hue, dark)))
            .collect()
    }

    /// What a name of the palette stands for.
    pub fn variable(&self, name: &str) -> String {
        self.palette.get(name).cloned().unwrap_or_default()
    }

    fn cascaded(&self, element: Element<'_>) -> Vec<Said> {
        let mut all: Vec<(&str, &str)> = Vec::new();
        for rule in self.rules.iter().filter(|rule| rule.means(element)) {
            all.extend(rule.said.iter().map(|(name, value)| (&**name, &**value)));
        }
        let last = |name: &'static str| {
            let value = all.iter().rev().find(|(other, _)| *other == name)?.1;
            Some((name, value.to_owned()))
        };
        SAID.into_iter().filter_map(last).collect()
    }

    /// A value without variables and functions.
    fn resolved(&self, value: &str, hue: &str, dark: bool) -> String {
        let mut value = value.to_owned();
        while let Some((from, to, inside)) = call(&value, "var(") {
            let (name, usual) = inside.split_once(',').unwrap_or((inside, ""));
            let found = match name.trim() {
                "--hue" => hue,
                name => self.palette.get(name).map_or(usual.trim(), String::as_str),
            };
            value = format!("{}{found}{}", &value[..from], &value[to..]);
        }
        while let Some((from, to, inside)) = call(&value, "light-dark(") {
            let (light, other) = inside.split_once(',').unwrap_or((inside, inside));
            let chosen = if dark { other } else { light };
            value = format!("{}{}{}", &value[..from], chosen.trim(), &value[to..]);
        }
        if let Some((from, to, inside)) = call(&value, "color-mix(") {
            value = format!("{}{}{}", &value[..from], mixed(inside), &value[to..]);
        }
        value
    }
}

impl Rule {
    /// How many classes and how many tags it asks for.
    fn exactness(&self) -> (usize, usize) {
        let classes = self.selector.iter().map(|(_, one)| one.classes.len());
        let tags = self.selector.iter().filter(|(_, one)| !one.tag.is_empty());
        (classes.sum(), tags.count())
    }

    fn means(&self, element: Element<'_>) -> bool {
        let Some(((sign, last), outer)) = self.selector.split_last() else {
            return false;
        };
        if !last.is(element.tag, element.class) {
            return false;
        }
        let around = [("section", "picture"), ("svg", ""), ("g", element.group)];
        match (sign, outer.split_last()) {
            (_, None) => true,
            ('+', Some(((_, before), []))) => before.is("path", element.before),
            ('>', Some(((_, parent), []))) => parent.is("g", element.group),
            (' ', _) => is_within(outer, &around),
            _ => false,
        }
    }
}

/// Whether these elements are around, from the outermost on.
fn is_within(selector: &[(char, Compound)], around: &[(&str, &str)]) -> bool {
    let mut around = around.iter();
    selector
        .iter()
        .all(|(_, one)| around.any(|(tag, class)| one.is(tag, class)))
}

impl Compound {
    fn is(&self, tag: &str, class: &str) -> bool {
        let mut classes = class.split(' ');
        (self.tag.is_empty() || self.tag == tag)
            && self
                .classes
                .iter()
                .all(|wanted| classes.clone().any(|class| class == wanted))
            && (!self.classes.is_empty() || classes.next().is_some())
    }
}

fn without_remarks(sheet: &str) -> String {
    let parts = sheet.split("/*").enumerate();
    let code = parts.map(|(place, part)| match place {
        0 => part,
        _ => part.split_once("*/").map_or("", |(_, code)| code),
    });
    code.collect()
}

/// Where the block ends that this is the inside of.
fn end_of_block(inside: &str) -> usize {
    let mut depth = 1;
    for (place, letter) in inside.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return place;
        }
    }
    inside.len()
}

/// What a block says; `font` is taken apart.
fn declarations(body: &str) -> Vec<(String, String)> {
    let mut said = Vec::new();
    for declaration in body.split(';') {
        let Some((name, value)) = declaration.split_once(':') else {
            continue;
        };
        let (name, value) = (name.trim(), value.trim());
        if name != "font" {
            said.push((name.to_owned(), value.to_owned()));
            continue;
        }
        let mut words = value.splitn(3, ' ').peekable();
        let is_weight = |word: &&str| word.bytes().all(|byte| byte.is_ascii_digit());
        let weight = words.next_if(is_weight).unwrap_or("400");
        let font = [
            ("font-weight", weight),
            ("font-size", words.next().unwrap_or_default()),
            ("font-family", words.next().unwrap_or_default()),
        ];
        said.extend(font.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }
    said
}

/// The selectors of a rule, with `:is(a, b)` written out.
fn alternatives(head: &str) -> Vec<String> {
    let Some((from, to, inside)) = call(head, ":is(") else {
        return head.split(',').map(|one| one.trim().to_owned()).collect();
    };
    let written = inside
        .split(',')
        .map(|one| format!("{}{}{}", &head[..from], one.trim(), &head[to..]));
    written.flat_map(|head| alternatives(&head)).collect()
}

/// The elements of a selector; `None` where it asks for more than tags and classes.
fn compounds(selector: &str) -> Option<Vec<(char, Compound)>> {
    let mut all = Vec::new();
    let mut between = ' ';
    for word in selector.split_whitespace() {
        if let ">" | "+" = word {
            between = word.chars().next()?;
            continue;
        }
        if word.contains([':', '[', '*', '~']) {
            return None;
        }
        let mut parts = word.split('.').map(str::to_owned);
        let tag = parts.next()?;
        let classes = parts.collect();
        all.push((between, Compound { tag, classes }));
        between = ' ';
    }
    Some(all)
}

/// The last call of a function in a text, which has none within it: from where to where it stands, and what is inside.
fn call<'t>(text: &'t str, open: &str) -> Option<(usize, usize, &'t str)> {
    let from = text.rfind(open)?;
    let inside = &text[from + open.len()..];
    let length = inside.find(')')?;
    Some((from, from + open.len() + length + 1, &inside[..length]))
}

/// `in srgb, #17599a 86%, #fbf9f3` as one colour.
fn mixed(inside: &str) -> String {
    let mut parts = inside.split(',').skip(1).map(str::trim);
    let (first, second) = (
        parts.next().unwrap_or_default(),
        parts.next().unwrap_or_default(),
    );
    let (first, share) = first.split_once(' ').unwrap_or((first, "50%"));
    let share: u32 = share.trim_end_matches('%').parse().unwrap_or(50);
    let channels = channels(first).into_iter().zip(channels(second));
    let mixed = channels.map(|(one, other)| (one * share + other * (100 - share) + 50) / 100);
    let hex: String = mixed.map(|channel| format!("{channel:02x}")).collect();
    format!("#{hex}")
}

/// Red, green and blue of `#17599a`.
fn channels(colour: &str) -> [u32; 3] {
    let at = |place: usize| {
        let digits = colour.get(place..place + 2).unwrap_or_default();
        u32::from_str_radix(digits, 16).unwrap_or_default()
    };
    [at(1), at(3), at(5)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(tag: &str, class: &str, group: &str, name: &str, dark: bool) -> String {
        let element = Element {
            tag,
            class,
            before: "p-gate p-gate--closed",
            group,
        };
        let said = Looks::new().of(element, dark);
        let value = said.into_iter().find(|(said, _)| *said == name);
        value.map_or_else(String::new, |(_, value)| value)
    }

    #[test]
    fn the_style_sheets_say_what_a_shape_looks_like() {
        assert_eq!(look("path", "p-message", "", "stroke", false), "#1d1b17");
        assert_eq!(look("path", "p-message", "", "stroke", true), "#ece7dc");
        let reply = "p-message p-message--reply p-message--lost";
        assert_eq!(look("path", reply, "", "stroke", false), "#9c1f2e");
        assert_eq!(look("path", reply, "", "stroke-dasharray", false), "5 3");
        assert_eq!(look("text", "p-mono p-call", "", "fill", false), "#4f493e");
        assert_eq!(look("text", "p-lane-name", "", "font-size", false), "13px");
        assert_eq!(look("text", "p-words", "", "font-size", false), "11px");
    }

    #[test]
    fn hues_mixtures_and_neighbours_are_known() {
        let of_a = "p-part is-client-1";
        assert_eq!(look("path", "p-belief", of_a, "stroke", false), "#17599a");
        // 0.86 of #17599a and 0.14 of #fbf9f3.
        assert_eq!(look("path", "p-lease", of_a, "fill", false), "#376fa6");
        let own = "p-line p-line--client is-client-2";
        assert_eq!(look("path", own, of_a, "stroke", false), "#93306c");
        assert_eq!(look("path", "p-gate-bar", "", "stroke", false), "#fbf9f3");
        assert_eq!(
            look("path", "p-head", "p-part p-future", "opacity", false),
            "0.35"
        );
        assert_eq!(look("path", "p-ground", "p-axis", "opacity", false), "0");
    }
}

//! The texts of tests: a language writes down the whole file once, and what not every test needs stands in it under a condition.
//!
//! ```text
//! %if store !holds      what follows, where all of these are true and none with a `!` is
//! %end
//!     %rows             what is called so is written here, as deep as this stands
//! class {{class}}       a word of the test
//! %each                 what follows, once for each Redis server, with {{server}}, {{place}}, {{suffix}}
//! %end
//! ```

/// A line of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Line<'t> {
    /// As it is.
    Text(String),
    /// Something that is written here, and how deep.
    Insert(&'t str, usize),
}

/// The lines of a text whose conditions are met. `each` are the words of what some lines are written for, one time each.
pub(super) fn lines<'t>(
    text: &'t str,
    is_true: &dyn Fn(&str) -> bool,
    each: &[Vec<(&'static str, String)>],
) -> Vec<Line<'t>> {
    let mut lines = Vec::new();
    let mut conditions: Vec<bool> = Vec::new();
    let mut repeated: Option<Vec<&str>> = None;
    for line in text.lines() {
        let blanks = line.len() - line.trim_start().len();
        let blanks = blanks + 3 * line.matches('\t').count();
        let directive = line.trim_start().strip_prefix('%');
        match directive {
            Some("end") => {
                conditions.pop();
                let block = repeated.take().unwrap_or_default();
                for words in each {
                    lines.extend(block.iter().map(|line| Line::Text(with_words(line, words))));
                }
            }
            Some("each") => {
                let is_shown = !conditions.contains(&false);
                conditions.push(is_shown);
                repeated = is_shown.then(Vec::new);
            }
            Some(condition) if condition.starts_with("if ") => {
                let mut names = condition.split_whitespace().skip(1);
                conditions.push(names.all(|name| match name.strip_prefix('!') {
                    Some(name) => !is_true(name),
                    None => is_true(name),
                }));
            }
            _ if conditions.contains(&false) => {}
            Some(name) => lines.push(Line::Insert(name, blanks)),
            None => match &mut repeated {
                Some(block) => block.push(line),
                None => lines.push(Line::Text(line.to_owned())),
            },
        }
    }
    lines
}

/// A line with words in place of their names: `{{name}}`.
pub(super) fn with_words(line: &str, words: &[(&'static str, String)]) -> String {
    words.iter().fold(line.to_owned(), |line, (name, word)| {
        line.replace(&format!("{{{{{name}}}}}"), word)
    })
}

/// A text with these values in place of their names: `{name}`.
pub(super) fn filled(text: &str, values: &[(&str, &str)]) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        out.push_str(&rest[..open]);
        rest = &rest[open..];
        let known = values.iter().find_map(|(name, value)| {
            let behind = rest[1..].strip_prefix(*name)?.strip_prefix('}')?;
            Some((*value, behind))
        });
        match known {
            Some((value, behind)) => {
                out.push_str(value);
                rest = behind;
            }
            None => {
                out.push('{');
                rest = &rest[1..];
            }
        }
    }
    out + rest
}

//! How long lines are broken: on one line where it fits, else in the way of the language's formatter.

use super::words::wrapped;

/// A piece of code that may be broken between its items.
#[derive(Clone, Debug)]
pub(super) struct Code {
    /// What stands before the items: `f(`.
    pub open: String,
    /// What is set off by commas.
    pub items: Vec<Code>,
    /// What stands behind them: `)`.
    pub close: String,
    /// Whether the last item is a function without braces, which moves into the next line as a whole.
    pub hugs: bool,
}

/// In which way lines are broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// As black and ruff do: first all items together on a line of their own, then one to a line.
    Black,
    /// As prettier does: one to a line.
    OneEach,
    /// As google-java-format does: behind what is assigned first, then as black does, with what closes behind the last item.
    Google,
    /// As rustfmt does: one to a line, with shorter lines for arguments, and what awaits on lines of its own.
    Rustfmt,
}

/// Code without items.
pub(super) fn leaf(text: impl Into<String>) -> Code {
    Code {
        open: text.into(),
        items: Vec::new(),
        close: String::new(),
        hugs: false,
    }
}

/// `open item, item close`.
pub(super) fn list(open: impl Into<String>, items: Vec<Code>, close: impl Into<String>) -> Code {
    Code {
        open: open.into(),
        items,
        close: close.into(),
        hugs: false,
    }
}

impl Code {
    /// On one line.
    pub fn flat(&self) -> String {
        let items: Vec<String> = self.items.iter().map(Code::flat).collect();
        format!("{}{}{}", self.open, items.join(", "), self.close)
    }

    fn is_long(&self) -> bool {
        self.open.contains('\n') || self.items.iter().any(Code::is_long)
    }
}

/// The lines of a piece of code that begins `indent` columns from the left, and with a width for each line; text of several
/// lines is left as it is. `tab` is how much deeper what is inside of brackets stands.
pub(super) fn laid_out(
    code: &Code,
    indent: usize,
    behind: &str,
    width: usize,
    tab: usize,
    style: Style,
) -> String {
    if style == Style::Google {
        return google(code, indent, behind, width);
    }
    let blanks = " ".repeat(indent);
    let flat = code.flat();
    let fits = |text: &str, indent: usize| indent + text.chars().count() <= width;
    let is_flat = style != Style::Rustfmt || is_short(code);
    if code.items.is_empty()
        || (is_flat && !code.is_long() && fits(&format!("{flat}{behind}"), indent))
    {
        return format!("{blanks}{flat}{behind}");
    }
    if style == Style::Rustfmt
        && let Some(laid) = chain(code, indent, width, tab)
    {
        return laid;
    }
    if let (Style::Rustfmt, [only]) = (style, code.items.as_slice())
        && !only.items.is_empty()
    {
        let joined = Code {
            open: format!("{}{}", code.open, only.open),
            close: format!("{}{}", only.close, code.close),
            ..only.clone()
        };
        return laid_out(&joined, indent, behind, width, tab, style);
    }
    let deeper = indent + tab;
    let mut out = format!("{blanks}{}", code.open);
    if let (true, Some((last, first))) = (code.hugs, code.items.split_last()) {
        let first: Vec<String> = first.iter().map(Code::flat).collect();
        let head = format!("{out}{}, {}", first.join(", "), last.open);
        if let ([body], true) = (last.items.as_slice(), fits(head.trim_end(), 0)) {
            out = head.trim_end().to_owned();
            out.push('\n');
            out.push_str(&laid_out(body, deeper, ",", width, tab, style));
            out.push_str(&format!("\n{blanks}{}{behind}", code.close));
            return out;
        }
    }
    if let ([body], "") = (code.items.as_slice(), code.close.as_str()) {
        out.truncate(out.trim_end().len());
        return format!(
            "{out}\n{}",
            laid_out(body, deeper, behind, width, tab, style)
        );
    }
    let together = code
        .items
        .iter()
        .map(Code::flat)
        .collect::<Vec<_>>()
        .join(", ");
    let is_call = !code.open.ends_with('[') && code.open != "(";
    let stays_together = style == Style::Black && (is_call || code.items.len() == 1);
    if stays_together && !code.is_long() && fits(&together, deeper) {
        out.push_str(&format!("\n{}{together}", " ".repeat(deeper)));
    } else if style == Style::Rustfmt && is_filled(code) {
        for line in wrapped(&together, width - deeper) {
            out.push_str(&format!("\n{}{line}", " ".repeat(deeper)));
        }
    } else {
        for (place, item) in code.items.iter().enumerate() {
            let is_last = place + 1 == code.items.len();
            // Rust's macros have no comma there.
            let comma = if is_last && code.open.ends_with("!(") {
                ""
            } else {
                ","
            };
            out.push('\n');
            out.push_str(&laid_out(item, deeper, comma, width, tab, style));
        }
    }
    out.push_str(&format!("\n{blanks}{}{behind}", code.close));
    out
}

/// How much deeper google-java-format sets what a line goes on with.
const GOES_ON: usize = 4;

fn google(code: &Code, indent: usize, behind: &str, width: usize) -> String {
    let (blanks, deeper) = (" ".repeat(indent), indent + GOES_ON);
    let flat = format!("{blanks}{}{behind}", code.flat());
    if !code.is_long() && flat.chars().count() <= width {
        return flat;
    }
    if let Some((head, rest)) = assigned(&code.open) {
        let rest = Code {
            open: rest.to_owned(),
            ..code.clone()
        };
        return format!("{blanks}{head}\n{}", google(&rest, deeper, behind, width));
    }
    let Some((last, first)) = code.items.split_last() else {
        return flat;
    };
    let close = format!("{}{behind}", code.close);
    let items: Vec<String> = code.items.iter().map(Code::flat).collect();
    let together = format!("{}{}{close}", " ".repeat(deeper), items.join(", "));
    let mut lines = vec![format!("{blanks}{}", code.open)];
    if !code.items.iter().any(Code::is_long) && together.chars().count() <= width {
        lines.push(together);
    } else {
        let first = first.iter().map(|item| google(item, deeper, ",", width));
        lines.extend(first);
        lines.push(google(last, deeper, &close, width));
    }
    lines.join("\n")
}

/// What stands before `=` or `->`, and what behind it.
fn assigned(open: &str) -> Option<(&str, &str)> {
    let is_name = |name: &str| !name.contains(['"', '.']);
    [" = ", " -> "].into_iter().find_map(|sign| {
        let (name, rest) = open.split_once(sign)?;
        (is_name(name) && !rest.is_empty()).then(|| {
            let head = &open[..open.len() - rest.len()];
            (head.trim_end(), rest)
        })
    })
}

/// How long rustfmt lets arguments, and whole chains of calls, become on one line.
const SHORT: usize = 60;

/// Whether rustfmt fills lines with what a macro is given, for it is short.
fn is_filled(code: &Code) -> bool {
    let is_short = |item: &Code| item.flat().chars().count() <= 10;
    code.open.ends_with("!(") && code.items.iter().all(is_short)
}

/// Whether rustfmt leaves this on one line, if it fits.
fn is_short(code: &Code) -> bool {
    let items: Vec<String> = code.items.iter().map(Code::flat).collect();
    let awaits = code.close.contains(").await");
    let assigned = code
        .open
        .split_once(" = ")
        .map_or(0, |(name, _)| name.len() + 3);
    let chain = &code.flat()[assigned..];
    items.join(", ").chars().count() <= SHORT
        && (!awaits || chain.trim_end_matches(';').chars().count() <= SHORT)
        && code.items.iter().all(is_short)
}

/// A call that is awaited, and does not fit on a line: `root`, `.call(...)` and `.await` below one another, or the first two
/// together where the root is no longer than a tab.
fn chain(code: &Code, indent: usize, width: usize, tab: usize) -> Option<String> {
    let (call, awaits) = code.close.split_once(".await")?;
    let (assigned, root) = match code.open.split_once(" = ") {
        Some((name, root)) => (format!("{name} = "), root),
        None => (String::new(), code.open.as_str()),
    };
    let (root, method) = root.split_once('.')?;
    let (blanks, deeper) = (" ".repeat(indent), " ".repeat(indent + tab));
    let call = |open: String, indent: usize| {
        let call = Code {
            open,
            close: call.to_owned(),
            ..code.clone()
        };
        laid_out(&call, indent, "", width, tab, Style::Rustfmt)
    };
    Some(if root.chars().count() <= tab {
        let call = call(format!("{assigned}{root}.{method}"), indent);
        let deeper = if call.contains('\n') { blanks } else { deeper };
        format!("{call}\n{deeper}.await{awaits}")
    } else {
        let call = call(format!(".{method}"), indent + tab);
        format!("{blanks}{assigned}{root}\n{call}\n{deeper}.await{awaits}")
    })
}

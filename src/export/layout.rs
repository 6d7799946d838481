//! How long lines are broken: on one line where it fits, else in the way of the language's formatter.

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
    /// As prettier and rustfmt do: one to a line.
    OneEach,
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
    let blanks = " ".repeat(indent);
    let flat = code.flat();
    let fits = |text: &str, indent: usize| indent + text.chars().count() <= width;
    if code.items.is_empty() || (!code.is_long() && fits(&format!("{flat}{behind}"), indent)) {
        return format!("{blanks}{flat}{behind}");
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
    } else {
        for item in &code.items {
            out.push('\n');
            out.push_str(&laid_out(item, deeper, ",", width, tab, style));
        }
    }
    out.push_str(&format!("\n{blanks}{}{behind}", code.close));
    out
}

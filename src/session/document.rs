//! The text as lines: a click adds or takes away schedule lines, and everything else stays as it was written.

/// A text, and where the lines of its schedule stand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Document {
    lines: Vec<String>,
    /// For each action of the schedule, its place among the lines, from 0.
    schedule: Vec<usize>,
}

impl Document {
    /// A text whose schedule stands on these lines (from 1, growing).
    pub fn new(text: &str, schedule: impl IntoIterator<Item = usize>) -> Document {
        Document {
            lines: text.lines().map(str::to_string).collect(),
            schedule: schedule
                .into_iter()
                .map(|line| line.saturating_sub(1))
                .collect(),
        }
    }

    /// The text's lines.
    pub fn lines(&self) -> &[String] {
        &self.lines
    }

    /// The whole text; every line ends with a line feed.
    pub fn text(&self) -> String {
        let mut text = String::with_capacity(self.lines.iter().map(|line| line.len() + 1).sum());
        for line in &self.lines {
            text.push_str(line);
            text.push('\n');
        }
        text
    }

    /// The schedule's actions as they are written, without the replies that they expect.
    pub fn schedule(&self) -> impl Iterator<Item = &str> {
        self.schedule.iter().map(|place| {
            let line = self.lines[*place].as_str();
            line.split("=>").next().unwrap_or(line).trim()
        })
    }

    /// How many characters the text has in bytes, without building it.
    pub fn bytes(&self) -> usize {
        self.lines.iter().map(|line| line.len() + 1).sum()
    }

    /// The line (from 1) on which this action of the schedule stands.
    pub fn line_of(&self, action: usize) -> Option<usize> {
        self.schedule.get(action).map(|place| place + 1)
    }

    /// The action that stands on this line (from 1).
    pub fn action_on(&self, line: usize) -> Option<usize> {
        self.schedule.binary_search(&line.checked_sub(1)?).ok()
    }

    /// Adds a schedule line behind the last one; where there is no schedule yet, begins one before `expect` or at the end.
    pub fn append(&mut self, content: &str) {
        let place = match self.schedule.last() {
            Some(last) => last + 1,
            None => self.begin_schedule(),
        };
        self.lines.insert(place, format!("  {content}"));
        self.schedule.push(place);
    }

    /// Takes the last schedule line away and gives it back without its indentation.
    pub fn take_last(&mut self) -> Option<String> {
        let place = self.schedule.pop()?;
        Some(self.lines.remove(place).trim_start().to_string())
    }

    /// Takes away every schedule line from this action on, with the comments between them, and the `expect` block, which spoke
    /// of a schedule that is no more.
    pub fn cut(&mut self, actions: usize) {
        let Some(first) = self.schedule.get(actions).copied() else {
            return;
        };
        let from = match actions {
            0 => first,
            actions => self.schedule[actions - 1] + 1,
        };
        let to = self.schedule.last().map_or(from, |last| last + 1);
        self.lines.drain(from..to);
        self.schedule.truncate(actions);
        if let Some(expect) = self.top_level("expect") {
            let end = self.block_end(expect);
            self.lines.drain(expect..end);
            while self.lines.last().is_some_and(|line| line.trim().is_empty()) {
                self.lines.pop();
            }
        }
    }

    /// Makes room for the first schedule line and gives its place.
    fn begin_schedule(&mut self) -> usize {
        if let Some(header) = self.top_level("schedule") {
            return header + 1;
        }
        let place = self.top_level("expect").unwrap_or(self.lines.len());
        let mut block = vec!["schedule".to_string()];
        if place > 0 && !self.lines[place - 1].trim().is_empty() {
            block.insert(0, String::new());
        }
        let header = place + block.len() - 1;
        if place < self.lines.len() {
            block.push(String::new());
        }
        self.lines.splice(place..place, block);
        header + 1
    }

    /// The place of the top-level line that begins with this word. Script text is indented, and so never taken for one.
    fn top_level(&self, word: &str) -> Option<usize> {
        self.lines.iter().position(|line| {
            line.strip_prefix(word)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']))
        })
    }

    /// The place behind the last line of the block that begins here.
    fn block_end(&self, header: usize) -> usize {
        (header + 1..self.lines.len())
            .find(|place| {
                let line = &self.lines[*place];
                !line.trim().is_empty() && !line.starts_with([' ', '\t'])
            })
            .unwrap_or(self.lines.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STORY: &str = "# t\n\nclient A: p\n\nschedule\n  A one  => OK\n  # why\n  A two  => OK\n\nexpect\n  client A: done\n";

    #[test]
    fn appending_begins_a_schedule_where_there_is_none() {
        let check = |text: &str, expected: &str| {
            let mut document = Document::new(text, []);
            document.append("A one");
            document.append("A two");
            assert_eq!(document.text(), expected);
            assert_eq!(document.take_last().as_deref(), Some("A two"));
            assert_eq!(document.take_last().as_deref(), Some("A one"));
            assert_eq!(document.take_last(), None);
        };
        check("", "schedule\n  A one\n  A two\n");
        check(
            "client A: p\n",
            "client A: p\n\nschedule\n  A one\n  A two\n",
        );
        check(
            "client A: p\n\nschedule\n",
            "client A: p\n\nschedule\n  A one\n  A two\n",
        );
        check(
            "client A: p\n\nexpect\n  client A: done\n",
            "client A: p\n\nschedule\n  A one\n  A two\n\nexpect\n  client A: done\n",
        );
    }

    #[test]
    fn clicks_leave_every_other_line_alone() {
        let mut document = Document::new(STORY, [6, 8]);
        document.append("A three");
        assert_eq!(document.line_of(2), Some(9));
        assert_eq!(document.action_on(9), Some(2));
        assert_eq!(document.take_last().as_deref(), Some("A three"));
        assert_eq!(document.text(), STORY);
        document.cut(1);
        assert_eq!(
            document.text(),
            "# t\n\nclient A: p\n\nschedule\n  A one  => OK\n"
        );
        document.append("A other");
        assert_eq!(
            document.text(),
            "# t\n\nclient A: p\n\nschedule\n  A one  => OK\n  A other\n"
        );
        let mut document = Document::new(STORY, [6, 8]);
        document.cut(0);
        assert_eq!(document.text(), "# t\n\nclient A: p\n\nschedule\n");
    }
}

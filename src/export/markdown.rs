//! A remark for a review: the picture, what it shows, and the link.

use crate::link;
use crate::property::Verdict;
use crate::scenario::{Reading, print_schedule_line};
use crate::timeline::Timeline;
use crate::words;

use super::mermaid;

/// The remark for a schedule that has been played.
pub(super) fn print(text: &str, reading: &Reading, timeline: &Timeline) -> String {
    let mut out = String::new();
    if !reading.title.is_empty() {
        out.push_str(&format!("### {}\n\n", escaped(&reading.title)));
    }
    if !reading.description.is_empty() {
        out.push_str(&format!("{}\n\n", escaped(&reading.description)));
    }
    out.push_str(&format!(
        "```mermaid\n{}```\n\n",
        mermaid::print(reading, timeline)
    ));
    let (mut broken, mut held) = (String::new(), String::new());
    for (property, verdict) in timeline.verdicts(timeline.len()) {
        let sentence = words::sentence(property.sentence());
        match verdict {
            Verdict::Broken(why) => broken.push_str(&format!(
                "- ❌ **{sentence}**: broken. {}\n",
                escaped(&why.because)
            )),
            Verdict::Holds { because } => held.push_str(&format!(
                "- ✅ **{sentence}**: holds. {}\n",
                escaped(&because)
            )),
            Verdict::NotTested { .. } => {}
        }
    }
    let verdicts = broken + &held;
    if !verdicts.is_empty() {
        out.push_str(&format!("{verdicts}\n"));
    }
    out.push_str("<details><summary>The schedule</summary>\n\n");
    let fence = if text.contains("```") { "````" } else { "```" };
    out.push_str(&format!("{fence}text\n"));
    for entry in timeline.entries() {
        let reply = entry.reply_in_short();
        out.push_str(&print_schedule_line(
            &reading.setup,
            &entry.action,
            reply.as_deref(),
        ));
        out.push('\n');
    }
    out.push_str(&format!("{fence}\n\n</details>\n\n"));
    let link = link::encode(text, reading.schedule.len());
    out.push_str(&format!(
        "Step by step: put `{link}` behind the address of Latchkey.\n"
    ));
    out
}

/// Text without what Markdown or HTML would make of it; code in backquotes stays code.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    let mut is_code = false;
    for letter in text.chars() {
        is_code ^= letter == '`';
        if !is_code
            && matches!(
                letter,
                '\\' | '*' | '_' | '[' | ']' | '<' | '>' | '#' | '|' | '~' | '&' | '@'
            )
        {
            out.push('\\');
        }
        out.push(letter);
    }
    out
}

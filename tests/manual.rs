//! The manual's example does what the manual says.

use latchkey::scenario;

/// The first block of text in the manual.
fn example() -> String {
    let manual = include_str!("../SCENARIOS.md");
    let lines = manual.lines().skip_while(|line| *line != "```text").skip(1);
    lines
        .take_while(|line| *line != "```")
        .flat_map(|line| [line, "\n"])
        .collect()
}

#[test]
fn the_example_of_the_manual_holds() {
    let reading = scenario::read(&example()).expect("the example parses");
    assert_eq!(reading.schedule.len(), 9);
    assert_eq!(scenario::check(&example()), Ok(Vec::new()));
    assert_eq!(
        scenario::format(&example()).as_deref(),
        Ok(example().as_str())
    );
}

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

#[test]
fn the_description_of_the_store_lists_its_commands() {
    let description = include_str!("../REDIS.md");
    let names: Vec<&str> = latchkey::sim::store::all_commands()
        .map(|command| command.name)
        .collect();
    let (_, list) = description
        .split_once(&format!("\n{} commands:\n\n", names.len()))
        .expect("it counts them");
    let (list, _) = list.split_once(".\n").expect("the list ends");
    let listed: Vec<&str> = list.split(',').map(str::trim).collect();
    assert_eq!(listed, names);
}

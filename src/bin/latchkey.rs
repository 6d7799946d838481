//! The native program: checks scenario files, prints links and texts.

fn main() {}

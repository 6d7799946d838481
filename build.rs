//! Finds the scenario files, so that a new file is a story and a test without anybody naming it twice.
//!
//! Cargo looks at the whole folder for changes; `include_dir!` alone would not see a new file and stay green.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// A test natively, and one in the browser.
const TEST: &str = "#[cfg_attr(target_arch = \"wasm32\", wasm_bindgen_test::wasm_bindgen_test)]\n\
    #[cfg_attr(not(target_arch = \"wasm32\"), test)]\n";

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=scenarios");
    let here = PathBuf::from(env::var("CARGO_MANIFEST_DIR").map_err(io::Error::other)?);
    let out = PathBuf::from(env::var("OUT_DIR").map_err(io::Error::other)?);
    let mut files = Vec::new();
    collect(&here.join("scenarios"), &mut files)?;
    files.sort();
    for name in ["stories", "challenges"] {
        let folder = here.join("scenarios").join(name);
        let own = files.iter().filter(|file| file.starts_with(&folder));
        let table = table_of(&here, &own.collect::<Vec<_>>());
        fs::write(out.join(name).with_extension("rs"), table)?;
    }
    fs::write(out.join("scenario_tests.rs"), tests_of(&here, &files))
}

/// Every scenario file in the folder and in those below it.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path
            .extension()
            .is_some_and(|extension| extension == "latchkey")
        {
            files.push(path);
        }
    }
    Ok(())
}

/// The file's path from the package's folder, with slashes everywhere.
fn relative(here: &Path, file: &Path) -> String {
    let path = file.strip_prefix(here).unwrap_or(file);
    path.to_string_lossy().replace('\\', "/")
}

/// An array of pairs: the path, and the text.
fn table_of(here: &Path, files: &[&PathBuf]) -> String {
    let mut code = String::from("&[\n");
    for file in files {
        let _ = writeln!(
            code,
            "    ({:?}, include_str!({:?})),",
            relative(here, file),
            file.to_string_lossy()
        );
    }
    code + "]\n"
}

/// One test for each file, named after it.
fn tests_of(here: &Path, files: &[PathBuf]) -> String {
    let mut code = String::new();
    for file in files {
        let path = relative(here, file);
        let name: String = path
            .trim_start_matches("scenarios/")
            .trim_end_matches(".latchkey")
            .chars()
            .map(|character| {
                if character.is_ascii_alphanumeric() {
                    character
                } else {
                    '_'
                }
            })
            .collect();
        let _ = writeln!(
            code,
            "{TEST}fn {name}() {{\n    check({path:?}, include_str!({:?}));\n}}\n",
            file.to_string_lossy()
        );
    }
    code
}

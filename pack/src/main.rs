//! `latchkey-pack FILE...` packs compiled WebAssembly programs where they stand. Called by `tools/pack_programs.sh`.

use std::process::ExitCode;

fn main() -> ExitCode {
    for name in std::env::args().skip(1) {
        if let Err(why) = pack_file(&name) {
            eprintln!("latchkey-pack: {name}: {why}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn pack_file(name: &str) -> Result<(), Box<dyn std::error::Error>> {
    let program = std::fs::read(name)?;
    std::fs::write(name, latchkey_pack::pack(&program)?)?;
    Ok(())
}

//! What the packer packs, `unpack.js` puts back byte for byte: random programs, with Node.js in the browser's place.

use std::path::{Path, PathBuf};
use std::process::Command;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use latchkey_pack::{MAGIC, pack};

fn number(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number > 127 {
        bytes.push(number as u8 | 128);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

fn signed(mut number: i64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while !(-64..64).contains(&number) {
        bytes.push(number as u8 | 128);
        number >>= 7;
    }
    bytes.push(number as u8 & 127);
    bytes
}

/// Numbers as programs have them: most of them small.
fn small() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![0..10u64, 0..300u64, 0..u64::from(u32::MAX)].prop_map(number)
}

fn constant() -> impl Strategy<Value = Vec<u8>> {
    let last_before_addresses = 0x0F_FFFE..0x10_0002i64;
    let last_address = 0x1F_FFFE..0x20_0002i64;
    prop_oneof![
        -3..20i64,
        0x10_0000..0x20_0000i64,
        last_before_addresses,
        last_address,
        any::<i32>().prop_map(i64::from),
    ]
    .prop_map(signed)
}

fn followed_by(
    opcode: impl Strategy<Value = u8>,
    bytes: impl Strategy<Value = Vec<u8>>,
) -> impl Strategy<Value = Vec<u8>> {
    (opcode, bytes).prop_map(|(opcode, bytes)| [vec![opcode], bytes].concat())
}

/// Instructions of every kind, whether they make sense one behind the other or not.
fn instructions() -> impl Strategy<Value = Vec<u8>> {
    let two = || (small(), small()).prop_map(|(first, second)| [first, second].concat());
    let table = prop::collection::vec(small(), 1..5)
        .prop_map(|labels| [number(labels.len() as u64 - 1), labels.concat()].concat());
    let types = prop::collection::vec(Just(0x7F), 0..3)
        .prop_map(|types: Vec<u8>| [number(types.len() as u64), types].concat());
    let prefixed = prop_oneof![
        Just(vec![0]),
        Just(vec![7]),
        Just(vec![8, 3, 0]),
        Just(vec![9, 3]),
        Just(vec![10, 0, 0]),
        Just(vec![11, 0]),
        Just(vec![14, 1, 2]),
        Just(vec![17, 1]),
    ];
    let one = prop_oneof![
        4 => followed_by(0x20..=0x22u8, small()),
        4 => followed_by(Just(0x41), constant()),
        4 => followed_by(0x28..=0x3Eu8, two()),
        2 => followed_by(0x0C..=0x0Du8, (0..4u64).prop_map(number)),
        2 => followed_by(Just(0x10), small()),
        2 => prop::sample::select(vec![0x00u8, 0x01, 0x0F, 0x1A, 0x1B, 0x45, 0x6A, 0xC4, 0xD1]).prop_map(|opcode| vec![opcode]),
        1 => followed_by(Just(0x0E), table),
        1 => followed_by(Just(0x11), two()),
        1 => followed_by(Just(0x1C), types),
        1 => followed_by(prop::sample::select(vec![0x23u8, 0x24, 0x25, 0x26, 0x3F, 0x40, 0xD0, 0xD2]), small()),
        1 => followed_by(Just(0x42), any::<i64>().prop_map(signed)),
        1 => followed_by(Just(0x43), any::<[u8; 4]>().prop_map(Vec::from)),
        1 => followed_by(Just(0x44), any::<[u8; 8]>().prop_map(Vec::from)),
        1 => followed_by(Just(0xFC), prefixed),
    ];
    let flat = prop::collection::vec(one, 0..30).prop_map(|all| all.concat());
    flat.prop_recursive(3, 60, 3, |inner| {
        let block = (
            prop::sample::select(vec![0x02u8, 0x03, 0x04]),
            -64..3i64,
            inner.clone(),
        );
        let block = block.prop_map(|(opcode, result, inside)| {
            [vec![opcode], signed(result), inside, vec![0x0B]].concat()
        });
        (inner.clone(), block, inner)
            .prop_map(|(before, block, after)| [before, block, after].concat())
    })
}

fn section(id: u8, contents: Vec<u8>) -> Vec<u8> {
    [vec![id], number(contents.len() as u64), contents].concat()
}

fn program() -> impl Strategy<Value = Vec<u8>> {
    let declared = prop::collection::vec((small(), Just(0x7F)), 0..4);
    let declared = declared.prop_map(|groups| {
        let bytes = groups
            .iter()
            .flat_map(|(many, kind)| [many.clone(), vec![*kind]].concat());
        [number(groups.len() as u64), bytes.collect()].concat()
    });
    // What is repeated gets a short opcode.
    let function = (declared, instructions(), 1..20usize).prop_map(|(declared, inside, times)| {
        let body = [declared, inside.repeat(times), vec![0x0B]].concat();
        [number(body.len() as u64), body].concat()
    });
    let bytes = || prop::collection::vec(any::<u8>(), 0..200);
    (bytes(), prop::collection::vec(function, 0..6), bytes()).prop_map(
        |(types, functions, data)| {
            let code = [number(functions.len() as u64), functions.concat()].concat();
            [
                b"\0asm\x01\0\0\0".to_vec(),
                section(1, types),
                section(10, code),
                section(11, data),
            ]
            .concat()
        },
    )
}

/// Says for each pair of files whether the second is what `unpack.js` makes of the first.
const COMPARE: &str = "
import { readFileSync } from 'node:fs';
const [script, folder, pairs] = process.argv.slice(1);
const { unpacked } = await import('data:text/javascript,' + encodeURIComponent(readFileSync(script, 'utf8')));
const file = (name) => new Uint8Array(readFileSync(`${folder}/${name}`));
for (let pair = 0; pair < Number(pairs); pair++) {
  const packed = file(`${pair}.packed`);
  if (Buffer.compare(unpacked(packed), file(`${pair}.wasm`))) throw new Error(`pair ${pair} differs`);
  for (let place = packed.length - 1; place > 0; place -= 97) {
    packed[place] ^= 1 << place % 8;
    // What is not used may be damaged.
    let isSeen = false;
    try {
      isSeen = !Buffer.compare(unpacked(packed), file(`${pair}.wasm`));
    } catch {
      isSeen = true;
    }
    if (!isSeen) throw new Error(`damage to byte ${place} of pair ${pair} was not seen`);
    packed[place] ^= 1 << place % 8;
  }
}
";

fn unpack_js() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../unpack.js")
}

#[test]
fn a_browser_puts_back_what_was_packed() {
    if Command::new("node").arg("--version").output().is_err() {
        println!("skipped: Node.js is not installed");
        return;
    }
    const PAIRS: usize = 40;
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("packed");
    std::fs::create_dir_all(&folder).unwrap();
    let mut runner = TestRunner::deterministic();
    for pair in 0..PAIRS {
        let program = program().new_tree(&mut runner).unwrap().current();
        let packed = pack(&program).unwrap();
        assert!(packed.starts_with(MAGIC));
        assert_eq!(pack(&packed).unwrap(), packed, "packed twice");
        std::fs::write(folder.join(format!("{pair}.wasm")), &program).unwrap();
        std::fs::write(folder.join(format!("{pair}.packed")), &packed).unwrap();
    }
    let compared = Command::new("node")
        .args(["--input-type=module", "--eval", COMPARE])
        .args([&unpack_js(), &folder])
        .arg(PAIRS.to_string())
        .output()
        .unwrap();
    assert!(
        compared.status.success(),
        "{}",
        String::from_utf8_lossy(&compared.stderr)
    );
}

#[test]
fn what_cannot_be_packed_is_told_with_its_place() {
    let head = b"\0asm\x01\0\0\0".to_vec();
    let with_code = |code: &[u8]| [head.clone(), section(10, code.to_vec())].concat();
    for (program, expected) in [
        (
            b"\0asm\x02\0\0\0".to_vec(),
            "byte 8: expected a WebAssembly program of version 1",
        ),
        (head.clone(), "byte 8: expected 1 more bytes"),
        (
            with_code(&[1, 2, 0, 0x06]),
            "byte 14: expected an instruction before here that is known to the packer",
        ),
        (
            with_code(&[1, 4, 0, 0xFC, 99, 0x0B]),
            "byte 15: expected an instruction before here that is known to the packer",
        ),
        (
            with_code(&[1, 3, 0, 0x0B, 0x0B]),
            "byte 14: expected the end of the function",
        ),
        (
            with_code(&[1, 0x82, 0, 0, 0x0B]),
            "byte 13: expected a length before here that is written as shortly as can be",
        ),
        (with_code(&[0, 0]), "byte 11: expected the end of the code"),
        (
            with_code(&[1, 2, 0, 0x0B])[..12].to_vec(),
            "byte 10: expected 4 more bytes",
        ),
    ] {
        assert_eq!(
            pack(&program).unwrap_err().to_string(),
            expected,
            "{program:?}"
        );
    }
}

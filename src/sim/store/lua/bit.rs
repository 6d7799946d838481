//! The bit library (LuaBitOp): 32-bit operations on numbers.

use super::call::Throw;
use super::heap::Heap;
use super::vm::{Native, Vm};

const BIT: &[(&str, Native)] = &[
    ("tobit", |vm| unary(vm, |x| x)),
    ("bnot", |vm| unary(vm, |x| !x)),
    ("band", |vm| combine(vm, |x, y| x & y)),
    ("bor", |vm| combine(vm, |x, y| x | y)),
    ("bxor", |vm| combine(vm, |x, y| x ^ y)),
    ("lshift", |vm| shift(vm, |x, n| x << n)),
    ("rshift", |vm| shift(vm, |x, n| x >> n)),
    ("arshift", |vm| shift(vm, |x, n| ((x as i32) >> n) as u32)),
    ("rol", |vm| shift(vm, u32::rotate_left)),
    ("ror", |vm| shift(vm, u32::rotate_right)),
    ("bswap", |vm| unary(vm, u32::swap_bytes)),
    ("tohex", to_hex),
];

/// Adds the library.
pub(super) fn open(heap: &mut Heap) {
    heap.add_library("bit", BIT);
}

/// A number's low 32 bits, rounded to the nearest integer: adding 1.5 * 2^52 leaves them at the end.
fn check_bits(vm: &mut Vm<'_>, number: usize) -> Result<u32, Throw> {
    let n = vm.check_number(number)?;
    Ok((n + 6755399441055744.0).to_bits() as u32)
}

fn give_bits(vm: &mut Vm<'_>, bits: u32) -> Result<usize, Throw> {
    vm.give_number(f64::from(bits as i32))
}

fn unary(vm: &mut Vm<'_>, function: fn(u32) -> u32) -> Result<usize, Throw> {
    let x = check_bits(vm, 1)?;
    give_bits(vm, function(x))
}

fn combine(vm: &mut Vm<'_>, function: fn(u32, u32) -> u32) -> Result<usize, Throw> {
    let mut bits = check_bits(vm, 1)?;
    for i in 2..=vm.argument_count() {
        bits = function(bits, check_bits(vm, i)?);
    }
    give_bits(vm, bits)
}

fn shift(vm: &mut Vm<'_>, function: fn(u32, u32) -> u32) -> Result<usize, Throw> {
    let x = check_bits(vm, 1)?;
    let count = check_bits(vm, 2)? & 31;
    give_bits(vm, function(x, count))
}

fn to_hex(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    let x = check_bits(vm, 1)?;
    let digits = if vm.has_argument(2) {
        check_bits(vm, 2)? as i32
    } else {
        8
    };
    let count = digits.unsigned_abs().min(8) as usize;
    let mut text = format!("{x:08x}")[8 - count..].to_owned();
    if digits < 0 {
        text.make_ascii_uppercase();
    }
    vm.give_bytes(text.as_bytes())
}

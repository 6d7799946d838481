//! The math library, with Redis's own random numbers: a script draws the same ones in every run. The
//! transcendental functions come from the `libm` crate, so that every build computes the same.

use super::call::Throw;
use super::heap::Heap;
use super::number;
use super::value::Value;
use super::vm::{Native, Vm};

const MATH: &[(&str, Native)] = &[
    ("abs", abs),
    ("acos", |vm| map_positive(vm, libm::acos)),
    ("asin", |vm| map_positive(vm, libm::asin)),
    ("atan2", atan2),
    ("atan", |vm| map(vm, libm::atan)),
    ("ceil", |vm| map(vm, f64::ceil)),
    ("cosh", |vm| map(vm, libm::cosh)),
    ("cos", |vm| map(vm, libm::cos)),
    ("deg", |vm| map(vm, |x| x / RADIANS_PER_DEGREE)),
    ("exp", |vm| map(vm, number::exponential)),
    ("floor", |vm| map(vm, f64::floor)),
    ("fmod", |vm| map_two(vm, |x, y| x % y)),
    ("frexp", frexp),
    ("ldexp", ldexp),
    ("log10", |vm| map_positive(vm, libm::log10)),
    ("log", |vm| map(vm, libm::log)),
    ("max", |vm| extreme(vm, |best, x| x > best)),
    ("min", |vm| extreme(vm, |best, x| x < best)),
    ("modf", modf),
    ("pow", |vm| map_two(vm, number::power)),
    ("rad", |vm| map(vm, |x| x * RADIANS_PER_DEGREE)),
    ("random", random),
    ("randomseed", random_seed),
    ("sinh", |vm| map(vm, libm::sinh)),
    ("sin", |vm| map(vm, libm::sin)),
    ("sqrt", |vm| map(vm, f64::sqrt)),
    ("tanh", |vm| map(vm, libm::tanh)),
    ("tan", |vm| map(vm, libm::tan)),
];

const RADIANS_PER_DEGREE: f64 = std::f64::consts::PI / 180.0;
/// The state of `lrand48` when a server starts. Redis 7 goes on from there from script to script; here
/// every script begins anew, so that equal stores stay equal.
pub(super) const FIRST_RANDOM: u64 = 0x1234_abcd_330e;
/// The lowest 16 bits of a state that was seeded.
const SEEDED: u64 = 0x330e;

/// Adds the library.
pub(super) fn open(heap: &mut Heap) {
    let table = heap.add_library("math", MATH);
    heap.set_field(table, "pi", Value::Number(std::f64::consts::PI));
    heap.set_field(table, "huge", Value::Number(f64::INFINITY));
    heap.register(table, &[("mod", |vm| map_two(vm, |x, y| x % y))]);
}

fn map(vm: &mut Vm<'_>, function: fn(f64) -> f64) -> Result<usize, Throw> {
    let x = vm.check_number(1)?;
    vm.give_number(number::settle(function(x), x, x))
}

/// A function that in C's library gives a positive not-a-number for what it is not defined for.
fn map_positive(vm: &mut Vm<'_>, function: fn(f64) -> f64) -> Result<usize, Throw> {
    let x = vm.check_number(1)?;
    let result = function(x);
    let undefined = result.is_nan() && !x.is_nan();
    vm.give_number(if undefined {
        f64::NAN
    } else {
        number::settle(result, x, x)
    })
}

fn map_two(vm: &mut Vm<'_>, function: fn(f64, f64) -> f64) -> Result<usize, Throw> {
    // C computes its arguments from the right, so the second one is the first to be refused.
    let y = vm.check_number(2)?;
    let x = vm.check_number(1)?;
    vm.give_number(number::settle(function(x, y), x, y))
}

fn abs(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    let x = vm.check_number(1)?;
    vm.give_number(x.abs())
}

fn atan2(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    let x = vm.check_number(2)?;
    let y = vm.check_number(1)?;
    vm.give_number(number::settle(libm::atan2(y, x), x, y))
}

fn extreme(vm: &mut Vm<'_>, better: fn(f64, f64) -> bool) -> Result<usize, Throw> {
    let mut best = vm.check_number(1)?;
    for i in 2..=vm.argument_count() {
        let x = vm.check_number(i)?;
        if better(best, x) {
            best = x;
        }
    }
    vm.give_number(best)
}

fn frexp(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    let (mantissa, exponent) = libm::frexp(vm.check_number(1)?);
    vm.push(Value::Number(mantissa))?;
    vm.push(Value::Number(f64::from(exponent)))?;
    Ok(2)
}

fn ldexp(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    let exponent = vm.check_int(2)?;
    let x = vm.check_number(1)?;
    vm.give_number(libm::ldexp(x, exponent))
}

fn modf(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    let x = vm.check_number(1)?;
    let whole = x.trunc();
    let rest = if x.is_infinite() { 0.0 } else { x - whole };
    vm.push(Value::Number(whole))?;
    vm.push(Value::Number(rest.copysign(x)))?;
    Ok(2)
}

/// The next number of `lrand48`, from 0 to below 2^31.
fn next_random(vm: &mut Vm<'_>) -> i64 {
    vm.random = vm.random.wrapping_mul(0x5_deec_e66d).wrapping_add(0xb) & 0xffff_ffff_ffff;
    (vm.random >> 17) as i64
}

fn random(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    let most = i64::from(i32::MAX);
    let r = (next_random(vm) % most) as f64 / most as f64;
    match vm.argument_count() {
        0 => vm.give_number(r),
        1 => {
            let upper = vm.check_int(1)?;
            if upper < 1 {
                return Err(vm.argument_error(1, "interval is empty"));
            }
            vm.give_number((r * f64::from(upper)).floor() + 1.0)
        }
        2 => {
            let lower = vm.check_int(1)?;
            let upper = vm.check_int(2)?;
            if lower > upper {
                return Err(vm.argument_error(2, "interval is empty"));
            }
            let size = f64::from(upper.wrapping_sub(lower).wrapping_add(1));
            vm.give_number((r * size).floor() + f64::from(lower))
        }
        _ => Err(vm.native_error(b"wrong number of arguments")),
    }
}

fn random_seed(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    let seed = number::to_i64(vm.check_number(1)?) as u32;
    vm.random = u64::from(seed) << 16 | SEEDED;
    Ok(0)
}

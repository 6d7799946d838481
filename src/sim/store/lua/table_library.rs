//! The table library.

use super::call::Throw;
use super::heap::Heap;
use super::number;
use super::value::Value;
use super::vm::{Native, Vm};

const TABLE: &[(&str, Native)] = &[
    ("concat", concat),
    ("foreach", foreach),
    ("foreachi", foreachi),
    ("getn", getn),
    ("insert", insert),
    ("maxn", maxn),
    ("remove", remove),
    ("setn", setn),
    ("sort", sort),
];

/// Adds the library.
pub(super) fn open(heap: &mut Heap) {
    heap.add_library("table", TABLE);
}

/// The first argument, a table, and its length.
fn check_list(vm: &mut Vm<'_>) -> Result<(u32, i32), Throw> {
    let table = vm.check_table(1)?;
    let length = vm.heap.tables[table].border();
    Ok((table, length as i32))
}

fn get(vm: &Vm<'_>, table: u32, index: i32) -> Value {
    vm.heap.tables[table].get(Value::Number(f64::from(index)))
}

fn set(vm: &mut Vm<'_>, table: u32, index: i32, value: Value) -> Result<(), Throw> {
    vm.raw_set(table, Value::Number(f64::from(index)), value)
}

fn concat(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    let separator = if vm.argument(2).is_nil() {
        Default::default()
    } else {
        vm.check_bytes(2)?
    };
    let (table, length) = check_list(vm)?;
    let start = vm.optional_int(3, 1)?;
    let end = if vm.argument(4).is_nil() {
        length
    } else {
        vm.check_int(4)?
    };
    let mut out = Vec::new();
    let mut i = i64::from(start);
    while i <= i64::from(end) {
        vm.burn(1)?;
        let value = get(vm, table, i as i32);
        match value {
            Value::String(s) => out.extend_from_slice(vm.heap.bytes_of(s)),
            Value::Number(n) => out.extend_from_slice(number::to_text(n).as_bytes()),
            other => {
                let kind = other.type_name();
                let message = format!("invalid value ({kind}) at index {i} in table for 'concat'");
                return Err(vm.native_error(message.as_bytes()));
            }
        }
        if i != i64::from(end) {
            out.extend_from_slice(&separator);
        }
        vm.reserve(out.len())?;
        i += 1;
    }
    vm.give_bytes(&out)
}

fn foreach(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    let table = vm.check_table(1)?;
    let function = vm.check_function(2)?;
    let mut key = Value::Nil;
    loop {
        let entry = match vm.heap.tables[table].next(key) {
            Ok(entry) => entry,
            Err(()) => return Err(vm.run_error(b"invalid key to 'next'")),
        };
        let Some((next, value)) = entry else {
            return Ok(0);
        };
        // The key stays on the stack, below the call.
        let callee = vm.thread.top;
        vm.push(next)?;
        vm.push(function)?;
        vm.push(next)?;
        vm.push(value)?;
        vm.call(callee + 1, 1)?;
        vm.burn(1)?;
        let result = vm.thread.stack[vm.thread.top - 1];
        if !result.is_nil() {
            return Ok(1);
        }
        vm.thread.top = callee;
        key = next;
    }
}

fn foreachi(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    let (table, length) = check_list(vm)?;
    let function = vm.check_function(2)?;
    for i in 1..=length {
        let callee = vm.thread.top;
        vm.push(function)?;
        vm.push(Value::Number(f64::from(i)))?;
        let value = get(vm, table, i);
        vm.push(value)?;
        vm.call(callee, 1)?;
        vm.burn(1)?;
        if !vm.thread.stack[vm.thread.top - 1].is_nil() {
            return Ok(1);
        }
        vm.thread.top = callee;
    }
    Ok(0)
}

fn getn(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    let (_, length) = check_list(vm)?;
    vm.give_number(f64::from(length))
}

fn setn(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    vm.check_table(1)?;
    Err(vm.native_error(b"'setn' is obsolete"))
}

fn maxn(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    let table = vm.check_table(1)?;
    let mut max = 0.0;
    let mut key = Value::Nil;
    while let Ok(Some((next, _))) = vm.heap.tables[table].next(key) {
        vm.burn(1)?;
        if let Value::Number(n) = next
            && n > max
        {
            max = n;
        }
        key = next;
    }
    vm.give_number(max)
}

fn insert(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    let (table, length) = check_list(vm)?;
    let mut end = length.wrapping_add(1);
    let position = match vm.argument_count() {
        2 => end,
        3 => {
            let position = vm.check_int(2)?;
            end = end.max(position);
            vm.burn((i64::from(end) - i64::from(position)) as usize / 2)?;
            for i in (position + 1..=end).rev() {
                let value = get(vm, table, i - 1);
                set(vm, table, i, value)?;
            }
            position
        }
        _ => return Err(vm.native_error(b"wrong number of arguments to 'insert'")),
    };
    let value = vm.argument(vm.argument_count());
    set(vm, table, position, value)?;
    Ok(0)
}

fn remove(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    let (table, length) = check_list(vm)?;
    let position = vm.optional_int(2, length)?;
    if !(1..=length).contains(&position) {
        return Ok(0);
    }
    let removed = get(vm, table, position);
    vm.burn((length - position) as usize / 2)?;
    for i in position..length {
        let value = get(vm, table, i + 1);
        set(vm, table, i, value)?;
    }
    set(vm, table, length, Value::Nil)?;
    vm.give(removed)
}

fn sort(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    let (table, length) = check_list(vm)?;
    let order = match vm.argument(2) {
        Value::Nil => None,
        _ => Some(vm.check_function(2)?),
    };
    vm.set_argument_count(2);
    let held = vm.held.len();
    Sorting { table, order }.sort(vm, 1, i64::from(length))?;
    vm.held.truncate(held);
    Ok(0)
}

/// Lua's own quicksort: the order of its comparisons shows in what an inconsistent one makes of a list.
struct Sorting {
    table: u32,
    order: Option<Value>,
}

impl Sorting {
    fn at(&self, vm: &Vm<'_>, index: i64) -> Value {
        vm.heap.tables[self.table].get(Value::Number(index as f64))
    }

    fn put(&self, vm: &mut Vm<'_>, index: i64, value: Value) -> Result<(), Throw> {
        vm.raw_set(self.table, Value::Number(index as f64), value)
    }

    fn swap(
        &self,
        vm: &mut Vm<'_>,
        (i, a): (i64, Value),
        (j, b): (i64, Value),
    ) -> Result<(), Throw> {
        self.put(vm, i, b)?;
        self.put(vm, j, a)
    }

    /// Both values stay out of a collection's way until the comparison is done.
    fn less(&self, vm: &mut Vm<'_>, a: Value, b: Value) -> Result<bool, Throw> {
        vm.burn(1)?;
        let Some(order) = self.order else {
            return vm.less_than(a, b);
        };
        let held = vm.held.len();
        vm.held.push(a);
        vm.held.push(b);
        let result = vm.call_for_value(order, a, b)?;
        vm.held.truncate(held);
        Ok(result.truthy())
    }

    fn invalid(vm: &mut Vm<'_>) -> Throw {
        vm.native_error(b"invalid order function for sorting")
    }

    /// Sorts from `low` to `high`; recurses into the smaller part only, so not deep.
    fn sort(&self, vm: &mut Vm<'_>, low: i64, high: i64) -> Result<(), Throw> {
        let (mut low, mut high) = (low, high);
        while low < high {
            let (first, last) = (self.at(vm, low), self.at(vm, high));
            if self.less(vm, last, first)? {
                self.swap(vm, (low, first), (high, last))?;
            }
            if high - low == 1 {
                break;
            }
            let middle = (low + high) / 2;
            let (value, first) = (self.at(vm, middle), self.at(vm, low));
            if self.less(vm, value, first)? {
                self.swap(vm, (middle, value), (low, first))?;
            } else {
                let last = self.at(vm, high);
                if self.less(vm, last, value)? {
                    self.swap(vm, (middle, value), (high, last))?;
                }
            }
            if high - low == 2 {
                break;
            }
            let pivot = self.at(vm, middle);
            let other = self.at(vm, high - 1);
            self.swap(vm, (middle, pivot), (high - 1, other))?;
            vm.held.push(pivot);
            let border = self.partition(vm, low, high, pivot)?;
            vm.held.pop();
            let (from, to);
            if border - low < high - border {
                (from, to) = (low, border - 1);
                low = border + 1;
            } else {
                (from, to) = (border + 1, high);
                high = border - 1;
            }
            self.sort(vm, from, to)?;
        }
        Ok(())
    }

    /// Parts what is smaller than the pivot, which stands at `high - 1`, from what is larger; where the
    /// pivot comes to stand.
    fn partition(&self, vm: &mut Vm<'_>, low: i64, high: i64, pivot: Value) -> Result<i64, Throw> {
        let mut i = low;
        let mut j = high - 1;
        loop {
            let left = loop {
                i += 1;
                let left = self.at(vm, i);
                if !self.less(vm, left, pivot)? {
                    break left;
                }
                if i > high {
                    return Err(Self::invalid(vm));
                }
            };
            let right = loop {
                j -= 1;
                let right = self.at(vm, j);
                if !self.less(vm, pivot, right)? {
                    break right;
                }
                if j < low {
                    return Err(Self::invalid(vm));
                }
            };
            if j < i {
                break;
            }
            self.swap(vm, (i, left), (j, right))?;
        }
        let (end, border) = (self.at(vm, high - 1), self.at(vm, i));
        self.swap(vm, (high - 1, end), (i, border))?;
        Ok(i)
    }
}

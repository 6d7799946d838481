//! Ordered maps and sets as plain vectors, and one way to sort.
//!
//! The standard library's trees and sorts are compiled anew for every type, two to five kilobytes each; on the page, whose size is
//! limited, a vector with a binary search does for what clients, properties and the picture remember. To add in the middle moves
//! what stands behind, so what can grow to many thousands in any order stays in a tree of the standard library.

use std::borrow::Borrow;
use std::cmp::Ordering;

/// A map in the order of its keys.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SortedMap<K, V>(Vec<(K, V)>);

/// Distinct items in ascending order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SortedSet<T>(Vec<T>);

impl<K, V> Default for SortedMap<K, V> {
    fn default() -> SortedMap<K, V> {
        SortedMap(Vec::new())
    }
}

impl<T> Default for SortedSet<T> {
    fn default() -> SortedSet<T> {
        SortedSet(Vec::new())
    }
}

impl<K, V> SortedMap<K, V> {
    /// An empty map.
    pub const fn new() -> SortedMap<K, V> {
        SortedMap(Vec::new())
    }

    /// How many keys there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes all keys away.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Keys and values, in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&K, &V)> + ExactSizeIterator + Clone {
        self.0.iter().map(|(key, value)| (key, value))
    }

    /// The keys, in order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &K> + ExactSizeIterator + Clone {
        self.0.iter().map(|(key, _)| key)
    }

    /// The values, in the order of their keys.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &V> + ExactSizeIterator + Clone {
        self.0.iter().map(|(_, value)| value)
    }

    /// The values, to change them.
    pub fn values_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut V> + ExactSizeIterator {
        self.0.iter_mut().map(|(_, value)| value)
    }

    /// Keys and values, to change the values.
    pub fn iter_mut(
        &mut self,
    ) -> impl DoubleEndedIterator<Item = (&K, &mut V)> + ExactSizeIterator {
        self.0.iter_mut().map(|(key, value)| (&*key, value))
    }

    /// The values, without their keys.
    pub fn into_values(self) -> impl DoubleEndedIterator<Item = V> + ExactSizeIterator {
        self.0.into_iter().map(|(_, value)| value)
    }

    /// Keeps what is chosen.
    pub fn retain(&mut self, mut keeps: impl FnMut(&K, &mut V) -> bool) {
        self.0.retain_mut(|(key, value)| keeps(key, value));
    }

    /// The first key with its value.
    pub fn first_key_value(&self) -> Option<(&K, &V)> {
        self.0.first().map(|(key, value)| (key, value))
    }

    /// The last key with its value.
    pub fn last_key_value(&self) -> Option<(&K, &V)> {
        self.0.last().map(|(key, value)| (key, value))
    }
}

impl<K: Ord, V> SortedMap<K, V> {
    /// Where a key stands, or where it would go.
    fn place<Q: Ord + ?Sized>(&self, key: &Q) -> Result<usize, usize>
    where
        K: Borrow<Q>,
    {
        self.0
            .binary_search_by(|(known, _)| known.borrow().cmp(key))
    }

    /// The value of a key.
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.place(key).ok().map(|place| &self.0[place].1)
    }

    /// The value of a key, to change it.
    pub fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        self.place(key).ok().map(|place| &mut self.0[place].1)
    }

    /// Whether there is such a key.
    pub fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.place(key).is_ok()
    }

    /// Gives a key this value, and gives back the one that it had.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.place(&key) {
            Ok(place) => Some(std::mem::replace(&mut self.0[place].1, value)),
            Err(place) => {
                self.0.insert(place, (key, value));
                None
            }
        }
    }

    /// Takes a key away, and gives back its value.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.place(key).ok().map(|place| self.0.remove(place).1)
    }

    /// Takes the first key away, with its value.
    pub fn pop_first(&mut self) -> Option<(K, V)> {
        (!self.0.is_empty()).then(|| self.0.remove(0))
    }

    /// The value of a key, which is this where the key is new.
    pub fn or_insert_with(&mut self, key: K, value: impl FnOnce() -> V) -> &mut V {
        let place = match self.place(&key) {
            Ok(place) => place,
            Err(place) => {
                self.0.insert(place, (key, value()));
                place
            }
        };
        &mut self.0[place].1
    }

    /// The value of a key, which begins as nothing.
    pub fn or_default(&mut self, key: K) -> &mut V
    where
        V: Default,
    {
        self.or_insert_with(key, V::default)
    }

    /// The keys before this one, with their values.
    pub fn before_key(&self, key: &K) -> impl DoubleEndedIterator<Item = (&K, &V)> {
        let (Ok(place) | Err(place)) = self.place(key);
        self.0[..place].iter().map(|(key, value)| (key, value))
    }

    /// The keys from this one on, with their values.
    pub fn from_key(&self, key: &K) -> impl DoubleEndedIterator<Item = (&K, &V)> {
        let (Ok(place) | Err(place)) = self.place(key);
        self.0[place..].iter().map(|(key, value)| (key, value))
    }
}

impl<T> SortedSet<T> {
    /// An empty set.
    pub const fn new() -> SortedSet<T> {
        SortedSet(Vec::new())
    }

    /// How many items there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no item.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes all items away.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// The items, in order.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.0.iter()
    }

    /// The first item.
    pub fn first(&self) -> Option<&T> {
        self.0.first()
    }

    /// The last item.
    pub fn last(&self) -> Option<&T> {
        self.0.last()
    }

    /// Keeps what is chosen.
    pub fn retain(&mut self, keeps: impl FnMut(&T) -> bool) {
        self.0.retain(keeps);
    }
}

impl<T: Ord> SortedSet<T> {
    /// Where an item stands, or where it would go.
    fn place<Q: Ord + ?Sized>(&self, item: &Q) -> Result<usize, usize>
    where
        T: Borrow<Q>,
    {
        self.0.binary_search_by(|known| known.borrow().cmp(item))
    }

    /// Whether there is such an item.
    pub fn contains<Q: Ord + ?Sized>(&self, item: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.place(item).is_ok()
    }

    /// The items that the other set has not.
    pub fn difference<'a>(&'a self, other: &'a SortedSet<T>) -> impl Iterator<Item = &'a T> {
        self.0.iter().filter(|item| !other.contains(*item))
    }

    /// Whether the other set has all the items.
    pub fn is_subset(&self, other: &SortedSet<T>) -> bool {
        self.difference(other).next().is_none()
    }

    /// Adds an item and says whether it is new.
    pub fn insert(&mut self, item: T) -> bool {
        let place = self.place(&item);
        if let Err(at) = place {
            self.0.insert(at, item);
        }
        place.is_err()
    }

    /// Takes an item away and says whether it was there.
    pub fn remove<Q: Ord + ?Sized>(&mut self, item: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        let place = self.place(item);
        if let Ok(at) = place {
            self.0.remove(at);
        }
        place.is_ok()
    }
}

impl<K: Ord, V> FromIterator<(K, V)> for SortedMap<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(items: I) -> SortedMap<K, V> {
        let mut map = SortedMap::new();
        map.extend(items);
        map
    }
}

impl<K: Ord, V> Extend<(K, V)> for SortedMap<K, V> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, items: I) {
        for (key, value) in items {
            self.insert(key, value);
        }
    }
}

impl<T: Ord> FromIterator<T> for SortedSet<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> SortedSet<T> {
        let mut set = SortedSet::new();
        set.extend(items);
        set
    }
}

impl<T: Ord> Extend<T> for SortedSet<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, items: I) {
        for item in items {
            self.insert(item);
        }
    }
}

impl<K: Ord, V, const N: usize> From<[(K, V); N]> for SortedMap<K, V> {
    fn from(items: [(K, V); N]) -> SortedMap<K, V> {
        items.into_iter().collect()
    }
}

impl<T: Ord, const N: usize> From<[T; N]> for SortedSet<T> {
    fn from(items: [T; N]) -> SortedSet<T> {
        items.into_iter().collect()
    }
}

impl<K: Ord + Borrow<Q>, V, Q: Ord + ?Sized> std::ops::Index<&Q> for SortedMap<K, V> {
    type Output = V;

    fn index(&self, key: &Q) -> &V {
        self.get(key)
            .expect("who takes the value of a key knows that it is there")
    }
}

impl<K, V> IntoIterator for SortedMap<K, V> {
    type Item = (K, V);
    type IntoIter = std::vec::IntoIter<(K, V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a, K, V> IntoIterator for &'a SortedMap<K, V> {
    type Item = (&'a K, &'a V);
    type IntoIter = std::iter::Map<std::slice::Iter<'a, (K, V)>, fn(&'a (K, V)) -> (&'a K, &'a V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter().map(|(key, value)| (key, value))
    }
}

impl<T> IntoIterator for SortedSet<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a, T> IntoIterator for &'a SortedSet<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

/// Sorts items; equal ones keep their order.
pub fn sort<T: Ord>(items: &mut [T]) {
    sort_by(items, &mut T::cmp);
}

/// Sorts items by what is told of each; equal ones keep their order.
pub fn sort_by_key<T, K: Ord>(items: &mut [T], key: impl Fn(&T) -> K) {
    sort_by(items, &mut |a, b| key(a).cmp(&key(b)));
}

/// Sorts items by a comparison; equal ones keep their order.
pub fn sort_by<T>(items: &mut [T], compare: &mut dyn FnMut(&T, &T) -> Ordering) {
    let swaps = swaps(items.len(), &mut |a, b| compare(&items[a], &items[b]));
    for (a, b) in swaps {
        items.swap(a, b);
    }
}

/// Which places to swap, one after another, so that the items stand in order.
#[inline(never)]
fn swaps(len: usize, compare: &mut dyn FnMut(usize, usize) -> Ordering) -> Vec<(usize, usize)> {
    let mut places = places_in_order(len, compare);
    let mut swaps = Vec::new();
    for first in 0..len {
        // Round the circle of the places that take one another's items.
        let mut to = first;
        while places[to] != first {
            let from = std::mem::replace(&mut places[to], to);
            swaps.push((to, from));
            to = from;
        }
        places[to] = to;
    }
    swaps
}

/// The places from 0, in the order of what stands there: runs of growing length are merged.
fn places_in_order(len: usize, compare: &mut dyn FnMut(usize, usize) -> Ordering) -> Vec<usize> {
    let mut places: Vec<usize> = (0..len).collect();
    let mut merged = Vec::with_capacity(len);
    let mut run = 1;
    while run < len {
        for start in (0..len).step_by(2 * run) {
            let (middle, end) = ((start + run).min(len), (start + 2 * run).min(len));
            let (mut left, mut right) = (start, middle);
            while left < middle || right < end {
                let takes_left = right == end
                    || left < middle && compare(places[left], places[right]) != Ordering::Greater;
                let from = if takes_left { &mut left } else { &mut right };
                merged.push(places[*from]);
                *from += 1;
            }
        }
        std::mem::swap(&mut places, &mut merged);
        merged.clear();
        run *= 2;
    }
    places
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    /// Numbers without an order that one sees.
    fn scattered(count: u32) -> impl Iterator<Item = u32> {
        (0..count).map(move |number| number.wrapping_mul(2_654_435_761) % (count + 1))
    }

    #[test]
    fn sorting_is_the_standard_librarys() {
        for count in (0..40).chain([100, 1000, 4097]) {
            let items: Vec<(u32, usize)> = scattered(count).map(|n| n % 50).zip(0..).collect();
            let (mut ours, mut theirs) = (items.clone(), items.clone());
            sort_by_key(&mut ours, |(number, _)| *number);
            theirs.sort_by_key(|(number, _)| *number);
            assert_eq!(ours, theirs, "stable, {count}");
            sort(&mut ours);
            assert!(ours.is_sorted());
            let (mut ours, mut theirs) = (items.clone(), items);
            sort_by(&mut ours, &mut |a, b| b.cmp(a));
            theirs.sort_by(|a, b| b.cmp(a));
            assert_eq!(ours, theirs, "backwards, {count}");
        }
    }

    #[test]
    fn maps_do_what_trees_do() {
        let (mut ours, mut theirs) = (SortedMap::new(), BTreeMap::new());
        for number in scattered(300) {
            assert_eq!(
                ours.insert(number, number + 1),
                theirs.insert(number, number + 1)
            );
            let odd = number / 2 * 2 + 1;
            assert_eq!(ours.remove(&odd), theirs.remove(&odd));
            *ours.or_default(number % 7) += 1;
            *theirs.entry(number % 7).or_default() += 1;
            assert_eq!(ours.get(&number), theirs.get(&number));
            assert_eq!(ours.contains_key(&odd), theirs.contains_key(&odd));
        }
        assert!(ours.iter().eq(theirs.iter()));
        assert!(ours.keys().eq(theirs.keys()) && ours.values().rev().eq(theirs.values().rev()));
        assert!(ours.from_key(&40).eq(theirs.range(40..)));
        assert!(ours.before_key(&40).eq(theirs.range(..40)));
        assert_eq!(ours.first_key_value(), theirs.first_key_value());
        assert_eq!(ours.last_key_value(), theirs.last_key_value());
        assert_eq!(ours.len(), theirs.len());
        assert_eq!(
            (ours.pop_first(), ours.len()),
            (theirs.pop_first(), theirs.len())
        );
        ours.retain(|key, _| key % 3 == 0);
        theirs.retain(|key, _| key % 3 == 0);
        assert!(ours.into_iter().eq(theirs));
    }

    #[test]
    fn sets_do_what_trees_do() {
        let (mut ours, mut theirs) = (SortedSet::new(), BTreeSet::new());
        for number in scattered(300) {
            let number = number % 90;
            assert_eq!(ours.insert(number), theirs.insert(number));
            assert_eq!(ours.remove(&(number / 2)), theirs.remove(&(number / 2)));
            assert_eq!(ours.contains(&7), theirs.contains(&7));
        }
        assert!(ours.iter().eq(theirs.iter()));
        assert_eq!(
            (ours.first(), ours.last(), ours.len()),
            (theirs.first(), theirs.last(), theirs.len())
        );
        let (few, fewer) = ([1, 2, 30], [2]);
        assert!(
            ours.difference(&few.into())
                .eq(theirs.difference(&few.into()))
        );
        assert!(
            SortedSet::from(fewer).is_subset(&few.into())
                && !SortedSet::from(few).is_subset(&fewer.into())
        );
    }
}

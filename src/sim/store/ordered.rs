//! Small ordered collections as plain vectors.
//!
//! The standard library's trees and sorts are compiled anew for every type; on the page, whose size is
//! limited, a vector with a binary search does for what a store holds here.

use std::borrow::Borrow;

/// Distinct items in ascending order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Ascending<T>(Vec<T>);

impl<T> Default for Ascending<T> {
    fn default() -> Ascending<T> {
        Ascending(Vec::new())
    }
}

impl<T> Ascending<T> {
    pub(super) fn iter(&self) -> std::slice::Iter<'_, T> {
        self.0.iter()
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Where an item stands, or where it would go.
    fn place<Q: Ord + ?Sized>(&self, item: &Q) -> Result<usize, usize>
    where
        T: Borrow<Q>,
    {
        self.0.binary_search_by(|known| known.borrow().cmp(item))
    }

    pub(super) fn contains<Q: Ord + ?Sized>(&self, item: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.place(item).is_ok()
    }

    /// Adds an item and says whether it is new.
    pub(super) fn insert<Q: Ord + ?Sized>(&mut self, item: T) -> bool
    where
        T: Borrow<Q>,
    {
        let place = self.place(item.borrow());
        if let Err(at) = place {
            self.0.insert(at, item);
        }
        place.is_err()
    }

    /// Takes an item away and says whether it was there.
    pub(super) fn remove<Q: Ord + ?Sized>(&mut self, item: &Q) -> bool
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_distinct_and_in_order() {
        let mut items = Ascending::default();
        let new: Vec<bool> = [3, 1, 2, 3]
            .into_iter()
            .map(|item| items.insert::<i32>(item))
            .collect();
        assert_eq!(new, [true, true, true, false]);
        assert_eq!(
            (items.remove(&1), items.remove(&1), items.contains(&2)),
            (true, false, true)
        );
        assert_eq!(items.iter().copied().collect::<Vec<i32>>(), [2, 3]);
    }
}

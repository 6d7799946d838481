//! Row locks as InnoDB takes them (MySQL Reference Manual, "InnoDB Locking"): on entries of
//! indexes, on the gaps between them, and the intention to insert into a gap.
//!
//! A connection that meets a lock of another one waits in a queue, first in, first out. A circle of
//! waiting connections is a deadlock: the one with the fewest changed rows and kinds of locks loses
//! its transaction; among equals the one whose request closed the circle. From who waits for a row only
//! the first in the way is followed; when that one lets go, the next. A circle that goes over a row and over a lock of GET_LOCK is not found, as in the
//! server: it lasts until a wait is too long.
//!
//! What a lock is on may go away: an inserted row is rolled back, a deleted one committed. Then a lock
//! on the entry becomes a lock on the gap that is left.

use std::sync::Arc;

use super::ConnectionId;
use super::table::Key;

/// The longest name of a lock of GET_LOCK, in characters.
pub(super) const MOST_NAME: usize = 64;

/// What of a table is locked.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Span {
    /// The table's definition: every statement in a transaction shares it, DROP and TRUNCATE own it.
    Definition,
    /// An entry.
    Record(Key),
    /// The open interval between two neighbours, ends included where there is none.
    Gap {
        after: Option<Key>,
        before: Option<Key>,
    },
    /// A place where an entry is about to be.
    Insert(Key),
    /// The table's rows, to be locked one by one (IS, IX); with a class of records or gaps, nothing any more.
    Rows,
}

/// What InnoDB calls the lock. It decides who loses a deadlock, not who waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Class {
    /// Nothing but the entry's own author says that it is locked.
    Implicit,
    /// The entry without a gap.
    Record,
    /// Half of the lock on an entry and the gap before it.
    NextKey,
    /// A gap without an entry.
    Gap,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Lock {
    pub(super) table: Arc<str>,
    /// 0 is the rows themselves.
    pub(super) index: usize,
    pub(super) span: Span,
    pub(super) exclusive: bool,
    pub(super) class: Class,
}

/// A lock of GET_LOCK.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct NamedLock {
    pub(super) name: String,
    pub(super) owner: ConnectionId,
    pub(super) count: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Target {
    Lock(Lock),
    Named(String),
}

impl Target {
    /// The table, or the name of GET_LOCK.
    pub(super) fn name(&self) -> String {
        match self {
            Target::Lock(lock) => lock.table.to_string(),
            Target::Named(name) => name.clone(),
        }
    }
}

/// What a connection waits for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Request {
    pub(super) target: Target,
    /// The gap before the entry, where it is to be locked with it.
    pub(super) gap: Option<Lock>,
    /// Milliseconds to wait at most.
    pub(super) patience: u64,
}

impl Span {
    /// The entry that is locked, or the gap before it.
    pub(super) fn entry(&self) -> Option<&Key> {
        match self {
            Span::Record(entry) => Some(entry),
            Span::Gap { before, .. } => before.as_ref(),
            _ => None,
        }
    }
}

impl Lock {
    /// Whether this request has to wait while another connection holds `held`.
    pub(super) fn conflicts_with(&self, held: &Lock) -> bool {
        if self.index != held.index || self.table != held.table {
            return false;
        }
        match (&self.span, &held.span) {
            (Span::Definition, Span::Definition) => self.exclusive || held.exclusive,
            (Span::Record(own), Span::Record(its)) => {
                own == its && (self.exclusive || held.exclusive)
            }
            (Span::Insert(place), Span::Gap { after, before }) => {
                after.as_ref().is_none_or(|after| after < place)
                    && before.as_ref().is_none_or(|before| place < before)
            }
            _ => false,
        }
    }

    /// Whether holding this lock makes the other one needless.
    pub(super) fn covers(&self, other: &Lock) -> bool {
        let wide_enough = match (&self.span, &other.span) {
            (
                Span::Gap { after, before },
                Span::Gap {
                    after: low,
                    before: high,
                },
            ) => {
                (after.is_none() || (low.is_some() && after <= low))
                    && (before.is_none() || (high.is_some() && high <= before))
            }
            (own, its) => own == its,
        };
        wide_enough
            && self.index == other.index
            && (self.exclusive || !other.exclusive)
            && self.table == other.table
    }

    /// Whether both are on gaps before the same entry.
    pub(super) fn meets(&self, other: &Lock) -> bool {
        let same = matches!((&self.span, &other.span), (Span::Gap { before, .. }, Span::Gap { before: its, .. }) if before == its);
        same && self.index == other.index && self.table == other.table
    }

    /// Whether it is of no matter who took one first: no other connection has one on the same entry, or
    /// who waits for it waits for all of them.
    pub(super) fn is_alone(&self) -> bool {
        match self.span {
            Span::Gap { .. } => false,
            Span::Record(_) => self.exclusive,
            _ => true,
        }
    }

    /// Whether InnoDB keeps both in one structure where they are of one connection.
    pub(super) fn is_alike(&self, other: &Lock) -> bool {
        self.structure() == other.structure()
    }

    /// The part of InnoDB's bookkeeping that this lock shares with others of its transaction; none for what it does not count.
    pub(super) fn structure(&self) -> Option<(&str, usize, bool, Class)> {
        let (index, class) = match (&self.span, self.class) {
            (Span::Definition, _) | (Span::Record(_), Class::Implicit) => return None,
            (Span::Rows, Class::Implicit) if self.index > 0 => return None,
            (Span::Gap { before: None, .. }, _) => (self.index, Class::NextKey),
            (_, class) => (self.index, class),
        };
        Some((&self.table, index, self.exclusive, class))
    }
}

impl Request {
    /// Whether this is of InnoDB's locks, and not of names and definitions.
    pub(super) fn is_of_rows(&self) -> bool {
        matches!(&self.target, Target::Lock(lock) if lock.span != Span::Definition)
    }

    /// Whether this waits for what the other one, earlier in the queue, will be given.
    pub(super) fn queues_behind(&self, earlier: &Request) -> bool {
        match (&self.target, &earlier.target) {
            (Target::Lock(own), Target::Lock(target)) => {
                let gap = earlier.gap.as_ref();
                own.conflicts_with(target) || gap.is_some_and(|gap| own.conflicts_with(gap))
            }
            (Target::Named(own), Target::Named(earlier)) => own == earlier,
            _ => false,
        }
    }
}

//! The searches: names become properties, keys and rows of the setup.

use crate::search::{Bounds, Goal, Request};

use super::super::error::Place;
use super::super::layout::Lines;
use super::super::limits;
use super::super::syntax::{BlockKind, Entry, Limit, SearchEntry, SearchLimit, SearchLine, things};
use super::super::{Expectation, Search};
use super::Compiler;

impl Compiler<'_, '_, '_> {
    /// The searches, in order.
    pub(super) fn searches(&mut self) -> Vec<Search> {
        let mut searches = Vec::new();
        for block in self.blocks() {
            let BlockKind::Search(entries) = &block.kind else {
                continue;
            };
            if searches.len() >= limits::SEARCHES {
                self.too_many(block.place, "searches", limits::SEARCHES);
                break;
            }
            let (request, finds) = self.search(entries);
            searches.push(Search {
                lines: Lines::from(block.place),
                finds: finds.unwrap_or(block.place.line),
                request,
            });
        }
        searches
    }

    fn search(&mut self, entries: &[Entry<SearchEntry>]) -> (Request, Option<usize>) {
        let mut request = Request {
            bounds: Bounds::none(),
            ..Request::default()
        };
        let mut reached: Vec<Expectation> = Vec::new();
        let mut broken = Vec::new();
        let mut anything = false;
        let mut finds = None;
        let mut said: Vec<(String, usize)> = Vec::new();
        for entry in things(entries) {
            let place = entry.place;
            match &entry.line {
                SearchLine::Limits(limits) => {
                    for limit in limits {
                        self.once(&mut said, limit.limit.words(), place);
                        set(&mut request.bounds, limit);
                    }
                }
                SearchLine::Without(reductions) => {
                    request.bounds.without.extend(reductions);
                    crate::sorted::sort(&mut request.bounds.without);
                    request.bounds.without.dedup();
                }
                SearchLine::From(start) => {
                    self.once(&mut said, "from", place);
                    request.start = *start;
                }
                SearchLine::Breaks(None) => anything = true,
                SearchLine::Breaks(Some(sentence)) => broken.extend(self.property(sentence)),
                SearchLine::Reaches(claim) => reached.extend(self.expectation(claim)),
                SearchLine::Finds(what) => {
                    self.once(&mut said, "finds", place);
                    request.finds = Some(*what);
                    finds = Some(place.line);
                }
                SearchLine::Challenge => request.is_challenge = true,
            }
        }
        let breaks = anything || !broken.is_empty();
        if breaks && !reached.is_empty() {
            let place = things(entries).map(|entry| entry.place).next();
            let message = "a search looks for one thing: `breaks` and `reaches` exclude each other";
            self.errors
                .add::<()>(place.unwrap_or_default(), message, "one of the two");
        }
        if anything {
            broken.clear();
        }
        crate::sorted::sort(&mut broken);
        broken.dedup();
        request.goal = match reached.is_empty() {
            true => Goal::Breaks(broken),
            false => Goal::Reach(reached),
        };
        (request, finds)
    }

    /// Complains about what is said twice.
    fn once(&mut self, said: &mut Vec<(String, usize)>, word: &str, place: Place) {
        let earlier = said.iter().find(|(other, _)| other == word);
        if let Some((_, line)) = earlier {
            let message = format!("`{word}` stands on line {line} already");
            self.errors.add::<()>(place, message, "it once");
        } else {
            said.push((word.to_owned(), place.line));
        }
    }
}

fn set(bounds: &mut Bounds, limit: &SearchLimit) {
    let count = u32::try_from(limit.count).unwrap_or(u32::MAX);
    match limit.limit {
        Limit::Faults => bounds.faults = Some(count),
        Limit::Budget(budget) => {
            *bounds.budget_mut(budget) = count;
            bounds.set_keys(budget, limit.keys.clone());
        }
        Limit::Steps => bounds.steps = Some(count),
        Limit::Attempts => bounds.attempts = count,
        Limit::Worlds => bounds.worlds = limit.count,
    }
}

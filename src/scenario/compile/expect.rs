//! The expectations.

use super::super::error::quoted;
use super::super::layout::Lines;
use super::super::limits;
use super::super::syntax::{BlockKind, ExpectedClaim, ExpectedVerdict, Named, things};
use super::super::{Expectation, ExpectationLine, ExpectedWrite};
use super::{Compiler, unquoted};

impl Compiler<'_, '_, '_> {
    /// The expectations.
    pub(super) fn expectations(&mut self) -> Vec<ExpectationLine> {
        let mut lines = Vec::new();
        for block in self.blocks() {
            let BlockKind::Expect(entries) = &block.kind else {
                continue;
            };
            if let Some(first) = self.layout.expect {
                let message = format!("there are other expectations on line {}", first.first);
                self.errors
                    .add::<()>(block.place, message, "one `expect` block");
                continue;
            }
            self.layout.expect = Some(Lines::from(block.place));
            for entry in things(entries) {
                if lines.len() >= limits::EXPECTATIONS {
                    self.too_many(entry.place, "expectations", limits::EXPECTATIONS);
                    break;
                }
                let line = entry.place.line;
                let expectation = self.expectation(&entry.claim);
                lines.extend(expectation.map(|expectation| ExpectationLine { line, expectation }));
            }
        }
        lines
    }

    /// What a line of the expectations means.
    pub(super) fn expectation(&mut self, claim: &ExpectedClaim) -> Option<Expectation> {
        Some(match claim {
            ExpectedClaim::Property { verdict, sentence } => {
                let property = self.property(sentence)?;
                match verdict {
                    ExpectedVerdict::Holds => Expectation::Holds(property),
                    ExpectedVerdict::Broken => Expectation::Broken(property),
                    ExpectedVerdict::NotTested => Expectation::NotTested(property),
                }
            }
            ExpectedClaim::Row {
                table,
                key,
                columns,
            } => self.row(table, key, columns.as_deref())?,
            ExpectedClaim::Key {
                key,
                server,
                value,
                ttl,
            } => Expectation::Key {
                key: key.clone(),
                server: match server {
                    Some(name) => {
                        self.server(name)?;
                        Some(name.text.clone())
                    }
                    None => None,
                },
                value: value.clone(),
                ttl: *ttl,
            },
            ExpectedClaim::Writes(writes) => {
                let mut expected = Vec::new();
                for (who, verdict) in writes {
                    self.client_named(who, true)?;
                    let write = ExpectedWrite {
                        who: who.text.clone(),
                        verdict: verdict.clone(),
                    };
                    expected.push(write);
                }
                Expectation::Writes(expected)
            }
            ExpectedClaim::Charges(charges) => Expectation::Charges(charges.clone()),
            ExpectedClaim::Client { name, state } => {
                self.client_named(name, false)?;
                Expectation::Client {
                    name: name.text.clone(),
                    state: state.clone(),
                }
            }
        })
    }

    fn client_named(&mut self, name: &Named, or_operator: bool) -> Option<()> {
        let clients = self.setup.clients.iter().map(|client| client.name.as_str());
        let known = clients.chain(Some("operator").filter(|_| or_operator));
        if known.clone().any(|other| other == name.text) || self.damage.clients {
            return Some(());
        }
        self.errors
            .unknown(name.place, "no client is called", &name.text, known)
    }

    fn row(
        &mut self,
        table: &Named,
        key: &[String],
        columns: Option<&[(Named, String)]>,
    ) -> Option<Expectation> {
        for (column, _) in columns.unwrap_or_default() {
            self.column(table, column)?;
        }
        self.columns_of(table)?;
        let name = unquoted(&table.text);
        let primary = self.trial.primary_key(&name);
        if primary.is_empty() {
            let message = format!("the table {} has no primary key", quoted(&table.text));
            return self
                .errors
                .add(table.place, message, "a table whose rows have a name");
        }
        if primary.len() != key.len() {
            let message = format!(
                "the primary key of {} has {} and not {} columns",
                quoted(&table.text),
                primary.len(),
                key.len()
            );
            return self.errors.add(table.place, message, primary.join(", "));
        }
        let literals = columns
            .unwrap_or_default()
            .iter()
            .map(|(_, value)| value)
            .chain(key);
        for literal in literals {
            if self
                .trial
                .query(&format!("SELECT {literal}"))
                .is_none_or(|reply| reply.is_err())
            {
                let place = self.errors.find(table.place, literal);
                let message = format!("{} is no literal", quoted(literal));
                return self.errors.add(
                    place,
                    message,
                    "an SQL literal, such as 'sku-1', 8 or NULL",
                );
            }
        }
        let columns = columns.map(|columns| {
            let column = |(name, value): &(Named, String)| (unquoted(&name.text), value.clone());
            columns.iter().map(column).collect()
        });
        Some(Expectation::Row {
            table: name,
            key: key.to_vec(),
            columns,
        })
    }
}

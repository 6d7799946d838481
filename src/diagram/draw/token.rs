//! Fencing tokens on their way from the counter to the client and down to the row.

use crate::diagram::part::{End, Ended, Kind, Lane, PartId, TokenPlace};
use crate::diagram::{Slot, words};
use crate::sim::action::{ClientId, Who};
use crate::sim::event::Value;
use crate::sim::store::{Cause, KeyState};

use super::Pen;

impl Pen<'_> {
    /// A client's request made the counter give a token.
    pub(super) fn token_drawn(
        &mut self,
        client: ClientId,
        counter: usize,
        token: i64,
        before: Option<&KeyState>,
    ) {
        let key = String::from_utf8_lossy(&self.diagram.counters[counter]).into_owned();
        let earlier = before.map_or("none".to_string(), words::value_in_short);
        let kind = Kind::Token {
            client,
            token,
            place: TokenPlace::Drawn,
        };
        let causes = self.causes(Some(Who::Client(client)));
        let drawn = self.mark(
            Lane::Store(self.server),
            kind,
            format!("{key} {earlier} → {token}"),
            causes,
        );
        self.done.push((Who::Client(client), drawn));
        if self
            .diagram
            .open
            .contains_key(&Slot::Asked(Who::Client(client), true))
        {
            self.diagram.open(Slot::Drawn(client, counter), drawn);
        }
    }

    /// The client is handed a token: from here its way down the client's lane is drawn.
    pub(super) fn hand(
        &mut self,
        client: ClientId,
        counter: usize,
        token: i64,
        causes: Vec<PartId>,
    ) {
        let slot = Slot::Carry(client, counter);
        self.diagram.close(slot);
        let mut part = self.part(
            Lane::Client(client),
            Kind::Carry { client, token },
            "",
            causes,
        );
        part.top += 5;
        let carry = self.diagram.push(part);
        self.diagram.open(slot, carry);
    }

    pub(super) fn token_at_client(&mut self, client: ClientId, token: i64, arrow: PartId) {
        let kind = Kind::Token {
            client,
            token,
            place: TokenPlace::Client,
        };
        let mut part = self.part(Lane::Client(client), kind, token.to_string(), vec![arrow]);
        part.top += 5;
        part.bottom += 5;
        self.diagram.push(part);
    }

    /// A `draws` that names a token which no watched counter handed out.
    pub(super) fn drew(&mut self, client: ClientId, token: &Value) {
        let token = match token {
            Value::Integer(token) => Some(*token),
            Value::Text(text) => std::str::from_utf8(text)
                .ok()
                .and_then(|text| text.parse().ok()),
            Value::Null => None,
        };
        let Some(token) = token.filter(|token| self.carried(client, *token).is_none()) else {
            return;
        };
        let Some(reply) = self.seen.get(&client).copied() else {
            return;
        };
        self.diagram.carry(reply, token);
        self.y -= 5;
        self.hand(client, self.diagram.counters.len(), token, vec![reply]);
        self.token_at_client(client, token, reply);
        self.y += 5;
    }

    pub(super) fn carried(&self, client: ClientId, token: i64) -> Option<(Slot, PartId)> {
        (0..=self.diagram.counters.len()).find_map(|counter| {
            let slot = Slot::Carry(client, counter);
            let id = *self.diagram.open.get(&slot)?;
            let kind = &self.diagram.part(id)?.kind;
            (*kind == Kind::Carry { client, token }).then_some((slot, id))
        })
    }

    /// The client no longer has this token; `None`: any token.
    pub(super) fn drop_tokens(&mut self, client: ClientId, token: Option<i64>) {
        match token {
            Some(token) => {
                if let Some((slot, _)) = self.carried(client, token) {
                    self.diagram.close(slot);
                }
            }
            None => {
                for counter in 0..=self.diagram.counters.len() {
                    self.diagram.close(Slot::Drawn(client, counter));
                    self.diagram.close(Slot::Carry(client, counter));
                }
            }
        }
    }

    /// A token arrives at a row: its way leads down to the request that carried it.
    pub(super) fn token_at_row(&mut self, client: ClientId, token: i64, request: PartId) -> PartId {
        self.diagram.carry(request, token);
        let mut causes = vec![request];
        if let Some((_, carry)) = self.carried(client, token) {
            let asked = &self.diagram.parts[request.0 as usize];
            let end = End {
                y: asked.top,
                at: asked.at,
                action: self.action.unwrap_or(0),
                how: Ended::Used,
            };
            self.diagram.end(carry, end);
            causes.push(carry);
        }
        let kind = Kind::Token {
            client,
            token,
            place: TokenPlace::Row,
        };
        self.mark(Lane::Table, kind, token.to_string(), causes)
    }
}

/// The token that a counting command made; `None` for other changes of a counter.
pub(super) fn token_made(after: Option<&KeyState>, cause: Cause) -> Option<i64> {
    match cause {
        Cause::Command("INCR" | "INCRBY" | "DECR" | "DECRBY") => {
            std::str::from_utf8(after?.value.as_string()?)
                .ok()?
                .parse()
                .ok()
        }
        _ => None,
    }
}

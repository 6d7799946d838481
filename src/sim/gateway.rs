//! The card gateway: it charges and refunds cards, and remembers every charge for ever.
//!
//! It mirrors what card processors do (Stripe's API reference, "Idempotent requests"): without an idempotency key every
//! CHARGE takes the money again; with one, a repeated CHARGE gives the first one's result back, even after a refund, and
//! the same key with other parameters is an error.

use super::store::reply::Reply;

/// The largest number of charges that a gateway remembers; one more is refused.
pub const MOST_CHARGES: usize = 10_000;

/// The gateway's memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Gateway {
    charges: Vec<Charge>,
}

/// One charge to a card.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Charge {
    /// The order that it is for.
    pub order: String,
    /// How much, in the currency's smallest unit.
    pub amount: u64,
    /// The idempotency key that came with it.
    pub idempotency_key: Option<String>,
    /// Whether the money was given back.
    pub refunded: bool,
}

/// What a request did at the gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GatewayFact {
    /// A card was charged: the charge's place, from 0.
    Charged(usize),
    /// An idempotency key was recognised, and nothing was charged: the earlier charge's place.
    Repeated(usize),
    /// A charge was given back: its place.
    Refunded(usize),
}

impl Gateway {
    /// Every charge, in order.
    pub fn charges(&self) -> &[Charge] {
        &self.charges
    }

    /// Whether no charge names one of these.
    pub fn knows_nobody(&self, is_name: &dyn Fn(&[u8]) -> bool) -> bool {
        self.charges.iter().all(|charge| {
            let key = charge.idempotency_key.as_ref();
            !is_name(charge.order.as_bytes()) && !key.is_some_and(|key| is_name(key.as_bytes()))
        })
    }

    /// The gateway's name for the charge at this place: `ch-1` is the first.
    pub fn name_of(place: usize) -> String {
        format!("ch-{}", place + 1)
    }

    /// Executes `CHARGE order amount [KEY key]` or `REFUND order-or-charge`. A charge is answered with its name as a
    /// status, a refund with `OK`, and a mistake with an error that says what was expected.
    pub fn apply(&mut self, arguments: &[Vec<u8>]) -> (Reply, Option<GatewayFact>) {
        let words: Vec<String> = arguments
            .iter()
            .map(|argument| String::from_utf8_lossy(argument).into_owned())
            .collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let outcome = match words.as_slice() {
            [verb, order, amount] if verb.eq_ignore_ascii_case("CHARGE") => {
                self.charge(order, amount, None)
            }
            [verb, order, amount, word, key]
                if verb.eq_ignore_ascii_case("CHARGE") && word.eq_ignore_ascii_case("KEY") =>
            {
                self.charge(order, amount, Some(key))
            }
            [verb, name] if verb.eq_ignore_ascii_case("REFUND") => self.refund(name),
            _ => Err(
                "ERR expected CHARGE order amount [KEY idempotency-key] or REFUND order-or-charge"
                    .to_string(),
            ),
        };
        match outcome {
            Ok((reply, fact)) => (Reply::Status(reply), Some(fact)),
            Err(error) => (Reply::Error(error), None),
        }
    }

    fn charge(
        &mut self,
        order: &str,
        amount: &str,
        key: Option<&str>,
    ) -> Result<(String, GatewayFact), String> {
        let amount = amount
            .parse::<u64>()
            .ok()
            .filter(|amount| *amount > 0)
            .ok_or_else(|| {
                format!("ERR the amount has to be a whole number above 0, not '{amount}'")
            })?;
        let earlier = key.and_then(|key| {
            self.charges
                .iter()
                .position(|charge| charge.idempotency_key.as_deref() == Some(key))
        });
        if let Some(place) = earlier {
            let charge = &self.charges[place];
            if charge.order != order || charge.amount != amount {
                return Err(format!(
                    "ERR idempotency key '{}' was first used for order '{}' and amount {}",
                    key.unwrap_or_default(),
                    charge.order,
                    charge.amount
                ));
            }
            return Ok((Gateway::name_of(place), GatewayFact::Repeated(place)));
        }
        if self.charges.len() >= MOST_CHARGES {
            return Err(format!(
                "ERR the gateway remembers at most {MOST_CHARGES} charges"
            ));
        }
        self.charges.push(Charge {
            order: order.to_string(),
            amount,
            idempotency_key: key.map(str::to_string),
            refunded: false,
        });
        let place = self.charges.len() - 1;
        Ok((Gateway::name_of(place), GatewayFact::Charged(place)))
    }

    /// Gives the named charge back, or the latest charge of the named order that was not given back yet.
    fn refund(&mut self, name: &str) -> Result<(String, GatewayFact), String> {
        let place = (0..self.charges.len())
            .rev()
            .find(|place| {
                let charge = &self.charges[*place];
                !charge.refunded && (charge.order == name || Gateway::name_of(*place) == name)
            })
            .ok_or_else(|| format!("ERR nothing to refund for '{name}'"))?;
        self.charges[place].refunded = true;
        Ok(("OK".to_string(), GatewayFact::Refunded(place)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs the lines on a fresh gateway and compares each reply.
    fn check(lines: &[(&str, &str)]) {
        let mut gateway = Gateway::default();
        for (line, expected) in lines {
            let arguments: Vec<Vec<u8>> = line
                .split(' ')
                .map(|word| word.as_bytes().to_vec())
                .collect();
            let got = match gateway.apply(&arguments).0 {
                Reply::Status(text) | Reply::Error(text) => text,
                other => format!("{other:?}"),
            };
            assert_eq!(&got, expected, "{line}");
        }
    }

    #[test]
    fn charges_refunds_and_idempotency_keys() {
        check(&[
            ("CHARGE order-1 100", "ch-1"),
            ("CHARGE order-1 100", "ch-2"),
            ("REFUND order-1", "OK"),
            ("REFUND order-1", "OK"),
            ("REFUND order-1", "ERR nothing to refund for 'order-1'"),
        ]);
        check(&[
            ("CHARGE order-1 100 KEY order-1", "ch-1"),
            ("charge order-1 100 key order-1", "ch-1"),
            ("REFUND ch-1", "OK"),
            ("CHARGE order-1 100 KEY order-1", "ch-1"),
            (
                "CHARGE order-1 200 KEY order-1",
                "ERR idempotency key 'order-1' was first used for order 'order-1' and amount 100",
            ),
        ]);
        check(&[
            (
                "CHARGE order-1 -5",
                "ERR the amount has to be a whole number above 0, not '-5'",
            ),
            (
                "CHARGE order-1",
                "ERR expected CHARGE order amount [KEY idempotency-key] or REFUND order-or-charge",
            ),
        ]);
    }
}

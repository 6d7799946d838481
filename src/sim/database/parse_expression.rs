//! Reads expressions: MySQL's operators by their precedence (Reference Manual, "Operator
//! Precedence"), tightest last.

use super::calendar::{DAY, DateTime, Unit};
use super::decimal::Decimal;
use super::error;
use super::function;
use super::lexer::{self, Kind};
use super::parse::{self, Parsed, Parser};
use super::syntax::{Aggregate, CastTo, Expression, Is, Operator, Prefix, Span};
use super::value::{Double, Value};

/// How many operators one expression may hold.
const MOST_OPERATORS: u32 = 300;

// Levels of precedence.
const AND: u8 = 3;
const NOT: u8 = 4;
const COMPARE: u8 = 5;
const PREDICATE: u8 = 6;
const BIT: u8 = 7;
const ADD: u8 = 10;

/// Symbols and words with their operator and level.
const OPERATORS: &[(&str, Operator, u8)] = &[
    ("OR", Operator::Or, 1),
    ("||", Operator::Or, 1),
    ("XOR", Operator::Xor, 2),
    ("AND", Operator::And, AND),
    ("&&", Operator::And, AND),
    ("=", Operator::Equal, COMPARE),
    ("<=>", Operator::NullSafe, COMPARE),
    ("<>", Operator::NotEqual, COMPARE),
    ("!=", Operator::NotEqual, COMPARE),
    ("<", Operator::Less, COMPARE),
    ("<=", Operator::LessEqual, COMPARE),
    (">", Operator::Greater, COMPARE),
    (">=", Operator::GreaterEqual, COMPARE),
    ("|", Operator::BitOr, BIT),
    ("&", Operator::BitAnd, 8),
    ("<<", Operator::ShiftLeft, 9),
    (">>", Operator::ShiftRight, 9),
    ("+", Operator::Add, ADD),
    ("-", Operator::Subtract, ADD),
    ("*", Operator::Multiply, 11),
    ("/", Operator::Divide, 11),
    ("DIV", Operator::WholeDivide, 11),
    ("%", Operator::Modulo, 11),
    ("MOD", Operator::Modulo, 11),
    ("^", Operator::BitXor, 12),
];

impl Parser<'_> {
    /// Any expression.
    pub(super) fn expression(&mut self) -> Parsed<Expression> {
        if self.depth == 0 {
            self.operators = 0;
        }
        self.binary(0)
    }

    /// What may stand between two ANDs.
    pub(super) fn operand_of_and(&mut self) -> Parsed<Expression> {
        self.operators = 0;
        self.binary(NOT)
    }

    pub(super) fn operator_follows(&self, wanted: &[Operator]) -> bool {
        self.operator()
            .is_some_and(|(operator, _)| wanted.contains(&operator))
    }

    fn operator(&self) -> Option<(Operator, u8)> {
        let token = self.peek();
        if !matches!(token.kind, Kind::Word | Kind::Symbol) {
            return None;
        }
        let text = self.text(token);
        let found = OPERATORS
            .iter()
            .find(|(symbol, _, _)| text.eq_ignore_ascii_case(symbol))?;
        Some((found.1, found.2))
    }

    fn count_operator(&mut self) -> Parsed<()> {
        self.operators += 1;
        if self.operators > MOST_OPERATORS {
            return Err(error::stack_overrun(&MOST_OPERATORS.to_string()));
        }
        Ok(())
    }

    /// Reads operators of this level and tighter ones.
    fn binary(&mut self, level: u8) -> Parsed<Expression> {
        self.deeper(|parser| {
            let mut left = if level <= NOT && parser.accept("NOT") {
                parser.count_operator()?;
                Expression::Prefix(Prefix::Not, Box::new(parser.binary(NOT)?))
            } else {
                parser.unary()?
            };
            loop {
                left = if let Some((operator, its_level)) = parser.operator() {
                    if its_level < level {
                        return Ok(left);
                    }
                    parser.count_operator()?;
                    parser.advance();
                    parser.right_side(operator, its_level, left)?
                } else if level <= PREDICATE && parser.predicate_follows() {
                    parser.count_operator()?;
                    parser.predicate(left)?
                } else if level <= COMPARE && parser.accept("IS") {
                    parser.count_operator()?;
                    parser.is(left)?
                } else {
                    return Ok(left);
                };
            }
        })
    }

    fn right_side(
        &mut self,
        operator: Operator,
        level: u8,
        left: Expression,
    ) -> Parsed<Expression> {
        if level == ADD && self.is_word("INTERVAL") && !self.is_symbol_at(1, ",") {
            let (amount, unit) = self.interval()?;
            let minus = operator == Operator::Subtract;
            return Ok(Expression::Shift {
                operands: Box::new([left, amount]),
                unit,
                minus,
            });
        }
        let right = self.binary(level + 1)?;
        Ok(Expression::Binary(
            operator,
            Box::new(left),
            Box::new(right),
        ))
    }

    fn interval(&mut self) -> Parsed<(Expression, Unit)> {
        self.expect("INTERVAL")?;
        let amount = self.expression()?;
        Ok((amount, self.unit()?))
    }

    fn unit(&mut self) -> Parsed<Unit> {
        let word = self.text(self.peek()).to_ascii_uppercase();
        match Unit::named(word.strip_prefix("SQL_TSI_").unwrap_or(&word)) {
            Some(unit) => {
                self.advance();
                Ok(unit)
            }
            None if word.contains('_') => self.unsupported("this unit of INTERVAL"),
            None => self.fail(),
        }
    }

    fn predicate_follows(&self) -> bool {
        let ahead = usize::from(self.is_word("NOT"));
        let pair = |one, two| self.is_word(one) && self.is_word_at(1, two);
        ["IN", "BETWEEN", "LIKE", "REGEXP", "RLIKE"]
            .iter()
            .any(|word| self.is_word_at(ahead, word))
            || pair("SOUNDS", "LIKE")
            || pair("MEMBER", "OF")
    }

    fn predicate(&mut self, left: Expression) -> Parsed<Expression> {
        let negated = self.accept("NOT");
        if self.accept("BETWEEN") {
            let low = self.binary(BIT)?;
            self.expect("AND")?;
            let high = self.binary(PREDICATE)?;
            return Ok(Expression::Between {
                negated,
                operands: Box::new([left, low, high]),
            });
        }
        if self.accept("LIKE") {
            let pattern = self.unary()?;
            let mut escape = '\\';
            if self.accept("ESCAPE") {
                let token = self.peek();
                let text = lexer::unquoted(self.text(token));
                match (token.kind, text.chars().next()) {
                    (Kind::Text, Some(character)) => escape = character,
                    _ => return self.fail(),
                }
                self.advance();
            }
            return Ok(Expression::Like {
                negated,
                operands: Box::new([left, pattern]),
                escape,
            });
        }
        if !self.accept("IN") {
            self.refuse("SOUNDS MEMBER")?;
            return self.unsupported("REGEXP");
        }
        self.expect_symbol("(")?;
        let needle = Box::new(left);
        let result = if self.is_word("SELECT") {
            let query = Box::new(self.select()?);
            if query.limit.is_some() {
                return Err(error::limit_in_subquery());
            }
            Expression::InQuery {
                negated,
                needle,
                query,
            }
        } else {
            Expression::In {
                negated,
                needle,
                list: self.list(&mut Self::expression)?,
            }
        };
        self.expect_symbol(")")?;
        Ok(result)
    }

    fn is(&mut self, operand: Expression) -> Parsed<Expression> {
        let negated = self.accept("NOT");
        let operand = Box::new(operand);
        let what = if self.accept("NULL") || self.accept("UNKNOWN") {
            Is::Null
        } else if self.accept("TRUE") {
            Is::True
        } else if self.accept("FALSE") {
            Is::False
        } else {
            return self.fail();
        };
        Ok(Expression::Is {
            negated,
            what,
            operand,
        })
    }

    /// A primary expression with or without signs before it.
    pub(super) fn unary(&mut self) -> Parsed<Expression> {
        let prefix = if self.is_symbol("-") {
            Some(Prefix::Minus)
        } else if self.is_symbol("~") {
            Some(Prefix::BitNot)
        } else if self.is_symbol("!") {
            Some(Prefix::Not)
        } else if self.is_symbol("+") {
            None
        } else {
            let operand = self.primary()?;
            while self.accept("COLLATE") {
                self.collation()?;
            }
            return Ok(operand);
        };
        self.advance();
        self.count_operator()?;
        let operand = self.deeper(Self::unary)?;
        Ok(match (prefix, operand) {
            (None, operand) => operand,
            (Some(Prefix::Minus), Expression::Literal(Value::Integer(number)))
                if number != i64::MIN =>
            {
                Expression::Literal(Value::Integer(-number))
            }
            // -9223372036854775808 is a signed number though its digits alone are not.
            (Some(Prefix::Minus), Expression::Literal(Value::Unsigned(number)))
                if number == 1 << 63 =>
            {
                Expression::Literal(Value::Integer(i64::MIN))
            }
            (Some(Prefix::Minus), Expression::Literal(Value::Decimal(number))) => {
                Expression::Literal(Value::Decimal(number.negated()))
            }
            (Some(prefix), operand) => Expression::Prefix(prefix, Box::new(operand)),
        })
    }

    /// What binds tightest: literals, names, calls, parentheses.
    pub(super) fn primary(&mut self) -> Parsed<Expression> {
        let token = self.peek();
        match token.kind {
            Kind::Whole | Kind::Point | Kind::Exponent => self.number(),
            Kind::Text => self.string(),
            Kind::Placeholder => {
                self.advance();
                let name = self
                    .source
                    .get(token.start + 1..token.end - 1)
                    .unwrap_or("")
                    .to_string();
                self.placeholders.push((
                    name,
                    Span {
                        start: token.start,
                        end: token.end,
                    },
                ));
                Ok(Expression::Placeholder(self.placeholders.len() - 1))
            }
            Kind::UserVariable => {
                self.advance();
                let name = self.text(token)[1..].to_ascii_lowercase();
                if self.accept_symbol(":=") {
                    let value = self.expression()?;
                    return Ok(Expression::Assign(name, Box::new(value)));
                }
                Ok(Expression::UserVariable(name))
            }
            Kind::SystemVariable => {
                self.advance();
                Ok(Expression::SystemVariable(parse::system_variable(
                    self.text(token),
                )))
            }
            Kind::Symbol if self.is_symbol("(") => self.parenthesis(),
            Kind::Word => self.word(),
            Kind::Quoted => self.column(),
            _ => self.fail(),
        }
    }

    fn number(&mut self) -> Parsed<Expression> {
        let token = self.advance();
        let text = self.text(token);
        let value = match token.kind {
            Kind::Whole => match (text.parse::<i64>(), text.parse::<u64>()) {
                (Ok(number), _) => Some(Value::Integer(number)),
                (_, Ok(number)) => Some(Value::Unsigned(number)),
                _ => Decimal::parse(text).map(Value::Decimal),
            },
            Kind::Point => Decimal::parse(text).map(Value::Decimal),
            _ => None,
        };
        Ok(Expression::Literal(value.unwrap_or_else(|| {
            let number: f64 = text.parse().unwrap_or(0.0);
            Value::Double(Double(if number.is_finite() { number } else { f64::MAX }))
        })))
    }

    fn string(&mut self) -> Parsed<Expression> {
        let mut text = String::new();
        while self.peek().kind == Kind::Text {
            let token = self.advance();
            text.push_str(&lexer::unquoted(self.text(token)));
        }
        Ok(Expression::Literal(text.into()))
    }

    fn parenthesis(&mut self) -> Parsed<Expression> {
        self.expect_symbol("(")?;
        if self.is_word("SELECT") {
            let query = Box::new(self.select()?);
            self.expect_symbol(")")?;
            return Ok(Expression::Query(query));
        }
        let inner = self.binary(0)?;
        if self.is_symbol(",") {
            return self.unsupported("row constructors");
        }
        self.expect_symbol(")")?;
        Ok(inner)
    }

    fn word(&mut self) -> Parsed<Expression> {
        let token = self.peek();
        let word = self.text(token).to_ascii_uppercase();
        let called = self.is_symbol_at(1, "(");
        // These four must touch their parenthesis (Reference Manual, "Function Name Parsing and Resolution").
        let touching = self.peek_at(1).start == token.end;
        let constant = match word.as_str() {
            "NULL" => Some(Value::Null),
            "TRUE" => Some(Value::Integer(1)),
            "FALSE" => Some(Value::Integer(0)),
            _ => None,
        };
        if let Some(value) = constant {
            self.advance();
            return Ok(Expression::Literal(value));
        }
        match word.as_str() {
            "CASE" => return self.case(),
            "EXISTS" if called => {
                self.advance();
                self.advance();
                let query = Box::new(self.select()?);
                self.expect_symbol(")")?;
                return Ok(Expression::Exists(query));
            }
            "CAST" if called && touching => return self.cast(),
            "CONVERT" if called => return self.unsupported("CONVERT"),
            "VALUES" if called => {
                self.advance();
                self.advance();
                let mut name = self.name()?;
                while self.accept_symbol(".") {
                    name = self.any_word();
                }
                self.expect_symbol(")")?;
                return Ok(Expression::Inserted(name));
            }
            "DATE_ADD" | "DATE_SUB" | "ADDDATE" | "SUBDATE" if called => {
                let plus = word.ends_with("ADD") || word.starts_with("ADD");
                return self.date_shift(plus, word.ends_with("DATE"));
            }
            "TIMESTAMPADD" if called => return self.timestamp_add(),
            "CURRENT_USER" if !called => {
                self.advance();
                return Ok(Expression::Call(function::Function::User, Vec::new()));
            }
            "TIMESTAMPDIFF" if called => return self.difference(),
            "TIMESTAMP" if self.peek_at(1).kind == Kind::Text => return self.time_literal(),
            "CURRENT_TIMESTAMP" | "LOCALTIME" | "LOCALTIMESTAMP" | "UTC_TIMESTAMP" if !called => {
                self.advance();
                return Ok(Expression::Call(function::Function::Now, Vec::new()));
            }
            "BINARY" | "INTERVAL" | "MATCH" => return self.unsupported(&word),
            "ROW" | "ANY" | "SOME" | "ALL" | "EXTRACT" if called => return self.unsupported(&word),
            // Strings of another kind: X'41', N'a', _utf8mb4'a', DATE '2026-01-01'.
            _ if self.peek_at(1).kind == Kind::Text
                && (word.starts_with('_')
                    || matches!(word.as_str(), "DATE" | "TIME")
                    || touching && matches!(word.as_str(), "B" | "X" | "N")) =>
            {
                return self.unsupported(&word);
            }
            "DEFAULT" if called => return self.unsupported("DEFAULT(column)"),
            _ => {}
        }
        let aggregate = match word.as_str() {
            "COUNT" => Some(Aggregate::Count),
            "SUM" => Some(Aggregate::Sum),
            "AVG" => Some(Aggregate::Average),
            "MIN" => Some(Aggregate::Minimum),
            "MAX" => Some(Aggregate::Maximum),
            _ => None,
        };
        match aggregate {
            Some(kind) if called && touching => self.aggregate(kind),
            _ if called => self.call(&word),
            _ => self.column(),
        }
    }

    fn column(&mut self) -> Parsed<Expression> {
        let mut name = self.name()?;
        let mut table: Option<String> = None;
        while self.accept_symbol(".") {
            if !matches!(self.peek().kind, Kind::Word | Kind::Quoted) {
                return self.fail();
            }
            // A table of another database is none that a name can mean.
            table = Some(
                match table.filter(|database| database != error::DATABASE_NAME) {
                    Some(database) => [&database, ".", &name].concat(),
                    None => name,
                },
            );
            name = self.any_word();
        }
        if self.is_symbol("-") && (self.is_symbol_at(1, ">") || self.is_symbol_at(1, ">>")) {
            return self.unsupported("->");
        }
        Ok(Expression::Column { table, name })
    }

    fn case(&mut self) -> Parsed<Expression> {
        self.expect("CASE")?;
        let operand = if self.is_word("WHEN") {
            None
        } else {
            Some(Box::new(self.expression()?))
        };
        let mut arms = Vec::new();
        while self.accept("WHEN") {
            let when = self.expression()?;
            self.expect("THEN")?;
            arms.push((when, self.expression()?));
        }
        if arms.is_empty() {
            return self.fail();
        }
        let otherwise = if self.accept("ELSE") {
            Some(Box::new(self.expression()?))
        } else {
            None
        };
        self.expect("END")?;
        Ok(Expression::Case {
            operand,
            arms,
            otherwise,
        })
    }

    fn cast(&mut self) -> Parsed<Expression> {
        self.advance();
        self.expect_symbol("(")?;
        let operand = Box::new(self.expression()?);
        self.expect("AS")?;
        let word = self.text(self.peek()).to_ascii_uppercase();
        self.advance();
        let to = match word.as_str() {
            "SIGNED" | "UNSIGNED" => {
                let _ = self.accept("INTEGER") || self.accept("INT");
                if word == "SIGNED" {
                    CastTo::Signed
                } else {
                    CastTo::Unsigned
                }
            }
            "DECIMAL" | "DEC" => {
                let (precision, scale) = self.decimal_size()?;
                CastTo::Decimal(precision, scale)
            }
            "CHAR" => CastTo::Text(self.size()?.map(|size| size.min(1 << 24) as u32)),
            "DOUBLE" => CastTo::Double,
            "DATETIME" => CastTo::DateTime(self.size()?.unwrap_or(0).min(6) as u8),
            _ => return self.unsupported("CAST to this type"),
        };
        self.expect_symbol(")")?;
        Ok(Expression::Cast(to, operand))
    }

    /// The number in parentheses that may follow a type.
    pub(super) fn size(&mut self) -> Parsed<Option<u64>> {
        if !self.accept_symbol("(") {
            return Ok(None);
        }
        let size = self.whole_number()?;
        self.expect_symbol(")")?;
        Ok(Some(size))
    }

    /// Precision and scale of DECIMAL, 10 and 0 when not given.
    pub(super) fn decimal_size(&mut self) -> Parsed<(u8, u8)> {
        let (mut precision, mut scale) = (10, 0);
        if self.accept_symbol("(") {
            precision = self.whole_number()?;
            if self.accept_symbol(",") {
                scale = self.whole_number()?;
            }
            self.expect_symbol(")")?;
        }
        if precision > 36 {
            return self.unsupported("DECIMAL of more than 36 digits");
        }
        if scale > precision || scale > 30 {
            return Err(error::bad_scale(""));
        }
        Ok((precision as u8, scale as u8))
    }

    fn date_shift(&mut self, plus: bool, days: bool) -> Parsed<Expression> {
        self.advance();
        self.expect_symbol("(")?;
        let time = self.expression()?;
        self.expect_symbol(",")?;
        // ADDDATE and SUBDATE take days, too.
        let (amount, unit) = match days && !self.is_word("INTERVAL") {
            true => (self.expression()?, Unit::Fixed(DAY)),
            false => self.interval()?,
        };
        self.expect_symbol(")")?;
        Ok(Expression::Shift {
            operands: Box::new([time, amount]),
            unit,
            minus: !plus,
        })
    }

    fn timestamp_add(&mut self) -> Parsed<Expression> {
        self.advance();
        self.expect_symbol("(")?;
        let unit = self.unit()?;
        self.expect_symbol(",")?;
        let amount = self.expression()?;
        self.expect_symbol(",")?;
        let time = self.expression()?;
        self.expect_symbol(")")?;
        Ok(Expression::Shift {
            operands: Box::new([time, amount]),
            unit,
            minus: false,
        })
    }

    fn difference(&mut self) -> Parsed<Expression> {
        self.advance();
        self.expect_symbol("(")?;
        let unit = self.unit()?;
        self.expect_symbol(",")?;
        let from = self.expression()?;
        self.expect_symbol(",")?;
        let to = self.expression()?;
        self.expect_symbol(")")?;
        Ok(Expression::Difference {
            operands: Box::new([from, to]),
            unit,
        })
    }

    fn time_literal(&mut self) -> Parsed<Expression> {
        self.advance();
        let token = self.advance();
        let text = lexer::unquoted(self.text(token));
        match DateTime::parse(&text) {
            Some(time) => Ok(Expression::Literal(Value::DateTime(time))),
            None => Err(error::SqlError::new(
                1525,
                "HY000",
                format!("Incorrect DATETIME value: '{text}'"),
            )),
        }
    }

    fn aggregate(&mut self, kind: Aggregate) -> Parsed<Expression> {
        self.advance();
        self.expect_symbol("(")?;
        if kind == Aggregate::Count && self.accept_symbol("*") {
            self.expect_symbol(")")?;
            return Ok(Expression::Aggregate {
                kind,
                distinct: false,
                arguments: Vec::new(),
            });
        }
        let distinct = self.accept("DISTINCT");
        let arguments = if distinct && kind == Aggregate::Count {
            self.list(&mut Self::expression)?
        } else {
            vec![self.expression()?]
        };
        self.expect_symbol(")")?;
        if self.is_word("OVER") {
            return self.unsupported("window functions");
        }
        Ok(Expression::Aggregate {
            kind,
            distinct,
            arguments,
        })
    }

    fn call(&mut self, word: &str) -> Parsed<Expression> {
        let found = function::named(word);
        if found.is_none() && !self.is_name() && !function::is_mysqls(word) {
            return self.fail();
        }
        let name = self.any_word();
        self.expect_symbol("(")?;
        let mut arguments = Vec::new();
        if !self.is_symbol(")") {
            arguments = self.list(&mut Self::expression)?;
        }
        self.expect_symbol(")")?;
        let Some((function, least, most)) = found else {
            return if function::is_mysqls(word) {
                self.unsupported(&name)
            } else {
                Err(error::no_function(&name))
            };
        };
        if arguments.len() < least || arguments.len() > most {
            return Err(error::parameter_count(&name));
        }
        if let (function::Function::Now, [Expression::Literal(Value::Integer(digits @ 7..))]) =
            (function, &*arguments)
        {
            return Err(error::too_big_precision(&digits.to_string(), "now"));
        }
        Ok(Expression::Call(function, arguments))
    }
}

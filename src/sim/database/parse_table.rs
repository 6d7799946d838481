//! Reads CREATE TABLE.

use std::sync::Arc;

use super::column::{ColumnSpecification, ColumnType, Default, KeyKind, KeySpecification};
use super::error;
use super::lexer::Kind;
use super::parse::{Parsed, Parser};
use super::syntax::{Change, Check, Command, CreateTable, Expression, Place};
use super::value::Value;

impl Parser<'_> {
    pub(super) fn create(&mut self) -> Parsed<Command> {
        let unique = self.is_word("UNIQUE") && self.is_word_at(1, "INDEX");
        if unique || self.is_word("INDEX") {
            return self.create_index(unique);
        }
        self.accept_all("OR REPLACE");
        if !self.accept("TABLE") {
            return self.refuse_kind();
        }
        let if_not_exists = self.accept("IF");
        if if_not_exists {
            self.expect("NOT EXISTS")?;
        }
        let table = self.table_name()?;
        if self.is_word("LIKE") || self.is_word("SELECT") || self.is_word("AS") {
            return self.unsupported("CREATE TABLE from a table or a query");
        }
        self.expect_symbol("(")?;
        let mut create = CreateTable {
            if_not_exists,
            table,
            columns: Vec::new(),
            keys: Vec::new(),
            checks: Vec::new(),
            auto_increment: 1,
        };
        self.list(&mut |parser| parser.definition(&mut create))?;
        self.expect_symbol(")")?;
        self.table_options(&mut create)?;
        Ok(Command::CreateTable(create))
    }

    /// CREATE INDEX is an ALTER TABLE.
    fn create_index(&mut self, unique: bool) -> Parsed<Command> {
        let _ = unique && self.accept("UNIQUE");
        self.expect("INDEX")?;
        let name = self.name()?;
        self.index_type();
        self.expect("ON")?;
        let table = self.table_name()?;
        let kind = if unique {
            KeyKind::Unique
        } else {
            KeyKind::Plain
        };
        let mut part = CreateTable::default();
        self.key(kind, Some(name), &mut part)?;
        self.refuse("ALGORITHM LOCK")?;
        let change = Change::Add { part, place: None };
        Ok(Command::AlterTable(table, vec![change]))
    }

    /// ALTER TABLE, as far as it adds and drops what CREATE TABLE could have said.
    pub(super) fn alter(&mut self) -> Parsed<Command> {
        self.expect("TABLE")?;
        let table = self.table_name()?;
        let changes = self.list(&mut |parser| {
            if parser.accept("ADD") {
                return parser.addition();
            }
            let change = parser.accept("CHANGE");
            if change || parser.accept("MODIFY") {
                return parser.modification(change);
            }
            if parser.accept("DROP") {
                if parser.accept_all("PRIMARY KEY") {
                    return Ok(Change::DropIndex("PRIMARY".into()));
                }
                if parser.accept("INDEX") || parser.accept("KEY") {
                    return Ok(Change::DropIndex(parser.name()?));
                }
                if !parser.is_one_of("CONSTRAINT CHECK FOREIGN") {
                    parser.accept("COLUMN");
                    return Ok(Change::DropColumn(parser.name()?));
                }
            }
            parser
                .unsupported("ALTER TABLE but ADD, DROP, MODIFY and CHANGE of columns and indexes")
        })?;
        Ok(Command::AlterTable(table, changes))
    }

    fn addition(&mut self) -> Parsed<Change> {
        self.accept("COLUMN");
        if self.is_symbol("(") {
            return self.unsupported("ADD COLUMN with a list");
        }
        let mut part = CreateTable::default();
        self.definition(&mut part)?;
        Ok(Change::Add {
            part,
            place: self.place_of_column()?,
        })
    }

    /// What stands behind MODIFY, or behind CHANGE, which has the column's old name first.
    fn modification(&mut self, change: bool) -> Parsed<Change> {
        self.accept("COLUMN");
        let old = if change { Some(self.name()?) } else { None };
        let mut part = CreateTable::default();
        self.column_definition(&mut part)?;
        let new = part.columns.first().map(|column| column.name.clone());
        Ok(Change::Modify {
            name: old.or(new).unwrap_or_default(),
            part,
            place: self.place_of_column()?,
        })
    }

    fn place_of_column(&mut self) -> Parsed<Option<Place>> {
        if self.accept("FIRST") {
            Ok(Some(None))
        } else if self.accept("AFTER") {
            Ok(Some(Some(self.name()?)))
        } else {
            Ok(None)
        }
    }

    /// Reads a column, an index or a check as CREATE TABLE has them between its parentheses.
    fn definition(&mut self, create: &mut CreateTable) -> Parsed<()> {
        let constraint = self.accept("CONSTRAINT");
        let mut name = None;
        if constraint && self.is_name() {
            name = Some(self.name()?);
        }
        if self.accept("PRIMARY") {
            self.expect("KEY")?;
            return self.key(KeyKind::Primary, Some("PRIMARY".into()), create);
        }
        if self.accept("UNIQUE") {
            let _ = self.accept("KEY") || self.accept("INDEX");
            return self.key(KeyKind::Unique, name, create);
        }
        if self.accept("CHECK") {
            let check = self.check(name)?;
            create.checks.push(check);
            return Ok(());
        }
        if self.is_word("FOREIGN") {
            return self.unsupported("foreign keys");
        }
        if constraint {
            return self.fail();
        }
        if self.accept("KEY") || self.accept("INDEX") {
            return self.key(KeyKind::Plain, None, create);
        }
        if self.is_word("FULLTEXT") || self.is_word("SPATIAL") {
            return self.unsupported("this kind of index");
        }
        self.column_definition(create)
    }

    fn check(&mut self, name: Option<String>) -> Parsed<Check> {
        self.expect_symbol("(")?;
        let expression = Arc::new(self.expression()?);
        self.expect_symbol(")")?;
        if self.accept_all("NOT ENFORCED") {
            return self.unsupported("NOT ENFORCED");
        }
        self.accept("ENFORCED");
        Ok(Check { name, expression })
    }

    fn key(&mut self, kind: KeyKind, name: Option<String>, create: &mut CreateTable) -> Parsed<()> {
        let mut name = name;
        if self.is_name() && !self.is_word("USING") {
            let given = self.name()?;
            if kind != KeyKind::Primary {
                name = Some(given);
            }
        }
        self.index_type();
        self.expect_symbol("(")?;
        let columns = self.list(&mut |parser| {
            if parser.is_symbol("(") {
                return parser.unsupported("an index over an expression");
            }
            let column = parser.name()?;
            if parser.is_symbol("(") {
                return parser.unsupported("an index over the beginning of a column");
            }
            // The order of an index shows only in the order in which rows are locked.
            let _ = parser.accept("ASC") || parser.accept("DESC");
            Ok(column)
        })?;
        self.expect_symbol(")")?;
        self.index_options()?;
        create.keys.push(KeySpecification {
            kind,
            name,
            columns,
        });
        Ok(())
    }

    fn index_type(&mut self) {
        if self.accept("USING") {
            let _ = self.accept("BTREE") || self.accept("HASH");
        }
    }

    /// What may be said of an index and changes nothing here.
    fn index_options(&mut self) -> Parsed<()> {
        loop {
            if self.accept("COMMENT") {
                self.quoted_text()?;
            } else if self.accept("KEY_BLOCK_SIZE") {
                self.accept_symbol("=");
                self.whole_number()?;
            } else if self.is_word("USING") {
                self.index_type();
            } else if !self.accept("VISIBLE") {
                return self.refuse("INVISIBLE WITH");
            }
        }
    }

    fn column_definition(&mut self, create: &mut CreateTable) -> Parsed<()> {
        let name = self.name()?;
        let narrow = self.is_word("TINYINT")
            && self.is_symbol_at(1, "(")
            && self.text(self.peek_at(2)) == "1";
        let boolean = narrow || self.is_word("BOOL") || self.is_word("BOOLEAN");
        let kind = self.column_type(&name)?;
        let unsigned = matches!(kind, ColumnType::Integer { unsigned: true, .. });
        let mut column = ColumnSpecification {
            boolean: boolean && !unsigned,
            ..ColumnSpecification::nullable(&name, kind)
        };
        if self.is_word("SERIAL") {
            return self.unsupported("SERIAL DEFAULT VALUE");
        }
        loop {
            let mut one = |kind| {
                create.keys.push(KeySpecification {
                    kind,
                    name: (kind == KeyKind::Primary).then(|| "PRIMARY".into()),
                    columns: vec![name.clone()],
                });
            };
            if self.accept_all("NOT NULL") {
                column.not_null = true;
            } else if self.accept("NULL") {
                column.explicit_null = true;
            } else if self.accept("DEFAULT") {
                column.default = Some(self.default()?);
            } else if self.accept("AUTO_INCREMENT") {
                column.auto_increment = true;
            } else if self.accept("PRIMARY") {
                self.expect("KEY")?;
                one(KeyKind::Primary);
            } else if self.accept("UNIQUE") {
                self.accept("KEY");
                one(KeyKind::Unique);
            } else if self.accept("KEY") {
                one(KeyKind::Primary);
            } else if self.accept("COMMENT") {
                self.quoted_text()?;
            } else if self.is_word("CHECK") || self.is_word("CONSTRAINT") {
                let name = if self.accept("CONSTRAINT") && self.is_name() {
                    Some(self.name()?)
                } else {
                    None
                };
                self.expect("CHECK")?;
                let check = self.check(name)?;
                create.checks.push(check);
            } else if self.accept("COLLATE") {
                self.collation()?;
            } else if self.accept_all("CHARACTER SET") {
                self.any_word();
            } else if self.accept_all("ON UPDATE") {
                match self.primary()? {
                    Expression::Call(super::function::Function::Now, _) => {
                        column.on_update_now = true
                    }
                    _ => return self.fail(),
                }
            } else if self.is_word("REFERENCES") {
                return self.unsupported("foreign keys");
            } else if self.is_word("GENERATED") || self.is_word("AS") {
                return self.unsupported("generated columns");
            } else if !self.accept("VISIBLE") {
                self.refuse("INVISIBLE COLUMN_FORMAT STORAGE ENGINE_ATTRIBUTE")?;
                break;
            }
        }
        create.columns.push(column);
        Ok(())
    }

    /// The comparison of strings is that of utf8mb4_general_ci; another one would change answers.
    pub(super) fn collation(&mut self) -> Parsed<()> {
        let name = self.any_word().to_ascii_lowercase();
        let name = name.trim_matches(['\'', '"']);
        if name.ends_with("_ci") {
            Ok(())
        } else {
            self.unsupported(&format!("COLLATE {name}"))
        }
    }

    fn default(&mut self) -> Parsed<Default> {
        if self.accept_symbol("(") {
            let expression = self.expression()?;
            self.expect_symbol(")")?;
            return Ok(Default::Expression(Arc::new(expression)));
        }
        let place = self.place();
        let start = self.peek();
        match self.unary()? {
            Expression::Literal(value) => Ok(Default::Literal(value)),
            Expression::Call(super::function::Function::Now, arguments) => {
                let digits = match arguments.first() {
                    Some(Expression::Literal(Value::Integer(digits))) => {
                        (*digits).clamp(0, 6) as u8
                    }
                    _ => 0,
                };
                Ok(Default::Now(digits))
            }
            _ => {
                self.return_to(place);
                Err(error::syntax(self.source, start.start))
            }
        }
    }

    fn column_type(&mut self, column: &str) -> Parsed<ColumnType> {
        let token = self.peek();
        if token.kind != Kind::Word {
            return self.fail();
        }
        let word = self.text(token).to_ascii_uppercase();
        self.advance();
        let bytes = match word.as_str() {
            "TINYINT" | "INT1" => 1,
            "SMALLINT" | "INT2" => 2,
            "MEDIUMINT" | "INT3" | "MIDDLEINT" => 3,
            "INT" | "INTEGER" | "INT4" => 4,
            "BIGINT" | "INT8" => 8,
            _ => 0,
        };
        if bytes > 0 {
            self.size()?;
            return Ok(ColumnType::Integer {
                bytes,
                unsigned: self.unsigned()?,
            });
        }
        Ok(match word.as_str() {
            "BOOLEAN" | "BOOL" => ColumnType::Integer {
                bytes: 1,
                unsigned: false,
            },
            "DECIMAL" | "NUMERIC" | "DEC" | "FIXED" => {
                let (precision, scale) = self.decimal_size()?;
                ColumnType::Decimal {
                    precision: precision.max(1),
                    scale,
                    unsigned: self.unsigned()?,
                }
            }
            "DOUBLE" | "REAL" => {
                self.accept("PRECISION");
                if self.is_symbol("(") {
                    return self.unsupported("DOUBLE(M,D)");
                }
                ColumnType::Double {
                    unsigned: self.unsigned()?,
                }
            }
            "VARCHAR" | "CHARACTER" | "CHAR" => {
                let varying = word == "VARCHAR" || self.accept("VARYING");
                let size = match self.size()? {
                    None if varying => return self.fail(),
                    size => size.unwrap_or(1),
                };
                let most = if varying { 16_383 } else { 255 };
                if size > most {
                    return Err(error::column_too_big(column, &most.to_string()));
                }
                self.charset()?;
                if varying {
                    ColumnType::Varchar(size as u32)
                } else {
                    ColumnType::Char(size as u32)
                }
            }
            "TINYTEXT" => self.text_type(255)?,
            "TEXT" => self.text_type(65_535)?,
            "MEDIUMTEXT" => self.text_type(16_777_215)?,
            "LONGTEXT" => self.text_type(u32::MAX)?,
            "DATETIME" | "TIMESTAMP" => {
                let digits = self.size()?.unwrap_or(0);
                if digits > 6 {
                    return Err(error::too_big_precision(&digits.to_string(), column));
                }
                ColumnType::DateTime {
                    digits: digits as u8,
                    timestamp: word == "TIMESTAMP",
                }
            }
            "FLOAT" | "DATE" | "TIME" | "YEAR" | "BLOB" | "TINYBLOB" | "MEDIUMBLOB"
            | "LONGBLOB" | "BINARY" | "VARBINARY" | "BIT" | "ENUM" | "SET" | "JSON" | "SERIAL"
            | "GEOMETRY" | "POINT" | "NCHAR" | "NVARCHAR" | "LONG" | "UUID" => {
                return self.unsupported(&format!("columns of type {word}"));
            }
            _ => return Err(error::syntax(self.source, token.start)),
        })
    }

    fn text_type(&mut self, most: u32) -> Parsed<ColumnType> {
        self.size()?;
        self.charset()?;
        Ok(ColumnType::Text(most))
    }

    fn charset(&mut self) -> Parsed<()> {
        if self.accept_all("CHARACTER SET") || self.accept("CHARSET") {
            self.any_word();
        }
        if self.is_word("BINARY") {
            return self.unsupported("BINARY");
        }
        Ok(())
    }

    fn unsigned(&mut self) -> Parsed<bool> {
        let unsigned = self.accept("UNSIGNED");
        if !unsigned {
            self.accept("SIGNED");
        }
        if self.is_word("ZEROFILL") {
            return self.unsupported("ZEROFILL");
        }
        Ok(unsigned)
    }

    fn table_options(&mut self, create: &mut CreateTable) -> Parsed<()> {
        while self.peek().kind == Kind::Word {
            if self.is_word("PARTITION") {
                return self.unsupported("PARTITION BY");
            }
            self.refuse("AUTOEXTEND_SIZE COMPRESSION CONNECTION DATA ENCRYPTION ENGINE_ATTRIBUTE INDEX INSERT_METHOD SECONDARY_ENGINE START TABLESPACE UNION")?;
            self.accept("DEFAULT");
            let engine = self.is_word("ENGINE");
            let auto_increment = self.is_word("AUTO_INCREMENT");
            let collate = self.is_word("COLLATE");
            let known = "ENGINE AUTO_INCREMENT CHARSET COLLATE COMMENT ROW_FORMAT MAX_ROWS MIN_ROWS AVG_ROW_LENGTH CHECKSUM DELAY_KEY_WRITE KEY_BLOCK_SIZE PACK_KEYS STATS_AUTO_RECALC STATS_PERSISTENT STATS_SAMPLE_PAGES";
            if !self.accept_all("CHARACTER SET") {
                if !self.is_one_of(known) {
                    return self.fail();
                }
                self.advance();
            }
            self.accept_symbol("=");
            let value = self.text(self.peek()).trim_matches(['\'', '"', '`']);
            if engine && !value.eq_ignore_ascii_case("InnoDB") {
                return self.unsupported("engines other than InnoDB");
            }
            if auto_increment {
                create.auto_increment = self.whole_number()?.max(1);
            } else if collate {
                self.collation()?;
            } else if matches!(
                self.peek().kind,
                Kind::Word | Kind::Quoted | Kind::Text | Kind::Whole
            ) {
                self.advance();
            } else {
                return self.fail();
            }
            self.accept_symbol(",");
        }
        Ok(())
    }
}

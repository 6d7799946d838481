//! Reads statements: the grammar of MySQL 8 as far as this database goes. Expressions are read in
//! [`super::parse_expression`], definitions of tables in [`super::parse_table`].
//!
//! Where the grammar breaks the answer is error 1064 with the text from the offending token on,
//! as MySQL's own parser gives it. What MySQL takes and this database does not is error 1235.

use super::error::{self, SqlError};
use super::lexer::{self, Kind, Token};
use super::reserved;
use super::syntax::{
    Assignment, Change, Command, Conjunct, Delete, Expression, From, Insert, InsertSource,
    Isolation, Item, Join, Limit, Locking, Operator, Order, Patience, Select, Setting, Span,
    Update,
};

/// How deep expressions and queries may nest.
pub(super) const MOST_DEPTH: u32 = 100;
/// How many bytes of an expression's text name its column (MAX_ALIAS_NAME in MySQL, less one).
const MOST_NAME: usize = 255;
/// The longest statement, in bytes.
pub(super) const MOST_BYTES: usize = 65_536;

pub(super) type Parsed<T> = Result<T, SqlError>;

/// The parser's place in the tokens and what it has collected on the way.
pub(super) struct Parser<'a> {
    pub(super) source: &'a str,
    tokens: Vec<Token>,
    at: usize,
    pub(super) depth: u32,
    pub(super) operators: u32,
    /// The names of the placeholders met so far, and where they stand.
    pub(super) placeholders: Vec<(String, Span)>,
}

impl<'a> Parser<'a> {
    pub(super) fn new(source: &'a str) -> Parser<'a> {
        Parser {
            source,
            tokens: lexer::tokens(source),
            at: 0,
            depth: 0,
            operators: 0,
            placeholders: Vec::new(),
        }
    }

    // --- tokens ---

    pub(super) fn peek_at(&self, ahead: usize) -> Token {
        let last = self.tokens.len() - 1;
        self.tokens[(self.at + ahead).min(last)]
    }

    pub(super) fn peek(&self) -> Token {
        self.peek_at(0)
    }

    pub(super) fn advance(&mut self) -> Token {
        let token = self.peek();
        self.at += 1;
        token
    }

    pub(super) fn text(&self, token: Token) -> &'a str {
        self.source.get(token.start..token.end).unwrap_or("")
    }

    /// The place to come back to with [`Parser::return_to`].
    pub(super) fn place(&self) -> (usize, usize) {
        (self.at, self.placeholders.len())
    }

    pub(super) fn return_to(&mut self, place: (usize, usize)) {
        self.at = place.0;
        self.placeholders.truncate(place.1);
    }

    /// Where the last token taken ends.
    pub(super) fn end(&self) -> usize {
        self.at
            .checked_sub(1)
            .and_then(|at| self.tokens.get(at))
            .map_or(0, |token| token.end)
    }

    pub(super) fn fail<T>(&self) -> Parsed<T> {
        Err(error::syntax(self.source, self.peek().start))
    }

    pub(super) fn unsupported<T>(&self, what: &str) -> Parsed<T> {
        let mut error = error::not_supported(what);
        error.offset = Some(self.peek().start as u32);
        Err(error)
    }

    /// Refuses the next word when it is one of these.
    pub(super) fn refuse(&self, words: &str) -> Parsed<()> {
        match words.split(' ').find(|word| self.is_word(word)) {
            Some(word) => self.unsupported(word),
            None => Ok(()),
        }
    }

    /// Refuses a kind of statement that two words name: its first and the next.
    pub(super) fn refuse_kind<T>(&self) -> Parsed<T> {
        let [first, next] = [self.tokens[0], self.peek()].map(|token| self.text(token));
        match self.peek().kind {
            Kind::Word => self.unsupported(&format!("{first} {next}").to_ascii_uppercase()),
            _ => self.fail(),
        }
    }

    pub(super) fn is_word_at(&self, ahead: usize, word: &str) -> bool {
        let token = self.peek_at(ahead);
        token.kind == Kind::Word && self.text(token).eq_ignore_ascii_case(word)
    }

    pub(super) fn is_word(&self, word: &str) -> bool {
        self.is_word_at(0, word)
    }

    /// Whether the next word is one of these, separated by spaces.
    pub(super) fn is_one_of(&self, words: &str) -> bool {
        words.split(' ').any(|word| self.is_word(word))
    }

    pub(super) fn accept(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        self.at += usize::from(found);
        found
    }

    /// Takes the words, separated by spaces, when all of them follow.
    pub(super) fn accept_all(&mut self, words: &str) -> bool {
        let found = words
            .split(' ')
            .enumerate()
            .all(|(ahead, word)| self.is_word_at(ahead, word));
        if found {
            self.at += words.split(' ').count();
        }
        found
    }

    pub(super) fn expect(&mut self, words: &str) -> Parsed<()> {
        for word in words.split(' ') {
            if !self.accept(word) {
                return self.fail();
            }
        }
        Ok(())
    }

    pub(super) fn is_symbol_at(&self, ahead: usize, symbol: &str) -> bool {
        let token = self.peek_at(ahead);
        token.kind == Kind::Symbol && self.text(token) == symbol
    }

    pub(super) fn is_symbol(&self, symbol: &str) -> bool {
        self.is_symbol_at(0, symbol)
    }

    pub(super) fn accept_symbol(&mut self, symbol: &str) -> bool {
        let found = self.is_symbol(symbol);
        self.at += usize::from(found);
        found
    }

    pub(super) fn expect_symbol(&mut self, symbol: &str) -> Parsed<()> {
        if self.accept_symbol(symbol) {
            Ok(())
        } else {
            self.fail()
        }
    }

    /// Reads one or more of the same, separated by commas.
    pub(super) fn list<T>(
        &mut self,
        one: &mut dyn FnMut(&mut Self) -> Parsed<T>,
    ) -> Parsed<Vec<T>> {
        let mut all = vec![one(self)?];
        while self.accept_symbol(",") {
            all.push(one(self)?);
        }
        Ok(all)
    }

    /// Whether a name could stand here.
    pub(super) fn is_name(&self) -> bool {
        let token = self.peek();
        match token.kind {
            Kind::Quoted => true,
            Kind::Word => !reserved::is_reserved(self.text(token)),
            _ => false,
        }
    }

    /// A name; reserved words need backticks.
    pub(super) fn name(&mut self) -> Parsed<String> {
        if self.is_name() {
            Ok(self.any_word())
        } else {
            self.fail()
        }
    }

    /// The next token as a name, whatever word it is.
    pub(super) fn any_word(&mut self) -> String {
        let token = self.advance();
        let text = self.text(token);
        if matches!(token.kind, Kind::Quoted | Kind::Text) {
            lexer::unquoted(text)
        } else {
            text.to_string()
        }
    }

    /// A table's name, with or without the database before it.
    pub(super) fn table_name(&mut self) -> Parsed<String> {
        let name = self.name()?;
        if !self.accept_symbol(".") {
            return Ok(name);
        }
        self.check_database(&name)?;
        match self.peek().kind {
            Kind::Word | Kind::Quoted => Ok(self.any_word()),
            _ => self.fail(),
        }
    }

    /// Whether the database is the one that there is; those that MySQL keeps for itself are refused otherwise than unknown ones.
    fn check_database(&self, name: &str) -> Parsed<()> {
        let lower = name.to_ascii_lowercase();
        let mysqls = ["information_schema", "performance_schema", "mysql", "sys"];
        if name == error::DATABASE_NAME {
            Ok(())
        } else if mysqls.contains(&lower.as_str()) {
            self.unsupported(&format!("databases other than test: {name}"))
        } else {
            Err(error::unknown_database(name))
        }
    }

    /// The database that may be named behind SHOW.
    fn of_database(&mut self) -> Parsed<()> {
        if self.accept("FROM") || self.accept("IN") {
            let name = self.name()?;
            self.check_database(&name)?;
        }
        Ok(())
    }

    pub(super) fn whole_number(&mut self) -> Parsed<u64> {
        let token = self.peek();
        match self.text(token).parse() {
            Ok(number) if token.kind == Kind::Whole => {
                self.at += 1;
                Ok(number)
            }
            _ => self.fail(),
        }
    }

    /// Goes one level deeper; an error where it gets too deep.
    pub(super) fn deeper<T>(&mut self, inner: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= MOST_DEPTH {
            return Err(error::stack_overrun(&MOST_DEPTH.to_string()));
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    // --- statements ---

    /// Reads the whole source as one statement, with or without a semicolon behind it.
    pub(super) fn statement(&mut self) -> Parsed<Command> {
        if self.source.len() > MOST_BYTES {
            return Err(error::statement_too_long(&MOST_BYTES.to_string()));
        }
        if self.peek().kind == Kind::End || self.is_symbol(";") {
            return Err(error::empty_query());
        }
        let command = self.command()?;
        // The mysql client's own ends of a statement.
        let _ = self.accept_symbol("\\G") || self.accept_symbol("\\g");
        self.accept_symbol(";");
        if self.peek().kind == Kind::End {
            Ok(command)
        } else {
            self.fail()
        }
    }

    fn command(&mut self) -> Parsed<Command> {
        let token = self.peek();
        if self.is_symbol("(") {
            return self.unsupported("a query in parentheses");
        }
        if token.kind != Kind::Word {
            return self.fail();
        }
        let word = self.text(token).to_ascii_uppercase();
        if word == "SELECT" {
            return Ok(Command::Select(self.select()?));
        }
        self.at += 1;
        match word.as_str() {
            "INSERT" => self.insert(false),
            "REPLACE" => self.insert(true),
            "UPDATE" => self.update(),
            "DELETE" => self.delete(),
            "CREATE" => self.create(),
            "DROP" => self.drop(),
            "ALTER" if self.is_word("TABLE") => self.alter(),
            "TRUNCATE" => {
                self.accept("TABLE");
                Ok(Command::Truncate(self.table_name()?))
            }
            "BEGIN" => {
                self.accept("WORK");
                Ok(Command::Begin {
                    snapshot: false,
                    read_only: None,
                })
            }
            "START" => self.start_transaction(),
            "COMMIT" => self.ended(true),
            "ROLLBACK" => self.rollback(),
            "SAVEPOINT" => Ok(Command::Savepoint(self.name()?)),
            "RELEASE" => {
                self.expect("SAVEPOINT")?;
                Ok(Command::Release(self.name()?))
            }
            "SET" => self.set(),
            "DO" => Ok(Command::Do(self.list(&mut Self::expression)?)),
            "SHOW" => self.show(),
            "DESCRIBE" | "DESC" | "EXPLAIN" => self.describe(),
            "USE" => {
                let name = self.name()?;
                self.check_database(&name)?;
                Ok(Command::Use)
            }
            "ALTER" | "LOCK" | "UNLOCK" | "FLUSH" | "RENAME" | "LOAD" | "RESET" | "CHANGE"
            | "PURGE" | "GET" | "INSTALL" | "CHECK" | "STOP" => self.refuse_kind(),
            _ => {
                self.at -= 1;
                self.refuse(
                    "ANALYZE BINLOG CACHE CALL CHECKSUM CLONE DEALLOCATE EXECUTE GRANT HANDLER HELP IMPORT KILL OPTIMIZE \
                     PREPARE REPAIR RESIGNAL RESTART REVOKE SHUTDOWN SIGNAL TABLE UNINSTALL VALUES WITH XA",
                )?;
                self.fail()
            }
        }
    }

    fn ended(&mut self, commit: bool) -> Parsed<Command> {
        self.accept("WORK");
        let chain = self.accept_all("AND CHAIN");
        let _ = chain || self.accept_all("AND NO CHAIN");
        if self.is_word("RELEASE") && !chain {
            return self.unsupported("RELEASE");
        }
        self.accept_all("NO RELEASE");
        Ok(Command::End { commit, chain })
    }

    fn rollback(&mut self) -> Parsed<Command> {
        let to = |parser: &mut Self| {
            parser.accept("SAVEPOINT");
            Ok(Command::RollbackTo(parser.name()?))
        };
        if self.accept_all("WORK TO") || self.accept("TO") {
            to(self)
        } else {
            self.ended(false)
        }
    }

    fn start_transaction(&mut self) -> Parsed<Command> {
        if self.is_one_of("REPLICA SLAVE GROUP_REPLICATION") {
            return self.refuse_kind();
        }
        self.expect("TRANSACTION")?;
        let (mut snapshot, mut read_only) = (false, None);
        if self.peek().kind == Kind::Word {
            loop {
                if self.accept_all("WITH CONSISTENT SNAPSHOT") {
                    snapshot = true;
                } else if self.accept_all("READ ONLY") {
                    read_only = Some(true);
                } else if self.accept_all("READ WRITE") {
                    read_only = Some(false);
                } else {
                    return self.fail();
                }
                if !self.accept_symbol(",") {
                    break;
                }
            }
        }
        Ok(Command::Begin {
            snapshot,
            read_only,
        })
    }

    fn drop(&mut self) -> Parsed<Command> {
        if self.accept("INDEX") {
            let change = Change::DropIndex(self.name()?);
            self.expect("ON")?;
            let table = self.table_name()?;
            self.refuse("ALGORITHM LOCK")?;
            return Ok(Command::AlterTable(table, vec![change]));
        }
        if !(self.accept("TABLE") || self.accept("TABLES")) {
            return self.refuse_kind();
        }
        let if_exists = self.accept("IF");
        if if_exists {
            self.expect("EXISTS")?;
        }
        let tables = self.list(&mut Self::table_name)?;
        let _ = self.accept("CASCADE") || self.accept("RESTRICT");
        Ok(Command::DropTable { if_exists, tables })
    }

    /// DESCRIBE of a table, or of some of its columns. Of a statement it tells the optimizer's plan, and there is none.
    fn describe(&mut self) -> Parsed<Command> {
        let planned = "SELECT INSERT REPLACE UPDATE DELETE TABLE WITH ANALYZE FOR INTO";
        if self.is_one_of(planned) || self.is_symbol("(") || self.is_symbol_at(1, "=") {
            return self.unsupported("EXPLAIN");
        }
        let table = self.table_name()?;
        let columns = match self.peek().kind {
            Kind::Text => self.quoted_text()?,
            Kind::Word | Kind::Quoted => self.name()?,
            _ => "%".into(),
        };
        Ok(Command::Describe(table, columns))
    }

    fn show(&mut self) -> Parsed<Command> {
        if self.accept("TABLES") {
            self.of_database()?;
            return Ok(Command::ShowTables(self.pattern()?));
        }
        let mut global = false;
        if self.is_word_at(1, "VARIABLES") {
            global = self.accept("GLOBAL");
            let _ = self.accept("SESSION") || self.accept("LOCAL");
        }
        if self.accept("VARIABLES") {
            let pattern = self.pattern()?;
            return Ok(Command::ShowVariables { global, pattern });
        }
        if self.is_one_of("INDEX INDEXES KEYS") {
            self.at += 1;
            let table = self.shown_table()?;
            if self.is_word("WHERE") {
                return self.unsupported("SHOW with WHERE");
            }
            return Ok(Command::ShowIndex(table));
        }
        let count = self.is_word("COUNT") && self.is_symbol_at(1, "(");
        if count {
            self.at += 2;
            self.expect_symbol("*")?;
            self.expect_symbol(")")?;
        }
        let errors = self.is_word("ERRORS");
        if errors || self.is_word("WARNINGS") {
            self.at += 1;
            self.refuse("LIMIT")?;
            return Ok(Command::ShowConditions { errors, count });
        }
        if self.accept_all("CREATE TABLE") {
            return Ok(Command::ShowCreate(self.table_name()?));
        }
        if self.accept("COLUMNS") || self.accept("FIELDS") {
            let table = self.shown_table()?;
            return Ok(Command::Describe(table, self.pattern()?));
        }
        self.refuse_kind()
    }

    /// `FROM t`, `FROM t FROM test`
    fn shown_table(&mut self) -> Parsed<String> {
        if !(self.accept("FROM") || self.accept("IN")) {
            return self.fail();
        }
        let table = self.table_name()?;
        self.of_database()?;
        Ok(table)
    }

    /// LIKE behind SHOW; what is shown has to be like `%` without it.
    fn pattern(&mut self) -> Parsed<String> {
        if self.is_word("WHERE") {
            return self.unsupported("SHOW with WHERE");
        }
        if !self.accept("LIKE") {
            return Ok("%".into());
        }
        self.quoted_text()
    }

    pub(super) fn quoted_text(&mut self) -> Parsed<String> {
        match self.peek().kind {
            Kind::Text => Ok(self.any_word()),
            _ => self.fail(),
        }
    }

    fn isolation(&mut self) -> Parsed<Isolation> {
        let levels = [
            ("READ UNCOMMITTED", Isolation::ReadUncommitted),
            ("READ COMMITTED", Isolation::ReadCommitted),
            ("REPEATABLE READ", Isolation::RepeatableRead),
            ("SERIALIZABLE", Isolation::Serializable),
        ];
        for (words, level) in levels {
            if self.accept_all(words) {
                return Ok(level);
            }
        }
        self.fail()
    }

    fn set(&mut self) -> Parsed<Command> {
        let place = self.place();
        let session = self.accept("SESSION") || self.accept("LOCAL");
        if self.is_one_of("GLOBAL PERSIST PERSIST_ONLY PASSWORD ROLE DEFAULT RESOURCE") {
            return self.refuse_kind();
        }
        if self.accept("TRANSACTION") {
            let (mut isolation, mut read_only) = (None, None);
            loop {
                if self.accept_all("READ ONLY") {
                    read_only = Some(true);
                } else if self.accept_all("READ WRITE") {
                    read_only = Some(false);
                } else {
                    self.expect("ISOLATION LEVEL")?;
                    isolation = Some(self.isolation()?);
                }
                if !self.accept_symbol(",") {
                    break;
                }
            }
            return Ok(Command::Set(vec![Setting::Transaction {
                session,
                isolation,
                read_only,
            }]));
        }
        self.return_to(place);
        Ok(Command::Set(self.list(&mut Self::setting)?))
    }

    fn setting(&mut self) -> Parsed<Setting> {
        if self.accept("NAMES") || self.accept_all("CHARACTER SET") || self.accept("CHARSET") {
            return self.names();
        }
        let token = self.peek();
        if token.kind == Kind::UserVariable {
            self.advance();
            let name = self.text(token)[1..].to_ascii_lowercase();
            self.assignment_sign()?;
            return Ok(Setting::User(name, self.expression()?));
        }
        let name = if token.kind == Kind::SystemVariable {
            self.at += 1;
            let name = system_variable(self.text(token));
            if name.starts_with("global.") || name.starts_with("persist") {
                return self.unsupported("SET GLOBAL");
            }
            name.trim_start_matches("session.").to_string()
        } else {
            let _ = self.accept("SESSION") || self.accept("LOCAL");
            self.name()?.to_ascii_lowercase()
        };
        self.assignment_sign()?;
        // ON, OFF and the names of levels are words here.
        let token = self.peek();
        let bare = token.kind == Kind::Word && !self.is_symbol_at(1, "(");
        if bare && !self.is_one_of("NULL TRUE FALSE NOT CASE") {
            self.at += 1;
            let word = if self.text(token).eq_ignore_ascii_case("default") {
                "DEFAULT"
            } else {
                self.text(token)
            };
            return Ok(Setting::System(name, Expression::Literal(word.into())));
        }
        Ok(Setting::System(name, self.expression()?))
    }

    /// What stands behind SET NAMES; all text is utf8mb4.
    fn names(&mut self) -> Parsed<Setting> {
        if !matches!(self.peek().kind, Kind::Word | Kind::Quoted | Kind::Text) {
            return self.fail();
        }
        let name = self.any_word().to_ascii_lowercase();
        if !name.starts_with("utf8") && name != "default" {
            return self.unsupported(&["SET NAMES ", &name].concat());
        }
        if self.accept("COLLATE") {
            self.collation()?;
        }
        Ok(Setting::Nothing)
    }

    fn assignment_sign(&mut self) -> Parsed<()> {
        if self.accept_symbol(":=") {
            Ok(())
        } else {
            self.expect_symbol("=")
        }
    }

    // --- queries ---

    pub(super) fn select(&mut self) -> Parsed<Select> {
        self.deeper(Self::select_inner)
    }

    fn select_inner(&mut self) -> Parsed<Select> {
        let whole = self.at == 0;
        self.expect("SELECT")?;
        let mut select = Select::default();
        if self.accept("DISTINCT") || self.accept("DISTINCTROW") {
            select.distinct = true;
        } else {
            self.accept("ALL");
        }
        self.refuse(
            "HIGH_PRIORITY STRAIGHT_JOIN SQL_NO_CACHE SQL_CALC_FOUND_ROWS SQL_SMALL_RESULT SQL_BIG_RESULT SQL_BUFFER_RESULT",
        )?;
        select.items = self.list(&mut Self::item)?;
        let into = self.is_word("INTO");
        if into && !whole {
            return Err(error::misplaced_into());
        }
        self.variables_behind_into(&mut select)?;
        if self.accept("FROM") {
            if !self.accept("DUAL") {
                select.from = self.from()?;
            }
            select.condition = self.condition()?;
            if self.accept_all("GROUP BY") {
                select.group = self.list(&mut Self::expression)?;
                if self.is_word("WITH") {
                    return self.unsupported("WITH ROLLUP");
                }
            }
        } else {
            select.condition = self.condition()?;
        }
        if self.accept("HAVING") {
            select.having = Some(self.expression()?);
        }
        select.order = self.order()?;
        select.limit = self.limit(true)?;
        if whole {
            select.inner_into = self.variables_behind_into(&mut select)?;
        }
        select.locking = self.locking(&select.from)?;
        select.inner_into &= select.locking.is_some();
        if whole {
            self.variables_behind_into(&mut select)?;
        }
        let derives = select.from.iter().any(|from| from.query.is_some());
        if derives && select.locking.is_some() {
            return self.unsupported("FOR UPDATE and FOR SHARE of a derived table");
        }
        self.refuse("UNION INTERSECT EXCEPT WINDOW PROCEDURE")?;
        Ok(select)
    }

    /// INTO with its variables, if it stands here.
    fn variables_behind_into(&mut self, select: &mut Select) -> Parsed<bool> {
        if !self.is_word("INTO") {
            return Ok(false);
        }
        if self.is_word_at(1, "OUTFILE") || self.is_word_at(1, "DUMPFILE") {
            return self.unsupported("INTO");
        }
        self.at += 1;
        if !select.into.is_empty() {
            return Err(error::several_into());
        }
        select.into = self.list(&mut |parser| match parser.peek().kind {
            Kind::UserVariable => Ok(parser.any_word()[1..].to_ascii_lowercase()),
            _ => Err(error::undeclared_variable(&parser.name()?)),
        })?;
        Ok(true)
    }

    fn item(&mut self) -> Parsed<Item> {
        if self.accept_symbol("*") {
            return Ok(Item::All(None));
        }
        let qualified = self.is_word(error::DATABASE_NAME)
            && self.is_symbol_at(1, ".")
            && self.is_symbol_at(3, ".");
        let ahead = if qualified { 2 } else { 0 };
        if self.is_name() && self.is_symbol_at(ahead + 1, ".") && self.is_symbol_at(ahead + 2, "*")
        {
            self.at += ahead;
            let table = self.any_word();
            self.at += 2;
            return Ok(Item::All(Some(table)));
        }
        let start = self.peek().start;
        let expression = self.expression()?;
        let end = self.end();
        let alias = self.alias()?;
        let name = match (alias, &expression) {
            (Some(alias), _) => alias,
            (None, Expression::Column { name, .. }) => name.clone(),
            (None, other) => {
                let text = match other {
                    Expression::Literal(super::Value::Text(text)) => text.trim_start(),
                    _ => self.source.get(start..end).unwrap_or(""),
                };
                text[..text.floor_char_boundary(MOST_NAME)].to_string()
            }
        };
        Ok(Item::One { expression, name })
    }

    fn alias(&mut self) -> Parsed<Option<String>> {
        if self.accept("AS") {
            return match self.peek().kind {
                Kind::Text => Ok(Some(self.any_word())),
                _ => Ok(Some(self.name()?)),
            };
        }
        Ok((self.peek().kind == Kind::Text || self.is_name()).then(|| self.any_word()))
    }

    fn from(&mut self) -> Parsed<Vec<From>> {
        let mut all = vec![self.joined_table(Join::Inner)?];
        loop {
            let inner = self.accept_symbol(",")
                || self.accept_all("CROSS JOIN")
                || self.accept_all("INNER JOIN")
                || self.accept("JOIN");
            let join = if inner {
                Join::Inner
            } else if self.accept_all("LEFT JOIN") || self.accept_all("LEFT OUTER JOIN") {
                Join::Left
            } else if self.is_word("RIGHT")
                || self.is_word("NATURAL")
                || self.is_word("STRAIGHT_JOIN")
            {
                return self.unsupported("RIGHT JOIN, NATURAL JOIN, STRAIGHT_JOIN");
            } else {
                return Ok(all);
            };
            let mut from = self.joined_table(join)?;
            if self.accept("ON") {
                from.on = Some(self.expression()?);
            } else if self.is_word("USING") {
                return self.unsupported("USING");
            } else if join == Join::Left {
                return self.fail();
            }
            all.push(from);
        }
    }

    fn joined_table(&mut self, join: Join) -> Parsed<From> {
        if self.is_symbol("(") {
            return self.derived_table(join);
        }
        self.refuse("LATERAL JSON_TABLE")?;
        let table = self.table_name()?;
        self.refuse("PARTITION")?;
        let alias = if self.accept("AS") || self.is_name() {
            self.name()?
        } else {
            table.clone()
        };
        for word in ["USE", "FORCE", "IGNORE"] {
            if self.is_word(word) && (self.is_word_at(1, "INDEX") || self.is_word_at(1, "KEY")) {
                return self.unsupported("index hints");
            }
        }
        Ok(From {
            table,
            alias,
            query: None,
            join,
            on: None,
        })
    }

    /// `(SELECT ...) AS t`
    fn derived_table(&mut self, join: Join) -> Parsed<From> {
        if !self.is_word_at(1, "SELECT") {
            return self.unsupported("parentheses in FROM but around a derived table");
        }
        self.at += 1;
        let query = self.select()?;
        if query.locking.is_some() {
            return self.unsupported("FOR UPDATE and FOR SHARE in a derived table");
        }
        self.expect_symbol(")")?;
        if !self.accept("AS") && !self.is_name() {
            return Err(error::derived_without_alias());
        }
        let alias = self.name()?;
        if self.is_symbol("(") {
            return self.unsupported("names for the columns of a derived table");
        }
        Ok(From {
            table: alias.clone(),
            alias,
            query: Some(Box::new(query)),
            join,
            on: None,
        })
    }

    /// WHERE, cut at the ANDs that stand at its top.
    fn condition(&mut self) -> Parsed<Vec<Conjunct>> {
        if !self.accept("WHERE") {
            return Ok(Vec::new());
        }
        let place = self.place();
        let mut all = Vec::new();
        loop {
            let start = self.peek().start;
            let expression = self.operand_of_and()?;
            all.push(Conjunct {
                expression,
                span: Span {
                    start,
                    end: self.end(),
                },
            });
            if !(self.accept("AND") || self.accept_symbol("&&")) {
                break;
            }
        }
        if !self.operator_follows(&[Operator::Or, Operator::Xor]) {
            return Ok(all);
        }
        self.return_to(place);
        let start = self.peek().start;
        let expression = self.expression()?;
        Ok(vec![Conjunct {
            expression,
            span: Span {
                start,
                end: self.end(),
            },
        }])
    }

    fn order(&mut self) -> Parsed<Vec<Order>> {
        if !self.accept_all("ORDER BY") {
            return Ok(Vec::new());
        }
        self.list(&mut |parser| {
            let expression = parser.expression()?;
            let descending = parser.accept("DESC");
            if !descending {
                parser.accept("ASC");
            }
            Ok(Order {
                expression,
                descending,
            })
        })
    }

    fn limit(&mut self, with_offset: bool) -> Parsed<Option<Limit>> {
        if !self.accept("LIMIT") {
            return Ok(None);
        }
        let first = self.limit_number()?;
        if with_offset && self.accept_symbol(",") {
            return Ok(Some(Limit {
                count: self.limit_number()?,
                offset: Some(first),
            }));
        }
        let offset = if with_offset && self.accept("OFFSET") {
            Some(self.limit_number()?)
        } else {
            None
        };
        Ok(Some(Limit {
            count: first,
            offset,
        }))
    }

    fn limit_number(&mut self) -> Parsed<Expression> {
        match self.peek().kind {
            Kind::Whole | Kind::Placeholder => self.primary(),
            _ => self.fail(),
        }
    }

    fn locking(&mut self, from: &[From]) -> Parsed<Option<Locking>> {
        let exclusive = if self.accept_all("FOR UPDATE") {
            true
        } else if self.accept_all("FOR SHARE") {
            false
        } else if self.accept_all("LOCK IN SHARE MODE") {
            return Ok(Some(Locking {
                exclusive: false,
                patience: Patience::Wait,
            }));
        } else {
            return Ok(None);
        };
        if self.accept("OF") {
            for name in self.list(&mut Self::name)? {
                if !from.iter().any(|from| from.alias == name) {
                    return Err(error::unresolved_table(&name));
                }
            }
            if from.len() > 1 {
                return self.unsupported("FOR UPDATE OF in a join");
            }
        }
        let patience = if self.accept("NOWAIT") {
            Patience::NoWait
        } else if self.accept_all("SKIP LOCKED") {
            Patience::SkipLocked
        } else {
            Patience::Wait
        };
        Ok(Some(Locking {
            exclusive,
            patience,
        }))
    }

    // --- writes ---

    fn insert(&mut self, replace: bool) -> Parsed<Command> {
        let _ =
            self.accept("LOW_PRIORITY") || self.accept("DELAYED") || self.accept("HIGH_PRIORITY");
        let ignore = !replace && self.accept("IGNORE");
        self.accept("INTO");
        let table = self.table_name()?;
        let mut insert = Insert {
            replace,
            ignore,
            table,
            columns: None,
            source: InsertSource::Rows(Vec::new()),
            alias: None,
            alias_columns: Vec::new(),
            on_duplicate: Vec::new(),
        };
        self.refuse("PARTITION")?;
        if self.accept("SET") {
            let assignments = self.list(&mut Self::assignment)?;
            let (columns, values) = assignments.into_iter().unzip();
            insert.columns = Some(columns);
            insert.source = InsertSource::Rows(vec![values]);
        } else {
            self.insert_columns_and_source(&mut insert)?;
        }
        let given = matches!(insert.source, InsertSource::Rows(_));
        if !replace && given && self.accept("AS") {
            insert.alias = Some(self.name()?);
            if self.accept_symbol("(") {
                insert.alias_columns = self.list(&mut Self::name)?;
                self.expect_symbol(")")?;
            }
        }
        if !replace && self.accept_all("ON DUPLICATE KEY UPDATE") {
            insert.on_duplicate = self.list(&mut Self::assignment)?;
        }
        if self.is_word("RETURNING") {
            return self.unsupported("RETURNING");
        }
        Ok(Command::Insert(insert))
    }

    fn insert_columns_and_source(&mut self, insert: &mut Insert) -> Parsed<()> {
        let queried = ["SELECT", "TABLE", "WITH", "VALUES"];
        if self.is_symbol("(") && !queried.iter().any(|word| self.is_word_at(1, word)) {
            self.at += 1;
            let mut columns = Vec::new();
            if !self.is_symbol(")") {
                columns = self.list(&mut Self::column_name)?;
            }
            self.expect_symbol(")")?;
            insert.columns = Some(columns);
        }
        if self.accept("VALUES") || self.accept("VALUE") {
            insert.source = InsertSource::Rows(self.list(&mut Self::values_row)?);
            return Ok(());
        }
        if self.is_word("SELECT") {
            insert.source = InsertSource::Query(Box::new(self.select()?));
            return Ok(());
        }
        if self.is_symbol("(") {
            return self.unsupported("a query in parentheses");
        }
        self.refuse("TABLE WITH")?;
        self.fail()
    }

    fn values_row(&mut self) -> Parsed<Vec<Option<Expression>>> {
        self.accept("ROW");
        self.expect_symbol("(")?;
        let mut row = Vec::new();
        if !self.is_symbol(")") {
            row = self.list(&mut Self::value_or_default)?;
        }
        self.expect_symbol(")")?;
        Ok(row)
    }

    fn value_or_default(&mut self) -> Parsed<Option<Expression>> {
        if self.is_word("DEFAULT") && !self.is_symbol_at(1, "(") {
            self.at += 1;
            return Ok(None);
        }
        Ok(Some(self.expression()?))
    }

    /// A column with or without table and database before it.
    fn column_name(&mut self) -> Parsed<String> {
        let mut name = self.name()?;
        while self.accept_symbol(".") {
            name = self.any_word();
        }
        Ok(name)
    }

    fn assignment(&mut self) -> Parsed<Assignment> {
        let column = self.column_name()?;
        self.assignment_sign()?;
        Ok((column, self.value_or_default()?))
    }

    fn update(&mut self) -> Parsed<Command> {
        self.accept("LOW_PRIORITY");
        let ignore = self.accept("IGNORE");
        self.refuse("LATERAL JSON_TABLE")?;
        let table = self.table_name()?;
        self.refuse("PARTITION")?;
        let alias = if self.accept("AS") || self.is_name() {
            self.name()?
        } else {
            table.clone()
        };
        if self.is_symbol(",")
            || self.is_word("JOIN")
            || self.is_word("INNER")
            || self.is_word("LEFT")
        {
            return self.unsupported("UPDATE of several tables");
        }
        self.expect("SET")?;
        let assignments = self.list(&mut Self::assignment)?;
        let condition = self.condition()?;
        let order = self.order()?;
        let limit = self.limit(false)?;
        Ok(Command::Update(Update {
            ignore,
            table,
            alias,
            assignments,
            condition,
            order,
            limit,
        }))
    }

    /// `DELETE a, b FROM ...`; without FROM the grammar breaks where the names end.
    fn delete_from_several(&mut self) -> Parsed<Command> {
        let place = self.place();
        self.list(&mut |parser| {
            parser.column_name()?;
            Ok(parser.accept_symbol("*"))
        })?;
        if !self.is_word("FROM") {
            return self.fail();
        }
        self.return_to(place);
        self.unsupported("DELETE from several tables")
    }

    fn delete(&mut self) -> Parsed<Command> {
        let _ = self.accept("LOW_PRIORITY") || self.accept("QUICK");
        if self.is_word("IGNORE") {
            return self.unsupported("DELETE IGNORE");
        }
        if self.is_name() {
            return self.delete_from_several();
        }
        self.expect("FROM")?;
        self.refuse("LATERAL JSON_TABLE")?;
        let table = self.table_name()?;
        self.refuse("PARTITION")?;
        let alias = if self.accept("AS") || self.is_name() {
            self.name()?
        } else {
            table.clone()
        };
        if self.is_symbol(",") || self.is_word("USING") || self.is_word("JOIN") {
            return self.unsupported("DELETE from several tables");
        }
        let condition = self.condition()?;
        let order = self.order()?;
        let limit = self.limit(false)?;
        if self.is_word("RETURNING") {
            return self.unsupported("RETURNING");
        }
        Ok(Command::Delete(Delete {
            table,
            alias,
            condition,
            order,
            limit,
        }))
    }
}

/// The name behind `@@`, with `global.` or `session.` where that is written.
pub(super) fn system_variable(text: &str) -> String {
    let name = text.trim_start_matches('@').to_ascii_lowercase();
    name.replace("local.", "session.")
}

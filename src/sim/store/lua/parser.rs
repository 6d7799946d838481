//! Lua 5.1's grammar, read by recursive descent and compiled on the way. Depth is counted, so that no
//! nesting can exhaust the stack.

use std::sync::Arc;

use super::code::{
    Binary, Block, Capture, Expression, FIELDS_PER_FLUSH, FunctionState, Kind, LocalVariable,
    MULTIPLE, NO_JUMP, Proto, Unary, VARARG_HAS_ARG, VARARG_IS, VARARG_NEEDS_ARG, op, set_b, set_c,
    size_to_byte,
};
use super::lexer::{Failure, Lexer, Name, Token, Word};
use super::number;

/// How deep blocks and expressions nest, together with the calls in progress.
pub(super) const MAX_LEVELS: usize = 200;
const MAX_LOCALS: usize = 200;
const MAX_UPVALUES: usize = 60;
const UNARY_PRIORITY: u8 = 8;

/// A text on its way to being a function.
pub(super) struct Parser<'a> {
    pub lexer: Lexer<'a>,
    /// The functions that are open, the innermost last.
    functions: Vec<FunctionState>,
    levels: usize,
    name: Arc<[u8]>,
    chunk: Arc<[u8]>,
}

/// Compiles a text with a name (`@file`, `=name`, or the text itself); `levels` are in use already.
pub(super) fn compile(source: &[u8], name: &[u8], levels: usize) -> Result<Proto, Vec<u8>> {
    let name: Arc<[u8]> = Arc::from(name);
    let chunk: Arc<[u8]> = Arc::from(chunk_name(&name));
    let mut main = FunctionState::new(0, Arc::clone(&name), Arc::clone(&chunk));
    main.proto.vararg = VARARG_IS;
    let mut parser = Parser {
        lexer: Lexer::new(source, &chunk),
        functions: vec![main],
        levels,
        name,
        chunk: Arc::clone(&chunk),
    };
    match parser.main() {
        Ok(proto) => Ok(proto),
        Err(Failure) => Err(parser.lexer.failure),
    }
}

/// What errors call a chunk: a name of its own, or the start of its text.
pub(super) fn chunk_name(name: &[u8]) -> Vec<u8> {
    const SIZE: usize = 60;
    let name = number::until_zero(name);
    match name.first() {
        Some(b'=') => name[1..].iter().take(SIZE - 1).copied().collect(),
        Some(b'@') => {
            let limit = SIZE - " '...' ".len() - 1;
            let name = &name[1..];
            if name.len() <= limit {
                return name.to_vec();
            }
            [b"...", &name[name.len() - limit..]].concat()
        }
        _ => {
            let limit = SIZE - " [string \"...\"] ".len() - 1;
            let line = name
                .iter()
                .take_while(|byte| !matches!(byte, b'\n' | b'\r'))
                .count();
            let length = line.min(limit);
            let mut text = b"[string \"".to_vec();
            text.extend_from_slice(&name[..length]);
            if length < name.len() {
                text.extend_from_slice(b"...");
            }
            text.extend_from_slice(b"\"]");
            text
        }
    }
}

impl Parser<'_> {
    fn main(&mut self) -> Result<Proto, Failure> {
        self.lexer.advance()?;
        self.chunk()?;
        self.check(&Token::End)?;
        let (proto, _) = self.close_function()?;
        Ok(proto)
    }

    /// The function being compiled.
    pub fn fs(&mut self) -> &mut FunctionState {
        match self.functions.last_mut() {
            Some(function) => function,
            None => unreachable!("the main function stays open until the end"),
        }
    }

    fn token(&self) -> &Token {
        &self.lexer.token
    }

    fn at_char(&self, c: u8) -> bool {
        *self.token() == Token::Char(c)
    }

    fn at_word(&self, word: Word) -> bool {
        *self.token() == Token::Word(word)
    }

    fn expected(&mut self, token: &Token) -> Failure {
        let mut message = b"'".to_vec();
        message.extend_from_slice(&token.expected_text());
        message.extend_from_slice(b"' expected");
        self.lexer.error(&message)
    }

    fn check(&mut self, token: &Token) -> Result<(), Failure> {
        if self.token() == token {
            Ok(())
        } else {
            Err(self.expected(token))
        }
    }

    fn expect(&mut self, token: &Token) -> Result<(), Failure> {
        self.check(token)?;
        self.lexer.advance()
    }

    fn accept_char(&mut self, c: u8) -> Result<bool, Failure> {
        let found = self.at_char(c);
        if found {
            self.lexer.advance()?;
        }
        Ok(found)
    }

    fn expect_match(&mut self, what: &Token, who: &Token, line: u32) -> Result<(), Failure> {
        if self.token() == what {
            return self.lexer.advance();
        }
        if line == self.lexer.line {
            return Err(self.expected(what));
        }
        let mut message = b"'".to_vec();
        message.extend_from_slice(&what.expected_text());
        message.extend_from_slice(b"' expected (to close '");
        message.extend_from_slice(&who.expected_text());
        message.extend_from_slice(format!("' at line {line})").as_bytes());
        Err(self.lexer.error(&message))
    }

    fn name(&mut self) -> Result<Name, Failure> {
        let Token::Name(name) = self.token() else {
            return Err(self.lexer.error(b"'<name>' expected"));
        };
        let name = Name::clone(name);
        self.lexer.advance()?;
        Ok(name)
    }

    fn name_constant(&mut self) -> Result<Expression, Failure> {
        let name = self.name()?;
        Ok(Expression::new(
            Kind::Constant,
            self.string_constant(&name)?,
        ))
    }

    fn enter_level(&mut self) -> Result<(), Failure> {
        self.levels += 1;
        if self.levels > MAX_LEVELS {
            return Err(self
                .lexer
                .error_near(b"chunk has too many syntax levels", None));
        }
        Ok(())
    }

    fn check_limit(&mut self, value: usize, limit: usize, what: &str) -> Result<(), Failure> {
        if value <= limit {
            return Ok(());
        }
        let message = match self.fs().proto.line_defined {
            0 => format!("main function has more than {limit} {what}"),
            line => format!("function at line {line} has more than {limit} {what}"),
        };
        Err(self.lexer.error_near(message.as_bytes(), None))
    }

    // Variables and blocks.

    fn new_local(&mut self, name: &[u8], ahead: usize) -> Result<(), Failure> {
        let count = self.fs().active_count + ahead + 1;
        self.check_limit(count, MAX_LOCALS, "local variables")?;
        let fs = self.fs();
        let variable = LocalVariable {
            name: Box::from(name),
            start: 0,
            end: 0,
        };
        fs.active.truncate(count - 1);
        fs.active.push(fs.proto.locals.len() as u32);
        fs.proto.locals.push(variable);
        Ok(())
    }

    fn activate_locals(&mut self, count: usize) {
        let fs = self.fs();
        let start = fs.pc() as u32;
        for variable in &fs.active[fs.active_count..fs.active_count + count] {
            fs.proto.locals[*variable as usize].start = start;
        }
        fs.active_count += count;
    }

    fn remove_locals(&mut self, down_to: usize) {
        let fs = self.fs();
        let end = fs.pc() as u32;
        for variable in fs.active.drain(down_to..) {
            fs.proto.locals[variable as usize].end = end;
        }
        fs.active_count = down_to;
    }

    fn enter_block(&mut self, breakable: bool) {
        let fs = self.fs();
        let active = fs.active_count;
        fs.blocks.push(Block {
            breaks: NO_JUMP,
            active,
            shared: false,
            breakable,
        });
    }

    fn leave_block(&mut self) -> Result<(), Failure> {
        let Some(block) = self.fs().blocks.pop() else {
            return Ok(());
        };
        self.remove_locals(block.active);
        if block.shared {
            self.emit_abc(op::CLOSE, block.active as u32, 0, 0)?;
        }
        self.fs().free = block.active as u32;
        self.patch_to_here(block.breaks)
    }

    fn find_local(&self, function: usize, name: &Name) -> Option<u32> {
        let fs = &self.functions[function];
        (0..fs.active_count)
            .rev()
            .find(|i| fs.proto.locals[fs.active[*i] as usize].name[..] == name[..])
            .map(|i| i as u32)
    }

    fn variable(&mut self) -> Result<Expression, Failure> {
        let name = self.name()?;
        let innermost = self.functions.len() - 1;
        let found = (0..=innermost)
            .rev()
            .find_map(|function| self.find_variable(function, &name).map(|v| (function, v)));
        let Some((owner, mut variable)) = found else {
            return Ok(Expression::new(Kind::Global, self.string_constant(&name)?));
        };
        if owner < innermost && variable.kind == Kind::Local {
            let blocks = &mut self.functions[owner].blocks;
            let block = blocks
                .iter_mut()
                .rev()
                .find(|b| b.active <= variable.info as usize);
            if let Some(block) = block {
                block.shared = true;
            }
        }
        for function in owner + 1..=innermost {
            let capture = Capture {
                local: variable.kind == Kind::Local,
                index: variable.info,
            };
            let index = self.capture(function, &name, capture)?;
            variable = Expression::new(Kind::Upvalue, index);
        }
        Ok(variable)
    }

    fn find_variable(&self, function: usize, name: &Name) -> Option<Expression> {
        self.find_local(function, name)
            .map(|i| Expression::new(Kind::Local, i))
    }

    fn capture(&mut self, function: usize, name: &Name, capture: Capture) -> Result<u32, Failure> {
        let fs = &mut self.functions[function];
        if let Some(index) = fs.captures.iter().position(|other| *other == capture) {
            return Ok(index as u32);
        }
        let count = fs.captures.len();
        if count + 1 > MAX_UPVALUES {
            let message = match fs.proto.line_defined {
                0 => format!("main function has more than {MAX_UPVALUES} upvalues"),
                line => format!("function at line {line} has more than {MAX_UPVALUES} upvalues"),
            };
            return Err(self.lexer.error_near(message.as_bytes(), None));
        }
        fs.captures.push(capture);
        fs.proto.upvalue_names.push(Box::from(&name[..]));
        Ok(count as u32)
    }

    fn close_function(&mut self) -> Result<(Proto, Vec<Capture>), Failure> {
        self.remove_locals(0);
        self.emit_return(0, 0)?;
        let fs = self.functions.pop().unwrap_or_default();
        Ok((fs.proto, fs.captures))
    }

    fn adjust(&mut self, wanted: usize, given: usize, e: &mut Expression) -> Result<(), Failure> {
        if e.has_multiple_results() {
            let extra = (wanted + 1).saturating_sub(given);
            self.set_returns(e, extra as i32)?;
            if extra > 1 {
                self.reserve(extra as u32 - 1)?;
            }
            return Ok(());
        }
        if e.kind != Kind::Void {
            self.load_next(e)?;
        }
        if wanted > given {
            let extra = (wanted - given) as u32;
            let register = self.fs().free;
            self.reserve(extra)?;
            self.emit_nil(register, extra)?;
        }
        Ok(())
    }

    // Statements.

    fn block_follows(&self) -> bool {
        matches!(
            self.token(),
            Token::End | Token::Word(Word::Else | Word::Elseif | Word::End | Word::Until)
        )
    }

    fn chunk(&mut self) -> Result<(), Failure> {
        self.enter_level()?;
        let mut last = false;
        while !last && !self.block_follows() {
            last = self.statement()?;
            self.accept_char(b';')?;
            let fs = self.fs();
            fs.free = fs.active_count as u32;
        }
        self.levels -= 1;
        Ok(())
    }

    fn block(&mut self) -> Result<(), Failure> {
        self.enter_block(false);
        self.chunk()?;
        self.leave_block()
    }

    /// One statement; true when nothing may follow it.
    fn statement(&mut self) -> Result<bool, Failure> {
        let line = self.lexer.line;
        let Token::Word(word) = self.token() else {
            return self.expression_statement().map(|()| false);
        };
        match word {
            Word::If => self.if_statement(line)?,
            Word::While => self.while_statement(line)?,
            Word::Do => {
                self.lexer.advance()?;
                self.block()?;
                self.expect_match(&Token::Word(Word::End), &Token::Word(Word::Do), line)?;
            }
            Word::For => self.for_statement(line)?,
            Word::Repeat => self.repeat_statement(line)?,
            Word::Function => self.function_statement(line)?,
            Word::Local => {
                self.lexer.advance()?;
                if self.at_word(Word::Function) {
                    self.lexer.advance()?;
                    self.local_function()?;
                } else {
                    self.local_statement()?;
                }
            }
            Word::Return => {
                self.return_statement()?;
                return Ok(true);
            }
            Word::Break => {
                self.lexer.advance()?;
                self.break_statement()?;
                return Ok(true);
            }
            _ => self.expression_statement()?,
        }
        Ok(false)
    }

    fn condition(&mut self) -> Result<i32, Failure> {
        let mut e = self.expression()?;
        if e.kind == Kind::Nil {
            e.kind = Kind::False;
        }
        self.go_if_true(&mut e)?;
        Ok(e.when_false)
    }

    fn then_block(&mut self) -> Result<i32, Failure> {
        self.lexer.advance()?;
        let exit = self.condition()?;
        self.expect(&Token::Word(Word::Then))?;
        self.block()?;
        Ok(exit)
    }

    fn if_statement(&mut self, line: u32) -> Result<(), Failure> {
        let mut escapes = NO_JUMP;
        let mut exit = self.then_block()?;
        while self.at_word(Word::Elseif) {
            let jump = self.jump()?;
            self.join(&mut escapes, jump)?;
            self.patch_to_here(exit)?;
            exit = self.then_block()?;
        }
        if self.at_word(Word::Else) {
            let jump = self.jump()?;
            self.join(&mut escapes, jump)?;
            self.patch_to_here(exit)?;
            self.lexer.advance()?;
            self.block()?;
        } else {
            self.join(&mut escapes, exit)?;
        }
        self.patch_to_here(escapes)?;
        self.expect_match(&Token::Word(Word::End), &Token::Word(Word::If), line)
    }

    fn while_statement(&mut self, line: u32) -> Result<(), Failure> {
        self.lexer.advance()?;
        let start = self.label();
        let exit = self.condition()?;
        self.enter_block(true);
        self.expect(&Token::Word(Word::Do))?;
        self.block()?;
        let back = self.jump()?;
        self.patch(back, start)?;
        self.expect_match(&Token::Word(Word::End), &Token::Word(Word::While), line)?;
        self.leave_block()?;
        self.patch_to_here(exit)
    }

    fn repeat_statement(&mut self, line: u32) -> Result<(), Failure> {
        let start = self.label();
        self.enter_block(true);
        self.enter_block(false);
        self.lexer.advance()?;
        self.chunk()?;
        self.expect_match(&Token::Word(Word::Until), &Token::Word(Word::Repeat), line)?;
        let exit = self.condition()?;
        if self.fs().blocks.last().is_some_and(|block| block.shared) {
            self.break_statement()?;
            self.patch_to_here(exit)?;
            self.leave_block()?;
            let back = self.jump()?;
            self.patch(back, start)?;
        } else {
            self.leave_block()?;
            self.patch(exit, start)?;
        }
        self.leave_block()
    }

    fn break_statement(&mut self) -> Result<(), Failure> {
        let blocks = &self.fs().blocks;
        let Some(at) = blocks.iter().rposition(|block| block.breakable) else {
            return Err(self.lexer.error(b"no loop to break"));
        };
        let shared = blocks[at + 1..].iter().any(|block| block.shared);
        let active = blocks[at].active as u32;
        if shared {
            self.emit_abc(op::CLOSE, active, 0, 0)?;
        }
        let mut breaks = self.fs().blocks[at].breaks;
        let jump = self.jump()?;
        self.join(&mut breaks, jump)?;
        self.fs().blocks[at].breaks = breaks;
        Ok(())
    }

    fn for_statement(&mut self, line: u32) -> Result<(), Failure> {
        self.enter_block(true);
        self.lexer.advance()?;
        let name = self.name()?;
        match self.token() {
            Token::Char(b'=') => self.numeric_for(&name, line)?,
            Token::Char(b',') | Token::Word(Word::In) => self.generic_for(&name)?,
            _ => return Err(self.lexer.error(b"'=' or 'in' expected")),
        }
        self.expect_match(&Token::Word(Word::End), &Token::Word(Word::For), line)?;
        self.leave_block()
    }

    fn numeric_for(&mut self, name: &Name, line: u32) -> Result<(), Failure> {
        let base = self.fs().free;
        for (i, hidden) in ["(for index)", "(for limit)", "(for step)"]
            .iter()
            .enumerate()
        {
            self.new_local(hidden.as_bytes(), i)?;
        }
        self.new_local(name, 3)?;
        self.expect(&Token::Char(b'='))?;
        self.expression_to_register()?;
        self.expect(&Token::Char(b','))?;
        self.expression_to_register()?;
        if self.accept_char(b',')? {
            self.expression_to_register()?;
        } else {
            let one = self.number_constant(1.0)?;
            let register = self.fs().free;
            self.emit_abx(op::LOADK, register, one)?;
            self.reserve(1)?;
        }
        self.for_body(base, line, 1, true)
    }

    fn expression_to_register(&mut self) -> Result<(), Failure> {
        let mut e = self.expression()?;
        self.load_next(&mut e)
    }

    fn generic_for(&mut self, name: &Name) -> Result<(), Failure> {
        let base = self.fs().free;
        for (i, hidden) in ["(for generator)", "(for state)", "(for control)"]
            .iter()
            .enumerate()
        {
            self.new_local(hidden.as_bytes(), i)?;
        }
        let mut count = 4;
        self.new_local(name, 3)?;
        while self.accept_char(b',')? {
            let name = self.name()?;
            self.new_local(&name, count)?;
            count += 1;
        }
        self.expect(&Token::Word(Word::In))?;
        let line = self.lexer.line;
        let (given, mut e) = self.expression_list()?;
        self.adjust(3, given, &mut e)?;
        self.check_stack(3)?;
        self.for_body(base, line, count - 3, false)
    }

    fn for_body(
        &mut self,
        base: u32,
        line: u32,
        names: usize,
        numeric: bool,
    ) -> Result<(), Failure> {
        self.activate_locals(3);
        self.expect(&Token::Word(Word::Do))?;
        let prepare = if numeric {
            self.emit_asbx(op::FORPREP, base, NO_JUMP)?
        } else {
            self.jump()?
        };
        self.enter_block(false);
        self.activate_locals(names);
        self.reserve(names as u32)?;
        self.block()?;
        self.leave_block()?;
        self.patch_to_here(prepare)?;
        if numeric {
            let end = self.emit_asbx(op::FORLOOP, base, NO_JUMP)?;
            self.fix_line(line);
            return self.patch(end, prepare + 1);
        }
        self.emit_abc(op::TFORLOOP, base, 0, names as u32)?;
        self.fix_line(line);
        let back = self.jump()?;
        self.patch(back, prepare + 1)
    }

    fn function_statement(&mut self, line: u32) -> Result<(), Failure> {
        self.lexer.advance()?;
        let mut variable = self.variable()?;
        while self.at_char(b'.') {
            self.field(&mut variable)?;
        }
        let method = self.at_char(b':');
        if method {
            self.field(&mut variable)?;
        }
        let mut function = self.body(method, line)?;
        self.store(&variable, &mut function)?;
        self.fix_line(line);
        Ok(())
    }

    fn local_function(&mut self) -> Result<(), Failure> {
        let name = self.name()?;
        self.new_local(&name, 0)?;
        let variable = Expression::new(Kind::Local, self.fs().free);
        self.reserve(1)?;
        self.activate_locals(1);
        let line = self.lexer.line;
        let mut function = self.body(false, line)?;
        self.store(&variable, &mut function)?;
        let fs = self.fs();
        let pc = fs.pc() as u32;
        let local = fs.active[fs.active_count - 1];
        fs.proto.locals[local as usize].start = pc;
        Ok(())
    }

    fn local_statement(&mut self) -> Result<(), Failure> {
        let mut count = 0;
        loop {
            let name = self.name()?;
            self.new_local(&name, count)?;
            count += 1;
            if !self.accept_char(b',')? {
                break;
            }
        }
        let (given, mut e) = if self.accept_char(b'=')? {
            self.expression_list()?
        } else {
            (0, Expression::new(Kind::Void, 0))
        };
        self.adjust(count, given, &mut e)?;
        self.activate_locals(count);
        Ok(())
    }

    fn expression_statement(&mut self) -> Result<(), Failure> {
        let e = self.primary_expression()?;
        if e.kind == Kind::Call {
            set_c(self.instruction(e.info as i32), 1);
            return Ok(());
        }
        self.assignment(e)
    }

    fn assignment(&mut self, first: Expression) -> Result<(), Failure> {
        let mut targets = vec![first];
        loop {
            let last = targets[targets.len() - 1];
            if !matches!(
                last.kind,
                Kind::Local | Kind::Upvalue | Kind::Global | Kind::Indexed
            ) {
                return Err(self.lexer.error(b"syntax error"));
            }
            if !self.accept_char(b',')? {
                break;
            }
            let target = self.primary_expression()?;
            if target.kind == Kind::Local {
                self.check_conflict(&mut targets, target.info)?;
            }
            let limit = MAX_LEVELS - self.levels;
            self.check_limit(targets.len(), limit, "variables in assignment")?;
            targets.push(target);
        }
        self.expect(&Token::Char(b'='))?;
        let (given, mut e) = self.expression_list()?;
        if given == targets.len() {
            self.set_one_return(&mut e);
            if let Some(last) = targets.pop() {
                self.store(&last, &mut e)?;
            }
        } else {
            self.adjust(targets.len(), given, &mut e)?;
            self.fs().free -= given.saturating_sub(targets.len()) as u32;
        }
        while let Some(target) = targets.pop() {
            let mut value = Expression::new(Kind::Register, self.fs().free - 1);
            self.store(&target, &mut value)?;
        }
        Ok(())
    }

    /// A local that is assigned to after it was used as a table or a key on the left is copied first.
    fn check_conflict(&mut self, targets: &mut [Expression], local: u32) -> Result<(), Failure> {
        let copy = self.fs().free;
        let mut conflict = false;
        for target in targets
            .iter_mut()
            .filter(|target| target.kind == Kind::Indexed)
        {
            if target.info == local {
                conflict = true;
                target.info = copy;
            }
            if target.aux == local {
                conflict = true;
                target.aux = copy;
            }
        }
        if conflict {
            self.emit_abc(op::MOVE, copy, local, 0)?;
            self.reserve(1)?;
        }
        Ok(())
    }

    fn return_statement(&mut self) -> Result<(), Failure> {
        self.lexer.advance()?;
        if self.block_follows() || self.at_char(b';') {
            return self.emit_return(0, 0);
        }
        let (count, mut e) = self.expression_list()?;
        let first = self.fs().active_count as u32;
        if e.has_multiple_results() {
            self.set_returns(&e, MULTIPLE)?;
            if e.kind == Kind::Call && count == 1 {
                self.make_tail_call(&e);
            }
            return self.emit_return(first, MULTIPLE);
        }
        if count == 1 {
            let register = self.load_any(&mut e)?;
            return self.emit_return(register, 1);
        }
        self.load_next(&mut e)?;
        self.emit_return(first, count as i32)
    }

    // Expressions.

    /// A list of expressions, all but the last in registers; how many.
    fn expression_list(&mut self) -> Result<(usize, Expression), Failure> {
        let mut count = 1;
        let mut e = self.expression()?;
        while self.accept_char(b',')? {
            self.load_next(&mut e)?;
            e = self.expression()?;
            count += 1;
        }
        Ok((count, e))
    }

    fn expression(&mut self) -> Result<Expression, Failure> {
        self.subexpression(0)
    }

    fn subexpression(&mut self, limit: u8) -> Result<Expression, Failure> {
        self.enter_level()?;
        let mut left = match self.unary_operator() {
            Some(operator) => {
                self.lexer.advance()?;
                let mut e = self.subexpression(UNARY_PRIORITY)?;
                self.prefix(operator, &mut e)?;
                e
            }
            None => self.simple_expression()?,
        };
        while let Some((operator, priority, right_priority)) = self.binary_operator() {
            if priority <= limit {
                break;
            }
            self.lexer.advance()?;
            self.infix(operator, &mut left)?;
            let mut right = self.subexpression(right_priority)?;
            self.postfix(operator, &mut left, &mut right)?;
        }
        self.levels -= 1;
        Ok(left)
    }

    fn unary_operator(&self) -> Option<Unary> {
        match self.token() {
            Token::Word(Word::Not) => Some(Unary::Not),
            Token::Char(b'-') => Some(Unary::Minus),
            Token::Char(b'#') => Some(Unary::Length),
            _ => None,
        }
    }

    /// The operator with how strongly it binds to its left and to its right.
    fn binary_operator(&self) -> Option<(Binary, u8, u8)> {
        Some(match self.token() {
            Token::Char(b'+') => (Binary::Arithmetic(op::ADD), 6, 6),
            Token::Char(b'-') => (Binary::Arithmetic(op::SUB), 6, 6),
            Token::Char(b'*') => (Binary::Arithmetic(op::MUL), 7, 7),
            Token::Char(b'/') => (Binary::Arithmetic(op::DIV), 7, 7),
            Token::Char(b'%') => (Binary::Arithmetic(op::MOD), 7, 7),
            Token::Char(b'^') => (Binary::Arithmetic(op::POW), 10, 9),
            Token::Word(Word::Concat) => (Binary::Concat, 5, 4),
            Token::Word(Word::NotEqual) => (Binary::NotEqual, 3, 3),
            Token::Word(Word::Equal) => (Binary::Equal, 3, 3),
            Token::Char(b'<') => (Binary::Less, 3, 3),
            Token::Word(Word::LessEqual) => (Binary::LessEqual, 3, 3),
            Token::Char(b'>') => (Binary::Greater, 3, 3),
            Token::Word(Word::GreaterEqual) => (Binary::GreaterEqual, 3, 3),
            Token::Word(Word::And) => (Binary::And, 2, 2),
            Token::Word(Word::Or) => (Binary::Or, 1, 1),
            _ => return None,
        })
    }

    fn simple_expression(&mut self) -> Result<Expression, Failure> {
        let e = match self.token() {
            Token::Number(number) => Expression::number(*number),
            Token::String(text) => {
                let text = Name::clone(text);
                Expression::new(Kind::Constant, self.string_constant(&text)?)
            }
            Token::Word(Word::Nil) => Expression::new(Kind::Nil, 0),
            Token::Word(Word::True) => Expression::new(Kind::True, 0),
            Token::Word(Word::False) => Expression::new(Kind::False, 0),
            Token::Word(Word::Dots) => {
                if self.fs().proto.vararg == 0 {
                    return Err(self
                        .lexer
                        .error(b"cannot use '...' outside a vararg function"));
                }
                self.fs().proto.vararg &= !VARARG_NEEDS_ARG;
                let pc = self.emit_abc(op::VARARG, 0, 1, 0)?;
                Expression::new(Kind::Vararg, pc as u32)
            }
            Token::Char(b'{') => return self.constructor(),
            Token::Word(Word::Function) => {
                self.lexer.advance()?;
                let line = self.lexer.line;
                return self.body(false, line);
            }
            _ => return self.primary_expression(),
        };
        self.lexer.advance()?;
        Ok(e)
    }

    fn prefix_expression(&mut self) -> Result<Expression, Failure> {
        match self.token() {
            Token::Char(b'(') => {
                let line = self.lexer.line;
                self.lexer.advance()?;
                let mut e = self.expression()?;
                self.expect_match(&Token::Char(b')'), &Token::Char(b'('), line)?;
                self.discharge_variables(&mut e)?;
                Ok(e)
            }
            Token::Name(_) => self.variable(),
            _ => Err(self.lexer.error(b"unexpected symbol")),
        }
    }

    fn primary_expression(&mut self) -> Result<Expression, Failure> {
        let mut e = self.prefix_expression()?;
        loop {
            match self.token() {
                Token::Char(b'.') => self.field(&mut e)?,
                Token::Char(b'[') => {
                    self.load_any(&mut e)?;
                    let mut key = self.bracket_index()?;
                    self.index(&mut e, &mut key)?;
                }
                Token::Char(b':') => {
                    self.lexer.advance()?;
                    let mut key = self.name_constant()?;
                    self.emit_self(&mut e, &mut key)?;
                    self.arguments(&mut e)?;
                }
                Token::Char(b'(' | b'{') | Token::String(_) => {
                    self.load_next(&mut e)?;
                    self.arguments(&mut e)?;
                }
                _ => return Ok(e),
            }
        }
    }

    fn field(&mut self, e: &mut Expression) -> Result<(), Failure> {
        self.load_any(e)?;
        self.lexer.advance()?;
        let mut key = self.name_constant()?;
        self.index(e, &mut key)
    }

    fn bracket_index(&mut self) -> Result<Expression, Failure> {
        self.lexer.advance()?;
        let mut key = self.expression()?;
        self.load_value(&mut key)?;
        self.expect(&Token::Char(b']'))?;
        Ok(key)
    }

    fn arguments(&mut self, function: &mut Expression) -> Result<(), Failure> {
        let line = self.lexer.line;
        let mut last = match self.token() {
            Token::Char(b'(') => {
                if line != self.lexer.last_line {
                    return Err(self
                        .lexer
                        .error(b"ambiguous syntax (function call x new statement)"));
                }
                self.lexer.advance()?;
                let e = if self.at_char(b')') {
                    Expression::new(Kind::Void, 0)
                } else {
                    let (_, e) = self.expression_list()?;
                    if e.has_multiple_results() {
                        self.set_returns(&e, MULTIPLE)?;
                    }
                    e
                };
                self.expect_match(&Token::Char(b')'), &Token::Char(b'('), line)?;
                e
            }
            Token::Char(b'{') => self.constructor()?,
            Token::String(text) => {
                let text = Name::clone(text);
                let e = Expression::new(Kind::Constant, self.string_constant(&text)?);
                self.lexer.advance()?;
                e
            }
            _ => return Err(self.lexer.error(b"function arguments expected")),
        };
        let base = function.info;
        let count = if last.has_multiple_results() {
            MULTIPLE
        } else {
            if last.kind != Kind::Void {
                self.load_next(&mut last)?;
            }
            (self.fs().free - (base + 1)) as i32
        };
        let pc = self.emit_abc(op::CALL, base, (count + 1) as u32, 2)?;
        *function = Expression::new(Kind::Call, pc as u32);
        self.fix_line(line);
        self.fs().free = base + 1;
        Ok(())
    }

    fn constructor(&mut self) -> Result<Expression, Failure> {
        let line = self.lexer.line;
        let pc = self.emit_abc(op::NEWTABLE, 0, 0, 0)?;
        let mut table = Expression::new(Kind::Relocable, pc as u32);
        self.load_next(&mut table)?;
        self.expect(&Token::Char(b'{'))?;
        let mut list = List {
            item: Expression::new(Kind::Void, 0),
            items: 0,
            fields: 0,
            stored: 0,
        };
        while !self.at_char(b'}') {
            self.close_item(table.info, &mut list)?;
            let field = match self.token() {
                Token::Char(b'[') => true,
                Token::Name(_) => *self.lexer.look_ahead()? == Token::Char(b'='),
                _ => false,
            };
            if field {
                self.record_field(table.info, &mut list)?;
            } else {
                list.item = self.expression()?;
                list.items += 1;
                list.stored += 1;
            }
            if !self.accept_char(b',')? && !self.accept_char(b';')? {
                break;
            }
        }
        self.expect_match(&Token::Char(b'}'), &Token::Char(b'{'), line)?;
        self.last_item(table.info, &mut list)?;
        let instruction = self.instruction(pc);
        set_b(instruction, size_to_byte(list.items));
        set_c(instruction, size_to_byte(list.fields));
        Ok(table)
    }

    fn close_item(&mut self, table: u32, list: &mut List) -> Result<(), Failure> {
        if list.item.kind == Kind::Void {
            return Ok(());
        }
        self.load_next(&mut list.item)?;
        list.item.kind = Kind::Void;
        if list.stored == FIELDS_PER_FLUSH {
            self.set_list(table, list.items, list.stored as i32)?;
            list.stored = 0;
        }
        Ok(())
    }

    fn last_item(&mut self, table: u32, list: &mut List) -> Result<(), Failure> {
        if list.stored == 0 {
            return Ok(());
        }
        if list.item.has_multiple_results() {
            self.set_returns(&list.item, MULTIPLE)?;
            self.set_list(table, list.items, MULTIPLE)?;
            list.items -= 1;
            return Ok(());
        }
        if list.item.kind != Kind::Void {
            self.load_next(&mut list.item)?;
        }
        self.set_list(table, list.items, list.stored as i32)
    }

    fn record_field(&mut self, table: u32, list: &mut List) -> Result<(), Failure> {
        let register = self.fs().free;
        let mut key = if self.at_char(b'[') {
            self.bracket_index()?
        } else {
            self.name_constant()?
        };
        list.fields += 1;
        self.expect(&Token::Char(b'='))?;
        let key = self.load_operand(&mut key)?;
        let mut value = self.expression()?;
        let value = self.load_operand(&mut value)?;
        self.emit_abc(op::SETTABLE, table, key, value)?;
        self.fs().free = register;
        Ok(())
    }

    fn body(&mut self, method: bool, line: u32) -> Result<Expression, Failure> {
        let function = FunctionState::new(line, Arc::clone(&self.name), Arc::clone(&self.chunk));
        self.functions.push(function);
        self.expect(&Token::Char(b'('))?;
        if method {
            self.new_local(b"self", 0)?;
            self.activate_locals(1);
        }
        self.parameters()?;
        self.expect(&Token::Char(b')'))?;
        self.chunk()?;
        self.expect_match(&Token::Word(Word::End), &Token::Word(Word::Function), line)?;
        let (proto, captures) = self.close_function()?;
        let fs = self.fs();
        let child = fs.proto.children.len() as u32;
        fs.proto.children.push(Arc::new(proto));
        let pc = self.emit_abx(op::CLOSURE, 0, child)?;
        for capture in captures {
            let operation = if capture.local {
                op::MOVE
            } else {
                op::GETUPVAL
            };
            self.emit_abc(operation, 0, capture.index, 0)?;
        }
        Ok(Expression::new(Kind::Relocable, pc as u32))
    }

    fn parameters(&mut self) -> Result<(), Failure> {
        let mut count = 0;
        if !self.at_char(b')') {
            loop {
                match self.token() {
                    Token::Name(_) => {
                        let name = self.name()?;
                        self.new_local(&name, count)?;
                        count += 1;
                    }
                    Token::Word(Word::Dots) => {
                        self.lexer.advance()?;
                        self.new_local(b"arg", count)?;
                        count += 1;
                        self.fs().proto.vararg = VARARG_HAS_ARG | VARARG_NEEDS_ARG | VARARG_IS;
                    }
                    _ => return Err(self.lexer.error(b"<name> or '...' expected")),
                }
                if self.fs().proto.vararg != 0 || !self.accept_char(b',')? {
                    break;
                }
            }
        }
        self.activate_locals(count);
        let fs = self.fs();
        let active = fs.active_count as u32;
        fs.proto.parameters = active - u32::from(fs.proto.vararg & VARARG_HAS_ARG);
        self.reserve(active)
    }
}

/// A table constructor on the way.
struct List {
    /// The item that was read last, not yet in a register.
    item: Expression,
    items: u32,
    fields: u32,
    /// Items in registers, not yet in the table.
    stored: u32,
}

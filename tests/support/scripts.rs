//! Random Lua scripts, as Redis would run them, that end soon and show what they did.
//!
//! A script is a list of parts. Each part is a function that runs protected; its results, or its error, are
//! written out with [`PRELUDE`]'s `show`, in which the order of `pairs` is visible. Parts share a few
//! variables, so that later ones see what earlier ones did. Addresses never show, and nothing loops for long.

/// A generator of numbers (xorshift64*), the same for the same seed.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    /// A number below `end`.
    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn pick<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len())]
    }
}

/// What every script begins with.
pub const PRELUDE: &str = "math.randomseed(0)
local OUT = {}
local function K(k) local t = type(k) return (t == 'table' or t == 'function' or t == 'thread') and t or k end
local function show(v, d)
  local t = type(v)
  if t == 'number' then return string.format('%.14g', v) end
  if t == 'string' then return '<' .. v:gsub('0[xX]%x%x%x%x%x%x+', 'ADDRESS') .. '>' end
  if t ~= 'table' then return t == 'boolean' and tostring(v) or t end
  if d > 3 then return '{...}' end
  local s = '{'
  local n = 0
  for k, w in pairs(v) do
    n = n + 1
    if n > 40 then s = s .. '...' break end
    s = s .. show(k, d + 1) .. '=' .. show(w, d + 1) .. ';'
  end
  return s .. '}#' .. #v
end
local function RUN(f, ...)
  local r = {pcall(f, ...)}
  local s = ''
  for i = 1, table.maxn(r) do s = s .. show(r[i], 0) .. ' ' end
  OUT[#OUT + 1] = s
end
local a, b, c, d, e, f = 1, 'two', {3, 4, x = 5}, nil, true, function(p, ...) return ..., p end
local LOG = {}
local MT = {}
for _, n in ipairs{'add', 'sub', 'mul', 'div', 'mod', 'pow', 'unm', 'concat', 'lt', 'le', 'eq', 'call', 'index', 'newindex', 'len'} do
  MT['__' .. n] = function(...) LOG[#LOG + 1] = n return n == 'lt' or n == 'le' or select('#', ...) end
end
local function obj(t) return setmetatable(t or {}, MT) end
";

/// What every script ends with.
pub const END: &str = "OUT[#OUT + 1] = table.concat(LOG, ',') return OUT";

/// A script's parts.
pub fn script(seed: u64) -> Vec<String> {
    let mut writer = Writer {
        random: Random::new(seed),
        names: Vec::new(),
        vararg: false,
        loops: 0,
    };
    let parts = 2 + writer.random.below(6);
    (0..parts).map(|_| writer.part()).collect()
}

/// The text of a script with these parts.
pub fn text(parts: &[String]) -> String {
    let mut text = PRELUDE.to_owned();
    for part in parts {
        text.push_str(part);
        text.push('\n');
    }
    text + END
}

struct Writer {
    random: Random,
    /// Local variables in scope, besides those of the prelude.
    names: Vec<String>,
    vararg: bool,
    loops: usize,
}

const SHARED: &[&str] = &["a", "b", "c", "d", "e", "f"];
const NUMBERS: &[&str] = &[
    "0",
    "1",
    "2",
    "3",
    "4",
    "5",
    "7",
    "10",
    "16",
    "-1",
    "-2",
    "-0",
    "0.5",
    "-1.5",
    "2.25",
    "1e15",
    "1e14",
    "123456789012345",
    "1e100",
    "1e-7",
    "9007199254740993",
    "0x10",
    "0xff",
    "3.14159",
    "1e308",
    "-1e15",
    "(1/0)",
    "(-1/0)",
    "(0/0)",
    "255",
    "256",
    "65",
    "97",
    "4294967296",
    "2^31",
    "2^53",
    "1e5",
    "100",
    ".5",
    "5.",
    "3e2",
    "1E-2",
    "0.1",
    "1/3",
];
const SMALL: &[&str] = &[
    "0", "1", "2", "3", "4", "5", "-1", "-2", "-3", "1.5", "'2'", "6", "10", "nil",
];
const STRINGS: &[&str] = &[
    "''",
    "'a'",
    "'abc'",
    "'hello world'",
    "'10'",
    "' 5 '",
    "'0x1F'",
    "'1e3'",
    "'-7.5'",
    "'nan'",
    "'inf'",
    "'a,b,,c'",
    "'key=value; k2=v2'",
    "'\\0x\\0'",
    "'x\\ny'",
    "\"it's\"",
    "[[long]]",
    "[==[a]]b]==]",
    "'\\65\\066\\10'",
    "'%d+'",
    "'THE (quick) fox'",
    "'\\195\\169'",
    "'[]'",
    "'  trim  '",
    "'a.b.c'",
    "'lock:1'",
    "'1'",
    "'zz'",
    "'\\255\\254'",
    "'0'",
    "'false'",
    "'%'",
    "'a\\tb'",
    "'x'",
    "'f(a(b)c)d'",
];
const PATTERNS: &[&str] = &[
    "'%d+'",
    "'%a+'",
    "'(%w+)=(%w+)'",
    "'.-'",
    "'.'",
    "'a*'",
    "'^%s*(.-)%s*$'",
    "'[^,]*'",
    "'%b()'",
    "'()'",
    "'(a)(b)'",
    "'%f[%w]%w+'",
    "'l+'",
    "'o?'",
    "'[a-c]+'",
    "'[%w_]'",
    "'%.'",
    "'$'",
    "'^'",
    "'x*$'",
    "'(.)%1'",
    "'%'",
    "'['",
    "'[a'",
    "'[^'",
    "'('",
    "')'",
    "'%1'",
    "'[]]'",
    "'[^]]'",
    "'%z'",
    "'%W'",
    "'[%D]'",
    "'.+b'",
    "'(a*(.)%w(%s*))'",
    "'a-b'",
    "'%u%l'",
    "'[a-]'",
    "'[%a-z]'",
    "'%bxy'",
    "'%f'",
    "'%b'",
    "''",
    "'%S+'",
    "'(%a)(%a)(%a)'",
    "'%x%x'",
    "'%p'",
    "'%c'",
];
const REPLACEMENTS: &[&str] = &[
    "''",
    "'-'",
    "'%0%0'",
    "'<%1>'",
    "'%2%1'",
    "'%%'",
    "'%'",
    "'x%9'",
    "{a = 'A', hello = true, ['10'] = 5}",
    "function(x) return x and x .. x end",
    "function() end",
    "function(...) return select('#', ...) end",
    "{[1] = 2}",
    "function(x, y) return y end",
    "string.upper",
    "7",
    "nil",
    "true",
    "function() return {} end",
];
const FORMATS: &[&str] = &[
    "%d", "%5d", "%-5d|", "%05d", "%+d", "% d", "%x", "%X", "%#x", "%o", "%c", "%s", "%10s",
    "%-10s|", "%.2s", "%5.1s", "%q", "%f", "%.0f", "%.3f", "%10.2f", "%e", "%.1e", "%E", "%g",
    "%.3g", "%#g", "%G", "%i", "%u", "%5.2d", "%%", "%", "%y", "%5", "%.20f", "%-+5d", "%08.3f",
    "%.14g", "%.17g", "%#o", "%99d", "%100d", "%.100f", "%lld", "%a1", "%--d", "%------d",
];
const LAYOUTS: &[&str] = &[
    "'b'", "'>I4'", "'<i8'", "'Bc0'", "'s'", "'hh'", "'!4bi4'", "'>d'", "'f'", "'c3'", "'x'",
    "'i3'", "'L'", "'>l'", "'z'", "'i99'", "'!3'", "'bb s'", "''", "'I16'",
];
const JSON: &[&str] = &[
    "'[1,2,3]'",
    "'{\"a\":1,\"b\":[true,false,null]}'",
    "'\"x\"'",
    "' 1 '",
    "''",
    "'[1,'",
    "'{\"a\"}'",
    "'{\"a\":}'",
    "'[1 2]'",
    "'nul'",
    "'\"\\\\u00e9\\\\n\"'",
    "'\"\\\\ud83d\\\\ude00\"'",
    "'\"\\\\ud83d\"'",
    "'[1.5e3,-0,0x10,1e400]'",
    "'{}'",
    "'[]'",
    "'[[[]]]'",
    "'{\"a\":{\"b\":{\"c\":1}}}'",
    "'nan'",
    "'Infinity'",
    "'-inf'",
    "'01'",
    "'[1]x'",
    "'\"\\\\x\"'",
    "'\"abc'",
    "'{1:2}'",
    "'{\"a\":1,}'",
    "'+1'",
    "'{\"x\":1,\"y\":2,\"z\":3,\"1\":4}'",
    "'true'",
    "'tru'",
    "'[null]'",
    "'{\"a\":1 \"b\"}'",
    "':'",
];

impl Writer {
    fn part(&mut self) -> String {
        self.names.clear();
        self.vararg = self.random.one_in(3);
        self.loops = 0;
        let parameters = if self.vararg { "..." } else { "" };
        let body = self.block(2, 4);
        let results = self.list(2, 3);
        let arguments = if self.vararg {
            format!(", {}", self.list(0, 3))
        } else {
            String::new()
        };
        let line = if self.random.one_in(6) { "\n" } else { " " };
        format!("RUN(function({parameters}) {body}{line}return {results} end{arguments})")
    }

    fn block(&mut self, depth: usize, most: usize) -> String {
        let scope = self.names.len();
        let count = self.random.below(most + 1);
        let mut text = String::new();
        for _ in 0..count {
            text.push_str(&self.statement(depth));
            text.push_str(if self.random.one_in(8) { "\n" } else { " " });
        }
        self.names.truncate(scope);
        text
    }

    fn new_name(&mut self) -> String {
        let name = self
            .random
            .pick(&["p", "q", "r", "s", "t", "u", "a", "c", "n"]);
        name.to_owned()
    }

    fn name(&mut self) -> String {
        if !self.names.is_empty() && self.random.one_in(2) {
            let at = self.random.below(self.names.len());
            return self.names[at].clone();
        }
        self.random.pick(SHARED).to_owned()
    }

    fn target(&mut self, depth: usize) -> String {
        match self.random.below(6) {
            0..=2 => self.name(),
            3 => format!(
                "{}.{}",
                self.table_name(),
                self.random.pick(&["x", "y", "z", "w"])
            ),
            4 => format!("{}[{}]", self.table_name(), self.key(depth)),
            _ => format!("{}[K({})]", self.name(), self.expression(depth)),
        }
    }

    fn table_name(&mut self) -> String {
        if self.random.one_in(4) {
            self.name()
        } else {
            "c".to_owned()
        }
    }

    fn key(&mut self, depth: usize) -> String {
        match self.random.below(5) {
            0 => self
                .random
                .pick(&["1", "2", "3", "4", "5", "6", "7", "8", "9", "17"])
                .to_owned(),
            1 => format!("#{}", self.table_name()),
            2 => format!("#{} + 1", self.table_name()),
            3 => self.random.pick(STRINGS).to_owned(),
            _ => format!("K({})", self.expression(depth)),
        }
    }

    fn statement(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self.simple_statement(0);
        }
        let inner = depth - 1;
        match self.random.below(16) {
            0 => {
                let condition = self.expression(depth);
                let then = self.block(inner, 3);
                let otherwise = match self.random.below(3) {
                    0 => format!("else {}", self.block(inner, 2)),
                    1 => {
                        let condition = self.expression(inner);
                        format!("elseif {condition} then {}", self.block(inner, 2))
                    }
                    _ => String::new(),
                };
                format!("if {condition} then {then}{otherwise} end")
            }
            1 => {
                let bounds = format!(
                    "{}, {}{}",
                    self.random.pick(&["1", "0", "3", "-2", "1.5", "'1'", "c"]),
                    self.random
                        .pick(&["3", "5", "0", "2.5", "'4'", "#c", "nil"]),
                    self.random
                        .pick(&["", "", "", ", 2", ", -1", ", 0.5", ", 'x'"])
                );
                let scope = self.names.len();
                self.names.push("i".to_owned());
                self.loops += 1;
                let body = self.block(inner, 3);
                let stop = self.random.pick(&["", "", "if i == 2 then break end"]);
                self.loops -= 1;
                self.names.truncate(scope);
                format!("for i = {bounds} do {body} {stop} end")
            }
            2 => {
                let iterator = match self.random.below(6) {
                    0 => format!("pairs({})", self.table(inner)),
                    1 => format!("ipairs({})", self.table(inner)),
                    // The address of a table or a function is not the same twice, and has now more digits, now fewer.
                    2 => format!(
                        "string.gmatch((string.gsub({}, '0x%x+', 'at')), {})",
                        self.string(inner),
                        self.random.pick(PATTERNS)
                    ),
                    3 => format!("next, {}", self.table(inner)),
                    4 => self.expression(inner),
                    _ => "coroutine.wrap(function() for j = 1, 3 do coroutine.yield(j, a) end end)"
                        .to_owned(),
                };
                let scope = self.names.len();
                self.names.extend(["k".to_owned(), "v".to_owned()]);
                let body = self.block(inner, 2);
                self.names.truncate(scope);
                format!(
                    "do local N = 0 for k, v in {iterator} do N = N + 1 if N > 20 then break end {body} end end"
                )
            }
            3 => {
                let condition = self.expression(inner);
                let body = self.block(inner, 2);
                format!("do local N = 0 while N < 4 and {condition} do N = N + 1 {body} end end")
            }
            4 => {
                let body = self.block(inner, 2);
                let condition = self.expression(inner);
                format!(
                    "do local N = 0 repeat local M = N N = N + 1 {body} until N > 3 or M == 2 and {condition} end"
                )
            }
            5 => {
                let name = self.new_name();
                let function = self.function_body(inner);
                self.names.push(name.clone());
                format!("local function {name}{function}")
            }
            6 => {
                let method = self.random.pick(&["c.x", "c.y", "c:m", "f", "a", "d.z"]);
                let function = self.function_body(inner);
                format!("function {method}{function}")
            }
            7 => format!("do {} end", self.block(inner, 3)),
            _ => self.simple_statement(depth),
        }
    }

    fn simple_statement(&mut self, depth: usize) -> String {
        match self.random.below(10) {
            0..=2 => {
                let values = self.list(depth, 2);
                let name = self.new_name();
                self.names.push(name.clone());
                if self.random.one_in(3) {
                    let second = self.new_name();
                    self.names.push(second.clone());
                    format!("local {name}, {second} = {values}")
                } else {
                    format!("local {name} = {values}")
                }
            }
            3..=5 => {
                let target = self.target(depth);
                format!("{target} = {}", self.expression(depth))
            }
            6 => {
                let (first, second) = (self.target(depth), self.target(depth));
                format!("{first}, {second} = {}", self.list(depth, 3))
            }
            7 => format!(
                "table.insert({}, {})",
                self.table_name(),
                self.expression(depth)
            ),
            8 => format!("local _ = {}", self.call(depth)),
            _ => format!("c[#c + 1] = {}", self.expression(depth)),
        }
    }

    fn function_body(&mut self, depth: usize) -> String {
        let scope = self.names.len();
        let vararg = std::mem::replace(&mut self.vararg, self.random.one_in(3));
        let parameters = if self.vararg {
            "p, ..."
        } else {
            self.random.pick(&["", "p", "p, q"])
        };
        self.names.extend(["p".to_owned()]);
        let body = self.block(depth, 2);
        let results = self.list(depth, 2);
        self.vararg = vararg;
        self.names.truncate(scope);
        format!("({parameters}) {body} return {results} end")
    }

    /// From one to `most` expressions, the last of which may give several values.
    fn list(&mut self, depth: usize, most: usize) -> String {
        let count = 1 + self.random.below(most);
        let items: Vec<String> = (0..count).map(|_| self.expression(depth)).collect();
        items.join(", ")
    }

    fn expression(&mut self, depth: usize) -> String {
        if depth == 0 {
            return match self.random.below(8) {
                0 | 1 => self.random.pick(NUMBERS).to_owned(),
                2 | 3 => self.random.pick(STRINGS).to_owned(),
                4 => self.random.pick(&["nil", "true", "false"]).to_owned(),
                5 => self
                    .random
                    .pick(&["c", "c.x", "c[1]", "c[2]", "c.x.y", "d.q", "b.len"])
                    .to_owned(),
                _ => self.name(),
            };
        }
        let inner = depth - 1;
        match self.random.below(14) {
            0 | 1 => self.number(inner),
            2 => self.string(inner),
            3 => self.table(inner),
            4 | 5 => self.call(inner),
            6 => {
                let operator = self
                    .random
                    .pick(&["and", "or", "and", "or", "==", "~=", "<", "<=", ">", ">="]);
                format!(
                    "({} {operator} {})",
                    self.expression(inner),
                    self.expression(inner)
                )
            }
            7 => format!(
                "{} ({})",
                self.random.pick(&["not", "-", "#"]),
                self.expression(inner)
            ),
            8 => {
                let operator = self.random.pick(&["+", "-", "*", "/", "%", "^", ".."]);
                format!(
                    "({} {operator} {})",
                    self.expression(inner),
                    self.expression(inner)
                )
            }
            9 => format!("{}[{}]", self.name(), self.expression(inner)),
            10 if self.vararg => self
                .random
                .pick(&[
                    "...",
                    "(...)",
                    "select('#', ...)",
                    "select(2, ...)",
                    "{...}",
                ])
                .to_owned(),
            11 => format!("function{}", self.function_body(inner)),
            12 => format!("obj({})", self.table(inner)),
            _ => self.name(),
        }
    }

    fn number(&mut self, depth: usize) -> String {
        if depth == 0 || self.random.one_in(3) {
            return match self.random.below(4) {
                0 => "a".to_owned(),
                1 => "#c".to_owned(),
                _ => self.random.pick(NUMBERS).to_owned(),
            };
        }
        let inner = depth - 1;
        match self.random.below(6) {
            0..=2 => {
                let operator = self.random.pick(&["+", "-", "*", "/", "%", "^"]);
                format!("{} {operator} {}", self.number(inner), self.number(inner))
            }
            3 => format!("-({})", self.number(inner)),
            4 => format!("#{}", self.string(0)),
            _ => self.expression(inner),
        }
    }

    fn string(&mut self, depth: usize) -> String {
        if depth == 0 || self.random.one_in(2) {
            return match self.random.below(6) {
                0 => "b".to_owned(),
                1 => self.expression(0),
                _ => self.random.pick(STRINGS).to_owned(),
            };
        }
        let inner = depth - 1;
        match self.random.below(3) {
            0 => format!("({} .. {})", self.string(inner), self.number(inner)),
            1 => format!(
                "({} .. {} .. {})",
                self.string(inner),
                self.expression(inner),
                self.string(inner)
            ),
            _ => format!("tostring({})", self.number(inner)),
        }
    }

    fn table(&mut self, depth: usize) -> String {
        if self.random.one_in(3) {
            return self.table_name();
        }
        let count = self.random.below(7);
        let mut fields = Vec::new();
        for _ in 0..count {
            fields.push(match self.random.below(7) {
                0 => format!(
                    "{} = {}",
                    self.random.pick(&["x", "y", "z", "n", "key"]),
                    self.expression(depth.min(1))
                ),
                1 => format!(
                    "[{}] = {}",
                    self.random.pick(&[
                        "1", "2", "3", "4", "8", "10", "'s'", "true", "1.5", "-1", "'1'", "0",
                        "2^53"
                    ]),
                    self.expression(0)
                ),
                2 => "nil".to_owned(),
                _ => self.expression(depth.min(1)),
            });
        }
        format!("{{{}}}", fields.join(self.random.pick(&[", ", "; "])))
    }

    fn small(&mut self) -> String {
        self.random.pick(SMALL).to_owned()
    }

    fn call(&mut self, depth: usize) -> String {
        match self.random.below(11) {
            0 | 1 => self.string_call(depth),
            2 => self.packing_call(depth),
            3 | 10 => self.table_call(depth),
            4 => self.math_call(depth),
            5 => self.json_call(depth),
            6 => self.bit_call(depth),
            7 => self.coroutine_call(depth),
            8 => self.base_call(depth),
            _ => match self.random.below(4) {
                0 => format!("{}({})", self.name(), self.list(depth, 3)),
                1 => format!(
                    "c:{}({})",
                    self.random.pick(&["m", "x", "y"]),
                    self.expression(depth)
                ),
                2 => format!(
                    "(function{})({})",
                    self.function_body(depth),
                    self.list(depth, 2)
                ),
                _ => format!(
                    "{}.{}({})",
                    self.name(),
                    self.random.pick(&["x", "len", "foo"]),
                    self.expression(depth)
                ),
            },
        }
    }

    fn string_call(&mut self, depth: usize) -> String {
        let s = self.string(depth);
        match self.random.below(18) {
            0 => format!("string.sub({s}, {}, {})", self.small(), self.small()),
            1 => format!("({s}):sub({})", self.small()),
            2 => format!("string.rep({s}, {})", self.small()),
            3 => format!("string.byte({s}, {}, {})", self.small(), self.small()),
            4 => format!(
                "string.char({}, {})",
                self.random.pick(NUMBERS),
                self.random.pick(&["65", "0", "256", "-1", "'97'"])
            ),
            5 => format!(
                "string.find({s}, {}, {}, {})",
                self.random.pick(PATTERNS),
                self.small(),
                self.random.pick(&["nil", "true", "false"])
            ),
            6 | 7 => format!("string.find({s}, {})", self.random.pick(PATTERNS)),
            8 | 9 => format!(
                "string.match({s}, {}, {})",
                self.random.pick(PATTERNS),
                self.small()
            ),
            10 | 11 => format!(
                "string.gsub({s}, {}, {})",
                self.random.pick(PATTERNS),
                self.random.pick(REPLACEMENTS)
            ),
            12 => format!(
                "string.gsub({s}, {}, {}, {})",
                self.random.pick(PATTERNS),
                self.random.pick(REPLACEMENTS),
                self.small()
            ),
            13 | 14 => {
                let count = 1 + self.random.below(3);
                let format: Vec<&str> = (0..count).map(|_| self.random.pick(FORMATS)).collect();
                format!(
                    "string.format('{}', {})",
                    format.join("|"),
                    self.list(depth.min(1), 3)
                )
            }
            15 => format!(
                "string.{}({s})",
                self.random
                    .pick(&["upper", "lower", "len", "reverse", "byte"])
            ),
            16 => format!(
                "({s}):{}({})",
                self.random
                    .pick(&["upper", "len", "rep", "find", "nosuch", "byte"]),
                self.small()
            ),
            _ => format!(
                "string.{}({})",
                self.random.pick(&[
                    "len", "sub", "rep", "format", "gsub", "find", "gmatch", "char", "byte",
                    "lower"
                ]),
                self.expression(0)
            ),
        }
    }

    fn table_call(&mut self, depth: usize) -> String {
        let t = self.table(depth);
        match self.random.below(14) {
            0 => format!(
                "table.concat({t}, {}, {}, {})",
                self.random.pick(&["','", "''", "nil", "1"]),
                self.small(),
                self.small()
            ),
            1 => format!(
                "table.concat({t}, {})",
                self.random.pick(&["','", "''", "nil", "5"])
            ),
            2 => format!("table.remove({t})"),
            3 => format!("table.remove({t}, {})", self.small()),
            4 => format!(
                "table.insert({t}, {}, {})",
                self.small(),
                self.expression(0)
            ),
            5 => format!("table.sort({t})"),
            6 => format!(
                "(function(t) table.sort(t, function(x, y) return {} end) return t end)({t})",
                self.random.pick(&[
                    "x > y",
                    "tostring(x) < tostring(y)",
                    "x < y",
                    "true",
                    "type(x) < type(y)",
                    "false",
                    "nil"
                ])
            ),
            7 => format!(
                "table.{}({t})",
                self.random
                    .pick(&["getn", "maxn", "setn", "concat", "insert", "remove"])
            ),
            8 => format!(
                "table.foreach({t}, function(k, v) {} end)",
                self.random.pick(&[
                    "return v",
                    "LOG[#LOG + 1] = 'fe'",
                    "if k == 2 then return k end"
                ])
            ),
            9 => format!(
                "table.foreachi({t}, function(k, v) {} end)",
                self.random.pick(&[
                    "return v",
                    "LOG[#LOG + 1] = 'fi'",
                    "if k == 2 then return k end"
                ])
            ),
            10 => format!("unpack({t}, {}, {})", self.small(), self.small()),
            11 => format!("unpack({t})"),
            12 => {
                let list: Vec<String> =
                    (0..12).map(|_| self.random.below(20).to_string()).collect();
                format!(
                    "(function(t) table.sort(t, function(x, y) LOG[#LOG + 1] = x return {} end) return t end)({{{}}})",
                    self.random
                        .pick(&["x < y", "x > y", "x % 3 < y % 3", "x <= y"]),
                    list.join(",")
                )
            }
            _ => format!("#{t}"),
        }
    }

    fn math_call(&mut self, depth: usize) -> String {
        let x = self.number(depth);
        match self.random.below(8) {
            0..=2 => format!(
                "math.{}({x})",
                self.random.pick(&[
                    "floor", "ceil", "abs", "sqrt", "exp", "log", "log10", "sin", "cos", "tan",
                    "modf", "frexp", "rad", "deg", "atan"
                ])
            ),
            3 => format!(
                "math.{}({x}, {})",
                self.random
                    .pick(&["fmod", "pow", "max", "min", "atan2", "ldexp", "mod"]),
                self.number(0)
            ),
            4 => "math.random()".to_owned(),
            5 => format!(
                "math.random({})",
                self.random.pick(&["10", "1", "0", "100", "-5", "'7'"])
            ),
            6 => format!(
                "math.random({}, {})",
                self.random.pick(&["1", "-5", "5"]),
                self.random.pick(&["5", "4", "1000"])
            ),
            _ => format!(
                "math.{}({}, {})",
                self.random
                    .pick(&["max", "min", "huge", "pi", "randomseed"]),
                self.expression(0),
                self.expression(0)
            ),
        }
    }

    fn json_call(&mut self, depth: usize) -> String {
        match self.random.below(6) {
            0 | 1 => format!("cjson.encode({})", self.table(depth)),
            2 => format!("cjson.encode({})", self.expression(depth)),
            3 | 4 => format!("cjson.decode({})", self.random.pick(JSON)),
            _ => format!("cjson.encode(cjson.decode({}))", self.random.pick(JSON)),
        }
    }

    fn packing_call(&mut self, depth: usize) -> String {
        match self.random.below(6) {
            0 => format!("cmsgpack.pack({})", self.list(depth, 3)),
            1 => format!("cmsgpack.unpack(cmsgpack.pack({}))", self.list(depth, 2)),
            2 => format!(
                "cmsgpack.unpack_limit(cmsgpack.pack({}), {}, {})",
                self.list(depth, 3),
                self.small(),
                self.small()
            ),
            3 => format!(
                "struct.pack({}, {})",
                self.random.pick(LAYOUTS),
                self.list(depth.min(1), 4)
            ),
            4 => format!(
                "struct.unpack({}, {}, {})",
                self.random.pick(LAYOUTS),
                self.string(depth),
                self.small()
            ),
            _ => format!("struct.size({})", self.random.pick(LAYOUTS)),
        }
    }

    fn bit_call(&mut self, depth: usize) -> String {
        let x = self.number(depth.min(1));
        match self.random.below(4) {
            0 => format!(
                "bit.{}({x})",
                self.random.pick(&["bnot", "bswap", "tobit", "tohex"])
            ),
            1 => format!("bit.tohex({x}, {})", self.small()),
            2 => format!(
                "bit.{}({x}, {})",
                self.random.pick(&["band", "bor", "bxor"]),
                self.number(0)
            ),
            _ => format!(
                "bit.{}({x}, {})",
                self.random
                    .pick(&["lshift", "rshift", "arshift", "rol", "ror"]),
                self.small()
            ),
        }
    }

    fn coroutine_call(&mut self, depth: usize) -> String {
        let body = match self.random.below(5) {
            0 => format!(
                "local x = coroutine.yield({}) return x, {}",
                self.expression(depth.min(1)),
                self.expression(0)
            ),
            1 => format!(
                "for i = 1, 3 do coroutine.yield(i) end return {}",
                self.expression(0)
            ),
            2 => format!("error({})", self.expression(0)),
            3 => "return pcall(coroutine.yield, 1)".to_owned(),
            _ => format!("{} return p", self.block(depth.min(1), 2)),
        };
        match self.random.below(4) {
            0 => format!(
                "coroutine.wrap(function(p) {body} end)({})",
                self.expression(0)
            ),
            1 => format!(
                "(function() local co = coroutine.create(function(p) {body} end) return coroutine.status(co), coroutine.resume(co, 1), coroutine.status(co), select('#', coroutine.resume(co, 2)), coroutine.status(co), coroutine.resume(co) end)()"
            ),
            2 => format!(
                "(function() local w = coroutine.wrap(function(p) {body} end) return w(1), w(2), w(3) end)()"
            ),
            _ => self
                .random
                .pick(&[
                    "coroutine.running()",
                    "coroutine.yield(1)",
                    "coroutine.create(1)",
                    "coroutine.status(nil)",
                    "coroutine.wrap(print)",
                ])
                .to_owned(),
        }
    }

    fn base_call(&mut self, depth: usize) -> String {
        let x = self.expression(depth);
        match self.random.below(26) {
            0 => format!("tonumber({x})"),
            1 => format!(
                "tonumber({}, {})",
                self.string(0),
                self.random.pick(&["16", "2", "10", "36", "8", "37", "1"])
            ),
            2 => format!("type({x})"),
            3 => format!("pcall(function{}, {x})", self.function_body(depth.min(1))),
            4 => format!("pcall({x})"),
            5 => format!(
                "xpcall(function() {} return {x} end, function(m) return type(m) == 'string' and m .. '!' or m end)",
                self.block(depth.min(1), 2)
            ),
            6 => format!("select({}, {x}, 2, 3)", self.small()),
            7 => format!("next({})", self.table(0)),
            8 => format!("rawget({}, {x})", self.table_name()),
            9 => format!("rawequal({x}, {})", self.expression(0)),
            10 => format!(
                "getmetatable(setmetatable({}, {{__index = {}, __metatable = {}}}))",
                self.table(0),
                self.random
                    .pick(&["c", "function(t, k) return k end", "nil", "5"]),
                self.random.pick(&["nil", "'locked'", "7"])
            ),
            11 => format!(
                "setmetatable({}, {{__index = {}}})[{}]",
                self.table(0),
                self.random
                    .pick(&["c", "function(t, k) return k end", "string", "5"]),
                self.random.pick(&["'x'", "1", "'nosuch'", "'len'"])
            ),
            12 => format!(
                "tostring(setmetatable({{}}, {{__tostring = function() return {} end}}))",
                self.expression(0)
            ),
            13 => format!("error({})", self.expression(0)),
            14 => format!(
                "error({}, {})",
                self.string(0),
                self.random.pick(&["0", "1", "2", "3"])
            ),
            15 => format!("assert({x}, {})", self.expression(0)),
            16 => format!("assert({x})"),
            17 => format!(
                "loadstring({})",
                self.random.pick(&[
                    "'return 1, 2'",
                    "'return ...'",
                    "'x x'",
                    "'return a'",
                    "'for'",
                    "'return \"'",
                    "'local t = {} t.x.y = 1'",
                    "'return 1 .. nil', '=name'",
                    "'error(1)', '@file'",
                    "'\\n\\nerror(\\'x\\')'"
                ])
            ),
            18 => format!(
                "(loadstring({}) or f)({x})",
                self.random.pick(&[
                    "'return 1, 2'",
                    "'return ...'",
                    "'x x'",
                    "'return a'",
                    "'local t = {} t.x.y = 1'",
                    "'return 1 .. nil', '=name'",
                    "'error(1)', '@file'",
                    "'\\n\\nerror(\\'x\\')'",
                    "'local x = ... return x.y.z'",
                    "'goto = 1'"
                ])
            ),
            19 => "load(function() local r = a a = nil return r end)".to_owned(),
            20 => self
                .random
                .pick(&[
                    "nosuch",
                    "KEYS[1]",
                    "#ARGV",
                    "_G.nosuch",
                    "redis.nosuch",
                    "string.nosuch()",
                    "redis.REDIS_VERSION",
                    "_VERSION",
                ])
                .to_owned(),
            21 => format!("redis.sha1hex({})", self.string(0)),
            22 => format!("redis.error_reply({})", self.expression(0)),
            23 => format!("redis.status_reply({})", self.expression(0)),
            24 => format!(
                "rawset({}, K({x}), {})",
                self.table_name(),
                self.expression(0)
            ),
            _ => format!(
                "tostring({})",
                self.random.pick(&[
                    "nil",
                    "true",
                    "1e15",
                    "a",
                    "b",
                    "0/0",
                    "-0",
                    "1/0",
                    "cjson.null",
                    "2^63"
                ])
            ),
        }
    }
}

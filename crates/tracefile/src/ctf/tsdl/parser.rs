//! Tokens of TSDL to a tree of declarations.

use super::Fault;
use super::lexer::Token;

/// A type as it is written.
#[derive(Debug, Clone)]
pub(super) enum TypeSpec {
    Integer(Vec<Attribute>),
    Float(Vec<Attribute>),
    Text(Vec<Attribute>),
    Struct { name: Option<String>, body: Option<Vec<Item>>, align: Option<i128> },
    Variant { name: Option<String>, tag: Option<Vec<String>>, body: Option<Vec<Item>> },
    Enum { name: Option<String>, of: Option<Box<TypeSpec>>, labels: Option<Vec<EnumLabel>> },
    Named(String),
}

/// `size = 8;` within an integer, and the like.
#[derive(Debug, Clone)]
pub(super) struct Attribute {
    pub(super) offset: usize,
    pub(super) name: String,
    pub(super) value: Vec<Token>,
}

#[derive(Debug, Clone)]
pub(super) struct EnumLabel {
    pub(super) name: String,
    pub(super) range: Option<(i128, i128)>,
}

#[derive(Debug, Clone)]
pub(super) struct Declarator {
    pub(super) pointers: usize,
    pub(super) name: String,
    pub(super) dimensions: Vec<Dimension>,
}

#[derive(Debug, Clone)]
pub(super) enum Dimension {
    Fixed(i128),
    Of(Vec<String>),
}

#[derive(Debug, Clone)]
pub(super) struct Item {
    pub(super) offset: usize,
    pub(super) kind: ItemKind,
}

#[derive(Debug, Clone)]
pub(super) enum ItemKind {
    /// `typealias integer {...} := unsigned long;`
    Alias { of: TypeSpec, name: String },
    /// `typedef TYPE NAME;`
    Typedef { of: TypeSpec, names: Vec<Declarator> },
    /// `struct NAME {...};` by itself.
    Declare(TypeSpec),
    /// A member of a structure or variant.
    Field { of: TypeSpec, names: Vec<Declarator> },
    /// `packet.header := struct {...};`
    TypeAssign { path: String, of: TypeSpec },
    /// `byte_order = le;`
    Assign(Attribute),
    /// `trace {...};`, `stream {...};`, ...
    Block { kind: String, items: Vec<Item> },
}

const BLOCKS: [&str; 6] = ["trace", "stream", "event", "clock", "env", "callsite"];
const MOST_NESTING: usize = 40;

/// Parses a whole metadata text.
pub(super) fn parse(tokens: &[(usize, Token)]) -> Result<Vec<Item>, Fault> {
    let mut parser = Parser { tokens, at: 0, depth: 0 };
    let mut items = Vec::new();
    while parser.at < tokens.len() {
        if !parser.sign(';') {
            items.push(parser.top()?);
        }
    }
    Ok(items)
}

struct Parser<'a> {
    tokens: &'a [(usize, Token)],
    at: usize,
    depth: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|(_, token)| token)
    }

    fn offset(&self) -> usize {
        let last = || self.tokens.last().map_or(0, |(offset, _)| *offset);
        self.tokens.get(self.at).map_or_else(last, |(offset, _)| *offset)
    }

    fn unexpected<T>(&self, wanted: &str) -> Result<T, Fault> {
        let what = match self.peek() {
            Some(token) => format!("{token} where {wanted} should be"),
            None => format!("the end where {wanted} should be"),
        };
        Err(Fault { offset: self.offset(), what })
    }

    fn sign(&mut self, sign: char) -> bool {
        let is = self.peek() == Some(&Token::Sign(sign));
        self.at += usize::from(is);
        is
    }

    fn expect(&mut self, sign: char) -> Result<(), Fault> {
        if self.sign(sign) { Ok(()) } else { self.unexpected(&format!("\"{sign}\"")) }
    }

    fn keyword(&mut self, word: &str) -> bool {
        let is = matches!(self.peek(), Some(Token::Word(found)) if found == word);
        self.at += usize::from(is);
        is
    }

    fn word(&mut self) -> Result<String, Fault> {
        match self.peek() {
            Some(Token::Word(word)) => {
                let word = word.clone();
                self.at += 1;
                Ok(word)
            }
            _ => self.unexpected("a name"),
        }
    }

    fn optional_word(&mut self) -> Option<String> {
        self.word().ok()
    }

    fn integer(&mut self) -> Result<i128, Fault> {
        let negative = self.sign('-');
        if !negative {
            self.sign('+');
        }
        match self.peek() {
            Some(&Token::Number(number)) => {
                self.at += 1;
                Ok(if negative { -number } else { number })
            }
            _ => self.unexpected("a number"),
        }
    }

    fn nest<T>(&mut self, inside: impl FnOnce(&mut Self) -> Result<T, Fault>) -> Result<T, Fault> {
        if self.depth >= MOST_NESTING {
            let what = format!("more than {MOST_NESTING} types within each other");
            return Err(Fault { offset: self.offset(), what });
        }
        self.depth += 1;
        let result = inside(self);
        self.depth -= 1;
        result
    }

    /// A declaration outside of all blocks.
    fn top(&mut self) -> Result<Item, Fault> {
        let offset = self.offset();
        if let Some(Token::Word(word)) = self.peek()
            && BLOCKS.contains(&word.as_str())
        {
            let kind = self.word()?;
            self.expect('{')?;
            let items = self.items_until_brace(false)?;
            self.expect(';')?;
            return Ok(Item { offset, kind: ItemKind::Block { kind, items } });
        }
        self.item(true)
    }

    fn items_until_brace(&mut self, fields: bool) -> Result<Vec<Item>, Fault> {
        let mut items = Vec::new();
        while !self.sign('}') {
            if !self.sign(';') {
                items.push(self.item(fields)?);
            }
        }
        Ok(items)
    }

    /// A declaration, a member (when `fields`) or an assignment (when not).
    fn item(&mut self, fields: bool) -> Result<Item, Fault> {
        let offset = self.offset();
        let kind = if self.keyword("typealias") {
            self.alias()?
        } else if self.keyword("typedef") {
            let (of, names) = self.declaration()?;
            ItemKind::Typedef { of, names }
        } else if fields || self.starts_type_declaration() {
            let (of, names) = self.declaration()?;
            if names.is_empty() { ItemKind::Declare(of) } else { ItemKind::Field { of, names } }
        } else {
            self.assignment(offset)?
        };
        if !(matches!(kind, ItemKind::Declare(_)) && self.next_type()) {
            self.expect(';')?;
        }
        Ok(Item { offset, kind })
    }

    fn starts_type_declaration(&self) -> bool {
        matches!(self.peek(), Some(Token::Word(word)) if ["struct", "variant", "enum"].contains(&word.as_str()))
    }

    /// Whether a type ended at its brace, without a `;`, and another is declared next.
    fn next_type(&self) -> bool {
        self.tokens[self.at - 1].1 == Token::Sign('}') && self.starts_type_declaration()
    }

    fn alias(&mut self) -> Result<ItemKind, Fault> {
        let (of, names) = self.declaration()?;
        if !names.is_empty() {
            return self.unexpected("\":=\" straight after a type");
        }
        if self.peek() != Some(&Token::Becomes) {
            return self.unexpected("\":=\"");
        }
        self.at += 1;
        let mut words = Vec::new();
        loop {
            if self.sign('*') {
                words.push("*".to_owned());
            } else if let Some(word) = self.optional_word() {
                words.push(word);
            } else {
                break;
            }
        }
        if words.is_empty() {
            return self.unexpected("the alias's name");
        }
        Ok(ItemKind::Alias { of, name: words.join(" ") })
    }

    fn assignment(&mut self, offset: usize) -> Result<ItemKind, Fault> {
        let mut path = match self.peek() {
            // `env` has names in quotes too.
            Some(Token::Text(text)) => {
                let text = text.clone();
                self.at += 1;
                text
            }
            _ => self.word()?,
        };
        while self.sign('.') {
            path.push('.');
            path.push_str(&self.word()?);
        }
        if self.peek() == Some(&Token::Becomes) {
            self.at += 1;
            let of = self.type_spec()?;
            return Ok(ItemKind::TypeAssign { path, of });
        }
        self.expect('=')?;
        Ok(ItemKind::Assign(Attribute { offset, name: path, value: self.value()? }))
    }

    /// The tokens up to the `;`.
    fn value(&mut self) -> Result<Vec<Token>, Fault> {
        let mut value = Vec::new();
        while let Some(token) = self.peek() {
            match token {
                Token::Sign(';' | '{' | '}') => break,
                _ => value.push(token.clone()),
            }
            self.at += 1;
        }
        if value.is_empty() { self.unexpected("a value") } else { Ok(value) }
    }

    /// A type and what is declared with it, which may be nothing.
    fn declaration(&mut self) -> Result<(TypeSpec, Vec<Declarator>), Fault> {
        let mut of = self.type_spec()?;
        let mut names = Vec::new();
        // Of plain words the last is the name that is declared: `unsigned long x`.
        if let TypeSpec::Named(words) = &of
            && self.peek() != Some(&Token::Sign('*'))
            && self.peek() != Some(&Token::Becomes)
            && let Some((type_words, name)) = words.rsplit_once(' ')
        {
            let dimensions = self.dimensions()?;
            names.push(Declarator { pointers: 0, name: name.to_owned(), dimensions });
            of = TypeSpec::Named(type_words.to_owned());
            if !self.sign(',') {
                return Ok((of, names));
            }
        }
        if self.next_type() {
            return Ok((of, names));
        }
        loop {
            let mut pointers = 0;
            while self.sign('*') || (pointers > 0 && self.keyword("const")) {
                pointers += 1;
            }
            match self.optional_word() {
                Some(name) => {
                    let dimensions = self.dimensions()?;
                    names.push(Declarator { pointers, name, dimensions });
                }
                None if pointers == 0 && names.is_empty() => return Ok((of, names)),
                None => return self.unexpected("a name"),
            }
            if !self.sign(',') {
                return Ok((of, names));
            }
        }
    }

    fn dimensions(&mut self) -> Result<Vec<Dimension>, Fault> {
        let mut dimensions = Vec::new();
        while self.sign('[') {
            if dimensions.len() >= MOST_NESTING {
                return self.unexpected("the end of so many dimensions");
            }
            dimensions.push(match self.peek() {
                Some(Token::Word(_)) => Dimension::Of(self.path()?),
                _ => Dimension::Fixed(self.integer()?),
            });
            self.expect(']')?;
        }
        Ok(dimensions)
    }

    fn path(&mut self) -> Result<Vec<String>, Fault> {
        let mut path = vec![self.word()?];
        while self.sign('.') {
            path.push(self.word()?);
        }
        Ok(path)
    }

    fn type_spec(&mut self) -> Result<TypeSpec, Fault> {
        self.nest(|parser| {
            while parser.keyword("const") {}
            if parser.keyword("integer") {
                Ok(TypeSpec::Integer(parser.attributes()?))
            } else if parser.keyword("floating_point") {
                Ok(TypeSpec::Float(parser.attributes()?))
            } else if parser.keyword("string") {
                let has = parser.peek() == Some(&Token::Sign('{'));
                Ok(TypeSpec::Text(if has { parser.attributes()? } else { vec![] }))
            } else if parser.keyword("struct") {
                parser.structure()
            } else if parser.keyword("variant") {
                parser.variant()
            } else if parser.keyword("enum") {
                parser.enumeration()
            } else {
                let mut words = vec![parser.word()?];
                while let Some(word) = parser.optional_word() {
                    words.push(word);
                }
                Ok(TypeSpec::Named(words.join(" ")))
            }
        })
    }

    fn attributes(&mut self) -> Result<Vec<Attribute>, Fault> {
        self.expect('{')?;
        let mut attributes = Vec::new();
        while !self.sign('}') {
            if self.sign(';') {
                continue;
            }
            let offset = self.offset();
            let name = self.word()?;
            self.expect('=')?;
            attributes.push(Attribute { offset, name, value: self.value()? });
            self.expect(';')?;
        }
        Ok(attributes)
    }

    fn structure(&mut self) -> Result<TypeSpec, Fault> {
        let name = self.optional_word();
        let body = if self.sign('{') { Some(self.items_until_brace(true)?) } else { None };
        let mut align = None;
        if body.is_some() && self.keyword("align") {
            self.expect('(')?;
            align = Some(self.integer()?);
            self.expect(')')?;
        }
        if name.is_none() && body.is_none() {
            return self.unexpected("a structure's name or body");
        }
        Ok(TypeSpec::Struct { name, body, align })
    }

    fn variant(&mut self) -> Result<TypeSpec, Fault> {
        let name = self.optional_word();
        let mut tag = None;
        if self.sign('<') {
            tag = Some(self.path()?);
            self.expect('>')?;
        }
        let body = if self.sign('{') { Some(self.items_until_brace(true)?) } else { None };
        if name.is_none() && body.is_none() {
            return self.unexpected("a variant's name or body");
        }
        Ok(TypeSpec::Variant { name, tag, body })
    }

    fn enumeration(&mut self) -> Result<TypeSpec, Fault> {
        let name = self.optional_word();
        let of = if self.sign(':') { Some(Box::new(self.type_spec()?)) } else { None };
        if !self.sign('{') {
            return match name {
                Some(_) if of.is_none() => Ok(TypeSpec::Enum { name, of, labels: None }),
                _ => self.unexpected("an enumeration's labels"),
            };
        }
        let mut labels = Vec::new();
        while !self.sign('}') {
            let name = match self.peek() {
                Some(Token::Text(text)) => {
                    let text = text.clone();
                    self.at += 1;
                    text
                }
                _ => self.word()?,
            };
            let mut range = None;
            if self.sign('=') {
                let first = self.integer()?;
                let dots = self.peek() == Some(&Token::Dots);
                self.at += usize::from(dots);
                range = Some((first, if dots { self.integer()? } else { first }));
            }
            labels.push(EnumLabel { name, range });
            if !self.sign(',') && self.peek() != Some(&Token::Sign('}')) {
                return self.unexpected("\",\" or \"}\"");
            }
        }
        Ok(TypeSpec::Enum { name, of, labels: Some(labels) })
    }
}

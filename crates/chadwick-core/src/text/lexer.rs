//! Tokens of the textual form.

use super::parser::ParseError;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Ident(String),
    /// A number as written, with sign and suffix.
    Number(String),
    Text(String),
    Punct(&'static str),
    End,
}

#[derive(Clone, Debug)]
pub(super) struct Positioned {
    pub token: Token,
    pub line: usize,
    pub column: usize,
    /// Whether nothing stands between this token and the one before.
    pub joined: bool,
}

const PUNCTUATION: &[&str] = &["->", "+=", "(", ")", "[", "]", "{", "}", ",", ":", "=", "<", "|", "#", "@", ".", "?", "-"];

pub(super) fn lex(text: &str) -> Result<Vec<Positioned>, ParseError> {
    let mut lexer = Lexer { rest: text, line: 1, column: 1 };
    let mut tokens = Vec::new();
    let mut joined = false;
    loop {
        joined &= !lexer.skip_space();
        let (line, column) = (lexer.line, lexer.column);
        let token = lexer.next().map_err(|message| ParseError { line, column, message })?;
        let end = token == Token::End;
        tokens.push(Positioned { token, line, column, joined });
        joined = true;
        if end {
            return Ok(tokens);
        }
    }
}

struct Lexer<'a> {
    rest: &'a str,
    line: usize,
    column: usize,
}

impl<'a> Lexer<'a> {
    fn advance(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(bytes);
        for character in taken.chars() {
            match character {
                '\n' => {
                    self.line += 1;
                    self.column = 1;
                }
                _ => self.column += 1,
            }
        }
        self.rest = rest;
        taken
    }

    /// Skips white space and comments (`-- …` to the end of the line); tells whether there was any.
    fn skip_space(&mut self) -> bool {
        let before = self.rest.len();
        loop {
            let space = self.rest.len() - self.rest.trim_start().len();
            self.advance(space);
            if !self.rest.starts_with("--") {
                return self.rest.len() != before;
            }
            let line = self.rest.find('\n').unwrap_or(self.rest.len());
            self.advance(line);
        }
    }

    fn take_while(&mut self, accept: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|character| !accept(character)).unwrap_or(self.rest.len());
        self.advance(end)
    }

    fn next(&mut self) -> Result<Token, String> {
        let Some(first) = self.rest.chars().next() else { return Ok(Token::End) };
        let second = self.rest.chars().nth(1);
        if first.is_ascii_alphabetic() || first == '_' {
            let name = self.take_while(|c| c.is_ascii_alphanumeric() || c == '_' || c == '\'');
            return Ok(Token::Ident(name.to_owned()));
        }
        if first.is_ascii_digit() || (first == '-' && second.is_some_and(|second| second.is_ascii_digit())) {
            return Ok(Token::Number(self.number()));
        }
        if first == '"' {
            return self.text().map(Token::Text);
        }
        match PUNCTUATION.iter().find(|punctuation| self.rest.starts_with(**punctuation)) {
            Some(punctuation) => {
                self.advance(punctuation.len());
                Ok(Token::Punct(punctuation))
            }
            None => Err(format!("unexpected character {first:?}")),
        }
    }

    /// Digits, a fraction, an exponent, and a suffix: `-1.5e-7f64`.
    fn number(&mut self) -> String {
        let mut number = self.advance(1).to_owned();
        number.push_str(self.take_while(|c| c.is_ascii_alphanumeric()));
        if self.rest.starts_with('.') && self.rest[1..].starts_with(|c: char| c.is_ascii_digit()) {
            number.push_str(self.advance(1));
            number.push_str(self.take_while(|c| c.is_ascii_alphanumeric()));
        }
        // A sign belongs to the number only inside an exponent.
        if number.ends_with('e') && !number.starts_with("0x") && self.rest.starts_with(['-', '+']) {
            number.push_str(self.advance(1));
            number.push_str(self.take_while(|c| c.is_ascii_alphanumeric()));
        }
        number
    }

    fn text(&mut self) -> Result<String, String> {
        self.advance(1);
        let mut text = String::new();
        loop {
            let Some(first) = self.rest.chars().next() else { return Err(String::from("a text without an end")) };
            self.advance(first.len_utf8());
            match first {
                '"' => return Ok(text),
                '\\' => {
                    let Some(escaped) = self.rest.chars().next() else { return Err(String::from("a text without an end")) };
                    self.advance(escaped.len_utf8());
                    match escaped {
                        'n' => text.push('\n'),
                        't' => text.push('\t'),
                        'u' => text.push(self.unicode()?),
                        other => text.push(other),
                    }
                }
                other => text.push(other),
            }
        }
    }

    /// `{1f600}` behind `\u`.
    fn unicode(&mut self) -> Result<char, String> {
        let wrong = || String::from("a wrong escape in a text");
        let end = self.rest.find('}').filter(|_| self.rest.starts_with('{')).ok_or_else(wrong)?;
        let digits = self.advance(end + 1);
        u32::from_str_radix(&digits[1..end], 16).ok().and_then(char::from_u32).ok_or_else(wrong)
    }
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//! The program that the pipeline optimises: it checks JSON, and prints what is in it.
//!
//!     json FILE [ROUNDS]       check FILE, ROUNDS times (1)
//!     json --sample RECORDS    print JSON to try it with
//!
//! With the feature release-2 it is the next release: it also decodes strings, reads small numbers itself, and knows
//! comments.
use std::{env, fs, process, str};

const DEPTH_MAX: u32 = 200;

#[derive(Default)]
struct Reader<'a> {
    text: &'a [u8],
    at: usize,
    objects: u64,
    arrays: u64,
    strings: u64,
    numbers: u64,
    bytes: u64,
    depth: u32,
    depth_most: u32,
    sum: f64,
}

type Read = Result<(), &'static str>;

impl<'a> Reader<'a> {
    fn new(text: &'a [u8]) -> Self {
        Reader { text, ..Default::default() }
    }

    /// The next byte, 0 at the end.
    fn peek(&self) -> u8 {
        self.text.get(self.at).copied().unwrap_or(0)
    }

    fn expect(&mut self, byte: u8, error: &'static str) -> Read {
        if self.peek() != byte {
            return Err(error);
        }
        self.at += 1;
        Ok(())
    }

    fn skip_blanks(&mut self) {
        loop {
            match self.peek() {
                b' ' | b'\t' | b'\n' | b'\r' => self.at += 1,
                b'/' if cfg!(feature = "release-2") && self.text.get(self.at + 1) == Some(&b'/') => {
                    while self.peek() != b'\n' && self.at < self.text.len() {
                        self.at += 1;
                    }
                }
                _ => return,
            }
        }
    }

    fn read_text(&mut self) -> Read {
        self.read_value()?;
        self.skip_blanks();
        if self.at < self.text.len() {
            return Err("expected the end");
        }
        Ok(())
    }

    fn read_value(&mut self) -> Read {
        self.skip_blanks();
        match self.peek() {
            b'{' => self.read_object(),
            b'[' => self.read_array(),
            b'"' => self.read_string(),
            b't' => self.read_word(b"true"),
            b'f' => self.read_word(b"false"),
            b'n' => self.read_word(b"null"),
            _ => self.read_number(),
        }
    }

    fn enter(&mut self) -> Read {
        self.at += 1;
        self.depth += 1;
        self.depth_most = self.depth_most.max(self.depth);
        if self.depth > DEPTH_MAX {
            return Err("too deep");
        }
        self.skip_blanks();
        Ok(())
    }

    #[inline(never)]
    fn read_object(&mut self) -> Read {
        self.objects += 1;
        self.enter()?;
        while self.peek() != b'}' {
            self.skip_blanks();
            self.read_string()?;
            self.skip_blanks();
            self.expect(b':', "expected :")?;
            self.read_value()?;
            self.skip_blanks();
            if self.peek() != b'}' {
                self.expect(b',', "expected , or }")?;
            }
        }
        self.at += 1;
        self.depth -= 1;
        Ok(())
    }

    #[inline(never)]
    fn read_array(&mut self) -> Read {
        self.arrays += 1;
        self.enter()?;
        while self.peek() != b']' {
            self.read_value()?;
            self.skip_blanks();
            if self.peek() != b']' {
                self.expect(b',', "expected , or ]")?;
            }
        }
        self.at += 1;
        self.depth -= 1;
        Ok(())
    }

    #[inline(never)]
    fn read_string(&mut self) -> Read {
        self.expect(b'"', "expected a string")?;
        loop {
            let byte = self.peek();
            match byte {
                b'"' => break,
                b'\\' => {
                    let code = self.read_escape()?;
                    self.bytes += if cfg!(feature = "release-2") { utf8_size(code) } else { 1 };
                }
                0..=0x1f => return Err("a control character in a string"),
                _ => {
                    self.at += 1;
                    self.bytes += 1;
                }
            }
        }
        self.at += 1;
        self.strings += 1;
        Ok(())
    }

    fn read_escape(&mut self) -> Result<u32, &'static str> {
        self.at += 2;
        match self.text.get(self.at - 1) {
            Some(byte @ (b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't')) => Ok(u32::from(*byte)),
            Some(b'u') => {
                let digits = self.text.get(self.at..self.at + 4).ok_or("expected four digits")?;
                self.at += 4;
                let digits = str::from_utf8(digits).map_err(|_| "expected four digits")?;
                u32::from_str_radix(digits, 16).map_err(|_| "expected a hexadecimal digit")
            }
            _ => Err("an escape that JSON does not have"),
        }
    }

    fn read_digits(&mut self) -> Read {
        if !self.peek().is_ascii_digit() {
            return Err("expected a digit");
        }
        while self.peek().is_ascii_digit() {
            self.at += 1;
        }
        Ok(())
    }

    #[inline(never)]
    fn read_number(&mut self) -> Read {
        let start = self.at;
        let mut is_small = cfg!(feature = "release-2");
        if self.peek() == b'-' {
            self.at += 1;
        }
        self.read_digits()?;
        if self.peek() == b'.' {
            is_small = false;
            self.at += 1;
            self.read_digits()?;
        }
        if matches!(self.peek(), b'e' | b'E') {
            is_small = false;
            self.at += 1;
            if matches!(self.peek(), b'+' | b'-') {
                self.at += 1;
            }
            self.read_digits()?;
        }
        let digits = &self.text[start..self.at];
        self.numbers += 1;
        self.sum += if is_small && digits.len() < 16 { small_number(digits) } else { any_number(digits)? };
        Ok(())
    }

    fn read_word(&mut self, word: &[u8]) -> Read {
        if !self.text[self.at..].starts_with(word) {
            return Err("expected true, false or null");
        }
        self.at += word.len();
        Ok(())
    }
}

/// How many bytes a character has as UTF-8.
fn utf8_size(code: u32) -> u64 {
    match code {
        0..=0x7f => 1,
        0x80..=0x7ff => 2,
        _ => 3,
    }
}

fn any_number(digits: &[u8]) -> Result<f64, &'static str> {
    str::from_utf8(digits).ok().and_then(|text| text.parse().ok()).ok_or("expected a number")
}

/// The number of at most 15 digits, perhaps with a minus.
fn small_number(digits: &[u8]) -> f64 {
    let (is_negative, digits) = match digits {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, digits),
    };
    let value = digits.iter().fold(0u64, |sum, digit| sum * 10 + u64::from(digit - b'0')) as f64;
    if is_negative {
        -value
    } else {
        value
    }
}

fn print_sample(records: u64) {
    let mut chance = 1u64;
    println!("[");
    for i in 0..records {
        chance = chance.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        println!(
            "  {{\"id\": {i}, \"name\": \"record \\\"{}\\\"\", \"price\": {}.{:02}, \"tags\": [\"a\", \"b{}\"], \
             \"sold\": {}, \"note\": {}}}{}",
            chance >> 40,
            chance >> 50,
            (chance >> 20) % 100,
            chance >> 55,
            chance >> 63 != 0,
            if chance >> 60 != 0 { "null" } else { "\"caf\\u00e9, na\\u00efve\"" },
            if i + 1 < records { "," } else { "" }
        );
    }
    println!("]");
}

fn main() {
    let arguments: Vec<String> = env::args().collect();
    if arguments.len() == 3 && arguments[1] == "--sample" {
        print_sample(arguments[2].parse().unwrap_or(0));
        return;
    }
    if arguments.len() < 2 {
        eprintln!("usage: json FILE [ROUNDS]");
        process::exit(2);
    }
    let text = fs::read(&arguments[1]).unwrap_or_else(|error| {
        eprintln!("{}: {error}", arguments[1]);
        process::exit(1)
    });
    let rounds = arguments.get(2).and_then(|rounds| rounds.parse().ok()).unwrap_or(1);
    for round in 0..rounds {
        let mut reader = Reader::new(&text);
        if let Err(error) = reader.read_text() {
            eprintln!("{}: byte {}: {error}", arguments[1], reader.at);
            process::exit(1);
        }
        if round + 1 == rounds {
            println!(
                "{} objects, {} arrays, {} strings of {} bytes, {} numbers (sum {:.2}), {} deep",
                reader.objects,
                reader.arrays,
                reader.strings,
                reader.bytes,
                reader.numbers,
                reader.sum,
                reader.depth_most
            );
        }
    }
}

//! The names of series.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

/// Names, numbered in the order in which they come.
#[derive(Default)]
pub struct Names {
    /// All names one after the other, and where each ends.
    text: String,
    ends: Vec<usize>,
    table: HashTable<u32>,
    hasher: DefaultHashBuilder,
    /// The number of the name that came last.
    latest: u32,
}

impl Names {
    /// The number of names.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn get(&self, number: usize) -> &str {
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start..self.ends[number]]
    }

    /// The number of a name, new or known, or what is wrong with the name.
    pub fn number(&mut self, name: &[u8]) -> Result<u32, NameError> {
        // Most files have a series as a whole, or a point of each series in turn.
        let next = self.latest as usize + 1;
        let next = if next < self.len() { next } else { 0 };
        for guess in [next, self.latest as usize] {
            if guess < self.len() && self.get(guess).as_bytes() == name {
                self.latest = guess as u32;
                return Ok(self.latest);
            }
        }
        self.latest = self.look_up(name)?;
        Ok(self.latest)
    }

    fn look_up(&mut self, name: &[u8]) -> Result<u32, NameError> {
        let hash = self.hasher.hash_one(name);
        let is_name = |number: &u32| self.get(*number as usize).as_bytes() == name;
        if let Some(&number) = self.table.find(hash, is_name) {
            return Ok(number);
        }
        let name = str::from_utf8(name).map_err(|_| NameError::NotUtf8)?;
        let number = u32::try_from(self.len()).map_err(|_| NameError::TooMany)?;
        let Names {
            text,
            ends,
            table,
            hasher,
            ..
        } = self;
        let no_memory = |_| NameError::NoMemory;
        text.try_reserve(name.len()).map_err(no_memory)?;
        ends.try_reserve(1).map_err(no_memory)?;
        let hash_of = |number: &u32| {
            let number = *number as usize;
            let start = number.checked_sub(1).map_or(0, |before| ends[before]);
            hasher.hash_one(&text.as_bytes()[start..ends[number]])
        };
        let reserved = table.try_reserve(1, hash_of);
        reserved.map_err(|_| NameError::NoMemory)?;
        // With this room, nothing is hashed again.
        table.insert_unique(hash, number, |_| unreachable!("there is room"));
        text.push_str(name);
        ends.push(text.len());
        Ok(number)
    }

    /// All names, by number.
    pub fn into_strings(self) -> Vec<String> {
        let numbers = 0..self.len();
        numbers.map(|number| self.get(number).to_owned()).collect()
    }
}

/// Why a name has no number.
#[derive(Debug)]
pub enum NameError {
    NotUtf8,
    TooMany,
    /// The memory does not suffice for another name.
    NoMemory,
}

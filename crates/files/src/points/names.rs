//! The names of series.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

use crate::Texts;

/// Names, numbered in the order in which they come.
#[derive(Default)]
pub struct Names {
    /// All of them are UTF-8.
    texts: Texts,
    table: HashTable<u32>,
    hasher: DefaultHashBuilder,
    /// The number of the name that came last.
    latest: u32,
}

impl Names {
    /// The number of names.
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    pub fn get(&self, number: usize) -> &[u8] {
        self.texts.get(number)
    }

    /// The number of a name, new or known, or what is wrong with the name.
    pub fn number(&mut self, name: &[u8]) -> Result<u32, NameError> {
        // Most files have a series as a whole, or a point of each series in turn.
        let next = self.latest as usize + 1;
        let next = if next < self.len() { next } else { 0 };
        for guess in [next, self.latest as usize] {
            if guess < self.len() && self.get(guess) == name {
                self.latest = guess as u32;
                return Ok(self.latest);
            }
        }
        self.latest = self.look_up(name)?;
        Ok(self.latest)
    }

    fn look_up(&mut self, name: &[u8]) -> Result<u32, NameError> {
        let Names {
            texts,
            table,
            hasher,
            ..
        } = self;
        let hash = hasher.hash_one(name);
        let is_name = |number: &u32| texts.get(*number as usize) == name;
        if let Some(&number) = table.find(hash, is_name) {
            return Ok(number);
        }
        str::from_utf8(name).map_err(|_| NameError::NotUtf8)?;
        let number = u32::try_from(texts.len()).map_err(|_| NameError::TooMany)?;
        let hash_of = |number: &u32| hasher.hash_one(texts.get(*number as usize));
        let reserved = table.try_reserve(1, hash_of);
        reserved.map_err(|_| NameError::NoMemory)?;
        texts.add(name).map_err(|_| NameError::NoMemory)?;
        // With this room, nothing is hashed again.
        table.insert_unique(hash, number, |_| unreachable!("there is room"));
        Ok(number)
    }

    /// All names, by number.
    pub fn into_strings(self) -> Vec<String> {
        let name = |number| String::from_utf8_lossy(self.get(number)).into_owned();
        (0..self.len()).map(name).collect()
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

//! Inode numbers, names, sets of inodes and counts by inode, each as small as it can be.
//!
//! Numbers are given out in order and never again (FMT-9), so that a number is also a place in an array.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::num::NonZeroU8;
use std::ops::{Index, IndexMut};

/// The most files that a state has room for.
pub const FILES: usize = 3;

/// An inode number, printed as `#2`. The root is `#1`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ino(NonZeroU8);

impl Ino {
    /// The root, which no entry names and nothing refers to.
    pub const ROOT: Self = Self(NonZeroU8::MIN);

    /// The file whose number comes after those of `given` others.
    #[must_use]
    pub const fn file(given: u8) -> Self {
        Self(NonZeroU8::MIN.saturating_add(1 + given))
    }

    /// How many files have a number up to this one.
    #[must_use]
    pub const fn position(self) -> u8 {
        self.0.get() - 1
    }

    /// All files that a state has room for.
    pub fn files() -> impl Iterator<Item = Self> {
        (0..FILES as u8).map(Self::file)
    }
}

impl fmt::Debug for Ino {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

/// A name in the root directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "a name means nothing")]
pub enum Name {
    A,
    B,
}

impl Name {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::A, Self::B];

    /// The name that this one is not.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }
}

/// A set of inodes, the root among them or not.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Inodes(u8);

impl Inodes {
    /// The set of one.
    #[must_use]
    pub fn only(ino: Ino) -> Self {
        Self(1 << ino.position())
    }

    /// Whether `ino` is in it.
    #[must_use]
    pub fn has(self, ino: Ino) -> bool {
        self.0 & Self::only(ino).0 != 0
    }

    /// Whether nothing is in it.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// What is in this one and not in `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// What is in both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// What is in either.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// What is in it, by number.
    pub fn each(self) -> impl Iterator<Item = Ino> {
        std::iter::once(Ino::ROOT).chain(Ino::files()).filter(move |&ino| self.has(ino))
    }

    pub(super) fn put(&mut self, ino: Ino) {
        self.0 |= Self::only(ino).0;
    }

    pub(super) fn take(&mut self, ino: Ino) {
        self.0 &= !Self::only(ino).0;
    }
}

impl FromIterator<Ino> for Inodes {
    fn from_iter<I: IntoIterator<Item = Ino>>(inodes: I) -> Self {
        inodes.into_iter().fold(Self::default(), |set, ino| set.or(Self::only(ino)))
    }
}

impl fmt::Debug for Inodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.each()).finish()
    }
}

/// A count for each inode; the root's stays 0.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts([u8; 1 + FILES]);

impl Hash for Counts {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        // One word instead of a slice with its length: states are hashed more often than anything else.
        hasher.write_u32(u32::from_ne_bytes(self.0));
    }
}

impl Counts {
    /// The files whose count is not 0.
    #[must_use]
    pub fn some(&self) -> Inodes {
        Ino::files().filter(|&ino| self[ino] > 0).collect()
    }
}

impl Index<Ino> for Counts {
    type Output = u8;

    fn index(&self, ino: Ino) -> &u8 {
        &self.0[usize::from(ino.position())]
    }
}

impl IndexMut<Ino> for Counts {
    fn index_mut(&mut self, ino: Ino) -> &mut u8 {
        &mut self.0[usize::from(ino.position())]
    }
}

impl fmt::Debug for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.some().each().map(|ino| (ino, self[ino]))).finish()
    }
}

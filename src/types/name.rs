//! Names and symlink targets: byte strings, exactly as POSIX has them.
//!
//! Keeps FS-NAME-1 to FS-NAME-4. Bytes that are not UTF-8 are kept as they are.

use crate::error::{Errno, Result};

/// The longest name of a directory entry, in bytes.
pub const MAX_NAME_BYTES: usize = 255;
/// The longest target of a symbolic link, in bytes.
pub const MAX_TARGET_BYTES: usize = 4095;

/// The name of a directory entry: 1 to 255 bytes, no NUL, no '/', neither "." nor "..".
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name<'a>(&'a [u8]);

impl<'a> Name<'a> {
    /// Checks `bytes` as a name.
    ///
    /// # Errors
    /// ENOENT when empty, ENAMETOOLONG past 255 bytes, EINVAL for ".", "..", a NUL or a '/'.
    ///
    /// ```
    /// use agentfs::types::Name;
    /// use agentfs::Errno;
    /// assert!(Name::new(b"caf\xe9").is_ok(), "names are bytes, not UTF-8");
    /// assert_eq!(Name::new(b"..").unwrap_err().errno(), Errno::EINVAL);
    /// ```
    pub fn new(bytes: &'a [u8]) -> Result<Self> {
        if bytes.is_empty() {
            return Err(Errno::ENOENT.into());
        }
        if bytes.len() > MAX_NAME_BYTES {
            return Err(Errno::ENAMETOOLONG.into());
        }
        if bytes == b"." || bytes == b".." || bytes.iter().any(|&byte| byte == 0 || byte == b'/') {
            return Err(Errno::EINVAL.into());
        }
        Ok(Self(bytes))
    }

    /// The bytes of the name.
    #[must_use]
    pub const fn as_bytes(self) -> &'a [u8] {
        self.0
    }
}

impl std::fmt::Debug for Name<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", String::from_utf8_lossy(self.0))
    }
}

/// The target of a symbolic link: 1 to 4095 bytes without NUL; it need not exist.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Target<'a>(&'a [u8]);

impl<'a> Target<'a> {
    /// Checks `bytes` as a target.
    ///
    /// # Errors
    /// ENOENT when empty, ENAMETOOLONG past 4095 bytes, EINVAL for a NUL.
    pub fn new(bytes: &'a [u8]) -> Result<Self> {
        if bytes.is_empty() {
            return Err(Errno::ENOENT.into());
        }
        if bytes.len() > MAX_TARGET_BYTES {
            return Err(Errno::ENAMETOOLONG.into());
        }
        if bytes.contains(&0) {
            return Err(Errno::EINVAL.into());
        }
        Ok(Self(bytes))
    }

    /// The bytes of the target.
    #[must_use]
    pub const fn as_bytes(self) -> &'a [u8] {
        self.0
    }
}

impl std::fmt::Debug for Target<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", String::from_utf8_lossy(self.0))
    }
}

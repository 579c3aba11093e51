//! File kinds, permission bits and device numbers, as the spec's Mode Encoding stores them.

/// What an inode is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileKind {
    /// `S_IFREG`
    Regular,
    /// `S_IFDIR`
    Directory,
    /// `S_IFLNK`
    Symlink,
    /// `S_IFIFO`
    Fifo,
    /// `S_IFCHR`
    CharacterDevice,
    /// `S_IFBLK`
    BlockDevice,
    /// `S_IFSOCK`
    Socket,
}

impl FileKind {
    /// The type bits of `st_mode`.
    #[must_use]
    pub const fn bits(self) -> u32 {
        match self {
            Self::Fifo => 0o010_000,
            Self::CharacterDevice => 0o020_000,
            Self::Directory => 0o040_000,
            Self::BlockDevice => 0o060_000,
            Self::Regular => 0o100_000,
            Self::Symlink => 0o120_000,
            Self::Socket => 0o140_000,
        }
    }
}

/// `st_mode`: the kind and the twelve permission bits. The bits of no known kind read as a regular
/// file's only where [`Mode::from_bits`] is not used; stored rows always go through it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Mode {
    kind: FileKind,
    permissions: u16,
}

impl Mode {
    /// Set-user-id on execution.
    pub const SET_UID: u32 = 0o4000;
    /// Set-group-id on execution; on a directory, new entries inherit its group.
    pub const SET_GID: u32 = 0o2000;
    /// Restricted deletion in a directory.
    pub const STICKY: u32 = 0o1000;
    /// All twelve bits that chmod can change.
    pub const PERMISSION_MASK: u32 = 0o7777;
    const KIND_MASK: u32 = 0o170_000;

    /// A mode of `kind` with the permission bits of `permissions`; other bits are dropped.
    #[must_use]
    pub const fn new(kind: FileKind, permissions: u32) -> Self {
        Self { kind, permissions: (permissions & Self::PERMISSION_MASK) as u16 }
    }

    /// The mode that `st_mode` bits mean, or None when the type bits are of no known kind.
    #[must_use]
    pub const fn from_bits(bits: u32) -> Option<Self> {
        let kind = match bits & Self::KIND_MASK {
            0o010_000 => FileKind::Fifo,
            0o020_000 => FileKind::CharacterDevice,
            0o040_000 => FileKind::Directory,
            0o060_000 => FileKind::BlockDevice,
            0o100_000 => FileKind::Regular,
            0o120_000 => FileKind::Symlink,
            0o140_000 => FileKind::Socket,
            _ => return None,
        };
        Some(Self::new(kind, bits))
    }

    /// The whole `st_mode`.
    #[must_use]
    pub const fn bits(self) -> u32 {
        self.kind.bits() | self.permissions as u32
    }

    /// What the inode is.
    #[must_use]
    pub const fn kind(self) -> FileKind {
        self.kind
    }

    /// The twelve permission bits.
    #[must_use]
    pub const fn permissions(self) -> u32 {
        self.permissions as u32
    }

    /// The same kind with other permission bits.
    #[must_use]
    pub const fn with_permissions(self, permissions: u32) -> Self {
        Self::new(self.kind, permissions)
    }

    /// Whether this is a directory.
    #[must_use]
    pub const fn is_directory(self) -> bool {
        matches!(self.kind, FileKind::Directory)
    }

    /// Whether this is a regular file.
    #[must_use]
    pub const fn is_regular(self) -> bool {
        matches!(self.kind, FileKind::Regular)
    }

    /// Whether this is a symbolic link.
    #[must_use]
    pub const fn is_symlink(self) -> bool {
        matches!(self.kind, FileKind::Symlink)
    }
}

impl std::fmt::Debug for Mode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}({:04o})", self.kind, self.permissions)
    }
}

/// A device number in Linux's `st_rdev` encoding (major and minor mixed in 32 bits); 0 for none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct DeviceNumber(pub u32);

//! Two advisory locks on the database file itself, beside SQLite's own: who has it mounted for
//! writing, and who waits to write (DUR-9). They vanish with the process that holds them.
//!
//! Open-file-description locks on two bytes far behind any data. Closing *any* descriptor of a file
//! makes the kernel drop this process's POSIX locks on it, SQLite's among them; so a descriptor
//! that is no longer needed is kept until the last store of this process on the file is gone.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::sync::{Arc, Weak};

use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;
use parking_lot::Mutex;

/// Behind every byte that SQLite locks or stores (its largest database has 2^48 bytes).
const MOUNT_BYTE: i64 = 1 << 61;
const WAITING_BYTE: i64 = MOUNT_BYTE + 1;

/// Descriptors that must not be closed yet, for one file.
#[derive(Default)]
struct Retired(Mutex<Vec<File>>);

/// By device and inode.
type Registry = HashMap<(u64, u64), Weak<Retired>>;

/// Guards the table of retired descriptors, and their closing: a store that is being opened must find
/// either that they are kept or that they are closed, before SQLite takes locks for it. Lock order: before
/// a list of descriptors.
static RETIRED: Mutex<Option<Registry>> = Mutex::new(None);

/// The database file, held open for its locks and for a first look at its header.
pub(super) struct LockFile {
    file: Option<File>,
    retired: Arc<Retired>,
}

impl LockFile {
    /// Opens `path`, for writing unless `read_only`.
    pub(super) fn open(path: &Path, read_only: bool) -> io::Result<Self> {
        let file = File::options().read(true).write(!read_only).open(path)?;
        let metadata = file.metadata()?;
        let key = (metadata.dev(), metadata.ino());
        let mut registry = RETIRED.lock();
        let files = registry.get_or_insert_default();
        files.retain(|_, retired| retired.strong_count() > 0);
        let retired = files.get(&key).and_then(Weak::upgrade).unwrap_or_default();
        files.insert(key, Arc::downgrade(&retired));
        Ok(Self { file: Some(file), retired })
    }

    fn file(&self) -> &File {
        self.file.as_ref().expect("the file is only taken when the value is dropped")
    }

    /// The first bytes of the file; fewer when it is shorter.
    pub(super) fn header(&self) -> io::Result<(Vec<u8>, u64)> {
        let length = self.file().metadata()?.len();
        let mut header = vec![0; length.min(100) as usize];
        self.file().read_exact_at(&mut header, 0)?;
        Ok((header, length))
    }

    /// Takes the lock of a mount for writing; false when another description holds it.
    pub(super) fn claim_mount(&self) -> io::Result<bool> {
        self.set(MOUNT_BYTE, libc::F_WRLCK)
    }

    /// Gives the lock of a mount back.
    pub(super) fn release_mount(&self) -> io::Result<()> {
        self.set(MOUNT_BYTE, libc::F_UNLCK).map(|_| ())
    }

    /// Whether another description has the database mounted for writing.
    pub(super) fn is_mounted_elsewhere(&self) -> bool {
        self.is_locked_elsewhere(MOUNT_BYTE)
    }

    /// Shows the holder of the write transaction that somebody waits for it, until dropped.
    pub(super) fn announce_waiting(&self) -> Waiting<'_> {
        // A file system without these locks costs fairness, not correctness.
        let _ = self.set(WAITING_BYTE, libc::F_RDLCK);
        Waiting(self)
    }

    /// Whether another description waits to write.
    pub(super) fn somebody_waits(&self) -> bool {
        self.is_locked_elsewhere(WAITING_BYTE)
    }

    fn set(&self, byte: i64, kind: i32) -> io::Result<bool> {
        match fcntl(self.file(), FcntlArg::F_OFD_SETLK(&byte_lock(byte, kind))) {
            Ok(_) => Ok(true),
            Err(nix::errno::Errno::EAGAIN | nix::errno::Errno::EACCES) => Ok(false),
            Err(errno) => Err(errno.into()),
        }
    }

    fn is_locked_elsewhere(&self, byte: i64) -> bool {
        let mut lock = byte_lock(byte, libc::F_WRLCK);
        fcntl(self.file(), FcntlArg::F_OFD_GETLK(&mut lock)).is_ok()
            && i32::from(lock.l_type) != libc::F_UNLCK
    }
}

impl Drop for LockFile {
    fn drop(&mut self) {
        for byte in [MOUNT_BYTE, WAITING_BYTE] {
            // Unlocking an unlocked byte is harmless, and there is nobody to tell of a failure.
            let _ = self.set(byte, libc::F_UNLCK);
        }
        let _registry = RETIRED.lock();
        if let Some(file) = self.file.take() {
            self.retired.0.lock().push(file);
        }
        // Closes them all when this was the last store on the file.
        self.retired = Arc::default();
    }
}

/// See [`LockFile::announce_waiting`].
pub(super) struct Waiting<'a>(&'a LockFile);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let _ = self.0.set(WAITING_BYTE, libc::F_UNLCK);
    }
}

fn byte_lock(start: i64, kind: i32) -> libc::flock {
    libc::flock {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: start,
        l_len: 1,
        l_pid: 0,
    }
}

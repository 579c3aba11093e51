//! Requests about extended attributes. A size of 0 asks how large the answer would be.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use fuser::{ReplyEmpty, ReplyXattr, Request};

use nix::libc;

use super::adapter::Adapter;
use super::convert;
use crate::error::{Errno, Result};
use crate::types::Ino;
use crate::vfs::XattrMode;

impl Adapter {
    pub(super) fn get_xattr(&self, request: &Request, ino: Ino, name: &OsStr, size: u32, reply: ReplyXattr) {
        let value = self.vfs.getxattr(&Self::caller(request), ino, name.as_bytes());
        reply_sized("getxattr", ino, value, size, reply);
    }

    pub(super) fn list_xattrs(&self, request: &Request, ino: Ino, size: u32, reply: ReplyXattr) {
        let names = self.vfs.listxattr(&Self::caller(request), ino).map(|names| {
            // Each name ends with a NUL.
            names.into_iter().flat_map(|name| name.into_iter().chain([0])).collect()
        });
        reply_sized("listxattr", ino, names, size, reply);
    }

    pub(super) fn set_xattr(
        &self,
        request: &Request,
        ino: Ino,
        name: &OsStr,
        value: &[u8],
        flags: i32,
        reply: ReplyEmpty,
    ) {
        self.known.touch(ino);
        let outcome = mode(flags)
            .and_then(|mode| self.vfs.setxattr(&Self::caller(request), ino, name.as_bytes(), value, mode));
        match outcome {
            Ok(()) => reply.ok(),
            Err(error) => reply.error(convert::errno("setxattr", ino.0, &error)),
        }
    }

    pub(super) fn remove_xattr(&self, request: &Request, ino: Ino, name: &OsStr, reply: ReplyEmpty) {
        self.known.touch(ino);
        match self.vfs.removexattr(&Self::caller(request), ino, name.as_bytes()) {
            Ok(()) => reply.ok(),
            Err(error) => reply.error(convert::errno("removexattr", ino.0, &error)),
        }
    }
}

fn mode(flags: i32) -> Result<XattrMode> {
    match flags {
        0 => Ok(XattrMode::Set),
        libc::XATTR_CREATE => Ok(XattrMode::Create),
        libc::XATTR_REPLACE => Ok(XattrMode::Replace),
        _ => Err(Errno::EINVAL.into()),
    }
}

fn reply_sized(operation: &'static str, ino: Ino, answer: Result<Vec<u8>>, size: u32, reply: ReplyXattr) {
    match answer {
        Ok(data) if size == 0 => reply.size(data.len() as u32),
        Ok(data) if data.len() > size as usize => reply.error(fuser::Errno::ERANGE),
        Ok(data) => reply.data(&data),
        Err(error) => reply.error(convert::errno(operation, ino.0, &error)),
    }
}

//! Memory mappings that outlive any reference to Rust objects in them: shared by forked tasks, or private to
//! a task.

use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

use super::{check, last_error};

/// A zeroed anonymous mapping; unmapped when dropped.
#[derive(Debug)]
pub struct Mapping {
    base: NonNull<u8>,
    bytes: usize,
}

// SAFETY: access goes through atomics and volatile operations on a mapping that lives as long as this value.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Map `bytes` bytes that forked children share.
    pub fn shared(bytes: usize) -> io::Result<Self> {
        Self::new(bytes, libc::MAP_SHARED | libc::MAP_NORESERVE)
    }

    /// Map `bytes` bytes. Forked children get a copy.
    pub fn private(bytes: usize) -> io::Result<Self> {
        Self::new(bytes, libc::MAP_PRIVATE)
    }

    /// Keep the kernel from backing this mapping with huge pages. A kernel without huge pages refuses the advice, and need not obey.
    pub fn small_pages(&self) {
        // SAFETY: the advice concerns the size of pages only, and the range is this mapping.
        unsafe { libc::madvise(self.base.as_ptr().cast(), self.bytes, libc::MADV_NOHUGEPAGE) };
    }

    /// Keep the kernel from merging this mapping with its neighbours, which must not have been kept so: mappings that core dumps
    /// leave out do not merge with others.
    pub fn keep_apart(&self) -> io::Result<()> {
        // SAFETY: the advice concerns core dumps only, and the range is this mapping.
        let done = unsafe { libc::madvise(self.base.as_ptr().cast(), self.bytes, libc::MADV_DONTDUMP) };
        if done == 0 { Ok(()) } else { Err(last_error()) }
    }

    fn new(bytes: usize, flags: libc::c_int) -> io::Result<Self> {
        let bytes = bytes.max(1);
        // SAFETY: an anonymous mapping at an address of the kernel's choice touches no existing memory.
        let address = unsafe {
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            libc::mmap(std::ptr::null_mut(), bytes, protection, flags | libc::MAP_ANONYMOUS, -1, 0)
        };
        if address == libc::MAP_FAILED {
            return Err(last_error());
        }
        let base = NonNull::new(address.cast()).ok_or_else(|| io::Error::other("mapped at address 0"))?;
        Ok(Self { base, bytes })
    }

    /// Size in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The 32-bit word at `offset`, a multiple of 4 within the mapping.
    pub fn word(&self, offset: usize) -> &AtomicU32 {
        assert!(offset.is_multiple_of(4) && offset + 4 <= self.bytes, "offset {offset} of {}", self.bytes);
        // SAFETY: in bounds and aligned (the base is page-aligned); the mapping outlives the reference.
        unsafe { AtomicU32::from_ptr(self.base.as_ptr().add(offset).cast()) }
    }

    /// The 64-bit word at `offset`, a multiple of 8 within the mapping.
    pub fn double(&self, offset: usize) -> &AtomicU64 {
        assert!(offset.is_multiple_of(8) && offset + 8 <= self.bytes, "offset {offset} of {}", self.bytes);
        // SAFETY: in bounds and aligned (the base is page-aligned); the mapping outlives the reference.
        unsafe { AtomicU64::from_ptr(self.base.as_ptr().add(offset).cast()) }
    }

    /// Copy `text` to `offset`, cut to `room` bytes; concurrent readers see torn text, so publish the text
    /// afterwards.
    pub fn put(&self, offset: usize, text: &[u8], room: usize) -> usize {
        let length = text.len().min(room);
        assert!(offset + length <= self.bytes, "offset {offset} of {}", self.bytes);
        // SAFETY: in bounds; source and target cannot overlap because `text` is not in the mapping.
        unsafe { std::ptr::copy_nonoverlapping(text.as_ptr(), self.base.as_ptr().add(offset), length) };
        length
    }

    /// Copy `length` bytes out from `offset`.
    pub fn get(&self, offset: usize, length: usize) -> Vec<u8> {
        assert!(offset + length <= self.bytes, "offset {offset} of {}", self.bytes);
        let mut copy = vec![0; length];
        // SAFETY: in bounds; the copy is fresh memory of that length.
        unsafe { std::ptr::copy_nonoverlapping(self.base.as_ptr().add(offset), copy.as_mut_ptr(), length) };
        copy
    }

    /// Read the byte at `offset`; the compiler must not optimise the read away.
    pub fn touch_read(&self, offset: usize) -> u8 {
        debug_assert!(offset < self.bytes);
        // SAFETY: the callers wrap offsets at the mapping's size.
        unsafe { self.base.as_ptr().add(offset).read_volatile() }
    }

    /// Increments the byte at `offset` without the compiler omitting the write, and returns its value before; lost updates do not
    /// matter.
    pub fn touch_write(&self, offset: usize) -> u8 {
        debug_assert!(offset < self.bytes);
        // SAFETY: the callers wrap offsets at the mapping's size.
        unsafe {
            let place = self.base.as_ptr().add(offset);
            let value = place.read_volatile();
            place.write_volatile(value.wrapping_add(1));
            value
        }
    }

    /// Write a zero to each page of a part that has only zeros, so that the calling process has each page in its page table.
    pub fn prefault(&self, offset: usize, bytes: usize) {
        let end = self.bytes.min(offset + bytes);
        // Only a write: compilers turn an atomic addition of 0 into a load, which maps the page of zeros.
        for at in (offset..end).step_by(PAGE).chain(end.checked_sub(1).filter(|last| *last > offset)) {
            // SAFETY: in bounds; the mapping outlives the reference.
            let byte = unsafe { AtomicU8::from_ptr(self.base.as_ptr().add(at)) };
            byte.store(0, Ordering::Relaxed);
        }
    }
}

/// Mark a segment of System V shared memory for removal (shmctl(2)).
pub fn remove_segment(id: i32) -> io::Result<()> {
    // SAFETY: IPC_RMID ignores the pointer.
    check(unsafe { libc::shmctl(id, libc::IPC_RMID, std::ptr::null_mut()) }.into()).map(drop)
}

/// Cache line of the x86-64 and arm64 machines in use.
pub const LINE: usize = 64;

/// Least page size of the supported machines (x86-64 and arm64: 4096 bytes).
pub const PAGE: usize = 4096;

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the range was mapped by `new` and nothing refers to the range any more.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.bytes) };
    }
}

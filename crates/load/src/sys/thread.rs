//! Threads without the standard library's alternate signal stacks, which cost four system calls at the end of each thread:
//! hackbench's time includes the end of all its threads.

use std::ffi::c_void;
use std::io;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A running thread.
#[derive(Debug)]
pub struct Thread(libc::pthread_t);

type Body = Box<dyn FnOnce() + Send>;

/// Start a thread with a stack of `stack_bytes` (at least 16 KiB, and a multiple of the page size).
pub fn spawn(stack_bytes: usize, body: Body) -> io::Result<Thread> {
    // A boxed closure consists of two machine words. A second box reduces the closure to the single word that
    // a thread receives.
    let argument = Box::into_raw(Box::new(body));
    let mut attributes = MaybeUninit::<libc::pthread_attr_t>::uninit();
    let mut thread = MaybeUninit::<libc::pthread_t>::uninit();
    // SAFETY: the attributes are initialised before their use and destroyed after their use; `enter` takes
    // over `argument` if and only if the thread is created.
    unsafe {
        libc::pthread_attr_init(attributes.as_mut_ptr());
        libc::pthread_attr_setstacksize(attributes.as_mut_ptr(), stack_bytes);
        let error =
            libc::pthread_create(thread.as_mut_ptr(), attributes.as_ptr(), enter, argument.cast::<c_void>());
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
        if error != 0 {
            drop(Box::from_raw(argument));
            return Err(io::Error::from_raw_os_error(error));
        }
        Ok(Thread(thread.assume_init()))
    }
}

/// Where a thread begins. A panic has already been reported here, and must not continue into the C library.
extern "C" fn enter(argument: *mut c_void) -> *mut c_void {
    // SAFETY: `spawn` made this pointer from a box and gave the pointer to this thread alone.
    let body = unsafe { Box::from_raw(argument.cast::<Body>()) };
    let _ = catch_unwind(AssertUnwindSafe(body));
    std::ptr::null_mut()
}

impl Thread {
    /// Wait for the thread's end.
    pub fn join(self) {
        // SAFETY: the thread has been neither joined nor detached; joining consumes the value.
        unsafe { libc::pthread_join(self.0, std::ptr::null_mut()) };
    }
}

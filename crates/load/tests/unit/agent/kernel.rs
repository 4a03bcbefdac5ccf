//! A kernel that refuses or changes writes.

use std::cell::RefCell;
use std::io;
use std::path::Path;

use crate::agent::protocol::Value;

/// Called before and after each write with path and text; before the write, the result is the text to write.
pub type Behaviour = Box<dyn Fn(&Path, &str, bool) -> io::Result<String>>;

thread_local! {
    static BEHAVIOUR: RefCell<Option<Behaviour>> = const { RefCell::new(None) };
}

/// Replace the behaviour of this thread's kernel.
pub fn behave(behaviour: Option<Behaviour>) {
    BEHAVIOUR.set(behaviour);
}

pub fn takes(path: &Path, new: &Value) -> io::Result<Value> {
    let text = call(path, &new.write, false)?;
    Ok(if text == new.write { new.clone() } else { Value { write: text.clone(), shown: vec![text] } })
}

pub fn has_taken(path: &Path, new: &Value) -> io::Result<()> {
    call(path, &new.write, true).map(drop)
}

fn call(path: &Path, text: &str, is_done: bool) -> io::Result<String> {
    BEHAVIOUR.with_borrow(|behaviour| match behaviour {
        Some(behaviour) => behaviour(path, text, is_done),
        None => Ok(text.to_owned()),
    })
}

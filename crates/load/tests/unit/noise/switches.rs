//! Unit tests of `noise/switches.rs`.

use super::Switches;
use crate::noise::trace::{Current, Event, Kind, Leaves, What};

fn current(pid: i32, name: &str, is_to_switch: bool) -> Current<'_> {
    Current { pid, name, is_to_switch }
}

fn switch(from: i32, to: i32, name: &str) -> What {
    What::Switch { from, to, name: name.to_owned(), leaves: Leaves::Done }
}

#[test]
fn the_next_event_shows_a_switch_that_is_missing() {
    let mut switches = Switches::default();
    let idle = "<idle>";
    assert_eq!(switches.follow(10, &current(7, "cat", false), &switch(7, 0, "idle")), None);
    assert_eq!(switches.follow(20, &current(0, idle, true), &What::Exit(Kind::Vector)), None);
    let missing = Event { at: 20, what: switch(0, 8, "task dropper") };
    assert_eq!(switches.follow(90, &current(8, "dropper", false), &What::Wake(9)), Some(missing));
    assert_eq!(switches.follow(95, &current(8, "dropper", false), &switch(8, 0, "idle")), None);
    // Without an interrupt that lets the CPU switch, the time of the switch is not known.
    let missing = Event { at: 99, what: switch(0, 8, "task dropper") };
    assert_eq!(switches.follow(99, &current(8, "dropper", false), &What::Wake(9)), Some(missing));
    let missing = Event { at: 120, what: switch(8, 0, "idle") };
    assert_eq!(switches.follow(120, &current(0, idle, false), &What::Wake(9)), Some(missing));
}

#[test]
fn after_a_loss_no_switch_is_made_up() {
    let mut switches = Switches::default();
    assert_eq!(switches.follow(10, &current(7, "cat", false), &What::Wake(9)), None);
    switches.forget();
    assert_eq!(switches.follow(20, &current(8, "dropper", false), &What::Wake(9)), None);
}

use super::SwitchLock;

#[test]
fn waker_waits_only_while_a_switch_has_the_lock() {
    let mut lock = SwitchLock::default();
    assert_eq!(lock.free_at(1000), 0);
    assert_eq!(lock.switch(1000, 3760, 20, false), 0);
    assert_eq!([999, 1000, 3759, 3760].map(|at| lock.free_at(at)), [0, 3760, 3760, 0]);
}

#[test]
fn only_the_switch_after_idling_drops_an_address_space() {
    let mut lock = SwitchLock::default();
    lock.leave_idle();
    assert_eq!(lock.switch(0, 10, 20, false), 20);
    assert_eq!((lock.free_at(29), lock.free_at(30)), (30, 0));
    assert_eq!(lock.switch(40, 50, 20, false), 0);
    lock.leave_idle();
    assert_eq!(lock.switch(60, 70, 20, true), 20);
    assert_eq!((lock.free_at(69), lock.free_at(70)), (70, 0));
}

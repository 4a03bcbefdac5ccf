//! Unit tests of `executor/requirements.rs`.

use super::ensure_tasks;

#[test]
fn more_tasks_than_any_kernel_can_number_are_refused_with_the_limit() {
    assert!(ensure_tasks(2).is_ok());
    let message = ensure_tasks(u32::MAX).expect_err("pid_max is at most 4194304").to_string();
    assert!(message.starts_with("4294967295 tasks are more than kernel.pid_max = "), "{message}");
}

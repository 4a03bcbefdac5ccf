//! The two priority arrays of a runqueue: lists of tasks by priority, and a bitmap of the lists that are not empty.
//!
//! ```text
//! arrays[active]    bitmap 0…0100…  ──► list 118: A ⇄ B      the running task stays at its place
//! arrays[expired]   bitmap 0…0001…  ──► list 120: C
//! ```
//! Every operation except [`Arrays::each_from_tails`] takes constant time.

use crate::sched::policy::TaskIx;

/// Number of priorities: 0 to 99 for real-time tasks, 100 to 139 for nice −20 to 19.
pub const PRIORITIES: usize = 140;

/// Index of a task's node in its queue.
pub(super) type NodeIx = u32;

const NONE: u32 = u32::MAX;

/// A task in the ring of its list. The node before the first node is the last node.
#[derive(Debug, Clone, Copy)]
pub(super) struct Node {
    pub task: TaskIx,
    pub priority: u8,
    pub array: u8,
    next: NodeIx,
    previous: NodeIx,
}

#[derive(Debug, Clone)]
struct Array {
    bitmap: [u64; PRIORITIES.div_ceil(64)],
    first: [NodeIx; PRIORITIES],
    number: u32,
}

impl Array {
    const EMPTY: Self = Self { bitmap: [0; PRIORITIES.div_ceil(64)], first: [NONE; PRIORITIES], number: 0 };

    #[inline]
    fn priority(&self) -> Option<usize> {
        let word = self.bitmap.iter().position(|word| *word != 0)?;
        Some(word * 64 + self.bitmap[word].trailing_zeros() as usize)
    }
}

/// Both arrays and the nodes of all their tasks.
#[derive(Debug, Clone)]
pub(super) struct Arrays {
    nodes: Vec<Node>,
    free: Vec<NodeIx>,
    arrays: [Array; 2],
}

impl Default for Arrays {
    fn default() -> Self {
        Self { nodes: Vec::new(), free: Vec::new(), arrays: [Array::EMPTY, Array::EMPTY] }
    }
}

impl Arrays {
    /// Number of tasks in an array.
    #[inline]
    pub fn number(&self, array: u8) -> u32 {
        self.arrays[usize::from(array)].number
    }

    /// A task's node.
    #[inline]
    pub fn node(&self, node: NodeIx) -> &Node {
        &self.nodes[node as usize]
    }

    /// First task of the list with the best priority of an array.
    #[inline]
    pub fn best(&self, array: u8) -> Option<TaskIx> {
        let array = &self.arrays[usize::from(array)];
        array.priority().map(|priority| self.nodes[array.first[priority] as usize].task)
    }

    /// Add a task at the tail of a list.
    pub fn push(&mut self, task: TaskIx, array: u8, priority: u8) -> NodeIx {
        let node = self.new_node(task, array, priority);
        self.link_tail(node);
        node
    }

    /// Add a task before another task in its ring, as `list_add_tail(new, other)` does: in the order that begins at `other`
    /// the new task is the last. If `other` was the first task of its list, the new task becomes the first.
    pub fn push_behind(&mut self, task: TaskIx, other: NodeIx) -> NodeIx {
        let Node { priority, array, previous, .. } = self.nodes[other as usize];
        let node = self.new_node(task, array, priority);
        self.link_between(node, previous, other);
        let array = &mut self.arrays[usize::from(array)];
        let first = &mut array.first[usize::from(priority)];
        if *first == other {
            *first = node;
        }
        array.number += 1;
        node
    }

    /// Move a task to the tail of a list.
    pub fn transfer(&mut self, node: NodeIx, array: u8, priority: u8) {
        self.unlink(node);
        let moved = &mut self.nodes[node as usize];
        (moved.array, moved.priority) = (array, priority);
        self.link_tail(node);
    }

    /// Remove a task.
    pub fn remove(&mut self, node: NodeIx) {
        self.unlink(node);
        self.free.push(node);
    }

    /// Visit an array's tasks, the best list first and each list from its tail, until `visit` returns `false`. Return
    /// whether all tasks were visited.
    pub fn each_from_tails(&self, array: u8, mut visit: impl FnMut(TaskIx) -> bool) -> bool {
        let array = &self.arrays[usize::from(array)];
        for (at, mut word) in array.bitmap.into_iter().enumerate() {
            while word != 0 {
                let first = array.first[at * 64 + word.trailing_zeros() as usize];
                word &= word - 1;
                let mut node = first;
                loop {
                    node = self.nodes[node as usize].previous;
                    if !visit(self.nodes[node as usize].task) {
                        return false;
                    }
                    if node == first {
                        break;
                    }
                }
            }
        }
        true
    }

    fn new_node(&mut self, task: TaskIx, array: u8, priority: u8) -> NodeIx {
        let node = Node { task, priority, array, next: NONE, previous: NONE };
        if let Some(free) = self.free.pop() {
            self.nodes[free as usize] = node;
            return free;
        }
        self.nodes.push(node);
        self.nodes.len() as NodeIx - 1
    }

    fn link_tail(&mut self, node: NodeIx) {
        let Node { priority, array, .. } = self.nodes[node as usize];
        let priority = usize::from(priority);
        let array = &mut self.arrays[usize::from(array)];
        array.number += 1;
        let first = array.first[priority];
        if first == NONE {
            array.first[priority] = node;
            array.bitmap[priority / 64] |= 1 << (priority % 64);
            self.link_between(node, node, node);
        } else {
            let last = self.nodes[first as usize].previous;
            self.link_between(node, last, first);
        }
    }

    fn link_between(&mut self, node: NodeIx, previous: NodeIx, next: NodeIx) {
        self.nodes[previous as usize].next = node;
        self.nodes[next as usize].previous = node;
        let linked = &mut self.nodes[node as usize];
        (linked.next, linked.previous) = (next, previous);
    }

    fn unlink(&mut self, node: NodeIx) {
        let Node { priority, array, next, previous, .. } = self.nodes[node as usize];
        let priority = usize::from(priority);
        let array = &mut self.arrays[usize::from(array)];
        array.number -= 1;
        if next == node {
            array.first[priority] = NONE;
            array.bitmap[priority / 64] &= !(1 << (priority % 64));
            return;
        }
        if array.first[priority] == node {
            array.first[priority] = next;
        }
        self.nodes[previous as usize].next = next;
        self.nodes[next as usize].previous = previous;
    }

    /// Panic if bitmaps, rings and numbers do not agree. Used by the invariant checker.
    pub fn verify(&self) {
        let mut linked = 0;
        for (at, array) in self.arrays.iter().enumerate() {
            let mut number = 0;
            for (priority, first) in array.first.into_iter().enumerate() {
                let marked = array.bitmap[priority / 64] >> (priority % 64) & 1 == 1;
                assert_eq!(marked, first != NONE, "bit of list {priority} in the bitmap");
                let mut node = first;
                while node != NONE {
                    let Node { array, priority: node_priority, next, .. } = self.nodes[node as usize];
                    assert_eq!((usize::from(array), usize::from(node_priority)), (at, priority));
                    assert_eq!(self.nodes[next as usize].previous, node, "the ring is closed");
                    number += 1;
                    node = if next == first { NONE } else { next };
                }
            }
            assert_eq!(array.number, number, "number of tasks in array {at}");
            linked += number as usize;
        }
        assert_eq!(linked + self.free.len(), self.nodes.len(), "every node is linked or free");
    }
}

#[cfg(test)]
#[path = "../../../tests/unit/sched/o1/array.rs"]
mod tests;

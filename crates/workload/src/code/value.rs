//! Expressions with all constants of a task folded.

use rand_core::Rng;

use crate::program::{Expr, Operation, Variable};

/// A number at run time. A value has 16 bytes, because the instructions of all tasks compete for the caches
/// with the measured work.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Const(u64),
    /// `add + mul × replica of the task`: replicas have different channels, and still the same code.
    Replica {
        mul: u32,
        add: u64,
    },
    /// `add + mul × index of the loop at depth`: the common index expression, without an expression tree.
    Affine {
        depth: u8,
        mul: u32,
        add: u64,
    },
    /// A new draw from `from..from + width` at each evaluation: the time for which most programs compute and sleep.
    Uniform {
        width: u32,
        from: u64,
    },
    Tree(Box<Expr>),
}

impl Value {
    /// The same value outside of the innermost loop, if the loop does not change the value and the value is
    /// simple.
    pub(super) fn outside_loop(&self) -> Option<Self> {
        match self {
            Self::Const(_) | Self::Replica { .. } => Some(self.clone()),
            Self::Affine { depth, mul, add } if *depth > 0 => {
                Some(Self::Affine { depth: depth - 1, mul: *mul, add: *add })
            }
            Self::Affine { .. } | Self::Uniform { .. } | Self::Tree(_) => None,
        }
    }
}

/// Values of an expression's variables.
#[derive(Debug, Clone, Copy)]
pub(super) struct Identity {
    pub task: u64,
    pub replica: u64,
    /// Whether the replica's number remains a variable where a value is linear in it.
    pub any_replica: bool,
}

/// A number that is added to an expression: `first + step × replica`.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Base {
    pub first: u64,
    pub step: u64,
}

/// Folds `expr` for a task, adding `base`.
pub(super) fn fold(expr: &Expr, identity: Identity, base: Base) -> Value {
    let Identity { task, replica, any_replica } = identity;
    let mut reduced = reduce(expr, task, None);
    let mut function = linear(&reduced);
    if function.is_none() {
        reduced = reduce(expr, task, Some(replica));
        function = linear(&reduced);
    }
    let (first, step) = (base.first, base.step);
    let at_replica = |step: u64| first.saturating_add(step.saturating_mul(replica));
    let Some(Linear { in_loop, per_replica, add }) = function else {
        return match at_replica(step) {
            0 => drawn(&reduced).unwrap_or_else(|| Value::Tree(Box::new(reduced))),
            base => Value::Tree(Box::new(reduced + base)),
        };
    };
    let step = step.saturating_add(per_replica);
    let folded = add.saturating_add(at_replica(step));
    match (in_loop, u32::try_from(step)) {
        (None, Ok(mul @ 1..)) if any_replica => Value::Replica { mul, add: add.saturating_add(first) },
        (None, _) => Value::Const(folded),
        (Some((depth, mul)), _) => match u32::try_from(mul) {
            Ok(mul) => Value::Affine { depth, mul, add: folded },
            Err(_) => Value::Tree(Box::new(reduce(expr, task, Some(replica)) + at_replica(base.step))),
        },
    }
}

/// A random number between constants.
fn drawn(expr: &Expr) -> Option<Value> {
    let Expr::Operation(operation) = expr else { return None };
    let Operation::Random(Expr::Const(from), Expr::Const(below)) = **operation else { return None };
    let width = u32::try_from(below.saturating_sub(from).max(1)).ok()?;
    Some(Value::Uniform { width, from })
}

/// Replace variables by their values and fold constants. `replica` is `None` to keep the variable.
fn reduce(expr: &Expr, task: u64, replica: Option<u64>) -> Expr {
    let operation = match expr {
        Expr::Const(value) => return Expr::Const(*value),
        Expr::Variable(Variable::Task) => return Expr::Const(task),
        Expr::Variable(Variable::Replica) => return replica.map_or_else(|| expr.clone(), Expr::Const),
        Expr::Operation(operation) => operation,
    };
    let go = |e: &Expr| reduce(e, task, replica);
    let reduced = match &**operation {
        Operation::Loop(depth) => return Operation::Loop(*depth).into(),
        Operation::Random(a, b) => return Operation::Random(go(a), go(b)).into(),
        Operation::Add(a, b) => Operation::Add(go(a), go(b)),
        Operation::Sub(a, b) => Operation::Sub(go(a), go(b)),
        Operation::Mul(a, b) => Operation::Mul(go(a), go(b)),
        Operation::Div(a, b) => Operation::Div(go(a), go(b)),
        Operation::Rem(a, b) => Operation::Rem(go(a), go(b)),
    };
    match &reduced {
        Operation::Add(Expr::Const(a), Expr::Const(b)) => Expr::Const(a.saturating_add(*b)),
        Operation::Sub(Expr::Const(a), Expr::Const(b)) => Expr::Const(a.saturating_sub(*b)),
        Operation::Mul(Expr::Const(a), Expr::Const(b)) => Expr::Const(a.saturating_mul(*b)),
        Operation::Div(Expr::Const(a), Expr::Const(b)) => Expr::Const(a.checked_div(*b).unwrap_or(0)),
        Operation::Rem(Expr::Const(a), Expr::Const(b)) => Expr::Const(a.checked_rem(*b).unwrap_or(0)),
        _ => reduced.into(),
    }
}

/// `add + coefficient × index of one loop + per_replica × replica`.
struct Linear {
    /// Depth of the loop and its coefficient.
    in_loop: Option<(u8, u64)>,
    per_replica: u64,
    add: u64,
}

impl Linear {
    fn constant(add: u64) -> Self {
        Self { in_loop: None, per_replica: 0, add }
    }

    fn sum(self, other: Self) -> Option<Self> {
        let in_loop = match (self.in_loop, other.in_loop) {
            (in_loop, None) | (None, in_loop) => in_loop,
            _ => return None,
        };
        let per_replica = self.per_replica.saturating_add(other.per_replica);
        Some(Self { in_loop, per_replica, add: self.add.saturating_add(other.add) })
    }

    fn product(self, other: Self) -> Option<Self> {
        let (function, by) = match (self.is_constant(), other.is_constant()) {
            (_, true) => (self, other.add),
            (true, _) => (other, self.add),
            _ => return None,
        };
        Some(Self {
            in_loop: function.in_loop.map(|(depth, mul)| (depth, mul.saturating_mul(by))),
            per_replica: function.per_replica.saturating_mul(by),
            add: function.add.saturating_mul(by),
        })
    }

    fn is_constant(&self) -> bool {
        self.in_loop.is_none() && self.per_replica == 0
    }
}

/// `expr` as a linear function, if it is one.
fn linear(expr: &Expr) -> Option<Linear> {
    match expr {
        Expr::Const(value) => Some(Linear::constant(*value)),
        Expr::Variable(Variable::Replica) => Some(Linear { per_replica: 1, ..Linear::constant(0) }),
        Expr::Variable(Variable::Task) => None,
        Expr::Operation(operation) => match &**operation {
            Operation::Loop(depth) => {
                Some(Linear { in_loop: Some((u8::try_from(*depth).ok()?, 1)), ..Linear::constant(0) })
            }
            Operation::Add(a, b) => linear(a)?.sum(linear(b)?),
            Operation::Mul(a, b) => linear(a)?.product(linear(b)?),
            _ => None,
        },
    }
}

/// A value of the two frequent kinds, which depend on no loop. Comparisons distinguish the kinds at less cost
/// than a jump table.
#[inline]
pub(super) fn simple<R: Rng>(value: &Value, rng: &mut R) -> Option<u64> {
    if let Value::Uniform { width, from } = value {
        return Some(from + uniform(rng, (*width).into()));
    }
    if let Value::Const(value) = value { Some(*value) } else { None }
}

/// Compute a value. `loops` returns the index of the loop at a depth, 0 for the innermost.
pub(super) fn evaluate<R: Rng>(
    value: &Value,
    replica: u32,
    loops: &impl Fn(usize) -> u64,
    rng: &mut R,
) -> u64 {
    match value {
        Value::Const(value) => *value,
        Value::Replica { mul, add } => u64::from(replica).saturating_mul((*mul).into()).saturating_add(*add),
        Value::Affine { depth, mul, add } => {
            loops((*depth).into()).saturating_mul((*mul).into()).saturating_add(*add)
        }
        Value::Uniform { width, from } => from + uniform(rng, (*width).into()),
        Value::Tree(expr) => tree(expr, loops, rng),
    }
}

#[inline(never)]
fn tree<R: Rng>(expr: &Expr, loops: &impl Fn(usize) -> u64, rng: &mut R) -> u64 {
    let operation = match expr {
        Expr::Const(value) => return *value,
        Expr::Variable(_) => unreachable!("folding replaces variables"),
        Expr::Operation(operation) => operation,
    };
    let mut go = |e: &Expr| tree(e, loops, rng);
    match &**operation {
        Operation::Loop(depth) => loops(*depth as usize),
        Operation::Add(a, b) => go(a).saturating_add(go(b)),
        Operation::Sub(a, b) => go(a).saturating_sub(go(b)),
        Operation::Mul(a, b) => go(a).saturating_mul(go(b)),
        Operation::Div(a, b) => go(a).checked_div(go(b)).unwrap_or(0),
        Operation::Rem(a, b) => go(a).checked_rem(go(b)).unwrap_or(0),
        Operation::Random(a, b) => {
            let (from, below) = (go(a), go(b));
            from + uniform(rng, below.saturating_sub(from).max(1))
        }
    }
}

/// Uniform on `0..below` by the multiply-shift method (Lemire, "Fast Random Integer Generation in an Interval", ACM
/// TOMACS 29, 2019) without its rejection step: the bias is below `below` / 2^64.
#[inline]
pub(super) fn uniform<R: Rng>(rng: &mut R, below: u64) -> u64 {
    ((u128::from(rng.next_u64()) * u128::from(below)) >> 64) as u64
}

//! Expressions with all constants of a task folded.

use rand_core::Rng;

use crate::program::{Expr, Operation, Variable};

/// A number at run time. A value has 16 bytes, because the instructions of all tasks compete for the caches
/// with the measured work.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Const(u64),
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
            Self::Const(value) => Some(Self::Const(*value)),
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
}

/// Folds `expr` for a task, adding `base`.
pub(super) fn fold(expr: &Expr, identity: Identity, base: u64) -> Value {
    let expr = reduce(expr, identity);
    match affine(&expr) {
        Some((None, add)) => Value::Const(base.saturating_add(add)),
        Some((Some((depth, mul)), add)) if u32::try_from(mul).is_ok() => {
            Value::Affine { depth, mul: mul as u32, add: base.saturating_add(add) }
        }
        _ if base == 0 => drawn(&expr).unwrap_or_else(|| Value::Tree(Box::new(expr))),
        _ => Value::Tree(Box::new(expr + base)),
    }
}

/// A random number between constants.
fn drawn(expr: &Expr) -> Option<Value> {
    let Expr::Operation(operation) = expr else { return None };
    let Operation::Random(Expr::Const(from), Expr::Const(below)) = **operation else { return None };
    let width = u32::try_from(below.saturating_sub(from).max(1)).ok()?;
    Some(Value::Uniform { width, from })
}

/// Replace variables by their values and fold constants.
fn reduce(expr: &Expr, identity: Identity) -> Expr {
    let operation = match expr {
        Expr::Const(value) => return Expr::Const(*value),
        Expr::Variable(Variable::Task) => return Expr::Const(identity.task),
        Expr::Variable(Variable::Replica) => return Expr::Const(identity.replica),
        Expr::Operation(operation) => operation,
    };
    let go = |e: &Expr| reduce(e, identity);
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

/// `(loop depth and its coefficient, constant)` if `expr` is of that form.
fn affine(expr: &Expr) -> Option<(Option<(u8, u64)>, u64)> {
    match expr {
        Expr::Const(value) => Some((None, *value)),
        Expr::Variable(_) => None,
        Expr::Operation(operation) => match &**operation {
            Operation::Loop(depth) => Some((Some((u8::try_from(*depth).ok()?, 1)), 0)),
            Operation::Add(a, b) => match (affine(a)?, affine(b)?) {
                ((term, x), (None, y)) | ((None, x), (term, y)) => Some((term, x.saturating_add(y))),
                _ => None,
            },
            Operation::Mul(a, b) => match (affine(a)?, affine(b)?) {
                ((term, x), (None, y)) | ((None, y), (term, x)) => {
                    Some((term.map(|(depth, mul)| (depth, mul.saturating_mul(y))), x.saturating_mul(y)))
                }
                _ => None,
            },
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

/// Compute a value. `loops` contains iteration indices, outermost first.
pub(super) fn evaluate<R: Rng>(value: &Value, loops: &impl Fn(usize) -> u64, rng: &mut R) -> u64 {
    match value {
        Value::Const(value) => *value,
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

//! Points at which tests compare the partial derivatives with differences of values: inside the domain, away from jumps and ties.

use super::{BinaryOp, PrimOp, UnaryOp};

impl PrimOp {
    /// Operand values as `f64`, one list per point; empty where nothing is to be compared (integers, zero derivatives).
    pub fn test_points(self) -> Vec<Vec<f64>> {
        let unary = |points: &[f64]| points.iter().map(|point| vec![*point]).collect();
        match self {
            PrimOp::Unary(op, prim) if prim.is_float() => match op {
                UnaryOp::Not => Vec::new(),
                UnaryOp::Sqrt | UnaryOp::Log | UnaryOp::Log2 | UnaryOp::Log10 => unary(&[0.3, 1.0, 7.5]),
                UnaryOp::Log1p => unary(&[-0.4, 0.25, 3.0]),
                UnaryOp::Acosh => unary(&[1.3, 2.0, 9.0]),
                UnaryOp::Asin | UnaryOp::Acos | UnaryOp::Atanh => unary(&[-0.7, 0.1, 0.6]),
                UnaryOp::AsinPi | UnaryOp::AcosPi => unary(&[-0.7, 0.1, 0.6]),
                UnaryOp::Gamma | UnaryOp::LogGamma | UnaryOp::Digamma | UnaryOp::Polygamma(_) => {
                    unary(&[0.4, 1.0, 3.7, 12.5, -0.6, -2.3])
                }
                _ => unary(&[-1.3, -0.2, 0.35, 1.1]),
            },
            PrimOp::Binary(op, prim) if prim.is_float() => match op {
                BinaryOp::Pow => vec![vec![1.5, -2.5], vec![2.0, 3.0], vec![0.3, 0.7]],
                BinaryOp::NextAfter => Vec::new(),
                _ => vec![vec![1.5, -2.5], vec![-0.3, 0.7], vec![7.25, 2.0]],
            },
            PrimOp::FusedMultiplyAdd(_) => vec![vec![1.5, -2.0, 0.25], vec![0.5, 3.0, 1.0]],
            PrimOp::LoadExponent(_) => vec![vec![0.75, 3.0], vec![-2.0, -1.0]],
            PrimOp::Convert { from, to } if from.is_float() && to.is_float() => unary(&[0.5, -1.25]),
            _ => Vec::new(),
        }
    }
}

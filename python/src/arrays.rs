//! Votes and labels from and to NumPy, whatever the integer type and the strides.

use numpy::ndarray::{ArrayView1, ArrayView2, Ix2};
use numpy::{
    Element, PyArray1, PyArrayDyn, PyArrayMethods, PyReadonlyArrayDyn, PyUntypedArrayMethods,
};
use pyo3::prelude::*;
use shield_core::votes::{Label, Labels, Vote, Votes};
use shield_core::{Class, Classes};

use crate::errors::refuse;

/// Does something with the array as the integer type that it has.
macro_rules! integers {
    ($array:expr, $typed:ident => $do:expr, $($type:ty),+) => {{
        let array = $array;
        $(if let Ok(typed) = array.cast::<PyArrayDyn<$type>>() {
            let $typed = typed.try_readonly().map_err(refuse)?;
            $do
        } else)+ {
            Err(refuse("votes and labels are arrays of integers: array.astype(np.int16)"))
        }
    }};
}

/// Votes, samples x teachers.
pub(crate) fn votes(array: &Bound<'_, PyAny>, classes: Option<usize>) -> PyResult<Votes> {
    let classes = classes.map(Classes::new).transpose().map_err(refuse)?;
    integers!(array, typed => matrix(typed, classes), i64, u8, i8, i16, i32, u16, u32, u64)
}

fn matrix<T: Element + Copy + Into<i128>>(
    array: PyReadonlyArrayDyn<'_, T>,
    classes: Option<Classes>,
) -> PyResult<Votes> {
    if array.ndim() != 2 {
        let found = array.ndim();
        return Err(refuse(format!(
            "votes are a table, samples x teachers; this array has {found} dimension{}",
            if found == 1 { "" } else { "s" }
        )));
    }
    let view: ArrayView2<'_, T> = array.as_array().into_dimensionality::<Ix2>().map_err(refuse)?;
    let rows = view.rows().into_iter().map(|row| row.into_iter().map(|&vote| vote.into()));
    Votes::from_numbers(classes, rows).map_err(refuse)
}

/// One teacher's votes, or labels: one per sample, -1 for none.
pub(crate) fn column(array: &Bound<'_, PyAny>) -> PyResult<Vec<Vote>> {
    integers!(array, typed => vector(typed), i64, u8, i8, i16, i32, u16, u32, u64)
}

fn vector<T: Element + Copy + Into<i128>>(array: PyReadonlyArrayDyn<'_, T>) -> PyResult<Vec<Vote>> {
    if array.ndim() != 1 {
        return Err(refuse(format!(
            "one number per sample is needed; this array has {} dimensions",
            array.ndim()
        )));
    }
    let cell = |(place, &value): (usize, &T)| match value.into() {
        -1 => Ok(None),
        class => match u16::try_from(class) {
            Ok(class) => Ok(Some(Class(class))),
            Err(_) => Err(refuse(format!(
                "sample {}: {class} is not a class; classes are 0 to 65535, and -1 is none",
                place + 1
            ))),
        },
    };
    array.as_array().iter().enumerate().map(cell).collect()
}

/// One teacher's counts, samples x classes.
pub(crate) fn counts(array: &Bound<'_, PyAny>) -> PyResult<Vec<Vec<u32>>> {
    integers!(array, typed => count_rows(typed), i64, u8, i8, i16, i32, u16, u32, u64)
}

fn count_rows<T: Element + Copy + Into<i128>>(
    array: PyReadonlyArrayDyn<'_, T>,
) -> PyResult<Vec<Vec<u32>>> {
    let view: ArrayView2<'_, T> = array.as_array().into_dimensionality::<Ix2>().map_err(refuse)?;
    let row = |(place, row): (usize, ArrayView1<'_, T>)| {
        let cell = |&count: &T| {
            let count: i128 = count.into();
            u32::try_from(count).map_err(|_| {
                refuse(format!("sample {}: {count} is not a number of voters", place + 1))
            })
        };
        row.iter().map(cell).collect()
    };
    view.rows().into_iter().enumerate().map(row).collect()
}

/// True labels that fit the votes.
pub(crate) fn labels(array: &Bound<'_, PyAny>, votes: &Votes) -> PyResult<Labels> {
    let labels = Labels::new(column(array)?).map_err(refuse)?;
    labels.check(votes.samples(), votes.classes()).map_err(refuse)?;
    Ok(labels)
}

/// Labels as NumPy has them: -1 for none.
pub(crate) fn to_numpy<'py>(py: Python<'py>, labels: &[Label]) -> Bound<'py, PyArray1<i32>> {
    let cell = |label: &Label| label.map_or(-1, |class| i32::from(class.0));
    PyArray1::from_iter(py, labels.iter().map(cell))
}

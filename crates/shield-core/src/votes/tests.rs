//! Votes and labels: their shape, their places, and what they keep to themselves.

use super::*;

fn build(classes: Option<usize>, rows: &[&[i128]]) -> Result<Votes, VotesError> {
    let classes = classes.map(|count| Classes::new(count).unwrap());
    Votes::from_numbers(classes, rows.iter().map(|row| row.iter().copied()))
}

#[test]
fn finds_the_number_of_classes() {
    assert_eq!(build(None, &[&[0, 6, -1]]).unwrap().classes().count(), 7);
    assert_eq!(build(None, &[&[0, 0]]).unwrap().classes().count(), 2);
}

#[test]
fn says_where() {
    assert_eq!(
        build(Some(3), &[&[0, 1], &[2, 3]]).unwrap_err(),
        VotesError::NotAClass { row: 2, column: 2, value: 3, classes: 3 }
    );
    assert!(matches!(build(Some(3), &[&[-2]]), Err(VotesError::NotAClass { value: -2, .. })));
    assert_eq!(
        build(None, &[&[0, 1], &[2]]).unwrap_err(),
        VotesError::Ragged { row: 2, found: 1, expected: 2 }
    );
    assert_eq!(build(None, &[]).unwrap_err(), VotesError::Empty);
    assert_eq!(build(None, &[&[]]).unwrap_err(), VotesError::Empty);
}

#[test]
fn abstentions_do_not_count() {
    let votes = build(Some(3), &[&[2, -1, 2, 0]]).unwrap();
    assert_eq!(votes.histogram(0).counts(), [1, 0, 2]);
    assert_eq!(votes.teacher(1, 0..1), [None]);
}

#[test]
fn debug_keeps_the_votes_secret() {
    let votes = build(Some(9), &[&[7, 7, 7, 7]]).unwrap();
    assert!(!format!("{votes:?}").contains('7'));
}

#[test]
fn labels_are_checked_against_the_votes() {
    let labels = Labels::new(vec![Some(Class(1)), None, Some(Class(4))]).unwrap();
    let classes = Classes::new(4).unwrap();
    assert_eq!(
        labels.check(2, classes).unwrap_err(),
        VotesError::LabelCount { labels: 3, samples: 2 }
    );
    assert!(matches!(labels.check(3, classes), Err(VotesError::NotAClass { row: 3, .. })));
    assert_eq!(labels.agreement(&labels), 2);
}

#[test]
fn names_bring_their_votes_along() {
    let two = Classes::new(2).unwrap();
    let mut cells = Cells::default();
    cells.extend(&[0, 1, MISSING]);
    let votes = Votes::from_cells(two, 3, cells, "cat,dog".parse().ok()).unwrap();
    let named = votes.clone().named("ant,dog,cat".parse().unwrap()).unwrap();
    assert_eq!(named.teacher(0, 0..1), [Some(Class(2))]);
    assert_eq!(named.teacher(1, 0..1), [Some(Class(1))]);
    assert_eq!(named.teacher(2, 0..1), [None]);
    assert!(votes.clone().named("ant,dog".parse().unwrap()).is_err());
    let many =
        ClassNames::new((0..300).map(|n| format!("n{n}")).chain(["cat".into(), "dog".into()]));
    let wide = votes.clone().named(many.unwrap()).unwrap();
    assert_eq!(wide.teacher(1, 0..1), [Some(Class(301))]);
    let more = votes.among(Classes::new(9).unwrap()).unwrap();
    assert_eq!((more.classes().count(), more.class_names()), (9, None));
}

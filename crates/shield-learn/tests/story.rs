//! Teachers and student on digits that are drawn by ourselves: small, but the whole way.

use rayon::ThreadPoolBuilder;
use shield_core::{Class, Classes, Label, Votes, Watch};
use shield_learn::data::drawn_digits;
use shield_learn::student::Variant;
use shield_learn::teachers::{Profile, teach};
use shield_learn::{LearnError, Student};

fn votes(threads: usize) -> Votes {
    let (training, public) = (drawn_digits(480, 1), drawn_digits(50, 2));
    let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let teach = || teach(Profile::Pate, &training, &public.images, 4, 7, &Watch::default());
    pool.install(teach).unwrap()
}

#[test]
fn votes_are_better_than_chance_and_the_same_on_any_number_of_threads() {
    let alone = votes(1);
    assert_eq!(alone, votes(3));
    let right = (0..50)
        .flat_map(|sample| alone.sample(sample).map(move |vote| (sample, vote)))
        .filter(|&(sample, vote)| vote.is_some_and(|class| class.index() == sample % 10))
        .count();
    assert!(right > 100, "{right} of 200 votes");
}

#[test]
fn teachers_without_images_are_refused() {
    let digits = drawn_digits(100, 1);
    for teachers in [0, 11, 1000] {
        let refused = teach(Profile::Pate, &digits, &digits.images, teachers, 1, &Watch::default());
        assert!(
            matches!(refused, Err(LearnError::TooManyTeachers { images: 100, .. })),
            "{refused:?}"
        );
    }
}

#[test]
fn a_student_learns_from_few_labels_and_its_model_can_be_kept() {
    let digits = drawn_digits(600, 3);
    let classes = Classes::new(10).unwrap();
    let labels: Vec<Label> = (0..500)
        .map(|image| (image < 50).then_some(Class(u16::from(digits.classes[image]))))
        .collect();
    let (own, other) = (digits.images.select(0..500), digits.images.select(500..600));
    for variant in [Variant::Strong, Variant::Plain] {
        let student = Student::learn(variant, &own, &labels, classes, 1).unwrap();
        let found = student.predict(&other);
        let right = found.iter().zip(&digits.classes[500..]).filter(|(a, b)| a == b).count();
        assert!(right > 70, "{variant:?}: {right} of 100");

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("student.model");
        student.save(&path).unwrap();
        assert_eq!(Student::load(&path).unwrap().predict(&other), found);
    }
}

#[test]
fn a_student_without_labels_is_refused() {
    let digits = drawn_digits(20, 1);
    let classes = Classes::new(10).unwrap();
    for (labels, words) in [(20, "none of the images"), (3, "3 labels for 20 images")] {
        let labels = vec![None; labels];
        let refused = Student::learn(Variant::Supervised, &digits.images, &labels, classes, 1);
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains(words), "{refused}");
    }
}

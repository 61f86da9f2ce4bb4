//! Questions and their answers.

use shield_core::Votes;

use super::*;

fn question(part: Part) -> Question {
    Question {
        part,
        polynomial: "8X^4+6X^3+4X^2+X".to_owned(),
        offset: 5,
        queries: 100,
        teachers: 60,
        classes: 4,
        epsilon: 2.0,
        histogram: vec![40, 10, 5, 5],
    }
}

#[test]
fn the_first_answer_has_curve_law_and_commands() {
    let calculator = Calculator::new(None);
    let Ok(Answer::Estimate { epsilon, right, curve, laws, source, commands }) =
        calculator.answer(&question(Part::Estimate))
    else {
        panic!("an estimate was asked for")
    };
    assert!(source.contains("made-up"), "{source}");
    assert!((0.5..1.0).contains(&right) && epsilon > 0.1, "{right} {epsilon}");
    assert!(curve.len() > 8 && curve.windows(2).all(|pair| pair[0].epsilon <= pair[1].epsilon));
    assert_eq!(laws.iter().map(|law| law.mechanism).collect::<Vec<_>>(), ["shield", "gnmax"]);
    for law in &laws {
        let sum: f64 = law.classes.iter().sum::<f64>() + law.none;
        assert!((sum - 1.0).abs() < 1e-3, "{law:?}");
        assert!(law.classes[0] > law.classes[1], "{law:?}");
    }
    assert!(commands[0].starts_with("shield bound --teachers 60 --classes 4 --polynomial 8X^4"));
    let Ok(Answer::Proof { epsilon: Some(proven) }) = calculator.answer(&question(Part::Proof))
    else {
        panic!("a proof was asked for")
    };
    // By the moments of some pairs: tight composition of all pairs may prove a little less.
    assert!((0.8..1.2).contains(&(epsilon / proven)), "{epsilon} {proven}");
}

#[test]
fn the_others_buy_right_labels_with_epsilon_too() {
    let calculator = Calculator::new(None);
    for other in [Other::Gnmax, Other::Lnmax, Other::NoisyArgmax, Other::Exponential] {
        let Ok(Answer::Other { mechanism, curve, holds_against_server }) =
            calculator.answer(&question(Part::Other(other)))
        else {
            panic!("a curve was asked for")
        };
        assert_eq!(holds_against_server, mechanism == "noisy-argmax");
        assert!(curve.len() > 6, "{mechanism}");
        let (first, last) = (&curve[0], &curve[curve.len() - 1]);
        assert!(first.epsilon < last.epsilon && first.right < last.right, "{mechanism}");
        let more = calculator.answer(&Question { queries: 400, ..question(Part::Other(other)) });
        let Ok(Answer::Other { curve: dearer, .. }) = more else { panic!("a curve") };
        assert!(dearer[0].epsilon > first.epsilon, "{mechanism}: more labels cost more");
    }
}

#[test]
fn votes_that_were_given_count_where_they_have_the_shape() {
    let rows = [[0, 0, 1], [1, 1, 1], [2, 2, 0]];
    let rows = rows.iter().map(|row| row.map(|class| Some(shield_core::Class(class))));
    let votes = Votes::from_rows(Classes::new(3).unwrap(), rows).unwrap();
    let observed = Observed {
        name: "wards.csv".to_owned(),
        argument: "--votes wards.csv".to_owned(),
        histograms: votes.histograms().collect(),
        labels: None,
        teachers: 3,
        names: Vec::new(),
    };
    let calculator = Calculator::new(Some(observed));
    let own = Question { teachers: 3, classes: 3, histogram: vec![], ..question(Part::Estimate) };
    let Ok(Answer::Estimate { source, commands, .. }) = calculator.answer(&own) else {
        panic!("an estimate")
    };
    assert!(source.starts_with("wards.csv"), "{source}");
    assert!(commands[1].contains("shield analyze --votes wards.csv"), "{commands:?}");
    let other = Question { teachers: 4, ..own };
    let Ok(Answer::Estimate { source, .. }) = calculator.answer(&other) else {
        panic!("an estimate")
    };
    assert!(source.contains("made-up"), "{source}");
}

#[test]
fn senseless_questions_are_refused_with_the_reason() {
    let calculator = Calculator::new(None);
    let base = || question(Part::Estimate);
    for (wrong, words) in [
        (Question { polynomial: "8Y".to_owned(), ..base() }, "polynomial"),
        (Question { polynomial: "100000X".to_owned(), ..base() }, "rounds"),
        (Question { teachers: 0, ..base() }, "0"),
        (Question { teachers: 20_000, ..base() }, "10000"),
        (Question { classes: 1, histogram: vec![], ..base() }, "1"),
        (Question { queries: 0, ..base() }, "0"),
        (Question { epsilon: -1.0, ..base() }, "epsilon"),
        (Question { epsilon: f64::NAN, ..base() }, "epsilon"),
        (Question { histogram: vec![1, 2], ..base() }, "4 counts"),
        (Question { offset: 200_000, ..base() }, "200000"),
    ] {
        let error = calculator.answer(&wrong).unwrap_err();
        assert!(error.contains(words), "{error}");
    }
    let bare = Question { offset: 0, ..base() };
    let Ok(Answer::Estimate { epsilon, .. }) = calculator.answer(&bare) else { panic!("it may") };
    assert!(epsilon > 1e300, "offset 0 gives no privacy");
}

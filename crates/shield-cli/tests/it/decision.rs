//! From votes to a decision: one price wherever it is asked for, and advice that spends the budget.

#![expect(clippy::float_cmp, reason = "the same figure, to the last digit")]

use serde_json::Value;
use shield_core::{Classes, Delta, Setting, Watch};
use shield_privacy::explore::{Answer, Calculator, Observed, Part, Question};
use shield_privacy::{Attendance, Mechanism};
use shield_protocol::ElectionFile;
use shield_protocol::ledger::{Accountant, Cost};

use crate::common::{Folder, stderr, stdout};

/// Twelve samples of nine teachers and three classes, on two of which some abstain; `thin` puts a
/// sample with one vote at the end.
fn votes(folder: &Folder, thin: bool) {
    let mut rows: Vec<String> = (0..12)
        .map(|sample| {
            let vote = |teacher: usize| ((sample + teacher / 7) % 3).to_string();
            (0..9).map(vote).collect::<Vec<_>>().join(",")
        })
        .collect();
    rows[4] = rows[4].replacen(|c: char| c.is_ascii_digit(), "", 1);
    rows[9] = rows[9].replacen(|c: char| c.is_ascii_digit(), "", 1);
    if thin {
        rows.push("1,,,,,,,,".to_owned());
    }
    folder.write("votes.csv", rows.join("\n") + "\n");
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

#[test]
fn every_report_states_the_same_price() {
    let folder = Folder::new();
    votes(&folder, false);
    let setting = "--classes 3 --offset 4";
    let analysis = folder.json(&format!("analyze --votes votes.csv {setting}"));
    let price = &analysis["price"];
    assert_eq!(price["turnout"], "10x9,2x8");
    let holds_for = "all votes of at least 8 of 9 teachers per sample, with the turnout 10x9,2x8";
    assert_eq!(price["holds_for"], holds_for);
    let (epsilon, by_moments) = (number(&price["epsilon"]), number(&price["by_moments"]));
    assert!(epsilon < by_moments);

    let label = folder.json(&format!("label --votes votes.csv {setting}"));
    assert_eq!(number(&label["epsilon"]), epsilon);
    let bound = format!("bound --teachers 9 {setting} --voters 10x9,2x8");
    let bound = folder.json(&bound);
    assert_eq!(number(&bound["exact"]["epsilon"]), epsilon);
    assert_eq!(number(&bound["epsilon"]), by_moments);
    assert_eq!(bound["queries"], 12);

    // The library, which the explorer's page and the server ask.
    let setting = Setting { offset: "4".parse().unwrap(), ..Setting::default() };
    let mechanism = Mechanism::Shield(setting.clone());
    let attendance = Attendance::exactly([(9, 10), (8, 2)]);
    let (classes, delta) = (Classes::new(3).unwrap(), Delta::default());
    let proof = mechanism.price(classes, &attendance, delta, &Watch::default());
    assert_eq!((proof.price().get(), proof.moments.get()), (epsilon, by_moments));
    let read = shield_data::read_votes(&folder.path("votes.csv"), Some(classes));
    let observed = Observed {
        name: "votes.csv".to_owned(),
        argument: "--votes votes.csv".to_owned(),
        histograms: read.unwrap().histograms().collect(),
        labels: None,
        teachers: 9,
        names: Vec::new(),
    };
    let question = Question {
        part: Part::Proof,
        polynomial: setting.polynomial.to_string(),
        offset: 4,
        queries: 12,
        teachers: 9,
        classes: 3,
        epsilon: 2.0,
        histogram: Vec::new(),
    };
    let explored = Calculator::new(Some(observed)).answer(&question).unwrap();
    assert_eq!(explored, Answer::Proof { epsilon: Some(epsilon) });
    let names: Vec<String> = (0..9).map(|number| format!("\"t{number}\"")).collect();
    let file = format!(
        "name = \"a\"\ngroup = \"g\"\nclasses = 3\nsamples = 12\npolynomial = \
         \"8X^4+6X^3+4X^2+X\"\noffset = 4\nquorum = 8\nteachers = [{}]",
        names.join(", ")
    );
    let file = ElectionFile::parse(&file).unwrap();
    let server = Accountant::default().total(&[Cost::new(&file, vec![(9, 10), (8, 2)])], delta);
    assert_eq!(server.get(), by_moments);
}

#[test]
fn a_thin_row_is_named_with_what_it_costs() {
    let folder = Folder::new();
    votes(&folder, true);
    let arguments = "analyze --votes votes.csv --classes 3 --offset 4";
    let output = folder.run(arguments);
    let said = stderr(&output);
    assert!(said.contains("row 13 has one vote and alone would cost epsilon"), "{said}");
    assert!(stdout(&output).starts_with("Epsilon "), "{}", stdout(&output));
    let price = &folder.json(arguments)["price"];
    let without = number(&price["thin"]["without"]);
    votes(&folder, false);
    assert_eq!(number(&folder.json(arguments)["price"]["epsilon"]), without);
    assert!(number(&price["epsilon"]) > without);
}

#[test]
fn bound_says_for_whom_and_refuses_what_is_no_turnout() {
    let folder = Folder::new();
    let any = folder.json("bound --teachers 9 --classes 3 --queries 12 --voters 8");
    assert_eq!(any["holds_for"], "all votes of at least 8 of 9 teachers per sample");
    let all = folder.json("bound --teachers 9 --classes 3 --queries 12");
    assert!(number(&any["epsilon"]) >= number(&all["epsilon"]));
    for wrong in ["10", "0", "3x10", "x", "3y4"] {
        folder
            .refused(&format!("bound --teachers 9 --classes 3 --voters {wrong}"), &["391x30,8x29"]);
    }
    folder.refused(
        "bound --teachers 9 --classes 3 --queries 5 --voters 3x9",
        &["leave --queries out"],
    );
}

/// They returned the same setting, at 6.774, for every budget from 8 to 40.
#[test]
fn advice_and_labels_spend_the_budget() {
    let folder = Folder::new();
    folder.json("synthesize --teachers 24 --classes 3 --samples 30 --votes v.csv --labels t.csv");
    let mut settings = Vec::new();
    for epsilon in [6.0, 12.0] {
        let shape = "--teachers 24 --classes 3 --queries 30";
        let found = folder.json(&format!("recommend {shape} --epsilon {epsilon}"));
        let decision = &found["decision"];
        let spent = number(&decision["epsilon"]);
        assert!(spent <= epsilon && spent >= 0.9 * epsilon, "{decision}");
        assert!(decision["why"].as_str().unwrap().len() > 20);
        settings.push(decision["setting"].to_string());
        let labels = folder.json(&format!("label --votes v.csv --classes 3 --epsilon {epsilon}"));
        assert_eq!(number(&labels["epsilon"]), spent);
        assert_eq!(labels["setting"], decision["setting"]);
        // The same question to another command, with the options that were named.
        if decision["mechanism"] == "noisy-argmax" {
            let noise = decision["options"].as_str().unwrap();
            let bound = folder.json(&format!("bound {shape} {noise}"));
            assert!((number(&bound["epsilon"]) - spent).abs() < 1e-9, "{bound}");
        }
    }
    assert_ne!(settings[0], settings[1]);
    let server = "label --votes v.csv --classes 3 --epsilon 6 --against server --answered 0.7";
    let labels = folder.json(server);
    assert_eq!(
        (&labels["mechanism"], &labels["holds_against_server"]),
        (&"noisy-argmax".into(), &true.into())
    );
    let silent = labels["labels"].as_array().unwrap().iter().filter(|one| one.is_null()).count();
    assert!((1..=18).contains(&silent), "{labels}");
    folder.refused("label --votes v.csv --against server", &["--epsilon"]);
    folder.refused("label --votes v.csv --epsilon 6 --offset 3", &["--offset"]);
    folder.refused("label --votes v.csv --epsilon 6 --answered 1.5", &["from 0 to 1"]);
}

/// Twelve teachers, two classes and a thousand samples had 52.63% right, without a word.
#[test]
fn labels_near_chance_come_with_what_would_help() {
    let folder = Folder::new();
    let small = "recommend --teachers 12 --classes 2 --epsilon 4";
    let output = folder.run("recommend --teachers 12 --classes 2 --queries 40 --epsilon 0.3");
    let text = stdout(&output);
    for word in ["hardly better than chance", "What would help: ", "teachers", "samples"] {
        assert!(text.contains(word), "{word} is not in: {text}");
    }
    let found = folder.json(&format!("{small} --accuracy 0.8"));
    let queries = found["queries"].as_u64().unwrap();
    assert!((5..1000).contains(&queries), "{found}");
    assert!(number(&found["decision"]["precision"]) >= 0.8);
    assert!(number(&found["decision"]["epsilon"]) <= 4.0);
    let none = folder.run(&format!("{small} --accuracy 0.9"));
    assert_eq!(none.status.code(), Some(1), "{}", stderr(&none));
    assert!(stderr(&none).contains("without any privacy 12 teachers have 89.00% right"));
}

#[test]
fn compare_fits_a_screen_and_ends_with_a_verdict() {
    let folder = Folder::new();
    folder.json("synthesize --teachers 12 --classes 3 --samples 12 --votes v.csv --labels t.csv");
    let output = folder.run("compare --votes v.csv --labels t.csv --classes 3 --epsilon 6");
    let text = stdout(&output);
    for line in text.lines() {
        assert!(line.chars().count() <= 100, "{line}");
    }
    assert!(text.contains("\n   * ") || text.contains("\n * "), "{text}");
    assert!(text.contains("At epsilon 6 take "), "{text}");
    assert!(!text.lines().any(|line| line.contains("000000")), "{text}");
}

//! The privacy commands as a user meets them: keys, exit codes, infinities.

use serde_json::Value;

use crate::common::{assert_refused, json, shield, stderr, words};

fn refused(arguments: &[&str]) -> String {
    let output = shield(arguments);
    assert_refused(&output, &[]);
    stderr(&output)
}

/// Six samples, nine teachers, three classes; every leader is far ahead.
const VOTES: &str = "0,0,0,0,0,0,0,1,2\n1,1,1,1,1,1,1,1,1\n2,2,2,2,2,2,2,0,0\n\
    0,0,0,0,0,0,0,0,1\n1,1,1,1,1,1,2,1,1\n2,2,2,2,2,2,2,2,1\n";

fn votes() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("votes.csv");
    std::fs::write(&path, VOTES).unwrap();
    let path = path.to_str().unwrap().to_owned();
    (folder, path)
}

#[test]
fn analyze_has_the_keys_of_the_contract() {
    let (_folder, path) = votes();
    let answer = json(&["analyze", "--votes", &path, "--classes", "3", "--offset", "4", "--json"]);
    for key in ["published", "renyi", "teacher_wise", "data_independent"] {
        assert!(answer["epsilon"][key].as_f64().unwrap() > 0.0, "{key}");
    }
    assert!(answer["epsilon"]["exact"]["data_independent"].is_f64());
    // As many as the file has samples.
    assert_eq!(answer["queries"], 6);
    assert_eq!(answer["holds_against_server"], false);
    assert_eq!(answer["mechanism"]["name"], "shield");
    // Each figure is at least as good as the one before it on the same votes.
    let figure = |key: &str| answer["epsilon"][key].as_f64().unwrap();
    assert!(figure("renyi") < figure("published"));
    assert!(figure("teacher_wise") <= figure("renyi") * 1.001);
    assert!(figure("data_independent") > figure("teacher_wise"));
}

#[test]
fn what_depends_on_the_votes_comes_with_a_warning() {
    let (_folder, path) = votes();
    let output = shield(&["analyze", "--votes", &path, "--classes", "3", "--json"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("must not be published"));
    let output = shield(&["analyze", "--votes", &path, "--classes", "3"]);
    assert!(String::from_utf8_lossy(&output.stdout).contains("keep them to yourself"));
}

#[test]
fn other_mechanisms_are_accounted_for() {
    let (_folder, path) = votes();
    let of = |name: &str| {
        let noise = format!("--mechanism {name} --noise 3");
        json(&words(&format!("analyze --votes {path} --classes 3 {noise} --json")))
    };
    let exact = of("exact");
    assert_eq!(exact["epsilon"]["published"], 0.0);
    assert_eq!(exact["epsilon"]["data_independent"], "inf");
    assert_eq!(exact["accuracy"]["argmax"], 1.0);
    for name in ["lnmax", "gnmax"] {
        let noisy = of(name);
        let figure = |key: &str| noisy["epsilon"][key].as_f64().unwrap();
        assert!(
            figure("published") >= figure("renyi")
                && figure("renyi") <= figure("data_independent") * 1.001
        );
        assert_eq!(noisy["mechanism"]["noise"], 3.0);
    }
}

#[test]
fn bound_has_the_keys_of_the_contract() {
    let answer = json(&words("bound --teachers 30 --classes 4 --offset 5 --budget 1 --json"));
    let (proven, found) =
        (answer["epsilon"].as_f64().unwrap(), answer["worst_found"].as_f64().unwrap());
    assert!(found <= proven && proven < 1.05 * found, "{proven} {found}");
    let votes: u64 =
        answer["worst_histogram"].as_array().unwrap().iter().map(|v| v.as_u64().unwrap()).sum();
    assert_eq!(votes, 30);
    assert!(answer["exact"]["epsilon"].as_f64().unwrap() <= proven);
    let queries = answer["queries_within_budget"].as_u64().unwrap().to_string();
    let election = "--teachers 30 --classes 4 --offset 5";
    let again = json(&words(&format!("bound {election} --queries {queries} --json")));
    assert!(again["epsilon"].as_f64().unwrap() <= 1.0);
}

#[test]
fn no_dummies_no_privacy() {
    let answer = json(&["bound", "--teachers", "30", "--classes", "4", "--offset", "0", "--json"]);
    assert_eq!(answer["epsilon"], "inf");
    assert_eq!(answer["exact"]["epsilon"], "inf");
}

#[test]
fn one_named_pair() {
    let answer = json(&words("bound --histogram 5,3,2 --from 0 --to 1 --queries 3 --json"));
    // With so few queries both end at the largest loss; the grid may add a little to it.
    assert!(answer["exact"].as_f64().unwrap() <= answer["renyi"].as_f64().unwrap() * 1.001);
    for (from, to) in [("0", "0"), ("0", "7")] {
        refused(&["bound", "--histogram", "5,3,2", "--from", from, "--to", to]);
    }
}

#[test]
fn tune_has_the_keys_of_the_contract_and_keeps_to_its_target() {
    let (folder, path) = votes();
    let plot = folder.path().join("front.svg");
    let base =
        ["tune", "--votes", &path, "--classes", "3", "--max-degree", "3", "--max-terms", "5"];
    for objective in ["published", "data-independent"] {
        let mut arguments = base.to_vec();
        arguments.extend(["--offsets", "3,9", "--objective", objective, "--json"]);
        arguments.extend(["--plot", plot.to_str().unwrap()]);
        let answer = json(&arguments);
        assert_eq!(answer["evaluated"], 30);
        assert_eq!(answer["exhaustive"], true);
        let front = answer["front"].as_array().unwrap();
        assert!(!front.is_empty());
        for pair in front.windows(2) {
            assert!(pair[0]["epsilon"].as_f64() < pair[1]["epsilon"].as_f64());
            assert!(pair[0]["ground_truth"].as_f64() < pair[1]["ground_truth"].as_f64());
        }
        for key in ["polynomial", "offset", "terms", "degree"] {
            assert!(!front[0][key].is_null(), "{key}");
        }
        // A target between the cheapest and the dearest: reached, never exceeded.
        let middle = front[front.len() / 2]["epsilon"].as_f64().unwrap() * 1.0001;
        let target = middle.to_string();
        let mut arguments = base.to_vec();
        arguments.extend(["--offsets", "3,9", "--objective", objective, "--json"]);
        arguments.extend(["--target-epsilon", &target]);
        assert!(json(&arguments)["chosen"]["epsilon"].as_f64().unwrap() <= middle);
    }
    let drawing = std::fs::read_to_string(plot).unwrap();
    assert!(drawing.starts_with("<svg") && drawing.contains("ground-truth accuracy"));
    let mut arguments = base.to_vec();
    arguments.extend(["--target-epsilon", "0.000001"]);
    assert_eq!(shield(&arguments).status.code(), Some(1));
}

#[test]
fn a_plot_that_cannot_be_written_costs_neither_the_answer_nor_the_old_plot() {
    let (folder, path) = votes();
    let line = format!("tune --votes {path} --classes 3 --max-degree 2 --max-terms 3 --json");
    let base = words(&line);
    for name in ["front.svg", "front.html"] {
        let plot = folder.path().join(name);
        let arguments = [&base[..], &["--plot", plot.to_str().unwrap()]].concat();
        // A folder stands where the plot should go.
        std::fs::create_dir(&plot).unwrap();
        let output = shield(&arguments);
        assert_eq!(output.status.code(), Some(1), "{name}");
        let answer: Value =
            serde_json::from_slice(&output.stdout).expect("the answer, in spite of it");
        assert!(!answer["front"].as_array().unwrap().is_empty());
        std::fs::remove_dir(&plot).unwrap();
        // Drawn elsewhere first: whoever has the old file open, or a link to it, keeps it whole.
        let link = folder.path().join(format!("old-{name}"));
        std::fs::write(&plot, "before").unwrap();
        std::fs::hard_link(&plot, &link).unwrap();
        json(&arguments);
        assert_eq!(std::fs::read(&link).unwrap(), b"before");
        assert!(std::fs::read(&plot).unwrap().len() > 500, "{name}");
    }
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(left.len(), 5, "votes, two plots, two links: {left:?}");
}

#[test]
fn bad_input_is_refused() {
    let (_folder, path) = votes();
    let bound = ["bound", "--teachers", "30", "--classes", "4"];
    for (option, value) in [
        ("--delta", "0"),
        ("--delta", "1"),
        ("--delta", "-1"),
        ("--delta", "NaN"),
        ("--queries", "0"),
        ("--queries", "-3"),
        ("--budget", "-1"),
        ("--polynomial", "0"),
        ("--offset", "x"),
    ] {
        let mut arguments = bound.to_vec();
        let joined = format!("{option}={value}");
        arguments.push(&joined);
        assert!(!refused(&arguments).is_empty(), "{option} {value}");
    }
    refused(&["bound", "--teachers", "0", "--classes", "4"]);
    refused(&["bound"]);
    refused(&["analyze", "--votes", &path, "--mechanism", "lnmax", "--noise", "0"]);
    let tune = ["tune", "--votes", &path, "--max-degree", "2", "--max-terms", "3"];
    for (option, value, word) in [
        ("--plot", "x.jpg", ".html or .svg"),
        ("--plot", "no/folder/x.svg", "make it first"),
        ("--target-accuracy", "1.5", "from 0 to 1"),
        ("--offsets", "1,b", "--offsets"),
    ] {
        let mut arguments = tune.to_vec();
        arguments.extend([option, value]);
        let message = refused(&arguments);
        assert!(message.contains(word), "{message}");
    }
    refused(&["tune", "--votes", &path, "--max-degree", "0", "--max-terms", "3"]);
}

/// Noise in shares costs what Laplace noise of the same scale costs, whoever is missing; dropouts
/// cost accuracy alone.
#[test]
fn noise_in_shares_is_accounted_for_as_lnmax() {
    let (_folder, path) = votes();
    let analyze = |more: &[&str]| {
        let mut arguments =
            vec!["analyze", "--votes", &path, "--classes", "3", "--noise", "4", "--json"];
        arguments.extend(more);
        json(&arguments)
    };
    let lnmax = analyze(&["--mechanism", "lnmax"]);
    let shares = analyze(&["--mechanism", "noisy-argmax"]);
    let dropouts = analyze(&["--mechanism", "noisy-argmax", "--dropouts", "6"]);
    let cost = |answer: &Value| answer["epsilon"]["data_independent"].as_f64().unwrap();
    // Discrete noise ties, so its labels do not cost quite what those of continuous noise do.
    assert!((cost(&shares) / cost(&lnmax) - 1.0).abs() < 0.1);
    assert!((cost(&dropouts) / cost(&shares) - 1.0).abs() < 1e-5);
    let argmax = |answer: &Value| answer["accuracy"]["argmax"].as_f64().unwrap();
    assert!(argmax(&dropouts) < argmax(&shares) - 0.01);
    assert_eq!(dropouts["mechanism"]["name"], "noisy-argmax");
    assert_eq!(dropouts["mechanism"]["dropouts"], 6);
    let message =
        refused(&["analyze", "--votes", &path, "--mechanism", "noisy-argmax", "--dropouts", "9"]);
    assert!(message.contains("below the number of teachers"), "{message}");
}

#[test]
fn labels_of_a_noisy_argmax_cost_less_than_its_noisy_counts() {
    let bound = |more: &[&str]| {
        let election = ["bound", "--teachers", "50", "--classes", "4", "--queries", "20"];
        let argmax = ["--mechanism", "noisy-argmax", "--json"];
        json(&[&election[..], &argmax[..], more].concat())
    };
    let answer = bound(&["--noise", "9", "--threshold", "20"]);
    let figure = |key: &str| answer[key].as_f64().unwrap();
    assert!(figure("strategy") <= figure("epsilon"));
    assert!(figure("epsilon") < 1.01 * figure("strategy"));
    assert!(figure("epsilon") < 0.9 * figure("vector_epsilon"));
    assert_eq!(answer["mechanism"]["threshold"], 20.0);
    // A threshold is a class that nobody votes for.
    assert_eq!(bound(&["--noise", "9"])["epsilon"], answer["epsilon"]);
    let half = ["--noise", "9", "--threshold", "2.5"];
    let refused = refused(
        &[
            &["bound", "--teachers", "9", "--classes", "3", "--mechanism", "noisy-argmax"],
            &half[..],
        ]
        .concat(),
    );
    assert!(refused.contains("whole number of votes"), "{refused}");
}

#[test]
fn weighted_bits_are_priced_and_drawn_by_nobody() {
    let (_folder, path) = votes();
    let bits = "--classes 3 --mechanism noisy-argmax --noise-law bits";
    let priced = |command: &str| json(&words(&format!("{command} {bits} --weights 1,2,4 --json")));
    let bound = priced("bound --teachers 9 --queries 6");
    let analysis = priced(&format!("analyze --votes {path}"));
    assert_eq!(analysis["mechanism"], bound["mechanism"]);
    assert_eq!(bound["mechanism"]["weights"], serde_json::json!([1, 2, 4]));
    assert_eq!(analysis["epsilon"]["exact"]["data_independent"], bound["epsilon"]);
    let label = format!("label --votes {path} {bits} --weights 1,2,4");
    let message = refused(&words(&label));
    assert!(message.contains("no engine draws"), "{message}");
    let message = refused(&words(&format!("analyze --votes {path} {bits}")));
    assert!(message.contains("go together"), "{message}");
}

#[test]
fn the_noise_for_an_epsilon_is_found() {
    let (_folder, path) = votes();
    let label = ["label", "--votes", &path, "--classes", "3", "--mechanism", "noisy-argmax"];
    let more = ["--epsilon", "3", "--seed", "1", "--threshold", "1", "--json"];
    let answer = json(&[&label[..], &more[..]].concat());
    let epsilon = answer["epsilon"].as_f64().unwrap();
    assert!(epsilon <= 3.0 && epsilon > 2.98, "{epsilon}");
    assert!(answer["noise"].as_f64().unwrap() > 0.5);
    // Without a mechanism, it is chosen, too.
    let chosen = json(&["label", "--votes", &path, "--classes", "3", "--epsilon", "3", "--json"]);
    assert!(chosen["epsilon"].as_f64().unwrap() <= 3.0, "{chosen}");
}

#[test]
fn labels_come_with_their_price() {
    let (_folder, path) = votes();
    let arguments = ["label", "--votes", &path, "--classes", "3", "--seed", "1", "--json"];
    let answer = json(&arguments);
    assert_eq!((&answer["mechanism"], &answer["queries"]), (&"shield".into(), &6.into()));
    let six = answer["epsilon"].as_f64().unwrap();
    assert!(six > 0.0 && answer["delta"].as_f64() == Some(1e-5));
    let more = json(&[&arguments[..], &["--queries", "60"]].concat());
    assert!(more["epsilon"].as_f64().unwrap() > six);
    let none = json(&[&arguments[..], &["--offset", "0"]].concat());
    assert_eq!(none["epsilon"], "inf");
}

#[test]
fn compare_puts_every_mechanism_within_the_budget() {
    let (_folder, path) = votes();
    let arguments = ["compare", "--votes", &path, "--classes", "3", "--epsilon", "8", "--json"];
    let answer = json(&arguments);
    let rows = answer["rows"].as_array().unwrap();
    let names: Vec<&str> = rows.iter().map(|row| row["mechanism"].as_str().unwrap()).collect();
    for name in ["shield", "lnmax", "gnmax", "noisy-argmax", "exponential", "permute-and-flip"] {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
    let sure: Vec<&Value> = rows.iter().filter(|row| row["answers"] == "where-sure").collect();
    assert!(sure.iter().any(|row| row["mechanism"] == "confident-gnmax"), "{rows:?}");
    for row in &sure {
        assert!(row["answered"].as_f64().unwrap() >= 0.79, "{row}");
        assert!(row["precision"].as_f64().unwrap() >= row["right"].as_f64().unwrap(), "{row}");
    }
    for row in rows {
        assert!(row["epsilon"].as_f64().unwrap() <= 8.0, "{row}");
        assert!((0.0..=1.0).contains(&row["right"].as_f64().unwrap()), "{row}");
        assert!(row["setting"].is_string() && row.get("seconds_per_sample").is_some());
        assert_eq!(row["holds_against_server"], row["mechanism"] == "noisy-argmax");
    }
}

#[test]
fn recommend_names_a_setting_or_says_what_is_possible() {
    let arguments = ["recommend", "--teachers", "60", "--classes", "4", "--queries", "20"];
    let answer = json(&[&arguments[..], &["--epsilon", "4", "--json"]].concat());
    for key in ["polynomial", "offset", "expected_right", "profile", "ballot_bytes", "seconds"] {
        assert!(!answer[key].is_null(), "{key}");
    }
    assert!(answer["epsilon"].as_f64().unwrap() <= 4.0);
    let refused = shield(&[&arguments[..], &["--epsilon", "0"]].concat());
    assert_eq!(refused.status.code(), Some(2));
}

/// Counts per class say as much as the votes, but for who voted what.
#[test]
fn counts_are_analysed_and_compared_like_votes() {
    let (folder, path) = votes();
    let counts = folder.path().join("counts.csv");
    std::fs::write(&counts, "7,1,1\n0,9,0\n2,0,7\n8,1,0\n0,8,1\n0,1,8\n").unwrap();
    let counts = counts.to_str().unwrap();
    let of = |command: &str, file: &str, more: &[&str]| {
        json(&[&[command, "--votes", file, "--json"], more].concat())
    };
    let from_votes = of("analyze", &path, &["--classes", "3"]);
    let from_counts = of("analyze", counts, &["--counts"]);
    for key in ["published", "renyi", "data_independent"] {
        assert_eq!(from_votes["epsilon"][key], from_counts["epsilon"][key], "{key}");
    }
    assert_eq!(from_votes["accuracy"], from_counts["accuracy"]);
    assert_eq!(from_votes["votes"], from_counts["votes"]);
    assert_eq!(from_counts["epsilon"]["teacher_wise"], from_counts["epsilon"]["renyi"]);
    let from_votes = of("compare", &path, &["--classes", "3", "--epsilon", "8"]);
    let from_counts = of("compare", counts, &["--counts", "--epsilon", "8"]);
    assert_eq!(from_votes, from_counts);
    let message = refused(&["label", "--votes", counts, "--counts"]);
    assert!(message.contains("--counts"), "{message}");
}

/// Too many polynomials to look at all: the search goes uphill, and what it finds is proven.
#[test]
fn tune_climbs_where_there_is_too_much_to_look_at() {
    let (_folder, path) = votes();
    let base = ["tune", "--votes", &path, "--classes", "3", "--offsets", "4", "--json"];
    let large = ["--max-degree", "6", "--max-terms", "40", "--target-epsilon", "6"];
    let answer = json(&[&base[..], &large].concat());
    assert_eq!((&answer["exhaustive"], &answer["stopped"]), (&false.into(), &false.into()));
    let chosen = &answer["chosen"];
    assert!(chosen["epsilon"].as_f64().unwrap() <= 6.0, "{answer}");
    let others = answer["others"].as_array().unwrap();
    assert!(others.iter().any(|other| other["mechanism"] == "gnmax"), "{answer}");
    assert!(others.iter().any(|other| other["holds_against_server"] == true), "{answer}");
    let silent = |other: &&serde_json::Value| other["answered"].as_f64().unwrap() < 0.999;
    let silent = others.iter().find(silent).expect("one is silent where it is not sure");
    assert!(silent["answered"].as_f64().unwrap() >= 0.8, "{silent}");
    assert!(silent["setting"].as_str().unwrap().contains("no label below"), "{silent}");
    let (election, found) = ("--teachers 9 --classes 3 --offset 4", &chosen["polynomial"]);
    let found = found.as_str().unwrap();
    let again = json(&words(&format!("bound {election} --queries 6 --polynomial {found} --json")));
    let tight = again["exact"]["epsilon"].as_f64().unwrap();
    let moments = again["epsilon"].as_f64().unwrap();
    assert!(tight.min(moments) <= chosen["epsilon"].as_f64().unwrap() * (1.0 + 1e-9));
    assert_eq!(again["holds_against_server"], false);
    // A limit of no time still gives an answer.
    let hasty = json(&[&base[..], &large, &["--time-limit", "0"]].concat());
    assert_eq!(hasty["stopped"], true);
    // The other mechanisms need no search, so they are the same.
    assert_eq!(hasty["others"], answer["others"]);
    assert!(hasty["chosen"]["epsilon"].as_f64().is_none_or(|epsilon| epsilon <= 6.0), "{hasty}");
    refused(&[&base[..], &["--search", "climb"]].concat());
}

#[test]
fn epsilons_say_against_whom_they_hold() {
    let (_folder, path) = votes();
    let bound = ["bound", "--teachers", "9", "--classes", "3", "--queries", "5"];
    let tune = ["tune", "--votes", &path, "--max-degree", "2", "--max-terms", "3"];
    for arguments in [&bound[..], &tune[..]] {
        let output = shield(arguments);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(said.contains("except the server"), "{said}");
    }
}

/// The exponential operator is proven, for its rates must fall.
#[test]
fn the_exponential_operator_has_a_proven_cost() {
    let (_folder, path) = votes();
    let of = |schedule: &str| {
        let operator = ["--mechanism", "exponential-operator", "--schedule", schedule, "--json"];
        json(&[&["analyze", "--votes", &path, "--classes", "3"], &operator[..]].concat())
    };
    let proven = of("4x0.2,8x0.1");
    assert!(proven["epsilon"]["data_independent"].as_f64().unwrap() > 0.0, "{proven}");
    let rising = ["--mechanism", "exponential-operator", "--schedule", "8x0.1,4x0.2"];
    refused(&[&["analyze", "--votes", &path, "--classes", "3"], &rising[..]].concat());
}

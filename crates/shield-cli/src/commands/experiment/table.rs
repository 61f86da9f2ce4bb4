//! The results of an experiment as a table for people.

use shield_learn::experiment::{EncryptedSummary, Results, Spread};

use crate::console::{self, duration, percent};

/// The table, and what has to be said about it.
pub(super) fn table(results: &Results) -> String {
    let variants: Vec<&'static str> = ["strong", "plain", "supervised", "shapes"]
        .into_iter()
        .filter(|variant| results.rows.iter().any(|row| row.students.contains_key(*variant)))
        .collect();
    let right = format!("right of {}", results.seen);
    let mut header =
        vec!["mechanism", "GTA", &right, "published", "teacher-wise", "data-independent"];
    header.extend(&variants);
    header.push("aggregation");
    let cells = results.rows.iter().map(|row| {
        let mut cells = vec![
            row.name.clone(),
            percent(row.ground_truth),
            format!("{:.0} ({})", row.right_of_seen, percent(row.right_labels)),
            format!("{:.3}", row.epsilon.published),
            format!("{:.3}", row.epsilon.moments.teacher_wise),
            format!("{:.3}", row.proven()),
        ];
        let students = variants.iter().map(|variant| row.students.get(*variant));
        cells.extend(students.map(|spread| spread.map_or(String::new(), text)));
        let seconds = row.encrypted.as_ref().map(|run| duration(run.aggregate_seconds));
        cells.push(seconds.unwrap_or_else(|| "in the clear".to_owned()));
        cells
    });
    let encrypted: Vec<&EncryptedSummary> =
        results.rows.iter().filter_map(|row| row.encrypted.as_ref()).collect();
    let labels: usize = encrypted.iter().map(|run| run.labels).sum();
    let same: usize = encrypted.iter().map(|run| run.as_in_the_clear).sum();
    format!(
        "{}{} teachers, {} classes, {} public images; epsilon of {} queries at delta {:e}. The \
         published and the teacher-wise figure depend\non the votes and must not be published; the \
         data-independent one (the smaller of moments and tight composition)\nmay be. \
         Students: mean and deviation over splits and draws. {same} of {labels} labels of the \
         encrypted engine\nare those of the operator in the clear with the same draws; the \
         exact argmax and the mechanisms with noise label in the clear.\nTuned polynomials \
         were chosen by their accuracy on these votes, as the paper's were on its own.\n",
        console::table(&header, cells),
        results.teachers,
        results.classes,
        results.public_images,
        results.queries,
        results.delta,
    )
}

fn text(spread: &Spread) -> String {
    format!("{:.2} ± {:.2}%", 100.0 * spread.mean, 100.0 * spread.deviation)
}

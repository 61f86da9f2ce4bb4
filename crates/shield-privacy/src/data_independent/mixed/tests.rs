use super::*;
use shield_core::parameters::Classes;
use shield_core::setting::Setting;

fn price(text: &str, teachers: u32) -> [f64; 2] {
    let (classes, setting) = (Classes::new(3).unwrap(), Setting::default());
    let teachers = Voters::new(teachers).unwrap();
    let attendance = Attendance::parse(text, teachers, Queries::new(20).unwrap()).unwrap();
    let proof = crate::Mechanism::Shield(setting).price(
        classes,
        &attendance,
        Delta::default(),
        &Watch::default(),
    );
    [proof.moments.get(), proof.tight.unwrap().get()]
}

/// Samples of several turnouts cost no less than without those of any, and less than if all had the
/// dearest; one that is dear does not make all others so.
#[test]
fn every_sample_costs_what_its_own_turnout_costs() {
    let ([many, tight_many], [few, tight_few]) = (price("20x12", 12), price("20x3", 12));
    let [mixed, tight_mixed] = price("10x12,10x3", 12);
    assert!(many < mixed && mixed < few, "{many} {mixed} {few}");
    assert!(tight_many < tight_mixed && tight_mixed < tight_few);
    assert!(tight_mixed < mixed && tight_mixed > 0.85 * mixed, "{tight_mixed} {mixed}");
    let [thin, tight_thin] = price("19x12,1x3", 12);
    assert!(many < thin && thin < mixed, "{many} {thin} {mixed}");
    assert!(tight_many < tight_thin && tight_thin < tight_mixed);
    // Where nobody votes, nothing is shown.
    assert_eq!(price("20x12,5x0", 12), price("20x12", 12));
    // Where each may have either turnout, the worst of both counts, and so it does where all do.
    let [any, tight_any] = price("11", 12);
    let [eleven, twelve] = ["20x11", "20x12"].map(|text| price(text, 12));
    assert!(any >= eleven[0].max(twelve[0]) * 0.998 && any < 1.02 * eleven[0].max(twelve[0]));
    assert!(tight_any >= eleven[1].max(twelve[1]) * 0.998 && tight_any <= any);
}

/// Many turnouts share bounds, which cost a little more than each on its own.
#[test]
fn many_turnouts_share_bounds() {
    let parts = |range: std::ops::RangeInclusive<u32>| {
        let parts: Vec<String> = range.map(|voters| format!("1x{voters}")).collect();
        price(&parts.join(","), 200)[0]
    };
    let (shared, dearest, cheapest) =
        (parts(100..=118), price("19x100", 200)[0], price("19x118", 200)[0]);
    let (low, high) = (dearest.min(cheapest), dearest.max(cheapest));
    assert!(shared > 0.9 * low && shared < 1.2 * high, "{low} {shared} {high}");
}

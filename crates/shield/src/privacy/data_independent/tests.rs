use super::*;
use crate::parameters::*;

#[test]
fn lab() {
    let only: Option<u32> = std::env::var("W").ok().map(|s| s.parse().unwrap());
    for poly in ["8X^4+6X^3+4X^2+X", "30X^8+16X^5+8X^3+4X^2+X"] {
        for sampling in [Sampling::WithoutReplacement] {
            for w in [1u32, 2, 5, 10, 20] {
                if only.is_some_and(|x| x != w) { continue; }
                let m = Mechanism { polynomial: poly.parse().unwrap(), offset: Offset::new(w).unwrap(), sampling };
                for (n, k) in [(250, 10), (100_000, 1000)] {
                    let mut d = DataIndependent::new(&m, Classes::new(k).unwrap(), Voters::new(n).unwrap());
                    let usage = Usage::default();
                    let t = std::time::Instant::now();
                    let e = d.epsilon(usage);
                    let t1 = t.elapsed();
                    println!("{e} {t1:?}");
                    let w2 = d.worst_found(usage);
                    let t2 = t.elapsed();
                    
                    let x = d.exact(usage);
                    let w3 = d.worst_found_exact(usage); println!("{poly} {sampling} w={w} n={n} K={k}: eps {e:.4} exact {x:.4} worst {:.4} exact {:.4} ratio {:.4} {:.4} {:?} {:?} {t1:?} {t2:?} {:?}", w2.epsilon, w3.epsilon, e.get()/w2.epsilon.get(), x.get()/w3.epsilon.get(), &w2.histogram[..4.min(k)], &w3.histogram[..4.min(k)], t.elapsed());
                }
            }
        }
    }
}
#[test]
fn lab3() {
    for samples in [1000, 8000] {
    let (votes, _) = crate::synthetic::votes(250, Classes::new(10).unwrap(), samples, 1).unwrap();
    let h: Vec<_> = votes.histograms().collect();
    for poly in ["2X^3+3X^2+X", "2X^4+6X^3+3X^2+X", "6X^4+6X^3+4X^2+X", "8X^4+6X^3+4X^2+X"] {
        let m = Mechanism { polynomial: poly.parse().unwrap(), ..Mechanism::default() };
        let t = std::time::Instant::now();
        let mut q = crate::privacy::queries::Queries::new(&m, &h);
        let t0 = t.elapsed();
        let u = Usage::default();
        let a = crate::privacy::data_dependent::published(&mut q, u);
        let t1 = t.elapsed();
        let b = crate::privacy::data_dependent::renyi(&mut q, u);
        let t2 = t.elapsed();
        let c = crate::privacy::data_dependent::teacher_wise(&mut q, &votes, u);
        let t3 = t.elapsed();
        let d = crate::privacy::data_dependent::teacher_wise_exact(&q, &votes, u);
        println!("{poly}: {a:.4} {b:.4} {c:.4} {d:.4} {t0:?} {t1:?} {t2:?} {t3:?} {:?}", t.elapsed());
    } }
}

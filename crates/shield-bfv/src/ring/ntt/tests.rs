//! Transforms against their definition.

use super::*;
use crate::ring::primes;

fn transform(size: usize) -> Ntt {
    Ntt::new(Modulus::new(primes::largest(51, 65_536, 1, &[])[0]), size)
}

#[test]
fn place_j_holds_the_value_at_the_reversed_odd_power() {
    for size in [64, 256, 2_048, 8_192, 16_384, 32_768] {
        let ntt = transform(size);
        let m = ntt.modulus();
        let psi = m.root(2 * size as u64);
        let mut x = vec![0; size];
        x[1] = 1;
        ntt.forward(&mut x);
        for (j, &value) in x.iter().enumerate() {
            let reversed = j.reverse_bits() >> (usize::BITS - size.ilog2());
            assert_eq!(value, m.pow(psi, 2 * reversed as u64 + 1), "size {size}, place {j}");
        }
    }
}

#[test]
fn backward_undoes_forward_and_products_are_negacyclic() {
    for size in [64, 512, 8_192, 16_384, 32_768] {
        let ntt = transform(size);
        let m = ntt.modulus();
        let original: Vec<u64> = (0..size as u64).map(|i| m.pow(i + 2, 5)).collect();
        let mut x = original.clone();
        ntt.forward(&mut x);
        let mut back = x.clone();
        ntt.backward(&mut back, Unit::Plain);
        assert_eq!(back, original);
        // X^(size - 1) times X^2 is -X.
        let (mut a, mut b) = (vec![0; size], vec![0; size]);
        (a[size - 1], b[2]) = (1, 1);
        ntt.forward(&mut a);
        ntt.forward(&mut b);
        let mut c = vec![0; size];
        crate::ring::limb::product(m, &mut c, &a, &b);
        ntt.backward(&mut c, Unit::Montgomery);
        assert!(c.iter().enumerate().all(|(i, &x)| x == if i == 1 { m.value() - 1 } else { 0 }));
    }
}

#[test]
fn a_batch_is_eight_polynomials_in_a_power_of_x() {
    let ntt = transform(8_192);
    let m = ntt.modulus();
    for positions in [2, 4, 8, 512, 1_024] {
        let mut batch: Vec<Block> = (0..positions as u64)
            .map(|i| std::array::from_fn(|k| m.pow(i + 3, k as u64 + 2)))
            .collect();
        let original = batch.clone();
        let mut single = vec![0; 8_192];
        for (i, block) in batch.iter().enumerate() {
            single[i * (8_192 / positions)] = block[5];
        }
        ntt.forward(&mut single);
        ntt.forward_batch(&mut batch);
        let runs = single.chunks(8_192 / positions).zip(&batch);
        assert!(runs.into_iter().all(|(run, block)| run.iter().all(|&x| x == block[5])));
        ntt.backward_batch(&mut batch);
        assert_eq!(batch, original);
    }
}

/// The transforms of every kind of lanes that this processor has are those of the reference.
#[cfg(target_arch = "x86_64")]
#[test]
fn all_lanes_transform_alike() {
    use crate::ring::avx2::Avx2;
    use crate::ring::portable::Portable;
    let Some(lanes) = Avx2::detect() else {
        return;
    };
    for (p, size) in
        primes::largest(51, 65_536, 2, &[]).into_iter().chain([65_537]).zip([64, 8_192, 32_768])
    {
        let m = Modulus::new(p);
        let [reference, doubles] =
            [Form::Integers, Form::Doubles].map(|form| Ntt::in_form(m, size, form));
        let extreme = vec![[p - 1; LANES]; size / LANES];
        let mixed: Vec<Block> = (0..size as u64 / 8)
            .map(|i| std::array::from_fn(|k| m.pow(i + 3, k as u64 + 5)))
            .collect();
        for original in [extreme, mixed] {
            let (mut x, mut y) = (original.clone(), original.clone());
            Forward { ntt: &reference, blocks: &mut x }.run(Portable);
            lanes.vectorize(Forward { ntt: &doubles, blocks: &mut y });
            assert!(x == y, "forward, size {size}");
            for unit in [Unit::Plain, Unit::Montgomery] {
                let (mut x, mut y) = (original.clone(), original.clone());
                Backward { ntt: &reference, blocks: &mut x, unit }.run(Portable);
                lanes.vectorize(Backward { ntt: &doubles, blocks: &mut y, unit });
                assert!(x == y, "backward, size {size}");
            }
            let (mut x, mut y) = (original.clone(), original.clone());
            ForwardBatch { ntt: &reference, blocks: &mut x }.run(Portable);
            lanes.vectorize(ForwardBatch { ntt: &doubles, blocks: &mut y });
            assert!(x == y, "forward batch, size {size}");
            BackwardBatch { ntt: &reference, blocks: &mut x }.run(Portable);
            lanes.vectorize(BackwardBatch { ntt: &doubles, blocks: &mut y });
            assert!(x == y && x == original, "backward batch, size {size}");
        }
    }
}

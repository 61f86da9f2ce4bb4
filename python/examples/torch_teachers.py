"""Teachers and a student of PyTorch: networks are functions from samples to classes.

    pip install torch shield-pate && python torch_teachers.py
"""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

import shield_pate

CLASSES, FEATURES, TEACHERS = 4, 8, 80


def made_up(samples: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Points around one centre per class."""
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(0).normal(scale=2, size=(CLASSES, FEATURES))
    labels = rng.integers(0, CLASSES, size=samples)
    return (centres[labels] + rng.normal(size=(samples, FEATURES))).astype(np.float32), labels


def fit(X: np.ndarray, y: np.ndarray) -> nn.Module:
    """A small network."""
    network = nn.Sequential(nn.Linear(FEATURES, 32), nn.ReLU(), nn.Linear(32, CLASSES))
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
    inputs, targets = torch.from_numpy(X), torch.from_numpy(np.asarray(y, dtype=np.int64))
    for _ in range(100):
        optimizer.zero_grad()
        nn.functional.cross_entropy(network(inputs), targets).backward()
        optimizer.step()
    return network.eval()


def predictor(network: nn.Module):
    """A network as a teacher: a function that gives one class per sample."""

    def predict(X: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return network(torch.from_numpy(X)).argmax(dim=1).numpy()

    return predict


def main() -> None:
    X, y = made_up(TEACHERS * 40, seed=1)
    teachers = [predictor(fit(X[i::TEACHERS], y[i::TEACHERS])) for i in range(TEACHERS)]
    public, truth = made_up(1_000, seed=2)
    votes = shield_pate.collect(teachers, public[:100], classes=range(CLASSES))
    labels = shield_pate.label(votes, epsilon=10)
    print(labels)
    student = predictor(fit(*labels.training_set(public[:100])))
    print(f"the student is right on {(student(public[100:]) == truth[100:]).mean():.0%}")


if __name__ == "__main__":
    main()

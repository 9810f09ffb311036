"""Trains the samples and checks that they learn as their algorithms are known to.

Usage: soak.py TIMERLC SCRATCH [--programs reinforce ppo dqn] [--seeds N] [--quick]
Prints a row per run. Bands: REINFORCE's mean return is at least 480 at iteration 40 and 490 over the last 10 of 150; PPO's and
DQN's last 100 episodes, at 500,000 steps, return at least 475 and 400 on four of five seeds. `--quick` trains REINFORCE for 60
iterations and checks the first of its bands."""

import argparse
import pathlib
import subprocess
import sys
import time

parser = argparse.ArgumentParser()
parser.add_argument("timerlc")
parser.add_argument("scratch", type=pathlib.Path)
parser.add_argument("--programs", nargs="+", default=["reinforce", "ppo", "dqn"])
parser.add_argument("--seeds", type=int, default=5)
parser.add_argument("--quick", action="store_true")
options = parser.parse_args()
samples = pathlib.Path(__file__).resolve().parents[2] / "samples"
options.scratch.mkdir(parents=True, exist_ok=True)


def train(executable, seed):
    start = time.monotonic()
    run = subprocess.run([executable, "--seed", str(seed), "--threads", "1"], capture_output=True, text=True, check=True)
    rows = [line.split() for line in run.stdout.splitlines()[1:]]
    return [float(row[1]) for row in rows if row], time.monotonic() - start


def reinforce(curve):
    late = sum(curve[-10:]) / 10
    return f"at 40: {curve[40]:.1f}, last 10: {late:.1f}", curve[40] >= 480 and (options.quick or late >= 490)


def last(bound):
    return lambda curve: (f"last 100 episodes: {curve[-1]:.1f}", curve[-1] >= bound)


checks = {"reinforce": (reinforce, 1.0), "ppo": (last(475), 0.8), "dqn": (last(400), 0.8)}
failed = False
for program in options.programs:
    check, share = checks[program]
    executable = options.scratch / program
    extra = ["-D", "iterations=60"] if options.quick and program == "reinforce" else []
    subprocess.run([options.timerlc, samples / f"{program}_cartpole.trl", "-o", executable, *extra], check=True)
    good = 0
    for seed in range(1, options.seeds + 1):
        curve, seconds = train(executable, seed)
        text, passed = check(curve)
        good += passed
        print(f"{program} seed {seed}: {text} ({seconds:.1f} s)", flush=True)
    if good < share * options.seeds:
        print(f"{program}: only {good} of {options.seeds} seeds learn")
        failed = True
sys.exit(failed)

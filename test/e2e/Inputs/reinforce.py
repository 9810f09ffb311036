"""REINFORCE's first iterations, evaluated anew from the recorded actions: states, losses, gradients, Adam's steps.

Usage: reinforce.py TIMERLC PROGRAM SCRATCH"""

import math
import sys

from independent import *

timerlc, program, scratch = sys.argv[1:]
envs, horizon, hidden, gamma = 5, 60, 7, 0.99
run = record(timerlc, scratch + ".npz", program, "--seed", "11", "-D", f"envs={envs}", "-D", "iterations=3",
             "-D", f"horizon={horizon}", "-D", f"hidden={hidden}")
moments = None
for i in range(3):
    net = network(run, "net", 2, i)
    alive = [[1.0] for _ in range(envs)]
    states = []
    for b in range(envs):
        state = [run.at(f"s.{part}", b, i, 0) for part in ("x", "x_dot", "theta", "theta_dot")]
        path = []
        for t in range(horizon):
            path.append(state)
            state, failed = cartpole(state, run.at("a", b, i, t))
            alive[b].append(0.0 if failed else alive[b][-1])
        states.append(path)
    returns = [[sum(gamma ** (k - t) * alive[b][k] for k in range(t, horizon)) for t in range(horizon)]
               for b in range(envs)]
    base = [sum(returns[b][t] for b in range(envs)) / envs for t in range(horizon)]
    loss, gradient = 0.0, zeros(net)
    for b in range(envs):
        for t in range(horizon):
            activations = forward(net, states[b][t])
            logs = log_softmax(activations[-1])
            action = run.at("a", b, i, t)
            weight = -alive[b][t] * (returns[b][t] - base[t]) / (envs * horizon)
            loss += weight * logs[action]
            backward(net, activations,
                     [weight * ((k == action) - math.exp(v)) for k, v in enumerate(logs)], gradient)
    require(f"loss {i}", [run.at("loss", i)], [loss], 1e-5)
    require(f"gradient {i}", flat(network(run, "g", 2, i)), flat(gradient), 1e-5)
    g = flat(gradient)
    moments = moments or ([0.0] * len(g), [0.0] * len(g))
    moments = ([0.9 * m + 0.1 * v for m, v in zip(moments[0], g)],
               [0.999 * m + 0.001 * v * v for m, v in zip(moments[1], g)])
    step = [1e-2 * m / (1 - 0.9 ** (i + 1)) / (math.sqrt(v / (1 - 0.999 ** (i + 1))) + 1e-8)
            for m, v in zip(*moments)]
    # Adam divides by the gradient's own size: relative errors of small entries show undiminished.
    require(f"weights {i + 1}", flat(network(run, "net", 2, i + 1)),
            [w - s for w, s in zip(flat(net), step)], 1e-4)

"""PPO's first two iterations, evaluated anew from recorded states, actions and shuffles: advantages, losses, gradients.

Usage: ppo.py TIMERLC PROGRAM SCRATCH"""

import math
import sys

from independent import *

timerlc, program, scratch = sys.argv[1:]
envs, steps, minibatches, epochs = 2, 16, 4, 2
gamma, lam, epsilon, c_value, c_entropy = 0.99, 0.95, 0.2, 0.5, 0.01
batch, updates = envs * steps, epochs * minibatches
size = batch // minibatches
run = record(timerlc, scratch + ".npz", program, "--seed", "7", "-D", f"envs={envs}", "-D", f"steps={steps}",
             "-D", f"epochs={epochs}", "-D", f"total={2 * batch}")


def state(b, i, t):
    return [run.at(f"s.{part}", b, i, t) for part in ("x", "x_dot", "theta", "theta_dot")]


for n in range(size):
    if run.at("ratio", 0, 0, n) != 1.0:
        sys.exit("the ratio of the first minibatch is not 1")
for i in range(2):
    actor, critic = network(run, "net.actor", 3, i, 0), network(run, "net.critic", 3, i, 0)
    sample = {}
    for b in range(envs):
        values = [forward(critic, state(b, i, t))[-1][0] for t in range(steps + 1)]
        advantage = 0.0
        for t in reversed(range(steps)):
            done = run.at("next.terminated", b, i, t) or run.at("next.truncated", b, i, t)
            delta = 1.0 + gamma * (0.0 if done else values[t + 1]) - values[t]
            advantage = delta + gamma * lam * (0.0 if done else advantage)
            action = run.at("a", b, i, t)
            logp = log_softmax(forward(actor, state(b, i, t))[-1])[action]
            sample[b, t] = (state(b, i, t), action, logp, values[t], advantage, advantage + values[t])
    for u in range(updates):
        actor, critic = network(run, "net.actor", 3, i, u), network(run, "net.critic", 3, i, u)
        places = [run.at("j", i, u, n) for n in range(size)]
        rows = [sample[j % envs, j // envs] for j in places]
        mean = sum(row[4] for row in rows) / size
        deviation = math.sqrt(sum((row[4] - mean) ** 2 for row in rows) / (size - 1))
        gActor, gCritic, loss = zeros(actor), zeros(critic), 0.0
        for observation, action, logp, value, adv, ret in rows:
            normal = (adv - mean) / (deviation + 1e-8)
            activations = forward(actor, observation)
            logs = log_softmax(activations[-1])
            probabilities = [math.exp(v) for v in logs]
            ratio = math.exp(logs[action] - logp)
            clipped = min(max(ratio, 1 - epsilon), 1 + epsilon)
            entropy = -sum(p * v for p, v in zip(probabilities, logs))
            loss += (max(-normal * ratio, -normal * clipped) - c_entropy * entropy) / size
            # On a tie each side has half, and a clip passes on its closed interval.
            inside = 1 - epsilon <= ratio <= 1 + epsilon
            share = 1.0 if -normal * ratio > -normal * clipped else (0.5 + 0.5 * inside) if ratio == clipped else 0.0
            slope = -normal * ratio * share / size
            cotangent = [slope * ((k == action) - p) + c_entropy * p * (v + entropy) / size
                         for k, (p, v) in enumerate(zip(probabilities, logs))]
            backward(actor, activations, cotangent, gActor)
            activations = forward(critic, observation)
            w = activations[-1][0]
            wClip = value + min(max(w - value, -epsilon), epsilon)
            plain, other = (w - ret) ** 2, (wClip - ret) ** 2
            loss += c_value * max(plain, other) / 2 / size
            passes = -epsilon <= w - value <= epsilon
            if plain > other:
                slope = 2 * (w - ret)
            elif plain == other or abs(plain - other) < 1e-12:
                slope = (w - ret) + (wClip - ret) * passes
            else:
                slope = 2 * (wClip - ret) * passes
            backward(critic, activations, [c_value * slope / 2 / size], gCritic)
        require(f"loss {i}.{u}", [run.at("loss", i, u)], [loss], 1e-5)
        require(f"actor's gradient {i}.{u}", flat(network(run, "g.actor", 3, i, u)), flat(gActor), 1e-5)
        require(f"critic's gradient {i}.{u}", flat(network(run, "g.critic", 3, i, u)), flat(gCritic), 1e-5)

"""REINFORCE with reward-to-go on CartPole, as samples/reinforce_cartpole.trl has it, in vectorised PyTorch.

64 environments step together as one tensor operation each; the loss is one expression over the whole rollout.
Usage: reinforce_torch.py [--seed N] [--iterations N] [--horizon N] [--envs N]"""

import argparse

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--iterations", type=int, default=150)
parser.add_argument("--horizon", type=int, default=500)
parser.add_argument("--envs", type=int, default=64)
options = parser.parse_args()
torch.manual_seed(options.seed)
torch.set_num_threads(1)

GAMMA, LR = 0.99, 1e-2


def layer(inputs, outputs, scale):
    linear = torch.nn.Linear(inputs, outputs)
    torch.nn.init.orthogonal_(linear.weight, scale)
    torch.nn.init.zeros_(linear.bias)
    return linear


policy = torch.nn.Sequential(layer(4, 64, 2**0.5), torch.nn.Tanh(), layer(64, 2, 0.01))
optimiser = torch.optim.Adam(policy.parameters(), lr=LR)


def step(state, action):
    """Gymnasium's CartPole-v1, all environments at once."""
    x, x_dot, theta, theta_dot = state.unbind(1)
    force = torch.where(action == 1, 10.0, -10.0)
    cos, sin = torch.cos(theta), torch.sin(theta)
    temp = (force + 0.05 * theta_dot * theta_dot * sin) / 1.1
    theta_acc = (9.8 * sin - cos * temp) / (0.5 * (4.0 / 3.0 - 0.1 * cos * cos / 1.1))
    x_acc = temp - 0.05 * theta_acc * cos / 1.1
    x, x_dot = x + 0.02 * x_dot, x_dot + 0.02 * x_acc
    theta, theta_dot = theta + 0.02 * theta_dot, theta_dot + 0.02 * theta_acc
    fallen = (x.abs() > 2.4) | (theta.abs() > 12 * 2 * 3.141592653589793 / 360)
    return torch.stack([x, x_dot, theta, theta_dot], 1), fallen


for iteration in range(options.iterations):
    state = torch.rand(options.envs, 4) * 0.1 - 0.05
    alive = torch.ones(options.envs)
    states, actions, alives = [], [], []
    with torch.no_grad():
        for t in range(options.horizon):
            probabilities = torch.softmax(policy(state), 1)
            action = torch.multinomial(probabilities, 1).squeeze(1)
            states.append(state)
            actions.append(action)
            alives.append(alive)
            state, fallen = step(state, action)
            alive = torch.where(fallen, torch.zeros(()), alive)
        states, actions, alives = torch.stack(states), torch.stack(actions), torch.stack(alives)
        returns = torch.zeros_like(alives)
        running = torch.zeros(options.envs)
        for t in reversed(range(options.horizon)):
            running = alives[t] + GAMMA * running
            returns[t] = running
        advantage = returns - returns.mean(1, keepdim=True)
    log_prob = torch.log_softmax(policy(states), 2).gather(2, actions.unsqueeze(2)).squeeze(2)
    loss = -(alives * log_prob * advantage).mean()
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    print(iteration, alives.sum(0).mean().item())

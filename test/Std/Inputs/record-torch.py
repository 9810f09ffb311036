"""Records what PyTorch computes, in double, for torch.trl: prints torch.txt,
one array a line: name, shape, elements in row-major order."""
import torch
from torch import nn
from torch.distributions import Categorical, Independent, Normal, kl_divergence

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)


def put(name, value):
    value = value.detach()
    shape = ",".join(str(length) for length in value.shape) or "-"
    print(name, shape, *(repr(element) for element in value.flatten().tolist()))


# A multi-layer perceptron and its gradients.
x, c = torch.randn(6, 4), torch.randn(6, 3)
mlp = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3))
y = mlp(x)
(y * c).sum().backward()
put("x", x)
put("c", c)
put("y", y)
for name, parameter in zip(("w0", "b0", "w1", "b1"), mlp.parameters()):
    put(name, parameter)
    put("d" + name, parameter.grad)

# A long short-term memory over six steps; its two biases add up to one.
cell = nn.LSTMCell(4, 3)
h, s = torch.zeros(1, 3), torch.zeros(1, 3)
states = []
for t in range(6):
    h, s = cell(x[t:t + 1], (h, s))
    states.append(h[0])
h = torch.stack(states)
(h * c).sum().backward()
put("lw", cell.weight_ih)
put("lu", cell.weight_hh)
put("lb", cell.bias_ih + cell.bias_hh)
put("h", h)
put("dlw", cell.weight_ih.grad)
put("dlu", cell.weight_hh.grad)
put("dlb", cell.bias_ih.grad)

# Adam, and the norm's limit.
g = torch.randn(6, 3) * torch.tensor([1.0, 1e-3, 30.0])
a = torch.nn.Parameter(torch.randn(3))
optimiser = torch.optim.Adam([a], lr=0.1, betas=(0.8, 0.95), eps=1e-5)
path = [a.detach().clone()]
for t in range(6):
    a.grad = g[t].clone()
    optimiser.step()
    path.append(a.detach().clone())
put("g", g)
put("adam", torch.stack(path))
clipped = []
for t in range(6):
    a.grad = g[t].clone()
    torch.nn.utils.clip_grad_norm_([a], 2.0)
    clipped.append(a.grad)
put("clipped", torch.stack(clipped))

# Distributions; both get gradients from all three of their functions.
z, z2 = torch.randn(6, 3, requires_grad=True), torch.randn(6, 3)
k = torch.randint(0, 3, (6,))
p, p2 = Categorical(logits=z), Categorical(logits=z2)
parts = [p.log_prob(k), p.entropy(), kl_divergence(p, p2)]
(sum(parts) * c[:, 0]).sum().backward()
put("z", z)
put("z2", z2)
put("k", k)
for name, part in zip(("cat_log_prob", "cat_entropy", "cat_kl"), parts):
    put(name, part)
put("dz", z.grad)

m, l = torch.randn(6, 3, requires_grad=True), torch.randn(6, 3, requires_grad=True)
p, p2 = Independent(Normal(m, l.exp()), 1), Independent(Normal(z2, c.exp()), 1)
parts = [p.log_prob(g), p.entropy(), kl_divergence(p, p2)]
(sum(parts) * c[:, 0]).sum().backward()
put("m", m)
put("l", l)
for name, part in zip(("normal_log_prob", "normal_entropy", "normal_kl"), parts):
    put(name, part)
put("dm", m.grad)
put("dl", l.grad)

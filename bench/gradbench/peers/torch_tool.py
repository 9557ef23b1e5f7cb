"""Problems of GradBench in PyTorch: in double precision, on one thread.

    python torch_tool.py
"""

import math

import torch
from protocol import serve

torch.set_num_threads(1)
torch.set_default_dtype(torch.float64)


def lse(x):
    return torch.logsumexp(x, 0)


def llsq(n, x):
    t = torch.linspace(-1, 1, n)
    return 0.5 * torch.sum((torch.sign(t) - torch.vander(t, len(x), increasing=True) @ x) ** 2)


def distances(points, centroids):
    return torch.sum(points**2, 1)[:, None] + torch.sum(centroids**2, 1) - 2 * points @ centroids.T


def kmeans(points, centroids):
    return torch.sum(torch.min(distances(points, centroids), 1).values)


def gmm(m, gamma, x, alpha, mu, q, l):
    (n, d), k = x.shape, len(alpha)
    columns, rows = torch.triu_indices(d, d, 1)  # below the diagonal, column by column
    factors = torch.diag_embed(torch.exp(q))
    factors[:, rows, columns] = l
    y = torch.matmul(x, factors.transpose(1, 2)) - torch.matmul(factors, mu[:, :, None]).transpose(1, 2)
    points = torch.logsumexp((alpha + torch.sum(q, 1))[:, None] - 0.5 * torch.sum(y**2, 2), 0)
    likelihood = torch.sum(points) - n * (0.5 * d * math.log(2 * math.pi) + torch.logsumexp(alpha, 0))
    nu = d + m + 1
    log_gamma = d * (d - 1) / 4 * math.log(math.pi) + sum(math.lgamma((nu - j) / 2) for j in range(d))
    constant = k * (nu * d * math.log(gamma / math.sqrt(2)) - log_gamma)
    return likelihood + constant - 0.5 * gamma**2 * torch.sum(factors**2) + m * torch.sum(q)


def lstm(state, sequence, main, extra):
    b = sequence.shape[1]
    layers = [(weights, biases) for weights, biases in main.reshape(-1, 2, 4, b)]
    state = [(hidden, memory) for hidden, memory in state.reshape(-1, 2, b)]
    total = 0.0
    for given, following in zip(sequence[:-1], sequence[1:]):
        x = given * extra[0]
        for i, (weights, biases) in enumerate(layers):
            hidden, memory = state[i]
            forget, leave = torch.sigmoid(x * weights[0::2] + biases[0::2])
            enter, change = hidden * weights[1::2] + biases[1::2]
            memory = memory * forget + torch.sigmoid(enter) * torch.tanh(change)
            x = leave * torch.tanh(memory)
            state[i] = (x, memory)
        y = x * extra[1] + extra[2]
        total = total + torch.sum(following * (y - torch.log(torch.sum(torch.exp(y)) + 2)))
    return -total / (b * (len(sequence) - 1))


def array(numbers):
    return torch.tensor(numbers, dtype=torch.float64)


def value(function, names, constants=()):
    """A function of fields of the input: first those that stay as they are, then arrays."""

    def of_input(given):
        fixed, arrays = [given[name] for name in constants], [array(given[name]) for name in names]
        return lambda: function(*fixed, *arrays)

    return of_input


def gradient(function, names, constants=(), by=1, shape=lambda parts: parts[0]):
    """Its gradient by the last arrays, given as `shape` makes it."""

    def of_input(given):
        fixed, arrays = [given[name] for name in constants], [array(given[name]) for name in names]
        variables = [variable.requires_grad_() for variable in arrays[-by:]]
        return lambda: shape(torch.autograd.grad(function(*fixed, *arrays), variables))

    return of_input


def kmeans_direction(given):
    points, centroids = array(given["points"]), array(given["centroids"]).requires_grad_()

    def run():
        nearest = torch.argmin(distances(points, centroids.detach()), 1)  # cheaper than derivatives of a minimum
        cost = torch.sum((points - centroids[nearest]) ** 2)
        (slope,) = torch.autograd.grad(cost, centroids, create_graph=True)
        (curvature,) = torch.autograd.grad(torch.sum(slope), centroids)
        return (slope / curvature).detach()

    return run


def encode(result):
    return {name: part.tolist() for name, part in result.items()} if isinstance(result, dict) else result.tolist()


MIXTURE = ("x", "alpha", "mu", "q", "l")
NETWORK = ("state", "sequence", "main_params", "extra_params")
MODULES = {
    "lse": {"primal": value(lse, ["x"]), "gradient": gradient(lse, ["x"])},
    "llsq": {"primal": value(llsq, ["x"], ["n"]), "gradient": gradient(llsq, ["x"], ["n"])},
    "kmeans": {"cost": value(kmeans, ["points", "centroids"]), "dir": kmeans_direction},
    "gmm": {
        "objective": value(gmm, MIXTURE, ["m", "gamma"]),
        "jacobian": gradient(gmm, MIXTURE, ["m", "gamma"], 4, lambda parts: dict(zip(MIXTURE[1:], parts))),
    },
    "lstm": {
        "objective": value(lstm, NETWORK),
        "jacobian": gradient(lstm, NETWORK, by=2, shape=lambda parts: torch.cat([part.reshape(-1) for part in parts])),
    },
}

serve("torch", MODULES, encode)

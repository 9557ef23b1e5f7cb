"""Problems of GradBench in JAX: jitted, in double precision, on one thread.

    python jax_tool.py
"""

import os

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
os.environ["JAX_PLATFORMS"] = "cpu"
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

import jax  # noqa: E402  (the settings above must come first)
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.nn import logsumexp, sigmoid  # noqa: E402
from protocol import serve  # noqa: E402

jax.config.update("jax_enable_x64", True)


def lse(x):
    return logsumexp(x)


def llsq(n, x):
    t = jnp.linspace(-1, 1, n)
    return 0.5 * jnp.sum((jnp.sign(t) - jnp.polyval(x[::-1], t)) ** 2)


def distances(points, centroids):
    return jnp.sum(points**2, 1)[:, None] + jnp.sum(centroids**2, 1) - 2 * points @ centroids.T


def kmeans(points, centroids):
    return jnp.sum(jnp.min(distances(points, centroids), 1))


def kmeans_direction(points, centroids):
    nearest = jnp.argmin(distances(points, centroids), 1)  # takes half the time of derivatives of a minimum
    gradient = jax.grad(lambda centroids: jnp.sum((points - centroids[nearest]) ** 2))
    slope, curvature = jax.jvp(gradient, (centroids,), (jnp.ones_like(centroids),))
    return slope / curvature


def gmm(m, gamma, x, alpha, mu, q, l):
    (n, d), k = x.shape, alpha.shape[0]
    columns, rows = np.triu_indices(d, 1)  # below the diagonal, column by column
    factors = jnp.zeros((k, d, d)).at[:, rows, columns].set(l)
    factors = factors.at[:, np.arange(d), np.arange(d)].set(jnp.exp(q))
    y = jnp.einsum("kij,nj->nki", factors, x) - jnp.einsum("kij,kj->ki", factors, mu)
    points = logsumexp(alpha + jnp.sum(q, 1) - 0.5 * jnp.sum(y**2, 2), axis=1)
    likelihood = jnp.sum(points) - n * (0.5 * d * np.log(2 * np.pi) + logsumexp(alpha))
    nu = d + m + 1
    constant = nu * d * np.log(gamma / np.sqrt(2)) - jax.scipy.special.multigammaln(nu / 2, d)
    return likelihood + k * constant - 0.5 * gamma**2 * jnp.sum(factors**2) + m * jnp.sum(q)


def gmm_gradient(*arguments):
    return dict(zip(MIXTURE[1:], jax.grad(gmm, argnums=(3, 4, 5, 6))(*arguments)))


def ode(s, x):
    h = 2 / s

    def slope(y):
        return x * jnp.concatenate([jnp.ones(1), y[:-1]])

    def step(_, y):
        k1 = slope(y)
        k2 = slope(y + h / 2 * k1)
        k3 = slope(y + h / 2 * k2)
        k4 = slope(y + h * k3)
        return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

    # A loop with a known number of steps has a reverse mode.
    return jax.lax.fori_loop(0, s, step, jnp.zeros_like(x))


def lstm(state, sequence, main, extra):
    b = sequence.shape[1]
    layers = main.reshape(-1, 2, 4, b)

    def step(state, inputs):
        x, following = inputs
        x, after = x * extra[0], []
        for (weights, biases), (hidden, memory) in zip(layers, state):
            forget, leave = sigmoid(x * weights[0] + biases[0]), sigmoid(x * weights[2] + biases[2])
            enter, change = sigmoid(hidden * weights[1] + biases[1]), jnp.tanh(hidden * weights[3] + biases[3])
            memory = memory * forget + enter * change
            x = leave * jnp.tanh(memory)
            after.append(jnp.stack([x, memory]))
        y = x * extra[1] + extra[2]
        return jnp.stack(after), jnp.sum(following * (y - jnp.log(jnp.sum(jnp.exp(y)) + 2)))

    _, terms = jax.lax.scan(step, state.reshape(-1, 2, b), (sequence[:-1], sequence[1:]))
    return -jnp.sum(terms) / (b * (sequence.shape[0] - 1))


def lstm_gradient(state, sequence, main, extra):
    parts = jax.grad(lstm, argnums=(2, 3))(state, sequence, main, extra)
    return jnp.concatenate([part.reshape(-1) for part in parts])


def timed(function, names, constants=()):
    """A function of fields of the input: first those that are compiled in, then arrays."""

    def of_input(given):
        fixed = [given[name] for name in constants]
        compiled = jax.jit(lambda *arrays: function(*fixed, *arrays))
        arrays = [jnp.array(given[name], dtype=jnp.float64) for name in names]
        return lambda: jax.block_until_ready(compiled(*arrays))

    return of_input


MIXTURE = ("x", "alpha", "mu", "q", "l")
NETWORK = ("state", "sequence", "main_params", "extra_params")
MODULES = {
    "lse": {"primal": timed(lse, ["x"]), "gradient": timed(jax.grad(lse), ["x"])},
    "llsq": {"primal": timed(llsq, ["x"], ["n"]), "gradient": timed(jax.grad(llsq, argnums=1), ["x"], ["n"])},
    "kmeans": {
        "cost": timed(kmeans, ["points", "centroids"]),
        "dir": timed(kmeans_direction, ["points", "centroids"]),
    },
    "gmm": {"objective": timed(gmm, MIXTURE, ["m", "gamma"]), "jacobian": timed(gmm_gradient, MIXTURE, ["m", "gamma"])},
    "ode": {
        "primal": timed(ode, ["x"], ["s"]),
        "gradient": timed(jax.grad(lambda s, x: ode(s, x)[-1], argnums=1), ["x"], ["s"]),
    },
    "lstm": {"objective": timed(lstm, NETWORK), "jacobian": timed(lstm_gradient, NETWORK)},
}

serve("jax", MODULES, lambda result: jax.tree_util.tree_map(lambda array: np.asarray(array).tolist(), result))

"""The programs of the benchmark in JAX, as a process that times itself and speaks as `reference/driver.c` does.

    python jax_peer.py NAME

Everything is jitted, in double precision, on one thread. A program that cannot be written for `jit` and reverse mode is not here: `--list`
prints those that are.
"""

import os
import struct
import sys
import time

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
os.environ["JAX_PLATFORMS"] = "cpu"
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

import jax  # noqa: E402  (the settings above must come first)
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

jax.config.update("jax_enable_x64", True)


def of_all(function, count=None):
    """The gradient by the first arguments, or by all."""
    return lambda *arguments: jax.grad(function, argnums=tuple(range(count or len(arguments))))(*arguments)


def pulled_back(function):
    """The cotangents of all arguments but the last, which is that of the result."""
    return lambda *arguments: jax.vjp(function, *arguments[:-1])[1](arguments[-1])


def axpy_chain(a, x, y):
    (x, _), _ = jax.lax.scan(lambda state, a: ((a * state[0] + state[1], state[0]), None), (x, y), a)
    return jnp.sum(x)


def logistic_regression(w, x, y):
    z = x @ w
    return jnp.sum(jnp.maximum(z, 0) + jnp.log1p(jnp.exp(-jnp.abs(z))) - y * z) + 0.5 * w @ w


def mlp(w1, b1, w2, b2, x, y):
    scores = jnp.maximum(x @ w1 + b1, 0) @ w2 + b2
    return jnp.sum(y * (jax.nn.logsumexp(scores, axis=1, keepdims=True) - scores)) / x.shape[0]


def lstm(wx, wh, b, x, targets):
    h = wh.shape[1]

    def step(state, inputs):
        hidden, memory = state
        x, target = inputs
        z = b + wx @ x + wh @ hidden
        forget, enter, leave = (jax.nn.sigmoid(z[i * h : (i + 1) * h]) for i in range(3))
        memory = forget * memory + enter * jnp.tanh(z[3 * h :])
        hidden = leave * jnp.tanh(memory)
        return (hidden, memory), jnp.sum((hidden - target) ** 2)

    zero = jnp.zeros(h)
    return 0.5 * jnp.sum(jax.lax.scan(step, (zero, zero), (x, targets))[1])


def gmm(alpha, mu, q, l, x):
    k, d = mu.shape
    below = np.tril_indices(d, -1)
    factors = jnp.zeros((k, d, d)).at[:, below[0], below[1]].set(l)
    factors = factors.at[:, np.arange(d), np.arange(d)].set(jnp.exp(q))
    y = jnp.einsum("kij,nkj->nki", factors, x[:, None, :] - mu[None])
    points = jax.nn.logsumexp(alpha + jnp.sum(q, 1) - 0.5 * jnp.sum(y * y, 2), axis=1)
    constant = x.shape[0] * (0.5 * d * np.log(2 * np.pi) + jax.nn.logsumexp(alpha))
    return jnp.sum(points) - constant - 0.5 * jnp.sum(factors**2)


def kmeans(centres, points):
    return jnp.sum(jnp.min(jnp.sum((points[:, None, :] - centres[None]) ** 2, 2), 1))


def call(s, k, r, v, t):
    normal = lambda x: 0.5 * jax.scipy.special.erfc(-x / np.sqrt(2))  # noqa: E731
    d1 = (jnp.log(s / k) + (r + 0.5 * v * v) * t) / (v * jnp.sqrt(t))
    return s * normal(d1) - k * jnp.exp(-r * t) * normal(d1 - v * jnp.sqrt(t))


def heat(start, target, steps):
    def step(_, u):
        inner = u[1:-1, 1:-1]
        return u.at[1:-1, 1:-1].set(inner + 0.2 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * inner))

    # A loop with a known number of steps has a reverse mode.
    u = jax.lax.fori_loop(0, steps, step, start)
    return 0.5 * jnp.sum((u - target) ** 2)


def nbody(x, y, z, u, v, w, m):
    soft, dt = 0.01, 0.01
    places, speeds = jnp.stack([x, y, z]), jnp.stack([u, v, w])
    apart = places[:, None, :] - places[:, :, None]
    r = jnp.sum(apart**2, 0) + soft
    speeds = speeds + dt * jnp.sum(m / (r * jnp.sqrt(r)) * apart, 2)
    places = places + dt * speeds
    apart = places[:, None, :] - places[:, :, None]
    potential = jnp.sum(m / jnp.sqrt(jnp.sum(apart**2, 0) + soft), 1)
    return jnp.sum(0.5 * m * (jnp.sum(speeds**2, 0) - potential))


def skinning(pose, weights, vertices):
    def turn(a, b, c):
        zero, one = jnp.zeros(()), jnp.ones(())
        x = jnp.array([[one, zero, zero], [zero, jnp.cos(a), -jnp.sin(a)], [zero, jnp.sin(a), jnp.cos(a)]])
        y = jnp.array([[jnp.cos(b), zero, jnp.sin(b)], [zero, one, zero], [-jnp.sin(b), zero, jnp.cos(b)]])
        z = jnp.array([[jnp.cos(c), -jnp.sin(c), zero], [jnp.sin(c), jnp.cos(c), zero], [zero, zero, one]])
        return z @ (y @ x)

    pose = pose.reshape(-1, 6)
    turns = jax.vmap(turn)(pose[:, 0], pose[:, 1], pose[:, 2])
    moved = jnp.einsum("bij,vj->vbi", turns, vertices) + pose[:, 3:]
    return jnp.sum(weights[:, :, None] * moved, 1).reshape(-1)


def histogram(weights, bins, k):
    return jnp.sum(jnp.zeros(k).at[bins].add(weights) ** 2)


def recurrence(a, b):
    _, x = jax.lax.associative_scan(lambda f, g: (f[0] * g[0], f[1] * g[0] + g[1]), (a, b))
    return 0.5 * jnp.sum(x * x)


def recurrence_loop(a, b):
    def step(x, ab):
        x = ab[0] * x + ab[1]
        return x, x

    return 0.5 * jnp.sum(jax.lax.scan(step, 0.0, (a, b))[1] ** 2)


def rotate_by(q, v):
    u, w = q[:3], q[3]
    return 2 * jnp.dot(u, v) * u + (w * w - jnp.dot(u, u)) * v + 2 * w * jnp.cross(u, v)


def rotations(q, v):
    by_q, by_v = jax.vmap(jax.jacrev(rotate_by, argnums=(0, 1)))(q, v)
    return jnp.concatenate([by_q, by_v], 2)


def neural(a1, b1, a2, b2, x):
    p = jax.nn.softmax(jnp.maximum(a2 @ jnp.maximum(a1 @ x + b1, 0) + b2, 0))
    return jnp.sum((1 + np.arange(p.shape[0])) * p)


def particles(start, steps):
    def step(_, state):
        x, y, u, v = state
        pull = 1 / (1 + x * x + y * y)
        u = u + 0.01 * (-x * pull - 0.1 * u)
        v = v + 0.01 * (-y * pull - 0.1 * v)
        return x + 0.01 * u, y + 0.01 * v, u, v

    x, y, _, _ = jax.lax.fori_loop(0, steps, step, tuple(start.T))
    return jnp.sum(x * y)


def programs(n):
    """Primal and gradient for the sizes `n`, by name: functions of the arrays in the order of the entry points."""

    def gmm_of(x, *rest):
        return gmm(*rest, x)

    return {
        "dot": (lambda a, b, seed: a @ b, pulled_back(lambda a, b: a @ b)),
        "axpy_chain": (axpy_chain, of_all(axpy_chain)),
        "matvec": (lambda a, x, ct: a @ x, pulled_back(lambda a, x: a @ x)),
        "matmul": (lambda a, b, ct: a @ b, pulled_back(lambda a, b: a @ b)),
        "logistic_regression": (logistic_regression, of_all(logistic_regression, 1)),
        "mlp": (mlp, of_all(mlp, 4)),
        "lstm": (lstm, of_all(lstm, 3)),
        "gmm": (gmm_of, lambda x, *rest: of_all(gmm, 4)(*rest, x)),
        "kmeans": (kmeans, of_all(kmeans, 1)),
        "black_scholes": (call, lambda *s: of_all(lambda *s: jnp.sum(call(*s)))(*s)),
        "heat": (lambda u, t: heat(u, t, n[1]), of_all(lambda u, t: heat(u, t, n[1]), 1)),
        "nbody": (nbody, of_all(nbody, 6)),
        "skinning": (skinning, lambda p, w, v: jax.jacfwd(skinning)(p, w, v)),
        "histogram": (
            lambda bins, w: histogram(w, bins, n[1]),
            lambda bins, w: jax.grad(histogram)(w, bins, n[1]),
        ),
        "recurrence": (recurrence, of_all(recurrence)),
        "recurrence_loop": (recurrence_loop, of_all(recurrence_loop)),
        "thesis_multiply": (lambda a, b: a * b, lambda a, b: of_all(lambda a, b: jnp.sum(a * b))(a, b)),
        "thesis_dot": (lambda a, b: a @ b, of_all(lambda a, b: a @ b)),
        "thesis_sum_mat_vec": (lambda a, x: jnp.sum(a @ x), of_all(lambda a, x: jnp.sum(a @ x))),
        "thesis_rotate": (jax.vmap(rotate_by), rotations),
        "thesis_neural": (neural, of_all(neural)),
        "thesis_particles": (lambda p: particles(p, n[1]), of_all(lambda p: particles(p, n[1]))),
    }


SHAPES = {
    "matvec": lambda n: [(n[0], n[1]), (n[1],), (n[0],)],
    "matmul": lambda n: [(n[0], n[1]), (n[1], n[2]), (n[0], n[2])],
    "logistic_regression": lambda n: [(n[1],), (n[0], n[1]), (n[0],)],
    "mlp": lambda n: [(n[1], n[2]), (n[2],), (n[2], n[3]), (n[3],), (n[0], n[1]), (n[0], n[3])],
    "lstm": lambda n: [(4 * n[2], n[1]), (4 * n[2], n[2]), (4 * n[2],), (n[0], n[1]), (n[0], n[2])],
    "gmm": lambda n: [(n[0], n[1]), (n[2],), (n[2], n[1]), (n[2], n[1]), (n[2], n[1] * (n[1] - 1) // 2)],
    "kmeans": lambda n: [(n[1], n[2]), (n[0], n[2])],
    "heat": lambda n: [(n[0], n[0])] * 2,
    "skinning": lambda n: [(6 * n[1],), (n[0], n[1]), (n[0], 3)],
    "thesis_sum_mat_vec": lambda n: [(n[0], n[1]), (n[1],)],
    "thesis_rotate": lambda n: [(n[0], 4), (n[0], 3)],
    "thesis_neural": lambda n: [(n[1], n[0]), (n[1],), (n[2], n[1]), (n[2],), (n[0],)],
    "thesis_particles": lambda n: [(n[0], 4)],
}


def main():
    if sys.argv[1:] == ["--list"]:
        print("\n".join(programs([0, 0])))
        return
    name = sys.argv[1]
    read, write = sys.stdin.buffer.read, sys.stdout.buffer
    word = lambda: struct.unpack("=q", read(8))[0]  # noqa: E731
    sizes = [word() for _ in range(word())]
    arrays = []
    for _ in range(word()):
        length = word()
        integers = name == "histogram" and not arrays
        array = np.frombuffer(read(8 * length), dtype=np.int64 if integers else np.float64)
        shapes = SHAPES.get(name)
        is_number = name == "dot" and len(arrays) == 2
        shape = () if is_number else shapes(sizes)[len(arrays)] if shapes else (length,)
        arrays.append(jnp.array(array.reshape(shape)))
    read(16)
    primal, gradient = (jax.jit(function) for function in programs(sizes)[name])
    while command := read(1):
        seconds = struct.unpack("=d", read(8))[0]
        function = {b"p": primal, b"g": gradient}[command]
        result = jax.block_until_ready(function(*arrays))
        times, begin = [], time.perf_counter()
        while not times or time.perf_counter() - begin < seconds:
            start = time.perf_counter()
            result = jax.block_until_ready(function(*arrays))
            times.append(time.perf_counter() - start)
        times.sort()
        write.write(struct.pack("=ddd", times[0], times[len(times) // 2], float("nan")))
        for part in jax.tree_util.tree_leaves(result):
            write.write(np.asarray(part, dtype=np.float64).tobytes())
        write.flush()


main()
